//! A baseline: the rounds of an earlier comparison, or a run in parts of the length of a round.

use std::fs;
use std::path::{Path, PathBuf};

use offered_base::{Instant, Nanos};
use offered_observe::this_machine;
use offered_schedule::Sessions;
use offered_store::{Machine, ReadOptions};
use offered_workload::threshold::Statistic;

use super::round::{FEWEST, Round, statistics};
use crate::workload_source::BadLineHandler;
use crate::{Error, VerifiedRun, VerifyOptions};

/// An earlier recording with which B is compared.
pub struct Baseline {
    /// The directory.
    pub(super) name: String,
    /// The rounds that count.
    pub(super) rounds: Vec<Round>,
    /// How it differs from a run today.
    pub(super) warnings: Vec<String>,
}

/// What the warnings are about.
#[derive(Default)]
struct Origin {
    machine: Option<Machine>,
    version: String,
    sessions: Option<Sessions>,
}

impl Baseline {
    /// Reads the directory of a comparison with its rounds of B, or the run directory `path`. `counted` is the measured
    /// part of a round; `sessions` are the sessions of the workload that is compared with the baseline.
    ///
    /// # Errors
    /// There is no such recording, it cannot be read, or it has too few rounds.
    pub fn read(
        path: &Path,
        counted: Nanos,
        statistic: Statistic,
        sessions: &Sessions,
        broken: BadLineHandler,
    ) -> Result<Self, Error> {
        let statistics = statistics(statistic);
        let (mut rounds, mut origin) = (Vec::new(), Origin::default());
        let directories = round_directories(path)?;
        let is_run = directories.is_empty();
        for directory in if is_run { vec![path.to_owned()] } else { directories } {
            let no_run = || Error::NoRun { path: directory.clone() };
            let verified = VerifyOptions::default().verify(&(&*directory).into(), &ReadOptions::default(), broken)?;
            let VerifiedRun { recording, verdict, run, .. } = verified;
            let run = run.ok_or_else(no_run)?;
            let workload = run.workload?;
            let all = workload.counted();
            let parts = if is_run { split(all.start, all.end, counted) } else { vec![all] };
            for part in parts {
                rounds.push(Round::of(&recording, &verdict, part, &statistics)?);
            }
            let record = run.record;
            origin = Origin {
                machine: record.as_ref().and_then(|record| record.machine.clone()),
                version: record.map(|record| record.version).unwrap_or_default(),
                sessions: Some(workload.sessions().clone()),
            };
        }
        // A run that was stopped has parts without requests.
        rounds.retain(|round| round.invalid.is_none() && round.ok + round.failed > 0);
        if rounds.len() < FEWEST {
            return Err(Error::ShortBaseline { path: path.to_owned(), rounds: rounds.len(), fewest: FEWEST });
        }
        Ok(Self { name: path.display().to_string(), rounds, warnings: origin.warnings(sessions) })
    }
}

/// The run directories of the rounds of B in the directory of a comparison; empty for a run directory.
fn round_directories(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Err(Error::no_run(path));
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::file("read", path))? {
        let path = entry.map_err(Error::file("read", path))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("-b")) {
            all.push(path);
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// Divides the time from `start` to `end` into parts of this length; a shorter part at the end is omitted.
fn split(start: Instant, end: Instant, length: Nanos) -> Vec<std::ops::Range<Instant>> {
    let ends = (1..).map(|part: u64| start + length * part).take_while(|at| *at <= end);
    ends.scan(start, |from, to| Some(std::mem::replace(from, to)..to)).collect()
}

impl Origin {
    fn warnings(self, sessions: &Sessions) -> Vec<String> {
        let here = this_machine();
        let describe =
            |machine: &Machine| format!("{} ({}, {} processors)", machine.name, machine.system, machine.cores);
        let is_same =
            |there: &Machine| (&there.name, &there.system, there.cores) == (&here.name, &here.system, here.cores);
        let mut all = vec![match &self.machine {
            Some(there) if !is_same(there) => format!(
                "the baseline was recorded on {}, this is {}: the interval does not include the difference between the machines",
                describe(there),
                describe(&here)
            ),
            _ => "the baseline was recorded at another time: the interval does not include other changes of machines or network; compare two targets in one comparison if you can"
                .to_owned(),
        }];
        if self.version != env!("CARGO_PKG_VERSION") {
            all.push(format!("the baseline was recorded by version {} of offered", self.version));
        }
        if self.sessions.as_ref() != Some(sessions) {
            all.push("the arrivals of the baseline differ from those of the workload".to_owned());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_split_into_whole_parts() {
        let at = Instant::from_secs;
        let parts = split(at(1), at(12), Nanos::from_secs(5));
        assert_eq!(parts, [at(1)..at(6), at(6)..at(11)]);
        assert_eq!(split(at(1), at(5), Nanos::from_secs(5)), []);
    }
}
