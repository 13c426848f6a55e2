//! Response times over time, by concurrency at arrival, and by request.

use offered_verify::{Pages, RequestStats};

use super::{LABELS, and_more};
use crate::chart::{Axis, Chart, Series, Shape, Style};
use crate::chart_data::{ConcurrencyAtArrival, OverTime, Percentiles};
use crate::check_counts::CheckCounts;
use crate::document::{Cell, Table, headings};
use crate::run::Run;

/// A row per request and the total. Of many requests, those with most failures and most requests.
pub(crate) fn by_request(run: &Run) -> Option<Table> {
    let (total, requests) = run.verdict.requests.split_last()?;
    let mut rows: Vec<&RequestStats> = requests.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.failed, row.requests)));
    let left_out = rows.len().saturating_sub(LABELS);
    rows.truncate(LABELS);
    rows.sort_by(|a, b| a.label.cmp(&b.label));
    // A single request equals the total.
    let shown = if rows.len() > 1 { rows } else { Vec::new() };
    let has_unsent = total.not_sent > 0;
    let row = |row: &RequestStats| {
        let times = [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(Cell::from);
        let counts = [row.requests, row.ok, row.failed_after_sending()].map(Cell::from);
        let unsent = has_unsent.then(|| Cell::from(row.not_sent));
        [Cell::from(&row.label)].into_iter().chain(times).chain(counts).chain(unsent).collect()
    };
    let mut heads = headings(["request", "p50", "p95", "p99", "max", "requests", "ok", "failed"]);
    heads.extend(has_unsent.then(|| run.verdict.not_sent_heading().into()));
    Some(Table {
        caption: and_more(
            "Response times by request (ms)",
            &format!("the {LABELS} with most failures and requests"),
            left_out,
        ),
        headings: heads,
        rows: shown.into_iter().chain([total]).map(row).collect(),
    })
}

/// Number of responses by HTTP status.
pub(crate) fn statuses(run: &Run) -> Option<Table> {
    let statuses = &run.verdict.statuses;
    let row = |(status, n): (&u16, &u64)| vec![Cell::Count(u64::from(*status)), Cell::Count(*n)];
    (!statuses.is_empty()).then(|| Table {
        caption: "HTTP statuses".into(),
        headings: headings(["status", "responses"]),
        rows: statuses.iter().map(row).collect(),
    })
}

/// Results of the workload's response checks.
pub(crate) fn checks(run: &Run) -> Option<Table> {
    let row = |tried: &CheckCounts| {
        vec![
            Cell::from(&tried.request),
            Cell::from(&tried.check),
            tried.result.into(),
            tried.responses.into(),
            tried.failed.into(),
        ]
    };
    (!run.checks.is_empty()).then(|| Table {
        caption: "Response checks, whole run".into(),
        headings: headings(["request", "check", "result", "responses", "failed"]),
        rows: run.checks.iter().map(row).collect(),
    })
}

/// p50, p95 and p99 at the middle of each bin. A percentile is omitted if one bin has too few values for it.
fn three(percentiles: &Percentiles, place: impl Fn(usize) -> f64) -> Vec<Series> {
    let line = |list: &[Option<f64>]| {
        let values: Option<Vec<f64>> = list.iter().copied().collect();
        let points = values.filter(|values| !values.is_empty())?.into_iter().enumerate();
        Some(Shape::Line(points.map(|(i, value)| [place(i), value]).collect()))
    };
    [
        ("p50", Style::Measured, &percentiles.p50_ms),
        ("p95", Style::Second, &percentiles.p95_ms),
        ("p99", Style::Failed, &percentiles.p99_ms),
    ]
    .into_iter()
    .filter_map(|(name, style, list)| Some(Series::new(name, style, line(list)?)))
    .collect()
}

pub(super) fn percentiles_over_time(over_time: &OverTime) -> Option<Chart> {
    let edges = &over_time.percentile_edges_s;
    let middle = |i: usize| f64::midpoint(edges[i], edges[i + 1]);
    // Extend the first and the last value to the edges of their intervals.
    let to_the_ends = |mut series: Series| {
        if let Shape::Line(points) = &mut series.shape
            && let (Some(&[first, at_first]), Some(&[last, at_last])) = (points.first(), points.last())
        {
            let (from, to) =
                (edges.partition_point(|edge| *edge <= first), edges.partition_point(|edge| *edge <= last));
            points.insert(0, [edges[from - 1], at_first]);
            points.push([edges[to], at_last]);
        }
        series
    };
    Chart {
        id: "percentiles-over-time".into(),
        title: "Response times over time".into(),
        caption: "p50, p95 and p99 of successful requests. Level lines show a steady state; rising lines show that a longer test would measure longer times."
            .into(),
        x: Axis::linear("time (s)"),
        y: Axis::log("response time (ms)"),
        series: three(&over_time.percentiles, middle).into_iter().map(to_the_ends).collect(),
    }
    .non_empty()
}

pub(super) fn by_concurrency(concurrency: &ConcurrencyAtArrival) -> Option<Chart> {
    let middle = |i: usize| f64::midpoint(concurrency.ranges[i][0] as f64, concurrency.ranges[i][1] as f64);
    // A single bin is not a curve.
    (concurrency.ranges.len() > 1).then_some(())?;
    Chart {
        id: "responses-by-concurrency".into(),
        title: "Response times by concurrency at arrival".into(),
        caption: "Response time by the number of requests in flight when a request arrived. A linear rise shows a queue for a shared resource; a level line shows a server with spare capacity."
            .into(),
        x: Axis::linear("requests in flight at arrival"),
        y: Axis::log("response time (ms)"),
        series: three(&concurrency.response, middle),
    }
    .non_empty()
}

/// Pages and their objects.
pub(super) fn pages(p: &Pages) -> Table {
    let row = |name: &str, n: u64, failed: u64, per_s: f64, times: [Option<f64>; 4]| {
        let counts = vec![name.into(), n.into(), failed.into(), per_s.into()];
        counts.into_iter().chain(times.map(Cell::from)).collect()
    };
    let times = [p.response_mean_ms, p.response_p50_ms, p.response_p95_ms, p.response_p99_ms].map(Some);
    Table {
        caption: "Pages, until their last object (ms), from the scheduled time".into(),
        headings: headings(["", "count", "failed", "rate/s", "mean", "p50", "p95", "p99"]),
        rows: vec![
            row("pages", p.pages, p.failed, p.pages_per_s, times),
            row("objects", p.objects, p.objects_failed, p.objects_per_s, [None; 4]),
        ],
    }
}
