//! The study studies/e-commerce in small: a shop in a temporary PostgreSQL, under alternating policies.

use std::path::Path;
use std::process::Command;

use crate::harness::{Tested, needs};
use crate::process::offered;

tests![alone every_policy_has_rows_with_measured_utilisation];

fn every_policy_has_rows_with_measured_utilisation() -> Tested {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/e-commerce/run");
    needs("e-commerce", Command::new(&study).arg("--needs").output().is_ok_and(|said| said.status.success()))?;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = |args: &[&str]| {
        let program = offered(&[]).get_program().to_owned();
        Command::new(&study).env("OFFERED", program).arg(&out).args(args).output().unwrap()
    };
    let wrong = run(&["--small", "--policies", "ps,srpt"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("unknown policy `srpt`"));
    let made = run(&["--small"]);
    assert!(
        made.status.success(),
        "{}{}",
        String::from_utf8_lossy(&made.stdout),
        String::from_utf8_lossy(&made.stderr)
    );
    let table = std::fs::read_to_string(out.join("2b.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let whole: Vec<_> = rows.iter().filter(|row| row[3] == "all").map(|row| (row[0], row[1], row[2])).collect();
    let expected = ["open", "closed"].map(|system| ["ps", "rr", "mpl2"].map(|policy| (system, "0.9", policy)));
    assert_eq!(whole, expected.as_flattened(), "{table}");
    for row in &rows {
        let utilisation: f64 = row[4].parse().unwrap();
        assert!(utilisation > 0.0 && utilisation < 1.2, "{row:?}");
    }
    let alone = std::fs::read_to_string(out.join("alone.csv")).unwrap();
    assert!(alone.lines().count() == 15 && alone.contains("\nbest_sellers,long,"), "{alone}");
    Ok(())
}
