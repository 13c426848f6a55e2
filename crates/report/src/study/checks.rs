//! Claims of a paper, checked with the interval of a figure or of a ratio of two figures.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::Error;
use super::selection::Selection;
use super::table::Data;
use crate::document::{Cell, Table, headings};

/// A claim: a figure, or the ratio of two, lies within a range.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// The claim in words.
    pub(super) claim: String,
    /// The data file.
    pub(super) file: PathBuf,
    /// The column of the figure.
    pub(super) column: String,
    /// The columns of its interval: both or none.
    low: Option<String>,
    high: Option<String>,
    /// Selects the row of the figure.
    over: Selection,
    /// The data file of the denominator; by default that of the figure.
    under_file: Option<PathBuf>,
    /// Selects the row of the denominator; `None`: the figure is no ratio.
    under: Option<Selection>,
    /// The range that the paper claims.
    expected: [f64; 2],
}

/// The result of a check.
pub(super) struct Outcome {
    claim: String,
    value: f64,
    ends: Option<(f64, f64)>,
    expected: [f64; 2],
    /// `None`: the interval does not decide.
    pub(super) holds: Option<bool>,
}

impl Check {
    /// The data files.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.file].into_iter().chain(&self.under_file)
    }

    pub(super) fn outcome(&self, folder: &Path) -> Result<Outcome, Error> {
        let figure = |file: &PathBuf, selection: &Selection| {
            let path = folder.join(file);
            let data = Data::read(&path)?;
            let (value, ends) = data.figure(selection, &self.column, self.low.as_deref(), self.high.as_deref())?;
            Ok::<_, Error>((value, ends))
        };
        let (mut value, mut ends) = figure(&self.file, &self.over)?;
        if let Some(under) = &self.under {
            let (other, other_ends) = figure(self.under_file.as_ref().unwrap_or(&self.file), under)?;
            // The logarithms of two independent figures differ by a sum of squares.
            ends = ends.zip(other_ends).map(|((low, high), (other_low, other_high))| {
                let down = f64::hypot((value / low).ln(), (other_high / other).ln());
                let up = f64::hypot((high / value).ln(), (other / other_low).ln());
                (value / other * (-down).exp(), value / other * up.exp())
            });
            value /= other;
        }
        let [least, most] = self.expected;
        let within = |x: f64| (least..=most).contains(&x);
        let holds = match ends {
            Some((low, high)) if within(low) && within(high) => Some(true),
            Some((low, high)) if high < least || low > most => Some(false),
            Some(_) => None,
            // A simulation was too short for an interval.
            None if self.low.is_some() => None,
            None => Some(within(value)),
        };
        Ok(Outcome { claim: self.claim.clone(), value, ends, expected: self.expected, holds })
    }
}

/// A row per check.
pub(super) fn table(outcomes: &[Outcome]) -> Table {
    let row = |one: &Outcome| {
        let [least, most] = one.expected;
        let expected = match (least.is_finite(), most.is_finite()) {
            (_, false) => format!("{least} or more"),
            (false, true) => format!("{most} or less"),
            (true, true) => format!("{least} to {most}"),
        };
        let result = match one.holds {
            Some(true) => "holds",
            Some(false) => "does not hold",
            None => "not decided",
        };
        let ends = one.ends.map_or(Cell::Empty, |(low, high)| Cell::Interval(low, high));
        vec![Cell::from(&one.claim), one.value.into(), ends, Cell::from(expected), Cell::from(result)]
    };
    Table {
        caption: "Claims".into(),
        headings: headings(["claim", "here", "95 %", "expected", "result"]),
        rows: outcomes.iter().map(row).collect(),
    }
}
