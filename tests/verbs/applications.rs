//! The workloads of `examples/apps`: complete without their applications, and short beside the same as a script for k6.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn applications() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    assert!(folders.len() >= 3, "{folders:?}");
    folders
}

#[test]
fn each_workload_has_a_schedule() {
    for folder in applications() {
        let mut run = Command::new(env!("CARGO_BIN_EXE_offered"));
        let output =
            run.args(["run", "workload.toml", "--seed", "1", "--dry-run"]).current_dir(&folder).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        // With the warning, in a run this short, that some think times are longer.
        assert!(text.lines().any(|line| line.starts_with("VALID")), "{folder:?}: {text}{output:?}");
    }
}

#[test]
fn a_workload_has_at_most_1_3_times_the_lines_of_the_script_for_k6() {
    for folder in applications() {
        let lines = |file: &str, comment: &str| {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            let lines = text.lines().map(str::trim);
            lines.filter(|line| !line.is_empty() && !line.starts_with(comment)).count()
        };
        let (ours, theirs) = (lines("workload.toml", "#"), lines("k6.js", "//"));
        assert!(10 * ours <= 13 * theirs, "{folder:?}: {ours} lines, k6 {theirs}");
    }
}
