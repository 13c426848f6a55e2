//! The tally of runs on the virtual clock agrees with the verdict on all their events.

use offered_base::Share;
use offered_distributions::Distribution;
use offered_events::Recording;
use offered_run::{Generator, Load};
use offered_verify::{Pattern, Validity, verify};

use super::*;

fn workload(text: &str) -> Workload {
    Workload::parse(text, "test", &|_| Err(String::new())).unwrap()
}

/// All events of a run of `workload` with this response time distribution.
fn events(workload: &Workload, response: &Distribution) -> Vec<Event> {
    let generator = Generator::new(workload.clone(), Share::ALL, Load::Mock(response.clone())).unwrap();
    let (_, sinks) = generator.run(None, Vec::<Event>::new, |_| ()).unwrap();
    sinks.into_iter().flatten().collect()
}

fn live(events: &[Event]) -> Counts {
    let unsent = events.iter().filter(|event| event.sent.is_none()).count() as u64;
    Counts { requests: events.len() as u64, unsent, ..Counts::default() }
}

fn close(a: Option<f64>, b: Option<f64>, tolerance: f64) {
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!((a / b - 1.0).abs() < tolerance, "{a} is not {b}");
}

const OPEN: &str = "seed = 3\nduration = \"20s\"\nskip_first = \"2s\"\narrivals.open.rate = \"500/s\"\n";

#[test]
fn the_longest_request_waits_between_attempts_with_its_own_timeout() {
    let target = "url = \"http://127.0.0.1/\", connect_timeout = \"1s\", response_timeout = \"2s\"";
    let longest = |target: &str, request: &str| {
        longest_request(&workload(&format!("{OPEN}target = {{ {target} }}\nrequest = [{{ get = \"/\"{request} }}]\n")))
    };
    assert_eq!(longest(target, ""), Nanos::from_secs(3));
    assert_eq!(longest(target, ", timeout = \"4s\""), Nanos::from_secs(5));
    let retried = format!("{target}, retry = {{ times = 2, wait = \"10s\" }}");
    assert_eq!(longest(&retried, ""), Nanos::from_secs(3 + 2 * (10 + 3)));
}

#[test]
fn the_final_snapshot_agrees_with_the_verdict() {
    let workload = workload(OPEN);
    let events = events(&workload, &Distribution::exponential(0.02).unwrap());
    let mut tally = Tally::new(&workload, 1.0);
    // Snapshots during the run must not affect later ones.
    for (second, batch) in events.chunks(500).enumerate() {
        tally.add(batch);
        tally.snapshot(Instant::from_secs(second as u64 + 1), Counts::default(), false);
    }
    let snapshot = tally.final_snapshot(Instant::from_secs(21), live(&events));
    let verdict =
        verify(&Recording::of_run(events.clone(), workload.labels()), &Criteria::from_workload(&workload, 1.0))
            .unwrap();
    let (launches, responses) = (verdict.gaps.last().unwrap(), verdict.responses.last().unwrap());
    close(snapshot.measured_cov, Some(launches.cov), 1e-3);
    close(snapshot.measured_cov_low, launches.cov_low, 1e-3);
    close(snapshot.scheduled_cov, verdict.expected.scheduled_cov, 1e-3);
    close(snapshot.so_far.sent_rate_per_s, verdict.queue.rate_per_s, 1e-3);
    close(snapshot.so_far.target_rate_per_s, verdict.expected.target_rate_per_s, 1e-9);
    close(snapshot.so_far.response.map(|r| r.p95_ms), Some(responses.p95_ms), 5e-3);
    assert_eq!((snapshot.pattern, snapshot.validity), (verdict.pattern, verdict.validity), "{}", snapshot.reason);
    assert_eq!((snapshot.phase, snapshot.requests), (Phase::Ended, events.len() as u64));
    assert_eq!(snapshot.outcomes, [(Outcome::Ok, events.len() as u64)].into());
    assert_eq!(snapshot.errors().count(), 0);
}

#[test]
fn the_order_of_events_does_not_matter() {
    let workload = workload(OPEN);
    let mut events = events(&workload, &Distribution::exponential(0.5).unwrap());
    let last = |events: &[Event]| {
        let mut tally = Tally::new(&workload, 1.0);
        tally.add(events);
        tally.final_snapshot(Instant::from_secs(21), live(events))
    };
    let in_order = last(&events);
    events.reverse();
    assert_eq!(last(&events), in_order);
}

#[test]
fn phases_follow_the_clock() {
    let mut tally = Tally::new(&workload(OPEN), 1.0);
    let mut phase = |secs, stopping| tally.snapshot(Instant::from_secs(secs), Counts::default(), stopping).phase;
    let phases = [phase(0, false), phase(1, false), phase(2, false), phase(20, false), phase(20, true)];
    assert_eq!(phases, [Phase::Starting, Phase::WarmingUp, Phase::Running, Phase::Draining, Phase::Stopping]);
}

#[test]
fn the_last_seconds_use_the_counts_of_the_generator() {
    let mut tally = Tally::new(&workload(OPEN), 1.0);
    let mut at = |secs, launched, unsent| {
        let live = Counts { requests: launched, unsent, in_flight: 7, ..Counts::default() };
        tally.snapshot(Instant::from_secs(secs), live, false)
    };
    assert_eq!(at(1, 600, 100).recent.sent_rate_per_s, Some(500.0));
    (2..=15).for_each(|secs| drop(at(secs, 600 + 400 * (secs - 1), 100)));
    let snapshot = at(16, 600 + 400 * 15, 100);
    assert_eq!(
        (snapshot.recent.sent_rate_per_s, snapshot.recent.target_rate_per_s, snapshot.in_flight),
        (Some(400.0), Some(500.0), 7)
    );
    assert_eq!((snapshot.pattern, snapshot.validity), (Pattern::TooFewRequests, Validity::NotChecked));
}

#[test]
fn a_changing_target_rate_is_the_current_one() {
    let text =
        "seed = 1\nduration = \"100s\"\n[arrivals.open]\nrate = { ramp = [\"0/s\", \"100/s\"], over = \"100s\" }\n";
    let mut tally = Tally::new(&workload(text), 0.5);
    for secs in 0..50 {
        tally.snapshot(Instant::from_secs(secs), Counts::default(), false);
    }
    let snapshot = tally.snapshot(Instant::from_secs(50), Counts::default(), false);
    close(snapshot.recent.target_rate_per_s, Some(45.0 / 2.0), 1e-9);
    close(snapshot.so_far.target_rate_per_s, Some(25.0 / 2.0), 1e-9);
}

#[test]
fn partly_open_and_closed_systems_have_their_own_criteria() {
    let response = Distribution::exponential(0.02).unwrap();
    let partly = "seed = 3\nduration = \"200s\"\n[arrivals]\npartly_open = { rate = \"50/s\", stay = 0.8, think = { exponential = \"1s\" } }\n";
    let closed =
        "seed = 3\nduration = \"100s\"\n[arrivals]\nclosed = { users = 50, think = { exponential = \"1s\" } }\n";
    for (text, sessions_only) in [(partly, true), (closed, false)] {
        let workload = workload(text);
        let events = events(&workload, &response);
        let mut tally = Tally::new(&workload, 1.0);
        tally.add(&events);
        let snapshot = tally.final_snapshot(Instant::from_secs(220), live(&events));
        assert_eq!(snapshot.validity, Validity::Valid, "{}", snapshot.reason);
        let judged = events.iter().filter(|event| !sessions_only || event.step == 0).count();
        assert_eq!(tally.sent.count() + 1, judged);
        assert_eq!(snapshot.so_far.target_rate_per_s.is_some(), sessions_only);
    }
}

#[test]
fn errors_are_counted_by_kind() {
    let mut tally = Tally::new(&workload(OPEN), 1.0);
    let ended = |outcome| Event { sent: Some(Instant(5)), done: Some(Instant(9)), outcome, ..Event::at(Instant(5)) };
    let outcomes = [Outcome::Ok, Outcome::Timeout, Outcome::Timeout, Outcome::HttpError, Outcome::Cut];
    let mut events: Vec<Event> = outcomes.into_iter().map(ended).collect();
    events.push(Event::at(Instant(7)));
    tally.add(&events);
    let snapshot = tally.snapshot(Instant::from_secs(1), live(&events), false);
    assert_eq!(snapshot.errors().collect::<Vec<_>>(), [(Outcome::HttpError, 1), (Outcome::Timeout, 2)]);
    assert_eq!((snapshot.unsent, snapshot.so_far.sent_rate_per_s), (1, None), "the whole run is warm-up");
}

#[test]
fn the_first_failed_threshold_that_ends_a_run_is_reported_once_it_may() {
    let text = format!(
        "{OPEN}[thresholds]\n\"p50\" = \"< 1ms\"\n\"p90\" = {{ bound = \"< 30ms\", stop = true, after = \"5s\" }}\n\
         \"p99\" = {{ bound = \"< 1s\", stop = true }}\n"
    );
    let workload = workload(&text);
    let events = events(&workload, &Distribution::constant(0.05).unwrap());
    let mut tally = Tally::new(&workload, 1.0);
    assert!(tally.can_stop() && !Tally::new(&self::workload(OPEN), 1.0).can_stop());
    tally.add(&events[..4000]);
    let mut at = |second: u64, stopping| {
        tally.snapshot(Instant::from_secs(second), Counts::default(), stopping).failed_threshold
    };
    // Two seconds are excluded, and five seconds of the analysed time must pass.
    assert_eq!(at(6, false), None);
    // A run that is being stopped is not stopped again.
    assert_eq!(at(7, true), None);
    let told = at(7, false).unwrap();
    let (value, rest) =
        told.strip_prefix("response.p90 < 30ms failed: ").unwrap().split_once(" ms after 7.0 s").unwrap();
    assert!((value.parse::<f64>().unwrap() - 50.0).abs() < 0.05 && rest.starts_with(", of "), "{told}");
    assert_eq!(at(9, false), Some(told), "the first report stays");
}

#[test]
fn scenarios_have_rows_of_their_own() {
    let workload = workload(
        "seed = 3\nduration = \"20s\"\n[[scenario]]\nname = \"steady\"\narrivals.open.rate = \"50/s\"\n\
         [[scenario]]\nname = \"batch\"\narrivals.open.rate = \"100/s\"\nstart = \"10s\"\nend = \"15s\"\n",
    );
    let events = events(&workload, &Distribution::exponential(0.02).unwrap());
    let mut tally = Tally::new(&workload, 1.0);
    tally.add(&events);
    let snapshot = tally.final_snapshot(Instant::from_secs(21), live(&events));
    let rows: Vec<(&str, u64)> = snapshot.by_scenario.iter().map(|row| (row.name.as_str(), row.ok)).collect();
    let batch = events.iter().filter(|event| event.session % 2 == 1).count() as u64;
    assert_eq!(rows, [("steady", events.len() as u64 - batch), ("batch", batch)]);
    assert!((300..700).contains(&batch) && snapshot.by_scenario.iter().all(|row| row.response.is_some()));
    let plain = self::workload(OPEN);
    assert!(Tally::new(&plain, 1.0).final_snapshot(Instant::from_secs(21), Counts::default()).by_scenario.is_empty());
}
