//! Printing to stdout and stderr.

use std::fmt;
use std::io::{self, Write};

use offered_base::{is_unreadable, visible_lines};
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
    let _ = io::stderr().write_all(visible_lines(&text.to_string()).as_bytes());
}

/// Prints to stdout; names, notes and messages from files and servers may hold any character. An error (a full disk) ends the process with exit code 1, except a closed pipe or terminal, which is ignored.
pub(crate) fn print(text: fmt::Arguments<'_>) {
    let text = text.to_string();
    let written = io::stdout().write_all(visible_lines(&text).as_bytes()).and_then(|()| io::stdout().flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
        && error.raw_os_error() != Some(Errno::IO.raw_os_error())
    {
        // stderr may be closed as well.
        let _ = writeln!(io::stderr(), "error: cannot write to stdout: {error}");
        std::process::exit(1);
    }
}

/// Writes bytes to stdout. As for [`out!`], a closed pipe (`offered export ... | head`) is no error, whatever an encoder between makes of it.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut pipe = Pipe { to: io::stdout().lock(), is_closed: false };
    let written = write(&mut pipe).and_then(|()| pipe.flush());
    if pipe.is_closed { Ok(()) } else { written }
}

/// A writer that remembers whether nobody reads any more.
struct Pipe<W> {
    to: W,
    is_closed: bool,
}

impl<W: Write> Pipe<W> {
    fn seen<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        result
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.seen(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.seen(flushed)
    }
}

/// Prints a document as JSON.
pub(crate) fn json(document: &impl Serialize) {
    out!("{}", readable(document));
}

/// A document as JSON without unreadable characters.
pub(crate) fn readable(document: &impl Serialize) -> String {
    readable_json(serde_json::to_string_pretty(document).expect("documents contain only numbers and texts"))
}

/// Outside of strings JSON has no unreadable characters but line ends.
fn readable_json(json: String) -> String {
    let is_escaped = |c: char| c != '\n' && is_unreadable(c);
    if !json.contains(is_escaped) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_escaped(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_without_unreadable_characters() {
        let document = serde_json::json!({ "a\u{202e}b": ["\u{9b}2J\u{e0041}", "plain\n", "\u{1b}"] });
        let text = readable_json(serde_json::to_string_pretty(&document).unwrap());
        assert!(!text.contains(|c| c != '\n' && is_unreadable(c)) && text.contains("\\udb40\\udc41"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }
}
