//! The cells as a text table and as columns for CSV and Parquet.

use std::fmt::Write;

use offered_base::{Nanos, count, short, visible};
use offered_experiment::Field;
use offered_experiment::sweep::{Figures, Interval, MeasuredCell, ObjectiveLimit};
use offered_report::format::number;
use offered_store::{Cells, Column};
use offered_verify::{StabilityState, Validity};
use offered_workload::Objective;

use crate::table::{Table, paragraph, rounded_up};

/// Number of cells whose reasons are shown.
const REASONS: usize = 5;

fn with_half_width(interval: &Interval) -> String {
    match interval.low.zip(interval.high) {
        Some((low, high)) => format!("{} ± {}", short(interval.value), short((high - low) / 2.0)),
        None => short(interval.value),
    }
}

/// The result of a cell in one or two words: its validity, and whether the system was overloaded.
fn result(figures: &Figures) -> &'static str {
    let is_overloaded = figures.stability.is_some_and(|stability| stability.state == StabilityState::Overloaded);
    match figures.validity {
        Validity::Invalid => "INVALID",
        Validity::NotChecked => "NOT CHECKED",
        _ if is_overloaded => "OVERLOADED",
        Validity::Valid => "VALID",
        Validity::ValidWithWarnings => "WARNINGS",
    }
}

/// A row per cell, and the largest values that meet the objective.
pub(super) fn page(cells: &[MeasuredCell], objective: Option<&Objective>, kept: &[ObjectiveLimit]) -> String {
    let errors = |figures: &Figures| figures.errors_percent.map(|errors| errors.value);
    let has_errors = cells.iter().any(|cell| errors(&cell.figures).is_some_and(|percent| percent > 0.0));
    let heads = ["cell", "result", "completed/s", "mean ms", "p50 ms", "p90 ms", "p99 ms"];
    let [cell, validity, completed, mean, p50, p90, p99] = heads;
    let mut table = match has_errors {
        true => Table::new([cell, validity, "errors %", completed, mean, p50, p90, p99]),
        false => Table::new(heads),
    }
    .with_whole_names();
    let or_dash = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), short);
    for MeasuredCell { point, figures: f, .. } in cells {
        let response = f.response_ms.as_ref();
        let completed = or_dash(f.completed_rate_per_s.map(|rate| rate.value));
        let mean = response.map_or_else(|| "-".to_owned(), |response| with_half_width(&response.mean));
        let [p50, p90, p99] = [response.map(|r| r.p50), response.map(|r| r.p90), response.map(|r| r.p99)]
            .map(|percentile| or_dash(percentile.map(|percentile| percentile.value)));
        let (cell, validity) = (point.name(), result(f).to_owned());
        match has_errors {
            true => table.row([cell, validity, or_dash(errors(f)), completed, mean, p50, p90, p99]),
            false => table.row([cell, validity, completed, mean, p50, p90, p99]),
        }
    }
    let mut page = table.to_string();
    let (with_warnings, marked): (Vec<&MeasuredCell>, Vec<&MeasuredCell>) = cells
        .iter()
        .filter(|cell| cell.figures.validity != Validity::Valid)
        .partition(|cell| cell.figures.validity == Validity::ValidWithWarnings);
    for cell in marked.iter().take(REASONS) {
        let lines = paragraph(&format!("{}: ", cell.point.name()), &visible(&cell.figures.reason));
        let _ = writeln!(page, "{}", lines.join("\n"));
    }
    if marked.len() > REASONS {
        let _ = writeln!(page, "{} more cells with reasons: --json", marked.len() - REASONS);
    }
    if let Some(cell) = with_warnings.first() {
        let Figures { warnings, reason, .. } = &cell.figures;
        // The rest of the reason is about the generator.
        let warning = warnings.iter().find(|warning| warning.in_reason).map_or(reason, |warning| &warning.message);
        let first = format!("{}: {}", cell.point.name(), visible(warning));
        let head = format!("warnings in {} of {} cells (--json); ", with_warnings.len(), cells.len());
        let lines = paragraph(&head, &first);
        let _ = writeln!(page, "{}", lines.join("\n"));
    }
    page += &too_short(cells);
    if let (Some(objective), Some(first)) = (objective, kept.first()) {
        let _ = writeln!(page, "\n{objective} is met up to");
        let mut table = Table::new(["", first.field.name(), "95 %"]).with_whole_names();
        let name = |fixed: &[(Field, String)]| {
            fixed.iter().map(|(field, value)| format!("{field}={value}")).collect::<Vec<_>>().join(" ")
        };
        for ObjectiveLimit { fixed, value, low, high, .. } in kept {
            let end = |end: &Option<f64>| end.map_or_else(|| "?".to_owned(), number);
            table.row([
                name(fixed),
                value.map_or_else(|| "-".to_owned(), number),
                format!("{} to {}", end(low), end(high)),
            ]);
        }
        let _ = write!(page, "{table}");
        for ObjectiveLimit { fixed, note, .. } in kept {
            let lines =
                note.iter().flat_map(|note| paragraph(&(name(fixed) + if fixed.is_empty() { "" } else { ": " }), note));
            lines.for_each(|line| page.extend([&line, "\n"]));
        }
    }
    page
}

/// The cells in which a time of the table has no interval, with the number of responses and the duration that an
/// interval needs.
fn too_short(cells: &[MeasuredCell]) -> String {
    let line = |MeasuredCell { point, figures, .. }: &MeasuredCell| {
        let response = figures.response_ms.as_ref()?;
        let needed =
            ["mean", "p50", "p90", "p99"].into_iter().filter_map(|p| Some((p, *response.values_needed.get(p)?)));
        let (names, numbers): (Vec<_>, Vec<_>) = needed.unzip();
        let number = rounded_up(*numbers.iter().max()?, 2);
        let rate = figures.completed_rate_per_s.map(|rate| rate.value).filter(|rate| *rate > 0.0);
        let time = rate.map_or_else(String::new, |rate| format!(" ({})", whole_minutes(number as f64 / rate)));
        let text = format!(
            "no interval for {}: {} responses, about {}{time} needed",
            names.join(", "),
            count(response.n as u64),
            count(number)
        );
        Some(paragraph(&format!("{}: ", point.name()), &text).join("\n"))
    };
    let lines: Vec<String> = cells.iter().filter_map(line).collect();
    let mut text: String = lines.iter().take(REASONS).flat_map(|line| [line.as_str(), "\n"]).collect();
    if lines.len() > REASONS {
        let _ = writeln!(text, "{} more cells with too few responses: --json (values_needed)", lines.len() - REASONS);
    }
    text
}

/// Rounds a duration up to whole minutes; below two minutes, up to whole seconds.
fn whole_minutes(seconds: f64) -> Nanos {
    let unit = if seconds < 120.0 { 1.0 } else { 60.0 };
    Nanos::from_secs_f64((seconds / unit).ceil() * unit)
}

/// A row per cell, the varied fields first.
pub(super) fn columns(cells: &[MeasuredCell]) -> Vec<Column> {
    let fields = cells[0].point.values.iter().enumerate().map(|(place, (field, _))| Column {
        name: format!("varied_{field}"),
        cells: Cells::Texts(cells.iter().map(|cell| Some(cell.point.values[place].1.clone())).collect()),
    });
    let column = |name: &str, cells| Column { name: name.to_owned(), cells };
    let text = |name: &str, of: &dyn Fn(&MeasuredCell) -> String| {
        column(name, Cells::Texts(cells.iter().map(|cell| Some(of(cell))).collect()))
    };
    let number = |name: &str, of: &dyn Fn(&Figures) -> Option<f64>| {
        column(name, Cells::Numbers(cells.iter().map(|cell| of(&cell.figures)).collect()))
    };
    let with_ends = |name: &str, unit: &str, of: &dyn Fn(&Figures) -> Option<Interval>| {
        [
            number(&format!("{name}_{unit}"), &|f| Some(of(f)?.value)),
            number(&format!("{name}_low_{unit}"), &|f| of(f)?.low),
            number(&format!("{name}_high_{unit}"), &|f| of(f)?.high),
        ]
    };
    let figures = [
        with_ends("completed_rate", "per_s", &|f| f.completed_rate_per_s),
        with_ends("response_mean", "ms", &|f| Some(f.response_ms.as_ref()?.mean)),
        with_ends("response_p50", "ms", &|f| Some(f.response_ms.as_ref()?.p50)),
        with_ends("response_p90", "ms", &|f| Some(f.response_ms.as_ref()?.p90)),
        with_ends("response_p95", "ms", &|f| Some(f.response_ms.as_ref()?.p95)),
        with_ends("response_p99", "ms", &|f| Some(f.response_ms.as_ref()?.p99)),
        with_ends("errors", "percent", &|f| f.errors_percent),
    ];
    let counts = cells.iter().map(|cell| cell.figures.response_ms.as_ref().map(|r| r.n as u64)).collect();
    let rest = [
        column("responses", Cells::Counts(counts)),
        number("sent_rate_per_s", &|f| f.sent_rate_per_s),
        number("measured_cov", &|f| Some(f.measured_cov?.value)),
        number("rort", &|f| f.queue.rort),
        number("lateness_p99_us", &|f| Some(f.lateness_us?.p99)),
        text("stability", &|cell| {
            cell.figures.stability.map_or_else(String::new, |stability| stability.state.name().to_owned())
        }),
        text("validity", &|cell| cell.figures.validity.name().to_owned()),
        text("directory", &|cell| cell.directory.clone()),
    ];
    fields.chain(figures.into_iter().flatten()).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_numbers_and_times_are_round() {
        assert_eq!(
            [0, 7, 99, 101, 28_456, 130_001].map(|number| rounded_up(number, 2)),
            [0, 7, 99, 110, 29_000, 140_000]
        );
        assert_eq!(
            [3.2, 119.5, 121.0, 1400.0].map(|seconds| whole_minutes(seconds).to_string()),
            ["4s", "2m", "3m", "24m"]
        );
    }
}
