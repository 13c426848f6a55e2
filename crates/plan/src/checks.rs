//! Compares the solvers with `tests/oracle/plan.json`, whose numbers SciPy and mpmath computed (`plan.py` beside it),
//! to eight significant digits.

use offered_distributions::Distribution;
use serde_json::Value;

use crate::closed::machine_repair::MachineRepair;
use crate::closed::multiclass::{self, Class};
use crate::closed::{mva, phases};
use crate::open::finite;
use crate::open::mmm::Mmm;
use crate::open::size_based::{Policy, response};
use crate::{Station, StationKind};
use offered_distributions::superposition;

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"))
}

fn distribution(row: &Value) -> Distribution {
    row["law"].as_str().unwrap().parse().unwrap()
}

/// Results of this crate for one row: pairs of a key and a number.
fn answers(row: &Value) -> Vec<(&'static str, f64)> {
    let get = |key| number(row, key);
    let users = || get("users") as u64;
    match row["kind"].as_str().unwrap() {
        "mva" => {
            let station = |s: &Value| {
                let kind = match s[1].as_u64().unwrap() as u32 {
                    0 => StationKind::Delay,
                    servers => StationKind::Queue { servers },
                };
                Station::new("", 1.0, s[0].as_f64().unwrap(), kind).unwrap()
            };
            let stations: Vec<Station> = row["stations"].as_array().unwrap().iter().map(station).collect();
            let solution = mva::solve(&stations, users(), get("think")).unwrap();
            vec![
                ("throughput", solution.throughput),
                ("first_queue", solution.stations[0].in_system),
                ("in_system", solution.in_system),
            ]
        }
        "classes" => {
            let class = |c: usize| Class {
                name: String::new(),
                users: row["users"][c].as_u64().unwrap(),
                think: row["think"][c].as_f64().unwrap(),
                demands: row["demands"][c].as_array().unwrap().iter().map(|d| d.as_f64().unwrap()).collect(),
            };
            let solution = multiclass::exact(&[class(0), class(1)], &[1, 1], 1000).unwrap();
            vec![("first", solution.throughput[0]), ("second", solution.throughput[1])]
        }
        "size" => [("srpt", Policy::Srpt), ("psjf", Policy::Psjf), ("sjf", Policy::Sjf), ("fb", Policy::Fb)]
            .into_iter()
            .filter(|(key, _)| row.get(key).is_some())
            .map(|(key, policy)| (key, response(&distribution(row), get("rate"), policy).unwrap()))
            .collect(),
        "closed-percentiles" => {
            let model = MachineRepair::new(get("servers") as u32, get("service"), users(), get("think")).unwrap();
            vec![("p50", model.percentiles().p50), ("p99", model.percentiles().p99)]
        }
        "open-percentiles" => {
            let queue = Mmm::new(get("servers") as u32, get("service"), get("rate")).unwrap();
            vec![("waits", queue.waits()), ("p50", queue.percentiles().p50), ("p99", queue.percentiles().p99)]
        }
        "chain" => {
            let (answer, launches) = (
                phases::solve(&distribution(row), users(), get("think")).unwrap(),
                phases::request_stream(&distribution(row), users(), get("think")).unwrap(),
            );
            vec![
                ("throughput", answer.throughput),
                ("in_system", answer.in_system),
                ("cov", launches.cov),
                ("lag1", launches.lag1),
                ("dispersion", launches.dispersion),
            ]
        }
        "superposition" => vec![("cov", superposition::cov(&distribution(row), users()).unwrap())],
        "finite" => {
            let answer = finite::solve(get("servers") as u32, get("room") as u64, get("service"), get("rate")).unwrap();
            vec![("lost", answer.rejected_share), ("throughput", answer.throughput), ("in_system", answer.in_system)]
        }
        other => panic!("no solver for {other}"),
    }
}

#[test]
fn numbers_made_by_scipy_and_mpmath_are_met() {
    let document: Value = serde_json::from_str(include_str!("../../../tests/oracle/plan.json")).unwrap();
    let mut wrong = vec![];
    for row in document["rows"].as_array().unwrap() {
        for (key, found) in answers(row) {
            let expected = number(row, key);
            if (found / expected - 1.0).abs() > 1e-8 || found.is_nan() {
                wrong.push(format!("{key} {found} is not {expected} in {row}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
