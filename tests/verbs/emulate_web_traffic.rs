//! The study studies/emulate-web-traffic: one command makes its tables and figures.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn one_command_makes_the_tables_and_the_page() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/emulate-web-traffic/run");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let output =
        Command::new("sh").arg(study).arg(&out).env("OFFERED", env!("CARGO_BIN_EXE_offered")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    // The last row of Table 1b, as published and as it is exactly.
    assert!(text("table-1b-paper.txt").contains("33.15"));
    assert!(text("table-1b-one-queue.txt").contains("24.81"));
    assert_eq!(text("table-4.txt").matches("979.16").count(), 1);
    assert!(text("criterion.txt").contains("dispersion"));
    let page = text("report.html");
    assert!(["CoV", "RoRT"].iter().all(|figure| page.contains(figure)));
}
