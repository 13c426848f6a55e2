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
use crate::live::{Counts, LiveCounters, looks_like_tls};
use crate::policies::PolicySwitcher;
use crate::script::{self, Script};
use crate::transport::{
    AnyProtocol, Http1, Http2, Postgres, PreparedTarget, ProtocolClient, Requests, SPIN, Scripted, Unscripted,
    WebSocket, http1, http2, prepare_requests, websocket,
};
use crate::walk::walk;
use crate::{Error, ExchangeObserver, Mock, Sink, Transport};

/// How many launches a second one thread is trusted with when the workload does not say how many threads it wants.
const PER_THREAD: f64 = 20_000.0;
/// How long after everything is in place the run begins: long enough for every thread to wait for it awake.
const LEAD: Nanos = Nanos::from_millis(2);
/// How soon the first answer is noticed.
const POLL_INTERVAL: Nanos = Nanos::from_millis(20);

/// A run that is ready to begin.
pub struct Generator {
    workload: Workload,
    share: Share,
    threads: u16,
    backend: Backend,
    /// What sessions do beyond asking and thinking, if they do.
    script: Option<Arc<Script>>,
    stop: Arc<AtomicBool>,
    /// Once it is stopped: whether nothing is waited for any more.
    abort: Arc<AtomicBool>,
    halt: Arc<Halt>,
    live: Arc<[LiveCounters]>,
    /// Who sees exchanges whole, if somebody does.
    observer: Option<Arc<ExchangeObserver>>,
    /// Launches meant before are somebody else's.
    from: Instant,
}

/// What carries the launches.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// The workload's target.
    Target,
    /// Nobody: a virtual clock and a server whose response times follow this law, in seconds.
    Mock(Law),
}

/// The same, prepared.
enum Backend {
    Target(PreparedTarget),
    Mock(Law),
}

/// A protocol in place on a thread.
enum Connected {
    Http1(http1::Setup, Poller),
    Http2(http2::Setup, Poller),
    WebSocket(websocket::Setup, Poller),
    Postgres(Box<Postgres>),
}

/// What one thread did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadStats {
    /// From the run's start to its last answer.
    pub elapsed: Nanos,
    /// The part of that in which it neither slept nor spun.
    pub busy: Nanos,
    /// Processor time, spinning included.
    pub cpu: Nanos,
}

impl ThreadStats {
    /// The share of its time in which it was busy, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        if self.elapsed == Nanos::ZERO { 0.0 } else { self.busy.as_secs_f64() / self.elapsed.as_secs_f64() }
    }
}

/// What a run leaves besides its events.
#[derive(Clone, Debug)]
pub struct RunStats {
    /// When it started, since the Unix epoch; zero on a virtual clock.
    pub started: Nanos,
    /// Per thread.
    pub threads: Vec<ThreadStats>,
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
            (Load::Target, _) => script::check_variables(workload.variables()).map(|()| None)?,
            // Nobody is not spoken to.
            (Load::Mock(_), _) => None,
        };
        let backend = match load {
            Load::Target => {
                allow_sockets();
                Backend::Target(PreparedTarget::new(&workload)?)
            }
            Load::Mock(response) => Backend::Mock(response),
        };
        let live = (0..threads).map(|_| LiveCounters::default()).collect();
        let stop: Arc<AtomicBool> = Arc::default();
        let halt = Arc::new(Halt::new(stop.clone()));
        let (abort, observer, from) = (Arc::default(), None, Instant::ZERO);
        Ok(Self { workload, share, threads, backend, script, stop, abort, halt, live, observer, from })
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
    pub fn aborted_by(self, abort: Arc<AtomicBool>) -> Self {
        Self { abort, ..self }
    }

    /// The same, seen by `witness`. It sees what sessions say and hear, so also a workload without a script goes by one: answers are
    /// then listened to, which costs what a script costs.
    ///
    /// # Errors
    /// No target, or a request that cannot be made.
    pub fn observed_by(self, observer: ExchangeObserver) -> Result<Self, Error> {
        let script = match (self.script, &self.backend) {
            (None, Backend::Target(_)) => {
                let target = self.workload.target().ok_or(Error::NoTarget)?;
                Some(Arc::new(Script::new(&self.workload, target)?))
            }
            (script, _) => script,
        };
        Ok(Self { script, observer: Some(Arc::new(observer)), ..self })
    }

    /// Whether anybody answers at the target's door: connects once, sends nothing.
    ///
    /// # Errors
    /// Nobody does.
    pub fn preflight(&self) -> Result<(), Error> {
        match &self.backend {
            Backend::Target(target) => target.preflight(),
            Backend::Mock(_) => Ok(()),
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
        move |reason, end| halt.stop(reason, end)
    }

    /// Walks the first so many sessions through the workload, one after another and without pauses, each once: along its flow, or
    /// where there are no flows once through all requests in the order of the file. What happened, in order.
    ///
    /// # Errors
    /// Nobody is to be asked, or the system has no room for a poller.
    pub fn walk(&self, sessions: u64) -> Result<Vec<Event>, Error> {
        let (Backend::Target(target), Some(script)) = (&self.backend, &self.script) else {
            return Err(Error::NoTarget);
        };
        let (clock, poller) = (Clock::start(), Poller::new()?);
        let (steps, stop) = ((0..sessions).flat_map(|session| self.workload.walk(session)), &self.stop);
        let events = match target.clone().protocol {
            AnyProtocol::Http1(setup) => {
                let client = Http1::new(setup, clock, poller, 0, None, Nanos::ZERO);
                walk(self.scripted(client, script, 0), steps, stop)
            }
            AnyProtocol::Http2(setup) => {
                let client = Http2::new(setup, clock, poller, None, Nanos::ZERO);
                walk(self.scripted(client, script, 0), steps, stop)
            }
            AnyProtocol::WebSocket(setup) => {
                let client = WebSocket::new(setup, clock, poller, None, Nanos::ZERO);
                walk(self.scripted(client, script, 0), steps, stop)
            }
            AnyProtocol::Postgres(setup) => {
                let mut client =
                    Postgres::open_pools(*setup, poller, |connections| connections.min(1), Nanos::ZERO, stop)?;
                client.start_at(clock);
                walk(self.scripted(client, script, 0), steps, stop)
            }
        };
        let tls_mismatch = events.first().filter(|event| looks_like_tls(event)).and_then(|_| target.tls_mismatch());
        tls_mismatch.map_or(Ok(events), Err)
    }

    /// The counters, to be summed over the threads by whoever watches.
    pub fn watch(&self) -> impl Fn() -> Counts + Send + 'static {
        let live = self.live.clone();
        move || live.iter().map(LiveCounters::counts).sum()
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
        on_start: impl FnOnce(Clock),
    ) -> Result<(RunStats, Vec<S>), Error> {
        let response = match &self.backend {
            Backend::Mock(response) => response,
            Backend::Target(target) => return self.run_for_real(target, start, sink, on_start),
        };
        let mut sinks: Vec<S> = (0..self.threads).map(|_| sink()).collect();
        let workers = sinks.iter_mut().zip(0..self.threads);
        let workers = workers.map(|(sink, thread)| self.run_mock(thread, response.clone(), sink)).collect();
        Ok((
            RunStats {
                started: Nanos::ZERO,
                threads: workers,
                stopped: self.stop.load(Relaxed),
                halted: None,
                blocks: Vec::new(),
            },
            sinks,
        ))
    }

    fn run_for_real<S: Sink>(
        &self,
        target: &PreparedTarget,
        start: Option<Clock>,
        mut sink: impl FnMut() -> S,
        on_start: impl FnOnce(Clock),
    ) -> Result<(RunStats, Vec<S>), Error> {
        let requests = prepare_requests(&self.workload)?;
        let (ready_sender, ready_receiver) = mpsc::channel();
        let clock = OnceLock::new();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let spawned: io::Result<Vec<_>> = (0..self.threads)
                .map(|thread| {
                    let (target, ready_sender, clock, mut sink) =
                        (target.clone(), ready_sender.clone(), &clock, sink());
                    let requests = requests.clone();
                    let launch = move || {
                        let agenda = self.agenda(thread);
                        let connected = self.connect(thread, target.protocol);
                        let (readiness, connected) = match connected {
                            Ok(connected) => (Ok(()), Some(connected)),
                            Err(error) => (Err(error), None),
                        };
                        // Nobody listens any more when another thread could not be had.
                        let _ = ready_sender.send(readiness);
                        let clock: &Clock = clock.wait();
                        let connected = connected?;
                        clock.wait_for_start(&self.stop);
                        let worker = self.launch(thread, agenda, connected, requests, clock, &mut sink);
                        Some((worker, sink))
                    };
                    thread::Builder::new().name(format!("launch {thread}")).spawn_scoped(scope, launch)
                })
                .collect();
            let ready = spawned.map_err(Error::from).and_then(|threads| {
                ready_receiver.iter().take(threads.len()).collect::<Result<(), Error>>()?;
                let (begins, ended, other) = (&clock, &ended, thread::Builder::new);
                if let Some(every) = self.workload.target().and_then(Target::resolve_every) {
                    let target = target.clone();
                    other().spawn_scoped(scope, move || resolve_periodically(&target, begins.wait(), every, ended))?;
                }
                // Before the start, which may be at once.
                let switcher = self.switcher()?;
                let switcher = switcher.map(|switcher| {
                    other().spawn_scoped(scope, move || switcher.run(begins.wait(), ended, &self.abort))
                });
                let switcher = switcher.transpose()?;
                let tls_watcher =
                    other().spawn_scoped(scope, move || self.watch_for_tls(target, begins.wait(), ended))?;
                Ok((threads, tls_watcher, switcher))
            });
            if ready.is_err() {
                // Those that are in place launch nothing.
                self.stop.store(true, Relaxed);
                ended.store(true, Relaxed);
            }
            let clock = *clock.get_or_init(|| start.unwrap_or_else(|| Clock::starting_in(LEAD)));
            let (threads, tls_watcher, switcher) = ready?;
            on_start(clock);
            let joined: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a thread that ends")).collect();
            ended.store(true, Relaxed);
            if let Some(tls_mismatch) = tls_watcher.join().expect("a thread that ends") {
                return Err(tls_mismatch);
            }
            let blocks = switcher.map_or_else(Vec::new, |thread| thread.join().expect("a thread that ends"));
            // All were in place.
            let (workers, sinks) = joined.into_iter().flatten().unzip();
            let (stopped, halted) = (self.stop.load(Relaxed), self.halt.halted());
            Ok((RunStats { started: clock.unix_origin(), threads: workers, stopped, halted, blocks }, sinks))
        })
    }

    /// The policies that take turns, the first in place; of a run of many workers the first of them switches.
    fn switcher(&self) -> Result<Option<PolicySwitcher<'_>>, Error> {
        let policies = self.workload.policies().filter(|_| self.share.index() == 0);
        // Who takes a run up begins with the turn that comes next.
        let turns = |all: &Policies| all.turns(self.workload.counted()).filter(|turn| turn.begins >= self.from);
        policies.map(|all| PolicySwitcher::start(all, turns(all).collect(), &self.stop)).transpose()
    }

    /// What a thread needs before the start: its poller, and connections where they are made by then.
    fn connect(&self, thread: u16, protocol: AnyProtocol) -> Result<Connected, Error> {
        let (poller, spin) = (Poller::new()?, self.spin());
        Ok(match protocol {
            AnyProtocol::Http1(setup) => Connected::Http1(setup, poller),
            AnyProtocol::Http2(setup) => Connected::Http2(setup, poller),
            AnyProtocol::WebSocket(setup) => Connected::WebSocket(setup, poller),
            AnyProtocol::Postgres(setup) => {
                let share = |connections| self.limit(thread, Some(connections)).unwrap_or(0);
                Connected::Postgres(Box::new(Postgres::open_pools(*setup, poller, share, spin, &self.stop)?))
            }
        })
    }

    /// Why nobody understands us, if the first answers were none and that is why; the run is stopped then.
    fn watch_for_tls(&self, target: &PreparedTarget, clock: &Clock, ended: &AtomicBool) -> Option<Error> {
        clock.wait_for_start(ended);
        loop {
            // In this order: what ends the run is heard too.
            let is_over = ended.load(Relaxed);
            let counts: Counts = self.live.iter().map(LiveCounters::counts).sum();
            if self.live.iter().any(LiveCounters::looks_like_tls) && counts.ok == 0 {
                let tls_mismatch = target.tls_mismatch()?;
                self.stop.store(true, Relaxed);
                return Some(tls_mismatch);
            }
            if is_over || counts.ok + counts.failed > 0 {
                return None;
            }
            clock.sleep_until(clock.now() + POLL_INTERVAL);
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
    fn run_mock(&self, thread: u16, response: Law, sink: &mut dyn Sink) -> ThreadStats {
        let transport = Mock::new(self.workload.seed(), response, self.worker(thread) as u16);
        self.drive_agenda(thread, self.agenda(thread), transport, sink)
    }

    /// Launches from where it was placed, whose clock runs. Not generic: of the loops of all protocols there is one each, compiled here.
    fn launch(
        &self,
        thread: u16,
        agenda: Agenda,
        connected: Connected,
        requests: Requests,
        clock: &Clock,
        sink: &mut dyn Sink,
    ) -> ThreadStats {
        let spin = self.spin();
        let limit = self.limit(thread, self.workload.target().and_then(Target::connections));
        match connected {
            Connected::Http1(setup, poller) => {
                let http = Http1::new(setup, *clock, poller, self.worker(thread) as u16, limit, spin);
                match self.script {
                    None => self.drive_agenda(thread, agenda, http, sink),
                    Some(_) => self.drive_client(thread, agenda, http, requests, sink),
                }
            }
            Connected::Http2(setup, poller) => {
                let client = Http2::new(setup, *clock, poller, limit, spin);
                self.drive_client(thread, agenda, client, requests, sink)
            }
            Connected::WebSocket(setup, poller) => {
                let client = WebSocket::new(setup, *clock, poller, limit, spin);
                self.drive_client(thread, agenda, client, requests, sink)
            }
            Connected::Postgres(mut client) => {
                client.start_at(*clock);
                self.drive_client(thread, agenda, *client, requests, sink)
            }
        }
    }

    /// Over a protocol that is told what to say: by the script, or as it was prepared.
    fn drive_client<W: ProtocolClient>(
        &self,
        thread: u16,
        agenda: Agenda,
        client: W,
        requests: Requests,
        sink: &mut dyn Sink,
    ) -> ThreadStats {
        let worker = self.worker(thread) as u16;
        match &self.script {
            None => self.drive_agenda(thread, agenda, Unscripted::new(client, requests, worker), sink),
            Some(script) => self.drive_agenda(thread, agenda, self.scripted(client, script, worker), sink),
        }
    }

    /// The scripted sessions of `worker` over `wire`.
    fn scripted<W: ProtocolClient>(&self, client: W, script: &Arc<Script>, worker: u16) -> Scripted<W> {
        Scripted::new(client, script.clone(), self.halt.clone(), worker, self.observer.clone())
    }

    fn drive_agenda<T: Transport>(
        &self,
        thread: u16,
        agenda: Agenda,
        transport: T,
        sink: &mut dyn Sink,
    ) -> ThreadStats {
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
            abort: &self.abort,
            live: &self.live[usize::from(thread)],
            sink,
            positions: self.workload.flows().map(|_| HashMap::new()),
        };
        let (elapsed, idle) = driver.run();
        ThreadStats { elapsed, busy: elapsed.saturating_sub(idle), cpu: cpu_time() - used }
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
    let default_threads = || default_threads(workload, share).min(cores).min(fewest.min(1024) as u16);
    workload.generator().threads().unwrap_or_else(default_threads)
}

/// As many threads as the rate needs; a closed system without think time takes what there is.
fn default_threads(workload: &Workload, share: Share) -> u16 {
    let at_full_speed = || match workload.sessions() {
        Sessions::Closed(closed) => closed.users() as f64 * 100.0,
        _ => 0.0,
    };
    let peak = workload.most_per_s().unwrap_or_else(at_full_speed);
    (peak * share.fraction() / PER_THREAD).ceil().clamp(1.0, 1024.0) as u16
}

fn resolve_periodically(target: &PreparedTarget, clock: &Clock, every: Nanos, ended: &AtomicBool) {
    clock.wait_for_start(ended);
    let mut next = Instant::ZERO + every;
    while !ended.load(Relaxed) {
        clock.sleep_until(next.min(clock.now() + Nanos::from_millis(50)));
        if clock.now() >= next {
            target.resolve_again();
            next += every;
        }
    }
}
