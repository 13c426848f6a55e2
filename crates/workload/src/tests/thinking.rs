use std::collections::HashMap;

use crate::Workload;
use offered_base::Share;
use offered_base::time::{Instant, Nanos};
use offered_schedule::Launch;

const LENGTHS: [(&str, f64); 4] = [
    ("stay = 0.8", 5.0),
    ("length = { fixed = 20 }", 20.0),
    ("length = { fixed = 1 }", 1.0),
    ("length = { empirical = [1, 2, 12] }", 5.0),
];

/// Sessions at 4/s who think for 7 s, of this length; on a server that takes no time.
fn launches(length: &str, start: &str, seed: u64) -> Vec<Launch> {
    let text = format!(
        "seed = {seed}\nduration = \"60s\"\narrivals.partly_open = {{ rate = \"4/s\", {length}, think = {{ exponential = \"7s\" }}{start} }}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let mut agenda = workload.agenda(Share::ALL);
    let mut launches = Vec::new();
    while let Some(launch) = agenda.due_before(Instant::MAX) {
        agenda.completed(launch, launch.intended);
        launches.push(launch);
    }
    launches
}

const STATIONARY: &str = ", start = \"stationary\"";

/// Launches per second from this second to that, over a hundred seeds.
fn per_s(length: &str, start: &str, from: u64, to: u64) -> f64 {
    let within = |launch: &Launch| (Instant::from_secs(from)..Instant::from_secs(to)).contains(&launch.intended);
    let all: usize = (1..=100).map(|seed| launches(length, start, seed).into_iter().filter(within).count()).sum();
    all as f64 / 100.0 / (to - from) as f64
}

#[test]
fn the_rate_of_requests_is_stationary_from_the_first_second() {
    for (length, mean) in LENGTHS {
        for (from, to) in [(0, 1), (1, 10), (50, 60)] {
            let found = per_s(length, STATIONARY, from, to);
            assert!((found / (4.0 * mean) - 1.0).abs() < 0.1, "{length}: {found}/s from {from} s to {to} s");
        }
    }
    // Sessions of twenty requests fill a system that begins empty in two minutes.
    assert!(per_s("length = { fixed = 20 }", "", 0, 10) < 20.0);
}

#[test]
fn a_session_that_is_met_ends_where_it_would_have_ended() {
    for (length, requests) in
        [("length = { fixed = 20 }", &[20][..]), ("length = { empirical = [1, 2, 12] }", &[2, 12])]
    {
        let mut ends = HashMap::new();
        // Twelve requests take 77 s, and sessions with enough time make all of theirs.
        for launch in launches(length, STATIONARY, 1) {
            assert!(launch.step < *requests.last().unwrap(), "{length}: {launch:?}");
            let first = *ends.entry(launch.session).or_insert((launch.step, launch.step));
            ends.insert(launch.session, (first.0, launch.step));
        }
        let met = ends.values().filter(|(first, _)| *first > 0).count();
        assert!(met > 30, "{length}: {met} are met in their middle");
    }
}

#[test]
fn long_sessions_are_met_more_often() {
    // With equally likely lengths 1, 2 and 12, 11 of 12 thinking sessions have 12 requests; the next is any from the second to the last.
    let first = |seed| -> Vec<u32> {
        let mut seen = HashMap::new();
        for launch in launches("length = { empirical = [1, 2, 12] }", STATIONARY, seed) {
            seen.entry(launch.session).or_insert(launch.step);
        }
        seen.into_values().filter(|step| *step > 0).collect()
    };
    let steps: Vec<u32> = (1..=100).flat_map(first).collect();
    // 4/s x (5 - 1) x 7 s.
    let mean = steps.len() as f64 / 100.0;
    assert!((mean / 112.0 - 1.0).abs() < 0.03, "{mean} are there");
    let share = |step: u32| steps.iter().filter(|met| **met == step).count() as f64 / steps.len() as f64;
    // P(L > k) over its sum: the next request is the second for 2/12 of them, and each later one for 1/12.
    assert!((share(1) - 2.0 / 12.0).abs() < 0.015, "{}", share(1));
    assert!((2..12).all(|step| (share(step) - 1.0 / 12.0).abs() < 0.015), "{steps:?}");
}

#[test]
fn arrivals_do_not_depend_on_the_opening() {
    let arrivals = |start| -> Vec<Instant> {
        launches("stay = 0.8", start, 3)
            .iter()
            .filter(|launch| launch.step == 0)
            .map(|launch| launch.intended)
            .collect()
    };
    assert_eq!(arrivals(STATIONARY), arrivals(""));
    let all = launches("stay = 0.8", STATIONARY, 3);
    let met = all.iter().find(|launch| launch.step == 0).unwrap().session;
    assert!(
        all.iter().all(|launch| launch.step > 0 || launch.session >= met),
        "thinking sessions have the first numbers"
    );
}

#[test]
fn an_impossible_stationary_start_is_refused() {
    for (more, why) in [
        ("rate = \"4/s\", stay = 0.8, start = \"stationary\"", "needs a think time"),
        ("rate = \"4/s\", stay = 0.8, think.pareto = { min = \"1s\", shape = 1.0 }, start = \"stationary\"", "a mean"),
        (
            "rate = { ramp = [\"1/s\", \"4/s\"], over = \"10s\" }, stay = 0.8, think.exponential = \"7s\", start = \"stationary\"",
            "constant rate",
        ),
        ("rate = \"4/s\", stay = 0.8, start = \"full\"", "empty, stationary"),
    ] {
        let text = format!("duration = \"60s\"\narrivals.partly_open = {{ {more} }}\n");
        let wrong = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(wrong.contains(why), "{wrong}");
    }
    let flow = "duration = \"60s\"\narrivals.partly_open = { rate = \"4/s\", think.exponential = \"7s\", start = \"stationary\" }\n\
                [[request]]\nname = \"a\"\nget = \"/\"\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"a\"\n";
    let wrong = Workload::parse(flow, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
    assert!(wrong.contains("middle of their flow"), "{wrong}");
}

#[test]
fn thinking_sessions_begin_after_their_residual_think_time() {
    // The residual of a constant think time is uniform, so the first requests are spread evenly over it.
    let text = "seed = 1\nduration = \"10s\"\narrivals.partly_open = { rate = \"1000/s\", stay = 0.5, think = { constant = \"2s\" }, start = \"stationary\" }\n";
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    let mut agenda = workload.agenda(Share::ALL);
    let mut met = Vec::new();
    while let Some(launch) = agenda.due_before(Instant::from_secs(2)) {
        met.extend(Some(launch.intended).filter(|_| launch.step > 0));
    }
    let mean = met.iter().map(|at| at.as_secs_f64()).sum::<f64>() / met.len() as f64;
    assert!((1900..2100).contains(&met.len()) && (mean - 1.0).abs() < 0.05, "{} in the mean at {mean} s", met.len());
    assert!(met.last().unwrap().until(Instant::from_secs(2)) < Nanos::from_millis(20));
}
