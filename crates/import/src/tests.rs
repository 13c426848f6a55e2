use std::fmt::Write as _;

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_schedule::Sessions;
use offered_schedule::arrivals::Process;
use offered_workload::Template;
use offered_workload::Workload;
use offered_workload::script::{AtEnd, Auth, Body, Check, Extraction, Find, Test, TextCondition};
use proptest::prelude::*;

use super::*;

mod artillery;
mod features;
mod formats;
mod groups;
mod hostile;
mod k6;
mod locust;
mod pgbench;
mod recordings;
mod request_lists;
mod samplers;
mod schemas;
mod semantics;
mod table;
mod values;

fn read(text: &str, file: &str, format: Option<Format>) -> Result<Vec<Plan>, Error> {
    super::read(text, file, &ImportOptions { format, ..ImportOptions::default() })
}

/// A test plan with these elements; the first one is on line 3.
fn jmx(content: &str) -> String {
    format!(
        "<jmeterTestPlan version=\"1.2\"><hashTree><TestPlan testname=\"t\"/><hashTree>\n\
         <ConfigTestElement guiclass=\"HttpDefaultsGui\"><stringProp name=\"HTTPSampler.domain\">shop</stringProp></ConfigTestElement><hashTree/>\n\
         {content}\n</hashTree></hashTree></jmeterTestPlan>"
    )
}

/// A thread group that loops for 25 minutes.
fn threads(users: u32, ramp: u32, content: &str) -> String {
    jmx(&format!(
        "<ThreadGroup testname=\"people\"><elementProp name=\"ThreadGroup.main_controller\"><intProp name=\"LoopController.loops\">-1</intProp></elementProp>\
         <stringProp name=\"ThreadGroup.num_threads\">{users}</stringProp><stringProp name=\"ThreadGroup.ramp_time\">{ramp}</stringProp>\
         <boolProp name=\"ThreadGroup.scheduler\">true</boolProp><stringProp name=\"ThreadGroup.duration\">1500</stringProp></ThreadGroup>\n\
         <hashTree>{content}</hashTree>"
    ))
}

fn get(name: &str, under: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname=\"{name}\"><stringProp name=\"HTTPSampler.path\">/{name}</stringProp></HTTPSamplerProxy>\n<hashTree>{under}</hashTree>"
    )
}

fn wait(millis: u32) -> String {
    format!("<ConstantTimer><stringProp name=\"ConstantTimer.delay\">{millis}</stringProp></ConstantTimer><hashTree/>")
}

fn uniform(offset: u32, range: u32) -> String {
    format!(
        "<UniformRandomTimer><stringProp name=\"ConstantTimer.delay\">{offset}</stringProp><stringProp name=\"RandomTimer.range\">{range}</stringProp></UniformRandomTimer><hashTree/>"
    )
}

/// A user-defined variable in an element of its own.
fn user_defined(name: &str, value: &str) -> String {
    format!(
        "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"{name}\"><stringProp name=\"Argument.value\">{value}</stringProp></elementProp></collectionProp></Arguments><hashTree/>"
    )
}

/// The only plan in `text`, and its workload, written and parsed again.
fn one(text: &str) -> (Plan, Workload) {
    let mut plans = read(text, "plan.jmx", None).unwrap();
    assert_eq!(plans.len(), 1);
    let plan = plans.remove(0);
    let written = plan.text("plan.jmx").unwrap();
    let workload =
        Workload::parse(&written, "w", &|name| Err(name.to_owned())).unwrap_or_else(|e| panic!("{e}\n{written}"));
    (plan, workload)
}

/// A text body.
fn body(text: &str) -> Body {
    body::text(&Text::from(text))
}

/// A template without variables.
fn literal_template(text: &str) -> Template {
    Text::from(text).template()
}

/// A form body.
fn form(pairs: &[(&str, Text)]) -> Body {
    Body::Form(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.template())).collect())
}

fn import_error(text: &str) -> String {
    read(text, "plan.jmx", Some(Format::Jmx)).unwrap_err().to_string()
}

#[test]
fn bradys_plan_requests_fifteen_pages_equally_with_uniform_think_times() {
    let pages: String = (1..=15).fold(String::new(), |mut pages, n| {
        let _ = write!(pages, "{}", get(&format!("{n:02}0_Page?user=${{user}}"), ""));
        pages
    });
    let data = "<CSVDataSet testname=\"users\"><stringProp name=\"filename\">data/u.csv</stringProp><stringProp name=\"variableNames\">user,basket</stringProp></CSVDataSet><hashTree/>";
    let content = format!("{}{data}<RandomController/>\n<hashTree>{pages}</hashTree>", uniform(0, 12_500));
    let (plan, workload) = one(&threads(200, 100, &content));
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload:?}") };
    assert_eq!((closed.users(), closed.ramp()), (200, Nanos::from_secs(100)));
    assert_eq!(*closed.think(), Distribution::uniform(0.0, 12.5).unwrap());
    assert_eq!(workload.duration(), Nanos::from_secs(1500));
    assert_eq!(workload.shares(), vec![1.0 / 15.0; 15]);
    assert!(plan.flows.is_empty(), "each round is one request");
    assert_eq!(plan.notes, [], "everything is translated");
    let [Variable { name, value: ValueSource::File { file, columns, at_end, .. }, per }] = plan.variables.as_slice()
    else {
        panic!("{:?}", plan.variables)
    };
    assert_eq!(
        (name.as_str(), file.as_str(), *per, *at_end),
        ("u", "data/u.csv", offered_workload::script::Per::Visit, AtEnd::Repeat)
    );
    assert_eq!(columns, &["user", "basket"]);
    assert!(plan.requests.iter().all(|request| request.path.to_source().ends_with("?user={{u.user}}")));
}

#[test]
fn waits_before_a_request_become_think_times_after_the_previous_one() {
    let content = [get("a", &wait(1000)), get("b", &wait(2000)), get("c", &wait(3000)), wait(500)].concat();
    let (plan, _) = one(&threads(1, 0, &content));
    // Before a 1.5 s, before b 2.5 s, before c 3.5 s: so after a 2.5 s, after b 3.5 s, after c and before the first 1.5
    // s.
    let Arrivals::Closed { think, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!(*think, Distribution::constant(1.5).unwrap());
    let thinks: Vec<_> = plan.flows[0].steps.iter().map(|step| step.think.clone()).collect();
    assert_eq!(thinks, [Some(Distribution::constant(2.5).unwrap()), Some(Distribution::constant(3.5).unwrap()), None]);
}

#[test]
fn transitions_with_different_waits_are_chosen_one_step_earlier() {
    let choice =
        format!("<RandomController/><hashTree>{}{}</hashTree>", get("slow", &wait(9000)), get("fast", &wait(1000)));
    let (plan, workload) = one(&threads(1, 0, &[get("home", ""), choice].concat()));
    // Two home steps: one before the slow page and one before the fast page.
    let steps: Vec<_> = plan.flows.iter().flat_map(|flow| &flow.steps).map(|step| step.name.as_str()).collect();
    assert_eq!(steps.iter().filter(|name| **name == "home").count(), 2, "{steps:?}");
    for (share, meant) in workload.shares().iter().zip([0.5, 0.25, 0.25]) {
        assert!((share - meant).abs() < 1e-12, "{:?}", workload.shares());
    }
    assert!((workload.mean_think().unwrap() - 2.5).abs() < 1e-9, "half of 9 s and of 1 s per two requests");
}

#[test]
fn loops_and_shares_of_rounds_are_counted_in_the_mix() {
    let twice = format!(
        "<LoopController><intProp name=\"LoopController.loops\">3</intProp></LoopController><hashTree>{}</hashTree>",
        get("item", "")
    );
    let some = format!(
        "<ThroughputController><intProp name=\"ThroughputController.style\">1</intProp><FloatProperty><name>ThroughputController.percentThroughput</name><value>25.0</value></FloatProperty></ThroughputController><hashTree>{}</hashTree>",
        get("buy", "")
    );
    let (plan, workload) = one(&threads(5, 0, &[get("home", ""), twice, some].concat()));
    let shares: Vec<f64> = workload.shares().iter().map(|share| share * 4.25).collect();
    for (share, meant) in shares.iter().zip([1.0, 3.0, 0.25]) {
        assert!((share - meant).abs() < 1e-9, "{shares:?}");
    }
    assert!(plan.notes.iter().any(|note| note.element.starts_with("ThroughputController")));
}

#[test]
fn poisson_timer_is_a_poisson_count_of_milliseconds() {
    let timer = "<PoissonRandomTimer><stringProp name=\"ConstantTimer.delay\">0</stringProp><stringProp name=\"RandomTimer.range\">300</stringProp></PoissonRandomTimer><hashTree/>";
    let (plan, workload) = one(&threads(1, 0, &[timer.to_owned(), get("a", "")].concat()));
    let Sessions::Closed(closed) = workload.sessions() else { panic!() };
    assert_eq!(*closed.think(), Distribution::poisson_millis(0.3).unwrap());
    assert!(plan.notes.iter().any(|note| note.message.contains("does not make arrivals Poisson")));
}

#[test]
fn variables_and_properties_are_substituted_and_missing_values_noted() {
    let own = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"x\"><stringProp name=\"Argument.value\">${__P(x,42)}</stringProp></elementProp></collectionProp></Arguments><hashTree/>";
    let (plan, _) = one(&threads(1, 0, &[own.to_owned(), get("item/${x}?of=${id} s", "")].concat()));
    assert_eq!(plan.requests[0].path.to_source(), "/item/42?of={{id}}%20s");
    assert_eq!(plan.variables, [Variable::constant("id", "${id}")]);
    assert!(plan.notes.iter().any(|note| note.message.contains("`${id}` has no known value")), "{:?}", plan.notes);
}

#[test]
fn nested_variables_are_bounded() {
    let bomb: String = (1..40).fold(user_defined("v0", "text"), |mut bomb, n| {
        bomb += &user_defined(&format!("v{n}"), &format!("${{v{}}}", n - 1).repeat(10));
        bomb
    });
    let plans = read(&threads(1, 0, &[bomb, get("${v39}", "")].concat()), "plan.jmx", None).unwrap();
    assert!(plans[0].text("plan.jmx").unwrap().len() < 64 << 20);
}

#[test]
fn arrivals_and_open_model_groups_are_partly_open() {
    let open = "<OpenModelThreadGroup testname=\"o\"><stringProp name=\"OpenModelThreadGroup.schedule\">rate(0/s) random_arrivals(1 min) rate(600/min) random_arrivals(4 min) rate(10/s)</stringProp></OpenModelThreadGroup>";
    let (plan, workload) = one(&jmx(&format!("{open}<hashTree>{}{}</hashTree>", get("a", ""), get("b", &wait(1000)))));
    let Arrivals::Open { rate, process, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!((rate, process), (&RateProfile::Ramp(0.0, 10.0, Nanos::from_secs(60)), &Process::Poisson));
    assert_eq!(workload.duration(), Nanos::from_secs(300));
    assert!(matches!(workload.sessions(), Sessions::PartlyOpen { .. }));
    let arrivals = "<com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup testname=\"p\"><stringProp name=\"TargetLevel\">120</stringProp><stringProp name=\"Hold\">10</stringProp><stringProp name=\"Unit\">M</stringProp></com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup>";
    let (plan, workload) = one(&jmx(&format!("{arrivals}<hashTree>{}</hashTree>", get("a", ""))));
    assert_eq!(plan.duration, Nanos::from_secs(600));
    assert!(matches!(workload.sessions(), Sessions::Open(_)));
    assert!((workload.scheduled_rate().unwrap() - 2.0).abs() < 1e-12);
}

#[test]
fn throughput_timer_is_a_rate_unless_other_timers_wait() {
    let timer = "<ConstantThroughputTimer><doubleProp><name>throughput</name><value>600.0</value></doubleProp><intProp name=\"calcMode\">2</intProp></ConstantThroughputTimer><hashTree/>";
    let (plan, workload) = one(&threads(50, 0, &[timer.to_owned(), get("a", ""), get("b", "")].concat()));
    assert!((workload.scheduled_rate().unwrap() - 10.0).abs() < 1e-9, "{workload:?}");
    assert!(plan.notes.iter().any(|note| note.message.contains("throttles")), "{:?}", plan.notes);
    let (plan, workload) = one(&threads(50, 0, &[timer.to_owned(), wait(1000), get("a", "")].concat()));
    assert!(matches!(workload.sessions(), Sessions::Closed(_)));
    assert!(plan.notes.iter().any(|note| note.element.starts_with("ConstantThroughputTimer")), "{:?}", plan.notes);
}

#[test]
fn unknown_elements_and_their_children_are_noted() {
    let content = [
        get("a", "<JSR223PreProcessor testname=\"s\"><stringProp name=\"script\">x = 1</stringProp></JSR223PreProcessor><hashTree/><XPathAssertion/><hashTree/>"),
        "<JDBCSampler testname=\"db\"/><hashTree><JSONPostProcessor/><hashTree/></hashTree><com.example.Odd/><hashTree/>".to_owned(),
        "<IfController><stringProp name=\"IfController.condition\">${ok}</stringProp></IfController><hashTree>".to_owned() + &get("b", "") + "</hashTree>",
    ];
    let (plan, _) = one(&threads(1, 0, &content.concat()));
    for kind in ["JSR223PreProcessor", "XPathAssertion", "JDBCSampler", "JSONPostProcessor", "Odd", "IfController"] {
        assert!(plan.notes.iter().any(|note| note.element.starts_with(kind)), "{kind} is missing: {:?}", plan.notes);
    }
}

#[test]
fn several_groups_are_several_plans() {
    let group = |name: &str| format!("<ThreadGroup testname=\"{name}\"/><hashTree>{}</hashTree>", get("a", ""));
    let plans = read(&jmx(&[group("x"), group("y")].concat()), "plan.jmx", None).unwrap();
    assert_eq!(plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
}

#[test]
fn broken_hostile_and_empty_files_give_one_line_errors() {
    let whole = threads(1, 0, &get("a", ""));
    let cut = import_error(&whole[..whole.len() / 2]);
    assert!(
        cut.contains("it is truncated; copy it again") && cut.starts_with("plan.jmx:") && !cut.contains('\n'),
        "{cut}"
    );
    let bomb = "<!DOCTYPE a [<!ENTITY b \"cccc\">]><jmeterTestPlan>&b;</jmeterTestPlan>";
    assert!(import_error(bomb).contains("document type"), "{}", import_error(bomb));
    assert!(import_error("<jmeterTestPlan>&b;</jmeterTestPlan>").contains("not a character"));
    assert!(import_error(&"<a>".repeat(100_000)).contains("nested deeper"));
    assert!(import_error(&format!("<a>{}</a>", "<b/>".repeat(600_000))).contains("more than 500000"));
    assert!(import_error(&" ".repeat(MAX_PLAN_BYTES + 1)).contains("larger than 64 MiB"));
    assert!(import_error("<html></html>").contains("root element is <html>"));
    assert!(import_error(&threads(1, 0, "")).contains("no enabled thread group with an HTTP request"));
    assert!(read("hello", "x", None).unwrap_err().to_string().contains("unknown file format"));
    assert_eq!(read(" \n", "x", None).unwrap_err().to_string(), "x is empty");
    let endless = (0..12).fold(get("a", "") + &get("b", ""), |inner, _| {
        format!("<LoopController><intProp name=\"LoopController.loops\">9</intProp></LoopController><hashTree>{inner}</hashTree>")
    });
    // Nested loops beyond the limit are shortened with a note, or rejected.
    match read(&threads(1, 0, &endless), "plan.jmx", None) {
        Ok(plans) => assert!(plans[0].notes.iter().any(|note| note.message.contains("the maximum for a loop"))),
        Err(error) => assert!(error.to_string().contains("steps"), "{error}"),
    }
    // Loops that only wait make no steps, but unrolling them would take forever.
    let pause = "<TestAction><intProp name=\"ActionProcessor.action\">1</intProp><stringProp name=\"ActionProcessor.duration\">7</stringProp></TestAction><hashTree/>";
    let waiting = (0..4).fold(pause.to_owned(), |inner, _| {
        format!("<LoopController><intProp name=\"LoopController.loops\">9999</intProp></LoopController><hashTree>{inner}</hashTree>")
    });
    let error = import_error(&threads(1, 0, &(waiting + &get("a", ""))));
    assert!(error.contains("steps"), "{error}");
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,300}") {
        let _ = read(&text, "x", Some(Format::Jmx));
    }

    /// Elements in any order give a plan or a one-line error, and the written workload can be parsed.
    #[test]
    fn no_plan_makes_a_workload_that_cannot_be_read(
        name in "[ -~]{0,12}",
        picks in proptest::collection::vec(0usize..12, 0..14),
        number in prop_oneof![Just("-1".to_owned()), "[0-9]{1,7}", "[ -~]{0,6}"],
    ) {
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let number = number.replace('&', "&amp;").replace('<', "&lt;");
        let content: String = picks.into_iter().fold(String::new(), |inner, pick| match pick {
            0..3 => inner + &get(&name, ""),
            3 => inner + &get(&number, &uniform(100, 900)),
            4 => inner + &wait(1500),
            5 => format!("<RandomController/><hashTree>{inner}</hashTree>"),
            6 => format!("<LoopController><stringProp name=\"LoopController.loops\">{number}</stringProp></LoopController><hashTree>{inner}</hashTree>"),
            7 => format!("<ThroughputController><intProp name=\"ThroughputController.style\">1</intProp><stringProp name=\"ThroughputController.percentThroughput\">{number}</stringProp></ThroughputController><hashTree>{inner}</hashTree>"),
            8 => format!("<SwitchController><stringProp name=\"SwitchController.value\">{number}</stringProp></SwitchController><hashTree>{inner}</hashTree>"),
            9 => format!("<OnceOnlyController/><hashTree>{inner}</hashTree>"),
            10 => inner + "<TestAction><intProp name=\"ActionProcessor.action\">1</intProp><stringProp name=\"ActionProcessor.duration\">700</stringProp></TestAction><hashTree/>",
            _ => inner + "<GaussianRandomTimer><stringProp name=\"ConstantTimer.delay\">300</stringProp><stringProp name=\"RandomTimer.range\">200</stringProp></GaussianRandomTimer><hashTree/>",
        });
        if let Ok(plans) = read(&threads(3, 1, &content), "plan.jmx", None) {
            for plan in plans {
                let text = plan.text("plan.jmx").unwrap();
                let read = Workload::parse(&text, "w", &|name| Err(name.to_owned()));
                prop_assert!(read.is_ok(), "{}\n{text}", read.unwrap_err());
            }
        }
    }
}
