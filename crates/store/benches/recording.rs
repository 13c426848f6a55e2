//! `cargo bench -p offered-store --bench recording`: what an event costs on its way to disk and back.
//!
//! Measurements, not tests. Events of a closed run at full speed (64 connections, one request) and of an open one (Poisson, four
//! requests): processor time per event to write and to read back, and bytes per event on disk.

use offered_clock::cpu_time;
use offered_model::{Event, Nanos, Outcome, Purpose, Seed};
use offered_store::{ReadOptions, Writer, read};

const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// `rate` a second, answered after an exponential time of mean `service_us`, over `labels` requests and `connections`.
fn events(rate: f64, service_us: f64, labels: u64, connections: u64) -> Vec<Event> {
    let seed = Seed(7);
    let (mut gaps, mut service, mut choice) =
        (seed.stream(Purpose::Arrivals), seed.stream(Purpose::Size), seed.stream(Purpose::Choice));
    let mut intended = Nanos::ZERO;
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

fn main() {
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
            let before = cpu_time();
            for batch in batches {
                writer.write(batch).expect("room on the disk");
            }
            writer.finish(&serde_json::Value::Null).expect("room on the disk");
            writing.push(cpu_time().since(before).as_micros_f64() / EVENTS as f64);
            bytes = std::fs::read_dir(run.join("events"))
                .expect("a folder")
                .map(|part| part.and_then(|part| part.metadata()).expect("a part").len())
                .sum();
            let before = cpu_time();
            assert_eq!(read(&run, &ReadOptions::default()).expect("a run").events.len() as u64, EVENTS);
            reading.push(cpu_time().since(before).as_micros_f64() / EVENTS as f64);
        }
        println!("{name:<8} {:>9.3} {:>8.3} {:>6.1}", median(writing), median(reading), bytes as f64 / EVENTS as f64);
    }
}
