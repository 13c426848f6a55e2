//! The workload that the flags describe.

use offered_base::{Nanos, Rate, count};
use offered_distributions::Distribution;
use offered_workload::{Url, token_trace};
use serde_json::{Value, json};
use toml_edit::{Array, InlineTable, value};

use super::Args;
use crate::failure::Failure;
use crate::input_file;

/// A response may wait long in the queue of a server.
const RESPONSE_TIMEOUT: &str = "10m";
/// From a response to the next request of a conversation.
const THINK: &str = "exponential:10s";
/// A model name that no server has.
const UNKNOWN_MODEL: &str = "model";

/// How the server counts the words of a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lengths {
    pub(super) words_per_token: f64,
    pub(super) overhead_tokens: u32,
}

impl Default for Lengths {
    /// One token per word, and no tokens added by the server.
    fn default() -> Self {
        Self { words_per_token: 1.0, overhead_tokens: 0 }
    }
}

impl Lengths {
    /// As a message.
    pub(super) fn text(&self) -> String {
        format!(
            "{:.3} words per token; the server adds {} tokens to each prompt",
            self.words_per_token, self.overhead_tokens
        )
    }
}

/// A trace that is replayed.
pub(super) struct Trace {
    file: String,
    requests: usize,
    sessions: usize,
    /// Whether the trace contains conversations, which have texts and no times.
    has_texts: bool,
    /// The time of the last request.
    length: Nanos,
}

impl Trace {
    fn read(file: &str) -> Result<Self, Failure> {
        let bytes = input_file::beside(None)(file)
            .map_err(|why| Failure::input(format!("--trace: cannot read {file}: {why}")))?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::input(format!("--trace: {file} is not a text (UTF-8)")))?;
        let unknown =
            || Failure::input(format!("--trace: {file} is not a trace of tokens; expected {}", token_trace::FORMATS));
        let trace = token_trace::parse(&text, file).ok_or_else(unknown)??;
        let (requests, sessions, has_texts) = (trace.len(), trace.sessions(), trace.has_texts());
        Ok(Self { file: file.to_owned(), requests, sessions, has_texts, length: trace.length() })
    }

    /// What it has, as a message.
    pub(super) fn about(&self) -> String {
        let requests = count(self.requests as u64);
        match self.has_texts {
            true => format!("{}: {requests} prompts in {} conversations", self.file, count(self.sessions as u64)),
            false => format!("{}: {requests} requests in {}", self.file, self.length),
        }
    }

    /// Requests of a conversation.
    fn mean_turns(&self) -> f64 {
        self.requests as f64 / self.sessions as f64
    }
}

/// A workload in progress.
pub(super) struct Draft<'a> {
    args: &'a Args,
    pub(super) trace: Option<Trace>,
    /// Scheme and host, without a path.
    origin: String,
    /// The path of the API, such as `/v1`.
    base: String,
    pub(super) model: String,
    pub(super) lengths: Lengths,
    /// The distributions of the numbers of tokens in prompts and responses.
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
        let trace = args.trace.as_ref().map(|file| Trace::read(&file.display().to_string())).transpose()?;
        let has_texts = trace.as_ref().is_some_and(|trace| trace.has_texts);
        if has_texts && args.corpus.is_some() {
            return Err(Failure::input("the prompts of this trace have their own texts; remove --corpus"));
        }
        if has_texts && args.rate.is_none() && args.closed.is_none() {
            return Err(Failure::input(
                "this trace contains conversations without times; add --rate RATE or --closed USERS",
            ));
        }
        if args.think.is_some() && args.turns.is_none() && !(has_texts && args.rate.is_some()) {
            return Err(Failure::input(
                "--think is for conversations: add --turns N, or --trace with conversations and --rate",
            ));
        }
        if args.burstiness.is_some() && args.rate.is_none() {
            return Err(Failure::input("--burstiness needs --rate"));
        }
        Ok(Self {
            args,
            trace,
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
        let think = self.args.think.as_deref().unwrap_or(THINK);
        let arrivals = match (&self.trace, rate, closed) {
            (Some(trace), ..) => format!("replay = {}", self.replay(trace, think)?),
            (None, Some(rate), _) => open(*rate, *burstiness, self.args.turns, think)?,
            (None, None, users) => format!("closed = {{ users = {} }}", users.unwrap_or(1)),
        };
        let limits = [("ttft", self.args.ttft), ("tpot", self.args.tpot), ("response", self.args.response)];
        let limits: String =
            limits.iter().filter_map(|(name, limit)| Some(format!("{name} = \"{}\"\n", (*limit)?))).collect();
        let goodput = if limits.is_empty() { limits } else { format!("\n[goodput]\n{limits}") };
        Ok(format!(
            "{top}\n[arrivals]\n{arrivals}\n{}{goodput}",
            self.requests(self.prompt(), self.trace.is_none().then_some(&*self.output), self.is_conversation())
        ))
    }

    /// The trace, if it has conversations.
    fn texts(&self) -> Option<&Trace> {
        self.trace.as_ref().filter(|trace| trace.has_texts)
    }

    /// Whether each prompt holds the earlier turns.
    fn is_conversation(&self) -> bool {
        let Args { turns, rate, completions, .. } = self.args;
        turns.is_some() || (self.texts().is_some() && rate.is_some() && !completions)
    }

    /// The table of `arrivals.replay`.
    fn replay(&self, trace: &Trace, think: &str) -> Result<String, Failure> {
        let Args { rate, closed, burstiness, speed, window, .. } = self.args;
        let mut text = format!("{{ trace = {}", value(&trace.file));
        if let Some(window) = window {
            let (from, to) = window
                .split_once(',')
                .ok_or_else(|| Failure::input("--window: write two times of the trace, such as 10m,20m"))?;
            text += &format!(", window = {}", value(Array::from_iter([from.trim(), to.trim()])));
        }
        if let Some(speed) = speed {
            text += &format!(", speed = {}", value(*speed));
        }
        if let Some(users) = closed {
            text += &format!(", as = \"closed\", users = {users}");
        }
        if let Some(rate) = rate {
            let (rate, way) = match self.is_conversation() {
                true => {
                    let think: Distribution = think.parse()?;
                    (per_session(*rate, trace.mean_turns())?, format!(", as = \"sessions\", think = {think}"))
                }
                false => (*rate, String::new()),
            };
            text += &format!(", rate = \"{rate}\"{}{way}", process(*burstiness)?);
        }
        Ok(text + " }")
    }

    /// The value of the key `prompt`.
    fn prompt(&self) -> &str {
        if self.trace.is_some() { "trace" } else { &self.input }
    }

    /// The workload of a pilot: users who send one request each, with these lengths; of a trace with texts, its first ones.
    pub(super) fn pilot(&self, input: &str, output: &str) -> String {
        let (arrivals, input) = match self.texts() {
            Some(trace) => (format!("replay = {{ trace = {}, rate = \"1/s\" }}", value(&trace.file)), "trace"),
            None => ("closed = { users = 1 }".to_owned(), input),
        };
        format!("duration = \"1s\"\n\n[arrivals]\n{arrivals}\n{}", self.requests(input, Some(output), false))
    }

    /// Number of requests of a pilot.
    pub(super) fn pilot_requests(&self) -> u64 {
        // Real texts differ more in words per token than random ones.
        self.texts().map_or(4, |trace| 16.min(trace.requests as u64))
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
    fn requests(&self, input: &str, output: Option<&str>, is_conversation: bool) -> String {
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
        let answer = match output {
            Some(output) => format!("random = {}, min = 1, per = \"request\"", value(output)),
            None => {
                let words = self.lengths.words_per_token;
                let scaled = self.texts().is_some() && words != 1.0;
                format!(
                    "trace_value = \"output_tokens\"{}",
                    if scaled { format!(", words_per_token = {words}") } else { String::new() }
                )
            }
        };
        text += &format!("answer = {{ {answer} }}\n");
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
    let process = process(burstiness)?;
    let Some(turns) = turns else { return Ok(format!("open = {{ rate = \"{rate}\"{process} }}")) };
    if !(turns >= 1.0 && turns.is_finite()) {
        return Err(Failure::input("--turns must be at least 1"));
    }
    let sessions = per_session(rate, turns)?;
    let think: Distribution = think.parse()?;
    let stay = value(1.0 - 1.0 / turns);
    Ok(format!("partly_open = {{ rate = \"{sessions}\"{process}, stay = {stay}, think = {think} }}"))
}

/// The rate of sessions of `turns` requests on average.
fn per_session(rate: Rate, turns: f64) -> Result<Rate, Failure> {
    Ok(Rate::from_per_sec(rate.per_sec() / turns)?)
}

/// The key `process` for gamma-distributed gaps of this shape, to follow other keys.
fn process(burstiness: Option<f64>) -> Result<String, Failure> {
    match burstiness {
        None => Ok(String::new()),
        // The CoV of gamma-distributed gaps is one over the root of their shape.
        Some(shape) if shape > 0.0 && shape.is_finite() => {
            Ok(format!(", process = {{ gamma = {} }}", value(1.0 / shape.sqrt())))
        }
        Some(_) => Err(Failure::input("--burstiness must be above zero; 1 is Poisson")),
    }
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

    const AZURE: &str =
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,480,10\n2023-11-16 18:17:04.03,318,8\n";
    const CHATS: &str = "[{\"conversations\": [{\"from\": \"human\", \"value\": \"a b\"}, {\"from\": \"gpt\", \"value\": \"c\"}, \
        {\"from\": \"human\", \"value\": \"d\"}, {\"from\": \"gpt\", \"value\": \"e\"}]}]";

    fn workload(flags: &str) -> Result<Workload, String> {
        let files =
            |name: &str| -> Result<Vec<u8>, String> { Ok(std::fs::read(name).unwrap_or_else(|_| b"a b".to_vec())) };
        let line = ["llm", "http://h:8000"].into_iter().chain(flags.split_whitespace());
        let args = Line::try_parse_from(line).map_err(|error| error.to_string())?.args;
        let draft = Draft::new(&args, &args.url.parse().unwrap()).map_err(|failure| failure.message().to_owned())?;
        let text = draft.text().map_err(|failure| failure.message().to_owned())?;
        for text in [draft.models(), draft.pilot("uniform:1..9", "constant:1")] {
            Workload::parse(&text, "pilot.toml", &files).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"));
        }
        Workload::parse(&text, "llm.toml", &files).map_err(|mistake| format!("{mistake}\n{text}"))
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
            ("", "<--rate <RATE>|--closed <USERS>|--trace <FILE>>"),
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
    fn a_trace_gives_times_and_lengths() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let (azure, chats) = (file("azure.csv", AZURE), file("chats.json", CHATS));
        let wrong = file("page.html", "<html>");
        let replayed = workload(&format!("--trace {azure} --window 0s,1s --speed 2")).unwrap();
        let text = replayed.to_string();
        for part in ["window = [\"0s\", \"1s\"]", "speed = 2", "prompt = \"trace\"", "trace_value = \"output_tokens\""]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(body(&replayed).contains("\"content\":\"{{prompt}}\""));
        let drawn = workload(&format!("--trace {azure} --rate 5/s --burstiness 0.25")).unwrap().to_string();
        assert!(drawn.contains("rate = \"5/s\"") && drawn.contains("scv = 4"), "{drawn}");
        let closed = workload(&format!("--trace {azure} --closed 3")).unwrap().to_string();
        assert!(closed.contains("as = \"closed\"") && closed.contains("users = 3"), "{closed}");
        let talk = workload(&format!("--trace {chats} --rate 4/s --think constant:1s")).unwrap();
        for part in ["as = \"sessions\"", "rate = \"2/s\"", "constant = \"1s\"", "conversation = \"prompt\""] {
            assert!(talk.to_string().contains(part), "{part}\n{talk}");
        }
        let single = workload(&format!("--trace {chats} --rate 4/s --completions")).unwrap().to_string();
        assert!(single.contains("rate = \"4/s\"") && !single.contains("conversation"), "{single}");
        for (flags, message) in [
            (format!("--trace {wrong}"), "is not a trace of tokens; expected"),
            ("--trace none.csv".to_owned(), "cannot read none.csv"),
            (format!("--trace {chats}"), "conversations without times; add --rate"),
            (format!("--trace {chats} --rate 1/s --corpus {azure}"), "have their own texts"),
            (format!("--trace {azure} --window 5s"), "two times of the trace"),
            (format!("--trace {azure} --input 5"), "cannot be used with"),
            (format!("--trace {azure} --rate 5/s --speed 2"), "cannot be used with"),
            (format!("--trace {azure} --think constant:1s"), "--think is for conversations"),
            (format!("--trace {azure} --burstiness 0.5"), "--burstiness needs --rate"),
        ] {
            let mistake = workload(&flags).unwrap_err();
            assert!(mistake.contains(message), "{flags}: {mistake}");
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
