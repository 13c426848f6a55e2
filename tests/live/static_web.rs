//! The study studies/static-web in small: a real nginx behind a scheduled link, in network namespaces.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Tested, needs};
use crate::process::until_exists;

tests![alone a_web_server_under_ps_and_srpt_agrees_with_its_model, an_interrupted_study_cleans_up];

/// The study's `run` script, if its requirements are met.
fn study() -> Result<PathBuf, crate::harness::Missing> {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/static-web/run");
    let lacks = Command::new("python3").arg(&run).arg("--needs").output();
    needs("static-web", lacks.is_ok_and(|lacks| lacks.status.success()))?;
    Ok(run)
}

fn started(run: &Path, out: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg(run).arg(out).arg("--small").env("OFFERED", env!("CARGO_BIN_EXE_offered"));
    command
}

fn namespaces_of(number: u32) -> usize {
    let there = Command::new("ip").args(["netns", "list"]).output().unwrap();
    String::from_utf8_lossy(&there.stdout).matches(&format!("offered-{number}-")).count()
}

fn a_web_server_under_ps_and_srpt_agrees_with_its_model() -> Tested {
    let run = study()?;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let output = started(&run, &out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(out.join("measured.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
    let [pairs, response, correlation, dropped] = ["pairs", "real_ms", "correlation", "dropped"].map(column);
    let number = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    assert_eq!(rows.len(), 7, "{text}");
    for row in 1..7 {
        assert!(number(row, pairs) > 1000.0 && number(row, dropped) == 0.0, "{text}");
        // Real and simulated responses correlate: the link follows the discipline.
        assert!(number(row, correlation) > 0.5, "{text}");
    }
    // The same requests: SRPT is faster than PS.
    assert!(number(2, response) < number(1, response), "{text}");
    assert_eq!(std::fs::read_to_string(out.join("simulated.csv")).unwrap().lines().count(), 13);
    Ok(())
}

fn an_interrupted_study_cleans_up() -> Tested {
    let run = study()?;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let mut process = started(&run, &out).spawn().unwrap();
    let number = process.id();
    until_exists(&out.join("server/nginx.pid"));
    assert_eq!(namespaces_of(number), 2);
    let nginx = std::fs::read_to_string(out.join("server/nginx.pid")).unwrap();
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(143));
    assert_eq!(namespaces_of(number), 0);
    assert!(!Path::new("/proc").join(nginx.trim()).exists(), "nginx is still there");
    Ok(())
}
