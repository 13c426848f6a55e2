//! Differences between runs, and whether they are significant.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chart_data::{ConfidenceInterval, TimeDistribution};
use crate::run::Run;

/// The difference of a figure between a run and the first run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Name of the run.
    pub run: String,
    /// Name of the first run.
    pub baseline: String,
    /// The compared figure.
    pub measure: Cow<'static, str>,
    /// The run's figure minus the baseline's.
    pub difference_ms: f64,
    /// Lower end of the 95 % interval of the difference.
    pub low_ms: f64,
    /// Upper end of the interval.
    pub high_ms: f64,
    /// Whether the interval excludes zero.
    pub significant: bool,
}

/// The name of the mean response time.
pub(crate) const MEAN: &str = "mean response time";

/// A figure with its interval.
type Estimate = (f64, ConfidenceInterval);

/// The differences of mean and p95 of the response time; none for runs without intervals.
pub(crate) fn differences(runs: &[Run]) -> Vec<Difference> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let pairs = |run: &Run| Some((figures(first)?, figures(run)?));
    let of_run = |run: &Run| {
        let (near, far) = pairs(run)?;
        Some(near.into_iter().zip(far).filter_map(|(a, b)| difference(run, first, a, b)).collect::<Vec<_>>())
    };
    others.iter().filter_map(of_run).flatten().collect()
}

/// The compared figures.
fn figures(run: &Run) -> Option<[(&'static str, Option<Estimate>); 2]> {
    let spread: &TimeDistribution = run.chart_data.as_ref()?.response.as_ref()?;
    Some([
        (MEAN, spread.mean_interval_ms.map(|ends| (spread.mean_ms, ends))),
        ("p95 of the response time", spread.p95_interval_ms.map(|ends| (spread.p95_ms, ends))),
    ])
}

fn difference(
    run: &Run,
    against: &Run,
    (measure, a): (&'static str, Option<Estimate>),
    (_, b): (&'static str, Option<Estimate>),
) -> Option<Difference> {
    let ((a, near), (b, far)) = (a?, b?);
    // Independent runs: half-widths add like standard deviations.
    let half = ((near.high - near.low) / 2.0).hypot((far.high - far.low) / 2.0);
    let by_ms = b - a;
    half.is_finite().then(|| Difference {
        run: run.name.clone(),
        baseline: against.name.clone(),
        measure: measure.into(),
        difference_ms: by_ms,
        low_ms: by_ms - half,
        high_ms: by_ms + half,
        significant: by_ms.abs() > half,
    })
}

impl Difference {
    /// Whether the difference is more than chance, as text.
    pub(crate) const fn significance(&self) -> &'static str {
        if self.significant { "significant" } else { "not significant: use longer runs to resolve it" }
    }
}
