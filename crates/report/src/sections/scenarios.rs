//! The scenarios of the run, side by side.

use offered_verify::Verdict;

use crate::document::{Block, Cell, Section, Table, headings};
use crate::run::Run;

pub(super) fn section(run: &Run) -> Option<Section> {
    let scenarios = &run.verdict.scenarios;
    (!scenarios.is_empty()).then(|| Section {
        id: "scenarios".into(),
        level: 2,
        title: "Scenarios".into(),
        intro: "The scenarios of this run shared the server. Each scenario is judged by its own arrivals. Times are those of successful requests, from the scheduled time.",
        book_page: Some("reference/workload.md"),
        folded: false,
        blocks: vec![Block::Table(table(scenarios))],
    })
}

/// A row for each scenario.
pub(crate) fn table(scenarios: &[Verdict]) -> Table {
    let time = |ms: Option<f64>| ms.map_or(Cell::Empty, Cell::from);
    let row = |scenario: &Verdict| {
        let total = scenario.requests.last();
        vec![
            Cell::from(&scenario.source.path),
            scenario.validity.into(),
            Cell::from(&scenario.expected.arrivals),
            total.map_or(Cell::Empty, |total| total.requests.into()),
            total.map_or(Cell::Empty, |total| total.failed.into()),
            scenario.queue.rate_per_s.map_or(Cell::Empty, Cell::from),
            time(total.and_then(|total| total.p50_ms)),
            time(total.and_then(|total| total.p95_ms)),
            time(total.and_then(|total| total.p99_ms)),
            Cell::from(&scenario.reason),
        ]
    };
    Table {
        caption: "Response times by scenario (ms)".into(),
        headings: headings([
            "scenario", "validity", "arrivals", "requests", "failed", "rate/s", "p50", "p95", "p99", "reason",
        ]),
        rows: scenarios.iter().map(row).collect(),
    }
}
