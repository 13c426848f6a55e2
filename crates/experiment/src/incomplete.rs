//! Missing parts of a run: its end, or requests of its schedule.

use std::path::Path;

use offered_base::{Instant, Nanos, Share};
use offered_events::{Note, Recording};
use offered_io::unix_now;
use offered_schedule::Sessions;
use offered_schedule::replay::ReplayMode;
use offered_store::{UnendedWorker, unended_workers};
use offered_verify::{Incomplete, IncompleteCause};
use offered_workload::Workload;

use crate::Error;
use crate::recorded_run::RecordedRun;

/// A shorter time without requests at the end of a run is no sign of missing requests.
const MIN_UNCOVERED_S: f64 = 0.05;

/// What is missing of the run in `path`; `None` if nothing is, or if it is the file of another tool.
///
/// # Errors
/// A record is unreadable.
pub(crate) fn incomplete(
    path: &Path,
    recording: &Recording,
    run: Option<&RecordedRun>,
) -> Result<Option<Incomplete>, Error> {
    let unended = unended_workers(path).map_err(Error::Read)?;
    let gaps = GapsInRecording::of(&recording.notes);
    if unended.is_empty() && !gaps.is_incomplete {
        return Ok(None);
    }
    let (running, killed): (Vec<_>, Vec<_>) = unended.into_iter().partition(|worker| worker.may_be_running);
    let is_of_many = recording.notes.iter().any(|note| matches!(note, Note::Worker { .. })) || !gaps.absent.is_empty();
    // A run of one worker without its end is called killed: it hardly ever runs while it is verified.
    let (cause, concerned) = match (killed.is_empty(), running.is_empty()) {
        // A copy in an object store ends where its upload ended.
        (false, _) if killed.iter().any(is_copy) => (IncompleteCause::EndMissing, &killed),
        (false, _) => (IncompleteCause::Killed, &killed),
        (true, false) if is_of_many => (IncompleteCause::Running, &running),
        (true, false) => (IncompleteCause::Killed, &running),
        (true, true) => (IncompleteCause::RequestsMissing, &killed),
    };
    let name =
        |share: Option<Share>| share.filter(|share| is_of_many && *share != Share::ALL).map(|share| share.to_string());
    let workers = match cause {
        IncompleteCause::RequestsMissing => gaps.absent,
        _ => concerned.iter().filter_map(|worker| name(worker.share)).collect(),
    };
    let (frozen_workers, silences): (Vec<String>, Vec<f64>) =
        frozen(&recording.notes).filter(|(worker, _)| workers.contains(worker)).unzip();
    let last = recording.events.extent().last_intended;
    let is_frozen = |worker: &UnendedWorker| name(worker.share).is_some_and(|name| frozen_workers.contains(&name));
    let running = concerned.iter().filter(|worker| worker.may_be_running && !is_frozen(worker));
    let age = running.filter_map(|worker| worker.heartbeat.as_ref());
    let age = age.map(|heartbeat| heartbeat.silence(unix_now())).min();
    let alive = concerned.iter().filter_map(|worker| worker.heartbeat.as_ref());
    let alive = alive.map(|heartbeat| Nanos(heartbeat.at_unix_ns.saturating_sub(heartbeat.started_unix_ns)));
    let last_sign_of_life = match cause {
        IncompleteCause::RequestsMissing => None,
        // Requests of other workers say nothing about the one that was killed.
        _ if is_of_many => alive.max(),
        _ => alive.chain(last.map(|last| Instant::ZERO.until(last))).max(),
    };
    let workload = run.and_then(|run| run.workload.as_ref().ok());
    let share = run.and_then(|run| run.record.as_ref()).map(|record| record.share);
    let share = share.or_else(|| concerned.first().and_then(|worker| worker.share).filter(|_| !is_of_many));
    let scheduled_requests = workload.and_then(|workload| scheduled_requests(workload, share.unwrap_or(Share::ALL)));
    let found = recording.events.launches().saturating_sub(gaps.lost);
    let missing_requests = scheduled_requests.map(|all| all.saturating_sub(found));
    let duration = workload.filter(|workload| workload.count().is_none()).and_then(Workload::time_limit);
    let covered_until_s = last.map(Instant::as_secs_f64);
    let covered_until_s =
        covered_until_s.filter(|last| duration.is_none_or(|all| last + MIN_UNCOVERED_S < all.as_secs_f64()));
    Ok(Some(Incomplete {
        cause,
        workers,
        frozen_workers,
        frozen_heartbeat_age_s: silences.into_iter().reduce(f64::min),
        last_sign_of_life_s: last_sign_of_life.map(Nanos::as_secs_f64),
        heartbeat_age_s: age.map(Nanos::as_secs_f64),
        duration_s: duration.map(Nanos::as_secs_f64),
        covered_until_s,
        missing_requests: missing_requests.or(gaps.missing),
        scheduled_requests: scheduled_requests.filter(|_| missing_requests.is_some()),
    }))
}

/// The workers whose heartbeats have stopped during the run, and the seconds since then.
fn frozen(notes: &[Note]) -> impl Iterator<Item = (String, f64)> {
    notes.iter().filter_map(|note| {
        let Note::Worker { worker, note } = note else { return None };
        let Note::Silent { silence_s } = **note else { return None };
        Some((worker.clone(), silence_s))
    })
}

/// Whether the recording of this worker is a copy in an object store.
fn is_copy(worker: &UnendedWorker) -> bool {
    worker.heartbeat.as_ref().is_some_and(|heartbeat| heartbeat.copied_until_unix_ns.is_some())
}

/// What is missing of several runs that are judged as one.
pub(crate) fn merged(all: Vec<Option<Incomplete>>) -> Option<Incomplete> {
    let all: Vec<Incomplete> = all.into_iter().flatten().collect();
    let covered_until_s = all.iter().filter_map(|run| run.covered_until_s).min_by(f64::total_cmp);
    let missing_requests = all.iter().map(|run| run.missing_requests).sum();
    let first = all.into_iter().next()?;
    Some(Incomplete { covered_until_s, missing_requests, scheduled_requests: None, ..first })
}

/// The number of requests in the schedule of this share; `None` if responses determine it.
fn scheduled_requests(workload: &Workload, share: Share) -> Option<u64> {
    if !is_independent(workload.sessions()) {
        return workload.max_requests().filter(|_| share == Share::ALL);
    }
    let mut agenda = workload.agenda(share);
    Some(std::iter::from_fn(|| agenda.due_before(Instant::MAX)).count() as u64)
}

/// Whether no request depends on a response.
fn is_independent(sessions: &Sessions) -> bool {
    match sessions {
        Sessions::Open(_) => true,
        Sessions::Replay(replay) => matches!(replay.mode(), ReplayMode::Open),
        Sessions::Scenarios(scenarios) => scenarios.all().iter().all(|scenario| is_independent(&scenario.sessions)),
        Sessions::PartlyOpen { .. } | Sessions::Closed(_) => false,
    }
}

/// What the notes of a recording say about missing requests.
#[derive(Default)]
struct GapsInRecording {
    is_incomplete: bool,
    /// Workers that left nothing.
    absent: Vec<String>,
    /// Number of missing requests, if a note states it.
    missing: Option<u64>,
    /// Number of events that were added for the requests of lost workers.
    lost: u64,
}

impl GapsInRecording {
    fn of(notes: &[Note]) -> Self {
        let mut gaps = Self::default();
        for note in notes {
            gaps.add(note);
        }
        gaps
    }

    fn add(&mut self, note: &Note) {
        match note {
            Note::Worker { note, .. } => self.add(note),
            Note::WorkerMissing { worker } => {
                self.is_incomplete = true;
                self.absent.push(worker.clone());
            }
            Note::PartsMissing { .. } => self.is_incomplete = true,
            Note::NotRecorded { requests, .. } => {
                self.is_incomplete = true;
                self.missing = Some(self.missing.unwrap_or_default().max(*requests));
            }
            Note::CountMismatch { expected, found } if found < expected => {
                self.is_incomplete = true;
                self.missing = Some(self.missing.unwrap_or_default().max(expected - found));
            }
            Note::WorkerLost { requests, .. } => self.lost += requests,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use offered_run::Load;
    use offered_store::{ReadOptions, Writer, read};
    use offered_verify::{CheckResult, UncheckedReason, Validity, Verdict};

    use super::*;
    use crate::{LocalRun, RunPlan, VerifiedRun, VerifyOptions};

    const OPEN: &str =
        "seed = 3\nduration = \"20s\"\narrivals.open.rate = \"300/s\"\n[thresholds]\n\"p95\" = \"< 1s\"\n";

    /// A dry run of this share of the workload in `path`.
    fn dry_run(text: &str, share: &str, path: &Path) {
        let workload = Workload::parse(text, "w.toml", &|_| Err("no files".to_owned())).unwrap();
        let plan = RunPlan {
            text,
            workload: &workload,
            share: share.parse().unwrap(),
            load: Load::Mock("constant:2ms".parse().unwrap()),
            start_at: None,
            run_id: None,
            directory: Some(path),
            name: "dry".to_owned(),
            capture_failures: false,
        };
        plan.prepare(Arc::new(AtomicBool::new(false))).unwrap().run(Vec::new()).unwrap();
    }

    fn verified(path: &Path) -> VerifiedRun {
        VerifyOptions::default().verify(&path.into(), &ReadOptions::default(), |_, _| {}).unwrap()
    }

    fn verdict(path: &Path) -> Verdict {
        verified(path).verdict
    }

    /// Writes the part of the run in `path` that `kill -9` after seven seconds leaves: no record, and the parts that were closed.
    fn kill(path: &Path) -> PathBuf {
        let killed = path.with_extension("killed");
        let whole = read(path, &ReadOptions::default()).unwrap();
        let text = fs::read_to_string(path.join("workload.toml")).unwrap();
        let mut writer = Writer::create(&killed, &text, whole.labels.clone()).unwrap();
        let mut events = whole.events.to_vec().unwrap();
        events.retain(|event| event.intended < Instant::from_secs(7));
        events.chunks(500).for_each(|part| {
            writer.write(part.to_vec()).unwrap();
            writer.rotate().unwrap();
        });
        killed
    }

    #[test]
    fn a_killed_run_is_invalid_and_judged_up_to_its_last_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        dry_run(OPEN, "1/1", &path);
        assert_eq!((verdict(&path).validity, verdict(&path).incomplete), (Validity::Valid, None));
        let path = kill(&path);
        let VerifiedRun { verdict: killed, recording, .. } = verified(&path);
        let incomplete = killed.incomplete.clone().unwrap();
        let (found, all) = (recording.events.launches(), incomplete.scheduled_requests.unwrap());
        assert_eq!(incomplete.missing_requests, Some(all - found));
        assert!((5600..6400).contains(&all) && found < all / 2, "{found} of {all}");
        assert_eq!(killed.validity, Validity::Invalid);
        let last = recording.events.extent().last_intended.unwrap().as_secs_f64();
        assert!(
            killed.reason.starts_with(&format!("the run was killed after {last:.1} s of 20 s: ")),
            "{}",
            killed.reason
        );
        assert!((killed.window.end_s - last).abs() < 1e-6, "{:?}", killed.window);
        assert_eq!(killed.window.requests, found);
        // The part that was sent is as specified: nothing else is wrong.
        assert!(killed.findings.iter().all(|finding| !finding.failed()), "{:?}", killed.findings);
        assert!((killed.expected.target_rate_per_s.unwrap() - 300.0).abs() < 1e-9);
    }

    #[test]
    fn missing_parts_of_a_run_that_ended_make_it_invalid() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        dry_run(OPEN, "1/1", &path);
        let killed = kill(&path);
        fs::copy(path.join("run.json"), killed.join("run.json")).unwrap();
        let path = killed;
        let verdict = verdict(&path);
        assert_eq!(verdict.validity, Validity::Invalid);
        assert!(verdict.reason.starts_with("incomplete: "), "{}", verdict.reason);
        assert!(verdict.reason.contains(" requests are missing"), "{}", verdict.reason);
    }

    #[test]
    fn a_run_that_lacks_workers_is_invalid() {
        let folder = tempfile::tempdir().unwrap();
        for number in 1..=2 {
            dry_run(OPEN, &format!("{number}/2"), &folder.path().join(format!("worker-{number}-of-2")));
        }
        fs::write(folder.path().join("workload.toml"), OPEN).unwrap();
        assert_eq!(verdict(folder.path()).incomplete, None);
        fs::remove_file(folder.path().join("worker-2-of-2/run.json")).unwrap();
        let killed = verdict(folder.path());
        assert!(killed.reason.starts_with("worker 2/2 was killed: all requests are recorded"), "{}", killed.reason);
        assert_eq!(killed.validity, Validity::Invalid);
        fs::remove_dir_all(folder.path().join("worker-2-of-2")).unwrap();
        let absent = verdict(folder.path());
        assert!(absent.reason.starts_with("worker 2/2 recorded nothing: "), "{}", absent.reason);
        assert_eq!(absent.validity, Validity::Invalid);
    }

    #[test]
    fn a_worker_in_another_directory_is_not_missing() {
        let folder = tempfile::tempdir().unwrap();
        // As two machines store them that had a bucket as rendezvous: each has the directory of its own worker.
        let runs = [1, 2].map(|number| {
            let run = folder.path().join(format!("machine-{number}"));
            fs::create_dir(&run).unwrap();
            dry_run(OPEN, &format!("{number}/2"), &run.join(format!("worker-{number}-of-2")));
            fs::write(run.join("workload.toml"), OPEN).unwrap();
            LocalRun::from(&*run)
        });
        let verified = |runs: &[LocalRun]| {
            VerifyOptions::default().verify_merged(runs, &ReadOptions::default(), |_, _| {}).unwrap()
        };
        let VerifiedRun { verdict, recording, .. } = verified(&runs);
        assert!(verdict.incomplete.is_none() && verdict.validity != Validity::Invalid, "{}", verdict.reason);
        assert!(
            !recording.notes.iter().any(|note| matches!(note, Note::WorkerMissing { .. })),
            "{:?}",
            recording.notes
        );
        let [one, _] = runs;
        assert!(verified(&[one]).verdict.reason.starts_with("worker 2/2 recorded nothing"), "it is in no directory");
    }

    #[test]
    fn thresholds_of_a_killed_run_are_not_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        dry_run(OPEN, "1/1", &path);
        let path = kill(&path);
        let VerifiedRun { verdict, recording, criteria, .. } = verified(&path);
        let judged = Instant::ZERO..Instant::from_secs(20);
        let measured = offered_verify::Measurements::new(&recording, &verdict.gaps, &verdict.window, judged);
        let checked = offered_verify::ThresholdResult::check_all(&criteria.thresholds, &measured, &verdict).unwrap();
        assert_eq!(checked[0].result, CheckResult::NotChecked);
        assert_eq!(checked[0].not_checked_reason, Some(UncheckedReason::NeedsWholeRun));
        assert!(
            checked[0].value_and_range().ends_with(" ms (needs the whole run)"),
            "{}",
            checked[0].value_and_range()
        );
    }

    #[test]
    fn a_killed_closed_run_is_invalid_without_a_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let text =
            "seed = 3\nduration = \"20s\"\narrivals.closed.users = 30\narrivals.closed.think.exponential = \"100ms\"\n";
        dry_run(text, "1/1", &path);
        let path = kill(&path);
        let verdict = verdict(&path);
        assert_eq!(verdict.validity, Validity::Invalid);
        assert!(verdict.reason.starts_with("the run was killed after "), "{}", verdict.reason);
        assert!(verdict.reason.contains("of 20 s: all later requests are missing"), "{}", verdict.reason);
    }
}
