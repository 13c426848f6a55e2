//! Streamed responses: the arrival times of their events, their ends, and their counts.
//!
//! The bytes of the body are parsed as they are read and not kept. Instants are the kernel's receive timestamps, if the
//! kernel provides them. Data that were read at once have one timestamp, so only the last event in them has a known
//! arrival. For the first and the last chunk, the earliest possible arrival is recorded too.

mod chunk;
mod sse;

use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason, TokenStream};
use offered_io::unix_now;
use offered_workload::{EventStream, StreamFormat};
use regex::bytes::Regex;

use self::chunk::{Chunk, NotJson, error_message};
use self::sse::{ServerEvent, SseParser};

/// The data of the event that ends a stream of the format `openai`.
const DONE: &[u8] = b"[DONE]";

/// What a request expects of the stream in its response.
#[derive(Debug)]
pub(crate) struct ExpectedStream {
    stream: EventStream,
    /// The pattern of the last event.
    awaited: Option<Regex>,
    /// Whether the text of the response is needed.
    keeps_text: bool,
}

/// Largest kept text of a response, in bytes; the rest is missing.
const MAX_TEXT: usize = 4 << 20;

impl PartialEq for ExpectedStream {
    fn eq(&self, other: &Self) -> bool {
        self.stream == other.stream
    }
}

impl ExpectedStream {
    /// Compiles the pattern of `stream`; `keeps_text`: the text of the response is needed.
    ///
    /// # Errors
    /// An invalid regular expression.
    pub(crate) fn new(stream: &EventStream, keeps_text: bool) -> Result<Arc<Self>, String> {
        let awaited = stream.awaited.as_deref().map(Regex::new).transpose();
        let awaited = awaited.map_err(|reason| format!("stream.await: {reason}"))?;
        Ok(Arc::new(Self { stream: stream.clone(), awaited, keeps_text }))
    }

    /// Whether the stream is the response of a language model.
    pub(crate) fn is_openai(&self) -> bool {
        self.stream.format == StreamFormat::OpenAi
    }

    /// How long the stream is read at most; `None`: to its end.
    pub(crate) fn listen(&self) -> Option<Nanos> {
        self.stream.listen
    }
}

/// A thread that slept, and read data within this time of their stamp, was woken by them: they arrived at once.
pub(crate) const PROMPT: Nanos = Nanos::from_micros(200);

/// What is known about the arrival of the data of one read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DataArrival {
    /// The kernel's receive time of the last of them, since the Unix epoch.
    pub(crate) stamp: Option<Nanos>,
    /// How long data had been waiting.
    pub(crate) waited: Option<Nanos>,
    /// None arrived before this instant.
    pub(crate) empty_until: Instant,
    /// Whether the thread slept until it was told of them.
    pub(crate) has_slept: bool,
    /// Whether the stamp may be that of the data of another exchange.
    pub(crate) is_shared: bool,
}

impl DataArrival {
    /// The earliest possible arrival of the first of these data, if the kernel held the last of them for this time;
    /// `None` if it arrived with the last, or if this is not known.
    fn earliest(self, held: Option<Nanos>) -> Option<Instant> {
        held.filter(|held| *held > PROMPT || !self.has_slept).map(|_| self.empty_until)
    }
}

/// The time before a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interval {
    /// From the request to the first chunk.
    First(Nanos),
    /// From the chunk before.
    Gap(Nanos),
}

/// One read from the socket.
#[derive(Clone, Copy, Debug, Default)]
struct ReadTimes {
    /// The kernel's timestamp of the last data, since the Unix epoch.
    stamp: Option<Nanos>,
    /// When the last data arrived; if that is not known, when they were read.
    arrival: Instant,
    /// How long the kernel held the last data; `None`: not known.
    held: Option<Nanos>,
    /// The instant since which data had been waiting, as far as that is known.
    waiting: Instant,
    /// See [`DataArrival::earliest`].
    earliest: Option<Instant>,
    /// Whether even the last data have no timestamp of their own.
    is_shared: bool,
}

/// Reads the stream in one response.
#[derive(Debug)]
pub(crate) struct StreamReader {
    expected: Arc<ExpectedStream>,
    parser: SseParser,
    times: StreamTimes,
    /// Whether the response head has arrived and announces a stream.
    has_begun: bool,
    /// Whether the end mark, the awaited event or the last expected event has arrived, or the time is over.
    has_ended: bool,
    error: Option<Reason>,
}

/// The record of the stream, and the reads that it comes from.
#[derive(Debug, Default)]
struct StreamTimes {
    record: TokenStream,
    /// The current read, and the last one that brought a chunk.
    read: ReadTimes,
    last_read: Option<ReadTimes>,
    /// Number of chunks in the current read.
    in_read: u64,
    /// Number of events in the current read, including the response head.
    events: u64,
    /// The text so far, escaped as in JSON, if it is needed; and whether a chunk exceeded its maximum length.
    text: Option<Vec<u8>>,
    is_text_full: bool,
}

impl StreamReader {
    /// A reader for the response to one request, whose prompt was to have this number of tokens.
    pub(crate) fn new(expected: Arc<ExpectedStream>, tokens_intended: Option<u64>) -> Self {
        let record = TokenStream { tokens_intended, ..TokenStream::default() };
        let text = expected.keeps_text.then(Vec::new);
        Self {
            expected,
            parser: SseParser::default(),
            times: StreamTimes { record, text, ..StreamTimes::default() },
            has_begun: false,
            has_ended: false,
            error: None,
        }
    }

    /// Data were read at `now`. None arrived before the request was `sent`.
    pub(crate) fn begin_read(&mut self, now: Instant, data: DataArrival, sent: Option<Instant>) {
        let DataArrival { stamp, waited, is_shared, .. } = data;
        let held = stamp.and_then(|stamp| unix_now().0.checked_sub(stamp.0)).map(Nanos);
        let held = held.filter(|held| *held <= sent.unwrap_or_default().until(now));
        let stamp = stamp.filter(|_| held.is_some());
        let arrival = now.earlier(held.unwrap_or_default());
        let waiting = arrival.min(now.earlier(waited.unwrap_or_default()));
        let earliest = data.earliest(held).map(|at| at.max(sent.unwrap_or_default()).min(waiting));
        self.times.read = ReadTimes { stamp, arrival, held, waiting, earliest, is_shared };
        (self.times.in_read, self.times.events) = (0, 0);
    }

    /// The response head has arrived.
    pub(crate) fn begin<'a>(&mut self, headers: impl Iterator<Item = (&'a str, &'a [u8])>) {
        self.has_begun = true;
        self.times.events += 1;
        self.times.record.head = self.times.read.arrival;
        let mut media_type: &[u8] = b"";
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("content-type") {
                media_type = value;
            } else if name.eq_ignore_ascii_case("content-encoding") && !value.eq_ignore_ascii_case(b"identity") {
                self.error = Some("the stream is compressed; remove the header Accept-Encoding".into());
            }
        }
        let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if !essence.eq_ignore_ascii_case(b"text/event-stream") {
            let given = String::from_utf8_lossy(media_type);
            self.error = Some(format!("not an event stream: Content-Type `{given}`").into());
        }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let Self { expected, parser, times, has_ended, error, .. } = self;
        let fed = parser.feed(bytes, &mut |event| match expected.stream.format {
            // Events that were read together with the last one do not count.
            StreamFormat::Sse => *has_ended = *has_ended || times.take_event(&event, expected),
            StreamFormat::OpenAi => *has_ended |= times.take_chunk(&event, error),
        });
        if !parser.ends_with_event() {
            times.see_more_data();
        }
        if fed.is_err() {
            self.error = Some(Reason::words("an event of more than 4 MB"));
        }
    }

    /// The time before the chunk that the last read brought; `None` if it brought none, or several. The request was `sent`.
    pub(crate) fn interval(&self, sent: Option<Instant>) -> Option<Interval> {
        let StreamTimes { record, in_read, .. } = &self.times;
        match (record.chunks, in_read) {
            (1, 1) => Some(Interval::First(sent?.until(record.first_token?))),
            (_, 1) => record.gaps_us.last().map(|us| Interval::Gap(Nanos::from_micros(u64::from(*us)))),
            _ => None,
        }
    }

    /// See [`ExpectedStream::listen`].
    pub(crate) fn listen(&self) -> Option<Nanos> {
        self.expected.listen()
    }

    /// The time for which the stream is read is over.
    pub(crate) fn stop_listening(&mut self) {
        self.has_ended = true;
    }

    /// Whether the client ends the exchange now. A stream of the format `openai` ends with its response.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended && self.expected.stream.format == StreamFormat::Sse
    }

    /// Puts the record into the event of the exchange. A stream that failed makes a good response fail. Returns the text of the response, as
    /// between quotes in JSON, if it is needed.
    pub(crate) fn conclude(self, event: &mut Event) -> Option<String> {
        if !self.has_begun {
            return None;
        }
        if event.outcome == Outcome::Ok
            && let Some((outcome, reason)) = self.failure()
        {
            (event.outcome, event.error) = (outcome, Some(reason));
        }
        event.stream = Some(Box::new(self.times.record));
        self.times.text.map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    fn failure(&self) -> Option<(Outcome, Reason)> {
        if let Some(error) = &self.error {
            return Some((Outcome::StreamError, error.clone()));
        }
        let (stream, record) = (&self.expected.stream, &self.times.record);
        let (needs_end, missing_end) = match stream.format {
            StreamFormat::Sse => (
                stream.end.is_some() || stream.awaited.is_some(),
                Reason::words("the stream ended without the expected last event"),
            ),
            StreamFormat::OpenAi => {
                (record.finish.is_none(), Reason::words("the stream ended without a finish reason and without [DONE]"))
            }
        };
        if needs_end && !self.has_ended {
            return Some((Outcome::Truncated, missing_end));
        }
        if record.chunks == 0 {
            return Some((Outcome::NoToken, Reason::words("the stream ended without a token")));
        }
        let (count, least) = match stream.format {
            StreamFormat::Sse => (record.chunks, stream.count.filter(|_| !self.has_ended)),
            StreamFormat::OpenAi => (record.tokens_out.unwrap_or(record.chunks), stream.min_tokens),
        };
        let least = u64::from(least?);
        (count < least).then(|| {
            let what = if stream.format == StreamFormat::Sse { "events" } else { "tokens" };
            (Outcome::Short, format!("{count} {what}, but at least {least} were expected").into())
        })
    }
}

impl StreamTimes {
    /// Takes an event of the format `sse`. Returns whether it is the last one.
    fn take_event(&mut self, event: &ServerEvent<'_>, expected: &ExpectedStream) -> bool {
        self.see_more_data();
        self.events += 1;
        let stream = &expected.stream;
        if stream.end.as_deref().is_some_and(|end| end.as_bytes() == event.data) {
            return true;
        }
        self.count_chunk(true);
        stream.count.is_some_and(|count| self.record.chunks >= u64::from(count))
            || expected.awaited.as_ref().is_some_and(|pattern| pattern.is_match(event.data))
    }

    /// Takes an event of the format `openai`. Returns whether it is the last one.
    fn take_chunk(&mut self, event: &ServerEvent<'_>, error: &mut Option<Reason>) -> bool {
        self.see_more_data();
        self.events += 1;
        if event.data == DONE {
            return true;
        }
        match Chunk::parse(event.data) {
            _ if event.kind == b"error" => *error = Some(error_message(event.data).into()),
            Ok(Chunk { error: Some(found), .. }) => *error = Some(error_message(found).into()),
            Err(NotJson) => *error = Some(Reason::words("an event is not JSON")),
            Ok(chunk) => {
                let record = &mut self.record;
                record.finish = chunk.finish.or(record.finish);
                record.tokens_in = chunk.tokens_in.or(record.tokens_in);
                record.tokens_cached = chunk.tokens_cached.or(record.tokens_cached);
                record.tokens_out = chunk.tokens_out.or(record.tokens_out);
                if let Some(text) = &mut self.text {
                    self.is_text_full |= text.len() + chunk.text.len() > MAX_TEXT;
                    if !self.is_text_full {
                        text.extend_from_slice(chunk.text);
                    }
                }
                if chunk.has_answer || chunk.has_reasoning {
                    self.count_chunk(chunk.has_answer);
                    if self.record.chunks == 1 {
                        self.record.tokens_first = chunk.tokens_out;
                    }
                }
            }
        }
        false
    }

    /// A chunk has arrived.
    fn count_chunk(&mut self, is_answer: bool) {
        let Self { record, read, last_read, in_read, .. } = self;
        record.chunks += 1;
        *in_read += 1;
        let is_same =
            |last: ReadTimes| last.stamp.is_some() && last.stamp == read.stamp || last.arrival >= read.arrival;
        if *in_read > 1 || last_read.is_some_and(is_same) {
            record.coalesced += 1;
        } else if let Some(last) = last_read {
            let gap = last.arrival.until(read.arrival);
            record.gap_max = record.gap_max.max(Some(gap));
            record.gaps_us.push(u32::try_from((gap.0 + 500) / 1000).unwrap_or(u32::MAX).max(1));
        }
        let earliest = read.earliest.filter(|_| read.is_shared);
        if record.chunks == 1 {
            (record.first_token, record.first_earliest, record.read_late) = (Some(read.arrival), earliest, read.held);
        }
        if is_answer && record.first_answer.is_none() {
            record.first_answer = if record.chunks == 1 { record.first_token } else { Some(read.arrival) };
        }
        (record.last_token, record.last_earliest, record.last_read_late) = (Some(read.arrival), earliest, read.held);
        *last_read = Some(*read);
    }

    /// The current read contains more data than those already processed, so its timestamp is not that of the chunks so
    /// far.
    fn see_more_data(&mut self) {
        let Self { record, read, in_read, events, .. } = self;
        if *in_read == 0 {
            return;
        }
        record.last_earliest = read.earliest;
        if record.chunks == *in_read {
            record.first_earliest = read.earliest;
        }
        // The chunk is what the thread knew to be waiting.
        if record.chunks == 1 && *events == 1 {
            record.read_late = read.held.map(|held| held + read.waiting.until(read.arrival));
            record.first_answer = record.first_answer.map(|_| read.waiting);
            record.first_token = Some(read.waiting);
        }
    }
}

#[cfg(test)]
mod tests;
