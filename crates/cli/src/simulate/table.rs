//! The answers for people, and for spreadsheets.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use offered_simulate::Answer;
use offered_simulate::statistics::Spread;
use offered_stats::steady_state::Estimate;

use super::sweep::Point;
use crate::exit::Failure;
use crate::table::Table;

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

/// One answer in full.
pub(super) fn one(answer: &Answer) -> String {
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
    let mut spread = |name: &str, spread: &Spread, unit: f64| {
        let value = |x: f64| short(x * unit);
        let interval = format!("{} .. {}", value(spread.mean.low), value(spread.mean.high));
        let points = [spread.p50, spread.p90, spread.p95, spread.p99].map(|estimate| value(estimate.value));
        let [p50, p90, p95, p99] = points;
        table.row([name.to_owned(), value(spread.mean.value), interval, p50, p90, p95, p99, value(spread.max)]);
    };
    spread("response, ms", &summary.response, 1e3);
    spread("slowdown", &summary.slowdown, 1.0);
    for (class, (response, slowdown)) in summary.classes.iter().enumerate().filter_map(|(i, c)| Some((i, c.as_ref()?)))
    {
        spread(&format!("  class {class}: response, ms"), response, 1e3);
        spread(&format!("  class {class}: slowdown"), slowdown, 1.0);
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
pub(super) fn many(points: &[Point], answers: &[Answer]) -> String {
    let mut table =
        Table::new(["point", "response, ms", "p50", "p95", "p99", "slowdown", "load", "X, per s", "think, s"]);
    for (point, answer) in points.iter().zip(answers) {
        let summary = &answer.summary;
        let millis = |estimate: Estimate| short(estimate.value * 1e3);
        let mean = summary.response.mean;
        table.row([
            point.name(),
            format!("{} +- {}", millis(mean), short(mean.half_width() * 1e3)),
            millis(summary.response.p50),
            millis(summary.response.p95),
            millis(summary.response.p99),
            short(summary.slowdown.mean.value),
            with_error(answer.load_reached),
            short(summary.throughput.value),
            answer.think.map_or_else(String::new, short),
        ]);
    }
    table.to_string()
}

const COLUMNS: [&str; 26] = [
    "model",
    "discipline",
    "users",
    "session_length",
    "scv",
    "load",
    "load_reached",
    "load_reached_low",
    "load_reached_high",
    "jobs",
    "warm_up_jobs",
    "response_mean_s",
    "response_low_s",
    "response_high_s",
    "response_p50_s",
    "response_p90_s",
    "response_p95_s",
    "response_p99_s",
    "response_max_s",
    "response_by_little_s",
    "slowdown_mean",
    "throughput_per_s",
    "in_system",
    "refused",
    "unfinished",
    "think_s",
];

/// One tidy table: the swept fields, then the figures, in full precision.
pub(super) fn write_csv(path: &Path, points: &[Point], answers: &[Answer]) -> Result<(), Failure> {
    let swept: Vec<String> = points[0].values.iter().map(|(field, _)| format!("swept_{field}")).collect();
    let heads = swept.iter().map(String::as_str).chain(COLUMNS).chain(["warnings"]).map(quoted);
    let mut text = heads.collect::<Vec<_>>().join(",") + "\n";
    for (point, answer) in points.iter().zip(answers) {
        let cells = point.values.iter().map(|(_, value)| quoted(value)).chain(cells(answer));
        text += &(cells.chain([quoted(&answer.warnings.join("; "))]).collect::<Vec<_>>().join(",") + "\n");
    }
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::stopped(format!("cannot write {}: {error}; name a new file", path.display())))
}

fn cells(answer: &Answer) -> [String; 26] {
    let (summary, response) = (&answer.summary, &answer.summary.response);
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let load = answer.load_reached;
    [
        answer.model.to_owned(),
        quoted(&answer.discipline),
        answer.users.map_or_else(String::new, |users| users.to_string()),
        known(answer.session_length),
        answer.scv.to_string(),
        known(answer.load),
        load.value.to_string(),
        load.low.to_string(),
        load.high.to_string(),
        summary.jobs.to_string(),
        summary.warm_up.to_string(),
        response.mean.value.to_string(),
        response.mean.low.to_string(),
        response.mean.high.to_string(),
        response.p50.value.to_string(),
        response.p90.value.to_string(),
        response.p95.value.to_string(),
        response.p99.value.to_string(),
        response.max.to_string(),
        summary.response_by_little.value.to_string(),
        summary.slowdown.mean.value.to_string(),
        summary.throughput.value.to_string(),
        summary.in_system.value.to_string(),
        summary.refused.value.to_string(),
        summary.unfinished.to_string(),
        known(answer.think),
    ]
}

/// A CSV cell (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
