//! The description of a page: a TOML file; unknown keys are errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::claim::Check;
use super::error::Error;
use super::selection::Selection;
use crate::document::Cell;

/// A page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// The title.
    pub(super) title: String,
    /// The figures and tables, in the order of the paper.
    pub(super) figure: Vec<Figure>,
}

/// A figure or a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// The identifier, in links and in the name of its SVG file.
    pub(super) id: String,
    /// The title.
    pub(super) title: String,
    /// Why it is not made, or not in full, where files are missing; or that it is not made, if it has no data.
    pub(super) not_made: Option<String>,
    /// The claim of the paper.
    pub(super) claim: Option<String>,
    /// The result of this study.
    pub(super) found: Option<String>,
    /// How to read the figure.
    #[serde(default)]
    pub(super) reading: String,
    /// The horizontal axis; by default a plain number.
    #[serde(default)]
    pub(super) x: Axis,
    /// The vertical axis.
    #[serde(default)]
    pub(super) y: Axis,
    /// A table, with the printed values.
    pub(super) table: Option<TableOf>,
    /// Claims that are checked.
    #[serde(default)]
    pub(super) check: Vec<Check>,
    /// Measured and published points.
    #[serde(default)]
    pub(super) series: Vec<Series>,
    /// Additional lines.
    #[serde(default)]
    pub(super) line: Vec<Line>,
}

/// A table of the paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableOf {
    /// The data files, one after another.
    pub(super) files: Vec<PathBuf>,
    /// Selects rows by the values of columns.
    #[serde(default, rename = "where")]
    pub(super) only: Selection,
    /// The columns; with `across` two.
    pub(super) columns: Vec<Column>,
    /// A column whose values become columns of the table: each has the values of the second of `columns`, the first names the rows.
    pub(super) across: Option<String>,
    /// The printed rows, each found by its first cell; an empty text was not printed.
    #[serde(default)]
    pub(super) printed: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    /// The heading, with the unit.
    pub(super) head: String,
    /// The column of the data.
    pub(super) of: String,
    /// Factor that converts the numbers of the data.
    #[serde(default = "one")]
    pub(super) times: f64,
    /// Number of decimals; by default three significant digits.
    decimals: Option<usize>,
}

impl Column {
    /// A number without a printed one.
    pub(super) fn cell(&self, value: f64) -> Cell {
        self.decimals.map_or_else(|| Cell::from(value), |decimals| Cell::from(format!("{value:.decimals$}")))
    }
}

/// An axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    /// The quantity.
    label: String,
    /// The unit; `None` for a plain number.
    unit: Option<String>,
    /// The scale.
    #[serde(default)]
    pub(super) scale: Scale,
    /// Factor that converts the numbers of the table to this unit.
    #[serde(default = "one")]
    pub(super) times: f64,
}

impl Default for Axis {
    fn default() -> Self {
        Self { label: String::new(), unit: None, scale: Scale::Linear, times: 1.0 }
    }
}

impl Axis {
    /// The title with the unit.
    pub(super) fn title(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" ({unit})"));
        format!("{}{}", self.label, unit.unwrap_or_default())
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    /// Linear, from zero.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
    /// Texts, in the order of the data; of the horizontal axis only.
    Names,
}

/// A series of points: from a table, published, or both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    /// Name in the legend, with `{column}` for the value of a column in `by`.
    pub(super) name: String,
    /// The CSV or JSON file, in the directory of the study's results.
    pub(super) file: Option<PathBuf>,
    /// Selects rows by the values of columns.
    #[serde(default, rename = "where")]
    pub(super) only: Selection,
    /// Columns whose combinations of values are series of their own.
    #[serde(default)]
    pub(super) by: Vec<String>,
    /// The columns of x and y.
    pub(super) x: Option<String>,
    pub(super) y: Option<String>,
    /// The columns of the interval: both or none.
    pub(super) low: Option<String>,
    pub(super) high: Option<String>,
    /// How the points are drawn.
    #[serde(default)]
    pub(super) drawn: Drawing,
    /// The points published in the paper, in the units of the axes.
    #[serde(default)]
    pub(super) printed: Vec<[f64; 2]>,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Drawing {
    /// Joined by straight lines.
    #[default]
    Line,
    /// Points.
    Points,
    /// Bars, without intervals.
    Bars,
    /// A step function, without intervals.
    Steps,
}

/// A line in the units of the axes: through points, or y = intercept + slope x.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// Name in the legend.
    pub(super) name: String,
    #[serde(default)]
    pub(super) points: Vec<[f64; 2]>,
    pub(super) slope: Option<f64>,
    #[serde(default)]
    pub(super) intercept: f64,
}

fn one() -> f64 {
    1.0
}

impl Page {
    /// Reads a description.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let wrong = |why: String| Error::Description { path: path.to_owned(), why };
        let page: Self = toml::from_str(&text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
            let why = error.message().lines().collect::<Vec<_>>().join(": ");
            Error::Toml { path: path.to_owned(), line, why }
        })?;
        let mut seen = BTreeSet::new();
        for figure in &page.figure {
            if !seen.insert(&figure.id) {
                return Err(wrong(format!("two figures have the id {:?}", figure.id)));
            }
            figure.check().map_err(|why| wrong(format!("figure {:?}: {why}", figure.id)))?;
        }
        Ok(page)
    }
}

impl Figure {
    /// All data files.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let of_series = self.series.iter().filter_map(|series| series.file.as_ref());
        let of_table = self.table.iter().flat_map(|table| &table.files);
        of_series.chain(of_table).chain(self.check.iter().flat_map(Check::files))
    }

    /// Whether it shows something without a data file.
    pub(super) fn has_own_content(&self) -> bool {
        self.found.is_some() && !self.has_data() || self.series.iter().any(|series| series.file.is_none())
    }

    fn has_data(&self) -> bool {
        !self.series.is_empty() || self.table.is_some() || !self.check.is_empty()
    }

    /// Checks that the keys fit together.
    fn check(&self) -> Result<(), String> {
        if !self.has_data() && self.found.is_none() && self.not_made.is_none() {
            return Err("no [[figure.series]], [figure.table], [[figure.check]], `found` or `not_made`".into());
        }
        if self.y.scale == Scale::Names {
            return Err("`names` is a scale of the horizontal axis".into());
        }
        if self.table.as_ref().is_some_and(|table| table.across.is_some() && table.columns.len() != 2) {
            return Err("a table with `across` has two `columns`".into());
        }
        for series in &self.series {
            let of_table = [("x", &series.x), ("y", &series.y), ("low", &series.low), ("high", &series.high)];
            let has = |key| of_table.iter().any(|(name, column)| *name == key && column.is_some());
            let why = match &series.file {
                Some(_) if !has("x") || !has("y") => "`file` needs the column names `x` and `y`",
                Some(_) if has("low") != has("high") => "`low` and `high` must be given together",
                Some(_) if has("low") && matches!(series.drawn, Drawing::Bars | Drawing::Steps) => {
                    "remove `low` and `high`: bars and steps have no intervals"
                }
                None if series.printed.is_empty() => "needs `file` or `printed`",
                None if !series.only.is_empty() || of_table.iter().any(|(_, column)| column.is_some()) => {
                    "columns need a `file`"
                }
                _ => continue,
            };
            return Err(format!("series {:?}: {why}", series.name));
        }
        for check in &self.check {
            if check.low.is_some() != check.high.is_some() {
                return Err(format!("check {:?}: `low` and `high` must be given together", check.claim));
            }
        }
        for line in &self.line {
            if line.points.is_empty() == line.slope.is_none() || line.points.len() == 1 {
                return Err(format!("line {:?}: needs two or more `points`, or a `slope`", line.name));
            }
        }
        Ok(())
    }
}
