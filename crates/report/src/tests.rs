//! From a recording to the document: charts and verdict agree.

mod mutants;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_events::{Event, Outcome, Recording};
use offered_verify::{CheckResult, Criteria, ThresholdResult, Validity, verify};

use crate::chart::{Chart, Scale, Shape};
use crate::document::{Block, Cell, Status};
use offered_experiment::prediction::ServerLimits;

use crate::{ChartData, Report, Run, document};

/// 4000 Poisson requests at 100/s with exponential response times of this mean; every tenth fails.
pub(crate) fn run(name: &str, mean_ms: f64) -> Run {
    let mut chance = Seed(3).stream(Purpose::Arrivals);
    let mut at = 0.0;
    let event = |i: u64| {
        at -= chance.uniform().ln() * 10.0;
        let intended = Instant::from_secs_f64(at / 1e3);
        let sent = intended + Nanos::from_micros(i % 7);
        let stay = -chance.uniform().ln() * mean_ms;
        let outcome = if i.is_multiple_of(10) { Outcome::HttpError } else { Outcome::Ok };
        Event {
            sent: Some(sent),
            done: Some(sent + Nanos::from_secs_f64(stay / 1e3)),
            label: (i % 3) as u16,
            session: i,
            outcome,
            status: if outcome == Outcome::Ok { 200 } else { 500 },
            bytes_in: 1000,
            ..Event::at(intended)
        }
    };
    let recording = Recording::of_run((0..4000).map(event).collect(), ["a", "b", "c"].map(str::to_owned).to_vec());
    let ask = Criteria { path: name.to_owned(), target_rate_per_s: Some(100.0), ..Criteria::default() };
    let verdict = verify(&recording, &ask).unwrap();
    let chart_data = ChartData::of(&recording, &ask, &verdict.window).unwrap();
    Run::new(name.to_owned(), verdict, chart_data)
}

fn charts(report: &Report) -> Vec<Chart> {
    let blocks = document(report).sections.into_iter().flat_map(|section| section.blocks);
    blocks.filter_map(|block| if let Block::Chart(chart) = block { Some(chart) } else { None }).collect()
}

fn chart(charts: &[Chart], id: &str) -> Chart {
    charts.iter().find(|chart| chart.id == id).unwrap_or_else(|| panic!("no chart {id}")).clone()
}

fn points(shape: &Shape) -> &[[f64; 2]] {
    match shape {
        Shape::Line(all) | Shape::Steps(all) | Shape::Bars(all) | Shape::Points(all) => all,
        other => panic!("{other:?}"),
    }
}

/// The area under steps.
fn area(steps: &[[f64; 2]], width: impl Fn(f64, f64) -> f64) -> f64 {
    steps.windows(2).map(|pair| pair[0][1] * width(pair[0][0], pair[1][0])).sum()
}

#[test]
fn chart_data_and_verdict_have_the_same_counts() {
    let run = run("r", 20.0);
    let (total, spread) =
        (run.verdict.responses.last().unwrap(), run.chart_data.as_ref().unwrap().response.clone().unwrap());
    assert_eq!(
        (spread.n, spread.mean_ms, spread.p50_ms, spread.p95_ms, spread.p999_ms, spread.max_ms),
        (total.n, total.mean_ms, total.p50_ms, total.p95_ms, total.p999_ms, total.max_ms)
    );
    let interval = spread.mean_interval_ms.unwrap();
    assert!(interval.low < 20.0 && 20.0 < interval.high && interval.high - interval.low < 4.0, "{interval:?}");
    let at_99 = spread.percentile_curve.iter().find(|point| (point[0] - 0.99).abs() < 1e-12).unwrap()[1];
    assert_eq!(at_99, total.p99_ms);
}

#[test]
fn charts_contain_every_request() {
    let all = charts(&Report::new(vec![run("r", 20.0)]));
    // Bins of half a second show counts, not rates per second.
    let rate = chart(&all, "rate");
    assert_eq!(rate.y.title, "requests in 0.5 s");
    for series in rate.series {
        let requests = area(points(&series.shape), |from, to| (to - from) / 0.5);
        assert!((requests - 4000.0).abs() < 2.0, "{}: {requests}", series.name);
    }
    // The first screen shows rates per second.
    let rates = chart(&all, "rates");
    assert_eq!(rates.y.title, "requests per second");
    for series in rates.series {
        let requests = area(points(&series.shape), |from, to| to - from);
        assert!((requests - 4000.0).abs() < 2.0, "{}: {requests}", series.name);
    }
    let density = chart(&all, "density");
    let share = area(points(&density.series[0].shape), |from, to| (to / from).log10());
    assert!((share - 100.0).abs() < 0.01, "the density's area is one: {share} %");
    let distribution = chart(&all, "distribution");
    assert_eq!(points(&distribution.series[0].shape).last().unwrap()[1], 100.0);
    let failures = chart(&all, "failures");
    assert!((area(points(&failures.series[0].shape), |from, to| (to - from) / 0.5) - 400.0).abs() < 2.0);
    let heat = chart(&all, "responses-over-time");
    let Shape::Heat(heat) = &heat.series[0].shape else { panic!("no heat") };
    for column in 0..heat.x.len() - 1 {
        let share: f64 = heat.cells.iter().map(|row| row[column]).sum();
        assert!((share - 100.0).abs() < 1e-9, "column {column}: {share} %");
    }
}

#[test]
fn a_poisson_stream_lies_on_its_theory() {
    let all = charts(&Report::new(vec![run("r", 20.0)]));
    for id in ["gaps", "counts"] {
        let chart = chart(&all, id);
        let theory = points(&chart.series[1].shape);
        let at = |x: f64| theory.iter().min_by(|a, b| (a[0] - x).abs().total_cmp(&(b[0] - x).abs())).unwrap()[1];
        let top = theory.iter().map(|point| point[1]).fold(0.0, f64::max);
        let worst = points(&chart.series[0].shape).iter().map(|[x, y]| (y - at(*x)).abs() / top).fold(0.0, f64::max);
        assert!(worst < 0.15, "{id}: {worst}");
    }
}

#[test]
fn the_conclusion_comes_first_and_arrivals_last() {
    let sections = document(&Report::new(vec![run("r", 20.0)])).sections;
    let ids: Vec<(&str, bool)> = sections.iter().map(|section| (section.id.as_str(), section.folded)).collect();
    let open = ["summary", "failures"].map(|id| (id, false));
    let folded = ["verdict", "times", "queue", "test", "arrivals"].map(|id| (id, true));
    assert_eq!(ids, [&open[..], &folded].concat());
}

#[test]
fn failures_come_first() {
    let judgements = |run: &Run| -> Vec<(Status, String)> {
        let sections = document(&Report::new(vec![run.clone()])).sections;
        let Block::Card(card) = &sections[0].blocks[0] else { panic!("no card") };
        card.judgements.iter().map(|of| (of.status, format!("{} {}", of.judgement, of.text))).collect()
    };
    let threshold = |result| ThresholdResult {
        threshold: "p99 < 250ms".parse().unwrap(),
        value: Some(0.3),
        ok_value: None,
        result,
        possible_range: None,
        not_checked_reason: None,
    };
    let mut run = run("r", 20.0);
    assert_eq!(run.verdict.validity, Validity::Valid, "{}", run.verdict.reason);
    run.thresholds = vec![threshold(CheckResult::Passed), threshold(CheckResult::Failed)];
    let all = judgements(&run);
    assert_eq!(all[0].0, Status::Failed);
    assert!(all[0].1.starts_with("FAILURES 400 of 4,000 requests failed (10 %)"), "{all:?}");
    assert_eq!(all[1], (Status::Failed, "FAILED response.p99 < 250ms: 300 ms".to_owned()));
    // With 10 % failures, stability is not checked; the run is valid, and Principle B is met.
    let rest: Vec<Status> = all[2..].iter().map(|(status, _)| *status).collect();
    assert_eq!(rest, [Status::NotChecked, Status::Passed, Status::Passed, Status::Passed], "{all:?}");
    // In an invalid run, thresholds are not checked.
    run.thresholds = vec![threshold(CheckResult::NotChecked)];
    run.verdict.validity = Validity::Invalid;
    let all = judgements(&run);
    assert!(all[0].1.starts_with("INVALID ") && all[0].0 == Status::Failed, "{all:?}");
    assert!(
        all.iter().any(|(status, text)| *status == Status::NotChecked && text.contains("needs a valid run")),
        "{all:?}"
    );
}

#[test]
fn failures_are_listed_by_request() {
    let all = document(&Report::new(vec![run("r", 20.0)])).sections;
    let failures = all.iter().find(|section| section.id == "failures").unwrap();
    let Block::Table(table) = &failures.blocks[0] else { panic!("no table") };
    let rows: Vec<(String, String, String)> =
        table.rows.iter().map(|row| (row[0].text(), row[1].text(), row[3].text())).collect();
    // Every tenth of 4000 requests, of three labels in turn.
    assert_eq!(rows.len(), 3);
    for (label, n) in [("a", "134"), ("b", "133"), ("c", "133")] {
        assert!(rows.contains(&(label.to_owned(), n.to_owned(), "500".to_owned())), "{rows:?}");
    }
}

#[test]
fn several_runs_are_one_comparison_by_model_and_load_and_folds() {
    let closed = |name: &str, users: u64| {
        let mut run = run(name, 20.0);
        run.verdict.expected.system = Some(offered_schedule::System::Closed);
        run.verdict.queue.users_observed = Some(users);
        run
    };
    let mut invalid = run("open", 20.0);
    invalid.verdict.expected.system = Some(offered_schedule::System::Open);
    invalid.verdict.validity = Validity::Invalid;
    let report = Report::new(vec![closed("many", 50), invalid, closed("few", 5)]);
    let document = document(&report);
    let top: Vec<(&str, bool)> =
        document.sections.iter().filter(|s| s.level == 2).map(|s| (s.id.as_str(), s.folded)).collect();
    assert_eq!(top, [("runs", false), ("curves", true), ("run-1", true), ("run-2", true), ("run-3", true)]);
    let blocks = &document.sections[0].blocks;
    let table =
        blocks.iter().find_map(|block| if let Block::Table(table) = block { Some(table) } else { None }).unwrap();
    let links: Vec<_> = table.rows.iter().map(|row| row[0].clone()).collect();
    let link = |name: &str, id: &str| Cell::Link(name.to_owned(), id.to_owned());
    assert_eq!(links, [link("open", "run-2"), link("few", "run-3"), link("many", "run-1")]);
    // A series per model and figure; the invalid run is an open circle.
    let stick = chart(&charts(&report), "response-by-load");
    let names: Vec<&str> = stick.series.iter().map(|series| series.name.as_str()).collect();
    assert!(names.iter().any(|name| name.ends_with("mean, invalid run")), "{names:?}");
    assert!(names.contains(&"closed: mean, 95 %") && names.contains(&"closed: p95, 95 %"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("open") && name.ends_with("95 %")), "{names:?}");
    let page = crate::html::html(&document).unwrap();
    assert!(page.contains("<a href=\"#run-2\">open</a>") && page.contains("<details id=\"run-2\">"));
}

#[test]
fn wide_ranges_have_logarithmic_axes() {
    let scale = |means: [f64; 2]| {
        let runs = means.map(|mean| run(&mean.to_string(), mean)).to_vec();
        chart(&charts(&Report::new(runs)), "response-by-load").y.scale
    };
    assert_eq!((scale([20.0, 25.0]), scale([2.0, 200.0])), (Scale::Linear, Scale::Log));
}

#[test]
fn only_large_differences_are_significant() {
    let report = Report::new(vec![run("a", 20.0), run("b", 20.5), run("c", 40.0)]);
    let of =
        |name: &str| report.differences.iter().find(|d| d.run == name && d.measure == "mean response time").unwrap();
    assert!(!of("b").significant && of("b").significance().starts_with("not significant"));
    let c = of("c");
    assert!(c.significant && c.significance() == "significant" && c.low_ms > 10.0 && c.high_ms < 30.0, "{c:?}");
}

#[test]
fn different_think_times_have_separate_bounds() {
    let closed = |users: u64, think_ms: f64| {
        let mut run = run(&users.to_string(), 20.0);
        run.verdict.expected.system = Some(offered_schedule::System::Closed);
        run.verdict.queue.users_observed = Some(users);
        // The bound is that of the workload, whatever was measured.
        run.test_setup.think_ms = Some(think_ms);
        run.verdict.queue.think_ms = Some(1.3 * think_ms);
        run.server = Some(ServerLimits { capacity_per_s: 20.0, service_ms: 50.0 });
        run
    };
    let bound = |runs: Vec<Run>| {
        let stick = chart(&charts(&Report::new(runs)), "response-by-load");
        points(&stick.series.iter().find(|series| series.name == "asymptote").unwrap().shape).to_vec()
    };
    // Equal think times: one knee at (50 + 4950) ms * 20/s = 100 users; 20 s - 5 s at 400 users.
    let alike = bound(vec![closed(10, 4950.0), closed(400, 4950.0)]);
    // Loads that differ auto_scale stand on a logarithmic axis, which has no zero.
    assert_eq!(alike, [[10.0, 50.0], [100.0, 50.0], [400.0, 15_050.0]]);
    // Along Principle A (N / Z = 20/s), the bound is the service time.
    let unlike = bound(vec![closed(400, 20_000.0), closed(10, 500.0)]);
    assert_eq!(unlike, [[10.0, 50.0], [400.0, 50.0]]);
}

#[test]
fn a_run_too_short_for_an_interval_is_shown_without_one() {
    let mut short = run("short", 20.0);
    let spread = short.chart_data.as_mut().unwrap().response.as_mut().unwrap();
    (spread.mean_interval_ms, spread.p95_interval_ms) = (None, None);
    let report = Report::new(vec![run("long", 20.0), short]);
    let all = charts(&report);
    let stick = chart(&all, "response-by-load");
    let names: Vec<&str> = stick.series.iter().map(|series| series.name.as_str()).collect();
    let unsure = ["mean, run too short for an interval", "p95, run too short for an interval"];
    assert_eq!(names, ["mean, 95 %", unsure[0], "p95, 95 %", unsure[1]]);
    let page = crate::html::html(&document(&report)).unwrap();
    assert!(page.contains("short: the mean response time cannot be compared with that of long"));
}

#[test]
fn an_empty_recording_has_a_page() {
    let recording = Recording::of_run(Vec::new(), Vec::new());
    let verdict = verify(&recording, &Criteria::default()).unwrap();
    let chart_data = ChartData::of(&recording, &Criteria::default(), &verdict.window).unwrap();
    assert!(chart_data.is_none());
    let report = Report::new(vec![Run::new("nothing".to_owned(), verdict, None)]);
    assert!(charts(&report).is_empty());
    assert!(crate::html::html(&document(&report)).unwrap().contains("no request was sent in the window"));
}
