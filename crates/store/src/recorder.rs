//! The recorder: a thread that owns the [`Writer`], so that no launch ever waits for a disk.
//!
//! Launching threads send batches into a channel without bound and go on. The thread closes a part when the events
//! themselves have advanced a second since the part's first one, and after a second of silence, so a part is never open for
//! two: the clock it goes by is in the events, it reads none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use offered_model::{Event, Instant, Nanos};
use serde::Serialize;

use crate::error::Error;
use crate::record::RunRecord;
use crate::rundir::Writer;

/// A handle on the writing thread; clone one for every launching thread.
///
/// When every handle is dropped without [`Recorder::finish`], the last part is still closed and the run counts as cut.
#[derive(Clone, Debug)]
pub struct Recorder {
    messages: Sender<Message>,
    /// Set when somebody waits for it.
    hurry: Arc<AtomicBool>,
    /// Batches handed over and not yet taken.
    waiting: Arc<AtomicUsize>,
    /// Whether nothing is disturbed by it, and whoever is faster waits.
    for_nobody: bool,
}

#[derive(Debug)]
enum Message {
    Events(Vec<Event>),
    /// Tell when all before this has been taken.
    Reached(Sender<()>),
    Flush(Sender<Result<(), Error>>),
    /// With the text of `run.json`.
    Finish {
        record: String,
        done: Sender<Result<(), Error>>,
    },
}

impl Recorder {
    /// Moves `writer` to a thread of its own.
    pub fn start(mut writer: Writer) -> Self {
        let (messages, inbox) = channel();
        let (hurry, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (waited_for, behind, taken) = (hurry.clone(), waiting.clone(), waiting.clone());
        writer.pause_with(move || {
            if !waited_for.load(Relaxed) && behind.load(Relaxed) < BEHIND {
                thread::park_timeout(PAUSE);
            }
        });
        let keep = move || {
            give_way();
            Keeper { writer, waiting: taken, opened: None, lost: 0, first: None }.run(inbox);
        };
        thread::Builder::new().name("record".to_owned()).spawn(keep).expect("a thread for the recorder");
        Self { messages, hurry, waiting, for_nobody: false }
    }

    /// The same where no clock is to be kept: it never pauses, and [`Recorder::record`] waits for it, so that memory stays bounded
    /// however fast the events are made.
    #[must_use]
    pub fn for_nobody(self) -> Self {
        self.hurry.store(true, Relaxed);
        Self { for_nobody: true, ..self }
    }

    /// Hands over a batch; never blocks but [for nobody](Recorder::for_nobody). A failing disk is reported by [`Recorder::finish`],
    /// not here.
    ///
    /// # Errors
    /// [`Error::Ended`]: the recorder was finished before, these events are not kept.
    pub fn record(&self, events: Vec<Event>) -> Result<(), Error> {
        self.waiting.fetch_add(1, Relaxed);
        self.messages.send(Message::Events(events)).map_err(|_| Error::Ended)?;
        if self.for_nobody && self.waiting.load(Relaxed) > BEHIND {
            let (done, answer) = channel();
            self.messages.send(Message::Reached(done)).map_err(|_| Error::Ended)?;
            answer.recv().map_err(|_| Error::Ended)?;
        }
        Ok(())
    }

    /// Waits until what was recorded before this call can be read back.
    ///
    /// # Errors
    /// The first failure of the whole run, with the number of events that were lost by it; the recorder has then ended.
    /// [`Error::Ended`]: it was finished before.
    pub fn flush(&self) -> Result<(), Error> {
        let (done, answer) = channel();
        self.hurry.store(true, Relaxed);
        self.messages.send(Message::Flush(done)).map_err(|_| Error::Ended)?;
        let flushed = answer.recv().map_err(|_| Error::Ended)?;
        self.hurry.store(self.for_nobody, Relaxed);
        flushed
    }

    /// Writes what was recorded before this call, then `run.json`, and waits until that is done.
    ///
    /// # Errors
    /// The first failure of the whole run, with the number of events that were lost by it; `run.json` is not written then, so
    /// the run reads as cut.
    pub fn finish(self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<(), Error> {
        let (done, answer) = channel();
        self.hurry.store(true, Relaxed);
        self.messages.send(Message::Finish { record: record.text(), done }).map_err(|_| Error::Ended)?;
        answer.recv().map_err(|_| Error::Ended)?
    }
}

/// Lets this thread have no more than a tenth of a core that a launching thread wants too, and give it up whenever that one
/// wakes. Writing costs a tenth of launching at most, so even on one core it keeps up.
#[cfg(target_os = "linux")]
fn give_way() {
    // Of Linux this is said to one thread; elsewhere it would be the whole process. Refused, it only costs precision.
    let _ = rustix::process::nice(10);
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

const PART: Nanos = Nanos::from_secs(1);
/// The recorder works some 15 us at a time and then pauses so long: a launching thread that never sleeps would else be put off
/// for whole ticks of the scheduler.
const PAUSE: Duration = Duration::from_micros(500);
/// It does not pause while more batches than this wait for it: at the highest rates its memory would else grow with the run.
const BEHIND: usize = 100;

struct Keeper {
    writer: Writer,
    waiting: Arc<AtomicUsize>,
    /// How far the events had come when the open part got its first.
    opened: Option<Instant>,
    lost: u64,
    first: Option<Error>,
}

impl Keeper {
    fn run(mut self, inbox: Receiver<Message>) {
        loop {
            match inbox.recv_timeout(Duration::from_nanos(PART.0)) {
                Ok(Message::Events(events)) => {
                    self.waiting.fetch_sub(1, Relaxed);
                    self.keep(events);
                }
                // Whoever asked may be gone.
                Ok(Message::Reached(done)) => drop(done.send(())),
                Ok(Message::Flush(done)) => {
                    self.rotate();
                    // Whoever asked may be gone.
                    match self.first.take() {
                        None => drop(done.send(Ok(()))),
                        Some(first) => {
                            let _ = done.send(Err(Error::Lost { lost: self.lost, first: Box::new(first) }));
                            return;
                        }
                    }
                }
                Ok(Message::Finish { record, done }) => {
                    let finished = self.finish(&record);
                    // Once it is said that all is kept, nothing more may be handed in.
                    drop(inbox);
                    // Whoever asked may be gone; there is nobody else to tell.
                    let _ = done.send(finished);
                    return;
                }
                Err(RecvTimeoutError::Timeout) => self.rotate(),
                Err(RecvTimeoutError::Disconnected) => return self.rotate(),
            }
        }
    }

    fn keep(&mut self, events: Vec<Event>) {
        let Some(now) = events.iter().map(|e| e.intended.max(e.sent.max(e.done).unwrap_or_default())).max() else {
            return;
        };
        let written = self.writer.write(events);
        self.note(written);
        if self.opened.get_or_insert(now).until(now) >= PART {
            self.rotate();
        }
    }

    fn rotate(&mut self) {
        self.opened = None;
        let rotated = self.writer.rotate();
        self.note(rotated);
    }

    /// Keeps the first failure, and lets go of the events it concerns: a full disk must not become a full memory.
    fn note(&mut self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.lost += self.writer.discard();
            self.first.get_or_insert(error);
        }
    }

    fn finish(mut self, record: &str) -> Result<(), Error> {
        self.rotate();
        match self.first {
            Some(first) => Err(Error::Lost { lost: self.lost, first: Box::new(first) }),
            None => self.writer.close(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use offered_model::Note;

    use super::*;
    use crate::{MadeBy, ReadOptions, Until, read};

    fn record() -> RunRecord {
        RunRecord::new(MadeBy::Run, Until::Duration)
    }

    fn events(from: u64, count: u64) -> Vec<Event> {
        (from..from + count).map(|i| Event::at(Instant::from_millis(i))).collect()
    }

    #[test]
    fn every_event_of_every_thread_is_kept_and_parts_close_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let recorder = Recorder::start(Writer::create(&path, "", vec!["home".into()]).unwrap());
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let recorder = recorder.clone();
                scope.spawn(move || {
                    for batch in 0..40 {
                        recorder.record(events(thread * 10_000 + batch * 100, 100)).unwrap();
                    }
                });
            }
        });
        recorder.flush().unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().events.launches(), 12_000);
        let late = recorder.clone();
        recorder.finish(&record()).unwrap();
        let recording = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 12_000);
        assert_eq!(recording.notes, []);
        assert!(path.join("events/part-0001.parquet").exists(), "4 s of events are more than one part");
        assert!(matches!(late.record(events(0, 1)), Err(Error::Ended)));
    }

    #[test]
    fn dropping_every_handle_keeps_the_events_and_the_run_reads_as_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let (sender, receiver) = channel();
        sender.send(Message::Events(events(0, 5))).unwrap();
        drop(sender);
        let writer = Writer::create(&path, "", vec![]).unwrap();
        Keeper { writer, waiting: Arc::new(AtomicUsize::new(1)), opened: None, lost: 0, first: None }.run(receiver);
        let recording = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 5);
        assert_eq!(recording.notes, [Note::Killed]);
    }

    #[test]
    fn a_disk_that_fails_is_reported_at_the_end_with_what_was_lost() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let recorder = Recorder::start(Writer::create(&path, "", vec![]).unwrap());
        std::fs::remove_dir_all(path.join("events")).unwrap();
        recorder.record(events(0, 7)).unwrap();
        let other = Recorder::start(Writer::create(&dir.path().join("other"), "", vec![]).unwrap());
        std::fs::remove_dir_all(dir.path().join("other/events")).unwrap();
        other.record(events(0, 3)).unwrap();
        assert!(matches!(other.flush().unwrap_err(), Error::Lost { lost: 3, .. }));
        assert!(matches!(other.finish(&record()), Err(Error::Ended)));
        let error = recorder.finish(&record()).unwrap_err();
        assert!(matches!(error, Error::Lost { lost: 7, .. }), "{error}");
        assert!(error.to_string().contains("part-0000.parquet"), "{error}");
        assert!(!path.join("run.json").exists());
    }
}
