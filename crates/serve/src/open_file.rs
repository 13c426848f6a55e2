//! An open file that is the body of a response.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// An open file to send as a response.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    /// Length when the file was opened, which the head announces.
    pub(crate) length: u64,
}

/// Equality of the descriptor and the length.
impl PartialEq for OpenFile {
    fn eq(&self, other: &Self) -> bool {
        (self.file.as_raw_fd(), self.length) == (other.file.as_raw_fd(), other.length)
    }
}

impl OpenFile {
    /// Appends `count` bytes from offset `from` to `out`.
    pub(crate) fn read(&self, from: u64, count: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let begin = out.len();
        out.resize(begin + count, 0);
        self.file.read_exact_at(&mut out[begin..], from).inspect_err(|_| out.truncate(begin))
    }
}
