//! Rates that change: tested in operational time, in which they are constant.

use offered_base::{Nanos, Share};
use offered_events::{Event, Outcome, Recording};
use offered_schedule::After;
use offered_workload::Workload;

use super::verify;
use crate::{Check, CheckResult, Criteria, Pattern, Validity, Verdict};

const STAGES: &str = "{ stages = [[\"5/s\", \"105/s\", \"40s\"], [\"105/s\", \"20s\"], [\"0/s\", \"10s\"], [\"60/s\", \"10/s\", \"30s\"]] }";

fn workload(seed: u64, arrivals: &str) -> Workload {
    let text = format!("seed = {seed}\narrivals.{arrivals}\ntarget.url = \"http://127.0.0.1/\"\n");
    Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap()
}

/// The requests of `workload` as they are scheduled, against a server that answers after `response`; sent at `sent` of that.
pub(super) fn played(workload: &Workload, response: Nanos, sent: impl Fn(u64) -> u64) -> Recording {
    let mut agenda = workload.agenda(Share::ALL);
    let mut events = Vec::new();
    let mut in_flight = std::collections::VecDeque::new();
    loop {
        let next = agenda.next_due();
        let done: Option<(offered_base::Instant, offered_schedule::Launch)> = in_flight.front().copied();
        match (next, done) {
            (Some(due), done) if done.is_none_or(|(done, _)| due < done) => {
                let launch = agenda.due(due).unwrap();
                let at = offered_base::Instant(sent(due.0));
                events.push(Event {
                    sent: Some(at),
                    done: Some(at + response),
                    outcome: Outcome::Ok,
                    session: launch.session,
                    step: launch.step,
                    ..Event::at(due)
                });
                in_flight.push_back((due + response, launch));
            }
            (_, Some((done, launch))) => {
                in_flight.pop_front();
                let _: After = agenda.completed(launch, done);
            }
            _ => break,
        }
    }
    Recording {
        events: events.into(),
        labels: vec!["a".into()],
        format: "run".into(),
        resolution: Nanos(1),
        sessions_known: true,
        intent_known: true,
        on_run_clock: true,
        ..Recording::default()
    }
}

/// The verdict without the excuse that the schedule itself is unusual.
fn strict(workload: &Workload, recording: &Recording) -> Verdict {
    verify(recording, &Criteria { schedule: None, ..Criteria::from_workload(workload, 1.0) })
}

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn a_changing_poisson_rate_is_a_poisson_process_in_operational_time() {
    let models = [
        format!("open.rate = {STAGES}"),
        "open.rate = { stages = [[\"0/s\", \"100/s\", \"60s\"]] }".to_owned(),
        format!("partly_open = {{ rate = {STAGES}, stay = 0.5, think.constant = \"100ms\" }}"),
    ];
    for model in models {
        let judged = (0..40).map(|seed| {
            let workload = workload(seed, &model);
            strict(&workload, &played(&workload, MS, |at| at))
        });
        let valid = judged.filter(|v| (v.validity, v.pattern) == (Validity::Valid, Pattern::Poisson)).count();
        // One run in a thousand is rejected by chance, and five in a hundred are no Poisson process by the usual level.
        assert!(valid >= 38, "{model}: {valid} of 40");
    }
    let constant = workload(1, &format!("open = {{ rate = {STAGES}, process = \"constant\" }}"));
    let verdict = strict(&constant, &played(&constant, MS, |at| at));
    assert_eq!((verdict.validity, verdict.pattern), (Validity::Valid, Pattern::Constant), "{}", verdict.reason);
    assert_eq!(verdict.expected.arrivals, "constant with a changing rate");
}

#[test]
fn requests_that_do_not_follow_the_rate_are_found() {
    let poisson = workload(1, &format!("open.rate = {STAGES}"));
    // The same number of requests at a constant rate.
    let even = workload(1, "open.rate = { steps = [[\"37/s\", \"100s\"]] }\nduration = \"100s\"");
    let verdict = strict(&poisson, &played(&even, MS, |at| at));
    assert_eq!(verdict.validity, Validity::Invalid, "{}", verdict.reason);
    // Every request sent at the next multiple of 50 ms.
    let ticks = played(&poisson, MS, |at| at.div_ceil(50_000_000) * 50_000_000);
    let verdict = verify(&ticks, &Criteria::from_workload(&poisson, 1.0));
    assert_ne!(verdict.pattern, Pattern::Poisson, "{}", verdict.reason);
    assert_eq!(verdict.validity, Validity::Invalid, "{}", verdict.reason);
    // In the file of another tool the clock of the run is unknown.
    let file = Recording { on_run_clock: false, ..played(&poisson, MS, |at| at) };
    let verdict = strict(&poisson, &file);
    assert!(verdict.finding(Check::RateAgainstTarget).is_none());
    assert_ne!(verdict.validity, Validity::Invalid, "{}", verdict.reason);
}

#[test]
fn users_in_stages_have_the_cov_of_their_numbers() {
    let stages = "{ stages = [[2, \"100s\"], [2, 30, \"60s\"], [30, \"30s\"], [30, 5, \"30s\"]] }";
    // Hyperexponential think times: the CoV of two users differs from that of thirty.
    let model = format!("closed = {{ users = {stages}, think.hyperexponential = {{ mean = \"1s\", scv = 9 }} }}");
    let checked: Vec<_> = (0..10)
        .map(|seed| {
            let workload = workload(seed, &model);
            let verdict = strict(&workload, &played(&workload, Nanos(100_000), |at| at));
            assert_ne!(verdict.validity, Validity::Invalid, "{}", verdict.reason);
            *verdict.finding(Check::ClosedCov).unwrap()
        })
        .collect();
    assert!(checked.iter().all(|finding| finding.result != CheckResult::Failed), "{checked:?}");
    let middle =
        checked.iter().map(|of| f64::midpoint(of.limit_low.unwrap(), of.limit_high.unwrap())).sum::<f64>() / 10.0;
    let measured = checked.iter().map(|finding| finding.estimate.unwrap()).sum::<f64>() / 10.0;
    assert!((measured / middle - 1.0).abs() < 0.05, "measured {measured}, expected {middle}");
    assert!(middle > 1.05, "{middle}");
}
