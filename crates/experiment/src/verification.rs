//! Judging what is recorded: on the terms that are given and, of a run of ours, on those of its own workload.
//!
//! ```
//! use std::path::Path;
//! use offered_experiment::{ExpectedSource, VerifyOptions};
//! use offered_store::ReadOptions;
//! use offered_verify::{Judgement, Meant};
//!
//! # fn main() -> Result<(), offered_experiment::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("launches.txt");
//! # std::fs::write(&file, (0..100).map(|second| format!("{second}\n")).collect::<String>()).unwrap();
//! // A run directory, or any other tool's file.
//! let terms = VerifyOptions { meant: Some(ExpectedSource::Pattern(Meant::Constant)), ..VerifyOptions::default() };
//! let judged = terms.judge(&(*file).into(), &ReadOptions::default(), |_, _| {})?;
//! assert_eq!(judged.verdict.judgement, Judgement::Holds, "{}", judged.verdict.because);
//! # Ok(())
//! # }
//! ```

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use offered_workload::Mistake;
use offered_base::{Nanos, Rate, Seed};
use offered_events::Recording;
use offered_workload::Workload;
use offered_store::{ReadOptions, RunRecord, EndCondition, read};
use offered_verify::{Criteria, Failures, ExpectedArrivals, Twin, Verdict, Window, merge, verify};

use crate::workload_source::{BadLineHandler, WorkloadSource, file_reader};
use crate::redact::without_location;
use crate::location::LocalRun;
use crate::{Error, server_side, twin};

/// How a recording is judged. What is not said is as the run's own workload has it, and without one as in [`Ask::default`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// What was meant.
    pub meant: Option<ExpectedSource>,
    /// The rate that was asked for.
    pub rate: Option<Rate>,
    /// So much is left out at the beginning.
    pub skip_first: Option<Nanos>,
    /// So much is left out at the end.
    pub skip_last: Option<Nanos>,
    /// And only so much is judged of the rest.
    pub take: Option<Nanos>,
    /// Whether failed launches count.
    pub failures: Failures,
    /// Whether the CoV against the number of threads is wanted.
    pub by_threads: ThreadAnalysis,
    /// How far a CoV may be from the one meant and still be as good as equal.
    pub pattern_tolerance: f64,
    /// How much of p50, p95 and p99 may be the generator's, as a fraction.
    pub effect_tolerance: Option<f64>,
    /// How late the latest hundredth of the launches may be.
    pub late_tolerance: Nanos,
    /// From which the spreading of coarse stamps draws.
    pub seed: Option<Seed>,
    /// Whether the launches are laid beside those of a model.
    pub with_twin: TwinComparison,
    /// Samples of the machines that served, beside those that a run keeps; of one run, not of several taken as one.
    pub hosts: Vec<PathBuf>,
}

/// Whether a run's launches are laid beside what its workload's modelled server makes of the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwinComparison {
    /// They are not.
    #[default]
    No,
    /// They are.
    Yes,
    /// Those of a run on the real clock are, where its workload models its server.
    IfMeasured,
}

/// What was meant.
#[derive(Clone, Debug)]
pub enum ExpectedSource {
    /// Launches of this pattern.
    Pattern(ExpectedArrivals),
    /// What this workload means.
    Workload(Box<Workload>),
}

/// Whether the CoV against the number of threads is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadAnalysis {
    /// It is not.
    #[default]
    No,
    /// It is.
    Yes,
    /// It is where launches come from so few users or threads, time and again, that their number is worth a look.
    IfFew,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        let Criteria { failures, cov_tolerance: pattern_tolerance, late_after: late_tolerance, .. } = Criteria::default();
        Self {
            meant: None,
            rate: None,
            skip_first: None,
            skip_last: None,
            take: None,
            failures,
            by_threads: ThreadAnalysis::No,
            pattern_tolerance,
            effect_tolerance: None,
            late_tolerance,
            seed: None,
            with_twin: TwinComparison::No,
            hosts: Vec::new(),
        }
    }
}

/// A recording that was judged.
pub struct VerifiedRun {
    /// The recording.
    pub recording: Recording,
    /// What was asked of it.
    pub ask: Criteria,
    /// What to believe of it.
    pub verdict: Verdict,
    /// What the run says of itself, where it is one run of ours.
    pub own: Option<RecordedRun>,
}

/// What a run of ours says of itself beside its events.
pub struct RecordedRun {
    /// Its workload, as it was kept.
    pub text: String,
    /// What was meant; or why its workload cannot be read again.
    pub workload: Result<Workload, Mistake>,
    /// How it was made; a run that was killed has none.
    pub record: Option<RunRecord>,
}

impl RecordedRun {
    /// Of the run at `path`; `None` where that is no directory of a run.
    ///
    /// # Errors
    /// Its files cannot be read, or its record is none.
    pub fn read(path: &Path, broken: BadLineHandler) -> Result<Option<Self>, Error> {
        let file = path.join("workload.toml");
        if !file.is_file() {
            return Ok(None);
        }
        let input = WorkloadSource::open(&file, broken)?;
        let missing = std::cell::Cell::new(false);
        let read = file_reader(Some(&file), broken);
        let workload = Workload::parse(&input.text, &input.name, &|name| read(name).inspect_err(|_| missing.set(true)));
        let workload = workload.map_err(|mut mistake| {
            if missing.get() {
                mistake.what += "; a run does not keep the files that its workload names: put it beside the run's own, or judge the run by the workload beside which it stands";
            }
            mistake
        });
        Ok(Some(Self { text: input.text, workload, record: RunRecord::read(path).map_err(Error::Read)? }))
    }

    /// Whether it took any certificate for its target's.
    fn is_insecure(&self) -> bool {
        let target = self.workload.as_ref().ok().and_then(Workload::target);
        target.is_some_and(|target| target.tls().insecure)
    }
}

/// Runs of one workload, taken together.
struct Together<'a> {
    workload: &'a Result<Workload, Mistake>,
    /// How one of them was made.
    record: Option<&'a RunRecord>,
    /// The part of it that they launched.
    fraction: f64,
    /// What ended them.
    until: EndCondition,
}

impl<'a> Together<'a> {
    /// `None` where one is no run of ours, or was made of another workload. A killed run was the whole until its duration.
    fn of(runs: &'a [Option<RecordedRun>]) -> Option<Self> {
        let runs = runs.iter().map(Option::as_ref).collect::<Option<Vec<&RecordedRun>>>()?;
        let first = runs.first().filter(|first| runs.iter().all(|run| without_location(&run.text) == without_location(&first.text)))?;
        let part = |run: &&RecordedRun| run.record.as_ref().map_or(1.0, |record| record.share.fraction());
        let enough = |run: &&RecordedRun| run.record.as_ref().is_some_and(|record| record.end_condition == EndCondition::Responses);
        Some(Self {
            workload: &first.workload,
            record: runs.iter().find_map(|run| run.record.as_ref()),
            fraction: runs.iter().map(part).sum::<f64>().min(1.0),
            until: if runs.iter().any(enough) { EndCondition::Responses } else { EndCondition::Duration },
        })
    }
}

impl VerifyOptions {
    /// Judges the run in a directory of ours, or in another tool's file.
    ///
    /// # Errors
    /// It cannot be read; nobody said what was meant, and its own workload can no longer be read.
    pub fn judge(&self, run: &LocalRun, options: &ReadOptions, broken: BadLineHandler) -> Result<VerifiedRun, Error> {
        let recording = read(run.path(), options).map_err(Error::Read)?;
        let own = RecordedRun::read(run.path(), broken)?;
        let (ask, verdict) = self.verdict(run.name().to_owned(), &recording, slice::from_ref(&own))?;
        let server_side = server_side::read(
            &self.hosts,
            run.path(),
            own.as_ref().and_then(|own| own.record.as_ref()),
            &recording,
            &verdict.window,
        )?;
        Ok(VerifiedRun { recording, ask, verdict: Verdict { server_side, ..verdict }, own })
    }

    /// Judges several as one run of as many generators.
    ///
    /// # Errors
    /// The same.
    pub fn judge_merged(&self, runs: &[LocalRun], options: &ReadOptions, broken: BadLineHandler) -> Result<VerifiedRun, Error> {
        let part = |run: &LocalRun| Ok((run.name().to_owned(), read(run.path(), options).map_err(Error::Read)?));
        let parts = runs.iter().map(part).collect::<Result<Vec<_>, Error>>()?;
        let name = parts.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" + ");
        let recording = merge(parts)?;
        let runs = runs.iter().map(|run| RecordedRun::read(run.path(), broken)).collect::<Result<Vec<_>, _>>()?;
        let (ask, verdict) = self.verdict(name, &recording, &runs)?;
        Ok(VerifiedRun { recording, ask, verdict, own: None })
    }

    fn verdict(&self, name: String, recording: &Recording, runs: &[Option<RecordedRun>]) -> Result<(Criteria, Verdict), Error> {
        let by_threads = match self.by_threads {
            ThreadAnalysis::No => false,
            ThreadAnalysis::Yes => true,
            ThreadAnalysis::IfFew => are_few(recording)?,
        };
        let ask = Criteria { path: name, by_threads, ..self.ask(runs)? };
        let verdict = verify(recording, &ask)?;
        let twin = self.twin(recording, &ask, &verdict.window, runs)?;
        Ok((ask, Verdict { twin, ..verdict }))
    }

    /// What a model makes of the launches of these runs, where that is wanted.
    fn twin(
        &self,
        recording: &Recording,
        ask: &Criteria,
        window: &Window,
        runs: &[Option<RecordedRun>],
    ) -> Result<Option<Twin>, Error> {
        if self.with_twin == TwinComparison::No {
            return Ok(None);
        }
        let own = Together::of(runs);
        let record = own.as_ref().and_then(|own| own.record);
        let given = match (&self.meant, &own) {
            (Some(ExpectedSource::Workload(workload)), Some(_)) => Some(&**workload),
            (_, Some(own)) => Some(own.workload.as_ref().map_err(Mistake::clone)?),
            (_, None) => None,
        };
        match (self.with_twin, given) {
            (TwinComparison::IfMeasured, Some(workload)) => twin::compare_measured(workload, record, recording, window),
            (TwinComparison::IfMeasured, None) => Ok(None),
            (_, Some(workload)) => twin::compare(workload, record, recording, window).map(Some),
            (_, None) => Err(Error::NoTwin { name: ask.path.clone() }),
        }
    }

    /// What is asked of a recording of these runs; `None` stands for another tool's file.
    fn ask(&self, runs: &[Option<RecordedRun>]) -> Result<Criteria, Mistake> {
        let own = Together::of(runs);
        let given = match (&self.meant, &own) {
            (Some(ExpectedSource::Pattern(meant)), own) => {
                // A workload of which only the length is wanted may be one that can no longer be read.
                let workload = own.as_ref().and_then(|own| Some((own.workload.as_ref().ok()?, own.fraction)));
                let lasts = workload.and_then(|(workload, fraction)| self.of_workload(workload, fraction).duration);
                Criteria { expected: meant.clone(), duration: lasts, ..Criteria::default() }
            }
            (Some(ExpectedSource::Workload(workload)), _) => self.of_workload(workload, 1.0),
            (None, Some(own)) => self.of_workload(own.workload.as_ref().map_err(Mistake::clone)?, own.fraction),
            (None, None) => Criteria::default(),
        };
        Ok(Criteria {
            target_rate_per_s: self.rate.map(Rate::per_sec).or(given.target_rate_per_s),
            rate_interval: given.rate_interval.filter(|_| self.rate.is_none()),
            skip_first: self.skip_first.unwrap_or(given.skip_first),
            skip_last: self.skip_last.unwrap_or(given.skip_last),
            take: self.take,
            duration: given.duration.filter(|_| own.is_none_or(|own| own.until == EndCondition::Duration)),
            failures: self.failures,
            cov_tolerance: self.pattern_tolerance,
            generator_error_tolerance: self.effect_tolerance.unwrap_or(given.generator_error_tolerance),
            late_after: self.late_tolerance,
            insecure: given.insecure || runs.iter().flatten().any(RecordedRun::is_insecure),
            seed: self.seed.unwrap_or(given.seed),
            ..given
        })
    }

    /// What the workload meant, in its own window or in the one asked for: of a changing rate the mean depends on it.
    fn of_workload(&self, workload: &Workload, fraction: f64) -> Criteria {
        let skip_first = self.skip_first.unwrap_or(workload.skip_first());
        let skip_last = self.skip_last.unwrap_or(workload.skip_last());
        let taken = self.take.map_or(Nanos::ZERO, |take| workload.duration().saturating_sub(skip_first + take));
        Criteria { skip_last, ..Criteria::from_workload_part(workload, fraction, skip_first, skip_last.max(taken)) }
    }
}

/// Whether launches come from so few users or threads, time and again, that their number is worth a look.
fn are_few(recording: &Recording) -> io::Result<bool> {
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

    /// A run of this part of the workload; without a part it was killed.
    fn own(text: &str, share: Option<&str>) -> RecordedRun {
        let share = share.map(|share| share.parse().unwrap());
        let record = share.map(|share| RunRecord { share, ..RunRecord::new(RunKind::Run, EndCondition::Duration) });
        let workload = Workload::parse(text, "w.toml", &|_| Err("there is no such file".to_owned()));
        RecordedRun { text: text.to_owned(), workload, record }
    }

    #[test]
    fn parts_of_one_workload_are_held_to_it_together_and_others_to_nothing() {
        let half = || Some(own(OPEN, Some("1/2")));
        let asked = |runs: &[Option<RecordedRun>]| VerifyOptions::default().ask(runs).unwrap();
        assert_eq!(asked(&[half()]).target_rate_per_s, Some(50.0));
        assert_eq!(asked(&[half(), half()]).target_rate_per_s, Some(100.0));
        assert_eq!(asked(&[Some(own(OPEN, None))]).target_rate_per_s, Some(100.0));
        for other in [Some(own(&OPEN.replace("100", "200"), Some("1/2"))), None] {
            let ask = asked(&[half(), other]);
            assert_eq!((ask.target_rate_per_s, ask.duration, ask.seed), (None, None, Seed(1)));
        }
    }

    #[test]
    fn a_workload_that_can_no_longer_be_read_is_missed_only_where_it_says_what_was_meant() {
        let runs = [Some(own("duration = 7", None))];
        assert!(VerifyOptions::default().ask(&runs).is_err());
        let terms = VerifyOptions { meant: Some(ExpectedSource::Pattern(ExpectedArrivals::Constant)), ..VerifyOptions::default() };
        assert_eq!(terms.ask(&runs).unwrap().duration, None);
        assert_eq!(terms.ask(&[Some(own(OPEN, None))]).unwrap().duration, Some(Nanos::from_secs(60)));
    }
}
