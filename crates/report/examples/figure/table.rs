//! A CSV file of a study.

use std::path::Path;

use offered_events::csv::unguarded;

use crate::Error;
use crate::description::{CellFilter, Series};

/// A table with column headings.
pub(crate) struct Table<'a> {
    path: &'a Path,
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A point with its interval, if known.
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ends: Option<(f64, f64)>,
}

impl<'a> Table<'a> {
    /// Reads a table.
    pub(crate) fn read(path: &'a Path) -> Result<Self, Error> {
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

    fn wrong(&self, why: String) -> Error {
        Error::Table { path: self.path.to_owned(), why }
    }

    fn column(&self, name: &str) -> Result<usize, Error> {
        self.headings
            .iter()
            .position(|head| head == name)
            .ok_or_else(|| self.wrong(format!("no column {name:?} among {}", self.headings.join(", "))))
    }

    /// The points of a series, in the order of the file; rows without x or y are skipped.
    pub(crate) fn points(&self, series: &Series) -> Result<Vec<Point>, Error> {
        let mut rows: Vec<(usize, &Vec<String>)> = self.rows.iter().enumerate().collect();
        for (name, wanted) in &series.only {
            let column = self.column(name)?;
            let mut there: Vec<&str> = rows.iter().map(|(_, row)| row[column].as_str()).collect();
            rows.retain(|(_, row)| wanted.is(&row[column]));
            if rows.is_empty() {
                there.sort_unstable();
                there.dedup();
                let why = format!("series {:?}: no row with {name} = {wanted} among {}", series.name, there.join(", "));
                return Err(self.wrong(why));
            }
        }
        let find = |column: &Option<String>| column.as_ref().map(|name| self.column(name)).transpose();
        let [x, y, low, high] = [find(&series.x)?, find(&series.y)?, find(&series.low)?, find(&series.high)?];
        let cell = |number: usize, row: &[String], column: Option<usize>| -> Result<Option<f64>, Error> {
            let Some(column) = column.filter(|column| !row[*column].is_empty()) else { return Ok(None) };
            let value: Option<f64> = row[column].parse().ok().filter(|value: &f64| value.is_finite());
            let (row, text, name) = (number + 1, &row[column], &self.headings[column]);
            value.map(Some).ok_or_else(|| self.wrong(format!("row {row}, column {name}: {text:?} is not a number")))
        };
        let mut points = Vec::new();
        for (number, row) in rows {
            let of = |column| cell(number, row, column);
            if let (Some(x), Some(y)) = (of(x)?, of(y)?) {
                points.push(Point { x, y, ends: of(low)?.zip(of(high)?) });
            }
        }
        if points.is_empty() {
            return Err(self.wrong(format!("series {:?}: no row has both an x and a y", series.name)));
        }
        Ok(points)
    }
}

impl CellFilter {
    fn is(&self, cell: &str) -> bool {
        match self {
            Self::Number(number) => cell.parse() == Ok(*number),
            Self::Text(text) => cell == text,
        }
    }
}

impl std::fmt::Display for CellFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}
