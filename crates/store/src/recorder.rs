//! The recorder: a thread that owns the [`Writer`], so that no launch ever waits for a disk.
//!
//! Launching threads send batches into a channel without bound and go on. The thread closes a part when the events
//! themselves have advanced a second since the part's first one, and after three quarters of a second of silence, so a part is never open for
//! two: the clock it goes by is in the events, it reads none.
//!
//! What a disk will not take stays in memory, [`MOST`] events of it, and is tried again every second, so that a disk that was full for a while
//! costs nothing, and of a run whose disk is full at its end nothing is lost to the one who waits for its result.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use offered_model::{Event, Instant, Nanos};
use serde::Serialize;

use crate::error::Error;
use crate::record::RunRecord;
use crate::rundir::Writer;
use crate::unkept::Unkept;

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
    /// Why the disk does not take what it should, at present.
    refusal: Refusal,
    /// Whether nothing is disturbed by it, and whoever is faster waits.
    for_nobody: bool,
}

type Refusal = Arc<Mutex<Option<String>>>;

#[derive(Debug)]
enum Message {
    Events(Vec<Event>),
    UnderWay(Vec<Event>),
    /// Tell when all before this has been taken.
    Reached(Sender<()>),
    /// With the text of `run.json`.
    Finish {
        record: String,
        done: Sender<Result<Option<Unkept>, Error>>,
    },
}

impl Recorder {
    /// Moves `writer` to a thread of its own.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(mut writer: Writer) -> Result<Self, Error> {
        let (messages, inbox) = channel();
        let (hurry, waiting) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (waited_for, behind, taken) = (hurry.clone(), waiting.clone(), waiting.clone());
        writer.pause_with(move || {
            if !waited_for.load(Relaxed) && behind.load(Relaxed) < BEHIND {
                thread::park_timeout(PAUSE);
            }
        });
        let refusal = Refusal::default();
        let said = refusal.clone();
        let keep = move || {
            give_way();
            Keeper { writer, waiting: taken, refusal: said, opened: None, lost: 0, last: None }.run(inbox);
        };
        thread::Builder::new().name("record".to_owned()).spawn(keep).map_err(Error::NoThread)?;
        Ok(Self { messages, hurry, waiting, refusal, for_nobody: false })
    }

    /// The same where no clock is to be kept: it never pauses, and [`Recorder::record`] waits for it, so that memory stays bounded
    /// however fast the events are made.
    #[must_use]
    pub fn for_nobody(self) -> Self {
        self.hurry.store(true, Relaxed);
        Self { for_nobody: true, ..self }
    }

    /// Why the disk does not take what it should; nothing while it does.
    pub fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Hands over a batch; never blocks but [for nobody](Recorder::for_nobody). A failing disk is told by [`Recorder::refusal`],
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

    /// Hands over launches that are under way for long, as far as their events have come: what becomes of them is [recorded](Recorder::record)
    /// at their end, and if the process is killed before it is known that they were launched. Never blocks.
    ///
    /// # Errors
    /// [`Error::Ended`]: the recorder was finished before.
    pub fn under_way(&self, launches: Vec<Event>) -> Result<(), Error> {
        self.messages.send(Message::UnderWay(launches)).map_err(|_| Error::Ended)
    }

    /// Writes what was recorded before this call, then `run.json`, and waits until that is done. Events that the disk will not take are returned;
    /// `run.json` is not written then, so the run reads as cut.
    ///
    /// # Errors
    /// The disk takes the events and not `run.json`, or [`Error::Ended`]: it was finished before.
    pub fn finish(self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<Option<Unkept>, Error> {
        let (done, answer) = channel();
        self.hurry.store(true, Relaxed);
        self.messages.send(Message::Finish { record: record.text(), done }).map_err(|_| Error::Ended)?;
        answer.recv().map_err(|_| Error::Ended)?
    }
}

/// Lets this thread have no more than a tenth of a core that a launching thread wants too, and give it up whenever that one
/// wakes. Writing costs a tenth of launching at most, so even on one core it keeps up.
#[cfg(target_os = "linux")]
pub fn give_way() {
    // Of Linux this is said to one thread; elsewhere it would be the whole process. Refused, it only costs precision.
    let _ = rustix::process::nice(10);
}

/// On this system it is left as it is.
#[cfg(not(target_os = "linux"))]
pub fn give_way() {}

const PART: Nanos = Nanos::from_secs(1);
/// A part is closed when nothing has come for so long: longer than a launching thread keeps its events to itself, or parts would be closed
/// between two batches.
const SILENCE: Duration = Duration::from_millis(750);
/// The recorder works some 15 us at a time and then pauses so long: a launching thread that never sleeps would else be put off
/// for whole ticks of the scheduler.
const PAUSE: Duration = Duration::from_micros(500);
/// It does not pause while more batches than this wait for it: at the highest rates its memory would else grow with the run.
const BEHIND: usize = 100;
/// So many events wait for a disk that will not take them, some 170 MB; what comes after them is lost.
const MOST: usize = 1_000_000;

struct Keeper {
    writer: Writer,
    waiting: Arc<AtomicUsize>,
    /// How far the events had come when the open part got its first.
    opened: Option<Instant>,
    refusal: Refusal,
    lost: u64,
    /// Why a part was not taken, the last time that one was not.
    last: Option<Error>,
}

impl Keeper {
    fn run(mut self, inbox: Receiver<Message>) {
        loop {
            match inbox.recv_timeout(SILENCE) {
                Ok(Message::Events(events)) => {
                    self.waiting.fetch_sub(1, Relaxed);
                    self.keep(events);
                }
                Ok(Message::UnderWay(launches)) => {
                    let now = launches.iter().filter_map(|launch| launch.sent).max();
                    self.writer.under_way(launches);
                    if let Some(now) = now {
                        self.advance(now);
                    }
                }
                // Whoever asked may be gone.
                Ok(Message::Reached(done)) => drop(done.send(())),
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
        if self.writer.waiting() + events.len() > MOST {
            self.lost += events.len() as u64;
        } else {
            let written = self.writer.write(events);
            self.note(written);
        }
        self.advance(now);
    }

    /// Closes the part when what has come has advanced far enough.
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

    /// Says whether the disk takes what it should.
    fn note(&mut self, done: Result<(), Error>) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = done.as_ref().err().map(Error::to_string);
        self.last = done.err().or(self.last.take());
    }

    fn finish(mut self, record: &str) -> Result<Option<Unkept>, Error> {
        self.rotate();
        if self.writer.waiting() == 0 && self.lost == 0 {
            return self.writer.close(record).map(|()| None);
        }
        let (events, labels) = self.writer.into_waiting();
        let missing = self.lost + events.len() as u64;
        Ok(Some(Unkept { events, labels, lost: self.lost, missing, why: self.last.unwrap_or(Error::Ended) }))
    }
}

#[cfg(test)]
mod tests {
    use offered_model::{Note, Recording};

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
        let recorder = Recorder::start(Writer::create(&path, "", vec!["home".into()]).unwrap()).unwrap();
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
        let late = recorder.clone();
        assert!(recorder.finish(&record()).unwrap().is_none());
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
        let (waiting, refusal) = (Arc::new(AtomicUsize::new(1)), Refusal::default());
        Keeper { writer, waiting, refusal, opened: None, lost: 0, last: None }.run(receiver);
        let recording = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 5);
        assert_eq!(recording.notes, [Note::Killed]);
    }

    #[test]
    fn a_disk_that_fails_is_told_at_once_and_what_it_did_not_take_is_given_back() {
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
        let mut unkept = recorder.finish(&record()).unwrap().unwrap();
        assert!(late.refusal().unwrap().contains("part-0000.parquet"), "{:?}", late.refusal());
        assert!(matches!(late.finish(&record()), Err(Error::Ended)));
        // They are there behind what the disk has, whatever number their name has there.
        let before = Recording { events: events(0, 2).into(), labels: vec!["cart".into()], ..Recording::default() };
        let all = unkept.behind(before);
        assert_eq!((all.labels.join(" "), all.events.launches()), ("cart home".to_owned(), 9));
        let labels: Vec<u16> = all.events.to_vec().unwrap().iter().map(|event| event.label).collect();
        assert_eq!(labels, [0, 0, 1, 1, 1, 1, 1, 1, 1]);
        let error = unkept.error().to_string();
        assert!(error.starts_with("7 events could not be kept: cannot create"), "{error}");

        other.record(events(0, 3)).unwrap();
        let error = other.finish(&record()).unwrap().unwrap().error();
        assert!(matches!(error, Error::Unkept { missing: 3, lost: 0, .. }), "{error}");
        assert!(!dir.path().join("other/run.json").exists());
    }

    #[test]
    fn a_disk_that_was_full_for_a_while_costs_nothing_and_a_full_memory_nothing_but_what_came_last() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let mut writer = Writer::create(&path, "", vec!["home".into()]).unwrap();
        std::fs::remove_dir(path.join("events")).unwrap();
        for batch in 0..25 {
            let refused = writer.write(events(batch * 10_000, 10_000));
            assert_eq!(refused.is_err(), batch == 9, "it is tried again only when it is asked to");
        }
        assert!(writer.rotate().is_err());
        std::fs::create_dir(path.join("events")).unwrap();
        writer.rotate().unwrap();
        assert_eq!(read(&path, &ReadOptions::default()).unwrap().events.launches(), 250_000);
        assert!(path.join("events/part-0002.parquet").exists() && !path.join("events/part-0003.parquet").exists());

        std::fs::remove_dir_all(path.join("events")).unwrap();
        let (waiting, refusal) = (Arc::new(AtomicUsize::new(0)), Refusal::default());
        let mut keeper = Keeper { writer, waiting, refusal, opened: None, lost: 0, last: None };
        for _ in 0..=MOST / 100_000 {
            keeper.keep(events(0, 100_000));
        }
        let unkept = keeper.finish("").unwrap().unwrap();
        assert_eq!(unkept.events.len(), MOST);
        let error = unkept.error().to_string();
        assert!(
            error.starts_with("1100000 events could not be kept, nor held: 100000 of them count nowhere: "),
            "{error}"
        );
    }
}
