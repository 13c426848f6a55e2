//! A table of a paper: our values, and where they differ from the printed ones, both.

use std::path::Path;

use super::Error;
use super::description::TableOf;
use super::table::Data;
use crate::document::{Cell, Table};

/// The table, and how many of its printed values agree; `None` if it has none.
pub(super) fn compared(table: &TableOf, path: &Path, folder: &Path) -> Result<(Table, Option<String>), Error> {
    let mut rows = Vec::new();
    for file in &table.files {
        let file = folder.join(file);
        let data = Data::read(&file)?;
        rows.extend(data.cells(&table.only, table.columns.iter().map(|column| &*column.of))?);
    }
    let printed = &table.printed;
    if !printed.is_empty() && printed.len() != rows.len() {
        let why = format!("`printed` has {} rows, the data have {}", printed.len(), rows.len());
        return Err(Error::Description { path: path.to_owned(), why });
    }
    let (mut all, mut same) = (0, 0);
    let mut shown = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let cells = row.iter().enumerate().map(|(j, text)| {
            let column = &table.columns[j];
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value * column.times);
            let theirs = printed.get(i).and_then(|row| row.get(j)).filter(|text| !text.is_empty());
            let Some((value, theirs)) = value.zip(theirs) else {
                return value.map_or_else(|| Cell::from(text), |value| column.cell(value));
            };
            let digits = theirs.split_once('.').map_or(0, |(_, digits)| digits.len());
            let ours = format!("{value:.digits$}");
            all += 1;
            same += usize::from(ours == *theirs);
            if ours == *theirs { Cell::from(ours) } else { Cell::from(format!("{ours} (printed {theirs})")) }
        });
        shown.push(cells.collect());
    }
    let agree = (all > 0).then(|| format!("{same} of {all} printed values agree in every digit"));
    let headings = table.columns.iter().map(|column| column.head.clone().into()).collect();
    Ok((Table { caption: agree.clone().unwrap_or_default(), headings, rows: shown }, agree))
}
