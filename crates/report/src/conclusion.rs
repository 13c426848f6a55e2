//! The conclusion of a run: its first lines, a short form of them, and whether the run passes.

use offered_experiment::RunResult;
use offered_verify::{CheckResult, Incomplete, NotCheckedReason, ThresholdResult, Validity};

use crate::document::Status;
use crate::run::Run;
use crate::verdict_lines::{Subject, VerdictLine, VerdictLines};

/// What a reader must know first.
#[derive(Clone, Debug)]
pub(crate) struct Conclusion {
    /// Failed exactly if the exit code of `offered run` is 3 or 99; of another tool's file, if it is invalid or no request succeeded.
    pub(crate) status: Status,
    /// The judgements in a few words: `passed · valid run · stable`.
    pub(crate) headline: String,
    /// The judgements with their reasons.
    pub(crate) lines: Vec<VerdictLine>,
}

impl Conclusion {
    pub(crate) fn of(run: &Run) -> Self {
        let lines = lines(run);
        let mut phrases = phrases(run, &lines);
        phrases.sort_by_key(|(status, _)| *status != Status::Failed);
        if run.verdict.validity == Validity::Invalid {
            // Nothing else counts.
            phrases.retain(|(status, _)| *status == Status::Failed);
        }
        let phrases: Vec<String> = phrases.into_iter().map(|(_, phrase)| phrase).collect();
        Self { status: status(run, &lines), headline: phrases.join(" · "), lines }
    }

    /// The headline with a capital, to stand alone.
    pub(crate) fn sentence(&self) -> String {
        let mut text = self.headline.clone();
        if let Some(first) = text.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        text
    }
}

/// The lines that every output starts with.
fn lines(run: &Run) -> Vec<VerdictLine> {
    let verdict = &run.verdict;
    let failures = run.chart_data.as_ref().map_or(&[][..], |chart_data| &chart_data.failures);
    let target_rate_per_s = verdict.expected.target_request_rate_per_s;
    // The setup of a run states its arrivals; a file of another tool has none.
    let states_expected = !verdict.expected.is_own_workload;
    VerdictLines { verdict, thresholds: &run.thresholds, failures, target_rate_per_s, states_expected }.lines()
}

fn status(run: &Run, lines: &[VerdictLine]) -> Status {
    let is = |status| lines.iter().any(|line| line.status == status);
    let fails = match run.result {
        Some(result) => result != RunResult::Passed,
        None => none_succeeded(run) || run.verdict.validity == Validity::Invalid,
    };
    if fails {
        Status::Failed
    } else if is(Status::Failed) || is(Status::Warning) {
        Status::Warning
    } else if run.verdict.validity == Validity::NotChecked {
        Status::NotChecked
    } else {
        Status::Passed
    }
}

/// Whether requests were made and none succeeded.
pub(crate) fn none_succeeded(run: &Run) -> bool {
    run.verdict.requests.last().is_some_and(|total| total.requests > 0 && total.ok == 0)
}

/// The judgements in a few words, thresholds first. A positive judgement is included only if nothing more important is.
fn phrases(run: &Run, lines: &[VerdictLine]) -> Vec<(Status, String)> {
    let has_unsent = run.verdict.requests.last().is_some_and(|total| total.not_sent > 0);
    let is_running = run.verdict.incomplete.as_ref().is_some_and(Incomplete::is_running);
    let is_closed =
        run.verdict.stability.as_ref().and_then(|of| of.not_checked_reason) == Some(NotCheckedReason::ClosedSystem);
    let other = |line: &VerdictLine| {
        let phrase = match (line.subject, line.status) {
            (Subject::Thresholds | Subject::PrincipleB, _) => return None,
            (Subject::Stability, Status::NotChecked) if is_closed => return None,
            (Subject::Validity, Status::Passed) => "valid run".to_owned(),
            (Subject::Validity, Status::Warning) => "valid run, with warnings".to_owned(),
            (Subject::Validity, Status::Failed) if is_running => "run not finished: invalid run so far".to_owned(),
            (Subject::Validity, Status::Failed) => "invalid run: do not use its results".to_owned(),
            (Subject::Validity, Status::NotChecked) => "validity not checked".to_owned(),
            (Subject::Failures, _) if none_succeeded(run) && has_unsent => "no request succeeded".to_owned(),
            (Subject::Failures, _) if none_succeeded(run) => "all requests failed".to_owned(),
            (Subject::Failures, _) => "requests failed".to_owned(),
            (Subject::End, _) => "stopped early".to_owned(),
            (Subject::Stability, Status::NotChecked) => "stability not checked".to_owned(),
            (Subject::Stability, _) => line.judgement.to_lowercase(),
        };
        Some((line.status, phrase))
    };
    of_thresholds(run).into_iter().chain(lines.iter().filter_map(other)).collect()
}

/// The results of the thresholds; `None` without thresholds, and if the run is invalid, because thresholds are then not
/// checked.
fn of_thresholds(run: &Run) -> Option<(Status, String)> {
    let all = run.thresholds.len();
    if all == 0 || run.verdict.validity == Validity::Invalid {
        return None;
    }
    let n = |result| run.thresholds.iter().filter(|checked: &&ThresholdResult| checked.result == result).count();
    let of = |n: usize| if all == 1 { "threshold".to_owned() } else { format!("{n} of {all} thresholds") };
    Some(match (n(CheckResult::Failed), n(CheckResult::NotChecked)) {
        (0, 0) => (Status::Passed, "passed".to_owned()),
        (0, unchecked) => (Status::NotChecked, format!("{} not checked", of(unchecked))),
        (failed, _) => (Status::Failed, format!("{} failed", of(failed))),
    })
}
