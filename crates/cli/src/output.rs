//! Printing to stdout and stderr.

use std::fmt;
use std::io::{self, Write};

use rustix::io::Errno;
use serde::Serialize;

/// Prints a line to stdout, or only the text with `out!(no newline: ...)`.
///
/// Unlike `println!` it does not panic on a closed pipe (`offered ... | head`): the rest is not printed, and the command goes on.
macro_rules! out {
    (no newline: $($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use out;

/// Prints a line to stderr, or only the text with `status!(no newline: ...)`. Errors are ignored.
macro_rules! status {
    (no newline: $($text:tt)*) => { $crate::output::print_status(format_args!($($text)*)) };
    ($($text:tt)*) => { $crate::output::print_status(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use status;

/// See [`status!`].
pub(crate) fn print_status(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// Prints to stdout. An error (a full disk) ends the process with exit code 1, except a closed pipe or terminal, which is ignored.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let written = io::stdout().write_fmt(text).and_then(|()| io::stdout().flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && error.raw_os_error() != Some(Errno::IO.raw_os_error())
    {
        // stderr may be closed as well.
        let _ = writeln!(io::stderr(), "error: cannot write to stdout: {error}");
        std::process::exit(1);
    }
}

/// Prints a document as JSON.
pub(crate) fn json(document: &impl Serialize) {
    out!("{}", serde_json::to_string_pretty(document).expect("documents contain only numbers and texts"));
}
