//! The workload that the flags describe.

use offered_base::Rate;
use offered_distributions::Distribution;
use offered_workload::Url;
use serde_json::{Value, json};
use toml_edit::{InlineTable, value};

use super::Args;
use crate::failure::Failure;

/// A response may wait long in the queue of a server.
const RESPONSE_TIMEOUT: &str = "10m";
/// A model name that no server has.
const UNKNOWN_MODEL: &str = "model";

/// How the server counts the words of a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    pub(super) words_per_token: f64,
    pub(super) overhead_tokens: u32,
}

impl Default for Lengths {
    /// A word is a token, and the server adds none.
    fn default() -> Self {
        Self { words_per_token: 1.0, overhead_tokens: 0 }
    }
}

impl Lengths {
    /// As a message.
    pub(super) fn text(&self) -> String {
        format!("{:.3} words per token, {} tokens added to each prompt", self.words_per_token, self.overhead_tokens)
    }
}

/// A workload in progress.
pub(super) struct Draft<'a> {
    args: &'a Args,
    /// Scheme and host, without a path.
    origin: String,
    /// The path of the API, such as `/v1`.
    base: String,
    pub(super) model: String,
    pub(super) lengths: Lengths,
    /// The distributions of the tokens of prompts and responses.
    input: String,
    output: String,
    prefix: Option<(u32, u32)>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(args: &'a Args, url: &Url) -> Result<Self, Failure> {
        let path = url.path.trim_end_matches('/');
        let wrong = || Failure::input("--prefix: write the number of tokens and of groups, such as 1000,8");
        let prefix = args.prefix.as_deref().map(|text| {
            let (tokens, groups) = text.split_once(',').unwrap_or((text, "1"));
            Ok::<_, Failure>((tokens.trim().parse().map_err(|_| wrong())?, groups.trim().parse().map_err(|_| wrong())?))
        });
        Ok(Self {
            args,
            origin: Url { path: "/".to_owned(), ..url.clone() }.to_string(),
            base: if path.is_empty() { "/v1".to_owned() } else { path.to_owned() },
            model: args.model.clone().unwrap_or_else(|| UNKNOWN_MODEL.to_owned()),
            lengths: Lengths::default(),
            input: distribution(&args.input),
            output: distribution(&args.output),
            prefix: prefix.transpose()?,
        })
    }

    /// The workload as text.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let Args { rate, closed, burstiness, duration, skip_first, .. } = self.args;
        let mut top = format!("duration = \"{duration}\"\n");
        if let Some(time) = skip_first {
            top += &format!("skip_first = \"{time}\"\n");
        }
        let arrivals = match (rate, closed) {
            (Some(rate), _) => open(*rate, *burstiness, self.args.turns, &self.args.think)?,
            (None, users) => format!("closed = {{ users = {} }}", users.unwrap_or(1)),
        };
        let limits = [("ttft", self.args.ttft), ("tpot", self.args.tpot), ("response", self.args.response)];
        let limits: String =
            limits.iter().filter_map(|(name, limit)| Some(format!("{name} = \"{}\"\n", (*limit)?))).collect();
        let goodput = if limits.is_empty() { limits } else { format!("\n[goodput]\n{limits}") };
        Ok(format!(
            "{top}\n[arrivals]\n{arrivals}\n{}{goodput}",
            self.requests(&self.input, &self.output, self.args.turns.is_some())
        ))
    }

    /// The workload of a pilot: `sessions` users who send one request each, with these lengths.
    pub(super) fn pilot(&self, input: &str, output: &str) -> String {
        format!("duration = \"1s\"\n\n[arrivals]\nclosed = {{ users = 1 }}\n{}", self.requests(input, output, false))
    }

    /// The workload that asks for the models.
    pub(super) fn models(&self) -> String {
        let request = format!("\n[[request]]\nget = {}\n", value(format!("{}/models", self.base)));
        format!("duration = \"1s\"\n\n[arrivals]\nclosed = {{ users = 1 }}\n{}{request}", self.target())
    }

    /// `[target]`, and the variable of its credentials.
    fn target(&self) -> String {
        let mut text =
            format!("\n[target]\nurl = {}\nresponse_timeout = \"{RESPONSE_TIMEOUT}\"\n", value(&self.origin));
        if let Some(name) = &self.args.api_key_env {
            text +=
                &format!("auth = {{ bearer = \"{{{{api_key}}}}\" }}\n\n[variables.api_key]\nenv = {}\n", value(name));
        }
        text
    }

    /// Target, variables and request.
    fn requests(&self, input: &str, output: &str, is_conversation: bool) -> String {
        let mut prompt = InlineTable::from_iter([("prompt", input)]);
        if let Some((tokens, groups)) = self.prefix {
            let prefix = [("tokens", i64::from(tokens)), ("groups", i64::from(groups))];
            prompt.insert("prefix", InlineTable::from_iter(prefix).into());
        }
        if let Some(file) = &self.args.corpus {
            prompt.insert("corpus", file.into());
        }
        if self.lengths != Lengths::default() {
            prompt.insert("words_per_token", self.lengths.words_per_token.into());
            prompt.insert("overhead_tokens", i64::from(self.lengths.overhead_tokens).into());
        }
        let path = format!("{}/{}", self.base, if self.args.completions { "completions" } else { "chat/completions" });
        let mut text = self.target();
        text += &format!("\n[variables]\nprompt = {}\n", value(prompt));
        if is_conversation {
            text += "messages = { conversation = \"prompt\" }\n";
        }
        text += &format!("answer = {{ random = {}, per = \"request\" }}\n", value(output));
        text +=
            &format!("\n[[request]]\nname = {}\n", value(path.rsplit_once("/v1/").map_or(&*path, |(_, name)| name)));
        text += &format!("post = {}\nheaders = {{ Content-Type = \"application/json\" }}\n", value(path));
        text + &format!("body = {}\nstream = \"openai\"\n", value(self.body(is_conversation)))
    }

    /// The body, with placeholders for prompt and length.
    fn body(&self, is_conversation: bool) -> String {
        const ANSWER: &str = "\"{{answer}}\"";
        const MESSAGES: &str = "\"{{messages}}\"";
        let mut body = json!({ "model": self.model });
        if self.args.completions {
            body["prompt"] = "{{prompt}}".into();
        } else if is_conversation {
            body["messages"] = "{{messages}}".into();
        } else {
            body["messages"] = json!([{ "role": "user", "content": "{{prompt}}" }]);
        }
        body["max_tokens"] = "{{answer}}".into();
        if !self.args.stop_at_eos {
            body["ignore_eos"] = Value::Bool(true);
        }
        body["stream"] = Value::Bool(true);
        body["stream_options"] = json!({ "include_usage": true });
        // The length is a number, and the messages are a list.
        let text = body.to_string().replace(ANSWER, ANSWER.trim_matches('"'));
        text.replace(MESSAGES, MESSAGES.trim_matches('"'))
    }
}

/// Open arrivals of requests; with `turns`, of conversations with this mean number of requests.
fn open(rate: Rate, burstiness: Option<f64>, turns: Option<f64>, think: &str) -> Result<String, Failure> {
    let process = match burstiness {
        None => String::new(),
        Some(shape) if shape > 0.0 && shape.is_finite() => {
            // The CoV of gamma-distributed gaps is one over the root of their shape.
            format!(", process = {{ gamma = {} }}", value(1.0 / shape.sqrt()))
        }
        Some(_) => return Err(Failure::input("--burstiness must be above zero; 1 is Poisson")),
    };
    let Some(turns) = turns else { return Ok(format!("open = {{ rate = \"{rate}\"{process} }}")) };
    if !(turns >= 1.0 && turns.is_finite()) {
        return Err(Failure::input("--turns must be at least 1"));
    }
    let sessions = Rate::from_per_sec(rate.per_sec() / turns)?;
    let think: Distribution = think.parse()?;
    let stay = value(1.0 - 1.0 / turns);
    Ok(format!("partly_open = {{ rate = \"{sessions}\"{process}, stay = {stay}, think = {think} }}"))
}

/// A distribution of numbers; a plain number is constant.
fn distribution(text: &str) -> String {
    if text.contains(':') { text.to_owned() } else { format!("constant:{text}") }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use offered_workload::Workload;
    use offered_workload::script::Body;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn workload(flags: &str) -> Result<Workload, String> {
        let line = ["llm", "http://h:8000"].into_iter().chain(flags.split_whitespace());
        let args = Line::try_parse_from(line).map_err(|error| error.to_string())?.args;
        let draft = Draft::new(&args, &args.url.parse().unwrap()).map_err(|failure| failure.message().to_owned())?;
        let text = draft.text().map_err(|failure| failure.message().to_owned())?;
        for text in [draft.models(), draft.pilot("uniform:1..9", "constant:1")] {
            Workload::parse(&text, "pilot.toml", &|_| Ok(b"a b".to_vec()))
                .unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
        }
        Workload::parse(&text, "llm.toml", &|_| Ok(b"a b".to_vec())).map_err(|mistake| format!("{mistake}\n{text}"))
    }

    /// The body of its request.
    fn body(workload: &Workload) -> String {
        match workload.requests()[0].body() {
            Body::Text(text) => text.written().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_flag_is_in_the_workload() {
        let whole = "--rate 5/s --burstiness 0.25 --input lognormal:600,1 --output 30 --prefix 1000,8 --corpus a.txt --model a/b \
                     --api-key-env PATH --ttft 500ms --response 20s --duration 9s --skip-first 1s";
        let whole = workload(whole).unwrap();
        let text = whole.to_string();
        for part in [
            "duration = \"9s\"",
            "skip_first = \"1s\"",
            "scv = 4",
            "prompt = \"lognormal:600,1\", prefix = { tokens = 1000, groups = 8 }, corpus = \"a.txt\"",
            "random = \"constant:30\"",
            "url = \"http://h:8000/\"",
            "bearer",
            "name = \"chat/completions\"\npost = \"/v1/chat/completions\"",
            "stream = \"openai\"",
            "[goodput]\nttft = \"500ms\"\nresponse = \"20s\"",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        for part in
            ["\"model\":\"a/b\"", "\"content\":\"{{prompt}}\"", "\"max_tokens\":{{answer}}", "\"ignore_eos\":true"]
        {
            assert!(body(&whole).contains(part), "{part}: {}", body(&whole));
        }
        let talk = workload("--rate 8/s --turns 4 --think constant:2s --input 50").unwrap();
        for part in ["partly_open", "rate = \"2/s\"", "stay = 0.75", "conversation = \"prompt\""] {
            assert!(talk.to_string().contains(part), "{part}\n{talk}");
        }
        assert!(self::body(&talk).contains("\"messages\":{{messages}},"), "{}", self::body(&talk));
        let plain = workload("--closed 3 --completions --stop-at-eos").unwrap();
        assert!(plain.to_string().contains("users = 3") && plain.goodput().is_none(), "{plain}");
        let body = body(&plain);
        assert!(body.contains("\"prompt\":\"{{prompt}}\"") && !body.contains("ignore_eos"), "{body}");
        for (flags, message) in [
            ("", "--rate"),
            ("--rate 5/s --prefix x", "1000,8"),
            ("--rate 5/s --turns 0.5", "at least 1"),
            ("--rate 5/s --turns 2 --completions", "cannot be used with"),
            ("--rate 5/s --burstiness 0", "above zero"),
            ("--closed 3 --burstiness 0.5", "cannot be used with"),
            ("--rate 5/s --input soon:5", "not a distribution of numbers"),
        ] {
            assert!(workload(flags).unwrap_err().contains(message), "{flags}");
        }
    }

    #[test]
    fn a_plain_number_is_a_constant_length() {
        assert_eq!(
            (distribution("600"), distribution("exponential:5")),
            ("constant:600".into(), "exponential:5".into())
        );
    }
}
