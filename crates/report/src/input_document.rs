//! JSON documents that can be reported, recognised by their schema.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use offered_events::document::{Document as _, schema};
use offered_experiment::Error;
use offered_experiment::document::compare::Document as Comparison;
use offered_experiment::document::sweep::Document as Sweep;
use offered_logs::document::LogAnalysis as Site;

/// A JSON document other than a run.
pub enum InputDocument {
    /// A sweep.
    Sweep(Sweep),
    /// A comparison, from `offered compare --json`.
    Comparison(Box<Comparison>),
    /// A site, from `offered logs --json`.
    Site(Box<Site>),
    /// A document without a report: its schema.
    Other(String),
}

impl InputDocument {
    /// The document at `path`, or `sweep.json` of a sweep directory. `None` for other files and files that cannot be opened: the reader
    /// of runs reports those.
    ///
    /// # Errors
    /// The document does not match its schema.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let file = if path.is_dir() { path.join("sweep.json") } else { path.to_owned() };
        // The file may be large; the schema comes first.
        let mut head = Vec::new();
        let Ok(opened) = File::open(&file) else { return Ok(None) };
        if !opened.metadata().is_ok_and(|metadata| metadata.is_file())
            || opened.take(64).read_to_end(&mut head).is_err()
        {
            return Ok(None);
        }
        let wrong = |source| Error::Document { path: file.clone(), source };
        let text = || fs::read_to_string(&file).map_err(Error::unreadable(&file));
        Ok(match schema(&head) {
            Some(Sweep::SCHEMA) => Some(Self::Sweep(serde_json::from_str(&text()?).map_err(wrong)?)),
            Some(Comparison::SCHEMA) => Some(Self::Comparison(serde_json::from_str(&text()?).map_err(wrong)?)),
            Some(Site::SCHEMA) => Some(Self::Site(serde_json::from_str(&text()?).map_err(wrong)?)),
            other => other.map(|other| Self::Other(other.to_owned())),
        })
    }
}
