//! Documents of ours that are no run, told by what they call themselves.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use offered_experiment::Error;
use offered_experiment::document::sweep::Document as Sweep;
use offered_logs::document::Document as Site;
use offered_model::document::{Document as _, schema};

/// A document of ours that is no run.
pub enum Known {
    /// A sweep.
    Sweep(Sweep),
    /// What a log showed of a site.
    Site(Box<Site>),
    /// One of which there is no page: its schema.
    Other(String),
}

impl Known {
    /// The document at `path` (of a sweep's directory: its `sweep.json`); `None` for anything else, and for what cannot be opened,
    /// which is for the reader of runs to tell.
    ///
    /// # Errors
    /// It is not what it calls itself.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let file = if path.is_dir() { path.join("sweep.json") } else { path.to_owned() };
        // A file may be large; its schema stands first.
        let mut head = Vec::new();
        let Ok(opened) = File::open(&file) else { return Ok(None) };
        if !opened.metadata().is_ok_and(|metadata| metadata.is_file())
            || opened.take(64).read_to_end(&mut head).is_err()
        {
            return Ok(None);
        }
        let wrong = |source| Error::Document { path: file.clone(), source };
        let text = || fs::read_to_string(&file).map_err(Error::unread(&file));
        Ok(match schema(&head) {
            Some(Sweep::SCHEMA) => Some(Self::Sweep(serde_json::from_str(&text()?).map_err(wrong)?)),
            Some(Site::SCHEMA) => Some(Self::Site(serde_json::from_str(&text()?).map_err(wrong)?)),
            other => other.map(|other| Self::Other(other.to_owned())),
        })
    }
}
