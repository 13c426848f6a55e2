//! Compares simulations with ../shared/oracles (closed forms and solved Markov chains); the key describes the model.
//!
//! The quick test covers load 0.5. The long one covers all loads to 0.5 %, in some minutes: `cargo test --release -p
//! offered --test foreign -- --ignored`.

use offered_simulate::{Stop, simulate};
use offered_workload::Workload;

use crate::harness::{Missing, Tested};
use crate::program::shared;

tests![
    oracles_at_half_load;
    long all_oracles_to_half_a_percent
];

/// Key and value of every oracle.
fn oracles() -> Result<Vec<(String, f64)>, Missing> {
    let text = std::fs::read_to_string(shared("oracles/queueing.json")?).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pair =
        |entry: &serde_json::Value| (entry["key"].as_str().unwrap().to_owned(), entry["value"].as_f64().unwrap());
    Ok(document["values"].as_array().unwrap().iter().map(pair).collect())
}

/// The number after `name=` in a key.
fn number(key: &str, name: &str) -> Option<f64> {
    let (_, rest) = key.split_once(&format!("{name}="))?;
    rest.split([' ', ':', ',']).next()?.parse().ok()
}

/// Policy named in `text`; expected-size policies use the phase of a hyperexponential distribution.
fn policy(text: &str) -> Option<String> {
    let name = text.split([' ', '(']).next()?.to_lowercase();
    let known = ["fcfs", "ps", "srpt", "psjf", "sjf", "ljf", "pljf", "pesjf", "peljf"];
    if name == "fb/las" { Some("fb".to_owned()) } else { known.contains(&name.as_str()).then_some(name) }
}

/// A server with E[S] = 10 ms. The two phases of the distribution are two requests if the policy uses classes.
fn server(policy: &str, hyperexponential: bool) -> String {
    if !policy.starts_with("pe") {
        let service = if hyperexponential {
            "{ hyperexponential = { mean = \"10ms\", scv = 8 } }"
        } else {
            "{ exponential = \"10ms\" }"
        };
        return format!("[server]\ndiscipline = \"{policy}\"\nservice = {service}\n");
    }
    let p = 0.5 * (1.0 + (7.0f64 / 9.0).sqrt());
    let phase = |p: f64| {
        format!("[[request]]\nget = \"/{p}\"\nweight = {p}\nservice = {{ exponential = \"{:.6}ms\" }}\n", 5.0 / p)
    };
    format!(
        "[server]\ndiscipline = \"{policy}\"\nservice = {{ exponential = \"10ms\" }}\n{}{}",
        phase(p),
        phase(1.0 - p)
    )
}

/// A supported oracle: a workload with E[S] = 10 ms, its load, and its exact mean response in milliseconds.
struct Case {
    workload: Workload,
    load: f64,
    truth: f64,
}

/// Parses a key; `None` if it names another kind of queue.
fn case(key: &str, value: f64) -> Option<Case> {
    // Keys that name a C2 have other distributions than C2 = 8.
    let load = number(key, "rho").filter(|_| !key.contains("C2="))?;
    let (arrivals, truth, policy, hyperexponential) = if let Some(rest) = key.strip_prefix("closed H2 ") {
        // N users complete a cycle every N E[S] / load; the cycle minus the response is the think time.
        let users = number(key, "N")?;
        let other = users * 10.0 / load - value;
        let (think, truth) = if key.ends_with(": Z") { (value, other) } else { (other, value) };
        let think = format!("closed = {{ users = {users}, think = {{ exponential = \"{think:.6}ms\" }} }}");
        (think, truth, policy(rest)?, true)
    } else {
        let (of, rest) = key.split_once(" E[S]=10 ")?;
        let hyperexponential = of == "M/H2/1";
        if !hyperexponential && of != "M/M/1" {
            return None;
        }
        let rate = format!("open = {{ rate = \"{}/s\" }}", load * 100.0);
        (rate, value, policy(rest.split_once("E[T] ")?.1)?, hyperexponential)
    };
    let text = format!("duration = \"1000s\"\narrivals.{arrivals}\n{}", server(&policy, hyperexponential));
    Some(Case { workload: Workload::parse(&text, key, &|_| Err(String::new())).unwrap(), load, truth })
}

fn cases() -> Result<Vec<(String, Case)>, Missing> {
    let understood = |(key, value): (String, f64)| Some((key.clone(), case(&key, value)?));
    let cases: Vec<_> = oracles()?.into_iter().filter_map(understood).collect();
    assert!(cases.len() >= 40, "only {} keys were understood", cases.len());
    Ok(cases)
}

/// Simulates, and checks that the oracle's mean response lies within four thirds of an interval with relative
/// half-width `within`.
fn holds(key: &str, case: &Case, stop: Stop, within: f64) {
    let mean = simulate(&case.workload, stop, None).unwrap().summary.response.mean;
    let (found, half) = (mean.value * 1e3, mean.half_width() * 1e3);
    println!(
        "{key}: {found:.4} +- {half:.4}, exactly {:.4} ({:+.2} %)",
        case.truth,
        100.0 * (found / case.truth - 1.0)
    );
    assert!(half <= within * case.truth, "{key}: {found} +- {half} is too coarse to tell");
    assert!((found - case.truth).abs() <= 4.0 / 3.0 * half, "{key}: {found} +- {half} against {}", case.truth);
}

fn oracles_at_half_load() -> Tested {
    let cases = cases()?;
    let at_half: Vec<_> = cases.iter().filter(|(_, case)| case.load == 0.5).collect();
    assert!(at_half.len() >= 10, "only {} keys are of half load", at_half.len());
    for (key, case) in at_half {
        holds(key, case, Stop::Jobs(200_000), 0.1);
    }
    Ok(())
}

fn all_oracles_to_half_a_percent() -> Tested {
    for (key, case) in cases()? {
        holds(&key, &case, Stop::Precision(0.005), 0.005);
    }
    Ok(())
}
