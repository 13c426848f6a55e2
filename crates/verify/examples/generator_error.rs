//! The error rates of the validity and of thresholds under generator errors: how often a usable run is invalid and an
//! unusable one is valid, and how often a threshold is decided that a punctual generator would have decided
//! differently. Prints the tables of book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example generator_error`; an argument sets the number of runs per row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome, Recording};
use offered_verify::{CheckResult, Criteria, Measurements, ThresholdResult, Validity, verify};
use offered_workload::Threshold;

/// Requests per second.
const RATE: f64 = 300.0;
/// The edges of the rows: the generator error of the worst of p50, p95 and p99, in percent.
const BANDS: [f64; 7] = [0.0, 1.0, 2.5, 5.0, 10.0, 20.0, f64::INFINITY];

/// The scheduling discipline of the server.
#[derive(Clone, Copy)]
enum Server {
    InOrder,
    Shared,
}

/// The completion times of requests that arrive at these ascending times at this number of servers, in seconds.
fn served(server: Server, servers: usize, arrivals: &[f64], work: &[f64]) -> Vec<f64> {
    let mut done = vec![0.0; arrivals.len()];
    match server {
        Server::InOrder => {
            let mut free: BinaryHeap<Reverse<u64>> = (0..servers).map(|_| Reverse(0)).collect();
            for (i, at) in arrivals.iter().enumerate() {
                let Reverse(first) = free.pop().expect("a server");
                done[i] = at.max(first as f64 / 1e9) + work[i];
                free.push(Reverse((done[i] * 1e9) as u64));
            }
        }
        Server::Shared => {
            // With processor sharing a request completes when each present request has received its work; `given` is
            // the total so far.
            let (mut now, mut given) = (0.0, 0.0);
            let mut there: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new(); // by nanoseconds given when done
            let each = |there: usize| (there as f64 / servers as f64).max(1.0); // so long takes a second of work
            let all = arrivals.iter().copied().zip(work.iter().copied().map(Some));
            for (next, (until, brought)) in all.chain([(f64::INFINITY, None)]).enumerate() {
                while let Some(Reverse((end, i))) = there.peek().copied() {
                    let at = now + (end as f64 / 1e9 - given) * each(there.len());
                    if at > until {
                        break;
                    }
                    there.pop();
                    (done[i], now, given) = (at, at, end as f64 / 1e9);
                }
                if let Some(work) = brought {
                    given += (until - now) / each(there.len());
                    now = until;
                    there.push(Reverse((((given + work) * 1e9) as u64, next)));
                }
            }
        }
    }
    done
}

/// The sent times for these scheduled times.
type Sends = fn(&[f64], &mut dyn FnMut() -> f64) -> Vec<f64>;

/// A generator that stalls now and then and sends everything afterwards: stalls of 0.3 to 100 ms, for 0.1 to 10 % of
/// the time.
fn stalling(scheduled: &[f64], chance: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let length = 3e-4 * 333f64.powf(chance());
    let mean_pause = length / (1e-3 * 100f64.powf(chance()));
    let (mut from, mut to) = (0.0, 0.0);
    let late = |at: &f64| {
        while *at >= to {
            from = to - mean_pause * (1.0 - chance()).ln();
            to = from + 2.0 * length * chance();
        }
        if *at >= from { to } else { *at }
    };
    scheduled.iter().map(late).collect()
}

/// A generator that needs some time per request and is busy for 20 to 110 % of its time.
fn slow(scheduled: &[f64], chance: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let each = (0.2 + 0.9 * chance()) / RATE;
    let mut free = 0.0f64;
    let send = |at: &f64| {
        let sent = at.max(free);
        free = sent + each;
        sent
    };
    scheduled.iter().map(send).collect()
}

/// The percentiles that are compared.
const COMPARED: [f64; 3] = [50.0, 95.0, 99.0];

fn percentiles(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_unstable_by(f64::total_cmp);
    COMPARED.map(|p| times[(p / 100.0 * times.len() as f64) as usize])
}

/// The result of one run.
struct RunResult {
    /// The true generator error of the worst percentile, in percent.
    error_percent: f64,
    with_tolerance: Validity,
    without_tolerance: Validity,
    /// Whether the threshold was checked.
    judged: bool,
    /// Whether a punctual generator would have had the other result.
    differs: bool,
}

fn run(n: usize, sends: Sends, seed: u64) -> RunResult {
    let mut stream = Seed(seed).stream(Purpose::Think);
    let mut chance = || stream.uniform();
    let server = if chance() < 0.5 { Server::InOrder } else { Server::Shared };
    let (load, servers) = (0.1 + 0.8 * chance(), 1000f64.powf(chance()) as usize);
    let distribution = match (3.0 * chance()) as u8 {
        0 => Distribution::constant(1.0),
        1 => Distribution::exponential(1.0),
        _ => Distribution::hyperexponential(1.0, 8.0),
    };
    let distribution = distribution.expect("a distribution");
    let (mut arrivals, mut sizes) = (Seed(seed).stream(Purpose::Arrivals), Seed(seed).stream(Purpose::Size));
    let mut at = 0.0;
    let mut next = |_| {
        at += arrivals.exponential() / RATE;
        at
    };
    let scheduled: Vec<f64> = (0..n).map(&mut next).collect();
    let work: Vec<f64> = (0..n).map(|_| load * servers as f64 / RATE * distribution.sample(&mut sizes)).collect();
    let sent = sends(&scheduled, &mut chance);
    let done = served(server, servers, &sent, &work);
    let response =
        |done: &[f64]| done.iter().zip(&scheduled).map(|(done, scheduled)| done - scheduled).collect::<Vec<f64>>();
    let punctual = percentiles(response(&served(server, servers, &scheduled, &work)));
    let measured = percentiles(response(&done));
    let differences =
        measured.iter().zip(&punctual).map(|(measured, punctual)| 100.0 * (measured - punctual).abs() / measured);
    // A bound between a third of and three times the value of a punctual generator.
    let compared = ((3.0 * chance()) as usize).min(2);
    let bound = punctual[compared] * 10f64.powf(chance() - 0.5);
    let threshold =
        Threshold::new(&format!("response.p{}", COMPARED[compared]), &format!("< {:.0}ns", (bound * 1e9).max(1.0)));
    let event = |i: usize| Event {
        sent: Some(Instant::from_secs_f64(sent[i])),
        done: Some(Instant::from_secs_f64(done[i])),
        outcome: Outcome::Ok,
        ..Event::at(Instant::from_secs_f64(scheduled[i]))
    };
    let recording = Recording::of_run((0..n).map(event).collect(), vec!["a".into()]);
    let criteria = |tolerance, thresholds| {
        let duration = Some(Nanos::from_secs_f64(n as f64 / RATE * 2.0));
        Criteria {
            target_rate_per_s: Some(RATE),
            duration,
            generator_error_tolerance: tolerance,
            thresholds,
            ..Criteria::default()
        }
    };
    let judged = |criteria: &Criteria| verify(&recording, criteria).expect("a recording in memory");
    let one = criteria(0.05, vec![threshold.expect("a threshold")]);
    let verdict = judged(&one);
    let counted = Instant::ZERO..Instant::ZERO + one.duration.expect("a duration");
    let found = Measurements::new(&recording, &verdict.gaps, &verdict.window, counted);
    let checked = ThresholdResult::check_all(&one.thresholds, &found, &verdict).expect("a recording in memory");
    RunResult {
        error_percent: differences.fold(0.0, f64::max),
        with_tolerance: judged(&criteria(0.05, Vec::new())).validity,
        without_tolerance: judged(&criteria(0.0, Vec::new())).validity,
        judged: checked[0].result != CheckResult::NotChecked,
        differs: (measured[compared] < bound) != (punctual[compared] < bound),
    }
}

/// One row: the runs whose generator error is in this band.
fn row(name: &str, n: usize, band: &[f64], here: &[&RunResult]) -> String {
    let percent = |of: &dyn Fn(&&&RunResult) -> bool| {
        let run = here.iter().filter(of).count();
        format!("{:.0}", 100.0 * run as f64 / here.len() as f64)
    };
    let validity = |wanted| percent(&|run| run.with_tolerance == wanted);
    let band =
        if band[1].is_finite() { format!("{} to {} %", band[0], band[1]) } else { format!("{} % and more", band[0]) };
    let cells = [
        validity(Validity::Valid),
        validity(Validity::ValidWithWarnings),
        validity(Validity::Invalid),
        percent(&|run| run.without_tolerance == Validity::Invalid),
        percent(&|run| !run.judged),
        here.iter().filter(|run| run.judged && run.differs).count().to_string(),
    ];
    format!("| {name} | {n} | {band} | {} | {} |", here.len(), cells.join(" | "))
}

fn main() {
    let runs: u64 = std::env::args().nth(1).map_or(1000, |arg| arg.parse().expect("a number of runs"));
    println!(
        "| generator | requests | generator error | runs | valid | with warnings | invalid | without tolerance | threshold not checked | wrong |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (name, sends) in [("stalls", stalling as Sends), ("slow", slow)] {
        for n in [1000, 5000, 20_000] {
            let all: Vec<RunResult> = (0..runs).map(|seed| run(n, sends, seed + 2_000_000)).collect();
            for band in BANDS.windows(2) {
                let here: Vec<_> = all.iter().filter(|run| (band[0]..band[1]).contains(&run.error_percent)).collect();
                println!("{}", row(name, n, band, &here));
            }
        }
    }
}
