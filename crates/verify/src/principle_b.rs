//! Principle B of Brady and Gunther: after a test, check that the CoV of the gaps is about 1. Counts over longer times can still differ
//! from those of a Poisson process; that is a finding of its own.

use offered_schedule::System;

use crate::verdict::{Check, CheckResult, Dispersion, Pattern, TimeStats, Verdict};
use crate::windows;

/// A dispersion finding with a larger p-value, corrected for the number of windows, is not mentioned.
const LEVEL: f64 = 0.05;

/// Whether Principle B is met, with the CoV of the gaps and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipleB {
    /// Passed if the CoV is within the limits, failed if the whole interval is outside, otherwise not checked.
    pub result: CheckResult,
    cov: f64,
    interval: [f64; 2],
    limits: [f64; 2],
}

impl PrincipleB {
    /// The result in words: `met: CoV 0.981, 95 % 0.971 to 0.991 (limits 0.95 to 1.05)`.
    pub fn text(&self) -> String {
        let result = match self.result {
            CheckResult::Passed => "met",
            CheckResult::Failed => "not met",
            CheckResult::NotChecked => "not decided",
        };
        let Self { cov, interval: [low, high], limits: [least, most], .. } = self;
        format!("{result}: CoV {cov:.3}, 95 % {low:.3} to {high:.3} (limits {least:.2} to {most:.2})")
    }
}

impl Verdict {
    /// Whether Principle B is met. `None` if other arrivals are expected than those of a Poisson process or of closed users, which it is about,
    /// or with too few gaps.
    pub fn principle_b(&self) -> Option<PrincipleB> {
        let is_applicable = match self.expected.system {
            Some(System::Open) => self.expected.expected_cov == Some(1.0),
            system => system == Some(System::Closed),
        };
        if !is_applicable || matches!(self.pattern, Pattern::TooFewRequests | Pattern::SeveralRuns) {
            return None;
        }
        let TimeStats { cov, cov_low, cov_high, .. } = self.gaps.last()?;
        let (cov, interval) = (*cov, [(*cov_low)?, (*cov_high)?]);
        let tolerance = self.limits.cov_percent / 100.0;
        let limits @ [least, most] = [1.0 - tolerance, 1.0 + tolerance];
        let result = match () {
            () if (least..=most).contains(&cov) => CheckResult::Passed,
            () if interval[0] > most || interval[1] < least => CheckResult::Failed,
            () => CheckResult::NotChecked,
        };
        Some(PrincipleB { result, cov, interval, limits })
    }

    /// How the counts over longer times differ from those of a Poisson process although Principle B is met. `None` if they do not, or if
    /// `reason` says so.
    pub fn found_beside_principle_b(&self) -> Option<String> {
        self.principle_b().filter(|principle| principle.result == CheckResult::Passed)?;
        let finding = self.finding(Check::Dispersion).filter(|finding| finding.p_value.is_some_and(|p| p < LEVEL))?;
        let ladder = |of: &Dispersion| (of.window_s * 1e9, of.idc);
        let text = windows::text(finding, &self.dispersion.iter().map(ladder).collect::<Vec<_>>())?;
        (!self.reason.contains(&text)).then_some(text)
    }
}
