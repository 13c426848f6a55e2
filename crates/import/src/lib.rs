//! Plans of other tools as workloads: one file per format, one neutral [`Plan`], and a note of everything that was not
//! translated, with its place and what it would have done.
//!
//! # Limitations
//! A workload has one target and one `[arrivals]`: requests to other servers become notes, and a file with several thread
//! groups becomes several plans.

mod chain;
mod delay;
mod jmx;
mod plan;
#[cfg(test)]
mod tests;
mod write;

pub use plan::{Arrivals, Flow, Note, Plan, Profile, Request, Step, Target};

/// The largest file that is read, in bytes; what people write is a hundred times smaller.
pub const MOST_BYTES: usize = 64 << 20;

/// Why a file was not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something wrong at a line.
    #[error("{file}:{line}: {what}")]
    At {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// Something wrong with the whole.
    #[error("{file}: {what}")]
    File {
        /// The file's name.
        file: String,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// A format that plans are read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A test plan of `JMeter`.
    Jmx,
}

impl Format {
    /// What `text` looks like.
    pub fn sniff(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let head = text.char_indices().nth(4096).map_or(text, |(end, _)| &text[..end]);
        (head.starts_with('<') && head.contains("<jmeterTestPlan")).then_some(Self::Jmx)
    }
}

/// The plans of `text`, the content of `file`: one for every group of users in it.
///
/// # Errors
/// A text that is broken, cut off, too large, of no known format, or without any request.
pub fn read(text: &str, file: &str, format: Option<Format>) -> Result<Vec<Plan>, Error> {
    let refused = |what: String| Error::File { file: file.to_owned(), what };
    if text.len() > MOST_BYTES {
        return Err(refused(format!("larger than {} MiB; no plan is", MOST_BYTES >> 20)));
    }
    let Some(format) = format.or_else(|| Format::sniff(text)) else {
        return Err(refused("not a plan that offered knows: a JMeter test plan (.jmx)".to_owned()));
    };
    match format {
        Format::Jmx => jmx::read(text, file),
    }
}
