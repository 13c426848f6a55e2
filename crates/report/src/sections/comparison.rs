//! Several runs side by side (Brady and Gunther, Figures 10, 12, 16 and 17).

mod curves;

use offered_experiment::prediction::PredictionMethod;
use offered_schedule::System;
use offered_verify::{StabilityState, Validity};

use crate::chart::Chart;
use crate::chart_data::{ConfidenceInterval, TimeDistribution};
use crate::conclusion::Conclusion;
use crate::difference::{Difference, MEAN};
use crate::document::{Block, Card, Cell, Judgement, Section, Status, Table, headings};
use crate::format::number;
use crate::report::Report;
use crate::run::Run;

/// The comparison on the first screen, and its folded curves and setups.
pub(super) fn sections(report: &Report) -> [Section; 2] {
    let runs = &report.runs;
    let mut blocks = vec![Block::Card(card(report)), Block::Table(table(report))];
    blocks.extend(notes(report).into_iter().map(Block::Paragraph));
    let charts = |all: Vec<Chart>| all.into_iter().filter_map(Chart::non_empty).map(Block::Chart).collect::<Vec<_>>();
    blocks.extend(charts(vec![curves::percentiles(runs), curves::response_by_load(runs).auto_scale()]));
    blocks.extend(differences(report).map(Block::Table));
    let more = vec![curves::throughput(runs).auto_scale(), curves::cov(runs), curves::rort(runs)];
    let mut rest = vec![Block::Table(loads(report))];
    rest.extend(tests(runs).map(Block::Table));
    rest.extend(charts(more));
    let comparison = Section {
        id: "runs".into(),
        level: 2,
        title: String::new(),
        intro: "",
        book_page: None,
        folded: false,
        blocks,
    };
    let curves = Section {
        id: "curves".into(),
        level: 2,
        title: "Load, setup and throughput of the runs".into(),
        intro: "The 95 % intervals are computed from 60 parts of each run; if they overlap widely, the difference may be random.",
        book_page: Some("guides/report.md"),
        folded: true,
        blocks: rest,
    };
    [comparison, curves]
}

/// The comparison in tables and sentences.
pub(crate) fn tables(report: &Report) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table(report))];
    blocks.extend(notes(report).into_iter().map(Block::Paragraph));
    blocks.extend(differences(report).map(Block::Table));
    blocks.push(Block::Table(loads(report)));
    blocks.extend(tests(&report.runs).map(Block::Table));
    blocks
}

/// The identifier of the section of a run.
pub(super) fn id(number: usize) -> String {
    format!("run-{}", number + 1)
}

fn response(run: &Run) -> Option<&TimeDistribution> {
    run.chart_data.as_ref()?.response.as_ref()
}

/// The load model of a run: system model and, if open, the expected CoV.
fn kind(run: &Run) -> (Option<System>, Option<f64>) {
    let expected = &run.verdict.expected;
    (expected.system, expected.expected_cov.filter(|_| expected.system == Some(System::Open)))
}

/// The load model as text: `open, CoV 1`, `closed`.
fn model(run: &Run) -> String {
    match kind(run) {
        (Some(system), Some(cov)) => format!("{}, CoV {}", system.name(), number(cov)),
        (Some(system), None) => system.name().to_owned(),
        (None, _) => "unknown model".to_owned(),
    }
}

/// The load of a run, by which runs are sorted: the number of users of a closed system, otherwise the sent rate.
fn load(run: &Run) -> f64 {
    let users = run.verdict.queue.users_observed.filter(|_| run.verdict.expected.system == Some(System::Closed));
    users.map(|users| users as f64).or(run.verdict.queue.rate_per_s).unwrap_or(0.0)
}

/// The runs with their numbers, by model and load.
pub(crate) fn sorted(runs: &[Run]) -> Vec<(usize, &Run)> {
    let rank = |run: &Run| match kind(run).0 {
        Some(System::Open) => 0,
        Some(System::PartlyOpen) => 1,
        Some(System::Closed) => 2,
        None => 3,
    };
    let mut all: Vec<(usize, &Run)> = runs.iter().enumerate().collect();
    all.sort_by(|(_, a), (_, b)| {
        let cov = |run: &Run| kind(run).1.unwrap_or(0.0);
        rank(a).cmp(&rank(b)).then(cov(a).total_cmp(&cov(b))).then(load(a).total_cmp(&load(b)))
    });
    all
}

/// The number of runs that pass, and the names of the others.
fn card(report: &Report) -> Card {
    let conclusions: Vec<Conclusion> = report.runs.iter().map(Conclusion::of).collect();
    let judgement = |(status, name): (Status, &str)| {
        let with = |(run, conclusion): (&Run, &Conclusion)| {
            (conclusion.status == status).then(|| (run.name.clone(), conclusion.headline.clone()))
        };
        let of: Vec<(String, String)> = report.runs.iter().zip(&conclusions).filter_map(with).collect();
        let named =
            of.iter().filter(|_| status != Status::Passed).map(|(name, headline)| format!("{name}: {headline}"));
        let named = named.collect::<Vec<_>>().join("; ");
        let text =
            format!("{} of {} runs{}{named}", of.len(), report.runs.len(), if named.is_empty() { "" } else { ". " });
        (!of.is_empty()).then(|| Judgement { status, judgement: name.to_owned(), text, fixes: Vec::new() })
    };
    let statuses = [
        (Status::Failed, "FAILED"),
        (Status::Warning, "WITH WARNINGS"),
        (Status::NotChecked, "NOT CHECKED"),
        (Status::Passed, "PASSED"),
    ];
    Card { judgements: statuses.into_iter().filter_map(judgement).collect(), tiles: Vec::new() }
}

/// A table with a row per run, grouped by model and sorted by load. Percentiles come first, because a narrow screen
/// shows only the first columns.
fn table(report: &Report) -> Table {
    let row = |(number, run): (usize, &Run)| {
        let (distribution, conclusion) = (response(run), Conclusion::of(run));
        vec![
            Cell::Link(run.name.clone(), id(number)),
            Cell::Status(conclusion.status, conclusion.sentence().into()),
            distribution.map(|d| d.p50_ms).into(),
            distribution.map(|d| d.p95_ms).into(),
            distribution.map(|d| d.p99_ms).into(),
            run.verdict.responses.last().and_then(|total| total.error_percent).into(),
            run.verdict.queue.rate_per_s.into(),
            model(run).into(),
            ends(distribution.and_then(|d| d.p95_interval_ms)),
            distribution.map(|d| d.mean_ms).into(),
            ends(distribution.and_then(|d| d.mean_interval_ms)),
            formula(run).into(),
        ]
    };
    Table {
        caption: "The runs by model and load (response times in ms)".into(),
        headings: headings([
            "run",
            "result",
            "p50",
            "p95",
            "p99",
            "% failed",
            "sent/s",
            "model",
            "95 % of p95",
            "mean",
            "95 % of mean",
            "formula",
        ]),
        rows: sorted(&report.runs).into_iter().map(row).collect(),
    }
    .without_empty_columns()
}

/// Notes that a reader of the table needs.
fn notes(report: &Report) -> Vec<String> {
    let models = models(&report.runs).map(str::to_owned);
    overloaded(&report.runs).into_iter().chain(models).chain(unknown(report)).collect()
}

/// A note about runs with different system models.
fn models(runs: &[Run]) -> Option<&'static str> {
    let of = |system| runs.iter().any(|run| run.verdict.expected.system == Some(system));
    (of(System::Closed) && (of(System::Open) || of(System::PartlyOpen))).then_some(
        "The runs have different system models, so an equal mean load does not mean equal arrivals. Open arrivals do not depend on the server. The sessions of a partly-open system do not depend on it either; each session sends some requests and leaves. Closed users wait for their responses: a slow server receives fewer requests, and its response times look shorter.",
    )
}

/// Notes about runs whose mean cannot be compared with that of the first.
fn unknown(report: &Report) -> impl Iterator<Item = String> {
    let compared = |run: &Run| report.differences.iter().any(|d| d.run == run.name && d.measure == MEAN);
    let first = report.runs.first().map_or("", |run| run.name.as_str());
    report.runs.iter().skip(1).filter(move |run| response(run).is_some() && !compared(run)).map(move |run| {
        format!("{}: the mean response time cannot be compared with that of {first}: one of the two runs is too short for an interval.", run.name)
    })
}

/// A note about overloaded runs, whose times depend on the duration.
fn overloaded(runs: &[Run]) -> Option<String> {
    let is_overloaded =
        |run: &&Run| run.verdict.stability.is_some_and(|stability| stability.state == StabilityState::Overloaded);
    let names: Vec<&str> = runs.iter().filter(is_overloaded).map(|run| run.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("In {}, the system was overloaded: response times depend on the duration of the run.", names.join(", "))
    })
}

/// The differences of each run from the first.
fn differences(report: &Report) -> Option<Table> {
    let first = report.differences.first()?;
    let row = |difference: &Difference| {
        vec![
            Cell::from(&difference.run),
            Cell::from(&*difference.measure),
            difference.difference_ms.into(),
            Cell::Interval(difference.low_ms, difference.high_ms),
            Cell::from(difference.significance()),
        ]
    };
    Some(Table {
        caption: format!("Differences from {} (ms)", first.baseline),
        headings: headings(["run", "figure", "difference", "95 %", "significance"]),
        rows: report.differences.iter().map(row).collect(),
    })
}

/// The mean response time by formula; `None` without one.
fn formula(run: &Run) -> Option<f64> {
    run.predictions.iter().find(|prediction| prediction.method == PredictionMethod::Formula)?.mean_ms
}

fn ends(ends: Option<ConfidenceInterval>) -> Cell {
    ends.map_or(Cell::Empty, |ends| Cell::Interval(ends.low, ends.high))
}

/// The setups of the runs, if known.
fn tests(runs: &[Run]) -> Option<Table> {
    let row = |(_, run): (usize, &Run)| {
        let tested = &run.test_setup;
        tested.target.as_ref().or(tested.started_at.as_ref())?;
        let text = |text: &Option<String>| text.as_ref().map_or(Cell::Empty, Cell::from);
        Some(vec![
            Cell::from(&run.name),
            text(&tested.target),
            text(&tested.started_at),
            tested.duration_s.into(),
            tested.seed.map_or(Cell::Empty, |seed| Cell::from(seed.to_string())),
            text(&tested.version),
        ])
    };
    let rows: Vec<_> = sorted(runs).into_iter().filter_map(row).collect();
    let headings = headings(["run", "target", "started", "duration s", "seed", "version"]);
    (!rows.is_empty()).then(|| Table { caption: "Test setups".into(), headings, rows })
}

/// Expected and measured arrivals of the runs.
fn loads(report: &Report) -> Table {
    let row = |(_, run): (usize, &Run)| {
        let v = &run.verdict;
        let total = v.gaps.last();
        let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
        vec![
            Cell::from(&run.name),
            v.validity.into(),
            v.stability.map(|stability| stability.state).into(),
            v.queue.rate_per_s.into(),
            v.expected.arrivals.as_str().into(),
            total.map(|total| total.cov).into(),
            cov.unwrap_or(Cell::Empty),
            v.queue.rort.into(),
        ]
    };
    Table {
        caption: "Load of the runs".into(),
        headings: headings(["run", "validity", "stability", "sent/s", "expected", "CoV", "95 %", "RoRT"]),
        rows: sorted(&report.runs).into_iter().map(row).collect(),
    }
    .without_empty_columns()
}

/// Whether the results of a run must not be used.
fn is_invalid(run: &Run) -> bool {
    run.verdict.validity == Validity::Invalid
}
