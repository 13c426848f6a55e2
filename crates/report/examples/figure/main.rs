//! Draws the figures of a study: an SVG per description, and one page of all figures with the paper's claim and a table.
//!
//! `cargo run --release -p offered-report --example figure -- FIGURE.toml... FOLDER`; FOLDER contains the study's CSV files.
//! The figures are written there: `FIGURE.svg` and `figures.html`. studies/README.md documents the descriptions.

mod description;
mod draw;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use offered_report::document::Document;
use offered_report::html::html;
use offered_report::svg::svg;

use crate::description::Description;

/// Why figures could not be drawn.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A description is not valid.
    #[error("{}: {why}", path.display())]
    Description { path: PathBuf, why: String },
    /// A table lacks what a description refers to.
    #[error("{}: {why}", path.display())]
    Table { path: PathBuf, why: String },
    /// A figure could not be drawn.
    #[error("{}: cannot be drawn: {why}", path.display())]
    Drawing { path: PathBuf, why: String },
}

impl Error {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    fn drawing<E: ToString>(path: &Path) -> impl FnOnce(E) -> Self {
        move |why| Self::Drawing { path: path.to_owned(), why: why.to_string() }
    }
}

fn main() -> ExitCode {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let Some((folder, descriptions)) = args.split_last().filter(|(_, descriptions)| !descriptions.is_empty()) else {
        eprintln!("usage: figure FIGURE.toml... FOLDER     (FOLDER: CSV files in, figures out)");
        return ExitCode::from(2);
    };
    match draw(descriptions, folder) {
        Ok(page) => {
            println!("the figures are in {}", page.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Draws all figures and returns the path of the page. Nothing is written if one of them fails.
fn draw(descriptions: &[PathBuf], folder: &Path) -> Result<PathBuf, Error> {
    let (mut names, mut pictures, mut sections) = (BTreeSet::new(), Vec::new(), Vec::new());
    for path in descriptions {
        let description = Description::read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.insert(name.clone()) {
            let why = format!("another description is named {name}, too; rename one of them");
            return Err(Error::Description { path: path.clone(), why });
        }
        let (chart, section) = draw::chart_and_section(&description, &name, path, folder)?;
        pictures.push((folder.join(format!("{name}.svg")), svg(&chart).map_err(Error::drawing(path))?));
        sections.push(section);
    }
    let page = folder.join("figures.html");
    let title = "Figures".to_owned();
    let source = "The numbers are from the CSV files next to this page.";
    let text = html(&Document::new(title, sections, source)).map_err(Error::drawing(&page))?;
    for (path, text) in pictures.into_iter().chain([(page.clone(), text)]) {
        fs::write(&path, text).map_err(Error::file(&path))?;
    }
    Ok(page)
}
