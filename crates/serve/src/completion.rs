//! The API of an engine: completions as OpenAI's servers stream them.
//!
//! A word is a token, in prompts and in responses. A response has exactly `max_tokens` tokens.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use offered_workload::engine::{Engine, TokenCounts};
use serde_json::Value;

/// Largest body of a request, in bytes.
pub(crate) const MAX_BODY: usize = 16 << 20;
/// Tokens of a response without `max_tokens`, as in OpenAI's API.
const USUAL_OUTPUT: u32 = 16;
/// The word of which responses consist.
const WORD: &str = "the";
/// The model that the server lists.
pub(crate) const MODELS: &str =
    "{\"object\":\"list\",\"data\":[{\"id\":\"offered\",\"object\":\"model\",\"owned_by\":\"offered\"}]}\n";

/// A request for a completion, and its response.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Completion {
    is_chat: bool,
    /// The body as far as it was received.
    pub(crate) body: Vec<u8>,
    id: u64,
    model: String,
    pub(crate) is_streamed: bool,
    with_usage: bool,
    counts: TokenCounts,
    cached: u32,
    /// A hash of each word of prompt and response, if there is a cache.
    pub(crate) words: Vec<u64>,
}

impl Completion {
    /// A request for a completion of a chat or of a text, before its body.
    pub(crate) fn new(is_chat: bool) -> Self {
        Self { is_chat, ..Self::default() }
    }

    /// Reads the body, as request number `id`. Returns the tokens.
    ///
    /// # Errors
    /// What is wrong with the body, in a line.
    pub(crate) fn read(&mut self, id: u64, engine: Engine, cache: &PrefixCache) -> Result<TokenCounts, String> {
        let body: Value =
            serde_json::from_slice(&std::mem::take(&mut self.body)).map_err(|why| format!("not JSON: {why}"))?;
        let names = ["max_completion_tokens", "max_tokens"];
        let output = match names.iter().find_map(|name| body.get(*name).filter(|value| !value.is_null())) {
            None => USUAL_OUTPUT,
            Some(number) => number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("max_tokens must be a whole number of at least 1, not {number}"))?,
        };
        let hashes = engine.prefix_cache;
        let mut prompt = Words { count: 0, hashes: hashes.then(Vec::new) };
        match self.is_chat {
            true => {
                let messages = body["messages"].as_array().ok_or("`messages` must be a list")?;
                for message in messages {
                    prompt.add(&message["content"]);
                }
            }
            false => prompt.add(&body["prompt"]),
        }
        self.id = id;
        body["model"].as_str().unwrap_or("offered").clone_into(&mut self.model);
        self.is_streamed = body["stream"] == true;
        self.with_usage = body["stream_options"]["include_usage"] == true;
        self.words = prompt.hashes.unwrap_or_default();
        self.counts = TokenCounts { prompt: prompt.count, repeated: cache.repeated(&self.words), output };
        self.cached = engine.cached(self.counts);
        if engine.prefix_cache {
            self.words.extend(std::iter::repeat_n(hash(WORD), output as usize));
        }
        Ok(self.counts)
    }

    /// Number of tokens of the response.
    pub(crate) fn output(&self) -> u32 {
        self.counts.output
    }

    /// Writes the event of token number `token`, from 0.
    pub(crate) fn write_token(&self, token: u32, is_chunked: bool, out: &mut Vec<u8>) {
        let finish = if token + 1 == self.counts.output { "\"length\"" } else { "null" };
        let content = match (self.is_chat, token) {
            (true, 0) => format!("\"delta\":{{\"role\":\"assistant\",\"content\":\"{WORD}\"}}"),
            (true, _) => format!("\"delta\":{{\"content\":\" {WORD}\"}}"),
            (false, _) => format!("\"text\":\" {WORD}\""),
        };
        let choice = format!("[{{\"index\":0,{content},\"finish_reason\":{finish}}}]");
        Self::write_event(&format!("{}{choice}}}", self.start(true)), is_chunked, out);
    }

    /// Writes the events after the last token.
    pub(crate) fn write_end(&self, is_chunked: bool, out: &mut Vec<u8>) {
        if self.with_usage {
            Self::write_event(&format!("{}[],\"usage\":{}}}", self.start(true), self.usage()), is_chunked, out);
        }
        Self::write_event("[DONE]", is_chunked, out);
    }

    /// The whole response, in one JSON document.
    pub(crate) fn whole(&self) -> String {
        let text = vec![WORD; self.counts.output as usize].join(" ");
        let content = match self.is_chat {
            true => format!("\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}}"),
            false => format!("\"text\":\"{text}\""),
        };
        let choice = format!("[{{\"index\":0,{content},\"finish_reason\":\"length\"}}]");
        format!("{}{choice},\"usage\":{}}}\n", self.start(false), self.usage())
    }

    /// The beginning of a document, up to its choices.
    fn start(&self, is_chunk: bool) -> String {
        let (prefix, object) = match (self.is_chat, is_chunk) {
            (true, true) => ("chatcmpl", "chat.completion.chunk"),
            (true, false) => ("chatcmpl", "chat.completion"),
            (false, _) => ("cmpl", "text_completion"),
        };
        let model = Value::from(self.model.as_str());
        format!(
            "{{\"id\":\"{prefix}-{}\",\"object\":\"{object}\",\"created\":0,\"model\":{model},\"choices\":",
            self.id
        )
    }

    fn usage(&self) -> String {
        let (TokenCounts { prompt, output, .. }, cached) = (self.counts, self.cached);
        let total = u64::from(prompt) + u64::from(output);
        format!(
            "{{\"prompt_tokens\":{prompt},\"completion_tokens\":{output},\"total_tokens\":{total},\"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}"
        )
    }

    fn write_event(data: &str, is_chunked: bool, out: &mut Vec<u8>) {
        let event = format!("data: {data}\n\n");
        if is_chunked {
            // A chunk for each event, as servers send them.
            let _ = write!(out, "{:x}\r\n{event}\r\n", event.len());
        } else {
            out.extend_from_slice(event.as_bytes());
        }
    }
}

/// The words of a prompt.
struct Words {
    count: u32,
    /// A hash of each word, if the hashes are needed.
    hashes: Option<Vec<u64>>,
}

impl Words {
    /// Adds the words of a text, of a list of parts, or of a list of token numbers.
    fn add(&mut self, content: &Value) {
        match content {
            Value::String(text) => {
                for word in text.split_ascii_whitespace() {
                    self.count += 1;
                    if let Some(hashes) = &mut self.hashes {
                        hashes.push(hash(word));
                    }
                }
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.add(part)),
            Value::Object(part) => part.get("text").into_iter().for_each(|text| self.add(text)),
            Value::Number(token) => {
                self.count += 1;
                if let Some(hashes) = &mut self.hashes {
                    hashes.push(hash(&token.to_string()));
                }
            }
            _ => {}
        }
    }
}

fn hash(value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The beginnings of prompts and responses that were seen, in blocks of [`Engine::BLOCK`] words.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache(HashSet<u64>);

impl PrefixCache {
    /// Maximum number of blocks, 16 million tokens; a full cache is emptied.
    const MAX_BLOCKS: usize = 1 << 20;

    /// One number for each whole block: a hash of the block and all earlier blocks.
    fn blocks(words: &[u64]) -> impl Iterator<Item = u64> {
        let mut before = 0;
        words.chunks_exact(Engine::BLOCK as usize).map(move |block| {
            let mut hasher = DefaultHasher::new();
            (before, block).hash(&mut hasher);
            before = hasher.finish();
            before
        })
    }

    /// Number of words at the beginning that were seen before.
    fn repeated(&self, words: &[u64]) -> u32 {
        Self::blocks(words).take_while(|block| self.0.contains(block)).count() as u32 * Engine::BLOCK
    }

    /// Adds a prompt with its response.
    pub(crate) fn add(&mut self, words: &[u64]) {
        if self.0.len() >= Self::MAX_BLOCKS {
            self.0.clear();
        }
        self.0.extend(Self::blocks(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine { prefix_cache: true, ..("8ms,1ms,4".parse().unwrap()) }
    }

    fn read(is_chat: bool, body: &str, cache: &PrefixCache) -> Result<(Completion, TokenCounts), String> {
        let mut completion = Completion { is_chat, body: body.into(), ..Completion::default() };
        let counts = completion.read(7, engine(), cache)?;
        Ok((completion, counts))
    }

    #[test]
    fn a_word_is_a_token() {
        let cache = PrefixCache::default();
        let chat = r#"{"messages": [{"role": "system", "content": "a b"}, {"content": [{"type": "text", "text": "c d e"}]}], "max_tokens": 9}"#;
        let counts = |prompt, output| TokenCounts { prompt, repeated: 0, output };
        assert_eq!(read(true, chat, &cache).unwrap().1, counts(5, 9));
        assert_eq!(read(false, r#"{"prompt": "a  b"}"#, &cache).unwrap().1, counts(2, USUAL_OUTPUT));
        assert_eq!(
            read(false, r#"{"prompt": [1, 2, 3], "max_completion_tokens": 1}"#, &cache).unwrap().1,
            counts(3, 1)
        );
        for (body, message) in [
            ("{", "not JSON"),
            (r#"{"messages": []  , "max_tokens": 0}"#, "at least 1, not 0"),
            (r#"{"messages": [], "max_tokens": "x"}"#, "at least 1, not \"x\""),
            (r#"{"prompt": "a"}"#, "`messages` must be a list"),
        ] {
            let mistake = read(true, body, &cache).unwrap_err();
            assert!(mistake.contains(message), "{body}: {mistake}");
        }
    }

    #[test]
    fn the_next_turn_of_a_conversation_is_in_the_cache() {
        let mut cache = PrefixCache::default();
        let question = vec!["why"; 20].join(" ");
        let ask = |text: &str| format!(r#"{{"prompt": "{text}", "max_tokens": 30}}"#);
        let (first, counts) = read(false, &ask(&question), &cache).unwrap();
        assert_eq!(counts.repeated, 0);
        let whole: Value = serde_json::from_str(&first.whole()).unwrap();
        cache.add(&first.words);
        let next = format!("{question} {} how so", whole["choices"][0]["text"].as_str().unwrap());
        // 52 words, of which 50 were seen: three whole blocks of 16.
        let (_, counts) = read(false, &ask(&next), &cache).unwrap();
        assert_eq!((counts.prompt, counts.repeated), (52, 48));
        assert_eq!(read(false, &ask("how so"), &cache).unwrap().1.repeated, 0);
    }

    #[test]
    fn events_are_json_with_usage_at_the_end() {
        let body = r#"{"messages": [{"content": "a b"}], "max_tokens": 2, "model": "m\"", "stream": true, "stream_options": {"include_usage": true}}"#;
        let (completion, _) = read(true, body, &PrefixCache::default()).unwrap();
        let mut out = Vec::new();
        (0..2).for_each(|token| completion.write_token(token, false, &mut out));
        completion.write_end(false, &mut out);
        let text = String::from_utf8(out).unwrap();
        let events: Vec<&str> =
            text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap()).collect();
        let [one, two, usage, "[DONE]"] = events[..] else { panic!("{events:?}") };
        let [one, two, usage]: [Value; 3] = [one, two, usage].map(|event| serde_json::from_str(event).unwrap());
        assert_eq!(
            (&one["choices"][0]["delta"]["role"], &one["model"]),
            (&Value::from("assistant"), &Value::from("m\""))
        );
        assert_eq!(
            (&one["choices"][0]["finish_reason"], &two["choices"][0]["finish_reason"]),
            (&Value::Null, &Value::from("length"))
        );
        assert_eq!((&usage["usage"]["prompt_tokens"], &usage["usage"]["total_tokens"]), (&2.into(), &4.into()));
        let mut chunked = Vec::new();
        completion.write_end(true, &mut chunked);
        assert!(String::from_utf8(chunked).unwrap().ends_with("\r\ne\r\ndata: [DONE]\n\n\r\n"));
    }
}
