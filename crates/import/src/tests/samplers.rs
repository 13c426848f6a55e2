//! What JMeter puts on the wire for a sampler: method, path, Content-Type and body. The recording of real JMeter 5.6.3 by `tests/wire`
//! has the same rows.

use offered_schedule::Visitor;
use offered_workload::Reuse;
use offered_workload::condition::Subject;
use offered_workload::script::{Order, Which};

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
        paths(&plan) == ["/a|b"] && has(&plan, "JMeter does not send this request, because `|` is not valid"),
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
    assert!(has(&plan, "here they are sent before the others"), "{:?}", plan.notes());
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
        ("${__jexl3(${n} &gt; 3)}", Subject::Number(Template::new("{{n}}"), "> 3".parse().unwrap()), false),
        (
            "${__groovy(vars.get('n').toDouble() &lt;= 3.5)}",
            Subject::Number(Template::new("{{n}}"), "<= 3.5".parse().unwrap()),
            false,
        ),
        (
            "${__groovy(!vars.get('n').contains(\"5\"))}",
            Subject::Value(Template::new("{{n}}"), TextCondition::Contains(literal_template("5"))),
            true,
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
        [first.clone() + &guarded("${__jexl3(\"${n}\" == \"${m}\")}", &get("b", "")), guarded("${n}", &first)]
    {
        let (plan, _) = one(&threads(1, 0, &(content + &get("z", ""))));
        assert!(plan.flows[0].steps.iter().all(|step| step.only_if.is_none()));
        assert!(has(&plan, "here they always run") || has(&plan, "here it always holds"), "{:?}", plan.notes());
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

/// Whether the condition of step 1 holds for these values of `n`, as text with the condition.
fn condition_of(condition: &str) -> Option<String> {
    let content = [numbered("a"), guarded(condition, &get("b", "")), get("z", "")].concat();
    let (plan, workload) = one(&threads(1, 0, &content));
    let written = workload.to_string();
    assert_eq!(plan.flows[0].steps[1].only_if.is_some(), written.contains("if = "), "{written}");
    let (_, from) = written.split_once("if = ")?;
    Some(from.lines().next().unwrap().to_owned())
}

#[test]
fn conditions_are_combined() {
    for (condition, written) in [
        (
            "${__jexl3(\"${n}\" == \"5\" &amp;&amp; ${JMeterThread.last_sample_ok})}",
            "{ all = [{ value = \"{{n}}\", is = \"5\" }, { ok = true }] }",
        ),
        (
            "${__groovy((vars.get('n') == '5' || vars.get('n') == '6') &amp;&amp; vars.get('n') != '7')}",
            "{ all = [{ any = [{ value = \"{{n}}\", is = \"5\" }, { value = \"{{n}}\", is = \"6\" }] }, { value = \"{{n}}\", is = \"7\", not = true }] }",
        ),
        ("${__jexl3(${n} gt 1.5 and not_used or ${n} lt -1)}", ""),
        (
            "${__jexl3(${n} gt 1.5 or ${n} lt -1)}",
            "{ any = [{ value = \"{{n}}\", number = \"> 1.5\" }, { value = \"{{n}}\", number = \"< -1\" }] }",
        ),
        // What is known before the run is decided.
        ("${__jexl3(1 == 1 &amp;&amp; 3 &gt;= ${n})}", "{ value = \"{{n}}\", number = \"<= 3\" }"),
        ("${__jexl3(!(\"${n}\" == \"5\" || 1 == 2))}", "{ value = \"{{n}}\", is = \"5\", not = true }"),
    ] {
        assert_eq!(condition_of(condition).unwrap_or_default(), written, "{condition}");
    }
    let never = guarded("${__jexl3(${n} &gt; 3 &amp;&amp; 1 == 2)}", &get("b", ""));
    let (plan, _) = one(&threads(1, 0, &[numbered("a"), never, get("z", "")].concat()));
    assert_eq!(paths(&plan), ["/a", "/z"]);
}

/// The steps of the first flow with their blocks in brackets, and the repetitions.
fn shape(plan: &Plan) -> String {
    let flow = &plan.flows[0];
    let mut text = String::new();
    for (at, step) in flow.steps.iter().enumerate() {
        for block in flow.blocks.iter().filter(|block| block.first == at) {
            let guard = if block.only_if.is_some() { "if " } else { "" };
            let until = if block.until.is_some() { "until " } else { "" };
            text += &format!("{guard}{until}{}[", block.repeat);
        }
        text += &step.request.repeat(if step.until.is_some() { 1 } else { step.repeat as usize });
        text += &"]".repeat(flow.blocks.iter().filter(|block| block.last == at).count());
    }
    text
}

#[test]
fn several_requests_are_repeated_or_skipped_together() {
    let more = [("WhileController.condition", "${__jexl3(${n} &lt; 5)}")];
    let looped = |inside: &str| {
        let content = [get("a", ""), under("WhileController", &more, inside), get("z", "")].concat();
        one(&threads(1, 0, &content))
    };
    let (plan, workload) = looped(&[numbered("b"), get("c", "")].concat());
    assert_eq!(shape(&plan), "aif until 100[bc]z", "{workload}");
    assert!(has(&plan, "at most 100 times"), "{:?}", plan.notes());
    // Blocks within blocks, decided when they begin.
    let inner = guarded("${__jexl3(${n} == 2)}", &[get("d", ""), get("e", "")].concat());
    let (plan, _) = looped(&[numbered("b"), inner.clone()].concat());
    assert_eq!(shape(&plan), "aif until 100[bif 1[de]]z");
    let (plan, _) = looped(&[inner, numbered("b")].concat());
    assert_eq!(shape(&plan), "aif until 100[if 1[de]b]z");
    // Nothing in the loop changes the value, so another element of the plan must: not translated.
    let (plan, _) = looped(&[get("b", ""), get("c", "")].concat());
    assert_eq!(shape(&plan), "abcz");
    assert!(has(&plan, "while a condition holds"), "{:?}", plan.notes());
    // A choice has no last step.
    let (plan, _) = looped(&under("RandomController", &[], &[numbered("b"), numbered("c")].concat()));
    assert!(
        plan.flows.iter().all(|flow| flow.blocks.is_empty()) && has(&plan, "here they run once"),
        "{:?}",
        plan.notes()
    );
    // Its condition is examined at each step, and so may not be changed by them.
    let either = under("RandomController", &[], &[get("b", ""), get("c", "")].concat());
    let content = guarded("${__jexl3(${n} == 2)}", &(either + &get("d", "")));
    let (plan, _) = one(&threads(1, 0, &[numbered("a"), content, get("z", "")].concat()));
    assert!(
        plan.flows[0].blocks.is_empty()
            && plan.flows[0].steps.iter().filter(|step| step.only_if.is_some()).count() == 3
    );
}

#[test]
fn waits_of_blocks_are_those_before_their_requests() {
    let constant = |ms: &str| element("ConstantTimer", &[("ConstantTimer.delay", ms)]);
    let more = [("WhileController.condition", "LAST")];
    let inside = [get("b", &constant("100")), get("c", &constant("200"))].concat();
    let content = [get("a", &constant("50")), under("WhileController", &more, &inside), get("z", &constant("70"))];
    let (plan, _) = one(&threads(1, 0, &content.concat()));
    let waits: Vec<Option<f64>> = plan.flows[0]
        .steps
        .iter()
        .map(|step| step.think.as_ref().map(offered_distributions::Distribution::mean))
        .collect();
    // After a that before b, after b that before c, after c that before b, after z that before a (the usual one).
    assert_eq!(waits, [Some(0.1), Some(0.2), Some(0.1), None], "{plan:?}");
}

#[test]
fn long_loops_are_blocks() {
    let looped = |times: &str| {
        let content =
            under("LoopController", &[("LoopController.loops", times)], &[get("a", ""), get("b", "")].concat());
        one(&threads(1, 0, &(content + &get("z", ""))))
    };
    assert_eq!(shape(&looped("2").0), "ababz");
    let (plan, workload) = looped("3000");
    assert_eq!(shape(&plan), "3000[ab]z");
    assert!(!has(&plan, "maximum"), "{workload}");
}

#[test]
fn once_only_controllers_below_others_run_once_for_a_thread() {
    let once = under("OnceOnlyController", &[], &get("login", ""));
    let simple = under("GenericController", &[], &(once.clone() + &get("a", "")));
    let looped = |inside: &str| under("LoopController", &[("LoopController.loops", "3")], inside);
    // In a loop of its own it runs in each first pass, below a simple controller only in the very first one.
    for (content, sent) in [
        (looped(&looped(&(once.clone() + &get("a", "")))), "loginaaaloginaaaloginaaa"),
        (looped(&looped(&simple)), "loginaaaaaaaaa"),
        (looped(&simple), "loginaaa"),
        (simple.clone(), "logina"),
    ] {
        let (plan, _) = one(&threads_with_loops(1, &(content + &get("z", ""))));
        assert_eq!(shape(&plan), format!("{sent}z"));
    }
    // In a thread that goes on to another iteration, only what is outside of loops can be sent once.
    let (plan, _) = one(&threads(1, 0, &(looped(&simple) + &get("z", ""))));
    assert!(has(&plan, "every iteration, not once per thread"), "{:?}", plan.notes());
    let (plan, _) = one(&threads(1, 0, &(simple + &get("z", ""))));
    assert!(plan.notes().is_empty());
}

/// A group of one thread with this number of iterations.
fn threads_with_loops(loops: u32, content: &str) -> String {
    jmx(&format!(
        "<ThreadGroup testname=\"g\"><elementProp name=\"ThreadGroup.main_controller\"><stringProp name=\"LoopController.loops\">{loops}</stringProp></elementProp><stringProp name=\"ThreadGroup.num_threads\">1</stringProp></ThreadGroup><hashTree>{content}</hashTree>"
    ))
}

#[test]
fn random_data_sets_are_shuffled() {
    let set = |random: &str, rewinds: &str, header: &str| {
        let all = [
            ("filename", "people.csv"),
            ("variableNames", "user,mail"),
            ("randomOrder", random),
            ("rewindOnTheEndOfList", rewinds),
            ("ignoreFirstLine", header),
        ];
        let (plan, workload) = one(&threads(1, 0, &(element("RandomCSVDataSetConfig", &all) + &get("a?${mail}", ""))));
        assert!(plan.notes().is_empty(), "{:?}", plan.notes());
        let ValueSource::File { order, at_end, format, columns, .. } = plan.variables[0].value.clone() else {
            panic!("{workload}")
        };
        assert_eq!(columns, ["user", "mail"]);
        (order, at_end, format.skip_lines)
    };
    // RandomCSVReader.getNextLineAddr draws a permutation; hasNextRecord begins another.
    assert_eq!(set("true", "true", "false"), (Order::Shuffled, AtEnd::Repeat, 0));
    assert_eq!(set("true", "false", "false"), (Order::Shuffled, AtEnd::Stop, 0));
    assert_eq!(set("false", "true", "true"), (Order::Sequential, AtEnd::Repeat, 1));
}

#[test]
fn expressions_of_values_of_the_run_are_computed() {
    let path = |path: &str| {
        let (plan, workload) = one(&threads(1, 0, &(user_defined("k", "7") + &numbered("a") + &get(path, ""))));
        let all = paths(&plan);
        assert!(workload.requests().len() == 2 || !plan.notes().is_empty());
        all[1].trim_start_matches('/').to_owned()
    };
    for (function, computed) in [
        ("${__jexl3(${n} + 1)}", "{{n + 1}}"),
        ("${__intSum(${n},${k},-1)}", "{{n + 7 + (0 - 1)}}"),
        ("${__groovy(vars.get('n').toInteger() * (2 + ${k}))}", "{{n * (2 + 7)}}"),
        ("${__groovy((vars.get('n') as int) - 1)}", "{{n - 1}}"),
        ("${__groovy(vars.get('n') + '-' + &quot;${k}&quot;)}", "{{n}}-7"),
        ("${__groovy('id' + vars.get('n').toInteger())}", "id{{n}}"),
        ("${__groovy(vars.get('n').toUpperCase())}", "{{upper(n)}}"),
        ("${__uppercase(${n})}", "{{upper(n)}}"),
        ("${__digest(SHA-256,${n},,,)}", "{{sha256(n)}}"),
        ("${__jexl3(${k} * 2)}", "14"),
    ] {
        assert_eq!(path(function), computed, "{function}");
    }
    // JEXL adds texts that are numbers; a division differs between the languages.
    for function in ["${__jexl3('1' + ${n})}", "${__groovy(${n} / 2)}", "${__groovy(vars.get('n').size() + 1)}"] {
        let (plan, _) = one(&threads(1, 0, &(numbered("a") + &get(function, ""))));
        assert!(has(&plan, "has no known value"), "{function}: {:?}", plan.notes());
    }
}
