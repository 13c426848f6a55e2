//! How often the interval of the ratio of a run to its twin holds the truth, over pairs that differ in their seed only.
//!
//! `cargo test --release -p offered-experiment --test twin -- --ignored --nocapture` prints the table of
//! book/src/concepts/twin.md. The run is itself simulated, at a server that differs from the model in a known way, so that the truth
//! is a closed form. The number of batches was fixed beforehand; no seed chose it.

use std::ops::ControlFlow;

use offered_base::{Instant, Seed};
use offered_events::{Event, Outcome, Recording};
use offered_experiment::twin;
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::partly_open::SessionStream;
use offered_schedule::{After, Launch};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, simulate_with};
use offered_verify::{Twin, Window};
use offered_workload::Workload;

/// A run and its model: how the server of the run differs, and the ratio of the two mean responses in the long run.
struct Case {
    name: &'static str,
    arrivals: &'static str,
    service: &'static str,
    /// Policy of the run and of the model.
    policies: [&'static str; 2],
    /// By how much the run's server is slower.
    slower: f64,
    duration_s: u32,
    truth: f64,
}

const SERVICE: f64 = 0.01;
const EXPONENTIAL: &str = "{ exponential = \"MEANs\" }";
const H2: &str = "{ hyperexponential = { mean = \"MEANs\", scv = 8 } }";
const OPEN: &str = "open.rate = \"90/s\"";
const CLOSED: &str = "closed = { users = 50, think.exponential = \"500ms\" }";
const PARTLY: &str = "partly_open = { rate = \"18/s\", stay = 0.8, think.exponential = \"500ms\" }";

fn cases() -> Vec<Case> {
    // E[T] = E[S] / (1 - rho), of M/M/1 under any of these policies and of M/G/1 under ps.
    let open = |service: f64| service / (1.0 - 90.0 * service);
    let closed = |service: f64| MachineRepair::new(1, service, 50, 0.5).unwrap().solve().response;
    let partly = |service: f64| SessionStream::new(18.0, 0.8).unwrap().product_form(1, service).unwrap();
    let slower = |of: &dyn Fn(f64) -> f64, by: f64| of(SERVICE * by) / of(SERVICE);
    let case = |name, arrivals, service, policies, slower, duration_s, truth| Case {
        name,
        arrivals,
        service,
        policies,
        slower,
        duration_s,
        truth,
    };
    vec![
        case("open M/M/1, 1 minute, the same server under ps", OPEN, EXPONENTIAL, ["ps", "fcfs"], 1.0, 60, 1.0),
        case("open M/M/1, 10 minutes, the same", OPEN, EXPONENTIAL, ["ps", "fcfs"], 1.0, 600, 1.0),
        case("open M/M/1, 10 minutes, 2 % slower", OPEN, EXPONENTIAL, ["fcfs"; 2], 1.02, 600, slower(&open, 1.02)),
        case("open C2 = 8, ps, 1 hour, 2 % slower", OPEN, H2, ["ps"; 2], 1.02, 3600, slower(&open, 1.02)),
        case(
            "closed, 50 users, 1 minute, 5 % slower",
            CLOSED,
            EXPONENTIAL,
            ["fcfs"; 2],
            1.05,
            60,
            slower(&closed, 1.05),
        ),
        case("closed, 50 users, 10 minutes, the same under ps", CLOSED, EXPONENTIAL, ["ps", "fcfs"], 1.0, 600, 1.0),
        case(
            "partly-open, 5 requests, 10 minutes, 2 % slower",
            PARTLY,
            EXPONENTIAL,
            ["ps"; 2],
            1.02,
            600,
            slower(&partly, 1.02),
        ),
    ]
}

impl Case {
    fn workload(&self, policy: &str, mean: f64, seed: u64) -> Workload {
        let Self { arrivals, duration_s, .. } = self;
        let service = self.service.replace("MEAN", &mean.to_string());
        let text = format!(
            "duration = \"{duration_s}s\"\nskip_first = \"{}s\"\narrivals.{arrivals}\n[server]\ndiscipline = \"{policy}\"\nservice = {service}\n",
            duration_s / 6
        );
        Workload::parse(&text, self.name, &|_| Err(String::new())).unwrap().with_seed(Seed(seed))
    }

    fn twin(&self, seed: u64) -> Twin {
        let run = self.workload(self.policies[0], SERVICE * self.slower, seed);
        let mut events = Events::default();
        simulate_with(&run, &mut events).unwrap();
        let recording = Recording::of_run(events.0, run.labels());
        let counted = run.counted();
        let at = |instant: Instant| Instant::ZERO.until(instant).as_secs_f64();
        let window = Window { start_s: at(counted.start), end_s: at(counted.end), requests: 0, excluded: 0 };
        twin::compare(&self.workload(self.policies[1], SERVICE, seed), None, &recording, &window).unwrap()
    }
}

/// Collects every request of a simulation.
#[derive(Default)]
struct Events(Vec<Event>);

impl SimulationObserver for Events {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, _: Launch, _: u16, _: After) {
        unreachable!("the capacity is unlimited");
    }

    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, _: After) -> ControlFlow<()> {
        self.0.push(Event {
            sent: Some(launch.intended),
            done: Some(now),
            session: launch.session,
            step: launch.step,
            label: job.class,
            outcome: Outcome::Ok,
            ..Event::at(launch.intended)
        });
        ControlFlow::Continue(())
    }
}

/// Pairs of runs per case; `OFFERED_RUNS=10` is CI's short form.
fn runs() -> u64 {
    std::env::var("OFFERED_RUNS").map_or(100, |runs| runs.parse().expect("OFFERED_RUNS is a number of runs"))
}

#[test]
#[ignore = "a minute or two, with --release"]
fn nineteen_of_twenty_intervals_hold_the_true_ratio() {
    let runs = runs();
    println!(
        "{:50} {:>6} {:>5} {:>8} {:>8} {:>11}",
        "run and model, load 0.9", "ratio", "holds", "within", "alone", "correlation"
    );
    for case in cases() {
        let (mut held, mut within, mut alone, mut correlation) = (0, 0.0, 0.0, 0.0);
        for seed in 1..=runs {
            let twin = case.twin(seed);
            let total = twin.total().unwrap();
            let (low, high) = (total.ratio_low.unwrap(), total.ratio_high.unwrap());
            held += u64::from(low <= case.truth && case.truth <= high);
            let each = 1.0 / runs as f64;
            within += each * 50.0 * (high - low) / total.ratio.unwrap();
            let (low, high) = (total.response_low_ms.unwrap(), total.response_high_ms.unwrap());
            alone += each * 50.0 * (high - low) / total.response_ms;
            correlation += each * total.correlation.unwrap();
        }
        let Case { name, truth, .. } = case;
        println!("{name:50} {truth:>6.3} {held:>5} {within:>6.1} % {alone:>6.1} % {correlation:>11.3}");
        // Fewer than seven of ten correct 95 % intervals contain the value with a probability of 0.001; fewer than ninety of a hundred with 0.01.
        let least = if runs < 100 { 0.7 } else { 0.9 };
        assert!(held as f64 >= least * runs as f64, "{name}: {held} of {runs}");
    }
}

#[test]
fn the_same_requests_are_paired_in_every_system() {
    for case in cases().iter().filter(|case| case.duration_s == 60 || case.arrivals == PARTLY) {
        let twin = case.twin(1);
        let total = twin.total().unwrap();
        assert!(twin.unpaired.all() * 20 < twin.pairs, "{}: {:?}", case.name, twin.unpaired);
        assert!(total.correlation.unwrap() > 0.3, "{}: {:?}", case.name, total.correlation);
    }
    // Requests of an open system do not depend on responses.
    let open = cases()[0].twin(1);
    assert_eq!((open.same_time, open.unpaired.all()), (open.pairs, 0));
}

#[test]
fn a_server_equal_to_the_model_makes_every_response_equal() {
    for arrivals in [OPEN, CLOSED, PARTLY] {
        let same = Case {
            name: "the same",
            arrivals,
            service: EXPONENTIAL,
            policies: ["ps"; 2],
            slower: 1.0,
            duration_s: 60,
            truth: 1.0,
        };
        let twin = same.twin(3);
        let total = twin.total().unwrap();
        assert_eq!((twin.unpaired.all(), twin.same_time), (0, twin.pairs), "{arrivals}");
        assert_eq!((total.ratio, total.ratio_low, total.ratio_high), (Some(1.0), Some(1.0), Some(1.0)), "{arrivals}");
    }
}
