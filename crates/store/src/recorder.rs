//! The recorder: a thread that owns the [`Writer`], so that no request ever waits for a disk.
//!
//! Generator threads send batches through an unbounded channel. The recorder closes a part when its events span one second, or when nothing
//! has arrived for 0.75 s. So a part is never open for two seconds. If the recorder is late, a part contains more, up
//! to 100,000 events. The recorder reads no clock; it takes the time from the timestamps of events.
//!
//! If events cannot be written, or the disk does not respond, up to [`MAX_PENDING`] events stay in memory, and writing
//! is retried every second. So a temporarily full or slow disk loses no events. If the disk is still full at the end,
//! [`Recorder::finish`] returns the events; if it does not respond, [`Closing::so_far`] gives the recording without
//! waiting for it.

pub(crate) mod backlog;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Recording};
use serde::Serialize;

use backlog::{Backlog, Batch, Missing};

use crate::error::Error;
use crate::part;
use crate::record::RunRecord;
use crate::rundir::{Writer, read_first_parts};
use crate::write_loss::{self, WriteLoss};

/// A handle to the recorder thread. Clone one for every generator thread.
///
/// If all handles are dropped without [`Recorder::finish`], the last part is still closed, and readers treat the run as
/// killed.
#[derive(Clone, Debug)]
pub struct Recorder {
    messages: Sender<Message>,
    /// Set when a caller waits for the recorder: it then stops pausing.
    no_pause: Arc<AtomicBool>,
    /// Number of batches in the channel.
    waiting: Arc<AtomicUsize>,
    backlog: Arc<Backlog>,
    /// The names of the requests.
    labels: Arc<[String]>,
    /// Whether [`Recorder::record`] blocks while the recorder is late.
    blocking: bool,
}

/// The result of [`Recorder::finish`].
type Finished = Result<Option<WriteLoss>, Error>;

#[derive(Debug)]
enum Message {
    /// The start of the run, since the Unix epoch.
    Start(Nanos),
    Events(Batch),
    InFlight(Vec<Event>),
    /// Signal when all earlier messages have been handled.
    Sync(Sender<()>),
    /// Finish with this text of `run.json`.
    Finish {
        record: String,
        done: Sender<Finished>,
    },
}

impl Recorder {
    /// Moves `writer` to a new thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(mut writer: Writer) -> Result<Self, Error> {
        let (messages, inbox) = channel();
        let (no_pause, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (urgent, behind, taken) = (no_pause.clone(), waiting.clone(), waiting.clone());
        writer.pause_with(move || {
            if !urgent.load(Relaxed) && behind.load(Relaxed) < MAX_QUEUED {
                thread::park_timeout(PAUSE);
            }
        });
        let (backlog, labels) = (writer.backlog().clone(), writer.labels().into());
        let run = move || {
            lower_thread_priority();
            part::prepare();
            RecorderThread { writer, waiting: taken, opened: None, last_error: None }.run(inbox);
        };
        thread::Builder::new().name("record".to_owned()).spawn(run).map_err(Error::ThreadSpawn)?;
        Ok(Self { messages, no_pause, waiting, backlog, labels, blocking: false })
    }

    /// Turns pauses off and makes [`Recorder::record`] wait for the disk. For runs on a virtual clock: timing is
    /// irrelevant there, and memory must stay bounded although events are produced fast.
    #[must_use]
    pub fn blocking(self) -> Self {
        self.no_pause.store(true, Relaxed);
        Self { blocking: true, ..self }
    }

    /// The current write error; `None` while the disk accepts all events.
    pub fn write_error(&self) -> Option<String> {
        self.backlog.error()
    }

    /// A message that the disk has not responded for two seconds, with the file being written; `None` while it
    /// responds.
    pub fn stall(&self) -> Option<String> {
        self.backlog.stall()
    }

    /// Writes the start of the run, in time since the Unix epoch, into the footers of all parts that follow. Call it before the first event.
    ///
    /// # Errors
    /// [`Error::RecorderEnded`]: the recorder was finished before.
    pub fn set_start(&self, started: Nanos) -> Result<(), Error> {
        self.messages.send(Message::Start(started)).map_err(|_| Error::RecorderEnded)
    }

    /// Hands over a batch. Blocks only on a [blocking](Recorder::blocking) recorder. [`Recorder::write_error`] reports disk errors.
    ///
    /// # Errors
    /// [`Error::RecorderEnded`]: the recorder was finished before; the events are not recorded.
    pub fn record(&self, events: Vec<Event>) -> Result<(), Error> {
        let Some(batch) = self.backlog.add_within(MAX_PENDING, events) else { return Ok(()) };
        self.waiting.fetch_add(1, Relaxed);
        self.messages.send(Message::Events(batch)).map_err(|_| Error::RecorderEnded)?;
        if self.blocking && self.waiting.load(Relaxed) > MAX_QUEUED {
            let (done, reply) = channel();
            self.messages.send(Message::Sync(done)).map_err(|_| Error::RecorderEnded)?;
            reply.recv().map_err(|_| Error::RecorderEnded)?;
        }
        Ok(())
    }

    /// Hands over requests that have been in flight for a long time, with the known part of their events.
    /// [Record](Recorder::record) their outcomes later. If the process is killed before, the run directory still shows
    /// that they were sent. Never blocks.
    ///
    /// # Errors
    /// [`Error::RecorderEnded`]: the recorder was finished before.
    pub fn record_in_flight(&self, requests: Vec<Event>) -> Result<(), Error> {
        self.messages.send(Message::InFlight(requests)).map_err(|_| Error::RecorderEnded)
    }

    /// Writes all recorded events, then `run.json`, and waits until both are on disk. Returns the events that the disk
    /// refuses. In this case `run.json` is not written, so readers treat the run as killed.
    ///
    /// # Errors
    /// `run.json` cannot be written, or [`Error::RecorderEnded`]: the recorder was finished before.
    pub fn finish(self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<Option<WriteLoss>, Error> {
        self.close(record)?.finish()
    }

    /// Starts to write all recorded events, then `run.json`. Does not wait.
    ///
    /// # Errors
    /// [`Error::RecorderEnded`]: the recorder was finished before.
    pub fn close(self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<Closing, Error> {
        let (done, reply) = channel();
        self.no_pause.store(true, Relaxed);
        self.messages.send(Message::Finish { record: record.text(), done }).map_err(|_| Error::RecorderEnded)?;
        Ok(Closing { reply, backlog: self.backlog, labels: self.labels })
    }
}

/// A recorder that writes the last events.
#[derive(Debug)]
pub struct Closing {
    reply: Receiver<Finished>,
    backlog: Arc<Backlog>,
    labels: Arc<[String]>,
}

impl Closing {
    /// Waits until all data is on disk; see [`Recorder::finish`] for the result.
    ///
    /// # Errors
    /// See [`Recorder::finish`].
    pub fn finish(self) -> Result<Option<WriteLoss>, Error> {
        self.reply.recv().map_err(|_| Error::RecorderEnded)?
    }

    /// Waits at most this long; `None` if the disk has not finished by then.
    ///
    /// # Errors
    /// See [`Recorder::finish`].
    pub fn finish_within(&self, time: Duration) -> Option<Result<Option<WriteLoss>, Error>> {
        match self.reply.recv_timeout(time) {
            Ok(finished) => Some(finished),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(Error::RecorderEnded)),
        }
    }

    /// The recording: the parts that are complete in the run directory `path`, and the other events from memory. Does not wait for the disk.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn so_far(&self, path: &Path) -> Result<Recording, Error> {
        let Missing { parts, batches, .. } = self.backlog.missing();
        let (events, labels) = (concat(&batches), self.labels.to_vec());
        Ok(write_loss::append(events, &labels, read_first_parts(path, parts)?))
    }

    /// Number of events that are not on disk.
    pub fn missing(&self) -> u64 {
        let Missing { batches, lost, .. } = self.backlog.missing();
        lost + batches.iter().map(|batch| batch.len() as u64).sum::<u64>()
    }
}

fn concat(batches: &[Batch]) -> Vec<Event> {
    batches.iter().flat_map(|batch| batch.iter().cloned()).collect()
}

/// Lowers the priority of this thread (nice 10). It then takes at most a tenth of a core from a generator thread and yields whenever that
/// thread wakes. Writing takes at most a tenth of the time of sending, so one core is enough for both.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority() {
    // Only Linux sets the priority of one thread; other systems would change the whole process. An error only costs timing precision.
    let _ = rustix::process::nice(10);
}

/// Does nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn lower_thread_priority() {}

const PART: Nanos = Nanos::from_secs(1);
/// A part is closed when nothing arrives for this long. Must exceed the time for which generator threads buffer events, or parts would close
/// between two batches.
const IDLE_LIMIT: Duration = Duration::from_millis(750);
/// The recorder pauses for this long after every 15 us of work. Otherwise a generator thread that never sleeps would be
/// delayed by whole ticks of the scheduler.
const PAUSE: Duration = Duration::from_micros(500);
/// The recorder stops pausing when more batches than this are queued. Otherwise memory would grow with the run at the highest rates.
const MAX_QUEUED: usize = 100;
/// Maximum number of events in memory while they cannot be written, or the disk does not respond (264 MB). Later events
/// are lost.
const MAX_PENDING: usize = 1_000_000;

struct RecorderThread {
    writer: Writer,
    waiting: Arc<AtomicUsize>,
    /// The latest event time when the open part got its first event.
    opened: Option<Instant>,
    /// The last write error.
    last_error: Option<Error>,
}

impl RecorderThread {
    fn run(mut self, inbox: Receiver<Message>) {
        loop {
            match inbox.recv_timeout(IDLE_LIMIT) {
                Ok(Message::Start(started)) => self.writer.set_start(started),
                Ok(Message::Events(events)) => {
                    self.waiting.fetch_sub(1, Relaxed);
                    self.add(&events);
                }
                Ok(Message::InFlight(requests)) => {
                    let now = requests.iter().filter_map(|request| request.sent).max();
                    self.writer.add_in_flight(requests);
                    if let Some(now) = now {
                        self.advance(now);
                    }
                }
                // The caller may have gone.
                Ok(Message::Sync(done)) => drop(done.send(())),
                Ok(Message::Finish { record, done }) => {
                    let finished = self.finish(&record);
                    // Nothing may be sent after the result says that all events are written.
                    drop(inbox);
                    // The caller may have gone; there is no other receiver.
                    let _ = done.send(finished);
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.rotate(),
                Err(RecvTimeoutError::Disconnected) => return self.rotate(),
            }
        }
    }

    fn add(&mut self, events: &[Event]) {
        let Some(now) = events.iter().map(|e| e.intended.max(e.sent.max(e.done).unwrap_or_default())).max() else {
            return;
        };
        // After an error nothing is written before the next part is due, so success means nothing.
        if let Err(error) = self.writer.added(events) {
            self.note(Err(error));
        }
        self.advance(now);
    }

    /// Closes the part when event times have advanced by [`PART`].
    fn advance(&mut self, now: Instant) {
        if self.opened.get_or_insert(now).until(now) >= PART {
            self.rotate();
        }
    }

    fn rotate(&mut self) {
        self.opened = None;
        let rotated = self.writer.rotate();
        self.note(rotated);
    }

    /// Publishes the result of a write.
    fn note(&mut self, done: Result<(), Error>) {
        self.writer.backlog().set_error(done.as_ref().err().map(Error::to_string));
        self.last_error = done.err().or(self.last_error.take());
    }

    fn finish(mut self, record: &str) -> Result<Option<WriteLoss>, Error> {
        self.rotate();
        let Missing { batches, lost, .. } = self.writer.backlog().missing();
        let events = concat(&batches);
        if events.is_empty() && lost == 0 {
            return self.writer.close(record).map(|()| None);
        }
        Ok(Some(WriteLoss {
            labels: self.writer.labels().to_vec(),
            lost,
            missing: lost + events.len() as u64,
            events,
            reason: self.last_error.unwrap_or(Error::RecorderEnded),
        }))
    }
}

#[cfg(test)]
mod tests {
    use offered_events::{Note, Recording};

    use super::*;
    use crate::{EndCondition, ReadOptions, RunKind, read};

    fn record() -> RunRecord {
        RunRecord::new(RunKind::Run, EndCondition::Duration)
    }

    fn events(from: u64, count: u64) -> Vec<Event> {
        (from..from + count).map(|i| Event::at(Instant::from_millis(i))).collect()
    }

    #[test]
    fn all_events_of_all_threads_are_recorded_and_parts_close_during_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let recorder = Recorder::start(Writer::create(&path, "", vec!["home".into()]).unwrap()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let recorder = recorder.clone();
                scope.spawn(move || {
                    for batch in 0..40 {
                        recorder.record(events(thread * 100_000 + batch * 1000, 1000)).unwrap();
                    }
                });
            }
        });
        let late = recorder.clone();
        assert!(recorder.finish(&record()).unwrap().is_none());
        let recording = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 120_000);
        assert_eq!(recording.notes, []);
        assert!(path.join("events/part-0001.parquet").exists(), "a part is full with 100,000 events");
        assert!(matches!(late.record(events(0, 1)), Err(Error::RecorderEnded)));
    }

    #[test]
    fn dropping_all_handles_writes_the_events_and_the_run_reads_as_killed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let (sender, receiver) = channel();
        let writer = Writer::create(&path, "", vec![]).unwrap();
        sender.send(Message::Events(writer.backlog().add(events(0, 5)))).unwrap();
        drop(sender);
        let waiting = Arc::new(AtomicUsize::new(1));
        RecorderThread { writer, waiting, opened: None, last_error: None }.run(receiver);
        let recording = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 5);
        assert_eq!(recording.notes, [Note::Killed]);
    }

    #[test]
    fn a_write_error_is_reported_at_once_and_the_events_are_returned() {
        let dir = tempfile::tempdir().unwrap();
        let start =
            |name| Recorder::start(Writer::create(&dir.path().join(name), "", vec!["home".into()]).unwrap()).unwrap();
        let (recorder, other) = (start("run"), start("other"));
        for run in ["run", "other"] {
            std::fs::remove_dir_all(dir.path().join(run).join("events")).unwrap();
        }
        recorder.record(events(0, 3)).unwrap();
        recorder.record(events(1500, 4)).unwrap();
        let late = recorder.clone();
        let mut loss = recorder.finish(&record()).unwrap().unwrap();
        assert!(late.write_error().unwrap().contains("part-0000.parquet"), "{:?}", late.write_error());
        assert!(matches!(late.finish(&record()), Err(Error::RecorderEnded)));
        // The events follow those on disk, whatever number their label has there.
        let before = Recording { events: events(0, 2).into(), labels: vec!["cart".into()], ..Recording::default() };
        let all = loss.append_to(before);
        assert_eq!((all.labels.join(" "), all.events.launches()), ("cart home".to_owned(), 9));
        let labels: Vec<u16> = all.events.to_vec().unwrap().iter().map(|event| event.label).collect();
        assert_eq!(labels, [0, 0, 1, 1, 1, 1, 1, 1, 1]);
        let error = loss.error().to_string();
        assert!(error.starts_with("7 events could not be written: cannot create"), "{error}");

        other.record(events(0, 3)).unwrap();
        let error = other.finish(&record()).unwrap().unwrap().error();
        assert!(matches!(error, Error::WriteLoss { missing: 3, lost: 0, .. }), "{error}");
        assert!(!dir.path().join("other/run.json").exists());
    }

    #[test]
    fn a_temporarily_full_disk_loses_nothing_and_full_memory_loses_the_latest_events() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let mut writer = Writer::create(&path, "", vec!["home".into()]).unwrap();
        std::fs::remove_dir(path.join("events")).unwrap();
        for batch in 0..25 {
            let refused = writer.write(events(batch * 10_000, 10_000));
            assert_eq!(refused.is_err(), batch == 9, "a failed write is retried only on rotate");
        }
        assert!(writer.rotate().is_err());
        std::fs::create_dir(path.join("events")).unwrap();
        writer.rotate().unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().events.launches(), 250_000);
        assert!(path.join("events/part-0002.parquet").exists() && !path.join("events/part-0003.parquet").exists());

        std::fs::remove_dir_all(path.join("events")).unwrap();
        let backlog = writer.backlog().clone();
        let mut thread =
            RecorderThread { writer, waiting: Arc::new(AtomicUsize::new(0)), opened: None, last_error: None };
        for _ in 0..=MAX_PENDING / 100_000 {
            if let Some(batch) = backlog.add_within(MAX_PENDING, events(0, 100_000)) {
                thread.add(&batch);
            }
        }
        let loss = thread.finish("").unwrap().unwrap();
        assert_eq!(loss.events.len(), MAX_PENDING);
        let error = loss.error().to_string();
        assert!(
            error.starts_with("1100000 events could not be written; 100000 are missing from the results too, because memory was full: "),
            "{error}"
        );
    }

    /// A disk that does not respond: opening a pipe for writing waits until it is opened for reading.
    #[test]
    fn a_disk_that_does_not_respond_is_reported_and_the_recording_does_not_wait_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let recorder = Recorder::start(Writer::create(&path, "", vec!["home".into()]).unwrap()).unwrap();
        recorder.record(events(0, 1000)).unwrap();
        recorder.record(events(1000, 100)).unwrap();
        while !path.join("events/part-0000.parquet").exists() {
            thread::park_timeout(Duration::from_millis(5));
        }
        let pipe = path.join("events/part-0001.parquet.tmp");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let other = recorder.clone();
        recorder.record(events(1100, 400)).unwrap();
        let closing = recorder.close(&record()).unwrap();
        // After two seconds, or later if this machine is busy.
        let stall = (0..600).find_map(|_| {
            assert!(closing.finish_within(Duration::from_millis(100)).is_none());
            other.stall()
        });
        let stall = stall.unwrap();
        let (start, waited) = stall.split_once("part-0001.parquet in ").unwrap();
        assert!(start.starts_with("the disk has not finished "), "{stall}");
        assert!(waited.strip_suffix(" s").unwrap().parse::<u64>().unwrap() >= 2, "{stall}");
        let so_far = closing.so_far(&path).unwrap();
        assert_eq!((so_far.events.launches(), closing.missing()), (1500, 400));
        assert_eq!(so_far.labels, ["home"]);
        // The pipe cannot be synced, so this part is refused. It stays open, because the part may be tried again.
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert!(closing.finish().unwrap().is_some());
    }
}
