//! Coverage of the 95 % intervals of the mean response and its percentiles, over runs with different seeds.
//!
//! `cargo test --release -p offered-simulate --test whole coverage -- --ignored --nocapture` prints two tables, in some minutes. Those of
//! book/src/background/intervals.md are of the whole program, by benches/coverage.py. The true values are closed forms and solved Markov chains. The
//! methods were chosen with another simulator (`NumPy`) and other seeds.

use offered_base::Seed;
use offered_simulate::statistics::Interval;
use offered_simulate::{SimulationWarning, Stop, simulate};
use offered_workload::Workload;

/// A system with E[S] = 10 ms: its name, workload, jobs per run, and exact mean response in milliseconds.
struct Case {
    name: &'static str,
    workload: String,
    jobs: u64,
    truth: f64,
}

fn case(name: &'static str, arrivals: &str, discipline: &str, service: &str, jobs: u64, truth: f64) -> Case {
    let workload = format!(
        "duration = \"1h\"\narrivals.{arrivals}\n[server]\ndiscipline = \"{discipline}\"\nservice = {service}\n"
    );
    Case { name, workload, jobs, truth }
}

fn cases() -> Vec<Case> {
    const H2: &str = "{ hyperexponential = { mean = \"10ms\", scv = 8 } }";
    const EXPONENTIAL: &str = "{ exponential = \"10ms\" }";
    const OPEN: &str = "open = { rate = \"90/s\" }";
    // X = 90/s, and N = X (Z + E[T]).
    const CLOSED: &str = "closed = { users = 100, think = { exponential = \"937.171291ms\" } }";
    // Product form: the mean response is that of M/M/1.
    const PARTLY_PS: &str = "partly_open = { rate = \"18/s\", stay = 0.8, think = { exponential = \"500ms\" } }";
    let partly = |rate: &str, length: &str| {
        format!(
            "partly_open = {{ rate = \"{rate}/s\", length = {{ mean = {length} }}, think = {{ exponential = \"10us\" }} }}"
        )
    };
    vec![
        case("open M/M/1, 90,000 requests", OPEN, "fcfs", EXPONENTIAL, 90_000, 100.0),
        case("open M/M/1, 1,000,000", OPEN, "fcfs", EXPONENTIAL, 1_000_000, 100.0),
        case("open, C2 = 8, 400,000", OPEN, "fcfs", H2, 400_000, 415.0),
        case("open, C2 = 8, 1,600,000", OPEN, "fcfs", H2, 1_600_000, 415.0),
        case("open, C2 = 8, PS, 400,000", OPEN, "ps", H2, 400_000, 100.0),
        case("closed, N = 100, C2 = 8, 200,000", CLOSED, "fcfs", H2, 200_000, 173.939_82),
        case("partly-open, 5 requests, PS, 400,000", PARTLY_PS, "ps", EXPONENTIAL, 400_000, 100.0),
        case("partly-open, 2 requests, C2 = 8, 400,000", &partly("45", "2"), "fcfs", H2, 400_000, 257.5),
        case("partly-open, 10 requests, C2 = 8, 450,000", &partly("9", "10"), "fcfs", H2, 450_000, 131.5),
        case("partly-open, 10 requests, C2 = 8, 1,600,000", &partly("9", "10"), "fcfs", H2, 1_600_000, 131.5),
    ]
}

/// Seeds from here on chose nothing.
const SEEDS: u64 = 39_000;

/// Runs per system; `OFFERED_RUNS=10` is CI's short form.
fn runs() -> u64 {
    std::env::var("OFFERED_RUNS").map_or(100, |runs| runs.parse().expect("OFFERED_RUNS is a number of runs"))
}

#[test]
#[ignore = "some minutes, with --release"]
fn intervals_of_the_mean_cover_the_true_mean() {
    let runs = runs();
    println!("{:45} {:>5} {:>8} {:>8} {:>7}", "system at load 0.9", "holds", "within", "warned", "warm-up");
    for Case { name, workload, jobs, truth } in cases() {
        let workload = Workload::parse(&workload, name, &|_| Err(String::new())).unwrap();
        let (mut held, mut width, mut warned) = (0, 0.0, 0);
        let mut cut = 0;
        for seed in 1..=runs {
            let workload = workload.clone().with_seed(Seed(SEEDS + seed));
            let answer = simulate(&workload, Stop::Jobs(jobs), None).unwrap();
            let mean = answer.summary.response.mean;
            held += u64::from(mean.low * 1e3 <= truth && truth <= mean.high * 1e3);
            width += 100.0 * mean.relative() / runs as f64;
            cut += u64::from(answer.summary.warm_up > 0);
            warned += u64::from(
                answer.warnings.iter().any(|warning| matches!(warning, SimulationWarning::CorrelatedBatches { .. })),
            );
        }
        println!("{name:45} {held:>5} {width:>6.1} % {warned:>8} {cut:>7}");
        // With correct intervals, fewer than 7 of 10 hold with probability 0.001, and fewer than 90 of 100 with
        // probability 0.01.
        let least = if runs < 100 { 0.7 } else { 0.9 };
        assert!(held as f64 >= least * runs as f64, "{name}: {held} of {runs}");
    }
}

const PERCENTILES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Percentiles, in milliseconds, of the response of M/H2/1 (M/M/1 where `scv` is 1) at load 0.9, E[S] = 10 ms.
///
/// The transform (1 - rho) s B(s) / (s - lambda + lambda B(s)) of the response is that of a sum of two exponentials. Their
/// rates are the roots of a quadratic.
fn percentiles(scv: f64) -> [f64; 4] {
    let (load, rate) = (0.9, 0.09);
    let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
    let (a, b) = (2.0 * p / 10.0, 2.0 * (1.0 - p) / 10.0);
    let middle = (a + b - rate) / 2.0;
    let product = a * b - rate * (a + b) + rate * (p * a + (1.0 - p) * b);
    let half = (middle * middle - product).sqrt();
    let roots = [middle - half, middle + half];
    let top = |s: f64| (1.0 - load) * (p * a * (s + b) + (1.0 - p) * b * (s + a));
    let weights = [top(-roots[0]) / (roots[1] - roots[0]), top(-roots[1]) / (roots[0] - roots[1])];
    let tail = |t: f64| (0..2).map(|i| weights[i] / roots[i] * (-roots[i] * t).exp()).sum::<f64>();
    PERCENTILES.map(|p| {
        let (mut low, mut high) = (0.0, 1e5);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if tail(middle) > 1.0 - p { low = middle } else { high = middle }
        }
        low
    })
}

#[test]
#[ignore = "some minutes, with --release"]
fn intervals_of_percentiles_cover_the_truth_or_report_the_needed_length() {
    let runs = runs();
    println!("intervals that contain the true value, of those given, and half-width, in {runs} runs at load 0.9");
    println!("{:24} {:>22} {:>22} {:>22} {:>22}", "system", "p50", "p90", "p95", "p99");
    for (name, scv, mean) in [("M/M/1", 1.0, 100.0), ("M/H2/1, C2 = 8", 8.0, 415.0)] {
        for jobs in [30_000, 100_000, 400_000, 1_000_000, 4_000_000] {
            let truths = percentiles(scv);
            let service = format!("{{ hyperexponential = {{ mean = \"10ms\", scv = {scv} }} }}");
            let case = case(name, "open = { rate = \"90/s\" }", "fcfs", &service, jobs, mean);
            let workload = Workload::parse(&case.workload, name, &|_| Err(String::new())).unwrap();
            let (mut given, mut held, mut width) = ([0; 4], [0; 4], [0.0; 4]);
            for seed in 1..=runs {
                let workload = workload.clone().with_seed(Seed(SEEDS + seed));
                let spread = simulate(&workload, Stop::Jobs(jobs), None).unwrap().summary.response;
                let found = [spread.p50, spread.p90, spread.p95, spread.p99];
                for (i, (percentile, truth)) in found.iter().zip(truths).enumerate() {
                    let Interval::Known(low, high) = percentile.interval else { continue };
                    given[i] += 1;
                    held[i] += u64::from(low * 1e3 <= truth && truth <= high * 1e3);
                    width[i] += 50.0 * (high - low) * 1e3 / truth;
                }
            }
            let cell =
                |i: usize| format!("{} of {}, {:.0} %", held[i], given[i], width[i] / f64::max(given[i] as f64, 1.0));
            let cells: Vec<String> = (0..4).map(|i| format!("{:>22}", cell(i))).collect();
            println!("{:24} {}", format!("{name}, {jobs}"), cells.join(" "));
            for (i, percent) in PERCENTILES.iter().enumerate() {
                let missed = (given[i] - held[i]) as f64;
                // One in twenty may miss, plus chance. Where most samples are too short, the others are a selection.
                let allowed = 0.05 * if 2 * given[i] > runs { given[i] } else { runs } as f64;
                let chance = 3.0 * allowed.sqrt().max(1.0);
                assert!(missed <= allowed + chance, "{name}, {jobs}: {missed} of {percent} miss");
            }
        }
    }
}
