//! The answers for people, and for spreadsheets.

use std::fmt::Write as _;

use offered_experiment::Point;
use offered_simulate::statistics::{Interval, Percentile, Spread};
use offered_simulate::{Doubt, Simulated};
use offered_stats::steady_state::Estimate;
use offered_store::{Cells, Column};

use crate::table::{Table, clipped};

/// A number with four digits that mean something.
fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let places = (3 - x.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{x:.places$}")
}

fn with_error(estimate: Estimate) -> String {
    format!("{} +- {}", short(estimate.value), short(estimate.half_width()))
}

/// The ends of a percentile's interval, or how many requests it would take.
fn ends(percentile: Percentile, unit: f64) -> String {
    match percentile.interval {
        Interval::Between(low, high) => format!("{} .. {}", short(low * unit), short(high * unit)),
        Interval::Needs(values) => format!("needs {:.0e}", values as f64),
    }
}

/// A kind of time, or slowdowns, in these units.
fn row(table: &mut Table, name: &str, spread: &Spread, unit: f64) {
    let value = |x: f64| short(x * unit);
    let interval = format!("{} .. {}", value(spread.mean.low), value(spread.mean.high));
    let points = [spread.p50, spread.p90, spread.p95, spread.p99].map(|percentile| value(percentile.value));
    let [p50, p90, p95, p99] = points;
    table.row([name.to_owned(), value(spread.mean.value), interval, p50, p90, p95, p99, value(spread.max)]);
}

/// One answer in full.
pub(super) fn one(answer: &Simulated) -> String {
    let summary = &answer.summary;
    let mut out = String::new();
    let mut head = format!("{}, {}, service {}", answer.model, answer.discipline, answer.service);
    if let Some(users) = answer.users {
        let _ = write!(head, ", {users} users");
    }
    if let Some(think) = answer.think {
        let _ = write!(head, ", think {} s", short(think));
    }
    let _ = writeln!(out, "{head}\n{} requests after a warm-up of {}\n", summary.jobs, summary.warm_up);
    let mut table = Table::new(["", "mean", "95 % interval", "p50", "p90", "p95", "p99", "max"]);
    row(&mut table, "response, ms", &summary.response, 1e3);
    let Spread { p50, p90, p95, p99, .. } = summary.response;
    let [p50, p90, p95, p99] = [p50, p90, p95, p99].map(|percentile| ends(percentile, 1e3));
    table.row(["  95 % intervals".to_owned(), String::new(), String::new(), p50, p90, p95, p99, String::new()]);
    let mut spread = |name: &str, spread: &Spread, unit: f64| row(&mut table, name, spread, unit);
    spread("slowdown", &summary.slowdown, 1.0);
    for (label, class) in answer.labels.iter().zip(&summary.classes) {
        let (Some((response, slowdown)), label) = (class, clipped(label)) else { continue };
        spread(&format!("  {label}: response, ms"), response, 1e3);
        spread(&format!("  {label}: slowdown"), slowdown, 1.0);
    }
    if let Some(ended) = &summary.sessions {
        spread("session, s", &ended.duration, 1.0);
        spread("its responses, s", &ended.waited, 1.0);
    }
    let _ = writeln!(out, "{table}");
    let mut figures = Table::new(["", "value", "95 % interval"]);
    let mut figure = |name: &str, estimate: Estimate, unit: f64| {
        let interval = format!("{} .. {}", short(estimate.low * unit), short(estimate.high * unit));
        figures.row([name.to_owned(), short(estimate.value * unit), interval]);
    };
    figure("throughput, per s", summary.throughput, 1.0);
    figure("load reached", answer.load_reached, 1.0);
    figure("requests in system", summary.in_system, 1.0);
    figure("E[N]/X, ms", summary.response_by_little, 1e3);
    if summary.refused.value > 0.0 {
        figure("refused", summary.refused, 1.0);
    }
    let _ = write!(out, "{figures}");
    out
}

/// A row per answer.
pub(super) fn many(points: &[Point], answers: &[Simulated]) -> String {
    let mut table =
        Table::new(["point", "response, ms", "p50", "p95", "p99", "slowdown", "load", "X, per s", "think, s"]);
    for (point, answer) in points.iter().zip(answers) {
        let summary = &answer.summary;
        let millis = |secs: f64| short(secs * 1e3);
        let mean = summary.response.mean;
        table.row([
            point.name(),
            format!("{} +- {}", millis(mean.value), short(mean.half_width() * 1e3)),
            millis(summary.response.p50.value),
            millis(summary.response.p95.value),
            millis(summary.response.p99.value),
            short(summary.slowdown.mean.value),
            with_error(answer.load_reached),
            short(summary.throughput.value),
            answer.think.map_or_else(String::new, short),
        ]);
    }
    table.to_string()
}

/// One tidy table: the swept fields, then the figures, in full precision.
pub(super) fn columns(points: &[Point], answers: &[Simulated]) -> Vec<Column> {
    let swept = points[0].values.iter().enumerate().map(|(place, (field, _))| {
        let cells = points.iter().map(|point| Some(point.values[place].1.clone())).collect();
        Column { name: format!("swept_{field}"), cells: Cells::Texts(cells) }
    });
    let column = |name: &str, cells| Column { name: name.to_owned(), cells };
    let text = |name: &str, of: &dyn Fn(&Simulated) -> String| {
        column(name, Cells::Texts(answers.iter().map(|answer| Some(of(answer))).collect()))
    };
    let known = |name: &str, of: &dyn Fn(&Simulated) -> Option<f64>| {
        column(name, Cells::Numbers(answers.iter().map(of).collect()))
    };
    let number = |name: &str, of: &dyn Fn(&Simulated) -> f64| known(name, &|answer| Some(of(answer)));
    let count = |name: &str, of: &dyn Fn(&Simulated) -> Option<u64>| {
        column(name, Cells::Counts(answers.iter().map(of).collect()))
    };
    let figures = [
        text("model", &|a| a.model.to_owned()),
        text("discipline", &|a| a.discipline.clone()),
        count("users", &|a| a.users),
        known("session_length", &|a| a.session_length),
        number("scv", &|a| a.scv),
        known("load", &|a| a.load),
        number("load_reached", &|a| a.load_reached.value),
        number("load_reached_low", &|a| a.load_reached.low),
        number("load_reached_high", &|a| a.load_reached.high),
        count("jobs", &|a| Some(a.summary.jobs)),
        count("warm_up_jobs", &|a| Some(a.summary.warm_up)),
        number("response_mean_s", &|a| a.summary.response.mean.value),
        number("response_low_s", &|a| a.summary.response.mean.low),
        number("response_high_s", &|a| a.summary.response.mean.high),
        number("response_p50_s", &|a| a.summary.response.p50.value),
        number("response_p90_s", &|a| a.summary.response.p90.value),
        number("response_p95_s", &|a| a.summary.response.p95.value),
        number("response_p99_s", &|a| a.summary.response.p99.value),
        number("response_max_s", &|a| a.summary.response.max),
        number("response_by_little_s", &|a| a.summary.response_by_little.value),
        number("slowdown_mean", &|a| a.summary.slowdown.mean.value),
        known("session_mean_s", &|a| a.summary.sessions.as_ref().map(|s| s.duration.mean.value)),
        known("session_p95_s", &|a| a.summary.sessions.as_ref().map(|s| s.duration.p95.value)),
        known("session_response_mean_s", &|a| a.summary.sessions.as_ref().map(|s| s.waited.mean.value)),
        number("throughput_per_s", &|a| a.summary.throughput.value),
        number("in_system", &|a| a.summary.in_system.value),
        number("refused", &|a| a.summary.refused.value),
        count("unfinished", &|a| Some(a.summary.unfinished)),
        known("think_s", &|a| a.think),
        text("warnings", &|a| a.warnings.iter().map(Doubt::words).collect::<Vec<_>>().join("; ")),
    ];
    swept.chain(figures).collect()
}
