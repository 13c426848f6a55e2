//! The first lines of `run` and `verify`: validity, thresholds and stability, each with its reason.

use std::fmt;

use offered_report::format::{optional, rate};
use offered_verify::{
    CheckResult, Incomplete, NotCheckedReason, Stability, StabilityState, ThresholdResult, UncheckedReason, Validity,
    Warning,
};

use crate::messages;
use crate::table::wrapped;

/// Maximum width of a line, in characters.
const WIDTH: usize = 80;

/// Lines that start with a judgement. The texts are aligned and wrapped at 80 columns.
#[derive(Default)]
pub(crate) struct VerdictLines {
    rows: Vec<(&'static str, String)>,
}

impl VerdictLines {
    /// Adds a line; an empty `judgement` continues the previous line.
    pub(crate) fn add(&mut self, judgement: &'static str, text: impl Into<String>) {
        self.rows.push((judgement, text.into()));
    }

    /// Adds the validity with its reason, the part of an incomplete run that was judged, and the fixes of the warnings that the reason names.
    pub(crate) fn validity(
        &mut self,
        validity: Validity,
        reason: &str,
        incomplete: Option<&Incomplete>,
        warnings: &[Warning],
    ) {
        self.add(
            match validity {
                Validity::Valid => "VALID",
                Validity::ValidWithWarnings => "VALID, WITH WARNINGS",
                Validity::Invalid => "INVALID",
                Validity::NotChecked => "NOT CHECKED",
            },
            reason,
        );
        if let Some(coverage) = incomplete.and_then(Incomplete::coverage) {
            self.add("", coverage);
        }
        for warning in warnings.iter().filter(|warning| warning.in_reason) {
            self.add("", format!("fix: {}", messages::fix(warning)));
        }
    }

    /// Adds the thresholds: failed ones, unchecked ones, then all passed ones in one line. With `valid` false none is checked.
    pub(crate) fn thresholds(&mut self, thresholds: &[ThresholdResult], valid: bool) {
        let joined = |texts: Vec<String>| texts.join(" · ");
        if !valid && !thresholds.is_empty() {
            let names = joined(thresholds.iter().map(|threshold| threshold.threshold.to_string()).collect());
            let reason = thresholds.iter().find_map(|threshold| threshold.not_checked_reason);
            let reason = reason.filter(|reason| *reason == UncheckedReason::NeedsWholeRun);
            let reason = reason.map_or("needs a valid run", UncheckedReason::text);
            return self.add("NOT CHECKED", format!("{names} ({reason})"));
        }
        let text = |threshold: &ThresholdResult| format!("{}: {}", threshold.threshold, threshold.value_and_range());
        for (result, judgement) in [(CheckResult::Failed, "FAILED"), (CheckResult::NotChecked, "NOT CHECKED")] {
            thresholds
                .iter()
                .filter(|threshold| threshold.result == result)
                .for_each(|of| self.add(judgement, text(of)));
        }
        let passed: Vec<String> =
            thresholds.iter().filter(|threshold| threshold.result == CheckResult::Passed).map(text).collect();
        if !passed.is_empty() {
            self.add("PASSED", joined(passed));
        }
    }

    /// Adds the stability. A closed system is always stable and gets no line.
    pub(crate) fn stability(&mut self, stability: Option<&Stability>, target_rate_per_s: Option<f64>) {
        let Some(of) = stability else { return };
        let target = target_rate_per_s.map_or_else(String::new, |target| format!("target {}, ", rate(target)));
        let rates = format!("{target}sent {}, completed {}", rate(of.sent_rate_per_s), rate(of.completed_rate_per_s));
        match (of.state, of.not_checked_reason) {
            (StabilityState::Stable, _) => self.add("STABLE", format!("{rates}; {}", of.in_flight_text())),
            (StabilityState::Overloaded, _) => {
                let growth = [of.growth_low_per_s, of.growth_high_per_s].map(|end| optional(Some(end)));
                let [low, high] = growth;
                self.add(
                    "OVERLOADED",
                    format!(
                        "{rates}: backlog grows {} (99 %: {low} to {high}), {}; response times depend on the duration",
                        rate(of.growth_per_s),
                        of.in_flight_text()
                    ),
                );
            }
            (StabilityState::NotChecked, Some(NotCheckedReason::ClosedSystem)) => {}
            (StabilityState::NotChecked, reason) => {
                let reason = match reason {
                    Some(NotCheckedReason::TooManyFailures) => "too many requests failed",
                    Some(NotCheckedReason::TooFewRequests) => "fewer than 100 requests",
                    _ => "the run is too short",
                };
                self.add("NOT CHECKED", format!("stability: {reason}; {rates}, {}", of.in_flight_text()));
            }
        }
    }
}

impl fmt::Display for VerdictLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(judgement, _)| judgement.len()).max().unwrap_or(0);
        self.rows.iter().try_for_each(|(judgement, text)| wrapped(f, &format!("{judgement:width$}  "), text, WIDTH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stability(state: StabilityState, not_checked_reason: Option<NotCheckedReason>) -> Stability {
        Stability {
            state,
            not_checked_reason,
            sent_rate_per_s: 150.0,
            completed_rate_per_s: 88.0,
            in_flight_at_start: 0,
            in_flight_at_end: 620,
            timed_out: 0,
            growth_per_s: 62.0,
            growth_low_per_s: 52.0,
            growth_high_per_s: 76.0,
        }
    }

    #[test]
    fn judgements_come_first_and_their_texts_are_aligned() {
        let mut lines = VerdictLines::default();
        lines.validity(Validity::Invalid, "the generator was saturated from 12.3 s on", None, &[]);
        lines.stability(Some(&stability(StabilityState::Overloaded, None)), Some(150.0));
        let text = lines.to_string();
        assert!(text.starts_with("INVALID     the generator was saturated from 12.3 s on\n"), "{text}");
        let overloaded = "OVERLOADED  target 150/s, sent 150/s, completed 88/s: backlog grows 62/s (99 %:";
        assert!(text.contains(overloaded), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_closed_system_has_no_stability_line() {
        let mut lines = VerdictLines::default();
        lines.stability(Some(&stability(StabilityState::NotChecked, Some(NotCheckedReason::ClosedSystem))), None);
        assert_eq!(lines.to_string(), "");
    }
}
