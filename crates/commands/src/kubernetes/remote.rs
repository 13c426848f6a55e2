//! `offered kubernetes --run`: creates the Job, follows it, fetches and verifies the run, and cleans up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::Nanos;
use offered_base::time::Instant;
use offered_cluster::client::{Cluster, ClusterRun, Error, JobResult, PodState, RunStatus, WorkerStatus};
use offered_cluster::manifests::{Manifests, RUNS_PATH};
use offered_experiment::{CopyProgress, VerifiedRun, VerifyOptions, fetch_run, run_exists};
use offered_io::Clock;
use offered_store::ReadOptions;
use offered_verify::{CheckResult, Validity};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{out, status};
use crate::verify::text::Text;
use crate::{input_file, object_store, signals};

/// Time between two queries of the cluster.
const POLL_INTERVAL: Nanos = Nanos::from_secs(1);
/// Time between two checks for Ctrl-C.
const SIGNAL_INTERVAL: Nanos = Nanos::from_millis(100);
/// Longest tolerated silence of the API server; an upgrade of the control plane is shorter.
const API_TIMEOUT: Nanos = Nanos::from_secs(120);
/// Maximum start time of the pod that reads the run.
const READER_TIMEOUT: Nanos = Nanos::from_secs(120);
/// The program in that pod, whatever its path in the image.
const PROGRAM: &str = "/proc/1/exe";
/// Exit codes of a worker that sent nothing and printed an error.
const NOTHING_SENT: [i32; 2] = [1, 2];
/// Exit code of a worker whose recording the store did not take completely.
const WRITE_LOSS: i32 = 4;
/// Number of lines of a worker's log to search for its error.
const LOG_LINES: u32 = 5;

/// A run in the cluster.
pub(super) struct RemoteRun<'a> {
    pub(super) manifests: &'a Manifests,
    /// The directory of the run in the claim.
    pub(super) name: &'a str,
    pub(super) workers: u32,
    /// The bucket URL of the run; `None` with a claim.
    pub(super) url: Option<&'a Path>,
    /// Whether each worker has a volume that exists until the Job is deleted.
    pub(super) has_volumes: bool,
    /// Maximum start time of a worker.
    pub(super) wait: Nanos,
    /// The local run directory.
    pub(super) out: &'a Path,
    pub(super) context: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
}

/// Runs it.
pub(super) fn run(task: &RemoteRun<'_>) -> Result<Exit, Failure> {
    let out = task.out;
    if out.exists() {
        return Err(Failure::input(format!(
            "{} already exists and is not overwritten; choose another -o",
            out.display()
        )));
    }
    // Find out now, not after the run, whether the bucket can be read.
    if let Some(url) = task.url
        && run_exists(url, object_store::store_fails)?
    {
        let url = url.display();
        return Err(Failure::input(format!("{url} already contains a run; give each run a new --rendezvous URL")));
    }
    let (stop, abort) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let cluster = Cluster::connect(task.context, task.namespace).map_err(failure)?;
    signals::stop_then_abort(&stop, &abort)?;
    let mut cluster_run = cluster.create_run(&task.manifests.config, &task.manifests.job).map_err(failure)?;
    status!("created job {} in namespace {}", task.name, cluster.namespace());
    let clock = Clock::start();
    let mut follower = Follower {
        task,
        clock: &clock,
        printed: BTreeMap::new(),
        last_note: None,
        first_error: None,
        ran: false,
        incomplete: BTreeSet::new(),
    };
    let fetched = follower.follow(&cluster_run, &stop, &abort).and_then(|()| follower.fetch(&mut cluster_run, &abort));
    if let Some(what_to_do) = follower.incomplete_uploads() {
        status!("warning: {what_to_do}");
        cluster_run.keep();
    } else if let Err(why) = cluster_run.delete() {
        status!("warning: {why}: delete the rest with `kubectl delete job {}`", task.name);
    }
    fetched?;
    verify_run(out)
}

/// Follows a run.
struct Follower<'a> {
    task: &'a RemoteRun<'a>,
    clock: &'a Clock,
    /// The last printed state of each worker.
    printed: BTreeMap<u32, String>,
    /// The last printed note.
    last_note: Option<String>,
    /// The error of the first worker that sent nothing.
    first_error: Option<String>,
    /// Whether a worker may have sent something.
    ran: bool,
    /// Workers whose recording the store did not take completely.
    incomplete: BTreeSet<u32>,
}

impl Follower<'_> {
    /// Waits until the run has ended, also after Ctrl-C.
    fn follow(&mut self, cluster_run: &ClusterRun<'_>, stop: &AtomicBool, abort: &AtomicBool) -> Result<(), Failure> {
        let begun = self.clock.now();
        let mut heard = begun;
        while !stop.load(Relaxed) {
            let looked = self.clock.now();
            match cluster_run.status() {
                Ok(status) => {
                    heard = looked;
                    self.print_changes(cluster_run, &status);
                    if let Some(result) = &status.result {
                        return self.check_result(&status, result);
                    }
                    let late = begun.until(looked) > self.task.wait;
                    if let Some(why) = self.not_started(&status).filter(|_| late) {
                        return Err(Failure::stopped(format!(
                            "the run did not start within {}: {why}",
                            self.task.wait
                        )));
                    }
                }
                Err(why) if why.is_transient() && heard.until(looked) < API_TIMEOUT => {
                    self.note(format!("warning: {why}; retrying"));
                }
                Err(why) => return Err(failure(why)),
            }
            self.pause(looked + POLL_INTERVAL, stop);
        }
        status!("stopping the workers; press Ctrl-C again to leave the run in the cluster");
        cluster_run.terminate().map_err(failure)?;
        while !abort.load(Relaxed) && !cluster_run.is_terminated().map_err(failure)? {
            self.pause(self.clock.now() + POLL_INTERVAL, abort);
        }
        if self.ran && !abort.load(Relaxed) {
            Ok(())
        } else {
            Err(Failure::stopped("stopped before there was a result"))
        }
    }

    /// Prints what has changed; workers in the same state share a line.
    fn print_changes(&mut self, cluster_run: &ClusterRun<'_>, status: &RunStatus) {
        let mut news: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for worker in &status.workers {
            self.ran |= matches!(worker.state, PodState::Running { .. });
            if matches!(worker.state, PodState::Ended { code: Some(WRITE_LOSS), .. }) {
                self.incomplete.insert(worker.index + 1);
            }
            let is = state(worker);
            if self.printed.get(&worker.index) == Some(&is) {
                continue;
            }
            self.printed.insert(worker.index, is.clone());
            let text = if failed(&worker.state) { self.last_error(cluster_run, worker) } else { String::new() };
            news.entry(is + &text).or_default().push(worker.index + 1);
        }
        for (is, numbers) in news {
            status!("{}: {is}", named(&numbers, self.task.workers));
        }
        if let Some(reason) = &status.blocked {
            self.note(format!("some workers have no pod yet: {reason}"));
        }
    }

    /// Prints a note, unless it was the last one.
    fn note(&mut self, text: String) {
        if self.last_note.as_ref() != Some(&text) {
            status!("{text}");
            self.last_note = Some(text);
        }
    }

    /// The error message in a worker's log.
    fn last_error(&mut self, cluster_run: &ClusterRun<'_>, worker: &WorkerStatus) -> String {
        // The log may be lost with its node.
        let log = cluster_run.log_tail(&worker.pod, LOG_LINES).unwrap_or_default();
        let Some(line) = log.lines().rev().find(|line| line.starts_with("error: ")) else { return String::new() };
        self.first_error.get_or_insert_with(|| line.trim_start_matches("error: ").to_owned());
        format!(": {line}")
    }

    /// Why the first worker that has never run has not started.
    fn not_started(&self, status: &RunStatus) -> Option<String> {
        let waits = |worker: &&WorkerStatus| worker.restarts == 0 && matches!(worker.state, PodState::Waiting { .. });
        if let Some(worker) = status.workers.iter().find(waits) {
            return Some(format!("worker {}/{}: {}", worker.index + 1, self.task.workers, state(worker)));
        }
        let (there, all) = (status.workers.len(), self.task.workers as usize);
        (there < all).then(|| {
            let why = status.blocked.as_deref().unwrap_or("the cluster gives no reason");
            format!("{there} of {all} workers have a pod: {why}")
        })
    }

    /// An error if no worker has sent anything.
    fn check_result(&self, status: &RunStatus, result: &JobResult) -> Result<(), Failure> {
        let nothing = |worker: &WorkerStatus| match worker.state {
            PodState::Ended { code, .. } => code.is_none_or(|code| NOTHING_SENT.contains(&code)),
            _ => false,
        };
        if status.workers.is_empty() || status.workers.iter().all(nothing) {
            let cluster = if let JobResult::Failed { reason: why } = result { why } else { "every worker has ended" };
            let why = self.first_error.as_deref().unwrap_or(cluster);
            return Err(Failure::stopped(format!("no worker has sent a request: {why}")));
        }
        if let JobResult::Failed { reason: why } = result {
            status!("warning: not every worker succeeded ({why}); `offered verify` reports what is missing");
        }
        Ok(())
    }

    /// The data that the store lacks, and the command that uploads it; `None` if no data is known to be missing.
    /// Without volumes the data is lost with the pods, and nothing can be uploaded.
    fn incomplete_uploads(&self) -> Option<String> {
        let RemoteRun { name, workers, has_volumes, .. } = *self.task;
        if self.incomplete.is_empty() || !has_volumes {
            return None;
        }
        let numbers: Vec<u32> = self.incomplete.iter().copied().collect();
        Some(format!(
            "data of {} is missing in the bucket; the rest is in the volumes of the Job {name}, which Kubernetes deletes after --ttl (1h). `kubectl logs -l app.kubernetes.io/instance={name} --tail=3` prints the `offered push` command of each worker; run it in a pod as in examples/cluster/push.yaml, then `kubectl delete job {name}`",
            named(&numbers, workers)
        ))
    }

    /// Copies the run to this machine.
    fn fetch(&mut self, cluster_run: &mut ClusterRun<'_>, abort: &Arc<AtomicBool>) -> Result<(), Failure> {
        let (task, folder) = (self.task, format!("{RUNS_PATH}/{}", self.task.name));
        if let Some(url) = task.url {
            return fetch_from(url, task.out);
        }
        let left =
            |why: Error| Failure::stopped(format!("{why}; the run is on the volume, in directory {}", task.name));
        cluster_run.start_reader(task.manifests.reader.as_ref().expect("a run in a claim has one")).map_err(left)?;
        let begun = self.clock.now();
        loop {
            let looked = self.clock.now();
            match cluster_run.reader_state().map_err(left)? {
                PodState::Running { .. } => break,
                PodState::Waiting { reason: why } if begun.until(looked) < READER_TIMEOUT && !abort.load(Relaxed) => {
                    self.note(format!("waiting for the pod that reads the run: {why}"));
                }
                PodState::Waiting { reason: why } | PodState::Ended { reason: why, .. } => {
                    return Err(left(Error::Read { reason: why }));
                }
            }
            self.pause(looked + POLL_INTERVAL, abort);
        }
        let beside = beside(task.out);
        fs::create_dir_all(&beside)
            .map_err(|error| Failure::stopped(format!("cannot create {}: {error}", beside.display())))?;
        let program = [PROGRAM, "export", &folder, "--format", "tar"];
        let mut telling = |came: u64| status!("fetching: {} MB", came / 1_000_000);
        let fetched = cluster_run.fetch(&program, &beside, abort, &mut telling).map_err(left).and_then(|bytes| {
            fs::rename(&beside, task.out)
                .map_err(|error| Failure::stopped(format!("cannot write {}: {error}", task.out.display())))?;
            status!("fetched {} MB to {}", bytes.div_ceil(1_000_000), task.out.display());
            Ok(())
        });
        // A partial run would pass for a complete one.
        fetched.inspect_err(|_| drop(fs::remove_dir_all(&beside)))
    }

    /// Sleeps until then, or until the flag is set.
    fn pause(&self, until: Instant, flag: &AtomicBool) {
        while !flag.load(Relaxed) && self.clock.now() < until {
            self.clock.sleep_until(until.min(self.clock.now() + SIGNAL_INTERVAL));
        }
    }
}

/// Copies the run from a bucket to this machine.
fn fetch_from(url: &Path, out: &Path) -> Result<(), Failure> {
    let on_copy = &mut |CopyProgress { objects, bytes, .. }: CopyProgress| {
        status!("fetching: {objects} objects, {} MB", bytes.div_ceil(1_000_000));
    };
    let fetched = fetch_run(url, out, on_copy, object_store::store_fails);
    fetched.map_err(|error| Failure::stopped(format!("{error}; the run is in {}", url.display())))?;
    status!("fetched to {}", out.display());
    Ok(())
}

/// The directory for an incomplete copy.
fn beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".fetching");
    out.with_file_name(name)
}

/// Verifies the fetched run, and prints the verdict and the thresholds.
fn verify_run(out: &Path) -> Result<Exit, Failure> {
    let VerifiedRun { verdict, .. } =
        VerifyOptions::default().verify(&object_store::here(out)?, &ReadOptions::default(), input_file::broken)?;
    out!(no newline: "{}", Text::of(&verdict));
    let any = |result| verdict.thresholds.iter().any(|threshold| threshold.result == result);
    Ok(match verdict.validity {
        Validity::Invalid => Exit::Invalid,
        _ if any(CheckResult::Failed) => Exit::Failed,
        _ if any(CheckResult::NotChecked) => Exit::Invalid,
        _ => Exit::Done,
    })
}

fn failed(state: &PodState) -> bool {
    matches!(state, PodState::Ended { code, .. } if *code != Some(0))
}

/// The state of a worker.
fn state(worker: &WorkerStatus) -> String {
    let again = if worker.restarts > 0 { ", started again" } else { "" };
    match &worker.state {
        PodState::Waiting { reason: why } => format!("waiting{again}: {why}"),
        PodState::Running { node } => format!("running on {node}{again}"),
        PodState::Ended { code: Some(0), .. } => "done".to_owned(),
        PodState::Ended { code: Some(3), .. } => "done; its share of the run is invalid".to_owned(),
        PodState::Ended { code: Some(WRITE_LOSS), .. } => "done; the store did not accept all of its data".to_owned(),
        PodState::Ended { code: Some(99), .. } => "done; a threshold failed in its share".to_owned(),
        PodState::Ended { code: Some(code), reason: why } => format!("ended with {code} ({why})"),
        PodState::Ended { code: None, reason: why } => format!("ended without running: {why}"),
    }
}

/// `worker 3/8`, or `workers 1-3, 5 of 8`.
fn named(numbers: &[u32], all: u32) -> String {
    let [only] = numbers else {
        let runs = numbers.chunk_by(|one, next| one + 1 == *next);
        let text = runs.map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        });
        return format!("workers {} of {all}", text.collect::<Vec<_>>().join(", "));
    };
    format!("worker {only}/{all}")
}

/// The error, with the flag that resolves it.
fn failure(why: Error) -> Failure {
    match &why {
        Error::NoConfiguration { .. } => Failure::input(why),
        Error::AlreadyExists { name, .. } => {
            Failure::input(format!("{why}; choose another --name, or delete it: kubectl delete job,configmap {name}"))
        }
        _ => Failure::stopped(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_workers_are_joined() {
        assert_eq!(named(&[3], 8), "worker 3/8");
        assert_eq!(named(&[1, 2, 3, 5, 7, 8], 8), "workers 1-3, 5, 7-8 of 8");
    }
}
