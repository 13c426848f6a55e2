use offered_schedule::flow::OnFailure;

use crate::Workload;
use crate::write::tests::read;

const START: &str = "seed = 5\nduration = \"100s\"\narrivals.partly_open.rate = \"10/s\"\n\
    [[request]]\nname = \"a\"\nget = \"/a\"\ncheck = [{ name = \"good\", status = 200 }]\n\
    extract = [{ name = \"n\", regex = 'x', default = \"\" }]\n[[request]]\nname = \"b\"\nget = \"/b\"\n\
    [[request]]\nname = \"c\"\nget = \"/c\"\n[[flow]]\nname = \"f\"\n";

fn steps(steps: &str) -> String {
    format!("{START}{steps}")
}

/// The names of the requests of each of the first 20,000 sessions.
fn walks(workload: &Workload) -> Vec<String> {
    let labels = workload.labels();
    let walk = |session| workload.walk(session).map(|(_, label)| labels[usize::from(label)].as_str()).collect();
    (0..20_000).map(walk).collect()
}

/// The mean number of requests of each label, drawn and expected.
fn assert_as_expected(text: &str) {
    let workload = read(text);
    let walks = walks(&workload);
    let flows = workload.flows().unwrap();
    let shares = flows.shares(3);
    for (label, name) in ["a", "b", "c"].iter().enumerate() {
        let drawn = walks.iter().map(|walk| walk.matches(name).count()).sum::<usize>() as f64 / walks.len() as f64;
        let expected = shares[label] * flows.mean();
        assert!((drawn - expected).abs() < 0.05 + 0.02 * expected, "{text}\n{name}: {drawn} {expected}");
    }
}

#[test]
fn conditions_hold_with_their_probabilities_where_no_response_decides() {
    assert_as_expected(&steps(
        "step = [{ request = \"a\" }, { request = \"b\", if = { ok = true, probability = 0.3 } }, { request = \"c\" }]",
    ));
    assert_as_expected(&steps(
        "step = [{ request = \"a\", repeat = 5, until = { value = \"{{n}}\", is = \"1\", probability = 0.4 } }, { request = \"b\" }, { request = \"c\" }]",
    ));
    assert_as_expected(&steps(
        "step = [{ request = \"a\", switch = [{ status = 404, next = \"c\", probability = 0.2 }, { check = \"good\", next = \"leave\", probability = 0.5 }] }, \
         { request = \"b\", if = { ok = true, probability = 0.5 }, next = { c = 1, a = 1 } }, { request = \"c\" }]",
    ));
}

#[test]
fn responses_decide_during_a_run() {
    let workload = read(&steps(
        "step = [{ request = \"a\", repeat = 4, while = { ok = true } }, { request = \"b\", if = { status = 404 } }, \
         { request = \"c\", switch = [{ ok = false, next = \"a\" }] }]",
    ));
    let labels = workload.labels();
    let walked = |decide: &dyn Fn(u16) -> bool| {
        let mut walk = vec![workload.walk_from(0)];
        while let Some(next) =
            workload.walk_on(walk[walk.len() - 1].0, &mut |number| Some(f64::from(u8::from(decide(number)))))
        {
            walk.push(next);
        }
        walk.iter().map(|(_, label)| labels[usize::from(*label)].as_str()).collect::<String>()
    };
    // `while` is the negated condition 0, `if` is 1, the switch 2.
    assert_eq!(walked(&|_| false), "aaaac");
    assert_eq!(walked(&|number| number == 0), "ac");
    assert_eq!(walked(&|number| number == 1), "aaaabc");
    assert!(workload.is_scripted());
    assert!(workload.check_probabilities().unwrap_err().to_string().contains("step `a` has a condition"));
}

#[test]
fn conditions_are_written_as_they_are_read() {
    let workload = read(&steps(
        "step = [{ request = \"a\", repeat = 4, while = { all = [{ ok = true }, { any = [{ status = 200 }, { value = \"{{n}}\", number = \"1..2.5\" }], not = true }], probability = 0.25 }, on_failure = \"stop\" }, \
         { request = \"b\", if = { value = \"{{n}}\", matches = '^\\d', not = true, probability = 0.1 } }, \
         { request = \"c\", switch = [{ status = [200, \"3xx\"], next = \"a\", probability = 0.5 }, { check = \"good\", next = \"leave\" }, \
           { value = \"{{n}}\", number = \">= 3\", next = \"b\" }, { value = \"{{n}}\", contains = \"{{session}}\", next = \"b\" }] }]",
    ));
    assert_eq!(read(&workload.to_string()), workload, "{workload}");
    assert_eq!(workload.flows().unwrap().on_failure(0), Some(OnFailure::Stop));
}

#[test]
fn conditions_that_cannot_be_decided_are_errors() {
    for (text, reason) in [
        (
            "step = [{ request = \"a\", if = { ok = true } }, { request = \"b\" }, { request = \"c\" }]",
            "begins with a step",
        ),
        (
            "step = [{ request = \"a\", until = { ok = true } }, { request = \"b\" }, { request = \"c\" }]",
            "repeat = 10",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { check = \"god\" } }, { request = \"c\" }]",
            "did you mean `good`",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { value = \"{{m}}\" } }, { request = \"c\" }]",
            "{{m}} is undefined",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { ok = true, is = \"x\" } }, { request = \"c\" }]",
            "need value",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { ok = true, probability = 2 } }, { request = \"c\" }]",
            "from 0 to 1",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { any = [{ ok = true }] } }, { request = \"c\" }]",
            "combines at least two",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { all = [{ ok = true }, { ok = true, probability = 1 }] } }, { request = \"c\" }]",
            "probability",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { all = [{ ok = true }, { check = \"god\" }] } }, { request = \"c\" }]",
            "did you mean `good`",
        ),
        (
            "step = [{ request = \"a\" }, { request = \"b\", if = { value = \"{{n}}\", number = \"> x\" } }, { request = \"c\" }]",
            "is not a range of numbers",
        ),
        (
            "step = [{ request = \"a\", switch = [{ ok = true, next = \"d\" }] }, { request = \"b\" }, { request = \"c\" }]",
            "no step is named `d`",
        ),
        (
            "step = [{ request = \"a\", repeat = 2, until = { ok = true }, while = { ok = true } }, { request = \"b\" }, { request = \"c\" }]",
            "cannot be combined with until",
        ),
    ] {
        let message = Workload::parse(&steps(text), "w", &|_| Err(String::new())).unwrap_err().to_string();
        assert!(message.contains(reason), "{text}: {message}");
    }
}

#[test]
fn a_value_may_be_missing_where_its_step_is_skipped() {
    let text = "step = [{ request = \"b\" }, { request = \"a\", if = { ok = true } }, { request = \"c\" }]\n";
    let needs = steps(text).replace("get = \"/c\"", "get = \"/c?{{m}}\"").replace("name = \"n\"", "name = \"m\"");
    let message = Workload::parse(&needs, "w", &|_| Err(String::new())).unwrap_err().to_string();
    assert!(message.contains("reaches this request without it: b -> c"), "{message}");
}

#[test]
fn ranges_of_numbers_are_decimal() {
    use crate::condition::NumberRange;
    let range = |text: &str| text.parse::<NumberRange>().unwrap();
    for (text, inside, outside) in [
        ("> 3.5", 3.6, 3.5),
        (">= -1", -1.0, -1.5),
        ("< 2", 1.9, 2.0),
        ("<= 2", 2.0, 2.1),
        ("= 3", 3.0, 3.1),
        ("-2..2.5", 2.5, 2.6),
    ] {
        assert!(range(text).contains(inside) && !range(text).contains(outside), "{text}");
        assert_eq!(range(&range(text).to_string()), range(text));
    }
    for text in ["", "x", "2..1", "< inf", "> nan"] {
        assert!(text.parse::<NumberRange>().is_err(), "{text}");
    }
}
