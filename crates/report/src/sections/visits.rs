//! Visits by flow, groups, requests by step, and metrics.

use offered_verify::{MetricStats, StepStats, VisitStats, VisitTimes};

use super::{LABELS, and_more};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

/// `None` if the workload makes no visits.
pub(super) fn section(run: &Run) -> Option<Section> {
    let visits = run.verdict.visits.as_ref()?;
    let tables = [Some(by_flow(visits)), groups(visits), by_step(visits)];
    Some(Section {
        id: "visits".into(),
        level: 2,
        title: "Visits".into(),
        intro: "A visit is a session of a partly-open system, or one walk of a user through a flow. It succeeds if all of its requests do. Its response time is the sum of the response times of its requests; its duration includes think times. Visits that the end of the run cut off are neither ok nor failed.",
        book_page: Some("concepts/times.md#visits"),
        folded: false,
        blocks: tables.into_iter().flatten().map(Block::Table).collect(),
    })
}

/// Counts and times of successful visits: a row per flow, and the total.
pub(crate) fn by_flow(visits: &VisitStats) -> Table {
    // A single flow equals the total.
    let shown = if visits.flows.len() == 2 { &visits.flows[1..] } else { &visits.flows[..] };
    times("flow", "Visits by flow: response time without think time, and duration with it (ms)", shown)
}

/// Counts and times of successful groups: a row per group; `None` without groups.
pub(crate) fn groups(visits: &VisitStats) -> Option<Table> {
    let caption = "Groups: response time without think time, and duration with it (ms)";
    (!visits.groups.is_empty()).then(|| times("group", caption, &visits.groups))
}

fn times(what: &'static str, caption: &str, rows: &[VisitTimes]) -> Table {
    let row = |row: &VisitTimes| {
        let (response, duration) = (row.response.as_ref(), row.duration.as_ref());
        vec![
            Cell::from(&row.label),
            row.ok.into(),
            row.failed.into(),
            row.cut.into(),
            row.success_percent().into(),
            row.mean_requests.into(),
            response.map(|of| of.p50_ms).into(),
            response.map(|of| of.p95_ms).into(),
            response.map(|of| of.p99_ms).into(),
            duration.map(|of| of.p50_ms).into(),
            duration.map(|of| of.p95_ms).into(),
            duration.map(|of| of.p99_ms).into(),
        ]
    };
    Table {
        caption: caption.into(),
        headings: headings([
            what,
            "ok",
            "failed",
            "cut off",
            "% ok",
            "requests",
            "response p50",
            "p95",
            "p99",
            "duration p50",
            "p95",
            "p99",
        ]),
        rows: rows.iter().map(row).collect(),
    }
}

/// The metrics of the workload, as a section; `None` without metrics.
pub(super) fn metrics_section(run: &Run) -> Option<Section> {
    Some(Section {
        id: "metrics".into(),
        level: 2,
        title: "Metrics".into(),
        intro: "Numbers in responses, which the workload declares as metrics.",
        book_page: Some("reference/workload.md#metrics"),
        folded: false,
        blocks: vec![Block::Table(metrics(run)?)],
    })
}

/// A row per metric; `None` without metrics.
pub(crate) fn metrics(run: &Run) -> Option<Table> {
    let row = |row: &MetricStats| {
        let values = [row.mean, row.min, row.p50, row.p90, row.p95, row.p99, row.max].map(Cell::from);
        [Cell::from(&row.metric), row.n.into(), row.missing.into()].into_iter().chain(values).collect()
    };
    (!run.verdict.metrics.is_empty()).then(|| Table {
        caption: "Metrics".into(),
        headings: headings(["metric", "responses", "missing", "mean", "min", "p50", "p90", "p95", "p99", "max"]),
        rows: run.verdict.metrics.iter().map(row).collect(),
    })
}

/// A row per step of the flows; `None` without flows.
pub(crate) fn by_step(visits: &VisitStats) -> Option<Table> {
    let row = |StepStats { step, requests: row }: &StepStats| {
        let counts = [row.requests, row.ok, row.failed].map(Cell::from);
        let times = [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(Cell::from);
        [Cell::from(step), Cell::from(&row.label)].into_iter().chain(counts).chain(times).collect()
    };
    let left_out = visits.steps.len().saturating_sub(LABELS);
    (!visits.steps.is_empty()).then(|| Table {
        caption: and_more("Response times by step (ms)", &format!("the first {LABELS} steps"), left_out),
        headings: headings(["step", "request", "requests", "ok", "failed", "p50", "p95", "p99", "max"]),
        rows: visits.steps.iter().take(LABELS).map(row).collect(),
    })
}
