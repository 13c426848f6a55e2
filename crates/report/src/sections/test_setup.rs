//! The test setup: target, load, time, seed, machine.

use offered_schedule::Count;
use offered_verify::Source;

use crate::document::{Block, Cell, Section, Table, headings};
use crate::format::number;
use crate::run::Run;

/// Maximum number of requests to list.
const REQUESTS: usize = 12;

pub(super) fn section(run: &Run) -> Section {
    Section {
        id: "test".into(),
        level: 2,
        title: "Test setup".into(),
        intro: "",
        book_page: None,
        folded: true,
        blocks: vec![Block::Table(table(run)), Block::Paragraph(source(run))],
    }
}

/// Unknown values have no row.
fn table(run: &Run) -> Table {
    let setup = &run.test_setup;
    let (meant, window) = (&run.verdict.expected, run.verdict.window);
    let load = setup.target.as_ref().map(|_| match meant.target_rate_per_s {
        Some(rate) => format!("{}, {}/s", meant.arrivals, number(rate)),
        None => meant.arrivals.clone(),
    });
    let last = run.chart_data.as_ref().and_then(|chart_data| chart_data.over_time.edges_s.last().copied());
    let rows = [
        ("target", setup.target.clone()),
        ("load", load),
        ("requests", requests(&setup.requests)),
        ("started", setup.started_at.clone()),
        ("duration", setup.duration_s.map(|duration| format!("{} s", number(duration)))),
        ("limit", setup.count.map(count_text)),
        ("last request", last.map(|last| format!("after {} s", number(last)))),
        (
            "analysed",
            (window.requests > 0).then(|| format!("{} s to {} s", number(window.start_s), number(window.end_s))),
        ),
        ("seed", setup.seed.map(|seed| seed.to_string())),
        ("slice", setup.share.clone()),
        ("load machine", setup.machine.clone()),
        ("version of offered", setup.version.clone()),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some(vec![Cell::from(name), Cell::from(value?)]));
    Table { caption: "The test".into(), headings: headings(["", ""]), rows: known.collect() }
}

fn count_text(count: Count) -> String {
    match count {
        Count::Requests(n) => format!("{n} requests"),
        Count::Sessions(n) => format!("{n} sessions"),
    }
}

fn requests(all: &[String]) -> Option<String> {
    let shown = all.get(..REQUESTS).unwrap_or(all).join(", ");
    let more = all.len().saturating_sub(REQUESTS);
    (!all.is_empty()).then(|| if more > 0 { format!("{shown}, and {more} more") } else { shown })
}

/// The test setup as a sentence; `None` if the target is unknown.
pub(crate) fn summary(run: &Run) -> Option<String> {
    let setup = &run.test_setup;
    let known = [
        Some(format!("Target {}", setup.target.as_ref()?)),
        setup.started_at.as_ref().map(|at| format!("started {at}")),
        setup.duration_s.map(|duration| format!("for {} s", number(duration))),
        setup.seed.map(|seed| format!("seed {seed}")),
        setup.version.as_ref().map(|version| format!("offered {version}")),
    ];
    Some(known.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The source file as a sentence.
pub(crate) fn source(run: &Run) -> String {
    let source = &run.verdict.source;
    let stamps = source.timestamps.as_ref().map_or_else(String::new, |stamps| format!(" ({stamps})"));
    let Source { path, format, requests: rows, resolution_ms, .. } = source;
    format!("Source: {path} ({format}), {rows} requests, timestamps to {} ms{stamps}.", number(*resolution_ms))
}
