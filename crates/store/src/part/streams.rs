//! The columns of streamed responses. A part has them only if one of its events has a stream.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Finish, TokenStream};

use super::column::{ColumnSpec, Field, optional};

type Get = fn(&TokenStream) -> Option<u64>;
type Set = fn(&mut TokenStream, Option<u64>);

/// The numbers in the order of their columns, with their names. The first is there for every stream: a null means that there is none.
const NUMBERS: [(&str, Get, Set); 16] = [
    ("head_ns", |s| Some(s.head.0), |s, n| s.head = Instant(n.unwrap_or(0))),
    ("first_token_ns", |s| s.first_token.map(|at| at.0), |s, n| s.first_token = n.map(Instant)),
    ("first_answer_ns", |s| s.first_answer.map(|at| at.0), |s, n| s.first_answer = n.map(Instant)),
    ("last_token_ns", |s| s.last_token.map(|at| at.0), |s, n| s.last_token = n.map(Instant)),
    ("tokens_intended", |s| s.tokens_intended, |s, n| s.tokens_intended = n),
    ("tokens_in", |s| s.tokens_in, |s, n| s.tokens_in = n),
    ("tokens_cached", |s| s.tokens_cached, |s, n| s.tokens_cached = n),
    ("tokens_out", |s| s.tokens_out, |s, n| s.tokens_out = n),
    ("tokens_first", |s| s.tokens_first, |s, n| s.tokens_first = n),
    ("chunks", |s| Some(s.chunks), |s, n| s.chunks = n.unwrap_or(0)),
    ("coalesced", |s| Some(s.coalesced), |s, n| s.coalesced = n.unwrap_or(0)),
    ("gap_max_ns", |s| s.gap_max.map(|gap| gap.0), |s, n| s.gap_max = n.map(Nanos)),
    ("read_late_ns", |s| s.read_late.map(|late| late.0), |s, n| s.read_late = n.map(Nanos)),
    ("last_read_late_ns", |s| s.last_read_late.map(|late| late.0), |s, n| s.last_read_late = n.map(Nanos)),
    ("first_earliest_ns", |s| s.first_earliest.map(|at| at.0), |s, n| s.first_earliest = n.map(Instant)),
    ("last_earliest_ns", |s| s.last_earliest.map(|at| at.0), |s, n| s.last_earliest = n.map(Instant)),
];

/// Number of columns of numbers.
pub(crate) const COUNT: usize = NUMBERS.len();

/// The column of this number.
pub(super) const fn column(nth: usize) -> ColumnSpec {
    optional(NUMBERS[nth].0, Field::Stream(nth))
}

/// This number of the stream of an event.
pub(crate) fn number(nth: usize, event: &Event) -> Option<u64> {
    (NUMBERS[nth].1)(event.stream.as_ref()?)
}

/// Sets this number of the stream of an event. The first number creates or removes the stream.
pub(crate) fn set_number(nth: usize, event: &mut Event, number: Option<u64>) {
    if nth == 0 {
        event.stream = number.map(|_| Box::default());
    }
    if let Some(stream) = &mut event.stream {
        (NUMBERS[nth].2)(stream, number);
    }
}

/// Sets the finish reason of a stream from its name.
pub(crate) fn set_finish(event: &mut Event, name: Option<&[u8]>) {
    if let Some(stream) = &mut event.stream {
        let known = |name| std::str::from_utf8(name).ok().and_then(Finish::from_name);
        stream.finish = name.map(|name| known(name).unwrap_or(Finish::Other));
    }
}

/// The gaps of a stream, separated by spaces.
pub(crate) fn gaps(stream: &TokenStream) -> String {
    stream.gaps_us.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// Sets the gaps of a stream. Anything that is not a gap is skipped.
pub(crate) fn set_gaps(event: &mut Event, gaps: &[u8]) {
    if let Some(stream) = &mut event.stream {
        let gaps = gaps.split(|byte| *byte == b' ');
        stream.gaps_us = gaps.filter_map(|gap| std::str::from_utf8(gap).ok()?.parse().ok()).collect();
    }
}
