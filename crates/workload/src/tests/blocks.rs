use crate::Workload;
use crate::write::tests::read;

const START: &str = "seed = 5\nduration = \"100s\"\narrivals.partly_open.rate = \"10/s\"\n\
    [[request]]\nname = \"a\"\nget = \"/a\"\nextract = [{ name = \"n\", regex = 'x', default = \"\" }]\n\
    [[request]]\nname = \"b\"\nget = \"/b\"\n[[request]]\nname = \"c\"\nget = \"/c\"\n[[request]]\nname = \"d\"\nget = \"/d\"\n\
    [[flow]]\nname = \"f\"\nstep = ";

fn workload(steps: &str) -> Workload {
    read(&format!("{START}{steps}\n"))
}

fn walk(workload: &Workload, session: u64) -> String {
    let labels = workload.labels();
    workload.walk(session).map(|(_, label)| labels[usize::from(label)].clone()).collect()
}

/// The walk of a session during a run, where `decide` decides the conditions by their number and the number of the request.
fn decided(workload: &Workload, decide: impl Fn(u16, u32) -> f64) -> String {
    let labels = workload.labels();
    let mut walk = vec![workload.walk_from(0)];
    while let Some(next) = {
        let (launch, _) = walk[walk.len() - 1];
        workload.walk_on(launch, &mut |number| Some(decide(number, launch.step)))
    } {
        walk.push(next);
    }
    walk.iter().map(|(_, label)| labels[usize::from(*label)].as_str()).collect()
}

const COUNTED: &str = "[\"a\", { repeat = 3, step = [\"b\", { request = \"c\", repeat = 2 }] }, \"d\"]";
const NESTED: &str = "[\"a\", { repeat = 2, step = [\"b\", { repeat = 3, step = [\"c\"] }] }, \"d\"]";
const UNTIL: &str = "[\"a\", { repeat = 4, until = { ok = true, probability = 0.3 }, step = [\"b\", \"c\"] }, \"d\"]";
const IF: &str = "[\"a\", { if = { value = \"{{n}}\", probability = 0.4 }, repeat = 2, step = [\"b\", \"c\"] }, \"d\"]";
const BREAK: &str = "[\"a\", { repeat = 5, step = [{ request = \"b\", next = { c = 3, d = 1 } }, \"c\"] }, \"d\"]";
const LAST_IF: &str =
    "[\"a\", { repeat = 3, step = [\"b\", { request = \"c\", if = { ok = true, probability = 0.5 } }] }, \"d\"]";
const WEIGHTS: &str = "[{ request = \"a\", next = { b = { value = \"{{n}}\", expected = 3 }, c = 1 } }, \
    { request = \"b\", next = { d = 1 } }, { request = \"c\" }, \"d\"]";

#[test]
fn blocks_repeat_their_steps_together() {
    assert_eq!(walk(&workload(COUNTED), 0), "abccbccbccd");
    assert_eq!(walk(&workload(NESTED), 0), "abcccbcccd");
    assert_eq!(
        walk(&workload("[{ repeat = 2, step = [{ repeat = 2, step = [\"a\", \"b\"] }, \"c\"] }, \"d\"]"), 7),
        "ababcababcd"
    );
    assert_eq!(walk(&workload("[\"d\", \"c\", { repeat = 3, step = [\"b\", \"a\"] }]"), 7), "dcbababa");
}

#[test]
fn conditions_end_or_skip_blocks() {
    let until = workload(UNTIL);
    assert_eq!(decided(&until, |_, _| 1.0), "abcd");
    assert_eq!(decided(&until, |_, _| 0.0), "abcbcbcbcd");
    assert_eq!(decided(&until, |_, step| if step < 4 { 0.0 } else { 1.0 }), "abcbcd");
    let skipped = workload(IF);
    assert_eq!((decided(&skipped, |_, _| 0.0), decided(&skipped, |_, _| 1.0)), ("ad".into(), "abcbcd".into()));
    // The condition of a step does not end the block.
    let last = workload(LAST_IF);
    assert_eq!((decided(&last, |_, _| 0.0), decided(&last, |_, _| 1.0)), ("abbbd".into(), "abcbcbcd".into()));
    // A block within a block is entered again in each repetition.
    let inner =
        "[\"a\", { repeat = 2, step = [\"b\", { if = { ok = true, probability = 0.5 }, step = [\"c\"] }] }, \"d\"]";
    assert_eq!(decided(&workload(inner), |_, step| f64::from(u8::from(step > 1))), "abbcd");
}

#[test]
fn weights_are_values_of_the_session() {
    let weights = workload(WEIGHTS);
    assert_eq!((decided(&weights, |_, _| 0.0), decided(&weights, |_, _| 1e9)), ("acd".into(), "abd".into()));
    let alone =
        workload("[{ request = \"a\", next = { b = { value = \"{{n}}\", expected = 1 } } }, \"b\", \"c\", \"d\"]");
    assert_eq!(decided(&alone, |_, _| 0.0), "a", "without a weight above 0 the session leaves");
}

#[test]
fn expected_numbers_of_requests_are_those_that_are_made() {
    for steps in [COUNTED, NESTED, UNTIL, IF, BREAK, LAST_IF, WEIGHTS] {
        let workload = workload(steps);
        let walks: Vec<String> = (0..20_000).map(|session| walk(&workload, session)).collect();
        let flows = workload.flows().unwrap();
        let shares = flows.shares(4);
        for (label, name) in ["a", "b", "c", "d"].iter().enumerate() {
            let drawn = walks.iter().map(|walk| walk.matches(name).count()).sum::<usize>() as f64 / walks.len() as f64;
            let expected = shares[label] * flows.mean();
            assert!((drawn - expected).abs() < 0.03 + 0.01 * expected, "{steps}\n{name}: {drawn} {expected}");
        }
    }
}

#[test]
fn blocks_are_written_as_they_are_read() {
    for steps in [COUNTED, NESTED, UNTIL, IF, BREAK, LAST_IF, WEIGHTS] {
        let workload = workload(steps);
        assert_eq!(read(&workload.to_string()), workload, "{workload}");
    }
    let once = START.replace("[[flow]]", "[once]\nend = [{ repeat = 2, step = [\"c\", \"d\"] }]\n[[flow]]");
    let workload = read(&format!("{once}[\"a\", \"b\"]\n"));
    assert_eq!(read(&workload.to_string()), workload, "{workload}");
    assert_eq!(walk(&workload, 0), "abcdcd");
}

#[test]
fn mistakes_in_blocks_are_named() {
    for (steps, reason) in [
        ("[\"a\", { repeat = 2, step = [] }, \"b\", \"c\", \"d\"]", "at least one step"),
        ("[\"a\", { repeat = 2, think = \"1s\", step = [\"b\"] }, \"c\", \"d\"]", "needs request"),
        ("[\"a\", { until = { ok = true }, step = [\"b\"] }, \"c\", \"d\"]", "maximum number of repetitions"),
        ("[\"a\", { repeat = 2, step = [\"b\"], request = \"c\" }, \"d\"]", "request"),
        ("[{ if = { ok = true }, step = [\"a\", \"b\"] }, \"c\", \"d\"]", "before any response"),
        ("[\"a\", { repeat = 30000, step = [\"b\", { request = \"c\", repeat = 9 }] }, \"d\"]", "65535"),
        (
            "[\"a\", { request = \"b\", stay = 0.5, next = { c = { value = \"{{n}}\", expected = 1 } } }, \"c\", \"d\"]",
            "stay",
        ),
        ("[\"a\", { request = \"b\", next = { c = { value = \"{{n}}\" } } }, \"c\", \"d\"]", "expected"),
    ] {
        let text = format!("{START}{steps}\n");
        let message = Workload::parse(&text, "w", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(message.contains(reason), "{steps}: {message}");
    }
}
