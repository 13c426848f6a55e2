//! How a finding is judged: it fails when it is both beyond chance and large enough to matter.
//!
//! At a million gaps every test rejects something, and at fifty nothing looks equal; so a p-value alone decides nothing. A
//! finding fails when p is below its share of the family's level *and* the effect is outside the tolerance.

use offered_stats::{Interval, Test};

use crate::verdict::{Check, Finding, CheckResult};

/// How strict the judgement is.
#[derive(Clone, Copy)]
pub(crate) struct Strictness {
    /// How often all tests together may reject a true Poisson stream.
    pub(crate) level: f64,
    /// How far a CoV may be from 1 and be as good as equal; other effects have tolerances that follow from it.
    pub(crate) tolerance: f64,
}

impl Strictness {
    /// For a foreign file 5 % in all. Where the intended instants are known the schedule is not in question, only what became
    /// of it, and a run must not be thrown away because chance drew an odd schedule: 0.1 %.
    pub(crate) fn new(intent_known: bool, tolerance: f64) -> Self {
        Self { level: if intent_known { 0.001 } else { 0.05 }, tolerance }
    }

    /// A finding by a test which has `share` of the level, with an effect that matters or not.
    pub(crate) fn finding(self, check: Check, test: Option<Test>, share: f64, effect: Size) -> Finding {
        let judgement = match test {
            None => CheckResult::NotChecked,
            Some(test) if test.p < share * self.level && effect.matters => CheckResult::Failed,
            Some(_) => CheckResult::Passed,
        };
        Finding {
            check,
            statistic: test.map(|test| test.statistic),
            p_value: test.map(|test| test.p),
            estimate: effect.estimate,
            low: effect.interval.map(|interval| interval.low),
            high: effect.interval.map(|interval| interval.high),
            result: judgement,
        }
    }
}

/// The size of an effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) estimate: Option<f64>,
    pub(crate) interval: Option<Interval>,
    /// Whether it is outside the tolerance.
    pub(crate) matters: bool,
}

impl Size {
    /// Of this size, which matters when it is further than `tolerance` from `meant`.
    pub(crate) fn of(estimate: f64, meant: f64, tolerance: f64) -> Self {
        Self { estimate: Some(estimate), interval: None, matters: (estimate - meant).abs() > tolerance }
    }

    /// With this interval.
    pub(crate) fn within(self, interval: Interval) -> Self {
        Self { interval: Some(interval), ..self }
    }
}

/// A finding without a test of significance: a plain limit on `estimate`.
pub(crate) fn limit(check: Check, estimate: f64, highest: f64) -> Finding {
    let judgement = if estimate <= highest { CheckResult::Passed } else { CheckResult::Failed };
    Finding { check, statistic: None, p_value: None, estimate: Some(estimate), low: None, high: Some(highest), result: judgement }
}
