//! The study studies/open-vs-closed, shortened: one command makes the tables of figure 2.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn one_command_makes_the_tables_of_figure_2() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/open-vs-closed/run");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let mut command = Command::new("sh");
    command.arg(study).arg("--small").arg(&out);
    let output = command.env("OFFERED", env!("CARGO_BIN_EXE_offered")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (figure, policies) in [("2c", ["fcfs", "ps", "psjf"]), ("2d", ["fcfs", "sjf", "ljf"])] {
        for (model, points) in [("open", 2), ("closed", 2), ("partly-open", 12)] {
            let table = fs::read_to_string(out.join(format!("{figure}-{model}.csv"))).unwrap();
            for policy in policies {
                let rows = table.lines().filter(|line| line.starts_with(&format!("{policy},")));
                assert_eq!(rows.count(), points, "{figure}, {model}, {policy}");
            }
        }
    }
}
