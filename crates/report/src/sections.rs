//! The sections of a report: text, tables and charts of each aspect of a run.

pub(crate) mod arrivals;
mod attempts;
pub(crate) mod compare;
pub(crate) mod comparison;
mod failed_exchanges;
pub(crate) mod failures;
mod policies;
mod queue;
pub(crate) mod responses;
pub(crate) mod scenarios;
mod server;
pub(crate) mod site;
mod summary;
pub(crate) mod sweep;
pub(crate) mod test_setup;
mod times;
mod twin;
pub(crate) mod verdict;
pub(crate) mod visits;

use std::borrow::Cow;

use offered_verify::{TimeStats, Warning};

use crate::conclusion::Conclusion;
use crate::document::{Block, Cell, Document, Section, Table};
use crate::report::Report;
use crate::run::Run;

/// Maximum number of labels in a chart or table, the most frequent first.
const LABELS: usize = 30;

/// The source of the numbers, as HTML.
const SOURCE: &str = include_str!("../templates/source.html");

/// The full report as a document: the conclusion and the most important sections first, all other sections folded.
pub fn document(report: &Report) -> Document {
    let mut sections = match &report.runs[..] {
        [] => Vec::new(),
        [run] => of_run(run),
        runs => {
            let each = runs.iter().enumerate().flat_map(|(number, run)| of_several(number, run));
            comparison::sections(report).into_iter().chain(each).collect()
        }
    };
    sections.extend(others(report));
    let (facts, conclusion) = match (&report.runs[..], &report.comparisons[..]) {
        ([run], _) => (summary::facts(run, &title(report)), Conclusion::of(run).headline),
        ([], [one]) => (compare::facts(one), one.judgement().to_owned()),
        _ => (String::new(), String::new()),
    };
    Document::new(title(report), sections, SOURCE).with_subtitle(facts, conclusion)
}

/// The sections of one run.
fn of_run(run: &Run) -> Vec<Section> {
    let open = [
        Some(summary::section(run)),
        scenarios::section(run),
        failures::section(run),
        warnings(run),
        visits::section(run),
        visits::metrics_section(run),
        attempts::section(run),
        policies::section(run),
    ];
    let folded = [
        Some(verdict::section(run)).filter(|section| !section.blocks.is_empty()),
        failed_exchanges::section(run),
        Some(times::section(run)),
        server::section(run),
        twin::section(run),
        Some(queue::section(run)),
        Some(test_setup::section(run)),
        Some(arrivals::section(run)),
    ];
    open.into_iter().chain(folded).flatten().collect()
}

/// The sections of one of several runs, below its name.
fn of_several(number: usize, run: &Run) -> Vec<Section> {
    let head = Section {
        id: comparison::id(number),
        level: 2,
        title: format!("Run {}: {}: {}", number + 1, run.name, Conclusion::of(run).headline),
        intro: "",
        book_page: None,
        folded: true,
        blocks: vec![Block::Paragraph(summary::facts(run, &run.name))],
    };
    let part = |part: Section| Section { id: format!("{}-{}", part.id, number + 1), level: 3, ..part };
    [head].into_iter().chain(of_run(run).into_iter().map(part)).collect()
}

/// The warnings and notes, without those that the card of the verdict shows.
fn warnings(run: &Run) -> Option<Section> {
    let mut rest: Vec<_> = run.verdict.warnings.iter().filter(|warning| !warning.in_reason).cloned().collect();
    rest.sort_by_key(Warning::is_note);
    let title = match (rest.first()?.is_note(), rest.last()?.is_note()) {
        (true, _) => "Notes",
        (false, true) => "Warnings and notes",
        (false, false) => "Warnings",
    };
    Some(Section {
        id: "warnings".into(),
        level: 2,
        title: title.into(),
        intro: "",
        book_page: None,
        folded: false,
        blocks: vec![Block::Warnings(rest)],
    })
}

/// Sweeps, comparisons and sites.
fn others(report: &Report) -> impl Iterator<Item = Section> {
    let sweeps = report.sweeps.iter().enumerate().map(|(i, sweep)| sweep::section(sweep, i + 1));
    let comparisons = report.comparisons.iter().enumerate().map(|(i, one)| {
        let section = compare::section(one, i + 1);
        // Below its own title.
        let title = if section.title == title(report) { String::new() } else { section.title };
        Section { title, ..section }
    });
    sweeps.chain(comparisons).chain(report.sites.iter().enumerate().map(|(i, site)| site::section(site, i + 1)))
}

fn title(report: &Report) -> String {
    if let Some(title) = &report.title {
        return title.clone();
    }
    let several = |n: usize, one: &str| match n {
        0 => None,
        1 => Some(format!("a {one}")),
        n => Some(format!("{n} {one}s")),
    };
    match (&report.runs[..], &report.sweeps[..], &report.comparisons[..], &report.sites[..]) {
        ([run], [], [], []) => run.name.clone(),
        ([], [sweep], [], []) => sweep.workload.clone(),
        ([], [], [one], []) => compare::title(one),
        (runs, sweeps, comparisons, sites) => {
            let counts = [
                (runs.len(), "run"),
                (sweeps.len(), "sweep"),
                (comparisons.len(), "comparison"),
                (sites.len(), "site"),
            ];
            counts.into_iter().filter_map(|(n, one)| several(n, one)).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The most frequent labels without the total, in table order.
fn most_frequent(rows: &[TimeStats]) -> Vec<&TimeStats> {
    let labels = &rows[..rows.len().saturating_sub(1)];
    let mut busiest: Vec<&TimeStats> = labels.iter().collect();
    busiest.sort_by_key(|row| std::cmp::Reverse(row.n));
    busiest.truncate(LABELS);
    busiest.sort_by(|a, b| a.label.cmp(&b.label));
    busiest
}

/// A caption with the number of rows that are not shown.
fn and_more(caption: &str, shown: &str, left_out: usize) -> String {
    match left_out {
        0 => caption.to_owned(),
        n => format!("{caption}; {shown}, {n} more in the JSON document"),
    }
}

/// A table of times in ms: the most frequent labels, then the total.
fn times(caption: &str, rows: &[TimeStats]) -> Option<Table> {
    let total = rows.last()?;
    let failures = total.error_percent.is_some();
    let mut heads = vec!["request", "n", "rate/s", "mean", "sdev", "CoV", "p50", "p90", "p95", "p99", "p99.9", "max"];
    if failures {
        heads.extend(["% failed", "KB/s"]);
    }
    let row = |row: &TimeStats| {
        let numbers = [
            row.mean_ms,
            row.sdev_ms,
            row.cov,
            row.p50_ms,
            row.p90_ms,
            row.p95_ms,
            row.p99_ms,
            row.p999_ms,
            row.max_ms,
        ];
        let mut cells = vec![Cell::from(&row.label), Cell::from(row.n), Cell::from(row.rate_per_s)];
        cells.extend(numbers.map(Cell::from));
        if failures {
            cells.extend([Cell::from(row.error_percent), Cell::from(row.kb_per_s)]);
        }
        cells
    };
    // A single label equals the total.
    let labels = if rows.len() > 2 { most_frequent(rows) } else { Vec::new() };
    let left_out = rows.len() - 1 - labels.len();
    let left_out = if rows.len() > 2 { left_out } else { 0 };
    let caption = and_more(caption, &format!("the {LABELS} most frequent labels"), left_out);
    Some(Table {
        caption,
        headings: heads.into_iter().map(Cow::Borrowed).collect(),
        rows: labels.into_iter().chain([total]).map(row).collect(),
    })
}
