//! The curves of several runs: percentiles, and figures by load, a series per load model.

use offered_experiment::prediction::ServerLimits;
use offered_schedule::System;

use super::{is_invalid, model, response, sorted};
use crate::chart::{Axis, Chart, Scale, Series, Shape, Style};
use crate::chart_data::ConfidenceInterval;
use crate::run::Run;

/// Maximum number of percentile curves in one chart.
const CURVES: usize = 8;

pub(super) fn percentiles(runs: &[Run]) -> Chart {
    let curve = |(i, (_, run)): (usize, (usize, &Run))| {
        Some(Series::new(run.name.clone(), Style::Nth(i), Shape::Line(response(run)?.percentile_curve.clone())))
    };
    Chart {
        id: "percentiles-of-all".into(),
        title: "Response time percentiles of all runs".into(),
        caption: "At each percentile, the run with the lower curve is faster. If curves cross, one run is faster for most requests and slower in the tail."
            .into(),
        x: Axis::nines("share of requests"),
        y: Axis::log("response time (ms)"),
        series: sorted(runs).into_iter().take(CURVES).enumerate().filter_map(curve).collect(),
    }
}

/// The runs by load model; runs with different models are not joined by a line.
fn by_model(runs: &[Run]) -> Vec<(String, Vec<&Run>)> {
    let mut models: Vec<(String, Vec<&Run>)> = Vec::new();
    for (_, run) in sorted(runs) {
        let name = model(run);
        match models.last_mut().filter(|last| last.0 == name) {
            Some((_, members)) => members.push(run),
            None => models.push((name, vec![run])),
        }
    }
    models
}

/// A figure of a run with its interval.
type Estimate = (f64, Option<ConfidenceInterval>);

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
    fn points<'a, T>(
        &self,
        runs: impl IntoIterator<Item = &'a Run>,
        figure: impl Fn(&Run) -> Option<T>,
    ) -> Vec<(f64, T)> {
        let mut points: Vec<_> = runs.into_iter().filter_map(|run| Some(((self.of)(run)?, figure(run)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// Series of a figure for each model: the runs with an interval, the runs that are too short for an interval, and
    /// the invalid runs, as open circles. `nth` is the number of the figure among `figures` in the chart.
    fn series(
        &self,
        runs: &[Run],
        name: &str,
        (nth, figures): (usize, usize),
        figure: impl Fn(&Run) -> Option<Estimate>,
    ) -> Vec<Series> {
        let models = by_model(runs);
        let alone = models.len() == 1;
        let mut series = Vec::new();
        for (i, (model, members)) in models.iter().enumerate() {
            let name = if alone { name.to_owned() } else { format!("{model}: {name}") };
            let number = i * figures + nth;
            let of = |invalid| self.points(members.iter().copied().filter(|run| is_invalid(run) == invalid), &figure);
            let (sound, invalid) = (of(false), of(true));
            let (mut sure, mut unsure) = (Vec::new(), Vec::new());
            for (x, (y, interval)) in sound {
                match interval {
                    Some(ends) => sure.push([x, y, ends.low, ends.high]),
                    None => unsure.push([x, y]),
                }
            }
            let circles = invalid.into_iter().map(|(x, (y, _))| [x, y]).collect();
            series.push(Series::new(format!("{name}, 95 %"), Style::Nth(number), Shape::LineWithIntervals(sure)));
            let short = format!("{name}, run too short for an interval");
            series.push(Series::new(short, Style::Nth(number), Shape::Points(unsure)));
            series.push(Series::new(format!("{name}, invalid run"), Style::Published(number), Shape::Points(circles)));
        }
        series.retain(|series| !series.shape.is_empty());
        series
    }

    /// Lines of a figure without interval, one per model.
    fn lines(&self, runs: &[Run], name: &str, figure: impl Fn(&Run) -> Option<f64>) -> Vec<Series> {
        let models = by_model(runs);
        let alone = models.len() == 1;
        let line = |(i, (model, members)): (usize, &(String, Vec<&Run>))| {
            let sound = members.iter().copied().filter(|run| !is_invalid(run));
            let points = self.points(sound, &figure).into_iter().map(|(x, y)| [x, y]).collect();
            let name = if alone { name.to_owned() } else { format!("{model}: {name}") };
            Series::new(name, Style::Nth(i), Shape::Line(points))
        };
        models.iter().enumerate().map(line).filter(|series| !series.shape.is_empty()).collect()
    }
}

/// Hockey stick curve: mean and p95 of the response time by load, with the asymptote.
pub(super) fn response_by_load(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let mean = |run: &Run| response(run).map(|spread| (spread.mean_ms, spread.mean_interval_ms));
    let p95 = |run: &Run| response(run).map(|spread| (spread.p95_ms, spread.p95_interval_ms));
    let mut series = load.series(runs, "mean", (0, 2), mean);
    series.extend(load.series(runs, "p95", (1, 2), p95));
    series.extend(asymptote(runs, &load).map(|shape| Series::new("asymptote", Style::Theory, shape)));
    Chart {
        id: "response-by-load".into(),
        title: "Response time by load".into(),
        caption: "The response time is nearly constant at low load and rises steeply near the capacity. The dotted line, for a modelled server, is the lower bound: the service time, and above the capacity the time in the queue. Open circles are invalid runs."
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

/// R >= N / capacity - Z and R >= S: one line if all think times are equal, otherwise one bound per run.
fn closed_bounds(runs: &[Run], load: &LoadAxis, server: ServerLimits) -> Vec<[f64; 2]> {
    let bound = |n: f64, think: f64| (n / server.capacity_per_s * 1e3 - think).max(server.service_ms);
    // The workload's think time: that of a short run differs by chance, and that of slow responses by the end of the run.
    let think = |run: &Run| run.test_setup.think_ms.or(run.verdict.queue.think_ms).unwrap_or(0.0);
    let bounds = load.points(runs, |run| Some(think(run)));
    let thinks = || bounds.iter().map(|(_, think)| *think);
    let (least, most) = (thinks().fold(f64::INFINITY, f64::min), thinks().fold(0.0, f64::max));
    if most > least * (1.0 + SAME_THINK_TIME) {
        return bounds.into_iter().map(|(n, think)| [n, bound(n, think)]).collect();
    }
    let last = bounds.last().map_or(0.0, |(n, _)| *n);
    let knee = (server.service_ms + least) * server.capacity_per_s / 1e3;
    let mut points =
        vec![[load.first(runs), server.service_ms], [knee.min(last), server.service_ms], [last, bound(last, least)]];
    points.dedup();
    points
}

pub(super) fn throughput(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    Chart {
        id: "throughput-of-all".into(),
        title: "Completed rate by load".into(),
        caption: "The completed rate rises with the load until the server is saturated. A falling curve shows a server that becomes less efficient under load."
            .into(),
        series: load.lines(runs, "completed", |run| run.verdict.responses.last()?.rate_per_s),
        x: load.axis,
        y: Axis::linear("completed requests/s"),
    }
}

pub(super) fn cov(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    let measured = |run: &Run| {
        let total = run.verdict.gaps.last()?;
        let interval = total.cov_low.zip(total.cov_high).map(|(low, high)| ConfidenceInterval { low, high });
        Some((total.cov, interval))
    };
    let mut series = load.series(runs, "measured", (0, 1), measured);
    let ends = load.ends(runs);
    let poisson = if ends[0].is_finite() { ends.map(|x| [x, 1.0]).to_vec() } else { Vec::new() };
    series.push(Series::new("Poisson", Style::Theory, Shape::Line(poisson)));
    Chart {
        id: "cov-of-all".into(),
        title: "CoV of the gaps by load".into(),
        caption: "The CoV is 1 for Poisson arrivals at any load. With closed users it deviates when they spend more of their time waiting: see the next chart."
            .into(),
        x: load.axis,
        y: Axis::linear("CoV of the gaps"),
        series,
    }
}

pub(super) fn rort(runs: &[Run]) -> Chart {
    let load = LoadAxis::of(runs);
    Chart {
        id: "rort-of-all".into(),
        title: "RoRT by load".into(),
        caption: "Share of time that users wait for responses, R / (R + Z). Near zero, users are independent; near one, the server determines the rate."
            .into(),
        series: load.lines(runs, "RoRT", |run| run.verdict.queue.rort),
        x: load.axis,
        y: Axis::linear("R / (R + Z)"),
    }
}
