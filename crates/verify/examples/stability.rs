//! The error rates of stability: prints the table of book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example stability`; an argument sets the number of repetitions.

use offered_base::{Instant, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};
use offered_verify::{FlowCounts, StabilityState};

/// The loads of the columns.
const LOADS: [f64; 9] = [0.5, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.3, 1.6];

/// The result for `n` Poisson arrivals at an FCFS server whose service times have the distribution `work` (with mean
/// 1).
fn judged(load: f64, n: u64, work: &Distribution, seed: u64) -> StabilityState {
    let (mut arrivals, mut sizes) = (Seed(seed).stream(Purpose::Arrivals), Seed(seed).stream(Purpose::Size));
    let (mut at, mut free) = (0.0, 0.0f64);
    let mut flows = FlowCounts::new(Instant::ZERO, Instant::from_secs(n));
    loop {
        at += arrivals.exponential();
        if at >= n as f64 {
            return flows.stability(false).state;
        }
        free = free.max(at) + load * work.sample(&mut sizes);
        let sent = Instant::from_secs_f64(at);
        let done = Some(Instant::from_secs_f64(free));
        flows.add(&Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) });
    }
}

fn main() {
    let repetitions: u64 = std::env::args().nth(1).map_or(1000, |arg| arg.parse().expect("a number of repetitions"));
    let distributions = [
        ("constant", Distribution::constant(1.0)),
        ("exponential", Distribution::exponential(1.0)),
        ("C2 = 8", Distribution::hyperexponential(1.0, 8.0)),
    ];
    let heads: Vec<String> = LOADS.iter().map(f64::to_string).collect();
    println!("| service times | requests | {} |\n|---|--:|{}", heads.join(" | "), "--:|".repeat(LOADS.len()));
    for (name, distribution) in distributions {
        let distribution = distribution.expect("a distribution");
        for n in [200, 1000, 5000, 20_000] {
            let cell = |load: &f64| {
                let states: Vec<StabilityState> =
                    (0..repetitions).map(|seed| judged(*load, n, &distribution, seed + 1_000_000)).collect();
                let percent = |wanted| {
                    states.iter().filter(|state| **state == wanted).count() as f64 * 100.0 / repetitions as f64
                };
                format!("{:.0} / {:.0}", percent(StabilityState::Overloaded), percent(StabilityState::NotChecked))
            };
            println!("| {name} | {n} | {} |", LOADS.iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
}
