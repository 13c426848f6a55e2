//! Builds the run directory of a situation: a dry run of the workload, whose events are then changed as the situation would have changed them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use offered_base::{Nanos, Share};
use offered_events::recording::{End, Evidence, Halted};
use offered_events::{ClockOffset, Event, WorkerClock};
use offered_experiment::RunPlan;
use offered_io::unix_now;
use offered_run::Load;
use offered_store::{EndCondition, Heartbeat, Machine, RunKind, RunRecord, Writer, worker_directory};
use offered_workload::Workload;

use super::Situation;

/// When runs with a record started: the same time for all workers.
const STARTED_UNIX_NS: u64 = 1_790_000_000_000_000_000;

/// How a worker ended.
#[derive(Clone, Copy)]
pub(super) enum Ended {
    /// Regularly.
    Well,
    /// It was stopped from outside.
    Stopped,
    /// It stopped itself.
    Halted(End),
    /// It gave its last sign of life this many seconds after the start, and then ended without a record.
    Killed(u64),
    /// The same, read from a copy in an object store.
    NotUploaded(u64),
    /// It gave its last sign of life this many seconds after the start, and the run is still under way.
    Silent(u64),
    /// It never wrote anything.
    Absent,
}

/// A trace for replays.
fn trace() -> String {
    let entry = |i: u32| format!("{:.3} {} 0\n", f64::from(i / 30) * 0.5 + f64::from(i % 30) * 0.003, i % 40);
    format!("offered.trace/1\nGET /\n{}", (0..1200).map(entry).collect::<String>())
}

fn workload(text: &str) -> Workload {
    let read = |name: &str| if name == "t.trace" { Ok(trace().into_bytes()) } else { Err("no files".to_owned()) };
    Workload::parse(text, "w.toml", &read).unwrap_or_else(|mistake| panic!("{mistake}"))
}

/// The events of this share of the workload, sent exactly as scheduled.
fn events(situation: &Situation, workload: &Workload, share: Share) -> Vec<Event> {
    let plan = RunPlan {
        text: situation.workload,
        workload,
        share,
        load: Load::Mock(situation.response.parse().unwrap()),
        start_at: None,
        run_id: None,
        directory: None,
        name: situation.name.to_owned(),
        capture_failures: false,
    };
    plan.prepare(Arc::default()).unwrap().run(Vec::new()).unwrap().recording.events.to_vec().unwrap()
}

/// Writes the run directory of the situation at `run`.
pub(super) fn build(situation: &Situation, run: &Path) {
    let (text, workers) = (situation.recorded_workload.unwrap_or(situation.workload), situation.workers);
    let workload = workload(situation.workload);
    for number in 0..workers {
        let share = Share::new(number, workers).unwrap();
        let path = if workers == 1 { run.to_owned() } else { worker_directory(run, share) };
        let ended = (situation.ended)(number);
        if matches!(ended, Ended::Absent) {
            continue;
        }
        let mut events = events(situation, &workload, share);
        (situation.edit)(number, &mut events);
        let mut writer = Writer::create(&path, text, workload.labels()).unwrap();
        writer.write(events).unwrap();
        writer.rotate().unwrap();
        fs::write(path.join("t.trace"), trace()).unwrap();
        end(situation, writer, share, ended, &path);
    }
    if workers > 1 {
        fs::write(run.join("workload.toml"), text).unwrap();
        fs::write(run.join("t.trace"), trace()).unwrap();
    }
}

/// Ends a worker: with a record, or with a last heartbeat.
fn end(situation: &Situation, writer: Writer, share: Share, ended: Ended, path: &Path) {
    let seconds = Nanos::from_secs;
    let (sign_s, age, copied) = match ended {
        Ended::Killed(sign_s) => (sign_s, seconds(60), false),
        Ended::NotUploaded(sign_s) => (sign_s, seconds(60), true),
        Ended::Silent(sign_s) => (sign_s, seconds(15), false),
        _ => return writer.finish(&record(situation, share, ended)).unwrap(),
    };
    let started = unix_now() - age;
    let at = started + seconds(sign_s);
    let heartbeat = Heartbeat {
        host: host(share),
        share,
        started_unix_ns: started.0,
        at_unix_ns: at.0,
        in_flight: 0,
        clock: None,
        copied_until_unix_ns: copied.then_some(at.0),
    };
    heartbeat.write(path).unwrap();
}

fn host(share: Share) -> String {
    format!("b{}", share.index() + 1)
}

fn record(situation: &Situation, share: Share, ended: Ended) -> RunRecord {
    let halted = match ended {
        Ended::Halted(End::Threshold) => {
            Some(Halted { reason: "response.p95 < 10ms failed: 14.9 ms".to_owned(), end: End::Threshold })
        }
        Ended::Halted(end) => Some(Halted { reason: "request `/` failed: status 500".to_owned(), end }),
        _ => None,
    };
    let stopped = halted.is_some() || matches!(ended, Ended::Stopped);
    // Of 20 s.
    let (busy, cpu_s) = (vec![situation.busy], 20.0 * situation.busy);
    let generator = Some(Evidence { busy, cpu_s, stopped, halted, ..Evidence::default() });
    let (name, system, arch) = (host(share), "Linux 6.12".to_owned(), "x86_64".to_owned());
    let offset = ClockOffset { offset_ns: 0, bound_ns: situation.clock_bound_ns, at_unix_ns: 1, answers: 32 };
    let is_first = share.index() == 0;
    let clock = WorkerClock {
        before: (!is_first).then_some(offset),
        after: (!is_first).then_some(offset),
        ..WorkerClock::default()
    };
    RunRecord {
        share,
        started_unix_ns: Some(STARTED_UNIX_NS),
        clock: Some(clock),
        generator,
        machine: Some(Machine { name, system, arch, cores: 2, boot_id: None }),
        ..RunRecord::new(RunKind::Run, EndCondition::Duration)
    }
}
