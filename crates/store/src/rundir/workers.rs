//! A run of many workers: a directory in which each of them has a run directory of its own, `worker-3-of-8`. Read, it is one run.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_model::events::{Events, Extent, Tape, Wanted};
use offered_model::{Event, Note, Recording, Share};

use super::{look, ours};
use crate::error::Error;
use crate::labels::Labels;
use crate::record::{RunRecord, Until};
use crate::tape::Part;

/// The run directory of the worker with this share, in that of the whole run.
pub fn worker(run: &Path, share: Share) -> PathBuf {
    run.join(format!("worker-{}-of-{}", share.index() + 1, share.parts()))
}

/// The workers whose directories are in `run`, by their numbers; none where `run` is the directory of one worker, or no run.
///
/// # Errors
/// They are not of one run.
pub(crate) fn of(run: &Path) -> Result<Vec<(Share, PathBuf)>, Error> {
    let listed = match fs::read_dir(run) {
        Ok(listed) if !run.join("events").is_dir() => listed,
        _ => return Ok(Vec::new()),
    };
    let mut workers = Vec::new();
    for entry in listed {
        let path = entry.map_err(Error::io("read", run))?.path();
        workers.extend(share(&path).map(|share| (share, path)));
    }
    workers.sort_unstable_by_key(|(share, _)| share.index());
    match workers.windows(2).find(|pair| pair[0].0.parts() != pair[1].0.parts()) {
        Some(pair) => Err(Error::content(
            run.display().to_string(),
            format!(
                "holds workers {} and {}, which are not of one run; move those of another away",
                pair[0].0, pair[1].0
            ),
        )),
        None => Ok(workers),
    }
}

/// The share that the name of a worker's directory tells.
fn share(path: &Path) -> Option<Share> {
    let (number, parts) = path.file_name()?.to_str()?.strip_prefix("worker-")?.split_once("-of-")?;
    format!("{number}/{parts}").parse().ok()
}

/// All `workers` of the run in `run` as one.
///
/// Sessions are those of the whole run, for shares are parts of one. Launching threads are numbered anew, worker by worker. Instants
/// count from the start of the run on each worker's own clock, which is noted where they are several.
pub(super) fn read(run: &Path, workers: &[(Share, PathBuf)]) -> Result<Recording, Error> {
    let (mut recording, mut labels) = (ours(), Labels::default());
    let (mut looked, mut first, mut clocks) = (Vec::new(), 0u16, HashSet::new());
    for (share, path) in workers {
        let (own, mut threads) = (Own { share: *share, first }, 0);
        let before = recording.notes.len();
        let parts =
            look(path, &mut labels, &mut recording, |place| threads = threads.max(own.thread(place.worker) + 1))?;
        looked.extend(parts.into_iter().map(|(part, extent)| (part, extent, own)));
        let record = RunRecord::read(path)?;
        let host = record.as_ref().and_then(|record| Some(record.machine.as_ref()?.name.clone()));
        if record.as_ref().is_none_or(|record| record.started_unix_ns.is_some()) {
            clocks.insert(host.clone());
        }
        recording
            .nodes
            .push((format!("{share}{}", host.map_or_else(String::new, |host| format!(" on {host}"))), first));
        recording.notes.extend(record.map_or_else(|| vec![Note::Killed], |record| record.notes));
        let of_all = recording.notes.split_off(before);
        let worker = share.to_string();
        let of_it = |note| Note::OfWorker { worker: worker.clone(), note: Box::new(note) };
        recording.notes.extend(of_all.into_iter().map(of_it));
        first = first.saturating_add(threads);
    }
    let all = workers.first().map_or(0, |(share, _)| share.parts());
    let is_here = |number: &u64| workers.iter().any(|(share, _)| share.index() == *number);
    let missing = (0..all).filter(|number| !is_here(number));
    recording.notes.extend(missing.map(|number| Note::NotHere { worker: format!("{}/{all}", number + 1) }));
    if clocks.len() > 1 {
        recording.notes.push(Note::Clocks { machines: clocks.len() });
    }
    recording.generator = record(run)?.and_then(|record| record.generator);
    recording.labels = labels.clone().into_names(&mut recording.notes);
    // Parts of about the same time next to each other: what has to be put in order is then near its place.
    looked.sort_by_key(|(_, extent, _)| extent.last_meant);
    let extent = looked.iter().fold(Extent::default(), |all, (_, extent, _)| all.and(*extent));
    let parts = looked.into_iter().map(|(part, _, own)| (part, own)).collect();
    recording.events = Events::new(Arc::new(Together { parts, labels }), extent);
    Ok(recording)
}

/// The record of a run of many workers, as far as theirs are there; `None` where none is.
///
/// # Errors
/// One cannot be read, or is no record of a run.
pub(crate) fn record(run: &Path) -> Result<Option<RunRecord>, Error> {
    let mut whole: Option<RunRecord> = None;
    for (_, path) in of(run)? {
        let Some(record) = RunRecord::read(&path)? else { continue };
        whole = Some(match whole {
            None => RunRecord { share: Share::ALL, machine: None, ..record },
            Some(mut whole) => {
                whole.notes.extend(record.notes);
                whole.started_unix_ns = whole.started_unix_ns.min(record.started_unix_ns);
                whole.until = if record.until == Until::Answers { record.until } else { whole.until };
                whole.generator = match (whole.generator, record.generator) {
                    (Some(one), Some(other)) => Some(one.and(other)),
                    (one, other) => one.or(other),
                };
                whole
            }
        });
    }
    Ok(whole)
}

/// How the launching threads of one worker are numbered among all.
#[derive(Clone, Copy)]
struct Own {
    share: Share,
    /// The number of its first thread.
    first: u16,
}

impl Own {
    /// Which of its threads this one is: over all workers they are numbered in turn.
    fn thread(self, worker: u16) -> u16 {
        let parts = u16::try_from(self.share.parts()).unwrap_or(u16::MAX);
        worker.wrapping_sub(self.share.index() as u16) / parts
    }
}

/// The parts of all workers.
struct Together {
    parts: Vec<(Part, Own)>,
    labels: Labels,
}

impl Tape for Together {
    fn play(&self, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        let (mut labels, mut renumbered) = (self.labels.clone(), Vec::new());
        self.parts.iter().try_for_each(|(part, own)| {
            let played = part.play(&mut labels, wanted, &mut |events| {
                renumbered.clear();
                let number = |event: &Event| own.first.saturating_add(own.thread(event.worker));
                renumbered.extend(events.iter().map(|event| Event { worker: number(event), ..event.clone() }));
                see(&renumbered);
            });
            played.map_err(|why| part.named(&why))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, MadeBy, ReadOptions, Writer, read};
    use offered_model::recording::Evidence;
    use offered_model::{Instant, Nanos};

    /// Worker `share` with two threads, whose launches are those of its share of 1000, a millisecond apart.
    fn write(run: &Path, share: &str, machine: Option<&str>) {
        let share: Share = share.parse().unwrap();
        let mut writer = Writer::create(&worker(run, share), "", vec!["home".into()]).unwrap();
        let thread = |session: u64| share.index() + share.parts() * (session / share.parts() % 2);
        let event = |session| Event {
            session,
            worker: thread(session) as u16,
            ..Event::at(Instant::ZERO + Nanos::from_millis(session))
        };
        writer.write(share.of(500).map(event).collect()).unwrap();
        writer.rotate().unwrap();
        writer.write(share.of(1000).filter(|session| *session >= 500).map(event).collect()).unwrap();
        let generator = Some(Evidence { busy: vec![0.1, 0.2], cpu_s: 1.0, ..Evidence::default() });
        let Some(name) = machine.map(str::to_owned) else { return writer.rotate().unwrap() };
        let machine = Some(Machine { name, system: String::new(), arch: String::new(), cores: 2 });
        let record = RunRecord::new(MadeBy::Run, Until::Duration);
        writer.finish(&RunRecord { share, generator, machine, started_unix_ns: Some(5), ..record }).unwrap();
    }

    #[test]
    fn shares_in_one_directory_are_one_run() {
        let folder = tempfile::tempdir().unwrap();
        (1..=3).for_each(|number| write(folder.path(), &format!("{number}/3"), Some("a")));
        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!((recording.events.launches(), recording.notes.as_slice()), (1000, &[][..]));
        assert_eq!(
            recording.nodes,
            [("1/3 on a".to_owned(), 0), ("2/3 on a".to_owned(), 2), ("3/3 on a".to_owned(), 4)]
        );
        let events = recording.events.to_vec().unwrap();
        let mut sessions: Vec<u64> = events.iter().map(|event| event.session).collect();
        let halves = sessions.iter().position(|session| *session >= 500).unwrap();
        assert_eq!(halves, 500, "what is of one time comes together");
        sessions.sort_unstable();
        assert!(sessions.into_iter().eq(0..1000));
        let wrong = |event: &&Event| u64::from(event.worker) / 2 != event.session % 3;
        assert_eq!(events.iter().find(wrong), None, "two threads of each worker");
        let record = RunRecord::read(folder.path()).unwrap().unwrap();
        assert_eq!((record.share, record.generator.unwrap().busy.len()), (Share::ALL, 6));
    }

    #[test]
    fn a_worker_that_was_killed_and_one_that_never_came_are_named() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1/3", Some("a"));
        write(folder.path(), "3/3", None);
        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 334 + 333);
        let notes = recording.notes;
        let killed = Note::OfWorker { worker: "3/3".to_owned(), note: Box::new(Note::Killed) };
        let not_here = Note::NotHere { worker: "2/3".to_owned() };
        assert_eq!(notes, [killed, not_here, Note::Clocks { machines: 2 }], "where the killed one ran is not known");
        write(folder.path(), "1/2", Some("a"));
        let mixed = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(mixed.contains("which are not of one run"), "{mixed}");
    }
}
