//! How often it is told wrongly whether a system kept up: prints the table of book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example keeps_up`; an argument sets the repetitions.

use offered_base::{Instant, Purpose, Seed};
use offered_distributions::Law;
use offered_events::{Event, Outcome};
use offered_verify::{FlowCounts, StabilityState};

/// The loads of the columns.
const LOADS: [f64; 9] = [0.5, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.3, 1.6];

/// What is said of `n` Poisson arrivals at one server, in their order, whose work follows `work` (of mean 1).
fn judged(load: f64, n: u64, work: &Law, seed: u64) -> StabilityState {
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
    let laws = [
        ("constant", Law::constant(1.0)),
        ("exponential", Law::exponential(1.0)),
        ("C2 = 8", Law::hyperexponential(1.0, 8.0)),
    ];
    let heads: Vec<String> = LOADS.iter().map(f64::to_string).collect();
    println!("| work | launches | {} |\n|---|--:|{}", heads.join(" | "), "--:|".repeat(LOADS.len()));
    for (name, law) in laws {
        let law = law.expect("a law");
        for n in [200, 1000, 5000, 20_000] {
            let cell = |load: &f64| {
                let said: Vec<StabilityState> =
                    (0..repetitions).map(|seed| judged(*load, n, &law, seed + 1_000_000)).collect();
                let percent =
                    |wanted| said.iter().filter(|said| **said == wanted).count() as f64 * 100.0 / repetitions as f64;
                format!("{:.0} / {:.0}", percent(StabilityState::Overloaded), percent(StabilityState::NotChecked))
            };
            println!("| {name} | {n} | {} |", LOADS.iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
}
