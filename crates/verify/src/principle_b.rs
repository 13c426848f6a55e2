//! Principle B of Brady and Gunther: after a test, check that the CoV of the gaps is about 1. Counts over longer times can still differ
//! from those of a Poisson process; that is a separate finding.

use offered_schedule::System;

use crate::verdict::{Check, CheckResult, Pattern, TimeStats, Verdict};
use crate::windows;

/// The significance level of each of the two findings about long times; one with a larger p-value is not mentioned.
const LEVEL: f64 = 0.025;

/// Whether Principle B of Brady and Gunther is met (the CoV of the gaps between requests is near 1), with this CoV and its 95 % confidence
/// interval.
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
    /// Whether Principle B is met. `None` with too few gaps, or if the expected arrivals are neither a Poisson process
    /// nor closed users.
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

    /// The difference of the counts over longer times from those of a Poisson process, although Principle B is met.
    /// `None` if they do not differ, or if `reason` states it.
    pub fn found_beside_principle_b(&self) -> Option<String> {
        self.principle_b().filter(|principle| principle.result == CheckResult::Passed)?;
        let finding = |check| self.finding(check).filter(|finding| finding.p_value.is_some_and(|p| p < LEVEL));
        let ladder: Vec<(f64, f64)> = self.dispersion.iter().map(|of| (of.window_s * 1e9, of.idc)).collect();
        let length_ns = self.gaps.last().map_or(0.0, |total| total.n as f64 * total.mean_ms * 1e6);
        let in_windows = finding(Check::Dispersion).and_then(|of| Some((of, windows::text(of, &ladder)?)));
        let in_spectrum =
            || finding(Check::LowFrequencies).and_then(|of| Some((of, windows::text_of_spectrum(of, length_ns)?)));
        let (finding, text) = in_windows.or_else(in_spectrum)?;
        // The reason may have the figures of the other of the two findings.
        let (_, cause) = windows::direction(finding)?;
        (!self.reason.contains(&format!(": {cause} ("))).then_some(text)
    }
}
