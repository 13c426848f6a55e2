//! The document: sections of text, tables and charts, independent of the output format.

use offered_verify::{CheckResult, StabilityState, Validity, Warning};

use crate::chart::Chart;
use crate::format::number;
use crate::readable::{make_readable, readable};

/// A whole report.
#[derive(Clone, Debug)]
pub struct Document {
    /// The title.
    pub title: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// A sentence of HTML that names the source of the numbers.
    pub source: &'static str,
}

impl Document {
    /// A document whose texts are readable: unreadable characters of names from outside are shown as escapes.
    pub fn new(mut title: String, mut sections: Vec<Section>, source: &'static str) -> Self {
        readable(&mut title);
        sections.iter_mut().for_each(make_readable);
        Self { title, sections, source }
    }

    /// The charts, each with a unique name for a file.
    pub fn charts(&self) -> impl Iterator<Item = (String, &Chart)> {
        self.sections.iter().flat_map(|section| {
            section.blocks.iter().filter_map(|block| match block {
                Block::Chart(chart) => Some((section.name_of(chart), chart)),
                _ => None,
            })
        })
    }
}

impl Section {
    /// The unique name of a chart of this section.
    pub(crate) fn name_of(&self, chart: &Chart) -> String {
        format!("{}-{}", self.id, chart.id)
    }
}

/// A section with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// The identifier in links.
    pub id: String,
    /// Heading level: 2, or 3 for a part of one run among several.
    pub level: u8,
    /// The heading.
    pub title: String,
    /// How to read the section, in two sentences.
    pub intro: &'static str,
    /// The chapter of the book, relative to `book/src`.
    pub book_page: Option<&'static str>,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A judgement with its reason.
    Banner(Banner),
    /// A paragraph.
    Paragraph(String),
    /// Warnings with their fixes.
    Warnings(Vec<Warning>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
}

/// A judgement with its reason.
#[derive(Clone, Debug)]
pub struct Banner {
    /// The status, for colour and sign.
    pub status: Status,
    /// The judgement as a sentence.
    pub headline: String,
    /// The reason.
    pub reason: String,
}

/// A table; the first cell of a row is its heading.
#[derive(Clone, Debug)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The column headings.
    pub headings: Vec<&'static str>,
    /// The rows, with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether any column has a heading.
    pub fn has_headings(&self) -> bool {
        self.headings.iter().any(|head| !head.is_empty())
    }

    /// The headings, and whether the column contains numbers, which are right-aligned.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let number = |cell: &Cell| matches!(cell, Cell::Number(_) | Cell::Count(_) | Cell::Interval(..));
        let numeric = move |column: usize| self.rows.iter().filter_map(|row| row.get(column)).any(number);
        self.headings.iter().enumerate().map(move |(column, head)| (*head, numeric(column)))
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, possibly from outside.
    Text(String),
    /// A number, as in the JSON document.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// An interval: low, high.
    Interval(f64, f64),
    /// The result of a check, and its text.
    Status(Status, &'static str),
    /// No value.
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Validity> for Cell {
    fn from(validity: Validity) -> Self {
        Self::Status(validity.into(), validity.text())
    }
}

impl From<CheckResult> for Cell {
    fn from(result: CheckResult) -> Self {
        Self::Status(result.into(), result.text())
    }
}

impl From<StabilityState> for Cell {
    fn from(state: StabilityState) -> Self {
        Self::Status(state.into(), state.text())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Self::Empty, Into::into)
    }
}

impl Cell {
    /// The text of the cell.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(value) => number(*value),
            Self::Count(count) => count.to_string(),
            Self::Interval(low, high) => format!("{} to {}", number(*low), number(*high)),
            Self::Status(status, text) => format!("{} {text}", sign(status)),
            Self::Empty => "–".to_owned(),
        }
    }
}

/// The status of a check, for its colour and its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It passed.
    Passed,
    /// It passed with reservations.
    Warning,
    /// It failed.
    Failed,
    /// It was not checked.
    NotChecked,
}

impl From<Validity> for Status {
    fn from(validity: Validity) -> Self {
        match validity {
            Validity::Valid => Self::Passed,
            Validity::ValidWithWarnings => Self::Warning,
            Validity::Invalid => Self::Failed,
            Validity::NotChecked => Self::NotChecked,
        }
    }
}

impl From<CheckResult> for Status {
    fn from(result: CheckResult) -> Self {
        match result {
            CheckResult::Passed => Self::Passed,
            CheckResult::Failed => Self::Failed,
            CheckResult::NotChecked => Self::NotChecked,
        }
    }
}

impl From<StabilityState> for Status {
    fn from(state: StabilityState) -> Self {
        match state {
            StabilityState::Stable => Self::Passed,
            StabilityState::Overloaded => Self::Failed,
            StabilityState::NotChecked => Self::NotChecked,
        }
    }
}

/// The sign of a status, so that the page can be read without colours.
#[allow(clippy::trivially_copy_pass_by_ref)] // templates pass references
pub fn sign(status: &Status) -> &'static str {
    match status {
        Status::Passed => "✔",
        Status::Warning => "≈",
        Status::Failed => "✘",
        Status::NotChecked => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_without_a_value_is_a_dash() {
        assert_eq!(Cell::from(None::<f64>).text(), "–");
    }
}
