//! Options of k6 scripts. Source: the documentation of k6, "Options reference" and "Executors".

use offered_schedule::{Count, Stage};
use offered_workload::Threshold;

use super::*;

/// The plans of these options, for a server that is given.
fn options(text: &str) -> Vec<Plan> {
    let set = [("url".to_owned(), "http://h:8080/a?b=1".to_owned())].into();
    let options = ImportOptions { variables: Some(&set), ..ImportOptions::default() };
    super::super::read(text, "options.json", &options).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn one(text: &str) -> Plan {
    let plan = options(text).remove(0);
    let written = plan.text("options.json").unwrap();
    Workload::parse(&written, "w", &|name| Err(name.to_owned())).unwrap_or_else(|e| panic!("{e}\n{written}"));
    plan
}

#[test]
fn executors_are_arrivals() {
    let seconds = Nanos::from_secs;
    let plan = one("{\"vus\": 50, \"duration\": \"10m\", \"iterations\": null}");
    let Arrivals::Closed { users, visits, stages, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!((*users, *visits, stages.len(), plan.duration), (50, None, 0, seconds(600)));
    assert_eq!(plan.requests[0].path.to_source(), "/a?b=1");
    assert!(
        plan.notes().iter().any(|note| note.contains("think times and checks of k6 are a program")),
        "{:?}",
        plan.notes()
    );
    let plan = one("{\"vus\": 5, \"iterations\": 100}");
    assert_eq!((plan.count, plan.duration), (Some(Count::Requests(100)), seconds(600)));
    let plan = one(
        "{\"stages\": [{\"duration\": \"1m\", \"target\": 50}, {\"duration\": \"0s\", \"target\": 20}, {\"duration\": \"5m\", \"target\": 20}]}",
    );
    let Arrivals::Closed { stages, .. } = &plan.arrivals else { panic!("{plan:?}") };
    let stage = |from, to, over| Stage { from, to, over: seconds(over) };
    assert_eq!((stages.as_slice(), plan.duration), (&[stage(1, 50, 60), stage(20, 20, 300)][..], seconds(360)));
    let executor = |scenario: &str| one(&format!("{{\"scenarios\": {{\"x\": {{{scenario}}}}}}}"));
    let plan = executor("\"executor\": \"per-vu-iterations\", \"vus\": 3, \"iterations\": 7, \"maxDuration\": \"2m\"");
    let Arrivals::Closed { users: 3, visits: Some(7), .. } = plan.arrivals else { panic!("{plan:?}") };
    let plan = executor(
        "\"executor\": \"constant-arrival-rate\", \"rate\": 90, \"timeUnit\": \"1m0s\", \"duration\": \"30s\", \"preAllocatedVUs\": 9",
    );
    let Arrivals::Open { rate, process, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!((rate, process, plan.duration), (&RateProfile::Constant(1.5), &Process::Constant, seconds(30)));
    assert!(plan.notes().iter().any(|note| note.contains("drops iterations if 9 VUs are busy")));
    let plan = executor(
        "\"executor\": \"ramping-arrival-rate\", \"startRate\": 10, \"preAllocatedVUs\": 9, \"stages\": [{\"duration\": \"1m\", \"target\": 30}]",
    );
    let Arrivals::Open { rate, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!(rate, &RateProfile::Ramp(10.0, 30.0, seconds(60)));
    let set = [("url".to_owned(), "http://h".to_owned())].into();
    let refused = super::super::read(
        "{\"scenarios\": {\"x\": {\"executor\": \"externally-controlled\"}}}",
        "f",
        &ImportOptions { variables: Some(&set), ..ImportOptions::default() },
    );
    assert!(refused.unwrap_err().to_string().contains("externally-controlled"));
}

#[test]
fn thresholds_are_limits() {
    let plan = one(
        "{\"vus\": 1, \"duration\": \"1m\", \"thresholds\": {\"http_req_duration\": [\"p(95)<500\", \"avg < 200.5\"], \"http_req_failed\": [{\"threshold\": \"rate<0.01\", \"abortOnFail\": true, \"delayAbortEval\": \"10s\"}], \"http_req_duration{scenario:x}\": [\"max<1\"], \"checks\": [\"rate>0.9\"]}}",
    );
    let expected = [
        Threshold::new("response.p95", "< 500ms").unwrap(),
        Threshold::new("response.mean", "< 200.5ms").unwrap(),
        Threshold::new("errors.rate", "< 1%").unwrap().stopping(Nanos::from_secs(10)),
    ];
    assert_eq!(plan.thresholds, expected);
    for note in ["applies to scenario:x only", "`rate>0.9` does not limit", "without waiting for a connection"] {
        assert!(plan.notes().iter().any(|line| line.contains(note)), "{note}: {:?}", plan.notes());
    }
}

#[test]
fn more_redirects_than_offered_follows_are_noted() {
    let redirects = |most: &str| {
        let plan = one(&format!("{{\"vus\": 1, \"duration\": \"1m\", \"maxRedirects\": {most}}}"));
        (plan.target.redirects(), plan.notes().iter().any(|note| note.contains("maxRedirects: is ")))
    };
    assert_eq!(redirects("7"), (7, false));
    assert_eq!(redirects("500"), (100, true));
}

#[test]
fn several_scenarios_are_combined() {
    let text = "{\"type\": \"js\", \"filename\": \"shop.js\", \"options\": {\"thresholds\": {\"http_req_failed\": [\"rate<0.1\"]}, \"scenarios\": {\
        \"a\": {\"executor\": \"constant-vus\", \"vus\": 2, \"duration\": \"1m\"}, \
        \"b\": {\"executor\": \"constant-arrival-rate\", \"rate\": 5, \"duration\": \"30s\", \"startTime\": \"20s\", \"preAllocatedVUs\": 5}}}}";
    let plans = options(text);
    let workload = Plan::combined(&plans).unwrap();
    let scenarios = workload.sessions().scenarios().unwrap();
    let starts: Vec<(&str, Nanos)> = scenarios.all().iter().map(|one| (one.name.as_str(), one.start)).collect();
    assert_eq!(starts, [("a", Nanos::ZERO), ("b", Nanos::from_secs(20))]);
    assert_eq!(workload.thresholds().len(), 1);
    assert!(plans[0].notes().iter().any(|note| note.starts_with("shop.js: ")), "{:?}", plans[0].notes());
}

#[test]
fn scripts_and_archives_name_the_way() {
    let refusal = |text: &str| read(text, "f", None).unwrap_err().to_string();
    assert!(refusal("import http from 'k6/http';").contains("k6 inspect SCRIPT > options.json"));
    let archive = format!("metadata.json{}ustar\u{0}", "\u{0}".repeat(257 - 13));
    assert!(refusal(&archive).contains("tar -xOf ARCHIVE metadata.json"), "{}", refusal(&archive));
    assert!(
        refusal("{\"vus\": 5, \"duration\": \"1m\"}").contains("the host of the requests of the script is unknown")
    );
}
