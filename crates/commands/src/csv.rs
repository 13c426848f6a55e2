//! Tables as CSV files.

use std::fs::File;
use std::io;
use std::path::Path;

use offered_events::csv::Table;
use offered_store::{Cells, Column};

use crate::failure::Failure;

/// Writes a new CSV file; unknown values are empty.
pub(crate) fn write(path: &Path, columns: &[Column]) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|file| rows(Table::new(file), columns));
    written.map_err(|error| {
        Failure::stopped(format!("cannot write {}: {error}; choose another file name", path.display()))
    })
}

fn rows(mut table: Table<File>, columns: &[Column]) -> io::Result<()> {
    let rows = match &columns[0].cells {
        Cells::Texts(cells) => cells.len(),
        Cells::Numbers(cells) => cells.len(),
        Cells::Counts(cells) => cells.len(),
    };
    table.row(columns.iter().map(|column| column.name.as_str()))?;
    for row in 0..rows {
        for column in columns {
            match &column.cells {
                Cells::Texts(cells) => table.text(cells[row].as_deref().unwrap_or_default())?,
                Cells::Numbers(cells) => table.number(cells[row])?,
                Cells::Counts(cells) => table.number(cells[row])?,
            };
        }
        table.end()?;
    }
    table.finish().map(drop)
}
