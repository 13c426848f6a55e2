//! The description of a figure: a TOML file; unknown keys are errors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Error;

/// A figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// The title.
    pub(crate) title: String,
    /// The claim of the paper.
    pub(crate) claim: Option<String>,
    /// The result of this study.
    pub(crate) found: Option<String>,
    /// How to read the figure.
    #[serde(default)]
    pub(crate) reading: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// Measured and published points.
    #[serde(default)]
    pub(crate) series: Vec<Series>,
    /// Additional lines.
    #[serde(default)]
    pub(crate) line: Vec<Line>,
}

/// An axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    /// The quantity.
    label: String,
    /// The unit; `None` for a plain number.
    unit: Option<String>,
    /// The scale.
    #[serde(default)]
    pub(crate) scale: Scale,
    /// Factor that converts the numbers of the table to this unit.
    #[serde(default = "one")]
    pub(crate) times: f64,
}

impl Axis {
    /// The title with the unit.
    pub(crate) fn title(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" ({unit})"));
        format!("{}{}", self.label, unit.unwrap_or_default())
    }
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// Linear, from zero.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
}

/// A series of points: from a table, published, or both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Name in the legend.
    pub(crate) name: String,
    /// The CSV file, in the directory of the study's results.
    pub(crate) file: Option<PathBuf>,
    /// Selects rows by the values of columns.
    #[serde(default, rename = "where")]
    pub(crate) only: BTreeMap<String, CellFilter>,
    /// The columns of x and y.
    pub(crate) x: Option<String>,
    pub(crate) y: Option<String>,
    /// The columns of the interval: both or none.
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
    /// Whether to join the points by lines.
    #[serde(default = "yes")]
    pub(crate) joined: bool,
    /// The points published in the paper, in the units of the axes.
    #[serde(default)]
    pub(crate) printed: Vec<[f64; 2]>,
}

/// The required value of a column.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum CellFilter {
    /// A number, compared as a number.
    Number(f64),
    /// A text.
    Text(String),
}

/// A line in the units of the axes: through points, or y = intercept + slope x.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Name in the legend.
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) points: Vec<[f64; 2]>,
    pub(crate) slope: Option<f64>,
    #[serde(default)]
    pub(crate) intercept: f64,
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

impl Description {
    /// Reads a description.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let wrong = |why: String| Error::Description { path: path.to_owned(), why };
        let description: Self =
            toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        description.check().map_err(wrong)?;
        Ok(description)
    }

    /// Checks that the keys fit together.
    fn check(&self) -> Result<(), String> {
        if self.series.is_empty() {
            return Err("no [[series]]; a figure needs at least one".into());
        }
        for series in &self.series {
            let of_table = [("x", &series.x), ("y", &series.y), ("low", &series.low), ("high", &series.high)];
            let has = |key| of_table.iter().any(|(name, column)| *name == key && column.is_some());
            let why = match &series.file {
                Some(_) if !has("x") || !has("y") => "`file` needs the column names `x` and `y`",
                Some(_) if has("low") != has("high") => "`low` and `high` must be given together",
                None if series.printed.is_empty() => "needs `file` or `printed`",
                None if !series.only.is_empty() || of_table.iter().any(|(_, column)| column.is_some()) => {
                    "columns need a `file`"
                }
                _ => continue,
            };
            return Err(format!("series {:?}: {why}", series.name));
        }
        for line in &self.line {
            if line.points.is_empty() == line.slope.is_none() || line.points.len() == 1 {
                return Err(format!("line {:?}: needs two or more `points`, or a `slope`", line.name));
            }
        }
        Ok(())
    }
}
