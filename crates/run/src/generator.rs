//! A run: its threads, from the start together to the last answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, mpsc};
use std::{io, thread};

use offered_clock::{Clock, Poller, allow_sockets, cpu_time};
use offered_model::recording::Block;
use offered_model::workload::{Policies, Precision, Sessions, Target};
use offered_model::{Agenda, Event, Instant, Law, Nanos, RunId, Share, Workload};

use crate::driver::Driver;
use crate::halt::{End, Halt, Halted};
use crate::live::{Counts, Live, is_unheard};
use crate::policies::Switching;
use crate::script::{self, Script};
use crate::transport::{
    Http1, Http2, Plain, Postgres, Requests, SPIN, Scripted, Spoken, Way, WebSocket, Wire, http1, http2, requests,
    websocket,
};
use crate::walk::walk;
use crate::{Error, Mock, Sink, Transport, Witness};

/// How many launches a second one thread is trusted with when the workload does not say how many threads it wants.
const PER_THREAD: f64 = 20_000.0;
/// How long after everything is in place the run begins: long enough for every thread to wait for it awake.
const LEAD: Nanos = Nanos::from_millis(2);
/// How soon the first answer is noticed.
const NOTICE: Nanos = Nanos::from_millis(20);

/// A run that is ready to begin.
pub struct Generator {
    workload: Workload,
    share: Share,
    threads: u16,
    carrier: Carrier,
    /// What sessions do beyond asking and thinking, if they do.
    script: Option<Arc<Script>>,
    stop: Arc<AtomicBool>,
    /// Once it is stopped: whether nothing is waited for any more.
    hurry: Arc<AtomicBool>,
    halt: Arc<Halt>,
    live: Arc<[Live]>,
    /// Who sees exchanges whole, if somebody does.
    witness: Option<Arc<Witness>>,
    /// Launches meant before are somebody else's.
    from: Instant,
}

/// What carries the launches.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// The workload's target.
    Target,
    /// Nobody: a virtual clock and a server whose response times follow this law, in seconds.
    Nobody(Law),
}

/// The same, prepared.
enum Carrier {
    Target(Way),
    Nobody(Law),
}

/// A protocol in place on a thread.
enum Placed {
    Http1(http1::Setup, Poller),
    Http2(http2::Setup, Poller),
    WebSocket(websocket::Setup, Poller),
    Postgres(Box<Postgres>),
}

/// What one thread did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worker {
    /// From the run's start to its last answer.
    pub elapsed: Nanos,
    /// The part of that in which it neither slept nor spun.
    pub busy: Nanos,
    /// Processor time, spinning included.
    pub cpu: Nanos,
}

impl Worker {
    /// The share of its time in which it was busy, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        if self.elapsed == Nanos::ZERO { 0.0 } else { self.busy.as_secs_f64() / self.elapsed.as_secs_f64() }
    }
}

/// What a run leaves besides its events.
#[derive(Clone, Debug)]
pub struct Done {
    /// When it started, since the Unix epoch; zero on a virtual clock.
    pub started: Nanos,
    /// Per thread.
    pub workers: Vec<Worker>,
    /// Whether it was stopped before its time.
    pub stopped: bool,
    /// Why, if it stopped itself.
    pub halted: Option<Halted>,
    /// Where policies took turns: each turn that began.
    pub blocks: Vec<Block>,
}

impl Generator {
    /// Prepares `share` of `workload`; for real load also the process, which may then open as many files as its hard limit says.
    /// Best called before there are threads.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, a request that cannot be made, or limits that leave a thread with nothing.
    pub fn new(workload: Workload, share: Share, load: Load) -> Result<Self, Error> {
        let (limits, threads) = (limits(&workload), threads(&workload, share));
        if let Some((what, limit)) = limits.into_iter().find(|(_, limit)| *limit < u32::from(threads)) {
            return Err(Error::Limit { what, limit, threads });
        }
        let script = match (&load, workload.target()) {
            (Load::Target, Some(target)) if workload.is_scripted() => Some(Arc::new(Script::new(&workload, target)?)),
            (Load::Target, _) => script::there(workload.variables()).map(|()| None)?,
            // Nobody is not spoken to.
            (Load::Nobody(_), _) => None,
        };
        let carrier = match load {
            Load::Target => {
                allow_sockets();
                Carrier::Target(Way::new(&workload)?)
            }
            Load::Nobody(response) => Carrier::Nobody(response),
        };
        let live = (0..threads).map(|_| Live::default()).collect();
        let stop: Arc<AtomicBool> = Arc::default();
        let halt = Arc::new(Halt::new(stop.clone()));
        let (hurry, witness, from) = (Arc::default(), None, Instant::ZERO);
        Ok(Self { workload, share, threads, carrier, script, stop, hurry, halt, live, witness, from })
    }

    /// The same, stopped by `stop` instead of a flag of its own.
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicBool>) -> Self {
        let halt = Arc::new(Halt::new(stop.clone()));
        Self { stop, halt, ..self }
    }

    /// The same in this run: what is said of it, and what must be there once only, is its own. Without it the run is one that begins when
    /// the generator is made.
    #[must_use]
    pub fn in_run(mut self, run: &RunId) -> Self {
        // Nobody has it before something is launched, which is when this one is gone.
        if let Some(script) = self.script.as_mut().and_then(Arc::get_mut) {
            script.in_run(run.clone());
        }
        self
    }

    /// The same, taken up at `from`; see [`Agenda::from`]. `None` where that cannot be.
    #[must_use]
    pub fn from(self, from: Instant) -> Option<Self> {
        Agenda::new(&self.workload, self.share).from(from)?;
        Some(Self { from, ..self })
    }

    /// The same, and once `hurry` is set too, a run that is stopped waits no longer for what is under way.
    #[must_use]
    pub fn hurried_by(self, hurry: Arc<AtomicBool>) -> Self {
        Self { hurry, ..self }
    }

    /// The same, seen by `witness`. It sees what sessions say and hear, so also a workload without a script goes by one: answers are
    /// then listened to, which costs what a script costs.
    ///
    /// # Errors
    /// No target, or a request that cannot be made.
    pub fn seen_by(self, witness: Witness) -> Result<Self, Error> {
        let script = match (self.script, &self.carrier) {
            (None, Carrier::Target(_)) => {
                let target = self.workload.target().ok_or(Error::NoTarget)?;
                Some(Arc::new(Script::new(&self.workload, target)?))
            }
            (script, _) => script,
        };
        Ok(Self { script, witness: Some(Arc::new(witness)), ..self })
    }

    /// Whether anybody answers at the target's door: connects once, sends nothing.
    ///
    /// # Errors
    /// Nobody does.
    pub fn knock(&self) -> Result<(), Error> {
        match &self.carrier {
            Carrier::Target(way) => way.knock(),
            Carrier::Nobody(_) => Ok(()),
        }
    }

    /// How many threads launch.
    pub fn threads(&self) -> u16 {
        self.threads
    }

    /// Set it to stop: no more launches, answers under way are waited for for two seconds.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Stops it, and says why; what was told first stays.
    pub fn halter(&self) -> impl Fn(String, End) + Send + 'static {
        let halt = self.halt.clone();
        move |why, end| halt.stop(why, end)
    }

    /// Walks the first so many sessions through the workload, one after another and without pauses, each once: along its flow, or
    /// where there are no flows once through all requests in the order of the file. What happened, in order.
    ///
    /// # Errors
    /// Nobody is to be asked, or the system has no room for a poller.
    pub fn walk(&self, sessions: u64) -> Result<Vec<Event>, Error> {
        let (Carrier::Target(way), Some(script)) = (&self.carrier, &self.script) else { return Err(Error::NoTarget) };
        let (clock, poller) = (Clock::start(), Poller::new()?);
        let (steps, stop) = ((0..sessions).flat_map(|session| self.workload.walk(session)), &self.stop);
        let events = match way.clone().protocol {
            Spoken::Http1(setup) => {
                let wire = Http1::new(setup, clock, poller, 0, None, Nanos::ZERO);
                walk(self.sessions(wire, script, 0), steps, stop)
            }
            Spoken::Http2(setup) => {
                let wire = Http2::new(setup, clock, poller, None, Nanos::ZERO);
                walk(self.sessions(wire, script, 0), steps, stop)
            }
            Spoken::WebSocket(setup) => {
                let wire = WebSocket::new(setup, clock, poller, None, Nanos::ZERO);
                walk(self.sessions(wire, script, 0), steps, stop)
            }
            Spoken::Postgres(setup) => {
                let mut wire =
                    Postgres::connected(*setup, poller, |connections| connections.min(1), Nanos::ZERO, stop)?;
                wire.begin_at(clock);
                walk(self.sessions(wire, script, 0), steps, stop)
            }
        };
        let unheard = events.first().filter(|event| is_unheard(event)).and_then(|_| way.unheard());
        unheard.map_or(Ok(events), Err)
    }

    /// The counters, to be summed over the threads by whoever watches.
    pub fn watch(&self) -> impl Fn() -> Counts + Send + 'static {
        let live = self.live.clone();
        move || live.iter().map(Live::counts).sum()
    }

    /// Runs to the end, every thread with a sink made by `sink`: by the clock `start` where there is one, else as soon as everything is in
    /// place; `begun` is told the clock.
    ///
    /// # Errors
    /// The system has no room for another poller.
    pub fn run<S: Sink>(
        &self,
        start: Option<Clock>,
        mut sink: impl FnMut() -> S,
        begun: impl FnOnce(Clock),
    ) -> Result<(Done, Vec<S>), Error> {
        let response = match &self.carrier {
            Carrier::Nobody(response) => response,
            Carrier::Target(way) => return self.run_for_real(way, start, sink, begun),
        };
        let mut sinks: Vec<S> = (0..self.threads).map(|_| sink()).collect();
        let workers = sinks.iter_mut().zip(0..self.threads);
        let workers = workers.map(|(sink, thread)| self.pretend(thread, response.clone(), sink)).collect();
        Ok((
            Done { started: Nanos::ZERO, workers, stopped: self.stop.load(Relaxed), halted: None, blocks: Vec::new() },
            sinks,
        ))
    }

    fn run_for_real<S: Sink>(
        &self,
        way: &Way,
        start: Option<Clock>,
        mut sink: impl FnMut() -> S,
        begun: impl FnOnce(Clock),
    ) -> Result<(Done, Vec<S>), Error> {
        let requests = requests(&self.workload)?;
        let (in_place, waiting) = mpsc::channel();
        let clock = OnceLock::new();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let spawned: io::Result<Vec<_>> = (0..self.threads)
                .map(|thread| {
                    let (way, in_place, clock, mut sink) = (way.clone(), in_place.clone(), &clock, sink());
                    let requests = requests.clone();
                    let launch = move || {
                        let agenda = self.agenda(thread);
                        let placed = self.place(thread, way.protocol);
                        let (told, placed) = match placed {
                            Ok(placed) => (Ok(()), Some(placed)),
                            Err(error) => (Err(error), None),
                        };
                        // Nobody listens any more when another thread could not be had.
                        let _ = in_place.send(told);
                        let clock: &Clock = clock.wait();
                        let placed = placed?;
                        clock.wait_for_start(&self.stop);
                        let worker = self.launch(thread, agenda, placed, requests, clock, &mut sink);
                        Some((worker, sink))
                    };
                    thread::Builder::new().name(format!("launch {thread}")).spawn_scoped(scope, launch)
                })
                .collect();
            let ready = spawned.map_err(Error::from).and_then(|threads| {
                waiting.iter().take(threads.len()).collect::<Result<(), Error>>()?;
                let (begins, ended, other) = (&clock, &ended, thread::Builder::new);
                if let Some(every) = self.workload.target().and_then(Target::resolve_every) {
                    let way = way.clone();
                    other().spawn_scoped(scope, move || keep_resolving(&way, begins.wait(), every, ended))?;
                }
                // Before the start, which may be at once.
                let switching = self.switching()?;
                let switching = switching.map(|switching| {
                    other().spawn_scoped(scope, move || switching.go_on(begins.wait(), ended, &self.hurry))
                });
                let switching = switching.transpose()?;
                let listening = other().spawn_scoped(scope, move || self.listen(way, begins.wait(), ended))?;
                Ok((threads, listening, switching))
            });
            if ready.is_err() {
                // Those that are in place launch nothing.
                self.stop.store(true, Relaxed);
                ended.store(true, Relaxed);
            }
            let clock = *clock.get_or_init(|| start.unwrap_or_else(|| Clock::starting_in(LEAD)));
            let (threads, listening, switching) = ready?;
            begun(clock);
            let joined: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a thread that ends")).collect();
            ended.store(true, Relaxed);
            if let Some(unheard) = listening.join().expect("a thread that ends") {
                return Err(unheard);
            }
            let blocks = switching.map_or_else(Vec::new, |thread| thread.join().expect("a thread that ends"));
            // All were in place.
            let (workers, sinks) = joined.into_iter().flatten().unzip();
            let (stopped, halted) = (self.stop.load(Relaxed), self.halt.why());
            Ok((Done { started: clock.unix_origin(), workers, stopped, halted, blocks }, sinks))
        })
    }

    /// The policies that take turns, the first in place; of a run of many workers the first of them switches.
    fn switching(&self) -> Result<Option<Switching<'_>>, Error> {
        let policies = self.workload.policies().filter(|_| self.share.index() == 0);
        // Who takes a run up begins with the turn that comes next.
        let turns = |all: &Policies| all.turns(self.workload.counted()).filter(|turn| turn.begins >= self.from);
        policies.map(|all| Switching::begin(all, turns(all).collect(), &self.stop)).transpose()
    }

    /// What a thread needs before the start: its poller, and connections where they are made by then.
    fn place(&self, thread: u16, protocol: Spoken) -> Result<Placed, Error> {
        let (poller, spin) = (Poller::new()?, self.spin());
        Ok(match protocol {
            Spoken::Http1(setup) => Placed::Http1(setup, poller),
            Spoken::Http2(setup) => Placed::Http2(setup, poller),
            Spoken::WebSocket(setup) => Placed::WebSocket(setup, poller),
            Spoken::Postgres(setup) => {
                let share = |connections| self.limit(thread, Some(connections)).unwrap_or(0);
                Placed::Postgres(Box::new(Postgres::connected(*setup, poller, share, spin, &self.stop)?))
            }
        })
    }

    /// Why nobody understands us, if the first answers were none and that is why; the run is stopped then.
    fn listen(&self, way: &Way, clock: &Clock, ended: &AtomicBool) -> Option<Error> {
        clock.wait_for_start(ended);
        loop {
            // In this order: what ends the run is heard too.
            let is_over = ended.load(Relaxed);
            let counts: Counts = self.live.iter().map(Live::counts).sum();
            if self.live.iter().any(Live::is_unheard) && counts.ok == 0 {
                let unheard = way.unheard()?;
                self.stop.store(true, Relaxed);
                return Some(unheard);
            }
            if is_over || counts.ok + counts.failed > 0 {
                return None;
            }
            clock.sleep_until(clock.now() + NOTICE);
        }
    }

    /// How long before its instant a launch is waited for awake.
    fn spin(&self) -> Nanos {
        match self.workload.generator().precision() {
            Precision::Spin => SPIN,
            Precision::Sleep => Nanos::ZERO,
        }
    }

    fn agenda(&self, thread: u16) -> Agenda {
        let agenda = Agenda::new(&self.workload, self.share.part(u64::from(thread), u64::from(self.threads)));
        agenda.from(self.from).expect("a workload that can be taken up")
    }

    /// Launches against nobody.
    fn pretend(&self, thread: u16, response: Law, sink: &mut dyn Sink) -> Worker {
        let transport = Mock::new(self.workload.seed(), response, self.worker(thread) as u16);
        self.drive_agenda(thread, self.agenda(thread), transport, sink)
    }

    /// Launches from where it was placed, whose clock runs. Not generic: of the loops of all protocols there is one each, compiled here.
    fn launch(
        &self,
        thread: u16,
        agenda: Agenda,
        placed: Placed,
        requests: Requests,
        clock: &Clock,
        sink: &mut dyn Sink,
    ) -> Worker {
        let spin = self.spin();
        let limit = self.limit(thread, self.workload.target().and_then(Target::connections));
        match placed {
            Placed::Http1(setup, poller) => {
                let http = Http1::new(setup, *clock, poller, self.worker(thread) as u16, limit, spin);
                match self.script {
                    None => self.drive_agenda(thread, agenda, http, sink),
                    Some(_) => self.drive_wire(thread, agenda, http, requests, sink),
                }
            }
            Placed::Http2(setup, poller) => {
                let wire = Http2::new(setup, *clock, poller, limit, spin);
                self.drive_wire(thread, agenda, wire, requests, sink)
            }
            Placed::WebSocket(setup, poller) => {
                let wire = WebSocket::new(setup, *clock, poller, limit, spin);
                self.drive_wire(thread, agenda, wire, requests, sink)
            }
            Placed::Postgres(mut wire) => {
                wire.begin_at(*clock);
                self.drive_wire(thread, agenda, *wire, requests, sink)
            }
        }
    }

    /// Over a protocol that is told what to say: by the script, or as it was prepared.
    fn drive_wire<W: Wire>(
        &self,
        thread: u16,
        agenda: Agenda,
        wire: W,
        requests: Requests,
        sink: &mut dyn Sink,
    ) -> Worker {
        let worker = self.worker(thread) as u16;
        match &self.script {
            None => self.drive_agenda(thread, agenda, Plain::new(wire, requests, worker), sink),
            Some(script) => self.drive_agenda(thread, agenda, self.sessions(wire, script, worker), sink),
        }
    }

    /// The scripted sessions of `worker` over `wire`.
    fn sessions<W: Wire>(&self, wire: W, script: &Arc<Script>, worker: u16) -> Scripted<W> {
        Scripted::new(wire, script.clone(), self.halt.clone(), worker, self.witness.clone())
    }

    fn drive_agenda<T: Transport>(&self, thread: u16, agenda: Agenda, transport: T, sink: &mut dyn Sink) -> Worker {
        let in_flight = self.limit(thread, self.workload.target().and_then(Target::in_flight));
        let used = cpu_time();
        let workers = self.share.parts() * u64::from(self.threads);
        let first = self.worker(thread) + agenda.skipped() * workers;
        let mut driver = Driver {
            agenda,
            mix: self.workload.mix(),
            late: self.workload.late(),
            end: self.workload.end(),
            in_flight: in_flight.map_or(u64::MAX, u64::from),
            worker: self.worker(thread) as u16,
            numbering: (first, workers),
            transport,
            stop: &self.stop,
            hurry: &self.hurry,
            live: &self.live[usize::from(thread)],
            sink,
            places: self.workload.flows().map(|_| HashMap::new()),
        };
        let (elapsed, idle) = driver.run();
        Worker { elapsed, busy: elapsed.saturating_sub(idle), cpu: cpu_time() - used }
    }

    /// The number of this thread in the whole run.
    fn worker(&self, thread: u16) -> u64 {
        self.share.index() + self.share.parts() * u64::from(thread)
    }

    /// This thread's part of a limit; all parts together are the limit.
    fn limit(&self, thread: u16, limit: Option<u32>) -> Option<u32> {
        let (threads, thread) = (u32::from(self.threads), u32::from(thread));
        limit.map(|limit| limit / threads + u32::from(thread < limit % threads))
    }
}

/// What connections and requests in flight are limited to, and by which key.
fn limits(workload: &Workload) -> Vec<(&'static str, u32)> {
    let limits = workload.target().into_iter().flat_map(|t| {
        let smallest = t.pools().iter().map(|pool| pool.connections).min();
        [("connections", t.connections()), ("in_flight", t.in_flight()), ("the smallest of pools", smallest)]
    });
    limits.filter_map(|(what, limit)| Some((what, limit?))).collect()
}

/// How many threads launch `share` of `workload` on this machine: as many as the workload says, else as many as it needs, one for each core at
/// most, and none without a connection.
pub fn threads(workload: &Workload, share: Share) -> u16 {
    let cores = thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u16);
    let fewest = limits(workload).into_iter().map(|(_, limit)| limit).min().unwrap_or(u32::MAX);
    let suggested = || suggested(workload, share).min(cores).min(fewest.min(1024) as u16);
    workload.generator().threads().unwrap_or_else(suggested)
}

/// As many threads as the rate needs; a closed system without think time takes what there is.
fn suggested(workload: &Workload, share: Share) -> u16 {
    let at_full_speed = || match workload.sessions() {
        Sessions::Closed(closed) => closed.users() as f64 * 100.0,
        _ => 0.0,
    };
    let peak = workload.most_per_s().unwrap_or_else(at_full_speed);
    (peak * share.fraction() / PER_THREAD).ceil().clamp(1.0, 1024.0) as u16
}

fn keep_resolving(way: &Way, clock: &Clock, every: Nanos, ended: &AtomicBool) {
    clock.wait_for_start(ended);
    let mut next = Instant::ZERO + every;
    while !ended.load(Relaxed) {
        clock.sleep_until(next.min(clock.now() + Nanos::from_millis(50)));
        if clock.now() >= next {
            way.resolve_again();
            next += every;
        }
    }
}
