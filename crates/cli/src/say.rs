//! Printing to stdout, for all verbs.

use std::fmt;
use std::io::{self, Write};

use rustix::io::Errno;
use serde::Serialize;

/// Prints a line, or just the text with `say!(no newline: ...)`.
///
/// Unlike `println!` it does not panic when nobody reads on (`offered ... | head`): the rest is then not printed, and the verb
/// ends as it would have.
macro_rules! say {
    (no newline: $($text:tt)*) => { $crate::say::print(format_args!($($text)*)) };
    ($($text:tt)*) => { $crate::say::print(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;

/// Tells on stderr what a person should know; with `no newline:` first, nothing is added. Where stderr takes nothing, a full disk for one,
/// nobody hears it, and the verb goes on.
macro_rules! tell {
    (no newline: $($text:tt)*) => { $crate::say::aside(format_args!($($text)*)) };
    ($($text:tt)*) => { $crate::say::aside(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use tell;

/// See [`tell!`].
pub(crate) fn aside(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// Prints; a stdout that cannot take it (a full disk) ends the process with 1, a closed one, or a terminal that is gone, is let be.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let written = io::stdout().write_fmt(text).and_then(|()| io::stdout().flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && error.raw_os_error() != Some(Errno::IO.raw_os_error())
    {
        // Nobody may read that either.
        let _ = writeln!(io::stderr(), "error: cannot write to stdout: {error}");
        std::process::exit(1);
    }
}

/// Prints a document.
pub(crate) fn json(document: &impl Serialize) {
    say!("{}", serde_json::to_string_pretty(document).expect("numbers and texts are JSON"));
}
