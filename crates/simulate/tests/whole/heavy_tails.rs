//! The moments of the service distribution decide whether a mean has an interval, not the sample.

use offered_base::Seed;
use offered_plan::analytic::analyse;
use offered_simulate::statistics::{Interval, SampleSummary};
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

/// Counted in requests, the queue of several servers is as correlated as that of one.
#[test]
fn the_load_of_several_servers_decides_how_many_requests_a_mean_needs() {
    for (servers, rate) in [(1, "95/s"), (4, "380/s"), (64, "6080/s")] {
        for discipline in ["fcfs", "ps", "srpt", "sjf"] {
            let service = format!("{{ exponential = \"10ms\" }}\nservers = {servers}");
            let (kind, _, _, has_interval) = found(&format!("open.rate = \"{rate}\""), discipline, &service);
            assert_eq!((kind, has_interval), (MeanInterval::NeedsLongerRun(128_000), false), "{servers} {discipline}");
        }
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

/// The exact percentile decides: an estimate that is too low has more sizes above it, so that low estimates alone would have intervals.
#[test]
fn a_percentile_with_few_larger_sizes_has_no_interval() {
    let service = pareto(2.2);
    let text = format!(
        "duration = \"1h\"\narrivals.open.rate = \"90/s\"\nserver.service = {service}\n\
         request = [{{ name = \"a\", get = \"/a\" }}, {{ name = \"b\", get = \"/b\", weight = 3 }}]\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let exact = analyse(&workload, None).unwrap().steady_state.unwrap().percentiles.unwrap();
    // Twenty sizes above it, of which the share is (5.4545 ms / p99)^2.2.
    let expected = 20.0 * (exact.p99 / 0.005_454_5).powf(2.2);
    assert!(expected > 1e6, "{expected}");
    let p50 = simulate(&workload, Stop::Jobs(50_000), None).unwrap().summary.response.p50;
    assert!(matches!(p50.interval, Interval::Known(..)), "{p50:?}");
    for seed in 1..=3 {
        let workload = workload.clone().with_seed(Seed(seed));
        let summary = simulate(&workload, Stop::Jobs(50_000), None).unwrap().summary;
        let needed = |response: SampleSummary| match response.p99.interval {
            Interval::NeedsSamples(needed) => needed as f64,
            Interval::Known(..) => panic!("{:?}", response.p99),
        };
        assert!((needed(summary.response) / expected - 1.0).abs() < 0.01, "{:?} {expected}", summary.response.p99);
        // Requests of both names wait in one queue; one in four has the name a.
        let (of_a, _) = summary.classes[0].unwrap();
        assert!((needed(of_a) / expected - 0.25).abs() < 0.01, "{:?} {expected}", of_a.p99);
    }
}

/// The large sizes of a network are those of all stations. Here the first one has none.
#[test]
fn a_percentile_of_a_network_with_many_larger_sizes_has_an_interval() {
    let text = format!(
        "duration = \"1h\"\narrivals.open.rate = \"20/s\"\n[[station]]\nname = \"web\"\nservice.constant = \"1ms\"\n\
         [[station]]\nname = \"db\"\nservice = {}\n",
        pareto(2.2)
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let answer = simulate(&workload, Stop::Jobs(50_000), None).unwrap();
    let response = answer.summary.response;
    assert_eq!(answer.mean_interval, MeanInterval::None);
    for percentile in [response.p50, response.p99] {
        assert!(matches!(percentile.interval, Interval::Known(..)), "{percentile:?}");
    }
}
