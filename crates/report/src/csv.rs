//! A chart's data as CSV: one tidy table, a row per point, `series` first.

use std::fmt::Write;

use crate::chart::{Axis, Chart, Scale, Shape};

/// The rows of a chart under a head that names the axes; low and high are empty where a series has none.
pub fn csv(chart: &Chart) -> String {
    let mut text = format!("series,{},{},low,high\n", quoted(&chart.x.title), quoted(&chart.y.title));
    for series in &chart.series {
        let name = quoted(&series.name);
        let mut row = |x: f64, y: Option<f64>, ends: Option<(f64, f64)>| {
            let number = |n: Option<f64>| n.map_or_else(String::new, |n| n.to_string());
            let (low, high) = (number(ends.map(|e| e.0)), number(ends.map(|e| e.1)));
            let _ = writeln!(text, "{name},{},{},{low},{high}", place(&chart.x, x), number(y));
        };
        match &series.shape {
            Shape::Line(all) | Shape::Steps(all) | Shape::Points(all) | Shape::Bars(all) => {
                for [x, y] in all {
                    row(*x, Some(*y), None);
                }
            }
            Shape::Band(all) => {
                for [x, low, high] in all {
                    row(*x, None, Some((*low, *high)));
                }
            }
            Shape::Intervals(all) => {
                for [x, y, low, high] in all {
                    row(*x, Some(*y), Some((*low, *high)));
                }
            }
            Shape::Heat(heat) => {
                // A cell is a row of its own: where it begins to the right, its lower and upper edge, and its value as y.
                for (cells, edges) in heat.cells.iter().zip(heat.y.windows(2)) {
                    for (cell, x) in cells.iter().zip(&heat.x).filter(|(cell, _)| **cell > 0.0) {
                        row(*x, Some(*cell), Some((edges[0], edges[1])));
                    }
                }
            }
        }
    }
    text
}

/// A value of an axis; of one with names, the name.
fn place(axis: &Axis, x: f64) -> String {
    match &axis.scale {
        Scale::Names(names) => names.get(x as usize).map_or_else(|| x.to_string(), |name| quoted(name)),
        _ => x.to_string(),
    }
}

/// A text as a cell: quoted where a comma, quote or line end would break the row, and never a formula to a spreadsheet.
fn quoted(text: &str) -> String {
    let harmless =
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if harmless.contains([',', '"', '\n', '\r']) { format!("\"{}\"", harmless.replace('"', "\"\"")) } else { harmless }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Heat, Ink, Series};

    #[test]
    fn every_point_is_a_row_and_no_name_is_a_formula() {
        let chart = Chart {
            id: "c".into(),
            title: "c".into(),
            reading: String::new(),
            x: Axis::names("label", vec!["=1+1".into(), "a,\"b\"".into()]),
            y: Axis::linear("R (ms)"),
            series: vec![
                Series::new("@x", Ink::Measured, Shape::Points(vec![[0.0, 1.5], [1.0, 2.0]])),
                Series::new("band", Ink::Theory, Shape::Band(vec![[0.0, 1.0, 3.0]])),
                Series::new(
                    "heat",
                    Ink::Theory,
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
