//! The record of a streamed response: when its tokens arrived, and how many there were.

use offered_base::time::{Instant, Nanos};

/// What was received of a streamed response whose head arrived.
///
/// A chunk is one event of the stream with content, reasoning or a tool call; over `stream = "sse"`, any event. Instants are those at which
/// the kernel received the data, where it tells that, and otherwise those at which the generator read it. Of chunks that were read together
/// only the last has a known arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenStream {
    /// When the response head arrived.
    pub head: Instant,
    /// When the first chunk arrived; if several were read together, when they began to arrive, as far as that is known.
    pub first_token: Option<Instant>,
    /// The same for the first chunk that is not reasoning.
    pub first_answer: Option<Instant>,
    /// When the last chunk arrived.
    pub last_token: Option<Instant>,
    /// Tokens that the prompt was to have; `None` if the workload does not draw it.
    pub tokens_intended: Option<u64>,
    /// Tokens of the prompt, counted by the server.
    pub tokens_in: Option<u64>,
    /// Those of them that it took from a cache.
    pub tokens_cached: Option<u64>,
    /// Tokens of the response, counted by the server.
    pub tokens_out: Option<u64>,
    /// Those in the first chunk, if the server counted them there.
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
    /// How long the kernel held the first chunk before the generator read it; `None`: not measured.
    pub read_late: Option<Nanos>,
    /// The same for the last chunk.
    pub last_read_late: Option<Nanos>,
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
    /// Moves every instant by `place`.
    pub fn place(&mut self, place: impl Fn(Instant) -> Instant) {
        self.head = place(self.head);
        for at in [&mut self.first_token, &mut self.first_answer, &mut self.last_token] {
            *at = at.map(&place);
        }
    }

    /// Tokens in the first chunk: as counted by the server, else its share of all tokens; `None` without a count.
    pub fn first_share(&self) -> Option<f64> {
        let counted = self.tokens_first.map(|tokens| tokens as f64);
        counted.or_else(|| Some(self.tokens_out? as f64 / self.chunks.max(1) as f64))
    }

    /// Time per output token after the first chunk, in nanoseconds: (last - first) / (N - N of the first chunk). `None` without a count of
    /// tokens, or without tokens after the first chunk.
    pub fn time_per_token_ns(&self) -> Option<f64> {
        let passed = self.first_token?.until(self.last_token?);
        Some(passed.0 as f64 / self.later_tokens()?)
    }

    /// Tokens after the first chunk: N - N of the first chunk. `None` without a count, or without such tokens.
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
}
