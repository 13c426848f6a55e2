//! Launches that are under way for long, beside the parts: `under-way/part-NNNN.parquet`, so that a killed run still knows that they were
//! launched.
//!
//! A launch is recorded when it is over, in a part. One that waits for its answer for long is written here before, and forgotten when its event
//! is in a part: a file goes when none of its launches is under way any more, the folder when the run has its record. So what is there
//! is about what is under way.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use offered_model::{Event, Outcome, Reason};

use super::files::UNDER_WAY as FOLDER;
use crate::error::Error;
use crate::labels::Labels;
use crate::part;
use crate::tape::Part;

/// A launch: a session has one at a time.
type Key = (u64, u32);

fn key(event: &Event) -> Key {
    (event.session, event.step)
}

/// What is written of it.
pub(super) struct UnderWay {
    folder: PathBuf,
    /// The number of the next file, and those that go into it.
    next: u32,
    pending: Vec<Event>,
    /// All that are under way, each with the number of its file.
    launches: HashMap<Key, u32>,
    /// How many of each file are; none of those that can go.
    files: BTreeMap<u32, usize>,
}

impl UnderWay {
    /// Of the run in `run`.
    pub(super) fn of(run: &Path) -> Self {
        let (pending, launches, files) = (Vec::new(), HashMap::new(), BTreeMap::new());
        Self { folder: run.join(FOLDER), next: 0, pending, launches, files }
    }

    fn file(&self, number: u32) -> PathBuf {
        self.folder.join(format!("part-{number:04}.parquet"))
    }

    /// These are under way.
    pub(super) fn begun(&mut self, launches: Vec<Event>) {
        for launch in launches {
            // One that was sent again may be told of again.
            if let Entry::Vacant(place) = self.launches.entry(key(&launch)) {
                place.insert(self.next);
                *self.files.entry(self.next).or_default() += 1;
                self.pending.push(launch);
            }
        }
    }

    /// These are over, and will be in the next part.
    pub(super) fn ended(&mut self, events: &[Event]) {
        if self.launches.is_empty() {
            return;
        }
        for event in events.iter().filter(|event| event.object == 0) {
            if let Some(file) = self.launches.remove(&key(event)) {
                self.files.entry(file).and_modify(|launches| *launches -= 1);
            }
        }
    }

    /// Writes what has come since the last time and is still under way, and removes what nobody needs; `labels` are the names that labels point
    /// into. The part with all that has ended must be on the disk.
    ///
    /// # Errors
    /// The disk refused; the next call tries again.
    pub(super) fn write(&mut self, labels: &[String], pause: &mut dyn FnMut()) -> Result<(), Error> {
        let Self { launches, pending, .. } = self;
        pending.retain(|launch| launches.contains_key(&key(launch)));
        if !self.pending.is_empty() {
            fs::create_dir_all(&self.folder).map_err(Error::io("create", &self.folder))?;
            super::place(&self.file(self.next), |file| {
                part::write(file, std::slice::from_ref(&self.pending), labels, &mut part::now_and_then(pause))
                    .map_err(std::io::Error::other)
            })?;
            self.pending.clear();
            self.next += 1;
        }
        let over: Vec<u32> = self.files.iter().filter(|(_, launches)| **launches == 0).map(|(file, _)| *file).collect();
        for file in over {
            self.files.remove(&file);
            // One that was never written is not there; one that cannot be removed is known to be over by who reads.
            let _ = fs::remove_file(self.file(file));
        }
        Ok(())
    }

    /// Takes all of it away: what was under way has ended, and is in the parts.
    pub(super) fn forget(&self) {
        // Who reads a run with a record does not look here.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The launches that were under way in the run in `run`, which has no record; those that ended meanwhile are among them until somebody
/// [takes them out](Last::ended).
#[derive(Default)]
pub(super) struct Last {
    launches: HashMap<Key, Event>,
}

impl Last {
    /// What cannot be read is not known.
    pub(super) fn of(run: &Path, labels: &mut Labels) -> Self {
        let mut launches = HashMap::new();
        for path in super::parts(&run.join(FOLDER)).unwrap_or_default() {
            let mut part = HashMap::new();
            let played = Part::Named(path).play(labels, offered_model::events::Wanted::Whole, &mut |events| {
                part.extend(events.iter().map(|event| (key(event), event.clone())));
            });
            if played.is_ok() {
                launches.extend(part);
            }
        }
        Self { launches }
    }

    /// This is in a part.
    pub(super) fn ended(&mut self, event: &Event) {
        if event.object == 0 && !self.launches.is_empty() {
            self.launches.remove(&key(event));
        }
    }

    /// Those that are left, in the order of their intent: of what became of them nothing is known.
    pub(super) fn into_events(self) -> Vec<Event> {
        let cut = |event| Event { outcome: Outcome::Cut, error: Some(Reason::Killed), done: None, ..event };
        let mut events: Vec<Event> = self.launches.into_values().map(cut).collect();
        events.sort_unstable_by_key(|event| (event.intended, event.session));
        events
    }
}
