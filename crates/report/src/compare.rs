//! Comparison: does one run differ from another by more than chance?

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::short;
use crate::portrait::{Ends, Spread};
use crate::report::Run;

/// How one run's figure differs from the first run's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The run.
    pub run: String,
    /// The one it is held against.
    pub against: String,
    /// Of what.
    pub measure: Cow<'static, str>,
    /// The run's figure less the other's.
    pub by_ms: f64,
    /// The 95 % interval of that.
    pub low_ms: f64,
    /// Its upper end.
    pub high_ms: f64,
    /// Whether zero lies outside the interval.
    pub beyond_chance: bool,
}

/// The measure that is told first.
pub(crate) const MEAN: &str = "mean response";

/// A figure with its interval.
type Known = (f64, Ends);

/// The differences of mean and 95 % point of the responses; none where a run has no interval.
pub(crate) fn differences(runs: &[Run]) -> Vec<Difference> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let pairs = |run: &Run| Some((figures(first)?, figures(run)?));
    let of_run = |run: &Run| {
        let (near, far) = pairs(run)?;
        Some(near.into_iter().zip(far).filter_map(|(a, b)| difference(run, first, a, b)).collect::<Vec<_>>())
    };
    others.iter().filter_map(of_run).flatten().collect()
}

/// What is compared.
fn figures(run: &Run) -> Option<[(&'static str, Option<Known>); 2]> {
    let spread: &Spread = run.portrait.as_ref()?.response.as_ref()?;
    Some([
        (MEAN, spread.mean_interval_ms.map(|ends| (spread.mean_ms, ends))),
        ("95 % point of the responses", spread.p95_interval_ms.map(|ends| (spread.p95_ms, ends))),
    ])
}

fn difference(
    run: &Run,
    against: &Run,
    (measure, a): (&'static str, Option<Known>),
    (_, b): (&'static str, Option<Known>),
) -> Option<Difference> {
    let ((a, near), (b, far)) = (a?, b?);
    // Independent runs: the halves of their intervals add like standard deviations.
    let half = ((near.high - near.low) / 2.0).hypot((far.high - far.low) / 2.0);
    let by_ms = b - a;
    half.is_finite().then(|| Difference {
        run: run.name.clone(),
        against: against.name.clone(),
        measure: measure.into(),
        by_ms,
        low_ms: by_ms - half,
        high_ms: by_ms + half,
        beyond_chance: by_ms.abs() > half,
    })
}

impl Difference {
    /// In a sentence.
    pub fn words(&self) -> String {
        let Self { run, against, measure, by_ms, low_ms, high_ms, beyond_chance } = self;
        let way = if *by_ms > 0.0 { "longer" } else { "shorter" };
        let (least, most) = if *by_ms > 0.0 { (*low_ms, *high_ms) } else { (-high_ms, -low_ms) };
        if *beyond_chance {
            format!(
                "{run}: the {measure} is {} ms {way} than that of {against} (95 %: {} to {} ms), which chance does not explain.",
                short(by_ms.abs()),
                short(least),
                short(most)
            )
        } else {
            format!(
                "{run}: the {measure} is {} ms {way} than that of {against}, but anything from {} to {} ms may be by chance; \
                 longer runs would tell.",
                short(by_ms.abs()),
                short(*low_ms),
                short(*high_ms)
            )
        }
    }
}
