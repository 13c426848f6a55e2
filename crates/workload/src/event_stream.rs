//! Streamed responses, as a request expects them.

use offered_base::{InvalidValue, Nanos};

use crate::{Call, Request};

/// The stream in the response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStream {
    /// The format of its events.
    pub format: StreamFormat,
    /// Format `sse`: the data of the last event.
    pub end: Option<String>,
    /// Format `sse`: a regular expression that finds the last event by its data.
    pub awaited: Option<String>,
    /// Format `sse`: number of events after which the client ends the stream; at least one.
    pub count: Option<u32>,
    /// Format `sse`: duration after which the client ends the stream; above zero.
    pub listen: Option<Nanos>,
    /// Format `openai`: minimum number of output tokens.
    pub min_tokens: Option<u32>,
}

offered_base::named! {
    /// The format of a streamed response.
    pub enum StreamFormat {
        /// Server-sent events (WHATWG HTML, section 9.2).
        Sse = "sse",
        /// Server-sent events with the chunks of an OpenAI-compatible API for language models.
        OpenAi = "openai",
    }
}

impl EventStream {
    /// A stream of this format that ends with its response.
    pub fn new(format: StreamFormat) -> Self {
        Self { format, end: None, awaited: None, count: None, listen: None, min_tokens: None }
    }

    /// Checks that the stream goes with its format and with `request`.
    pub(crate) fn check(&self, request: &Request) -> Result<(), InvalidValue> {
        let of_sse = self.end.is_some() || self.awaited.is_some() || self.count.is_some() || self.listen.is_some();
        match self.format {
            _ if request.call != Call::Http || request.method == "HEAD" => {
                Err(InvalidValue::new("`stream` needs an HTTP request with a response body"))
            }
            StreamFormat::OpenAi if of_sse => {
                Err(InvalidValue::new("stream keys end, await, count and listen need format = \"sse\""))
            }
            StreamFormat::Sse if self.min_tokens.is_some() => {
                Err(InvalidValue::new("stream.min_tokens needs format = \"openai\""))
            }
            _ if self.count == Some(0) || self.listen == Some(Nanos::ZERO) => {
                Err(InvalidValue::new("stream.count and stream.listen must be above zero"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Workload;

    fn parse(request: &str) -> Result<Workload, String> {
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[[request]]\n{request}\n");
        Workload::parse(&text, "w.toml", &|_| Err(String::new())).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn goodput_is_read_written_and_checked() {
        let stream = "post = \"/v1\"\nstream = \"openai\"\n";
        let goodput = "[goodput]\nttft = \"500ms\"\ntpot = \"50ms\"\nresponse = \"20s\"\n";
        let thresholds = "[thresholds]\n\"goodput.share\" = \"> 95%\"\n\"ttft.p95\" = \"< 1s\"\n";
        let workload = parse(&format!("{stream}{goodput}{thresholds}")).unwrap();
        assert!(workload.to_string().contains(goodput), "{workload}");
        for (text, message) in [
            (format!("get = \"/\"\n{goodput}{thresholds}"), "no response is a stream, so there is no ttft.p95"),
            (format!("{stream}[goodput]\n"), "ttft"),
        ] {
            let mistake = parse(&text).unwrap_err();
            assert!(mistake.contains(message), "{text}: {mistake}");
        }
    }

    #[test]
    fn streams_are_read_written_and_checked() {
        for stream in [
            "stream = \"openai\"",
            "stream = { format = \"openai\", min_tokens = 5 }",
            "stream = { format = \"sse\", end = \"[DONE]\", await = \"a.c\", count = 3, listen = \"5s\" }",
        ] {
            let workload = parse(&format!("post = \"/v1\"\n{stream}")).unwrap();
            let written = workload.to_string();
            assert!(workload.is_scripted() && written.contains(stream), "{written}");
            let again = Workload::parse(&written, "w.toml", &|_| Err(String::new())).unwrap();
            assert_eq!(again.requests(), workload.requests());
        }
        for (request, message) in [
            ("get = \"/\"\nstream = \"openapi\"", "`openapi` is not one of sse, openai (did you mean `openai`?)"),
            ("get = \"/\"\nstream = { count = 1 }", "`format`"),
            ("get = \"/\"\nstream = { format = \"sse\", count = 0 }", "must be above zero"),
            ("get = \"/\"\nstream = { format = \"sse\", min_tokens = 1 }", "needs format = \"openai\""),
            ("get = \"/\"\nstream = { format = \"openai\", end = \"x\" }", "need format = \"sse\""),
            ("head = \"/\"\nstream = \"sse\"", "needs an HTTP request with a response body"),
            ("grpc = \"a.B/C\"\nstream = \"sse\"", "needs an HTTP request with a response body"),
        ] {
            let mistake = parse(request).unwrap_err();
            assert!(mistake.contains(message), "{request}: {mistake}");
        }
    }
}
