//! The description of a figure, as a study keeps it: a TOML file in which unknown keys are errors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Wrong;

/// A figure: what it shows, and where the numbers are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sheet {
    /// Its title.
    pub(crate) title: String,
    /// What the paper says that it shows.
    pub(crate) claim: Option<String>,
    /// What is true of it here.
    pub(crate) found: Option<String>,
    /// How to read it, below the picture.
    #[serde(default)]
    pub(crate) reading: String,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// What was measured, and what was printed of it.
    #[serde(default)]
    pub(crate) series: Vec<Series>,
    /// Lines laid over it.
    #[serde(default)]
    pub(crate) line: Vec<Line>,
}

/// An axis.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    /// What it measures.
    label: String,
    /// In which unit; none for a plain number.
    unit: Option<String>,
    /// How its values lie.
    #[serde(default)]
    pub(crate) scale: Scale,
    /// What the tables' numbers are multiplied by to have that unit.
    #[serde(default = "one")]
    pub(crate) times: f64,
}

impl Axis {
    /// Its title.
    pub(crate) fn title(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(" ({unit})"));
        format!("{}{}", self.label, unit.unwrap_or_default())
    }
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scale {
    /// From zero, in equal steps.
    #[default]
    Linear,
    /// In equal factors.
    Log,
}

/// Some points: of a table, as somebody printed them, or both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Its name in the legend.
    pub(crate) name: String,
    /// The CSV file, in the folder of the study's results.
    pub(crate) file: Option<PathBuf>,
    /// The rows that belong to it: what stands in which columns.
    #[serde(default, rename = "where")]
    pub(crate) only: BTreeMap<String, Wanted>,
    /// The columns of a point.
    pub(crate) x: Option<String>,
    pub(crate) y: Option<String>,
    /// The columns of its interval: both or none.
    pub(crate) low: Option<String>,
    pub(crate) high: Option<String>,
    /// Whether lines join the points.
    #[serde(default = "yes")]
    pub(crate) joined: bool,
    /// The points that the paper prints, in the units of the axes.
    #[serde(default)]
    pub(crate) printed: Vec<[f64; 2]>,
}

/// What must stand in a column.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Wanted {
    /// A number, however it is written.
    Number(f64),
    /// A text.
    Text(String),
}

/// A line over the figure, in the units of its axes: through points, or y = intercept + slope x.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Its name in the legend.
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

impl Sheet {
    /// The description in a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Wrong> {
        let text = fs::read_to_string(path).map_err(Wrong::file(path))?;
        let wrong = |why: String| Wrong::Sheet { path: path.to_owned(), why };
        let sheet: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        sheet.whole().map_err(wrong)?;
        Ok(sheet)
    }

    /// What keys alone do not say: which of them go together.
    fn whole(&self) -> Result<(), String> {
        if self.series.is_empty() {
            return Err("no [[series]]: a figure shows one at least".into());
        }
        for series in &self.series {
            let of_table = [("x", &series.x), ("y", &series.y), ("low", &series.low), ("high", &series.high)];
            let has = |key| of_table.iter().any(|(name, column)| *name == key && column.is_some());
            let why = match &series.file {
                Some(_) if !has("x") || !has("y") => "`file` wants the names of its columns, `x` and `y`",
                Some(_) if has("low") != has("high") => "`low` and `high` go together",
                None if series.printed.is_empty() => "neither `file` nor `printed`: it has no points",
                None if !series.only.is_empty() || of_table.iter().any(|(_, column)| column.is_some()) => {
                    "columns without a `file`"
                }
                _ => continue,
            };
            return Err(format!("series {:?}: {why}", series.name));
        }
        for line in &self.line {
            if line.points.is_empty() == line.slope.is_none() || line.points.len() == 1 {
                return Err(format!("line {:?}: two `points` or more, or a `slope`", line.name));
            }
        }
        Ok(())
    }
}
