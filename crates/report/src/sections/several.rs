//! Several runs side by side. Figures 10, 12, 16 and 17 of Brady and Gunther.

use offered_experiment::theory::{By, Server};
use offered_model::System;
use offered_verify::Judgement;

use crate::chart::{Axis, Chart, Ink, Scale, Series, Shape};
use crate::compare::MEAN;
use crate::document::{Block, Cell, Section, Table};
use crate::portrait::{Ends, Spread};
use crate::report::{Report, Run};

/// More percentile curves than this in one chart cannot be told apart.
const CURVES: usize = 8;

/// The section, where there are several runs.
pub(super) fn section(report: &Report) -> Section {
    let mut blocks: Vec<Block> = tests(&report.runs).map(Block::Table).into_iter().collect();
    blocks.push(Block::Table(responses(&report.runs)));
    blocks.extend(outrun(&report.runs).map(Block::Words));
    blocks.push(Block::Table(loads(&report.runs)));
    blocks.extend(models(&report.runs).map(|words| Block::Words(words.to_owned())));
    blocks.extend(report.differences.iter().map(|difference| Block::Words(difference.words())));
    blocks.extend(unknown(report).map(Block::Words));
    let charts = [
        percentiles(&report.runs).some(),
        sticks(&report.runs).tenfold().some(),
        throughput(&report.runs).tenfold().some(),
        cov(&report.runs).some(),
        rort(&report.runs).some(),
    ];
    blocks.extend(charts.into_iter().flatten().map(Block::Chart));
    Section {
        id: "runs".into(),
        level: 2,
        title: "Side by side".into(),
        reading: "The runs against each other and against their load. Intervals are 95 %, from ten parts of each run; where they \
                  overlap widely, the runs may be the same but for chance.",
        page: Some("guides/report.md"),
        blocks,
    }
}

fn response(run: &Run) -> Option<&Spread> {
    run.portrait.as_ref()?.response.as_ref()
}

/// What sort of load a run was under: its system model and, of an open one, the CoV of its arrivals.
fn kind(run: &Run) -> (Option<System>, Option<f64>) {
    let meant = &run.verdict.meant;
    (meant.system, meant.expected_cov.filter(|_| meant.system == Some(System::Open)))
}

/// What to expect of runs of different system models.
fn models(runs: &[Run]) -> Option<&'static str> {
    let of = |system| runs.iter().any(|run| run.verdict.meant.system == Some(system));
    (of(System::Closed) && (of(System::Open) || of(System::PartlyOpen))).then_some(
        "The runs are of different system models, and a load that is the same on average is not the same load. Open arrivals come \
         whatever the server does. Visitors of a partly-open system come so too, ask some times and leave. Closed users wait for \
         their answer before they ask again: where the server is slow they hold its load back, and its responses look shorter.",
    )
}

/// The runs whose mean response cannot be held against that of the first.
fn unknown(report: &Report) -> impl Iterator<Item = String> {
    let told = |run: &Run| report.differences.iter().any(|d| d.run == run.name && d.measure == MEAN);
    let first = report.runs.first().map_or("", |run| run.name.as_str());
    report.runs.iter().skip(1).filter(move |run| response(run).is_some() && !told(run)).map(move |run| {
        format!("{}: the mean response cannot be held against that of {first}; one of the two runs is too short to tell how sure its mean is.", run.name)
    })
}

/// What the formula says of the mean response, where there is one.
fn formula(run: &Run) -> Option<f64> {
    run.predictions.iter().find(|prediction| prediction.by == By::Formula)?.mean_ms
}

/// All thresholds of a run in one word.
fn thresholds(run: &Run) -> Option<Judgement> {
    let any = |judgement| run.thresholds.iter().any(|checked| checked.judgement == judgement).then_some(judgement);
    [Judgement::Fails, Judgement::NotChecked, Judgement::HoldsWithDoubt, Judgement::Holds].into_iter().find_map(any)
}

fn ends(ends: Option<Ends>) -> Cell {
    ends.map_or(Cell::Nothing, |ends| Cell::Interval(ends.low, ends.high))
}

/// What was tested, when and how, of the runs of which that is known.
fn tests(runs: &[Run]) -> Option<Table> {
    let row = |run: &Run| {
        let tested = &run.tested;
        tested.target.as_ref().or(tested.began.as_ref())?;
        let text = |text: &Option<String>| text.as_ref().map_or(Cell::Nothing, Cell::from);
        Some(vec![
            Cell::from(&run.name),
            text(&tested.target),
            text(&tested.began),
            tested.duration_s.into(),
            tested.seed.map_or(Cell::Nothing, |seed| Cell::from(seed.to_string())),
            text(&tested.version),
        ])
    };
    let rows: Vec<_> = runs.iter().filter_map(row).collect();
    let heads = vec!["run", "target", "began", "duration s", "seed", "offered"];
    (!rows.is_empty()).then(|| Table { caption: "The tests".into(), heads, rows })
}

/// Whose times say as much about the length of the test as about the system.
fn outrun(runs: &[Run]) -> Option<String> {
    let outrun = |run: &&Run| run.verdict.keeps_up.is_some_and(|kept| kept.judgement == Judgement::Fails);
    let names: Vec<&str> = runs.iter().filter(outrun).map(|run| run.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The system did not keep up in {}: the times there depend on how long the run lasted.",
            names.join(", ")
        )
    })
}

/// What came back, the percentiles first: a telephone shows the first columns.
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
        caption: "Responses of every run with their intervals (ms)".into(),
        heads: vec!["run", "p50", "p95", "p99", "% failed", "95 % of p95", "mean", "95 %", "formula", "RoRT"],
        rows: runs.iter().map(row).collect(),
    }
}

/// Under which load, and what is to be believed of it.
fn loads(runs: &[Run]) -> Table {
    let row = |run: &Run| {
        let v = &run.verdict;
        let total = v.launches.last();
        let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
        vec![
            Cell::from(&run.name),
            v.judgement.into(),
            v.keeps_up.map(|kept| kept.judgement).into(),
            thresholds(run).into(),
            v.queue.rate_per_s.into(),
            v.meant.arrivals.as_str().into(),
            total.map(|total| total.cov).into(),
            cov.unwrap_or(Cell::Nothing),
        ]
    };
    Table {
        caption: "Load of every run".into(),
        heads: vec!["run", "load", "keeps up", "thresholds", "λ per s", "meant", "CoV", "95 %"],
        rows: runs.iter().map(row).collect(),
    }
}

fn percentiles(runs: &[Run]) -> Chart {
    let curve = |(i, run): (usize, &Run)| {
        Some(Series::new(run.name.clone(), Ink::Nth(i), Shape::Line(response(run)?.curve.clone())))
    };
    Chart {
        id: "percentiles-of-all".into(),
        title: "Percentiles of all runs".into(),
        reading: "The lower curve is the faster run at that percentile. Curves that cross say that one run is better for most and \
                  worse for the unlucky."
            .into(),
        x: Axis::nines("share of the launches"),
        y: Axis::log("response (ms)"),
        series: runs.iter().take(CURVES).enumerate().filter_map(curve).collect(),
    }
}

/// What the runs are laid out over: users where all know them, else the rate; in equal factors where that differs tenfold.
struct Load {
    axis: Axis,
    /// Whether it is a number of users.
    users: bool,
    of: fn(&Run) -> Option<f64>,
}

impl Load {
    fn of(runs: &[Run]) -> Self {
        let users: fn(&Run) -> Option<f64> = |run| {
            let closed = run.verdict.meant.system == Some(System::Closed);
            run.verdict.queue.users_seen.filter(|_| closed).map(|n| n as f64)
        };
        let load = if runs.iter().all(|run| users(run).is_some()) {
            Self { axis: Axis::linear("users N"), users: true, of: users }
        } else {
            Self { axis: Axis::linear("launches per second λ"), users: false, of: |run| run.verdict.queue.rate_per_s }
        };
        let [least, most] = load.ends(runs);
        Self { axis: load.axis.tenfold((least, most)), ..load }
    }

    /// The least and the most of all runs.
    fn ends(&self, runs: &[Run]) -> [f64; 2] {
        let loads = || runs.iter().filter_map(self.of);
        [loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max)]
    }

    /// Where lines that are there at every load begin.
    fn first(&self, runs: &[Run]) -> f64 {
        if self.axis.scale == Scale::Log { self.ends(runs)[0] } else { 0.0 }
    }

    /// A figure of every run against its load, from the left.
    fn points<const N: usize>(&self, runs: &[Run], figure: impl Fn(&Run) -> Option<[f64; N]>) -> Vec<(f64, [f64; N])> {
        let mut points: Vec<_> = runs.iter().filter_map(|run| Some(((self.of)(run)?, figure(run)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    fn line(&self, runs: &[Run], figure: impl Fn(&Run) -> Option<f64>) -> Shape {
        let points = self.points(runs, |run| Some([figure(run)?])).into_iter().map(|(x, [y])| [x, y]).collect();
        // A line through runs of different models would join what does not follow from each other.
        if runs.windows(2).all(|pair| kind(&pair[0]) == kind(&pair[1])) {
            Shape::Line(points)
        } else {
            Shape::Points(points)
        }
    }

    /// Figures with their intervals, and apart from them those of runs too short for one.
    fn sure_or_not(
        &self,
        name: &str,
        ink: Ink,
        runs: &[Run],
        figure: impl Fn(&Run) -> Option<(f64, Option<Ends>)>,
    ) -> Vec<Series> {
        let sure = self.intervals(runs, |run| figure(run).and_then(|(y, ends)| Some([y, ends?.low, ends?.high])));
        let unsure = self.points(runs, |run| figure(run).filter(|(_, ends)| ends.is_none()).map(|(y, _)| [y]));
        let unsure = Shape::Points(unsure.into_iter().map(|(x, [y])| [x, y]).collect());
        let all = [(format!("{name}, 95 %"), sure), (format!("{name}, too short for an interval"), unsure)];
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

/// Hockey sticks: mean and 95 % point against load, and what no load can make better.
fn sticks(runs: &[Run]) -> Chart {
    let load = Load::of(runs);
    let mean = |run: &Run| response(run).map(|spread| (spread.mean_ms, spread.mean_interval_ms));
    let p95 = |run: &Run| response(run).map(|spread| (spread.p95_ms, spread.p95_interval_ms));
    let mut series = load.sure_or_not("R mean", Ink::Measured, runs, mean);
    series.extend(load.sure_or_not("R p95", Ink::Second, runs, p95));
    series.extend(asymptote(runs, &load).map(|shape| Series::new("asymptote", Ink::Theory, shape)));
    Chart {
        id: "hockey-sticks".into(),
        title: "Responses against load".into(),
        reading: "Flat while there is room, then bent upwards like a hockey stick. The dotted line, where the server is known, is \
                  what no run can be below: its service time, and beyond its capacity the queue."
            .into(),
        x: load.axis,
        y: Axis::linear("response (ms)"),
        series,
    }
}

/// Bounds of the response, where every run had the same known server: R >= S, and of N users R >= N / capacity - Z.
fn asymptote(runs: &[Run], load: &Load) -> Option<Shape> {
    let server = runs.first()?.server?;
    if runs.iter().any(|run| run.server != Some(server)) {
        return None;
    }
    if load.users {
        return Some(Shape::Line(of_users(runs, load, server)));
    }
    let top = runs.iter().filter_map(|run| Some(response(run)?.p95_ms)).fold(server.service_ms, f64::max);
    Some(Shape::Line(vec![
        [load.first(runs), server.service_ms],
        [server.capacity_per_s, server.service_ms],
        [server.capacity_per_s, top],
    ]))
}

/// Runs whose mean think times differ by no more than this share think alike.
const ALIKE: f64 = 0.05;

/// R >= N / capacity - Z and R >= S: one bent line where all users think alike, else the bound of each run.
fn of_users(runs: &[Run], load: &Load, server: Server) -> Vec<[f64; 2]> {
    let bound = |n: f64, think: f64| (n / server.capacity_per_s * 1e3 - think).max(server.service_ms);
    let bounds = load.points(runs, |run| Some([run.verdict.queue.think_ms.unwrap_or(0.0)]));
    let thinks = || bounds.iter().map(|(_, [think])| *think);
    let (least, most) = (thinks().fold(f64::INFINITY, f64::min), thinks().fold(0.0, f64::max));
    if most > least * (1.0 + ALIKE) {
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
    let load = Load::of(runs);
    let answers = load.line(runs, |run| run.verdict.responses.last()?.rate_per_s);
    Chart {
        id: "throughput-of-all".into(),
        title: "Throughput against load".into(),
        reading: "Answers per second rise with the load until the server is full, and stay there. A curve that falls again is a \
                  server that does worse work under pressure."
            .into(),
        x: load.axis,
        y: Axis::linear("answers per second X"),
        series: vec![Series::new("X", Ink::Measured, answers)],
    }
}

fn cov(runs: &[Run]) -> Chart {
    let load = Load::of(runs);
    let measured = load.intervals(runs, |run| {
        let total = run.verdict.launches.last()?;
        Some([total.cov, total.cov_low?, total.cov_high?])
    });
    let ends = load.ends(runs);
    let poisson = if ends[0].is_finite() { ends.map(|x| [x, 1.0]).to_vec() } else { Vec::new() };
    Chart {
        id: "cov-of-all".into(),
        title: "CoV of the gaps against load".into(),
        reading: "At 1 the launches are a Poisson process, whatever the load. Closed users leave that line when they spend more of \
                  their time waiting: see the next chart."
            .into(),
        x: load.axis,
        y: Axis::linear("CoV of the gaps"),
        series: vec![
            Series::new("measured, 95 %", Ink::Measured, measured),
            Series::new("Poisson", Ink::Theory, Shape::Line(poisson)),
        ],
    }
}

fn rort(runs: &[Run]) -> Chart {
    let load = Load::of(runs);
    let ratio = load.line(runs, |run| run.verdict.queue.rort);
    Chart {
        id: "rort-of-all".into(),
        title: "RoRT against load".into(),
        reading: "The share of their time that users wait for answers, R / (R + Z). Near zero they are independent of each other; \
                  near one they queue in step, and the server sets the rate."
            .into(),
        x: load.axis,
        y: Axis::linear("R / (R + Z)"),
        series: vec![Series::new("RoRT", Ink::Measured, ratio)],
    }
}
