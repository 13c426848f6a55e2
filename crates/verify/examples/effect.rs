//! How often a run is refused that could be believed, and believed that had to be refused, by what its generator did to the
//! responses: prints the table of book/src/background/calibration.md.
//!
//! `cargo run --release -p offered-verify --example effect`; an argument sets the runs of each row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use offered_model::{Event, Instant, Law, Outcome, Purpose, Recording, Seed};
use offered_verify::{Ask, Judgement, verify};

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

/// Two percentiles apart, in per cent of the one that was measured.
fn apart(measured: &[f64], punctual: &[f64]) -> f64 {
    let sorted = |times: &[f64]| {
        let mut times = times.to_vec();
        times.sort_unstable_by(f64::total_cmp);
        times
    };
    let (measured, punctual) = (sorted(measured), sorted(punctual));
    let of = |p: f64| {
        let at = (p * measured.len() as f64) as usize;
        100.0 * (measured[at] - punctual[at]).abs() / measured[at]
    };
    [0.5, 0.95, 0.99].map(of).into_iter().fold(0.0, f64::max)
}

/// One run: what the generator did to the worst figure, in per cent, and what is said of the run, by its effect and strictly.
fn run(n: usize, sends: Sends, seed: u64) -> (f64, [Judgement; 2]) {
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
    let punctual = response(&served(server, servers, &meant, &work));
    let event = |i: usize| Event {
        sent: Some(Instant::from_secs_f64(sent[i])),
        done: Some(Instant::from_secs_f64(done[i])),
        outcome: Outcome::Ok,
        ..Event::at(Instant::from_secs_f64(meant[i]))
    };
    let recording = Recording::of_run((0..n).map(event).collect(), vec!["a".into()]);
    let judged = |effect_tolerance| {
        let ask = Ask { rate_per_s: Some(RATE), effect_tolerance, ..Ask::default() };
        verify(&recording, &ask).expect("a recording in memory").judgement
    };
    (apart(&response(&done), &punctual), [judged(0.05), judged(0.0)])
}

fn main() {
    let runs: u64 = std::env::args().nth(1).map_or(1000, |arg| arg.parse().expect("a number of runs"));
    println!("| generator | launches | its doing | runs | holds | with a doubt | refused | refused strictly |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for (name, sends) in [("stalls", stalling as Sends), ("slow", slow)] {
        for n in [1000, 5000, 20_000] {
            let all: Vec<(f64, [Judgement; 2])> = (0..runs).map(|seed| run(n, sends, seed + 2_000_000)).collect();
            for band in BANDS.windows(2) {
                let here: Vec<_> = all.iter().filter(|(effect, _)| (band[0]..band[1]).contains(effect)).collect();
                let percent = |which: usize, wanted| {
                    let said = here.iter().filter(|(_, said)| said[which] == wanted).count();
                    format!("{:.0}", 100.0 * said as f64 / here.len() as f64)
                };
                let (holds, doubt) = (percent(0, Judgement::Holds), percent(0, Judgement::HoldsWithDoubt));
                let (fails, strictly) = (percent(0, Judgement::Fails), percent(1, Judgement::Fails));
                let band = if band[1].is_finite() {
                    format!("{} to {} %", band[0], band[1])
                } else {
                    format!("{} % and more", band[0])
                };
                println!("| {name} | {n} | {band} | {} | {holds} | {doubt} | {fails} | {strictly} |", here.len());
            }
        }
    }
}
