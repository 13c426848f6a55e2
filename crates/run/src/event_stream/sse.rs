//! Incremental parser of server-sent events (WHATWG HTML, section 9.2.6). It does no I/O, and its input may be cut anywhere.
//!
//! `id` and `retry` are accepted and unused: a load test does not connect again.

use memchr::{memchr, memchr2};

/// Maximum number of bytes of one event.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// An event of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerEvent<'a> {
    /// The type; empty if none is given, which means `message`.
    pub(crate) kind: &'a [u8],
    /// The data; several lines are joined by line feeds.
    pub(crate) data: &'a [u8],
}

/// An event has more than 4 MB.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The state between two pieces of input.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// The beginning of a line that continues.
    line: Vec<u8>,
    /// The data of the event so far, with a line feed after each line.
    data: Vec<u8>,
    kind: Vec<u8>,
    /// Whether the last line that was taken ended an event.
    has_just_ended: bool,
    /// Whether the input ended with a carriage return, so that a line feed may belong to it.
    after_cr: bool,
    /// Whether the first line, which may begin with a byte order mark, is over.
    past_first_line: bool,
}

impl SseParser {
    /// Takes the next bytes and calls `on_event` for every event that they complete. An event without an empty line after it
    /// is incomplete.
    ///
    /// # Errors
    /// An event is too large.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        on_event: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), TooLarge> {
        if std::mem::take(&mut self.after_cr) {
            bytes = match bytes {
                [] => {
                    self.after_cr = true;
                    return Ok(());
                }
                [b'\n', rest @ ..] => rest,
                _ => bytes,
            };
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let line = &bytes[..end];
            let is_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            match bytes {
                [b'\n', rest @ ..] if is_cr => bytes = rest,
                [] => self.after_cr = is_cr,
                _ => {}
            }
            if self.line.is_empty() {
                self.take_line(line, on_event)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, on_event)?;
                whole.clear();
                self.line = whole;
            }
        }
        self.line.extend_from_slice(bytes);
        self.check_size(0)
    }

    /// Whether the input so far ends with an event: neither a part of the next one nor a comment has followed it.
    pub(crate) fn ends_with_event(&self) -> bool {
        self.line.is_empty() && self.has_just_ended
    }

    fn check_size(&self, more: usize) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + more > MAX_EVENT_BYTES { Err(TooLarge) } else { Ok(()) }
    }

    fn take_line(&mut self, line: &[u8], on_event: &mut impl FnMut(ServerEvent<'_>)) -> Result<(), TooLarge> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let is_first = !std::mem::replace(&mut self.past_first_line, true);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        self.has_just_ended = false;
        if line.is_empty() {
            if let [data @ .., b'\n'] = &self.data[..] {
                on_event(ServerEvent { kind: &self.kind, data });
                self.has_just_ended = true;
            }
            self.data.clear();
            self.kind.clear();
            return Ok(());
        }
        let colon = memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                self.check_size(value.len())?;
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.check_size(value.len())?;
                self.kind.clear();
                self.kind.extend_from_slice(value);
            }
            // Comments, `id`, `retry`, and fields that are not known.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The events of an input in these pieces: type and data.
    fn events<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let (mut parser, mut events) = (SseParser::default(), Vec::new());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for piece in pieces {
            parser.feed(piece, &mut |event| events.push((text(event.kind), text(event.data)))).unwrap();
        }
        events
    }

    fn data(input: &str) -> Vec<String> {
        events([input.as_bytes()]).into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
        let stream = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
        assert_eq!(data(stream), ["first event", "second event", " third event"]);
        assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"], "the last event is incomplete");
        assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
    }

    #[test]
    fn fields_comments_and_byte_order_marks() {
        let of = |text: &str| events([text.as_bytes()]);
        let event = |kind: &str, data: &str| (kind.to_owned(), data.to_owned());
        assert_eq!(of("event: add\ndata: 7\n\ndata: 8\n\n"), [event("add", "7"), event("", "8")]);
        assert_eq!(of("event: a\nevent: b\ndata: 1\n\n"), [event("b", "1")]);
        assert_eq!(of("event: lost\n\ndata: 1\n\n"), [event("", "1")], "an event without data is none");
        assert_eq!(of("retry: 10\nid: 4\n: ping\nfoo: bar\n data: no\nDATA: no\ndata: x:y\n\n"), [event("", "x:y")]);
        assert_eq!(of("\u{feff}data: 1\n\n\u{feff}data: 2\n\n"), [event("", "1")], "only the first mark is one");
        assert_eq!(of("\u{feff}\ndata: 1\n\n"), [event("", "1")]);
    }

    #[test]
    fn line_ends_of_every_kind() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
            "data: a\r\n\rdata: b\n\r\n",
        ] {
            assert_eq!(data(text), ["a", "b"], "{text:?}");
        }
        assert_eq!(events([&b"data: a\r"[..], b"", b"\n", b"\r", b"data: b\n\n"]).len(), 2);
    }

    #[test]
    fn endless_events_are_refused() {
        for (first, then) in [("data: ", "a"), ("", "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"), ("event: ", "a")]
        {
            let mut parser = SseParser::default();
            let mut feed = |text: &str| parser.feed(text.as_bytes(), &mut |_| panic!("no event ends"));
            feed(first).unwrap();
            let piece = then.repeat((1 << 20) / then.len());
            assert!((0..8).any(|_| feed(&piece).is_err()), "{then}");
        }
    }

    /// The events as the specification's grammar has them: whole lines first, then their fields.
    fn by_lines(input: &str) -> Vec<(String, String)> {
        let input = input.strip_prefix('\u{feff}').unwrap_or(input).replace("\r\n", "\n").replace('\r', "\n");
        let (mut found, mut kind, mut data) = (Vec::new(), String::new(), String::new());
        let Some((whole, _)) = input.rsplit_once('\n') else { return found };
        for line in whole.split('\n') {
            match line.split_once(':').unwrap_or((line, "")) {
                ("", "") if line.is_empty() => {
                    if let Some(data) = data.strip_suffix('\n') {
                        found.push((kind.clone(), data.to_owned()));
                    }
                    (kind, data) = Default::default();
                }
                ("data", value) => data += &format!("{}\n", value.strip_prefix(' ').unwrap_or(value)),
                ("event", value) => value.strip_prefix(' ').unwrap_or(value).clone_into(&mut kind),
                _ => {}
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_cut_of_the_bytes_does_not_matter(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("data: a"), Just("data:"), Just("data"), Just("event: e"), Just(": c"), Just("id: 1"), Just("\u{feff}"),
                    Just("\n"), Just("\n\n"), Just("\r"), Just("\r\n"), Just("\r\n\r\n"), Just("ä"), Just(":"), Just(" ")
                ],
                0..40,
            ),
            cuts in proptest::collection::vec(0usize..200, 0..12),
        ) {
            let text = parts.concat();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < text.len()).collect();
            cuts.sort_unstable();
            let ends = cuts.iter().copied().chain([text.len()]);
            let begins = [0].into_iter().chain(cuts.iter().copied());
            let pieces: Vec<&[u8]> = begins.zip(ends).map(|(from, to)| &text.as_bytes()[from..to]).collect();
            prop_assert_eq!(events(pieces), by_lines(&text));
        }
    }
}
