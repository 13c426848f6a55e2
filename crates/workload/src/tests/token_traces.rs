use offered_base::Share;
use offered_schedule::Launch;

use super::*;
use crate::Workload;
use crate::engine::TokenCounts;
use crate::prompt::PromptKey;
use crate::script::Source;

/// Eight requests, two in each of four seconds and a half.
static AZURE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    let row = |i: u32| format!("2023-11-16 18:00:{:02}.{}00,{},{}\n", i / 2, 5 * (i % 2), 100 + i, i);
    "TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned() + &(0..8).map(row).collect::<String>()
});

const MOONCAKE: &str = "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [70, 8, 9]}\n\
    {\"timestamp\": 0, \"input_length\": 1030, \"output_length\": 6, \"hash_ids\": [70, 8, 10]}\n\
    {\"timestamp\": 2999, \"input_length\": 40, \"output_length\": 7, \"hash_ids\": [11]}\n\
    {\"timestamp\": 2999, \"input_length\": 30, \"output_length\": 8}\n";

const CHATS: &str = r#"[{"conversations": [{"from": "human", "value": "one two"}, {"from": "gpt", "value": "a b c"},
    {"from": "human", "value": "three"}, {"from": "gpt", "value": "d e"}]},
    {"conversations": [{"from": "human", "value": "four \"five\" six"}, {"from": "gpt", "value": "f"}]}]"#;

fn workload(replay: &str, variables: &str, body: &str) -> Result<Workload, crate::Mistake> {
    // Conversations end when their users have thought, not at a time of the trace.
    let duration = if replay.contains("think") { "duration = \"1h\"\n" } else { "" };
    let text = format!(
        "{duration}[arrivals]\nreplay = {{ {replay} }}\n[variables]\n{variables}\n[[request]]\npost = \"/v1\"\nbody = '{body}'\nstream = \"openai\"\n"
    );
    let files = |name: &str| match name {
        "azure.csv" => Ok(AZURE.clone().into_bytes()),
        "mooncake.jsonl" => Ok(MOONCAKE.into()),
        "chats.json" => Ok(CHATS.into()),
        "day.trace" => Ok("offered.trace/1\nGET /a\n0 0 0\n".into()),
        "page.html" => Ok("<html></html>".into()),
        _ => Err("no such file".to_owned()),
    };
    let workload = Workload::parse(&text, "w.toml", &files)?;
    let again =
        Workload::parse(&workload.to_string(), "w.toml", &files).unwrap_or_else(|why| panic!("{why}\n{workload}"));
    assert_eq!((again.to_string(), again.sessions()), (workload.to_string(), workload.sessions()));
    Ok(workload)
}

const VARIABLES: &str = "prompt = { prompt = \"trace\" }\nanswer = { trace_value = \"output_tokens\" }";
const BODY: &str = r#"{"prompt": "{{prompt}}", "max_tokens": {{answer}}}"#;

/// Milliseconds and tokens of every request.
fn schedule(workload: &Workload) -> Vec<(u64, u32, u32)> {
    let (mut agenda, lengths) = (workload.agenda(Share::ALL), workload.token_lengths().unwrap());
    let launches = std::iter::from_fn(|| agenda.due_before(Instant::MAX));
    let row = |launch: Launch| {
        let TokenCounts { prompt, output, .. } = lengths.of(launch, workload.mix().choose(launch));
        (launch.intended.0 / 1_000_000, prompt, output)
    };
    launches.map(row).collect()
}

#[test]
fn times_and_lengths_are_those_of_the_trace() {
    let of = |replay: &str| {
        let workload = workload(replay, VARIABLES, BODY).unwrap();
        (schedule(&workload), workload.duration())
    };
    let (all, duration) = of("trace = \"azure.csv\"");
    // A request without output tokens asks for one.
    assert_eq!(all[..3], [(0, 100, 1), (500, 101, 1), (1000, 102, 2)]);
    assert_eq!((all.len(), duration), (8, Nanos::from_secs(4)));
    let (window, duration) = of("trace = \"azure.csv\", window = [\"1s\", \"3s\"], speed = 0.5");
    assert_eq!(window, [(0, 102, 2), (1000, 103, 3), (2000, 104, 4), (3000, 105, 5)]);
    assert_eq!(duration, Nanos::from_secs(4));
    let (drawn, _) = of("trace = \"azure.csv\", rate = \"2/s\", process = \"constant\"");
    assert_eq!(drawn.iter().map(|row| row.1).collect::<Vec<_>>(), (100..108).collect::<Vec<_>>());
    assert!(drawn.windows(2).all(|pair| pair[0].0.abs_diff(pair[1].0).abs_diff(500) <= 1), "{drawn:?}");
    let closed = workload("trace = \"azure.csv\", as = \"closed\", users = 2", VARIABLES, BODY);
    assert!(closed.unwrap_err().to_string().contains("`duration` is missing"));
}

#[test]
fn prompts_share_the_blocks_of_the_trace() {
    let workload = workload("trace = \"mooncake.jsonl\"", VARIABLES, BODY).unwrap();
    let Source::Prompt(prompt) = &workload.variables()[0].source else { panic!("{workload}") };
    let replay = workload.token_trace().unwrap();
    let text = |session| {
        let entry = replay.tokens(session, 0);
        prompt.text(PromptKey { seed: Seed(7), variable: 0, session, draw: 0, entry }).unwrap()
    };
    let words: Vec<Vec<String>> = (0..4).map(|session| text(session).split(' ').map(str::to_owned).collect()).collect();
    assert_eq!(words.iter().map(Vec::len).collect::<Vec<_>>(), [1100, 1030, 40, 30]);
    assert_eq!(words[0][..1024], words[1][..1024]);
    assert_ne!(words[0][1024..1030], words[1][1024..]);
    let lengths = workload.token_lengths().unwrap();
    let mut agenda = workload.agenda(Share::ALL);
    let launches = std::iter::from_fn(|| agenda.due_before(Instant::MAX));
    assert_eq!(launches.map(|launch| lengths.of(launch, 0).repeated).collect::<Vec<_>>(), [0, 1024, 0, 0]);
}

#[test]
fn the_ticks_of_a_coarse_clock_are_spread() {
    let at = |replay: &str| -> Vec<u64> {
        schedule(&workload(replay, VARIABLES, BODY).unwrap()).iter().map(|row| row.0).collect()
    };
    assert_eq!(at("trace = \"mooncake.jsonl\", timestamps = \"as-recorded\""), [0, 0, 2999, 2999]);
    let spread = at("trace = \"mooncake.jsonl\"");
    assert!(spread.is_sorted() && spread[0] < spread[1] && spread[1] < 2999 && spread[2] >= 2999, "{spread:?}");
    assert_eq!(spread, at("trace = \"mooncake.jsonl\", timestamps = \"spread\""));
}

#[test]
fn conversations_are_sessions_with_their_texts() {
    let variables = format!("{VARIABLES}\nmessages = {{ conversation = \"prompt\" }}");
    let variables = variables.replace("output_tokens\"", "output_tokens\", words_per_token = 0.5");
    let body = r#"{"messages": {{messages}}, "max_tokens": {{answer}}}"#;
    let replay = "trace = \"chats.json\", as = \"sessions\", rate = \"1/s\", think = { constant = \"2s\" }";
    let workload = workload(replay, &variables, body).unwrap();
    let mut agenda = workload.agenda(Share::ALL);
    let lengths = workload.token_lengths().unwrap();
    let mut sent = Vec::new();
    while let Some(launch) = agenda.due(Instant::MAX) {
        sent.push((launch.session, launch.step, lengths.of(launch, 0)));
        agenda.completed(launch, launch.intended);
    }
    sent.sort_by_key(|(session, step, _)| (*session, *step));
    let counts = |prompt, repeated, output| TokenCounts { prompt, repeated, output };
    // Two words and one; the response of the first has three words, so six tokens.
    assert_eq!(sent, [(0, 0, counts(2, 0, 6)), (0, 1, counts(9, 8, 4)), (1, 0, counts(3, 0, 2))]);
}

#[test]
fn wrong_traces_are_explained() {
    let talk = "prompt = { prompt = \"trace\" }\nmessages = { conversation = \"prompt\" }";
    for (replay, variables, part) in [
        ("trace = \"page.html\"", VARIABLES, "page.html:1: not a trace; expected a file of `offered logs`"),
        ("trace = \"none.csv\"", VARIABLES, "cannot read `none.csv`"),
        (
            "trace = \"azure.csv\", window = [\"10m\", \"20m\"]",
            VARIABLES,
            "no entries in this window; it ends after 3s500ms",
        ),
        ("trace = \"azure.csv\", window = [\"2s\", \"1s\"]", VARIABLES, "must end after it begins"),
        ("trace = \"azure.csv\", rate = \"1/s\", speed = 2", VARIABLES, "`rate` replaces the recorded times"),
        ("trace = \"azure.csv\", process = \"constant\"", VARIABLES, "needs rate"),
        (
            "trace = \"azure.csv\", rate = \"1/s\", process = \"poisson-fixed-count\"",
            VARIABLES,
            "write another process",
        ),
        ("trace = \"azure.csv\", as = \"sessions\"", VARIABLES, "the entries of the trace have no sessions"),
        ("trace = \"azure.csv\", as = \"closed\", users = 2, rate = \"1/s\"", VARIABLES, "closed users have no rate"),
        ("trace = \"azure.csv\"", talk, "contain the earlier turns already"),
        ("trace = \"chats.json\"", VARIABLES, "the trace has no times; write for example rate"),
        ("trace = \"chats.json\", as = \"sessions\", rate = \"1/s\"", VARIABLES, "need think times"),
        ("trace = \"azure.csv\"", "prompt = { prompt = \"trace\", prefix = { tokens = 5 } }", "remove `prefix`"),
        ("trace = \"azure.csv\"", "answer = { trace_value = \"output_token\" }", "did you mean `output_tokens`"),
        ("trace = \"azure.csv\"", "answer = { trace_value = \"output_tokens\", per = \"session\" }", "remove `per`"),
    ] {
        let why = workload(replay, variables, "{}").unwrap_err().to_string();
        assert!(why.contains(part), "{replay} {variables}: {why}");
    }
    let open = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\n{VARIABLES}\n");
    let why = Workload::parse(&open, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
    assert!(why.contains("needs a replayed trace with numbers of tokens"), "{why}");
    let logged = "[arrivals]\nreplay = { trace = \"day.trace\" }\n[variables]\nprompt = { prompt = \"trace\" }\n";
    let why = Workload::parse(logged, "w.toml", &|_| Ok("offered.trace/1\nGET /a\n0 0 0\n".into()));
    let why = why.unwrap_err().to_string();
    assert!(why.contains("needs a replayed trace with numbers of tokens"), "{why}");
}

#[test]
fn drawn_lengths_have_a_minimum() {
    let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\nprompt = { prompt = \"exponential:1\" }\n\
        answer = { random = \"exponential:1\", min = 1, per = \"request\" }\n[[request]]\npost = \"/v1\"\nbody = '{\"prompt\": \"{{prompt}}\", \"max_tokens\": {{answer}}}'\n";
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    assert!(workload.to_string().contains("min = 1"), "{workload}");
    let lengths = workload.token_lengths().unwrap();
    let mut ones = 0;
    for session in 0..200 {
        let launch = Launch { intended: Instant::ZERO, session, step: 0, place: 0, visit: Visit::FIRST };
        let tokens = lengths.of(launch, 0);
        assert!(tokens.prompt >= 1 && tokens.output >= 1, "{tokens:?}");
        ones += u32::from(tokens.output == 1);
    }
    // Below 1.5: a share of 1 - exp(-1.5), 78 %.
    assert!((130..180).contains(&ones), "{ones}");
    for (variable, part) in
        [("uuid = true, min = 1", "needs random"), ("random = \"uniform:1..2\", min = \"a\"", "expected a number")]
    {
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\nx = {{ {variable} }}\n");
        let why = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    }
}
