//! `offered kubernetes --run`: the run is placed, followed, fetched and judged, and nothing of it stays in the cluster.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::Clock;
use offered_cluster::{Cluster, Error, Look, Over, Placed, State, Worker};
use offered_experiment::kubernetes::{Manifests, RUNS};
use offered_experiment::{Copied, Judged, Own, Terms, fetch, is_taken};
use offered_model::Nanos;
use offered_model::time::Instant;
use offered_store::ReadOptions;
use offered_verify::{Checked, Judgement, Measured, Verdict};

use crate::exit::{Exit, Failure};
use crate::say::{say, tell};
use crate::verify::page::Page;
use crate::{file, signals, stored};

/// From one look at the cluster to the next.
const LOOK: Nanos = Nanos::from_secs(1);
/// From one look at whether Ctrl-C was pressed to the next.
const GLANCE: Nanos = Nanos::from_millis(100);
/// An API server that is silent for so long is given up; a control plane that is renewed is back sooner.
const SILENCE: Nanos = Nanos::from_secs(120);
/// So long a pod may take that reads the run, on nodes that have its image.
const READER: Nanos = Nanos::from_secs(120);
/// The program of that pod, by what the kernel knows of it: images have it where they like.
const PROGRAM: &str = "/proc/1/exe";
/// What a worker ends with that launched nothing, and says why.
const LAUNCHED_NOTHING: [i32; 2] = [1, 2];
/// So many lines of a worker's log are looked at for why it ended.
const LINES: u32 = 5;

/// What is to be done.
pub(super) struct Task<'a> {
    pub(super) manifests: &'a Manifests,
    /// The folder of the run in the claim.
    pub(super) name: &'a str,
    pub(super) workers: u32,
    /// Where the run is, if not in a claim.
    pub(super) url: Option<&'a Path>,
    /// How long a worker may take to start.
    pub(super) wait: Nanos,
    /// Where the run is kept here.
    pub(super) out: &'a Path,
    pub(super) context: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
}

/// Does it.
pub(super) fn run(task: &Task<'_>) -> Result<Exit, Failure> {
    let out = task.out;
    if out.exists() {
        return Err(Failure::input(format!(
            "{} exists already; a recorded run is never overwritten, choose another --out",
            out.display()
        )));
    }
    // Who cannot read the store would find out when the run is over.
    if let Some(url) = task.url
        && is_taken(url)?
    {
        let url = url.display();
        return Err(Failure::input(format!("{url} holds a run already; give each run a URL of its own, with --meet")));
    }
    let (stop, hurry) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let cluster = Cluster::of(task.context, task.namespace).map_err(failure)?;
    signals::stop_then_hurry(&stop, &hurry)?;
    let mut placed = cluster.place(&task.manifests.config, &task.manifests.job).map_err(failure)?;
    tell!("{} is placed in namespace {}", task.name, cluster.namespace());
    let clock = Clock::start();
    let mut follower = Follower { task, clock: &clock, told: BTreeMap::new(), aside: None, said: None, ran: false };
    let fetched = follower.followed(&placed, &stop, &hurry).and_then(|()| follower.fetched(&mut placed, &hurry));
    // Whatever became of it.
    if let Err(why) = placed.take_away() {
        tell!("warning: {why}: `kubectl delete job {}` takes away what is left", task.name);
    }
    fetched?;
    judged(out)
}

/// Who follows a run.
struct Follower<'a> {
    task: &'a Task<'a>,
    clock: &'a Clock,
    /// What was last told of each worker.
    told: BTreeMap<u32, String>,
    /// What was last told of the rest.
    aside: Option<String>,
    /// Why the first one ended that launched nothing.
    said: Option<String>,
    /// Whether a worker may have launched something.
    ran: bool,
}

impl Follower<'_> {
    /// Waits for the end of the run; what was stopped has ended too.
    fn followed(&mut self, placed: &Placed<'_>, stop: &AtomicBool, hurry: &AtomicBool) -> Result<(), Failure> {
        let begun = self.clock.now();
        let mut heard = begun;
        while !stop.load(Relaxed) {
            let looked = self.clock.now();
            match placed.look() {
                Ok(look) => {
                    heard = looked;
                    self.tell(placed, &look);
                    if let Some(over) = &look.over {
                        return self.over(&look, over);
                    }
                    let late = begun.until(looked) > self.task.wait;
                    if let Some(why) = self.not_started(&look).filter(|_| late) {
                        return Err(Failure::stopped(format!("given up after {}: {why}", self.task.wait)));
                    }
                }
                Err(why) if why.may_pass() && heard.until(looked) < SILENCE => {
                    self.once(format!("warning: {why}; asking again"));
                }
                Err(why) => return Err(failure(why)),
            }
            self.pause(looked + LOOK, stop);
        }
        tell!("stopped: the workers are told to end; once more leaves what they have kept where it is");
        placed.end().map_err(failure)?;
        while !hurry.load(Relaxed) && !placed.is_gone().map_err(failure)? {
            self.pause(self.clock.now() + LOOK, hurry);
        }
        if self.ran && !hurry.load(Relaxed) {
            Ok(())
        } else {
            Err(Failure::stopped("stopped before there was a result"))
        }
    }

    /// Tells what has changed, those together that are alike.
    fn tell(&mut self, placed: &Placed<'_>, look: &Look) {
        let mut news: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for worker in &look.workers {
            self.ran |= matches!(worker.state, State::Runs { .. });
            let is = told(worker);
            if self.told.get(&worker.index) == Some(&is) {
                continue;
            }
            self.told.insert(worker.index, is.clone());
            let said = if failed(&worker.state) { self.last_words(placed, worker) } else { String::new() };
            news.entry(is + &said).or_default().push(worker.index + 1);
        }
        for (is, numbers) in news {
            tell!("{}: {is}", named(&numbers, self.task.workers));
        }
        if let Some(hindrance) = &look.hindrance {
            self.once(format!("no pod for every worker yet: {hindrance}"));
        }
    }

    /// Told once, as long as nothing else is told so.
    fn once(&mut self, said: String) {
        if self.aside.as_ref() != Some(&said) {
            tell!("{said}");
            self.aside = Some(said);
        }
    }

    /// What a worker that ended said last.
    fn last_words(&mut self, placed: &Placed<'_>, worker: &Worker) -> String {
        // A log may be gone with its node.
        let log = placed.last_lines(&worker.pod, LINES).unwrap_or_default();
        let Some(line) = log.lines().rev().find(|line| line.starts_with("error: ")) else { return String::new() };
        self.said.get_or_insert_with(|| line.trim_start_matches("error: ").to_owned());
        format!(": {line}")
    }

    /// Why a worker has not started yet, of one that never had a pod that ran.
    fn not_started(&self, look: &Look) -> Option<String> {
        let waits = |worker: &&Worker| worker.earlier == 0 && matches!(worker.state, State::Waits { .. });
        if let Some(worker) = look.workers.iter().find(waits) {
            return Some(format!("worker {}/{}: {}", worker.index + 1, self.task.workers, told(worker)));
        }
        let (there, all) = (look.workers.len(), self.task.workers as usize);
        (there < all).then(|| {
            let why = look.hindrance.as_deref().unwrap_or("the cluster does not say why");
            format!("{there} of {all} workers have a pod: {why}")
        })
    }

    /// Whether there is something to fetch.
    fn over(&self, look: &Look, over: &Over) -> Result<(), Failure> {
        let nothing = |worker: &Worker| match worker.state {
            State::Ended { code, .. } => code.is_none_or(|code| LAUNCHED_NOTHING.contains(&code)),
            _ => false,
        };
        if look.workers.is_empty() || look.workers.iter().all(nothing) {
            let cluster = if let Over::Failed { why } = over { why } else { "every worker has ended" };
            let why = self.said.as_deref().unwrap_or(cluster);
            return Err(Failure::stopped(format!("no worker has launched anything: {why}")));
        }
        if let Over::Failed { why } = over {
            tell!("warning: not every worker ended well ({why}); what they have kept says what is missing");
        }
        Ok(())
    }

    /// Brings the run here.
    fn fetched(&mut self, placed: &mut Placed<'_>, hurry: &Arc<AtomicBool>) -> Result<(), Failure> {
        let (task, folder) = (self.task, format!("{RUNS}/{}", self.task.name));
        if let Some(url) = task.url {
            return fetched_from(url, task.out);
        }
        let left =
            |why: Error| Failure::stopped(format!("{why}; the run is in the claim, in the folder {}", task.name));
        placed.start_reader(task.manifests.reader.as_ref().expect("a run in a claim has one")).map_err(left)?;
        let begun = self.clock.now();
        loop {
            let looked = self.clock.now();
            match placed.reader().map_err(left)? {
                State::Runs { .. } => break,
                State::Waits { why } if begun.until(looked) < READER && !hurry.load(Relaxed) => {
                    self.once(format!("the pod that reads the run waits: {why}"));
                }
                State::Waits { why } | State::Ended { why, .. } => return Err(left(Error::Unread { why })),
            }
            self.pause(looked + LOOK, hurry);
        }
        let beside = beside(task.out);
        fs::create_dir_all(&beside)
            .map_err(|why| Failure::stopped(format!("cannot create {}: {why}", beside.display())))?;
        let program = [PROGRAM, "export", &folder, "--to", "tar"];
        let mut telling = |came: u64| tell!("fetching: {} MB", came / 1_000_000);
        let fetched = placed.fetch(&program, &beside, hurry, &mut telling).map_err(left).and_then(|bytes| {
            fs::rename(&beside, task.out)
                .map_err(|why| Failure::stopped(format!("cannot write {}: {why}", task.out.display())))?;
            tell!("fetched {} MB to {}", bytes.div_ceil(1_000_000), task.out.display());
            Ok(())
        });
        // Half a run under the name asked for would pass for a whole one.
        fetched.inspect_err(|_| drop(fs::remove_dir_all(&beside)))
    }

    /// Until then, or until the flag is set.
    fn pause(&self, until: Instant, flag: &AtomicBool) {
        while !flag.load(Relaxed) && self.clock.now() < until {
            self.clock.sleep_until(until.min(self.clock.now() + GLANCE));
        }
    }
}

/// Brings the run here from an object store.
fn fetched_from(url: &Path, out: &Path) -> Result<(), Failure> {
    let fetched = fetch(url, out, &mut |Copied { objects, bytes, .. }| {
        tell!("fetching: {objects} objects, {} MB", bytes.div_ceil(1_000_000));
    });
    fetched.map_err(|why| Failure::stopped(format!("{why}; the run is in {}", url.display())))?;
    tell!("fetched to {}", out.display());
    Ok(())
}

/// A folder for what is not whole yet.
fn beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".fetching");
    out.with_file_name(name)
}

/// The run in a directory as `verify` shows it, and its thresholds.
fn judged(out: &Path) -> Result<Exit, Failure> {
    let Judged { recording, verdict, own, .. } =
        Terms::default().judge(&stored::here(out)?, &ReadOptions::default(), file::broken)?;
    say!(no newline: "{}", Page { verdict: &verdict, details: false });
    let thresholds = match own {
        Some(Own { workload, .. }) => {
            let workload = workload.map_err(Failure::input)?;
            let Verdict { launches, window, .. } = &verdict;
            let measured = Measured::new(&recording, launches, window, workload.counted());
            let measured = measured.with_pages(workload.pages());
            Checked::all(workload.thresholds(), &measured, &verdict).map_err(Failure::stopped)?
        }
        None => Vec::new(),
    };
    for checked in &thresholds {
        say!("threshold {}: {} ({})", checked.threshold, checked.judgement, checked.found());
    }
    let is = |judgement| thresholds.iter().any(|checked| checked.judgement == judgement);
    Ok(match verdict.judgement {
        Judgement::Fails => Exit::Doubtful,
        _ if is(Judgement::Fails) => Exit::Failed,
        _ if is(Judgement::NotChecked) => Exit::Doubtful,
        _ => Exit::Done,
    })
}

fn failed(state: &State) -> bool {
    matches!(state, State::Ended { code, .. } if *code != Some(0))
}

/// How a worker is.
fn told(worker: &Worker) -> String {
    let again = if worker.earlier > 0 { ", started again" } else { "" };
    match &worker.state {
        State::Waits { why } => format!("waiting{again}: {why}"),
        State::Runs { node } => format!("running on {node}{again}"),
        State::Ended { code: Some(0), .. } => "done".to_owned(),
        State::Ended { code: Some(3), .. } => "done, and not to be believed by itself".to_owned(),
        State::Ended { code: Some(99), .. } => "done, and its part does not keep a threshold".to_owned(),
        State::Ended { code: Some(code), why } => format!("ended with {code} ({why})"),
        State::Ended { code: None, why } => format!("ended without having run: {why}"),
    }
}

/// `worker 3/8`, or `workers 1-3, 5 of 8`.
fn named(numbers: &[u32], all: u32) -> String {
    let [only] = numbers else {
        let runs = numbers.chunk_by(|one, next| one + 1 == *next);
        let said = runs.map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        });
        return format!("workers {} of {all}", said.collect::<Vec<_>>().join(", "));
    };
    format!("worker {only}/{all}")
}

/// What is said of flags is said here.
fn failure(why: Error) -> Failure {
    match &why {
        Error::Unknown { .. } => Failure::input(why),
        Error::There { name, .. } => Failure::input(format!(
            "{why}; choose another --name, or take it away: kubectl delete job,configmap {name}"
        )),
        _ => Failure::stopped(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_named_together() {
        assert_eq!(named(&[3], 8), "worker 3/8");
        assert_eq!(named(&[1, 2, 3, 5, 7, 8], 8), "workers 1-3, 5, 7-8 of 8");
    }
}
