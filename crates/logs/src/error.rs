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
    #[error("no line is left to analyse: {unreadable} lines could not be read, {left_out} were left out")]
    Empty {
        /// Lines that could not be read.
        unreadable: u64,
        /// Lines that the filters left out.
        left_out: u64,
    },
    /// Of the clients none is in the sample that is followed.
    #[error("of so few clients to follow, none is in this log")]
    NoneFollowed,
    /// What needs a second look at the log, which standard input cannot give.
    #[error("{0} reads the log twice, which standard input does not allow; write the log to a file")]
    Twice(&'static str),
    /// Logs that say how much work their entries bring, and others, in one trace.
    #[error("of a trace either all entries say their work or none: the jobs of {0} say it, and other logs here do not")]
    Mixed(String),
    /// A trace that cannot be written.
    #[error("cannot write the trace: {0}")]
    Trace(String),
}
