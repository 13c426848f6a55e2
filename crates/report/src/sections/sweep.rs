//! A sweep: the curves through its cells.

use std::collections::BTreeMap;

use offered_experiment::document::sweep::{Cell as Point, Document as Sweep};
use offered_experiment::sweep::{Interval, Times};
use offered_experiment::{Field, Number, Unit};
use offered_verify::{StabilityState, Validity};

use crate::chart::{Axis, Chart, Scale, Series, Shape, Style};
use crate::document::{Block, Cell, Section, Table, headings};
use crate::point_name::names;

use super::and_more;

/// Maximum number of densities in one chart.
const DENSITIES: usize = 6;
/// Maximum number of lines of a sweep among them.
const LINES: usize = 3;

/// The section of the `number`-th sweep.
pub(crate) fn section(sweep: &Sweep, number: usize) -> Section {
    let mut blocks = Vec::new();
    if let Some(objective) = &sweep.objective {
        blocks.push(Block::Table(limits(sweep, objective)));
    }
    blocks.push(Block::Table(cells(sweep)));
    blocks.extend(unusable(sweep).map(Block::Table));
    blocks.extend(charts(sweep).into_iter().filter_map(Chart::non_empty).map(Block::Chart));
    let how = if sweep.simulated { "simulated" } else { "run" };
    Section {
        id: format!("sweep-{number}"),
        level: 2,
        title: format!("Sweep of {} ({how})", sweep.workload),
        intro: "Every point is a separate run without its warm-up; a line joins points that differ only in the first field. At the load at which a curve bends upwards, the server saturates. Open circles are invalid runs, which did not have the specified load, and overloaded runs, whose response times grow with the duration.",
        book_page: Some("guides/report.md"),
        folded: false,
        blocks,
    }
}

/// The horizontal axis of a sweep: the values of its first field.
struct SweepAxis {
    axis: Axis,
    at: BTreeMap<String, f64>,
    field: Field,
}

impl SweepAxis {
    fn of(sweep: &Sweep) -> Option<Self> {
        let first = sweep.fields.first()?;
        let numbers: Option<Vec<Number>> = first.values.iter().map(|text| first.field.number(text)).collect();
        // Numbers with different units have no common axis.
        let numbers = numbers.filter(|all| all.iter().all(|one| one.unit == all[0].unit));
        let axis = match &numbers {
            Some(numbers) => {
                let ends = |(low, high): (f64, f64), x: &Number| (low.min(x.value), high.max(x.value));
                let unit = match numbers.first().map(|x| x.unit) {
                    Some(Unit::PerSecond) => " (per s)",
                    Some(Unit::Millis) => " (ms)",
                    Some(Unit::One) | None => "",
                };
                let axis = Axis::linear(&format!("{}{unit}", first.field));
                axis.auto_scale(numbers.iter().fold((f64::INFINITY, 0.0), ends))
            }
            None => Axis::names(first.field.name(), first.values.clone()),
        };
        let numbers = numbers.map(|numbers| numbers.into_iter().map(|x| x.value).collect());
        let places: Vec<f64> = numbers.unwrap_or_else(|| (0..first.values.len()).map(|i| i as f64).collect());
        Some(Self { axis, at: first.values.iter().cloned().zip(places).collect(), field: first.field.clone() })
    }

    /// A line with intervals per combination of the other fields, in grid order. Invalid cells and overloaded cells,
    /// whose results depend on the duration, are not part of the line. They are series of open circles.
    fn lines(&self, sweep: &Sweep, figure: impl Fn(&Point) -> Option<Interval>) -> Vec<Series> {
        let mut all = Vec::new();
        let mut drawn = 0;
        for (name, cells) in groups(sweep) {
            let point = |cell: &&Point| {
                let interval = figure(cell).filter(|interval| interval.value.is_finite())?;
                let (low, high) = interval.low.zip(interval.high).unwrap_or((interval.value, interval.value));
                Some([*self.at.get(cell.values.get(&self.field)?)?, interval.value, low, high])
            };
            let of = |flaw: Option<Flaw>| {
                let mut points: Vec<[f64; 4]> =
                    cells.iter().filter(|cell| Flaw::of(cell) == flaw).filter_map(point).collect();
                points.sort_by(|a, b| a[0].total_cmp(&b[0]));
                points
            };
            let sound = of(None);
            let flawed = [Flaw::Invalid, Flaw::Overloaded].map(|flaw| (flaw, of(Some(flaw))));
            let is_shown = !sound.is_empty() || flawed.iter().any(|(_, points)| !points.is_empty());
            let named = matches!(self.axis.scale, Scale::Names(_));
            let shape = |points| if named { Shape::Intervals(points) } else { Shape::LineWithIntervals(points) };
            let suffix = if name.is_empty() { String::new() } else { format!("{name}, ") };
            let line = if name.is_empty() { sweep.workload.clone() } else { name };
            all.push(Series::new(line, Style::Nth(drawn), shape(sound)));
            all.extend(flawed.map(|(flaw, points)| {
                let circles = points.into_iter().map(|[x, y, ..]| [x, y]).collect();
                Series::new(format!("{suffix}{}", flaw.name()), Style::Published(drawn), Shape::Points(circles))
            }));
            drawn += usize::from(is_shown);
        }
        all.retain(|series| !series.shape.is_empty());
        all
    }

    fn chart(&self, id: &str, title: &str, caption: &str, y: &str, series: Vec<Series>) -> Chart {
        let (id, title, caption) = (id.to_owned(), title.to_owned(), caption.to_owned());
        Chart { id, title, caption, x: self.axis.clone(), y: Axis::linear(y), series }
    }
}

/// Why the results of a cell are not comparable with those of the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Invalid,
    Overloaded,
}

impl Flaw {
    fn of(cell: &Point) -> Option<Self> {
        let overloaded = || cell.figures.stability.is_some_and(|of| of.state == StabilityState::Overloaded);
        match cell.figures.validity {
            Validity::Invalid => Some(Self::Invalid),
            _ => overloaded().then_some(Self::Overloaded),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Overloaded => "overloaded",
        }
    }
}

/// Groups of cells that differ only in the first field, in grid order.
fn groups(sweep: &Sweep) -> Vec<(String, Vec<&Point>)> {
    let first = sweep.fields.first().map(|first| &first.field);
    let mut groups: Vec<(String, Vec<&Point>)> = Vec::new();
    for cell in &sweep.cells {
        let name = names(
            &cell
                .values
                .iter()
                .filter(|(field, _)| Some(*field) != first)
                .map(|(f, v)| (f.clone(), v.clone()))
                .collect(),
        );
        match groups.iter_mut().find(|group| group.0 == name) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((name, vec![cell])),
        }
    }
    groups
}

/// At most `most` of `all`, including the first and the last.
fn evenly<T>(all: Vec<T>, most: usize) -> impl Iterator<Item = T> {
    let last = all.len().saturating_sub(1);
    let places: Vec<usize> = (0..most).map(|i| i * last / (most - 1)).collect();
    all.into_iter().enumerate().filter(move |(i, _)| places.contains(i)).map(|(_, one)| one)
}

fn charts(sweep: &Sweep) -> Vec<Chart> {
    let Some(across) = SweepAxis::of(sweep) else { return Vec::new() };
    let time = |of: fn(&Times) -> Interval| across.lines(sweep, move |cell| cell.figures.response_ms.as_ref().map(of));
    let exact = |value: f64| Interval { value, low: None, high: None };
    let percentile = |id: &str, name: &str, series| {
        let caption = "A horizontal line at the required time intersects each curve at the largest load that meets it. Bars are 95 % intervals; open circles are invalid or overloaded cells.";
        across.chart(id, &format!("Response time, {name}"), caption, "response time (ms)", series).auto_scale()
    };
    vec![
        percentile("mean", "mean", time(|times| times.mean)),
        percentile("p50", "p50", time(|times| times.p50)),
        percentile("p90", "p90", time(|times| times.p90)),
        percentile("p95", "p95", time(|times| times.p95)),
        percentile("p99", "p99", time(|times| times.p99)),
        across
            .chart(
                "throughput",
                "Throughput",
                "The completed rate rises with the load until the server is saturated, then stays constant.",
                "completed requests/s",
                across.lines(sweep, |cell| cell.figures.completed_rate_per_s),
            )
            .auto_scale(),
        across.chart(
            "cov",
            "CoV of the gaps",
            "The CoV is 1 for Poisson arrivals. With closed users it deviates when they wait longer than they think.",
            "CoV of the gaps",
            across.lines(sweep, |cell| cell.figures.measured_cov),
        ),
        across.chart(
            "rort",
            "RoRT",
            "Share of time that users wait for responses. Near one, the server determines their rate.",
            "R / (R + Z)",
            across.lines(sweep, |cell| cell.figures.queue.rort.map(exact)),
        ),
        densities(sweep),
    ]
}

/// The densities of some cells, from at most three lines. The smallest and the largest load of each line and some loads
/// in between are shown.
fn densities<'a>(sweep: &'a Sweep) -> Chart {
    let sound = |cells: Vec<&'a Point>| {
        cells.into_iter().filter(|cell| Flaw::of(cell) != Some(Flaw::Invalid) && !is_without_result(cell)).collect()
    };
    let lines: Vec<Vec<&Point>> = evenly(groups(sweep), LINES).map(|(_, cells)| sound(cells)).collect();
    let each = DENSITIES / lines.len().max(1);
    let steps = |cell: &Point| {
        let histogram = &cell.figures.response_histogram;
        let n = histogram.counts.iter().sum::<u64>() as f64;
        let edges = histogram.edges_ms.windows(2);
        let mut steps: Vec<[f64; 2]> = edges
            .zip(&histogram.counts)
            .map(|(edge, count)| [edge[0], *count as f64 * 100.0 / (n * (edge[1] / edge[0]).log10())])
            .collect();
        steps.extend(histogram.edges_ms.last().map(|end| [*end, 0.0]));
        Shape::Steps(steps)
    };
    let picked = lines.into_iter().flat_map(|cells| evenly(cells, each)).enumerate();
    Chart {
        id: "densities".into(),
        title: "Response time densities of some cells".into(),
        caption:
            "Distribution of the response times of a cell. With more load the distribution moves to the right and gets a longer tail."
                .into(),
        x: Axis::log("response time (ms)"),
        y: Axis::linear("share per decade (%)"),
        series: picked.map(|(i, cell)| Series::new(names(&cell.values), Style::Nth(i), steps(cell))).collect(),
    }
}

fn ends(interval: Option<Interval>) -> Cell {
    match interval.map(|interval| (interval.low, interval.high)) {
        Some((Some(low), Some(high))) => Cell::Interval(low, high),
        _ => Cell::Empty,
    }
}

fn cells(sweep: &Sweep) -> Table {
    let row = |cell: &Point| {
        let times = cell.figures.response_ms.as_ref();
        let value = |interval: Option<Interval>| Cell::from(interval.map(|interval| interval.value));
        vec![
            Cell::from(names(&cell.values)),
            cell.figures.validity.into(),
            cell.figures.stability.map(|stability| stability.state).into(),
            cell.figures.sent_rate_per_s.into(),
            value(cell.figures.measured_cov),
            value(times.map(|times| times.mean)),
            ends(times.map(|times| times.mean)),
            value(times.map(|times| times.p95)),
            ends(times.map(|times| times.p95)),
            value(times.map(|times| times.p99)),
            value(cell.figures.completed_rate_per_s),
            value(cell.figures.errors_percent),
            cell.figures.queue.rort.into(),
        ]
    };
    Table {
        caption: "All cells (response times in ms)".into(),
        headings: headings([
            "cell",
            "validity",
            "stability",
            "sent/s",
            "CoV",
            "mean",
            "95 %",
            "p95",
            "95 %",
            "p99",
            "completed/s",
            "% failed",
            "RoRT",
        ]),
        rows: sweep.cells.iter().map(row).collect(),
    }
}

/// Maximum number of rows of [`unusable`].
const UNUSABLE: usize = 12;

/// Whether the cell has nothing to measure: its simulated queue grows without end, or no request completed.
pub(crate) fn is_without_result(cell: &Point) -> bool {
    cell.figures.total_requests == 0
}

/// The cells without a result and the invalid cells, each with the reason; `None` if there are none.
fn unusable(sweep: &Sweep) -> Option<Table> {
    let unusable = |cell: &&Point| is_without_result(cell) || cell.figures.validity == Validity::Invalid;
    let all: Vec<&Point> = sweep.cells.iter().filter(unusable).collect();
    let row = |cell: &&Point| {
        let result = if is_without_result(cell) { Cell::from("no result") } else { cell.figures.validity.into() };
        vec![Cell::from(names(&cell.values)), result, Cell::from(&cell.figures.reason)]
    };
    (!all.is_empty()).then(|| Table {
        caption: and_more("Cells without usable results", "the first", all.len().saturating_sub(UNUSABLE)),
        headings: headings(["cell", "result", "reason"]),
        rows: all.iter().take(UNUSABLE).map(row).collect(),
    })
}

/// The largest load that meets the objective, per combination of the other fields.
pub(crate) fn limits(sweep: &Sweep, objective: &str) -> Table {
    let rows = sweep.limits.iter().map(|limit| {
        vec![
            Cell::from(names(&limit.fixed)),
            limit.value.into(),
            ends(limit.value.map(|value| Interval { value, low: limit.low, high: limit.high })),
            limit.note.as_ref().into(),
        ]
    });
    Table {
        caption: match sweep.fields.first().map(|first| &first.field) {
            Some(Field::Users) => format!("Largest number of users that meets {objective}"),
            Some(field) => format!("Largest {field} that meets {objective}"),
            None => format!("Largest value that meets {objective}"),
        },
        headings: headings(["with", "up to", "95 %", "note"]),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A sweep of three rates, whose second cell has this validity and stability.
    fn sweep(validity: &str, state: &str) -> Sweep {
        let cell = |rate: u64, validity: &str, state: &str| {
            let mean = rate as f64;
            let interval = json!({ "value": mean, "low": 0.9 * mean, "high": 1.1 * mean });
            json!({
                "values": { "rate": rate.to_string() }, "directory": "cells/1", "position": 0, "validity": validity,
                "reason": "", "warnings": [], "total_requests": 100, "unsent": 0, "sent_rate_per_s": 80.0,
                "completed_rate_per_s": interval, "thresholds": [], "queue": {},
                "response_ms": {
                    "n": 100, "mean": interval, "p50": interval, "p90": interval, "p95": interval, "p99": interval,
                    "p999": { "value": null, "low": null, "high": null }, "max": mean
                },
                "stability": {
                    "state": state, "sent_rate_per_s": 80.0, "completed_rate_per_s": 80.0, "in_flight_at_start": 0,
                    "in_flight_at_end": 0, "timed_out": 0, "growth_per_s": 0.0, "growth_low_per_s": 0.0,
                    "growth_high_per_s": 0.0
                },
                "response_histogram": { "edges_ms": [1.0, 10.0, 100.0], "counts": [30, 70] },
            })
        };
        serde_json::from_value(json!({
            "schema": "offered.sweep/1", "version": "0.1.0", "workload": "w.toml", "simulated": true,
            "order": "strided", "fields": [{ "field": "rate", "values": ["50", "60", "70"] }],
            "cells": [cell(50, "valid", "stable"), cell(60, validity, state), cell(70, "valid", "stable")],
            "objective": null, "limits": [],
        }))
        .unwrap()
    }

    #[test]
    fn invalid_and_overloaded_cells_are_not_on_the_line() {
        let line =
            |points: &[f64]| Shape::LineWithIntervals(points.iter().map(|x| [*x, *x, 0.9 * x, 1.1 * x]).collect());
        let series = |validity, state| {
            let charts = charts(&sweep(validity, state));
            let chart = charts.into_iter().find(|chart| chart.id == "mean").unwrap();
            chart.series.into_iter().map(|series| (series.name, series.style, series.shape)).collect::<Vec<_>>()
        };
        assert_eq!(series("valid", "stable"), [("w.toml".into(), Style::Nth(0), line(&[50.0, 60.0, 70.0]))]);
        for (validity, state, name) in [
            ("invalid", "stable", "invalid"),
            ("invalid", "overloaded", "invalid"),
            ("valid", "overloaded", "overloaded"),
        ] {
            let circle = (name.to_owned(), Style::Published(0), Shape::Points(vec![[60.0, 60.0]]));
            assert_eq!(series(validity, state), [("w.toml".into(), Style::Nth(0), line(&[50.0, 70.0])), circle]);
        }
        let densities = |validity| densities(&sweep(validity, "stable")).series.len();
        assert_eq!((densities("valid"), densities("invalid")), (3, 2));
    }

    #[test]
    fn cells_without_usable_results_have_their_reasons() {
        let mut sweep = sweep("invalid", "stable");
        sweep.cells[1].figures.reason = "the generator was saturated".to_owned();
        let figures = &mut sweep.cells[2].figures;
        (figures.total_requests, figures.response_histogram.counts) = (0, Vec::new());
        figures.reason = "the load is 1.2".to_owned();
        let reasons: Vec<String> = unusable(&sweep).unwrap().rows.iter().map(|row| row[2].text()).collect();
        assert_eq!(reasons, ["the generator was saturated", "the load is 1.2"]);
        assert_eq!(densities(&sweep).series.len(), 1);
        sweep.cells.truncate(1);
        assert!(unusable(&sweep).is_none());
    }

    #[test]
    fn first_and_last_are_always_selected() {
        let picked = |n: usize, most| evenly((1..=n).collect::<Vec<_>>(), most).collect::<Vec<_>>();
        assert_eq!(picked(5, 2), [1, 5]);
        assert_eq!(picked(5, 3), [1, 3, 5]);
        assert_eq!(picked(2, 6), [1, 2]);
        assert_eq!(picked(15, 6), [1, 3, 6, 9, 12, 15]);
        assert!(picked(0, 3).is_empty());
    }
}
