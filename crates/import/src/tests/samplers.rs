//! What JMeter puts on the wire for a sampler: method, path, Content-Type and body. The recording of real JMeter 5.6.3 by `tests/wire`
//! has the same rows.

use offered_schedule::Visitor;
use offered_workload::Reuse;
use offered_workload::condition::Subject;
use offered_workload::script::Which;

use super::semantics::{element, has, paths, rounds, sampler, under};
use super::*;

const FORM: &str = "application/x-www-form-urlencoded; charset=UTF-8";
const PLAIN: &str = "text/plain; charset=UTF-8";

/// An argument that is URL-encoded.
fn arg<'a>(name: &'a str, value: &'a str) -> (&'a str, &'a str, bool) {
    (name, value, true)
}

#[test]
fn arguments_become_query_or_body_by_the_method() {
    let none: &[(&str, &str, bool)] = &[];
    // Method, arguments, path, Content-Type, body, and where JMeter decides it.
    let rows = [
        ("GET", &[arg("x", "a b")][..], "/one?x=a+b", "", Body::None, "HTTPSamplerBase.getQueryString"),
        ("OPTIONS", &[arg("x", "1")], "/one?x=1", "", Body::None, "HTTPSamplerBase.getUrl"),
        ("HEAD", &[arg("x", "1")], "/one", "", Body::None, "HTTPSamplerBase.getUrl"),
        ("DELETE", &[arg("x", "1")], "/one?x=1", FORM, form(&[("x", Text::from("1"))]), "HTTPHC4Impl.handleMethod"),
        ("DELETE", none, "/one", "", Body::None, "HTTPHC4Impl.handleMethod"),
        ("POST", none, "/one", FORM, Body::None, "HTTPHC4Impl.createUrlEncodedFormEntity"),
        (
            "POST",
            &[arg("x", "1")],
            "/one",
            FORM,
            form(&[("x", Text::from("1"))]),
            "HTTPHC4Impl.createUrlEncodedFormEntity",
        ),
        ("PUT", &[("", "raw", false)], "/one", PLAIN, body("raw"), "HTTPSamplerBase.getSendParameterValuesAsPostBody"),
        ("GET", &[("", "raw", false)], "/one", PLAIN, body("raw"), "HTTPHC4Impl.createHttpRequest"),
        ("GET", &[("", "", false)], "/one", PLAIN, body(""), "HTTPHC4Impl.createHttpRequest"),
    ];
    for (method, arguments, path, kind, body, source) in rows {
        let (plan, _) = one(&threads(1, 0, &sampler(method, arguments)));
        let request = &plan.requests[0];
        let header = request.header("content-type").map(Text::to_display).unwrap_or_default();
        assert_eq!(
            (request.path.to_source().as_str(), header.as_str(), &request.body),
            (path, kind, &body),
            "{method} {source}"
        );
        assert!(plan.target.omits_header("accept"), "HTTPHC4Impl sends no Accept");
    }
}

#[test]
fn arguments_of_a_sampler_come_before_those_of_its_defaults() {
    // ConfigTestElement.addConfigElement and Arguments.addTestElement: the nearest defaults first.
    let defaults = |name: &str| {
        sampler("", &[arg(name, "1")])
            .replace("HTTPSamplerProxy testname=\"s\"", "ConfigTestElement guiclass=\"HttpDefaultsGui\"")
            .replace("/HTTPSamplerProxy", "/ConfigTestElement")
    };
    let content =
        [defaults("outer"), under("GenericController", &[], &(defaults("inner") + &sampler("GET", &[arg("x", "1")])))];
    let (plan, _) = one(&threads(1, 0, &content.concat()));
    assert_eq!(paths(&plan), ["/one?x=1&inner=1&outer=1"]);
}

#[test]
fn fragments_are_not_sent_and_invalid_urls_are_noted() {
    // java.net.URL and URL.toURI.
    let of = |path: &str| one(&threads(1, 0, &get("a", "").replace("/a<", &format!("{path}<")))).0;
    assert_eq!(paths(&of("/a?x=1#part")), ["/a?x=1"]);
    let plan = of("/a|b");
    assert!(
        paths(&plan) == ["/a|b"] && has(&plan, "JMeter does not send it, because `|` is not valid"),
        "{:?}",
        plan.notes()
    );
    // HTTPSamplerBase.getUrl: a whole URL as path has no arguments.
    let whole = sampler("GET", &[arg("x", "1")]).replace(">/one<", ">http://shop/two<");
    assert_eq!(paths(&one(&threads(1, 0, &whole)).0), ["/two"]);
}

#[test]
fn user_defined_variables_refer_to_earlier_elements_only() {
    // PreCompiler.addNode.
    let later = user_defined("w", "x${v}");
    let (plan, _) = one(&threads(1, 0, &[user_defined("v", "1"), later.clone(), get("a?${w}", "")].concat()));
    assert_eq!((paths(&plan), plan.notes()), (vec!["/a?x1".to_owned()], vec![]));
    let (plan, _) = one(&threads(1, 0, &[later, user_defined("v", "1"), get("a?${w}", "")].concat()));
    assert!(
        has(&plan, "`${v}` has no known value and is sent unchanged; import again with --set v=VALUE"),
        "{:?}",
        plan.notes()
    );
}

#[test]
fn all_matches_are_extracted_by_number() {
    // RegexExtractor.extractAll... sets `id_1`, `id_2`, ... and `id_matchNr`.
    let all = [
        ("RegexExtractor.refname", "id"),
        ("RegexExtractor.regex", "id=(\\d)"),
        ("RegexExtractor.template", "$1$"),
        ("RegexExtractor.match_number", "-1"),
    ];
    let (plan, _) =
        one(&threads(1, 0, &[get("a", &element("RegexExtractor", &all)), get("b?${id_2}${id_matchNr}", "")].concat()));
    let names: Vec<(&str, &Which)> =
        plan.requests[0].extract.iter().map(|one| (one.name.as_str(), &one.which)).collect();
    assert_eq!(names, [("id_matchNr", &Which::Count), ("id_2", &Which::Nth(2))]);
    assert_eq!(paths(&plan)[1], "/b?{{id_2}}{{id_matchNr}}");
}

#[test]
fn lists_of_user_defined_variables_are_iterated() {
    // ForeachController.isDone: from startIndex, exclusive, to endIndex, while the variable exists.
    let each = |properties: &[(&str, &str)]| {
        let mut all = vec![("ForeachController.inputVal", "v"), ("ForeachController.returnVal", "x")];
        all.extend(properties);
        let lists = [user_defined("v_1", "a"), user_defined("v_2", "b"), user_defined("v_3", "c")].concat();
        paths(&one(&threads(1, 0, &(lists + &under("ForeachController", &all, &get("${x}", "")) + &get("z", "")))).0)
    };
    assert_eq!(each(&[]), ["/a", "/b", "/c", "/z"]);
    assert_eq!(each(&[("ForeachController.startIndex", "1"), ("ForeachController.endIndex", "2")]), ["/b", "/z"]);
}

/// The requests that a user sends once, and in each visit.
fn once_and_each(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
    fn names<'p>(flows: impl IntoIterator<Item = &'p Flow>) -> Vec<&'p str> {
        flows.into_iter().flat_map(|flow| &flow.steps).map(|step| step.request.as_str()).collect()
    }
    (names(&plan.once), names(&plan.flows))
}

#[test]
fn once_only_controllers_of_a_group_are_made_once_by_each_user() {
    let login = under("OnceOnlyController", &[], &get("login", ""));
    let (plan, workload) = one(&rounds("3", "", &(login.clone() + &get("buy", ""))));
    assert_eq!(once_and_each(&plan), (vec!["login"], vec!["buy"]));
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload}") };
    assert_eq!((closed.visits(), closed.visitor()), (Some(3), Visitor::Same));
    // In a simple controller, and after others.
    let simple = under("GenericController", &[], &(login.clone() + &get("a", "")));
    let (plan, _) = one(&threads(2, 0, &(simple + &get("b", ""))));
    assert_eq!((once_and_each(&plan), &plan.notes[..]), ((vec!["login"], vec!["a", "b"]), &[][..]));
    let (plan, _) = one(&threads(2, 0, &(get("a", "") + &login)));
    assert_eq!(once_and_each(&plan), (vec!["login"], vec!["a"]));
    assert!(has(&plan, "here they come before them"), "{:?}", plan.notes());
    // Nothing else: a single iteration.
    let (plan, workload) = one(&threads(2, 0, &login));
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload}") };
    assert_eq!((paths(&plan), closed.visits()), (vec!["/login".to_owned()], Some(1)));
    // One of several at random is no flow of its own.
    let random = under("RandomController", &[], &(get("x", "") + &get("y", "")));
    let (plan, _) = one(&threads(2, 0, &(under("OnceOnlyController", &[], &random) + &get("buy", ""))));
    assert!(paths(&plan) == ["/buy"] && has(&plan, "not part of the steady load"), "{:?}", plan.notes());
}

/// A request that extracts `n`.
fn numbered(name: &str) -> String {
    let number = [
        ("RegexExtractor.refname", "n"),
        ("RegexExtractor.regex", "n=(\\d)"),
        ("RegexExtractor.template", "$1$"),
        ("RegexExtractor.match_number", "1"),
    ];
    get(name, &element("RegexExtractor", &number))
}

fn guarded(condition: &str, content: &str) -> String {
    under("IfController", &[("IfController.condition", condition), ("IfController.useExpression", "true")], content)
}

/// For each step of the first flow, whether it has a condition.
fn conditional(plan: &Plan) -> Vec<bool> {
    plan.flows[0].steps.iter().map(|step| step.only_if.is_some()).collect()
}

#[test]
fn conditions_that_a_run_decides_are_conditions_of_steps() {
    let first = numbered("a");
    for (condition, subject, negated) in [
        (
            "${__jexl3(\"${n}\" == \"5\")}",
            Subject::Value(Template::new("{{n}}"), TextCondition::Is(literal_template("5"))),
            false,
        ),
        (
            "${__groovy(vars.get('n') != '5')}",
            Subject::Value(Template::new("{{n}}"), TextCondition::Is(literal_template("5"))),
            true,
        ),
        (
            "${__jexl3(${n} &gt; 3)}",
            Subject::Value(Template::new("{{n}}"), TextCondition::Count("> 3".parse().unwrap())),
            false,
        ),
        ("${JMeterThread.last_sample_ok}", Subject::Ok, false),
    ] {
        let (plan, workload) =
            one(&threads(1, 0, &[first.clone(), guarded(condition, &get("b", "")), get("z", "")].concat()));
        let found = plan.flows[0].steps[1].only_if.clone().unwrap_or_else(|| panic!("{condition}: {:?}", plan.notes()));
        assert_eq!((&found.subject, found.negated), (&subject, negated), "{condition}");
        assert_eq!((workload.conditions(), plan.notes()), (&[found][..], vec![]), "{condition}");
    }
    // What is not a comparison with a constant stays a note, and so does the first request of an iteration.
    for content in
        [first.clone() + &guarded("${__jexl3(\"${n}\" == \"5\" || 1 == 2)}", &get("b", "")), guarded("${n}", &first)]
    {
        let (plan, _) = one(&threads(1, 0, &(content + &get("z", ""))));
        assert!(plan.flows[0].steps.iter().all(|step| step.only_if.is_none()));
        assert!(has(&plan, "here always") || has(&plan, "here it always holds"), "{:?}", plan.notes());
    }
    // WhileController.endOfLoop: a single request is repeated until the condition no longer holds.
    let poll =
        under("WhileController", &[("WhileController.condition", "${__jexl3(\"${n}\" != \"5\")}")], &numbered("poll"));
    let (plan, _) = one(&threads(1, 0, &[get("a", ""), poll].concat()));
    let step = &plan.flows[0].steps[1];
    assert!(step.repeat == 100 && step.until.as_ref().is_some_and(|until| !until.negated), "{step:?}");
    assert!(step.only_if.is_some() && has(&plan, "at most 100 times"), "{:?}", plan.notes());
    // Anything but `false` goes on.
    let poll = under("WhileController", &[("WhileController.condition", "${n}")], &numbered("poll"));
    let (plan, _) = one(&threads(1, 0, &[get("a", ""), poll].concat()));
    let until = plan.flows[0].steps[1].until.clone().unwrap();
    let Subject::Value(_, TextCondition::Matches(word)) = &until.subject else { panic!("{until:?}") };
    assert!(word.contains("false") && !until.negated, "{word}");
}

#[test]
fn conditions_that_jmeter_decides_otherwise_are_noted() {
    // Two texts are ordered by their letters, and in Groovy the text of a variable never equals a number.
    for condition in ["${__jexl3(\"${n}\" &gt; \"3\")}", "${__groovy(vars.get('n') == 5)}"] {
        let (plan, _) = one(&threads(1, 0, &[numbered("a"), guarded(condition, &get("b", "")), get("z", "")].concat()));
        assert!(conditional(&plan) == [false; 3] && has(&plan, "only if a condition holds"), "{:?}", plan.notes());
    }
    let mixed = guarded("${__jexl3(\"${n}\" == 5)}", &get("b", ""));
    let (plan, _) = one(&threads(1, 0, &[numbered("a"), mixed, get("z", "")].concat()));
    assert_eq!((conditional(&plan), plan.notes()), (vec![false, true, false], vec![]));
}

#[test]
fn only_the_first_condition_of_an_iteration_is_dropped() {
    let is_five = |content: &str| guarded("${__jexl3(\"${n}\" == \"5\")}", content);
    let content = [is_five(&[get("a", ""), get("b", "")].concat()), numbered("c"), is_five(&get("d", ""))].concat();
    let (plan, _) = one(&threads(1, 0, &content));
    assert_eq!(conditional(&plan), [false, false, false, true]);
    assert!(has(&plan, "here it always holds"), "{:?}", plan.notes());
}

#[test]
fn values_of_requests_with_a_condition_may_be_missing() {
    let content = [get("a", ""), guarded("${JMeterThread.last_sample_ok}", &numbered("b")), get("c?${n}", "")].concat();
    let (plan, _) = one(&threads(1, 0, &content));
    assert!(has(&plan, "`n` is used before a response has set it"), "{:?}", plan.notes());
}

/// A request to this host.
fn to(host: &str, name: &str) -> String {
    let domain = format!("<stringProp name=\"HTTPSampler.domain\">{host}</stringProp></HTTPSamplerProxy>");
    get(name, "").replace("</HTTPSamplerProxy>", &domain)
}

#[test]
fn each_server_is_a_target() {
    let content = [to("a.test", "one"), to("b.test", "two"), to("b.test", "three")].concat();
    let (plan, workload) = one(&threads(1, 0, &content));
    let urls: Vec<String> = workload.targets().map(|target| target.url().to_string()).collect();
    assert_eq!((urls, &plan.notes[..]), (vec!["http://b.test/".to_owned(), "http://a.test/".to_owned()], &[][..]));
    let target_of = |name: &str| plan.requests.iter().find(|request| request.name == name).unwrap().target;
    assert_eq!(["one", "two", "three"].map(target_of), [1, 0, 0]);
    // A part that never runs names no target, not even an unknown one.
    let never = under("IfController", &[("IfController.condition", "1 == 2")], &to("${nowhere}", "never"));
    let (_, workload) = one(&threads(1, 0, &(never + &to("a.test", "one"))));
    assert_eq!(workload.targets().count(), 1);
}

#[test]
fn connections_are_kept_only_with_keep_alive() {
    // HTTPSamplerBaseSchema.useKeepalive: without the property it is off.
    let closing = get("a", "");
    let keeping = closing.replace(
        "</HTTPSamplerProxy>",
        "<boolProp name=\"HTTPSampler.use_keepalive\">true</boolProp></HTTPSamplerProxy>",
    );
    let reuse = |content: &str| one(&threads(1, 0, content)).0.target.reuse();
    assert_eq!((reuse(&closing), reuse(&keeping)), (Reuse::Fresh, Reuse::PerSession));
    let (plan, _) = one(&threads(1, 0, &(keeping + &get("b", ""))));
    assert!(plan.target.reuse() == Reuse::PerSession && has(&plan, "here all keep it"), "{:?}", plan.notes());
}
