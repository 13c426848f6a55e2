//! Whole runs over the mock server: instant, exact, and the same for any number of threads.

use std::collections::BTreeSet;

use offered_base::Share;
use offered_distributions::Distribution;
use offered_workload::Workload;

use super::*;
use crate::transport::Client;
use crate::{Generator, Load};

fn workload(text: &str) -> Workload {
    Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap()
}

fn events(text: &str, threads: u16, share: Share, response: &str) -> Vec<Event> {
    let text = format!("generator.threads = {threads}\n{text}");
    let generator = Generator::new(workload(&text), share, Load::Mock(response.parse().unwrap())).unwrap();
    let (stats, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
    assert_eq!(stats.threads.len(), usize::from(threads));
    let counts = generator.watch()();
    let events: Vec<Event> = sinks.into_iter().flatten().collect();
    assert_eq!((counts.requests, counts.in_flight), (events.len() as u64, 0));
    events
}

type Key = (Instant, u64, u32, u16);

fn keys(events: &[Event]) -> BTreeSet<Key> {
    events.iter().map(|event| (event.intended, event.session, event.step, event.label)).collect()
}

const MIXED: &str = "\n[[request]]\nget = \"/a\"\nweight = 2\n[[request]]\nget = \"/b\"\n";

#[test]
fn any_number_of_threads_and_shares_sends_the_same_requests() {
    for model in [
        "duration = \"30s\"\narrivals.open = { rate = \"200/s\" }",
        "duration = \"30s\"\narrivals.closed = { users = 40, think = { exponential = \"300ms\" } }",
        "duration = \"30s\"\narrivals.partly_open = { rate = \"20/s\", stay = 0.8, think = { exponential = \"1s\" } }",
    ] {
        let text = format!("{model}{MIXED}");
        let whole = keys(&events(&text, 1, Share::ALL, "exponential:20ms"));
        assert!(whole.len() > 2000, "{model}: {}", whole.len());
        assert_eq!(keys(&events(&text, 3, Share::ALL, "exponential:20ms")), whole, "{model}");
        let parts = (0..4).map(|k| events(&text, 2, Share::new(k, 4).unwrap(), "exponential:20ms"));
        let union: Vec<Event> = parts.flatten().collect();
        assert_eq!(union.len(), whole.len(), "{model}: nothing twice");
        assert_eq!(keys(&union), whole, "{model}");
    }
}

#[test]
fn sessions_follow_their_flow_on_any_thread() {
    // The flow is a, b, b, c; three in four sessions start again at a. So the step of a session determines the label.
    let text = "duration = \"30s\"\narrivals.partly_open = { rate = \"20/s\", think = { exponential = \"1s\" } }\n\
        target = { url = \"http://127.0.0.1:9/\", in_flight = 30 }\n\
        request = [{ get = \"/a\" }, { get = \"/b\" }, { get = \"/c\" }]\n\
        flow = [{ name = \"abbc\", step = [{ request = \"/a\" }, { request = \"/b\", repeat = 2 }, \
                                       { request = \"/c\", next = { \"/a\" = 3, leave = 1 } }] }]";
    let events = events(text, 1, Share::ALL, "exponential:200ms");
    assert!(
        events.iter().any(|event| event.outcome == Outcome::Unsent),
        "some requests are not sent, and their sessions continue"
    );
    let mut longest = 0;
    for event in &events {
        assert_eq!(event.label, [0, 1, 1, 2][event.step as usize % 4], "step {} of {}", event.step, event.session);
        longest = longest.max(event.step);
    }
    assert!(longest >= 8, "some go round more than twice");
    assert_eq!(keys(&self::events(&text.replace(", in_flight = 30", ""), 3, Share::ALL, "exponential:200ms")), {
        keys(&self::events(&text.replace(", in_flight = 30", ""), 1, Share::ALL, "exponential:200ms"))
    });
}

#[test]
fn every_request_is_one_event_with_ordered_times() {
    let events = events("duration = \"20s\"\narrivals.open = { rate = \"300/s\" }", 2, Share::ALL, "exponential:500ms");
    assert!(events.iter().all(|event| {
        let (sent, done) = (event.sent.unwrap(), event.done.unwrap());
        event.intended <= sent
            && sent <= done
            && event.outcome == Outcome::Ok
            && event.lateness() == Some(Nanos::ZERO.into())
    }));
}

#[test]
fn requests_above_the_limit_are_unsent_events_with_a_reason() {
    let text = "duration = \"10s\"\narrivals.open = { rate = \"100/s\", process = \"constant\" }\n\
                target = { url = \"http://127.0.0.1:9/\", in_flight = 5 }";
    let events = events(text, 1, Share::ALL, "constant:100ms");
    // A hundred requests a second, each in flight for 100 ms, and a limit of five: half are not sent.
    let unsent: Vec<_> = events.iter().filter(|event| event.outcome == Outcome::Unsent).collect();
    assert_eq!((events.len(), unsent.len()), (1000, 500));
    assert!(unsent.iter().all(|event| event.sent.is_none() && event.error == Some(Reason::InFlight(5))));
}

#[test]
fn a_closed_user_whose_request_is_not_sent_pauses() {
    let text =
        "duration = \"2s\"\narrivals.closed.users = 2\ntarget = { url = \"http://127.0.0.1:9/\", in_flight = 1 }";
    let events = events(text, 1, Share::ALL, "constant:10s");
    let unsent = events.iter().filter(|event| event.outcome == Outcome::Unsent).count();
    assert_eq!((events.len() - unsent, unsent), (1, 20));
}

/// A transport with a clock that moves only in `wait`, and a `send` that takes 1 ms.
struct Slow(Mock, Nanos);

impl Client<Vec<Event>> for Slow {
    fn now(&self) -> Instant {
        self.0.now() + self.1
    }

    fn wait(&mut self, deadline: Instant, events: &mut Vec<Event>) {
        self.0.wait(deadline, events);
    }

    fn close_session(&mut self, _: u64) {}

    fn cancel_all(&mut self, events: &mut Vec<Event>) {
        self.0.cancel_all(events);
    }

    fn idle(&self) -> Nanos {
        Nanos::ZERO
    }
}

impl Transport for Slow {
    fn send(&mut self, launch: Launch, label: u16, sequence: u64, events: &mut Vec<Event>) -> Instant {
        self.1 += Nanos::from_millis(1);
        self.0.send(launch, label, sequence, events);
        self.now()
    }
}

use crate::transport::Mock;

fn drive_slow(rate: u64, late: Late, stop_first: bool) -> Vec<Event> {
    let text = format!("duration = \"1s\"\narrivals.open = {{ rate = \"{rate}/s\", process = \"constant\" }}");
    let workload = workload(&text);
    let mut sink: Vec<Event> = Vec::new();
    let stop = AtomicBool::new(stop_first);
    let law = Distribution::constant(0.001).unwrap();
    Driver {
        agenda: workload.agenda(Share::ALL),
        mix: workload.mix(),
        sessions: workload.sessions(),
        positions: workload.flows().map(|_| HashMap::new()),
        late,
        end: workload.end(),
        in_flight: u64::MAX,
        worker: 0,
        numbering: (0, 1),
        transport: Slow(Mock::new(workload.seed(), law, 0), Nanos::ZERO),
        stop: &stop,
        abort: &AtomicBool::new(false),
        live: &LiveCounters::default(),
        sink: &mut sink,
        attempts: None,
    }
    .run();
    sink
}

#[test]
fn late_requests_are_sent_or_skipped_as_configured() {
    // Two requests a millisecond from a thread that can send one: it falls behind, and either way every request is
    // counted.
    let sent = drive_slow(2000, Late::Send, false);
    assert_eq!(sent.len(), 2000);
    assert!(sent.iter().all(|event| event.sent.is_some()));
    let skipped = drive_slow(2000, Late::Skip(Nanos::from_millis(10)), false);
    assert_eq!(skipped.len(), 2000);
    let unsent: Vec<_> = skipped.iter().filter(|event| event.outcome == Outcome::Unsent).collect();
    assert!((800..1200).contains(&unsent.len()), "{}", unsent.len());
    assert!(unsent.iter().all(|event| matches!(event.error, Some(Reason::Late(_)))));
}

#[test]
fn late_requests_are_sent_until_shortly_after_the_end() {
    // Ten requests a millisecond from a thread that can send one: without a limit it would continue for ten seconds.
    let events = drive_slow(10_000, Late::Send, false);
    assert_eq!(events.len(), 10_000);
    let (sent, unsent): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.sent.is_some());
    assert!((2900..3200).contains(&sent.len()), "{}", sent.len());
    assert!(unsent.iter().all(|event| event.error == Some(Reason::RunOver)));
}

#[test]
fn a_stop_before_the_start_sends_nothing() {
    assert_eq!(drive_slow(2000, Late::Send, true), []);
}
