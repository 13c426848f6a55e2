//! Metrics of a run, scraped by a Prometheus.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Tested, needs};
use crate::process::{Process, Serve, offered, soon};
use crate::servers::free_port;

tests![prometheus_counts_agree_with_the_run, promtool_accepts_all_metrics_and_the_dashboard_uses_only_them];

/// Body of the response; `None` without a response.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// Whether Debian's Prometheus and promtool are installed.
fn is_there() -> bool {
    ["prometheus", "promtool"].iter().all(|program| {
        let said = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        said.is_ok_and(|said| said.success())
    })
}

/// A run of some seconds with metrics at `port`, as JSON.
fn run(server: &Serve, port: u16, seconds: &str) -> Command {
    let mut command =
        offered(&["run", &server.url, "--open", "100/s", "--seed", "4", "--wait-mode", "sleep", "--json"]);
    command.args(["-d", seconds, "--metrics", &port.to_string()]);
    command
}

fn prometheus_counts_agree_with_the_run() -> Tested {
    needs("prometheus", is_there())?;
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("record.csv"));
    let (port, own) = (free_port(), free_port());
    let config = folder.path().join("prometheus.yml");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metrics/prometheus.yml");
    let example = std::fs::read_to_string(example).unwrap();
    assert!(example.contains("127.0.0.1:9464") && example.contains("2s"));
    std::fs::write(&config, example.replace("127.0.0.1:9464", &format!("127.0.0.1:{port}")).replace("2s", "1s"))
        .unwrap();
    let mut prometheus = Command::new("prometheus");
    prometheus.arg(format!("--config.file={}", config.display()));
    prometheus.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
    prometheus.arg(format!("--web.listen-address=127.0.0.1:{own}"));
    let prometheus = Process::start(prometheus);
    soon(|| get(own, "/-/ready")).expect("a Prometheus that is ready");

    let ended = Process::start(run(&server, port, "6s")).end();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    assert!(ended.stderr.contains("waiting up to 15 s") && !ended.stderr.contains("were not scraped"), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let requests = summary["requests"].as_array().unwrap();
    let total = requests.iter().find(|row| row["label"] == "Total").unwrap();
    // The last scrape is the end of the run, which is stale by now.
    let asked = |figure: &str| {
        let query = format!("/api/v1/query?query=sum(max_over_time({figure}%5B5m%5D))");
        let answer: Value = serde_json::from_str(&get(own, &query)?).ok()?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse::<u64>().ok()
    };
    let told = soon(|| asked("offered_requests_total").filter(|n| Some(*n) == total["requests"].as_u64()));
    assert!(told.is_some(), "{:?} of {total}", asked("offered_requests_total"));
    assert_eq!(asked("offered_response_seconds_count"), total["ok"].as_u64());
    assert_eq!(asked("offered_scheduled_requests_total"), total["requests"].as_u64());
    drop(prometheus);
    server.stop();
    Ok(())
}

fn promtool_accepts_all_metrics_and_the_dashboard_uses_only_them() -> Tested {
    needs("prometheus", is_there())?;
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::start("127.0.0.1:0", &folder.path().join("record.csv"));
    let workload = folder.path().join("workload.toml");
    let text = "duration = \"4s\"\narrivals.closed = { users = 5, think.exponential = \"20ms\" }\nthresholds = { \"errors\" = \"< 1%\" }\n";
    std::fs::write(&workload, format!("{text}target.url = \"{}\"\n", server.url)).unwrap();
    let port = free_port();
    let mut command = offered(&["run", workload.to_str().unwrap(), "--quiet", "--wait-mode", "sleep"]);
    command.args(["--metrics", &format!("127.0.0.1:{port}")]);
    let run = Process::start(command);
    let page =
        soon(|| get(port, "/metrics").filter(|page| page.contains("offered_threshold_passed"))).expect("figures");
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let said = promtool.wait_with_output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{said:?}\n{page}");

    let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metrics/dashboard.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(dashboard).unwrap()).unwrap();
    let expressions: String =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["targets"].to_string()).collect();
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.starts_with("offered_")).map(str::to_owned).collect()
    };
    // A closed system has no target rate, and its stability is unknown after four seconds.
    let elsewhere = ["offered_target_requests_per_second", "offered_stable"].map(str::to_owned);
    let known = names(&page).into_iter().chain(elsewhere).collect();
    let unknown: Vec<_> = names(&expressions).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?} in {page}");
    let ended = run.end();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    server.stop();
    Ok(())
}
