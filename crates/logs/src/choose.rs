//! Recommendation of the system model: open or closed only if it behaves like the partly-open model of the site.
//!
//! Web sites are partly-open: sessions arrive, send some requests and leave. [`Recommendation::by`] recommends the open
//! or closed model only if, at the same load, mean and p95 of its response times are within [`SIMILARITY_TOLERANCE`] of
//! those of the partly-open model under every discipline. The 95 % intervals of the ratios decide: both ends must be
//! within the tolerance. Otherwise the recommendation is partly-open.
//!
//! [`PaperRule`] is reported as well: principle (vii) of Schroeder, Wierman and Harchol-Balter (2006), by which a
//! partly-open system with at most five requests per session behaves like an open system, and with ten or more like a
//! closed system. These cut-offs hold for a C2 up to 4. For a C2 of 49 the first cut-off of the paper is 20. Between 4
//! and 49 it is interpolated linearly; outside it is constant. The paper has no second cut-off for a high C2; here it
//! is twice the first, as 10 is twice 5.

use offered_schedule::System;
use serde::{Deserialize, Serialize};

/// Maximum relative difference of two figures that count as similar.
pub const SIMILARITY_TOLERANCE: f64 = 0.1;

/// A ratio with its 95 % confidence interval. Numerator and denominator are uncertain, unless formulas give them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioEstimate {
    /// The estimated ratio.
    pub value: f64,
    /// Lower end of the 95 % confidence interval of `value`.
    pub low: f64,
    /// Upper end of the 95 % confidence interval of `value`.
    pub high: f64,
}

/// Result of the rule of thumb in Schroeder et al. (2006).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PaperRule {
    /// System model by the rule.
    pub model: System,
    /// The two cut-offs: up to the first number of requests per session the rule gives open, from the second on closed.
    pub cutoffs: (f64, f64),
    /// Result at other session timeouts.
    pub at_timeouts: Vec<RuleResult>,
    /// Result without page assets; `null` if assets are excluded anyway.
    pub pages_only: Option<RuleResult>,
}

/// Result of the rule for other sessions of the same log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleResult {
    /// Session timeout in seconds.
    pub timeout_s: u64,
    /// Mean number of requests per session.
    pub requests_per_session: f64,
    /// System model by the rule.
    pub model: System,
}

impl PaperRule {
    /// Applies the rule to the mean number of requests per session and the C2 of service times (`None` counts as at
    /// most 4).
    pub(crate) fn of(requests_per_session: f64, scv: Option<f64>) -> Self {
        let cut = lower_cutoff(scv);
        let round = |cut: f64| (cut * 10.0).round() / 10.0;
        let model = model_by_rule(requests_per_session, scv);
        Self { model, cutoffs: (round(cut), round(2.0 * cut)), at_timeouts: Vec::new(), pages_only: None }
    }
}

/// The system model by the rule, for a mean number of requests per session and the squared coefficient of variation of
/// service times (`None` counts as at most 4).
pub fn model_by_rule(requests_per_session: f64, scv: Option<f64>) -> System {
    let cut = lower_cutoff(scv);
    if requests_per_session <= cut {
        System::Open
    } else if requests_per_session >= 2.0 * cut {
        System::Closed
    } else {
        System::PartlyOpen
    }
}

/// The first cut-off for a C2: 5 if it is at most 4, 20 if it is at least 49, linear in between.
fn lower_cutoff(scv: Option<f64>) -> f64 {
    5.0 + 15.0 * ((scv.unwrap_or(0.0) - 4.0) / 45.0).clamp(0.0, 1.0)
}

/// Response times of a model relative to those of the partly-open model under the same discipline; 1 means no
/// difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResponseRatios {
    /// The compared model.
    pub model: System,
    /// Ratio of the mean response times.
    pub mean: RatioEstimate,
    /// Ratio of the 95th percentiles.
    pub p95: RatioEstimate,
}

impl ResponseRatios {
    /// Whether the intervals of both ratios are within [`SIMILARITY_TOLERANCE`] of 1.
    fn is_similar(&self) -> bool {
        let ends = [self.mean.low, self.mean.high, self.p95.low, self.p95.high];
        ends.iter().all(|end| (end - 1.0).abs() <= SIMILARITY_TOLERANCE)
    }
}

/// The recommended system model and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// Recommended model.
    pub model: System,
    /// Reason of the recommendation.
    pub reason: RecommendationReason,
}

/// Reason of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RecommendationReason {
    /// Every session is a single request, as in an open system.
    SingleRequests,
    /// The simpler model behaves like the partly-open model.
    SameResponses,
    /// The simulations do not show that a simpler model behaves like the partly-open model.
    OtherResponses,
    /// The models were not compared.
    NotCompared,
}

impl Recommendation {
    /// Recommends a model from the mean number of requests per session and the ratios (empty if the models were not
    /// compared).
    pub fn by(requests_per_session: f64, ratios: &[ResponseRatios]) -> Self {
        let near = |model: &System| {
            let mut of_model = ratios.iter().filter(|ratios| ratios.model == *model).peekable();
            of_model.peek().is_some() && of_model.all(ResponseRatios::is_similar)
        };
        let (model, reason) = match [System::Open, System::Closed].into_iter().find(near) {
            _ if requests_per_session <= 1.0 => (System::Open, RecommendationReason::SingleRequests),
            _ if ratios.is_empty() => (System::PartlyOpen, RecommendationReason::NotCompared),
            Some(model) => (model, RecommendationReason::SameResponses),
            None => (System::PartlyOpen, RecommendationReason::OtherResponses),
        };
        Self { model, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paper_rule_has_the_cutoffs_of_the_paper() {
        for (mean, model) in [
            (1.0, System::Open),
            (5.0, System::Open),
            (5.01, System::PartlyOpen),
            (9.99, System::PartlyOpen),
            (10.0, System::Closed),
        ] {
            assert_eq!(model_by_rule(mean, None), model);
            assert_eq!(model_by_rule(mean, Some(4.0)), model);
        }
        assert_eq!([0.0, 4.0, 26.5, 49.0, 500.0].map(|scv| lower_cutoff(Some(scv))), [5.0, 5.0, 12.5, 20.0, 20.0]);
        assert_eq!(
            [20.0, 20.1, 39.9, 40.0].map(|mean| model_by_rule(mean, Some(49.0))),
            [System::Open, System::PartlyOpen, System::PartlyOpen, System::Closed]
        );
    }

    #[test]
    fn a_simpler_model_must_be_similar_under_every_discipline() {
        let known = |value: f64, half: f64| RatioEstimate { value, low: value - half, high: value + half };
        let like = |model, mean, p95| ResponseRatios { model, mean: known(mean, 0.01), p95: known(p95, 0.01) };
        let by = |ratios: &[ResponseRatios]| Recommendation::by(15.9, ratios).model;
        let closed = [like(System::Closed, 0.6, 0.5), like(System::Closed, 0.7, 0.6)];
        // Similar under processor sharing but 3.7 times slower under FCFS: not open.
        assert_eq!(by(&[like(System::Open, 3.7, 3.9), like(System::Open, 1.01, 1.02), closed[0]]), System::PartlyOpen);
        assert_eq!(
            by(&[like(System::Open, 1.08, 1.02), like(System::Open, 1.01, 0.95), closed[0], closed[1]]),
            System::Open
        );
        assert_eq!(by(&[like(System::Open, 1.0, 1.11)]), System::PartlyOpen, "p95 counts too");
        assert_eq!(by(&[like(System::Open, 2.0, 2.0), like(System::Closed, 0.95, 0.99)]), System::Closed);
        // The whole interval must be within 10 %.
        for (value, half, model) in [
            (1.0, 0.09, System::Open),
            (1.0, 0.11, System::PartlyOpen),
            (1.08, 0.03, System::PartlyOpen),
            (0.93, 0.03, System::Open),
            (1.0, f64::INFINITY, System::PartlyOpen),
        ] {
            let ratios = ResponseRatios { model: System::Open, mean: known(value, half), p95: known(1.0, 0.0) };
            assert_eq!(by(&[ratios]), model, "{value} {half}");
        }
        assert_eq!(
            Recommendation::by(3.0, &[]),
            Recommendation { model: System::PartlyOpen, reason: RecommendationReason::NotCompared }
        );
        assert_eq!(Recommendation::by(1.0, &[]).model, System::Open);
    }
}
