//! The page of a study: figures and tables from its result files, each with the claim of the paper and the result of
//! checking it.
//!
//! A TOML file describes the page; `studies/README.md` documents the keys. Data are CSV files, or the JSON documents of
//! `simulate`, `plan` and `sweep`.

mod checks;
mod claim;
mod description;
mod draw;
mod error;
mod rows;
mod selection;
mod table;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::document::{Block, Cell, Document, Section, Table, headings};
use checks::Outcome;
use description::{Figure, Page};
pub use error::Error;

/// Maximum number of points of a figure that are also shown as a table; the page offers those of every figure as CSV.
const MAX_ROWS: usize = 40;

/// Whether the file at `path` describes a page of a study: a TOML file with `[[figure]]`.
pub fn is_page(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml && fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.trim() == "[[figure]]"))
}

/// The document of the pages described in `paths`, one after another. Data files are relative to `folder`.
///
/// # Errors
/// A description or a data file is invalid, or a data file is missing and its figure has no `not_made`.
pub fn document(paths: &[PathBuf], folder: &Path, title: Option<&str>) -> Result<Document, Error> {
    let (mut sections, mut overview, mut first_title) = (Vec::new(), Vec::new(), None);
    for path in paths {
        let page = Page::read(path)?;
        for figure in &page.figure {
            let (section, outcome) = made(figure, path, folder)?;
            let title = Cell::Link(figure.title.clone(), figure.id.clone());
            overview.push(vec![title, Cell::from(outcome.0), Cell::from(outcome.1)]);
            sections.push(section);
        }
        first_title.get_or_insert(page.title);
    }
    let table =
        Table { caption: String::new(), headings: headings(["figure or table", "state", "claims"]), rows: overview };
    let contents = Section { blocks: vec![Block::Table(table)], ..section("contents", "Figures and tables") };
    sections.insert(0, contents);
    let title = title.map(str::to_owned).or(first_title).unwrap_or_default();
    Ok(Document::new(title, sections, "The numbers are from the files next to this page."))
}

/// A section without content.
fn section(id: &str, title: &str) -> Section {
    Section {
        id: id.to_owned(),
        level: 2,
        title: title.to_owned(),
        intro: "",
        book_page: None,
        folded: false,
        blocks: Vec::new(),
    }
}

impl Figure {
    /// `None` if the claim has no row and the figure may lack rows.
    fn available<T>(&self, made: Result<T, Error>) -> Result<Option<T>, Error> {
        match made {
            Err(Error::NoRow { .. }) if self.not_made.is_some() => Ok(None),
            made => made.map(Some),
        }
    }
}

/// The section of a figure, whether the figure was made, and the number of its claims that hold.
fn made(figure: &Figure, path: &Path, folder: &Path) -> Result<(Section, (String, String)), Error> {
    let mut section = section(&figure.id, &figure.title);
    let paragraph = |head: &str, text: &str| Block::Paragraph(format!("{head}: {text}"));
    section.blocks.extend(figure.claim.iter().map(|claim| paragraph("The paper", claim)));
    let exists = |file: &PathBuf| folder.join(file).exists();
    let missing = figure.files().find(|file| !exists(file));
    let mut is_whole = missing.is_none();
    match (missing, &figure.not_made) {
        (Some(file), None) => {
            return Err(Error::Missing { path: folder.join(file) });
        }
        (_, Some(why)) if !figure.files().any(exists) && !figure.has_own_content() => {
            section.blocks.push(paragraph("Not made", why));
            return Ok((section, (format!("not made: {why}"), String::new())));
        }
        _ => {}
    }
    section.blocks.extend(figure.found.iter().map(|found| paragraph("Here", found)));
    let mut claims = Vec::new();
    if let Some((chart, rows)) = draw::chart_and_rows(figure, path, folder)? {
        let adds_numbers = figure.series.iter().any(|series| series.low.is_some() || !series.printed.is_empty());
        section.blocks.push(Block::Chart(chart));
        let is_shown = adds_numbers && rows.rows.len() <= MAX_ROWS;
        section.blocks.extend(is_shown.then(|| Block::Table(rows.without_empty_columns())));
    }
    if let Some(table) = figure.table.as_ref().filter(|table| table.files.iter().all(exists)) {
        let rows::Compared { table, agree, lacks_rows } = rows::compared(table, folder)?;
        section.blocks.push(Block::Table(table));
        claims.extend(agree);
        if lacks_rows && figure.not_made.is_none() {
            let why = format!("figure {:?}: a printed row has none of the data", figure.id);
            return Err(Error::Description { path: path.to_owned(), why });
        }
        is_whole &= !lacks_rows;
    }
    let checks = figure.check.iter().filter(|check| check.files().all(exists));
    let outcomes = checks.filter_map(|check| figure.available(Outcome::of(check, folder)).transpose());
    let outcomes = outcomes.collect::<Result<Vec<Outcome>, Error>>()?;
    if !outcomes.is_empty() {
        let hold = outcomes.iter().filter(|outcome| outcome.holds == Some(true)).count();
        claims.push(format!("{hold} of {} hold", outcomes.len()));
        section.blocks.push(Block::Table(checks::table(&outcomes)));
    }
    let state = match figure.not_made.as_ref().filter(|_| !is_whole) {
        Some(why) => {
            section.blocks.push(paragraph("Not in full", why));
            format!("in part: {why}")
        }
        None => "made".to_owned(),
    };
    Ok((section, (state, claims.join("; "))))
}
