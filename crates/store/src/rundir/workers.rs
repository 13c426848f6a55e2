//! A run of several workers: a directory with one run directory per worker, such as `worker-3-of-8`. It is read as one run.

use std::fs;
use std::path::{Path, PathBuf};

use offered_base::{Instant, Nanos, Share};
use offered_events::Note;
use offered_io::unix_now;

use super::heartbeat::{HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, Heartbeat};
use super::lost;
use crate::error::Error;
use crate::record::{EndCondition, RunRecord};

/// The run directory of the worker with this share, inside the directory of the whole run.
pub fn worker_directory(run: &Path, share: Share) -> PathBuf {
    run.join(format!("worker-{}-of-{}", share.index() + 1, share.parts()))
}

/// The directories of all attempts at this share, in order, and the directory for the next attempt. The first attempt is `worker-3-of-8`; a
/// worker that replaces a lost one writes `worker-3-of-8.2`. If no attempt exists and the other workers have started (`late`), the first
/// worker was lost before it made its directory, so the next attempt is the second.
pub fn attempt_directories(run: &Path, share: Share, late: bool) -> (Vec<PathBuf>, PathBuf) {
    let first = worker_directory(run, share);
    let name = |attempt: u32| match attempt {
        1 => first.clone(),
        number => PathBuf::from(format!("{}.{number}", first.display())),
    };
    let first_attempt = if !name(1).exists() && (late || name(2).exists()) { 2 } else { 1 };
    let all: Vec<PathBuf> = (first_attempt..=u32::MAX).map(name).take_while(|path| path.exists()).collect();
    let next = name(first_attempt + all.len() as u32);
    (all, next)
}

/// The directory of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(super) share: Share,
    /// Number of the attempt to run this share, from 1.
    pub(super) attempt: u32,
    pub(crate) path: PathBuf,
}

/// The workers with a directory in `run`, in order of their numbers. Empty if `run` is the directory of one worker, or no run.
///
/// # Errors
/// The directories belong to different runs.
pub(crate) fn of(run: &Path) -> Result<Vec<Worker>, Error> {
    let listed = match fs::read_dir(run) {
        Ok(listed) if !run.join("events").is_dir() => listed,
        _ => return Ok(Vec::new()),
    };
    let mut workers = Vec::new();
    for entry in listed {
        let path = entry.map_err(Error::io("read", run))?.path();
        workers.extend(parse_name(&path).map(|(share, attempt)| Worker { share, attempt, path }));
    }
    workers.sort_unstable_by_key(|worker| (worker.share.index(), worker.attempt));
    match workers.windows(2).find(|pair| pair[0].share.parts() != pair[1].share.parts()) {
        Some(pair) => Err(Error::content(
            run.display().to_string(),
            format!(
                "contains workers {} and {}, which belong to different runs; move one to another directory",
                pair[0].share, pair[1].share
            ),
        )),
        None => Ok(workers),
    }
}

/// Whether this is the name of a worker's directory.
pub fn is_worker_directory(name: &Path) -> bool {
    parse_name(name).is_some()
}

/// The share and the attempt number in the name of a worker's directory.
pub(super) fn parse_name(path: &Path) -> Option<(Share, u32)> {
    let (number, parts) = path.file_name()?.to_str()?.strip_prefix("worker-")?.split_once("-of-")?;
    let (parts, attempt) = parts.split_once('.').unwrap_or((parts, "1"));
    Some((format!("{number}/{parts}").parse().ok()?, attempt.parse().ok()?))
}

/// A worker without a run record of its last attempt: it was killed, is frozen, or is still running.
#[derive(Clone, Debug)]
pub struct UnendedWorker {
    /// The share of the run; `None` for a run of one worker without a heartbeat.
    pub share: Option<Share>,
    /// The last heartbeat.
    pub heartbeat: Option<Heartbeat>,
    /// Whether the worker may still send requests. A run of one worker counts as killed as soon as a heartbeat is overdue.
    pub may_be_running: bool,
}

/// The workers of the run in `run` that left no record. Empty for the files of other tools.
///
/// # Errors
/// The directories belong to different runs, or a record is invalid.
pub fn unended_workers(run: &Path) -> Result<Vec<UnendedWorker>, Error> {
    let workers = of(run)?;
    if workers.is_empty() {
        if !run.join("events").is_dir() || RunRecord::read(run)?.is_some() {
            return Ok(Vec::new());
        }
        let heartbeat = Heartbeat::read(run);
        let may_be_running = heartbeat.as_ref().is_some_and(|last| {
            let is_copy = last.copied_until_unix_ns.is_some();
            let overdue = if is_copy { HEARTBEAT_TIMEOUT } else { HEARTBEAT_INTERVAL + Nanos::from_secs(1) };
            last.silence(unix_now()) < overdue
        });
        return Ok(vec![UnendedWorker { share: heartbeat.as_ref().map(|last| last.share), heartbeat, may_be_running }]);
    }
    let mut unended = Vec::new();
    for attempts in workers.chunk_by(|one, other| one.share == other.share) {
        let Worker { share, path, .. } = &attempts[attempts.len() - 1];
        if RunRecord::read(path)?.is_none() {
            let heartbeat = Heartbeat::read(path);
            let may_be_running = !matches!(State::of(path, heartbeat.as_ref()), State::Lost);
            unended.push(UnendedWorker { share: Some(*share), heartbeat, may_be_running });
        }
    }
    Ok(unended)
}

/// The shares of the run in the directory `run`: those of the workers, or that of the directory itself. Empty if `run`
/// is not a run directory.
///
/// # Errors
/// The directories belong to different runs, or a record is invalid.
pub fn recorded_shares(run: &Path) -> Result<Vec<Share>, Error> {
    let workers = of(run)?;
    if !workers.is_empty() || !run.join("events").is_dir() {
        return Ok(workers.into_iter().map(|worker| worker.share).collect());
    }
    let share = RunRecord::read(run)?.map(|record| record.share);
    let share = share.or_else(|| Heartbeat::read(run).map(|last| last.share));
    Ok(vec![share.or_else(|| parse_name(run).map(|(share, _)| share)).unwrap_or(Share::ALL)])
}

/// The state of a worker that has no record.
pub(super) enum State {
    Running,
    Silent(Nanos),
    Lost,
}

impl State {
    /// The state of the worker with this directory, by its last heartbeat.
    pub(super) fn of(worker: &Path, heartbeat: Option<&Heartbeat>) -> Self {
        let Some(heartbeat) = heartbeat else { return Self::Lost };
        let now = unix_now();
        let end = lost::workload(worker)
            .map(|workload| Nanos(heartbeat.started_unix_ns) + Instant::ZERO.until(workload.last()));
        match heartbeat.silence(now) {
            silence if silence < HEARTBEAT_TIMEOUT => Self::Running,
            // During the run a frozen worker may come back and send its overdue requests.
            silence if end.is_some_and(|end| now < end) => Self::Silent(silence),
            _ => Self::Lost,
        }
    }

    pub(super) fn note(&self) -> Note {
        match self {
            Self::Running => Note::Running,
            Self::Silent(silence) => Note::Silent { silence_s: silence.as_secs_f64() },
            Self::Lost => Note::Killed,
        }
    }
}

impl RunRecord {
    /// Reads the record of the run in the directory `run`, merged for several workers. `None` if the run did not end or `run` is a file.
    ///
    /// # Errors
    /// A record is unreadable or invalid.
    pub fn read(run: &Path) -> Result<Option<Self>, Error> {
        Self::read_one(run)?.map_or_else(|| merged_record(run), |own| Ok(Some(own)))
    }
}

/// The merged record of a run with several workers; `None` if no worker has a record.
fn merged_record(run: &Path) -> Result<Option<RunRecord>, Error> {
    let mut whole: Option<RunRecord> = None;
    for Worker { path, .. } in of(run)? {
        let Some(record) = RunRecord::read_one(&path)? else { continue };
        whole = Some(match whole {
            None => {
                // By the clock of worker 1, like all other times.
                let ahead = record.clock.and_then(|clock| clock.before).map_or(0, |before| before.offset_ns);
                let started_unix_ns =
                    record.started_unix_ns.map(|unix_ns| unix_ns.saturating_add_signed(ahead.saturating_neg()));
                RunRecord { share: Share::ALL, machine: None, clock: None, started_unix_ns, ..record }
            }
            Some(mut whole) => {
                whole.notes.extend(record.notes);
                whole.run_id = whole.run_id.filter(|run| record.run_id.as_ref() == Some(run));
                if record.end_condition == EndCondition::Responses {
                    whole.end_condition = record.end_condition;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, ReadOptions, RunKind, Writer, read};
    use offered_events::recording::Evidence;
    use offered_events::{ClockOffset, Event, Outcome, Reason, WorkerClock};
    use offered_workload::Workload;

    /// Writes worker `share` with two threads: its share of 1000 requests, a millisecond apart.
    fn write(run: &Path, share: &str, machine: Option<&str>) {
        write_by(run, share, machine, None);
    }

    /// The same with this clock.
    fn write_by(run: &Path, share: &str, machine: Option<&str>, clock: Option<WorkerClock>) {
        let share: Share = share.parse().unwrap();
        let mut writer = Writer::create(&worker_directory(run, share), "", vec!["home".into()]).unwrap();
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
        let machine = Some(Machine { name, system: String::new(), arch: String::new(), cores: 2, boot_id: None });
        let record = RunRecord::new(RunKind::Run, EndCondition::Duration);
        writer.finish(&RunRecord { share, generator, machine, started_unix_ns: Some(5), clock, ..record }).unwrap();
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
        assert_eq!(halves, 500, "events of the same time come together");
        sessions.sort_unstable();
        assert!(sessions.into_iter().eq(0..1000));
        let wrong = |event: &&Event| u64::from(event.worker) / 2 != event.session % 3;
        assert_eq!(events.iter().find(wrong), None, "two threads of each worker");
        let record = RunRecord::read(folder.path()).unwrap().unwrap();
        assert_eq!((record.share, record.generator.unwrap().busy.len()), (Share::ALL, 6));
    }

    #[test]
    fn a_late_replacement_of_a_worker_that_never_started_is_the_second_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let (run, share) = (folder.path(), "1/2".parse().unwrap());
        assert_eq!(attempt_directories(run, share, false), (vec![], run.join("worker-1-of-2")));
        let second = run.join("worker-1-of-2.2");
        assert_eq!(attempt_directories(run, share, true), (vec![], second.clone()));
        let all = scheduled(share);
        let late = all.iter().filter(|event| event.intended >= Instant::ZERO + Nanos::from_secs(4)).cloned().collect();
        write_sent(&second, share, late, true);
        assert_eq!(attempt_directories(run, share, true), (vec![second], run.join("worker-1-of-2.3")));
        let events = read(run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
        let gone = |event: &&Event| event.error == Some(Reason::WorkerLost);
        let before = all.iter().filter(|event| event.intended < Instant::ZERO + Nanos::from_secs(4)).count();
        assert_eq!((events.len(), events.iter().filter(gone).count()), (all.len(), before));
    }

    #[test]
    fn times_are_corrected_to_the_clock_of_worker_1() {
        let folder = tempfile::tempdir().unwrap();
        let offset = |offset_ns, at_unix_ns| Some(ClockOffset { offset_ns, bound_ns: 10, at_unix_ns, answers: 32 });
        // Corrected by 50 ms; the clock gained another millisecond within the second of the run.
        let (before, after) = (offset(50_000_000, 5), offset(51_000_000, 1_000_000_005));
        let drifting = WorkerClock { before, after, ..WorkerClock::default() };
        write_by(folder.path(), "1/2", Some("a"), Some(WorkerClock::default()));
        write_by(folder.path(), "2/2", Some("b"), Some(drifting));
        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!(recording.notes, [], "the offset between the machines' clocks is known");
        let clocks: Vec<_> = recording.clocks.iter().map(|of| (of.name.as_str(), of.is_first, of.clock)).collect();
        assert_eq!(clocks, [("1/2 on a", true, WorkerClock::default()), ("2/2 on b", false, drifting)]);
        let events = recording.events.to_vec().unwrap();
        for event in &events {
            let early = if event.session % 2 == 1 { 1_000 * event.session } else { 0 };
            assert_eq!(event.intended.0, 1_000_000 * event.session - early, "session {}", event.session);
        }
        assert_eq!(recording.events.extent().last_intended, Some(Instant(998_001_000)));
        let record = RunRecord::read(folder.path()).unwrap().unwrap();
        assert_eq!((record.started_unix_ns, record.clock), (Some(5), None));
    }

    const OPEN: &str = "seed = 3\nduration = \"10s\"\narrivals.open.rate = \"100/s\"\n[[request]]\nname = \"home\"\nget = \"/\"\nweight = 3\n\
        [[request]]\nname = \"cart\"\nget = \"/cart\"\n";

    /// The schedule of `share`.
    fn scheduled(share: Share) -> Vec<Event> {
        let workload = Workload::parse(OPEN, "w", &|_| Err(String::new())).unwrap();
        let (mut agenda, mix) = (workload.agenda(share), workload.mix());
        let due = std::iter::from_fn(move || agenda.due(Instant::MAX));
        due.map(|launch| Event { session: launch.session, label: mix.choose(launch), ..Event::at(launch.intended) })
            .collect()
    }

    /// Writes the directory of a worker that sent these events, and was killed or has finished.
    fn write_sent(path: &Path, share: Share, events: Vec<Event>, is_whole: bool) {
        let labels = vec!["home".to_owned(), "cart".to_owned()];
        let mut writer = Writer::create(path, OPEN, labels).unwrap();
        let sent = |event: Event| Event { sent: Some(event.intended), worker: share.index() as u16, ..event };
        writer.write(events.into_iter().map(sent).collect()).unwrap();
        writer.rotate().unwrap();
        if is_whole {
            writer.finish(&RunRecord { share, ..RunRecord::new(RunKind::Run, EndCondition::Duration) }).unwrap();
        }
    }

    #[test]
    fn lost_requests_are_part_of_the_recording_as_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Share::new(0, 2).unwrap(), Share::new(1, 2).unwrap());
        write_sent(&worker_directory(folder.path(), one), one, scheduled(one), true);
        // One attempt was killed after three seconds, the next started after seven: no worker sent the requests between.
        let (secs, all) = (Instant::from_secs, scheduled(other));
        let (early, later): (Vec<_>, Vec<_>) = all.clone().into_iter().partition(|event| event.intended < secs(3));
        let (lost, late): (Vec<_>, Vec<_>) = later.into_iter().partition(|event| event.intended < secs(7));
        write_sent(&attempt_directories(folder.path(), other, false).1, other, early, false);
        let (before, next) = attempt_directories(folder.path(), other, false);
        assert_eq!((before.len(), next.file_name().unwrap().to_str().unwrap()), (1, "worker-2-of-2.2"));
        write_sent(&next, other, late, true);

        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        let events = recording.events.to_vec().unwrap();
        let plain = |event: &Event| (event.intended, event.session, recording.labels[usize::from(event.label)].clone());
        let (mut have, mut want): (Vec<_>, Vec<_>) = (events.iter().map(plain).collect(), Vec::new());
        let parse_name = ["home", "cart"];
        want.extend(
            [one, other]
                .into_iter()
                .flat_map(scheduled)
                .map(|e| (e.intended, e.session, parse_name[usize::from(e.label)].to_owned())),
        );
        have.sort();
        want.sort();
        assert_eq!(have, want, "together the whole schedule");
        assert_eq!(recording.events.launches(), want.len() as u64);
        let unsent: Vec<_> = events.iter().filter(|event| event.sent.is_none()).collect();
        assert!(unsent.iter().all(|event| event.error == Some(Reason::WorkerLost) && event.outcome == Outcome::Unsent));
        assert_eq!(
            unsent.iter().map(|e| e.session).collect::<Vec<_>>(),
            lost.iter().map(|e| e.session).collect::<Vec<_>>()
        );
        let of = |note| Note::Worker { worker: "2/2".to_owned(), note: Box::new(note) };
        let gone = Note::WorkerLost { requests: lost.len() as u64, more_unknown: false };
        assert_eq!(recording.notes, [of(Note::Killed), of(gone)]);
        assert_eq!(
            recording.nodes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["1/2", "2/2", "2/2 again"]
        );
    }

    #[test]
    fn a_worker_that_may_come_back_does_not_count_as_lost() {
        let folder = tempfile::tempdir().unwrap();
        let one = Share::new(0, 1).unwrap();
        let path = worker_directory(folder.path(), one);
        write_sent(&path, one, scheduled(one)[..5].to_vec(), false);
        let notes = |began_s: u64, sign_s: u64| {
            let ago = |s: u64| unix_now().0 - s * 1_000_000_000;
            let heartbeat = Heartbeat {
                host: "a".to_owned(),
                share: one,
                started_unix_ns: ago(began_s),
                at_unix_ns: ago(sign_s),
                in_flight: 0,
                clock: None,
                copied_until_unix_ns: None,
            };
            heartbeat.write(&path).unwrap();
            let recording = read(folder.path(), &ReadOptions::default()).unwrap();
            (
                recording
                    .notes
                    .into_iter()
                    .map(|note| match note {
                        Note::Worker { note, .. } => *note,
                        other => other,
                    })
                    .collect::<Vec<_>>(),
                recording.events.launches(),
            )
        };
        assert_eq!(notes(3, 1), (vec![Note::Running], 5));
        let all = scheduled(one).len() as u64;
        assert_eq!(
            notes(60, 50),
            (vec![Note::Killed, Note::WorkerLost { requests: all - 5, more_unknown: false }], all)
        );
        // The last heartbeat is old, but its ten seconds are not over by this clock.
        let (silent, launches) = notes(0, 50);
        assert!(
            matches!(silent[..], [Note::Silent { silence_s: for_s }] if for_s >= 50.0) && launches == 5,
            "{silent:?}"
        );
    }

    #[test]
    fn killed_and_missing_workers_are_named() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1/3", Some("a"));
        write(folder.path(), "3/3", None);
        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!(recording.events.launches(), 334 + 333);
        let notes = recording.notes;
        let killed = Note::Worker { worker: "3/3".to_owned(), note: Box::new(Note::Killed) };
        let not_here = Note::WorkerMissing { worker: "2/3".to_owned() };
        assert_eq!(
            notes,
            [killed, not_here, Note::SeveralClocks { machines: 2 }],
            "the machine of the killed worker is unknown"
        );
        write(folder.path(), "1/2", Some("a"));
        let mixed = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(mixed.contains("which belong to different runs"), "{mixed}");
    }
}
