//! What can stop the analysis of a log.

/// Why a log was not analysed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("{file}: {why}")]
    Read {
        /// Its name.
        file: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// A file whose format is unknown or does not fit the options.
    #[error("{file}: {why}")]
    Format {
        /// Its name.
        file: String,
        /// What is wrong, and what to write.
        why: String,
    },
    /// A pattern of file names that matches none, or is none.
    #[error("`{0}`: no such file")]
    NoFile(String),
    /// Nothing to analyse.
    #[error("no line is left to analyse: {0}")]
    Empty(String),
    /// What needs a second look at the log, which standard input cannot give.
    #[error("{0} reads the log twice, which standard input does not allow; write the log to a file")]
    Twice(&'static str),
    /// A trace that cannot be written.
    #[error("cannot write the trace: {0}")]
    Trace(String),
}
