//! A run of several workers: a directory that holds one run directory for each of them, such as `worker-3-of-8`. It reads as one run.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_base::{Instant, Nanos, Share};
use offered_events::recording::NodeClock;
use offered_events::{ClockCorrection, Event, Note, Recording, WorkerClock};
use offered_events::{Columns, EventSource, Events, Extent};
use offered_io::unix_now;

use super::heartbeat::{HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, Heartbeat};
use super::in_flight::InFlightRequests;
use super::lost::{self, LostRequests, StartedSessions};
use super::{count_note, empty_recording, scan_parts};
use crate::error::Error;
use crate::event_source::Part;
use crate::labels::Labels;
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
    share: Share,
    /// How often the share has been taken up, from 1.
    attempt: u32,
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
                "holds workers {} and {}, which belong to different runs; move one of them to another directory",
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

/// A worker of a run whose last attempt left no record: it was killed, is frozen, or still running.
#[derive(Clone, Debug)]
pub struct UnendedWorker {
    /// Its share of the run; `None` for a run of one worker without a heartbeat.
    pub share: Option<Share>,
    /// Its last heartbeat.
    pub heartbeat: Option<Heartbeat>,
    /// Whether it may still send requests. A run of one worker counts as killed as soon as a heartbeat is overdue.
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

/// The shares of the run that the directory `run` holds: those of its workers, or its own. Empty if `run` is no run directory.
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
            .map(|workload| Nanos(heartbeat.started_unix_ns) + Instant::ZERO.until(workload.end()));
        match heartbeat.silence(now) {
            silence if silence < HEARTBEAT_TIMEOUT => Self::Running,
            // During the run a frozen worker may come back and send its overdue requests.
            silence if end.is_some_and(|end| now < end) => Self::Silent(silence),
            _ => Self::Lost,
        }
    }

    fn note(&self) -> Note {
        match self {
            Self::Running => Note::Running,
            Self::Silent(silence) => Note::Silent { silence_s: silence.as_secs_f64() },
            Self::Lost => Note::Killed,
        }
    }
}

/// Reads all `workers` of the run in `run` as one recording.
///
/// Sessions keep their numbers, because shares are disjoint parts of one schedule. Generator threads are renumbered, worker by worker. Times are
/// corrected to the clock of worker 1 as far as offsets are known ([`ClockCorrection`]); an unknown offset between machines is noted. Requests that a
/// lost worker did not send are part of the recording, as not sent.
pub(super) fn read(run: &Path, workers: &[Worker]) -> Result<Recording, Error> {
    let (mut recording, mut labels) = (empty_recording(), Labels::default());
    let (mut all_parts, mut first, mut machines, mut lost) = (Vec::new(), 0u16, HashSet::new(), Vec::new());
    for attempts in workers.chunk_by(|one, other| one.share == other.share) {
        let (share, mut last) = (attempts[0].share, None);
        let before = recording.notes.len();
        let mut started = StartedSessions::new(share);
        let records = attempts.iter().map(|worker| RunRecord::read(&worker.path)).collect::<Result<Vec<_>, _>>()?;
        let is_whole = matches!(records[..], [Some(_)]) && attempts[0].attempt == 1;
        for (place, (Worker { path, attempt, .. }, record)) in attempts.iter().zip(&records).enumerate() {
            let heartbeat = Heartbeat::read(path);
            let (clock, placing) = clock(record.as_ref(), heartbeat.as_ref());
            let (renumbering, mut threads) = (Renumbering { share, first, placing }, 0);
            let is_last = place + 1 == attempts.len();
            let is_gone = record.is_none() && (!is_last || matches!(State::of(path, heartbeat.as_ref()), State::Lost));
            let mut in_flight =
                if is_gone { InFlightRequests::read(path, &mut labels) } else { InFlightRequests::default() };
            // Started sessions matter only where some may not have started.
            let columns = if is_whole { Columns::Key } else { Columns::All };
            let paths = super::parts(&path.join("events"))?;
            let mut parts = scan_parts(paths, &mut labels, &mut recording, columns, &placing, |event| {
                threads = threads.max(renumbering.thread(event.worker) + 1);
                if !is_whole {
                    started.add(event);
                    in_flight.remove(event);
                }
            })?;
            recording.notes.extend(count_note(path, &recording, &parts));
            let in_flight = in_flight.into_events();
            for event in &in_flight {
                threads = threads.max(renumbering.thread(event.worker) + 1);
                started.add(event);
            }
            let extent = in_flight.iter().map(|event| placing.place(event)).collect::<Vec<_>>();
            parts.push((Part::Events(in_flight), Extent::of(&extent)));
            last = parts.iter().filter_map(|(_, extent)| extent.last_intended).max();
            all_parts.extend(parts.into_iter().map(|(part, extent)| (part, extent, renumbering)));
            let host = match record {
                Some(record) => record.machine.as_ref().map(|machine| machine.name.clone()),
                None => heartbeat.map(|heartbeat| heartbeat.host),
            };
            if record.as_ref().is_none_or(|record| record.started_unix_ns.is_some()) {
                machines.insert(host.clone());
            }
            let suffix = if *attempt > 1 { " again" } else { "" };
            let host = host.map_or_else(String::new, |host| format!(" on {host}"));
            let name = format!("{share}{suffix}{host}");
            let is_first = share.index() == 0 && *attempt == 1;
            recording.clocks.extend(clock.map(|clock| NodeClock { name: name.clone(), is_first, clock }));
            recording.nodes.push((name, first));
            first = first.saturating_add(threads);
        }
        let (Worker { path, .. }, record) = (&attempts[attempts.len() - 1], &records[attempts.len() - 1]);
        recording.notes.extend(records[..records.len() - 1].iter().map(|_| Note::Killed));
        let is_over = match record {
            Some(record) => {
                recording.notes.extend(record.notes.clone());
                true
            }
            None => {
                let state = State::of(path, Heartbeat::read(path).as_ref());
                recording.notes.push(state.note());
                matches!(state, State::Lost)
            }
        };
        if is_over && !is_whole {
            let stopped = record.as_ref().and_then(|record| record.generator.as_ref()).is_some_and(|seen| seen.stopped);
            // They get the row of the last attempt.
            let row = recording.nodes.last().map_or(0, |(_, first)| *first);
            if let Some(gone) = LostRequests::new(path, started, last.filter(|_| stopped), row, &mut labels) {
                let extent = gone.extent();
                recording.notes.push(Note::WorkerLost { requests: extent.launches, more_unknown: gone.has_more() });
                lost.push((gone, extent));
            }
        }
        let of_all = recording.notes.split_off(before);
        let worker = share.to_string();
        let of_it = |note| Note::Worker { worker: worker.clone(), note: Box::new(note) };
        recording.notes.extend(of_all.into_iter().map(of_it));
        // A worker that sent nothing still needs a row for its lost requests.
        first = first.max(recording.nodes.last().map_or(0, |(_, first)| first.saturating_add(1)));
    }
    let all = workers.first().map_or(0, |worker| worker.share.parts());
    let is_here = |number: &u64| workers.iter().any(|worker| worker.share.index() == *number);
    let missing = (0..all).filter(|number| !is_here(number));
    recording.notes.extend(missing.map(|number| Note::WorkerMissing { worker: format!("{}/{all}", number + 1) }));
    let is_known = |of: &NodeClock| of.is_first || of.clock.within_ns().is_some();
    if machines.len() > 1 && recording.clocks.iter().filter(|of| is_known(of)).count() < recording.nodes.len() {
        recording.notes.push(Note::SeveralClocks { machines: machines.len() });
    }
    recording.generator = record(run)?.and_then(|record| record.generator);
    recording.labels = labels.clone().into_names(&mut recording.notes);
    // Neighbouring parts cover about the same time, so events are nearly in order.
    all_parts.sort_by_key(|(_, extent, _)| extent.last_intended);
    let extents = all_parts.iter().map(|(_, extent, _)| *extent).chain(lost.iter().map(|(_, extent)| *extent));
    let extent = extents.fold(Extent::default(), Extent::and);
    let parts =
        all_parts.into_iter().map(|(part, extent, renumbering)| (part, extent.last_intended, renumbering)).collect();
    let lost = lost.into_iter().map(|(gone, _)| gone).collect();
    recording.events = Events::new(Arc::new(MergedWorkers { parts, lost, labels }), extent);
    Ok(recording)
}

/// What is known of a worker's clock, and the resulting correction.
fn clock(record: Option<&RunRecord>, heartbeat: Option<&Heartbeat>) -> (Option<WorkerClock>, ClockCorrection) {
    let (clock, started) = match record {
        Some(record) => (record.clock, record.started_unix_ns),
        None => (heartbeat.and_then(|heartbeat| heartbeat.clock), heartbeat.map(|heartbeat| heartbeat.started_unix_ns)),
    };
    let placing = clock.zip(started).map(|(clock, started)| ClockCorrection::of(&clock, started));
    (clock, placing.unwrap_or_default())
}

/// The merged record of a run with several workers; `None` if no worker has a record.
///
/// # Errors
/// A record is unreadable or invalid.
pub(crate) fn record(run: &Path) -> Result<Option<RunRecord>, Error> {
    let mut whole: Option<RunRecord> = None;
    for Worker { path, .. } in of(run)? {
        let Some(record) = RunRecord::read(&path)? else { continue };
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

/// How the events of one worker are renumbered and corrected.
#[derive(Clone, Copy)]
struct Renumbering {
    share: Share,
    /// The number of its first thread.
    first: u16,
    placing: ClockCorrection,
}

impl Renumbering {
    /// The index of a thread within its worker. Threads of all workers are numbered round-robin.
    fn thread(self, worker: u16) -> u16 {
        let parts = u16::try_from(self.share.parts()).unwrap_or(u16::MAX);
        worker.wrapping_sub(self.share.index() as u16) / parts
    }

    /// The event with its number and time in the merged recording.
    fn apply(self, event: &Event) -> Event {
        let placed = if self.placing.is_none() { event.clone() } else { self.placing.place(event) };
        Event { worker: self.first.saturating_add(self.thread(event.worker)), ..placed }
    }
}

/// The parts of all workers, and the lost requests.
struct MergedWorkers {
    /// Each part with the last scheduled time of its requests.
    parts: Vec<(Part, Option<Instant>, Renumbering)>,
    lost: Vec<LostRequests>,
    labels: Labels,
}

impl EventSource for MergedWorkers {
    fn scan(&self, columns: Columns, visit: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        /// Number of events passed at a time.
        const BATCH: usize = 1024;
        let (mut labels, mut renumbered) = (self.labels.clone(), Vec::new());
        let mut lost: Vec<_> = self.lost.iter().map(|gone| (gone, gone.agenda())).collect();
        // Lost requests come next to requests sent at the same time.
        let mut until = |until: Instant, visit: &mut dyn FnMut(&[Event])| {
            for (gone, agenda) in &mut lost {
                let mut batch = Vec::new();
                gone.each(agenda, until, |event| {
                    batch.push(event);
                    if batch.len() == BATCH {
                        visit(&batch);
                        batch.clear();
                    }
                });
                visit(&batch);
            }
        };
        for (part, last, renumbering) in &self.parts {
            until(last.unwrap_or_default(), visit);
            let scanned = part.scan(&mut labels, columns, &mut |events| {
                renumbered.clear();
                renumbered.extend(events.iter().map(|event| renumbering.apply(event)));
                visit(&renumbered);
            });
            scanned.map_err(|why| part.with_path(&why))?;
        }
        until(Instant::MAX, visit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, ReadOptions, RunKind, Writer, read};
    use offered_events::recording::Evidence;
    use offered_events::{ClockOffset, Outcome, Reason};
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
