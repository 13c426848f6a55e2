//! `offered llm` against a server with a known law in this process: it lists its model, counts 1.25 tokens a word and nine more, sends the first
//! token after 20 ms and one every 2 ms.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Ended, Process, offered};

tests![the_metrics_of_a_model_are_those_of_its_law, a_server_that_breaks_its_streams_fails_the_run];

const FIRST: Duration = Duration::from_millis(20);
const GAP: Duration = Duration::from_millis(2);

/// Serves until the test ends; `breaks` ends each stream without its last events.
fn serve(breaks: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || drop(connection(stream, breaks)));
        }
    });
    url
}

fn connection(stream: TcpStream, breaks: bool) -> io::Result<()> {
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
            respond(&mut stream, &serde_json::from_slice(&body).map_err(io::Error::other)?, breaks)?;
        }
    }
}

fn respond(stream: &mut TcpStream, body: &Value, breaks: bool) -> io::Result<()> {
    let (_never, pause) = mpsc::channel::<()>();
    let wait = |time| {
        let _ = pause.recv_timeout(time);
    };
    assert_eq!((&body["model"], &body["stream"], &body["ignore_eos"]), (&"tiny".into(), &true.into(), &true.into()));
    let words = body["messages"][0]["content"].as_str().unwrap_or_default().split(' ').count();
    let tokens = body["max_tokens"].as_u64().unwrap_or(0);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let mut send = |data: String| write!(stream, "{:x}\r\ndata: {data}\n\n\r\n", data.len() + 8);
    send(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#.to_owned())?;
    wait(FIRST);
    for nth in 1..=tokens {
        let finish = if nth == tokens && !breaks { "\"length\"" } else { "null" };
        send(format!(r#"{{"choices":[{{"index":0,"delta":{{"content":" a"}},"finish_reason":{finish}}}]}}"#))?;
        if nth < tokens {
            wait(GAP);
        }
    }
    if !breaks || tokens == 1 {
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
    let url = serve(false);
    let ended = llm(&url, &["--json", "--ttft", "10s", "--tpot", "10s"]);
    assert!(ended.stderr.contains("tiny: 0.800 words per token, 9 tokens added"), "{}", ended.stderr);
    let json: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let tokens = &json["tokens"];
    let row = |name: &str| {
        let rows = tokens["times"].as_array().unwrap();
        rows.iter().find(|row| row["label"] == name).unwrap_or_else(|| panic!("{name}: {tokens}"))
    };
    assert!(row("ttft")["min_ms"].as_f64() >= Some(19.9), "{tokens}");
    assert!(row("tpot")["min_ms"].as_f64() >= Some(1.9), "{tokens}");
    let streams = tokens["streams"].as_u64().unwrap();
    assert!(streams > 40 && row("response")["n"].as_u64() == Some(streams), "{tokens}");
    assert_eq!(tokens["tokens_out"].as_u64(), Some(10 * streams));
    assert!(tokens["prompt_error_percent"].as_f64().is_some_and(|percent| percent.abs() < 1.0), "{tokens}");
    assert_eq!(tokens["goodput"]["good"].as_u64(), Some(streams));
    let text = llm(&url, &["--no-pilot", "--quiet"]).stdout;
    assert!(text.lines().count() <= 20 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["ttft        p50 ", "tpot        p50 ", "tokens      "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn a_server_that_breaks_its_streams_fails_the_run() {
    let ended = llm(&serve(true), &["--quiet"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("truncated"), "{ended:?}");
}
