//! Workloads built in code: conflicts between their parts, and writing and reading them.

use super::*;
use crate::WhenFull;
use crate::script::{
    self, AtEnd, Auth, Body, Check, Content, CsvFormat, Draw, Extraction, Feeder, Find, IfMissing, Objects, Order,
    Part, Per, Sizes, Test, TextCondition, When, Which,
};
use crate::write::tests::workload as written;
use offered_schedule::Closed;
use offered_schedule::arrivals::Schedule;
use offered_schedule::replay::{Replay, ReplayMode};

/// A draft of closed users with two requests and a modelled server, for ten seconds.
fn draft() -> Draft {
    let users = Closed::new(3, Distribution::exponential(1.0).unwrap()).unwrap();
    Draft {
        target: Some(Target::new("http://127.0.0.1:8080".parse().unwrap())),
        server: Some(Server::new(1, Policy::Ps(None), Distribution::exponential(0.01).unwrap()).unwrap()),
        requests: vec![Request::get("/a").with_weight(3.0), Request::get("/b").named("b")],
        ..Draft::new(Sessions::Closed(users), Nanos::from_secs(10))
    }
}

#[test]
fn a_workload_built_in_code_equals_the_workload_read_from_its_text() {
    let made = Workload::new(draft()).unwrap();
    let text = "seed = 1\nduration = \"10s\"\n\n[arrivals]\nclosed = { users = 3, think = { exponential = \"1s\" } }\n\n[target]\n\
                url = \"http://127.0.0.1:8080/\"\n\n[server]\ndiscipline = \"ps\"\nservice = { exponential = \"10ms\" }\n\n[[request]]\n\
                name = \"/a\"\nget = \"/a\"\nweight = 3\n\n[[request]]\nname = \"b\"\nget = \"/b\"\n";
    assert_eq!(made.to_string(), text);
    assert_eq!(parse(text).unwrap(), made);
}

fn station() -> Station {
    let service = Distribution::exponential(0.01).unwrap();
    Station {
        name: "db".to_owned(),
        visits: 1.0,
        server: Server::new(1, Policy::Fcfs, service).unwrap(),
        when_full: WhenFull::Reject,
    }
}

/// A replay of a trace with three requests.
fn replay() -> Sessions {
    let text = "offered.trace/1\nGET /a\nGET /b\nGET /c\n0 0 0\n1.5 0 1\n2.5 0 2\n";
    let (trace, _) = Trace::parse(text, "thrice.trace").unwrap();
    Sessions::Replay(Replay::new(Arc::new(trace), 1.0, ReplayMode::Open).unwrap())
}

fn change_target(draft: &mut Draft, change: impl FnOnce(Target) -> Target) {
    draft.target = draft.target.take().map(change);
}

fn named_text((name, text): (&str, &str)) -> (String, Template) {
    (name.to_owned(), Template::new(text))
}

fn part(name: &str) -> Part {
    let content = Ok(Content::Text(Template::new("x")));
    Part { name: name.to_owned(), file: None, raw: false, media_type: None, content }
}

fn taken(find: Find, which: Which) -> Extraction {
    Extraction { name: "token".to_owned(), find, which, if_missing: IfMissing::Fail }
}

fn constant(name: &str, per: Per) -> Variable {
    Variable { name: name.to_owned(), source: script::Source::Constant(Ok("1".to_owned())), per, env: None }
}

fn rows(order: Order, at_end: AtEnd) -> Variable {
    let rows = Err("no such file".to_owned());
    let feeder =
        Feeder { file: "lost.csv".to_owned(), order, at_end, columns: None, format: CsvFormat::default(), rows };
    Variable { name: "row".to_owned(), source: script::Source::Feeder(feeder), per: Per::Session, env: None }
}

#[test]
fn conflicting_parts_are_refused() {
    type Break = fn(&mut Draft);
    let broken: &[(Break, &str)] = &[
        (|draft| draft.duration = Nanos::ZERO, "leave nothing of the duration 0s"),
        (|draft| draft.skip_last = Nanos::from_secs(10), "leave nothing of the duration 10s"),
        (|draft| draft.requests.clear(), "between 1 and 65535"),
        (|draft| draft.requests[1].name = "/a".to_owned(), "two requests are named `/a`"),
        (|draft| draft.requests[1].weight = f64::NAN, "a weight must be zero or more, not NaN"),
        (|draft| draft.requests.iter_mut().for_each(|request| request.weight = 0.0), "a weight above zero"),
        (|draft| draft.requests[1].path = Template::new("/{{shop}}"), "request `b`: {{shop}} is undefined"),
        (|draft| draft.thresholds = vec!["p99{c} < 1s".parse().unwrap()], "`c` is not one of /a, b"),
        (|draft| draft.stations = vec![station()], "[[station]] cannot be combined with [server]"),
        (|draft| (draft.server, draft.stations) = (None, vec![station(), station()]), "two stations are named `db`"),
        (|draft| draft.sessions = replay(), "sessions use request number 2, but there are only 2"),
        (
            |draft| {
                draft.sessions = replay();
                draft.requests.push(Request::get("/c"));
            },
            "a trace contains only method and path",
        ),
        (|draft| change_target(draft, |target| target.with_response_timeout(Nanos::ZERO)), "must be longer than 0s"),
        (|draft| change_target(draft, |target| target.with_connect_timeout(Nanos::ZERO)), "must be longer than 0s"),
        (|draft| change_target(draft, |target| target.with_redirects(101)), "101 redirects are too many"),
        (
            |draft| {
                change_target(draft, |target| target.with_url("postgres://a@h/b".parse().unwrap()).with_cookies(true));
            },
            "does not apply to a database",
        ),
        (
            |draft| {
                change_target(draft, |mut target| {
                    target.pools = vec![Pool { name: "a".to_owned(), connections: 0 }];
                    target.with_url("postgres://a@h/b".parse().unwrap())
                });
                draft.requests.clear();
                draft.requests.push(Request::get("/"));
                let sql = Sql { statements: Vec::new(), is_transaction: true, class: Some("a".to_owned()) };
                draft.requests[0].call = Call::Sql(sql);
            },
            "the pool `a` must have at least 1 connection",
        ),
        (
            |draft| {
                let host = "a b".to_owned();
                change_target(draft, |target| target.with_proxy(Some(Proxy { host, port: 1, user: None })));
            },
            "address of the proxy cannot be written",
        ),
        (|draft| draft.requests[0].headers = [("A", "1"), ("A", "2")].map(named_text).to_vec(), "duplicate `A`"),
        (
            |draft| draft.requests[0].body = Body::Form([("a", "1"), ("a", "2")].map(named_text).to_vec()),
            "duplicate `a`",
        ),
        (|draft| draft.requests[0].body = Body::Multipart(vec![part("a\"b")]), "has a quote"),
        (|draft| draft.requests[0].extract = vec![taken(Find::Json("$".to_owned()), Which::Nth(0))], "at least 1"),
        (|draft| draft.requests[0].extract = vec![taken(Find::Body, Which::Random)], "cannot be extracted as a whole"),
        (
            |draft| draft.requests[0].checks = vec![Check::of(Test::Size(Sizes { least: 2, most: 1 }))],
            "the range 2..1 is empty",
        ),
        (|draft| draft.variables = vec![constant("a", Per::Request)], "a constant has only one value"),
        (|draft| draft.variables = vec![rows(Order::Random, AtEnd::Stop)], "rows in random order have no last row"),
        (
            |draft| draft.thresholds = ["p99 < 1s", "response.p99 > 1ms"].map(|text| text.parse().unwrap()).to_vec(),
            "response.p99 has two thresholds",
        ),
    ];
    for (breaks, says) in broken {
        let mut draft = draft();
        breaks(&mut draft);
        let line = Workload::new(draft).map(|workload| workload.to_string()).expect_err(says).to_string();
        assert!(line.contains(says), "{line}");
    }
}

/// A change of one part of a draft, valid or not, by a number.
type Change = fn(&mut Draft, u64);

const WORDS: [&str; 8] = ["a", "", "a b", "{{shop}}", "{{x}", "é\"'", "\n", "leave"];

fn word(number: u64) -> String {
    WORDS[number as usize % WORDS.len()].to_owned()
}

fn change_request(draft: &mut Draft, change: impl FnOnce(Request) -> Request) {
    if !draft.requests.is_empty() {
        draft.requests[0] = change(draft.requests[0].clone());
    }
}

const CHANGES: [Change; 25] = [
    |draft, n| change_target(draft, |target| target.with_response_timeout(Nanos(n % 4))),
    |draft, n| change_target(draft, |target| target.with_connect_timeout(Nanos(n % 4 * 1_000_001))),
    |draft, n| change_target(draft, |target| target.with_redirects(n as u32 % 4 * 40)),
    |draft, n| {
        let urls = ["http://h/a b", "postgres://me:p@h/shop?sslmode=disable", "unix:/run/a.sock", "https://[::1]/"];
        if let Ok(url) = urls[n as usize % 4].parse() {
            change_target(draft, |target| target.with_url(url));
        }
    },
    |draft, n| {
        let address = Address::Tcp { host: word(n), port: n as u16 };
        change_target(draft, |target| {
            target.with_url(Url { address, path: "/".to_owned() + &word(n / 8), secure: false, login: None })
        });
    },
    |draft, n| {
        let user = Some(word(n / 8)).filter(|user| !user.is_empty());
        change_target(draft, |target| target.with_proxy(Some(Proxy { host: word(n), port: 1, user })));
    },
    |draft, n| change_target(draft, |target| target.with_cookies(n % 2 == 0)),
    |draft, n| {
        let omitted = Target::OWN_HEADERS[..n as usize % 3].iter().map(|name| (*name).to_owned());
        change_target(draft, |target| target.with_omit_headers(omitted.collect()));
    },
    |draft, n| {
        change_target(draft, |target| {
            target.with_headers(vec![named_text(("X", &word(n))), named_text(("Y", &word(n / 8)))])
        });
    },
    |draft, n| change_target(draft, |target| target.with_auth(Some(Auth::Basic(Template::literal(&word(n)))))),
    |draft, n| draft.variables.push(Variable { name: "own".to_owned() + &word(n), ..constant("", Per::Session) }),
    |draft, n| {
        let per = [Per::Session, Per::Visit, Per::Request][n as usize % 3];
        draft.variables.iter_mut().for_each(|variable| variable.per = per);
    },
    |draft, n| {
        if let Some(shop) = draft.variables.iter_mut().find(|variable| variable.name == "shop") {
            shop.source = script::Source::Constant(Ok(word(n)));
        }
    },
    |draft, n| {
        let order = [Order::Sequential, Order::Random, Order::Shuffled][n as usize % 3];
        draft.variables.push(rows(order, [AtEnd::Repeat, AtEnd::Stop, AtEnd::Error][n as usize / 3 % 3]));
    },
    |draft, n| {
        let distribution = Distribution::uniform(0.0, n as f64 / 7.0).unwrap();
        let source = script::Source::Random(Draw {
            distribution,
            shift: -((n % 10) as f64) / 10.0,
            decimals: (n % 11) as u8,
            min: (n % 3 == 0).then_some(n as f64 / 8.0),
        });
        draft.variables.push(Variable { source, ..constant("drawn", Per::Session) });
    },
    |draft, _| draft.variables.clear(),
    |draft, n| change_request(draft, |request| request.named(word(n))),
    |draft, n| {
        change_request(draft, |request| {
            request.with_body(Body::Form(vec![named_text(("a", &word(n))), named_text((&word(n / 8), "b"))]))
        });
    },
    |draft, n| {
        let file = Part { file: Some(word(n / 8)), content: Err("no such file".to_owned()), ..part(&word(n)) };
        let part = if n % 2 == 0 { file } else { part(&word(n)) };
        change_request(draft, |request| request.with_body(Body::Multipart(vec![part])));
    },
    |draft, n| {
        change_request(draft, |request| {
            request
                .with_extract(vec![taken(Find::Css { selector: word(n), attribute: None }, Which::Nth(n as u32 % 3))])
        });
    },
    |draft, n| {
        let tests = [
            Test::Size(Sizes { least: n % 5, most: n % 3 }),
            Test::Status(vec![(n as u16 % 700, n as u16 % 701 + 99)]),
            Test::Text(Find::Header(word(n)), TextCondition::Is(Template::literal(&word(n / 8)))),
            Test::Sha256(word(n)),
        ];
        change_request(draft, |request| request.with_checks(vec![Check::of(tests[n as usize % 4].clone())]));
    },
    |draft, n| {
        let objects = Objects {
            paths: vec![Template::new(&format!("/{}", word(n)))],
            connections: n as u8 % 66,
            when: When::While,
            may_fail: n.is_multiple_of(2),
        };
        change_request(draft, |request| request.with_objects(Some(objects)));
    },
    |draft, n| draft.thresholds.extend(["p99 < 1s", "p50{b} <= 2ms"][n as usize % 2].parse::<Threshold>()),
    |draft, n| (draft.skip_first, draft.late) = (Nanos(n), Late::Skip(Nanos(n % 3))),
    |draft, n| {
        draft.sessions = if n % 2 == 0 { replay() } else { Sessions::Open(Schedule::poisson("7.5/m".parse().unwrap())) }
    },
];

proptest! {
    #[test]
    fn every_workload_is_read_back_from_its_text(
        text in written(), changes in prop::collection::vec((0..CHANGES.len(), any::<u32>()), 1..4)
    ) {
        let mut draft = read(&text).into_draft();
        for (change, number) in &changes {
            CHANGES[*change](&mut draft, u64::from(*number));
        }
        if let Ok(workload) = Workload::new(draft) {
            let text = workload.to_string();
            let again = Workload::parse(&text, "plans/w.toml", &files);
            prop_assert_eq!(again.as_ref(), Ok(&workload), "{:?}\n{}", changes, text);
        }
    }
}

#[test]
fn a_changed_constant_is_filled_in_again() {
    let mut draft = Draft { variables: vec![constant("a", Per::Session)], ..draft() };
    draft.requests[0] = Request::new("GET", Template::new("/{{a}}")).unwrap();
    let mut draft = Workload::new(draft).unwrap().into_draft();
    draft.variables[0].source = script::Source::Constant(Ok("2".to_owned()));
    assert_eq!(Workload::new(draft).unwrap().requests()[0].path().text(), Some("/2"));
}
