//! The text of a workload, of which variants are made.

use offered_model::Workload;

use crate::Error;

/// Reads a file that a workload names.
pub type Files = dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync;

/// A workload's text, its name, and the way to the files it names.
pub struct Input {
    /// What it is called in errors: the path of its file.
    pub name: String,
    /// As it was written.
    pub text: String,
    files: Box<Files>,
}

impl Input {
    /// Of this text; the files it names are read by `files`.
    pub fn new(
        name: String,
        text: String,
        files: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, text, files: Box::new(files) }
    }

    /// The workload of `text`, which is the input's own or a variant of it.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(&self, text: &str) -> Result<Workload, Error> {
        Ok(Workload::parse(text, &self.name, &self.files)?)
    }
}
