//! The data of a figure: a CSV file, or the rows of a JSON document.

use std::fs;
use std::path::Path;

use offered_events::csv::unguarded;
use serde_json::Value;

use super::description::Series;
use super::error::Error;
use super::selection::Selection;

/// A table with column headings.
pub(super) struct Data<'a> {
    path: &'a Path,
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A point with its interval, if known.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) ends: Option<(f64, f64)>,
}

/// A figure with its interval, if known.
type FigureWithEnds = (f64, Option<(f64, f64)>);

/// The keys of the rows in the JSON documents of `plan`, `simulate` and `sweep`.
const ROWS: [&str; 4] = ["rows", "results", "points", "cells"];

impl<'a> Data<'a> {
    /// Reads a file.
    pub(super) fn read(path: &'a Path) -> Result<Self, Error> {
        if path.extension().is_some_and(|extension| extension == "json") { Self::json(path) } else { Self::csv(path) }
    }

    fn csv(path: &'a Path) -> Result<Self, Error> {
        let wrong = |error: csv::Error| match error.into_kind() {
            csv::ErrorKind::Io(source) => Error::File { path: path.to_owned(), source },
            kind => Error::Table { path: path.to_owned(), why: format!("not a CSV table: {kind:?}") },
        };
        let text = |cell: &[u8]| String::from_utf8_lossy(unguarded(cell)).into_owned();
        let mut reader = csv::Reader::from_path(path).map_err(wrong)?;
        let headings = reader.byte_headers().map_err(wrong)?.iter().map(text).collect();
        let row = |row: Result<csv::ByteRecord, _>| Ok(row.map_err(wrong)?.iter().map(text).collect());
        let rows = reader.byte_records().map(row).collect::<Result<_, Error>>()?;
        Ok(Self { path, headings, rows })
    }

    /// The rows of a document. The columns of nested objects are named `outer.inner`; lists are left out.
    fn json(path: &'a Path) -> Result<Self, Error> {
        let wrong = |why: String| Error::Table { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let document: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("not JSON: {error}")))?;
        let rows = ROWS.iter().find_map(|key| document[*key].as_array());
        let rows = rows.ok_or_else(|| wrong(format!("no list of rows; expected one of {}", ROWS.join(", "))))?;
        let flat: Vec<Vec<(String, String)>> = rows
            .iter()
            .map(|row| {
                let mut cells = Vec::new();
                flatten("", row, &mut cells);
                cells
            })
            .collect();
        let mut headings: Vec<String> = Vec::new();
        for (name, _) in flat.iter().flatten() {
            if !headings.contains(name) {
                headings.push(name.clone());
            }
        }
        let cell = |row: &[(String, String)], head: &String| {
            row.iter().find(|(name, _)| name == head).map_or_else(String::new, |(_, text)| text.clone())
        };
        let rows = flat.iter().map(|row| headings.iter().map(|head| cell(row, head)).collect()).collect();
        Ok(Self { path, headings, rows })
    }

    fn wrong(&self, why: String) -> Error {
        Error::Table { path: self.path.to_owned(), why }
    }

    fn column(&self, name: &str) -> Result<usize, Error> {
        self.headings.iter().position(|head| head == name).ok_or_else(|| match &self.headings[..] {
            [] => self.wrong(format!("no column {name:?}: the file has no columns")),
            known => self.wrong(format!("no column {name:?} among {}", known.join(", "))),
        })
    }

    /// The numbers and rows that `selection` selects.
    fn selected(&self, selection: &Selection, of: &str) -> Result<Vec<(usize, &Vec<String>)>, Error> {
        let mut rows: Vec<(usize, &Vec<String>)> = self.rows.iter().enumerate().collect();
        for (name, wanted) in selection {
            let column = self.column(name)?;
            let mut values: Vec<&str> = rows.iter().map(|(_, row)| row[column].as_str()).collect();
            rows.retain(|(_, row)| wanted.is(&row[column]));
            if rows.is_empty() {
                values.sort_unstable();
                values.dedup();
                let why = format!("{of}: no row with {name} = {wanted} among {}", values.join(", "));
                return Err(Error::NoRow { path: self.path.to_owned(), why });
            }
        }
        Ok(rows)
    }

    fn number(&self, number: usize, row: &[String], column: usize) -> Result<Option<f64>, Error> {
        if row[column].is_empty() {
            return Ok(None);
        }
        let value: Option<f64> = row[column].parse().ok().filter(|value: &f64| value.is_finite());
        let (row, text, name) = (number + 1, &row[column], &self.headings[column]);
        value.map(Some).ok_or_else(|| self.wrong(format!("row {row}, column {name}: {text:?} is not a number")))
    }

    /// The texts of these columns in the selected rows.
    pub(super) fn cells<'c>(
        &self,
        selection: &Selection,
        columns: impl Iterator<Item = &'c str>,
    ) -> Result<Vec<Vec<String>>, Error> {
        let columns = columns.map(|name| self.column(name)).collect::<Result<Vec<_>, _>>()?;
        let rows = self.selected(selection, "table")?;
        Ok(rows.into_iter().map(|(_, row)| columns.iter().map(|column| row[*column].clone()).collect()).collect())
    }

    /// The figure of the only selected row, with its interval.
    pub(super) fn figure(
        &self,
        selection: &Selection,
        column: &str,
        low: Option<&str>,
        high: Option<&str>,
    ) -> Result<FigureWithEnds, Error> {
        let rows = self.selected(selection, "check")?;
        let [(number, row)] = rows[..] else {
            return Err(self.wrong(format!("check: {} rows are selected, not one; select by more columns", rows.len())));
        };
        let of = |name: &str| self.number(number, row, self.column(name)?);
        let ends = [low, high].map(|name| name.map(of).transpose());
        let [low, high] = ends;
        let value = of(column)?.ok_or_else(|| self.wrong(format!("check: column {column} is empty")))?;
        Ok((value, low?.flatten().zip(high?.flatten())))
    }

    /// The points of a series, by the values of its columns `by`, with the name of each; rows without x or y are skipped.
    ///
    /// With `names`, the column x contains texts: x is their place in `names`, to which new ones are added.
    pub(super) fn lines(
        &self,
        series: &Series,
        mut names: Option<&mut Vec<String>>,
    ) -> Result<Vec<(String, Vec<Point>)>, Error> {
        let of = format!("series {:?}", series.name);
        let rows = self.selected(&series.only, &of)?;
        let by = series.by.iter().map(|name| self.column(name)).collect::<Result<Vec<_>, _>>()?;
        let find = |column: &Option<String>| column.as_ref().map(|name| self.column(name)).transpose();
        let [x, y, low, high] = [find(&series.x)?, find(&series.y)?, find(&series.low)?, find(&series.high)?];
        let mut lines: Vec<(String, Vec<Point>)> = Vec::new();
        for (number, row) in rows {
            let of = |column: Option<usize>| column.map_or(Ok(None), |column| self.number(number, row, column));
            let x = match (&mut names, x) {
                (Some(names), Some(column)) => Some(place(names, &row[column]) as f64),
                _ => of(x)?,
            };
            let (Some(x), Some(y)) = (x, of(y)?) else { continue };
            let point = Point { x, y, ends: of(low)?.zip(of(high)?) };
            let name = series.by.iter().zip(&by).fold(series.name.clone(), |name, (column, place)| {
                name.replace(&format!("{{{column}}}"), &row[*place])
            });
            match lines.iter_mut().find(|line| line.0 == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        if lines.is_empty() {
            return Err(self.wrong(format!("{of}: no row has both an x and a y")));
        }
        Ok(lines)
    }
}

/// Whether two numbers are equal up to rounding.
pub(super) fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The place of `name` in `names`, where it is added if it is new.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// The cells of a row, with the names of nested objects before those of their values.
fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                flatten(&if name.is_empty() { key.clone() } else { format!("{name}.{key}") }, value, cells);
            }
        }
        Value::Array(_) => {}
        Value::Null => cells.push((name.to_owned(), String::new())),
        Value::String(text) => cells.push((name.to_owned(), text.clone())),
        other => cells.push((name.to_owned(), other.to_string())),
    }
}
