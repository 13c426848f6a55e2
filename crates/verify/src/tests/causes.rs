//! A cause is named only where the recording singles it out, with worker and time. Otherwise the verdict states the symptom alone.

use offered_base::{Instant, Nanos};
use offered_events::recording::Evidence;
use offered_events::{Event, Outcome, Reason, Recording, TokenStream};

use super::{Edit as _, launched, poisson, verify};
use crate::{Criteria, Incomplete, IncompleteCause, NotSentReason, Pattern, Validity, Verdict, WarningKind};

/// Twenty seconds of Poisson requests at 300/s by two workers.
fn two_workers() -> Recording {
    let mut run = Recording {
        intent_known: true,
        on_run_clock: true,
        format: "run".into(),
        nodes: vec![("1/2 on a".to_owned(), 0), ("2/2 on b".to_owned(), 1)],
        generator: Some(Evidence { busy: vec![0.02, 0.02], ..Evidence::default() }),
        ..poisson(6000, 300.0, 1)
    };
    let mut events = run.edit();
    events.retain(|event| event.intended < Instant::from_secs(20));
    for (event, worker) in events.iter_mut().zip((0..2).cycle()) {
        event.worker = worker;
    }
    drop(events);
    run
}

fn criteria() -> Criteria {
    Criteria { duration: Some(Nanos::from_secs(20)), target_rate_per_s: Some(300.0), ..Criteria::default() }
}

/// The same run in which worker 2 did not send the requests from 7 s on, for this reason.
fn without_the_end(reason: &Reason) -> Recording {
    let mut run = two_workers();
    let missing = |event: &&mut Event| event.worker == 1 && event.intended >= Instant::from_secs(7);
    for event in run.edit().iter_mut().filter(missing) {
        *event = Event { worker: 1, error: Some(reason.clone()), ..Event::at(event.intended) };
    }
    run
}

/// That a worker lacks its end.
fn incomplete(cause: IncompleteCause) -> Incomplete {
    Incomplete {
        cause,
        workers: vec!["2/2".to_owned()],
        frozen_workers: Vec::new(),
        frozen_heartbeat_age_s: None,
        last_sign_of_life_s: Some(7.0),
        heartbeat_age_s: None,
        duration_s: Some(20.0),
        covered_until_s: None,
        missing_requests: Some(1950),
        scheduled_requests: Some(6000),
    }
}

#[test]
fn many_requests_that_were_sent_again_are_a_warning() {
    for (every, is_many) in [(50, true), (200, false)] {
        let mut run = two_workers();
        for event in run.edit().iter_mut().step_by(every) {
            event.resends = 1;
        }
        let verdict = verify(&run, &criteria());
        let counted = verdict.on_the_wire.unwrap();
        assert_eq!(counted.total, counted.requests, "a lost request is not in the log of the server");
        let warning = WarningKind::RequestsSentAgain { resends: counted.resends, requests: counted.total };
        assert_eq!(
            verdict.warnings.iter().any(|of| of.details.as_ref() == Some(&warning)),
            is_many,
            "{}",
            texts(&verdict)
        );
        assert!(!is_many || verdict.validity == Validity::ValidWithWarnings, "{}", texts(&verdict));
    }
}

/// Everything that the verdict says: its reason, its warnings and their fixes.
fn texts(verdict: &Verdict) -> String {
    let warnings = verdict.warnings.iter().flat_map(|warning| [warning.message.clone(), warning.fix.clone()]);
    [verdict.reason.clone()].into_iter().chain(warnings).collect::<Vec<_>>().join("\n")
}

fn says_nothing_of(verdict: &Verdict, words: &[&str]) {
    let texts = texts(verdict);
    for word in words {
        assert!(!texts.contains(word), "`{word}` in {texts}");
    }
}

#[test]
fn a_worker_frozen_past_the_end_stood_still() {
    let mut run = without_the_end(&Reason::RunOver);
    // Worker 1 had a short pause of its own, which explains nothing.
    for event in run.edit().iter_mut().filter(|event| event.worker == 0).take(40) {
        event.sent = Some(Instant::from_millis(300));
        event.done = Some(Instant::from_millis(301));
    }
    let verdict = verify(&run, &criteria());
    assert_eq!(verdict.validity, Validity::Invalid);
    let reason = &verdict.reason;
    assert!(reason.starts_with("worker 2/2 on b stood still from 7.0 s to 20.0 s: "), "{reason}");
    assert!(reason.contains(" requests were not sent (3") && reason.ends_with(" requests; 1 % tolerated)"), "{reason}");
    assert!(verdict.not_sent[0].stood_still && verdict.not_sent[0].reason == NotSentReason::RunOver);
    says_nothing_of(
        &verdict,
        &["connections", "in flight", "stalls", "times, for up to", "Poisson", "of the target rate"],
    );
    let unsent =
        verdict.warnings.iter().find(|w| matches!(w.details, Some(WarningKind::UnsentRequests { .. }))).unwrap();
    assert!(unsent.in_reason && unsent.fix.contains("CPUs"), "{unsent:?}");
}

#[test]
fn a_worker_that_falls_behind_did_not_stand_still() {
    // Its requests become later and later, and at the end the last ones are left over.
    let mut run = without_the_end(&Reason::RunOver);
    for event in run.edit().iter_mut().filter(|event| event.worker == 1 && event.sent.is_some()) {
        let late = Nanos(event.intended.0 * 13 / 7);
        event.sent = event.sent.map(|sent| sent + late);
        event.done = event.done.map(|done| done + late);
    }
    let verdict = verify(&run, &criteria());
    assert!(!verdict.not_sent[0].stood_still, "{:?}", verdict.not_sent);
    assert!(verdict.reason.contains("the run ended before they could be sent"), "{}", verdict.reason);
    says_nothing_of(&verdict, &["stood still from", "limit of connections"]);
}

#[test]
fn limits_are_the_cause_only_where_they_were_reached() {
    for (reason, why) in [
        (Reason::InFlight(50), "the limit of requests in flight was reached"),
        (Reason::Connections(50), "the limit of connections was reached"),
        (Reason::Late(Nanos::from_millis(20)), "the workload skips late requests"),
    ] {
        let verdict = verify(&without_the_end(&reason), &criteria());
        assert!(verdict.reason.contains(why), "{}", verdict.reason);
        assert!(!verdict.reason.contains("stood still"), "{}", verdict.reason);
    }
}

#[test]
fn a_lost_worker_is_the_whole_reason() {
    for cause in [IncompleteCause::Killed, IncompleteCause::EndMissing, IncompleteCause::Running] {
        let incomplete = incomplete(cause);
        let run = match cause {
            // Of a worker that may come back nothing is added.
            IncompleteCause::Running => {
                let mut run = two_workers();
                run.edit().retain(|event| event.worker == 0 || event.intended < Instant::from_secs(7));
                run
            }
            _ => without_the_end(&Reason::WorkerLost),
        };
        let verdict = verify(&run, &Criteria { incomplete: Some(incomplete.clone()), ..criteria() });
        assert_eq!((verdict.validity, &verdict.reason), (Validity::Invalid, &incomplete.reason()));
        let wrong =
            ["falls by", "rises by", "think longer", "longer think times", "connections", "not sent", "target rate"];
        says_nothing_of(&verdict, &wrong);
    }
}

#[test]
fn an_incomplete_run_needs_no_more_requests() {
    let mut run = two_workers();
    run.edit().retain(|event| event.intended < Instant::from_secs(2));
    let criteria = Criteria { duration: Some(Nanos::from_secs(2)), ..criteria() };
    let asks = |verdict: &Verdict| {
        verdict.warnings.iter().any(|warning| matches!(warning.details, Some(WarningKind::FewGaps { .. })))
    };
    let complete = verify(&run, &criteria);
    assert!(complete.validity != Validity::Invalid && asks(&complete), "{}", complete.reason);
    let incomplete = Some(incomplete(IncompleteCause::Running));
    assert!(!asks(&verify(&run, &Criteria { incomplete, ..criteria })));
}

#[test]
fn the_machine_is_blamed_only_if_the_threads_were_idle() {
    // A check of a large body takes 40 ms, ten times a second: the requests that are due in that time are sent after it.
    let run = |busy: f64, cpu_s: f64| {
        let mut run = two_workers();
        (run.nodes, run.generator) = (Vec::new(), Some(Evidence { busy: vec![busy], cpu_s, ..Evidence::default() }));
        for event in run.edit().iter_mut() {
            let since = Nanos(event.intended.0 % 100_000_000);
            if since < Nanos::from_millis(40) {
                let sent = Instant(event.intended.0 - since.0) + Nanos::from_millis(40);
                (event.sent, event.done) = (Some(sent), Some(sent + Nanos::from_millis(2)));
            }
            event.worker = 0;
        }
        verify(&run, &criteria())
    };
    let own = run(0.45, 9.0);
    assert_eq!(own.validity, Validity::Invalid);
    assert!(own.reason.starts_with("the generator stood still 200 times, for up to "), "{}", own.reason);
    says_nothing_of(&own, &["the machine", "is not the cause", "ticker", "regular ticks"]);
    assert!(texts(&own).contains("or it checked large bodies"), "{}", texts(&own));
    // A thread that spins between requests uses the whole processor.
    assert!(run(0.02, 20.0).reason.starts_with("the machine stopped the generator 200 times"));
    // A thread that is stopped while it is busy stays busy, and uses no processor time.
    let machine = run(0.45, 0.4);
    assert!(machine.reason.starts_with("the machine stopped the generator 200 times"), "{}", machine.reason);
    says_nothing_of(&machine, &["ticker", "large bodies"]);
    let stalls = machine.lateness.unwrap().stalls.unwrap();
    assert!((7000.0..8100.0).contains(&stalls.total_ms) && stalls.longest_start_s < 20.0, "{stalls:?}");
}

#[test]
fn the_longest_stall_has_its_worker_and_time() {
    let mut run = two_workers();
    let frozen = Instant::from_secs(5)..Instant::from_secs(9);
    for event in run.edit().iter_mut().filter(|event| event.worker == 1 && frozen.contains(&event.intended)) {
        (event.sent, event.done) = (Some(frozen.end), Some(frozen.end + Nanos::from_millis(1)));
    }
    let verdict = verify(&run, &criteria());
    let reason = "the machine stopped the generator for 4.0 s (worker 2/2 on b, at 5.0 s), which delayed ";
    assert!(verdict.reason.starts_with(reason), "{}", verdict.reason);
    assert_eq!(verdict.validity, Validity::Invalid);
}

#[test]
fn requests_in_pairs_are_bunched() {
    let bunched = |rate: f64| {
        let is_bunched = |seed: &u64| {
            let starts = poisson(1000, rate / 2.0, *seed).events.to_vec().unwrap();
            let pairs = starts.iter().flat_map(|event| [0.0, 1e5].map(|later| event.intended.0 as f64 + later));
            let mut at: Vec<f64> = pairs.collect();
            at.sort_by(f64::total_cmp);
            let verdict = verify(&launched(at), &Criteria::default());
            verdict.pattern == Pattern::Bunched && verdict.reason.contains("bunches of 2")
        };
        (0..100).filter(is_bunched).count()
    };
    for rate in [20.0, 100.0, 500.0] {
        assert!(bunched(rate) >= 99, "{rate}/s: {} of 100", bunched(rate));
    }
}

#[test]
fn few_slow_responses_tolerate_lateness_in_proportion() {
    // Eighty requests that take 2 s; some are 38 ms late.
    let run = |service: Nanos| {
        let mut run = Recording { intent_known: true, on_run_clock: true, format: "run".into(), ..poisson(80, 4.0, 1) };
        for (number, event) in run.edit().iter_mut().enumerate() {
            let late = if number % 10 == 3 { Nanos::from_millis(38) } else { Nanos::ZERO };
            event.sent = Some(event.intended + late);
            (event.done, event.outcome) = (event.sent.map(|sent| sent + service), Outcome::Ok);
        }
        verify(&run, &Criteria::default())
    };
    let slow = run(Nanos::from_secs(2));
    assert_eq!(slow.validity, Validity::ValidWithWarnings, "{}", slow.reason);
    assert!(slow.reason.contains("(limit 10 ms)") || slow.reason.contains("stood still"), "{}", slow.reason);
    assert!(slow.reason.contains(" % (5 % tolerated)"), "{}", slow.reason);
    assert_eq!(run(Nanos::from_millis(100)).validity, Validity::Invalid);
}

#[test]
fn the_error_of_streams_is_stated_once() {
    let run = poisson(5000, 250.0, 1);
    let mut run = Recording { intent_known: true, on_run_clock: true, format: "run".into(), ..run };
    // The first token comes after 20 ms, the response takes 500 ms, and every fiftieth request is sent 8 ms late.
    for (number, event) in run.edit().iter_mut().enumerate() {
        let sent = event.intended + Nanos::from_millis(if number.is_multiple_of(50) { 8 } else { 0 });
        let [first, last] = [20, 500].map(|ms| Some(sent + Nanos::from_millis(ms)));
        let stream = TokenStream {
            head: sent,
            first_token: first,
            first_answer: first,
            last_token: last,
            tokens_in: Some(10),
            tokens_out: Some(64),
            chunks: 64,
            read_late: Some(Nanos::ZERO),
            last_read_late: Some(Nanos::ZERO),
            ..TokenStream::default()
        };
        (event.sent, event.first_byte, event.done, event.stream) = (Some(sent), first, last, Some(Box::new(stream)));
    }
    let verdict = verify(&run, &Criteria::default());
    assert_eq!(verdict.validity, Validity::ValidWithWarnings);
    let error = "the generator may have changed the ttft p99 of 28.0 ms by up to 8.0 ms (5 % tolerated)";
    assert_eq!(verdict.reason, format!("requests were at most 8.0 ms late; {error}"));
    let of_streams = verdict.warnings.iter().find(|w| matches!(w.details, Some(WarningKind::Streams(_)))).unwrap();
    assert!(of_streams.in_reason && of_streams.fix.contains("(generator.tolerance)"), "{of_streams:?}");
}
