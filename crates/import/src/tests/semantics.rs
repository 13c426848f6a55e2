//! Regression tests of JMeter constructs that an earlier version translated wrongly without a note.

use std::collections::BTreeMap;

use offered_schedule::Count;
use offered_schedule::{Pace, Start};
use offered_workload::script::{IfMissing, Per, Which};

use super::*;

fn text(name: &str, value: &str) -> String {
    format!("<stringProp name=\"{name}\">{value}</stringProp>")
}

pub(super) fn element(class: &str, properties: &[(&str, &str)]) -> String {
    let properties: String = properties.iter().map(|(name, value)| text(name, value)).collect();
    format!("<{class} testname=\"x\">{properties}</{class}><hashTree/>")
}

pub(super) fn under(class: &str, properties: &[(&str, &str)], content: &str) -> String {
    element(class, properties).replace("<hashTree/>", &format!("<hashTree>{content}</hashTree>"))
}

fn at(name: &str, host: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname=\"{name}\">{}{}</HTTPSamplerProxy><hashTree/>",
        text("HTTPSampler.domain", host),
        text("HTTPSampler.path", &format!("/{name}"))
    )
}

/// A thread group with a number of iterations.
pub(super) fn rounds(rounds: &str, more: &str, content: &str) -> String {
    jmx(&format!(
        "<ThreadGroup testname=\"g\"><elementProp name=\"ThreadGroup.main_controller\">{}</elementProp>{}{more}</ThreadGroup><hashTree>{content}</hashTree>",
        text("LoopController.loops", rounds),
        text("ThreadGroup.num_threads", "3"),
    ))
}

pub(super) fn has(plan: &Plan, words: &str) -> bool {
    plan.notes().iter().any(|note| note.contains(words))
}

pub(super) fn paths(plan: &Plan) -> Vec<String> {
    plan.requests.iter().map(|request| request.path.to_source()).collect()
}

pub(super) fn with(text: &str, pairs: &[(&str, &str)]) -> Result<Vec<Plan>, Error> {
    let pairs: BTreeMap<String, String> = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    super::super::read(
        text,
        "f",
        &ImportOptions { variables: Some(&pairs), properties: Some(&pairs), ..ImportOptions::default() },
    )
}

#[test]
fn requests_only_go_to_the_host_of_their_own_url() {
    let unnamed = |text: &str, kind: ParameterKind, name: &str| match with(text, &[]) {
        Err(Error::UnresolvedHost { kind: found, name: wanted, .. }) => {
            assert_eq!((found, wanted.as_str()), (kind, name));
        }
        other => panic!("{other:?}"),
    };
    let postman = "{\"info\": {\"schema\": \"/collection/v2\"}, \"item\": [{\"name\": \"login\", \"request\": \"{{host}}/login?t=secret\"}, {\"name\": \"third\", \"request\": \"https://tracker.example/hit\"}]}";
    unnamed(postman, ParameterKind::Variable, "host");
    let plan = with(postman, &[("host", "http://mine:81")]).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://mine:81/", vec!["/login?t=secret".to_owned()])
    );
    for (host, kind, name) in [
        ("${__P(host)}", ParameterKind::Property, "host"),
        ("${__P(host,)}", ParameterKind::Property, "host"),
        ("${server}", ParameterKind::Variable, "server"),
        ("www.${zone}.test", ParameterKind::Variable, "zone"),
    ] {
        let plan = threads(1, 0, &[at("a", host), at("b", "other.test")].concat());
        unnamed(&plan, kind, name);
        assert!(with(&plan, &[(name, "mine")]).is_ok(), "{host}");
    }
    unnamed("curl $HOST/a\ncurl http://b/\n", ParameterKind::Variable, "HOST");
    assert_eq!(with("curl $HOST/a\n", &[("HOST", "http://c:8")]).unwrap()[0].target.url().to_string(), "http://c:8/");
    unnamed(
        "openapi: 3.0.0\nservers: [{url: 'https://{zone}.test/v1'}]\npaths: {/a: {get: {}}}\n",
        ParameterKind::Variable,
        "zone",
    );
    // A host from a data file or response is only known at run time.
    let data = element("CSVDataSet", &[("filename", "h.csv"), ("variableNames", "host")]);
    let plan = with(&threads(1, 0, &[data, at("a", "${host}"), at("b", "b.test")].concat()), &[]).unwrap().remove(0);
    assert_eq!((plan.target.url().to_string().as_str(), paths(&plan)), ("http://b.test/", vec!["/b".to_owned()]));
    assert!(has(&plan, "only known at run time"));
}

#[test]
fn values_per_iteration_are_the_same_in_the_whole_iteration() {
    let content = [
        element("RandomVariableConfig", &[("variableName", "u"), ("minimumValue", "1"), ("maximumValue", "9")]),
        element(
            "CounterConfig",
            &[("CounterConfig.name", "n"), ("CounterConfig.start", "5"), ("CounterConfig.incr", "1")],
        ),
        element("CSVDataSet", &[("filename", "p.csv"), ("variableNames", "p")]),
        get("login?u=${u}&amp;n=${n}&amp;p=${p}", ""),
        get("book?u=${u}&amp;r=${__Random(1,9)}&amp;r=${__Random(1,9)}", ""),
    ];
    let (plan, workload) = one(&threads(2, 0, &content.concat()));
    let pers: Vec<(&str, Per)> = plan.variables.iter().map(|variable| (variable.name.as_str(), variable.per)).collect();
    assert_eq!(
        pers,
        [
            ("u", Per::Visit),
            ("n", Per::Visit),
            ("p", Per::Visit),
            ("random_1_9", Per::Request),
            ("random_1_9_2", Per::Request)
        ],
        "two draws in one request are two"
    );
    assert!(workload.variables().iter().take(3).all(|variable| variable.per == Per::Visit));
    assert_eq!(plan.notes, []);
    // Inside a loop JMeter draws a value for each pass.
    let inside = under("LoopController", &[("LoopController.loops", "3")], &content.concat());
    let (plan, _) = one(&threads(2, 0, &inside));
    assert_eq!(
        plan.notes.iter().filter(|note| note.message.contains("each time LoopController `x` starts")).count(),
        3
    );
    // A function in a user-defined variable is evaluated once.
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"id\"><stringProp name=\"Argument.value\">${__Random(1,1000000)}</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let (plan, _) = one(&threads(2, 0, &[own.to_owned(), get("a?${id}", ""), get("b?${id}", "")].concat()));
    let paths = paths(&plan);
    assert_eq!(paths[0][3..], paths[1][3..]);
    assert!(plan.variables.is_empty() && has(&plan, "is evaluated once"), "{:?}", plan.notes());
}

#[test]
fn switch_controller_selects_its_child() {
    let switch = |value: &str| {
        let of = [get("a", ""), get("b", ""), get("c", "")].concat();
        under("SwitchController", &[("SwitchController.value", value)], &of)
    };
    let asked = |content: &str| {
        let (plan, _) = one(&threads(1, 0, &[content.to_owned(), get("z", "")].concat()));
        let names =
            plan.requests.iter().map(|r| r.name.clone()).filter(|name| name != "z").collect::<Vec<_>>().concat();
        (names, plan)
    };
    for (value, names) in [("", "a"), ("1", "b"), ("c", "c"), ("7", "a"), ("nobody", "")] {
        assert_eq!(asked(&switch(value)).0, names, "{value}");
    }
    let data = element("CSVDataSet", &[("filename", "k.csv"), ("variableNames", "kind")]);
    let (names, plan) = asked(&(data + &switch("${kind}")));
    assert!(names == "abc" && has(&plan, "by `${kind}`; here a child is chosen at random"), "{:?}", plan.notes());
    let dice = element("RandomVariableConfig", &[("variableName", "k"), ("minimumValue", "1"), ("maximumValue", "2")]);
    let (names, plan) = asked(&(dice + &switch("${k}")));
    assert!(names == "bc" && has(&plan, "an independent random number"), "{:?}", plan.notes());
}

#[test]
fn children_of_a_runtime_controller_run_once() {
    let (plan, _) = one(&threads(1, 0, &under("RunTime", &[("RunTime.seconds", "5")], &get("a", ""))));
    assert!(
        paths(&plan) == ["/a"] && has(&plan, "repeats its children for 5 s; here they run once"),
        "{:?}",
        plan.notes()
    );
}

#[test]
fn extractors_select_the_match_that_jmeter_selects() {
    let regex = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("RegexExtractor.refname", "t"),
            ("RegexExtractor.regex", "t=(\\d)"),
            ("RegexExtractor.template", "$1$"),
        ];
        all.extend(more);
        one(&threads(1, 0, &[get("a", &element("RegexExtractor", &all)), get("b?${t}", "")].concat())).0
    };
    let taken = |plan: &Plan| plan.requests[0].extract.first().map(|e| (e.which.clone(), e.if_missing.clone()));
    assert_eq!(taken(&regex(&[])), Some((Which::Random, IfMissing::KeepPrevious)));
    assert_eq!(taken(&regex(&[("RegexExtractor.match_number", "0")])), Some((Which::Random, IfMissing::KeepPrevious)));
    assert_eq!(
        taken(&regex(&[("RegexExtractor.match_number", "2"), ("RegexExtractor.default", "no")])),
        Some((Which::Nth(2), IfMissing::Default("no".to_owned())))
    );
    assert_eq!(
        taken(&regex(&[("RegexExtractor.default_empty_value", "true")])),
        Some((Which::Random, IfMissing::Default(String::new())))
    );
    let plan = regex(&[("Sample.scope", "variable"), ("Scope.variable", "page")]);
    assert!(taken(&plan).is_none() && has(&plan, "applies to the variable `page`"), "{:?}", plan.notes());
}

#[test]
fn size_and_status_assertions_are_translated() {
    let checks = |content: &str| one(&threads(1, 0, &get("a", content))).0;
    let size = |field: &[(&str, &str)]| {
        let mut all = vec![("SizeAssertion.size", "10"), ("SizeAssertion.operator", "3")];
        all.extend(field);
        checks(&element("SizeAssertion", &all))
    };
    for name in ["Assertion.test_field", "Asserion.test_field"] {
        let plan = size(&[(name, "SizeAssertion.response_data")]);
        assert_eq!(
            (plan.requests[0].check[0].test.clone(), plan.notes.len()),
            (Test::Size("> 10".parse().unwrap()), 0)
        );
        for other in ["response_headers", "response_code", "response_message", "response_network_size"] {
            let plan = size(&[(name, &format!("SizeAssertion.{other}"))]);
            assert!(plan.requests[0].check.is_empty() && has(&plan, "only the size of the body"), "{other}");
        }
    }
    let response = |field: &str, wanted: &str, more: &[(&str, &str)]| {
        let mut all = vec![("Assertion.test_field", field), ("Assertion.test_type", "16")];
        all.extend(more);
        let strings = text("1", wanted);
        let strings =
            format!("<collectionProp name=\"Asserion.test_strings\">{strings}</collectionProp></ResponseAssertion>");
        let plan = checks(&element("ResponseAssertion", &all).replace("</ResponseAssertion>", &strings));
        (plan.requests[0].check.iter().map(|check| check.test.clone()).collect::<Vec<Test>>(), plan.notes())
    };
    let (code, body) = ("Assertion.response_code", "Assertion.response_data");
    let ignores = [("Assertion.assume_success", "true")];
    let (_, notes) = response(code, "404", &[]);
    assert!(notes[0].contains("JMeter still marks the response as failed"), "{notes:?}");
    assert_eq!(response(code, "404", &ignores), (vec![Test::Status(vec![(404, 404)])], vec![]));
    let contains = || Test::Text(Find::Body, TextCondition::Contains(literal_template("x")));
    assert_eq!(response(body, "x", &ignores), (vec![contains(), Test::Status(vec![(100, 999)])], vec![]));
    assert_eq!(response(body, "x", &[]), (vec![contains()], vec![]));
}

#[test]
fn finite_loops_become_visits() {
    let visits = |text: &str| {
        let (plan, workload) = one(text);
        let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload:?}") };
        (closed.visits(), plan)
    };
    let (scheduled, plan) = visits(&rounds(
        "4",
        "<boolProp name=\"ThreadGroup.scheduler\">true</boolProp><stringProp name=\"ThreadGroup.duration\">90</stringProp>",
        &get("a", ""),
    ));
    assert_eq!((scheduled, plan.duration, plan.notes.len()), (Some(4), Nanos::from_secs(90), 0));
    let (unscheduled, plan) = visits(&rounds("4", "", &[get("a", ""), get("b", "")].concat()));
    assert!(unscheduled == Some(4) && has(&plan, "ends after 4 iterations"), "{:?}", plan.notes());
    let day = "<boolProp name=\"ThreadGroup.scheduler\">true</boolProp><longProp name=\"ThreadGroup.start_time\">1000000</longProp><longProp name=\"ThreadGroup.end_time\">1300000</longProp>";
    let (endless, plan) = visits(&rounds("-1", day, &get("a", "")));
    assert!(endless.is_none() && plan.duration == Nanos::from_secs(300) && has(&plan, "fixed times of day"));
    let group = |name: &str| format!("<ThreadGroup testname=\"{name}\"/><hashTree>{}</hashTree>", get("a", ""));
    let serial = jmx(&[group("x"), group("y")].concat()).replace(
        "<TestPlan testname=\"t\"/>",
        "<TestPlan testname=\"t\"><boolProp name=\"TestPlan.serialize_threadgroups\">true</boolProp></TestPlan>",
    );
    assert!(read(&serial, "f", None).unwrap().iter().all(|plan| has(plan, "one after another")));
    // Thread numbers start at 1.
    let (plan, _) = one(&threads(3, 0, &get("a?${__threadNum}", "")));
    let [Variable { value, per, .. }] = &plan.variables[..] else { panic!("{:?}", plan.variables) };
    assert_eq!((value, *per), (&ValueSource::Sequence(1), Per::Session));
}

#[test]
fn throughput_timer_is_a_pace_per_thread_or_a_shared_rate() {
    let group = |throughput: &str, mode: &str| {
        let timer = format!(
            "<ConstantThroughputTimer><doubleProp><name>throughput</name><value>{throughput}</value></doubleProp>{mode}</ConstantThroughputTimer><hashTree/>"
        );
        one(&threads(50, 0, &(timer + &get("a", "") + &get("b", ""))))
    };
    let result = |kind: &str, mode: &str| group("60.0", &format!("<{kind} name=\"calcMode\">{mode}</{kind}>"));
    for (plan, workload) in [
        group("60.0", ""),
        result("intProp", "0"),
        result("stringProp", "calcMode.1"),
        result("stringProp", "this thread only"),
    ] {
        // Samples of a thread are one second apart; the first one is sent at once.
        let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload}") };
        assert_eq!((closed.users(), closed.pace()), (50, Some(Pace::Requests(Nanos::from_secs(1)))));
        assert_eq!((closed.start(), closed.max_rate_per_s()), (Start::AtOnce, Some(50.0)));
        assert!(!has(&plan, "throttles"), "{:?}", plan.notes);
    }
    // JMeter waits whole milliseconds: 60 s / 70 is 857.142... ms.
    let (_, workload) = group("70.0", "");
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload}") };
    assert_eq!(closed.pace(), Some(Pace::Requests(Nanos::from_millis(857))));
    let rate = |(_, workload): (_, Workload)| workload.scheduled_rate().unwrap().round() as u32;
    assert_eq!(
        [
            result("intProp", "1"),
            result("stringProp", "calcMode.2"),
            result("stringProp", "all active threads (shared)")
        ]
        .map(rate),
        [1, 1, 1]
    );
}

#[test]
fn properties_without_value_are_noted_and_can_be_set() {
    let share = |inside: &str| {
        under(
            "ThroughputController",
            &[("ThroughputController.style", "1"), ("ThroughputController.percentThroughput", "${__P(perc,0)}")],
            inside,
        )
    };
    let plan = threads(1, 0, &[share(&get("a", "")), get("b", "")].concat());
    let (alone, _) = one(&plan);
    assert_eq!(paths(&alone), ["/b"]);
    assert!(has(&alone, "perc = `0`") && has(&alone, "is 0 %"), "{:?}", alone.notes());
    let given = with(&plan, &[("perc", "50")]).unwrap().remove(0);
    assert!(paths(&given) == ["/a", "/b"] && !has(&given, "perc"), "{:?}", given.notes());
}

#[test]
fn setup_and_teardown_groups_are_separate_workloads() {
    let group =
        |class: &str, name: &str| format!("<{class} testname=\"{name}\"/><hashTree>{}</hashTree>", get(name, ""));
    let text =
        jmx(&[group("SetupThreadGroup", "s"), group("ThreadGroup", "load"), group("PostThreadGroup", "p")].concat());
    let plans = read(&text, "f", None).unwrap();
    let all: Vec<(&str, Phase)> = plans.iter().map(|plan| (plan.name.as_str(), plan.phase)).collect();
    assert_eq!(all, [("load", Phase::Load), ("s", Phase::Setup), ("p", Phase::Teardown)]);
    assert!(plans.iter().all(|plan| matches!(plan.arrivals, Arrivals::Closed { visits: Some(1), .. })));
    assert!(has(&plans[0], "runs before the load; translated as a separate workload"), "{:?}", plans[0].notes());
}

#[test]
fn once_only_controller_runs_in_the_first_pass_of_a_loop() {
    let content = [under("OnceOnlyController", &[], &get("login", "")), get("buy", "")].concat();
    let (plan, _) = one(&threads(1, 0, &under("LoopController", &[("LoopController.loops", "3")], &content)));
    let steps: Vec<(&str, u32)> = plan.flows[0].steps.iter().map(|s| (s.request.as_str(), s.repeat)).collect();
    assert_eq!(steps.iter().map(|(name, times)| name.repeat(*times as usize)).collect::<String>(), "loginbuybuybuy");
    assert_eq!(plan.notes, []);
    let (plan, _) = one(&threads(1, 0, &content));
    assert!(plan.once.is_some() && plan.notes.is_empty(), "{:?}", plan.notes());
    let (plan, _) = one(&rounds("1", "", &content));
    assert_eq!(paths(&plan), ["/login", "/buy"]);
}

#[test]
fn constant_conditions_and_functions_are_evaluated() {
    let content = [
        under(
            "IfController",
            &[
                ("IfController.condition", "${__jexl3(\"${x}\" == \"1\" &amp;&amp; 2 > 1)}"),
                ("IfController.useExpression", "true"),
            ],
            &get("yes", ""),
        ),
        under("IfController", &[("IfController.condition", "\"${x}\" == \"2\"")], &get("no", "")),
        get("a?${__changeCase(ABC,LOWER)}${__jexl3(1 + 2)}${__groovy('x' + 'y')}", ""),
    ];
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"x\"><stringProp name=\"Argument.value\">1</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let (plan, _) = one(&threads(1, 0, &(own.to_owned() + &content.concat())));
    assert_eq!((paths(&plan), plan.notes()), (vec!["/yes".to_owned(), "/a?abc3xy".to_owned()], vec![]));
}

#[test]
fn included_files_are_inserted_or_noted() {
    let content = element("IncludeController", &[("IncludeController.includepath", "part.jmx")]) + &get("own", "");
    let fragment = format!(
        "<jmeterTestPlan><hashTree><TestPlan/><hashTree><TestFragmentController/><hashTree>{}</hashTree></hashTree></hashTree></jmeterTestPlan>",
        get("part", "")
    );
    let files = |name: &str| if name == "part.jmx" { Ok(fragment.clone()) } else { Err("not there".to_owned()) };
    let given = ImportOptions { read_include: Some(&files), ..ImportOptions::default() };
    let text = threads(1, 0, &content);
    let plan = super::super::read(&text, "f", &given).unwrap().remove(0);
    assert_eq!((paths(&plan), plan.notes()), (vec!["/part".to_owned(), "/own".to_owned()], vec![]));
    let plan = super::super::read(&text.replace("part.jmx", "none.jmx"), "f", &given).unwrap().remove(0);
    assert!(
        paths(&plan) == ["/own"] && has(&plan, "`none.jmx`, which could not be read: not there"),
        "{:?}",
        plan.notes()
    );
    // A file that includes itself is limited.
    let itself = |_: &str| {
        Ok(fragment.replace(
            "<TestFragmentController/><hashTree>",
            &format!(
                "<TestFragmentController/><hashTree>{}",
                element("IncludeController", &[("IncludeController.includepath", "part.jmx")])
            ),
        ))
    };
    let given = ImportOptions { read_include: Some(&itself), ..ImportOptions::default() };
    assert!(has(&super::super::read(&text, "f", &given).unwrap()[0], "include one another"));
}

/// A sampler with these arguments: name, value, and whether `JMeter` encodes them.
pub(super) fn sampler(method: &str, arguments: &[(&str, &str, bool)]) -> String {
    let argument = |(name, value, encode): &(&str, &str, bool)| {
        format!(
            "<elementProp name=\"{name}\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">{encode}</boolProp>{}{}{}</elementProp>",
            text("Argument.name", name),
            text("Argument.value", &value.replace('&', "&amp;")),
            text("Argument.metadata", "=")
        )
    };
    format!(
        "<HTTPSamplerProxy testname=\"s\">{}{}<elementProp name=\"HTTPsampler.Arguments\"><collectionProp name=\"Arguments.arguments\">{}</collectionProp></elementProp></HTTPSamplerProxy><hashTree/>",
        text("HTTPSampler.path", "/one"),
        text("HTTPSampler.method", method),
        arguments.iter().map(argument).collect::<String>()
    )
}

#[test]
fn form_fields_without_url_encode_are_decoded_and_encoded_again() {
    let body = |content: &str| one(&threads(1, 0, content)).0.requests[0].body.clone();
    assert_eq!(body(&sampler("POST", &[("x", "a&b=c#d", false)])), form(&[("x", Text::from("a&b=c#d"))]));
    assert_eq!(body(&sampler("POST", &[("x", "a%26b+c", false)])), form(&[("x", Text::from("a&b c"))]));
    assert_eq!(body(&sampler("POST", &[("x", "a%26b+c", true)])), form(&[("x", Text::from("a%26b+c"))]));
    // A user-defined variable is known.
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"v\"><stringProp name=\"Argument.value\">1&amp;2</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let content = own.to_owned() + &sampler("POST", &[("x", "${v}", false)]);
    assert_eq!(body(&content), form(&[("x", Text::from("1&2"))]));
    // A value from a file is encoded at run time, and the difference is noted.
    let data = element("CSVDataSet", &[("filename", "d.csv"), ("variableNames", "v")]);
    let (plan, _) = one(&threads(1, 0, &(data + &sampler("POST", &[("x", "${v}", false)]))));
    assert_eq!(plan.requests[0].body, form(&[("x", Text::variable("d.v"))]));
    assert!(has(&plan, "only known at run time"), "{:?}", plan.notes());
    let (plan, _) = one(&threads(1, 0, &sampler("POST", &[("x", "100%", false)])));
    assert!(has(&plan, "not valid URL encoding"), "{:?}", plan.notes());
    // In a query the value is sent unchanged.
    let (plan, _) = one(&threads(1, 0, &sampler("GET", &[("x", "a&b=c", false)])));
    assert_eq!((paths(&plan), plan.notes()), (vec!["/one?x=a&b=c".to_owned()], vec![]));
}

#[test]
fn repeated_form_fields_encode_values_of_variables() {
    let data = element("CSVDataSet", &[("filename", "d.csv"), ("variableNames", "v")]);
    let content = data + &sampler("POST", &[("x", "${v}", true), ("x", "2", true)]);
    let (plan, _) = one(&threads(1, 0, &content));
    let Body::Text(text) = &plan.requests[0].body else { panic!("{plan:?}") };
    assert_eq!(text.to_string(), "x={{d.v}}&x=2", "encoded for the form, not raw");
}

#[test]
fn arguments_without_name_are_skipped_or_are_the_body() {
    let request = |method: &str, arguments: &[(&str, &str, bool)]| {
        one(&threads(1, 0, &sampler(method, arguments))).0.requests.remove(0)
    };
    for method in ["GET", "POST"] {
        // JMeter sends an empty body (`HTTPHC4Impl.createHttpRequest`).
        let empty = request(method, &[("", "", true)]);
        assert_eq!((empty.path.to_source().as_str(), &empty.body), ("/one", &super::body("")), "{method}");
    }
    assert_eq!(request("GET", &[("", "", true), ("x", "1", true)]).path.to_source(), "/one?x=1");
    assert_eq!(request("POST", &[("", "", true), ("x", "1", true)]).body, form(&[("x", Text::from("1"))]));
    assert_eq!(request("POST", &[("", "{\"a\": 1}", false)]).body, body("{\"a\": 1}"));
}

#[test]
fn shared_throughput_with_finite_loops_sends_their_number_of_requests() {
    let timers = [
        "<ConstantThroughputTimer><doubleProp><name>throughput</name><value>240.0</value></doubleProp><intProp name=\"calcMode\">4</intProp></ConstantThroughputTimer><hashTree/>",
        "<PreciseThroughputTimer><doubleProp><name>throughput</name><value>240.0</value></doubleProp><intProp name=\"throughputPeriod\">60</intProp></PreciseThroughputTimer><hashTree/>",
    ];
    for timer in timers {
        let load = |loops: &str, content: &str| {
            let text = rounds(loops, "", &(timer.to_owned() + content));
            one(&text.replace("num_threads\">3<", "num_threads\">4<"))
        };
        let (plan, workload) = load("10", &get("a", ""));
        assert_eq!((plan.count, plan.duration), (Some(Count::Requests(40)), Nanos::MAX));
        assert!(workload.to_string().contains("requests = 40") && has(&plan, "40 requests in all"), "{workload}");
        assert!(!has(&plan, "at the latest"), "{:?}", plan.notes());
        let (plan, _) = load("10", &(get("a", "") + &get("b", "")));
        assert_eq!(plan.count, Some(Count::Sessions(40)));
        let (plan, _) = load("-1", &get("a", ""));
        assert_eq!(plan.count, None);
    }
}
