//! Coverage of the 95 % intervals of a measured run: prints a table of book/src/background/intervals.md.
//!
//! `cargo run --release -p offered-verify --example intervals`; an argument sets the number of runs per row, another
//! selects the rows with this text in their names. A run is a sequence
//! of responses of M/M/1, M/H2/1 or M/Pareto/1 under FCFS at 100/s, without warm-up, as `sweep` records it in a cell. The methods
//! were chosen with another simulator and other seeds.

use offered_base::{Instant, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome, Recording};
use offered_verify::{Measurements, Window};
use offered_workload::threshold::{Metric, Quantity, Statistic};

/// Capacity of the server, per second.
const CAPACITY: f64 = 100.0;
const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];
/// Seeds from here on chose nothing.
const SEEDS: u64 = 139_000;

/// Duration of a run, its arrival rate, the service times, and the true mean and percentiles in seconds.
struct Case {
    name: &'static str,
    seconds: u64,
    rate: f64,
    service: Distribution,
    truths: [f64; 5],
}

impl Case {
    fn new(name: &'static str, seconds: u64, rate: f64, scv: f64) -> Self {
        let service = Distribution::hyperexponential(1.0 / CAPACITY, scv).expect("a distribution");
        let truths = truths(&service, rate);
        Self { name, seconds, rate, service, truths }
    }

    /// Heavy-tailed sizes; the true values are those of `offered plan solve`.
    fn pareto(name: &'static str, seconds: u64, rate: f64, shape: f64, truths: [f64; 5]) -> Self {
        let service = Distribution::pareto((shape - 1.0) / shape / CAPACITY, shape).expect("a distribution");
        Self { name, seconds, rate, service, truths }
    }

    fn recording(&self, seed: u64) -> Recording {
        let (mut arrivals, mut sizes) = (Seed(seed).stream(Purpose::Arrivals), Seed(seed).stream(Purpose::Size));
        let (mut at, mut free) = (0.0, 0.0f64);
        let mut event = || {
            at += arrivals.exponential() / self.rate;
            free = free.max(at) + self.service.sample(&mut sizes);
            let sent = Instant::from_secs_f64(at);
            let done = Some(Instant::from_secs_f64(free));
            Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) }
        };
        let end = Instant::from_secs(self.seconds);
        let events = std::iter::repeat_with(&mut event).take_while(|event| event.intended < end).collect();
        Recording::of_run(events, vec!["request".into()])
    }
}

/// The true mean and percentiles of M/H2/1, in seconds. The response is a sum of two exponentials, as in the tests of the simulator.
fn truths(service: &Distribution, rate: f64) -> [f64; 5] {
    let load = rate / CAPACITY;
    let scv = service.second_moment() * CAPACITY * CAPACITY - 1.0;
    let mean = (1.0 + load * (1.0 + scv) / 2.0 / (1.0 - load)) / CAPACITY;
    let p = 0.5 * (1.0 + ((scv - 1.0).max(0.0) / (scv + 1.0)).sqrt());
    let (a, b) = (2.0 * p * CAPACITY, 2.0 * (1.0 - p) * CAPACITY);
    let middle = (a + b - rate) / 2.0;
    let product = a * b - rate * (a + b) + rate * (p * a + (1.0 - p) * b);
    let half = (middle * middle - product).sqrt();
    let roots = [middle - half, middle + half];
    let top = |s: f64| (1.0 - load) * (p * a * (s + b) + (1.0 - p) * b * (s + a));
    let weights = [top(-roots[0]) / (roots[1] - roots[0]), top(-roots[1]) / (roots[0] - roots[1])];
    let tail = |t: f64| (0..2).map(|i| weights[i] / roots[i] * (-roots[i] * t).exp()).sum::<f64>();
    let percentile = |percent: f64| {
        let (mut low, mut high) = (0.0, 1e3);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if tail(middle) > 1.0 - percent / 100.0 { low = middle } else { high = middle }
        }
        low
    };
    let [p50, p90, p95, p99] = PERCENTS.map(percentile);
    [mean, p50, p90, p95, p99]
}

/// The intervals of one metric.
#[derive(Clone, Copy, Default)]
struct Coverage {
    given: u64,
    held: u64,
    /// Sum of the half-widths, relative to the true value.
    width: f64,
}

fn main() {
    let runs: u64 = std::env::args().nth(1).map_or(400, |arg| arg.parse().expect("a number of runs"));
    let rows = std::env::args().nth(2).unwrap_or_default();
    let statistics = [Statistic::Mean].into_iter().chain(PERCENTS.map(Statistic::Percentile));
    let metrics: Vec<Metric> =
        statistics.map(|statistic| Metric { quantity: Quantity::Response(statistic), label: None }).collect();
    println!("| run | mean | p50 | p90 | p95 | p99 |\n|---|---|---|---|---|---|");
    let cases = [
        Case::new("M/M/1, 50/s, 10 seconds", 10, 50.0, 1.0),
        Case::new("M/M/1, 50/s, 5 minutes", 300, 50.0, 1.0),
        Case::new("M/M/1, 80/s, 5 minutes", 300, 80.0, 1.0),
        Case::new("M/M/1, 90/s, 5 minutes", 300, 90.0, 1.0),
        Case::new("M/M/1, 95/s, 5 minutes", 300, 95.0, 1.0),
        Case::new("M/M/1, 95/s, 20 minutes", 1200, 95.0, 1.0),
        Case::new("M/M/1, 95/s, 1 hour", 3600, 95.0, 1.0),
        Case::new("M/H2/1, C2 = 8, 80/s, 5 minutes", 300, 80.0, 8.0),
        Case::new("M/H2/1, C2 = 8, 90/s, 1 hour", 3600, 90.0, 8.0),
        Case::pareto(
            "Pareto 2.2, 50/s, 1 hour",
            3600,
            50.0,
            2.2,
            [26.364e-3, 11.552e-3, 39.814e-3, 60.966e-3, 167.95e-3],
        ),
        Case::pareto(
            "Pareto 2.2, 80/s, 1 hour",
            3600,
            80.0,
            2.2,
            [75.455e-3, 27.446e-3, 124.61e-3, 192.28e-3, 522.61e-3],
        ),
        Case::pareto(
            "Pareto 2.5, 80/s, 1 hour",
            3600,
            80.0,
            2.5,
            [46.0e-3, 26.036e-3, 96.443e-3, 135.94e-3, 272.70e-3],
        ),
    ];
    for case in cases.into_iter().filter(|case| case.name.contains(&rows)) {
        let mut found = [Coverage::default(); 5];
        for seed in 1..=runs {
            let recording = case.recording(SEEDS + seed);
            let end = Instant::from_secs(case.seconds);
            let window = Window { start_s: 0.0, end_s: case.seconds as f64, requests: 1, excluded: 0 };
            let measured = Measurements::new(&recording, &[], &window, Instant::ZERO..end);
            for ((coverage, metric), truth) in found.iter_mut().zip(&metrics).zip(case.truths) {
                let estimate = measured.estimate(metric).expect("a recording in memory").expect("it has requests");
                if estimate.half_width().is_finite() {
                    coverage.given += 1;
                    coverage.held += u64::from(estimate.low <= truth && truth <= estimate.high);
                    coverage.width += estimate.half_width() / truth;
                }
            }
        }
        let cell = |Coverage { given, held, width }: &Coverage| match given {
            0 => "none".to_owned(),
            _ => format!("{held} of {given}, ± {:.0} %", 100.0 * width / *given as f64),
        };
        println!("| {} | {} |", case.name, found.each_ref().map(cell).join(" | "));
    }
}
