//! The run directory: `workload.toml` as given (readable by its owner only), `events/part-NNNN.parquet` and `in-flight/part-NNNN.parquet`
//! during the run, `run.json` when it has ended.

pub(crate) mod archive;
pub mod files;
pub(crate) mod follower;
pub(crate) mod heartbeat;
mod in_flight;
mod lost;
mod merge;
pub(crate) mod workers;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use offered_base::{Nanos, Share};
use offered_events::{ClockCorrection, Event, Note, Recording};
use offered_events::{Columns, Events, Extent};
use serde::Serialize;

use self::heartbeat::Heartbeat;
use self::in_flight::{InFlightRequests, InFlightWriter};
use self::lost::{LostRequests, StartedSessions};
use crate::complete_file::write_complete;
use crate::error::Error;
use crate::event_source::{Part, Parts};
use crate::labels::Labels;
use crate::part::{self, PartContext};
use crate::record::{RunRecord, write_record};
use crate::recorder::backlog::Backlog;

/// Writes one run. Files get their final names only when complete; an existing directory is never changed.
///
/// Holds the events of the next part (at most [`Writer::MAX_EVENTS_PER_PART`]) until [`Writer::rotate`] writes them.
pub struct Writer {
    path: PathBuf,
    labels: Vec<String>,
    /// The names of the scenarios; empty for a workload with one load only.
    scenarios: Vec<String>,
    /// The names of flow and step for each place in the flows; empty without flows.
    flow_steps: Vec<String>,
    /// When the run started, since the Unix epoch.
    started: Option<Nanos>,
    /// The events of the next parts.
    backlog: Arc<Backlog>,
    /// Requests that are still in flight.
    in_flight: InFlightWriter,
    /// Whether writing the last part failed.
    failed: bool,
    /// Called between stretches of work.
    pause: Box<dyn FnMut() + Send>,
}

impl Writer {
    /// A part is closed early when it has this many events, which bounds memory at any rate.
    pub const MAX_EVENTS_PER_PART: usize = 100_000;

    /// Creates the directory `path` and its parents for a run of `workload_toml`. `labels` are the names of its requests.
    ///
    /// # Errors
    /// `path` exists already or cannot be written. Nothing is left behind at `path`.
    pub fn create(path: &Path, workload_toml: &str, labels: Vec<String>) -> Result<Self, Error> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        fs::create_dir(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
            _ => Error::io("create", path)(source),
        })?;
        let (events, workload) = (path.join("events"), path.join(files::WORKLOAD));
        let filled = fs::create_dir(&events)
            .map_err(Error::io("create", &events))
            .and_then(|()| write_complete(&workload, |file| file.write_all(workload_toml.as_bytes())))
            .and_then(|()| {
                fs::set_permissions(&workload, fs::Permissions::from_mode(0o600))
                    .map_err(Error::io("restrict", &workload))
            });
        if let Err(error) = filled {
            // This directory is new. If removing it fails too, the first error is the one to report.
            let _ = fs::remove_dir_all(path);
            return Err(error);
        }
        Ok(Self {
            path: path.to_owned(),
            labels,
            scenarios: Vec::new(),
            flow_steps: Vec::new(),
            started: None,
            backlog: Backlog::new(),
            in_flight: InFlightWriter::new(path),
            failed: false,
            pause: Box::new(|| ()),
        })
    }

    /// Writes the name of its scenario with each event: session n belongs to scenario n modulo their number.
    #[must_use]
    pub fn with_scenarios(self, scenarios: Vec<String>) -> Self {
        Self { scenarios, ..self }
    }

    /// Writes the name of its flow and step with each event of a visit, by [place](offered_events::VisitPosition::place).
    #[must_use]
    pub fn with_flow_steps(self, flow_steps: Vec<String>) -> Self {
        Self { flow_steps, ..self }
    }

    /// Removes the directory and its content, after a failure.
    pub fn remove(self) {
        // The failure is what is reported. If the directory cannot be removed, the next run reports that it exists.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Writes the start of the run, in time since the Unix epoch, into the footers of all further parts.
    pub(crate) fn set_start(&mut self, started: Nanos) {
        self.started = Some(started);
    }

    /// Calls `pause` while writing: after every 15 us of work, or 30 us in a full part.
    pub(crate) fn pause_with(&mut self, pause: impl FnMut() + Send + 'static) {
        self.pause = Box::new(pause);
    }

    /// Adds events to the next part. Closes the part when it is full, unless writing the previous one failed.
    ///
    /// # Errors
    /// Same as [`Writer::rotate`].
    pub fn write(&mut self, events: Vec<Event>) -> Result<(), Error> {
        let batch = self.backlog.add(events);
        self.added(&batch)
    }

    /// Handles events that were added to the backlog, like [`Writer::write`].
    pub(crate) fn added(&mut self, events: &[Event]) -> Result<(), Error> {
        self.in_flight.remove(events);
        if self.backlog.events() >= Self::MAX_EVENTS_PER_PART && !self.failed { self.rotate() } else { Ok(()) }
    }

    /// Adds requests that are in flight. Their outcome follows as events.
    pub(crate) fn add_in_flight(&mut self, requests: Vec<Event>) {
        self.in_flight.add(requests);
    }

    /// Closes the part: writes its events to a file with its final name, and the requests in flight to another file.
    /// Does nothing if there are neither.
    ///
    /// # Errors
    /// The file cannot be written; the events stay pending, and the next call tries again.
    pub fn rotate(&mut self) -> Result<(), Error> {
        // What arrives meanwhile belongs to the next part.
        let mut pending = self.backlog.events();
        while pending > 0 {
            let written = self.write_part();
            self.failed = written.is_err();
            pending = pending.saturating_sub(written?);
        }
        let Self { path, labels, scenarios, flow_steps, started, backlog, in_flight, pause, .. } = self;
        let context = PartContext { labels, scenarios, flow_steps, started: *started };
        backlog.during(&path.join(files::IN_FLIGHT), || in_flight.write(context, pause))
    }

    /// Writes one part from the first pending events, and returns their number. After a failure several parts may be
    /// pending.
    fn write_part(&mut self) -> Result<usize, Error> {
        let batches = self.backlog.first(Self::MAX_EVENTS_PER_PART);
        let path = self.path.join(files::part(self.backlog.parts()));
        let Self { labels, scenarios, flow_steps, started, backlog, pause, .. } = self;
        let context = PartContext { labels, scenarios, flow_steps, started: *started };
        backlog.during(&path, || {
            write_complete(&path, |file| {
                part::write(file, &batches, context, &mut part::now_and_then(pause)).map_err(io::Error::other)
            })
        })?;
        let (count, events) = (batches.len(), batches.iter().map(|batch| batch.len()).sum());
        drop(batches);
        for batch in self.backlog.written(count) {
            drop(batch);
            (self.pause)();
        }
        Ok(events)
    }

    /// The events that are in no part.
    pub(crate) fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }

    /// The names of the requests.
    pub(crate) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Closes the last part and writes `run.json`, which marks the run as complete.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<(), Error> {
        self.rotate()?;
        self.close(&record.text())
    }

    /// Writes `run.json` after the last part.
    pub(crate) fn close(&self, record: &str) -> Result<(), Error> {
        self.backlog.during(&self.path.join(files::RECORD), || write_record(&self.path, record))?;
        self.in_flight.remove_folder();
        Ok(())
    }
}

/// Opens the run in `path`, also of a killed run: scans all complete parts once. Notes of the recording say what is missing. The parts of
/// several workers are read as one run.
pub(crate) fn read(path: &Path) -> Result<Recording, Error> {
    let workers = workers::of(path)?;
    if workers.is_empty() { read_worker(path) } else { merge::read(path, &workers) }
}

/// Opens the run directory of one worker.
fn read_worker(path: &Path) -> Result<Recording, Error> {
    let mut scanned_run = ScannedRun::at(path)?;
    let record = RunRecord::read(path)?;
    let other = count_note(path, &scanned_run.recording, &scanned_run.parts);
    let is_whole = record.is_some() && scanned_run.recording.unreadable == 0 && other.is_none();
    let note = if is_whole { None } else { scanned_run.cut(path, record.as_ref())? };
    let mut recording = scanned_run.into_recording();
    recording.notes.extend(other.into_iter().chain(note));
    match record {
        Some(record) => {
            recording.generator = record.generator;
            recording.notes.extend(record.notes);
        }
        None => recording.notes.push(Note::Killed),
    }
    Ok(recording)
}

/// A note that the run counted another number of requests than its parts contain. `None` if a part is unreadable,
/// because another note states that.
fn count_note(path: &Path, recording: &Recording, parts: &[(Part, Extent)]) -> Option<Note> {
    let found = parts.iter().map(|(_, extent)| extent.launches).sum();
    let counted = RunRecord::counted_requests(path).filter(|counted| *counted != found && recording.unreadable == 0)?;
    Some(Note::CountMismatch { expected: counted, found })
}

/// Opens the events of the run in `path` and ignores all other files. For a caller that has just made the run.
///
/// # Errors
/// There is no run, or no part is readable.
pub fn read_events(path: &Path) -> Result<Recording, Error> {
    ScannedRun::at(path).map(ScannedRun::into_recording)
}

/// The events of the first `count` parts of the run in `path`.
pub(crate) fn read_first_parts(path: &Path, count: u32) -> Result<Recording, Error> {
    let paths = (0..count).map(|number| path.join(files::part(number))).collect();
    ScannedRun::of(paths).map(ScannedRun::into_recording)
}

/// A run after one scan of its parts.
struct ScannedRun {
    recording: Recording,
    labels: Labels,
    parts: Vec<(Part, Extent)>,
}

impl ScannedRun {
    fn at(path: &Path) -> Result<Self, Error> {
        Self::of(parts(&path.join("events"))?)
    }

    /// A run with these parts.
    fn of(paths: Vec<PathBuf>) -> Result<Self, Error> {
        let (mut recording, mut labels) = (empty_recording(), Labels::default());
        let parts = scan_parts(paths, &mut labels, &mut recording, Columns::Key, &ClockCorrection::default(), |_| ())?;
        Ok(Self { recording, labels, parts })
    }

    /// Adds the requests that were in flight when a run was killed (such a run has no record). Returns a note about
    /// scheduled requests that are not recorded, up to the last recorded one.
    fn cut(&mut self, path: &Path, record: Option<&RunRecord>) -> Result<Option<Note>, Error> {
        let (share, mut in_flight) = match record {
            Some(record) => (Some(record.share), InFlightRequests::default()),
            None => (Heartbeat::read(path).map(|alive| alive.share), InFlightRequests::read(path, &mut self.labels)),
        };
        let mut started = StartedSessions::new(share.unwrap_or(Share::ALL));
        for (part, _) in &self.parts {
            let scanned = part.scan(&mut self.labels, Columns::All, &mut |events| {
                for event in events {
                    started.add(event);
                    in_flight.remove(event);
                }
            });
            scanned.map_err(|why| Error::content(path.display().to_string(), part.with_path(&why).to_string()))?;
        }
        let in_flight = in_flight.into_events();
        for event in &in_flight {
            started.add(event);
        }
        let extent = Extent::of(&in_flight);
        self.parts.push((Part::Events(in_flight), extent));
        let last = self.parts.iter().filter_map(|(_, extent)| extent.last_intended).max();
        // Without a known share, the missing requests are unknown too.
        let lost = share.and(last).and_then(|last| LostRequests::new(path, started, Some(last), 0, &mut self.labels));
        Ok(lost.and_then(|lost| lost.note()))
    }

    fn into_recording(self) -> Recording {
        let Self { mut recording, labels, parts } = self;
        recording.labels = labels.clone().into_names(&mut recording.notes);
        let extent = parts.iter().fold(Extent::default(), |all, (_, extent)| all.and(*extent));
        let parts = parts.into_iter().map(|(part, _)| part).collect();
        recording.events = Events::new(Arc::new(Parts::new(parts, labels)), extent);
        recording
    }
}

/// Scans the complete parts at `paths`, passes the `columns` of all events to `visit`, and returns each part with its extent after
/// clock correction. Counts and notes unreadable parts in `recording`.
fn scan_parts(
    paths: Vec<PathBuf>,
    labels: &mut Labels,
    recording: &mut Recording,
    columns: Columns,
    placing: &ClockCorrection,
    mut visit: impl FnMut(&Event),
) -> Result<Vec<(Part, Extent)>, Error> {
    let (mut whole, mut unreadable) = (Vec::new(), 0);
    let all = paths.len();
    for path in paths {
        let (part, mut extent) = (Part::File(path), Extent::default());
        let scanned = part.scan(labels, columns, &mut |events| {
            for event in events {
                if placing.is_none() {
                    extent.add(event);
                } else {
                    extent.add(&placing.place(event));
                }
                visit(event);
            }
        });
        match scanned {
            Ok(()) => whole.push((part, extent)),
            Err(why) => {
                unreadable += 1;
                recording.complaints.push(part.with_path(&why).to_string());
            }
        }
    }
    if unreadable > 0 && whole.is_empty() {
        return Err(Error::content(recording.complaints.swap_remove(0), "and no other part can be read"));
    }
    if unreadable > 0 {
        recording.notes.push(Note::PartsMissing { missing: unreadable, total: all as u64 });
    }
    recording.unreadable += unreadable;
    Ok(whole)
}

/// Opens one part alone.
pub(crate) fn read_part(name: &str, part: Bytes) -> Result<Recording, Error> {
    let mut recording = empty_recording();
    let (mut labels, part, mut extent) = (Labels::default(), Part::Bytes(part), Extent::default());
    let scanned = part.scan(&mut labels, Columns::Key, &mut |events| events.iter().for_each(|event| extent.add(event)));
    scanned.map_err(|why| Error::content(name, why.to_string()))?;
    recording.labels = labels.clone().into_names(&mut recording.notes);
    recording.events = Events::new(Arc::new(Parts::new(vec![part], labels)), extent);
    Ok(recording)
}

fn empty_recording() -> Recording {
    Recording {
        format: "run".to_owned(),
        resolution: Nanos(1),
        intent_known: true,
        on_run_clock: true,
        sessions_known: true,
        ..Recording::default()
    }
}

/// The complete parts, in the order in which they were written.
fn parts(events: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = fs::read_dir(events).map_err(|_| {
        let run = events.parent().unwrap_or(events);
        Error::content(
            run.display().to_string(),
            "is not a run directory: it has no folder `events`; give a run directory or a result file",
        )
    })?;
    let mut parts = Vec::new();
    for entry in listed {
        let path = entry.map_err(Error::io("read", events))?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            parts.push(path);
        }
    }
    // Sort by number, not by name: part-10000 follows part-9999.
    parts.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(parts)
}

#[cfg(test)]
mod tests;
