//! Requests that have been in flight for a long time, in `in-flight/part-NNNN.parquet`, so that a killed run still
//! shows that they were sent.
//!
//! A part records a request when it is done. A request that waits for a long time for its response is written here
//! before that. A file is removed when all of its requests are done, the folder when the run has its record. So the
//! folder contains little more than the requests in flight.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use offered_events::{Event, Outcome, Reason};

use super::files::IN_FLIGHT as FOLDER;
use crate::complete_file::write_complete;
use crate::error::Error;
use crate::event_source::Part;
use crate::labels::Labels;
use crate::part::{self, PartContext};

/// Identifies a request: a session has at most one in flight.
type Key = (u64, u32);

fn key(event: &Event) -> Key {
    (event.session, event.step)
}

/// Writes requests in flight.
pub(super) struct InFlightWriter {
    folder: PathBuf,
    /// The number of the next file, and the requests that it will contain.
    next: u32,
    pending: Vec<Event>,
    /// All requests in flight, each with the number of its file.
    requests: HashMap<Key, u32>,
    /// Number of requests in flight per file; files at 0 can be removed.
    files: BTreeMap<u32, usize>,
}

impl InFlightWriter {
    /// For the run directory `run`.
    pub(super) fn new(run: &Path) -> Self {
        let (pending, requests, files) = (Vec::new(), HashMap::new(), BTreeMap::new());
        Self { folder: run.join(FOLDER), next: 0, pending, requests, files }
    }

    fn file(&self, number: u32) -> PathBuf {
        self.folder.join(format!("part-{number:04}.parquet"))
    }

    /// Adds requests in flight.
    pub(super) fn add(&mut self, requests: Vec<Event>) {
        for request in requests {
            // A request that was resent may be added twice.
            if let Entry::Vacant(entry) = self.requests.entry(key(&request)) {
                entry.insert(self.next);
                *self.files.entry(self.next).or_default() += 1;
                self.pending.push(request);
            }
        }
    }

    /// Removes requests that are done and will be in the next part.
    pub(super) fn remove(&mut self, events: &[Event]) {
        if self.requests.is_empty() {
            return;
        }
        for event in events.iter().filter(|event| event.is_request()) {
            if let Some(file) = self.requests.remove(&key(event)) {
                self.files.entry(file).and_modify(|requests| *requests -= 1);
            }
        }
    }

    /// Writes new requests that are still in flight, and removes files that are no longer needed. The part with all completed requests
    /// must be on disk before.
    ///
    /// # Errors
    /// The file cannot be written; the next call tries again.
    pub(super) fn write(&mut self, context: PartContext, pause: &mut dyn FnMut()) -> Result<(), Error> {
        let Self { requests, pending, .. } = self;
        pending.retain(|request| requests.contains_key(&key(request)));
        if !self.pending.is_empty() {
            fs::create_dir_all(&self.folder).map_err(Error::io("create", &self.folder))?;
            write_complete(&self.file(self.next), |file| {
                part::write(file, std::slice::from_ref(&self.pending), context, &mut part::now_and_then(pause))
                    .map_err(std::io::Error::other)
            })?;
            self.pending.clear();
            self.next += 1;
        }
        let over: Vec<u32> = self.files.iter().filter(|(_, requests)| **requests == 0).map(|(file, _)| *file).collect();
        for file in over {
            self.files.remove(&file);
            // A file that was never written does not exist. If removing fails, readers know from the parts that its requests are done.
            let _ = fs::remove_file(self.file(file));
        }
        Ok(())
    }

    /// Removes the folder: all requests are done and recorded in parts.
    pub(super) fn remove_folder(&self) {
        // Readers of a run with a record ignore the folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The requests that were in flight when the run in `run` was killed. Includes requests that were done later, until
/// [`InFlightRequests::remove`] removes them.
#[derive(Default)]
pub(super) struct InFlightRequests {
    requests: HashMap<Key, Event>,
}

impl InFlightRequests {
    /// Reads them. Ignores unreadable files.
    pub(super) fn read(run: &Path, labels: &mut Labels) -> Self {
        let mut requests = HashMap::new();
        for path in super::parts(&run.join(FOLDER)).unwrap_or_default() {
            let mut part = HashMap::new();
            let scanned = Part::File(path).scan(labels, offered_events::Columns::All, &mut |events| {
                part.extend(events.iter().map(|event| (key(event), event.clone())));
            });
            if scanned.is_ok() {
                requests.extend(part);
            }
        }
        Self { requests }
    }

    /// Removes the request of an event that is in a part.
    pub(super) fn remove(&mut self, event: &Event) {
        if event.is_request() && !self.requests.is_empty() {
            self.requests.remove(&key(event));
        }
    }

    /// The remaining requests, in order of their scheduled time. Their outcome is unknown.
    pub(super) fn into_events(self) -> Vec<Event> {
        let cut = |event| Event { outcome: Outcome::Cut, error: Some(Reason::Killed), done: None, ..event };
        let mut events: Vec<Event> = self.requests.into_values().map(cut).collect();
        events.sort_unstable_by_key(|event| (event.intended, event.session));
        events
    }
}
