//! The numbers of tokens in a trace of a language model service.

use std::collections::HashSet;

/// Number of tokens of a block of a prompt; traces have a hash for each block (Qin et al., "Mooncake", FAST 2025).
pub const BLOCK_TOKENS: u32 = 512;

/// Prompt and response of an entry of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenEntry<'a> {
    /// Tokens of the prompt; words if its text was recorded.
    pub input: u32,
    /// Tokens of the response; words if the text of the prompt was recorded.
    pub output: u32,
    /// Tokens at the beginning of the prompt that earlier prompts of the trace share.
    pub repeated: u32,
    /// One number for each block of [`BLOCK_TOKENS`] tokens of the prompt (the last may be shorter): a block and all before it are equal in prompts
    /// with the same number. Empty: unknown.
    pub blocks: &'a [u32],
    /// The text of the prompt, if it was recorded.
    pub text: Option<&'a str>,
}

impl TokenEntry<'_> {
    /// Tokens of the response, at least 1, with this number of words per token.
    pub fn output_tokens(&self, words_per_token: f64) -> u32 {
        self.tokens(self.output, words_per_token)
    }

    /// Tokens of the prompt, at least 1, with this number of words per token.
    pub fn input_tokens(&self, words_per_token: f64) -> u32 {
        self.tokens(self.input, words_per_token)
    }

    fn tokens(&self, count: u32, words_per_token: f64) -> u32 {
        let tokens = if self.text.is_some() { (f64::from(count) / words_per_token).round() as u32 } else { count };
        tokens.max(1)
    }
}

/// The tokens of all entries, in columns.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tokens {
    input: Vec<u32>,
    output: Vec<u32>,
    repeated: Vec<u32>,
    blocks: Vec<u32>,
    /// Where the blocks of each entry end.
    block_ends: Vec<u32>,
    texts: String,
    /// Where the text of each entry ends; empty if there are no texts.
    text_ends: Vec<usize>,
}

impl Tokens {
    /// Adds an entry. Either all have a text or none.
    pub(super) fn push(&mut self, entry: TokenEntry<'_>) {
        self.input.push(entry.input);
        self.output.push(entry.output);
        self.blocks.extend_from_slice(entry.blocks);
        self.block_ends.push(self.blocks.len() as u32);
        if let Some(text) = entry.text {
            self.texts.push_str(text);
            self.text_ends.push(self.texts.len());
        }
    }

    pub(super) fn entry(&self, number: usize) -> TokenEntry<'_> {
        let begin = |ends: &[u32]| if number == 0 { 0 } else { ends[number - 1] as usize };
        let text = self.text_ends.get(number).map(|end| {
            let begin = if number == 0 { 0 } else { self.text_ends[number - 1] };
            &self.texts[begin..*end]
        });
        TokenEntry {
            input: self.input[number],
            output: self.output[number],
            repeated: self.repeated.get(number).copied().unwrap_or(0),
            blocks: &self.blocks[begin(&self.block_ends)..self.block_ends[number] as usize],
            text,
        }
    }

    /// Only these entries, in this order; what they repeat is counted among them.
    pub(super) fn chosen(&self, entries: &[u32]) -> Self {
        let mut chosen = Self::default();
        let mut seen: HashSet<u32> = HashSet::new();
        for number in entries {
            let entry = self.entry(*number as usize);
            chosen.push(entry);
            let known = entry.blocks.iter().take_while(|block| seen.contains(block)).count() as u32;
            chosen.repeated.push((known * BLOCK_TOKENS).min(entry.input));
            seen.extend(entry.blocks);
        }
        chosen
    }

    pub(super) fn has_texts(&self) -> bool {
        !self.text_ends.is_empty()
    }
}
