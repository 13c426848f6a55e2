//! Section 1: what was meant, what was launched, and whether the numbers may be believed.

use offered_verify::{Checked, Finding, Judgement, Source};

use crate::document::{Banner, Block, Cell, Section, Table, short};
use crate::report::Run;

/// What must be known before any number is read.
pub(super) fn essentials(run: &Run) -> Vec<Block> {
    let mut blocks = vec![Block::Verdict(banner(run))];
    if !run.thresholds.is_empty() {
        blocks.push(Block::Table(thresholds(&run.thresholds)));
    }
    blocks.extend([Block::Words(source(run)), Block::Table(meant_and_sent(run))]);
    // The remedy of what the banner says comes first.
    let mut doubts = run.verdict.warnings.clone();
    doubts.sort_by_key(|warning| warning.doubt != run.verdict.because);
    if !doubts.is_empty() {
        blocks.push(Block::Doubts(doubts));
    }
    blocks
}

pub(super) fn section(run: &Run) -> Section {
    let v = &run.verdict;
    let mut blocks = essentials(run);
    blocks.push(Block::Table(findings(&v.tests)));
    if !v.runs.is_empty() {
        blocks.push(Block::Table(appended(run)));
    }
    Section {
        id: "verdict".into(),
        level: 2,
        title: "The verdict".into(),
        reading: "Read this first: it says whether the load arrived as it was meant to, and so whether the responses below are \
                  those of that load. A check that was not made says so, and never that all is well.",
        page: Some("concepts/verdict.md"),
        blocks,
    }
}

/// The judgement in words.
fn banner(run: &Run) -> Banner {
    let v = &run.verdict;
    let headline = match v.judgement {
        Judgement::Holds => "The load arrived as it was meant: the numbers may be believed.",
        Judgement::Fails => "The load was not what was meant: do not believe these numbers.",
        Judgement::NotChecked => "Nothing could be held against what was meant: read the numbers with that in mind.",
    };
    Banner { judgement: v.judgement, headline: headline.to_owned(), because: v.because.clone() }
}

/// What was read, in a sentence.
fn source(run: &Run) -> String {
    let source = &run.verdict.source;
    let stamps = source.stamps.as_ref().map_or_else(String::new, |stamps| format!(" ({stamps})"));
    let Source { path, format, rows, resolution_ms, .. } = source;
    format!("Read from {path} ({format}): {rows} launches, stamps to {} ms{stamps}.", short(*resolution_ms))
}

fn thresholds(thresholds: &[Checked]) -> Table {
    let row = |checked: &Checked| {
        vec![
            Cell::from(checked.threshold.metric.to_string()),
            checked.judgement.into(),
            checked.threshold.bound.to_string().into(),
            checked.value_in_words().into(),
        ]
    };
    Table {
        caption: "Thresholds of the workload".into(),
        heads: vec!["", "judgement", "to be kept", "measured"],
        rows: thresholds.iter().map(row).collect(),
    }
}

fn meant_and_sent(run: &Run) -> Table {
    let v = &run.verdict;
    let total = v.launches.last();
    let pattern = Cell::from(v.pattern.name());
    let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
    let late = v.lateness.as_ref();
    let row = |name: &str, meant: Cell, sent: Cell| vec![Cell::from(name), meant, sent];
    let rows = vec![
        row("arrivals", Cell::from(&v.meant.arrivals), pattern),
        row("launches per second", v.meant.rate_per_s.into(), v.queue.rate_per_s.into()),
        row("CoV of the gaps", v.meant.cov.or(v.meant.expected_cov).into(), total.map(|total| total.cov).into()),
        row("its 95 % interval", Cell::Nothing, cov.unwrap_or(Cell::Nothing)),
        row("launches judged", Cell::Nothing, v.window.launches.into()),
        row("left out at the ends", Cell::Nothing, v.window.left_out.into()),
        row("never sent", Cell::Count(0), late.map(|late| late.unsent).into()),
        row("lateness p99 (us)", Cell::Nothing, late.map(|late| late.p99_us).into()),
    ];
    Table { caption: "What was meant, and what was launched".into(), heads: vec!["", "meant", "launched"], rows }
}

fn findings(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        let interval = finding.low.zip(finding.high).map(|(low, high)| Cell::Interval(low, high));
        vec![
            Cell::from(finding.check.name()),
            finding.judgement.into(),
            finding.estimate.into(),
            interval.unwrap_or(Cell::Nothing),
            finding.statistic.into(),
            finding.p.into(),
        ]
    };
    Table {
        caption: "What was checked".into(),
        heads: vec!["finding", "judgement", "estimate", "95 %", "statistic", "p"],
        rows: findings.iter().map(row).collect(),
    }
}

/// The runs that were appended to one file.
fn appended(run: &Run) -> Table {
    let row = |(i, part): (usize, &offered_verify::Verdict)| {
        vec![
            Cell::from(format!("part {}", i + 1)),
            part.judgement.into(),
            part.window.launches.into(),
            part.queue.rate_per_s.into(),
            part.launches.last().map(|total| total.cov).into(),
            Cell::from(&part.because),
        ]
    };
    Table {
        caption: "The runs in this file, each judged by itself".into(),
        heads: vec!["", "judgement", "launches", "per s", "CoV", "because"],
        rows: run.verdict.runs.iter().enumerate().map(row).collect(),
    }
}
