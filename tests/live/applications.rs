//! The applications of `examples/apps`, installed and started by their own scripts: each workload works at its first `--once`, and the access
//! log of the application has each request that a run says it sent.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use offered_base::{Instant, Nanos};
use offered_io::Clock;
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Tested, needs};
use crate::process::{Process, ended};

tests![roundup_logs_each_request, synapse_logs_each_request, jupyter_logs_each_request_and_each_websocket];

/// Maximum duration of an installation.
const INSTALLED: Instant = Instant::from_secs(400);

/// A running application.
struct Application {
    process: Process,
    workload: PathBuf,
    log: PathBuf,
    /// Whether a line of the log is a request.
    is_request: fn(&str) -> bool,
}

impl Application {
    /// Starts it in the folder of this name in `OFFERED_APPS`.
    fn start(name: &str, port: u16, is_request: fn(&str) -> bool) -> Result<Self, crate::harness::Missing> {
        let folder = std::env::var_os("OFFERED_APPS").map(PathBuf::from);
        needs("applications", folder.is_some())?;
        let folder = folder.unwrap_or_default().join(name);
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps").join(name);
        assert!(!is_open(port), "port {port} is in use");
        let mut command = Command::new(example.join("start"));
        command.arg(&folder);
        let mut process = Process::start(command);
        let clock = Clock::start();
        while !is_open(port) {
            assert!(process.is_running() && clock.now() < INSTALLED, "{name} does not start: {:?}", process.end());
            clock.sleep_until(clock.now() + Nanos::from_millis(100));
        }
        Ok(Self { process, workload: example.join("workload.toml"), log: folder.join("access.log"), is_request })
    }

    /// Number of requests in the log.
    fn logged(&self) -> u64 {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter(|line| (self.is_request)(line)).count() as u64
    }

    /// Sends one session, then 20 s of load. Returns the recording and the number of requests in the log, without those before.
    fn load(self) -> (Value, u64) {
        let workload = self.workload.to_str().unwrap();
        let once = ended(&["run", workload, "--once"]);
        assert_eq!(once.code, Some(0), "{}{}", once.stdout, once.stderr);
        let before = self.logged();
        // A busy machine may be late; every request is in the log all the same.
        let run = ended(&[
            "run",
            workload,
            "--quiet",
            "--json",
            "--seed",
            "1",
            "--wait-mode",
            "sleep",
            "--tolerance",
            "1000%",
        ]);
        let json: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
        // A slow machine sends too few requests to judge their pattern.
        assert!(
            json["validity"] != "invalid" && json["outcomes"].as_object().is_some_and(|all| all.len() == 1),
            "{json}"
        );
        self.process.signal(Signal::TERM);
        let (log, is_request) = (self.log.clone(), self.is_request);
        drop(self.process.end());
        let text = fs::read_to_string(log).unwrap();
        (json, text.lines().filter(|line| is_request(line)).count() as u64 - before)
    }
}

fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn total(run: &Value) -> u64 {
    assert!(run["on_the_wire"]["total"].as_u64() > Some(20), "{run}");
    run["on_the_wire"]["total"].as_u64().unwrap()
}

fn roundup_logs_each_request() -> Tested {
    let (run, logged) = Application::start("roundup", 8917, |line| line.contains(" HTTP/1.1\" "))?.load();
    assert_eq!(total(&run), logged);
    Ok(())
}

fn jupyter_logs_each_request_and_each_websocket() -> Tested {
    let is_request = |line: &str| {
        let status = line.split_once(" ServerApp] ").and_then(|(_, rest)| rest.split(' ').next());
        status.is_some_and(|status| status.len() == 3 && status.parse::<u16>().is_ok())
    };
    let (run, logged) = Application::start("jupyter", 8888, is_request)?.load();
    assert_eq!(total(&run), logged);
    assert!(run["on_the_wire"]["messages"].as_u64() > Some(5), "{run}");
    Ok(())
}

fn synapse_logs_each_request() -> Tested {
    let (run, logged) = Application::start("synapse", 8008, |line| line.contains("Processed request"))?.load();
    assert_eq!(total(&run), logged);
    Ok(())
}
