//! The document: sections of text, tables and charts, independent of the output format.

use std::borrow::Cow;

use offered_base::{count, short};
use offered_verify::{CheckResult, StabilityState, Validity, Warning};

use crate::chart::Chart;
use crate::format::number;

/// A whole report.
#[derive(Clone, Debug)]
pub struct Document {
    /// The title.
    pub title: String,
    /// The tested target or workload, in one line.
    pub subtitle: String,
    /// The conclusion in a few words, for the title of the window; may be empty.
    pub conclusion: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// A sentence of HTML that names the source of the numbers.
    pub source: &'static str,
}

impl Document {
    /// The title of the window.
    pub fn tab_title(&self) -> String {
        let Self { title, conclusion, .. } = self;
        if conclusion.is_empty() { format!("{title} - offered") } else { format!("{title}: {conclusion}") }
    }

    /// The charts, each with a unique file name.
    pub fn charts(&self) -> impl Iterator<Item = (String, &Chart)> {
        self.sections.iter().flat_map(|section| {
            section.blocks.iter().filter_map(|block| match block {
                Block::Chart(chart) => Some((section.name_of(chart), chart)),
                _ => None,
            })
        })
    }

    /// The tables, each with a unique file name: the name of the section, with a number if it is not the first table of
    /// the section.
    pub fn tables(&self) -> impl Iterator<Item = (String, &Table)> {
        self.sections.iter().flat_map(|section| {
            let tables = section.blocks.iter().filter_map(|block| match block {
                Block::Table(table) => Some(table),
                _ => None,
            });
            let name = |i| if i == 1 { section.id.clone() } else { format!("{}-{i}", section.id) };
            tables.zip(1..).map(move |(table, i)| (name(i), table))
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
    /// The heading; may be empty.
    pub title: String,
    /// Help for reading the section, in two sentences.
    pub intro: &'static str,
    /// The chapter of the book, relative to `book/src`.
    pub book_page: Option<&'static str>,
    /// Whether the section is folded, so that a reader has to open it.
    pub folded: bool,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Judgements and key figures.
    Card(Card),
    /// A paragraph.
    Paragraph(String),
    /// Warnings with their fixes.
    Warnings(Vec<Warning>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
}

/// Judgements and key figures.
#[derive(Clone, Debug)]
pub struct Card {
    /// The judgements, the most important first.
    pub judgements: Vec<Judgement>,
    /// The figures.
    pub tiles: Vec<Tile>,
}

/// A judgement with its reason.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The status, for colour and sign.
    pub status: Status,
    /// The judgement in capitals.
    pub judgement: String,
    /// The reason.
    pub text: String,
    /// The fixes, each as one step.
    pub fixes: Vec<String>,
}

/// A figure with its name.
#[derive(Clone, Debug)]
pub struct Tile {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Cell,
    /// The unit, and the limit or target.
    pub note: String,
}

impl Tile {
    /// The value, to three significant digits.
    pub fn text(&self) -> String {
        match self.value {
            Cell::Number(value) => short(value),
            ref value => value.text(),
        }
    }
}

/// Column headings of a table.
pub fn headings<const N: usize>(names: [&'static str; N]) -> Vec<Cow<'static, str>> {
    names.map(Cow::Borrowed).to_vec()
}

/// A table; the first cell of a row is its heading.
#[derive(Clone, Debug)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The column headings.
    pub headings: Vec<Cow<'static, str>>,
    /// The rows, with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether any column has a heading.
    pub fn has_headings(&self) -> bool {
        self.headings.iter().any(|head| !head.is_empty())
    }

    /// The table without columns that have no value in any row.
    #[must_use]
    pub(crate) fn without_empty_columns(self) -> Self {
        let has_value =
            |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| *cell != Cell::Empty));
        let kept: Vec<bool> = (0..self.headings.len()).map(has_value).collect();
        let of = |column: usize| kept.get(column).copied().unwrap_or(true);
        let headings = self.headings.iter().enumerate().filter(|(i, _)| of(*i)).map(|(_, head)| head.clone()).collect();
        let row = |cells: &Vec<Cell>| {
            cells.iter().enumerate().filter(|(i, _)| of(*i)).map(|(_, cell)| cell.clone()).collect()
        };
        let rows = self.rows.iter().map(row).collect();
        Self { headings, rows, ..self }
    }

    /// The headings, and whether the column contains numbers, which are right-aligned.
    pub fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let number = |cell: &Cell| matches!(cell, Cell::Number(_) | Cell::Count(_) | Cell::Interval(..));
        let numeric = move |column: usize| self.rows.iter().filter_map(|row| row.get(column)).any(number);
        self.headings.iter().enumerate().map(move |(column, head)| (&**head, numeric(column)))
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
    /// A text, possibly from outside, and the identifier of the section that it leads to.
    Link(String, String),
    /// The result of a check and its text, which may come from an untrusted file.
    Status(Status, Cow<'static, str>),
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
        Self::Status(validity.into(), validity.text().into())
    }
}

impl From<CheckResult> for Cell {
    fn from(result: CheckResult) -> Self {
        Self::Status(result.into(), result.text().into())
    }
}

impl From<StabilityState> for Cell {
    fn from(state: StabilityState) -> Self {
        Self::Status(state.into(), state.text().into())
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
            Self::Text(text) | Self::Link(text, _) => text.clone(),
            Self::Number(value) => number(*value),
            Self::Count(n) => count(*n),
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
        assert_eq!(Cell::from(12_006).text(), "12,006");
    }

    #[test]
    fn columns_without_a_value_are_left_out() {
        let rows =
            vec![vec![Cell::from("a"), Cell::Empty, Cell::Empty], vec![Cell::from("b"), Cell::Empty, Cell::from(1)]];
        let table = Table { caption: String::new(), headings: headings(["x", "y", "z"]), rows }.without_empty_columns();
        assert_eq!(
            (table.headings, table.rows[0].len(), table.rows[1][1].clone()),
            (headings(["x", "z"]), 2, Cell::from(1))
        );
    }
}
