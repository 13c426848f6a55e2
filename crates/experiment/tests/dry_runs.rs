//! No dry run is ever invalid: its requests are sent exactly as scheduled, whatever the system model, the arrivals, the think times and the
//! responses. A verdict that calls it invalid blames the generator for theory, or for chance.

use std::sync::Arc;

use offered_base::Share;
use offered_experiment::{FinishedRun, LocalRun, RunPlan, VerifyOptions};
use offered_run::Load;
use offered_store::ReadOptions;
use offered_verify::{Validity, Verdict};
use offered_workload::Workload;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Number of random workloads. `OFFERED_CASES=5000 cargo test --release -p offered-experiment --test dry_runs` tries more.
const CASES: u32 = 250;
/// Maximum mean number of requests of a case.
const MAX_REQUESTS: f64 = 3000.0;

/// A distribution of times with this mean in seconds, as in a workload file.
fn distribution(mean: f64) -> BoxedStrategy<String> {
    let ms = move |factor: f64| format!("{:.3}ms", mean * factor * 1e3);
    prop_oneof![
        Just(format!("{{ constant = \"{}\" }}", ms(1.0))),
        Just(format!("{{ uniform = [\"0s\", \"{}\"] }}", ms(2.0))),
        Just(format!("{{ exponential = \"{}\" }}", ms(1.0))),
        (0.05..30.0).prop_map(move |scv| format!("{{ gamma = {{ mean = \"{}\", scv = {scv:.3} }} }}", ms(1.0))),
        (1.1..60.0)
            .prop_map(move |scv| format!("{{ hyperexponential = {{ mean = \"{}\", scv = {scv:.3} }} }}", ms(1.0))),
        (0.1..40.0).prop_map(move |scv| format!("{{ lognormal = {{ mean = \"{}\", scv = {scv:.3} }} }}", ms(1.0))),
        (0.4..3.0).prop_map(move |shape| format!("{{ weibull = {{ mean = \"{}\", shape = {shape:.3} }} }}", ms(1.0))),
        (1.1..4.0).prop_map(move |shape| format!("{{ pareto = {{ min = \"{}\", shape = {shape:.3} }} }}", ms(0.4))),
        // The two kinds of pauses of the issue that this test comes from.
        (1u32..20, 20.0..1000.0).prop_map(move |(rare, factor)| {
            let values = (0..20).map(|i| if i < 20 - rare { ms(0.01) } else { ms(factor / 20.0) });
            format!("{{ empirical = [{}] }}", values.map(|value| format!("\"{value}\"")).collect::<Vec<_>>().join(", "))
        }),
    ]
    .boxed()
}

/// An arrival process with single arrivals or batches, as keys of `open` or `partly_open`.
fn process() -> BoxedStrategy<String> {
    prop_oneof![
        3 => Just(String::new()),
        2 => Just(", process = \"constant\"".to_owned()),
        2 => Just(", process = \"poisson-fixed-count\"".to_owned()),
        2 => (0.1..5.0).prop_map(|cov| format!(", process = {{ gamma = {cov:.3} }}")),
        2 => distribution(1.0).prop_map(|gaps| format!(", process = {{ renewal = {gaps} }}")),
        1 => (0.0..1.0, 1.1..5.0, 0.1..5.0).prop_map(|(low, high, time)| format!(
            ", process = {{ mmpp = {{ factors = [{low:.3}, {high:.3}], sojourns = [\"{time:.3}s\", \"{time:.3}s\"] }} }}"
        )),
        1 => (2u32..6).prop_map(|size| format!(", batch = {size}")),
        1 => (1.1..5.0).prop_map(|size| format!(", batch = {{ geometric = {size:.2} }}")),
    ]
    .boxed()
}

/// A constant or changing rate with this mean.
fn rate(mean: f64, duration_s: f64) -> BoxedStrategy<String> {
    let per_s = move |factor: f64| format!("\"{:.4}/s\"", mean * factor);
    prop_oneof![
        4 => Just(per_s(1.0)),
        1 => Just(format!("{{ ramp = [{}, {}], over = \"{duration_s}s\" }}", per_s(0.5), per_s(1.5))),
        1 => Just(format!("{{ steps = [[{}, \"{}s\"], [{}, \"{}s\"]] }}", per_s(0.5), duration_s / 2.0, per_s(1.5), duration_s / 2.0)),
        1 => Just(format!("{{ sine = {{ mean = {}, amplitude = {}, period = \"{}s\" }} }}", per_s(1.0), per_s(0.7), duration_s / 3.0)),
    ]
    .boxed()
}

/// `[arrivals]` of a run of this duration, of any system model, and the distribution of its responses.
fn arrivals(duration_s: f64) -> BoxedStrategy<(String, String)> {
    let most = MAX_REQUESTS / duration_s;
    let response = || prop_oneof![Just(0.0005), Just(0.01), Just(0.3), Just(2.0)].prop_flat_map(distribution);
    let open = (2.0..most).prop_flat_map(move |mean| (rate(mean, duration_s), process()));
    let open = open.prop_map(|(rate, process)| format!("open = {{ rate = {rate}{process} }}"));
    let closed = (1u64..60, 0.02..5.0, 0usize..6).prop_flat_map(move |(users, mean, kind)| {
        let users = users.min(((most * mean) as u64).max(1));
        let more = ["", "", ", ramp = \"1s\"", ", start = \"at-once\"", ", visits = 30", ", every = \"500ms\""][kind];
        distribution(mean).prop_map(move |think| format!("closed = {{ users = {users}, think = {think}{more} }}"))
    });
    let partly_open = (0.0..0.9, 0.01..3.0, any::<bool>()).prop_flat_map(move |(stay, mean, is_stationary)| {
        let sessions =
            (1.0..f64::max(most * (1.0 - stay), 1.5)).prop_flat_map(move |mean| (rate(mean, duration_s), process()));
        let start = if is_stationary { ", start = \"stationary\"" } else { "" };
        (sessions, distribution(mean)).prop_map(move |((rate, process), think)| {
            let start = if rate.starts_with('"') && process.is_empty() { start } else { "" };
            format!("partly_open = {{ rate = {rate}{process}, stay = {stay:.3}, think = {think}{start} }}")
        })
    });
    let replay = prop_oneof![
        Just("replay = { trace = \"t.trace\" }"),
        Just("replay = { trace = \"t.trace\", as = \"sessions\" }"),
        Just("replay = { trace = \"t.trace\", as = \"closed\", users = 7, think = { exponential = \"50ms\" } }"),
    ];
    let text = prop_oneof![
        4 => open,
        4 => closed,
        3 => partly_open,
        1 => replay.prop_map(str::to_owned),
    ];
    (text, response()).boxed()
}

/// A run to be simulated.
#[derive(Clone, Debug)]
struct Case {
    text: String,
    /// Response times.
    response: String,
    share: &'static str,
}

fn case() -> impl Strategy<Value = Case> {
    let share = prop_oneof![4 => Just("1/1"), 1 => Just("2/3"), 1 => Just("1/4")];
    let limits = (any::<u32>(), 0usize..4, prop::option::weighted(0.15, 60u32..900));
    let arrivals = prop_oneof![1.0f64..3.0, 5.0f64..40.0].prop_flat_map(|duration_s| {
        let duration_s = (duration_s * 10.0).round() / 10.0;
        (Just(duration_s), arrivals(duration_s))
    });
    (arrivals, limits, share).prop_map(|((duration_s, (arrivals, response)), (seed, skip, requests), share)| {
        let skip = match skip {
            1 => format!("skip_first = \"{}s\"\n", duration_s / 5.0),
            // The end of a counted run is not known beforehand.
            2 if requests.is_none() => format!("skip_last = \"{}s\"\n", duration_s / 5.0),
            _ => String::new(),
        };
        let requests = requests.map_or_else(String::new, |n| format!("requests = {n}\n"));
        let text = format!("seed = {seed}\nduration = \"{duration_s}s\"\n{requests}{skip}arrivals.{arrivals}\n");
        Case { text, response, share }
    })
}

/// A trace of 1,200 requests of 40 sessions in 20 s, in bursts.
fn trace() -> Vec<u8> {
    let entry = |i: u32| format!("{:.3} {} 0\n", f64::from(i / 30) * 0.5 + f64::from(i % 30) * 0.003, i % 40);
    format!("offered.trace/1\nGET /\n{}", (0..1200).map(entry).collect::<String>()).into_bytes()
}

/// The workload of a case; `None` if it is one that the reader refuses, for example more users than there is a share for.
fn workload(case: &Case) -> Option<Workload> {
    let read = |name: &str| if name == "t.trace" { Ok(trace()) } else { Err("there is no such file".to_owned()) };
    Workload::parse(&case.text, "w.toml", &read).ok()
}

fn dry_run(case: &Case, workload: &Workload, directory: Option<&std::path::Path>) -> Option<FinishedRun> {
    // Only the reader of workloads knows these distributions.
    let server = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\nserver.service = {}\n", case.response);
    let server = Workload::parse(&server, "server.toml", &|_| Err(String::new())).expect("a distribution");
    let plan = RunPlan {
        text: &case.text,
        workload,
        share: case.share.parse::<Share>().expect("a share"),
        load: Load::Mock(server.server().expect("a server").service().clone()),
        start_at: None,
        run_id: None,
        directory,
        name: "dry".to_owned(),
        capture_failures: false,
    };
    plan.prepare(Arc::default()).ok()?.run(Vec::new()).ok()
}

#[test]
fn no_dry_run_is_invalid() {
    let cases = std::env::var("OFFERED_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    // The same cases each time; other counts of cases contain others.
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let judged = std::cell::Cell::new(0u32);
    let outcome = TestRunner::new_with_rng(config, random).run(&case(), |case| {
        let Some(workload) = workload(&case) else { return Ok(()) };
        let Some(run) = dry_run(&case, &workload, None) else { return Ok(()) };
        let is_valid = matches!(run.verdict.validity, Validity::Valid | Validity::ValidWithWarnings);
        judged.set(judged.get() + u32::from(is_valid));
        let failed: Vec<_> = run.verdict.findings.iter().filter(|finding| finding.failed()).collect();
        prop_assert!(
            run.verdict.validity != Validity::Invalid,
            "{}: {}\n{}responses {}\nshare {}\n{failed:?}",
            run.verdict.validity.heading(),
            run.verdict.reason,
            case.text,
            case.response,
            case.share,
        );
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    // A generator that makes only workloads that are refused or too short would prove nothing.
    assert!(2 * judged.get() > cases, "only {} of {cases} runs were judged valid", judged.get());
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a document")
}

/// `run` and `verify` of its directory are one judgement, with one exit code and one wording.
#[test]
fn verify_repeats_the_verdict_of_run() {
    let config = Config { cases: 40, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let outcome = TestRunner::new_with_rng(config, random).run(&case(), |mut case| {
        // A worker of many writes into the directory of all; this is about runs of one.
        case.share = "1/1";
        case.text += "[thresholds]\np95 = \"< 100ms\"\n\"errors\" = \"< 1%\"\n";
        let Some(workload) = workload(&case).filter(|_| !case.text.contains("t.trace")) else { return Ok(()) };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let Some(run) = dry_run(&case, &workload, Some(&path)) else { return Ok(()) };
        let verified =
            VerifyOptions::default().verify(&LocalRun::from(&*path), &ReadOptions::default(), |_, _| {}).unwrap();
        prop_assert_eq!(Some(run.result()), verified.result());
        let source = run.verdict.source.clone();
        let checked = verified.verdict.thresholds.clone();
        let verdict = Verdict { thresholds: Vec::new(), source, ..verified.verdict };
        // Compared as documents: theory has no number for some schedules, and no number equals that.
        prop_assert_eq!(json(&run.summary.thresholds), json(&checked));
        prop_assert_eq!(json(&run.verdict), json(&verdict), "{}", case.text);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// The example of the issue: 25 closed users who pause briefly or for minutes, with responses of a second.
#[test]
fn closed_users_with_two_kinds_of_pauses_are_valid() {
    let pauses = [vec!["\"100ms\""; 90], vec!["\"500s\""; 10]].concat().join(", ");
    for (users, response) in [(25, "1ms"), (25, "1s"), (25, "5s"), (3, "1s")] {
        let case = Case {
            text: format!(
                "seed = 1\nduration = \"2000s\"\narrivals.closed = {{ users = {users}, think.empirical = [{pauses}] }}\n"
            ),
            response: format!("{{ constant = \"{response}\" }}"),
            share: "1/1",
        };
        let run = dry_run(&case, &workload(&case).unwrap(), None).unwrap();
        // With responses of seconds the users wait for most of their time, which is a warning.
        assert_ne!(run.verdict.validity, Validity::Invalid, "{users} users, {response}: {}", run.verdict.reason);
        assert_ne!(run.verdict.validity, Validity::NotChecked, "{users} users, {response}: {}", run.verdict.reason);
    }
}

/// The excuse holds only for the schedule of the workload: another workload beside the same events is not believed.
#[test]
fn a_run_beside_another_workload_is_invalid() {
    let text = |rate: &str| format!("seed = 5\nduration = \"20s\"\narrivals.open = {{ rate = \"100/s\"{rate} }}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let case = Case { text: text(""), response: "{ constant = \"1ms\" }".to_owned(), share: "1/1" };
    dry_run(&case, &workload(&case).unwrap(), Some(&path)).unwrap();
    let validity = || {
        let verified = VerifyOptions::default().verify(&LocalRun::from(&*path), &ReadOptions::default(), |_, _| {});
        verified.unwrap().verdict.validity
    };
    assert_eq!(validity(), Validity::Valid);
    let replace = |other: String| {
        std::fs::remove_file(path.join("workload.toml")).unwrap();
        std::fs::write(path.join("workload.toml"), other).unwrap();
    };
    replace(text(", process = \"constant\""));
    assert_eq!(validity(), Validity::Invalid, "constant gaps were specified");
    replace(text("").replace("100/s", "150/s"));
    assert_eq!(validity(), Validity::Invalid, "another rate was specified");
}
