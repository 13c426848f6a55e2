//! Prompts for language models: texts of a drawn number of tokens.
//!
//! No tokenizer is needed. Texts have a number of words, and a workload states how many words make a token: common English words are a token each in
//! most vocabularies. The server counts the tokens that it received, and a run reports the difference.

use std::sync::Arc;

use offered_base::InvalidValue;
use offered_base::random::{Seed, Stream};
use offered_schedule::trace::{BLOCK_TOKENS, TokenEntry};

use crate::draw::{Draw, data};

/// A source of prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The number of tokens, without a shared prefix.
    pub tokens: PromptTokens,
    /// A shared prefix; `None`: prompts have no prefix in common.
    pub prefix: Option<SharedPrefix>,
    /// The text that prompts are taken from; `None`: random common words.
    pub corpus: Option<Corpus>,
    /// Number of words in a token, above zero.
    pub words_per_token: f64,
    /// Number of tokens that the server adds to each prompt, such as those of its chat template.
    pub overhead_tokens: u32,
}

/// The source of the number of tokens of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptTokens {
    /// A distribution.
    Drawn(Draw),
    /// The entry of the replayed trace, which also has the text of the prompt, or the blocks that it shares with other
    /// prompts.
    Trace,
}

impl PromptTokens {
    /// The text of [`PromptTokens::Trace`] in a workload file.
    pub const TRACE: &str = "trace";
}

/// A beginning that the prompts of a group share, so that the server can take it from a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPrefix {
    /// The number of tokens.
    pub tokens: u32,
    /// Number of different beginnings; all are equally likely.
    pub groups: u32,
}

/// The words of a text file.
#[derive(Clone, Debug, PartialEq)]
pub struct Corpus {
    /// The file name in the workload.
    pub file: String,
    /// The words, or the reason why the file cannot be read.
    pub words: Result<Arc<[Box<str>]>, String>,
}

impl Corpus {
    /// The words of `text`.
    pub(crate) fn words(text: &str) -> Result<Arc<[Box<str>]>, String> {
        let words: Arc<[Box<str>]> = text.split_whitespace().map(Box::from).collect();
        if words.is_empty() { Err("the file has no words".to_owned()) } else { Ok(words) }
    }
}

/// The key of a prompt: variable, session and draw.
#[derive(Clone, Copy, Debug)]
pub struct PromptKey<'a> {
    /// The seed of the workload.
    pub seed: Seed,
    /// The number of the variable.
    pub variable: u16,
    /// The session.
    pub session: u64,
    /// The number of this random draw within the session: 0 for one prompt per session, otherwise the number of the visit or of the
    /// request, from 0.
    pub draw: u32,
    /// The entry of the replayed trace; `None`: the sessions do not follow one with tokens.
    pub entry: Option<TokenEntry<'a>>,
}

/// Checks a number of words in a token.
pub(crate) fn check_words_per_token(words: f64) -> Result<(), InvalidValue> {
    if words > 0.0 && words.is_finite() { Ok(()) } else { Err(InvalidValue::new("words_per_token must be above zero")) }
}

impl Prompt {
    /// Checks that a prompt can be drawn.
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        check_words_per_token(self.words_per_token)?;
        if self.prefix.is_some_and(|prefix| prefix.groups == 0 || prefix.tokens == 0) {
            return Err(InvalidValue::new("a prefix needs at least one token and one group"));
        }
        Ok(())
    }

    /// The intended number of tokens of a prompt, with its prefix; at least one.
    pub fn tokens(&self, key: PromptKey<'_>) -> u64 {
        self.tokens_without_prefix(key) + self.prefix.map_or(0, |prefix| u64::from(prefix.tokens))
    }

    /// The intended number of tokens without the prefix, for a message after the first of a conversation.
    pub fn tokens_without_prefix(&self, key: PromptKey<'_>) -> u64 {
        self.own_tokens(key).max(u64::from(self.overhead_tokens) + 1)
    }

    /// The number of its tokens that earlier prompts have too, as far as the workload says.
    pub(crate) fn repeated_tokens(&self, key: PromptKey<'_>) -> u32 {
        let of_entry = key.entry.filter(|_| self.tokens == PromptTokens::Trace).map_or(0, |entry| entry.repeated);
        self.prefix.map_or(of_entry, |prefix| prefix.tokens)
    }

    fn own_tokens(&self, key: PromptKey<'_>) -> u64 {
        match &self.tokens {
            PromptTokens::Drawn(draw) => {
                let drawn = draw.text(key.seed, key.variable, key.session, key.draw);
                drawn.parse().map_or(1.0, |tokens: f64| tokens.round()) as u64
            }
            PromptTokens::Trace => key.entry.map_or(1, |entry| {
                let added = if entry.text.is_some() { self.overhead_tokens } else { 0 };
                u64::from(entry.input_tokens(self.words_per_token)) + u64::from(added)
            }),
        }
    }

    /// The text of a prompt.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn text(&self, key: PromptKey<'_>) -> Result<String, String> {
        let mut text = String::new();
        if let Some(SharedPrefix { tokens, groups }) = self.prefix {
            let group = Self::stream(key, 0x8_0000, key.session, key.draw).below(groups.into());
            self.append(&mut text, tokens.into(), &mut Self::stream(key, 0x9_0000, group, u32::MAX))?;
        }
        self.append_own(&mut text, key)?;
        Ok(text)
    }

    /// The text of a prompt without its prefix.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn text_without_prefix(&self, key: PromptKey<'_>) -> Result<String, String> {
        let mut text = String::new();
        self.append_own(&mut text, key)?;
        Ok(text)
    }

    /// Lengths, words, groups and prefixes have streams of their own.
    fn stream(key: PromptKey<'_>, purpose: u64, session: u64, draw: u32) -> Stream {
        data(Seed(key.seed.0 ^ purpose), key.variable, session, draw)
    }

    fn append_own(&self, text: &mut String, key: PromptKey<'_>) -> Result<(), String> {
        let mut own = self.own_tokens(key).saturating_sub(self.overhead_tokens.into()).max(1);
        let entry = key.entry.filter(|_| self.tokens == PromptTokens::Trace).unwrap_or_default();
        if let Some(recorded) = entry.text {
            text.push_str(recorded);
            return Ok(());
        }
        // Equal blocks of a trace have equal words.
        for block in entry.blocks {
            let tokens = own.min(BLOCK_TOKENS.into());
            if tokens > 0 {
                self.append(text, tokens, &mut Self::stream(key, 0xa_0000, u64::from(*block), u32::MAX))?;
            }
            own -= tokens;
        }
        match entry.blocks {
            [] => self.append(text, own, &mut Self::stream(key, 0x7_0000, key.session, key.draw)),
            _ => Ok(()),
        }
    }

    /// Appends the words of this number of tokens: random ones, or consecutive ones of the corpus.
    fn append(&self, text: &mut String, tokens: u64, random: &mut Stream) -> Result<(), String> {
        let words = ((tokens as f64 * self.words_per_token).round() as u64).max(1);
        let corpus = match &self.corpus {
            Some(Corpus { file, words }) => Some(words.as_ref().map_err(|reason| format!("{file}: {reason}"))?),
            None => None,
        };
        let begin = corpus.map_or(0, |corpus| random.below(corpus.len() as u64));
        for nth in 0..words {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(match corpus {
                Some(corpus) => &corpus[((begin + nth) % corpus.len() as u64) as usize],
                None => COMMON[random.below(COMMON.len() as u64) as usize],
            });
        }
        Ok(())
    }
}

/// Common English words that are one token in most vocabularies.
const COMMON: [&str; 186] = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "you",
    "that",
    "it",
    "he",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "his",
    "they",
    "at",
    "be",
    "this",
    "have",
    "from",
    "or",
    "one",
    "had",
    "by",
    "word",
    "but",
    "not",
    "what",
    "all",
    "were",
    "we",
    "when",
    "your",
    "can",
    "said",
    "there",
    "use",
    "an",
    "each",
    "which",
    "she",
    "do",
    "how",
    "their",
    "if",
    "will",
    "up",
    "other",
    "about",
    "out",
    "many",
    "then",
    "them",
    "these",
    "so",
    "some",
    "her",
    "would",
    "make",
    "like",
    "him",
    "into",
    "time",
    "has",
    "look",
    "two",
    "more",
    "write",
    "go",
    "see",
    "number",
    "no",
    "way",
    "could",
    "people",
    "my",
    "than",
    "first",
    "water",
    "been",
    "call",
    "who",
    "its",
    "now",
    "find",
    "long",
    "down",
    "day",
    "did",
    "get",
    "come",
    "made",
    "may",
    "part",
    "over",
    "new",
    "sound",
    "take",
    "only",
    "little",
    "work",
    "know",
    "place",
    "year",
    "live",
    "me",
    "back",
    "give",
    "most",
    "very",
    "after",
    "thing",
    "our",
    "just",
    "name",
    "good",
    "man",
    "think",
    "say",
    "great",
    "where",
    "help",
    "through",
    "much",
    "before",
    "line",
    "right",
    "too",
    "mean",
    "old",
    "any",
    "same",
    "tell",
    "boy",
    "follow",
    "came",
    "want",
    "show",
    "also",
    "around",
    "form",
    "three",
    "small",
    "set",
    "put",
    "end",
    "does",
    "another",
    "well",
    "large",
    "must",
    "big",
    "even",
    "such",
    "because",
    "turn",
    "here",
    "why",
    "ask",
    "went",
    "men",
    "read",
    "need",
    "land",
    "different",
    "home",
    "us",
    "move",
    "try",
    "kind",
    "hand",
    "picture",
    "again",
    "change",
    "off",
    "play",
    "air",
    "away",
    "animal",
    "house",
    "point",
    "page",
    "letter",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use crate::script::Source;

    fn prompt(source: &str) -> Result<Prompt, String> {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\nvariables.prompt = {{ {source} }}\n[[request]]\npost = \"/\"\nbody = '\"{{{{prompt}}}}\"'\n"
        );
        let file = |name: &str| match name {
            "book.txt" => Ok(b"one two\nthree four five".to_vec()),
            _ => Err("no such file".to_owned()),
        };
        let workload = Workload::parse(&text, "w.toml", &file).map_err(|mistake| mistake.to_string())?;
        let again = Workload::parse(&workload.to_string(), "w.toml", &file).unwrap();
        assert_eq!(again.variables(), workload.variables(), "{workload}");
        match &workload.variables()[0].source {
            Source::Prompt(prompt) => Ok(prompt.clone()),
            other => panic!("{other:?}"),
        }
    }

    fn key(session: u64) -> PromptKey<'static> {
        PromptKey { seed: Seed(7), variable: 0, session, draw: 3, entry: None }
    }

    #[test]
    fn a_prompt_has_the_drawn_number_of_tokens() {
        let words = |text: &str| text.split(' ').count() as u64;
        let plain = prompt("prompt = \"lognormal:600,1\"").unwrap();
        let lengths: Vec<u64> = (0..500).map(|session| plain.tokens(key(session))).collect();
        let mean = lengths.iter().sum::<u64>() as f64 / 500.0;
        assert!((500.0..700.0).contains(&mean) && lengths.iter().min() < lengths.iter().max(), "{mean}");
        for session in 0..50 {
            let text = plain.text(key(session)).unwrap();
            assert_eq!(words(&text), plain.tokens(key(session)));
            assert_eq!(text, plain.text(key(session)).unwrap(), "it follows from the seed");
        }
        assert_ne!(plain.text(key(1)), plain.text(key(2)));
        let scaled = prompt("prompt = \"constant:100\", words_per_token = 0.5, overhead_tokens = 20").unwrap();
        assert_eq!((scaled.tokens(key(1)), words(&scaled.text(key(1)).unwrap())), (100, 40));
        let short = prompt("prompt = \"constant:5\", overhead_tokens = 20").unwrap();
        assert_eq!((short.tokens(key(1)), words(&short.text(key(1)).unwrap())), (21, 1));
    }

    #[test]
    fn groups_share_a_prefix() {
        let shared = prompt("prompt = \"constant:10\", prefix = { tokens = 50, groups = 4 }").unwrap();
        let begins: std::collections::BTreeSet<String> = (0..100)
            .map(|session| {
                let text = shared.text(key(session)).unwrap();
                assert_eq!(text.split(' ').count(), 60);
                text.split(' ').take(50).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!((begins.len(), shared.tokens(key(1))), (4, 60));
    }

    #[test]
    fn a_corpus_is_quoted_from_a_random_place_on() {
        let corpus = prompt("prompt = \"constant:4\", corpus = \"book.txt\"").unwrap();
        let texts: std::collections::BTreeSet<String> =
            (0..100).map(|session| corpus.text(key(session)).unwrap()).collect();
        assert!(texts.len() == 5 && texts.contains("four five one two"), "{texts:?}");
        let missing = prompt("prompt = \"constant:4\", corpus = \"none.txt\"").unwrap();
        assert_eq!(missing.text(key(1)), Err("none.txt: no such file".to_owned()));
    }

    #[test]
    fn mistakes_are_reported() {
        for (source, message) in [
            ("prompt = \"constant:4\", words_per_token = 0", "words_per_token"),
            ("prompt = \"constant:4\", prefix = { tokens = 5, groups = 0 }", "at least one token and one group"),
            ("prompt = \"soon:4\"", "is not a distribution of numbers"),
            ("uuid = true, corpus = \"book.txt\"", "needs prompt"),
        ] {
            let mistake = prompt(source).unwrap_err();
            assert!(mistake.contains(message), "{source}: {mistake}");
        }
    }
}
