//! The verdict in detail: thresholds, generator error, warnings, and the runs in one file.

use offered_verify::{GeneratorError, PercentileError, ThresholdResult};

use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

pub(super) fn section(run: &Run) -> Section {
    let mut blocks: Vec<Block> = Vec::new();
    if !run.thresholds.is_empty() {
        blocks.push(Block::Table(thresholds(&run.thresholds)));
    }
    blocks.extend(run.verdict.generator_error.as_ref().map(|effect| Block::Table(generator_error(effect))));
    if !run.verdict.runs.is_empty() {
        blocks.push(Block::Table(appended(run)));
    }
    Section {
        id: "verdict".into(),
        level: 2,
        title: "Thresholds and generator error".into(),
        intro: "A threshold counts only if the run is valid. A check that was not made is reported as not checked, never as passed. In the percentile of a threshold, a failed request counts as infinite; tables and charts contain only successful requests.",
        book_page: Some("concepts/verdict.md"),
        folded: true,
        blocks,
    }
}

/// The warnings, those that the reason of the verdict names first; `None` without any.
pub(crate) fn warnings(run: &Run) -> Option<Block> {
    let mut warnings = run.verdict.warnings.clone();
    warnings.sort_by_key(|warning| !warning.in_reason);
    (!warnings.is_empty()).then_some(Block::Warnings(warnings))
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
        headings: headings(["", "response time", "without lateness", "error %, at most", "tolerance %"]),
        rows: effect.percentiles.iter().map(row).collect(),
    }
}

pub(crate) fn thresholds(thresholds: &[ThresholdResult]) -> Table {
    let row = |checked: &ThresholdResult| {
        vec![
            Cell::from(checked.threshold.metric.to_string()),
            checked.result.into(),
            checked.threshold.bound.to_string().into(),
            checked.value_and_ok().into(),
        ]
    };
    Table {
        caption: "Thresholds of the workload".into(),
        headings: headings(["", "result", "limit", "measured"]),
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
        headings: headings(["", "validity", "requests", "rate/s", "CoV", "reason"]),
        rows: run.verdict.runs.iter().enumerate().map(row).collect(),
    }
}
