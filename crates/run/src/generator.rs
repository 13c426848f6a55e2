//! A run: its threads, from the common start to the last response.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, mpsc};
use std::{io, thread};

use offered_base::{Instant, Nanos, Share};
use offered_distributions::Distribution;
use offered_events::recording::{AddressUse, Block};
use offered_events::{Event, RunId};
use offered_io::{Clock, GrantedPriority, Poller, Priorities, PriorityClass, raise_file_limit, thread_cpu_time};
use offered_schedule::Agenda;
use offered_schedule::Sessions;
use offered_workload::Workload;
use offered_workload::attempts::AttemptTracker;
use offered_workload::{Policies, Priority, Target, WaitMode};

use crate::driver::Driver;
use crate::halt::{End, Halt, Halted};
use crate::in_flight::InFlight;
use crate::live::{Counts, LiveCounters, looks_like_tls};
use crate::policies::PolicySwitcher;
use crate::script::{self, Script};
use crate::transport::{
    Mock, PreparedTarget, ProtocolClient, ProtocolSetup, Requests, SPIN, Scripted, ThreadResources, Transport,
    prepare_requests, with_protocol_setup,
};
use crate::walk::walk;
use crate::{Error, ExchangeObserver, Sink};

/// Requests per second that one thread is expected to send, where the workload does not set the number of threads.
const PER_THREAD: f64 = 20_000.0;
/// Time from all threads being ready to the start of the run, long enough for every thread to wait for it without sleeping.
const LEAD: Nanos = Nanos::from_millis(2);
/// Interval at which the first response is polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(20);

/// A prepared run.
pub struct Generator {
    workload: Workload,
    share: Share,
    threads: u16,
    backend: Backend,
    /// The script of the sessions, if they need one.
    script: Option<Arc<Script>>,
    stop: Arc<AtomicBool>,
    /// If set after the run is stopped: responses are no longer awaited.
    abort: Arc<AtomicBool>,
    halt: Arc<Halt>,
    live: Arc<[LiveCounters]>,
    /// Receives exchanges with their texts, if set.
    observer: Option<Arc<ExchangeObserver>>,
    /// Skip requests scheduled before this instant; a predecessor has sent them.
    from: Instant,
}

/// The destination of the requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Requests go to the target of the workload.
    Target,
    /// Requests go to a mock server on a virtual clock. Its response times, in seconds, have this distribution.
    Mock(Distribution),
}

/// The prepared form of [`Load`].
enum Backend {
    Target(PreparedTarget),
    Mock(Distribution),
}

/// How a thread learns when to start.
struct StartSignal<'a> {
    /// Takes whether the thread is ready.
    ready: mpsc::Sender<Result<(), Error>>,
    /// The clock of the run, once all threads are ready.
    clock: &'a OnceLock<Clock>,
    /// Gives the thread its scheduling priority.
    priorities: &'a Priorities,
}

/// Statistics of one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadStats {
    /// Time from the start of the run to the last response of the thread.
    pub elapsed: Nanos,
    /// The part of `elapsed` in which the thread neither slept nor spun.
    pub busy: Nanos,
    /// Processor time of the thread, including spinning.
    pub cpu: Nanos,
}

impl ThreadStats {
    /// `busy` as a share of `elapsed`, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        if self.elapsed == Nanos::ZERO { 0.0 } else { self.busy.as_secs_f64() / self.elapsed.as_secs_f64() }
    }
}

/// The results of a run other than its events.
#[derive(Clone, Debug)]
pub struct RunStats {
    /// When the run started, since the Unix epoch; zero on a virtual clock.
    pub started: Nanos,
    /// One entry per thread.
    pub threads: Vec<ThreadStats>,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Why the run stopped itself; `None` if it did not.
    pub halted: Option<Halted>,
    /// With alternating policies: each block that began.
    pub blocks: Vec<Block>,
    /// The scheduling priority of the threads; `None` on a virtual clock.
    pub priority: Option<GrantedPriority>,
}

impl Generator {
    /// Prepares `share` of `workload`. For real load it also raises the limit on open files of the process, so call it
    /// before other threads exist.
    ///
    /// # Errors
    /// No target, a name that cannot be resolved, a request that cannot be built, or a limit smaller than the number of
    /// threads.
    pub fn new(workload: Workload, share: Share, load: Load) -> Result<Self, Error> {
        let (limits, threads) = (limits(&workload), threads(&workload, share));
        if let Some((what, limit)) = limits.into_iter().find(|(_, limit)| *limit < u32::from(threads)) {
            return Err(Error::Limit { what, limit, threads });
        }
        let script = match (&load, workload.target()) {
            (Load::Target, Some(target)) if workload.is_scripted() => Some(Arc::new(Script::new(&workload, target)?)),
            (Load::Target, _) => script::check_variables(workload.variables()).map(|()| None)?,
            // The mock server receives no text.
            (Load::Mock(_), _) => {
                workload.check_probabilities().map_err(|wrong| Error::Condition { reason: wrong.to_string() })?;
                None
            }
        };
        let backend = match load {
            Load::Target => {
                raise_file_limit();
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

    /// Stops the run when `stop` is set, instead of a new flag.
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicBool>) -> Self {
        let halt = Arc::new(Halt::new(stop.clone()));
        Self { stop, halt, ..self }
    }

    /// Sets the ID of the run, which `{{run}}` and every uuid depend on. By default the ID is derived from the time at
    /// which the generator is created.
    #[must_use]
    pub fn in_run(mut self, run: &RunId) -> Self {
        // The script is shared only once the threads run, and by then the generator is borrowed.
        if let Some(script) = self.script.as_mut().and_then(Arc::get_mut) {
            script.in_run(run.clone());
        }
        self
    }

    /// Sets the start to `from`; see [`Agenda::from`]. `None` if the workload cannot be started there.
    #[must_use]
    pub fn from(self, from: Instant) -> Option<Self> {
        self.workload.agenda(self.share).from(from)?;
        Some(Self { from, ..self })
    }

    /// The abort flag: once it is set, a stopped run ends without waiting for requests in flight.
    pub fn abort(&self) -> Arc<AtomicBool> {
        self.abort.clone()
    }

    /// Once `abort` is set too, a stopped run no longer waits for requests in flight.
    #[must_use]
    pub fn aborted_by(self, abort: Arc<AtomicBool>) -> Self {
        Self { abort, ..self }
    }

    /// Sends exchanges with their texts to `observer`. Requests and responses then use a script even if the
    /// workload needs none, so responses are parsed, at the cost of a script.
    ///
    /// # Errors
    /// No target, or a request that cannot be built.
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

    /// Checks that the target can be reached and speaks the protocol. Opens one connection and sends no request.
    ///
    /// # Errors
    /// The target cannot be reached, or does not fit the workload.
    pub fn preflight(&self) -> Result<(), Error> {
        match &self.backend {
            Backend::Target(target) => target.preflight(),
            Backend::Mock(_) => Ok(()),
        }
    }

    /// The number of threads that send requests.
    pub fn threads(&self) -> u16 {
        self.threads
    }

    /// The flag that stops the run: no further requests are sent, and responses are awaited for two seconds.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// A function that stops the run for a reason. Only the first reason is recorded.
    pub fn halter(&self) -> impl Fn(String, End) + Send + 'static {
        let halt = self.halt.clone();
        move |reason, end| halt.stop(reason, end)
    }

    /// Runs the first `sessions` sessions of the workload once each, one after another and without pauses: along their
    /// flow or, without flows, through all requests in the order of the file. Returns the events in order.
    ///
    /// # Errors
    /// The load is a mock, or the operating system refused a poller.
    pub fn walk(&self, sessions: u64) -> Result<Vec<Event>, Error> {
        let (Backend::Target(target), Some(script)) = (&self.backend, &self.script) else {
            return Err(Error::NoTarget);
        };
        let stop = &self.stop;
        let mut thread = ThreadResources::for_single_requests(stop)?;
        thread.limits = self.workload.time_limits();
        let mut client = target.protocol.clone().connect(thread)?;
        client.start_at(Clock::start());
        let events = walk(self.scripted(client, script, 0), &self.workload, sessions, stop);
        let tls_mismatch = events.first().filter(|event| looks_like_tls(event)).and_then(|_| target.tls_mismatch());
        tls_mismatch.map_or(Ok(events), Err)
    }

    /// The addresses of the target with their connections, if its name has several; else empty.
    pub fn addresses(&self) -> Vec<AddressUse> {
        match &self.backend {
            Backend::Target(target) => target.addresses(),
            Backend::Mock(_) => Vec::new(),
        }
    }

    /// A function that returns the current counters, summed over the threads.
    pub fn watch(&self) -> impl Fn() -> Counts + Send + 'static {
        let live = self.live.clone();
        move || live.iter().map(LiveCounters::counts).sum()
    }

    /// Runs to the end. Each thread gets a sink from `sink`. The run starts at the start of the clock `start` or, if
    /// that is `None`, as soon as all threads are ready. `on_start` is called with the clock.
    ///
    /// # Errors
    /// A thread cannot be prepared, or the target speaks TLS and the URL is plain `http`.
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
                priority: None,
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
        let (priorities, (supervise, supervised)) = (Priorities::new(self.priority_class()), mpsc::channel());
        thread::scope(|scope| {
            // Dropped with every return, so that the supervisor ends.
            let (priorities, supervise) = (&priorities, supervise);
            let spawned: io::Result<Vec<_>> = (0..self.threads)
                .map(|thread| {
                    let (target, ready_sender, clock, mut sink) =
                        (target.clone(), ready_sender.clone(), &clock, sink());
                    let requests = requests.clone();
                    let run = move || {
                        let start = StartSignal { ready: ready_sender, clock, priorities };
                        self.run_thread(thread, target, requests, start, &mut sink).map(|stats| (stats, sink))
                    };
                    thread::Builder::new().name(format!("sender {thread}")).spawn_scoped(scope, run)
                })
                .collect();
            let ready = spawned.map_err(Error::from).and_then(|threads| {
                ready_receiver.iter().take(threads.len()).collect::<Result<(), Error>>()?;
                let (begins, ended, other) = (&clock, &ended, thread::Builder::new);
                if let Some(every) = self.workload.targets().filter_map(Target::resolve_every).min() {
                    let target = target.clone();
                    other().spawn_scoped(scope, move || resolve_periodically(&target, begins.wait(), every, ended))?;
                }
                other().spawn_scoped(scope, move || priorities.supervise(&supervised))?;
                // Before the start, which may be immediate.
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
                // The threads that are ready send nothing.
                self.stop.store(true, Relaxed);
                ended.store(true, Relaxed);
            }
            let clock = *clock.get_or_init(|| start.unwrap_or_else(|| Clock::starting_in(LEAD)));
            let (threads, tls_watcher, switcher) = ready?;
            on_start(clock);
            let joined: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a thread that ends")).collect();
            ended.store(true, Relaxed);
            drop(supervise);
            if let Some(tls_mismatch) = tls_watcher.join().expect("a thread that ends") {
                return Err(tls_mismatch);
            }
            let blocks = switcher.map_or_else(Vec::new, |thread| thread.join().expect("a thread that ends"));
            // All threads were ready.
            let (workers, sinks) = joined.into_iter().flatten().unzip();
            let (stopped, halted) = (self.stop.load(Relaxed), self.halt.halted());
            let (started, priority) = (clock.unix_origin(), priorities.granted());
            Ok((RunStats { started, threads: workers, stopped, halted, blocks, priority }, sinks))
        })
    }

    /// The alternating policies, with the first one applied. In a run of several workers, worker 1 switches.
    fn switcher(&self) -> Result<Option<PolicySwitcher<'_>>, Error> {
        let policies = self.workload.policies().filter(|_| self.share.index() == 0);
        // A worker that takes over a run starts with the next block.
        let turns = |all: &Policies| all.turns(self.workload.counted()).filter(|turn| turn.begins >= self.from);
        policies.map(|all| PolicySwitcher::start(all, turns(all).collect(), &self.stop)).transpose()
    }

    /// Returns an error and stops the run if the first responses failed because the target speaks TLS.
    fn watch_for_tls(&self, target: &PreparedTarget, clock: &Clock, ended: &AtomicBool) -> Option<Error> {
        clock.wait_for_start(ended);
        loop {
            // In this order, so that the last responses before the end are seen too.
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

    /// How long before its scheduled time a request is waited for without sleeping.
    fn spin(&self) -> Nanos {
        match self.workload.generator().wait_mode() {
            WaitMode::Spin => SPIN,
            WaitMode::Sleep => Nanos::ZERO,
        }
    }

    /// The scheduling priority of the threads.
    fn priority_class(&self) -> PriorityClass {
        match self.workload.generator().priority() {
            Priority::Normal => PriorityClass::Normal,
            Priority::Auto => PriorityClass::High,
            Priority::Realtime => PriorityClass::Realtime,
        }
    }

    fn agenda(&self, thread: u16) -> Agenda {
        let agenda = self.workload.agenda(self.share.part(u64::from(thread), u64::from(self.threads)));
        agenda.from(self.from).expect("a workload that can be taken up")
    }

    /// Runs one thread against the mock server.
    fn run_mock(&self, thread: u16, response: Distribution, sink: &mut dyn Sink) -> ThreadStats {
        let transport = Mock::new(self.workload.seed(), response, self.worker(thread) as u16);
        self.drive_agenda(thread, self.agenda(thread), transport, sink)
    }

    /// Runs one thread: prepares it, waits for the start, and runs its share of the agenda. `None` if it could not be
    /// prepared. Not generic in the sink, so that the loop of each protocol is compiled once, in this crate.
    fn run_thread(
        &self,
        thread: u16,
        target: PreparedTarget,
        requests: Requests,
        start: StartSignal<'_>,
        sink: &mut dyn Sink,
    ) -> Option<ThreadStats> {
        with_protocol_setup!(target.protocol, setup => self.run_protocol(thread, setup, requests, start, sink))
    }

    fn run_protocol<P: ProtocolSetup>(
        &self,
        thread: u16,
        setup: P,
        requests: Requests,
        start: StartSignal<'_>,
        sink: &mut dyn Sink,
    ) -> Option<ThreadStats> {
        let agenda = self.agenda(thread);
        let (readiness, client) = match self.connect(thread, setup) {
            Ok(client) => (Ok(()), Some(client)),
            Err(error) => (Err(error), None),
        };
        let _raised = start.priorities.raise_current_thread();
        // The receiver is gone if another thread could not be spawned.
        let _ = start.ready.send(readiness);
        let clock = start.clock.wait();
        let mut client = client?;
        clock.wait_for_start(&self.stop);
        client.start_at(*clock);
        let worker = self.worker(thread) as u16;
        Some(match &self.script {
            None => self.drive_agenda(thread, agenda, P::unscripted(client, requests, worker), sink),
            Some(script) => self.drive_agenda(thread, agenda, self.scripted(Box::new(client), script, worker), sink),
        })
    }

    /// The client of a thread, ready to start.
    fn connect<P: ProtocolSetup>(&self, thread: u16, setup: P) -> Result<P::Client, Error> {
        setup.connect(ThreadResources {
            poller: Poller::new()?,
            worker: self.worker(thread) as u16,
            connections: self.workload.target().and_then(Target::connections).map(|limit| self.part(thread, limit)),
            is_single: false,
            part_of_pool: &|connections| self.part(thread, connections),
            spin: self.spin(),
            limits: self.workload.time_limits(),
            stop: &self.stop,
        })
    }

    /// The scripted sessions of `worker` over `client`.
    fn scripted(
        &self,
        client: Box<dyn ProtocolClient>,
        script: &Arc<Script>,
        worker: u16,
    ) -> Scripted<dyn ProtocolClient> {
        Scripted::new(client, script.clone(), self.halt.clone(), worker, self.observer.clone())
    }

    fn drive_agenda<T: Transport>(
        &self,
        thread: u16,
        agenda: Agenda,
        transport: T,
        sink: &mut dyn Sink,
    ) -> ThreadStats {
        let used = thread_cpu_time();
        let workers = self.share.parts() * u64::from(self.threads);
        let first = self.worker(thread) + agenda.skipped() * workers;
        let mut driver = Driver {
            agenda,
            mix: self.workload.mix(),
            late: self.workload.late(),
            end: self.workload.last(),
            in_flight: InFlight::new(&self.workload, |limit| self.part(thread, limit)),
            worker: self.worker(thread) as u16,
            numbering: (first, workers),
            transport,
            stop: &self.stop,
            abort: &self.abort,
            live: &self.live[usize::from(thread)],
            sink,
            sessions: self.workload.sessions(),
            positions: self.workload.flows().map(|_| HashMap::new()),
            attempts: AttemptTracker::new(&self.workload, workers),
        };
        let (elapsed, idle) = driver.run();
        ThreadStats { elapsed, busy: elapsed.saturating_sub(idle), cpu: thread_cpu_time() - used }
    }

    /// The number of this thread in the whole run.
    fn worker(&self, thread: u16) -> u64 {
        self.share.index() + self.share.parts() * u64::from(thread)
    }

    /// The part of `limit` that this thread gets. The parts of all threads add up to the limit.
    fn part(&self, thread: u16, limit: u32) -> u32 {
        let (threads, thread) = (u32::from(self.threads), u32::from(thread));
        limit / threads + u32::from(thread < limit % threads)
    }
}

/// The limits on connections and requests in flight, with their keys.
fn limits(workload: &Workload) -> Vec<(&'static str, u32)> {
    let limits = workload.targets().flat_map(|t| {
        let smallest = t.pools().iter().map(|pool| pool.connections).min();
        [("connections", t.connections()), ("in_flight", t.in_flight()), ("the smallest of pools", smallest)]
    });
    limits.filter_map(|(what, limit)| Some((what, limit?))).collect()
}

/// The number of threads that send `share` of `workload` on this machine: the number in the workload, otherwise as many
/// as the rate needs, but at most one per core and one per connection.
pub fn threads(workload: &Workload, share: Share) -> u16 {
    let cores = thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u16);
    let fewest = limits(workload).into_iter().map(|(_, limit)| limit).min().unwrap_or(u32::MAX);
    let default_threads = || default_threads(workload, share).min(cores).min(fewest.min(1024) as u16);
    workload.generator().threads().unwrap_or_else(default_threads)
}

/// The number of threads that the rate needs.
fn default_threads(workload: &Workload, share: Share) -> u16 {
    (peak_rate(workload) * share.fraction() / PER_THREAD).ceil().clamp(1.0, 1024.0) as u16
}

/// The peak of the request rate, per second. A closed system without think time counts as 100/s for each user.
fn peak_rate(workload: &Workload) -> f64 {
    workload.max_rate_per_s().unwrap_or_else(|| match workload.sessions() {
        Sessions::Closed(closed) => closed.users() as f64 * 100.0,
        // The rates of the others are known although that of one is not.
        Sessions::Scenarios(_) => (0..).map_while(|number| workload.scenario(number)).map(|one| peak_rate(&one)).sum(),
        _ => 0.0,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_rate_counts_all_scenarios() {
        let text = "duration = \"1s\"\ntarget.url = \"http://h/\"\n\
            scenario = [{ name = \"a\", arrivals.closed.users = 3 }, { name = \"b\", arrivals.open.rate = \"50000/s\" }]";
        let workload = Workload::parse(text, "w", &|_| Err(String::new())).unwrap();
        assert!((peak_rate(&workload) - 50_300.0).abs() < 1e-6);
        assert_eq!(default_threads(&workload, Share::ALL), 3);
    }
}
