//! Runs of `offered`: their specification, the behaviour of their generator, and the cause of deviations.

use offered_base::{Instant, Nanos, Seed, Share};
use offered_distributions::Distribution;
use offered_events::recording::{CalibratedRate, Evidence};
use offered_events::{Event, Outcome, Recording};
use offered_schedule::arrivals::Profile;
use offered_workload::Workload;

use super::{Edit as _, closed, launched, merge, pattern, poisson, renewal, verify};
use crate::{
    Check, CheckResult, Criteria, ExpectedArrivals, Measurements, Pattern, ThresholdResult, Validity, WarningKind,
};

fn workload(arrivals: &str) -> Workload {
    let text = format!(
        "duration = \"100s\"\nskip_first = \"10s\"\n[arrivals]\n{arrivals}\n[target]\nurl = \"http://127.0.0.1/\"\n"
    );
    Workload::parse(&text, "workload.toml", &|_: &str| Err(String::new())).unwrap()
}

fn ours(recording: Recording) -> Recording {
    Recording { intent_known: true, on_run_clock: true, format: "run".into(), ..recording }
}

#[test]
fn thread_usage_and_early_stops_are_judged() {
    let run = |generator| Recording { generator: Some(generator), ..ours(poisson(2000, 100.0, 1)) };
    let judged = |generator| verify(&run(generator), &Criteria::default());
    let easy = Evidence { busy: vec![0.2, 0.9], ..Evidence::default() };
    let verdict = judged(easy.clone());
    assert_eq!(
        (verdict.validity, verdict.finding(Check::BusiestThread).unwrap().estimate),
        (Validity::Valid, Some(0.9))
    );

    let verdict = judged(Evidence { busy: vec![0.2, 0.95], ..easy.clone() });
    assert_eq!(verdict.validity, Validity::Invalid);
    assert_eq!(verdict.reason, "the generator was saturated: thread 1 was busy for 95 % of the run (limit 90 %)");
    assert_eq!(
        verdict.warnings[0].details,
        Some(WarningKind::GeneratorSaturated { thread: 1, busy: 0.95, worker: None })
    );
    assert_eq!(verdict.warnings[0].message, verdict.reason);

    let calibrated = CalibratedRate { target_rate_per_s: 600.0, sustained_rate_per_s: 1000.0 };
    let verdict = judged(Evidence { stopped: true, calibrated: Some(calibrated), ..easy });
    let warnings: Vec<&WarningKind> = verdict.warnings.iter().filter_map(|warning| warning.details.as_ref()).collect();
    assert_eq!(verdict.validity, Validity::Valid);
    let is_stop = |kind: &WarningKind| matches!(kind, WarningKind::StoppedEarly { reason: None, end: None, .. });
    assert!(warnings.iter().copied().any(is_stop), "{warnings:?}");
    let near = WarningKind::NearGeneratorLimit { target_rate_per_s: 600.0, sustained_rate_per_s: 1000.0, threads: 2 };
    assert!(warnings.contains(&&near), "{warnings:?}");
}

#[test]
fn requests_belong_to_the_window_by_scheduled_time() {
    let mut run = ours(launched((0..10).map(|i| f64::from(i) * 1e9)));
    // The last request of the measured time is sent late, after the end of the measured time.
    run.edit()[7].sent = Some(Instant::from_secs(8) + Nanos::from_millis(1));
    let (lasts, two) = (Some(Nanos::from_secs(10)), Nanos::from_secs(2));
    let criteria = Criteria { duration: lasts, skip_first: two, skip_last: two, ..Criteria::default() };
    let verdict = verify(&run, &criteria);
    let window = verdict.window;
    assert_eq!((window.start_s, window.end_s, window.requests, window.excluded), (2.0, 8.0, 6, 4));
    assert_eq!(verdict.gaps.last().unwrap().max_ms, 2001.0);
    // In the file of another tool the sent times count, from the first to the last.
    let file = verify(&Recording { on_run_clock: false, ..run }, &criteria);
    assert_eq!((file.window.start_s, file.window.end_s, file.window.requests), (2.0, 7.0, 5));
}

/// All requests scheduled in these intervals (ms) are sent at their ends.
fn stalled(mut run: Recording, stalls: &[(u64, u64)]) -> Recording {
    for event in run.edit().iter_mut() {
        let inside = |(from, to): &&(u64, u64)| {
            (Instant::from_millis(*from)..Instant::from_millis(*to)).contains(&event.intended)
        };
        if let Some((_, to)) = stalls.iter().find(inside) {
            (event.sent, event.done) = (Some(Instant::from_millis(*to)), Some(Instant::from_millis(*to + 1)));
        }
    }
    run
}

#[test]
fn a_stall_is_the_first_part_of_the_reason() {
    let stalls: Vec<(u64, u64)> = (0..40).map(|i| (i * 2000 + 500, i * 2000 + 580)).collect();
    let run = stalled(ours(poisson(20_000, 250.0, 1)), &stalls);
    let verdict = verify(&run, &Criteria::default());
    let seen = verdict.lateness.unwrap().stalls.unwrap();
    assert_eq!(seen.count, 40);
    assert!(seen.delayed_requests > 600 && seen.longest_ms > 60.0 && seen.longest_ms <= 80.0, "{seen:?}");
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(verdict.reason.starts_with("the generator stood still 40 times, for up to "), "{}", verdict.reason);
    // The fix is that for stalls; lowering the rate would not help.
    assert_eq!(verdict.warnings[0].details, Some(WarningKind::GeneratorStalled(seen)));
    assert!(!verdict.warnings.iter().any(|warning| matches!(warning.details, Some(WarningKind::LateRequests { .. }))));
}

#[test]
fn a_stall_with_a_small_generator_error_is_a_warning() {
    // 80 stalls of up to 15 ms in 80 s: negligible for a server that takes 3.4 s, not for one that takes 0.2 ms.
    let stalls: Vec<(u64, u64)> = (0..80).map(|i| (i * 1000 + 500, i * 1000 + 515)).collect();
    let run = |service: Nanos| {
        let mut run = stalled(ours(poisson(24_000, 300.0, 1)), &stalls);
        run.edit().iter_mut().for_each(|event| event.done = event.sent.map(|sent| sent + service));
        run
    };
    let strict = Criteria { generator_error_tolerance: 0.0, ..Criteria::default() };
    let slow = run(Nanos::from_millis(3400));
    let verdict = verify(&slow, &Criteria::default());
    assert_eq!(verdict.validity, Validity::ValidWithWarnings, "{:?}", verdict.findings);
    let effect = verdict.generator_error.clone().unwrap();
    assert!(effect.worst().upper_bound() < 0.01 && effect.window_ms == 3400.0, "{effect:?}");
    let reason = &verdict.reason;
    assert!(reason.starts_with("the generator stood still "), "{reason}");
    assert!(
        reason.contains("; the generator error of the p50 is at most")
            || reason.contains("; the generator error of the p99 is at most"),
        "{reason}"
    );
    assert_eq!(verify(&slow, &strict).validity, Validity::Invalid);

    // The arrivals are as specified, but the generator error of a percentile exceeds the tolerance.
    let mut late = ours(poisson(5000, 100.0, 1));
    late.edit().iter_mut().for_each(|event| event.sent = event.sent.map(|sent| sent + Nanos::from_millis(2)));
    late.edit().iter_mut().for_each(|event| event.done = event.sent.map(|sent| sent + Nanos::from_millis(10)));
    let verdict = verify(&late, &Criteria::default());
    assert_eq!(verdict.validity, Validity::ValidWithWarnings);
    assert_eq!(
        verdict.reason,
        "requests were at most 2.0 ms late; the generator error of the p99 is at most 17 % (5 % tolerated)"
    );
    assert_eq!(verify(&late, &strict).validity, Validity::Valid);

    let quick = run(Nanos::from_micros(200));
    let verdict = verify(&quick, &Criteria::default());
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(verdict.reason.contains("the generator error of the p99 "), "{}", verdict.reason);

    // Only errors of send times are tolerated.
    let busy = Evidence { busy: vec![0.95], ..Evidence::default() };
    let saturated = Recording { generator: Some(busy), ..slow.clone() };
    assert_eq!(verify(&saturated, &Criteria::default()).validity, Validity::Invalid);
    assert_eq!(
        verify(&slow, &Criteria { target_rate_per_s: Some(400.0), ..Criteria::default() }).validity,
        Validity::Invalid
    );
    let mut unsent = slow.clone();
    unsent.edit().iter_mut().step_by(50).for_each(|event| (event.sent, event.done) = (None, None));
    assert_eq!(verify(&unsent, &Criteria::default()).validity, Validity::Invalid);
    // Nor is a schedule that was not Poisson tolerated, nor a file without scheduled times.
    let even = stalled(ours(launched((0..20_000).map(|i| f64::from(i) * 4e6))), &stalls);
    assert_eq!(verify(&even, &Criteria::default()).validity, Validity::Invalid);
    let foreign = verify(&Recording { intent_known: false, ..slow }, &Criteria::default());
    assert_eq!((foreign.validity, foreign.generator_error), (Validity::Invalid, None));
}

#[test]
fn lateness_that_changes_no_threshold_is_a_warning() {
    // Stalls of up to 15 ms dominate the p99 of a server that takes 0.2 ms; 10 % of the requests fail.
    let stalls: Vec<(u64, u64)> = (0..80).map(|i| (i * 1000 + 500, i * 1000 + 515)).collect();
    let mut run = stalled(ours(poisson(24_000, 300.0, 1)), &stalls);
    let done = |event: &Event| event.sent.map(|sent| sent + Nanos::from_micros(200));
    run.edit().iter_mut().for_each(|event| (event.done, event.outcome) = (done(event), Outcome::Ok));
    let judged = |run: &Recording, thresholds: &[&str], effect_tolerance| {
        let thresholds = thresholds.iter().map(|text| text.parse().unwrap()).collect();
        let lasts = Some(Nanos::from_secs(80));
        verify(
            run,
            &Criteria {
                duration: lasts,
                generator_error_tolerance: effect_tolerance,
                thresholds,
                checks: vec![("a".to_owned(), vec!["is fine".to_owned()])],
                ..Criteria::default()
            },
        )
    };
    for (thresholds, judgement) in [
        (&[][..], Validity::Invalid),
        (&["p99 < 250ms"], Validity::ValidWithWarnings),
        (
            &["response.ok.mean < 5ms", "service.p50 < 1ms", "p99.9 < 1s", "throughput > 100/s"],
            Validity::ValidWithWarnings,
        ),
        // It fails in any case.
        (&["p50 < 100us"], Validity::ValidWithWarnings),
        // A thread that sends late may also read late.
        (&["p99 < 100us"], Validity::Invalid),
        // With a punctual generator it might have passed.
        (&["p99 < 1ms"], Validity::Invalid),
        (&["p99 < 250ms", "p99 < 1ms"], Validity::Invalid),
        (&["errors < 1%"], Validity::ValidWithWarnings),
        (&["checks.failed < 1%"], Validity::ValidWithWarnings),
        (&["p99{nobody} < 1s"], Validity::Invalid),
    ] {
        let verdict = judged(&run, thresholds, 0.05);
        assert_eq!(verdict.validity, judgement, "{thresholds:?}: {}", verdict.reason);
        let is_stated = verdict.reason.ends_with("; no threshold depends on this error");
        assert_eq!(is_stated, judgement == Validity::ValidWithWarnings, "{}", verdict.reason);
        assert_eq!(judged(&run, thresholds, 0.0).validity, Validity::Invalid, "strictly");
    }
    // A request that failed in a bunch might have succeeded without it.
    run.edit().iter_mut().step_by(10).for_each(|event| event.outcome = Outcome::HttpError);
    assert_eq!(judged(&run, &["errors < 20%"], 0.05).validity, Validity::ValidWithWarnings);
    assert_eq!(judged(&run, &["errors < 1%"], 0.05).validity, Validity::Invalid);
    assert_eq!(judged(&run, &["p99 < 250ms"], 0.05).validity, Validity::Invalid);
}

#[test]
fn thresholds_that_lateness_could_change_are_not_checked() {
    // Each request is sent `late` after its scheduled time, which no test of arrivals detects; the server takes
    // `takes`.
    let run = |late: Nanos, takes: Nanos| {
        let mut run = ours(poisson(5000, 100.0, 1));
        for event in run.edit().iter_mut() {
            event.sent = event.sent.map(|sent| sent + late);
            (event.done, event.outcome) = (event.sent.map(|sent| sent + takes), Outcome::Ok);
        }
        run
    };
    let judged = |run: &Recording, text: &str, effect_tolerance| {
        let (thresholds, lasts) = (vec![text.parse().unwrap()], Some(Nanos::from_secs(100)));
        let criteria = Criteria {
            duration: lasts,
            generator_error_tolerance: effect_tolerance,
            thresholds,
            ..Criteria::default()
        };
        let verdict = verify(run, &criteria);
        let measured = Measurements::new(run, &verdict.gaps, &verdict.window, criteria.measured_interval().unwrap());
        let mut checked = ThresholdResult::check_all(&criteria.thresholds, &measured, &verdict).unwrap();
        (verdict.validity, checked.remove(0))
    };
    let warning = Validity::ValidWithWarnings;
    let late = run(Nanos::from_millis(2), Nanos::from_millis(10));
    for (text, judgement, between) in [
        // The server is fast enough, and only the generator breaks the threshold.
        ("p95 < 11ms", CheckResult::NotChecked, Some([0.008, 0.012])),
        ("service.p95 < 9ms", CheckResult::NotChecked, Some([0.008, 0.010])),
        // It passes, or fails, in any case.
        ("p95 < 13ms", CheckResult::Passed, None),
        ("p95 < 5ms", CheckResult::Failed, None),
        ("errors < 1%", CheckResult::Passed, None),
        ("p95{nobody} < 1s", CheckResult::NotChecked, None),
    ] {
        let (of_run, checked) = judged(&late, text, 0.05);
        let found = checked.possible_range.map(|ends| ends.map(|end| (end * 1e3).round() / 1e3));
        assert_eq!((of_run, checked.result, found), (warning, judgement, between), "{text}");
        // With zero tolerance only arrivals count, and they are valid; the value is what was measured, lateness
        // included.
        let (of_run, checked) = judged(&late, text, 0.0);
        let strictly = if between.is_some() { CheckResult::Failed } else { judgement };
        assert_eq!(
            (of_run, checked.result, checked.possible_range),
            (Validity::Valid, strictly, None),
            "{text}, strictly"
        );
    }
    // A tolerated error is ignored; an error of microseconds causes a warning only if it can change a threshold.
    assert_eq!(judged(&late, "p95 < 11ms", 0.25), (Validity::Valid, judged(&late, "p95 < 11ms", 0.0).1));
    let quick = run(Nanos::from_micros(50), Nanos::from_micros(200));
    assert_eq!(judged(&quick, "p95 < 1ms", 0.05).0, Validity::Valid);
    let (of_run, checked) = judged(&quick, "p95 < 220us", 0.05);
    assert_eq!((of_run, checked.result), (warning, CheckResult::NotChecked));
    assert_eq!(checked.value_and_range(), "0.250 ms; with a generator without delays 0.150 ms to 0.250 ms");
    // The range is in the document and survives a round trip.
    let printed = serde_json::to_string(&checked).unwrap();
    assert!(printed.contains("\"possible_range\":[0.1"), "{printed}");
    assert_eq!(serde_json::to_string(&serde_json::from_str::<ThresholdResult>(&printed).unwrap()).unwrap(), printed);
}

#[test]
fn stalls_are_not_the_reason_for_wrong_schedules() {
    // Constant gaps with one short stall, compared with a Poisson process: they would have failed without the stall.
    let even = ours(super::launched((0..5000).map(|i| f64::from(i) * 4e6)));
    let verdict = verify(&stalled(even, &[(500, 520)]), &Criteria::default());
    assert!(verdict.lateness.unwrap().stalls.is_some());
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(!verdict.reason.contains("stood still"), "{}", verdict.reason);
    // A generator that is always equally late is too slow; it has no stalls.
    let mut slow = ours(poisson(5000, 250.0, 1));
    for event in slow.edit().iter_mut() {
        event.sent = event.sent.map(|sent| sent + Nanos::from_millis(30));
        event.done = event.done.map(|done| done + Nanos::from_millis(30));
    }
    let verdict = verify(&slow, &Criteria::default());
    assert_eq!((verdict.lateness.unwrap().stalls, verdict.validity), (None, Validity::Invalid));
    assert_eq!(
        verdict.reason,
        "1 % of the requests were 30 ms late or more (limit 10 ms); the generator error of the p99 is at most 97 % (5 % tolerated)"
    );
}

#[test]
fn early_requests_are_detected() {
    // Every request is sent 3 ms early and completes 10 ms after it was sent.
    let mut early = ours(poisson(5000, 250.0, 1));
    for event in early.edit().iter_mut() {
        event.intended += Nanos::from_millis(10);
        event.sent = Some(event.intended.earlier(Nanos::from_millis(3)));
        event.done = event.sent.map(|sent| sent + Nanos::from_millis(10));
    }
    let verdict = verify(&early, &Criteria::default());
    let late = verdict.lateness.unwrap();
    assert_eq!((late.mean_us, late.p50_us, late.p99_us, late.max_us), (-3000.0, -3000.0, -3000.0, -3000.0));
    assert_eq!((verdict.responses[0].min_ms, verdict.responses[0].max_ms), (7.0, 7.0));
    let warnings: Vec<&WarningKind> = verdict.warnings.iter().filter_map(|warning| warning.details.as_ref()).collect();
    assert_eq!(warnings, [&WarningKind::EarlyRequests { requests: 5001, max_us: 3000.0 }]);
    // A response time that is 3 of 7 ms too short is as wrong as one that is too long.
    let worst = *verdict.generator_error.as_ref().unwrap().worst();
    assert_eq!((worst.response_ms, worst.service_ms, worst.lateness_share), (7.0, 10.0, -3.0 / 7.0));
    assert_eq!(verdict.validity, Validity::ValidWithWarnings);
    assert_eq!(
        verdict.reason,
        "5001 requests were sent before their scheduled times, by up to 3.0 ms; no request was late; the generator error of the p99 is at most \
         43 % (5 % tolerated)"
    );
    // A request that completed before its scheduled time has a negative response time, which the mean must not hide.
    early.edit().iter_mut().take(1).for_each(|event| event.done = event.sent.map(|sent| sent + Nanos::from_millis(1)));
    assert_eq!(verify(&early, &Criteria::default()).responses[0].min_ms, -2.0);
    // Within the resolution of the timestamps there is no evidence.
    let coarse = Recording { resolution: Nanos::from_millis(3), ..early };
    let verdict = verify(&coarse, &Criteria::default());
    assert!(!verdict.warnings.iter().any(|warning| matches!(warning.details, Some(WarningKind::EarlyRequests { .. }))));
}

#[test]
fn other_arrivals_are_not_compared_with_poisson() {
    let criteria = Criteria {
        expected: ExpectedArrivals::Closed { users: 20, think: Distribution::constant(0.999).unwrap() },
        ..Criteria::default()
    };
    let run = ours(closed(20, &Distribution::constant(0.999).unwrap(), 60.0, 1));
    let verdict = verify(&run, &criteria);
    assert_eq!(verdict.validity, Validity::Valid, "{:?}", verdict.findings);
    // The initial phases of 20 users give a CoV of 1.10 that persists round after round.
    let punctual = "every request was sent when its user's think time ended; the generator error of the p99 is 0 %";
    assert_eq!(verdict.reason, punctual);
    let few = ours(Recording { events: run.events.to_vec().unwrap()[..99].to_vec().into(), ..run.clone() });
    assert_eq!(verify(&few, &criteria).reason, punctual);
    let verdict = verify(&run, &Criteria { target_rate_per_s: Some(40.0), ..criteria });
    let slow = "the sent rate was 50 % of the target rate (tolerated: ";
    assert!(verdict.reason.starts_with(slow), "{}", verdict.reason);
    // A replayed trace may be over-dispersed: replayed correctly, replayed late, and without scheduled times.
    let bursts = |intent_known| Recording {
        intent_known,
        ..renewal(5000, &Distribution::hyperexponential(0.01, 4.0).unwrap(), 1)
    };
    let replay = Criteria {
        expected: ExpectedArrivals::Other { what: "a replayed trace".into(), system: None },
        ..Criteria::default()
    };
    for (run, criteria, judgement, reason) in [
        (ours(bursts(true)), replay.clone(), Validity::Valid, "every request was sent at its scheduled time"),
        (
            bursts(false),
            replay.clone(),
            Validity::NotChecked,
            "there is no test for the specified arrivals (a replayed trace)",
        ),
        (stalled(ours(bursts(true)), &[(0, 20_000)]), replay, Validity::Invalid, "stood still for 20"),
    ] {
        let verdict = verify(&run, &criteria);
        assert_eq!(verdict.validity, judgement, "{:?}", verdict.findings);
        assert!(verdict.reason.contains(reason) && !verdict.reason.contains("Poisson"), "{}", verdict.reason);
    }
}

#[test]
fn the_rate_of_sessions_is_checked_for_all_arrivals() {
    let partly = |process: &str| {
        workload(&format!("partly_open = {{ {process}, stay = 0.5, think = {{ constant = \"1ms\" }} }}"))
    };
    let steps = "rate = { steps = [[\"20/s\", \"50s\"], [\"60/s\", \"50s\"]] }, process = \"constant\"";
    let rate = Profile::steps(&[(20.0, Nanos::from_secs(50)), (60.0, Nanos::from_secs(50))]).unwrap();
    for (process, fraction, arrivals) in [
        ("rate = \"40/s\"", 1.0, ExpectedArrivals::Poisson),
        ("rate = \"40/s\"", 0.25, ExpectedArrivals::Renewal { cov: 0.5 }),
        ("rate = \"40/s\", process = \"constant\"", 1.0, ExpectedArrivals::Constant),
        (steps, 1.0, ExpectedArrivals::ChangingRate { rate, arrivals: Box::new(ExpectedArrivals::Constant) }),
    ] {
        let criteria = Criteria::from_workload(&partly(process), fraction);
        assert_eq!(criteria.expected, ExpectedArrivals::PartlyOpen(Box::new(arrivals)), "{process}");
        // The steps: 40 s at 20/s and 50 s at 60/s, after the first 10 s.
        let rate = if process == steps { 3800.0 / 90.0 } else { 40.0 * fraction };
        assert!((criteria.target_rate_per_s.unwrap() - rate).abs() < 1e-9, "{process}: {criteria:?}");
    }
    // Sessions at 20/s, then at 60/s, with two requests each: as specified; at half the rate: not.
    let criteria = Criteria::from_workload(&partly(steps), 1.0);
    let sessions = |slow: u64| {
        let mut events = Vec::new();
        let firsts = (0..1000).map(|i| i * 50).chain((0..3000).map(|i| 50_000 + i * 50 / 3));
        for (session, at) in firsts.step_by(slow as usize).enumerate() {
            for step in 0..2 {
                let sent = Instant::from_millis(at + u64::from(step));
                let event = offered_events::Event::at(sent);
                events.push(offered_events::Event { sent: Some(sent), session: session as u64, step, ..event });
            }
        }
        ours(Recording { events: events.into(), ..poisson(1, 1.0, 1) })
    };
    let rate = |slow| {
        let verdict = verify(&sessions(slow), &criteria);
        let finding = *verdict.finding(Check::RateAgainstTarget).unwrap();
        (finding.estimate.unwrap(), finding.result)
    };
    assert!((rate(1).0 - 1.0).abs() < 0.01 && rate(1).1 == CheckResult::Passed, "{:?}", rate(1));
    assert!((rate(2).0 - 0.5).abs() < 0.01 && rate(2).1 == CheckResult::Failed, "{:?}", rate(2));
    // If a run was stopped, its rate is not checked: half its duration is not half its rate.
    let mut stopped = sessions(1);
    stopped.edit().truncate(4000);
    assert!(verify(&stopped, &criteria).finding(Check::RateAgainstTarget).is_none());
}

/// A minute of arrivals at a random rate was rejected for a rate ratio of 0.839, although every request was sent on
/// schedule.
#[test]
fn a_random_rate_is_compared_with_its_schedule() {
    let text =
        "open = { rate = \"100/s\", process = { mmpp = { factors = [0.4, 1.6], sojourns = [\"2s\", \"2s\"] } } }";
    let far = |seed: &u64| {
        let criteria = Criteria::from_workload(&workload(text).with_seed(Seed(*seed)), 1.0);
        let (drawn, (from, to)) = (criteria.random_rate.unwrap(), criteria.rate_interval.unwrap());
        drawn.rate_per_s(from, to) < 85.0
    };
    let seed = (1..1000).find(far).unwrap();
    let workload = workload(text).with_seed(Seed(seed));
    let run = |left_out: usize| {
        let mut events = Vec::new();
        let mut agenda = workload.agenda(Share::ALL);
        while let Some(launch) = agenda.due_before(Instant::MAX) {
            let sent = Some(launch.intended).filter(|_| left_out == 0 || events.len() % left_out > 0);
            events.push(Event { sent, session: launch.session, ..Event::at(launch.intended) });
        }
        verify(
            &ours(Recording { events: events.into(), ..poisson(1, 1.0, 1) }),
            &Criteria::from_workload(&workload, 1.0),
        )
    };
    let whole = run(0);
    assert_eq!(
        (whole.validity, whole.finding(Check::RateAgainstTarget).unwrap().estimate),
        (Validity::Valid, Some(1.0))
    );
    assert_eq!(whole.expected.target_rate_per_s, Some(100.0));
    let scheduled_per_s = whole.expected.scheduled_rate_per_s.unwrap();
    let expected = WarningKind::RandomRateDiffers { target_rate_per_s: 100.0, scheduled_rate_per_s: scheduled_per_s };
    assert!(scheduled_per_s < 85.0 && whole.warnings.iter().any(|warning| warning.details.as_ref() == Some(&expected)));
    // A third that was not sent is detected nevertheless.
    let partly = run(3);
    let missed = partly.finding(Check::RateAgainstTarget).unwrap();
    assert!(missed.failed() && (0.65..0.68).contains(&missed.estimate.unwrap()), "{missed:?}");
}

#[test]
fn unsettled_users_are_not_compared_with_theory() {
    let closed = |more: &str| {
        Criteria::from_workload(
            &workload(&format!("closed = {{ users = 20, think = {{ uniform = [\"0s\", \"2s\"] }}{more} }}")),
            1.0,
        )
        .expected
    };
    let settled = |expected: &ExpectedArrivals| matches!(expected, ExpectedArrivals::Closed { .. });
    assert!(settled(&closed("")) && settled(&closed(", ramp = \"10s\"")));
    assert!(settled(&closed(", ramp = \"5s\", start = \"thinking\"")));
    assert!(!settled(&closed(", ramp = \"11s\"")) && !settled(&closed(", ramp = \"6s\", start = \"at-once\"")));
}

/// A server that responds within a millisecond for 1.5 s and then hangs. Requests are of the first part and waiting
/// times of the second; their product would be 400 requests in flight of five users.
#[test]
fn five_users_never_have_more_than_five_requests_in_flight() {
    let event = |sent_ns: u64, took_ns: u64, session| {
        let at = Instant(sent_ns);
        let done = Some(at + Nanos(took_ns));
        Event { sent: Some(at), done, session, outcome: Outcome::Ok, status: 200, ..Event::at(at) }
    };
    let quick = (0..7500u64).map(|i| event(i * 200_000, 1_000_000, i % 5));
    let hung = (0..5u64).map(|user| event(1_500_000_000 + user, 400_000_000_000, user));
    let recording =
        Recording { sessions_known: true, ..ours(Recording::of_run(quick.chain(hung).collect(), Vec::new())) };
    let criteria = Criteria { expected: "closed:5:constant:0s".parse().unwrap(), ..Criteria::default() };
    let queue = verify(&recording, &criteria).queue;
    assert!(
        queue.rate_per_s.is_some_and(|rate| rate > 4900.0) && queue.response_ms.is_some_and(|r| r > 200.0),
        "{queue:?}"
    );
    assert_eq!((queue.concurrency, queue.users, queue.users_observed), (None, None, Some(5)));
}

#[test]
fn counts_distinguish_poisson_from_closed_users_with_the_same_gaps() {
    // A Poisson process divided among 200 users, whose mean think time is then 2 s, like that of closed users.
    let mut open = poisson(20_000, 100.0, 1);
    for (event, user) in open.edit().iter_mut().zip((0..200).cycle()) {
        event.session = user;
    }
    open.sessions_known = true;
    let criteria = Criteria { expected: "closed:200:uniform:0s,4s".parse().unwrap(), ..Criteria::default() };
    let verdict = verify(&open, &criteria);
    let judgement = |check| verdict.finding(check).unwrap().result;
    assert_eq!(judgement(Check::ClosedCov), CheckResult::Passed);
    assert_eq!(judgement(Check::ClosedDispersion), CheckResult::Failed);
    assert_eq!(judgement(Check::ThinkTime), CheckResult::Passed);
    // Real closed users pass as often as promised for runs of `offered`; too short a run is not checked.
    let dispersion = |secs, seed| {
        let run = ours(closed(50, &Distribution::uniform(0.0, 2.0).unwrap(), secs, seed));
        let criteria = Criteria { expected: "closed:50:uniform:0s,2s".parse().unwrap(), ..Criteria::default() };
        let verdict = verify(&run, &criteria);
        verdict.finding(Check::ClosedDispersion).unwrap().result
    };
    assert!((0..50).all(|seed| dispersion(120.0, seed) == CheckResult::Passed));
    assert_eq!(dispersion(40.0, 1), CheckResult::NotChecked);
}

#[test]
fn workers_and_nodes_have_their_own_rows() {
    let node = |seed| {
        let mut run = ours(poisson(2000, 100.0, seed));
        for (event, worker) in run.edit().iter_mut().zip((0..2).cycle()) {
            event.worker = worker;
        }
        run
    };
    let alone = verify(&node(1), &Criteria::default());
    assert_eq!((alone.by_worker.len(), alone.by_node.len()), (2, 0));
    // Every second request of a Poisson process.
    assert!(alone.by_worker.iter().all(|row| (row.cov - 0.5f64.sqrt()).abs() < 0.06), "{:?}", alone.by_worker);
    let both = verify(&merge(vec![("east".into(), node(1)), ("west".into(), node(2))]), &Criteria::default());
    let names = |rows: &[crate::TimeStats]| rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    assert_eq!(names(&both.by_node), ["east", "west"]);
    assert_eq!(names(&both.by_worker), ["worker 0", "worker 1", "worker 2", "worker 3"]);
    assert_eq!(both.by_node[0].n, alone.gaps.last().unwrap().n);
    // Workers that equal the nodes are not listed twice.
    let single = |seed| ours(poisson(200, 100.0, seed));
    let verdict = verify(&merge(vec![("a".into(), single(1)), ("b".into(), single(2))]), &Criteria::default());
    assert_eq!((verdict.by_worker.len(), verdict.by_node.len()), (0, 2));
}

#[test]
fn one_share_of_a_poisson_run_has_erlang_gaps() {
    // Every fourth arrival: Erlang gaps with four stages, CoV 1/2.
    let workload = workload("open = { rate = \"100/s\" }");
    let (whole, share) = (Criteria::from_workload(&workload, 1.0), Criteria::from_workload(&workload, 0.25));
    assert_eq!(
        (&whole.expected, &share.expected),
        (&ExpectedArrivals::Poisson, &ExpectedArrivals::Renewal { cov: 0.5 })
    );
    let every_fourth = renewal(4000, &Distribution::erlang(4, 0.04).unwrap(), 1);
    assert_eq!(verify(&every_fourth, &share).validity, Validity::Valid);
    assert_eq!(verify(&every_fourth, &whole).validity, Validity::Invalid);
}

#[test]
fn poisson_runs_are_rarely_rejected() {
    let rejected = (0..300)
        .filter(|&seed| pattern(&ours(poisson(1000, 100.0, seed))) != (Pattern::Poisson, Validity::Valid))
        .count();
    assert!(rejected <= 2, "{rejected} of 300");
}

#[test]
fn few_closed_requests_are_rarely_rejected() {
    let think = Distribution::exponential(0.2).unwrap();
    let criteria =
        Criteria { expected: ExpectedArrivals::Closed { users: 5, think: think.clone() }, ..Criteria::default() };
    let refused = |secs: f64| {
        let of = |seed| verify(&ours(closed(5, &think, secs, seed)), &criteria).validity == Validity::Invalid;
        (0..300).filter(|seed| of(*seed)).count()
    };
    assert_eq!(refused(4.0), 0);
    // In a longer run the interval has its nominal coverage.
    assert!(refused(40.0) <= 2);
    let short = verify(&ours(closed(5, &think, 4.0, 1)), &criteria);
    assert_eq!(short.finding(Check::ClosedCov).unwrap().result, CheckResult::NotChecked);
    assert_eq!(short.validity, Validity::Valid);
}
