//! The collector: the thread behind the launching threads, where events are kept and the run is watched.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use offered_clock::Clock;
use offered_model::{Event, Exchange, Instant, Nanos};
use offered_run::{Counts, End, Sink};
use offered_store::{BEAT, Error, Recorder, Spool, keep_failure};
use offered_watch::{Feed, Pulse, Scraped, Tally};

/// From one pulse to the next.
const PULSE: Nanos = Nanos::from_secs(1);
/// How soon the start and the next pulse are noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// So long is paused between two stretches of writing beside launching threads: the scheduler would else put these off.
const PAUSE: Duration = Duration::from_micros(500);
/// Where no clock is to be kept so many batches wait for the collector, and then whoever makes them.
const WAITING: usize = 100;

/// Where a pulse is shown.
pub trait View: Send {
    /// Shows it.
    fn show(&mut self, pulse: &Pulse);

    /// Whether it shows [`Pulse::totals`] too.
    fn wants_totals(&self) -> bool {
        false
    }
}

impl View for Scraped {
    fn show(&mut self, pulse: &Pulse) {
        Self::show(self, pulse);
    }

    fn wants_totals(&self) -> bool {
        true
    }
}

impl View for Feed {
    fn show(&mut self, pulse: &Pulse) {
        Self::show(self, pulse);
    }
}

/// Says why what is kept on this machine does not come to where all keep it, as long as it does not.
pub(crate) type Unsent = Box<dyn Fn() -> Option<String> + Send>;

/// What it takes to watch a run.
pub(crate) struct Watch {
    pub(crate) tally: Tally,
    /// The counters of the launching threads.
    pub(crate) live: Box<dyn Fn() -> Counts + Send>,
    /// Set once somebody stopped the run.
    pub(crate) stop: Arc<AtomicBool>,
    /// Stops the run, and says why.
    pub(crate) halt: Box<dyn Fn(String, End) + Send>,
    /// Whether it is over when the disk takes no more.
    pub(crate) ends_unkept: bool,
    pub(crate) views: Vec<Box<dyn View>>,
    /// The failures that a witness has seen, and the directory where they are kept.
    pub(crate) failures: Option<Receiver<Exchange>>,
    pub(crate) out: Option<PathBuf>,
    /// Gives a sign of life with the number of launches under way, where somebody may look for one.
    pub(crate) beat: Option<Box<dyn FnMut(u64) + Send>>,
    /// Why what is kept here does not come to where all workers keep it, where that is elsewhere.
    pub(crate) unsent: Option<Unsent>,
}

/// What was collected.
#[derive(Default)]
pub(crate) struct Collected {
    /// What happened, unless it was recorded.
    pub(crate) events: Spool,
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

/// Where events go.
pub(crate) enum Keep {
    /// To a run directory.
    Recorder(Recorder),
    /// No further than this process; they are of requests with these names.
    Here(Vec<String>),
}

impl Keep {
    /// Why what happens is not kept at present, if so.
    fn refusal(&self) -> Option<String> {
        match self {
            Self::Recorder(recorder) => recorder.refusal(),
            Self::Here(_) => None,
        }
    }
}

/// The collector at work.
pub(crate) struct Collector {
    batches: Batches,
    clock: Arc<OnceLock<Clock>>,
    thread: JoinHandle<Collected>,
}

/// A launching thread's way to the collector.
#[derive(Clone)]
pub(crate) enum Batches {
    /// Handing over never waits.
    AtOnce(Sender<Batch>),
    /// Of a run against no clock: it waits where the collector is slower, so that memory stays bounded.
    Waiting(SyncSender<Batch>),
}

/// What a launching thread hands over.
pub(crate) enum Batch {
    Events(Vec<Event>),
    /// Of launches that are under way.
    UnderWay(Vec<Event>),
}

impl Batches {
    fn send(&self, batch: Batch) {
        let sent = match self {
            Self::AtOnce(batches) => batches.send(batch),
            Self::Waiting(batches) => batches.send(batch),
        };
        sent.expect("a collector that outlives the run");
    }
}

impl Sink for Batches {
    fn keep(&mut self, batch: Vec<Event>) {
        self.send(Batch::Events(batch));
    }

    fn under_way(&mut self, launches: Vec<Event>) {
        self.send(Batch::UnderWay(launches));
    }
}

impl Collector {
    /// Begins to collect; what is `for_nobody` keeps no clock that could be disturbed.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(crate) fn start(keep: Keep, for_nobody: bool, watch: Watch) -> Result<Self, crate::Error> {
        let (batches, inbox) = if for_nobody {
            let (batches, inbox) = sync_channel(WAITING);
            (Batches::Waiting(batches), inbox)
        } else {
            let (batches, inbox) = channel();
            (Batches::AtOnce(batches), inbox)
        };
        let mut collected = Collected::default();
        if !for_nobody {
            collected.events.pause_with(|| std::thread::park_timeout(PAUSE));
        }
        let clock = Arc::new(OnceLock::new());
        let begun = clock.clone();
        let collect = move || collect(&inbox, &keep, collected, watch, &begun);
        let thread = std::thread::Builder::new()
            .name("collect".to_owned())
            .spawn(collect)
            .map_err(offered_run::Error::System)?;
        Ok(Self { batches, clock, thread })
    }

    /// A way to it, for one launching thread.
    pub(crate) fn sink(&self) -> Batches {
        self.batches.clone()
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
    inbox: &Receiver<Batch>,
    keep: &Keep,
    mut collected: Collected,
    mut watch: Watch,
    clock: &OnceLock<Clock>,
) -> Collected {
    let mut next = Instant::ZERO + PULSE;
    let mut beats = Instant::ZERO;
    loop {
        collected.look(&watch);
        match inbox.recv_timeout(NOTICE) {
            Ok(Batch::UnderWay(launches)) => {
                if let Keep::Recorder(recorder) = keep {
                    drop(recorder.under_way(launches));
                }
            }
            Ok(Batch::Events(batch)) => {
                if !watch.views.is_empty() || watch.tally.can_stop() {
                    watch.tally.add(&batch);
                }
                match keep {
                    // A recorder that has ended says so when it is finished.
                    Keep::Recorder(recorder) => drop(recorder.record(batch)),
                    Keep::Here(names) => batch.into_iter().for_each(|event| collected.events.push(event, names)),
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(now) = clock.get().map(Clock::now).filter(|now| *now >= next) {
            next = now + PULSE;
            let mut pulse = watch.tally.pulse(now, (watch.live)(), watch.stop.load(Relaxed));
            pulse.unkept = keep.refusal();
            if let (Some(why), true) = (&pulse.unkept, watch.ends_unkept) {
                (watch.halt)(why.clone(), End::Unkept);
            }
            pulse.unkept = pulse.unkept.or_else(|| watch.unsent.as_ref()?());
            if let (Some(broken), false) = (&pulse.broken, watch.stop.load(Relaxed)) {
                (watch.halt)(broken.clone(), End::Threshold);
            }
            watch.views.iter_mut().for_each(|view| view.show(&pulse));
            if let Some(beat) = watch.beat.as_mut().filter(|_| now >= beats) {
                beats = now + BEAT;
                beat((watch.live)().in_flight);
            }
        }
    }
    if let Some(clock) = clock.get() {
        let mut last = watch.tally.last(clock.now(), (watch.live)());
        last.unkept = keep.refusal().or_else(|| watch.unsent.as_ref()?());
        watch.views.iter_mut().for_each(|view| view.show(&last));
    }
    collected.look(&watch);
    collected
}
