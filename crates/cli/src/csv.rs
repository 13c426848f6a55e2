//! Tidy tables as CSV files (RFC 4180).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use offered_store::{Cells, Column};

use crate::exit::Failure;

/// Writes a new CSV file; what is not known is empty.
pub(crate) fn write(path: &Path, columns: &[Column]) -> Result<(), Failure> {
    let rows = match &columns[0].cells {
        Cells::Texts(cells) => cells.len(),
        Cells::Numbers(cells) => cells.len(),
        Cells::Counts(cells) => cells.len(),
    };
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut text = line(columns.iter().map(|column| quoted(&column.name)).collect());
    for row in 0..rows {
        text += &line(columns.iter().map(|column| cell(&column.cells, row)).collect());
    }
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::stopped(format!("cannot write {}: {error}; name a new file", path.display())))
}

fn cell(cells: &Cells, row: usize) -> String {
    match cells {
        Cells::Texts(cells) => cells[row].as_deref().map(quoted),
        Cells::Numbers(cells) => cells[row].map(|number| number.to_string()),
        Cells::Counts(cells) => cells[row].map(|count| count.to_string()),
    }
    .unwrap_or_default()
}

/// A CSV cell (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
