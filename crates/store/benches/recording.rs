//! `cargo bench -p offered-store --bench recording`: the cost of writing an event to disk and reading it back.
//!
//! Measurements, not tests. Events of a closed run at full speed (64 connections, one request) and of an open one (Poisson, four
//! requests): processor time per event to write and to read back, and bytes per event on disk.
//!
//! `cargo bench -p offered-store --bench recording -- 120`: the effect of recording on a thread that never sleeps. For 120 s the thread makes
//! 100,000 events a second by the clock, first without and then with recording. The output is its lateness, and whether all events
//! were read back. Under `taskset -c 0` the recorder shares the core of the thread.

use std::hint::spin_loop;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_events::{Event, Outcome};
use offered_io::{Clock, thread_cpu_time};
use offered_store::{EndCondition, ReadOptions, Recorder, RunKind, RunRecord, Writer, read};

const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 5;

fn record() -> RunRecord {
    RunRecord::new(RunKind::Run, EndCondition::Duration)
}

/// `rate` a second, answered after an exponential time of mean `service_us`, over `labels` requests and `connections`.
fn events(rate: f64, service_us: f64, labels: u64, connections: u64) -> Vec<Event> {
    let seed = Seed(7);
    let (mut gaps, mut service, mut choice) =
        (seed.stream(Purpose::Arrivals), seed.stream(Purpose::Size), seed.stream(Purpose::Choice));
    let mut intended = Instant::ZERO;
    let event = |i| {
        intended += Nanos::from_secs_f64(gaps.exponential() / rate);
        let sent = intended + Nanos(300 + choice.below(2000));
        let done = sent + Nanos::from_secs_f64(service_us / 1e6 * service.exponential());
        Event {
            sent: Some(sent),
            first_byte: Some(done),
            done: Some(done),
            session: i % connections,
            step: (i / connections) as u32,
            label: choice.below(labels) as u16,
            outcome: Outcome::Ok,
            status: 200,
            bytes_out: 84,
            bytes_in: 147,
            connection: (i % connections) as u32,
            reused: true,
            ..Event::at(intended)
        }
    };
    (0..EVENTS).map(event).collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// From one event to the next, and how many are handed over at once, as the driver does.
const GAP: Nanos = Nanos::from_micros(10);
const BATCH: usize = 1024;

/// Makes an event every [`GAP`] for this number of seconds and passes them to `keep`. Returns the lateness of each, in ns, sorted.
fn paced(seconds: u64, mut keep: impl FnMut(Vec<Event>)) -> Vec<u64> {
    let made = events(100_000.0, 10_000.0, 4, 64);
    let mut late = vec![0; (Nanos::from_secs(seconds).0 / GAP.0) as usize];
    let mut batch = Vec::with_capacity(BATCH);
    let clock = Clock::start();
    for (at, late) in late.iter_mut().enumerate() {
        let due = Instant(at as u64 * GAP.0);
        while clock.now() < due {
            spin_loop();
        }
        let now = clock.now();
        *late = due.until(now).0;
        batch.push(Event {
            sent: Some(now),
            done: Some(now),
            ..Event { intended: due, ..made[at % made.len()].clone() }
        });
        if batch.len() == BATCH {
            keep(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
        }
    }
    keep(batch);
    late.sort_unstable();
    late
}

fn beside_a_thread_that_never_sleeps(seconds: u64) {
    println!("100,000 events a second for {seconds} s\n\n                lateness p50 us  p99 us  p99.9 us  max us");
    let show = |name, late: &[u64]| {
        let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize] as f64 / 1e3;
        println!("{name:<15} {:>15.2} {:>7.2} {:>9.1} {:>7.0}", at(0.5), at(0.99), at(0.999), at(1.0));
    };
    show("not recording", &paced(seconds, drop));
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let labels = (0..4).map(|n| format!("{n:03}_page")).collect();
    let recorder = Recorder::start(Writer::create(&run, "", labels).expect("a run")).expect("a thread");
    let late = paced(seconds, |batch| recorder.record(batch).expect("a recorder"));
    show("recording", &late);
    recorder.finish(&record()).expect("enough disk space");
    let found = read(&run, &ReadOptions::default()).expect("a run").events.launches();
    println!("\n{found} of {} events found again", late.len());
}

fn main() {
    if let Some(seconds) = std::env::args().skip(1).find_map(|word| word.parse().ok()) {
        return beside_a_thread_that_never_sleeps(seconds);
    }
    println!("{EVENTS} events, {ROUNDS} rounds, medians:\n\nevents    write us  read us  bytes   (of each)");
    for (name, events) in
        [("closed", events(120_000.0, 400.0, 1, 64)), ("open", events(100_000.0, 10_000.0, 4, EVENTS))]
    {
        let (mut writing, mut reading, mut bytes) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            let folder = tempfile::tempdir().expect("a folder");
            let run = folder.path().join("run");
            let batches: Vec<Vec<Event>> = events.chunks(1024).map(<[Event]>::to_vec).collect();
            let labels = (0..4).map(|n| format!("{n:03}_page")).collect();
            let mut writer = Writer::create(&run, "", labels).expect("a run");
            let before = thread_cpu_time();
            for batch in batches {
                writer.write(batch).expect("enough disk space");
            }
            writer.finish(&record()).expect("enough disk space");
            writing.push((thread_cpu_time() - before).as_micros_f64() / EVENTS as f64);
            bytes = std::fs::read_dir(run.join("events"))
                .expect("a folder")
                .map(|part| part.and_then(|part| part.metadata()).expect("a part").len())
                .sum();
            let before = thread_cpu_time();
            assert_eq!(read(&run, &ReadOptions::default()).expect("a run").events.launches(), EVENTS);
            reading.push((thread_cpu_time() - before).as_micros_f64() / EVENTS as f64);
        }
        println!("{name:<8} {:>9.3} {:>8.3} {:>6.1}", median(writing), median(reading), bytes as f64 / EVENTS as f64);
    }
}
