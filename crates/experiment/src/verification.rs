//! Verifying recordings, by given options and by the workload of the run.
//!
//! ```
//! use std::path::Path;
//! use offered_experiment::{ExpectedSource, VerifyOptions};
//! use offered_store::ReadOptions;
//! use offered_verify::{ExpectedArrivals, Validity};
//!
//! # fn main() -> Result<(), offered_experiment::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("launches.txt");
//! # std::fs::write(&file, (0..100).map(|second| format!("{second}\n")).collect::<String>()).unwrap();
//! // A run directory, or any other tool's file.
//! let options = VerifyOptions { expected: Some(ExpectedSource::Pattern(ExpectedArrivals::Constant)), ..VerifyOptions::default() };
//! let verified = options.verify(&(*file).into(), &ReadOptions::default(), |_, _| {})?;
//! assert_eq!(verified.verdict.validity, Validity::Valid, "{}", verified.verdict.reason);
//! # Ok(())
//! # }
//! ```

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::slice;

use offered_base::{Instant, Nanos, Rate, Seed};
use offered_events::{Note, Recording};
use offered_store::{EndCondition, ReadOptions, RunRecord, read, recorded_shares};
use offered_verify::{
    Criteria, ExpectedArrivals, Failures, Incomplete, OwnSchedule, ThresholdResult, Twin, Verdict, Window, merge,
    verify,
};
use offered_workload::Mistake;
use offered_workload::Workload;

use crate::incomplete;
use crate::location::LocalRun;
use crate::recorded_run::RecordedRun;
use crate::redact::without_location;
use crate::summary::measurements;
use crate::workload_source::BadLineHandler;
use crate::{Error, RunResult, server_side, twin};

/// How a recording is verified. Options that are `None` come from the workload of the run, or else from [`Criteria::default`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The expected arrivals.
    pub expected: Option<ExpectedSource>,
    /// The target rate.
    pub rate: Option<Rate>,
    /// Time to exclude at the start.
    pub skip_first: Option<Nanos>,
    /// Time to exclude at the end.
    pub skip_last: Option<Nanos>,
    /// Maximum duration of the window.
    pub take: Option<Nanos>,
    /// Whether failed requests count.
    pub failures: Failures,
    /// Whether the CoV is analysed by number of threads.
    pub by_threads: ThreadAnalysis,
    /// Maximum difference between measured and expected CoV.
    pub cov_tolerance: f64,
    /// Maximum share of p50, p95 and p99 that the generator may cause, as a fraction.
    pub generator_error_tolerance: Option<f64>,
    /// Maximum of the 99th percentile of the lateness.
    pub late_after: Nanos,
    /// Seed for spreading coarse timestamps.
    pub seed: Option<Seed>,
    /// Whether the requests are compared with a simulation of the modelled server.
    pub twin: TwinComparison,
    /// Sample files of server machines, in addition to those in the run directory. Only for a single run.
    pub hosts: Vec<PathBuf>,
}

/// Whether the requests of a run are compared with a simulation of the server that its workload models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwinComparison {
    /// No comparison.
    #[default]
    Off,
    /// Compare, or fail.
    On,
    /// Compare if the run was measured and its workload models the server.
    IfMeasured,
}

/// The source of the expected arrivals.
#[derive(Clone, Debug)]
pub enum ExpectedSource {
    /// An arrival pattern.
    Pattern(ExpectedArrivals),
    /// A workload.
    Workload(Box<Workload>),
}

/// Whether the CoV is analysed by number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadAnalysis {
    /// No analysis.
    #[default]
    Off,
    /// Analyse.
    On,
    /// Analyse if the requests come from few users or threads.
    IfFewSessions,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        let Criteria { failures, cov_tolerance, late_after, .. } = Criteria::default();
        Self {
            expected: None,
            rate: None,
            skip_first: None,
            skip_last: None,
            take: None,
            failures,
            by_threads: ThreadAnalysis::Off,
            cov_tolerance,
            generator_error_tolerance: None,
            late_after,
            seed: None,
            twin: TwinComparison::Off,
            hosts: Vec::new(),
        }
    }
}

/// A recording with its verdict.
pub struct VerifiedRun {
    /// The recording.
    pub recording: Recording,
    /// The criteria of the verdict.
    pub criteria: Criteria,
    /// The verdict.
    pub verdict: Verdict,
    /// Workload and record, if it is a single run directory.
    pub run: Option<RecordedRun>,
}

impl VerifiedRun {
    /// The result of a run of `offered`. `None` for the file of another tool, and if the expected arrivals are not
    /// those of the run's workload.
    pub fn result(&self) -> Option<RunResult> {
        let Self { recording, verdict, .. } = self;
        let is_of_run = recording.on_run_clock && verdict.expected.is_own_workload;
        is_of_run.then(|| RunResult::of(verdict, &verdict.thresholds, recording.generator.as_ref()))
    }
}

/// Runs of the same workload, verified as one.
struct MergedRuns<'a> {
    workload: &'a Result<Workload, Mistake>,
    /// The record of one run.
    record: Option<&'a RunRecord>,
    /// The total share of the requests.
    fraction: f64,
    /// What ended the runs.
    end_condition: EndCondition,
}

impl<'a> MergedRuns<'a> {
    /// `None` if one is not a run directory, or has another workload. A run without record counts as a complete run that ended by duration.
    fn of(runs: &'a [Option<RecordedRun>]) -> Option<Self> {
        let runs = runs.iter().map(Option::as_ref).collect::<Option<Vec<&RecordedRun>>>()?;
        let first = runs
            .first()
            .filter(|first| runs.iter().all(|run| without_location(&run.text) == without_location(&first.text)))?;
        let part = |run: &&RecordedRun| run.record.as_ref().map_or(1.0, |record| record.share.fraction());
        let enough = |run: &&RecordedRun| {
            run.record.as_ref().is_some_and(|record| record.end_condition == EndCondition::Responses)
        };
        Some(Self {
            workload: &first.workload,
            record: runs.iter().find_map(|run| run.record.as_ref()),
            fraction: runs.iter().map(part).sum::<f64>().min(1.0),
            end_condition: if runs.iter().any(enough) { EndCondition::Responses } else { EndCondition::Duration },
        })
    }
}

impl VerifyOptions {
    /// Verifies a run directory, or a result file of another tool.
    ///
    /// # Errors
    /// It cannot be read; or no expected arrivals are given and its workload cannot be parsed.
    pub fn verify(&self, run: &LocalRun, options: &ReadOptions, broken: BadLineHandler) -> Result<VerifiedRun, Error> {
        let recording = read(run.path(), options).map_err(Error::Read)?;
        let recorded = RecordedRun::read(run.path(), broken)?;
        let missing = incomplete::incomplete(run.path(), &recording, recorded.as_ref())?;
        let (criteria, verdict) =
            self.verdict(run.name().to_owned(), &recording, slice::from_ref(&recorded), missing)?;
        let server_side = server_side::read(
            &self.hosts,
            run.path(),
            recorded.as_ref().and_then(|recorded| recorded.record.as_ref()),
            &recording,
            &verdict.window,
        )?;
        Ok(VerifiedRun { recording, criteria, verdict: Verdict { server_side, ..verdict }, run: recorded })
    }

    /// Verifies several recordings as one run with several generators.
    ///
    /// # Errors
    /// The errors of [`VerifyOptions::verify`].
    pub fn verify_merged(
        &self,
        runs: &[LocalRun],
        options: &ReadOptions,
        broken: BadLineHandler,
    ) -> Result<VerifiedRun, Error> {
        let part = |run: &LocalRun| Ok((run.name().to_owned(), read(run.path(), options).map_err(Error::Read)?));
        let mut parts = runs.iter().map(part).collect::<Result<Vec<_>, Error>>()?;
        let name = parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
        let recorded = runs.iter().map(|run| RecordedRun::read(run.path(), broken)).collect::<Result<Vec<_>, _>>()?;
        if MergedRuns::of(&recorded).is_some() {
            let shares = runs.iter().map(|run| recorded_shares(run.path()).map_err(Error::Read));
            let shares: HashSet<String> =
                shares.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().map(|share| share.to_string()).collect();
            // A worker that is not in one directory may be in another.
            let is_elsewhere = |note: &Note| matches!(note, Note::WorkerMissing { worker } if shares.contains(worker));
            for (_, recording) in &mut parts {
                recording.notes.retain(|note| !is_elsewhere(note));
            }
        }
        let missing = runs.iter().zip(&parts).zip(&recorded);
        let missing =
            missing.map(|((run, (_, part)), recorded)| incomplete::incomplete(run.path(), part, recorded.as_ref()));
        let missing = incomplete::merged(missing.collect::<Result<Vec<_>, _>>()?);
        let merged = MergedRuns::of(&recorded);
        let scenarios = merged.and_then(|merged| merged.workload.as_ref().ok()?.scenarios());
        let recording = merge(parts, scenarios.map_or(1, |scenarios| scenarios.all().len()))?;
        let (criteria, verdict) = self.verdict(name, &recording, &recorded, missing)?;
        Ok(VerifiedRun { recording, criteria, verdict, run: None })
    }

    fn verdict(
        &self,
        name: String,
        recording: &Recording,
        runs: &[Option<RecordedRun>],
        incomplete: Option<Incomplete>,
    ) -> Result<(Criteria, Verdict), Error> {
        let by_threads = match self.by_threads {
            ThreadAnalysis::Off => false,
            ThreadAnalysis::On => true,
            ThreadAnalysis::IfFewSessions => has_few_sessions(recording)?,
        };
        let criteria = Criteria { path: name, by_threads, ..self.criteria(runs, incomplete)? };
        let verdict = verify(recording, &criteria)?;
        let twin = self.twin(recording, &criteria, &verdict.window, runs)?;
        let thresholds = thresholds(recording, &criteria, &verdict, runs).map_err(Error::from)?;
        Ok((criteria, Verdict { twin, thresholds, ..verdict }))
    }

    /// The comparison with the modelled server, if requested.
    fn twin(
        &self,
        recording: &Recording,
        criteria: &Criteria,
        window: &Window,
        runs: &[Option<RecordedRun>],
    ) -> Result<Option<Twin>, Error> {
        if self.twin == TwinComparison::Off {
            return Ok(None);
        }
        let merged = MergedRuns::of(runs);
        let record = merged.as_ref().and_then(|merged| merged.record);
        let given = match (&self.expected, &merged) {
            (Some(ExpectedSource::Workload(workload)), Some(_)) => Some(&**workload),
            (_, Some(merged)) => Some(merged.workload.as_ref().map_err(Mistake::clone)?),
            (_, None) => None,
        };
        match (self.twin, given) {
            (TwinComparison::IfMeasured, Some(workload)) => twin::compare_measured(workload, record, recording, window),
            (TwinComparison::IfMeasured, None) => Ok(None),
            (_, Some(workload)) => twin::compare(workload, record, recording, window).map(Some),
            (_, None) => Err(Error::NoTwin { name: criteria.path.clone() }),
        }
    }

    /// The criteria for these runs; `None` is a result file of another tool. An incomplete run is judged up to its last request.
    fn criteria(&self, runs: &[Option<RecordedRun>], incomplete: Option<Incomplete>) -> Result<Criteria, Mistake> {
        let merged = MergedRuns::of(runs);
        let covered = incomplete.as_ref().and_then(|incomplete| incomplete.covered_until_s);
        let covered = covered.map(|until| Instant::from_secs_f64(until) + Nanos(1));
        let given = match (&self.expected, &merged) {
            (Some(ExpectedSource::Pattern(meant)), merged) => {
                // Only the duration is needed: a workload that cannot be parsed is no error.
                let workload =
                    merged.as_ref().and_then(|merged| Some((merged.workload.as_ref().ok()?, merged.fraction)));
                let lasts = workload
                    .and_then(|(workload, fraction)| self.workload_criteria(workload, fraction, covered).duration);
                Criteria { expected: meant.clone(), duration: lasts, ..Criteria::default() }
            }
            (Some(ExpectedSource::Workload(workload)), _) => self.workload_criteria(workload, 1.0, covered),
            (None, Some(merged)) => {
                let workload = merged.workload.as_ref().map_err(Mistake::clone)?;
                let criteria = self.workload_criteria(workload, merged.fraction, covered);
                let share = merged.record.map(|record| record.share).filter(|_| runs.len() == 1);
                Criteria {
                    schedule: criteria.schedule.or(share.map(|share| OwnSchedule::new(workload, share))),
                    ..criteria
                }
            }
            (None, None) => Criteria::default(),
        };
        let criteria = Criteria {
            target_rate_per_s: self.rate.map(Rate::per_sec).or(given.target_rate_per_s),
            target_request_rate_per_s: given.target_request_rate_per_s.filter(|_| self.rate.is_none()),
            rate_interval: given.rate_interval.filter(|_| self.rate.is_none()),
            is_own_workload: given.is_own_workload && self.expected.is_none() && self.rate.is_none(),
            // Another rate than that of the workload is a question about the schedule.
            schedule: given.schedule.filter(|_| self.rate.is_none()),
            skip_first: self.skip_first.unwrap_or(given.skip_first),
            skip_last: self.skip_last.unwrap_or(given.skip_last),
            take: self.take,
            duration: given
                .duration
                .filter(|_| merged.is_none_or(|merged| merged.end_condition == EndCondition::Duration)),
            failures: self.failures,
            cov_tolerance: self.cov_tolerance,
            generator_error_tolerance: self.generator_error_tolerance.unwrap_or(given.generator_error_tolerance),
            late_after: self.late_after,
            insecure: given.insecure || runs.iter().flatten().any(RecordedRun::is_insecure),
            seed: self.seed.unwrap_or(given.seed),
            incomplete,
            ..given
        };
        let skip_last = match (covered, criteria.duration) {
            (None, _) => criteria.skip_last,
            (Some(until), Some(duration)) => {
                let until = until.max(Instant::ZERO + criteria.skip_first);
                criteria.skip_last.max(until.until(Instant::ZERO + duration))
            }
            // A run without its end did not reach the time to exclude there.
            (Some(_), None) => self.skip_last.unwrap_or(Nanos::ZERO),
        };
        Ok(Criteria { skip_last, ..criteria })
    }

    /// The criteria of a workload, in the given window or its own, and at most until `covered`: the mean of a changing rate depends on the
    /// window.
    fn workload_criteria(&self, workload: &Workload, fraction: f64, covered: Option<Instant>) -> Criteria {
        let skip_first = self.skip_first.unwrap_or(workload.skip_first());
        let skip_last = self.skip_last.unwrap_or(workload.skip_last());
        let taken = self.take.map_or(Nanos::ZERO, |take| workload.duration().saturating_sub(skip_first + take));
        let uncovered = covered.map_or(Nanos::ZERO, |until| until.until(workload.scheduled_until()));
        let without = skip_last.max(taken).max(uncovered);
        Criteria { skip_last, ..Criteria::from_workload_part(workload, fraction, skip_first, without) }
    }
}

/// The results of the thresholds of the workload; none for the file of another tool.
fn thresholds(
    recording: &Recording,
    criteria: &Criteria,
    verdict: &Verdict,
    runs: &[Option<RecordedRun>],
) -> io::Result<Vec<ThresholdResult>> {
    let merged = MergedRuns::of(runs).filter(|_| recording.on_run_clock);
    let Some((merged, Ok(workload))) = merged.as_ref().map(|merged| (merged, merged.workload)) else {
        return Ok(Vec::new());
    };
    let end = criteria.duration.map_or(Instant::MAX, |duration| Instant::ZERO + duration);
    let judged = Instant::ZERO + criteria.skip_first..end.earlier(criteria.skip_last);
    let measured = measurements(workload, recording, verdict, judged);
    let is_share = Criteria::from_workload(workload, merged.fraction).is_share;
    ThresholdResult::check_all(workload.thresholds(), &measured.of_share(is_share), verdict)
}

/// Whether there are at most 1,000 sessions with more than two requests each on average: few users or threads.
fn has_few_sessions(recording: &Recording) -> io::Result<bool> {
    const FEW: usize = 1000;
    if !recording.sessions_known {
        return Ok(false);
    }
    let mut seen = HashSet::new();
    recording.events.each(|event| {
        if seen.len() <= FEW {
            seen.insert(event.session);
        }
    })?;
    Ok(seen.len() <= FEW && recording.events.launches() > 2 * seen.len() as u64)
}

#[cfg(test)]
mod tests {
    use offered_store::RunKind;

    use super::*;

    const OPEN: &str = "seed = 3\nduration = \"60s\"\narrivals.open.rate = \"100/s\"\n";

    /// A run of this share of the workload; without a share it was killed.
    fn recorded(text: &str, share: Option<&str>) -> RecordedRun {
        let share = share.map(|share| share.parse().unwrap());
        let record = share.map(|share| RunRecord { share, ..RunRecord::new(RunKind::Run, EndCondition::Duration) });
        let workload = Workload::parse(text, "w.toml", &|_| Err("there is no such file".to_owned()));
        RecordedRun { text: text.to_owned(), workload, record }
    }

    #[test]
    fn runs_of_one_workload_are_verified_together() {
        let half = || Some(recorded(OPEN, Some("1/2")));
        let criteria = |runs: &[Option<RecordedRun>]| VerifyOptions::default().criteria(runs, None).unwrap();
        assert_eq!(criteria(&[half()]).target_rate_per_s, Some(50.0));
        assert_eq!(criteria(&[half(), half()]).target_rate_per_s, Some(100.0));
        assert_eq!(criteria(&[Some(recorded(OPEN, None))]).target_rate_per_s, Some(100.0));
        for other in [Some(recorded(&OPEN.replace("100", "200"), Some("1/2"))), None] {
            let found = criteria(&[half(), other]);
            assert_eq!((found.target_rate_per_s, found.duration, found.seed), (None, None, Seed(1)));
        }
    }

    #[test]
    fn an_invalid_workload_is_an_error_only_without_an_expected_pattern() {
        let runs = [Some(recorded("duration = 7", None))];
        assert!(VerifyOptions::default().criteria(&runs, None).is_err());
        let terms = VerifyOptions {
            expected: Some(ExpectedSource::Pattern(ExpectedArrivals::Constant)),
            ..VerifyOptions::default()
        };
        assert_eq!(terms.criteria(&runs, None).unwrap().duration, None);
        assert_eq!(terms.criteria(&[Some(recorded(OPEN, None))], None).unwrap().duration, Some(Nanos::from_secs(60)));
    }
}
