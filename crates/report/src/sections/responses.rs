//! Section 3: what came back, over time, against the number in the system, and by request.

use offered_verify::{Pages, Request};

use super::{LABELS, and_more};
use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::checks::Tried;
use crate::document::{Block, Cell, Section, Table};
use crate::portrait::{InSystem, OverTime, Percentiles};
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let portrait = run.portrait.as_ref();
    let charts = [
        portrait.and_then(|portrait| course(&portrait.over_time)),
        portrait.and_then(|portrait| against_number(portrait.in_system.as_ref()?)),
    ];
    let pages = portrait.and_then(|portrait| portrait.pages.as_ref()).map(pages);
    let tables = [by_request(run), statuses(run), checks(run), pages].into_iter().flatten().map(Block::Table);
    Section {
        id: "responses".into(),
        level: 2,
        title: "Responses".into(),
        reading: "What a person waits: counted from the instant a launch was meant, of good answers. What failed is counted apart.",
        page: Some("concepts/times.md"),
        blocks: charts.into_iter().flatten().map(Block::Chart).chain(tables).collect(),
    }
}

/// A row per request, the total last; of many only those that failed or launched most.
pub(super) fn by_request(run: &Run) -> Option<Table> {
    let (total, requests) = run.verdict.requests.split_last()?;
    let mut rows: Vec<&Request> = requests.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.failed, row.launches)));
    let left_out = rows.len().saturating_sub(LABELS);
    rows.truncate(LABELS);
    rows.sort_by(|a, b| a.label.cmp(&b.label));
    // The only request is the total.
    let shown = if rows.len() > 1 { rows } else { Vec::new() };
    let row = |row: &Request| {
        let times = [row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(Cell::from);
        let counts = [row.launches, row.ok, row.failed].map(Cell::from);
        [Cell::from(&row.label)].into_iter().chain(times).chain(counts).collect()
    };
    Some(Table {
        caption: and_more("Responses by request (ms)", &format!("the {LABELS} that failed or launched most"), left_out),
        heads: vec!["request", "p50", "p95", "p99", "max", "launches", "ok", "failed"],
        rows: shown.into_iter().chain([total]).map(row).collect(),
    })
}

/// How many answers had each status.
pub(super) fn statuses(run: &Run) -> Option<Table> {
    let statuses = &run.verdict.statuses;
    let row = |(status, n): (&u16, &u64)| vec![Cell::Count(u64::from(*status)), Cell::Count(*n)];
    (!statuses.is_empty()).then(|| Table {
        caption: "HTTP statuses".into(),
        heads: vec!["status", "answers"],
        rows: statuses.iter().map(row).collect(),
    })
}

/// What became of the checks that the workload makes of its answers.
pub(super) fn checks(run: &Run) -> Option<Table> {
    let row = |tried: &Tried| {
        vec![
            Cell::from(&tried.request),
            Cell::from(&tried.check),
            tried.judgement.into(),
            tried.answers.into(),
            tried.failed.into(),
        ]
    };
    (!run.checks.is_empty()).then(|| Table {
        caption: "Checks of the answers, the whole run".into(),
        heads: vec!["request", "check", "judgement", "answers", "failed it"],
        rows: run.checks.iter().map(row).collect(),
    })
}

/// p50, p95 and p99 at the middle of each place, where there were enough values.
fn three(percentiles: &Percentiles, place: impl Fn(usize) -> f64) -> Vec<Series> {
    let line = |list: &[Option<f64>]| {
        Shape::Line(list.iter().enumerate().filter_map(|(i, value)| Some([place(i), (*value)?])).collect())
    };
    [
        ("p50", Ink::Measured, &percentiles.p50_ms),
        ("p95", Ink::Second, &percentiles.p95_ms),
        ("p99", Ink::Failed, &percentiles.p99_ms),
    ]
    .into_iter()
    .map(|(name, ink, list)| Series::new(name, ink, line(list)))
    .filter(|series| !matches!(&series.shape, Shape::Line(points) if points.is_empty()))
    .collect()
}

pub(super) fn course(over_time: &OverTime) -> Option<Chart> {
    let edges = &over_time.percentile_edges_s;
    let middle = |i: usize| f64::midpoint(edges[i], edges[i + 1]);
    // What is said of a moment is said from its beginning to its end: so are the first and the last.
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
        title: "Percentiles over time".into(),
        reading: "The median and the slow ends of the good answers, moment by moment. Lines that stay level are a steady state; lines \
                  that climb to the end say that a longer test would have found longer times."
            .into(),
        x: Axis::linear("time since the first launch (s)"),
        y: Axis::log("response (ms)"),
        series: three(&over_time.percentiles, middle).into_iter().map(to_the_ends).collect(),
    }
    .some()
}

fn against_number(in_system: &InSystem) -> Option<Chart> {
    let middle = |i: usize| f64::midpoint(in_system.found[i][0] as f64, in_system.found[i][1] as f64);
    // One number alone is no course.
    (in_system.found.len() > 1).then_some(())?;
    Chart {
        id: "responses-against-number".into(),
        title: "Responses against the number in the system".into(),
        reading: "What a launch waited, by how many it found before it. A straight rise is a queue for something shared; a level line \
                  is a server with room."
            .into(),
        x: Axis::linear("requests found under way"),
        y: Axis::log("response (ms)"),
        series: three(&in_system.response, middle),
    }
    .some()
}

/// Pages and their objects.
fn pages(p: &Pages) -> Table {
    let row = |name: &str, n: u64, failed: u64, per_s: f64, times: [Option<f64>; 4]| {
        let counts = vec![name.into(), n.into(), failed.into(), per_s.into()];
        counts.into_iter().chain(times.map(Cell::from)).collect()
    };
    let times = [p.response_mean_ms, p.response_p50_ms, p.response_p95_ms, p.response_p99_ms].map(Some);
    Table {
        caption: "Pages, until their last object is there (ms), from the instant meant".into(),
        heads: vec!["", "count", "failed", "per s", "mean", "p50", "p95", "p99"],
        rows: vec![
            row("pages", p.pages, p.failed, p.pages_per_s, times),
            row("objects", p.objects, p.objects_failed, p.objects_per_s, [None; 4]),
        ],
    }
}
