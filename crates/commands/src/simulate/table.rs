//! Simulation results as text tables and as columns for CSV and Parquet.

use std::fmt::Write as _;

use offered_base::count;
use offered_experiment::Point;
use offered_experiment::document::simulate::Simulated;
use offered_report::format::number;
use offered_simulate::statistics::{Interval, Percentile, SampleSummary};
use offered_simulate::{SimulationResult, SimulationWarning};
use offered_stats::steady_state::Estimate;
use offered_store::{Cells, Column};

use crate::table::{Table, clipped, paragraph, rounded_up};

/// A mean, which may be infinite.
fn mean(value: f64) -> String {
    if value.is_infinite() { "infinite".to_owned() } else { number(value) }
}

fn with_error(estimate: Estimate, unit: f64) -> String {
    let half = estimate.half_width() * unit;
    let value = mean(estimate.value * unit);
    if half.is_finite() { format!("{value} ± {}", number(half)) } else { value }
}

/// Both ends of an interval; `-` if it is unknown.
fn interval_text(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() { format!("{} .. {}", number(low), number(high)) } else { "-".to_owned() }
}

/// The interval of a percentile, or the number of requests that it needs.
fn ends(percentile: Percentile, unit: f64) -> String {
    match percentile.interval {
        Interval::Known(low, high) => format!("{} .. {}", number(low * unit), number(high * unit)),
        Interval::NeedsSamples(values) => needed(values),
    }
}

/// The number of requests that an interval needs, with one significant digit: a run of the shown number is long enough.
fn needed(requests: u64) -> String {
    format!("needs {:.0e}", rounded_up(requests, 1) as f64)
}

/// Adds a row of times or slowdowns, multiplied by `unit`.
fn row(table: &mut Table, name: &str, spread: &SampleSummary, unit: f64) {
    let value = |x: f64| number(x * unit);
    let interval = interval_text(spread.mean.low * unit, spread.mean.high * unit);
    let points = [spread.p50, spread.p90, spread.p95, spread.p99].map(|percentile| value(percentile.value));
    let [p50, p90, p95, p99] = points;
    table.row([name.to_owned(), mean(spread.mean.value * unit), interval, p50, p90, p95, p99, value(spread.max)]);
}

/// One result in full.
pub(super) fn one(result: &SimulationResult) -> String {
    let summary = &result.summary;
    let mut out = String::new();
    let mut head = format!("{}, {}, service {}", result.model, result.discipline, result.service);
    if let Some(users) = result.users {
        let _ = write!(head, ", {users} users");
    }
    if let Some(think) = result.think {
        let _ = write!(head, ", think {} s", number(think));
    }
    let _ = writeln!(out, "{}", paragraph("", &head).join("\n"));
    let few = summary
        .jobs_needed
        .map_or_else(String::new, |needed| format!("; 95 % intervals need {needed} (--jobs {needed})"));
    let _ = writeln!(out, "{} requests after a warm-up of {}{few}\n", count(summary.jobs), count(summary.warm_up));
    let mut table = Table::new(["", "mean", "95 % interval", "p50", "p90", "p95", "p99", "max"]);
    row(&mut table, "response ms", &summary.response, 1e3);
    let classes: Vec<_> =
        result.labels.iter().zip(&summary.classes).filter_map(|(l, c)| Some((clipped(l), (*c)?))).collect();
    for (label, (response, _)) in &classes {
        row(&mut table, &format!("  {label}"), response, 1e3);
    }
    if let Some(tokens) = &summary.tokens {
        row(&mut table, "ttft ms", &tokens.ttft, 1e3);
        if let Some(tpot) = &tokens.tpot {
            row(&mut table, "tpot ms", tpot, 1e3);
        }
    }
    row(&mut table, "slowdown", &summary.slowdown, 1.0);
    for (label, (_, slowdown)) in &classes {
        row(&mut table, &format!("  {label}"), slowdown, 1.0);
    }
    if let Some(ended) = &summary.sessions {
        row(&mut table, "session s", &ended.duration, 1.0);
        row(&mut table, "  its responses", &ended.waiting, 1.0);
    }
    let _ = writeln!(out, "{table}");
    let mut figures = Table::new(["", "value", "95 % interval"]);
    let SampleSummary { p50, p90, p95, p99, .. } = summary.response;
    for (name, percentile) in [("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)] {
        figures.row([format!("response {name} ms"), number(percentile.value * 1e3), ends(percentile, 1e3)]);
    }
    let mut figure = |name: &str, estimate: Estimate, unit: f64| {
        let interval = interval_text(estimate.low * unit, estimate.high * unit);
        figures.row([name.to_owned(), mean(estimate.value * unit), interval]);
    };
    figure("throughput/s", summary.throughput, 1.0);
    if let Some(tokens) = &summary.tokens {
        figure("output tokens/s", tokens.output_per_s, 1.0);
        if let Some((rate, share)) = tokens.goodput {
            figure("goodput/s", rate, 1.0);
            figure("goodput share", share, 1.0);
        }
    }
    figure("measured load", result.load_reached, 1.0);
    figure("requests in system", summary.in_system, 1.0);
    figure("E[N]/X ms", summary.littles_law_response, 1e3);
    if summary.rejected.value > 0.0 {
        let name = if result.attempts.is_some() { "failed" } else { "rejected" };
        figure(name, summary.rejected, 1.0);
    }
    if let Some(attempts) = result.attempts {
        let exact = |value| Estimate { value, low: f64::NAN, high: f64::NAN };
        figure("first attempts/s", exact(attempts.first_attempts_per_s), 1.0);
        figure("all attempts/s", exact(attempts.attempts_per_s), 1.0);
        figure("goodput/s", exact(attempts.goodput_per_s), 1.0);
        figure("wasted work", exact(attempts.wasted), 1.0);
    }
    let _ = write!(out, "{figures}");
    out
}

/// A row per result.
pub(super) fn many(points: &[Point], results: &[Simulated]) -> String {
    let heads = ["point", "response ms", "p50", "p95", "p99", "slowdown", "load", "throughput/s", "think s"];
    let mut table = Table::new(heads).with_whole_names();
    for (point, result) in points.iter().zip(results) {
        let result = match result {
            Ok(result) => result,
            Err(reason) => {
                let mark = if reason.is_unstable() { "unstable" } else { "none completed" };
                let mut cells: [String; 9] = std::array::from_fn(|_| String::new());
                (cells[0], cells[1]) = (point.name(), mark.to_owned());
                table.row(cells);
                continue;
            }
        };
        let summary = &result.summary;
        let millis = |secs: f64| number(secs * 1e3);
        table.row([
            point.name(),
            with_error(summary.response.mean, 1e3),
            millis(summary.response.p50.value),
            millis(summary.response.p95.value),
            millis(summary.response.p99.value),
            mean(summary.slowdown.mean.value),
            with_error(result.load_reached, 1.0),
            number(summary.throughput.value),
            result.think.map_or_else(String::new, number),
        ]);
    }
    table.to_string()
}

/// Columns in full precision: the varied fields, then the figures.
pub(super) fn columns(points: &[Point], results: &[Simulated]) -> Vec<Column> {
    let swept = points[0].values.iter().enumerate().map(|(place, (field, _))| {
        let cells = points.iter().map(|point| Some(point.values[place].1.clone())).collect();
        Column { name: format!("varied_{field}"), cells: Cells::Texts(cells) }
    });
    let column = |name: &str, cells| Column { name: name.to_owned(), cells };
    let text = |name: &str, of: &dyn Fn(&SimulationResult) -> String| {
        column(name, Cells::Texts(results.iter().map(|result| result.as_ref().ok().map(of)).collect()))
    };
    let known = |name: &str, of: &dyn Fn(&SimulationResult) -> Option<f64>| {
        let finite = |result: &SimulationResult| of(result).filter(|value| value.is_finite());
        column(name, Cells::Numbers(results.iter().map(|result| result.as_ref().ok().and_then(finite)).collect()))
    };
    let numbers = |name: &str, of: &dyn Fn(&SimulationResult) -> f64| known(name, &|result| Some(of(result)));
    let count = |name: &str, of: &dyn Fn(&SimulationResult) -> Option<u64>| {
        column(name, Cells::Counts(results.iter().map(|result| result.as_ref().ok().and_then(of)).collect()))
    };
    let figures = [
        text("model", &|a| a.model.to_owned()),
        text("discipline", &|a| a.discipline.clone()),
        count("users", &|a| a.users),
        known("session_length", &|a| a.session_length),
        numbers("scv", &|a| a.scv),
        known("load", &|a| a.load),
        numbers("load_reached", &|a| a.load_reached.value),
        numbers("load_reached_low", &|a| a.load_reached.low),
        numbers("load_reached_high", &|a| a.load_reached.high),
        count("jobs", &|a| Some(a.summary.jobs)),
        count("warm_up_jobs", &|a| Some(a.summary.warm_up)),
        numbers("response_mean_s", &|a| a.summary.response.mean.value),
        numbers("response_low_s", &|a| a.summary.response.mean.low),
        numbers("response_high_s", &|a| a.summary.response.mean.high),
        numbers("response_p50_s", &|a| a.summary.response.p50.value),
        numbers("response_p90_s", &|a| a.summary.response.p90.value),
        numbers("response_p95_s", &|a| a.summary.response.p95.value),
        numbers("response_p99_s", &|a| a.summary.response.p99.value),
        numbers("response_max_s", &|a| a.summary.response.max),
        numbers("littles_law_response_s", &|a| a.summary.littles_law_response.value),
        known("ttft_mean_s", &|a| a.summary.tokens.as_ref().map(|t| t.ttft.mean.value)),
        known("ttft_p50_s", &|a| a.summary.tokens.as_ref().map(|t| t.ttft.p50.value)),
        known("ttft_p95_s", &|a| a.summary.tokens.as_ref().map(|t| t.ttft.p95.value)),
        known("ttft_p99_s", &|a| a.summary.tokens.as_ref().map(|t| t.ttft.p99.value)),
        known("tpot_mean_s", &|a| Some(a.summary.tokens.as_ref()?.tpot?.mean.value)),
        known("tpot_p95_s", &|a| Some(a.summary.tokens.as_ref()?.tpot?.p95.value)),
        known("tpot_p99_s", &|a| Some(a.summary.tokens.as_ref()?.tpot?.p99.value)),
        known("output_tokens_per_s", &|a| a.summary.tokens.as_ref().map(|t| t.output_per_s.value)),
        known("goodput_per_s", &|a| Some(a.summary.tokens.as_ref()?.goodput?.0.value)),
        known("goodput_share", &|a| Some(a.summary.tokens.as_ref()?.goodput?.1.value)),
        numbers("slowdown_mean", &|a| a.summary.slowdown.mean.value),
        known("session_mean_s", &|a| a.summary.sessions.as_ref().map(|s| s.duration.mean.value)),
        known("session_p95_s", &|a| a.summary.sessions.as_ref().map(|s| s.duration.p95.value)),
        known("session_response_mean_s", &|a| a.summary.sessions.as_ref().map(|s| s.waiting.mean.value)),
        numbers("throughput_per_s", &|a| a.summary.throughput.value),
        numbers("in_system", &|a| a.summary.in_system.value),
        numbers("refused", &|a| a.summary.rejected.value),
        count("unfinished", &|a| Some(a.summary.unfinished)),
        known("think_s", &|a| a.think),
        text("warnings", &|a| a.warnings.iter().map(SimulationWarning::message).collect::<Vec<_>>().join("; ")),
    ];
    swept.chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_the_shown_number_is_long_enough() {
        let shown = [1, 99_999, 100_000, 100_001, 140_000, 951_000].map(needed);
        assert_eq!(shown, ["needs 1e0", "needs 1e5", "needs 1e5", "needs 2e5", "needs 2e5", "needs 1e6"]);
    }
}
