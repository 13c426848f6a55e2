//! A run of many workers: a directory in which each of them has a run directory of its own, `worker-3-of-8`. Read, it is one run.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_clock::unix_now;
use offered_model::events::{Events, Extent, Tape, Wanted};
use offered_model::recording::NodeClock;
use offered_model::{Event, Instant, Nanos, Note, Placing, Recording, Share, WorkerClock};

use super::alive::{Alive, SILENT};
use super::gone::{self, Begun, Gone};
use super::under_way::Last;
use super::{look, other_count, ours};
use crate::error::Error;
use crate::labels::Labels;
use crate::record::{RunRecord, Until};
use crate::tape::Part;

/// The run directory of the worker with this share, in that of the whole run.
pub fn worker(run: &Path, share: Share) -> PathBuf {
    run.join(format!("worker-{}-of-{}", share.index() + 1, share.parts()))
}

/// The directories of the worker with this share, in order: that of the first who took the share up, and of those who took its place
/// when it was gone (`worker-3-of-8.2`); and the one in which another would. None are there of a share that nobody has begun; where the others
/// have, which is `late`, the first was gone before it made its directory, and so who comes now is the second.
pub fn attempts(run: &Path, share: Share, late: bool) -> (Vec<PathBuf>, PathBuf) {
    let first = worker(run, share);
    let name = |attempt: u32| match attempt {
        1 => first.clone(),
        again => PathBuf::from(format!("{}.{again}", first.display())),
    };
    let begun = if !name(1).exists() && (late || name(2).exists()) { 2 } else { 1 };
    let all: Vec<PathBuf> = (begun..=u32::MAX).map(name).take_while(|path| path.exists()).collect();
    let next = name(begun + all.len() as u32);
    (all, next)
}

/// A worker's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    share: Share,
    /// From 1: how many have taken the share up.
    attempt: u32,
    pub(crate) path: PathBuf,
}

/// The workers whose directories are in `run`, by their numbers; none where `run` is the directory of one worker, or no run.
///
/// # Errors
/// They are not of one run.
pub(crate) fn of(run: &Path) -> Result<Vec<Worker>, Error> {
    let listed = match fs::read_dir(run) {
        Ok(listed) if !run.join("events").is_dir() => listed,
        _ => return Ok(Vec::new()),
    };
    let mut workers = Vec::new();
    for entry in listed {
        let path = entry.map_err(Error::io("read", run))?.path();
        workers.extend(named(&path).map(|(share, attempt)| Worker { share, attempt, path }));
    }
    workers.sort_unstable_by_key(|worker| (worker.share.index(), worker.attempt));
    match workers.windows(2).find(|pair| pair[0].share.parts() != pair[1].share.parts()) {
        Some(pair) => Err(Error::content(
            run.display().to_string(),
            format!(
                "holds workers {} and {}, which are not of one run; move those of another away",
                pair[0].share, pair[1].share
            ),
        )),
        None => Ok(workers),
    }
}

/// Whether this is the name of a worker's directory in that of the whole run.
pub fn is_worker(name: &Path) -> bool {
    named(name).is_some()
}

/// The share and the attempt that the name of a worker's directory tells.
pub(super) fn named(path: &Path) -> Option<(Share, u32)> {
    let (number, parts) = path.file_name()?.to_str()?.strip_prefix("worker-")?.split_once("-of-")?;
    let (parts, attempt) = parts.split_once('.').unwrap_or((parts, "1"));
    Some((format!("{number}/{parts}").parse().ok()?, attempt.parse().ok()?))
}

/// How a worker without a record is.
pub(super) enum State {
    Running,
    Silent(Nanos),
    Gone,
}

impl State {
    /// Of one with this directory, by its last sign of life.
    pub(super) fn of(worker: &Path, alive: Option<&Alive>) -> Self {
        let Some(alive) = alive else { return Self::Gone };
        let now = unix_now();
        let end =
            gone::workload(worker).map(|workload| Nanos(alive.started_unix_ns) + Instant::ZERO.until(workload.end()));
        match alive.silence(now) {
            silence if silence < SILENT => Self::Running,
            // While the run goes on one that was frozen may come back, and launch what it has missed.
            silence if end.is_some_and(|end| now < end) => Self::Silent(silence),
            _ => Self::Gone,
        }
    }

    fn note(&self) -> Note {
        match self {
            Self::Running => Note::Running,
            Self::Silent(silence) => Note::Silent { for_s: silence.as_secs_f64() },
            Self::Gone => Note::Killed,
        }
    }
}

/// All `workers` of the run in `run` as one.
///
/// Sessions are those of the whole run, for shares are parts of one. Launching threads are numbered anew, worker by worker. Launches are
/// placed by the clock of worker 1 as far as each worker's is known beside it ([`Placing`]); where the workers were on several machines and
/// one is not known that is noted. What a worker that is gone did not launch is there as not sent.
pub(super) fn read(run: &Path, workers: &[Worker]) -> Result<Recording, Error> {
    let (mut recording, mut labels) = (ours(), Labels::default());
    let (mut looked, mut first, mut machines, mut missed) = (Vec::new(), 0u16, HashSet::new(), Vec::new());
    for attempts in workers.chunk_by(|one, other| one.share == other.share) {
        let (share, mut last) = (attempts[0].share, None);
        let before = recording.notes.len();
        let mut begun = Begun::new(share);
        let records = attempts.iter().map(|worker| RunRecord::read(&worker.path)).collect::<Result<Vec<_>, _>>()?;
        let is_whole = matches!(records[..], [Some(_)]) && attempts[0].attempt == 1;
        for (place, (Worker { path, attempt, .. }, record)) in attempts.iter().zip(&records).enumerate() {
            let alive = Alive::read(path);
            let (clock, placing) = clock(record.as_ref(), alive.as_ref());
            let (own, mut threads) = (Own { share, first, placing }, 0);
            let is_last = place + 1 == attempts.len();
            let is_gone = record.is_none() && (!is_last || matches!(State::of(path, alive.as_ref()), State::Gone));
            let mut under_way = if is_gone { Last::of(path, &mut labels) } else { Last::default() };
            // Which sessions have begun is asked only where some may not have.
            let wanted = if is_whole { Wanted::Place } else { Wanted::Whole };
            let mut parts = look(path, &mut labels, &mut recording, wanted, &placing, |event| {
                threads = threads.max(own.thread(event.worker) + 1);
                if !is_whole {
                    begun.see(event);
                    under_way.ended(event);
                }
            })?;
            recording.notes.extend(other_count(path, &recording, &parts));
            let under_way = under_way.into_events();
            for event in &under_way {
                threads = threads.max(own.thread(event.worker) + 1);
                begun.see(event);
            }
            let extent = under_way.iter().map(|event| placing.place(event)).collect::<Vec<_>>();
            parts.push((Part::Held(under_way), Extent::of(&extent)));
            last = parts.iter().filter_map(|(_, extent)| extent.last_meant).max();
            looked.extend(parts.into_iter().map(|(part, extent)| (part, extent, own)));
            let host = match record {
                Some(record) => record.machine.as_ref().map(|machine| machine.name.clone()),
                None => alive.map(|alive| alive.host),
            };
            if record.as_ref().is_none_or(|record| record.started_unix_ns.is_some()) {
                machines.insert(host.clone());
            }
            let again = if *attempt > 1 { " again" } else { "" };
            let host = host.map_or_else(String::new, |host| format!(" on {host}"));
            let name = format!("{share}{again}{host}");
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
                let state = State::of(path, Alive::read(path).as_ref());
                recording.notes.push(state.note());
                matches!(state, State::Gone)
            }
        };
        if is_over && !is_whole {
            let stopped = record.as_ref().and_then(|record| record.generator.as_ref()).is_some_and(|seen| seen.stopped);
            // Their row is that of who was there last.
            let row = recording.nodes.last().map_or(0, |(_, first)| *first);
            if let Some(gone) = Gone::of(path, begun, last.filter(|_| stopped), row, &mut labels) {
                let extent = gone.extent();
                recording.notes.push(Note::Gone { launches: extent.launches, further: gone.further() });
                missed.push((gone, extent));
            }
        }
        let of_all = recording.notes.split_off(before);
        let worker = share.to_string();
        let of_it = |note| Note::OfWorker { worker: worker.clone(), note: Box::new(note) };
        recording.notes.extend(of_all.into_iter().map(of_it));
        // One that launched nothing has a row for what it should have launched.
        first = first.max(recording.nodes.last().map_or(0, |(_, first)| first.saturating_add(1)));
    }
    let all = workers.first().map_or(0, |worker| worker.share.parts());
    let is_here = |number: &u64| workers.iter().any(|worker| worker.share.index() == *number);
    let missing = (0..all).filter(|number| !is_here(number));
    recording.notes.extend(missing.map(|number| Note::NotHere { worker: format!("{}/{all}", number + 1) }));
    let is_known = |of: &NodeClock| of.is_first || of.clock.within_ns().is_some();
    if machines.len() > 1 && recording.clocks.iter().filter(|of| is_known(of)).count() < recording.nodes.len() {
        recording.notes.push(Note::Clocks { machines: machines.len() });
    }
    recording.generator = record(run)?.and_then(|record| record.generator);
    recording.labels = labels.clone().into_names(&mut recording.notes);
    // Parts of about the same time next to each other: what has to be put in order is then near its place.
    looked.sort_by_key(|(_, extent, _)| extent.last_meant);
    let extents = looked.iter().map(|(_, extent, _)| *extent).chain(missed.iter().map(|(_, extent)| *extent));
    let extent = extents.fold(Extent::default(), Extent::and);
    let parts = looked.into_iter().map(|(part, extent, own)| (part, extent.last_meant, own)).collect();
    let missed = missed.into_iter().map(|(gone, _)| gone).collect();
    recording.events = Events::new(Arc::new(Together { parts, missed, labels }), extent);
    Ok(recording)
}

/// What is known of a worker's clock, and where its launches lie.
fn clock(record: Option<&RunRecord>, alive: Option<&Alive>) -> (Option<WorkerClock>, Placing) {
    let (clock, started) = match record {
        Some(record) => (record.clock, record.started_unix_ns),
        None => (alive.and_then(|alive| alive.clock), alive.map(|alive| alive.started_unix_ns)),
    };
    let placing = clock.zip(started).map(|(clock, started)| Placing::of(&clock, started));
    (clock, placing.unwrap_or_default())
}

/// The record of a run of many workers, as far as theirs are there; `None` where none is.
///
/// # Errors
/// One cannot be read, or is no record of a run.
pub(crate) fn record(run: &Path) -> Result<Option<RunRecord>, Error> {
    let mut whole: Option<RunRecord> = None;
    for Worker { path, .. } in of(run)? {
        let Some(record) = RunRecord::read(&path)? else { continue };
        whole = Some(match whole {
            None => {
                // By the clock of worker 1, as all else.
                let ahead = record.clock.and_then(|clock| clock.before).map_or(0, |before| before.ahead_ns);
                let started_unix_ns =
                    record.started_unix_ns.map(|own| own.saturating_add_signed(ahead.saturating_neg()));
                RunRecord { share: Share::ALL, machine: None, clock: None, started_unix_ns, ..record }
            }
            Some(mut whole) => {
                whole.notes.extend(record.notes);
                whole.run_id = whole.run_id.filter(|run| record.run_id.as_ref() == Some(run));
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

/// How the launching threads of one worker are numbered among all, and where its launches lie.
#[derive(Clone, Copy)]
struct Own {
    share: Share,
    /// The number of its first thread.
    first: u16,
    placing: Placing,
}

impl Own {
    /// Which of its threads this one is: over all workers they are numbered in turn.
    fn thread(self, worker: u16) -> u16 {
        let parts = u16::try_from(self.share.parts()).unwrap_or(u16::MAX);
        worker.wrapping_sub(self.share.index() as u16) / parts
    }

    /// The event as it is among all.
    fn among_all(self, event: &Event) -> Event {
        let placed = if self.placing.is_none() { event.clone() } else { self.placing.place(event) };
        Event { worker: self.first.saturating_add(self.thread(event.worker)), ..placed }
    }
}

/// The parts of all workers, and what nobody launched.
struct Together {
    /// Each with the last instant for which a launch of it was meant.
    parts: Vec<(Part, Option<Instant>, Own)>,
    missed: Vec<Gone>,
    labels: Labels,
}

impl Tape for Together {
    fn play(&self, wanted: Wanted, see: &mut dyn FnMut(&[Event])) -> io::Result<()> {
        /// So many events are handed over at a time.
        const BATCH: usize = 1024;
        let (mut labels, mut renumbered) = (self.labels.clone(), Vec::new());
        let mut missed: Vec<_> = self.missed.iter().map(|gone| (gone, gone.agenda())).collect();
        // Beside what was launched at the time.
        let mut until = |until: Instant, see: &mut dyn FnMut(&[Event])| {
            for (gone, agenda) in &mut missed {
                let mut batch = Vec::new();
                gone.each(agenda, until, |event| {
                    batch.push(event);
                    if batch.len() == BATCH {
                        see(&batch);
                        batch.clear();
                    }
                });
                see(&batch);
            }
        };
        for (part, last, own) in &self.parts {
            until(last.unwrap_or_default(), see);
            let played = part.play(&mut labels, wanted, &mut |events| {
                renumbered.clear();
                renumbered.extend(events.iter().map(|event| own.among_all(event)));
                see(&renumbered);
            });
            played.map_err(|why| part.named(&why))?;
        }
        until(Instant::MAX, see);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, MadeBy, ReadOptions, Writer, read};
    use offered_model::recording::Evidence;
    use offered_model::{Agenda, Offset, Outcome, Reason, Workload};

    /// Worker `share` with two threads, whose launches are those of its share of 1000, a millisecond apart.
    fn write(run: &Path, share: &str, machine: Option<&str>) {
        write_by(run, share, machine, None);
    }

    /// The same by this clock.
    fn write_by(run: &Path, share: &str, machine: Option<&str>, clock: Option<WorkerClock>) {
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
        let machine = Some(Machine { name, system: String::new(), arch: String::new(), cores: 2, kernel: None });
        let record = RunRecord::new(MadeBy::Run, Until::Duration);
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
        assert_eq!(halves, 500, "what is of one time comes together");
        sessions.sort_unstable();
        assert!(sessions.into_iter().eq(0..1000));
        let wrong = |event: &&Event| u64::from(event.worker) / 2 != event.session % 3;
        assert_eq!(events.iter().find(wrong), None, "two threads of each worker");
        let record = RunRecord::read(folder.path()).unwrap().unwrap();
        assert_eq!((record.share, record.generator.unwrap().busy.len()), (Share::ALL, 6));
    }

    #[test]
    fn who_came_late_for_one_that_never_began_is_the_second_and_what_nobody_sent_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let (run, share) = (folder.path(), "1/2".parse().unwrap());
        assert_eq!(attempts(run, share, false), (vec![], run.join("worker-1-of-2")));
        let second = run.join("worker-1-of-2.2");
        assert_eq!(attempts(run, share, true), (vec![], second.clone()));
        let all = meant(share);
        let late = all.iter().filter(|event| event.intended >= Instant::ZERO + Nanos::from_secs(4)).cloned().collect();
        sent(&second, share, late, true);
        assert_eq!(attempts(run, share, true), (vec![second], run.join("worker-1-of-2.3")));
        let events = read(run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
        let gone = |event: &&Event| event.error == Some(Reason::Gone);
        let before = all.iter().filter(|event| event.intended < Instant::ZERO + Nanos::from_secs(4)).count();
        assert_eq!((events.len(), events.iter().filter(gone).count()), (all.len(), before));
    }

    #[test]
    fn launches_lie_where_the_clock_of_worker_1_would_have_put_them() {
        let folder = tempfile::tempdir().unwrap();
        let offset = |ahead_ns, at_unix_ns| Some(Offset { ahead_ns, bound_ns: 10, at_unix_ns, answers: 32 });
        // It was corrected by 50 ms, and gained another millisecond in the second of the run.
        let (before, after) = (offset(50_000_000, 5), offset(51_000_000, 1_000_000_005));
        let drifting = WorkerClock { before, after, ..WorkerClock::default() };
        write_by(folder.path(), "1/2", Some("a"), Some(WorkerClock::default()));
        write_by(folder.path(), "2/2", Some("b"), Some(drifting));
        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!(recording.notes, [], "how far the machines' clocks are apart is known");
        let clocks: Vec<_> = recording.clocks.iter().map(|of| (of.name.as_str(), of.is_first, of.clock)).collect();
        assert_eq!(clocks, [("1/2 on a", true, WorkerClock::default()), ("2/2 on b", false, drifting)]);
        let events = recording.events.to_vec().unwrap();
        for event in &events {
            let early = if event.session % 2 == 1 { 1_000 * event.session } else { 0 };
            assert_eq!(event.intended.0, 1_000_000 * event.session - early, "session {}", event.session);
        }
        assert_eq!(recording.events.extent().last_meant, Some(Instant(998_001_000)));
        let record = RunRecord::read(folder.path()).unwrap().unwrap();
        assert_eq!((record.started_unix_ns, record.clock), (Some(5), None));
    }

    const OPEN: &str = "seed = 3\nduration = \"10s\"\narrivals.open.rate = \"100/s\"\n[[request]]\nname = \"home\"\nget = \"/\"\nweight = 3\n\
        [[request]]\nname = \"cart\"\nget = \"/cart\"\n";

    /// What `share` of the workload means to launch.
    fn meant(share: Share) -> Vec<Event> {
        let workload = Workload::parse(OPEN, "w", &|_| Err(String::new())).unwrap();
        let (mut agenda, mix) = (Agenda::new(&workload, share), workload.mix());
        let due = std::iter::from_fn(move || agenda.due(Instant::MAX));
        due.map(|launch| Event { session: launch.session, label: mix.choose(launch), ..Event::at(launch.intended) })
            .collect()
    }

    /// The directory of a worker that has sent these, and was killed or came to its end.
    fn sent(path: &Path, share: Share, events: Vec<Event>, is_whole: bool) {
        let labels = vec!["home".to_owned(), "cart".to_owned()];
        let mut writer = Writer::create(path, OPEN, labels).unwrap();
        let sent = |event: Event| Event { sent: Some(event.intended), worker: share.index() as u16, ..event };
        writer.write(events.into_iter().map(sent).collect()).unwrap();
        writer.rotate().unwrap();
        if is_whole {
            writer.finish(&RunRecord { share, ..RunRecord::new(MadeBy::Run, Until::Duration) }).unwrap();
        }
    }

    #[test]
    fn what_nobody_launched_is_there_to_the_nanosecond_and_not_sent() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Share::new(0, 2).unwrap(), Share::new(1, 2).unwrap());
        sent(&worker(folder.path(), one), one, meant(one), true);
        // One was killed after three seconds, who took its part up after seven: what lies between nobody launched.
        let (secs, all) = (Instant::from_secs, meant(other));
        let (early, later): (Vec<_>, Vec<_>) = all.clone().into_iter().partition(|event| event.intended < secs(3));
        let (missed, late): (Vec<_>, Vec<_>) = later.into_iter().partition(|event| event.intended < secs(7));
        sent(&attempts(folder.path(), other, false).1, other, early, false);
        let (before, next) = attempts(folder.path(), other, false);
        assert_eq!((before.len(), next.file_name().unwrap().to_str().unwrap()), (1, "worker-2-of-2.2"));
        sent(&next, other, late, true);

        let recording = read(folder.path(), &ReadOptions::default()).unwrap();
        let events = recording.events.to_vec().unwrap();
        let plain = |event: &Event| (event.intended, event.session, recording.labels[usize::from(event.label)].clone());
        let (mut have, mut want): (Vec<_>, Vec<_>) = (events.iter().map(plain).collect(), Vec::new());
        let named = ["home", "cart"];
        want.extend(
            [one, other]
                .into_iter()
                .flat_map(meant)
                .map(|e| (e.intended, e.session, named[usize::from(e.label)].to_owned())),
        );
        have.sort();
        want.sort();
        assert_eq!(have, want, "together the whole schedule");
        assert_eq!(recording.events.launches(), want.len() as u64);
        let unsent: Vec<_> = events.iter().filter(|event| event.sent.is_none()).collect();
        assert!(unsent.iter().all(|event| event.error == Some(Reason::Gone) && event.outcome == Outcome::Unsent));
        assert_eq!(
            unsent.iter().map(|e| e.session).collect::<Vec<_>>(),
            missed.iter().map(|e| e.session).collect::<Vec<_>>()
        );
        let of = |note| Note::OfWorker { worker: "2/2".to_owned(), note: Box::new(note) };
        let gone = Note::Gone { launches: missed.len() as u64, further: false };
        assert_eq!(recording.notes, [of(Note::Killed), of(gone)]);
        assert_eq!(
            recording.nodes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["1/2", "2/2", "2/2 again"]
        );
    }

    #[test]
    fn a_worker_that_may_come_back_is_not_taken_for_gone() {
        let folder = tempfile::tempdir().unwrap();
        let one = Share::new(0, 1).unwrap();
        let path = worker(folder.path(), one);
        sent(&path, one, meant(one)[..5].to_vec(), false);
        let notes = |began_s: u64, sign_s: u64| {
            let ago = |s: u64| unix_now().0 - s * 1_000_000_000;
            let alive = Alive {
                host: "a".to_owned(),
                share: one,
                started_unix_ns: ago(began_s),
                at_unix_ns: ago(sign_s),
                in_flight: 0,
                clock: None,
                copied_unix_ns: None,
            };
            alive.write(&path).unwrap();
            let recording = read(folder.path(), &ReadOptions::default()).unwrap();
            (
                recording
                    .notes
                    .into_iter()
                    .map(|note| match note {
                        Note::OfWorker { note, .. } => *note,
                        other => other,
                    })
                    .collect::<Vec<_>>(),
                recording.events.launches(),
            )
        };
        assert_eq!(notes(3, 1), (vec![Note::Running], 5));
        let all = meant(one).len() as u64;
        assert_eq!(notes(60, 50), (vec![Note::Killed, Note::Gone { launches: all - 5, further: false }], all));
        // Nothing has been heard of it, but its ten seconds are not over by this clock.
        let (silent, launches) = notes(0, 50);
        assert!(matches!(silent[..], [Note::Silent { for_s }] if for_s >= 50.0) && launches == 5, "{silent:?}");
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
