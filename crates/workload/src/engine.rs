//! A batching server of language models: the engine of a modelled server.
//!
//! Engines such as vLLM work in steps (continuous batching; Yu et al., "Orca", OSDI 2022). A step makes one token for each sequence in the
//! batch, and sequences join and leave between steps. Its duration grows with the number of sequences, and with the
//! prompt tokens that it processes.

use std::fmt;
use std::str::FromStr;

use offered_base::{InvalidValue, Nanos};

/// The times and limits of an engine. A step with k sequences that processes p prompt tokens takes `step + k
/// per_sequence + p per_prompt_token`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Time of a step without sequences (a).
    pub step: Nanos,
    /// Time that each sequence in the batch adds to a step (b).
    pub per_sequence: Nanos,
    /// Maximum number of sequences in a batch (n), at least 1; further requests wait, first come, first served.
    pub sequences: u32,
    /// Time to process a prompt token; may be 0.
    pub per_prompt_token: Nanos,
    /// Maximum number of prompt tokens in a step (chunked prefill), at least 1; `None`: whole prompts.
    pub prompt_chunk: Option<u32>,
    /// Whether beginnings of prompts that are already known are taken from a cache, in blocks of [`Engine::BLOCK`]
    /// tokens.
    pub prefix_cache: bool,
}

/// Number of tokens of a prompt and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens of the prompt that were in earlier prompts and responses, so that a cache may have them.
    pub repeated: u32,
    /// Tokens of the response; 0: the request has no response of tokens.
    pub output: u32,
}

impl Engine {
    /// Tokens in a block of the cache, as in vLLM.
    pub const BLOCK: u32 = 16;

    /// Checks the limits, and that a step takes time.
    ///
    /// # Errors
    /// A limit is zero, or a step takes no time.
    pub fn check(self) -> Result<Self, InvalidValue> {
        if self.sequences == 0 || self.prompt_chunk == Some(0) {
            return Err(InvalidValue::new("a batch needs at least one sequence, and a step at least one prompt token"));
        }
        if self.step + self.per_sequence == Nanos::ZERO {
            return Err(InvalidValue::new("a step must take time; set step or per_sequence above zero"));
        }
        Ok(self)
    }

    /// Number of prompt tokens that the engine takes from its cache: whole blocks, and never the last token of the prompt.
    pub fn cached(self, tokens: TokenCounts) -> u32 {
        let most = tokens.repeated.min(tokens.prompt.saturating_sub(1));
        if self.prefix_cache { most / Self::BLOCK * Self::BLOCK } else { 0 }
    }

    /// Time of a request that is alone in the engine: its steps, and the processing of the prompt tokens that are not in the cache.
    pub fn alone(self, tokens: TokenCounts) -> Nanos {
        let read_in = tokens.prompt - self.cached(tokens);
        // Chunks but the last are steps without a token.
        let chunks = self.prompt_chunk.map_or(1, |chunk| read_in.div_ceil(chunk).max(1));
        let steps = u64::from(tokens.output.max(1)) + u64::from(chunks) - 1;
        (self.step + self.per_sequence) * steps + self.per_prompt_token * u64::from(read_in)
    }

    /// Time of the engine per request in full batches, whose sequences share a step, in seconds: the inverse of the
    /// capacity.
    pub fn in_full_batch(self, tokens: TokenCounts) -> f64 {
        let step = self.step.as_secs_f64() / f64::from(self.sequences) + self.per_sequence.as_secs_f64();
        let read_in = tokens.prompt - self.cached(tokens);
        step * f64::from(tokens.output.max(1)) + self.per_prompt_token.as_secs_f64() * f64::from(read_in)
    }
}

impl FromStr for Engine {
    type Err = InvalidValue;

    /// `8ms,100us,32,20us`: step, per sequence, sequences, per prompt token; the last is optional.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            InvalidValue::new(format!(
                "`{text}` is not an engine; write the time of a step, the time for each sequence, the number of sequences and the time for each \
                 prompt token, for example 8ms,100us,32,20us"
            ))
        };
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let time = |text: &str| text.parse::<Nanos>().map_err(|_| wrong());
        let (step, per_sequence, sequences, per_prompt_token) = match parts[..] {
            [step, sequence, sequences] => (step, sequence, sequences, "0s"),
            [step, sequence, sequences, prompt] => (step, sequence, sequences, prompt),
            _ => return Err(wrong()),
        };
        Self {
            step: time(step)?,
            per_sequence: time(per_sequence)?,
            sequences: sequences.parse().map_err(|_| wrong())?,
            per_prompt_token: time(per_prompt_token)?,
            prompt_chunk: None,
            prefix_cache: false,
        }
        .check()
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, per_sequence, sequences, per_prompt_token, prompt_chunk, prefix_cache } = self;
        write!(f, "step {step} + {per_sequence} per sequence, at most {sequences}")?;
        if *per_prompt_token > Nanos::ZERO {
            write!(f, ", {per_prompt_token} per prompt token")?;
        }
        if let Some(chunk) = prompt_chunk {
            write!(f, ", at most {chunk} prompt tokens per step")?;
        }
        if *prefix_cache { f.write_str(", prefix cache") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_request_alone_and_in_full_batches() {
        let engine: Engine = "8ms,100us,32,20us".parse().unwrap();
        let tokens = TokenCounts { prompt: 600, repeated: 0, output: 200 };
        assert_eq!(engine.alone(tokens), Nanos::from_micros(200 * 8100 + 600 * 20));
        assert!((engine.in_full_batch(tokens) - (200.0 * (0.008 / 32.0 + 0.0001) + 600.0 * 20e-6)).abs() < 1e-12);
        // Of 100 repeated tokens six blocks are in the cache; chunks of 200 tokens take three steps.
        let engine = Engine { prefix_cache: true, prompt_chunk: Some(200), ..engine };
        let tokens = TokenCounts { repeated: 100, ..tokens };
        assert_eq!((engine.cached(tokens), engine.alone(tokens)), (96, Nanos::from_micros(202 * 8100 + 504 * 20)));
        let whole = TokenCounts { prompt: 96, repeated: 96, output: 1 };
        assert_eq!(engine.cached(whole), 80, "the last token is always computed");
    }

    #[test]
    fn mistakes_are_reported() {
        for (text, message) in [
            ("8ms", "8ms,100us,32,20us"),
            ("8,1,2,3", "8ms,100us,32,20us"),
            ("8ms,0s,0", "at least one sequence"),
            ("0s,0s,4", "above zero"),
        ] {
            let mistake = text.parse::<Engine>().unwrap_err().to_string();
            assert!(mistake.contains(message), "{text}: {mistake}");
        }
        assert_eq!("8ms,0s,4".parse::<Engine>().unwrap().to_string(), "step 8ms + 0s per sequence, at most 4");
    }
}
