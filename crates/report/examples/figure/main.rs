//! Draws the figures of a study: of each description an SVG, and of all of them one page with the paper's claim and a table.
//!
//! `cargo run --release -p offered-report --example figure -- FIGURE.toml... FOLDER`; the study's CSV files are in FOLDER, and there
//! the figures are written to: `FIGURE.svg` of each, and `figures.html`. What a description says is in studies/README.md.

mod drawn;
mod sheet;
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

use crate::sheet::Sheet;

/// Why figures could not be drawn. Each message says where.
#[derive(Debug, thiserror::Error)]
enum Wrong {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A description says what it may not, or leaves out what it must say.
    #[error("{}: {why}", path.display())]
    Sheet { path: PathBuf, why: String },
    /// A table has not what a description asks it for.
    #[error("{}: {why}", path.display())]
    Table { path: PathBuf, why: String },
    /// A picture could not be made.
    #[error("{}: cannot be drawn: {why}", path.display())]
    Drawing { path: PathBuf, why: String },
}

impl Wrong {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    fn drawing<E: ToString>(path: &Path) -> impl FnOnce(E) -> Self {
        move |why| Self::Drawing { path: path.to_owned(), why: why.to_string() }
    }
}

fn main() -> ExitCode {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let Some((folder, sheets)) = args.split_last().filter(|(_, sheets)| !sheets.is_empty()) else {
        eprintln!("usage: figure FIGURE.toml... FOLDER     (the folder holds the CSV files and takes the figures)");
        return ExitCode::from(2);
    };
    match draw(sheets, folder) {
        Ok(page) => {
            println!("the figures are in {}", page.display());
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("error: {wrong}");
            ExitCode::from(2)
        }
    }
}

/// Draws all of them, and answers where the page is. Nothing is written unless everything can be drawn.
fn draw(sheets: &[PathBuf], folder: &Path) -> Result<PathBuf, Wrong> {
    let (mut names, mut pictures, mut sections) = (BTreeSet::new(), Vec::new(), Vec::new());
    for path in sheets {
        let sheet = Sheet::read(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.insert(name.clone()) {
            let why = format!("another description is named {name} too, and would take its place");
            return Err(Wrong::Sheet { path: path.clone(), why });
        }
        let (chart, section) = drawn::drawn(&sheet, &name, path, folder)?;
        pictures.push((folder.join(format!("{name}.svg")), svg(&chart).map_err(Wrong::drawing(path))?));
        sections.push(section);
    }
    let page = folder.join("figures.html");
    let title = "Figures".to_owned();
    let source = "Numbers in tables are those of the CSV files that lie beside this page.";
    let text = html(&Document { title, sections, source }, "").map_err(Wrong::drawing(&page))?;
    for (path, text) in pictures.into_iter().chain([(page.clone(), text)]) {
        fs::write(&path, text).map_err(Wrong::file(&path))?;
    }
    Ok(page)
}
