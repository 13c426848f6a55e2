//! A scatter plot in text.

use crate::output::out;
use offered_report::format::number;

const WIDTH: usize = 64;
const HEIGHT: usize = 16;

/// A plot with axes from zero.
pub(super) struct Plot {
    x_most: f64,
    y_most: f64,
    cells: Vec<Vec<char>>,
}

impl Plot {
    /// A plot up to these values.
    pub(super) fn new(x_most: f64, y_most: f64) -> Self {
        Self { x_most, y_most, cells: vec![vec![' '; WIDTH + 1]; HEIGHT + 1] }
    }

    /// Marks the points inside the plot; earlier marks stay.
    pub(super) fn mark(&mut self, mark: char, points: impl Iterator<Item = (f64, f64)>) {
        for (x, y) in points.filter(|(x, y)| (0.0..=self.x_most).contains(x) && (0.0..=self.y_most).contains(y)) {
            let column = (x / self.x_most * WIDTH as f64).round() as usize;
            let row = HEIGHT - (y / self.y_most * HEIGHT as f64).round() as usize;
            if self.cells[row][column] == ' ' {
                self.cells[row][column] = mark;
            }
        }
    }

    /// Prints the plot under a title, with the maximum of each axis.
    pub(super) fn print(&self, title: &str) {
        out!("\n{title}");
        for (row, cells) in self.cells.iter().enumerate() {
            let label = match row {
                0 => number(self.y_most),
                HEIGHT => "0".to_owned(),
                _ => String::new(),
            };
            out!("{label:>8} |{}", cells.iter().collect::<String>().trim_end());
        }
        out!("{:>8} +{}\n{:>width$}", "", "-".repeat(WIDTH), number(self.x_most), width = WIDTH + 10);
    }
}
