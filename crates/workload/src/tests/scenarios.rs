//! Several scenarios in one workload.

use crate::Workload;
use offered_base::{Instant, Nanos, Share};
use offered_schedule::{Launch, Sessions};

const TWO: &str = "seed = 7\nduration = \"60s\"\ntarget.url = \"http://h/\"\n\
    scenario = [\n\
    { name = \"visitors\", requests = [\"home\", \"look\"], arrivals.open.rate = \"20/s\" },\n\
    { name = \"batch\", requests = [\"report\"], start = \"20s\", end = \"40s\", arrivals.closed = { users = 5, think.exponential = \"1s\" } },\n\
    ]\n\
    request = [{ name = \"home\", get = \"/\", weight = 3 }, { name = \"look\", get = \"/look\" }, { name = \"report\", get = \"/r\" }]\n";

fn read(text: &str) -> Workload {
    Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"))
}

/// Every request of a share, against a server that answers at once, with its label.
fn played(workload: &Workload, share: Share) -> Vec<(Launch, u16)> {
    let (mut agenda, mix, mut all) = (workload.agenda(share), workload.mix(), Vec::new());
    while let Some(launch) = agenda.due(Instant::MAX) {
        all.push((launch, mix.choose(launch)));
        agenda.completed(launch, launch.intended);
    }
    all
}

#[test]
fn a_scenario_sends_its_requests_in_its_time() {
    let workload = read(TWO);
    let all = played(&workload, Share::ALL);
    assert!(all.windows(2).all(|pair| pair[0].0.intended <= pair[1].0.intended));
    let scenarios = workload.scenarios().unwrap();
    let (batch, visitors): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(launch, _)| scenarios.split(launch.session).0 == 1);
    assert!((visitors.len() as f64 - 1200.0).abs() < 150.0 && visitors.iter().all(|(_, label)| *label < 2));
    assert!((batch.len() as f64 - 100.0).abs() < 40.0 && batch.iter().all(|(_, label)| *label == 2));
    let time = Instant::from_secs(20)..Instant::from_secs(40);
    assert!(batch.iter().all(|(launch, _)| time.contains(&launch.intended)));
    assert_eq!(workload.labels().len(), 3);
    assert_eq!(workload.scheduled_rate(), None, "that of the batch depends on the server");
}

#[test]
fn each_scenario_is_a_workload_of_its_own() {
    let workload = read(TWO);
    let scenarios = workload.scenarios().unwrap().clone();
    for (number, scenario) in scenarios.all().iter().enumerate() {
        let alone = workload.scenario(number).unwrap();
        assert_eq!(alone.duration(), scenario.duration);
        let own: Vec<_> = played(&alone, Share::ALL);
        let in_the_run: Vec<_> = played(&workload, Share::ALL)
            .into_iter()
            .filter(|(launch, _)| scenarios.split(launch.session).0 == number)
            .map(|(launch, label)| {
                let session = scenarios.split(launch.session).1;
                (Launch { session, intended: launch.intended.earlier(scenario.start), ..launch }, label)
            })
            .collect();
        assert_eq!(own, in_the_run, "{}", scenario.name);
    }
    // Another scenario does not move the requests of this one.
    let more = read(&TWO.replace(
        "scenario = [",
        "scenario = [{ name = \"more\", requests = [\"home\"], arrivals.open.rate = \"9/s\" },",
    ));
    let times = |workload: &Workload, number| -> Vec<Instant> {
        played(&workload.scenario(number).unwrap(), Share::ALL).iter().map(|(launch, _)| launch.intended).collect()
    };
    assert_eq!(times(&workload, 1), times(&more, 2));
}

#[test]
fn shares_of_scenarios_are_the_whole_run() {
    let workload = read(TWO);
    let mut union: Vec<_> = (0..3).flat_map(|k| played(&workload, Share::new(k, 3).unwrap())).collect();
    union.sort_by_key(|(launch, _)| *launch);
    let mut whole = played(&workload, Share::ALL);
    whole.sort_by_key(|(launch, _)| *launch);
    assert_eq!(union, whole);
    let late = workload.agenda(Share::ALL).from(Instant::from_secs(30)).unwrap();
    assert_eq!(late.next_due().map(|due| due >= Instant::from_secs(30)), Some(true));
}

#[test]
fn scenarios_are_written_and_read_again() {
    let flows = "seed = 7\ntarget.url = \"http://h/\"\n\
        scenario = [\n\
        { name = \"buyers\", flows = [\"buy\"], arrivals.closed = { users = { stages = [[0, 5, \"10s\"], [5, \"20s\"]] } } },\n\
        { name = \"readers\", flows = [\"read\"], end = \"25s\", arrivals.partly_open = { rate = \"2/s\" } },\n\
        { name = \"hits\", requests = [\"home\"], end = \"25s\", arrivals.open.rate = \"5/s\" },\n\
        ]\n\
        request = [{ name = \"home\", get = \"/\" }, { name = \"pay\", get = \"/pay\" }]\n\
        flow = [{ name = \"buy\", step = [{ request = \"home\" }, { request = \"pay\" }] }, { name = \"read\", step = [{ request = \"home\", repeat = 3 }] }]\n";
    for text in [TWO, flows] {
        let workload = read(text);
        assert_eq!(read(&workload.to_string()), workload, "{workload}");
    }
    let workload = read(flows);
    assert_eq!(workload.duration(), Nanos::from_secs(30));
    let labels = |number: usize| {
        let mut labels: Vec<u16> = played(&workload.scenario(number).unwrap(), Share::ALL)
            .into_iter()
            .take(2000)
            .map(|(_, label)| label)
            .collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    };
    assert_eq!((labels(1), labels(2)), (vec![0], vec![0]), "readers and hits only look at the home page");
    // The first sessions belong to each scenario in turn.
    let walks: Vec<Vec<u16>> = (0..3).map(|session| workload.walk(session).map(|(_, label)| label).collect()).collect();
    assert_eq!(walks, [vec![0, 1], vec![0, 0, 0], vec![0]]);
    assert!(matches!(workload.sessions(), Sessions::Scenarios(_)));
}

#[test]
fn mistakes_of_scenarios_name_their_place() {
    for (from, to, expected) in [
        ("start = \"20s\"", "start = \"50s\"", "ends at 40s, before it has started at 50s"),
        ("requests = [\"report\"]", "requests = [\"reprot\"]", "no request is named `reprot` (did you mean `report`?)"),
        ("requests = [\"report\"], ", "flows = [\"f\"], ", "has no [[flow]]"),
        ("name = \"batch\"", "name = \"visitors\"", "exists twice"),
        ("name = \"batch\"", "name = \"home\"", "also the name of a request"),
        ("requests = [\"report\"]", "requests = [\"home\"]", "is in no scenario"),
        ("duration = \"60s\"", "requests = 100", "`end` is missing"),
        ("duration = \"60s\"", "duration = \"60s\"\narrivals.closed.users = 1", "cannot be combined with `arrivals`"),
        ("duration = \"60s\"", "duration = \"60s\"\nsessions = 5", "cannot share a number"),
    ] {
        let text = TWO.replace(from, to);
        let mistake = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(mistake.contains(expected), "{to}: {mistake}");
    }
}

#[test]
fn a_scenario_begins_no_session_after_the_end_of_the_run() {
    let text = TWO.replace("arrivals.open.rate", "end = \"60s\", arrivals.open.rate");
    let workload = read(&format!("end = \"finish\"\n{}", text.replace("duration = \"60s\"", "duration = \"30s\"")));
    let all = played(&workload, Share::ALL);
    let scenarios = workload.scenarios().unwrap();
    let visitors = all.iter().filter(|(launch, _)| scenarios.split(launch.session).0 == 0);
    assert!(visitors.map(|(launch, _)| launch.intended).max().unwrap() < Instant::from_secs(30));
}

#[test]
fn a_variable_is_used_where_another_one_contains_it() {
    let variables = "variables = { id = { sequence = 1 }, name = \"u{{id}}\" }\n";
    let text =
        TWO.replace("get = \"/look\"", "get = \"/look?{{id}}\"").replace("get = \"/r\"", "get = \"/r?{{name}}\"");
    let workload = read(&format!("{variables}{text}"));
    assert_eq!((workload.scenarios_with("id"), workload.scenarios_with("name")), (2, 1));
}
