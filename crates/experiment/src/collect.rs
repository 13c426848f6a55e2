//! The collector: the thread behind the launching threads, where events are kept and the run is watched.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use offered_clock::Clock;
use offered_model::{Event, Exchange, Instant, Nanos};
use offered_run::{Counts, Sink};
use offered_store::{Error, Recorder, keep_failure};
use offered_watch::{Feed, Pulse, Tally};

/// From one pulse to the next.
const PULSE: Nanos = Nanos::from_secs(1);
/// How soon the start and the next pulse are noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Where a pulse is shown.
pub trait View: Send {
    /// Shows it.
    fn show(&mut self, pulse: &Pulse);
}

impl View for Feed {
    fn show(&mut self, pulse: &Pulse) {
        Self::show(self, pulse);
    }
}

/// What it takes to watch a run.
pub(crate) struct Watch {
    pub(crate) tally: Tally,
    /// The counters of the launching threads.
    pub(crate) live: Box<dyn Fn() -> Counts + Send>,
    /// Set once somebody stopped the run.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) views: Vec<Box<dyn View>>,
    /// The failures that a witness has seen, and the directory where they are kept.
    pub(crate) failures: Option<Receiver<Exchange>>,
    pub(crate) out: Option<PathBuf>,
}

/// What was collected.
#[derive(Default)]
pub(crate) struct Collected {
    /// What happened, unless it was recorded.
    pub(crate) events: Vec<Event>,
    /// The failures that were seen.
    pub(crate) failures: Vec<Exchange>,
    /// Why they could not all be kept, if so.
    pub(crate) lost: Option<Error>,
}

impl Collected {
    /// Keeps the failures that have been seen meanwhile.
    fn look(&mut self, watch: &Watch) {
        for exchange in watch.failures.iter().flat_map(Receiver::try_iter) {
            if let (Some(out), None) = (&watch.out, &self.lost) {
                self.lost = keep_failure(out, &exchange).err();
            }
            self.failures.push(exchange);
        }
    }
}

/// The collector at work.
pub(crate) struct Collector {
    batches: Sender<Vec<Event>>,
    clock: Arc<OnceLock<Clock>>,
    thread: JoinHandle<Collected>,
}

/// A launching thread's way to the collector: handing over never waits.
pub(crate) struct Batches(Sender<Vec<Event>>);

impl Sink for Batches {
    fn keep(&mut self, batch: Vec<Event>) {
        self.0.send(batch).expect("a collector that outlives the run");
    }
}

impl Collector {
    /// Begins to collect: to `recorder` where there is one, else in memory.
    pub(crate) fn start(recorder: Option<Recorder>, watch: Watch) -> Self {
        let (batches, inbox) = channel();
        let clock = Arc::new(OnceLock::new());
        let begun = clock.clone();
        let collect = move || collect(&inbox, recorder, watch, &begun);
        let thread =
            std::thread::Builder::new().name("collect".to_owned()).spawn(collect).expect("a thread to collect");
        Self { batches, clock, thread }
    }

    /// A way to it, for one launching thread.
    pub(crate) fn sink(&self) -> Batches {
        Batches(self.batches.clone())
    }

    /// Tells it the clock of the run: from now on there are pulses.
    pub(crate) fn begin(&self, clock: Clock) {
        // A run begins once.
        let _ = self.clock.set(clock);
    }

    /// What was collected. Every [`Batches`] must be dropped before.
    pub(crate) fn finish(self) -> Collected {
        drop(self.batches);
        self.thread.join().expect("a collector that does not panic")
    }
}

fn collect(
    inbox: &Receiver<Vec<Event>>,
    recorder: Option<Recorder>,
    mut watch: Watch,
    clock: &OnceLock<Clock>,
) -> Collected {
    let mut collected = Collected::default();
    let mut next = Instant::ZERO + PULSE;
    loop {
        collected.look(&watch);
        match inbox.recv_timeout(NOTICE) {
            Ok(mut batch) => {
                if !watch.views.is_empty() {
                    watch.tally.add(&batch);
                }
                match &recorder {
                    // A recorder that has ended says so when it is finished.
                    Some(recorder) => drop(recorder.record(batch)),
                    None => collected.events.append(&mut batch),
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(now) = clock.get().map(Clock::now).filter(|now| *now >= next) {
            next = now + PULSE;
            let pulse = watch.tally.pulse(now, (watch.live)(), watch.stop.load(Relaxed));
            watch.views.iter_mut().for_each(|view| view.show(&pulse));
        }
    }
    if let Some(clock) = clock.get() {
        let last = watch.tally.last(clock.now(), (watch.live)());
        watch.views.iter_mut().for_each(|view| view.show(&last));
    }
    collected.look(&watch);
    collected
}
