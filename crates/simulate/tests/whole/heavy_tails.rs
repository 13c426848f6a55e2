//! The moments of the service distribution decide whether a mean has an interval, not the sample.

use offered_simulate::{MeanInterval, SimulationWarning, Stop, simulate};
use offered_workload::Workload;

/// The kind of the mean's interval, the warnings, and whether the mean is finite and has an interval.
fn found(arrivals: &str, discipline: &str, service: &str) -> (MeanInterval, Vec<SimulationWarning>, bool, bool) {
    let text = format!(
        "duration = \"1h\"\narrivals.{arrivals}\n[server]\ndiscipline = \"{discipline}\"\nservice = {service}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let answer = simulate(&workload, Stop::Jobs(50_000), None).unwrap();
    let mean = answer.summary.response.mean;
    (answer.mean_interval, answer.warnings, mean.value.is_finite(), mean.half_width().is_finite())
}

const OPEN: &str = "open.rate = \"20/s\"";
const PARTLY: &str = "partly_open = { rate = \"5/s\", stay = 0.75, think = { exponential = \"1s\" } }";
const CLOSED: &str = "closed = { users = 20, think = { exponential = \"1s\" } }";

/// A Pareto distribution with a mean of 10 ms.
fn pareto(shape: f64) -> String {
    format!("{{ pareto = {{ min = \"{:.6}ms\", shape = {shape} }} }}", 10.0 * (shape - 1.0) / shape)
}

#[test]
fn the_mean_is_infinite_where_requests_wait_for_a_service_of_infinite_variance() {
    for discipline in ["fcfs", "lcfs", "sjf", "ljf", "pljf"] {
        for arrivals in [OPEN, PARTLY] {
            let (kind, warnings, is_finite, has_interval) = found(arrivals, discipline, &pareto(1.8));
            assert_eq!((kind, is_finite, has_interval), (MeanInterval::InfiniteMean, false, false), "{discipline}");
            assert_eq!(warnings, [SimulationWarning::InfiniteMean], "{discipline}: nothing to simulate longer for");
        }
    }
    for discipline in ["ps", "srpt", "psjf", "fb", "lcfs-preemptive"] {
        let (kind, _, is_finite, has_interval) = found(OPEN, discipline, &pareto(1.8));
        assert_eq!((kind, is_finite, has_interval), (MeanInterval::None, true, false), "{discipline}");
    }
    // The users of a closed system never wait for more than the others.
    let (kind, _, is_finite, _) = found(CLOSED, "fcfs", &pareto(1.8));
    assert_eq!((kind, is_finite), (MeanInterval::None, true));
}

#[test]
fn without_a_fourth_moment_no_length_gives_an_interval() {
    for shape in [2.2, 2.5, 3.5] {
        let (kind, warnings, is_finite, has_interval) = found(OPEN, "fcfs", &pareto(shape));
        assert_eq!((kind, is_finite, has_interval), (MeanInterval::None, true, false), "{shape}");
        assert!(warnings.contains(&SimulationWarning::NoMeanInterval), "{shape}: {warnings:?}");
        assert!(warnings.iter().all(|warning| !warning.message().contains("simulate longer")), "{shape}: {warnings:?}");
        let (kind, ..) = found(OPEN, "ps", &pareto(shape));
        assert_eq!(kind, MeanInterval::Exists, "{shape}: under ps the mean does not depend on the second moment");
    }
}

#[test]
fn rare_large_sizes_need_a_number_of_requests() {
    let lognormal = "{ lognormal = { mean = \"10ms\", scv = 20 } }";
    // E[S^4] / E[S^2]^2 = 21^4 for a lognormal distribution.
    let (kind, warnings, _, has_interval) = found(OPEN, "fcfs", lognormal);
    let MeanInterval::NeedsJobs(needed) = kind else { panic!("{kind:?}") };
    assert!((19_448_000..19_449_000).contains(&needed) && !has_interval, "{needed}");
    assert!(warnings.contains(&SimulationWarning::RareSizes { completed: 50_000, needed }), "{warnings:?}");
    for (discipline, service) in [
        ("fcfs", "{ hyperexponential = { mean = \"10ms\", scv = 8 } }"),
        ("ps", lognormal),
        ("fcfs", "{ exponential = \"10ms\" }"),
        ("fcfs", "{ constant = \"10ms\" }"),
    ] {
        let (kind, _, _, has_interval) = found(OPEN, discipline, service);
        assert_eq!((kind, has_interval), (MeanInterval::Exists, true), "{discipline} {service}");
    }
}
