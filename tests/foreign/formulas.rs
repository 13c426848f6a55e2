//! Compares every number of `../shared/oracles/queueing.json` for which `offered-plan` has a formula or a chain, to six
//! significant digits.
//!
//! The keys describe the systems.

use offered_distributions::Distribution;
use offered_distributions::Shape;
use offered_distributions::superposition;
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::closed::{RequestStream, mva, phases, priority, schweitzer};
use offered_plan::open::mg1::Mg1;
use offered_plan::open::mmm::Mmm;
use offered_plan::open::priority as ranks;
use offered_plan::open::size_based::{Policy, response};
use offered_plan::partly_open::SessionStream;
use offered_plan::{Station, load};

use crate::harness::Tested;
use crate::program::shared;

tests![formulas_match_the_oracles_to_six_digits];

/// The number after `name=` in a key.
fn number(key: &str, name: &str) -> f64 {
    let start = key.match_indices(name).find(|(i, _)| *i == 0 || !key.as_bytes()[i - 1].is_ascii_alphanumeric());
    let rest = &key[start.unwrap_or_else(|| panic!("{name} in {key}")).0 + name.len()..];
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().unwrap_or_else(|_| panic!("{name} in {key}"))
}

fn h2(scv: f64) -> Distribution {
    Distribution::hyperexponential(10.0, scv).unwrap()
}

/// Mean 10, C2 8 and the third moment of the gamma distribution with these values.
fn h2_gamma3() -> Distribution {
    let (mut low, mut high) = (7.0 / 9.0 + 1e-9, 1.0 - 1e-9);
    for _ in 0..200 {
        let p = f64::midpoint(low, high);
        let third = Distribution::hyperexponential_with(10.0, 8.0, p).unwrap().third_moment();
        if third < 1000.0 * 9.0 * 17.0 { low = p } else { high = p }
    }
    Distribution::hyperexponential_with(10.0, 8.0, low).unwrap()
}

/// The branches of a hyperexponential distribution: (p, short mean, long mean).
fn branches(law: &Distribution) -> (f64, f64, f64) {
    match law.shape() {
        Shape::Hyperexponential { p, first, second } => (*p, *first, *second),
        other => panic!("{other:?}"),
    }
}

/// Mean response of an open M/G/1 at a load, under the policy named as in the oracle.
fn open(law: &Distribution, rho: f64, policy: &str) -> f64 {
    let rate = rho / law.mean();
    let queue = Mg1::new(law, rate).unwrap();
    let sized = |policy| response(law, rate, policy).unwrap();
    let ranked = |short_first: bool| {
        let (p, first, second) = branches(law);
        let class =
            |share: f64, mean| ranks::Class { rate: rate * share, service: Distribution::exponential(mean).unwrap() };
        let mut classes = vec![class(p, first), class(1.0 - p, second)];
        if !short_first {
            classes.reverse();
        }
        ranks::mean(&classes, ranks::Rank::Preemptive).unwrap()
    };
    match policy.split_whitespace().next().unwrap_or("FCFS") {
        "FCFS" => queue.fcfs().unwrap(),
        "PS" => queue.ps(),
        "SRPT" => sized(Policy::Srpt),
        "PSJF" => sized(Policy::Psjf),
        "SJF" => sized(Policy::Sjf),
        "LJF" => sized(Policy::Ljf),
        "PLJF" => sized(Policy::Pljf),
        "FB" | "FB/LAS" => sized(Policy::Fb),
        "PESJF" => ranked(true),
        "PELJF" => ranked(false),
        other => panic!("policy {other}"),
    }
}

fn launch(launches: &RequestStream, what: &str) -> f64 {
    match what {
        "CoV of launch gaps" => launches.cov,
        "lag-1 corr of gaps" => launches.lag1,
        "IDC limit of launch counts" => launches.dispersion,
        other => panic!("{other}"),
    }
}

fn machine_repair(key: &str, what: &str) -> f64 {
    let servers = if key.starts_with("M/M/4") { 4 } else { 1 };
    let users = if servers == 4 { 200 } else { number(key, "N=") as u64 };
    let model = MachineRepair::new(servers, number(key, "S="), users, number(key, "Z=")).unwrap();
    match what {
        "Q" => model.solve().in_system,
        "X" => model.solve().throughput,
        "R p50" => model.percentiles().p50,
        "R p95" => model.percentiles().p95,
        "R p99" => model.percentiles().p99,
        what => launch(&model.request_stream().unwrap(), what),
    }
}

/// A closed system with E[S] = 10, named as in the oracle: its mean response and throughput at a think time.
fn closed(key: &str, users: u64, think: f64) -> (f64, f64) {
    let scv = if key.contains("C2=") { number(key, "C2=") } else { 8.0 };
    if key.contains("PS N=") {
        let answer = MachineRepair::new(1, 10.0, users, think).unwrap().solve();
        return (answer.response, answer.throughput);
    }
    let (p, short, long) = branches(&h2(8.0));
    let answer = if key.contains("PESJF") {
        priority::preemptive(p, short, long, users, think).unwrap()
    } else if key.contains("PELJF") {
        priority::preemptive(1.0 - p, long, short, users, think).unwrap()
    } else {
        phases::solve(&h2(scv), users, think).unwrap()
    };
    (answer.response, answer.throughput)
}

fn closed_at_load(key: &str, what: &str) -> f64 {
    let users = number(key, "N=") as u64;
    if what == "load" {
        return closed(key, users, number(key, "Z=")).1 * 10.0;
    }
    let rho = number(key, "rho=");
    let throughput = |think: f64| Ok(closed(key, users, think).1);
    let think = load::closed_think(rho, 1, 10.0, users, throughput).unwrap();
    if what == "Z" { think } else { closed(key, users, think).0 }
}

fn partly_open(key: &str) -> f64 {
    let rho = number(key, "rho=");
    if key.contains("Z->inf") {
        return SessionStream::new(rho / 10.0 * 0.25, 0.75).unwrap().fcfs_limits(&h2(8.0)).unwrap().long_think;
    }
    if key.contains("exponential") {
        return SessionStream::new(rho / 10.0 * 0.25, 0.75).unwrap().product_form(1, 10.0).unwrap();
    }
    if key.contains("p=.75 Z=") && !key.contains("Z->") {
        let sessions = SessionStream::new(rho / 10.0 * 0.25, 0.75).unwrap();
        return sessions.fcfs(&h2(8.0), number(key, "Z=")).unwrap().mean;
    }
    let mean = number(key, "mean ");
    let sessions = SessionStream::new(rho / 10.0 / mean, 1.0 - 1.0 / mean).unwrap();
    sessions.fcfs_limits(&h2(8.0)).unwrap().no_think
}

fn network(key: &str, what: &str) -> f64 {
    let stations = [0.05, 0.04, 0.03].map(|s| Station::queue("", s).unwrap());
    let (users, think) = (number(key, "N=") as u64, number(key, "Z="));
    let solution = if key.starts_with("AMVA") {
        schweitzer::solve(&stations, users, think, 1e-3).unwrap()
    } else {
        mva::solve(&stations, users, think).unwrap()
    };
    if what == "X" { solution.throughput } else { solution.in_system }
}

fn answer(key: &str) -> f64 {
    let (model, what) = key.split_once(": ").unwrap_or((key, ""));
    let bp = || Distribution::bounded_pareto(1.0, 1e6, 1.1).unwrap();
    let exponential = || Distribution::exponential(10.0).unwrap();
    let policy = || what.trim_start_matches("E[T]").trim();
    match model.split_whitespace().next().unwrap() {
        "M/M/1/N/N" | "M/M/4/200/200" => machine_repair(key, what),
        "M/H2(C2=8)/1/N/N" => {
            let service = Distribution::hyperexponential(number(key, "S="), 8.0).unwrap();
            launch(&phases::request_stream(&service, number(key, "N=") as u64, number(key, "Z=")).unwrap(), what)
        }
        "AMVA" | "exact" => network(model, what),
        "H2" => h2(8.0).third_moment(),
        "M/M/1" if key.contains("StdDev") => {
            Mg1::new(&exponential(), number(key, "rho=") / 10.0).unwrap().ps_sdev().unwrap()
        }
        "M/M/1" => open(&exponential(), number(key, "rho="), policy()),
        "M/H2/1" if key.contains(": T p") || key.contains("StdDev") => {
            let law = h2(8.0);
            let queue = Mg1::new(&law, number(key, "rho=") / 10.0).unwrap();
            let percentiles = queue.fcfs_percentiles().unwrap();
            match what {
                "T p50" => percentiles.p50,
                "T p95" => percentiles.p95,
                "T p99" => percentiles.p99,
                _ => queue.fcfs_sdev(),
            }
        }
        "M/H2/1" if what.is_empty() => {
            let law = match key.split_whitespace().nth(1).unwrap() {
                "balanced" => h2(8.0),
                "gamma3" => h2_gamma3(),
                _ => Distribution::hyperexponential_with(10.0, 8.0, 0.99).unwrap(),
            };
            open(&law, number(key, "rho="), key.split_whitespace().last().unwrap())
        }
        "M/H2/1" => open(&h2(8.0), number(key, "rho="), policy()),
        "M/M/2" | "M/M/16" => {
            let servers = if model.starts_with("M/M/2") { 2 } else { 16 };
            let queue = Mmm::new(servers, 10.0, number(key, "rho=") * f64::from(servers) / 10.0).unwrap();
            if what == "ErlangC" { queue.waits() } else { queue.response() }
        }
        "M/D/1" => open(&Distribution::constant(10.0).unwrap(), number(key, "rho="), "FCFS"),
        "BP" => bp().scv(),
        "M/BP(1,1e6,1.1)/1" => open(&bp(), number(key, "rho="), policy()),
        "open" => open(&h2(number(key, "C2=")), number(key, "rho="), "FCFS"),
        "closed" => closed_at_load(key, what),
        "partly-open" => partly_open(key),
        "any" => MachineRepair::new(1, 10.0, 100, 0.0).unwrap().solve().response,
        _ if key.contains("uniform") => {
            superposition::cov(&Distribution::uniform(0.0, 20.0).unwrap(), number(key, "N=") as u64).unwrap()
        }
        _ => superposition::cov(&Distribution::constant(10.0).unwrap(), number(key, "N=") as u64).unwrap(),
    }
}

fn formulas_match_the_oracles_to_six_digits() -> Tested {
    let text = std::fs::read_to_string(shared("oracles/queueing.json")?).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (mut wrong, mut checked) = (vec![], 0);
    for value in document["values"].as_array().unwrap() {
        let (key, expected) = (value["key"].as_str().unwrap(), value["value"].as_f64().unwrap());
        let found = answer(key);
        checked += 1;
        if (found / expected - 1.0).abs() > 1e-6 || found.is_nan() {
            wrong.push(format!("{key}: {found} is not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
