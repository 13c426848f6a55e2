//! Reads the chunks of an OpenAI-compatible stream (`chat.completion.chunk` and `text_completion`).
//!
//! A stream has a chunk for nearly every token, so a chunk is scanned once, without building a document of it:
//! irrelevant strings and values are skipped.

use memchr::memchr2;
use offered_events::Finish;

/// What one chunk has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunk<'a> {
    /// Whether it has content or a tool call.
    pub(crate) has_answer: bool,
    /// The text, between its quotes in JSON; not that of reasoning.
    pub(crate) text: &'a [u8],
    /// Whether it has reasoning.
    pub(crate) has_reasoning: bool,
    pub(crate) finish: Option<Finish>,
    /// The counts of `usage`.
    pub(crate) tokens_in: Option<u64>,
    pub(crate) tokens_cached: Option<u64>,
    pub(crate) tokens_out: Option<u64>,
    /// The error in it, as JSON.
    pub(crate) error: Option<&'a [u8]>,
}

/// The data are not JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotJson;

impl<'a> Chunk<'a> {
    /// Reads the data of one event.
    ///
    /// # Errors
    /// They are not a JSON object. Values that do not matter are not examined.
    pub(crate) fn parse(data: &'a [u8]) -> Result<Self, NotJson> {
        let (mut chunk, mut json) = (Self::default(), Scanner { bytes: data, at: 0 });
        json.object(|json, key| {
            match key {
                b"choices" => json.array(|json| json.object_or_other(|json, key| chunk.choice(json, key)))?,
                b"usage" => json.object_or_other(|json, key| chunk.usage(json, key))?,
                b"error" => chunk.error = Some(json.value()?).filter(|error| *error != b"null").or(chunk.error),
                // Servers before 2025 sent the error itself as the chunk.
                b"object" if json.value()? == b"\"error\"" => chunk.error = Some(data),
                b"object" => {}
                _ => json.value().map(drop)?,
            }
            Ok(())
        })?;
        if json.peek().is_some() { Err(NotJson) } else { Ok(chunk) }
    }

    fn choice(&mut self, json: &mut Scanner<'a>, key: &[u8]) -> Result<(), NotJson> {
        match key {
            b"delta" => json.object_or_other(|json, key| {
                match key {
                    b"content" => self.content(json.value()?),
                    b"tool_calls" | b"function_call" | b"refusal" => self.has_answer |= has_content(json.value()?),
                    b"reasoning_content" | b"reasoning" => self.has_reasoning |= has_content(json.value()?),
                    _ => json.value().map(drop)?,
                }
                Ok(())
            })?,
            b"text" => self.content(json.value()?),
            b"finish_reason" => {
                if let [b'"', reason @ .., b'"'] = json.value()? {
                    let known = std::str::from_utf8(reason).ok().and_then(Finish::from_name);
                    self.finish = Some(known.unwrap_or(Finish::Other));
                }
            }
            _ => json.value().map(drop)?,
        }
        Ok(())
    }

    fn content(&mut self, value: &'a [u8]) {
        self.has_answer |= has_content(value);
        if let [b'"', text @ .., b'"'] = value {
            self.text = text;
        }
    }

    fn usage(&mut self, json: &mut Scanner<'a>, key: &[u8]) -> Result<(), NotJson> {
        match key {
            b"prompt_tokens" => self.tokens_in = number(json.value()?),
            b"completion_tokens" => self.tokens_out = number(json.value()?),
            b"prompt_tokens_details" => json.object_or_other(|json, key| {
                let value = json.value()?;
                if key == b"cached_tokens" {
                    self.tokens_cached = number(value);
                }
                Ok(())
            })?,
            _ => json.value().map(drop)?,
        }
        Ok(())
    }
}

/// The message of an error in a stream; the error itself if it has none.
pub(crate) fn error_message(error: &[u8]) -> String {
    const MAX_CHARS: usize = 300;
    let json: Option<serde_json::Value> = serde_json::from_slice(error).ok();
    let message = json.as_ref().and_then(|json| json.get("message").unwrap_or(json).as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(error), Into::into);
    text.chars().take(MAX_CHARS).collect()
}

/// Whether a value is a string, a list or a table that is not empty.
fn has_content(value: &[u8]) -> bool {
    match value {
        [b'"', text @ .., b'"'] => !text.is_empty(),
        [b'[' | b'{', members @ .., _] => !members.trim_ascii().is_empty(),
        _ => false,
    }
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// A position in a JSON text.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The next byte that is not white space; `None` at the end.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// Takes this byte, after white space.
    fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.peek() != Some(byte) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Takes a comma, or `close`. Returns whether it was the comma.
    fn goes_on(&mut self, close: u8) -> Result<bool, NotJson> {
        let found = self.peek();
        self.at += 1;
        match found {
            Some(b',') => Ok(true),
            Some(byte) if byte == close => Ok(false),
            _ => Err(NotJson),
        }
    }

    /// Reads an object; `member` reads the value of each key. Keys are as written, with their escapes.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), NotJson>) -> Result<(), NotJson> {
        self.expect(b'{')?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let [b'"', key @ .., b'"'] = self.value()? else { return Err(NotJson) };
            self.expect(b':')?;
            member(self, key)?;
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Takes an object, or skips another value such as `null`.
    fn object_or_other(
        &mut self,
        member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        if self.peek() == Some(b'{') { self.object(member) } else { self.value().map(drop) }
    }

    /// Reads a list with `item` for each element, or skips another value.
    fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), NotJson>) -> Result<(), NotJson> {
        if self.peek() != Some(b'[') {
            return self.value().map(drop);
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// Takes a value of any kind, and returns it as written.
    fn value(&mut self) -> Result<&'a [u8], NotJson> {
        let first = self.peek().ok_or(NotJson)?;
        let begin = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => {
                let mut depth = 0usize;
                loop {
                    match self.bytes.get(self.at).ok_or(NotJson)? {
                        b'"' => {
                            self.string()?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if depth == 0 {
                        break;
                    }
                }
            }
            _ => {
                let is_scalar = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                let length = self.bytes[begin..].iter().position(|byte| !is_scalar(byte));
                self.at = length.map_or(self.bytes.len(), |length| begin + length);
                if self.at == begin {
                    return Err(NotJson);
                }
            }
        }
        Ok(&self.bytes[begin..self.at])
    }

    /// Takes a string, at its opening quote.
    fn string(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).ok_or(NotJson)?;
            self.at += memchr2(b'"', b'\\', rest).ok_or(NotJson)?;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.at += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The same from a whole document.
    fn by_document(document: &Value) -> (bool, bool, Option<Finish>, [Option<u64>; 3], bool) {
        let full = |value: &Value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => false,
        };
        let choices = document["choices"].as_array().cloned().unwrap_or_default();
        let any = |keys: &[&str]| choices.iter().any(|choice| keys.iter().any(|key| full(&choice["delta"][key])));
        let finish = choices.iter().rev().find_map(|choice| choice["finish_reason"].as_str());
        let usage = &document["usage"];
        let counts =
            [&usage["prompt_tokens"], &usage["prompt_tokens_details"]["cached_tokens"], &usage["completion_tokens"]];
        (
            any(&["content", "tool_calls"]) || choices.iter().any(|choice| full(&choice["text"])),
            any(&["reasoning", "reasoning_content"]),
            finish.map(|finish| Finish::from_name(finish).unwrap_or(Finish::Other)),
            counts.map(Value::as_u64),
            !document["error"].is_null(),
        )
    }

    fn scanned(text: &str) -> (bool, bool, Option<Finish>, [Option<u64>; 3], bool) {
        let chunk = Chunk::parse(text.as_bytes()).unwrap_or_else(|NotJson| panic!("{text}"));
        let counts = [chunk.tokens_in, chunk.tokens_cached, chunk.tokens_out];
        (chunk.has_answer, chunk.has_reasoning, chunk.finish, counts, chunk.error.is_some())
    }

    #[test]
    fn chunks_of_real_servers() {
        // vLLM, SGLang, llama.cpp, TGI, and a completion.
        for text in [
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
            r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m","choices":[{"index":0,"delta":{"content":" the \"{\\"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":null}"#,
            r#"{"id":"1","choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":"Hm","tool_calls":null},"finish_reason":null,"matched_stop":null}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#,
            r#"{"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1,"id":"x","timings":{"prompt_n":1,"predicted_ms":1.5e3}}"#,
            r#"{"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" a","logprobs":null,"finish_reason":"stop","stop_reason":null}]}"#,
            r#"{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":20,"total_tokens":84,"completion_tokens":64,"prompt_tokens_details":{"cached_tokens":16}}}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            r#" { "choices" : [ { "delta" : { "content" : "x" , "tool_calls" : [ ] } , "finish_reason" : "eos_token" } , {} ] } "#,
            r#"{"error":{"message":"out of memory","type":"InternalServerError","code":500}}"#,
            r#"{"error":null,"choices":null}"#,
            "{}",
        ] {
            assert_eq!(scanned(text), by_document(&serde_json::from_str(text).unwrap()), "{text}");
        }
        let error = r#"{"object":"error","message":"too long","code":400}"#;
        assert_eq!(Chunk::parse(error.as_bytes()).unwrap().error.map(error_message).as_deref(), Some("too long"));
        assert_eq!(error_message(br#"{"message":"out of memory","code":500}"#), "out of memory");
        assert_eq!(
            (error_message(b"\"no\""), error_message(b"{\"code\":1}")),
            ("no".to_owned(), "{\"code\":1}".to_owned())
        );
    }

    #[test]
    fn other_data_are_not_chunks() {
        for text in [
            "",
            "[DONE]",
            "null",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":\"x",
            "{\"a\":\"\\",
            "{a:1}",
            "{} x",
            "{\"choices\":[{]}",
        ] {
            assert_eq!(Chunk::parse(text.as_bytes()), Err(NotJson), "{text}");
        }
    }

    /// A JSON value with keys and texts that matter.
    fn any_json() -> impl Strategy<Value = Value> {
        let key = || prop_oneof!["[a-z\"\\\\{}\\[\\]:,ä]{0,6}", Just("content".to_owned()), Just("error".to_owned())];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            key().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 30, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map(key(), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_chunk_is_read_as_from_a_document(
            delta in proptest::collection::hash_map(
                prop_oneof!["content", "reasoning", "tool_calls", "role", "x\"y"], any_json(), 0..4),
            text: Option<String>, finish in any_json(), usage in any_json(), count: u64, other in any_json(), pretty: bool,
        ) {
            let delta = Value::Object(delta.into_iter().collect());
            let choice = json!({ "x": other, "delta": delta, "text": text, "finish_reason": finish });
            let usage = if count % 3 == 0 { usage } else { json!({ "prompt_tokens": count, "y": usage, "completion_tokens": 7 }) };
            let document = json!({ "id": other, "choices": [choice], "usage": usage });
            let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
            prop_assert_eq!(scanned(&text.unwrap()), by_document(&document));
        }

        #[test]
        fn garbage_never_panics(bytes: Vec<u8>, text in "[{}\\[\\]\":,\\\\a ]{0,40}") {
            let _ = Chunk::parse(&bytes);
            let _ = Chunk::parse(text.as_bytes());
        }
    }
}
