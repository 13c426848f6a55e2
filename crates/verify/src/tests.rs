//! Verdicts on streams with known properties.

mod causes;
mod changing_rate;
mod document;
mod own;
mod runs;
mod scenarios;

use std::ops::{Deref, DerefMut};

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome, Recording};
use serde_json::Value;

use crate::{Check, CheckResult, Criteria, ExpectedArrivals, Failures, Pattern, Validity, Verdict, WarningKind};

const S: f64 = 1e9;

fn verify(recording: &Recording, criteria: &Criteria) -> Verdict {
    crate::verify(recording, criteria).unwrap()
}

fn merge(parts: Vec<(String, Recording)>) -> Recording {
    crate::merge(parts, 1).unwrap()
}

/// A recording whose events are being changed.
struct Edited<'a> {
    recording: &'a mut Recording,
    events: Vec<Event>,
}

trait Edit {
    /// Its events, for editing; they are written back afterwards.
    fn edit(&mut self) -> Edited<'_>;
}

impl Edit for Recording {
    fn edit(&mut self) -> Edited<'_> {
        let events = self.events.to_vec().unwrap();
        Edited { recording: self, events }
    }
}

impl Deref for Edited<'_> {
    type Target = Vec<Event>;

    fn deref(&self) -> &Vec<Event> {
        &self.events
    }
}

impl DerefMut for Edited<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Event> {
        &mut self.events
    }
}

impl Drop for Edited<'_> {
    fn drop(&mut self) {
        self.recording.events = std::mem::take(&mut self.events).into();
    }
}

/// A recording of requests sent at these times (ns), each completed after a millisecond.
fn launched(at: impl IntoIterator<Item = f64>) -> Recording {
    let events = at.into_iter().map(|at| {
        let sent = Instant(at as u64);
        Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(1)), outcome: Outcome::Ok, ..Event::at(sent) }
    });
    Recording {
        events: events.collect::<Vec<Event>>().into(),
        labels: vec!["a".into()],
        format: "test".into(),
        resolution: Nanos(1),
        ..Recording::default()
    }
}

/// `n` requests whose gaps have this distribution, in seconds.
fn renewal(n: usize, law: &Distribution, seed: u64) -> Recording {
    let mut stream = Seed(seed).stream(Purpose::Arrivals);
    let mut at = 0.0;
    launched((0..=n).map(|_| {
        at += law.sample(&mut stream) * S;
        at
    }))
}

fn poisson(n: usize, rate: f64, seed: u64) -> Recording {
    renewal(n, &Distribution::exponential(1.0 / rate).unwrap(), seed)
}

/// The same with timestamps in whole milliseconds.
fn in_ms(mut recording: Recording) -> Recording {
    for event in recording.edit().iter_mut() {
        let sent = Instant(event.intended.0 / 1_000_000 * 1_000_000);
        (event.intended, event.sent, event.done) = (sent, Some(sent), Some(sent + Nanos::from_millis(1)));
    }
    recording.resolution = Nanos::from_millis(1);
    recording
}

/// `users` with think times `think` (seconds) and responses of 1 ms, for `secs` seconds, without ramp.
fn closed(users: u64, think: &Distribution, secs: f64, seed: u64) -> Recording {
    let mut events = Vec::new();
    for user in 0..users {
        let mut stream = Seed(seed).at(Purpose::Think, user, 0);
        // A stationary start: the first wait is a residual think time.
        let mut at = think.sample_residual(&mut stream);
        while at < secs {
            events.push((at, user));
            at += think.sample(&mut stream) + 0.001;
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut recording = launched(events.iter().map(|event| event.0 * S));
    for (event, (_, user)) in recording.edit().iter_mut().zip(&events) {
        event.session = *user;
    }
    recording.sessions_known = true;
    recording
}

fn pattern(recording: &Recording) -> (Pattern, Validity) {
    let verdict = verify(recording, &Criteria::default());
    (verdict.pattern, verdict.validity)
}

#[test]
fn poisson_streams_pass_at_every_size_and_resolution() {
    // 5 % of the files of other tools may be rejected; more than 16 of 120 has a probability of 0.0001.
    for (n, rate) in [(60, 10.0), (400, 30.0), (1500, 5000.0)] {
        for ms in [false, true] {
            let rejected = (0..120)
                .filter(|&seed| {
                    let exact = poisson(n, rate, seed);
                    pattern(&if ms { in_ms(exact) } else { exact }) != (Pattern::Poisson, Validity::Valid)
                })
                .count();
            assert!(rejected <= 16, "n {n}, rate {rate}, ms {ms}: {rejected} of 120 rejected");
        }
    }
}

#[test]
fn a_gamma_stream_with_400_gaps_and_cov_0_9_is_rejected() {
    let law = Distribution::gamma(1.0 / 30.0, 0.81).unwrap();
    for ms in [false, true] {
        let rejected = (0..200)
            .filter(|&seed| {
                let exact = renewal(400, &law, seed);
                pattern(&if ms { in_ms(exact) } else { exact }) == (Pattern::UnderDispersed, Validity::Invalid)
            })
            .count();
        assert!(rejected >= 160, "ms {ms}: only {rejected} of 200");
    }
}

#[test]
fn patterns_are_recognised() {
    let gamma = |scv| Distribution::gamma(0.01, scv).unwrap();
    assert_eq!(pattern(&poisson(20, 10.0, 1)), (Pattern::TooFewRequests, Validity::NotChecked));
    for gap in [1e8, 1e6, 1.3e6, 2e5] {
        let even = launched((0..4000).map(|i| f64::from(i) * gap));
        assert_eq!(pattern(&even), (Pattern::Constant, Validity::Invalid));
        assert_eq!(pattern(&in_ms(even)), (Pattern::Constant, Validity::Invalid), "{gap}");
    }
    assert_eq!(pattern(&renewal(2000, &gamma(0.5), 1)), (Pattern::UnderDispersed, Validity::Invalid));
    assert_eq!(pattern(&renewal(2000, &gamma(2.0), 1)), (Pattern::OverDispersed, Validity::Invalid));
    // Ten workers on one ticker.
    let mut stream = Seed(3).stream(Purpose::Arrivals);
    let mut hey: Vec<f64> = (0..500).map(|i| f64::from(i / 10) * 1e8 + stream.uniform() * 7e5).collect();
    hey.sort_by(f64::total_cmp);
    let verdict = verify(&launched(hey), &Criteria::default());
    assert_eq!((verdict.pattern, verdict.validity), (Pattern::Bunched, Validity::Invalid));
    assert!(verdict.reason.contains("bunches of 10, every 100 ms"), "{}", verdict.reason);
    // Only the workload shows that the number was fixed in advance.
    let fixed = Criteria { expected: ExpectedArrivals::FixedCount, ..Criteria::default() };
    assert_eq!(verify(&poisson(2000, 100.0, 1), &fixed).pattern, Pattern::PoissonFixedCount);
}

#[test]
fn a_varying_rate_is_over_dispersed() {
    // The rate doubles during the run: times are square roots.
    let mut flat: Vec<f64> =
        poisson(4000, 100.0, 2).events.to_vec().unwrap().iter().map(|event| event.intended.0 as f64).collect();
    for at in &mut flat {
        *at = (1.0 + 3.0 * *at / 4e10).sqrt() * S * 40.0;
    }
    let verdict = verify(&launched(flat), &Criteria::default());
    assert_eq!((verdict.pattern, verdict.validity), (Pattern::OverDispersed, Validity::Invalid), "{}", verdict.reason);
}

#[test]
fn closed_users_are_under_dispersed_in_counts_with_a_cov_near_one() {
    for (think, scv) in
        [(Distribution::uniform(0.0, 2.0).unwrap(), 1.0 / 3.0), (Distribution::constant(1.0).unwrap(), 0.0)]
    {
        let recording = closed(200, &think, 200.0, 1);
        let verdict = verify(&recording, &Criteria::default());
        let cov = verdict.gaps.last().unwrap().cov;
        assert!((cov - 1.0).abs() < 0.03, "{cov}");
        assert_eq!(
            (verdict.pattern, verdict.validity),
            (Pattern::UnderDispersed, Validity::Invalid),
            "{}",
            verdict.reason
        );
        assert!(verdict.reason.contains(" and more: a finite population (IDC "), "{}", verdict.reason);
        assert_eq!(verdict.principle_b().unwrap().result, CheckResult::Passed, "gap by gap");
        assert_eq!(verdict.found_beside_principle_b(), None, "the reason says it");
        let long = verdict.dispersion.last().unwrap();
        assert!((long.idc - scv).abs() < 0.3, "{long:?}");
        // A closed system is specified.
        let criteria = Criteria { expected: ExpectedArrivals::Closed { users: 200, think }, ..Criteria::default() };
        let meant = verify(&recording, &criteria);
        assert_eq!(meant.validity, Validity::Valid, "{:?}", meant.findings);
        let beside = meant.found_beside_principle_b().unwrap();
        assert!(beside.starts_with("under-dispersed over ") && beside.contains(" and more: "), "{beside}");
        assert!((meant.queue.users.unwrap() - 200.0).abs() < 4.0, "{:?}", meant.queue);
        assert!((meant.queue.think_ms.unwrap() - 1000.0).abs() < 20.0, "{:?}", meant.queue);
    }
    // Users with exponential think times and instant responses are a Poisson process.
    let quiet = closed(200, &Distribution::exponential(1.0).unwrap(), 100.0, 1);
    assert_eq!(pattern(&quiet), (Pattern::Poisson, Validity::Valid));
    assert_eq!(verify(&quiet, &Criteria::default()).found_beside_principle_b(), None);
}

#[test]
fn reasons_state_the_figure_and_its_limit() {
    let gamma = |scv| Distribution::gamma(0.01, scv).unwrap();
    let reason = |recording: &Recording| verify(recording, &Criteria::default()).reason;
    let even = launched((0..1000).map(|i| f64::from(i) * 1e6));
    let constant = "the gaps between requests are nearly constant (CoV 0.00, tolerated: 0.95 to 1.05)";
    assert_eq!(reason(&even), constant);
    for scv in [0.5, 2.0] {
        let gaps = reason(&renewal(2000, &gamma(scv), 1));
        assert!(gaps.contains("-dispersed (CoV ") && gaps.ends_with(", tolerated: 0.95 to 1.05)"), "{gaps}");
    }
    let verdict = verify(&renewal(2000, &gamma(0.5), 1), &Criteria::default());
    assert_eq!(verdict.principle_b().unwrap().result, CheckResult::Failed);
    // Exact timers keep the order of the users.
    let timers = reason(&closed(50, &Distribution::constant(0.999).unwrap(), 30.0, 4));
    assert!(timers.contains(", tolerated: ") || timers.contains(", limit 0.10)"), "{timers}");
}

#[test]
fn fixed_timers_are_recognised() {
    let verdict = verify(&closed(50, &Distribution::constant(0.999).unwrap(), 100.0, 4), &Criteria::default());
    let repeat = verdict.finding(Check::RepeatedPattern).unwrap();
    assert_eq!((repeat.estimate, repeat.result), (Some(50.0), CheckResult::Failed));
}

#[test]
fn validity_depends_on_the_specification() {
    let even = launched((0..1000).map(|i| f64::from(i) * 1e6));
    let constant =
        Criteria { expected: ExpectedArrivals::Constant, target_rate_per_s: Some(1000.0), ..Criteria::default() };
    assert_eq!(verify(&even, &constant).validity, Validity::Valid);
    assert_eq!(verify(&poisson(1000, 100.0, 1), &constant).validity, Validity::Invalid);
    let burst = Distribution::gamma(0.01, 2.25).unwrap();
    let renewal_ask = Criteria { expected: ExpectedArrivals::Renewal { cov: 1.5 }, ..Criteria::default() };
    assert_eq!(verify(&renewal(4000, &burst, 1), &renewal_ask).validity, Validity::Valid);
    assert_eq!(verify(&poisson(4000, 100.0, 1), &renewal_ask).validity, Validity::Invalid);
    // Half the target rate.
    let slow = Criteria { target_rate_per_s: Some(200.0), ..Criteria::default() };
    assert_eq!(verify(&poisson(4000, 100.0, 1), &slow).validity, Validity::Invalid);
    // For a replay, only its schedule is known.
    let replay =
        Criteria { expected: ExpectedArrivals::Other { what: "replay".into(), system: None }, ..Criteria::default() };
    assert_eq!(verify(&even, &replay).validity, Validity::NotChecked);
    assert_eq!(verify(&Recording { intent_known: true, ..even }, &replay).validity, Validity::Valid);
}

#[test]
fn partly_open_sessions_are_judged_by_their_arrivals() {
    let mut stream = Seed(9).stream(Purpose::Arrivals);
    let (mut at, mut launches) = (0.0, Vec::new());
    for session in 0..1500u64 {
        at += stream.exponential() / 20.0;
        let mut next = at;
        for step in 0..=stream.below(8) as u32 {
            launches.push((next, session, step));
            next += 0.002;
        }
    }
    launches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut recording = launched(launches.iter().map(|launch| launch.0 * S));
    for (event, launch) in recording.edit().iter_mut().zip(&launches) {
        (event.session, event.step) = (launch.1, launch.2);
    }
    recording.sessions_known = true;
    assert_eq!(pattern(&recording).1, Validity::Invalid);
    let criteria = Criteria {
        expected: ExpectedArrivals::PartlyOpen(Box::new(ExpectedArrivals::Poisson)),
        target_rate_per_s: Some(20.0),
        ..Criteria::default()
    };
    let verdict = verify(&recording, &criteria);
    assert_eq!((verdict.pattern, verdict.validity), (Pattern::Poisson, Validity::Valid), "{}", verdict.reason);
    // Sessions and requests each have their own rate and CoV.
    let sessions = verdict.sessions.unwrap();
    assert_eq!((sessions.n, sessions.target_rate_per_s), (1500, Some(20.0)));
    assert!((sessions.sent_rate_per_s.unwrap() / 20.0 - 1.0).abs() < 0.1, "{sessions:?}");
    assert!(
        (sessions.measured_cov.unwrap() - 1.0).abs() < 0.1 && sessions.cov_low < sessions.measured_cov,
        "{sessions:?}"
    );
    let requests = verdict.gaps.last().unwrap();
    assert!(requests.rate_per_s > Some(80.0) && requests.cov > 1.5, "{requests:?}");
    assert!(verify(&recording, &Criteria::default()).sessions.is_none());
}

#[test]
fn late_and_unsent_requests_are_invalid() {
    let mut run = Recording { intent_known: true, format: "run".into(), ..poisson(1000, 100.0, 1) };
    for event in run.edit().iter_mut().step_by(50) {
        event.sent = event.sent.map(|sent| sent + Nanos::from_millis(30));
        event.done = event.done.map(|done| done + Nanos::from_millis(30));
    }
    let verdict = verify(&run, &Criteria::default());
    let late = verdict.lateness.unwrap();
    assert_eq!((late.p99_us, late.unsent), (30_000.0, 0));
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(verdict.reason.contains(" times, for up to 30 ms"), "{}", verdict.reason);

    let mut run = Recording { intent_known: true, format: "run".into(), ..poisson(1000, 100.0, 1) };
    for event in run.edit().iter_mut().step_by(20) {
        *event = Event::at(event.intended);
    }
    let verdict = verify(&run, &Criteria::default());
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(
        verdict.warnings.iter().any(|warning| matches!(
            warning.details,
            Some(WarningKind::UnsentRequests { unsent: 49, requests: 999, .. })
        )),
        "{:?}",
        verdict.warnings
    );
}

#[test]
fn windows_and_failures_exclude_requests() {
    let mut recording = launched((0..=100).map(|i| f64::from(i) * S));
    recording.edit()[50].outcome = Outcome::HttpError;
    let criteria = Criteria {
        skip_first: Nanos::from_secs(10),
        skip_last: Nanos::from_secs(20),
        take: Some(Nanos::from_secs(60)),
        ..Criteria::default()
    };
    let verdict = verify(&recording, &criteria);
    // Both ends inclusive: 10, 11, ... 70.
    assert_eq!((verdict.window.start_s, verdict.window.end_s), (10.0, 70.0));
    assert_eq!((verdict.window.requests, verdict.window.excluded), (61, 40));
    assert_eq!(verdict.gaps.last().unwrap().n, 60);
    let dropped = verify(&recording, &Criteria { failures: Failures::Drop, ..criteria });
    assert_eq!((dropped.window.requests, dropped.gaps.last().unwrap().max_ms), (60, 2000.0));
}

#[test]
fn empty_and_damaged_recordings_get_a_verdict() {
    for recording in [
        Recording::default(),
        Recording { events: vec![Event::at(Instant(5))].into(), ..Recording::default() },
        launched([7.0]),
        launched([7.0; 300]),
        launched([0.0, 1.8e19]),
        Recording { resolution: Nanos::from_secs(1), ..launched((0..90).map(|i| f64::from(i / 30) * S)) },
    ] {
        let verdict = verify(&recording, &Criteria { by_threads: true, ..Criteria::default() });
        assert!(serde_json::to_string(&verdict).unwrap().contains("offered.verify/1"));
        assert_ne!(verdict.validity, Validity::Valid);
    }
}

#[test]
fn the_document_has_the_documented_keys() {
    let document = serde_json::to_value(verify(&poisson(500, 10.0, 1), &Criteria::default())).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in [
        "schema",
        "source",
        "window",
        "gaps",
        "responses",
        "first_byte",
        "sizes",
        "by_threads",
        "queue",
        "findings",
        "dispersion",
        "pattern",
        "validity",
        "warnings",
        "runs",
    ] {
        assert!(keys(&document).contains(&key.to_owned()), "{key}");
    }
    for key in [
        "label",
        "n",
        "rate_per_s",
        "p50_ms",
        "mean_ms",
        "sdev_ms",
        "cov",
        "cov_low",
        "cov_high",
        "p90_ms",
        "p95_ms",
        "p99_ms",
        "min_ms",
        "max_ms",
    ] {
        assert!(keys(&document["gaps"][0]).contains(&key.to_owned()), "{key}");
    }
    for key in ["check", "statistic", "p_value", "estimate", "low", "high", "result"] {
        assert!(keys(&document["findings"][0]).contains(&key.to_owned()), "{key}");
    }
    assert_eq!(keys(&document["dispersion"][0]).len(), 4);
    assert_eq!(document["pattern"], "poisson");
    assert_eq!(document["validity"], "valid");
    assert_eq!(document["gaps"].as_array().unwrap().last().unwrap()["label"], "Total");
}

#[test]
fn the_same_seed_gives_the_same_verdict() {
    let recording = in_ms(poisson(500, 800.0, 3));
    let text = || serde_json::to_string(&verify(&recording, &Criteria::default())).unwrap();
    assert_eq!(text(), text());
}

#[test]
fn merged_generators_are_one_stream() {
    // Two generators with constant gaps, out of phase, are one with twice the rate.
    let part = |from: f64| Recording {
        sessions_known: true,
        labels: vec![format!("from {from}")],
        ..launched((0..500).map(|i| from + f64::from(i) * 2e6))
    };
    let merged = merge(vec![("a".into(), part(0.0)), ("b".into(), part(1e6))]);
    assert_eq!((merged.events.launches(), merged.labels.len()), (1000, 2));
    let criteria = Criteria {
        expected: ExpectedArrivals::Constant,
        target_rate_per_s: Some(1000.0),
        by_threads: true,
        ..Criteria::default()
    };
    let verdict = verify(&merged, &criteria);
    assert_eq!((verdict.pattern, verdict.validity), (Pattern::Constant, Validity::ValidWithWarnings));
    assert_eq!((verdict.gaps.len(), verdict.by_threads.len()), (3, 2));
    let warning = &verdict.warnings[0];
    assert!(warning.in_reason && verdict.reason.ends_with(&warning.message), "{}", verdict.reason);
    assert!(warning.message.contains("clocks"), "{warning:?}");
}

#[test]
fn samples_are_what_the_tables_summarise() {
    let recording = poisson(300, 10.0, 1);
    let criteria = Criteria { skip_first: Nanos::from_secs(5), ..Criteria::default() };
    let (all, verdict) = (crate::samples(&recording, &criteria).unwrap(), verify(&recording, &criteria));
    assert_eq!(all.iter().map(|sample| sample.label.as_str()).collect::<Vec<_>>(), ["a", "Total"]);
    let total = all.last().unwrap();
    assert_eq!(total.gaps.len() as u64, verdict.gaps.last().unwrap().n);
    assert_eq!(total.gaps.iter().copied().max().unwrap() as f64 / 1e6, verdict.gaps.last().unwrap().max_ms);
    assert_eq!(total.responses.len() as u64, verdict.responses.last().unwrap().n);
    assert!(crate::samples(&Recording::default(), &criteria).unwrap().is_empty());
}

#[test]
fn expected_arrivals_are_parsed_from_text() {
    let think = Distribution::uniform(0.0, 12.5).unwrap();
    assert_eq!(
        "closed:200:uniform:0s,12.5s".parse::<ExpectedArrivals>().unwrap(),
        ExpectedArrivals::Closed { users: 200, think }
    );
    assert_eq!("gamma:1.5".parse::<ExpectedArrivals>().unwrap(), ExpectedArrivals::Renewal { cov: 1.5 });
    for (text, name) in
        [("poisson", "poisson"), ("poisson-fixed-count", "poisson-fixed-count"), ("constant", "constant")]
    {
        assert_eq!(text.parse::<ExpectedArrivals>().unwrap().name(), name);
    }
    for wrong in
        ["", "poison", "gamma", "gamma:-1", "gamma:NaN", "closed", "closed:0:constant:1s", "closed:5", "closed:5:x:1s"]
    {
        assert!(wrong.parse::<ExpectedArrivals>().is_err(), "{wrong}");
    }
}

#[test]
fn stability_needs_completion_times() {
    let mut recording = launched((0..200).map(|i| f64::from(i) * 1e7));
    assert!(verify(&recording, &Criteria::default()).stability.is_some());
    for event in recording.edit().iter_mut() {
        event.done = None;
    }
    assert_eq!(verify(&recording, &Criteria::default()).stability, None);
}

#[test]
fn just_over_a_million_requests_have_the_same_verdict() {
    // One verdict has all values, the other only histogram bins; the additional requests change no printed digit.
    let of = |n: usize| {
        let mut stream = Seed(3).stream(Purpose::Size);
        let mut run =
            Recording { intent_known: true, on_run_clock: true, sessions_known: true, ..poisson(n - 1, 10_000.0, 9) };
        for (event, session) in run.edit().iter_mut().zip(0..) {
            let served = Nanos::from_secs_f64(0.02 * stream.exponential());
            event.sent = Some(event.intended + Nanos(20_000));
            event.done = event.sent.map(|sent| sent + served);
            (event.session, event.bytes_in, event.status) = (session % 1000, 500 + session % 7000, 200);
        }
        let lasts = Some(Nanos::from_secs(101));
        verify(&run, &Criteria { duration: lasts, target_rate_per_s: Some(10_000.0), ..Criteria::default() })
    };
    let (whole, coarse) = (of(1_000_000), of(1_000_003));
    let near = |one: Option<f64>, other: Option<f64>, what: &str| {
        let (one, other) = (one.unwrap_or(0.0), other.unwrap_or(0.0));
        assert!((one - other).abs() <= 2e-4 * one.abs() + 1e-5, "{what}: {one} and {other}");
    };
    assert_eq!((whole.pattern, whole.validity), (coarse.pattern, coarse.validity));
    assert_eq!(whole.reason, coarse.reason);
    let words = |verdict: &Verdict| verdict.warnings.iter().map(|warning| warning.message.clone()).collect::<Vec<_>>();
    assert_eq!(words(&whole), words(&coarse));
    for (one, other) in whole.findings.iter().zip(&coarse.findings) {
        assert_eq!((one.check, one.result), (other.check, other.result));
        // The middle of the gaps is shifted by one gap, and windows of three mean gaps are a nanosecond shorter.
        let apart = (one.estimate.unwrap_or(0.0) - other.estimate.unwrap_or(0.0)).abs();
        assert!(apart < 5e-3, "{}: {:?} and {:?}", one.check.name(), one.estimate, other.estimate);
    }
    let rows = |verdict: &Verdict| [&verdict.gaps, &verdict.responses].map(|table| table[0].clone());
    for (one, other) in rows(&whole).iter().zip(&rows(&coarse)) {
        assert_eq!((one.min_ms, one.max_ms), (other.min_ms, other.max_ms));
        for (of_one, of_other) in [
            (one.mean_ms, other.mean_ms),
            (one.sdev_ms, other.sdev_ms),
            (one.cov, other.cov),
            (one.p50_ms, other.p50_ms),
            (one.p90_ms, other.p90_ms),
            (one.p95_ms, other.p95_ms),
            (one.p99_ms, other.p99_ms),
            (one.p999_ms, other.p999_ms),
        ] {
            near(Some(of_one), Some(of_other), &one.label);
        }
    }
    for (one, other) in whole.dispersion.iter().zip(&coarse.dispersion) {
        near(Some(one.idc), Some(other.idc), "dispersion of counts");
    }
    for (one, other) in
        whole.generator_error.unwrap().percentiles.iter().zip(&coarse.generator_error.unwrap().percentiles)
    {
        near(Some(one.response_ms), Some(other.response_ms), "effect");
    }
    near(whole.queue.think_ms, coarse.queue.think_ms, "think time");
    near(whole.queue.response_ms, coarse.queue.response_ms, "response");
}

#[test]
fn the_sent_rate_does_not_depend_on_the_last_response() {
    let mut recording = launched((0..1000).map(|i| f64::from(i) * 1e7));
    let mut events = recording.events.to_vec().unwrap();
    for event in &mut events {
        event.done = event.sent.map(|sent| sent + Nanos::from_secs(60));
    }
    recording.events = events.into();
    let verdict = verify(&recording, &Criteria { expected: ExpectedArrivals::Constant, ..Criteria::default() });
    let rate = verdict.gaps.last().unwrap().rate_per_s.unwrap();
    assert!((rate - 100.0).abs() < 0.2, "{rate}");
}

/// Of 1 to 12 ms, rank ceil(0.95 * 12) is the last; index floor(0.95 * 11.5) is the one before.
#[test]
fn tables_of_the_toolkit_have_its_percentiles() {
    let mut recording = launched((0..12).map(|i| f64::from(i) * S));
    for (i, event) in recording.edit().iter_mut().enumerate() {
        event.done = event.sent.map(|sent| sent + Nanos::from_millis(1 + i as u64));
    }
    let p95 = |tables: &[crate::TimeStats]| tables.last().unwrap().p95_ms;
    let toolkit = crate::toolkit(&recording, &Criteria::default()).unwrap().unwrap();
    assert_eq!(p95(&toolkit.responses), 11.0);
    assert_eq!(p95(&verify(&recording, &Criteria::default()).responses), 12.0);
}
