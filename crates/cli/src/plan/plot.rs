//! A picture of points on a terminal.

use super::figures::figure;
use crate::say::say;

const WIDTH: usize = 64;
const HEIGHT: usize = 16;

/// A rectangle of characters under construction, with its axes.
pub(super) struct Plot {
    x_most: f64,
    y_most: f64,
    cells: Vec<Vec<char>>,
}

impl Plot {
    /// From the origin to these.
    pub(super) fn new(x_most: f64, y_most: f64) -> Self {
        Self { x_most, y_most, cells: vec![vec![' '; WIDTH + 1]; HEIGHT + 1] }
    }

    /// Marks the points that lie inside; what is marked already stays.
    pub(super) fn mark(&mut self, mark: char, points: impl Iterator<Item = (f64, f64)>) {
        for (x, y) in points.filter(|(x, y)| (0.0..=self.x_most).contains(x) && (0.0..=self.y_most).contains(y)) {
            let column = (x / self.x_most * WIDTH as f64).round() as usize;
            let row = HEIGHT - (y / self.y_most * HEIGHT as f64).round() as usize;
            if self.cells[row][column] == ' ' {
                self.cells[row][column] = mark;
            }
        }
    }

    /// The picture, under this title, with the highest value of each axis.
    pub(super) fn print(&self, title: &str) {
        say!("\n{title}");
        for (row, cells) in self.cells.iter().enumerate() {
            let label = match row {
                0 => figure(self.y_most),
                HEIGHT => "0".to_owned(),
                _ => String::new(),
            };
            say!("{label:>8} |{}", cells.iter().collect::<String>().trim_end());
        }
        say!("{:>8} +{}\n{:>width$}", "", "-".repeat(WIDTH), figure(self.x_most), width = WIDTH + 10);
    }
}
