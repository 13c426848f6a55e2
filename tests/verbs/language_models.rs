//! The study studies/language-models, simulated: the same engine under four loads.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The rows of a table, by the names of its columns.
fn table(path: &Path) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row =
        |line: &str| names.iter().zip(line.split(',')).map(|(name, cell)| ((*name).into(), cell.into())).collect();
    lines.map(row).collect()
}

fn number(row: &[(String, String)], name: &str) -> f64 {
    let (_, cell) = row.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("{name}: {row:?}"));
    cell.parse().unwrap_or(f64::NAN)
}

#[test]
fn a_fixed_number_of_users_hides_the_queue_of_an_engine() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/language-models/run");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let output = Command::new(study)
        .args(["--simulate", "--small", out.to_str().unwrap()])
        .env("OFFERED", env!("CARGO_BIN_EXE_offered"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let loads = table(&out.join("equal-load.csv"));
    for load in [0.8, 0.9] {
        let of = |arrivals: &str| {
            let row = loads.iter().find(|row| row[0].1 == arrivals && (number(row, "load") - load).abs() < 0.045);
            row.unwrap_or_else(|| panic!("{arrivals} at {load}: {loads:?}"))
        };
        let [poisson, gamma] = ["poisson", "gamma"].map(|arrivals| number(of(arrivals), "ttft_p99_ms"));
        assert!(gamma > 2.0 * poisson, "bursts queue: {gamma} ms against {poisson} ms at {load}");
        assert!(number(of("gamma"), "goodput_percent") < number(of("poisson"), "goodput_percent"));
    }
    // At the throughput that 24 users reach, open arrivals wait far longer than the users do.
    let closed = table(&out.join("closed.csv"));
    let users = closed.iter().find(|row| number(row, "users") == 24.0).unwrap();
    let (own, open) = (number(users, "ttft_p99_ms"), number(users, "poisson_ttft_p99_ms"));
    assert!(open > 2.0 * own, "{open} ms against {own} ms: {users:?}");
    // Goodput of bursts is lower below the capacity, and both collapse above it.
    let goodput = table(&out.join("goodput.csv"));
    let at =
        |share: f64, name: &str| number(goodput.iter().find(|row| number(row, "of_capacity") == share).unwrap(), name);
    assert!(at(0.8, "gamma_goodput_per_s") < at(0.8, "poisson_goodput_per_s"));
    assert!(at(1.3, "poisson_goodput_per_s") < 0.5 * at(0.8, "poisson_goodput_per_s"), "{goodput:?}");
}
