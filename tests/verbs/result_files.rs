//! `--json=FILE`, `--junit` and `--markdown` of `run` and `verify`, workloads from stdin, and `--force`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

const WORKLOAD: &str = "seed = 1\nduration = \"20s\"\narrivals.open.rate = \"50/s\"\ntarget.url = \"http://127.0.0.1:9/\"\n\
                        [thresholds]\n\"p95\" = \"< 200ms\"\n";

/// Runs `offered` in `folder` with this stdin; returns exit code, stdout and stderr.
fn offered(folder: &Path, args: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    command.args(args).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read stdin may have ended.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.toml"), WORKLOAD).unwrap();
    folder
}

#[test]
fn files_hold_what_stdout_would_show_in_their_format() {
    let folder = folder();
    let here = folder.path();
    let files = ["--json=out/run.json", "--junit", "out/run.xml", "--markdown", "out/run.md"];
    let read = |name: &str| fs::read_to_string(here.join("out").join(name)).unwrap();
    let run = ["run", "w.toml", "--dry-run", "-q", "-o", "runs/1"];
    let (code, text, stderr) = offered(here, &[&run[..], &files].concat(), "");
    assert!(code == Some(0) && text.starts_with("VALID ") && stderr.is_empty(), "{text}{stderr}");
    let json: Value = serde_json::from_str(&read("run.json")).unwrap();
    assert_eq!((&json["schema"], &json["validity"]), (&"offered.run/1".into(), &"valid".into()));
    crate::schema::holds("run", &json);
    // The same command with each format on stdout. Processor times differ.
    for (file, format) in [("run.xml", "junit"), ("run.md", "md")] {
        let (_, stdout, _) =
            offered(here, &["run", "w.toml", "--dry-run", "-q", "-o", "runs/1", "--force", "--format", format], "");
        assert_eq!(read(file), stdout);
    }
    assert!(
        read("run.xml").contains("<testcase classname=\"runs/1\" name=\"threshold response.p95 &lt; 200ms\""),
        "{}",
        read("run.xml")
    );
    for (verify, schema) in [(&["verify", "runs/1"][..], "verify"), (&["verify", "runs/1", "runs/1"], "verify-several")]
    {
        let (code, text, stderr) = offered(here, &[verify, &files].concat(), "");
        assert!(code == Some(0) && text.contains("VALID"), "{text}{stderr}");
        crate::schema::holds(schema, &serde_json::from_str(&read("run.json")).unwrap());
        let suites = read("run.xml").matches("<testsuite ").count();
        assert_eq!(suites, verify.len() - 1);
        assert!(read("run.md").contains("assed"), "{}", read("run.md"));
    }
    let (_, stdout, _) = offered(here, &["verify", "runs/1", "--json"], "");
    offered(here, &["verify", "runs/1", "--json=v.json"], "");
    assert_eq!(fs::read_to_string(here.join("v.json")).unwrap(), stdout);
}

#[test]
fn result_files_that_cannot_be_written_are_reported_before_the_run() {
    let folder = folder();
    let here = folder.path();
    for flag in ["--json=w.toml/a.json", "--junit=w.toml/a.xml", "--markdown=."] {
        let (code, stdout, stderr) = offered(here, &["run", "w.toml", "--dry-run", "-o", "runs/1", flag], "");
        assert!(code == Some(2) && stdout.is_empty() && stderr.starts_with("error: cannot write "), "{flag}: {stderr}");
        assert!(!here.join("runs").exists());
    }
    // An input error leaves no empty file behind, which a CI system would take for a result.
    let (code, ..) = offered(here, &["run", "none.toml", "--junit", "a.xml"], "");
    assert!(code == Some(2) && !here.join("a.xml").exists());
    for (args, message) in
        [(&["--json", "--format", "md"][..], "--json=FILE"), (&["--json", "run.json"], "--json=run.json")]
    {
        let (code, _, stderr) = offered(here, &[&["run", "w.toml", "--dry-run"], args].concat(), "");
        assert!(code == Some(2) && stderr.contains(message), "{stderr}");
    }
}

#[test]
fn a_workload_is_read_from_stdin() {
    let folder = folder();
    let here = folder.path();
    let (_, expected, _) = offered(here, &["run", "w.toml", "--dry-run", "-q"], "");
    let (code, stdout, stderr) = offered(here, &["run", "-", "--dry-run", "-q"], WORKLOAD);
    assert_eq!((code, stdout), (Some(0), expected), "{stderr}");
    let (code, _, stderr) =
        offered(here, &["run", "-", "--dry-run"], "duration = \"1s\"\nsede = 1\narrivals.open.rate = \"1/s\"\n");
    assert!(code == Some(2) && stderr.starts_with("error: stdin:2: "), "{stderr}");
    let hook = WORKLOAD.replace("20s", "74s").replace("target.url", "skip_first = \"10s\"\ntarget.url");
    let hook = format!("{hook}[policies]\nnames = [\"a\", \"b\"]\nblock = \"8s\"\nhook = [\"touch\", \"started\"]\n");
    let (code, _, stderr) = offered(here, &["run", "-"], &hook);
    assert!(code == Some(2) && stderr.contains("stdin runs commands: touch started; if you trust it"), "{stderr}");
    let (code, _, stderr) =
        offered(here, &["simulate", "-"], &format!("{WORKLOAD}[server]\nservice.constant = \"1ms\"\n"));
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn force_replaces_a_run_and_nothing_else() {
    let folder = folder();
    let here = folder.path();
    let run = |more: &[&str]| offered(here, &[&["run", "w.toml", "-q", "-o", "runs/1"], more].concat(), "");
    assert_eq!(run(&["--dry-run"]).0, Some(0));
    let (code, _, stderr) = run(&["--dry-run"]);
    assert!(code == Some(2) && stderr.contains("replace the run with --force"), "{stderr}");
    fs::write(here.join("runs/1/events/mark"), "").unwrap();
    // Nothing listens on port 9: the run does not start, and the old one is kept.
    assert_eq!(run(&["--force"]).0, Some(1));
    assert!(here.join("runs/1/events/mark").exists());
    assert_eq!(run(&["--dry-run", "--force"]).0, Some(0));
    assert!(here.join("runs/1/run.json").exists() && !here.join("runs/1/events/mark").exists());
    fs::create_dir(here.join("notes")).unwrap();
    fs::write(here.join("notes/diary.txt"), "").unwrap();
    let (code, _, stderr) = offered(here, &["run", "w.toml", "--dry-run", "-o", "notes", "--force"], "");
    assert!(code == Some(2) && stderr.contains("is not a run directory"), "{stderr}");
    assert!(here.join("notes/diary.txt").exists());
    let (code, _, stderr) = offered(here, &["run", "w.toml", "--dry-run", "--force"], "");
    assert!(code == Some(2) && stderr.contains("--output"), "{stderr}");
}
