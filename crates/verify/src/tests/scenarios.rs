//! Several scenarios in one run: a verdict on each.

use offered_base::Nanos;
use offered_events::{Event, Recording, TokenStream};
use offered_workload::Workload;

use super::changing_rate::played;
use super::{Edit as _, verify};
use crate::{Criteria, Measurements, ThresholdResult, Validity, Verdict};

const TWO: &str = "seed = 3\nduration = \"100s\"\nskip_first = \"10s\"\ntarget.url = \"http://h/\"\n\
    scenario = [\n\
    { name = \"visitors\", requests = [\"home\"], arrivals.open.rate = \"20/s\" },\n\
    { name = \"batch\", requests = [\"report\"], start = \"20s\", end = \"80s\", arrivals.closed = { users = 30, think.exponential = \"1s\" } },\n\
    ]\n\
    request = [{ name = \"home\", get = \"/\" }, { name = \"report\", get = \"/r\" }]\n\
    thresholds = { \"response.p95{batch}\" = \"< 2ms\", \"throughput.rate{visitors}\" = \"15/s..25/s\", \"throughput.rate{batch}\" = \"25/s..35/s\", \"arrivals.cov{batch}\" = \"0.9..1.1\" }\n";

fn run() -> (Workload, Recording) {
    let workload = Workload::parse(TWO, "w.toml", &|_| Err(String::new())).unwrap();
    let mut recording = played(&workload, Nanos::from_millis(1), |at| at);
    recording.labels = workload.labels();
    let mix = workload.mix();
    for event in recording.edit().iter_mut() {
        let launch = offered_schedule::Launch {
            intended: event.intended,
            session: event.session,
            step: event.step,
            place: 0,
            visit: offered_schedule::Visit::FIRST,
        };
        event.label = mix.choose(launch);
    }
    (workload, recording)
}

fn judged(workload: &Workload, recording: &Recording) -> Verdict {
    verify(recording, &Criteria::from_workload(workload, 1.0))
}

#[test]
fn each_scenario_is_judged_by_its_own_arrivals() {
    let (workload, recording) = run();
    let verdict = judged(&workload, &recording);
    assert_eq!(verdict.validity, Validity::Valid, "{}", verdict.reason);
    let [visitors, batch] = &verdict.scenarios[..] else { panic!("{:?}", verdict.scenarios.len()) };
    assert_eq!((visitors.source.path.as_str(), batch.source.path.as_str()), ("visitors", "batch"));
    assert_eq!((visitors.expected.arrivals.as_str(), visitors.validity), ("poisson", Validity::Valid));
    assert!(batch.expected.arrivals.starts_with("closed, 30 users"), "{}", batch.expected.arrivals);
    assert_eq!(
        (batch.validity, batch.window.start_s, batch.window.end_s),
        (Validity::Valid, 0.0, 60.0),
        "{}",
        batch.reason
    );
    assert_eq!(visitors.window.start_s, 10.0);
    let all = verdict.requests.last().unwrap().requests;
    assert_eq!(visitors.requests.last().unwrap().requests + batch.requests.last().unwrap().requests, all);
}

#[test]
fn tokens_of_a_scenario_are_timed_by_its_own_clock() {
    let (workload, mut recording) = run();
    for event in recording.edit().iter_mut() {
        let at = event.done;
        let stream = TokenStream {
            head: event.intended,
            first_token: at,
            first_answer: at,
            last_token: at,
            ..TokenStream::default()
        };
        event.stream = Some(Box::new(stream));
    }
    for scenario in judged(&workload, &recording).scenarios {
        let tokens = scenario.tokens.unwrap();
        assert_eq!(tokens.times_of("ttft").unwrap().max_ms, 1.0, "{}", scenario.source.path);
    }
}

#[test]
fn scenarios_are_judged_in_the_same_part_of_the_run() {
    let (workload, recording) = run();
    let taken = Criteria { take: Some(Nanos::from_secs(40)), ..Criteria::from_workload(&workload, 1.0) };
    let windows: Vec<_> =
        verify(&recording, &taken).scenarios.iter().map(|of| (of.window.start_s, of.window.end_s)).collect();
    assert_eq!(windows, [(10.0, 50.0), (0.0, 30.0)]);
}

#[test]
fn the_run_is_invalid_if_a_scenario_is() {
    let (workload, mut recording) = run();
    let scenarios = workload.scenarios().unwrap().clone();
    // The visitors come at regular instants, as many as before.
    let mut n = 0;
    for event in recording.edit().iter_mut().filter(|event| scenarios.split(event.session).0 == 0) {
        n += 1;
        let at = offered_base::Instant(n * 50_000_000);
        (event.intended, event.sent, event.done) = (at, Some(at), Some(at + Nanos::from_millis(1)));
    }
    let verdict = judged(&workload, &recording);
    assert_eq!(verdict.validity, Validity::Invalid);
    assert!(verdict.reason.starts_with("scenario `visitors`: "), "{}", verdict.reason);
    assert_eq!(verdict.scenarios[1].validity, Validity::Valid, "{}", verdict.scenarios[1].reason);
}

#[test]
fn sessions_of_merged_shares_stay_in_their_scenario() {
    let (workload, recording) = run();
    let share = |number: u64| {
        let mut events: Vec<Event> = recording.events.to_vec().unwrap();
        events.retain(|event| event.session / 2 % 2 == number);
        (format!("{number}"), Recording { events: events.into(), ..recording.clone() })
    };
    let merged = crate::merge(vec![share(0), share(1)], 2).unwrap();
    let requests = |recording: &Recording| -> Vec<u64> {
        let scenarios = judged(&workload, recording).scenarios;
        scenarios.iter().map(|scenario| scenario.requests.last().unwrap().requests).collect()
    };
    assert_eq!(requests(&merged), requests(&recording));
}

#[test]
fn thresholds_may_be_those_of_a_scenario() {
    let (workload, recording) = run();
    let verdict = judged(&workload, &recording);
    let measured = Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted());
    let measured = measured.with_scenarios(workload.scenarios(), &verdict.scenarios);
    let results = ThresholdResult::check_all(workload.thresholds(), &measured, &verdict).unwrap();
    let texts: Vec<String> = results.iter().map(ThresholdResult::value_text).collect();
    assert!(results.iter().all(ThresholdResult::passed_here), "{texts:?}");
    assert!(texts[0].starts_with('1') && texts[0].ends_with(" ms"), "{texts:?}");
}
