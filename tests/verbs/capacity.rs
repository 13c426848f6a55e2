//! `offered capacity` against theory.

use std::fs;
use std::process::Command;

use serde_json::Value;

fn capacity(text: &str, args: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_offered"));
    let output =
        command.arg("capacity").arg(&file).args(["--simulate", "--json", "--quiet"]).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_capacity_of_an_m_m_1_is_where_its_p99_reaches_the_limit() {
    // ln(100) / (mu - lambda) = 250 ms
    let truth = 100.0 - 100f64.ln() / 0.25;
    let text = "seed = 1\nduration = \"5m\"\nskip_first = \"10s\"\narrivals.open.rate = \"50/s\"\nserver.service = { exponential = \"10ms\" }\n";
    let found = capacity(text, &["--vary", "rate", "--slo", "p99 < 250ms, errors < 0.1%", "--precision", "10%"]);
    let (low, high) = (found["low"].as_f64().unwrap(), found["high"].as_f64().unwrap());
    assert!(low <= truth && truth <= high, "{low} to {high}, truth {truth}");
    assert!(high / low < 1.3, "{low} to {high}");
    assert!(found["complete"] == true && found["generator_limit"] == Value::Null);
    assert!(found["trials"].as_u64().unwrap() <= 400);
}

/// The number in the guide.
#[test]
#[ignore = "takes minutes: cargo test --release -p offered --test verbs capacity -- --ignored --nocapture"]
fn the_interval_contains_the_true_value_for_most_seeds() {
    let truth = 100.0 - 100f64.ln() / 0.25;
    // CI uses `OFFERED_RUNS=10`.
    let seeds =
        std::env::var("OFFERED_RUNS").map_or(100, |seeds| seeds.parse().expect("OFFERED_RUNS is a number of seeds"));
    let (mut held, mut widths, mut trials) = (0, Vec::new(), 0);
    for seed in 1..=seeds {
        let text = format!(
            "seed = {}\nduration = \"10m\"\nskip_first = \"10s\"\narrivals.open.rate = \"50/s\"\nserver.service = {{ exponential = \"10ms\" }}\n",
            seed * 1000
        );
        let found = capacity(&text, &["--vary", "rate", "--slo", "p99 < 250ms"]);
        let (low, high) = (found["low"].as_f64().unwrap(), found["high"].as_f64().unwrap());
        held += u32::from(low <= truth && truth <= high);
        widths.push(high / low);
        trials += found["trials"].as_u64().unwrap();
        println!("seed {seed}: {low:.2} to {high:.2}, held by {held}");
    }
    widths.sort_by(f64::total_cmp);
    println!("held by {held} of {seeds}; median width {:.3}; {} trials each", widths[widths.len() / 2], trials / seeds);
    let least = if seeds < 100 { 0.7 } else { 0.9 };
    assert!(f64::from(held) >= least * seeds as f64, "{held} of {seeds}");
}

/// Twenty sizes above the limit are 1.9 million requests, and 48 trials have 260,000.
#[test]
fn simulations_with_few_large_sizes_decide_nothing() {
    let text = "seed = 1\nduration = \"1m\"\narrivals.open.rate = \"90/s\"\n\
                server.service = { pareto = { min = \"5.4545ms\", shape = 2.2 } }\n";
    let found = capacity(text, &["--vary", "rate", "--slo", "p99 < 1s", "--trials", "48"]);
    let [point] = &found["points"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!(
        (&point["trials"], &point["result"], &point["metrics"][0]["low"]),
        (&48.into(), &"undecided".into(), &Value::Null)
    );
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("too few of them for response.p99: 1") && warning.ends_with("increase duration"),
        "{warning}"
    );
}

#[test]
fn the_number_of_users_agrees_with_the_machine_repair_model() {
    use offered_plan::closed::machine_repair::MachineRepair;
    let text = "seed = 1\nduration = \"1m\"\nskip_first = \"2s\"\narrivals.closed = { users = 5, think = { exponential = \"100ms\" } }\nserver.service = { exponential = \"5ms\" }\n";
    let found = capacity(text, &["--vary", "users", "--slo", "mean < 50ms"]);
    let (low, high) = (found["low"].as_f64().unwrap(), found["high"].as_f64().unwrap());
    let mean = |users: f64| MachineRepair::new(1, 0.005, users as u64, 0.1).unwrap().solve().response;
    assert!(mean(low) < 0.05 && mean(high) > 0.05, "{low} to {high}: {} to {}", mean(low), mean(high));
}

#[test]
fn the_number_of_trials_is_limited() {
    let text = "seed = 1\nduration = \"1m\"\nskip_first = \"2s\"\narrivals.open.rate = \"10/s\"\nserver.service = { exponential = \"5ms\" }\n";
    let text = text.replace("10/s", "50/s");
    let found = capacity(&text, &["--vary", "rate", "--slo", "p99 < 250ms", "--trials", "4"]);
    assert_eq!((&found["complete"], &found["trials"], &found["high"]), (&Value::Bool(false), &4.into(), &Value::Null));
}
