//! How often a run is refused that could be believed, and believed that had to be refused, by what its generator did to the
//! responses; and how often a threshold is judged that a punctual generator would have answered otherwise: prints the tables of
//! book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example effect`; an argument sets the runs of each row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Law;
use offered_events::{Event, Outcome, Recording};
use offered_verify::{CheckResult, Criteria, Measurements, ThresholdResult, Validity, verify};
use offered_workload::Threshold;

/// Launches a second.
const RATE: f64 = 300.0;
/// The edges of the rows: what the generator did to the worst of p50, p95 and p99, in per cent.
const BANDS: [f64; 7] = [0.0, 1.0, 2.5, 5.0, 10.0, 20.0, f64::INFINITY];

/// How servers take requests.
#[derive(Clone, Copy)]
enum Server {
    InOrder,
    Shared,
}

/// When requests that arrive at these ascending instants at so many servers are done, all in seconds.
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
            // A request is done when each of those there has been given its work since it came: `given` by now.
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

/// When a generator sends what was meant for these instants.
type Sends = fn(&[f64], &mut dyn FnMut() -> f64) -> Vec<f64>;

/// It stands still now and then, and then sends all at once: stalls of 0.3 to 100 ms, 0.1 to 10 % of the time.
fn stalling(meant: &[f64], chance: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let length = 3e-4 * 333f64.powf(chance());
    let apart = length / (1e-3 * 100f64.powf(chance()));
    let (mut from, mut to) = (0.0, 0.0);
    let late = |at: &f64| {
        while *at >= to {
            from = to - apart * (1.0 - chance()).ln();
            to = from + 2.0 * length * chance();
        }
        if *at >= from { to } else { *at }
    };
    meant.iter().map(late).collect()
}

/// It needs some time for each launch, with which it is busy for 20 to 110 % of its time.
fn slow(meant: &[f64], chance: &mut dyn FnMut() -> f64) -> Vec<f64> {
    let each = (0.2 + 0.9 * chance()) / RATE;
    let mut free = 0.0f64;
    let send = |at: &f64| {
        let sent = at.max(free);
        free = sent + each;
        sent
    };
    meant.iter().map(send).collect()
}

/// The percentiles that are looked at.
const LOOKED_AT: [f64; 3] = [50.0, 95.0, 99.0];

fn percentiles(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_unstable_by(f64::total_cmp);
    LOOKED_AT.map(|p| times[(p / 100.0 * times.len() as f64) as usize])
}

/// What is said of one run.
struct Said {
    /// What the generator did to the worst figure, in per cent.
    effect: f64,
    by_effect: Validity,
    strictly: Validity,
    /// One threshold was judged.
    judged: bool,
    /// Whether a punctual generator would have answered that otherwise.
    otherwise: bool,
}

fn run(n: usize, sends: Sends, seed: u64) -> Said {
    let mut stream = Seed(seed).stream(Purpose::Think);
    let mut chance = || stream.uniform();
    let server = if chance() < 0.5 { Server::InOrder } else { Server::Shared };
    let (load, servers) = (0.1 + 0.8 * chance(), 1000f64.powf(chance()) as usize);
    let law = match (3.0 * chance()) as u8 {
        0 => Law::constant(1.0),
        1 => Law::exponential(1.0),
        _ => Law::hyperexponential(1.0, 8.0),
    };
    let law = law.expect("a law");
    let (mut arrivals, mut sizes) = (Seed(seed).stream(Purpose::Arrivals), Seed(seed).stream(Purpose::Size));
    let mut at = 0.0;
    let mut next = |_| {
        at += arrivals.exponential() / RATE;
        at
    };
    let meant: Vec<f64> = (0..n).map(&mut next).collect();
    let work: Vec<f64> = (0..n).map(|_| load * servers as f64 / RATE * law.sample(&mut sizes)).collect();
    let sent = sends(&meant, &mut chance);
    let done = served(server, servers, &sent, &work);
    let response = |done: &[f64]| done.iter().zip(&meant).map(|(done, meant)| done - meant).collect::<Vec<f64>>();
    let punctual = percentiles(response(&served(server, servers, &meant, &work)));
    let measured = percentiles(response(&done));
    let apart =
        measured.iter().zip(&punctual).map(|(measured, punctual)| 100.0 * (measured - punctual).abs() / measured);
    // A bound from a third of what a punctual generator finds to three times that.
    let looked_at = ((3.0 * chance()) as usize).min(2);
    let bound = punctual[looked_at] * 10f64.powf(chance() - 0.5);
    let threshold =
        Threshold::new(&format!("response.p{}", LOOKED_AT[looked_at]), &format!("< {:.0}ns", (bound * 1e9).max(1.0)));
    let event = |i: usize| Event {
        sent: Some(Instant::from_secs_f64(sent[i])),
        done: Some(Instant::from_secs_f64(done[i])),
        outcome: Outcome::Ok,
        ..Event::at(Instant::from_secs_f64(meant[i]))
    };
    let recording = Recording::of_run((0..n).map(event).collect(), vec!["a".into()]);
    let criteria = |effect_tolerance, thresholds| {
        let lasts = Some(Nanos::from_secs_f64(n as f64 / RATE * 2.0));
        Criteria {
            target_rate_per_s: Some(RATE),
            duration: lasts,
            generator_error_tolerance: effect_tolerance,
            thresholds,
            ..Criteria::default()
        }
    };
    let judged = |criteria: &Criteria| verify(&recording, criteria).expect("a recording in memory");
    let one = criteria(0.05, vec![threshold.expect("a threshold")]);
    let held_to_one = judged(&one);
    let counted = Instant::ZERO..Instant::ZERO + one.duration.expect("a duration");
    let found = Measurements::new(&recording, &held_to_one.gaps, &held_to_one.window, counted);
    let checked = ThresholdResult::check_all(&one.thresholds, &found, &held_to_one).expect("a recording in memory");
    Said {
        effect: apart.fold(0.0, f64::max),
        by_effect: judged(&criteria(0.05, Vec::new())).validity,
        strictly: judged(&criteria(0.0, Vec::new())).validity,
        judged: checked[0].result != CheckResult::NotChecked,
        otherwise: (measured[looked_at] < bound) != (punctual[looked_at] < bound),
    }
}

/// The row of the runs whose effect lies between these.
fn row(name: &str, n: usize, band: &[f64], here: &[&Said]) -> String {
    let percent = |of: &dyn Fn(&&&Said) -> bool| {
        let said = here.iter().filter(of).count();
        format!("{:.0}", 100.0 * said as f64 / here.len() as f64)
    };
    let by_effect = |wanted| percent(&|said| said.by_effect == wanted);
    let band =
        if band[1].is_finite() { format!("{} to {} %", band[0], band[1]) } else { format!("{} % and more", band[0]) };
    let cells = [
        by_effect(Validity::Valid),
        by_effect(Validity::ValidWithWarnings),
        by_effect(Validity::Invalid),
        percent(&|said| said.strictly == Validity::Invalid),
        percent(&|said| !said.judged),
        here.iter().filter(|said| said.judged && said.otherwise).count().to_string(),
    ];
    format!("| {name} | {n} | {band} | {} | {} |", here.len(), cells.join(" | "))
}

fn main() {
    let runs: u64 = std::env::args().nth(1).map_or(1000, |arg| arg.parse().expect("a number of runs"));
    println!(
        "| generator | launches | its doing | runs | holds | with a doubt | refused | strictly | with a threshold | wrongly |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (name, sends) in [("stalls", stalling as Sends), ("slow", slow)] {
        for n in [1000, 5000, 20_000] {
            let all: Vec<Said> = (0..runs).map(|seed| run(n, sends, seed + 2_000_000)).collect();
            for band in BANDS.windows(2) {
                let here: Vec<_> = all.iter().filter(|said| (band[0]..band[1]).contains(&said.effect)).collect();
                println!("{}", row(name, n, band, &here));
            }
        }
    }
}
