//! The run directory: `workload.toml` as it was given, for its owner alone, `run.json` when the run has ended, `events/part-NNNN.parquet`
//! meanwhile, beside it `under-way/part-NNNN.parquet`.

pub(crate) mod alive;
pub mod files;
pub(crate) mod following;
mod gone;
pub(crate) mod packed;
mod under_way;
pub(crate) mod workers;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use offered_model::events::{Events, Extent, Wanted};
use offered_model::{Event, Nanos, Note, Placing, Recording, Share};
use serde::Serialize;

use self::alive::Alive;
use self::gone::{Begun, Gone};
use self::under_way::{Last, UnderWay};
use crate::error::Error;
use crate::labels::Labels;
use crate::part;
use crate::record::RunRecord;
use crate::tape::{Part, Parts};

/// Writes one run; nothing under a final name is ever half-written, and no existing directory is touched.
///
/// Holds the events of the part to come (at most [`Writer::FULL`]) until [`Writer::rotate`] writes them at one go.
pub struct Writer {
    path: PathBuf,
    labels: Vec<String>,
    pending: Vec<Vec<Event>>,
    /// How many events they are.
    waiting: usize,
    parts: u32,
    /// Launches that have not ended.
    under_way: UnderWay,
    /// Whether the disk would not take the last part.
    refused: bool,
    /// Called between stretches of work.
    pause: Box<dyn FnMut() + Send>,
}

impl Writer {
    /// A part is closed early when it has this many events, so that memory stays bounded at any rate.
    pub const FULL: usize = 100_000;

    /// Makes the directory `path` (and its parents) for a run of `workload_toml`, whose requests are named `labels`.
    ///
    /// # Errors
    /// `path` exists already, whatever it is, or cannot be written; in both cases nothing is left behind at `path`.
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
            .and_then(|()| place(&workload, |file| file.write_all(workload_toml.as_bytes())))
            .and_then(|()| {
                fs::set_permissions(&workload, fs::Permissions::from_mode(0o600))
                    .map_err(Error::io("restrict", &workload))
            });
        if let Err(error) = filled {
            // We made this directory a moment ago; if even this fails, the first error is still the one to report.
            let _ = fs::remove_dir_all(path);
            return Err(error);
        }
        Ok(Self {
            path: path.to_owned(),
            labels,
            pending: Vec::new(),
            waiting: 0,
            parts: 0,
            under_way: UnderWay::of(path),
            refused: false,
            pause: Box::new(|| ()),
        })
    }

    /// Takes the directory away with all that was written: what it was made for has failed.
    pub fn remove(self) {
        // The failure is what is reported; a directory that cannot be removed is in nobody's way but the next run's, which says so.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// From now on calls `pause` while it writes: after some 15 us of work, or 30 for a full part.
    pub(crate) fn pause_with(&mut self, pause: impl FnMut() + Send + 'static) {
        self.pause = Box::new(pause);
    }

    /// Takes events for the part to come, and closes it if it is full, unless the disk would not take the one before.
    ///
    /// # Errors
    /// See [`Writer::rotate`].
    pub fn write(&mut self, events: Vec<Event>) -> Result<(), Error> {
        self.waiting += events.len();
        self.under_way.ended(&events);
        self.pending.push(events);
        if self.waiting >= Self::FULL && !self.refused { self.rotate() } else { Ok(()) }
    }

    /// Takes launches that are under way; what becomes of them is written with their events.
    pub(crate) fn under_way(&mut self, launches: Vec<Event>) {
        self.under_way.begun(launches);
    }

    /// Closes the part: its events are in the file system under their final name, and those of launches under way beside them. Without
    /// either it does nothing.
    ///
    /// # Errors
    /// The disk refused; the events stay pending and the next call tries again.
    pub fn rotate(&mut self) -> Result<(), Error> {
        while self.waiting > 0 {
            let placed = self.place_part();
            self.refused = placed.is_err();
            placed?;
        }
        self.under_way.write(&self.labels, &mut self.pause)
    }

    /// Writes a part of the first of the pending events. What a disk would not take for a while may be more than one.
    fn place_part(&mut self) -> Result<(), Error> {
        let mut events = 0;
        let is_of_part = |batch: &&Vec<Event>| {
            let is_of_part = events < Self::FULL;
            events += if is_of_part { batch.len() } else { 0 };
            is_of_part
        };
        let batches = self.pending.iter().take_while(is_of_part).count();
        let name = files::part(self.parts);
        let Self { pending, labels, pause, .. } = self;
        place(&self.path.join(name), |file| {
            part::write(file, &pending[..batches], labels, &mut part::now_and_then(pause)).map_err(io::Error::other)
        })?;
        self.parts += 1;
        self.waiting -= events;
        for batch in self.pending.drain(..batches) {
            drop(batch);
            (self.pause)();
        }
        Ok(())
    }

    /// How many events wait for their part.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The events that the disk would not take, and the names that their labels point into.
    pub(crate) fn into_waiting(self) -> (Vec<Event>, Vec<String>) {
        (self.pending.concat(), self.labels)
    }

    /// Closes the last part and writes `run.json`, whose presence says that the run is complete.
    ///
    /// # Errors
    /// The disk refused.
    pub fn finish(mut self, record: &RunRecord<impl Serialize, impl Serialize>) -> Result<(), Error> {
        self.rotate()?;
        self.close(&record.text())
    }

    /// Writes `run.json`, after the last part.
    pub(crate) fn close(&self, record: &str) -> Result<(), Error> {
        place_record(&self.path, record)?;
        self.under_way.forget();
        Ok(())
    }
}

/// Writes `run.json` of the run in `path`, or writes it anew.
pub(crate) fn place_record(path: &Path, record: &str) -> Result<(), Error> {
    place(&path.join(files::RECORD), |file| file.write_all(record.as_bytes()))
}

/// Writes a file under a name with `.tmp` added and renames it when it is whole.
fn place(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let tmp = PathBuf::from(name);
    let mut file = BufWriter::new(File::create(&tmp).map_err(Error::io("create", &tmp))?);
    // What has its final name survives a power cut: its bytes are on the disk before it is renamed, the name is after.
    write(&mut file)
        .and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .map_err(Error::io("write", &tmp))?;
    fs::rename(&tmp, path).map_err(Error::io("rename to", path))?;
    let folder = path.parent().unwrap_or(path);
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems know no syncing of folders; their server sees to the names.
        Err(why) if matches!(why.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced.map_err(Error::io("sync", folder)),
    }
}

/// Looks through all whole parts of the run in `path`, of a killed run too; what is missing is said in the recording's notes. The parts
/// of many workers are one run.
pub(crate) fn read(path: &Path) -> Result<Recording, Error> {
    let workers = workers::of(path)?;
    if workers.is_empty() { alone(path) } else { workers::read(path, &workers) }
}

/// Of one worker.
fn alone(path: &Path) -> Result<Recording, Error> {
    let mut looked = Looked::at(path)?;
    let record = RunRecord::read(path)?;
    let other = other_count(path, &looked.recording, &looked.parts);
    let is_whole = record.is_some() && looked.recording.unreadable == 0 && other.is_none();
    let note = if is_whole { None } else { looked.cut(path, record.as_ref())? };
    let mut recording = looked.into_recording();
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

/// That the run in `path` counted other launches than are in these parts, all of which could be read. Where one could not, that is told
/// already.
fn other_count(path: &Path, recording: &Recording, parts: &[(Part, Extent)]) -> Option<Note> {
    let found = parts.iter().map(|(_, extent)| extent.launches).sum();
    let counted = RunRecord::launched(path).filter(|counted| *counted != found && recording.unreadable == 0)?;
    Some(Note::OtherCount { counted, found })
}

/// What the run in `path` has kept of its events, whatever else is there or not: for the one who has just made it.
///
/// # Errors
/// There is no run, or no part can be read.
pub fn read_events(path: &Path) -> Result<Recording, Error> {
    Looked::at(path).map(Looked::into_recording)
}

/// A run that has been looked through.
struct Looked {
    recording: Recording,
    labels: Labels,
    parts: Vec<(Part, Extent)>,
}

impl Looked {
    fn at(path: &Path) -> Result<Self, Error> {
        let (mut recording, mut labels) = (ours(), Labels::default());
        let parts = look(path, &mut labels, &mut recording, Wanted::Place, &Placing::default(), |_| ())?;
        Ok(Self { recording, labels, parts })
    }

    /// Adds the launches that were under way when a run was killed, which has no record, and says what else is not there of its share of the
    /// schedule, up to the last launch that is.
    fn cut(&mut self, path: &Path, record: Option<&RunRecord>) -> Result<Option<Note>, Error> {
        let (share, mut under_way) = match record {
            Some(record) => (Some(record.share), Last::default()),
            None => (Alive::read(path).map(|alive| alive.share), Last::of(path, &mut self.labels)),
        };
        let mut begun = Begun::new(share.unwrap_or(Share::ALL));
        for (part, _) in &self.parts {
            let played = part.play(&mut self.labels, Wanted::Whole, &mut |events| {
                for event in events {
                    begun.see(event);
                    under_way.ended(event);
                }
            });
            played.map_err(|why| Error::content(path.display().to_string(), part.named(&why).to_string()))?;
        }
        let under_way = under_way.into_events();
        for event in &under_way {
            begun.see(event);
        }
        let extent = Extent::of(&under_way);
        self.parts.push((Part::Held(under_way), extent));
        let last = self.parts.iter().filter_map(|(_, extent)| extent.last_meant).max();
        // Of whom it is not known which part of the schedule was his it is not known either what he lacks.
        let lacking = share.and(last).and_then(|last| Gone::of(path, begun, Some(last), 0, &mut self.labels));
        Ok(lacking.and_then(|lacking| lacking.note()))
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

/// The whole parts of the run in `path`, each with what is known of its events where they are placed, of all of which `see` is given what
/// is wanted; those that cannot be read are counted and noted in `recording`.
fn look(
    path: &Path,
    labels: &mut Labels,
    recording: &mut Recording,
    wanted: Wanted,
    placing: &Placing,
    mut see: impl FnMut(&Event),
) -> Result<Vec<(Part, Extent)>, Error> {
    let (mut whole, mut unreadable) = (Vec::new(), 0);
    let paths = parts(&path.join("events"))?;
    let all = paths.len();
    for path in paths {
        let (part, mut extent) = (Part::Named(path), Extent::default());
        let played = part.play(labels, wanted, &mut |events| {
            for event in events {
                if placing.is_none() {
                    extent.add(event);
                } else {
                    extent.add(&placing.place(event));
                }
                see(event);
            }
        });
        match played {
            Ok(()) => whole.push((part, extent)),
            Err(why) => {
                unreadable += 1;
                recording.complaints.push(part.named(&why).to_string());
            }
        }
    }
    if unreadable > 0 && whole.is_empty() {
        return Err(Error::content(recording.complaints.swap_remove(0), "and no other part can be read"));
    }
    if unreadable > 0 {
        recording.notes.push(Note::PartsMissing { missing: unreadable, of: all as u64 });
    }
    recording.unreadable += unreadable;
    Ok(whole)
}

/// Reads one part by itself.
pub(crate) fn read_part(name: &str, part: Bytes) -> Result<Recording, Error> {
    let mut recording = ours();
    let (mut labels, part, mut extent) = (Labels::default(), Part::Whole(part), Extent::default());
    let played = part.play(&mut labels, Wanted::Place, &mut |events| events.iter().for_each(|event| extent.add(event)));
    played.map_err(|why| Error::content(name, why.to_string()))?;
    recording.labels = labels.clone().into_names(&mut recording.notes);
    recording.events = Events::new(Arc::new(Parts::new(vec![part], labels)), extent);
    Ok(recording)
}

fn ours() -> Recording {
    Recording {
        format: "run".to_owned(),
        resolution: Nanos(1),
        intent_known: true,
        on_run_clock: true,
        sessions_known: true,
        ..Recording::default()
    }
}

/// The whole parts in the order they were written.
fn parts(events: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = fs::read_dir(events).map_err(|_| {
        let run = events.parent().unwrap_or(events);
        Error::content(
            run.display().to_string(),
            "is no run of offered: it has no folder `events`; give a run directory or a result file",
        )
    })?;
    let mut parts = Vec::new();
    for entry in listed {
        let path = entry.map_err(Error::io("read", events))?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            parts.push(path);
        }
    }
    // By number, not by name: part-10000 comes after part-9999.
    parts.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(parts)
}

#[cfg(test)]
mod tests;
