//! The record of a streamed response: when its tokens arrived, and how many there were.

use offered_base::time::{Instant, Nanos};

/// The received part of a streamed response whose head arrived.
///
/// A chunk is one event of the stream with content, reasoning or a tool call; with `stream = "sse"`, it is any event.
/// Instants are the receive times of the kernel if it reports them, otherwise the times at which the generator read the
/// data. If several chunks were read together, only the arrival of the last one is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenStream {
    /// When the response head arrived.
    pub head: Instant,
    /// When the first chunk arrived; if several were read together, the start of their arrival, if it is known.
    pub first_token: Option<Instant>,
    /// When the first chunk that is not reasoning arrived.
    pub first_answer: Option<Instant>,
    /// When the last chunk arrived.
    pub last_token: Option<Instant>,
    /// Intended number of tokens of the prompt; `None` if the workload does not draw it.
    pub tokens_intended: Option<u64>,
    /// Tokens of the prompt, counted by the server.
    pub tokens_in: Option<u64>,
    /// Tokens of the prompt that the server took from a cache.
    pub tokens_cached: Option<u64>,
    /// Tokens of the response, counted by the server.
    pub tokens_out: Option<u64>,
    /// Tokens in the first chunk, if the server counted them there.
    pub tokens_first: Option<u64>,
    /// Number of chunks.
    pub chunks: u64,
    /// Chunks that were read together with a later one, so that their arrival is not known.
    pub coalesced: u64,
    /// The longest gap between chunks that were read one after another.
    pub gap_max: Option<Nanos>,
    /// The gaps between chunks that were read one after another, in microseconds.
    pub gaps_us: Vec<u32>,
    /// Why the server ended the response.
    pub finish: Option<Finish>,
    /// Time between the arrival of the first chunk at the kernel and its reading by the generator; `None`: not
    /// measured.
    pub read_late: Option<Nanos>,
    /// How long the kernel held the last chunk; `None`: not measured.
    pub last_read_late: Option<Nanos>,
    /// The first chunk arrived between this instant and `first_token`, because the generator read it late, together with other data. `None`:
    /// it arrived at `first_token`.
    pub first_earliest: Option<Instant>,
    /// The last chunk arrived between this instant and `last_token`, for the same reason. `None`: it arrived at
    /// `last_token`.
    pub last_earliest: Option<Instant>,
}

offered_base::named! {
    /// The finish reason of a response.
    pub enum Finish {
        /// A stop word, or the model's end of text.
        Stop = "stop",
        /// The limit of tokens.
        Length = "length",
        /// The model calls a tool.
        ToolCalls = "tool_calls",
        /// A content filter.
        ContentFilter = "content_filter",
        /// Another reason.
        Other = "other",
    }
}

impl TokenStream {
    /// Applies `place` to every instant.
    pub fn place(&mut self, place: impl Fn(Instant) -> Instant) {
        self.head = place(self.head);
        let Self { first_token, first_answer, last_token, first_earliest, last_earliest, .. } = self;
        for at in [first_token, first_answer, last_token, first_earliest, last_earliest] {
            *at = at.map(&place);
        }
    }

    /// Tokens in the first chunk, as counted by the server; otherwise all tokens divided by the number of chunks.
    /// `None` without a count.
    pub fn first_share(&self) -> Option<f64> {
        let counted = self.tokens_first.map(|tokens| tokens as f64);
        counted.or_else(|| Some(self.tokens_out? as f64 / self.chunks.max(1) as f64))
    }

    /// Time per output token after the first chunk, in nanoseconds: (last - first) / (N - N of the first chunk). `None` without a count of
    /// tokens, or without tokens after the first chunk.
    pub fn time_per_token_ns(&self) -> Option<f64> {
        self.per_token(self.first_token?, self.last_token?)
    }

    /// The smallest and the largest possible time per output token; they differ if the arrival of the first or the last
    /// chunk is not known exactly.
    pub fn time_per_token_range_ns(&self) -> Option<[f64; 2]> {
        let (first, last) = (self.first_token?, self.last_token?);
        let least = self.per_token(first, self.last_earliest.unwrap_or(last))?;
        Some([least, self.per_token(self.first_earliest.unwrap_or(first), last)?])
    }

    fn per_token(&self, first: Instant, last: Instant) -> Option<f64> {
        Some(first.until(last).0 as f64 / self.later_tokens()?)
    }

    /// Number of tokens after the first chunk. `None` without a count, or without such tokens.
    pub fn later_tokens(&self) -> Option<f64> {
        let rest = self.tokens_out? as f64 - self.first_share()?;
        (rest > 0.0 && self.chunks > 1).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_per_token_counts_the_tokens_after_the_first_chunk() {
        let ms = |ms| Some(Instant::from_millis(ms));
        let of = |tokens_out, tokens_first, chunks| {
            let stream = TokenStream { first_token: ms(50), last_token: ms(650), chunks, ..TokenStream::default() };
            TokenStream { tokens_out, tokens_first, ..stream }.time_per_token_ns()
        };
        // 64 tokens in 16 chunks of four, 40 ms apart.
        assert_eq!(of(Some(64), None, 16), Some(10e6));
        assert_eq!(of(Some(64), Some(4), 16), Some(10e6));
        assert_eq!(of(Some(61), Some(1), 61), Some(10e6));
        assert_eq!((of(None, None, 16), of(Some(4), None, 1)), (None, None));
    }

    #[test]
    fn unknown_arrivals_give_a_range_of_times_per_token() {
        let ms = |ms| Some(Instant::from_millis(ms));
        let stream = TokenStream {
            first_token: ms(70),
            last_token: ms(650),
            tokens_out: Some(59),
            chunks: 59,
            ..TokenStream::default()
        };
        assert_eq!(stream.time_per_token_range_ns(), Some([10e6; 2]));
        let late = TokenStream { first_earliest: ms(12), last_earliest: ms(592), ..stream };
        assert_eq!(late.time_per_token_range_ns(), Some([9e6, 11e6]));
    }
}
