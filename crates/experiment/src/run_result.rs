//! The result of a run, which decides the exit code of `run`, `verify` and `watch`.

use offered_events::recording::{End, Evidence};
use offered_verify::{RequestStats, ThresholdResult, Validity, Verdict};

offered_base::named! {
    /// The result of a run.
    #[derive(PartialOrd, Ord)]
    pub enum RunResult {
        /// The run may be used, at least one request succeeded, and all thresholds passed.
        Passed = "passed",
        /// A threshold failed, no request succeeded, or a failure stopped the run.
        Failed = "failed",
        /// The run is invalid, or a threshold could not be checked. An invalid run can neither pass nor fail.
        Invalid = "invalid",
    }
}

impl RunResult {
    /// The result of a run with this verdict and these thresholds. `generator` has the reason if the run stopped
    /// itself.
    pub fn of(verdict: &Verdict, thresholds: &[ThresholdResult], generator: Option<&Evidence>) -> Self {
        let none_succeeded =
            verdict.requests.last().is_some_and(|RequestStats { requests, ok, .. }| *requests > 0 && *ok == 0);
        let halted = generator.and_then(|generator| generator.halted.as_ref()).map(|halted| halted.end);
        if verdict.incomplete.is_some() {
            Self::Invalid
        } else if none_succeeded && verdict.window.requests > 0 {
            // All sent requests failed, however late they were.
            Self::Failed
        } else if verdict.validity == Validity::Invalid {
            Self::Invalid
        } else if none_succeeded || matches!(halted, Some(End::RequestFailed | End::Threshold)) {
            Self::Failed
        } else {
            Self::of_thresholds(thresholds)
        }
    }

    /// The result of a valid run. Thresholds that only all workers together can decide do not count.
    fn of_thresholds(thresholds: &[ThresholdResult]) -> Self {
        // The lateness of the generator may have decided it.
        let is_open = |checked: &ThresholdResult| checked.possible_range.is_some();
        if thresholds.iter().any(|checked| !checked.passed_here() && !is_open(checked)) {
            Self::Failed
        } else if thresholds.iter().any(is_open) {
            Self::Invalid
        } else {
            Self::Passed
        }
    }
}
