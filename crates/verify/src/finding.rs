//! The rule by which a finding fails: it is both statistically significant and large enough to matter.
//!
//! With a million gaps every test rejects something, and with fifty almost nothing; a p-value alone decides nothing. A
//! finding fails if p is below its share of the significance level of all tests *and* the effect exceeds the tolerance.

use offered_stats::{Interval, Test};

use crate::verdict::{Check, CheckResult, Finding};

/// The significance level and the tolerance.
#[derive(Clone, Copy)]
pub(crate) struct Strictness {
    /// The probability that any of the tests rejects a true Poisson process.
    pub(crate) level: f64,
    /// The tolerance of the CoV around 1; the tolerances of other effects follow from it.
    pub(crate) tolerance: f64,
}

impl Strictness {
    /// For files of other tools 5 % in all. If scheduled times are known, only the sending is in question, and an
    /// unusual schedule must not make a run invalid: 0.1 %.
    pub(crate) fn new(intent_known: bool, tolerance: f64) -> Self {
        Self { level: if intent_known { 0.001 } else { 0.05 }, tolerance }
    }

    /// Ten times the significance level.
    pub(crate) fn with_less_evidence(self) -> Self {
        Self { level: 10.0 * self.level, ..self }
    }

    /// The finding of a test that has `share` of the significance level, with this effect.
    pub(crate) fn finding(self, check: Check, test: Option<Test>, share: f64, effect: EffectSize) -> Finding {
        let judgement = match test {
            None => CheckResult::NotChecked,
            Some(test) if test.p_value < share * self.level && effect.matters => CheckResult::Failed,
            Some(_) => CheckResult::Passed,
        };
        Finding {
            check,
            statistic: test.map(|test| test.statistic),
            p_value: test.map(|test| test.p_value),
            estimate: effect.estimate,
            low: effect.interval.map(|interval| interval.low),
            high: effect.interval.map(|interval| interval.high),
            limit_low: effect.limits.map(|limits| limits.low),
            limit_high: effect.limits.map(|limits| limits.high),
            result: judgement,
        }
    }
}

/// The size of an effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct EffectSize {
    pub(crate) estimate: Option<f64>,
    pub(crate) interval: Option<Interval>,
    /// Estimates within these limits do not matter.
    pub(crate) limits: Option<Interval>,
    /// Whether it exceeds the tolerance.
    pub(crate) matters: bool,
}

impl EffectSize {
    /// An effect of this size; it matters if it is further than `tolerance` from `meant`.
    pub(crate) fn of(estimate: f64, meant: f64, tolerance: f64) -> Self {
        let limits = Some(Interval { low: meant - tolerance, high: meant + tolerance });
        Self { estimate: Some(estimate), interval: None, limits, matters: (estimate - meant).abs() > tolerance }
    }

    /// Adds a confidence interval.
    pub(crate) fn with_interval(self, interval: Interval) -> Self {
        Self { interval: Some(interval), ..self }
    }
}

impl Finding {
    /// The limits of `estimate`, for a sentence: `tolerated: 0.95 to 1.05`, `limit 0.10`.
    pub(crate) fn limits_text(&self) -> String {
        match (self.limit_low, self.limit_high) {
            // A size without a sign.
            (Some(low), Some(high)) if low + high == 0.0 => format!("limit {}", decimals(high, high)),
            (Some(low), Some(high)) => {
                let width = high - low;
                format!("tolerated: {} to {}", decimals(low.max(0.0), width), decimals(high, width))
            }
            (None, Some(high)) => format!("limit {}", decimals(high, high)),
            _ => "no limit".to_owned(),
        }
    }
}

/// `value` with as many decimal places as an interval of this width needs, at least two.
fn decimals(value: f64, width: f64) -> String {
    if width < 0.04 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// A finding without a significance test: an upper limit on `estimate`.
pub(crate) fn check_limit(check: Check, estimate: f64, highest: f64) -> Finding {
    let judgement = if estimate <= highest { CheckResult::Passed } else { CheckResult::Failed };
    Finding {
        check,
        statistic: None,
        p_value: None,
        estimate: Some(estimate),
        low: None,
        high: None,
        limit_low: None,
        limit_high: Some(highest),
        result: judgement,
    }
}
