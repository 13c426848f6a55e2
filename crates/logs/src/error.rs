//! Errors of log analysis.

/// Reason why a log cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{file}: {reason}")]
    Read {
        /// File name.
        file: String,
        /// Error of the operating system.
        reason: std::io::Error,
    },
    /// The format of a file is unknown or does not match the options.
    #[error("{file}: {reason}")]
    Format {
        /// File name.
        file: String,
        /// The problem and its fix.
        reason: String,
    },
    /// A file name or glob pattern matches no file.
    #[error("`{0}`: no such file")]
    NoFile(String),
    /// No line is left to analyse.
    #[error("no lines to analyse: {unreadable} lines could not be parsed, {excluded} were excluded")]
    Empty {
        /// Number of lines that could not be parsed.
        unreadable: u64,
        /// Number of lines excluded by filters.
        excluded: u64,
    },
    /// No client is in the sample.
    #[error("no client of this log is in the sample")]
    NoSampledClient,
    /// An option needs to read the log twice, which is not possible with standard input.
    #[error("{0} needs to read the log twice, which is not possible with standard input; write the log to a file")]
    StandardInput(&'static str),
    /// A trace cannot mix logs with and without work per entry.
    #[error("a trace cannot mix jobs with known work ({0}) and entries of other logs")]
    MixedWork(String),
    /// The trace cannot be written.
    #[error("cannot write the trace: {0}")]
    Trace(String),
}
