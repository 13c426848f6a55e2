//! The error rates of the tests of `verify`: prints the tables of book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example calibrate` takes several minutes; an argument sets the number of
//! repetitions.

use std::fmt::Write;

use offered_base::{Instant, Nanos, Purpose, Seed, Stream};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome, Recording};
use offered_verify::{Check, CheckResult, Criteria, Validity, verify};

/// The mean gap of all streams, in seconds: about that of run 1830 of the paper.
const MEAN: f64 = 0.030;

/// The gap in seconds before a request, by its number.
type Gap = dyn Fn(&mut Stream, usize) -> f64;

/// A kind of stream.
struct Kind {
    name: &'static str,
    gap: Box<Gap>,
}

impl Kind {
    fn new(name: &'static str, gap: impl Fn(&mut Stream, usize) -> f64 + 'static) -> Self {
        Self { name, gap: Box::new(gap) }
    }
}

fn kinds() -> Vec<Kind> {
    let gamma = |cov: f64| Distribution::gamma(MEAN, cov * cov).expect("a law");
    let (even, bursty) = (gamma(0.9), gamma(1.2));
    vec![
        Kind::new("Poisson", |stream, _| MEAN * stream.exponential()),
        Kind::new("gamma, CoV 0.9", move |stream, _| even.sample(stream)),
        Kind::new("gamma, CoV 1.2", move |stream, _| bursty.sample(stream)),
        Kind::new("uniform gaps", |stream, _| 2.0 * MEAN * stream.uniform()),
        // Two at a time, 0.1 ms apart, with random pairs.
        Kind::new("batches of 2", |stream, i| if i % 2 == 0 { 2.0 * MEAN * stream.exponential() } else { 1e-4 }),
    ]
}

fn recording(kind: &Kind, n: usize, tick: u64, seed: u64) -> Recording {
    let mut stream = Seed(seed).stream(Purpose::Arrivals);
    let mut at = 0.0;
    let events = (0..=n).map(|i| {
        at += (kind.gap)(&mut stream, i);
        let sent = Instant((at * 1e9) as u64 / tick * tick);
        Event { sent: Some(sent), done: Some(sent), outcome: Outcome::Ok, ..Event::at(sent) }
    });
    Recording {
        events: events.collect::<Vec<Event>>().into(),
        format: "made".into(),
        resolution: Nanos(tick),
        ..Recording::default()
    }
}

/// The tests that are shown, with their column headings.
const TESTS: [(Check, &str); 9] = [
    (Check::Cov, "CoV"),
    (Check::GammaFit, "gamma fit"),
    (Check::AndersonDarling, "A-D"),
    (Check::KolmogorovSmirnov, "K-S"),
    (Check::PoissonCounts, "counts"),
    (Check::Dispersion, "dispersion"),
    (Check::LowFrequencies, "spectrum"),
    (Check::LjungBox, "Ljung-Box"),
    (Check::Trend, "trend"),
];

/// The percentage of `repetitions` streams that each test rejects at 5 %, then the percentage with an invalid verdict.
fn rejected(kind: &Kind, n: usize, tick: u64, repetitions: u64) -> Vec<f64> {
    let mut counts = vec![0u64; TESTS.len() + 1];
    for seed in 0..repetitions {
        let criteria = Criteria { seed: Seed(seed), ..Criteria::default() };
        let verdict =
            verify(&recording(kind, n, tick, seed + 1_000_000 * n as u64), &criteria).expect("a recording in memory");
        for (count, (check, _)) in counts.iter_mut().zip(TESTS) {
            let p = verdict.finding(check).and_then(|finding| finding.p_value);
            *count += u64::from(p.is_some_and(|p| p < 0.05));
        }
        counts[TESTS.len()] += u64::from(verdict.validity == Validity::Invalid);
    }
    counts.iter().map(|&count| 100.0 * count as f64 / repetitions as f64).collect()
}

/// Requests of closed users with these think times for `cycles` mean think times, in steady state; responses take no time.
fn closed(users: u64, think: &Distribution, cycles: f64, seed: u64) -> Recording {
    /// Mean think times until the users have forgotten their common start.
    const WARM_UP: f64 = 20.0;
    let mut stream = Seed(seed).stream(Purpose::Think);
    let (from, to) = (WARM_UP * think.mean(), (WARM_UP + cycles) * think.mean());
    let mut sent = Vec::new();
    for _ in 0..users {
        let mut at = think.sample(&mut stream);
        while at < to {
            sent.extend((at >= from).then_some(at));
            at += think.sample(&mut stream);
        }
    }
    sent.sort_by(f64::total_cmp);
    let event = |at: &f64| {
        let sent = Instant::from_secs_f64(*at);
        Event { sent: Some(sent), done: Some(sent), outcome: Outcome::Ok, ..Event::at(sent) }
    };
    Recording {
        events: sent.iter().map(event).collect::<Vec<Event>>().into(),
        format: "made".into(),
        resolution: Nanos(1),
        ..Recording::default()
    }
}

/// Prints how often closed users are recognised.
fn closed_users(repetitions: u64) {
    println!("### Closed users\n\n| think times | users | cycles | Principle B met | also found | verdict |");
    println!("|---|--:|--:|--:|--:|--:|");
    let thinks = [
        ("exponential", Distribution::exponential(1.0).expect("a law")),
        ("uniform", Distribution::uniform(0.0, 2.0).expect("a law")),
        ("nearly constant", Distribution::gamma(1.0, 0.01).expect("a law")),
    ];
    for (name, think) in &thinks {
        for (users, cycles) in [(50, 25.0), (50, 50.0), (50, 100.0), (50, 200.0), (200, 50.0), (200, 200.0)] {
            let mut counts = [0u64; 3];
            for seed in 0..repetitions {
                let criteria = Criteria { seed: Seed(seed), ..Criteria::default() };
                let verdict =
                    verify(&closed(users, think, cycles, seed + 77_000), &criteria).expect("a recording in memory");
                let is_met = verdict.principle_b().is_some_and(|principle| principle.result == CheckResult::Passed);
                let found =
                    [is_met, verdict.found_beside_principle_b().is_some(), verdict.validity == Validity::Invalid];
                for (count, found) in counts.iter_mut().zip(found) {
                    *count += u64::from(found);
                }
            }
            let [met, beside, invalid] = counts.map(|count| 100.0 * count as f64 / repetitions as f64);
            println!("| {name} | {users} | {cycles} | {met:.1} | {beside:.1} | {invalid:.1} |");
        }
    }
    println!();
}

fn main() {
    let repetitions: u64 = std::env::args().nth(1).map_or(2000, |arg| arg.parse().expect("a number of repetitions"));
    for (tick, title) in [(1, "Exact timestamps"), (1_000_000, "Timestamps in whole milliseconds")] {
        let heads: Vec<&str> = TESTS.iter().map(|(_, head)| *head).collect();
        println!("### {title}\n\n| stream | n | {} | verdict |", heads.join(" | "));
        println!("|---|{}", "--:|".repeat(TESTS.len() + 2));
        for kind in kinds() {
            for n in [100, 400, 1000, 10_000] {
                let repetitions = if n > 1000 { (repetitions / 4).max(1) } else { repetitions };
                let mut row = format!("| {} | {n} |", kind.name);
                for percent in rejected(&kind, n, tick, repetitions) {
                    write!(row, " {percent:.1} |").expect("writing to a string");
                }
                println!("{row}");
            }
        }
        println!();
    }
    closed_users(repetitions / 4);
}
