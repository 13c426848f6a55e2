//! A table of a paper with our values; if a value differs from the printed one, both are shown.

use std::borrow::Cow;
use std::path::Path;

use super::description::{Column, TableOf};
use super::error::Error;
use super::table::{Data, near};
use crate::document::{Cell, Table};

/// A table with its comparison.
pub(super) struct Compared {
    /// The table.
    pub(super) table: Table,
    /// How many of its printed values agree; `None` if it has none.
    pub(super) agree: Option<String>,
    /// Whether a printed row is missing in the data.
    pub(super) lacks_rows: bool,
}

/// Compares the rows of `table` with the printed ones; the first cell of a printed row names the row that it belongs to.
pub(super) fn compared(table: &TableOf, folder: &Path) -> Result<Compared, Error> {
    let (headings, columns, rows) = match &table.across {
        Some(across) => spread(table, across, folder)?,
        None => {
            let heads = table.columns.iter().map(|column| column.head.clone().into()).collect();
            (heads, table.columns.iter().collect(), cells(table, None, folder)?)
        }
    };
    let (mut all, mut agreeing) = (0, 0);
    let mut shown = Vec::new();
    for row in &rows {
        let printed = table.printed.iter().find(|printed| same(row, printed));
        let cells = row.iter().zip(&columns).enumerate().map(|(j, (text, column))| {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value * column.times);
            let theirs = printed.and_then(|row| row.get(j)).filter(|text| j > 0 && !text.is_empty());
            let (value, theirs) = match (value, theirs) {
                (Some(value), Some(theirs)) => (value, theirs),
                (Some(value), None) => return column.cell(value),
                (None, Some(theirs)) if text.is_empty() => return Cell::from(format!("(printed {theirs})")),
                (None, _) => return Cell::from(text),
            };
            let digits = theirs.split_once('.').map_or(0, |(_, digits)| digits.len());
            let ours = format!("{value:.digits$}");
            all += 1;
            agreeing += usize::from(ours == *theirs);
            if ours == *theirs { Cell::from(ours) } else { Cell::from(format!("{ours} (printed {theirs})")) }
        });
        shown.push(cells.collect());
    }
    let agree = (all > 0).then(|| format!("{agreeing} of {all} printed values agree in every digit"));
    let lacks_rows = table.printed.iter().any(|printed| !rows.iter().any(|row| same(row, printed)));
    Ok(Compared {
        table: Table { caption: agree.clone().unwrap_or_default(), headings, rows: shown },
        agree,
        lacks_rows,
    })
}

/// The texts of the columns of `table`, and of `more`, in its selected rows.
fn cells(table: &TableOf, more: Option<&str>, folder: &Path) -> Result<Vec<Vec<String>>, Error> {
    let mut rows = Vec::new();
    for file in &table.files {
        let file = folder.join(file);
        let columns = table.columns.iter().map(|column| &*column.of).chain(more);
        rows.extend(Data::read(&file)?.cells(&table.only, columns)?);
    }
    Ok(rows)
}

/// Headings, columns and rows.
type Parts<'t> = (Vec<Cow<'static, str>>, Vec<&'t Column>, Vec<Vec<String>>);

/// A column per value of `across`, a row per value of the first column.
fn spread<'t>(table: &'t TableOf, across: &str, folder: &Path) -> Result<Parts<'t>, Error> {
    let cells = cells(table, Some(across), folder)?;
    let (mut names, mut rows): (Vec<&String>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    for cell in &cells {
        let [key, value, name] = &cell[..] else { continue };
        let column = 1 + names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        let row = rows.iter().position(|row| row[0] == *key).unwrap_or_else(|| {
            rows.push(vec![key.clone()]);
            rows.len() - 1
        });
        let width = rows[row].len().max(column + 1);
        rows[row].resize(width, String::new());
        rows[row][column].clone_from(value);
    }
    for row in &mut rows {
        row.resize(names.len() + 1, String::new());
    }
    let [first, second] = [&table.columns[0], &table.columns[1]];
    let heads = names.iter().map(|name| format!("{} {name}", second.head));
    let headings = [first.head.clone()].into_iter().chain(heads).map(Cow::from).collect();
    Ok((headings, [first].into_iter().chain(names.iter().map(|_| second)).collect(), rows))
}

/// Whether two rows begin with the same number or text.
fn same(ours: &[String], printed: &[String]) -> bool {
    ours.first().zip(printed.first()).is_some_and(|(ours, printed)| {
        let numbers = ours.parse::<f64>().ok().zip(printed.parse::<f64>().ok());
        numbers.map_or(ours == printed, |(ours, printed)| near(ours, printed))
    })
}
