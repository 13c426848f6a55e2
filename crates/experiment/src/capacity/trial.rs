//! One trial: a run or a simulation of the workload at one value, with its own seed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_events::{Event, Recording};
use offered_verify::{Check, Validity, Verdict};
use offered_workload::Objective;
use offered_workload::threshold::Metric;

use crate::recorded_simulation::simulated;
use crate::run::{FinishedRun, RunPlan};
use crate::summary::measurements;
use crate::{Error, Point, ProgressObserver};

/// The value of an infinite metric: larger than any bound, but finite so that means exist.
const INFINITE: f64 = 1e9;
/// Minimum number of values above a percentile; with fewer the percentile is mostly chance.
const MIN_ABOVE: f64 = 5.0;

/// A warning about valid trials.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialWarning {
    /// A percentile has too few values.
    TooShort {
        /// The percentile.
        metric: Metric,
        /// The number of responses of a trial.
        responses: u64,
        /// The number of responses above the percentile.
        above: f64,
    },
    /// A trial is valid with warnings.
    ValidWithWarnings {
        /// The reason in its verdict.
        reason: String,
    },
    /// Single large sizes cause most long responses, and the simulations at one value have too few of them.
    FewLargeSizes {
        /// The metric.
        metric: Metric,
        /// The number of responses of all simulations at the value.
        responses: u64,
        /// The number that is enough; `None`: no number is.
        needed: Option<u64>,
    },
}

impl TrialWarning {
    /// The message and the fix.
    pub fn text(&self) -> String {
        match self {
            Self::TooShort { metric, responses, above } => {
                format!("a trial has only {responses} responses, {above:.0} of them above {metric}; increase duration")
            }
            Self::ValidWithWarnings { reason } => format!("a trial is valid with warnings: {reason}"),
            Self::FewLargeSizes { metric, responses, needed: Some(needed) } => format!(
                "single large service times cause most long responses, and the {responses} responses of all simulations at a value have too few of them for {metric}: {needed} responses are enough; increase duration"
            ),
            Self::FewLargeSizes { metric, needed: None, .. } => format!(
                "the service distribution has a tail so heavy that {metric} has no confidence interval, however long the simulations; use percentiles, or limit the sizes with `within`"
            ),
        }
    }
}

/// Why a trial is invalid.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InvalidTrial {
    /// The failed checks.
    pub(super) failed_checks: Vec<Check>,
    /// The reason in its verdict.
    pub(super) reason: String,
}

impl InvalidTrial {
    fn new(verdict: &Verdict) -> Self {
        let failed = verdict.findings.iter().filter(|finding| finding.failed()).map(|finding| finding.check);
        Self { failed_checks: failed.collect(), reason: verdict.reason.clone() }
    }
}

/// The outcome of a trial.
pub(super) enum Trial {
    /// The metrics of the objective, in its order, and the number of responses.
    Metrics { metrics: Vec<f64>, responses: u64, warning: Option<TrialWarning> },
    /// The run is invalid.
    Invalid(InvalidTrial),
    /// A simulation with a queue that would grow without bound.
    Overloaded,
}

impl Trial {
    /// Simulates a trial.
    pub(super) fn simulated(point: &Point, objective: &Objective) -> Result<Self, Error> {
        if point.instability()?.is_some() {
            return Ok(Self::Overloaded);
        }
        let (recording, verdict) = simulated(&point.workload, point.name()).map_err(Error::at(point.name()))?;
        Self::of(point, objective, &recording, &verdict)
    }

    /// Runs a trial.
    pub(super) fn run(
        point: &Point,
        objective: &Objective,
        stop: &Arc<AtomicBool>,
        observer: &mut dyn ProgressObserver,
    ) -> Result<Self, Error> {
        let made = RunPlan::for_point(point, None).prepare(stop.clone())?.run(observer.views())?;
        let FinishedRun { summary, verdict, recording, stats, .. } = made;
        if let Some(halted) = stats.halted {
            return Err(Error::Halted(halted.reason));
        }
        if stats.stopped {
            return Err(Error::Stopped);
        }
        if !summary.is_valid() {
            return Ok(Self::Invalid(InvalidTrial::new(&verdict)));
        }
        Self::of(point, objective, &recording, &verdict)
    }

    /// The metrics of a valid trial.
    fn of(point: &Point, objective: &Objective, recording: &Recording, verdict: &Verdict) -> Result<Self, Error> {
        let workload = &point.workload;
        let measured = measurements(workload, recording, verdict, workload.counted());
        let metrics = objective.thresholds().iter().map(|threshold| {
            let figure = measured.estimate(&threshold.metric)?.map(|figure| figure.value.min(INFINITE));
            figure.ok_or_else(|| Error::at(point.name())(Error::NothingToMeasure(threshold.metric.to_string())))
        });
        let warning = (verdict.validity == Validity::ValidWithWarnings)
            .then(|| TrialWarning::ValidWithWarnings { reason: verdict.reason.clone() });
        let metrics = metrics.collect::<Result<_, _>>()?;
        let responses = measured.times_with_failures(Event::response, None)?.len();
        Ok(Self::Metrics { metrics, responses, warning: too_short(objective, responses).or(warning) })
    }
}

/// A warning if the trial is too short for the percentiles of the objective.
fn too_short(objective: &Objective, n: u64) -> Option<TrialWarning> {
    objective.thresholds().iter().find_map(|threshold| {
        let p = threshold.metric.quantity.percentile()?;
        let above = n as f64 * (1.0 - p / 100.0);
        let metric = &threshold.metric;
        (above < MIN_ABOVE).then(|| TrialWarning::TooShort { metric: metric.clone(), responses: n, above })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WorkloadSource, points};

    #[test]
    fn a_server_without_a_steady_state_at_any_load_is_an_error_and_no_overload() {
        let simulated = |rates: &str| {
            let server =
                format!("{{ discipline = \"ps\", service = {{ exponential = \"10ms\" }}, rates = {{ {rates} }} }}");
            let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\nserver = {server}\n");
            let input = WorkloadSource::new("w.toml".to_owned(), text, |_| Err(String::new()));
            let point = points(&input, &["rate=2000".parse().unwrap()]).unwrap().remove(0);
            Trial::simulated(&point, &"response.p95 < 1s".parse().unwrap())
        };
        assert!(matches!(simulated("contention = 0.1"), Ok(Trial::Overloaded)));
        let reason = simulated("contention = 0.1, coherency = 0.02").err().unwrap().to_string();
        assert!(
            reason.contains("no steady state at any rate; limit the number of requests with `capacity`"),
            "{reason}"
        );
    }
}
