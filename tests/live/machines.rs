//! Several workers with a rendezvous directory: together they make one run, or none starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use offered_base::{Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Reason};
use offered_experiment::{RunPlan, SharedDirectory};
use offered_io::WallClock;
use offered_run::Load;
use offered_serve::{Options, Server, ServerHandle};
use offered_simulate::policy::{BuildDiscipline, Policy, ServerConfig};
use offered_store::{ReadOptions, RunRecord, read};
use offered_workload::Workload;
use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Ended, Process, ended, offered, soon};

tests![
    a_worker_killed_twice_resumes_each_time,
    a_frozen_worker_is_reported_and_sends_late,
    other_workers_continue_when_one_is_killed,
    several_workers_send_the_requests_of_one_generator,
    a_worker_with_a_wrong_clock_starts_with_the_others,
    workers_with_different_runs_do_not_start,
];

/// A server that responds at once.
pub(crate) fn server() -> ServerHandle {
    let policy = Policy::Infinite
        .boxed(&ServerConfig { servers: 1, class_means: Vec::new(), seed: Seed(1), rates: None })
        .unwrap();
    Server::start(Options::new(policy, Distribution::constant(0.0).unwrap(), Seed(1))).unwrap()
}

/// A worker with its rendezvous in `folder`.
fn worker(server: &ServerHandle, folder: &Path, args: &[&str]) -> Command {
    let mut command =
        offered(&["run", &format!("{}/", server.address()), "--seed", "5", "--quiet", "--wait-mode", "sleep"]);
    command.arg("--rendezvous").arg(folder).args(args);
    command
}

pub(crate) fn stdout(args: &[&str], folder: &Path) -> String {
    let mut command = offered(args);
    let Ended { code, stdout, stderr } = Process::start({
        command.arg(folder);
        command
    })
    .end();
    // On a busy machine a run may be invalid.
    assert!(matches!(code, Some(0 | 3)), "{stderr}");
    stdout
}

/// The verdict printed by `verify --json`, which exits with 3 exactly if the run is incomplete or invalid.
pub(crate) fn checked(verify: Ended) -> Value {
    let verdict: Value = serde_json::from_str(&verify.stdout).unwrap_or_else(|why| panic!("{why}: {verify:?}"));
    let is_invalid = !verdict["incomplete"].is_null() || verdict["validity"] == "invalid";
    assert_eq!(verify.code, Some(if is_invalid { 3 } else { 0 }), "{verify:?}");
    verdict
}

/// Scheduled time of each request.
pub(crate) fn meant(run: &Path) -> BTreeMap<(u64, u32), Nanos> {
    let events = read(run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
    let all: BTreeMap<_, _> =
        events.iter().map(|event| ((event.session, event.step), Nanos(event.intended.0))).collect();
    assert_eq!(all.len(), events.len(), "no launch twice");
    all
}

/// Scheduled time of each request of this load, by a single generator that records in `folder`.
pub(crate) fn alone(folder: &Path, load: &[&str]) -> BTreeMap<(u64, u32), Nanos> {
    let out = folder.join("alone");
    let mut whole = offered(&["run", "http://127.0.0.1:9/", "--seed", "5", "--dry-run", "--output"]);
    whole.arg(&out).args(load);
    assert_eq!(Process::start(whole).end().code, Some(0));
    meant(&out)
}

fn several_workers_send_the_requests_of_one_generator() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let together = folder.path().join("together");
    let load = ["--open", "300/s", "-d", "1s"];
    let said = ["1/3", "2/3"].map(|share| worker(&server, &together, &[&load[..], &["--share", share]].concat()));
    let mut numbered = worker(&server, &together, &[&load[..], &["--workers", "3"]].concat());
    numbered.env("JOB_COMPLETION_INDEX", "2");
    let workers: Vec<Process> = said.into_iter().chain([numbered]).map(Process::start).collect();
    for ended in workers.into_iter().map(Process::end) {
        // On a busy machine the run may be invalid, but its requests are the same.
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    }
    let whole = alone(folder.path(), &load);
    assert_eq!(meant(&together), whole, "to the nanosecond");
    let first = record(&together, "1/3");
    for share in ["2/3", "3/3"] {
        let own = record(&together, share);
        let clock = own.clock.unwrap();
        let (before, after) = (clock.before.expect("worker 1 answered"), clock.after.expect("and stayed"));
        assert!(before.answers > 0 && after.answers > 0);
        let by_worker_1 = own.started_unix_ns.unwrap().saturating_add_signed(-before.offset_ns);
        assert_eq!(Some(by_worker_1), first.started_unix_ns, "they began at one instant of one clock");
    }

    let verdict: Value = serde_json::from_str(&stdout(&["verify", "--json"], &together)).unwrap();
    assert_eq!(verdict["window"]["requests"], whole.len());
    for rows in ["by_node", "clocks"] {
        assert_eq!(verdict[rows].as_array().unwrap().len(), 3, "a row for each worker");
    }
    let table = stdout(&["export", "--format", "csv"], &together);
    assert_eq!(table.lines().count(), whole.len() + 1);
    server.stop().unwrap();
}

/// The run record of worker `share`.
fn record(run: &Path, share: &str) -> RunRecord {
    RunRecord::read(&offered_store::worker_directory(run, share.parse().unwrap())).unwrap().unwrap()
}

/// A worker on a machine with a clock that is 50 ms ahead, set here by a parameter.
fn a_worker_with_a_wrong_clock_starts_with_the_others() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let together = folder.path().join("together");
    let off = Nanos::from_millis(50);
    let text = format!(
        "seed = 5\nduration = \"1s\"\narrivals.open.rate = \"300/s\"\ntarget.url = \"{}/\"\ngenerator.wait = \"sleep\"\n",
        server.address()
    );
    let workload = Workload::parse(&text, "shop.toml", &|_| Err("no files".to_owned())).unwrap();
    let here = WallClock::read();
    let work = |share: &str, wall: WallClock| {
        let plan = RunPlan {
            text: &text,
            workload: &workload,
            share: share.parse().unwrap(),
            load: Load::Target,
            start_at: None,
            run_id: None,
            directory: None,
            name: share.to_owned(),
            capture_failures: false,
        };
        let ready = plan.prepare(Arc::default()).unwrap().with_clock(wall);
        let (wait, clock_at) = (Nanos::from_secs(40), "127.0.0.1:0".parse().unwrap());
        ready
            .join(SharedDirectory::at(&together, |_| ()).unwrap(), wait, clock_at, false, &mut |_| ())
            .unwrap()
            .run(Vec::new())
            .unwrap()
            .record
    };
    let (first, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| work("2/2", here.ahead_by(off)));
        (work("1/2", here), other.join().unwrap())
    });
    let clock = other.clock.unwrap();
    for found in [clock.before.unwrap(), clock.after.unwrap()] {
        assert!(found.offset_ns.abs_diff(off.0 as i64) <= found.bound_ns, "{found:?}");
    }
    // By the clock of this machine, which both workers really share.
    let began = other.started_unix_ns.unwrap() - off.0;
    assert!(began.abs_diff(first.started_unix_ns.unwrap()) <= clock.before.unwrap().bound_ns);
    assert_eq!(record(&together, "2/2").clock, Some(clock), "it is kept");

    let verdict: Value = serde_json::from_str(&stdout(&["verify", "--json"], &together)).unwrap();
    let row = &verdict["clocks"][1];
    assert!(
        (row["offset_ms"].as_f64().unwrap() - 50.0).abs() <= row["offset_uncertainty_ms"].as_f64().unwrap(),
        "{row}"
    );
    let launches = verdict["source"]["requests"].as_u64().unwrap();
    assert_eq!(launches, alone(folder.path(), &["--open", "300/s", "-d", "1s"]).len() as u64, "all of them");
    server.stop().unwrap();
}

fn workers_with_different_runs_do_not_start() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let one = Process::start(worker(&server, folder.path(), &["--open", "100/s", "--share", "1/2"]));
    let other = Process::start(worker(&server, folder.path(), &["--open", "200/s", "--share", "2/2"]));
    for ended in [one.end(), other.end()] {
        assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
        assert!(ended.stderr.contains("has another workload"), "{ended:?}");
    }
    let share = "1/2".parse().unwrap();
    assert!(!offered_store::worker_directory(folder.path(), share).exists(), "nothing was launched");
    server.stop().unwrap();
}

/// The notes of the run in `folder`, as soon as they contain `say`.
fn warned(folder: &Path, say: &str) -> String {
    let said = soon(|| {
        let verdict = checked(ended(&["verify", "--json", folder.to_str().unwrap()]));
        Some(format!("{} {}", verdict["reason"], verdict["warnings"])).filter(|warnings| warnings.contains(say))
    });
    said.unwrap_or_else(|| panic!("`{say}` is not said: {:?}", ended(&["verify", folder.to_str().unwrap()])))
}

/// A run of two workers, with a disturbance.
struct Pair {
    server: ServerHandle,
    folder: tempfile::TempDir,
    load: [&'static str; 4],
}

impl Pair {
    fn of(load: [&'static str; 4]) -> Self {
        Self { server: server(), folder: tempfile::tempdir().unwrap(), load }
    }

    /// The rendezvous directory.
    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// Starts the worker with this share.
    fn start(&self, share: &str) -> Process {
        Process::start(worker(&self.server, &self.run(), &[&self.load[..], &["--share", share]].concat()))
    }

    /// Waits until the worker with this share has written this number of parts.
    fn until_parts(&self, share: &str, parts: u64) {
        Self::until_parts_of(&offered_store::worker_directory(&self.run(), share.parse().unwrap()), parts);
    }

    /// Waits until this number of parts is in the directory of a worker.
    fn until_parts_of(worker: &Path, parts: u64) {
        let part = worker.join(format!("events/part-{:04}.parquet", parts - 1));
        soon(|| part.exists().then_some(())).expect("a part");
    }

    /// Schedule of an undisturbed run of this load.
    fn undisturbed(&self) -> BTreeMap<(u64, u32), Nanos> {
        alone(self.folder.path(), &self.load)
    }
}

fn other_workers_continue_when_one_is_killed() {
    let pair = Pair::of(["--open", "200/s", "-d", "5s"]);
    let (run, one, other) = (pair.run(), pair.start("1/2"), pair.start("2/2"));
    // At a random time.
    let second = 1 + (Seed(u64::from(std::process::id())).at(Purpose::Start, 0, 0).uniform() * 3.0) as u64;
    pair.until_parts("2/2", second);
    other.signal(Signal::KILL);
    let _ = other.end();
    assert!(matches!(one.end().code, Some(0 | 3)));
    assert!(run.join("workload.toml").exists());
    let warnings = warned(&run, "worker 2/2 was killed after");
    assert!(warnings.contains("requests are missing"), "{warnings}");
    assert_eq!(meant(&run), pair.undisturbed(), "its missing requests are known to the nanosecond");
    let events = read(&run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
    let (gone, made): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.error == Some(Reason::WorkerLost));
    assert!(!gone.is_empty() && gone.iter().all(|event| event.sent.is_none() && event.session % 2 == 1));
    assert!(
        made.iter().filter(|event| event.session % 2 == 1).count() as u64 > 50 * second,
        "its recorded events are there"
    );
    pair.server.stop().unwrap();
}

fn a_frozen_worker_is_reported_and_sends_late() {
    let pair = Pair::of(["--open", "100/s", "-d", "20s"]);
    let (run, one, other) = (pair.run(), pair.start("1/2"), pair.start("2/2"));
    pair.until_parts("2/2", 1);
    other.signal(Signal::STOP);
    let warnings = warned(&run, "no heartbeat for ");
    assert!(warnings.contains("worker 2/2 is frozen or dead (no heartbeat for 1"), "{warnings}");
    assert!(warnings.contains("still running"), "{warnings}");
    other.signal(Signal::CONT);
    assert!(matches!(one.end().code, Some(0 | 3)));
    assert_eq!(other.end().code, Some(3), "the run is invalid");
    assert_eq!(meant(&run), pair.undisturbed(), "nothing is missing");
    pair.server.stop().unwrap();
}

fn a_worker_killed_twice_resumes_each_time() {
    let pair = Pair::of(["--open", "100/s", "-d", "32s"]);
    let (run, one, other) = (pair.run(), pair.start("1/2"), pair.start("2/2"));
    pair.until_parts("2/2", 1);
    // The share of a live worker cannot be taken.
    let twice = pair.start("1/2");
    other.signal(Signal::KILL);
    let _ = other.end();
    let again = pair.start("2/2");
    let twice = twice.end();
    assert!(twice.code == Some(2) && twice.stderr.contains("worker 1/2 exists already"), "{twice:?}");
    Pair::until_parts_of(&run.join("worker-2-of-2.2"), 1);
    again.signal(Signal::KILL);
    let _ = again.end();
    let again = pair.start("2/2").end();
    assert!(matches!(again.code, Some(0 | 3)), "{again:?}");
    assert!(matches!(one.end().code, Some(0 | 3)));
    let warnings = warned(&run, "requests of its share were not sent because the worker was lost");
    assert!(warnings.contains("worker 2/2: the recording has no end (no run.json)"), "{warnings}");
    assert_eq!(meant(&run), pair.undisturbed(), "the missing requests are known to the nanosecond");
    let recording = read(&run, &ReadOptions::default()).unwrap();
    let again = recording.nodes.iter().filter(|(name, _)| name.starts_with("2/2 again")).count();
    assert_eq!(again, 2, "{:?}", recording.nodes);
    let of_it = |event: &&Event| event.session % 2 == 1;
    let events = recording.events.to_vec().unwrap();
    let sent: Vec<_> = events.iter().filter(of_it).filter(|event| event.sent.is_some()).collect();
    let last = events.iter().filter(of_it).map(|event| event.intended).max();
    assert_eq!(sent.iter().map(|event| event.intended).max(), last, "to the end of the run");
    // Requests that became due during its absence are not sent in one burst.
    assert!(sent.iter().all(|event| event.intended.until(event.sent.unwrap()) < Nanos::from_secs(5)));
    pair.server.stop().unwrap();
}
