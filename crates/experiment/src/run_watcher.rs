//! Watching a run of other processes: live figures of all its workers, from the run directory.
//!
//! Workers send nothing to the watcher. Each worker closes a part every second and writes a heartbeat every two seconds. The display is
//! about three seconds behind, because until then all events are complete. Percentiles come from all events, never from averages.

use std::collections::BTreeMap;

use offered_base::{Instant, Share};
use offered_events::Event;
use offered_run::Counts;
use offered_store::{RunFollower, WorkerState, WorkerStatus};
use offered_verify::Validity;
use offered_watch::{LiveWorker, Snapshot, Tally, WorkerPhase};
use offered_workload::Workload;

use crate::Error;
use crate::location::LocalRun;
use crate::workload_source::{BadLineHandler, WorkloadSource};

/// Watches a run.
pub struct RunWatcher {
    run: LocalRun,
    workload: Workload,
    following: RunFollower,
    /// The figures of the whole run.
    whole: Told,
    /// The figures per share.
    each: BTreeMap<u64, Told>,
    /// Events that ended later than the displayed time, with their share.
    held: Vec<(Share, Event)>,
    /// The displayed time of the run.
    now: Instant,
}

/// A tally, and the number of its requests.
struct Told {
    tally: Tally,
    launched: u64,
    unsent: u64,
}

impl Told {
    fn new(workload: &Workload, fraction: f64) -> Self {
        Self { tally: Tally::new(workload, fraction), launched: 0, unsent: 0 }
    }

    fn add(&mut self, event: &Event) {
        if event.is_request() {
            self.launched += 1;
            self.unsent += u64::from(event.sent.is_none());
        }
        self.tally.add(std::slice::from_ref(event));
    }

    /// The snapshot with this number of requests in flight.
    fn snapshot(&mut self, now: Instant, in_flight: u64, is_over: bool) -> Snapshot {
        let launched = self.launched + in_flight;
        let counts = Counts { requests: launched, unsent: self.unsent, in_flight, ..Counts::default() };
        if is_over { self.tally.final_snapshot(now, counts) } else { self.tally.snapshot(now, counts, false) }
    }
}

impl RunWatcher {
    /// Opens the run in a run directory, or in the rendezvous directory of many workers.
    ///
    /// # Errors
    /// There is no run, or its workload cannot be read.
    pub fn open(run: LocalRun, broken: BadLineHandler) -> Result<Self, Error> {
        let file = run.path().join("workload.toml");
        if !file.is_file() {
            return Err(Error::no_run(run.path()));
        }
        let input = WorkloadSource::open(&file, broken)?;
        let workload = input.parse(&input.text)?;
        Ok(Self {
            following: RunFollower::new(run.path(), &workload.labels()),
            run,
            whole: Told::new(&workload, 1.0),
            workload,
            each: BTreeMap::new(),
            held: Vec::new(),
            now: Instant::ZERO,
        })
    }

    /// Makes all snapshots include [`Snapshot::totals`]. Must be called before the first snapshot.
    pub fn enable_totals(&mut self) {
        self.whole.tally.enable_totals();
    }

    /// The run.
    pub fn run(&self) -> &LocalRun {
        &self.run
    }

    /// The workload of the run.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Reads the new events and returns the figures of the run, with a row for each worker. The phase is
    /// [`offered_watch::Phase::Ended`] once all workers are over.
    ///
    /// # Errors
    /// The directory can no longer be read.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let Self { run, following, held, .. } = self;
        run.refresh()?;
        following.refresh(&mut |share, events| held.extend(events.iter().map(|event| (share, event.clone()))))?;
        let workers = self.following.workers().to_vec();
        // The display does not wait for silent workers.
        let at_work = workers.iter().filter(|worker| worker.state == WorkerState::Running);
        let known = at_work.map(|worker| worker.until).min();
        let is_over = is_over(&workers);
        let until = match known {
            Some(until) => until,
            None if is_over => Instant::MAX,
            None => self.now,
        };
        self.feed(until);
        let under_way = workers.iter().map(|worker| worker.in_flight).sum();
        let rows = self.rows(&workers);
        let snapshot = Snapshot { workers: rows, ..self.whole.snapshot(self.now, under_way, is_over) };
        Ok(match absent_workers(&snapshot.workers) {
            // The requests of the others say nothing about rate and pattern of the whole.
            Some(reason) => Snapshot { validity: Validity::NotChecked, reason, ..snapshot },
            None => snapshot,
        })
    }

    /// Adds the events that ended up to this instant.
    fn feed(&mut self, until: Instant) {
        let ended = |event: &Event| event.done.unwrap_or(event.intended);
        let held = std::mem::take(&mut self.held).into_iter();
        let (now, later): (Vec<_>, Vec<_>) = held.partition(|(_, event)| ended(event) <= until);
        self.held = later;
        let mut last = self.now;
        for (share, event) in &now {
            last = last.max(ended(event));
            self.whole.add(event);
            let own = || Told::new(&self.workload, share.fraction());
            self.each.entry(share.index()).or_insert_with(own).add(event);
        }
        // The time of a finished run ends with its last response.
        self.now = self.now.max(if until == Instant::MAX { last } else { until });
    }

    /// One row per share, for the last worker that had it; empty for a run with one worker.
    fn rows(&mut self, workers: &[WorkerStatus]) -> Vec<LiveWorker> {
        let Some(parts) = workers.first().map(|worker| worker.share.parts()).filter(|parts| *parts > 1) else {
            return Vec::new();
        };
        let row = |number: u64| {
            let share = format!("{}/{parts}", number + 1);
            let Some(worker) = workers.iter().rev().find(|worker| worker.share.index() == number) else {
                return LiveWorker { name: share, ..LiveWorker::default() };
            };
            let again = if worker.attempt > 1 { " again" } else { "" };
            let host = worker.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
            let told = self.each.entry(number).or_insert_with(|| Told::new(&self.workload, worker.share.fraction()));
            let snapshot = told.snapshot(self.now, worker.in_flight, worker.is_over());
            LiveWorker {
                name: format!("{share}{again}{host}"),
                state: match worker.state {
                    WorkerState::Running => WorkerPhase::Running,
                    WorkerState::Silent(_) => WorkerPhase::Silent,
                    WorkerState::Ended => WorkerPhase::Ended,
                    WorkerState::Lost => WorkerPhase::Lost,
                },
                silent_s: match worker.state {
                    WorkerState::Silent(silence) => Some(silence.as_secs_f64()),
                    _ => None,
                },
                requests: snapshot.requests,
                unsent: snapshot.unsent,
                in_flight: snapshot.in_flight,
                errors: snapshot.errors().map(|(_, n)| n).sum(),
                sent_rate_per_s: snapshot.recent.sent_rate_per_s,
                response: snapshot.recent.response,
                lateness: snapshot.recent.lateness,
            }
        };
        (0..parts).map(row).collect()
    }
}

/// The message that workers are silent or lost; `None` if no worker is missing.
fn absent_workers(workers: &[LiveWorker]) -> Option<String> {
    let is_absent = |worker: &&LiveWorker| matches!(worker.state, WorkerPhase::Silent | WorkerPhase::Lost);
    let absent = workers.iter().filter(is_absent).map(|worker| format!("{} {}", worker.name, worker.state_text()));
    let absent = absent.collect::<Vec<_>>().join(", ");
    (!absent.is_empty()).then(|| format!("requests are missing: worker {absent}"))
}

/// Whether all workers have ended.
fn is_over(workers: &[WorkerStatus]) -> bool {
    let Some(parts) = workers.first().map(|worker| worker.share.parts()) else { return false };
    // Only the last worker of a share counts.
    let last = |number| workers.iter().rev().find(|worker| worker.share.index() == number);
    (0..parts).all(|number| last(number).is_some_and(WorkerStatus::is_over))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use offered_base::Nanos;
    use offered_events::Outcome;
    use offered_io::unix_now;
    use offered_store::{EndCondition, Heartbeat, RunKind, RunRecord, Writer, worker_directory};

    use super::*;

    const TEXT: &str =
        "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"100/s\"\n[[request]]\nname = \"home\"\nget = \"/\"\n";

    /// A worker that has recorded its requests until `until`, each with a response after 10 ms. Its last heartbeat was `sign_s` seconds
    /// after the start of the run, which was `began_s` ago.
    fn at_work(run: &Path, share: &str, until: Instant, sign_s: u64, began_s: u64) -> Writer {
        let share: Share = share.parse().unwrap();
        let workload = Workload::parse(TEXT, "w", &|_| Err(String::new())).unwrap();
        let mut writer = Writer::create(&worker_directory(run, share), TEXT, workload.labels()).unwrap();
        let mut agenda = workload.agenda(share);
        let event = |at: Instant, session| Event {
            sent: Some(at),
            done: Some(at + Nanos::from_millis(10)),
            outcome: Outcome::Ok,
            status: 200,
            session,
            ..Event::at(at)
        };
        let launches = std::iter::from_fn(|| agenda.due_before(until));
        writer.write(launches.map(|launch| event(launch.intended, launch.session)).collect()).unwrap();
        writer.rotate().unwrap();
        let started = unix_now() - Nanos::from_secs(began_s);
        let alive = Heartbeat {
            host: format!("rack-{}", share.index() + 1),
            share,
            started_unix_ns: started.0,
            at_unix_ns: (started + Nanos::from_secs(sign_s)).0,
            in_flight: 2,
            clock: None,
            copied_until_unix_ns: None,
        };
        alive.write(&worker_directory(run, share)).unwrap();
        writer
    }

    fn opened(run: &Path) -> RunWatcher {
        std::fs::write(run.join("workload.toml"), TEXT).unwrap();
        RunWatcher::open(run.into(), |_, _| ()).unwrap()
    }

    /// The number of requests scheduled before this time.
    fn meant(before: Instant, share: Share) -> u64 {
        let workload = Workload::parse(TEXT, "w", &|_| Err(String::new())).unwrap();
        let mut agenda = workload.agenda(share);
        std::iter::from_fn(|| agenda.due_before(before)).count() as u64
    }

    #[test]
    fn events_of_all_workers_are_shown_up_to_the_same_time() {
        let folder = tempfile::tempdir().unwrap();
        let secs = Instant::from_secs;
        // The last heartbeat of one worker is 9 s into the run, of the other 8 s; events after 5 s are incomplete.
        let _one = at_work(folder.path(), "1/3", secs(9), 9, 10);
        let _other = at_work(folder.path(), "2/3", secs(8), 8, 10);
        let mut watching = opened(folder.path());
        let snapshot = watching.snapshot().unwrap();
        assert_eq!(snapshot.time_s, 5.0);
        let shown = secs(5).earlier(Nanos::from_millis(10));
        let both = ["1/3", "2/3"].map(|share| meant(Instant(shown.0 + 1), share.parse().unwrap()));
        assert_eq!((snapshot.requests, snapshot.in_flight), (both[0] + both[1] + 4, 4));
        assert_eq!(snapshot.statuses, [(200, both[0] + both[1])].into(), "each once");
        let rows: Vec<_> =
            snapshot.workers.iter().map(|row| (row.name.as_str(), row.state_text(), row.requests)).collect();
        assert_eq!(
            rows,
            [
                ("1/3 on rack-1", "running".to_owned(), both[0] + 2),
                ("2/3 on rack-2", "running".to_owned(), both[1] + 2),
                ("3/3", "not started".to_owned(), 0)
            ]
        );
        let again = watching.snapshot().unwrap();
        assert_eq!((again.requests, again.time_s), (snapshot.requests, 5.0), "nothing twice");
    }

    #[test]
    fn the_display_continues_without_a_silent_worker() {
        let folder = tempfile::tempdir().unwrap();
        let _one = at_work(folder.path(), "1/2", Instant::from_secs(14), 14, 15);
        let _other = at_work(folder.path(), "2/2", Instant::from_secs(3), 3, 15);
        let snapshot = opened(folder.path()).snapshot().unwrap();
        assert_eq!(snapshot.time_s, 11.0);
        assert_eq!(snapshot.workers[1].state_text(), "SILENT for 12 s");
        // The rate of the other worker is not the reason for anything.
        let reason = "requests are missing: worker 2/2 on rack-2 SILENT for 12 s";
        assert_eq!((snapshot.validity, snapshot.reason.as_str()), (Validity::NotChecked, reason));
        assert!(
            snapshot.workers[1].silent_s.is_some_and(|s| s >= 12.0) && snapshot.phase != offered_watch::Phase::Ended
        );
    }

    #[test]
    fn the_run_ends_with_its_last_worker() {
        let folder = tempfile::tempdir().unwrap();
        for share in ["1/2", "2/2"] {
            let writer = at_work(folder.path(), share, Instant::MAX, 20, 21);
            let share = share.parse().unwrap();
            writer.finish(&RunRecord { share, ..RunRecord::new(RunKind::Run, EndCondition::Duration) }).unwrap();
        }
        let snapshot = opened(folder.path()).snapshot().unwrap();
        assert_eq!((snapshot.requests, snapshot.in_flight), (meant(Instant::MAX, Share::ALL), 0));
        assert_eq!(snapshot.phase, offered_watch::Phase::Ended);
        assert!(snapshot.workers.iter().all(|row| row.state_text() == "finished"));
    }

    #[test]
    fn a_run_with_one_worker_is_watched_in_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let _alone = at_work(folder.path(), "1/1", Instant::from_secs(6), 7, 8);
        let mut watching = RunWatcher::open((*worker_directory(folder.path(), Share::ALL)).into(), |_, _| ()).unwrap();
        let snapshot = watching.snapshot().unwrap();
        assert_eq!((snapshot.time_s, snapshot.workers.len()), (4.0, 0));
        assert!(snapshot.requests > 300, "{}", snapshot.requests);
        assert!(matches!(RunWatcher::open(folder.path().into(), |_, _| ()), Err(Error::NoRun { .. })));
        let missing = folder.path().join("missing");
        assert!(matches!(RunWatcher::open((&*missing).into(), |_, _| ()), Err(Error::Unreadable { .. })));
    }
}
