//! Files of `run`, `verify` and `compare` with the result in other formats, beside the output on stdout.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use offered_report::Report;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// Files with the result in other formats.
#[derive(clap::Args)]
pub(crate) struct ResultFiles {
    /// Also write JUnit XML for a CI system; overwrites FILE
    #[arg(long, value_name = "FILE", help_heading = "Result files")]
    junit: Option<PathBuf>,
    /// Also write a Markdown summary for a pull request; overwrites FILE
    #[arg(long, value_name = "FILE", help_heading = "Result files")]
    markdown: Option<PathBuf>,
    /// Print one JSON document instead of text; --json=FILE writes it and prints the text
    // Only after `=`, so that `--json workload.toml` is no output file.
    #[arg(long, value_name = "FILE", help_heading = "Result files", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl ResultFiles {
    /// Whether the JSON document replaces the text on stdout.
    pub(crate) fn prints_json(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// Whether a file needs the report.
    pub(crate) fn needs_report(&self) -> bool {
        self.junit.is_some() || self.markdown.is_some()
    }

    /// The given files.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let json = self.json.iter().filter(|_| !self.prints_json());
        self.junit.iter().chain(&self.markdown).chain(json)
    }

    /// Creates missing directories; an error if a file cannot be written, before the work begins.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check(self.files().map(PathBuf::as_path))
    }

    /// Writes the files.
    pub(crate) fn write(
        &self,
        document: &impl Serialize,
        report: impl FnOnce() -> Result<Report, Failure>,
    ) -> Result<(), Failure> {
        if let Some(path) = self.json.as_ref().filter(|_| !self.prints_json()) {
            write(path, &format!("{}\n", output::readable(document)))?;
        }
        if !self.needs_report() {
            return Ok(());
        }
        let report = report()?;
        if let Some(path) = &self.junit {
            write(path, &junit(&report).map_err(Failure::stopped)?)?;
        }
        if let Some(path) = &self.markdown {
            write(path, &markdown(&report))?;
        }
        Ok(())
    }
}

/// Creates missing directories; an error if a file cannot be written.
pub(crate) fn check<'a>(mut files: impl Iterator<Item = &'a Path>) -> Result<(), Failure> {
    files.try_for_each(|path| {
        probe(path).map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))
    })
}

/// Writes a file; overwrites an existing one.
pub(crate) fn write(out: &Path, text: &str) -> Result<(), Failure> {
    fs::write(out, text).map_err(|error| Failure::stopped(format!("cannot write {}: {error}", out.display())))
}

/// Checks whether the file can be written. Does not change an existing file and leaves no new one.
fn probe(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let is_new = fs::symlink_metadata(path).is_err();
    File::options().create(true).append(true).open(path)?;
    if is_new { fs::remove_file(path) } else { Ok(()) }
}
