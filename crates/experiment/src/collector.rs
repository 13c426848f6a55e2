//! The collector: the thread that receives events from the sending threads, stores them, and shows the progress of the run.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Exchange};
use offered_io::Clock;
use offered_run::{Counts, End, Sink};
use offered_store::{Error, HEARTBEAT_INTERVAL, Recorder, Spool};
use offered_watch::{MetricsFeed, PageFeed, Snapshot, Tally};

use crate::side_files::SideFiles;

/// Time between two progress updates.
const PULSE_INTERVAL: Nanos = Nanos::from_secs(1);
/// Maximum delay of a progress update.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(50);

/// Pause between two bursts of writing. Without it the scheduler delays the sending threads.
const WRITE_PAUSE: Duration = Duration::from_micros(500);
/// Maximum number of batches in the queue of a dry run; a sending thread waits when the queue is full.
const MAX_QUEUED_BATCHES: usize = 100;

/// A live display of a run.
pub trait LiveView: Send {
    /// Shows a progress update.
    fn show(&mut self, snapshot: &Snapshot);

    /// Whether it also shows [`Snapshot::totals`].
    fn wants_totals(&self) -> bool {
        false
    }

    /// Shows what the run waits for before its first request.
    fn show_wait(&mut self, _reason: &str) {}
}

impl LiveView for MetricsFeed {
    fn show(&mut self, snapshot: &Snapshot) {
        Self::update(self, snapshot);
    }

    fn wants_totals(&self) -> bool {
        true
    }
}

impl LiveView for PageFeed {
    fn show(&mut self, snapshot: &Snapshot) {
        Self::update(self, snapshot);
    }
}

/// Returns the current error of an upload; `None` while the upload works.
pub(crate) type UploadError = Box<dyn Fn() -> Option<String> + Send>;

/// The inputs of the collector for monitoring a run.
pub(crate) struct Monitor {
    pub(crate) tally: Tally,
    /// Returns the counters of the sending threads.
    pub(crate) counts: Box<dyn Fn() -> Counts + Send>,
    /// Set when the run is stopped.
    pub(crate) stop: Arc<AtomicBool>,
    /// Stops the run for a reason.
    pub(crate) halt: Box<dyn Fn(String, End) + Send>,
    /// Whether the run stops when events can no longer be written.
    pub(crate) stop_on_write_loss: bool,
    pub(crate) views: Vec<Box<dyn LiveView>>,
    /// The captured failures.
    pub(crate) failures: Option<Receiver<Exchange>>,
    /// The heartbeat and the captured failures in the run directory, if there is one.
    pub(crate) side_files: Option<SideFiles>,
    /// The error of the upload, if the run is uploaded.
    pub(crate) upload_error: Option<UploadError>,
}

/// The results of the collector.
#[derive(Default)]
pub(crate) struct Collected {
    /// The events, unless a recorder has them.
    pub(crate) events: Spool,
    /// The captured failures.
    pub(crate) failures: Vec<Exchange>,
    /// Why captured failures could not be written, if so.
    pub(crate) failure_loss: Option<Error>,
}

impl Collected {
    /// Takes the failures captured since the last call.
    fn collect_failures(&mut self, monitor: &Monitor) {
        for exchange in monitor.failures.iter().flat_map(Receiver::try_iter) {
            if let Some(files) = &monitor.side_files {
                files.failure(&exchange);
            }
            self.failures.push(exchange);
        }
    }
}

/// Where events are stored.
pub(crate) enum EventStorage {
    /// In a run directory.
    Recorder(Recorder),
    /// A store in memory; the labels are the names of the requests.
    Memory(Vec<String>),
}

impl EventStorage {
    /// The reason why events cannot be written at present; `None` if they can.
    fn write_error(&self) -> Option<String> {
        match self {
            Self::Recorder(recorder) => recorder.write_error(),
            Self::Memory(_) => None,
        }
    }

    /// The message that the disk has not responded for two seconds; `None` if it has.
    fn stall(&self) -> Option<String> {
        match self {
            Self::Recorder(recorder) => recorder.stall(),
            Self::Memory(_) => None,
        }
    }
}

/// The running collector.
pub(crate) struct Collector {
    batches: BatchSender,
    clock: Arc<OnceLock<Clock>>,
    thread: JoinHandle<Collected>,
}

/// Sends batches from a sending thread to the collector.
#[derive(Clone)]
pub(crate) enum BatchSender {
    /// Sending never waits.
    Unbounded(Sender<Batch>),
    /// Sending waits for the collector, so that memory is bounded; only in dry runs, which have no clock.
    Bounded(SyncSender<Batch>),
}

/// Events from a sending thread.
pub(crate) enum Batch {
    Events(Vec<Event>),
    /// Requests that are still in flight.
    InFlight(Vec<Event>),
}

impl BatchSender {
    fn send(&self, batch: Batch) {
        let sent = match self {
            Self::Unbounded(batches) => batches.send(batch),
            Self::Bounded(batches) => batches.send(batch),
        };
        sent.expect("a collector that outlives the run");
    }
}

impl Sink for BatchSender {
    fn record(&mut self, batch: Vec<Event>) {
        self.send(Batch::Events(batch));
    }

    fn in_flight(&mut self, launches: Vec<Event>) {
        self.send(Batch::InFlight(launches));
    }
}

impl Collector {
    /// Starts the collector thread. A dry run (`is_mock`) may be slowed down by the collector.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(storage: EventStorage, is_mock: bool, monitor: Monitor) -> Result<Self, crate::Error> {
        let (batches, inbox) = if is_mock {
            let (batches, inbox) = sync_channel(MAX_QUEUED_BATCHES);
            (BatchSender::Bounded(batches), inbox)
        } else {
            let (batches, inbox) = channel();
            (BatchSender::Unbounded(batches), inbox)
        };
        let mut collected = Collected::default();
        if !is_mock {
            collected.events.pause_with(|| std::thread::park_timeout(WRITE_PAUSE));
        }
        let clock = Arc::new(OnceLock::new());
        let begun = clock.clone();
        let collect = move || collect(&inbox, &storage, collected, monitor, &begun);
        let thread = std::thread::Builder::new()
            .name("collect".to_owned())
            .spawn(collect)
            .map_err(offered_run::Error::System)?;
        Ok(Self { batches, clock, thread })
    }

    /// A sink for one sending thread.
    pub(crate) fn sink(&self) -> BatchSender {
        self.batches.clone()
    }

    /// Passes on the clock of the run, which starts the progress updates.
    pub(crate) fn begin(&self, clock: Clock) {
        // A run starts only once.
        let _ = self.clock.set(clock);
    }

    /// Waits for the collector to end, and returns its results. Every [`BatchSender`] must be dropped before.
    pub(crate) fn finish(self) -> Collected {
        drop(self.batches);
        self.thread.join().expect("a collector that does not panic")
    }
}

fn collect(
    inbox: &Receiver<Batch>,
    storage: &EventStorage,
    mut collected: Collected,
    mut monitor: Monitor,
    clock: &OnceLock<Clock>,
) -> Collected {
    let mut next = Instant::ZERO + PULSE_INTERVAL;
    let mut beats = Instant::ZERO;
    loop {
        collected.collect_failures(&monitor);
        match inbox.recv_timeout(RECEIVE_TIMEOUT) {
            Ok(Batch::InFlight(launches)) => {
                if let EventStorage::Recorder(recorder) = storage {
                    drop(recorder.record_in_flight(launches));
                }
            }
            Ok(Batch::Events(batch)) => {
                if !monitor.views.is_empty() || monitor.tally.can_stop() {
                    monitor.tally.add(&batch);
                }
                match storage {
                    // An error of the recorder is returned when it is finished.
                    EventStorage::Recorder(recorder) => drop(recorder.record(batch)),
                    EventStorage::Memory(names) => {
                        for event in batch {
                            collected.events.push(event, names);
                        }
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(now) = clock.get().map(Clock::now).filter(|now| *now >= next) {
            next = now + PULSE_INTERVAL;
            let mut snapshot = monitor.tally.snapshot(now, (monitor.counts)(), monitor.stop.load(Relaxed));
            snapshot.write_error = storage.write_error();
            if let (Some(why), true) = (&snapshot.write_error, monitor.stop_on_write_loss) {
                (monitor.halt)(why.clone(), End::WriteLoss);
            }
            let current = snapshot.write_error.or_else(|| storage.stall());
            snapshot.write_error = current.or_else(|| monitor.upload_error.as_ref()?());
            if let (Some(broken), false) = (&snapshot.failed_threshold, monitor.stop.load(Relaxed)) {
                (monitor.halt)(broken.clone(), End::Threshold);
            }
            monitor.views.iter_mut().for_each(|view| view.show(&snapshot));
            if let Some(files) = monitor.side_files.as_ref().filter(|_| now >= beats) {
                beats = now + HEARTBEAT_INTERVAL;
                files.heartbeat((monitor.counts)().in_flight);
            }
        }
    }
    if let Some(clock) = clock.get() {
        let mut last = monitor.tally.final_snapshot(clock.now(), (monitor.counts)());
        let current = storage.write_error().or_else(|| storage.stall());
        last.write_error = current.or_else(|| monitor.upload_error.as_ref()?());
        monitor.views.iter_mut().for_each(|view| view.show(&last));
    }
    collected.collect_failures(&monitor);
    collected.failure_loss = monitor.side_files.and_then(SideFiles::finish);
    collected
}
