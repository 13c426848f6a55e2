//! `offered logs`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn offered(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The document for these arguments of `offered logs`, without the comparison of the models, which takes seconds.
fn json(folder: &Path, args: &[&str]) -> Value {
    compared_json(folder, &[args, &["--no-compare"]].concat())
}

/// The document for these arguments of `offered logs`.
fn compared_json(folder: &Path, args: &[&str]) -> Value {
    let output = offered(folder, &[&["logs", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = offered(folder, &[&["logs"], args].concat());
    let said = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?}: {said}");
    assert!(said.starts_with("error: ") && !said.contains('\u{1b}'), "{args:?}: {said}");
    said
}

/// A line in Combined format, `second` seconds into 1 January 2026, UTC.
fn line(second: u32, client: &str, request: &str, status: u16, agent: &str) -> String {
    let (day, second) = (1 + second / 86_400, second % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [{day:02}/Jan/2026:{hour:02}:{minute:02}:{second:02} +0000] \"{request} HTTP/1.1\" {status} 1000 \"-\" \"{agent}\"\n"
    )
}

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A site of two hours: a new client every 20 s, with a page, its image, and an article 30 s later.
fn site() -> String {
    site_of(360)
}

/// `visits` visits, one every 20 s.
fn site_of(visits: u32) -> String {
    let mut lines: Vec<(u32, String)> = Vec::new();
    for i in 0..visits {
        let (at, client) = (i * 20, format!("2001:db8::{i:x}"));
        for (after, request) in [(0, "GET /".to_owned()), (1, "GET /a.gif".to_owned()), (31, format!("GET /news/{i}"))]
        {
            lines.push((at + after, line(at + after, &client, &request, 200, FIREFOX)));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn gz(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn piped(folder: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_offered"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that fails closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn compressed_split_or_piped_logs_give_the_same_result() {
    let site = site();
    let middle = site[..site.len() / 2].rfind('\n').unwrap() + 1;
    let (first, second) = site.as_bytes().split_at(middle);
    let bz2 = {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all(second).unwrap();
        out.finish().unwrap()
    };
    let folder = folder(&[
        ("plain.log", site.as_bytes()),
        ("whole.gz", &gz(site.as_bytes())),
        // The order of names is not the order of time.
        ("part-b.zst", &zstd::encode_all(first, 1).unwrap()),
        ("part-a.bz2", &bz2),
        // Two members, as `cat a.gz b.gz` and logrotate make them.
        ("twice.gz", &[gz(first), gz(second)].concat()),
    ]);
    let whole = json(folder.path(), &["plain.log"]);
    assert_eq!((&whole["requests"], &whole["clients"], &whole["sessions"]), (&1080.into(), &360.into(), &360.into()));
    for args in
        [&["whole.gz"][..], &["twice.gz"], &["part-a.bz2", "part-b.zst"], &["part-*"], &["part-*", "--threads", "1"]]
    {
        assert_eq!(json(folder.path(), args), whole, "{args:?}");
    }
    for input in [site.as_bytes(), &gz(site.as_bytes())] {
        let output = piped(folder.path(), &["logs", "-", "--json", "--no-compare"], input);
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), whole);
    }
    for (option, value) in [("--session-timeout", "auto"), ("--trace", "t")] {
        let output = piped(folder.path(), &["logs", "-", option, value], site.as_bytes());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("write the log to a file"), "{}", text(&output.stderr));
    }
}

/// A file is split from 16 MiB per thread on: long user agents make it large enough.
#[test]
fn a_file_split_among_threads_gives_the_same_result() {
    let (agent, mut log) = ("x".repeat(1000), String::new());
    for i in 0..50_000u32 {
        // Some lines out of order or unreadable, and sessions across every split.
        let at = i / 3 + i * 7919 % 50;
        log.push_str(&line(at, &format!("10.0.{}.{}", i * 31 % 7, i * 17 % 251), "GET /", 200, &agent));
        if i % 4000 == 0 {
            log.push_str("nonsense\n");
        }
    }
    assert!(log.len() > 50 << 20);
    let folder = folder(&[("a.log", log.as_bytes())]);
    let said = |threads: &str| {
        let output =
            offered(folder.path(), &["logs", "a.log", "--json", "--labels", "--no-compare", "--threads", threads]);
        (text(&output.stdout), text(&output.stderr))
    };
    let one = said("1");
    assert!(one.0.contains("\"requests\": 50000,\n  \"unreadable_lines\": 13"), "{}", one.0);
    assert!(one.1.contains("a.log:2: ") && one.1.contains("a.log:48014: "), "{}", one.1);
    for threads in ["2", "3", "8"] {
        assert_eq!(said(threads), one, "{threads} threads");
    }
}

#[test]
fn filters_exclude_lines_and_report_their_number() {
    let mut log = site();
    for i in 0..50 {
        log.push_str(&line(7300 + i, "10.0.0.1", "GET /robots", 200, "Mozilla/5.0 (compatible; Googlebot/2.1)"));
        log.push_str(&line(7300 + i, "10.0.0.2", "GET /gone", 404, FIREFOX));
    }
    let folder = folder(&[("a.log", log.as_bytes())]);
    let lines = |args: &[&str]| {
        let found = json(folder.path(), &[&["a.log"], args].concat());
        (found["requests"].as_u64().unwrap(), found["excluded"].clone())
    };
    assert_eq!(lines(&[]), (1180, serde_json::json!([])));
    assert_eq!(lines(&["--status", "2xx"]), (1130, serde_json::json!([["--status", 50]])));
    assert_eq!(lines(&["--no-robots"]), (1130, serde_json::json!([["--no-robots", 50]])));
    assert_eq!(lines(&["--path", "^/news/"]), (360, serde_json::json!([["--path", 820]])));
    assert_eq!(lines(&["--pages-only"]), (820, serde_json::json!([["--pages-only", 360]])));
    assert_eq!(lines(&["--pages-only", "--parts", "css"]), (1180, serde_json::json!([])));
}

#[test]
fn a_user_is_a_client_an_agent_or_a_field() {
    let mut log = String::new();
    for i in 0..100u32 {
        let agent = ["one", "two"][i as usize % 2];
        let line = line(i * 60, "10.0.0.1", "GET /", 200, agent);
        log.push_str(&line.replacen(" - - ", &format!(" - user{} ", i % 5), 1));
    }
    let folder = folder(&[("a.log", log.as_bytes())]);
    let clients = |user: &str| json(folder.path(), &["a.log", "--user", user])["clients"].as_u64().unwrap();
    assert_eq!((clients("client"), clients("client+agent")), (1, 2));
    let format = "$remote_addr - $remote_user [$time_local] \"$request\" $status $bytes_sent \"$http_referer\" \"$http_user_agent\"";
    let found = json(folder.path(), &["a.log", "--input-format", format, "--user", "field remote_user"]);
    assert_eq!(found["clients"], 5);
    assert!(refusal(folder.path(), &["a.log", "--user", "field shoe"]).contains("shoe"));
}

#[test]
fn the_knee_timeout_separates_think_times_from_new_visits() {
    let mut log = Vec::new();
    for client in 0..200u32 {
        for (visit, step) in (0..3u32).flat_map(|visit| (0..5u32).map(move |step| (visit, step))) {
            let at = client * 30 + visit * 20_000 + step * (20 + client % 60);
            log.push((at, line(at, &format!("10.0.0.{client}"), "GET /", 200, FIREFOX)));
        }
    }
    log.sort_by_key(|(at, _)| *at);
    let log: String = log.into_iter().map(|(_, line)| line).collect();
    let folder = folder(&[("a.log", log.as_bytes())]);
    let found = json(folder.path(), &["a.log", "--session-timeout", "auto"]);
    assert!((80..=300).contains(&found["timeout_s"].as_u64().unwrap()), "{}", found["timeout_s"]);
    assert_eq!((&found["sessions"], &found["requests_per_session"]["mean"]), (&600.into(), &5.0.into()));
}

#[test]
fn the_three_models_are_compared_at_the_same_load() {
    let folder = folder(&[("a.log", site().as_bytes())]);
    let found = compared_json(folder.path(), &["a.log", "--load", "0.5", "--service-from", "bytes"]);
    let others = &found["model_comparison"];
    assert_eq!((&others["load"], others["models"].as_array().unwrap().len()), (&0.5.into(), 3));
    // 1080 requests in 7211 s at load 0.5, all of one size.
    assert_eq!(others["service_distribution"], "{ constant = \"3.338425925925926s\" }", "{others}");
    let model = |name: &str| others["models"].as_array().unwrap().iter().find(|model| model["model"] == name).unwrap();
    for name in ["open", "partly-open", "closed"] {
        for policy in ["fcfs", "ps"] {
            let response = &model(name)[policy];
            let [mean, p95] = ["mean", "p95"].map(|figure| response[figure]["value_s"].as_f64().unwrap());
            assert!(mean > 3.3 && p95 > 3.3, "{response}");
            assert!((response["load_reached"].as_f64().unwrap() - 0.5).abs() < 0.005, "{response}");
        }
    }
    let own = model("partly-open");
    assert_eq!((&own["fcfs"]["mean_ratio"]["value"], &own["ps"]["p95_ratio"]["value"]), (&1.0.into(), &1.0.into()));
    // M/D/1: E[T] = S (1 + rho / (2 (1 - rho))) = 1.5 S, and M/G/1-PS: E[T] = S / (1 - rho) = 2 S. Both are formulas.
    for (policy, factor) in [("fcfs", 1.5), ("ps", 2.0)] {
        let mean = &model("open")[policy]["mean"];
        assert!((mean["value_s"].as_f64().unwrap() / 3.338_425_925 / factor - 1.0).abs() < 1e-6, "{policy}: {mean}");
        assert_eq!(mean["exact"], true);
    }
    // Product form: the mean under processor sharing is that of the open system.
    let ratio = &model("open")["ps"]["mean_ratio"];
    assert!(ratio["low"] == ratio["high"] && (ratio["value"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{ratio}");
    let shown = text(&offered(folder.path(), &["logs", "a.log", "--discipline", "ps", "--load", "0.3"]).stdout);
    assert!(shown.contains("one server with load 0.3 (--load)") && !shown.contains("fcfs "), "{shown}");
}

/// Requests of a site to a server that responds at once, as a Squid log; a session is a client.
fn squid_log(seed: u64, duration: &str, arrivals: &str) -> String {
    let toml = format!("seed = {seed}\nduration = \"{duration}\"\narrivals.{arrivals}\n");
    let workload = offered_workload::Workload::parse(&toml, "site.toml", &|_| unreachable!()).unwrap();
    let (mut agenda, mut log) = (workload.agenda(offered_base::Share::ALL), String::new());
    while let Some(launch) = agenda.due(offered_base::Instant::MAX) {
        let ms = launch.intended.0 / 1_000_000;
        let (seconds, ms, session) = (1_700_000_000 + ms / 1000, ms % 1000, launch.session);
        let client = format!("10.{}.{}.{}", session >> 16, session >> 8 & 255, session & 255);
        // Durations with a C2 of 6.
        let took = if (launch.session + u64::from(launch.step)).is_multiple_of(16) { 60 } else { 2 };
        writeln!(log, "{seconds}.{ms:03} {took} {client} TCP_MISS/200 100 GET http://a/x - DIRECT/1.1.1.1 text/html")
            .unwrap();
        agenda.completed(launch, launch.intended);
    }
    log
}

#[test]
fn dry_runs_of_written_workloads_have_the_rate_of_the_log() {
    for (seed, duration, arrivals) in [
        (1, "20m", "open.rate = \"0.4/s\""),
        (2, "3h", "open.rate = \"2/s\""),
        (3, "2h", "partly_open = { rate = \"0.03/s\", stay = 0.8, think = { exponential = \"30s\" } }"),
        (
            4,
            "1h",
            "partly_open = { rate = \"0.5/s\", stay = 0.9, think = { lognormal = { mean = \"40s\", scv = 9 } } }",
        ),
        (5, "1h", "closed = { users = 5, think = { exponential = \"20s\" } }"),
        (6, "4h", "closed = { users = 60, think = { lognormal = { mean = \"40s\", scv = 9 } } }"),
    ] {
        let log = squid_log(seed, duration, arrivals);
        let folder = folder(&[("a.log", log.as_bytes())]);
        let lines: Vec<f64> = log.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
        let rate = lines.len() as f64 / (lines[lines.len() - 1] - lines[0]);
        for model in ["open", "partly-open", "closed"] {
            let args = ["logs", "a.log", "--workload", "w.toml", "--model", model, "--no-compare", "--quiet"];
            assert_eq!(offered(folder.path(), &args).status.code(), Some(0));
            let run = offered(folder.path(), &["run", "w.toml", "--dry-run", "--json", "--quiet"]);
            let run: Value = serde_json::from_slice(&run.stdout).unwrap();
            let sent = run["sent_rate_per_s"].as_f64().unwrap();
            assert!((sent / rate - 1.0).abs() < 0.02, "{arrivals} as {model}: {sent}/s instead of {rate}/s");
        }
    }
}

#[test]
fn the_interval_of_the_ratio_decides_on_a_site_of_each_model() {
    for (arrivals, duration, recommended) in [
        ("open.rate = \"0.5/s\"", "2h", "open"),
        ("partly_open = { rate = \"0.05/s\", stay = 0.9, think = { exponential = \"20s\" } }", "10h", "partly-open"),
        ("closed = { users = 150, think = { exponential = \"60s\" } }", "3h", "closed"),
    ] {
        let folder = folder(&[("a.log", squid_log(7, duration, arrivals).as_bytes())]);
        let found = compared_json(folder.path(), &["a.log", "--quiet", "--discipline", "fcfs"]);
        assert_eq!(found["recommendation"]["model"], recommended, "{arrivals}: {found}");
    }
}

#[test]
fn several_sites_are_one_table() {
    let long = squid_log(8, "3h", "partly_open = { rate = \"0.05/s\", stay = 0.9, think = { exponential = \"20s\" } }");
    let folder = folder(&[("a.log", site().as_bytes()), ("b.log", long.as_bytes()), ("c.log", site_of(9).as_bytes())]);
    let args = ["logs", "a.log", "b.log", "c.log", "--each", "--no-compare"];
    let shown = offered(folder.path(), &args);
    let (page, said) = (text(&shown.stdout), text(&shown.stderr));
    assert!(page.starts_with("site   requests  visitors  sessions  per session  "), "{page}");
    assert!(page.contains("a.log     1,080       360       360         3.00"), "{page}");
    assert!(page.contains("\n1800 s ----") && page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(said.contains("warning: c.log: 9 sessions are too few"), "{said}");
    let all = offered(folder.path(), &[&args[..], &["--json"]].concat());
    let all: Value = serde_json::from_slice(&all.stdout).unwrap();
    assert_eq!((&all["schema"], all["sites"].as_array().unwrap().len()), (&"offered.logs.each/1".into(), 3));
    assert_eq!(all["sites"][0]["analysis"], json(folder.path(), &["a.log"]));
    assert!(refusal(folder.path(), &["a.log", "--each", "--trace", "t"]).contains("--trace"));
}

/// Eight visitors with 40 requests each; responses have 100 bytes, except one of a gigabyte.
fn long_visits() -> String {
    let mut lines: Vec<(u32, String)> = Vec::new();
    for i in 0..320u32 {
        let (at, client) = (i / 40 * 600 + i % 40 * 9, format!("10.0.0.{}", i / 40));
        let line = line(at, &client, "GET /", 200, FIREFOX);
        lines.push((at, if i == 7 { line.replace(" 1000 ", " 1000000000 ") } else { line }));
    }
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn response_sizes_are_used_only_with_service_from_bytes() {
    let folder = folder(&[("a.log", long_visits().as_bytes())]);
    let found = json(folder.path(), &["a.log", "--session-timeout", "60s"]);
    assert!(found["bytes_scv"].as_f64().unwrap() > 300.0 && found["scv"].is_null(), "{found}");
    assert_eq!(
        (&found["paper_rule"]["model"], &found["paper_rule"]["cutoffs"]),
        (&"closed".into(), &serde_json::json!([5.0, 10.0]))
    );
    let bytes = json(folder.path(), &["a.log", "--session-timeout", "60s", "--service-from", "bytes"]);
    assert_eq!((&bytes["paper_rule"]["model"], &bytes["scv_source"]), (&"closed".into(), &"bytes".into()));
    assert_eq!(bytes["paper_rule"]["cutoffs"], serde_json::json!([20.0, 40.0]));
}

#[test]
fn a_log_whose_models_cannot_be_compared_is_analysed() {
    // Four requests in a century: the virtual clock ends before there are enough responses.
    let stamp =
        |year: u32, client: &str| format!("{client} - - [01/Jan/{year}:00:00:00 +0000] \"GET / HTTP/1.1\" 200 9\n");
    let century = [stamp(1971, "a"), stamp(1971, "a"), stamp(2001, "b"), stamp(2070, "a")].concat();
    let folder = folder(&[
        ("century.log", century.as_bytes()),
        ("one.log", line(0, "a", "GET /", 200, FIREFOX).repeat(30).as_bytes()),
    ]);
    for (args, why) in [(&["century.log"][..], "could not be compared"), (&["one.log", "--no-compare"], "one client")] {
        let output = offered(folder.path(), &[&["logs", "--json"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
        let heading = offered(folder.path(), &[&["logs"], args].concat());
        let is_doubted = text(&heading.stdout).contains("partly-open, but all requests come from one client");
        assert_eq!(is_doubted, why == "one client", "{}", text(&heading.stdout));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&found["model_comparison"], &found["recommendation"]["model"]),
            (&Value::Null, &"partly-open".into())
        );
    }
}

#[test]
fn few_sessions_give_a_warning() {
    let one = line(0, "10.0.0.1", "GET /", 200, FIREFOX);
    let five: String = (0..12).map(|i| line(i * 7, &format!("10.0.0.{}", i % 5), "GET /", 200, FIREFOX)).collect();
    let folder = folder(&[("one.log", one.as_bytes()), ("five.log", five.as_bytes()), ("site.log", site().as_bytes())]);
    for (log, head, doubt) in [
        ("one.log", "1 request by 1 client, ", "all requests come from one client"),
        ("five.log", "12 requests by 5 clients, ", "there are only 5 sessions"),
        ("site.log", "1080 requests by 360 clients, ", ""),
    ] {
        let ended = offered(folder.path(), &["logs", log, "--no-compare"]);
        let (page, said) = (text(&ended.stdout), text(&ended.stderr));
        assert!(page.starts_with(head), "{page}");
        let model = page.lines().find(|line| line.starts_with("System model: ")).unwrap();
        assert_eq!(model.contains(", but "), !doubt.is_empty(), "{model}");
        assert!(model.ends_with(doubt), "{model}");
        assert_eq!(said.contains("5 sessions are too few to estimate"), log == "five.log", "{said}");
    }
}

#[test]
fn written_workloads_and_traces_can_be_run_and_simulated() {
    let folder = folder(&[("a.log", site_of(2000).as_bytes())]);
    for model in ["open", "partly-open", "closed"] {
        let args = ["logs", "a.log", "--workload", "w.toml", "--model", model, "--no-compare", "--trace", "day.trace"];
        let output = offered(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let output = offered(folder.path(), &["run", "w.toml", "--dry-run"]);
        assert_eq!(output.status.code(), Some(0), "{model}: {}", text(&output.stdout));
    }
    for way in ["as = \"open\"", "as = \"sessions\"", "as = \"closed\", users = 5, think = { exponential = \"1s\" }"] {
        let toml = format!(
            "seed = 1\nduration = \"60m\"\n[arrivals]\nreplay = {{ trace = \"day.trace\", speed = 12, {way} }}\n[target]\nurl = \"http://127.0.0.1:8080\"\n[server]\nservice = {{ exponential = \"10ms\" }}\n"
        );
        std::fs::write(folder.path().join("r.toml"), toml).unwrap();
        for args in [&["run", "r.toml", "--dry-run"][..], &["simulate", "r.toml"]] {
            let output = offered(folder.path(), args);
            assert_eq!(output.status.code(), Some(0), "{way}: {args:?}: {}", text(&output.stderr));
            // Verified against the trace, not against a Poisson process.
            let judged = text(&output.stdout).contains("every request was sent ");
            assert_eq!(judged, args[0] == "run", "{way}: {}", text(&output.stdout));
        }
    }
}

#[test]
fn jobs_of_a_parallel_machine_have_their_run_times_as_work() {
    let job = |submit: &str, run: &str, processors: u8, user: u8| {
        format!("1 {submit} -1 {run} {processors} -1 -1 -1 -1 -1 1 {user} 1 -1 -1 -1 -1 -1\n")
    };
    // User 7 returns after more than half an hour; the run time of a job of user 8 is unknown.
    let jobs = [
        job("0", "10", 1, 7),
        job("0.5", "100", 32, 7),
        job("1", "-1", 1, 8),
        job("2", "20.25", 1, 8),
        job("2002", "5", 32, 7),
    ];
    let few = format!("; Version: 2.2\n; UnixStartTime: 749458803\n{}", jobs.concat());
    // One after another, without waiting: half take 4 s, half 6 s.
    let many: String =
        (0..2000).map(|i| job(&(10 * i).to_string(), if i % 2 == 0 { "4" } else { "6" }, 1, 1)).collect();
    let toml = "seed = 1\nduration = \"20000s\"\n[arrivals]\nreplay = { trace = \"many.trace\" }\n[server]\ndiscipline = \"fcfs\"\n";
    let site = line(1, "h", "GET /", 200, FIREFOX);
    let files = [("few.swf", &few[..]), ("many.swf", &many), ("many.toml", toml), ("site.log", &site)];
    let folder = folder(&files.map(|(name, content)| (name, content.as_bytes())));
    let output = offered(folder.path(), &["logs", "few.swf", "--trace", "few.trace", "--no-compare"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 jobs are not in the trace: their run time is unknown or zero"));
    assert!(text(&output.stdout).contains("5 requests by 2 clients, 1993-10-01"), "{}", text(&output.stdout));
    let trace = std::fs::read_to_string(folder.path().join("few.trace")).unwrap();
    let entries: Vec<&str> = trace.lines().skip(1).collect();
    assert_eq!(
        entries,
        ["GET /processors-1", "GET /processors-32", "0 0 0 10s", "0.5 0 1 1m40s", "2 1 0 20s250ms", "2002 2 1 5s"]
    );
    let output = offered(folder.path(), &["logs", "many.swf", "--trace", "many.trace", "--no-compare"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = offered(folder.path(), &["simulate", "many.toml"]);
    assert!(text(&output.stdout).contains("5000   5000 .. 5000"), "{}{}", text(&output.stdout), text(&output.stderr));
    let said = refusal(folder.path(), &["few.swf", "site.log", "--trace", "x.trace"]);
    assert!(said.contains("a trace cannot mix jobs with known work"), "{said}");
}

#[test]
fn too_many_requests_are_replaced_by_the_first_of_their_label() {
    let mut log = String::new();
    for i in 0..60_600u32 {
        log.push_str(&line(i / 10, "10.0.0.1", &format!("GET /{}?q={i}", ["a", "b"][i as usize % 2]), 200, "-"));
    }
    let folder = folder(&[("a.log", log.as_bytes())]);
    let output = offered(folder.path(), &["logs", "a.log", "--trace", "t", "--no-compare"]);
    let said = text(&output.stderr);
    assert!(said.contains("the trace is not exact: after the first 60000 distinct requests, 598 entries"), "{said}");
    assert!(text(&output.stdout).contains("60600 entries of 1 sessions, 60002 distinct requests"), "{output:?}");
    let trace = std::fs::read_to_string(folder.path().join("t")).unwrap();
    let numbers: Vec<&str> = trace.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!((numbers.len(), &numbers[60_597..]), (60_600, &["60001", "60000", "60001"][..]));
}

#[test]
fn wrong_use_is_reported_in_one_line() {
    let folder =
        folder(&[("a.log", site().as_bytes()), ("empty.log", b""), ("prose.txt", b"Dear reader,\nthis is no log.\n")]);
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    for (args, word) in [
        (&[][..], "<LOG>"),
        (&["missing.log"], "no such file"),
        (&["empty.log"], "empty"),
        (&["prose.txt"], "select one of auto, common"),
        (&["logs"], "directory"),
        (&["a.log", "--workload", "no/such/w.toml"], "no/such/w.toml"),
        (&["a.log", "--trace", "no/such/t"], "no/such/t"),
        (&["a.log", "--session-timeout", "1.5s"], "whole seconds"),
        (&["a.log", "--path", "["], "regular expression"),
        (&["a.log", "--path", "^/nothing$"], "no lines to analyse"),
        (&["a.log", "--load", "1"], "0.95"),
    ] {
        assert!(refusal(folder.path(), args).contains(word), "{args:?}: {}", refusal(folder.path(), args));
    }
}

/// Hostile text in a log is escaped in the terminal, the page and the workload.
#[test]
fn hostile_lines_are_escaped_everywhere() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J<script>alert(1)</script>\u{9b}31m\0";
    let mut log = site();
    for i in 0..10 {
        log.push_str(&line(7300 + i, &format!("{evil}{i}"), &format!("GET /{evil}"), 200, evil));
        log.push_str(&line(7300 + i, "10.0.0.9", &format!("{evil} /"), 200, evil));
        let _ = writeln!(log, "{evil}");
    }
    // Placeholders, and names that differ only in control characters.
    for target in ["/{shop}", "/{session}", "/\"", "/%22"] {
        log.push_str(&line(7310, "10.0.0.7", &format!("GET {target}"), 200, "-"));
    }
    log.push_str(&line(7310, "10.0.0.8", &format!("GET /{}", "y".repeat(1_000_000)), 200, "-"));
    log.push_str(&"z".repeat(3_000_000));
    log.push('\n');
    let name = "a\u{1b}[2J.log";
    let folder = folder(&[(name, log.as_bytes())]);
    let args = [name, "--labels", "--workload", "w.toml", "--trace", "t", "--no-compare"];
    for more in [&[][..], &["--json"]] {
        let output = offered(folder.path(), &[&["logs"], &args[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let files = ["w.toml", "t"].map(|file| std::fs::read_to_string(folder.path().join(file)).unwrap());
        for shown in [text(&output.stdout), text(&output.stderr), files[0].clone(), files[1].clone()] {
            assert!(!shown.contains("<script>") && shown.len() < 300_000, "{} bytes", shown.len());
            assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        }
    }
    let output = offered(folder.path(), &["run", "w.toml", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn too_many_clients_are_sampled_independently_of_the_number_of_threads() {
    let (agent, mut log) = ("x".repeat(1000), String::new());
    for i in 0..40_000u32 {
        let client = i % 20_000;
        log.push_str(&line(i / 20, &format!("2001:db8:{:x}::{client:x}", client % 7919), "GET /", 200, &agent));
    }
    let folder = folder(&[("a.log", log.as_bytes())]);
    let args = |threads| ["a.log", "--max-clients", "1000", "--threads", threads];
    let found = json(folder.path(), &args("1"));
    assert_eq!((&found["requests"], &found["sampled_one_in"]), (&40_000.into(), &32.into()));
    // 625 are expected in the sample, so 20,000 to within 10 % with probability 99 %.
    let (clients, sessions) = (found["clients"].as_f64().unwrap(), found["sessions"].as_f64().unwrap());
    assert!((clients / 20_000.0 - 1.0).abs() < 0.1 && sessions == clients, "{clients}");
    assert_eq!(found["requests_per_session"]["mean"], 2.0);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("more than 1000 clients: one in 32 was analysed"), "{warnings}");
    for threads in ["2", "3"] {
        assert_eq!(json(folder.path(), &args(threads)), found, "{threads} threads");
    }
    assert!(refusal(folder.path(), &["a.log", "--max-clients", "0"]).contains("--max-clients"));
}
