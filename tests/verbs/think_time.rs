//! The study studies/think-time, shortened: the simulated grid against theory.

use std::path::Path;
use std::process::Command;

use offered_plan::closed::machine_repair::MachineRepair;
use serde_json::Value;

/// N users with this mean think time at the study's server, seconds.
fn theory(users: u32, think: f64) -> MachineRepair {
    MachineRepair::new(1, 0.0005, u64::from(users), think).unwrap()
}

#[test]
fn the_grid_agrees_with_the_machine_repair_model() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/think-time/workload.toml");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_offered"))
        .arg("sweep")
        .arg(study)
        .args(["--vary", "users=25,50,75", "--vary", "think=5ms,25ms", "--vary", "duration=40s", "--simulate"])
        .args(["--slo", "p90 < 31ms", "--json", "--quiet", "--output"])
        .arg(folder.path().join("grid"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let think = |values: &Value| if values["think"] == "5ms" { 0.005 } else { 0.025 };
    for cell in document["cells"].as_array().unwrap() {
        let users = cell["values"]["users"].as_str().unwrap().parse().unwrap();
        let model = theory(users, think(&cell["values"]));
        let (exact, response) = (model.solve(), &cell["response_ms"]);
        for (measured, exact) in [
            (&cell["completed_rate_per_s"], exact.throughput),
            (&response["mean"], exact.response * 1e3),
            (&response["p90"], model.percentiles().p90 * 1e3),
            (&response["p99"], model.percentiles().p99 * 1e3),
        ] {
            let value = measured["value"].as_f64().unwrap();
            // Three times the 95 % interval: one false alarm in some thousand seeds for 24 figures.
            let sure = (measured["high"].as_f64().unwrap() - value) * 3.0;
            assert!((value - exact).abs() < sure, "{}: {value} +- {sure}, not {exact}", cell["values"]);
        }
    }
    // Number of users with p90 below 31 ms, from theory at the same cells with the same interpolation.
    for limit in document["limits"].as_array().unwrap() {
        let p90 = |users| theory(users, think(&limit["fixed"])).percentiles().p90;
        let Some(above) = [50, 75].into_iter().find(|users| p90(*users) > 0.031) else {
            assert_eq!(limit["value"], Value::Null, "{limit}");
            continue;
        };
        let (low, high) = (p90(above - 25), p90(above));
        let users = f64::from(above - 25) + 25.0 * (0.031 - low) / (high - low);
        assert!((limit["value"].as_f64().unwrap() - users).abs() < 2.0, "{limit}: {users}");
    }
}
