//! `offered verify` with clocks that are coarser than their timestamps.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use offered_base::{Purpose, Seed};
use serde_json::Value;

fn verify(folder: &Path, more: &[&str]) -> Output {
    let command = [&["verify", "launches.txt", "--json"], more].concat();
    Command::new(env!("CARGO_BIN_EXE_offered")).current_dir(folder).args(command).output().unwrap()
}

/// The pattern of these timestamps by `verify`.
fn pattern(folder: &Path, stamps: &[String], more: &[&str]) -> (String, f64) {
    fs::write(folder.join("launches.txt"), stamps.join("\n")).unwrap();
    let output = verify(folder, more);
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tick = verdict["source"]["resolution_ms"].as_f64().unwrap();
    (verdict["pattern"].as_str().unwrap().to_owned(), tick)
}

/// A Poisson process of 100 a second, in ns since 1970.
fn poisson(seed: u64) -> Vec<u64> {
    let mut chance = Seed(seed).stream(Purpose::Arrivals);
    let mut at = 1_700_000_000_000_000_000;
    let mut next = || {
        at += (-chance.uniform().ln() * 1e7) as u64;
        at
    };
    (0..3000).map(|_| next()).collect()
}

/// In seconds, with six decimals.
fn six_decimals(ns: u64) -> String {
    let mut text = String::new();
    write!(text, "{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000).unwrap();
    text
}

/// A test at the 5 % level rejects one of twenty Poisson processes. With the resolution of the notation, it would reject all twenty.
#[test]
fn a_poisson_process_is_recognised_with_any_clock() {
    let dir = tempfile::tempdir().unwrap();
    let (mut exact, mut ms, mut windows, mut by_notation) = (0, 0, 0, 0);
    for seed in 101..=120 {
        let launches = poisson(seed);
        let is_poisson = |stamps: Vec<String>, tick: f64| {
            let (pattern, found) = pattern(dir.path(), &stamps, &[]);
            assert!((found - tick).abs() <= 0.01 * tick, "{found}");
            u32::from(pattern.starts_with("poisson"))
        };
        exact += is_poisson(launches.iter().map(|ns| six_decimals(*ns)).collect(), 0.001);
        let of_ms: Vec<String> = launches.iter().map(|ns| six_decimals(ns / 1_000_000 * 1_000_000)).collect();
        by_notation += u32::from(pattern(dir.path(), &of_ms, &["--tick", "1us"]).0.starts_with("poisson"));
        ms += is_poisson(of_ms, 1.0);
        let tick = 15_625_000;
        windows += is_poisson(launches.iter().map(|ns| (ns / tick * tick / 1_000_000).to_string()).collect(), 15.625);
    }
    println!(
        "of 20: {exact} written exactly, {ms} of a clock of 1 ms, {windows} of one of 15.625 ms; {by_notation} by notation"
    );
    assert_eq!(by_notation, 0);
    assert!(exact >= 17 && ms >= 17 && windows >= 17, "{exact} {ms} {windows}");
}

#[test]
fn the_tick_can_be_given_and_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let stamps: Vec<String> = poisson(1).iter().map(|ns| six_decimals(ns / 1_000_000 * 1_000_000)).collect();
    assert_eq!(pattern(dir.path(), &stamps, &["--tick", "1us"]).1, 0.001);
    assert_eq!(pattern(dir.path(), &stamps, &["--tick", "1ms"]).1, 1.0);
    let verdict: Value = serde_json::from_slice(&verify(dir.path(), &[]).stdout).unwrap();
    let warnings = verdict["warnings"].to_string();
    assert!(warnings.contains("timestamps are in units of 0.001 ms but multiples of 1 ms"), "{warnings}");
}
