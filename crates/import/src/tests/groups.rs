//! Tests of the plugins' thread groups and the open model thread group.

use super::*;

/// The plan of a group with this class and these properties, with one request per iteration.
fn group(class: &str, properties: &str) -> (Plan, Workload) {
    one(&jmx(&format!(
        "<{class} testclass=\"{class}\" testname=\"g\">{properties}</{class}><hashTree>{}</hashTree>",
        get("a", "")
    )))
}

fn texts(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("<stringProp name=\"{name}\">{value}</stringProp>")).collect()
}

/// A table in the plugins' file format; cell names are hashes.
fn table(name: &str, rows: &[&[&str]]) -> String {
    let row = |row: &&[&str]| {
        let cells: String = row.iter().map(|cell| format!("<stringProp name=\"49586\">{cell}</stringProp>")).collect();
        format!("<collectionProp name=\"-1508785367\">{cells}</collectionProp>")
    };
    format!("<collectionProp name=\"{name}\">{}</collectionProp>", rows.iter().map(row).collect::<String>())
}

fn closed(workload: &Workload) -> (u64, Nanos) {
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload:?}") };
    (closed.users(), closed.ramp())
}

/// The numbers of users at the start and end of each stage, and its seconds.
fn stages(workload: &Workload) -> Vec<(u64, u64, u64)> {
    let Sessions::Closed(closed) = workload.sessions() else { panic!("{workload:?}") };
    let stages = closed.population().unwrap().stages();
    stages.iter().map(|stage| (stage.from, stage.to, stage.over.0 / 1_000_000_000)).collect()
}

#[test]
fn concurrency_group_has_a_fixed_number_of_users() {
    let class = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup";
    let said = [
        ("TargetLevel", "12"),
        ("RampUp", "60"),
        ("Steps", "3"),
        ("Hold", "180"),
        ("LogFilename", ""),
        ("Iterations", ""),
        ("Unit", "S"),
    ];
    let (plan, workload) = group(class, &texts(&said));
    // ConcurrencyThreadStarter.getPlannedConcurrency: the first step is at the start.
    assert_eq!(stages(&workload), [(4, 4, 20), (8, 8, 20), (12, 12, 20), (12, 12, 180)]);
    assert_eq!((plan.notes, workload.duration()), (vec![], Nanos::from_secs(240)));
    let (plan, workload) = group(
        class,
        &texts(&[("TargetLevel", "${__P(c,4)}"), ("RampUp", "1"), ("Hold", "10"), ("Iterations", "5"), ("Unit", "M")]),
    );
    assert_eq!((closed(&workload), workload.duration()), ((4, Nanos::from_secs(60)), Nanos::from_secs(660)));
    let Arrivals::Closed { visits, .. } = plan.arrivals else { panic!("{:?}", plan.arrivals) };
    assert_eq!(visits, Some(5));
}

#[test]
fn threads_after_a_delay_are_stages() {
    let said = [
        ("ThreadGroup.num_threads", "8"),
        ("ThreadGroup.ramp_time", "5"),
        ("ThreadGroup.scheduler", "true"),
        ("ThreadGroup.delay", "30"),
        ("ThreadGroup.duration", "60"),
    ];
    let (plan, workload) = group("ThreadGroup", &texts(&said));
    assert_eq!(stages(&workload), [(0, 0, 30), (0, 8, 5), (8, 8, 55)]);
    assert_eq!((plan.notes, workload.duration()), (vec![], Nanos::from_secs(90)));
}

#[test]
fn stepping_group_ramps_up_in_steps() {
    let class = "kg.apc.jmeter.threads.SteppingThreadGroup";
    let said = [
        ("ThreadGroup.on_sample_error", "continue"),
        ("ThreadGroup.num_threads", "50"),
        ("Threads initial delay", "0"),
        ("Start users count", "5"),
        ("Start users count burst", "10"),
        ("Start users period", "5"),
        ("Stop users count", "25"),
        ("Stop users period", "5"),
        ("flighttime", "60"),
        ("rampUp", "2"),
    ];
    let (plan, workload) = group(class, &texts(&said));
    // Ten users over 2 s, then eight groups of five, each after 5 s over 2 s; after a minute half of them stop, the others 5 s later.
    assert_eq!((closed(&workload), workload.duration()), ((50, Nanos::ZERO), Nanos::from_secs(58 + 60 + 5)));
    let stages = stages(&workload);
    assert_eq!(stages[..4], [(0, 10, 2), (10, 10, 5), (10, 15, 2), (15, 15, 5)]);
    assert_eq!(stages[stages.len() - 3..], [(45, 50, 2), (50, 50, 60), (25, 25, 5)]);
    assert_eq!(plan.notes, []);
}

#[test]
fn ultimate_group_sums_its_rows() {
    let class = "kg.apc.jmeter.threads.UltimateThreadGroup";
    let rows: [&[&str]; 2] = [&["20", "0", "5", "20", "0"], &["100", "25", "0", "20", "10"]];
    let (plan, workload) = group(class, &table("ultimatethreadgroupdata", &rows));
    // The second row starts at the instant at which the first one stops.
    assert_eq!(stages(&workload), [(0, 20, 5), (20, 20, 20), (100, 100, 20), (100, 0, 10)]);
    assert_eq!(plan.notes, []);
    let overlapping: [&[&str]; 2] = [&["10", "0", "10", "20", "10"], &["20", "5", "10", "10", "0"]];
    let (_, workload) = group(class, &table("ultimatethreadgroupdata", &overlapping));
    let expected = [(0, 5, 5), (5, 20, 5), (20, 30, 5), (30, 30, 10), (10, 10, 5), (10, 0, 10)];
    assert_eq!(stages(&workload), expected);
    assert_eq!(workload.duration(), Nanos::from_secs(40));
}

#[test]
fn arrivals_group_is_a_rate() {
    let class = "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup";
    let said = [
        ("TargetLevel", "120"),
        ("RampUp", "1"),
        ("Steps", "2"),
        ("Hold", "3"),
        ("ConcurrencyLimit", "50"),
        ("Unit", "M"),
    ];
    let (plan, workload) = group(class, &texts(&said));
    let Arrivals::Open { rate, process, .. } = &plan.arrivals else { panic!("{plan:?}") };
    let steps = RateProfile::Steps(vec![
        (1.0, Nanos::from_secs(30)),
        (2.0, Nanos::from_secs(30)),
        (2.0, Nanos::from_secs(180)),
    ]);
    assert_eq!((rate, process), (&steps, &Process::Constant));
    assert_eq!(workload.duration(), Nanos::from_secs(240));
    assert!(plan.notes.iter().any(|note| note.message.contains("thread limit")), "{:?}", plan.notes);
    let (plan, _) = group(class, &texts(&[("TargetLevel", "10"), ("RampUp", "20"), ("Hold", "40"), ("Unit", "S")]));
    let Arrivals::Open { rate, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert_eq!(*rate, RateProfile::Ramp(0.0, 10.0, Nanos::from_secs(20)));
}

#[test]
fn free_form_arrivals_group_changes_its_rate() {
    let class = "com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup";
    let rows: [&[&str]; 3] = [&["1", "1", "10"], &["1", "31", "30"], &["31", "31", "60"]];
    let (plan, workload) = group(class, &(table("Schedule", &rows) + &texts(&[("Unit", "S")])));
    let Arrivals::Open { rate: RateProfile::Stages(stages), .. } = &plan.arrivals else { panic!("{plan:?}") };
    let secs = Nanos::from_secs;
    assert_eq!(*stages, [(1.0, 1.0, secs(10)), (1.0, 31.0, secs(30)), (31.0, 31.0, secs(60))]);
    assert_eq!(workload.duration(), secs(100));
    assert_eq!(plan.notes, []);
}

#[test]
fn open_model_schedule_is_parsed() {
    let (plan, workload) = group(
        "OpenModelThreadGroup",
        &texts(&[
            (
                "OpenModelThreadGroup.schedule",
                "rate(5/min) even_arrivals(2 min) rate(5/min) pause(30 s) rate(1/s) random_arrivals(30 s)",
            ),
            ("OpenModelThreadGroup.random_seed", "7"),
        ]),
    );
    let Arrivals::Open { rate: RateProfile::Stages(stages), process, .. } = &plan.arrivals else { panic!("{plan:?}") };
    let rates: Vec<f64> = stages.iter().map(|(rate, _, _)| (rate * 60.0).round()).collect();
    assert_eq!((rates, process), (vec![5.0, 0.0, 60.0], &Process::Constant));
    assert_eq!(workload.duration(), Nanos::from_secs(180));
    let default = "${__P(schedule,rate(6/min) random_arrivals(10 s) rate(6/min))}";
    let (plan, workload) = group("OpenModelThreadGroup", &texts(&[("OpenModelThreadGroup.schedule", default)]));
    assert!(
        matches!(plan.arrivals, Arrivals::Open { rate: RateProfile::Constant(rate), process: Process::Poisson, .. } if (rate - 0.1).abs() < 1e-12)
    );
    assert_eq!(workload.duration(), Nanos::from_secs(10));
}

/// Two thread groups of one plan, each with its scheduler.
fn two_groups(serial: bool) -> String {
    let group = |name: &str, users: u32, seconds: u32, content: String| {
        format!(
            "<ThreadGroup testname=\"{name}\"><elementProp name=\"ThreadGroup.main_controller\"><intProp name=\"LoopController.loops\">-1</intProp></elementProp>\
             <stringProp name=\"ThreadGroup.num_threads\">{users}</stringProp>\
             <boolProp name=\"ThreadGroup.scheduler\">true</boolProp><stringProp name=\"ThreadGroup.duration\">{seconds}</stringProp></ThreadGroup>\n\
             <hashTree>{content}</hashTree>"
        )
    };
    let buyers = group("buyers", 5, 60, get("home", "") + &get("pay", ""));
    let text = jmx(&(group("visitors", 20, 90, get("home", &wait(500))) + &buyers));
    let serial = format!("<boolProp name=\"TestPlan.serialize_threadgroups\">{serial}</boolProp>");
    text.replace("<TestPlan testname=\"t\"/>", &format!("<TestPlan testname=\"t\">{serial}</TestPlan>"))
}

#[test]
fn thread_groups_are_scenarios_of_one_workload() {
    let plans = |serial| read(&two_groups(serial), "t.jmx", None).unwrap();
    let times = |workload: &Workload| {
        let scenarios = workload.scenarios().unwrap().all().iter();
        scenarios.map(|one| (one.name.clone(), one.start, one.start + one.duration)).collect::<Vec<_>>()
    };
    let (zero, at) = (Nanos::ZERO, Nanos::from_secs);
    let together = Plan::combined(&plans(false)).unwrap();
    let expected = [("visitors".to_owned(), zero, at(90)), ("buyers".to_owned(), zero, at(60))];
    assert_eq!((times(&together), together.duration()), (expected.to_vec(), at(90)));
    let names: Vec<&str> = together.requests().iter().map(offered_workload::Request::name).collect();
    assert_eq!(names, ["home", "home (2)", "pay"]);
    let serial = Plan::combined(&plans(true)).unwrap();
    assert_eq!((times(&serial)[1].1, serial.duration()), (at(90), at(150)));
    let text = Plan::combined_text(&plans(true), "t.jmx").unwrap();
    let again = Workload::parse(&text, "t.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(again.scenarios(), serial.scenarios(), "{text}");
}
