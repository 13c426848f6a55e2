use std::ops::ControlFlow;

use offered_schedule::After;

use super::*;
use crate::{Stop, simulate};

fn workload(text: &str) -> Workload {
    Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"))
}

/// The events of a simulation.
#[derive(Default)]
struct Events {
    requests: Vec<Event>,
    attempts: Vec<Event>,
    /// End of each request in a workload without time limits.
    plain: Vec<(u64, Instant)>,
    /// Requests that had not ended at the end.
    unfinished: Vec<Launch>,
}

impl SimulationObserver for Events {
    fn arrived(&mut self, _: Instant) {}

    fn rejected(&mut self, _: Launch, _: u16, _: After) {}

    fn completed(&mut self, now: Instant, launch: Launch, _: &Job, _: After) -> ControlFlow<()> {
        self.plain.push((launch.session, now));
        ControlFlow::Continue(())
    }

    fn attempt(&mut self, event: &Event) {
        self.attempts.push(event.clone());
    }

    fn ended(&mut self, launch: Launch, event: &Event, _: Nanos, _: After) -> ControlFlow<()> {
        assert_eq!((launch.session, launch.step, launch.intended), (event.session, event.step, event.intended));
        self.requests.push(event.clone());
        ControlFlow::Continue(())
    }

    fn unfinished(&mut self, _: Instant, launch: Launch, _: u16) {
        self.unfinished.push(launch);
    }
}

fn simulated(text: &str) -> (Events, AttemptFigures) {
    let mut events = Events::default();
    let result = simulate(&workload(text), Stop::Duration, Some(&mut events)).unwrap();
    (events, result.attempts.unwrap_or_default())
}

#[test]
fn limits_that_are_never_reached_change_nothing() {
    let plain = "seed = 3\nduration = \"200s\"\narrivals.open.rate = \"70/s\"\n\
        server = { discipline = \"ps\", service = { exponential = \"10ms\" } }\n";
    let limited = format!("{plain}[[request]]\nget = \"/\"\ntimeout = \"1h\"\nretry = {{ times = 9 }}\n");
    let (plain, (limited, figures)) = (simulated(plain).0.plain, simulated(&limited));
    let ends: Vec<(u64, Instant)> = limited.requests.iter().map(|event| (event.session, event.done.unwrap())).collect();
    assert_eq!(ends, plain);
    assert!(limited.attempts.is_empty());
    assert!((figures.utilisation.unwrap() - 0.7).abs() < 0.03 && figures.wasted == 0.0, "{figures:?}");
}

#[test]
fn requests_that_have_not_ended_are_in_order() {
    let text = "seed = 3\nduration = \"200s\"\narrivals.open.rate = \"90/s\"\n\
        server = { discipline = \"infinite\", service = { exponential = \"1s\" } }\n\
        [[request]]\nget = \"/\"\ntimeout = \"1h\"\n";
    let mut events = Events::default();
    simulate(&workload(text), Stop::Jobs(5000), Some(&mut events)).unwrap();
    let Events { unfinished, .. } = events;
    assert!(unfinished.len() > 30 && unfinished.is_sorted(), "{unfinished:?}");
}

/// Requests at 80/s to a server for 100/s, with 20 s at 150/s in between.
fn overload(keys: &str, server: &str) -> String {
    format!(
        "seed = 5\nduration = \"300s\"\n\
         arrivals.open.rate.steps = [[\"80/s\", \"60s\"], [\"150/s\", \"20s\"], [\"80/s\", \"220s\"]]\n\
         server = {{ service = {{ exponential = \"10ms\" }}{server} }}\n[[request]]\nget = \"/\"\ntimeout = \"400ms\"\n{keys}\n"
    )
}

/// Share of the requests of the last minute that succeeded.
fn goodput_at_the_end(events: &Events) -> f64 {
    let last = events.requests.iter().filter(|event| event.intended >= Instant::from_secs(240));
    let (good, all) = last.fold((0, 0), |(good, all), event| (good + u32::from(event.outcome == Outcome::Ok), all + 1));
    f64::from(good) / f64::from(all)
}

#[test]
fn retries_keep_an_overload_alive_and_a_budget_ends_it() {
    let retry = "retry = { times = 8, wait = \"100ms\" }";
    let (alive, figures) = simulated(&overload(retry, ""));
    assert!(goodput_at_the_end(&alive) < 0.1, "{}", goodput_at_the_end(&alive));
    assert!(figures.attempts_per_s > 100.0 && figures.first_attempts_per_s < 90.0, "{figures:?}");
    assert!(figures.wasted > 0.5, "{figures:?}");
    for keys in ["", "retry = { times = 8, wait = \"100ms\", budget = 0.1 }"] {
        let (ends, _) = simulated(&overload(keys, ""));
        assert!(goodput_at_the_end(&ends) > 0.95, "{keys}: {}", goodput_at_the_end(&ends));
    }
}

#[test]
fn a_server_that_drops_abandoned_requests_recovers_at_once() {
    // The overload leaves a queue that takes 50 s, of requests whose clients have gone.
    let good = |server: &str| {
        let (events, _) = simulated(&overload("", server));
        let after = |event: &&Event| (Instant::from_secs(82)..Instant::from_secs(110)).contains(&event.intended);
        let outcomes: Vec<Outcome> = events.requests.iter().filter(after).map(|event| event.outcome).collect();
        outcomes.iter().filter(|outcome| **outcome == Outcome::Ok).count() as f64 / outcomes.len() as f64
    };
    assert!(good(", cancel = true") > 0.9, "{}", good(", cancel = true"));
    assert!(good("") < 0.3, "{}", good(""));
}

#[test]
fn each_attempt_is_an_event_and_each_request_has_one_outcome() {
    let (events, _) = simulated(&overload("retry = { times = 2, wait = \"100ms\" }", ""));
    let retries: u64 = events.requests.iter().map(|event| u64::from(event.retries)).sum();
    let retried = events.requests.iter().filter(|event| event.retries > 0).count() as u64;
    assert_eq!(events.attempts.len() as u64, retries + retried);
    assert!(retried > 1000);
    for event in &events.attempts {
        assert!(event.service().unwrap() <= Nanos::from_millis(400).into(), "{event:?}");
    }
    let failed = events.requests.iter().filter(|event| event.outcome == Outcome::Timeout);
    for event in failed {
        // Three attempts of 400 ms and two waits of 100 ms.
        assert_eq!(event.response(), Some(Nanos::from_millis(1400).into()));
    }
}

#[test]
fn impatient_users_leave() {
    let (events, figures) = simulated(&overload("patience = { exponential = \"200ms\" }", ""));
    let gave_up = events.requests.iter().filter(|event| matches!(event.error, Some(Reason::GaveUp(_)))).count();
    assert_eq!(gave_up as u64, figures.gave_up);
    // M/M/1 at load 0.8 whose server works on abandoned requests: of a response time of mean 50 ms a fifth is longer than an exponential patience of 200 ms.
    let calm: Vec<&Event> = events.requests.iter().filter(|event| event.intended < Instant::from_secs(60)).collect();
    let share = calm.iter().filter(|event| event.outcome != Outcome::Ok).count() as f64 / calm.len() as f64;
    assert!((0.1..0.3).contains(&share), "{share}");
}

#[test]
fn a_circuit_breaker_holds_requests_back_until_the_server_responds_again() {
    // 150/s at a server for 100/s; nothing waits longer than 100 ms.
    let text = "seed = 3\nduration = \"100s\"\narrivals.open.rate = \"150/s\"\n\
        server = { discipline = \"fcfs\", service = { constant = \"10ms\" } }\n\
        [[request]]\nget = \"/\"\ntimeout = \"100ms\"\n";
    let breaker = "circuit_breaker = { window = \"1s\", open = \"2s\" }\n";
    let ((plain, without), (events, with)) = (simulated(text), simulated(&format!("{text}{breaker}")));
    let held_back = events.requests.iter().filter(|event| event.outcome == Outcome::BreakerOpen);
    assert!(held_back.clone().all(|event| event.sent.is_none() && event.done.is_none()));
    assert!((held_back.count() as f64 / 100.0 - with.breaker_open_per_s).abs() < 0.01, "{with:?}");
    assert_eq!(events.requests.len(), plain.requests.len(), "every request ends");
    // Without it the queue only grows, and all requests time out.
    assert!(without.goodput_per_s < 5.0 && with.goodput_per_s > 10.0 * without.goodput_per_s, "{without:?} {with:?}");
    assert!(with.first_attempts_per_s + with.breaker_open_per_s > 149.0, "{with:?}");
    assert_eq!(simulated(&format!("{text}{breaker}")).1, with, "a function of workload and seed");
}

#[test]
fn closed_users_pause_while_the_breaker_is_open() {
    let text = "seed = 3\nduration = \"20s\"\narrivals.closed.users = 30\n\
        server = { discipline = \"fcfs\", service = { constant = \"10ms\" } }\n\
        [[request]]\nget = \"/\"\ntimeout = \"100ms\"\ncircuit_breaker = { window = \"1s\", open = \"1s\" }\n";
    let (events, figures) = simulated(text);
    // At most ten requests per second of each user end without a time of their own.
    assert!(figures.breaker_open_per_s > 10.0 && figures.breaker_open_per_s <= 300.0, "{figures:?}");
    assert!(events.requests.len() < 30 * 20 * 20);
}
