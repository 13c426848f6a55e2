//! The study studies/retries, simulated: the goodput at a rate depends on whether the load rises or falls.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Goodput by direction and rate of first attempts.
fn goodput(table: &Path) -> HashMap<(String, u32), f64> {
    let text = fs::read_to_string(table).unwrap();
    let rates = (0..10).map(|step| 300 + 100 * step);
    let rates = rates.clone().chain(rates.rev());
    let row = |(line, rate): (&str, u32)| {
        let cells: Vec<&str> = line.split(',').collect();
        ((cells[0].to_owned(), rate), cells[4].parse().unwrap())
    };
    text.lines().skip(1).zip(rates).map(row).collect()
}

#[test]
fn retries_make_the_goodput_depend_on_the_past_and_a_budget_or_a_breaker_ends_that() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/retries/run");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let output = Command::new(study)
        .args(["--simulate", out.to_str().unwrap()])
        .env("OFFERED", env!("CARGO_BIN_EXE_offered"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let of = |policy: &str, direction: &str, rate| {
        goodput(&out.join(format!("{policy}-simulated.csv")))[&(direction.to_owned(), rate)] / f64::from(rate)
    };
    // Three attempts of 700/s are more than 1000/s; three of 300/s are not.
    assert!(of("retries", "up", 700) > 0.95 && of("retries", "down", 700) < 0.2);
    // During this step the backlog drains and the requests succeed again.
    assert!(of("retries", "down", 300) > 0.4, "{}", of("retries", "down", 300));
    for policy in ["no-retries", "budget", "breaker"] {
        assert!(of(policy, "down", 600) > 0.95, "{policy}: {}", of(policy, "down", 600));
    }
    let page = fs::read_to_string(out.join("page.html")).unwrap();
    assert!(page.contains("a circuit breaker ends it"), "the page shows its claims");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("retries overloaded the server"), "{text}");
}
