//! The cells as a text table and as columns for CSV and Parquet.

use std::fmt::Write;

use offered_experiment::sweep::{Figures, Interval, MeasuredCell, ObjectiveLimit};
use offered_store::{Cells, Column};
use offered_verify::NotCheckedReason;
use offered_workload::Objective;

use crate::table::Table;
use offered_report::format::{number, optional};

fn cell(interval: Option<&Interval>) -> String {
    let Some(Interval { value, low, high }) = interval else { return "-".to_owned() };
    match low.zip(*high) {
        Some((low, high)) => format!("{} +- {}", number(*value), number((high - low) / 2.0)),
        None => number(*value),
    }
}

/// A row per cell, and the largest values that meet the objective.
pub(super) fn page(cells: &[MeasuredCell], objective: Option<&Objective>, kept: &[ObjectiveLimit]) -> String {
    let mut table = Table::new([
        "cell",
        "completed/s",
        "mean ms",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "errors %",
        "CoV",
        "RoRT",
        "lateness p99 us",
        "stability",
        "validity",
    ]);
    for MeasuredCell { point, figures: f, .. } in cells {
        let response = f.response_ms.as_ref();
        table.row([
            point.name(),
            cell(f.completed_rate_per_s.as_ref()),
            cell(response.map(|r| &r.mean)),
            optional(response.map(|r| r.p50.value)),
            cell(response.map(|r| &r.p90)),
            cell(response.map(|r| &r.p99)),
            optional(f.errors_percent.map(|e| e.value)),
            optional(f.measured_cov.map(|c| c.value)),
            optional(f.queue.rort),
            optional(f.lateness_us.map(|late| late.p99)),
            // A closed system cannot be overloaded.
            f.stability
                .filter(|stability| stability.not_checked_reason != Some(NotCheckedReason::ClosedSystem))
                .map_or_else(|| "-".to_owned(), |stability| stability.state.name().to_owned()),
            f.validity.name().to_owned(),
        ]);
    }
    let mut page = table.to_string();
    if let (Some(objective), Some(first)) = (objective, kept.first()) {
        let _ = writeln!(page, "\n{objective} is met up to");
        let mut table = Table::new(["", first.field.name(), "95 %", ""]);
        for ObjectiveLimit { fixed, value, low, high, note, .. } in kept {
            let fixed: Vec<String> = fixed.iter().map(|(field, value)| format!("{field}={value}")).collect();
            let end = |end: &Option<f64>| end.map_or_else(|| "?".to_owned(), number);
            table.row([
                fixed.join(" "),
                value.map_or_else(|| "-".to_owned(), number),
                format!("{} to {}", end(low), end(high)),
                note.clone().unwrap_or_default(),
            ]);
        }
        let _ = write!(page, "{table}");
    }
    page
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
