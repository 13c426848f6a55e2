//! Counts agree with the access log of a real nginx.

use std::path::{Path, PathBuf};
use std::process::Command;

use offered_events::Outcome;
use rustix::process::Signal;

use crate::harness::{Missing, Tested, needs};
use crate::process::{Process, ended, soon, until_exists};
use crate::run::{Run, run, start};

tests![
    every_request_is_one_line_of_the_access_log,
    a_stopped_run_accounts_for_responses_in_progress,
    stub_status_agrees_with_the_run
];

pub(crate) struct Nginx {
    process: Process,
    log: PathBuf,
    pub(crate) url: String,
}

impl Nginx {
    /// Starts it in one process, on a free port.
    pub(crate) fn start(folder: &Path) -> Result<Self, Missing> {
        Self::listening(folder, "listen 127.0.0.1:PORT; access_log FOLDER/access.log counted;")
    }

    /// The same with these listen directives, in which PORT and FOLDER are replaced.
    pub(crate) fn listening(folder: &Path, directives: &str) -> Result<Self, Missing> {
        let program = ["nginx", "/usr/sbin/nginx"].into_iter().find(|p| Command::new(p).arg("-v").output().is_ok());
        needs("nginx", program.is_some())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = folder.to_str().unwrap();
        std::fs::create_dir(format!("{folder}/files")).unwrap();
        std::fs::write(format!("{folder}/files/large"), vec![b'x'; 1 << 20]).unwrap();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String = temporary.iter().map(|t| format!("{t}_temp_path {folder}/{t};")).collect();
        let listen = directives.replace("PORT", &port.to_string()).replace("FOLDER", folder);
        let conf = format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
            events {{ worker_connections 1000; }}
            http {{
                {temporary} keepalive_requests 20;
                log_format counted '$status $request_method $uri';
                log_format whole '$request $host $http_proxy_authorization';
                log_format told '$status $server_protocol $ssl_session_reused $ssl_server_name $ssl_client_s_dn';
                server {{
                    {listen}
                    root {folder}/files;
                    location /ok {{ return 200 'ok'; }}
                    location /status {{ stub_status; }}
                    location /error {{ return 503; }}
                    location /drop {{ return 444; }}
                    location /slow {{ alias {folder}/files/large; limit_rate 1k; }}
                }}
            }}"
        );
        let scheme = if directives.contains("ssl") { "https" } else { "http" };
        let path = format!("{folder}/nginx.conf");
        std::fs::write(&path, conf).unwrap();
        let mut command = Command::new(program.unwrap());
        command.args(["-c", &path, "-p", folder, "-e", &format!("{folder}/error.log")]);
        let process = Process::start(command);
        assert!(soon(|| std::net::TcpStream::connect(("127.0.0.1", port)).ok()).is_some(), "nginx does not listen");
        Ok(Self { process, log: format!("{folder}/access.log").into(), url: format!("{scheme}://127.0.0.1:{port}") })
    }

    /// Stops it and returns its log.
    pub(crate) fn stop(self) -> Vec<String> {
        self.process.signal(Signal::TERM);
        self.process.end();
        std::fs::read_to_string(self.log).unwrap().lines().map(str::to_owned).collect()
    }
}

const OPEN: Args = &["--open", "200/s", "--duration", "1s"];
const CLOSED: Args = &["--closed", "20", "--think", "exponential:50ms", "--duration", "1s"];
const PARTLY: Args = &["--partly-open", "40/s", "--stay", "0.8", "--think", "exponential:20ms", "--duration", "1s"];

type Args = &'static [&'static str];
/// Log line, path, load, transport, and outcome.
type Case = (&'static str, &'static str, Args, Args, Outcome);

fn every_request_is_one_line_of_the_access_log() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Nginx::start(folder.path())?;
    let cases: [Case; 8] = [
        ("200 GET /ok/0", "/ok/0", OPEN, &[], Outcome::Ok),
        ("200 GET /ok/1", "/ok/1", CLOSED, &[], Outcome::Ok),
        ("200 GET /ok/2", "/ok/2", PARTLY, &["--reuse", "per-session"], Outcome::Ok),
        ("200 GET /ok/3", "/ok/3", OPEN, &["--reuse", "fresh"], Outcome::Ok),
        ("200 HEAD /large", "/large", OPEN, &["--method", "HEAD"], Outcome::Ok),
        ("200 POST /ok/4", "/ok/4", OPEN, &["--body", "a={{session}}"], Outcome::Ok),
        ("503 GET /error", "/error", OPEN, &[], Outcome::HttpError),
        ("444 GET /drop", "/drop", OPEN, &[], Outcome::Reset),
    ];
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let url = &nginx.url;
        let begin = |(_, path, load, more, _): &Case| {
            let (url, load, more) = (format!("{url}{path}"), *load, *more);
            scope.spawn(move || run(&[&[url.as_str()], load, more].concat()))
        };
        cases.iter().map(begin).collect::<Vec<_>>().into_iter().map(|run| run.join().unwrap()).collect()
    });
    let log = nginx.stop();
    for ((line, _, _, more, outcome), run) in cases.iter().zip(&runs) {
        assert_eq!(log.iter().filter(|logged| logged == line).count(), run.events.len(), "{line}");
        assert_eq!(run.count(*outcome), run.events.len(), "{line}: {}", run.json["outcomes"]);
        // It closes a connection after twenty responses, and announces it.
        let most = if *outcome == Outcome::Reset || more.contains(&"fresh") { 1 } else { 20 };
        assert!(run.connections() * most >= run.events.len(), "{line}");
    }
    // If the first request gets no response, the generator checks once whether the target speaks TLS; that is not a
    // user's request.
    let asked = log.iter().filter(|line| line.starts_with("400 ")).count();
    assert!(asked <= 1, "{asked} of {}", log.len());
    assert_eq!(log.len() - asked, runs.iter().map(|run| run.events.len()).sum::<usize>());
    Ok(())
}

fn a_stopped_run_accounts_for_responses_in_progress() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Nginx::start(folder.path())?;
    let out = folder.path().join("run");
    let file = folder.path().join("w.toml");
    let text = format!(
        "duration = \"60s\"\narrivals.open.rate = \"100/s\"\ntarget.url = \"{}\"\n[[request]]\nget = \"/ok\"\n[[request]]\nget = \"/slow\"\n",
        nginx.url
    );
    std::fs::write(&file, text).unwrap();
    let process = start(&out, &[file.to_str().unwrap()]);
    until_exists(&out.join("events/part-0000.parquet"));
    process.signal(Signal::INT);
    let run = Run::of(process.end(), &out);
    let log = nginx.stop();
    assert_eq!(log.iter().filter(|line| line.ends_with("/ok")).count(), run.count(Outcome::Ok));
    assert_eq!(log.iter().filter(|line| line.ends_with("/slow")).count(), run.count(Outcome::Cut));
    assert_eq!(log.len(), run.events.len());
    Ok(())
}

/// nginx's own count equals the requests sent, plus the scrapes.
fn stub_status_agrees_with_the_run() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let nginx = Nginx::start(folder.path())?;
    let (run, workload) = (folder.path().join("run"), folder.path().join("w.toml"));
    let text = format!(
        "duration = \"3s\"\narrivals.open = {{ rate = \"50/s\", process = \"constant\" }}\ntarget.url = \"{0}/ok\"\n\
         [[observe.scrape]]\nname = \"web\"\nevery = \"200ms\"\ntarget.url = \"{0}/status\"\n",
        nginx.url.trim_end_matches('/')
    );
    std::fs::write(&workload, text).unwrap();
    let run = run.to_str().unwrap();
    let made = ended(&["run", workload.to_str().unwrap(), "--output", run, "--quiet"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    let verdict: serde_json::Value = serde_json::from_str(&ended(&["verify", run, "--json"]).stdout).unwrap();
    let host = &verdict["server_side"]["hosts"][0];
    let found =
        host["measures"].as_array().unwrap().iter().find(|measure| measure["instance"] == "nginx_http_requests_total");
    let rate = found.unwrap_or_else(|| panic!("{host}"))["mean"].as_f64().unwrap();
    assert!(found.unwrap()["resource"] == "series_rate" && rate > 0.0, "{host}");
    assert!(host["samples"].as_u64() > Some(3), "{host}");
    Ok(())
}
