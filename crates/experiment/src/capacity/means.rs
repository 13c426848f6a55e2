//! The means of the metrics of all trials at one value.

use offered_stats::requirements::{IntervalRequirements, MeanRequirement};
use offered_stats::steady_state::Estimate;
use offered_workload::threshold::{Bound, Quantity, Statistic};
use offered_workload::{Objective, Threshold};

use super::trial::TrialWarning;

/// The means of the metrics of an objective, in its order, over all trials at one value.
#[derive(Default)]
pub(super) struct Means {
    /// Infinite intervals where the sizes require more responses.
    pub(super) estimates: Vec<Estimate>,
    /// Why an interval is infinite.
    pub(super) warning: Option<TrialWarning>,
}

impl Means {
    /// Means over trials with this number of `responses` in total, of a system with these requirements. Trials are independent, so
    /// that the correlation within a trial requires nothing.
    pub(super) fn new(
        mut estimates: Vec<Estimate>,
        objective: &Objective,
        requirements: &IntervalRequirements,
        responses: u64,
    ) -> Self {
        let mut warning = None;
        for (estimate, threshold) in estimates.iter_mut().zip(objective.thresholds()) {
            let needed = needed(threshold, estimate, requirements);
            if needed.is_none_or(|needed| needed > responses) {
                (estimate.low, estimate.high) = (f64::NEG_INFINITY, f64::INFINITY);
                warning = Some(TrialWarning::FewLargeSizes { metric: threshold.metric.clone(), responses, needed });
            }
        }
        Self { estimates, warning }
    }
}

/// The number of responses from which the mean of the metric has an interval; `None` if no number is enough.
fn needed(threshold: &Threshold, estimate: &Estimate, requirements: &IntervalRequirements) -> Option<u64> {
    let (Quantity::Response(statistic)
    | Quantity::ResponseOk(statistic)
    | Quantity::Service(statistic)
    | Quantity::ServiceOk(statistic)) = threshold.metric.quantity
    else {
        return Some(0);
    };
    match (statistic, requirements.mean, &requirements.large_sizes) {
        (Statistic::Mean, MeanRequirement::Responses(needed), _) => Some(needed),
        (Statistic::Mean, MeanRequirement::NoNumber | MeanRequirement::InfiniteMean, _) => None,
        (Statistic::Percentile(percent), _, Some(sizes)) => {
            // A percentile far above its limit fails as soon as the share of responses above the limit is known.
            let percentile = sizes.percentile(percent / 100.0, estimate.high);
            Some(sizes.needed_above(percentile.min(limit(&threshold.bound))))
        }
        _ => Some(0),
    }
}

/// The upper limit of a bound; infinite without one.
fn limit(bound: &Bound) -> f64 {
    match bound {
        Bound::Below(limit) | Bound::AtMost(limit) | Bound::Within(_, limit) => limit.number,
        Bound::Above(_) | Bound::AtLeast(_) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use offered_stats::requirements::LargeSizes;

    use super::*;

    /// Whether there is an interval, and the number of responses that a warning says are needed, for a metric of 0.1 +- 0.01 s and sizes of a Pareto
    /// distribution of at least 1 ms, with shape 2.
    fn found(objective: &str, percentiles: Vec<(f64, f64)>, responses: u64) -> (bool, Vec<Option<u64>>) {
        let above = |size: f64| (1e-3 / size).powi(2).min(1.0);
        let requirements = IntervalRequirements {
            mean: MeanRequirement::NoNumber,
            large_sizes: Some(LargeSizes::new(above, percentiles)),
            ..IntervalRequirements::default()
        };
        let estimate = Estimate { value: 0.09, low: 0.08, high: 0.1 };
        let Means { estimates, warning } =
            Means::new(vec![estimate], &objective.parse().unwrap(), &requirements, responses);
        let needed = warning.into_iter().map(|warning| match warning {
            TrialWarning::FewLargeSizes { needed, .. } => needed,
            other => panic!("{other:?}"),
        });
        let needed = needed.collect();
        (estimates[0].half_width().is_finite(), needed)
    }

    #[test]
    fn twenty_sizes_are_larger_than_the_percentile_or_its_limit() {
        assert_eq!(found("p99 < 250ms", Vec::new(), 200_000), (true, vec![]));
        assert_eq!(found("p99 < 250ms", Vec::new(), 199_000), (false, vec![Some(200_000)]));
        // The percentile is known to be 80 s, and the number of sizes above the limit is enough.
        assert_eq!(found("p99 < 50ms", vec![(0.99, 80.0)], 49_000), (false, vec![Some(50_000)]));
        assert_eq!(found("p99 < 250ms", vec![(0.99, 0.2)], 200_000), (false, vec![Some(800_000)]));
        assert_eq!(found("mean < 250ms", Vec::new(), u64::MAX), (false, vec![None]));
        assert_eq!(found("errors < 1%", Vec::new(), 3), (true, vec![]));
    }
}
