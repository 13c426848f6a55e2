//! Servers with known parameters are recovered from their events.

use std::path::{Path, PathBuf};

use offered_base::{Purpose, Seed};
use offered_distributions::Distribution;
use offered_simulate::{Stop, simulate};
use offered_store::ReadOptions;
use offered_workload::Workload;
use tempfile::TempDir;

use super::scalability::of_points;
use super::survival::Survival;
use super::{Conclusion, Fit, FitOptions, fit};
use crate::{Error, VerifyOptions, simulate_into};

/// A run of this workload, as it would be recorded: the seed on record is not the one that determined the service times, so a simulation of
/// the run has neither its arrivals nor its service times.
fn run(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let out = folder.path().join(name);
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    simulate_into(text, &workload, None, Stop::Duration, &out).unwrap();
    let file = out.join("run.json");
    let mut record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["seed"] = 77.into();
    std::fs::write(&file, record.to_string()).unwrap();
    out
}

fn fitted(runs: &[PathBuf]) -> Result<Fit, Error> {
    let verified = |path: &PathBuf| -> Result<_, Error> {
        let run = VerifyOptions::default().verify(&Path::new(path).into(), &ReadOptions::default(), |_, _| {});
        Ok((path.clone(), run?))
    };
    fit(runs.iter().map(verified).collect::<Result<_, Error>>()?, &FitOptions::default())
}

fn open(seed: u64, rate: u32, seconds: u32, server: &str) -> String {
    format!(
        "seed = {seed}\nduration = \"{seconds}s\"\nskip_first = \"5s\"\narrivals.open.rate = \"{rate}/s\"\n{server}\n"
    )
}

#[test]
fn one_server_under_processor_sharing() {
    let server = "server = { discipline = \"ps\", service = { exponential = \"10ms\" } }";
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = [(1, 20), (2, 60), (3, 80)]
        .map(|(seed, rate)| run(&folder, &rate.to_string(), &open(seed, rate, 500, server)))
        .into();
    let found = fitted(&runs).unwrap();
    let (service, best) = (&found.service[0], &found.candidates[0]);
    assert!(service.mean_low_ms < 10.3 && service.mean_high_ms > 9.7, "{service:?}");
    assert!(service.distribution.contains("exponential") || service.scv > 0.9 && service.scv < 1.1, "{service:?}");
    assert_eq!((best.discipline.as_str(), best.servers, best.explains), ("ps", 1, true), "{:#?}", found.candidates);
    assert_eq!(found.conclusion, Conclusion::Determined, "{:#?}", found.candidates);
    let capacity = &found.saturation[0];
    assert!(capacity.low_per_s.unwrap() < 102.0 && capacity.high_per_s.unwrap() > 98.0, "{capacity:?}");
    assert!(found.left_out.iter().all(|run| run.largest_difference < 4.5), "{:#?}", found.left_out);
    // The workload that is written is one that is read, with the fitted server.
    let workload = Workload::parse(&found.workload.unwrap(), "f.toml", &|_| Err(String::new())).unwrap();
    assert_eq!(workload.server().unwrap().discipline().to_string(), "ps");
}

#[test]
fn two_servers_in_order_of_arrival_with_erlang_service() {
    let server =
        "server = { servers = 2, discipline = \"fcfs\", service = { erlang = { mean = \"20ms\", stages = 3 } } }";
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> =
        [(4, 30), (5, 85)].map(|(seed, rate)| run(&folder, &rate.to_string(), &open(seed, rate, 600, server))).into();
    let found = fitted(&runs).unwrap();
    let (service, best) = (&found.service[0], &found.candidates[0]);
    assert!((service.mean_ms / 20.0 - 1.0).abs() < 0.03 && (service.scv - 1.0 / 3.0).abs() < 0.05, "{service:?}");
    assert_eq!((best.discipline.as_str(), best.servers, best.explains), ("fcfs", 2, true), "{:#?}", found.candidates);
}

#[test]
fn classes_with_priority() {
    let requests = "[[request]]\nname = \"short\"\nget = \"/s\"\nweight = 3\nservice = { exponential = \"4ms\" }\n\
        [[request]]\nname = \"long\"\nget = \"/l\"\nservice = { exponential = \"20ms\" }";
    let server = format!("server = {{ discipline = \"priority\", service = {{ constant = \"1ms\" }} }}\n{requests}");
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> =
        [(6, 30), (7, 95)].map(|(seed, rate)| run(&folder, &rate.to_string(), &open(seed, rate, 600, &server))).into();
    let found = fitted(&runs).unwrap();
    assert!(
        (found.service[0].mean_ms / 4.0 - 1.0).abs() < 0.05 && (found.service[1].mean_ms / 20.0 - 1.0).abs() < 0.06
    );
    let best = &found.candidates[0];
    assert_eq!((best.discipline.as_str(), best.explains), ("priority", true), "{:#?}", found.candidates);
}

#[test]
fn a_server_whose_requests_contend_has_load_dependent_rates() {
    let server = "server = { discipline = \"ps\", service = { erlang = { mean = \"10ms\", stages = 2 } }, rates = { contention = 0.3 } }";
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<PathBuf> = [(11, 20), (12, 120), (13, 250)]
        .map(|(seed, rate)| run(&folder, &rate.to_string(), &open(seed, rate, 400, server)))
        .into();
    let found = fitted(&runs).unwrap();
    let best = &found.candidates[0];
    let rates = best.rates.unwrap();
    assert!(best.explains && best.discipline == "ps", "{:#?}", found.candidates);
    // Without coherency in the server there is none in the workload, which therefore has a steady state.
    assert!(rates.contention_low < 0.3 && 0.3 < rates.contention_high && rates.coherency == 0.0, "{rates:?}");
    assert_eq!((found.conclusion, found.warnings.len()), (Conclusion::Determined, 0), "{:?}", found.warnings);
    let capacity = &found.saturation[0];
    assert!(capacity.low_per_s.unwrap() < 333.0 && capacity.high_per_s.unwrap() > 333.0, "{capacity:?}");
    let workload = Workload::parse(&found.workload.unwrap(), "f.toml", &|_| Err(String::new())).unwrap();
    let written = workload.server().unwrap().rates().unwrap().at(2);
    assert!((written - 2.0 / (1.0 + rates.contention)).abs() < 1e-9, "{written}");
    assert!(simulate(&workload, Stop::Jobs(10_000), None).is_ok());
}

/// The rate has its peak with 21 requests in flight. Users of a closed system take the server beyond it, those of an open one do not.
#[test]
fn a_rate_that_falls_is_found_and_written_with_a_limit_for_open_arrivals() {
    let server = "server = { discipline = \"ps\", service = { exponential = \"10ms\" }, rates = { contention = 0.1, coherency = 0.002 } }";
    let text = |seed: u64, arrivals: &str| {
        format!("seed = {seed}\nduration = \"100s\"\nskip_first = \"5s\"\n{arrivals}\n{server}\n")
    };
    let closed = |users: u32| format!("arrivals.closed = {{ users = {users}, think.exponential = \"60ms\" }}");
    let folder = tempfile::tempdir().unwrap();
    // With open arrivals such a server needs a limit, which the run does not reach.
    let run = |seed: u64, arrivals: &str| {
        let text = text(seed, arrivals);
        let text = if arrivals.contains("open") { text.replace("\"ps\"", "\"ps:64\"") } else { text };
        run(&folder, &seed.to_string(), &text)
    };
    let [low, one, many, most] = [(21, 2), (22, 12), (23, 40), (24, 80)].map(|(seed, users)| run(seed, &closed(users)));
    let found = fitted(&[low, one.clone(), many.clone(), most.clone()]).unwrap();
    let rates = found.candidates[0].rates.unwrap();
    assert!(found.candidates[0].explains && found.warnings.is_empty(), "{:#?}", found.candidates);
    assert!(rates.contention_low < 0.1 && 0.1 < rates.contention_high, "{rates:?}");
    assert!(
        rates.coherency_low < 0.002 && 0.002 < rates.coherency_high && rates.peak().unwrap().abs_diff(21) < 3,
        "{rates:?}"
    );
    assert!(found.workload.unwrap().contains("discipline = \"ps\"\n"));
    let found = fitted(&[run(25, "arrivals.open.rate = \"30/s\""), one, many, most]).unwrap();
    assert!(
        found.warnings.iter().any(|warning| warning.contains("the largest number measured")),
        "{:?}",
        found.warnings
    );
    let workload = Workload::parse(&found.workload.unwrap(), "f.toml", &|_| Err(String::new())).unwrap();
    assert!(workload.server().unwrap().discipline().to_string().starts_with("ps:"));
    assert!(simulate(&workload, Stop::Jobs(10_000), None).is_ok());
}

#[test]
fn a_low_load_does_not_tell_disciplines_apart() {
    let server = "server = { discipline = \"fcfs\", service = { exponential = \"10ms\" } }";
    let folder = tempfile::tempdir().unwrap();
    let found = fitted(&[run(&folder, "low", &open(8, 2, 2000, server))]).unwrap();
    assert_eq!(found.conclusion, Conclusion::Ambiguous, "{:#?}", found.candidates);
    assert!(found.reason.contains("add a run at a higher load") && found.warnings.len() == 1, "{}", found.reason);
}

#[test]
fn too_few_unloaded_requests_are_an_error_that_says_what_to_add() {
    let server = "server = { discipline = \"ps\", service = { exponential = \"10ms\" } }";
    let folder = tempfile::tempdir().unwrap();
    let why = fitted(&[run(&folder, "short", &open(9, 50, 8, server))]).unwrap_err().to_string();
    assert!(why.contains("add a run at a low rate"), "{why}");
}

/// Times that are cut off by the next arrival are not the shorter ones.
#[test]
fn censored_times_do_not_bias_the_mean() {
    let mut random = Seed(3).stream(Purpose::Judge);
    let times = (0..50_000).map(|_| (random.exponential(), 2.0 * random.exponential()));
    let survival =
        Survival::new(times.map(|(own, next)| if own <= next { (own, true) } else { (next, false) }).collect());
    let complete: Vec<f64> = survival.times.iter().filter(|time| time.1).map(|time| time.0).collect();
    let naive = complete.iter().sum::<f64>() / complete.len() as f64;
    assert!((naive - 2.0 / 3.0).abs() < 0.02, "{naive}");
    assert!((survival.mean_and_sdev().0 - 1.0).abs() < 0.03, "{}", survival.mean_and_sdev().0);
    let exact = Distribution::exponential(1.0).unwrap();
    let most = survival.steps.iter().map(|(time, below)| (below - exact.cdf(*time)).abs()).fold(0.0, f64::max);
    assert!(most < 0.015, "{most}");
}

#[test]
fn the_universal_scalability_law_is_recovered_with_its_peak() {
    let mut random = Seed(5).stream(Purpose::Judge);
    let (gamma, alpha, beta) = (1000.0, 0.03, 0.0005);
    let exact = |n: f64| gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
    let points: Vec<(f64, f64, f64)> = [1.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0]
        .map(|n| (n, exact(n) * (1.0 + 0.01 * random.normal()), 0.01 * exact(n)))
        .into();
    let found = of_points(&points).unwrap();
    assert!(found.alpha_low < alpha && alpha < found.alpha_high, "{found:?}");
    assert!(found.beta_low < beta && beta < found.beta_high, "{found:?}");
    let (peak, most) = (f64::sqrt((1.0 - alpha) / beta), exact(f64::sqrt((1.0 - alpha) / beta)));
    assert!((found.peak_in_flight.unwrap() / peak - 1.0).abs() < 0.1, "{found:?}");
    assert!(found.peak_low_per_s.unwrap() < most && most < found.peak_high_per_s.unwrap(), "{found:?}");
    assert!(found.largest_left_out_error < 0.1, "{found:?}");
    let why = of_points(&points[..3]).unwrap_err();
    assert!(why.contains("needs 5 runs"), "{why}");
}
