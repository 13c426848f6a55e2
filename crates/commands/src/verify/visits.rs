//! Visits by flow, groups, and requests by step.

use std::fmt::{self, Formatter};

use offered_base::{count, short};
use offered_verify::{MetricStats, StepStats, TimeSummary, Verdict, VisitTimes};

use crate::table::{Table, clipped, maybe};

/// Writes a row per flow, group and step, and a row per metric; nothing if there are none.
pub(crate) fn write(f: &mut Formatter<'_>, v: &Verdict) -> fmt::Result {
    if !v.metrics.is_empty() {
        write!(f, "\nMetrics\n{}", metrics(&v.metrics))?;
    }
    let Some(visits) = &v.visits else { return Ok(()) };
    // A single flow equals the total.
    let flows = if visits.flows.len() == 2 { &visits.flows[1..] } else { &visits.flows[..] };
    write!(f, "\nVisits (ms)\n{}", rows("flow", flows))?;
    if !visits.groups.is_empty() {
        write!(f, "\nGroups (ms)\n{}", rows("group", &visits.groups))?;
    }
    if visits.steps.is_empty() {
        return Ok(());
    }
    write!(f, "\nRequests by step (ms)\n{}", by_step(&visits.steps))
}

fn rows(what: &'static str, all: &[VisitTimes]) -> Table {
    let heads = [what, "ok", "failed", "cut off", "requests", "p50", "p95", "p99", "with think p50", "with think p95"];
    let mut table = Table::new(heads);
    for row in all {
        let response = |of: fn(&TimeSummary) -> f64| maybe(row.response.as_ref().map(of), 1);
        let duration = |of: fn(&TimeSummary) -> f64| maybe(row.duration.as_ref().map(of), 1);
        table.row([
            clipped(&row.label),
            count(row.ok),
            count(row.failed),
            count(row.cut),
            maybe(row.mean_requests, 2),
            response(|of| of.p50_ms),
            response(|of| of.p95_ms),
            response(|of| of.p99_ms),
            duration(|of| of.p50_ms),
            duration(|of| of.p95_ms),
        ]);
    }
    table
}

fn metrics(all: &[MetricStats]) -> Table {
    let mut table = Table::new(["metric", "n", "missing", "mean", "min", "p50", "p95", "p99", "max"]);
    for MetricStats { metric, n, missing, mean, min, p50, p95, p99, max, .. } in all {
        let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
        let [mean, min, p50, p95, p99, max] = [*mean, *min, *p50, *p95, *p99, *max].map(text);
        table.row([clipped(metric), count(*n), count(*missing), mean, min, p50, p95, p99, max]);
    }
    table
}

fn by_step(steps: &[StepStats]) -> Table {
    let mut table = Table::new(["step", "request", "requests", "ok", "failed", "p50", "p95", "p99", "max"]);
    for StepStats { step, requests: row } in steps {
        let [p50, p95, p99, max] = [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(|ms| maybe(ms, 1));
        let [requests, ok, failed] = [row.requests, row.ok, row.failed].map(count);
        table.row([clipped(step), clipped(&row.label), requests, ok, failed, p50, p95, p99, max]);
    }
    table
}
