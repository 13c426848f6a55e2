//! Claims of a paper, checked with the interval of a figure or of a ratio of two figures.

use std::path::{Path, PathBuf};

use super::claim::Check;
use super::error::Error;
use super::selection::Selection;
use super::table::Data;
use crate::document::{Cell, Table, headings};

/// The result of a check.
pub(super) struct Outcome {
    claim: String,
    value: f64,
    ends: Option<(f64, f64)>,
    expected: [f64; 2],
    /// `None`: the interval does not decide.
    pub(super) holds: Option<bool>,
}

impl Outcome {
    /// Reads the figures of a claim from the data files in `folder`.
    pub(super) fn of(check: &Check, folder: &Path) -> Result<Self, Error> {
        let figure = |file: &PathBuf, selection: &Selection| {
            let path = folder.join(file);
            let data = Data::read(&path)?;
            let (value, ends) = data.figure(selection, &check.column, check.low.as_deref(), check.high.as_deref())?;
            Ok::<_, Error>((value, ends))
        };
        let (mut value, mut ends) = figure(&check.file, &check.over)?;
        if let Some(under) = &check.under {
            let (other, other_ends) = figure(check.under_file.as_ref().unwrap_or(&check.file), under)?;
            // The logarithms of two independent figures differ by a sum of squares.
            ends = ends.zip(other_ends).map(|((low, high), (other_low, other_high))| {
                let down = f64::hypot((value / low).ln(), (other_high / other).ln());
                let up = f64::hypot((high / value).ln(), (other / other_low).ln());
                (value / other * (-down).exp(), value / other * up.exp())
            });
            value /= other;
        }
        let [least, most] = check.expected;
        let within = |x: f64| (least..=most).contains(&x);
        let holds = match ends {
            Some((low, high)) if within(low) && within(high) => Some(true),
            Some((low, high)) if high < least || low > most => Some(false),
            Some(_) => None,
            // A simulation was too short for an interval.
            None if check.low.is_some() => None,
            None => Some(within(value)),
        };
        Ok(Self { claim: check.claim.clone(), value, ends, expected: check.expected, holds })
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
