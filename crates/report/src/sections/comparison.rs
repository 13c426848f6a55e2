//! Several runs side by side (Brady and Gunther, Figures 10, 12, 16 and 17).

use offered_experiment::prediction::{PredictionMethod, ServerLimits};
use offered_schedule::System;
use offered_verify::{CheckResult, StabilityState};

use crate::chart::{Axis, Chart, Scale, Series, Shape, Style};
use crate::chart_data::{ConfidenceInterval, TimeDistribution};
use crate::difference::MEAN;
use crate::document::{Block, Cell, Section, Table};
use crate::report::{Report, Run};

/// Maximum number of percentile curves in one chart.
const CURVES: usize = 8;

/// The comparison section.
pub(super) fn section(report: &Report) -> Section {
    let mut blocks = tables(report);
    let charts = [
        percentiles(&report.runs).non_empty(),
        response_by_load(&report.runs).auto_scale().non_empty(),
        throughput(&report.runs).auto_scale().non_empty(),
        cov(&report.runs).non_empty(),
        rort(&report.runs).non_empty(),
    ];
    blocks.extend(charts.into_iter().flatten().map(Block::Chart));
    Section {
        id: "runs".into(),
        level: 2,
        title: "Side by side".into(),
        intro: "Comparison of the runs. Intervals are 95 %, from ten parts of each run; where they overlap widely, the difference may be random.",
        book_page: Some("guides/report.md"),
        blocks,
    }
}

/// The comparison in tables and sentences.
pub(crate) fn tables(report: &Report) -> Vec<Block> {
    let mut blocks: Vec<Block> = tests(&report.runs).map(Block::Table).into_iter().collect();
    blocks.push(Block::Table(responses(&report.runs)));
    blocks.extend(overloaded(&report.runs).map(Block::Paragraph));
    blocks.push(Block::Table(loads(&report.runs)));
    blocks.extend(models(&report.runs).map(|words| Block::Paragraph(words.to_owned())));
    blocks.extend(report.differences.iter().map(|difference| Block::Paragraph(difference.text())));
    blocks.extend(unknown(report).map(Block::Paragraph));
    blocks
}

fn response(run: &Run) -> Option<&TimeDistribution> {
    run.chart_data.as_ref()?.response.as_ref()
}

/// The load model of a run: system model and, if open, the expected CoV.
fn kind(run: &Run) -> (Option<System>, Option<f64>) {
    let meant = &run.verdict.expected;
    (meant.system, meant.expected_cov.filter(|_| meant.system == Some(System::Open)))
}

/// A note about runs with different system models.
fn models(runs: &[Run]) -> Option<&'static str> {
    let of = |system| runs.iter().any(|run| run.verdict.expected.system == Some(system));
    (of(System::Closed) && (of(System::Open) || of(System::PartlyOpen))).then_some(
        "The runs have different system models, so the same mean load is not the same load. Open arrivals do not depend on the server. Sessions of a partly-open system arrive in the same way, send some requests and leave. Closed users wait for their responses: a slow server receives fewer requests, and its response times look shorter.",
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

/// The mean response time by formula; `None` without one.
fn formula(run: &Run) -> Option<f64> {
    run.predictions.iter().find(|prediction| prediction.method == PredictionMethod::Formula)?.mean_ms
}

/// The result of all thresholds of a run together.
fn thresholds(run: &Run) -> Option<CheckResult> {
    let any = |result| run.thresholds.iter().any(|threshold| threshold.result == result).then_some(result);
    [CheckResult::Failed, CheckResult::NotChecked, CheckResult::Passed].into_iter().find_map(any)
}

fn ends(ends: Option<ConfidenceInterval>) -> Cell {
    ends.map_or(Cell::Empty, |ends| Cell::Interval(ends.low, ends.high))
}

/// The setups of the runs, if known.
fn tests(runs: &[Run]) -> Option<Table> {
    let row = |run: &Run| {
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
    let rows: Vec<_> = runs.iter().filter_map(row).collect();
    let heads = vec!["run", "target", "started", "duration s", "seed", "version"];
    (!rows.is_empty()).then(|| Table { caption: "Test setups".into(), headings: heads, rows })
}

/// A note about overloaded runs, whose times depend on the duration.
fn overloaded(runs: &[Run]) -> Option<String> {
    let is_overloaded =
        |run: &&Run| run.verdict.stability.is_some_and(|stability| stability.state == StabilityState::Overloaded);
    let names: Vec<&str> = runs.iter().filter(is_overloaded).map(|run| run.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!("The system was overloaded in {}: its times depend on the duration of the run.", names.join(", "))
    })
}

/// Response times, percentiles first: a narrow screen shows only the first columns.
fn responses(runs: &[Run]) -> Table {
    let row = |run: &Run| {
        let spread = response(run);
        vec![
            Cell::from(&run.name),
            spread.map(|s| s.p50_ms).into(),
            spread.map(|s| s.p95_ms).into(),
            spread.map(|s| s.p99_ms).into(),
            run.verdict.responses.last().and_then(|total| total.error_percent).into(),
            ends(spread.and_then(|s| s.p95_interval_ms)),
            spread.map(|s| s.mean_ms).into(),
            ends(spread.and_then(|s| s.mean_interval_ms)),
            formula(run).into(),
            run.verdict.queue.rort.into(),
        ]
    };
    Table {
        caption: "Response times of the runs with intervals (ms)".into(),
        headings: vec!["run", "p50", "p95", "p99", "% failed", "95 % of p95", "mean", "95 %", "formula", "RoRT"],
        rows: runs.iter().map(row).collect(),
    }
}

/// Load and validity of the runs.
fn loads(runs: &[Run]) -> Table {
    let row = |run: &Run| {
        let v = &run.verdict;
        let total = v.gaps.last();
        let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
        vec![
            Cell::from(&run.name),
            v.validity.into(),
            v.stability.map(|stability| stability.state).into(),
            thresholds(run).into(),
            v.queue.rate_per_s.into(),
            v.expected.arrivals.as_str().into(),
            total.map(|total| total.cov).into(),
            cov.unwrap_or(Cell::Empty),
        ]
    };
    Table {
        caption: "Load of the runs".into(),
        headings: vec!["run", "validity", "stability", "thresholds", "sent/s", "expected", "CoV", "95 %"],
        rows: runs.iter().map(row).collect(),
    }
}

fn percentiles(runs: &[Run]) -> Chart {
    let curve = |(i, run): (usize, &Run)| {
        Some(Series::new(run.name.clone(), Style::Nth(i), Shape::Line(response(run)?.percentile_curve.clone())))
    };
    Chart {
        id: "percentiles-of-all".into(),
        title: "Response time percentiles of all runs".into(),
        caption: "The lower curve is the faster run at that percentile. Where curves cross, one run is faster for most requests and slower in the tail."
            .into(),
        x: Axis::nines("share of requests"),
        y: Axis::log("response time (ms)"),
        series: runs.iter().take(CURVES).enumerate().filter_map(curve).collect(),
    }
}

/// The horizontal axis: number of users if known for all runs, else the sent rate; logarithmic for wide ranges.
struct LoadAxis {
    axis: Axis,
    /// Whether the axis is the number of users.
    users: bool,
    of: fn(&Run) -> Option<f64>,
}

impl LoadAxis {
    fn of(runs: &[Run]) -> Self {
        let users: fn(&Run) -> Option<f64> = |run| {
            let closed = run.verdict.expected.system == Some(System::Closed);
            run.verdict.queue.users_observed.filter(|_| closed).map(|n| n as f64)
        };
        let load = if runs.iter().all(|run| users(run).is_some()) {
            Self { axis: Axis::linear("users N"), users: true, of: users }
        } else {
            Self { axis: Axis::linear("sent requests/s"), users: false, of: |run| run.verdict.queue.rate_per_s }
        };
        let [least, most] = load.ends(runs);
        Self { axis: load.axis.auto_scale((least, most)), ..load }
    }

    /// The smallest and the largest load of all runs.
    fn ends(&self, runs: &[Run]) -> [f64; 2] {
        let loads = || runs.iter().filter_map(self.of);
        [loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max)]
    }

    /// The start of lines that extend over all loads.
    fn first(&self, runs: &[Run]) -> f64 {
        if self.axis.scale == Scale::Log { self.ends(runs)[0] } else { 0.0 }
    }

    /// A figure of every run by its load, in order of load.
    fn points<const N: usize>(&self, runs: &[Run], figure: impl Fn(&Run) -> Option<[f64; N]>) -> Vec<(f64, [f64; N])> {
        let mut points: Vec<_> = runs.iter().filter_map(|run| Some(((self.of)(run)?, figure(run)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    fn line(&self, runs: &[Run], figure: impl Fn(&Run) -> Option<f64>) -> Shape {
        let points = self.points(runs, |run| Some([figure(run)?])).into_iter().map(|(x, [y])| [x, y]).collect();
        // Runs with different load models are not joined by a line.
        if runs.windows(2).all(|pair| kind(&pair[0]) == kind(&pair[1])) {
            Shape::Line(points)
        } else {
            Shape::Points(points)
        }
    }

    /// Figures with intervals, and a separate series for runs too short for an interval.
    fn with_and_without_interval(
        &self,
        name: &str,
        ink: Style,
        runs: &[Run],
        figure: impl Fn(&Run) -> Option<(f64, Option<ConfidenceInterval>)>,
    ) -> Vec<Series> {
        let sure = self.intervals(runs, |run| figure(run).and_then(|(y, ends)| Some([y, ends?.low, ends?.high])));
        let unsure = self.points(runs, |run| figure(run).filter(|(_, ends)| ends.is_none()).map(|(y, _)| [y]));
        let unsure = Shape::Points(unsure.into_iter().map(|(x, [y])| [x, y]).collect());
        let all = [(format!("{name}, 95 %"), sure), (format!("{name}, run too short for an interval"), unsure)];
        all.into_iter()
            .filter(|(_, shape)| !shape.is_empty())
            .map(|(name, shape)| Series::new(name, ink, shape))
            .collect()
    }

    fn intervals(&self, runs: &[Run], figure: impl Fn(&Run) -> Option<[f64; 3]>) -> Shape {
        let points = self.points(runs, figure);
        Shape::Intervals(points.into_iter().map(|(x, [y, low, high])| [x, y, low, high]).collect())
    }
}

/// Hockey stick curve: mean and p95 of the response time by load, with the asymptote.
fn response_by_load(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let mean = |run: &Run| response(run).map(|spread| (spread.mean_ms, spread.mean_interval_ms));
    let p95 = |run: &Run| response(run).map(|spread| (spread.p95_ms, spread.p95_interval_ms));
    let mut series = load.with_and_without_interval("mean", Style::Measured, runs, mean);
    series.extend(load.with_and_without_interval("p95", Style::Second, runs, p95));
    series.extend(asymptote(runs, &load).map(|shape| Series::new("asymptote", Style::Theory, shape)));
    Chart {
        id: "response-by-load".into(),
        title: "Response time by load".into(),
        caption: "Flat at low load, then rising like a hockey stick. The dotted line, for a modelled server, is the lower bound: the service time, and the queue beyond the capacity."
            .into(),
        x: load.axis,
        y: Axis::linear("response time (ms)"),
        series,
    }
}

/// Lower bounds of the response time if all runs have the same modelled server: R >= S, and R >= N / capacity - Z for N users.
fn asymptote(runs: &[Run], load: &LoadAxis) -> Option<Shape> {
    let server = runs.first()?.server?;
    if runs.iter().any(|run| run.server != Some(server)) {
        return None;
    }
    if load.users {
        return Some(Shape::Line(closed_bounds(runs, load, server)));
    }
    let top = runs.iter().filter_map(|run| Some(response(run)?.p95_ms)).fold(server.service_ms, f64::max);
    Some(Shape::Line(vec![
        [load.first(runs), server.service_ms],
        [server.capacity_per_s, server.service_ms],
        [server.capacity_per_s, top],
    ]))
}

/// Maximum relative difference of mean think times that count as equal.
const SAME_THINK_TIME: f64 = 0.05;

/// R >= N / capacity - Z and R >= S: one line for equal think times, else a bound per run.
fn closed_bounds(runs: &[Run], load: &LoadAxis, server: ServerLimits) -> Vec<[f64; 2]> {
    let bound = |n: f64, think: f64| (n / server.capacity_per_s * 1e3 - think).max(server.service_ms);
    // The workload's think time: that of a short run differs by chance, and that of slow responses by the end of the run.
    let think = |run: &Run| run.test_setup.think_ms.or(run.verdict.queue.think_ms).unwrap_or(0.0);
    let bounds = load.points(runs, |run| Some([think(run)]));
    let thinks = || bounds.iter().map(|(_, [think])| *think);
    let (least, most) = (thinks().fold(f64::INFINITY, f64::min), thinks().fold(0.0, f64::max));
    if most > least * (1.0 + SAME_THINK_TIME) {
        return bounds.into_iter().map(|(n, [think])| [n, bound(n, think)]).collect();
    }
    let last = bounds.last().map_or(0.0, |(n, _)| *n);
    let knee = (server.service_ms + least) * server.capacity_per_s / 1e3;
    let mut points =
        vec![[load.first(runs), server.service_ms], [knee.min(last), server.service_ms], [last, bound(last, least)]];
    points.dedup();
    points
}

fn throughput(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let answers = load.line(runs, |run| run.verdict.responses.last()?.rate_per_s);
    Chart {
        id: "throughput-of-all".into(),
        title: "Completed rate by load".into(),
        caption: "The completed rate rises with the load until the server is saturated. A falling curve shows a server that becomes less efficient under load."
            .into(),
        x: load.axis,
        y: Axis::linear("completed requests/s"),
        series: vec![Series::new("completed", Style::Measured, answers)],
    }
}

fn cov(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let measured = load.intervals(runs, |run| {
        let total = run.verdict.gaps.last()?;
        Some([total.cov, total.cov_low?, total.cov_high?])
    });
    let ends = load.ends(runs);
    let poisson = if ends[0].is_finite() { ends.map(|x| [x, 1.0]).to_vec() } else { Vec::new() };
    Chart {
        id: "cov-of-all".into(),
        title: "CoV of the gaps by load".into(),
        caption: "1 for Poisson arrivals at any load. Closed users deviate when they spend more of their time waiting: see the next chart."
            .into(),
        x: load.axis,
        y: Axis::linear("CoV of the gaps"),
        series: vec![
            Series::new("measured, 95 %", Style::Measured, measured),
            Series::new("Poisson", Style::Theory, Shape::Line(poisson)),
        ],
    }
}

fn rort(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let ratio = load.line(runs, |run| run.verdict.queue.rort);
    Chart {
        id: "rort-of-all".into(),
        title: "RoRT by load".into(),
        caption: "Share of time that users wait for responses, R / (R + Z). Near zero, users are independent; near one, the server determines the rate."
            .into(),
        x: load.axis,
        y: Axis::linear("R / (R + Z)"),
        series: vec![Series::new("RoRT", Style::Measured, ratio)],
    }
}
