//! Several runs in one file, and one run that paused.

use offered_base::{Instant, Nanos};
use offered_distributions::Distribution;
use offered_events::Recording;

use super::{Edit as _, S, closed, launched, poisson, verify};
use crate::{Criteria, Pattern, Validity, Verdict};

/// Both runs, the second one `silence` seconds after the end of the first, with the same sessions.
fn appended(first: Recording, second: Recording, silence: f64) -> Recording {
    let end = first.events.to_vec().unwrap().iter().filter_map(|event| event.sent).max().unwrap();
    let mut both = first;
    both.edit().extend(second.events.to_vec().unwrap().into_iter().map(|mut event| {
        let later = |at: Instant| at + Instant::ZERO.until(end) + Nanos((silence * S) as u64);
        (event.intended, event.sent, event.done) =
            (later(event.intended), event.sent.map(later), event.done.map(later));
        event
    }));
    both
}

fn judged(recording: &Recording) -> Verdict {
    verify(recording, &Criteria::default())
}

#[track_caller]
fn assert_single_paused_run(verdict: &Verdict, why: &str) {
    assert_eq!(verdict.runs.len(), 0, "{:?}", verdict.warnings);
    let warnings: Vec<&str> = verdict.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(warnings.iter().any(|warning| warning.contains("the run paused") && warning.contains(why)), "{warnings:?}");
    assert_eq!(verdict.validity, Validity::Invalid, "{}", verdict.reason);
}

#[test]
fn several_runs_are_judged_separately() {
    let run = |seed, from: f64| {
        let mut run = poisson(1000, 50.0, seed);
        for event in run.edit().iter_mut() {
            let sent = event.intended + Nanos((from * S) as u64);
            (event.intended, event.sent, event.done) = (sent, Some(sent), Some(sent + Nanos(1000)));
        }
        run.events.to_vec().unwrap()
    };
    for (first, second) in [(0.0, 400.0), (100_000.0, 0.0), (0.0, 0.0)] {
        let events = [run(1, first), run(2, second)].concat();
        let verdict = judged(&Recording { events: events.into(), ..poisson(1, 1.0, 1) });
        assert_eq!((verdict.pattern, verdict.runs.len()), (Pattern::SeveralRuns, 2), "{first} {second}");
        assert!(verdict.runs.iter().all(|run| run.validity == Validity::Valid));
        assert_eq!(verdict.validity, Validity::Valid);
        let evidence =
            if second > first { "longer than tools wait for a response" } else { "the clock jumps back 1 times" };
        assert!(verdict.warnings.iter().any(|warning| warning.message.contains(evidence)), "{:?}", verdict.warnings);
    }
}

#[test]
fn a_short_trial_before_a_silence_does_not_count() {
    let trial = launched([0.0, 0.4, 1.1].map(|at| at * S));
    let days = 60.0 * 86_400.0;
    let verdict = judged(&appended(trial, poisson(5000, 100.0, 1), days));
    let of_runs: Vec<_> = verdict.runs.iter().map(|run| (run.pattern, run.validity)).collect();
    assert_eq!(of_runs, [(Pattern::TooFewRequests, Validity::NotChecked), (Pattern::Poisson, Validity::Valid)]);
    assert_eq!(verdict.validity, Validity::Valid, "{}", verdict.reason);
    // Sixty days between two runs are not a gap of either, and there is no common rate.
    assert!(verdict.gaps.is_empty() && verdict.findings.is_empty(), "{:?}", verdict.gaps);
    assert_eq!((verdict.queue.rate_per_s, verdict.stability), (None, None));
    assert_eq!(verdict.responses.last().unwrap().n, 5004);
    assert!(verdict.runs[1].source.path.ends_with(", run 2"));
}

#[test]
fn a_busy_run_with_one_stall_is_one_run() {
    // 100 requests per second, nothing for 15 s, and 100 per second again: no evidence of another run.
    let stalled = appended(poisson(5000, 100.0, 1), poisson(5000, 100.0, 2), 15.0);
    assert_single_paused_run(&judged(&stalled), "no evidence that another run starts");
    // Of any length, if a request sent before it completed after it.
    let mut waiting = appended(poisson(5000, 100.0, 1), poisson(5000, 100.0, 2), 300.0);
    let end = waiting.events.to_vec().unwrap().last().unwrap().done;
    waiting.edit()[4990].done = end;
    assert_single_paused_run(&judged(&waiting), "1 earlier requests completed only after it");
}

#[test]
fn users_who_start_again_are_another_run() {
    // 40 users who start one after another, like JMeter threads; twice.
    let run = || {
        let mut run = closed(40, &Distribution::exponential(1.0).unwrap(), 60.0, 1);
        for event in run.edit().iter_mut() {
            let later = |at: Instant| at + Nanos(event.session * 200_000_000);
            (event.intended, event.sent, event.done) =
                (later(event.intended), event.sent.map(later), event.done.map(later));
        }
        run
    };
    let verdict = judged(&appended(run(), run(), 20.0));
    assert_eq!((verdict.pattern, verdict.runs.len()), (Pattern::SeveralRuns, 2), "{:?}", verdict.warnings);
    assert!(verdict.warnings[0].message.contains("the same users start in the same order"), "{:?}", verdict.warnings);
    // The same users, in any order, after a stall.
    let mut on = closed(40, &Distribution::exponential(1.0).unwrap(), 120.0, 3);
    for event in on.edit().iter_mut().filter(|event| event.intended > Instant::from_secs(60)) {
        let later = |at: Instant| at + Nanos::from_secs(20);
        (event.intended, event.sent, event.done) =
            (later(event.intended), event.sent.map(later), event.done.map(later));
    }
    assert_single_paused_run(&judged(&on), "no evidence that another run starts");
}

#[test]
fn many_silences_are_a_pattern() {
    let bursts = (0..30).flat_map(|burst| (0..100).map(move |i| (f64::from(burst) * 100.0 + f64::from(i) * 0.01) * S));
    let verdict = judged(&launched(bursts));
    assert_eq!((verdict.runs.len(), verdict.validity), (0, Validity::Invalid));
}
