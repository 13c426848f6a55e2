//! Artillery scripts. Sources: `phases.ts`, `engine_http.ts`, `engine_util.ts` and the plugins `ensure` and `expect` of Artillery 2.

use offered_schedule::Sessions;
use offered_workload::condition::Subject;
use offered_workload::script::{IfMissing, OnFailure, Order, Per, Which};

use super::*;

const HEAD: &str = "config:\n  target: http://shop:3000/api\n  phases:\n    - duration: 1m\n      arrivalRate: 5\n";

/// The plan of a script, and its workload, written and parsed again.
fn script(text: &str) -> (Plan, Workload) {
    let mut plans = read(text, "load.yml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let plan = plans.remove(0);
    let written = plan.text("load.yml").unwrap_or_else(|why| panic!("{why}\n{plan:?}"));
    let workload =
        Workload::parse(&written, "w", &|name| Err(name.to_owned())).unwrap_or_else(|e| panic!("{e}\n{written}"));
    (plan, workload)
}

fn flow(steps: &str) -> (Plan, Workload) {
    let indented: String = steps.lines().map(|line| format!("      {line}\n")).collect();
    script(&format!("{HEAD}scenarios:\n  - name: buy\n    flow:\n{indented}"))
}

fn has(plan: &Plan, what: &str) -> bool {
    plan.notes().iter().any(|note| note.contains(what))
}

/// The steps of the first flow: paths, with repetitions.
fn steps(plan: &Plan) -> Vec<String> {
    let path = |name: &str| plan.requests.iter().find(|request| request.name == name).unwrap().path.to_source();
    plan.flows[0].steps.iter().map(|step| path(&step.request).repeat(step.repeat as usize)).collect()
}

#[test]
fn phases_are_rates() {
    let phases = |phases: &str| {
        let (plan, _) = script(&format!(
            "config:\n  target: http://h\n  phases: [{phases}]\nscenarios:\n  - flow: [{{get: {{url: /a}}}}]\n"
        ));
        let Arrivals::Open { rate, process, .. } = plan.arrivals.clone() else { panic!("{plan:?}") };
        (rate, process, plan.duration)
    };
    let seconds = Nanos::from_secs;
    assert_eq!(phases("{duration: 60, arrivalRate: 5}"), (RateProfile::Constant(5.0), Process::Constant, seconds(60)));
    assert_eq!(
        phases("{duration: 2m, arrivalRate: 5, mode: poisson}"),
        (RateProfile::Constant(5.0), Process::Poisson, seconds(120))
    );
    assert_eq!(
        phases("{duration: 10, arrivalRate: 0, rampTo: 5}, {pause: 5}, {duration: 10, arrivalCount: 20}").0,
        RateProfile::Stages(vec![(0.0, 5.0, seconds(10)), (0.0, 0.0, seconds(5)), (2.0, 2.0, seconds(10)),])
    );
    let (plan, _) = script("config:\n  target: http://h\nscenarios:\n  - flow: [{get: {url: /a}}]\n");
    assert!(has(&plan, "specifies no phase with a rate") && plan.duration == seconds(600));
}

#[test]
fn steps_of_a_scenario_are_a_flow() {
    let (plan, workload) = flow(
        "- post: {url: /login, json: {user: ann, n: 3, tags: [a]}, capture: {json: $.token, as: token}}\n\
         - think: 2\n\
         - get: {url: /items, qs: {q: a b, page: 1}, headers: {Authorization: \"Bearer {{ token }}\"}, followRedirect: false}\n\
         - loop:\n  - get: {url: /item}\n  - think: 500ms\n  count: 3\n\
         - log: done",
    );
    assert_eq!(steps(&plan), ["/api/login", "/api/items?q=a+b&page=1", "/api/item", "/api/item", "/api/item"]);
    let login = &plan.requests[0];
    assert_eq!(login.body, Body::Text(Template::new("{\"user\":\"ann\",\"n\":3,\"tags\":[\"a\"]}")));
    assert_eq!(login.header("content-type"), Some(&Text::from("application/json")));
    assert_eq!(login.extract[0].find, Find::Json("$.token".to_owned()));
    assert_eq!((&login.extract[0].which, &login.extract[0].if_missing), (&Which::Random, &IfMissing::Fail));
    assert_eq!(login.on_failure, OnFailure::EndSession);
    assert_eq!(plan.requests[1].headers[0].1.to_source(), "Bearer {{token}}");
    assert_eq!((login.redirects, plan.requests[1].redirects), (None, Some(0)));
    let thinks: Vec<f64> = plan.flows[0]
        .steps
        .iter()
        .map(|step| step.think.as_ref().map_or(0.0, offered_distributions::Distribution::mean))
        .collect();
    // The wait before a request is the think time after the one before; nobody waits at the end of a session.
    assert_eq!(thinks, [2.0, 0.0, 0.5, 0.5, 0.0]);
    assert!(matches!(workload.sessions(), Sessions::PartlyOpen { .. }));
    assert!(plan.target.cookies() && plan.target.redirects() == 10, "{:?}", plan.target);
}

#[test]
fn scenarios_are_flows_by_weight() {
    let (plan, _) = script(&format!(
        "{HEAD}scenarios:\n  - weight: 3\n    flow: [{{get: {{url: /a}}}}, {{get: {{url: /b}}}}]\n  - name: rare\n    flow: [{{get: {{url: /c}}}}]\n  - engine: ws\n    flow: [{{send: x}}]\n"
    ));
    let flows: Vec<(&str, f64)> = plan.flows.iter().map(|flow| (flow.name.as_str(), flow.weight)).collect();
    assert_eq!(flows, [("scenario 1", 3.0), ("rare", 1.0)]);
    assert!(has(&plan, "uses the engine ws"), "{:?}", plan.notes());
    let refused = read(&format!("{HEAD}scenarios:\n  - engine: ws\n    flow: [{{send: x}}]\n"), "f", None);
    assert!(refused.unwrap_err().to_string().contains("(engines: ws)"));
}

#[test]
fn values_are_those_of_the_script() {
    let text = "config:\n  target: http://{{ host }}\n  processor: ./own.js\n  variables: {kind: tea, size: [s, m]}\n  payload:\n    - {path: data/users.csv, fields: [name, mail], order: sequence, skipHeader: true}\nscenarios:\n  - beforeRequest: sign\n    flow:\n      - post: {url: \"/{{ kind }}/{{ name }}\", json: {id: \"{{ $randomNumber(1, 9) }}\", size: \"{{ size }}\", by: \"{{ made }}\"}}\n      - function: make\n";
    let why = read(text, "f", None).unwrap_err();
    assert!(why.to_string().contains("the variable `host` has no value"), "{why}");
    let set = [("host".to_owned(), "shop".to_owned())].into();
    let options = ImportOptions { variables: Some(&set), ..ImportOptions::default() };
    let plan = super::super::read(text, "f", &options).unwrap().remove(0);
    assert_eq!(plan.requests[0].path.to_source(), "/tea/{{users.name}}");
    assert_eq!(
        plan.requests[0].body.text().unwrap().to_string(),
        "{\"id\":\"{{random(1, 9)}}\",\"size\":\"{{choice('s', 'm')}}\",\"by\":\"{{made}}\"}"
    );
    let Variable { name, value: ValueSource::File { file, columns, order, format, .. }, per } = &plan.variables[0]
    else {
        panic!("{:?}", plan.variables)
    };
    assert_eq!(
        (name.as_str(), file.as_str(), *order, format.skip_lines, *per),
        ("users", "data/users.csv", Order::Sequential, 1, Per::Session)
    );
    assert_eq!(columns, &["name", "mail"]);
    // Programs are named, and what they set.
    for note in [
        "runs the function sign of ./own.js",
        "function runs the function make",
        "`{{ made }}` has no value in the script",
        "--set made=VALUE",
    ] {
        assert!(has(&plan, note), "{note}: {:?}", plan.notes());
    }
    assert_eq!(plan.variables[1], Variable::constant("made", "undefined"));
}

#[test]
fn payload_files_with_the_same_name_are_different_variables() {
    let file = |folder: &str| format!("    - {{path: {folder}/users.csv, fields: [{folder}]}}\n");
    let files = ["a", "b", "c"].map(file).concat();
    let steps = "scenarios:\n  - flow: [{get: {url: \"/{{ a }}/{{ b }}/{{ c }}\"}}]\n";
    let text = format!("config:\n  target: http://shop\n  payload:\n{files}{steps}");
    let plan = read(&text, "f", None).unwrap().remove(0);
    assert_eq!(plan.requests[0].path.to_source(), "/{{users.a}}/{{users_2.b}}/{{users_3.c}}");
}

#[test]
fn environments_are_chosen() {
    let text = "config:\n  target: http://a\n  environments: {big: {target: http://b, phases: [{duration: 9, arrivalRate: 7}]}}\nscenarios:\n  - flow: [{get: {url: /}}]\n";
    assert!(has(&script(text).0, "--set environment=NAME for one of: big"));
    let set = [("environment".to_owned(), "big".to_owned())].into();
    let options = ImportOptions { variables: Some(&set), ..ImportOptions::default() };
    let plan = super::super::read(text, "f", &options).unwrap().remove(0);
    assert_eq!((plan.target.url().to_string().as_str(), plan.duration), ("http://b/", Nanos::from_secs(9)));
}

#[test]
fn conditions_and_probabilities_decide_requests() {
    let (plan, _) = flow(
        "- get: {url: /a, capture: {header: x-n, as: n}}\n\
         - get: {url: /b, ifTrue: \"n > 2.5 and n != 4\"}\n\
         - get: {url: /c, ifTrue: \"sum(n)\"}\n\
         - get: {url: /d, probability: 20}",
    );
    let condition = plan.flows[0].steps[1].only_if.clone().unwrap();
    let Subject::All(parts) = &condition.subject else { panic!("{condition:?}") };
    assert!(matches!(&parts[0].subject, Subject::Number(_, range) if range.to_string() == "> 2.5") && parts[1].negated);
    assert!(has(&plan, "is sent only if `sum(n)` is true"), "{:?}", plan.notes());
    // `isProbableEnough` draws from 0 to 100.
    let share = plan.flows[0].steps[2].next.iter().find(|(to, _)| to.is_some()).unwrap().1;
    assert!((share - 20.0 / 101.0).abs() < 1e-9, "{share}");
}

#[test]
fn numbers_in_json_paths_are_indices() {
    let (plan, _) = flow("- get: {url: /a, capture: {json: $.a.0.b.x1, as: n}}\n- get: {url: \"/b?{{ n }}\"}");
    assert!(matches!(&plan.requests[0].extract[0].find, Find::Json(path) if path == "$.a[0].b.x1"), "{plan:?}");
}

#[test]
fn loops_over_lists_and_ranges_are_written_out() {
    let (plan, _) = flow(
        "- loop: [{get: {url: \"/{{ $loopElement }}/{{ $loopCount }}\"}}]\n  over: [x, y]\n- loop: [{get: {url: \"/{{ $loopCount }}\"}}]\n  count: 2-4",
    );
    assert_eq!(steps(&plan), ["/api/x/0", "/api/y/1", "/api/2", "/api/3"]);
    let (plan, _) = flow("- loop: [{get: {url: /a}}]\n  whileTrue: more\n- loop: [{get: {url: /b}}]");
    assert!(has(&plan, "while a function returns true") && has(&plan, "without a count"), "{:?}", plan.notes());
}

#[test]
fn checks_and_limits() {
    let text = format!(
        "{HEAD}  ensure:\n    thresholds: [{{http.response_time.p95: 250}}, {{http.response_time.p95: 300}}]\n    conditions:\n      - {{expression: http.response_time.p99 < 500 and http.request_rate > 4}}\n      - {{expression: http.codes.500 == 0}}\n    maxErrorRate: 1\nscenarios:\n  - flow:\n      - get:\n          url: /a\n          expect: [{{statusCode: [200, 201]}}, {{contentType: json}}, {{hasProperty: items.length}}, {{cdnHit: true}}]\n          match: {{json: $.kind, value: tea}}\n"
    );
    let (plan, _) = script(&text);
    let thresholds: Vec<String> = plan.thresholds.iter().map(ToString::to_string).collect();
    assert_eq!(thresholds.len(), 4, "{thresholds:?}");
    for (at, part) in ["p95", "p99", "throughput", "visits.success"].into_iter().enumerate() {
        assert!(thresholds[at].contains(part), "{thresholds:?}");
    }
    assert!(has(&plan, "`http.codes.500 == 0` does not limit") && has(&plan, "expects `cdnHit`"), "{:?}", plan.notes());
    let names: Vec<&str> = plan.requests[0].check.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["$.kind = tea", "status [200, 201]", "content type json", "hasProperty items.length"]);
    assert_eq!(plan.requests[0].check[1].test, Test::Status(vec![(200, 200), (201, 201)]));
    assert_eq!(plan.requests[0].on_failure, OnFailure::EndSession);
}

#[test]
fn json_scripts_are_read_and_hostile_ones_refused() {
    let text = "{\"config\": {\"target\": \"http://h\", \"phases\": [{\"duration\": 5, \"arrivalRate\": 1}]}, \"scenarios\": [{\"flow\": [{\"get\": {\"url\": \"/\"}}]}]}";
    assert_eq!(script(text).0.origin, "an Artillery script");
    let deep = (0..60).fold("[{get: {url: /}}]".to_owned(), |inner, _| format!("[{{loop: {inner}, count: 2}}]"));
    // The stack of the program, not the smaller one of a test.
    let hostile = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
        let refused = read(&format!("{HEAD}scenarios:\n  - flow: {deep}\n"), "f", None);
        assert!(refused.is_err() || has(&refused.unwrap()[0], "nested deeper"));
    });
    hostile.unwrap().join().unwrap();
    for text in ["config:\n  a: 1\nscenarios:\n", "config: 3\nscenarios: 4\n", "config:\nscenarios:\n  - flow: 3\n"] {
        assert!(read(text, "f", None).is_err(), "{text}");
    }
}

/// What Artillery 2 sends in `tests/wire`.
#[test]
fn values_without_a_match_keys_with_values_and_redirects_are_those_of_artillery() {
    let capture = |find: &str, more: &str| format!("- get: {{url: /a, capture: {{{find}, as: t{more}}}}}");
    let missing = |steps: &str| flow(steps).0.requests[0].extract[0].if_missing.clone();
    let default = |text: &str| IfMissing::Default(text.to_owned());
    assert_eq!(missing(&capture("json: $.x", ", strict: false")), default("undefined"));
    assert_eq!(missing(&capture("selector: b, attr: c", ", strict: false")), default("undefined"));
    assert_eq!(missing(&capture("header: x-a", ", strict: false")), default(""));
    assert_eq!(missing(&capture("json: $.x", "")), IfMissing::Fail);
    let lenient = "config:\n  target: http://h\n  http: {defaults: {strictCapture: false}}\nscenarios:\n  - flow: [{get: {url: /a, capture: {json: $.x, as: t}}}]\n";
    assert_eq!(script(lenient).0.requests[0].extract[0].if_missing, default("undefined"));
    let named = "config:\n  target: http://h\n  variables: {v: tea}\nscenarios:\n  - flow: [{post: {url: /f, json: {\"{{ v }}\": 1, a: 2}}}]\n";
    let (plan, _) = script(named);
    assert_eq!(plan.requests[0].body, Body::Text(Template::new("{\"a\":2,\"tea\":1}")));
    assert!(has(&plan, "repeats a POST after a redirect"), "{:?}", plan.notes());
    assert!(!has(&flow("- post: {url: /f, followRedirect: false}").0, "repeats a POST"));
}
