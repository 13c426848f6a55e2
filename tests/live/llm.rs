//! `offered llm` against a server with a known law in this process: it lists its model, counts 1.25 tokens a word and nine more, sends the first
//! token after 20 ms and one every 2 ms.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::harness::Tested;
use crate::process::{Ended, Process, Serve, ended, offered};
use crate::servers::Server;

tests![
    the_metrics_of_a_model_are_those_of_its_law,
    a_server_that_breaks_its_streams_fails_the_run,
    conversations_grow_by_what_was_answered,
    a_trace_is_replayed,
    recorded_conversations_are_continued,
    a_real_engine_is_measured
];

const FIRST: Duration = Duration::from_millis(20);
const GAP: Duration = Duration::from_millis(2);

/// Serves until the test ends. Streams of at least `broken` tokens end without their last events.
fn serve(broken: u64) -> String {
    serve_with(broken, " a")
}

/// The same; the token of a response with one token has the text `single`.
fn serve_with(broken: u64, single: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || drop(connection(stream, broken, single)));
        }
    });
    url
}

fn connection(stream: TcpStream, broken: u64, single: &str) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut line, mut path, mut length) = (String::new(), String::new(), 0);
        while reader.read_line(&mut line)? > 2 {
            if path.is_empty() {
                line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        if path.is_empty() {
            return Ok(());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        if path == "/v1/models" {
            let list = r#"{"object":"list","data":[{"id":"tiny","object":"model"}]}"#;
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{list}",
                list.len()
            )?;
        } else {
            respond(&mut stream, &serde_json::from_slice(&body).map_err(io::Error::other)?, broken, single)?;
        }
    }
}

fn respond(stream: &mut TcpStream, body: &Value, broken: u64, single: &str) -> io::Result<()> {
    let (_never, pause) = mpsc::channel::<()>();
    let wait = |time| {
        let _ = pause.recv_timeout(time);
    };
    assert_eq!((&body["model"], &body["stream"], &body["ignore_eos"]), (&"tiny".into(), &true.into(), &true.into()));
    let words = body["messages"][0]["content"].as_str().unwrap_or_default().split(' ').count();
    let tokens = body["max_tokens"].as_u64().unwrap_or(0);
    let breaks = tokens >= broken;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let mut send = |data: String| write!(stream, "{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8);
    send(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#.to_owned())?;
    wait(FIRST);
    for nth in 1..=tokens {
        let finish = if nth == tokens && !breaks { "\"length\"" } else { "null" };
        let text = if tokens == 1 { single } else { " a" };
        send(format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{finish}}}]}}"#))?;
        if nth < tokens {
            wait(GAP);
        }
    }
    if !breaks {
        let prompt = (1.25 * words as f64).round() as u64 + 9;
        send(format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{tokens}}}}}"#))?;
        send("[DONE]".to_owned())?;
    }
    stream.write_all(b"0\r\n\r\n")
}

fn llm(url: &str, args: &[&str]) -> Ended {
    let usual =
        ["llm", url, "--rate", "40/s", "--duration", "2s", "--input", "100", "--output", "10", "--threads", "1"];
    Process::start(offered(&[&usual, args].concat())).end()
}

fn the_metrics_of_a_model_are_those_of_its_law() {
    // The first requests have one token each, which may be a special one.
    let url = serve_with(u64::MAX, "");
    let ended = llm(&url, &["--json", "--ttft", "10s", "--tpot", "10s"]);
    assert!(ended.stderr.contains("tiny: 0.800 words per token; the server adds 9 tokens"), "{}", ended.stderr);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let tokens = &json["tokens"];
    let row = |name: &str| {
        let rows = tokens["times"].as_array().unwrap();
        rows.iter().find(|row| row["label"] == name).unwrap_or_else(|| panic!("{name}: {tokens}"))
    };
    assert!(row("ttft")["min_ms"].as_f64() >= Some(19.9), "{tokens}");
    // A first token that is read late makes the time per token of its response shorter, but not its response.
    assert!(row("tpot")["p50_ms"].as_f64() >= Some(1.9), "{tokens}");
    assert!(row("response")["min_ms"].as_f64() >= Some(37.9), "{tokens}");
    let streams = tokens["streams"].as_u64().unwrap();
    assert!(streams > 40 && row("response")["n"].as_u64() == Some(streams), "{tokens}");
    assert_eq!(tokens["tokens_out"].as_u64(), Some(10 * streams));
    assert!(tokens["prompt_error_percent"].as_f64().is_some_and(|percent| percent.abs() < 1.0), "{tokens}");
    assert_eq!(tokens["goodput"]["good"].as_u64(), Some(streams));
    let text = llm(&url, &["--no-pilot", "--quiet"]).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The lines of the verdict depend on the machine: 20 lines with a verdict of up to eleven, and no more below a longer one.
    let figures = text.lines().skip_while(|line| !line.is_empty()).count();
    assert!((1..=9).contains(&figures), "{text}");
    for part in ["ttft        p50 ", "tpot        p50 ", "tokens      "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn a_server_that_breaks_its_streams_fails_the_run() {
    // Only the requests of the run, not the first ones, which have a token each.
    let ended = llm(&serve(2), &["--quiet"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("truncated"), "{ended:?}");
    let ended = llm(&serve(1), &["--quiet"]);
    let run = llm(&serve(1), &["--quiet", "--no-pilot", "--model", "tiny"]);
    assert_eq!((ended.code, run.stderr.contains("warning")), (run.code, false), "{ended:?} {run:?}");
    assert!(ended.stderr.contains("warning: ") && ended.stderr.contains("truncated"), "{ended:?}");
}

/// Runs `offered llm` with a trace: its document, and what it printed to stderr.
fn traced(url: &str, name: &str, trace: &str, args: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, trace).unwrap();
    let usual = ["llm", url, "--trace", file.to_str().unwrap(), "--threads", "1", "--json", "--seed", "5"];
    let ended = Process::start(offered(&[&usual, args].concat())).end();
    (serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}")), ended.stderr)
}

fn a_trace_is_replayed() {
    let mut trace = "TIMESTAMP,ContextTokens,GeneratedTokens\n".to_owned();
    for i in 0..60 {
        trace += &format!("2023-11-16 18:00:{:02}.{}50000,{},{}\n", i / 10, i % 10, 40 + i, i % 4);
    }
    let url = serve(u64::MAX);
    // Of the six seconds the middle four, at twice the speed.
    let (json, stderr) = traced(&url, "azure.csv", &trace, &["--window", "1s,5s", "--speed", "2", "--duration", "2s"]);
    assert!(stderr.contains("azure.csv: 60 requests in 5s900ms"), "{stderr}");
    let tokens = &json["tokens"];
    assert_eq!(tokens["streams"].as_u64(), Some(40), "{json}");
    // A response has at least one token: 1, 1, 2 and 3 in turn.
    assert_eq!(tokens["tokens_out"].as_u64(), Some(70));
    let prompts: u64 = (10..50).map(|i| 40 + i).sum();
    let counted = tokens["tokens_in"].as_u64().unwrap();
    assert!(counted.abs_diff(prompts) * 50 < prompts, "{counted} tokens, intended {prompts}");
    let (json, _) = traced(&url, "azure.csv", &trace, &["--rate", "30/s", "--duration", "10s", "--quiet"]);
    assert_eq!(json["tokens"]["streams"].as_u64(), Some(60), "the trace is used once: {json}");
}

fn recorded_conversations_are_continued() {
    let chat = |n: u32| {
        let turn = |k: u32| {
            format!(
                r#"{{"from": "human", "value": "question {n} {k} \"quoted\""}}, {{"from": "gpt", "value": "one two three"}}"#
            )
        };
        format!(r#"{{"id": "{n}", "conversations": [{}]}}"#, (0..3).map(turn).collect::<Vec<_>>().join(", "))
    };
    let trace = format!("[{}]", (0..8).map(chat).collect::<Vec<_>>().join(",\n"));
    let more = ["--rate", "24/s", "--think", "constant:100ms", "--duration", "8s", "--no-pilot", "--model", "tiny"];
    let (json, stderr) = traced(&serve(u64::MAX), "chats.json", &trace, &more);
    assert!(stderr.contains("24 prompts in 8 conversations"), "{stderr}");
    assert_eq!(json["tokens"]["streams"].as_u64(), Some(24), "{json}");
    assert_eq!(json["tokens"]["tokens_out"].as_u64(), Some(72), "three words each: {json}");
}

fn conversations_grow_by_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("run"));
    let (path, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let text = |url: &str| {
        format!(
            "seed = 3\nduration = \"6s\"\n[arrivals]\n\
             partly_open = {{ rate = \"6/s\", length = {{ fixed = 4 }}, think = {{ constant = \"200ms\" }} }}\n[target]\nurl = \"{url}/\"\n\
             [server]\nengine = {{ step = \"2ms\", sequences = 64, prefix_cache = true }}\n[variables]\n\
             prompt = {{ prompt = \"uniform:20..40\" }}\nmessages = {{ conversation = \"prompt\" }}\n\
             answer = {{ random = \"uniform:10..30\", per = \"request\" }}\n[[request]]\npost = \"/v1/chat/completions\"\n\
             stream = \"openai\"\nbody = '{{\"messages\": {{{{messages}}}}, \"max_tokens\": {{{{answer}}}}, \"stream\": true, \
             \"stream_options\": {{\"include_usage\": true}}}}'\n"
        )
    };
    std::fs::write(&file, text("http://127.0.0.1:1")).unwrap();
    let server = Serve::with(&[path, "--listen", "127.0.0.1:0"]);
    std::fs::write(&file, text(&server.url)).unwrap();
    let run = ended(&["run", path, "--output", out, "--quiet"]);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    // The same sessions in the simulation have the same tokens, request by request.
    let tokens = |directory: &str| {
        let table = ended(&["export", directory, "--format", "csv"]).stdout;
        let mut lines = table.lines();
        let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
        let of = |line: &str, name: &str| {
            let cell = line.split(',').nth(columns.iter().position(|column| *column == name).unwrap()).unwrap_or("");
            cell.parse::<u64>().unwrap_or(0)
        };
        let names = ["tokens_intended", "tokens_in", "tokens_cached", "tokens_out"];
        let row = |line: &str| ((of(line, "session"), of(line, "step")), names.map(|name| of(line, name)));
        lines.map(row).filter(|(_, tokens)| tokens[3] > 0).collect::<BTreeMap<(u64, u64), [u64; 4]>>()
    };
    let simulated = folder.path().join("simulated");
    let simulation = ended(&["simulate", path, "--output", simulated.to_str().unwrap()]);
    assert_eq!(simulation.code, Some(0), "{simulation:?}");
    let (measured, simulated) = (tokens(out), tokens(simulated.to_str().unwrap()));
    let common: Vec<_> = measured.iter().filter_map(|(key, own)| Some((key, own, simulated.get(key)?))).collect();
    assert!(common.len() > 60 && common.iter().any(|((_, step), ..)| *step == 3), "{} pairs", common.len());
    for (key, own, model) in common {
        assert_eq!(own, model, "{key:?}");
        assert_eq!((own[0], own[2] > 0), (own[1], key.1 > 0), "{key:?}: {own:?}");
        if let Some(before) = key.1.checked_sub(1).and_then(|step| measured.get(&(key.0, step))) {
            assert!(own[1] >= before[1] + before[3] + 20, "{key:?}: {own:?} after {before:?}");
        }
    }
}

fn a_real_engine_is_measured() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::llama(folder.path())?;
    let url = format!("{}/v1", server.url);
    let usual = ["llm", &url, "--duration", "4s", "--output", "12", "--json"];
    let run = |args: &[&str]| {
        let ended = Process::start(offered(&[&usual, args].concat())).end();
        let json: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
        let requests = json["total_requests"].as_u64().unwrap();
        assert!(requests > 0 && json["outcomes"]["ok"].as_u64() == Some(requests), "{ended:?}");
        assert!(json["tokens"]["streams"].as_u64() == Some(requests), "{json}");
        assert_eq!(json["tokens"]["tokens_out"].as_u64(), Some(12 * requests), "{json}");
        assert_eq!(json["tokens"]["without_usage"].as_u64(), Some(0), "{json}");
        json
    };
    // The first requests measure how many words a token of this vocabulary has.
    let open = run(&["--rate", "4/s", "--input", "60", "--ttft", "10s"]);
    let error = open["tokens"]["prompt_error_percent"].as_f64().unwrap();
    assert!(error.abs() < 15.0, "prompts are off by {error} %");
    let mean = |json: &Value| json["tokens"]["tokens_in"].as_f64().unwrap() / json["total_requests"].as_f64().unwrap();
    assert!((40.0..80.0).contains(&mean(&open)), "{open}");
    // The engine closes the connection after each stream, without notice.
    run(&["--closed", "2", "--input", "20", "--completions"]);
    let talk = run(&["--rate", "4/s", "--input", "20", "--turns", "3", "--think", "constant:100ms"]);
    assert!(mean(&talk) > 25.0, "prompts hold earlier turns: {talk}");
    Ok(())
}
