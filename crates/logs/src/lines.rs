//! Iterates over the lines of a stream without copying them, with a bounded line length.

use std::io::Read;

/// Maximum length of a line in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 1 << 20;
const BUFFER: usize = 2 * MAX_LINE_BYTES;

/// A line, or a marker for a line that is too long.
pub(crate) enum Line<'a> {
    Text(&'a [u8]),
    TooLong,
}

/// Calls `each` with every line (without its end) that starts before byte `until` of `reader`, or with every record of
/// `record` bytes. With `skip`, the first, partial line is skipped.
pub(crate) fn each_line(
    reader: &mut dyn Read,
    record: Option<usize>,
    skip: bool,
    until: u64,
    mut each: impl FnMut(Line<'_>),
) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let (mut start, mut end) = (0, 0);
    // Stream position of `buffer[0]`, and whether bytes up to the next line end are skipped.
    let (mut base, mut passing) = (0u64, skip);
    loop {
        let n = match reader.read(&mut buffer[end..]) {
            Ok(n) => n,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        end += n;
        while let Some(length) = line_length(&buffer[start..end], record) {
            if !passing && base + start as u64 >= until {
                return Ok(());
            }
            let line = &buffer[start..start + length];
            if passing {
                passing = false;
            } else if length > MAX_LINE_BYTES {
                each(Line::TooLong);
            } else {
                each(Line::Text(line));
            }
            start += length + usize::from(record.is_none());
        }
        if n == 0 {
            if start < end && !passing && base + (start as u64) < until {
                each(Line::Text(&buffer[start..end]));
            }
            return Ok(());
        }
        if start == 0 && end == buffer.len() {
            // The whole buffer contains no line end.
            if !passing && base < until {
                each(Line::TooLong);
            }
            passing = true;
            base += end as u64;
            end = 0;
        } else if end == buffer.len() {
            buffer.copy_within(start..end, 0);
            base += start as u64;
            (start, end) = (0, end - start);
        } else if start == end {
            base += start as u64;
            (start, end) = (0, 0);
        }
    }
}

#[inline]
fn line_length(bytes: &[u8], record: Option<usize>) -> Option<usize> {
    match record {
        Some(size) => (bytes.len() >= size).then_some(size),
        None => memchr::memchr(b'\n', bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reader that returns a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(buffer.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn lines(text: &[u8], skip: bool, until: u64, step: usize) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        each_line(&mut Slow(text, step), None, skip, until, |line| match line {
            Line::Text(text) => all.push(text.to_vec()),
            Line::TooLong => all.push(b"<too long>".to_vec()),
        })
        .unwrap();
        all
    }

    proptest! {
        #[test]
        fn ranges_contain_every_line_once(text in "[ab\n]{0,80}", cut in 0u64..80, step in 1usize..9) {
            let text = text.as_bytes();
            let cut = cut.min(text.len() as u64);
            let whole = lines(text, false, u64::MAX, step);
            let mut expected: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            prop_assert_eq!(&whole, &expected);
            // The second range starts one byte early and skips the line of that byte.
            let mut both = lines(text, false, cut, step);
            if cut > 0 {
                both.extend(lines(&text[cut as usize - 1..], true, u64::MAX, step));
            } else {
                both = whole.clone();
            }
            prop_assert_eq!(both, whole);
        }
    }

    #[test]
    fn overlong_lines_are_reported_once() {
        let mut text = b"short\n".to_vec();
        text.extend(vec![b'x'; 5 * BUFFER]);
        text.extend(b"\nlast");
        assert_eq!(lines(&text, false, u64::MAX, 1 << 16), [&b"short"[..], b"<too long>", b"last"]);
    }
}
