//! The choice of the system model, by evidence: open or closed only where it behaves like the site's own partly-open model.
//!
//! Every site is partly-open: sessions arrive, make some requests and leave. [`Recommendation::by`] takes the open or the
//! closed model for it only where, simulated at one load, the mean and the 95 % point of its responses are within
//! [`NEAR`] of those of the partly-open one under every discipline that was looked at. What cannot be told stays partly-open,
//! which is never wrong.
//!
//! [`PaperRule`] is shown beside it: principle (vii) of Schroeder, Wierman and Harchol-Balter (2006), by which a partly-open
//! system with at most five requests per session behaves like an open one, with ten or more like a closed one. That is for a C2
//! up to 4: as C2 goes to 49, the paper's cut-off moves from 5 to 20, here by a straight line between the two points and no
//! further. The paper has no second cut-off for a high C2; here it stays twice the first, as 10 is twice 5.

use offered_model::System;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Up to this part apart, two figures count as the same.
pub const NEAR: f64 = 0.1;

/// What the rule of the paper says, and from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaperRule {
    /// What it takes the site for.
    pub model: System,
    /// At most so many requests per session are open, at least so many closed.
    pub cut_offs: (f64, f64),
    /// The same rule at other timeouts.
    pub at_timeouts: Vec<Otherwise>,
    /// And without the parts of pages.
    pub pages_only: Option<Otherwise>,
}

/// What the rule of the paper says of the same log cut into other sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Otherwise {
    /// A silence longer than this ends a session.
    pub timeout_s: u64,
    /// Requests over sessions.
    pub requests_per_session: f64,
    /// What the rule takes the site for.
    pub model: System,
}

impl PaperRule {
    /// For so many requests per session at this C2 of service times (unknown: up to 4).
    pub(crate) fn of(requests_per_session: f64, scv: Option<f64>) -> Self {
        let cut = cut_off(scv);
        let round = |cut: f64| (cut * 10.0).round() / 10.0;
        let model = rule(requests_per_session, scv);
        Self { model, cut_offs: (round(cut), round(2.0 * cut)), at_timeouts: Vec::new(), pages_only: None }
    }
}

/// The model for so many requests per session at this C2 (unknown: up to 4).
pub fn rule(requests_per_session: f64, scv: Option<f64>) -> System {
    let cut = cut_off(scv);
    if requests_per_session <= cut {
        System::Open
    } else if requests_per_session >= 2.0 * cut {
        System::Closed
    } else {
        System::PartlyOpen
    }
}

/// The lower cut-off at this C2: 5 up to 4, 20 from 49 on, a straight line between.
fn cut_off(scv: Option<f64>) -> f64 {
    5.0 + 15.0 * ((scv.unwrap_or(0.0) - 4.0) / 45.0).clamp(0.0, 1.0)
}

/// Responses of one model under one discipline, over those of the partly-open model under the same: 1 is no difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Which model.
    pub model: System,
    /// Its mean response over that of the partly-open model, and the half-width of the interval of that.
    pub mean: (f64, f64),
    /// The same of the 95 % points.
    pub p95: (f64, f64),
}

impl Likeness {
    /// Whether both figures are within [`NEAR`], and known well enough to say so.
    fn is_near(&self) -> bool {
        [self.mean, self.p95].iter().all(|(ratio, half)| (ratio - 1.0).abs() <= NEAR && *half <= NEAR)
    }
}

/// A system model and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// The model to use.
    pub model: System,
    /// What decided.
    pub because: Because,
}

/// What decided for a system model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// Every session is one request: that is an open system.
    SingleRequests,
    /// The simpler model behaves like the partly-open one.
    SameResponses,
    /// Neither of the simpler models behaves like the partly-open one, or not surely.
    OtherResponses,
    /// The models were not compared.
    NotCompared,
}

impl Recommendation {
    /// For sessions of so many requests on average, by what was simulated; nothing, if nothing was.
    pub fn by(requests_per_session: f64, likenesses: &[Likeness]) -> Self {
        let near = |model: &System| {
            let mut of_model = likenesses.iter().filter(|likeness| likeness.model == *model).peekable();
            of_model.peek().is_some() && of_model.all(Likeness::is_near)
        };
        let (model, because) = match [System::Open, System::Closed].into_iter().find(near) {
            _ if requests_per_session <= 1.0 => (System::Open, Because::SingleRequests),
            _ if likenesses.is_empty() => (System::PartlyOpen, Because::NotCompared),
            Some(model) => (model, Because::SameResponses),
            None => (System::PartlyOpen, Because::OtherResponses),
        };
        Self { model, because }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_the_paper() {
        for (mean, model) in [
            (1.0, System::Open),
            (5.0, System::Open),
            (5.01, System::PartlyOpen),
            (9.99, System::PartlyOpen),
            (10.0, System::Closed),
        ] {
            assert_eq!(rule(mean, None), model);
            assert_eq!(rule(mean, Some(4.0)), model);
        }
        assert_eq!([0.0, 4.0, 26.5, 49.0, 500.0].map(|scv| cut_off(Some(scv))), [5.0, 5.0, 12.5, 20.0, 20.0]);
        assert_eq!(
            [20.0, 20.1, 39.9, 40.0].map(|mean| rule(mean, Some(49.0))),
            [System::Open, System::PartlyOpen, System::PartlyOpen, System::Closed]
        );
    }

    #[test]
    fn a_simpler_model_must_behave_like_the_site_under_every_discipline() {
        let like = |model, mean, p95| Likeness { model, mean: (mean, 0.05), p95: (p95, 0.05) };
        let by = |likenesses: &[Likeness]| Recommendation::by(15.9, likenesses).model;
        let closed = [like(System::Closed, 0.6, 0.5), like(System::Closed, 0.7, 0.6)];
        // 3.7 times too slow first come first served, right where all share: not open.
        assert_eq!(by(&[like(System::Open, 3.7, 3.9), like(System::Open, 1.01, 1.02), closed[0]]), System::PartlyOpen);
        assert_eq!(
            by(&[like(System::Open, 1.08, 1.02), like(System::Open, 1.01, 0.95), closed[0], closed[1]]),
            System::Open
        );
        assert_eq!(by(&[like(System::Open, 1.0, 1.11)]), System::PartlyOpen, "the 95 % point counts too");
        assert_eq!(by(&[like(System::Open, 2.0, 2.0), like(System::Closed, 0.95, 0.99)]), System::Closed);
        // What is not known to 10 % is no evidence.
        for (half, model) in [(0.09, System::Open), (0.11, System::PartlyOpen), (0.4, System::PartlyOpen)] {
            let known = Likeness { model: System::Open, mean: (1.0, half), p95: (1.0, half) };
            assert_eq!(by(&[known]), model, "{half}");
        }
        assert_eq!(
            Recommendation::by(3.0, &[]),
            Recommendation { model: System::PartlyOpen, because: Because::NotCompared }
        );
        assert_eq!(Recommendation::by(1.0, &[]).model, System::Open);
    }
}
