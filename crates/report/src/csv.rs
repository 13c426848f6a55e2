//! The data of a chart as CSV (a row per point, the series name first), and tables as CSV.

use std::io;

use offered_events::csv::Table;

use crate::chart::{Axis, Chart, Scale, Series, Shape};
use crate::document::{self, Cell};
use crate::figure::seven;

/// The points of a chart under a heading with the axis titles, to seven digits. `low` and `high` are empty without intervals.
pub fn csv(chart: &Chart) -> String {
    let bytes = written(chart).expect("writing to memory");
    String::from_utf8(bytes).expect("only text is written")
}

fn written(chart: &Chart) -> io::Result<Vec<u8>> {
    let mut table = Table::new(Vec::new());
    table.row(["series", &chart.x.title, &chart.y.title, "low", "high"])?;
    for series in &chart.series {
        for Point { x, y, ends } in points(series) {
            table.text(&series.name)?;
            match name(&chart.x, x) {
                Some(name) => table.text(name)?,
                None => table.number(Some(seven(x)))?,
            };
            table.number(y.map(seven))?;
            table.number(ends.map(|ends| seven(ends.0)))?.number(ends.map(|ends| seven(ends.1)))?.end()?;
        }
    }
    table.finish()
}

/// A table under its headings, with all digits of its numbers. An interval has two columns, `low` and `high`.
pub fn table(table: &document::Table) -> String {
    let bytes = written_table(table).expect("writing to memory");
    String::from_utf8(bytes).expect("only text is written")
}

fn written_table(table: &document::Table) -> io::Result<Vec<u8>> {
    let is_interval = |column: usize| table.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Interval(..))));
    let mut written = Table::new(Vec::new());
    for (column, head) in table.headings.iter().enumerate() {
        if is_interval(column) {
            written.text(&format!("{head} low"))?.text(&format!("{head} high"))?;
        } else {
            written.text(head)?;
        }
    }
    written.end()?;
    for row in &table.rows {
        for (column, cell) in row.iter().enumerate() {
            match cell {
                Cell::Interval(low, high) => written.number(Some(low))?.number(Some(high))?,
                Cell::Number(value) => written.number(Some(value))?,
                Cell::Count(n) => written.number(Some(n))?,
                Cell::Text(text) | Cell::Link(text, _) => written.text(text)?,
                Cell::Status(_, text) => written.text(text)?,
                Cell::Empty if is_interval(column) => written.text("")?.text("")?,
                Cell::Empty => written.text("")?,
            };
        }
        written.end()?;
    }
    written.finish()
}

/// A row.
struct Point {
    x: f64,
    y: Option<f64>,
    ends: Option<(f64, f64)>,
}

fn points(series: &Series) -> Vec<Point> {
    match &series.shape {
        Shape::Line(all) | Shape::Steps(all) | Shape::Points(all) | Shape::Bars(all) => {
            all.iter().map(|[x, y]| Point { x: *x, y: Some(*y), ends: None }).collect()
        }
        Shape::Band(all) => {
            all.iter().map(|[x, low, high]| Point { x: *x, y: None, ends: Some((*low, *high)) }).collect()
        }
        Shape::Intervals(all) | Shape::LineWithIntervals(all) => {
            all.iter().map(|[x, y, low, high]| Point { x: *x, y: Some(*y), ends: Some((*low, *high)) }).collect()
        }
        Shape::Heat(heat) => {
            // A row per cell: left edge, value, lower and upper edge.
            let rows = heat.cells.iter().zip(heat.y.windows(2));
            let cells = rows.flat_map(|(cells, edges)| {
                cells.iter().zip(&heat.x).map(|(cell, x)| Point {
                    x: *x,
                    y: Some(*cell),
                    ends: Some((edges[0], edges[1])),
                })
            });
            cells.filter(|cell| cell.y > Some(0.0)).collect()
        }
    }
}

/// The name at a position of an axis of names.
fn name(axis: &Axis, x: f64) -> Option<&str> {
    match &axis.scale {
        Scale::Names(names) => names.get(x as usize).map(String::as_str),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Heat, Series, Style};

    #[test]
    fn intervals_of_a_table_have_two_columns() {
        let row = |name: &str, ends| vec![Cell::from(name), Cell::from(0.123_456_7), ends];
        let rows = vec![row("=1", Cell::Interval(0.1, 0.2)), row("b", Cell::Empty)];
        let headings = document::headings(["run", "CoV", "95 %"]);
        let text = table(&document::Table { caption: String::new(), headings, rows });
        assert_eq!(text, "run,CoV,95 % low,95 % high\n'=1,0.1234567,0.1,0.2\nb,0.1234567,,\n");
    }

    #[test]
    fn every_point_is_a_row_and_names_are_not_formulas() {
        let chart = Chart {
            id: "c".into(),
            title: "c".into(),
            caption: String::new(),
            x: Axis::names("label", vec!["=1+1".into(), "a,\"b\"".into()]),
            y: Axis::linear("R (ms)"),
            series: vec![
                Series::new("@x", Style::Measured, Shape::Points(vec![[0.0, 1.5], [1.0, 2.0]])),
                Series::new("band", Style::Theory, Shape::Band(vec![[0.0, 1.0, 3.0]])),
                Series::new(
                    "heat",
                    Style::Theory,
                    Shape::Heat(Heat {
                        title: "%".into(),
                        x: vec![0.0, 1.0, 2.0],
                        y: vec![1.0, 10.0],
                        cells: vec![vec![0.0, 4.0]],
                    }),
                ),
            ],
        };
        assert_eq!(
            csv(&chart),
            "series,label,R (ms),low,high\n'@x,'=1+1,1.5,,\n'@x,\"a,\"\"b\"\"\",2,,\nband,'=1+1,,1,3\nheat,\"a,\"\"b\"\"\",4,1,10\n"
        );
    }
}
