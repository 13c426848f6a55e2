//! Section 1: what was tested, when, and with what.

use offered_model::Count;
use offered_verify::Source;

use crate::document::{Block, Cell, Section, Table, short};
use crate::report::Run;

/// So many kinds of requests are named.
const REQUESTS: usize = 12;

pub(super) fn section(run: &Run) -> Section {
    Section {
        id: "tested".into(),
        level: 2,
        title: "What was tested".into(),
        reading: "",
        page: None,
        blocks: vec![Block::Table(table(run)), Block::Words(source(run))],
    }
}

/// Only what is known has a row.
fn table(run: &Run) -> Table {
    let tested = &run.tested;
    let (meant, window) = (&run.verdict.meant, run.verdict.window);
    let load = tested.target.as_ref().map(|_| match meant.rate_per_s {
        Some(rate) => format!("{}, {}/s", meant.arrivals, short(rate)),
        None => meant.arrivals.clone(),
    });
    let last = run.portrait.as_ref().and_then(|portrait| portrait.over_time.edges_s.last().copied());
    let rows = [
        ("target", tested.target.clone()),
        ("load", load),
        ("requests", requests(&tested.requests)),
        ("began", tested.began.clone()),
        ("duration", tested.duration_s.map(|duration| format!("{} s", short(duration)))),
        ("at most", tested.count.map(in_words)),
        ("last launch", last.map(|last| format!("after {} s", short(last)))),
        ("judged", (window.launches > 0).then(|| format!("{} s to {} s", short(window.from_s), short(window.to_s)))),
        ("seed", tested.seed.map(|seed| seed.to_string())),
        ("share", tested.share.clone()),
        ("machine that made the load", tested.machine.clone()),
        ("made by offered", tested.version.clone()),
    ];
    let known = rows.into_iter().filter_map(|(name, value)| Some(vec![Cell::from(name), Cell::from(value?)]));
    Table { caption: "The test".into(), heads: vec!["", ""], rows: known.collect() }
}

fn in_words(count: Count) -> String {
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

/// What was tested, in a sentence; of a file without its target nothing is known.
pub(super) fn in_short(run: &Run) -> Option<String> {
    let tested = &run.tested;
    let known = [
        Some(format!("Tested: {}", tested.target.as_ref()?)),
        tested.began.as_ref().map(|began| format!("from {began}")),
        tested.duration_s.map(|duration| format!("for {} s", short(duration))),
        tested.seed.map(|seed| format!("seed {seed}")),
        tested.version.as_ref().map(|version| format!("offered {version}")),
    ];
    Some(known.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// What was read, in a sentence.
pub(super) fn source(run: &Run) -> String {
    let source = &run.verdict.source;
    let stamps = source.stamps.as_ref().map_or_else(String::new, |stamps| format!(" ({stamps})"));
    let Source { path, format, rows, resolution_ms, .. } = source;
    format!("Read from {path} ({format}): {rows} launches, stamps to {} ms{stamps}.", short(*resolution_ms))
}
