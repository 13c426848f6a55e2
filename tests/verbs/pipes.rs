//! A reader such as `head`, which closes the pipe before everything is written: no command takes that for an error.

use std::process::{Command, Stdio};

fn offered(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    command.args(args);
    command
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    // Longer than the buffer of a pipe in every format.
    let load = ["run", "http://192.0.2.1/", "--open", "1000/s", "-d", "5s", "--seed", "5", "--dry-run", "-o", run];
    assert!(offered(&load).output().unwrap().status.success());
    let formats = ["csv", "k6", "otlp", "arrow", "jtl", "vegeta", "hdr", "combined", "pgbench", "gaps", "tar"];
    let exports = formats.map(|format| vec!["export", run, "--format", format]);
    let others = [
        vec!["verify", run, "--details"],
        vec!["verify", run, "--json"],
        vec!["report", run, "--format", "md"],
        vec!["schema", "workload"],
        vec!["run", "http://192.0.2.1/", "--open", "10/s", "--dry-run"],
    ];
    for args in exports.into_iter().chain(others) {
        let mut child = offered(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && !stderr.contains("error"), "{args:?}: {} {stderr}", ended.status);
    }
}
