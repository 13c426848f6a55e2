use proptest::prelude::*;

use super::*;
use crate::Workload;
use offered_base::Share;
use offered_schedule::Launch;
use offered_schedule::flow::{Branches, Flow, Rules, Step};

const SHOP: &str = r#"
duration = "1000s"
[arrivals]
partly_open = { rate = "10/s", think = { constant = "1s" } }
[[request]]
name = "home"
get = "/"
[[request]]
name = "search"
get = "/search"
[[request]]
name = "buy"
post = "/buy"
[[flow]]
name = "visitor"
weight = 3
[[flow.step]]
request = "home"
stay = 0.5
[[flow.step]]
request = "search"
repeat = 3
think = { constant = "4s" }
next = { search = 1, buy = 1, leave = 2 }
[[flow.step]]
request = "buy"
[[flow]]
name = "robot"
start = "search"
[flow.matrix]
search = { search = 0.9, home = 0.05, leave = 0.05 }
home = { search = 1.0 }
"#;

fn parse(text: &str) -> Result<Workload, String> {
    Workload::parse(text, "w.toml", &|_| Err("no files".to_owned())).map_err(|mistake| mistake.to_string())
}

fn shop() -> Workload {
    parse(SHOP).unwrap()
}

/// Every scheduled request of the workload with its label; each response is immediate.
fn launches(workload: &Workload, share: Share) -> Vec<(Launch, u16)> {
    let (mut agenda, mix) = (workload.agenda(share), workload.mix());
    let mut all = Vec::new();
    while let Some(now) = agenda.next_due() {
        let launch = agenda.due(now).unwrap();
        all.push((launch, mix.choose(launch)));
        agenda.completed(launch, now);
    }
    all
}

#[test]
fn the_mean_visits_solve_the_chain() {
    // By hand. Visitor: home 1; search 1/2 x 3 per run, a run follows a run with 1/4, so 2/3 runs; buy 2/3 x 1/4.
    // Robot: h = 0.05 s, s = 1 + 0.9 s + h = 1 + 0.95 s, so s = 20 and h = 1.
    let workload = shop();
    let flows = workload.flows().unwrap();
    let expected = [0.75, 0.75 * 2.0, 0.75 / 6.0, 0.25 * 20.0, 0.25];
    for (visits, expected) in flows.visits().iter().zip(expected) {
        assert!((visits - expected).abs() < 1e-12, "{visits} {expected}");
    }
    assert!((workload.scheduled_rate().unwrap() - 10.0 * flows.mean()).abs() < 1e-9);
    let thought = (0.75 + 1.5 * 4.0 + 0.125 + 5.0 + 0.25) / flows.mean();
    assert!((workload.mean_think().unwrap() - thought).abs() < 1e-12);
}

#[test]
fn visits_and_shares_agree_with_the_chain() {
    let workload = shop();
    let launched = launches(&workload, Share::ALL);
    let sessions = launched.iter().filter(|(launch, _)| launch.step == 0).count() as f64;
    for (request, share) in workload.shares().iter().enumerate() {
        let seen = launched.iter().filter(|(_, sent)| usize::from(*sent) == request).count() as f64 / sessions;
        let expected = share * workload.flows().unwrap().mean();
        // Ten thousand sessions; the robots' numbers vary most, with a standard deviation of 20 requests in a quarter.
        assert!(
            (seen - expected).abs() < 0.03 + 0.1 * expected,
            "request {request}: {seen} per session, expected {expected}"
        );
    }
}

#[test]
fn a_repeated_step_is_repeated_and_thinks_its_own_time() {
    let workload = shop();
    let mut by_session: std::collections::BTreeMap<u64, Vec<Launch>> = std::collections::BTreeMap::new();
    let launched = launches(&workload, Share::ALL);
    let robots = workload.flows().unwrap().first_place(3);
    for (launch, _) in launched {
        by_session.entry(launch.session).or_default().push(launch);
    }
    let visitors = by_session.values().filter(|launches| launches[0].place < robots);
    let mut searched = 0;
    for launches in visitors {
        assert_eq!(launches[0].place, 0, "visitors begin at home");
        for pair in launches.windows(2) {
            let thought = pair[0].intended.until(pair[1].intended);
            let searching = (1..=3).contains(&pair[0].place);
            searched += u32::from(searching);
            assert_eq!(thought, Nanos::from_secs(if searching { 4 } else { 1 }));
            if (1..=2).contains(&pair[0].place) {
                assert_eq!(pair[1].place, pair[0].place + 1);
            }
        }
    }
    assert!(searched > 1000);
}

#[test]
fn shares_of_flows_add_up_to_the_run() {
    let workload = shop();
    let mut parts: Vec<_> = (0..3).flat_map(|k| launches(&workload, Share::new(k, 3).unwrap())).collect();
    let mut whole = launches(&workload, Share::ALL);
    parts.sort();
    whole.sort();
    assert_eq!(parts, whole);
}

#[test]
fn a_closed_user_begins_again() {
    let text = SHOP.replace(
        r#"partly_open = { rate = "10/s", think = { constant = "1s" } }"#,
        r#"closed = { users = 50, think = { exponential = "1s" } }"#,
    );
    let workload = parse(&text).unwrap();
    let launched = launches(&workload, Share::ALL);
    let shares = workload.shares();
    for (request, share) in shares.iter().enumerate() {
        let seen = launched.iter().filter(|(_, sent)| usize::from(*sent) == request).count() as f64;
        let seen = seen / launched.len() as f64;
        assert!((seen - share).abs() < 0.02, "request {request}: share {seen}, expected {share}");
    }
    // Responses take no time, so X = N / Z.
    let rate = launched.len() as f64 / 1000.0;
    assert!((rate * workload.mean_think().unwrap() / 50.0 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn invalid_input_is_an_error_of_one_line() {
    let wrong = |from: &str, to: &str| {
        assert!(SHOP.contains(from), "{from}");
        parse(&SHOP.replacen(from, to, 1)).unwrap_err()
    };
    for (from, to, says) in [
        ("search = 0.9,", "search = 0.8,", "w.toml:31: flow[1].matrix.search: the row sums to 0.9,"),
        ("home = { search = 1.0 }", "home = { serach = 1.0 }", "no step is named `serach` (did you mean `search`?)"),
        ("stay = 0.5", "stay = 1.5", "a probability is from 0 to 1, not 1.5"),
        ("request = \"buy\"", "request = \"buyy\"", "no request is named `buyy` (did you mean `buy`?)"),
        ("request = \"buy\"", "request = \"buy\"\nname = \"search\"", "a second step named `search`"),
        ("request = \"buy\"", "request = \"buy\"\nname = \"leave\"", "`leave` is the reserved branch"),
        ("name = \"robot\"", "name = \"visitor\"", "two flows are named `visitor`"),
        ("home = 0.05, leave = 0.05", "home = 0.1", "sessions never leave step `search` of flow `robot`"),
        ("start = \"search\"\n", "", "`start` is missing"),
        ("rate = \"10/s\",", "rate = \"10/s\", stay = 0.5,", "the flows determine the length of a session"),
        (
            "partly_open = { rate = \"10/s\", think = { constant = \"1s\" } }",
            "open = { rate = \"10/s\" }",
            "partly_open or closed",
        ),
        ("repeat = 3", "repeat = 100000", "too many"),
        (
            "name = \"buy\"\npost = \"/buy\"",
            "name = \"buy\"\npost = \"/buy\"\n[[request]]\nname = \"odd\"\nget = \"/\"",
            "`odd` is in no flow",
        ),
        ("next = { search = 1, buy = 1, leave = 2 }", "next = { leave = 0 }", "above zero"),
    ] {
        let line = wrong(from, to);
        assert!(line.contains(says) && !line.contains('\n'), "{line}");
    }
}

/// Two flows of two steps each, all ways leading on and out.
fn two() -> (Vec<Flow>, Vec<Step>) {
    let flow = |name: &str, start| Flow { name: name.to_owned(), weight: 1.0, start, once: None };
    let step = |flow: u16, name: &str, to: Option<u16>| Step {
        flow,
        name: name.to_owned(),
        request: 0,
        repeat: 1,
        think: None,
        next: Branches::new([(to, 1.0)]),
        rules: Rules::default(),
    };
    let steps = vec![step(0, "a", Some(1)), step(0, "b", None), step(1, "a", None), step(1, "b", Some(2))];
    (vec![flow("first", 0), flow("second", 3)], steps)
}

type Break = fn(&mut Vec<Flow>, &mut Vec<Step>);

#[test]
fn flows_that_no_session_could_walk_through_cannot_be_made() {
    let (flows, steps) = two();
    assert_eq!(Flows::new(flows, steps).unwrap().visits(), [0.5, 0.5, 0.5, 0.5]);
    let broken: [(Break, &str); 16] = [
        (|flows, _| flows.clear(), "at least one flow"),
        (|flows, _| flows.iter_mut().for_each(|flow| flow.weight = 0.0), "at least one flow needs a weight above zero"),
        (|flows, _| flows[1].weight = f64::NAN, "weight of flow `second` must be zero or more, not NaN"),
        (|flows, _| flows[1].weight = -1.0, "weight of flow `second` must be zero or more, not -1"),
        (|flows, _| flows[1].name = "first".to_owned(), "two flows are named `first`"),
        (|flows, _| flows[1].start = 1, "flow `second` begins with step 1, which belongs to another flow"),
        (|flows, _| flows[1].start = 4, "flow `second` begins with step 4"),
        (|_, steps| steps.truncate(2), "flow `second` has no step"),
        (|_, steps| steps.swap(1, 2), "must be grouped by flow"),
        (|_, steps| steps[3].flow = 2, "step `b` belongs to flow 2, but there are only 2"),
        (|_, steps| steps[1].name = "a".to_owned(), "flow `first` has a second step named `a`"),
        (|_, steps| steps[1].name = "leave".to_owned(), "`leave` is the reserved branch"),
        (|_, steps| steps[1].repeat = 0, "step `b` of flow `first` sends no request"),
        (
            |_, steps| steps[1].next = Branches::new([(None, 0.0)]),
            "step `b` of flow `first` has no branch with a weight above zero",
        ),
        (|_, steps| steps[0].next = Branches::new([(Some(2), 1.0)]), "leads to step 2, which is not in flow `first`"),
        (|_, steps| steps[0].next = Branches::new([(Some(0), 1.0)]), "never leave"),
    ];
    for (breaks, says) in broken {
        let (mut flows, mut steps) = two();
        breaks(&mut flows, &mut steps);
        let line = Flows::new(flows, steps).unwrap_err().to_string();
        assert!(line.contains(says), "{line}");
    }
}

proptest! {
    /// A random chain: the visits are a fixed point of v = e + v P, however rarely sessions leave.
    #[test]
    fn visits_are_a_fixed_point(
        rows in prop::collection::vec(prop::collection::vec(0.0..1.0f64, 8), 8),
        leave in 1e-9..1.0f64,
    ) {
        let steps = rows.iter().enumerate().map(|(number, row)| {
            let ways = row.iter().enumerate().map(|(to, weight)| (Some(to as u16), *weight));
            let next = Branches::new(ways.chain([(None, leave)]));
            Step { flow: 0, name: number.to_string(), request: 0, repeat: 1, think: None, next, rules: Rules::default() }
        });
        let flow = Flow { name: String::new(), weight: 1.0, start: 0, once: None };
        let flows = Flows::new(vec![flow], steps.collect()).unwrap();
        let mut again = [0.0; 8];
        again[0] = 1.0;
        for (step, visits) in flows.steps().iter().zip(flows.visits()) {
            for (to, probability) in step.next.ways() {
                if let Some(to) = to {
                    again[usize::from(to)] += visits * probability;
                }
            }
        }
        for (once, twice) in flows.visits().iter().zip(again) {
            prop_assert!((once - twice).abs() <= 1e-12 * once, "{once} {twice}");
        }
    }
}
