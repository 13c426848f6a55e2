//! The verdict: thresholds, stability, validity.

use offered_experiment::Failure;
use offered_verify::{
    CheckResult, GeneratorError, Incomplete, NotCheckedReason, PercentileError, StabilityState, ThresholdResult,
    Validity, Verdict,
};

use crate::document::{Banner, Block, Cell, Section, Status, Table};
use crate::format::number;
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let mut blocks = essentials(run);
    if !run.verdict.runs.is_empty() {
        blocks.push(Block::Table(appended(run)));
    }
    Section {
        id: "verdict".into(),
        level: 2,
        title: "Verdict".into(),
        intro: "Failures come first. The other results count only if the run is valid. A check that was not made is reported as not checked, never as passed.",
        book_page: Some("concepts/verdict.md"),
        blocks,
    }
}

/// Banners (failed ones first), thresholds, generator error and warnings.
pub(super) fn essentials(run: &Run) -> Vec<Block> {
    let v = &run.verdict;
    let load = Some(validity(run));
    let system = [of_thresholds(&run.thresholds), stability(v)];
    // If the run is invalid, the other results count less.
    let (first, last) = if v.validity == Validity::Invalid { (load, None) } else { (None, load) };
    let failed = failed(run);
    // That a run is incomplete comes before everything else.
    let heads = if v.incomplete.is_some() { [first, failed] } else { [failed, first] };
    let all = heads.into_iter().chain(system).chain([last]);
    let mut banners: Vec<Banner> = all.flatten().collect();
    banners.sort_by_key(|banner| banner.status != Status::Failed);
    let mut blocks: Vec<Block> = banners.into_iter().map(Block::Banner).collect();
    if !run.thresholds.is_empty() {
        blocks.push(Block::Table(thresholds(&run.thresholds)));
    }
    blocks.extend(v.generator_error.as_ref().map(|effect| Block::Table(generator_error(effect))));
    blocks.extend(warnings(run));
    blocks
}

/// The warnings, those that the reason of the verdict names first; `None` without any.
pub(crate) fn warnings(run: &Run) -> Option<Block> {
    let mut warnings = run.verdict.warnings.clone();
    warnings.sort_by_key(|warning| !warning.in_reason);
    (!warnings.is_empty()).then_some(Block::Warnings(warnings))
}

/// A banner if many requests failed, with the most frequent failure.
fn failed(run: &Run) -> Option<Banner> {
    let total = run.verdict.requests.last()?;
    let (failed, requests) = total.notable_failures()?;
    let headline = match total.ok {
        0 => "All requests failed.".to_owned(),
        _ => format!("{} of the requests failed.", percent(failed as f64 / requests as f64)),
    };
    let kinds = run.chart_data.iter().flat_map(|chart_data| &chart_data.failures);
    let most_frequent = kinds.max_by_key(|failure| failure.n).map_or_else(String::new, |failure| {
        let Failure { label, outcome, status, reason: why, n } = failure;
        let label = label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        let status = status.map_or_else(String::new, |status| format!(" {status}"));
        let why = why.as_ref().map_or_else(String::new, |error| format!(", {error}"));
        format!("; most frequent ({n}): {label}{outcome}{status}{why}")
    });
    Some(Banner {
        status: Status::Failed,
        headline,
        reason: format!("{failed} of {requests} requests failed{most_frequent}"),
    })
}

/// `52 %`, `1.2 %`.
fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.1);
    format!("{:.digits$} %", 100.0 * share)
}

fn of_thresholds(all: &[ThresholdResult]) -> Option<Banner> {
    let that = |result| all.iter().filter(move |checked| checked.result == result);
    let named = |result| {
        let each = that(result).map(|checked| format!("{}: {}", checked.threshold, checked.value_and_range()));
        each.collect::<Vec<_>>().join("; ")
    };
    let (failed, unchecked) = (that(CheckResult::Failed).count(), that(CheckResult::NotChecked).count());
    let (result, headline) = match (all.len(), failed, unchecked) {
        (0, ..) => return None,
        (1, 1, _) => (CheckResult::Failed, "The threshold failed.".to_owned()),
        (n, 1.., _) => (CheckResult::Failed, format!("{failed} of {n} thresholds failed.")),
        (1, _, 1) => (CheckResult::NotChecked, "The threshold was not checked.".to_owned()),
        (n, _, 1..) => (CheckResult::NotChecked, format!("{unchecked} of {n} thresholds were not checked.")),
        (1, ..) => (CheckResult::Passed, "The threshold passed.".to_owned()),
        (n, ..) => (CheckResult::Passed, format!("All {n} thresholds passed.")),
    };
    Some(Banner { status: result.into(), headline, reason: named(result) })
}

/// The stability of the system.
pub(crate) fn stability(v: &Verdict) -> Option<Banner> {
    let k = v.stability.as_ref()?;
    let headline = match k.state {
        StabilityState::Stable => "The system was stable.",
        StabilityState::Overloaded => "The system was overloaded.",
        StabilityState::NotChecked => "Stability was not checked.",
    };
    // The target rate is of requests, not of sessions.
    let target = v.expected.target_rate_per_s.filter(|_| v.sessions.is_none());
    let flow = format!(
        "{}sent {}/s, completed {}/s; {}",
        target.map_or_else(String::new, |rate| format!("target {}/s, ", number(rate))),
        number(k.sent_rate_per_s),
        number(k.completed_rate_per_s),
        k.in_flight_text()
    );
    let reason = match k.not_checked_reason {
        None if k.state == StabilityState::Overloaded => format!(
            "{flow}, backlog grows {}/s (99 %: {} to {}). Response times depend on the duration of the run",
            number(k.growth_per_s),
            number(k.growth_low_per_s),
            number(k.growth_high_per_s)
        ),
        None => flow,
        Some(NotCheckedReason::ClosedSystem) => {
            "users wait for their responses, so they cannot overload the system".to_owned()
        }
        Some(NotCheckedReason::TooFewRequests) => format!("fewer than 100 requests: {flow}"),
        Some(NotCheckedReason::TooManyFailures) => {
            format!("{flow}: failed requests may have been rejected instead of served")
        }
        Some(NotCheckedReason::RunTooShort) => format!("{flow}: the run is too short"),
    };
    Some(Banner { status: k.state.into(), headline: headline.to_owned(), reason })
}

/// The validity of the run.
fn validity(run: &Run) -> Banner {
    let v = &run.verdict;
    let headline = match v.validity {
        Validity::Valid => "The run is valid: requests were sent as scheduled.",
        Validity::ValidWithWarnings => {
            "The run is valid, with warnings: the generator's timing errors are within the tolerance."
        }
        Validity::Invalid if v.incomplete.is_some() => "The run is incomplete: do not use its results.",
        Validity::Invalid => "The run is invalid: do not use its results.",
        Validity::NotChecked => "Validity was not checked: the expected arrivals are unknown or the run is too short.",
    };
    let coverage = v.incomplete.as_ref().and_then(Incomplete::coverage);
    let coverage = coverage.map_or_else(String::new, |coverage| format!("; {coverage}"));
    Banner { status: v.validity.into(), headline: headline.to_owned(), reason: format!("{}{coverage}", v.reason) }
}

/// The generator error by percentile.
pub(crate) fn generator_error(effect: &GeneratorError) -> Table {
    let row = |share: &PercentileError| {
        vec![
            Cell::from(format!("p{}", share.percentile)),
            share.response_ms.into(),
            share.service_ms.into(),
            (100.0 * share.upper_bound()).into(),
            (100.0 * effect.tolerance).into(),
        ]
    };
    Table {
        caption: "Generator error of the response time (ms)".into(),
        headings: vec!["", "response time", "without lateness", "error %, at most", "tolerance %"],
        rows: effect.percentiles.iter().map(row).collect(),
    }
}

pub(crate) fn thresholds(thresholds: &[ThresholdResult]) -> Table {
    let row = |checked: &ThresholdResult| {
        vec![
            Cell::from(checked.threshold.metric.to_string()),
            checked.result.into(),
            checked.threshold.bound.to_string().into(),
            checked.value_text().into(),
        ]
    };
    Table {
        caption: "Thresholds of the workload".into(),
        headings: vec!["", "result", "limit", "measured"],
        rows: thresholds.iter().map(row).collect(),
    }
}

/// The runs in one file.
fn appended(run: &Run) -> Table {
    let row = |(i, part): (usize, &offered_verify::Verdict)| {
        vec![
            Cell::from(format!("part {}", i + 1)),
            part.validity.into(),
            part.window.requests.into(),
            part.queue.rate_per_s.into(),
            part.gaps.last().map(|total| total.cov).into(),
            Cell::from(&part.reason),
        ]
    };
    Table {
        caption: "The runs in this file".into(),
        headings: vec!["", "validity", "requests", "rate/s", "CoV", "reason"],
        rows: run.verdict.runs.iter().enumerate().map(row).collect(),
    }
}
