//! Memory use does not grow with the length of a recording: three million requests stay below the limit in the book.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Memory limit of a command; three million events in memory would take 800 MB.
const MOST_KB: u64 = 300_000;

/// Peak memory of the program in kB, polled until it ends.
#[expect(clippy::disallowed_methods, reason = "it is another process that is waited for")]
fn peak_kb(folder: &Path, args: &[&str]) -> u64 {
    let mut program = Command::new(env!("CARGO_BIN_EXE_offered"));
    let mut child = program.current_dir(folder).args(args).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let ended = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let held = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        peak = peak.max(held.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "{args:?}");
    peak
}

#[test]
#[ignore = "a minute and more: .ci/full memory"]
fn three_million_requests_are_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let workload = "seed = 5\nduration = \"100s\"\ntarget.url = \"http://127.0.0.1:9/\"\n[arrivals]\nopen = { rate = \"30000/s\" }\n";
    fs::write(folder.join("w.toml"), workload).unwrap();
    let run = ["run", "w.toml", "--quiet", "--dry-run", "exponential:20ms"];
    let bounded = |args: &[&str]| {
        let peak = peak_kb(folder, args);
        assert!((5_000..MOST_KB).contains(&peak), "{args:?} held {peak} kB");
    };
    thread::scope(|scope| {
        scope.spawn(|| bounded(&run));
        bounded(&[&run[..], &["--output", "r"]].concat());
    });
    thread::scope(|scope| {
        scope.spawn(|| bounded(&["verify", "r"]));
        scope.spawn(|| bounded(&["report", "r", "-o", "r.html"]));
        bounded(&["export", "r", "--format", "jtl", "-o", "r.jtl"]);
    });
    bounded(&["verify", "r.jtl"]);
}

#[test]
fn a_dry_run_at_an_extreme_rate_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "http://127.0.0.1:9/", "--open", "10000000/s", "-d", "200ms", "--seed", "1", "--dry-run"];
    let bounded = |args: &[&str]| {
        let peak = peak_kb(folder.path(), args);
        assert!((5_000..MOST_KB).contains(&peak), "{args:?} held {peak} kB");
    };
    thread::scope(|scope| {
        scope.spawn(|| bounded(&run));
        bounded(&[&run[..], &["--output", "r"]].concat());
    });
}
