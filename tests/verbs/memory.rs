//! Memory: three million launches take no more than the book promises, and so would any number of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What a verb may take at most; three million events in memory would be 500 MB.
const MOST_KB: u64 = 300_000;

/// The most memory that the program has held, in kB, as the kernel counts it; looked at until it ends.
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
fn three_million_launches_are_never_held() {
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
        bounded(&[&run[..], &["--out", "r"]].concat());
    });
    thread::scope(|scope| {
        scope.spawn(|| bounded(&["verify", "r"]));
        scope.spawn(|| bounded(&["report", "r", "-o", "r.html"]));
        bounded(&["export", "r", "--to", "jtl", "-o", "r.jtl"]);
    });
    bounded(&["verify", "r.jtl"]);
}

#[test]
fn a_rate_that_no_machine_has_is_played_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "http://127.0.0.1:9/", "--open", "10000000/s", "-d", "200ms", "--seed", "1", "--dry-run"];
    let bounded = |args: &[&str]| {
        let peak = peak_kb(folder.path(), args);
        assert!((5_000..MOST_KB).contains(&peak), "{args:?} held {peak} kB");
    };
    thread::scope(|scope| {
        scope.spawn(|| bounded(&run));
        bounded(&[&run[..], &["--out", "r"]].concat());
    });
}
