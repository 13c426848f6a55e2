//! The document: sections of words, tables and charts, before they become a page or a summary.

use offered_verify::{Judgement, Warning};

use crate::chart::Chart;

/// A whole report.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// In the order of reading.
    pub sections: Vec<Section>,
    /// Where the numbers of its tables can be had, a sentence of HTML.
    pub source: &'static str,
}

impl Document {
    /// Its charts, each with a name of its own that is fit for a file.
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
    /// The name of a chart of it, which no other section has.
    pub(crate) fn name_of(&self, chart: &Chart) -> String {
        format!("{}-{}", self.id, chart.id)
    }
}

/// A part with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name in links.
    pub id: String,
    /// 2 for a run or a part of its own, 3 for a part of a run.
    pub level: u8,
    /// Its heading.
    pub title: String,
    /// How to read it, in two sentences.
    pub reading: &'static str,
    /// The page of the book that says more, below `book/src`; none where the section says all.
    pub page: Option<&'static str>,
    /// What it shows.
    pub blocks: Vec<Block>,
}

/// What a section shows.
#[derive(Clone, Debug)]
pub enum Block {
    /// A judgement in words and colour.
    Verdict(Banner),
    /// A sentence or more.
    Words(String),
    /// Doubts with their remedies.
    Doubts(Vec<Warning>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
}

/// A judgement with the reason for it.
#[derive(Clone, Debug)]
pub struct Banner {
    /// The judgement.
    pub judgement: Judgement,
    /// What it means for the reader.
    pub headline: String,
    /// Why.
    pub because: String,
}

/// A table; the first cell of a row is its head.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The heads of its columns.
    pub heads: Vec<&'static str>,
    /// Its rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether any of its columns has a name.
    pub fn has_heads(&self) -> bool {
        self.heads.iter().any(|head| !head.is_empty())
    }

    /// The heads, each with whether its column holds numbers: it then stands over their right ends.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let number = |cell: &Cell| matches!(cell, Cell::Number(_) | Cell::Count(_) | Cell::Interval(..));
        let numeric = move |column: usize| self.rows.iter().filter_map(|row| row.get(column)).any(number);
        self.heads.iter().enumerate().map(move |(column, head)| (*head, numeric(column)))
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, possibly from outside.
    Text(String),
    /// A number, the very one of the JSON document.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// Two numbers, from and to.
    Interval(f64, f64),
    /// A judgement.
    Judgement(Judgement),
    /// What could not be had.
    Nothing,
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

impl From<Judgement> for Cell {
    fn from(judgement: Judgement) -> Self {
        Self::Judgement(judgement)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Self::Nothing, Into::into)
    }
}

/// A number to four digits, without an exponent; very large and very small ones with it.
pub fn short(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() {
        return "-".to_owned();
    }
    if size != 0.0 && !(1e-6..1e15).contains(&size) {
        return format!("{number:.3e}");
    }
    let places = if size >= 1000.0 || size == 0.0 { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 9) as usize };
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Cell {
    /// As people read it.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => short(*number),
            Self::Count(count) => count.to_string(),
            Self::Interval(low, high) => format!("{} to {}", short(*low), short(*high)),
            Self::Judgement(judgement) => format!("{} {}", sign(judgement), judgement.name()),
            Self::Nothing => "–".to_owned(),
        }
    }
}

/// A sign for a judgement, so that colour is not needed.
#[allow(clippy::trivially_copy_pass_by_ref)] // templates hand references
pub fn sign(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Holds => "✔",
        Judgement::HoldsWithDoubt => "≈",
        Judgement::Fails => "✘",
        Judgement::NotChecked => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_mean_something() {
        for (number, text) in [
            (0.0, "0"),
            (33.464_4, "33.46"),
            (123_456.7, "123457"),
            (0.001_234_56, "0.001235"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e-9, "1.000e-9"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(short(number), text);
        }
        assert_eq!(Cell::from(None::<f64>).text(), "–");
    }
}
