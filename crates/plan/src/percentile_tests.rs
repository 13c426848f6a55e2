//! Compares percentiles with `tests/oracle/percentiles.json`, made with mpmath (`percentiles.py` beside it), and with
//! closed forms where there are some.

use offered_distributions::Distribution;
use offered_schedule::arrivals::Batch;
use serde_json::Value;

use crate::open::gim1::Gim1;
use crate::open::md1::Md1;
use crate::open::mg1::{Mg1, ServiceMoments};
use crate::open::mmm::Mmm;
use crate::open::priority::{Class, Rank, responses};
use crate::open::response_tail::Part;
use crate::open::{batches, finite, response_tail};
use crate::transform::{Laplace, Tail, percentiles};
use crate::{Percentiles, analytic};

fn near(found: f64, truth: f64, row: &impl std::fmt::Display) {
    assert!((found / truth - 1.0).abs() < 1e-6, "{row}: {found} instead of {truth}");
}

fn all(of: Percentiles) -> [f64; 4] {
    [of.p50, of.p90, of.p95, of.p99]
}

/// The percentiles of one time, wherever its mean is.
fn of(tail: &Tail) -> [f64; 4] {
    all(percentiles(1.0, &[(1.0, tail)]).unwrap())
}

fn answers(row: &Value) -> [f64; 4] {
    let get = |key: &str| row[key].as_f64().unwrap();
    let load = get("load");
    let distribution = || row["law"].as_str().unwrap().parse::<Distribution>().unwrap();
    let law = row.get("law").map(|_| distribution());
    let transform = law.as_ref().and_then(|law| Laplace::of([(1.0, law)]));
    let (law, transform) = (law.as_ref(), transform.as_ref());
    let part = || Part { service: transform.unwrap(), tail: Box::new(|t| law.unwrap().tail(t)) };
    match row["kind"].as_str().unwrap() {
        "fcfs" => of(&response_tail::fcfs(transform.unwrap(), part(), 1.0, load)),
        "lcfs" => of(&response_tail::lcfs(transform.unwrap(), part(), 1.0, load).unwrap()),
        "lcfs-preemptive" => of(&response_tail::lcfs_preemptive(transform.unwrap(), transform.unwrap(), load).unwrap()),
        "ps" => of(&response_tail::exponential_ps(1.0, load)),
        "deterministic" => {
            let queue = Md1::new(1.0, load);
            all(Percentiles::of(1.0, |t| queue.tail(t)))
        }
        "batches" => of(&batches::tail(Batch::Geometric(get("size")), transform.unwrap(), 1.0, load)),
        "limited" => {
            let m = get("servers");
            all(finite::solve(m as u32, get("capacity") as u64, 1.0, load * m).unwrap().percentiles)
        }
        "renewal" => all(Gim1::new(law.unwrap(), 1.0, load).unwrap().percentiles()),
        other => panic!("{other}"),
    }
}

#[test]
fn agree_with_numbers_made_elsewhere() {
    let oracle: Value = serde_json::from_str(include_str!("../../../tests/oracle/percentiles.json")).unwrap();
    let rows = oracle["values"].as_array().unwrap();
    assert!(rows.len() >= 28);
    for row in rows {
        let truths = row["percentiles"].as_array().unwrap();
        if truths[0].is_array() {
            let rank = if row["kind"] == "priority" { Rank::NonPreemptive } else { Rank::Preemptive };
            let classes = two_classes();
            let transforms = response_tail::ClassTransforms::new(&classes, rank).unwrap();
            for (i, truths) in truths.iter().enumerate() {
                for (found, truth) in of(&transforms.response(i)).iter().zip(truths.as_array().unwrap()) {
                    near(*found, truth.as_f64().unwrap(), row);
                }
            }
            continue;
        }
        for (found, truth) in answers(row).iter().zip(truths) {
            near(*found, truth.as_f64().unwrap(), row);
        }
    }
}

fn two_classes() -> Vec<Class> {
    [(0.6, "erlang:500ms,3"), (0.25, "hyperexponential:2s,8")]
        .map(|(rate, law)| Class { rate, service: law.parse().unwrap() })
        .to_vec()
}

/// The mean from a tail, by integration up to 500 times its known mean; beyond, an inversion has no digits.
fn mean(tail: &Tail, known: f64) -> f64 {
    offered_distributions::integral::integral(|t| tail.at(t), 0.0, 500.0 * known, known)
}

#[test]
fn the_means_of_the_tails_are_the_known_means() {
    let classes = two_classes();
    for rank in [Rank::NonPreemptive, Rank::Preemptive] {
        let means = responses(&classes, rank).unwrap();
        let transforms = response_tail::ClassTransforms::new(&classes, rank).unwrap();
        for (i, truth) in means.iter().enumerate() {
            let found = mean(&transforms.response(i), *truth);
            assert!((found / truth - 1.0).abs() < 1e-5, "{rank:?} {i}: {found} instead of {truth}");
        }
    }
    let service: Distribution = "erlang:1s,3".parse().unwrap();
    let transform = Laplace::of([(1.0, &service)]).unwrap();
    for batch in [Batch::Fixed(3), Batch::Geometric(2.5)] {
        let truth = batches::response(batch, ServiceMoments::of(&service), 0.6);
        let found = mean(&batches::tail(batch, &transform, 1.0, 0.6), truth);
        assert!((found / truth - 1.0).abs() < 1e-5, "{batch:?}: {found} instead of {truth}");
    }
}

#[test]
fn exponential_gaps_and_services_are_the_classic_queues() {
    let exponential = Distribution::exponential(2.0).unwrap();
    let (renewal, poisson) = (Gim1::new(&exponential, 0.01, 70.0).unwrap(), Mmm::new(1, 0.01, 70.0).unwrap());
    near(renewal.response(), poisson.response(), &"mean");
    near(renewal.percentiles().p99, poisson.percentiles().p99, &"p99");
    // Two-phase service has a closed form.
    let service: Distribution = "hyperexponential:10ms,8".parse().unwrap();
    let transform = Laplace::of([(1.0, &service)]).unwrap();
    let tail =
        response_tail::fcfs(&transform, Part { service: &transform, tail: Box::new(|t| service.tail(t)) }, 0.01, 90.0);
    let exact = Mg1::new(&service, 90.0).unwrap().fcfs_percentiles().unwrap();
    for (found, truth) in of(&tail).iter().zip(all(exact)) {
        near(*found, truth, &"hyperexponential");
    }
}

/// The points of a quadrature stand for a density: their mean is right, and a Weibull distribution of shape 1 is exponential.
#[test]
fn service_without_a_closed_transform_is_integrated() {
    for law in ["lognormal:10ms,2", "weibull:10ms,0.7", "pareto:5ms,2.2", "bounded_pareto:1ms,1s,1.1"] {
        let distribution: Distribution = law.parse().unwrap();
        let points = crate::moments::points(&distribution).unwrap();
        let mean: f64 = points.iter().map(|(p, x)| p * x).sum();
        assert!((mean / distribution.mean() - 1.0).abs() < 1e-5, "{law}: {mean}");
    }
    let distribution: Distribution = "weibull:1s,1".parse().unwrap();
    let transform = Laplace::of([(1.0, &distribution)]).unwrap();
    let part = Part { service: &transform, tail: Box::new(|t| distribution.tail(t)) };
    let exact = Mmm::new(1, 1.0, 0.6).unwrap().percentiles();
    for (found, truth) in of(&response_tail::fcfs(&transform, part, 1.0, 0.6)).iter().zip(all(exact)) {
        near(*found, truth, &"weibull");
    }
}

/// A workload is solved by class, in batches, with constant gaps; an approximation is marked as one.
#[test]
fn workloads_get_these_answers() {
    let analyse = |text: &str| {
        let text = format!("duration = \"1s\"\n{text}\n");
        let workload = offered_workload::Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        analytic::analyse(&workload, None)
    };
    let solve = |text: &str| analyse(text).unwrap();
    let server = "server = { discipline = \"fcfs\", service = { exponential = \"10ms\" } }";
    let constant = solve(&format!("arrivals.open = {{ rate = \"80/s\", process = \"constant\" }}\n{server}"));
    assert_eq!(constant.model, "GI/M/1");
    let known = constant.steady_state.unwrap();
    assert!(known.response < 0.05 && known.percentiles.is_some() && !known.is_approximation);
    let batches = solve(&format!("arrivals.open = {{ rate = \"70/s\", batch = 4 }}\n{server}"));
    assert_eq!(batches.model, "M[X]/M/1");
    near(batches.steady_state.unwrap().response, 0.01 * 2.5 / 0.3, &"M[4]/M/1");
    // A load of 10 has a steady state where every request has its own server, and where requests are rejected.
    let own = solve(
        "arrivals.open = { rate = \"1000/s\", batch = 4 }\nserver = { discipline = \"infinite\", service = { exponential = \"10ms\" } }",
    );
    near(own.steady_state.unwrap().response, 0.01, &"M[4]/M/infinity");
    let limited = solve(
        "arrivals.open = { rate = \"1000/s\", batch = 4 }\nserver = { discipline = \"fcfs\", capacity = 8, service = { exponential = \"10ms\" } }",
    );
    assert!(limited.steady_state.is_none());
    // Under PS the queue grows without end.
    let overload = analyse(
        "arrivals.open = { rate = \"1000/s\", batch = 4 }\nserver = { discipline = \"ps\", service = { exponential = \"10ms\" } }",
    );
    assert!(matches!(overload, Err(crate::Error::Overload { .. })), "{overload:?}");
    let several = solve(
        "arrivals.open.rate = \"150/s\"\nserver = { servers = 2, discipline = \"fcfs\", service = { erlang = { mean = \"10ms\", stages = 2 } } }",
    );
    assert!(several.steady_state.unwrap().is_approximation && several.model == "M/G/2");
    let requests = "[[request]]\nname = \"short\"\nget = \"/s\"\nservice = { exponential = \"5ms\" }\n\
        [[request]]\nname = \"long\"\nget = \"/l\"\nservice = { erlang = { mean = \"20ms\", stages = 2 } }";
    let by_class = solve(&format!(
        "arrivals.open.rate = \"60/s\"\nserver = {{ discipline = \"priority\", service = {{ constant = \"1ms\" }} }}\n{requests}"
    ));
    let known = by_class.steady_state.unwrap();
    let names: Vec<&str> = known.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["short", "long"]);
    let mean: f64 = known.classes.iter().map(|class| class.response * class.rate / 60.0).sum();
    near(mean, known.response, &"mean of the classes");
    assert!(known.classes.iter().all(|class| class.percentiles.is_some()) && known.percentiles.is_some());
}

/// With exponential service a pool of threads does not change the mean, unless it is smaller than the number of servers.
#[test]
fn a_pool_of_threads_limits_the_busy_servers() {
    let solve = |discipline: &str, more: &str| {
        let text = format!(
            "duration = \"1s\"\n{more}\nserver = {{ servers = 4, discipline = \"{discipline}\", service = {{ exponential = \"10ms\" }} }}\n"
        );
        let workload = offered_workload::Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        analytic::analyse(&workload, None).unwrap().steady_state.unwrap()
    };
    let open = "arrivals.open.rate = \"150/s\"";
    near(solve("ps:16", open).response, Mmm::new(4, 0.01, 150.0).unwrap().response(), &"16 threads");
    let two = solve("ps:2", open);
    near(two.response, Mmm::new(2, 0.01, 150.0).unwrap().response(), &"2 threads");
    near(two.utilisation, 0.375, &"utilisation");
    let closed = "arrivals.closed = { users = 20, think = { exponential = \"50ms\" } }";
    let machines = crate::closed::machine_repair::MachineRepair::new(2, 0.01, 20, 0.05).unwrap();
    near(solve("ps:2", closed).response, machines.solve().response, &"closed");
}
