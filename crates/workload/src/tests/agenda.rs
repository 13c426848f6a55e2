use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::*;
use crate::Workload;
use offered_schedule::After;
use proptest::prelude::*;

fn workload(text: &str) -> Workload {
    Workload::parse(&format!("seed = 7\n{text}"), "w.toml", &|_| Err(String::new())).unwrap()
}

/// Plays one share on a virtual clock against a server that answers after `response(launch)`.
fn play(workload: &Workload, share: Share, response: impl Fn(&Launch) -> Nanos) -> Vec<(Launch, u16)> {
    let (mut agenda, mix) = (workload.agenda(share), workload.mix());
    let mut under_way: BinaryHeap<Reverse<(Instant, Launch)>> = BinaryHeap::new();
    let mut launched = Vec::new();
    loop {
        let done = under_way.peek().map(|top| top.0.0);
        match (agenda.next_due(), done) {
            (Some(due), done) if done.is_none_or(|done| due < done) => {
                let launch = agenda.due(due).unwrap();
                assert_eq!(launch.intended, due);
                assert!(due == Instant::ZERO || agenda.due(Instant(due.0 - 1)).is_none(), "a launch before it is due");
                under_way.push(Reverse((due + response(&launch), launch)));
                launched.push((launch, mix.choose(launch)));
            }
            (_, Some(_)) => {
                let Reverse((done, launch)) = under_way.pop().unwrap();
                agenda.completed(launch, done);
            }
            (None, None) => return launched,
            (Some(_), None) => unreachable!(),
        }
    }
}

/// A response time that depends on the session, as with a real server, but not on the order of other requests.
fn response(launch: &Launch) -> Nanos {
    Nanos(1 + (launch.session * 7_919 + u64::from(launch.step) * 104_729) % 30_000_000)
}

const MODELS: [&str; 12] = [
    "duration = \"20s\"\narrivals.open = { rate = \"100/s\" }",
    "duration = \"20s\"\narrivals.open = { rate = \"100/s\", process = \"constant\", batch = 3 }",
    "duration = \"20s\"\narrivals.open = { rate = \"50/s\", process = \"poisson-fixed-count\" }",
    "duration = \"20s\"\narrivals.open = { rate = { sine = { mean = \"60/s\", amplitude = \"60/s\", period = \"7s\" } }, process = { gamma = 1.5 } }",
    "duration = \"20s\"\narrivals.closed = { users = 57, think = { exponential = \"500ms\" }, ramp = \"3s\" }",
    "duration = \"3s\"\narrivals.closed = { users = 5 }",
    "duration = \"20s\"\narrivals.partly_open = { rate = \"20/s\", stay = 0.8, think = { uniform = [\"0s\", \"1s\"] } }",
    "duration = \"20s\"\narrivals.partly_open = { rate = \"20/s\", length = { empirical = [1, 2, 9] } }",
    "duration = \"20s\"\narrivals.partly_open = { rate = \"20/s\", stay = 0.8, think = { exponential = \"2s\" }, start = \"stationary\" }",
    "duration = \"20s\"\narrivals.partly_open = { rate = \"20/s\", length = { empirical = [1, 2, 9] }, think = { constant = \"1s\" }, start = \"stationary\" }",
    "arrivals.open = { rate = { stages = [[\"0/s\", \"90/s\", \"8s\"], [\"0/s\", \"2s\"], [\"60/s\", \"20/s\", \"10s\"]] } }",
    "arrivals.closed = { users = { stages = [[0, 50, \"5s\"], [50, \"5s\"], [20, 0, \"4s\"], [30, \"6s\"]] }, think = { exponential = \"500ms\" } }",
];

const REQUESTS: &str =
    "\n[[request]]\nget = \"/a\"\nweight = 3\n[[request]]\nget = \"/b\"\n[[request]]\nget = \"/c\"\n";

#[test]
fn all_shares_and_threads_together_are_the_whole_run() {
    for model in MODELS {
        let workload = workload(&format!("{model}{REQUESTS}"));
        let whole: BTreeSet<_> = play(&workload, Share::ALL, response).into_iter().collect();
        assert!(whole.len() > 300, "{model}: {} launches", whole.len());
        for (machines, threads) in [(1, 2), (2, 1), (3, 4), (1, 7)] {
            let mut union = BTreeSet::new();
            for machine in 0..machines {
                for thread in 0..threads {
                    let share = Share::new(machine, machines).unwrap().part(thread, threads);
                    for launch in play(&workload, share, response) {
                        assert!(union.insert(launch), "{model}: {launch:?} launched twice");
                    }
                }
            }
            assert_eq!(union, whole, "{model}: {machines} machines of {threads} threads");
        }
    }
}

#[test]
fn requests_are_in_order_of_time_and_before_the_end() {
    for model in MODELS {
        let workload = workload(model);
        let launched = play(&workload, Share::ALL, response);
        assert!(launched.windows(2).all(|w| w[0].0.intended <= w[1].0.intended), "{model}");
        assert!(launched.iter().all(|(launch, _)| launch.intended < workload.end()), "{model}");
    }
}

#[test]
fn think_times_lengths_and_requests_never_move_an_arrival() {
    let first_steps = |text: &str| -> Vec<Launch> {
        let launched = play(&workload(text), Share::ALL, response);
        launched.into_iter().map(|(launch, _)| launch).filter(|launch| launch.step == 0).collect()
    };
    let open = first_steps("duration = \"20s\"\narrivals.open = { rate = \"20/s\" }");
    for sessions in [
        "stay = 0.8, think = { exponential = \"2s\" }",
        "stay = 0.3",
        "length = { fixed = 9 }, think = { constant = \"10ms\" }",
    ] {
        let text = format!("duration = \"20s\"\narrivals.partly_open = {{ rate = \"20/s\", {sessions} }}{REQUESTS}");
        assert_eq!(first_steps(&text), open, "{sessions}");
    }
}

#[test]
fn stay_zero_is_the_open_system_event_for_event() {
    let open = play(&workload("duration = \"20s\"\narrivals.open = { rate = \"90/s\" }"), Share::ALL, response);
    let partly = play(
        &workload("duration = \"20s\"\narrivals.partly_open = { rate = \"90/s\", stay = 0 }"),
        Share::ALL,
        response,
    );
    assert_eq!(open, partly);
}

#[test]
fn sessions_have_their_length() {
    for (length, mean) in [
        ("stay = 0.8", 5.0),
        ("length = { mean = 4 }", 4.0),
        ("length = { fixed = 3 }", 3.0),
        ("length = { empirical = [1, 2, 9] }", 4.0),
    ] {
        let text = format!("duration = \"1000s\"\narrivals.partly_open = {{ rate = \"20/s\", {length} }}");
        let launched = play(&workload(&text), Share::ALL, |_| Nanos(1000));
        let sessions = launched.iter().filter(|(launch, _)| launch.step == 0).count();
        let seen = launched.len() as f64 / sessions as f64;
        assert!((seen / mean - 1.0).abs() < 0.03, "{length}: {seen} requests a session");
    }
}

#[test]
fn a_closed_user_alternates_between_request_and_think_time() {
    let workload = workload(
        "duration = \"100s\"\narrivals.closed = { users = 1, think = { constant = \"1s\" }, start = \"at-once\" }",
    );
    let launched = play(&workload, Share::ALL, |_| Nanos::from_millis(250));
    let expected: Vec<Instant> = (0..80).map(|i| Instant::from_millis(1250 * i)).collect();
    assert_eq!(launched.iter().map(|(launch, _)| launch.intended).collect::<Vec<_>>(), expected);
}

#[test]
fn users_met_in_mid_thought_make_a_stationary_stream_from_the_first_instant() {
    // 20,000 users with constant think times of 10 s: 2000/s in the first second as in the ninth; at-once makes one bunch.
    let per_second = |start: &str| {
        let text = format!(
            "duration = \"10s\"\narrivals.closed = {{ users = 20000, think = {{ constant = \"10s\" }}, start = \"{start}\" }}"
        );
        let mut counts = [0; 10];
        for (launch, _) in play(&workload(&text), Share::ALL, |_| Nanos(0)) {
            counts[(launch.intended.0 / 1_000_000_000) as usize] += 1;
        }
        counts
    };
    assert!(per_second("mid-thought").iter().all(|n| (1_800..2_200).contains(n)), "{:?}", per_second("mid-thought"));
    assert_eq!(per_second("at-once")[0], 20_000);
}

#[test]
fn a_ramp_spreads_the_users_evenly() {
    let workload = workload(
        "duration = \"10s\"\narrivals.closed = { users = 100, ramp = \"5s\", think = { constant = \"1h\" }, start = \"at-once\" }",
    );
    let launched = play(&workload, Share::ALL, |_| Nanos(0));
    assert_eq!(launched.len(), 100);
    assert!(launched.iter().enumerate().all(|(i, (launch, _))| launch.intended == Instant::from_millis(50 * i as u64)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn superposition_loses_nothing(seed in 0u64..1000, users in 1u64..40, parts in 1u64..9) {
        let text = format!("seed = {seed}\nduration = \"5s\"\narrivals.closed = {{ users = {users}, think = {{ exponential = \"300ms\" }} }}");
        let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
        let mut union: Vec<_> = (0..parts).flat_map(|k| play(&workload, Share::new(k, parts).unwrap(), response)).collect();
        let mut whole = play(&workload, Share::ALL, response);
        union.sort_unstable();
        whole.sort_unstable();
        prop_assert_eq!(union, whole);
    }
}

#[test]
fn a_visit_that_is_broken_off_is_over() {
    let flow = "target.url = \"http://h/\"\nrequest = [{ get = \"/a\" }, { get = \"/b\" }]\n[[flow]]\nname = \"f\"\n\
                [[flow.step]]\nrequest = \"/a\"\n[[flow.step]]\nrequest = \"/b\"\n";
    let after = |arrivals: &str| {
        let mut agenda = workload(&format!("duration = \"10s\"\narrivals.{arrivals}\n{flow}")).agenda(Share::ALL);
        let first = agenda.due(Instant::from_secs(9)).unwrap();
        let after = agenda.broken_off(first, first.intended + Nanos::from_millis(1));
        (after, first, agenda.due(Instant::from_secs(9)))
    };
    let (left, first, next) = after("partly_open.rate = \"1/s\"");
    assert_eq!(left, After::Leaves);
    assert!(next.is_none_or(|next| next.session != first.session));
    // A closed user begins another visit: at the first step, with its next request.
    let (returned, first, next) = after("closed.users = 1");
    let next = next.unwrap();
    assert_eq!(
        (returned, next.session, next.step, next.place),
        (After::Renewed, first.session, first.step + 1, first.place)
    );
}

#[test]
fn a_visit_begins_where_a_walk_begins_and_nowhere_else() {
    // `look` comes back to itself, so its place alone does not tell.
    let flow = "[[request]]\nname = \"look\"\nget = \"/a\"\n[[request]]\nname = \"buy\"\nget = \"/b\"\n[[flow]]\nname = \"f\"\n\
                [[flow.step]]\nrequest = \"look\"\nnext = { look = 1, buy = 1 }\n[[flow.step]]\nrequest = \"buy\"\n";
    let of = |arrivals: &str, rest: &str| {
        play(&workload(&format!("duration = \"20s\"\narrivals.{arrivals}\n{rest}")), Share::ALL, response)
    };
    let walked = of("closed = { users = 3, think = { exponential = \"50ms\" } }", flow);
    let mut bought: std::collections::HashMap<u64, bool> = std::collections::HashMap::new();
    for (launch, request) in &walked {
        let begins = bought.insert(launch.session, *request == 1).unwrap_or(true);
        assert_eq!(launch.visit.begins(), begins, "a user begins again after it has bought: {launch:?}");
    }
    assert!(walked.iter().any(|(launch, _)| launch.step > 0 && launch.visit.begins()));
    assert!(
        of("closed = { users = 3, think = { exponential = \"50ms\" } }", REQUESTS)
            .iter()
            .all(|(l, _)| l.visit.begins())
    );
    let partly = of("partly_open = { rate = \"20/s\", stay = 0.8, think = { exponential = \"50ms\" } }", REQUESTS);
    assert!(partly.iter().all(|(launch, _)| launch.visit.begins() == (launch.step == 0)));
}

#[test]
fn users_leave_after_their_number_of_visits() {
    let walk = "[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\"\nget = \"/b\"\n[[flow]]\nname = \"f\"\n\
                [[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\"\n";
    for (rest, each) in [(walk, 6), (REQUESTS, 3)] {
        let text = format!("duration = \"1h\"\narrivals.closed = {{ users = 7, ramp = \"1s\", visits = 3 }}\n{rest}");
        let launched = play(&workload(&text), Share::ALL, response);
        assert_eq!(launched.len(), 7 * each);
        assert_eq!(launched.iter().filter(|(launch, _)| launch.visit.begins()).count(), 7 * 3);
    }
    // A visit that ends early counts as a visit.
    let mut agenda = workload(&format!("duration = \"1h\"\narrivals.closed = {{ users = 1, visits = 2 }}\n{walk}"))
        .agenda(Share::ALL);
    let first = agenda.due(Instant::ZERO).unwrap();
    assert_eq!(agenda.broken_off(first, Instant(5)), After::Renewed);
    let second = agenda.due(Instant(5)).unwrap();
    assert_eq!(agenda.broken_off(second, Instant(9)), After::Leaves);
    // The number of a visit stays at its maximum.
    let last = (0..2 * Visit::MAX).fold(Visit::FIRST, |visit, _| visit.next(None).unwrap());
    assert_eq!((last.number(), last.begins(), last.continued().begins()), (Visit::MAX, true, false));
}

/// Two requests one after another, then a new visit.
const WALK: &str = "[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\"\nget = \"/b\"\n[[flow]]\nname = \"f\"\n\
    [[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\"\n";

fn replay(way: &str) -> String {
    format!("arrivals.replay = {{ trace = \"a.trace\"{way} }}\n")
}

/// Sessions of three requests each, one beginning every second.
fn with_trace(text: &str) -> Workload {
    let mut entries: Vec<(u64, u64)> = (0..20).flat_map(|s| [(s, s), (s + 2, s), (s + 4, s)]).collect();
    entries.sort_unstable();
    let lines: String = entries.iter().map(|(at, session)| format!("{at}.5 {session} 0\n")).collect();
    let trace = format!("offered.trace/1\nGET /a\n{lines}");
    Workload::parse(&format!("seed = 7\n{text}"), "w.toml", &|_| Ok(trace.clone().into_bytes())).unwrap()
}

/// The union of all parts of a run that is divided so.
fn divided(workload: &Workload, machines: u64, threads: u64) -> BTreeSet<(Launch, u16)> {
    let shares = (0..machines).flat_map(|machine| (0..threads).map(move |thread| (machine, thread)));
    let shares = shares.map(|(machine, thread)| Share::new(machine, machines).unwrap().part(thread, threads));
    let each: Vec<_> = shares.map(|share| play(workload, share, response)).collect();
    let union: BTreeSet<_> = each.iter().flatten().copied().collect();
    assert_eq!(union.len(), each.iter().map(Vec::len).sum::<usize>(), "launched twice");
    union
}

#[test]
fn a_count_ends_a_schedule_that_does_not_depend_on_responses() {
    let open = "arrivals.open = { rate = \"100/s\", batch = 3 }\n";
    let partly = "arrivals.partly_open = { rate = \"20/s\", stay = 0.8 }\n";
    for (text, count, n) in [
        (open.to_owned(), "requests", 100),
        (open.to_owned(), "sessions", 100),
        (partly.to_owned(), "sessions", 37),
        (replay(""), "requests", 31),
        (replay(""), "sessions", 31),
        (replay(", as = \"sessions\""), "requests", 31),
        (replay(", as = \"sessions\""), "sessions", 7),
        (replay(", as = \"closed\", users = 3"), "requests", 31),
    ] {
        let all = play(&with_trace(&format!("duration = \"1h\"\n{text}")), Share::ALL, response);
        let counted = with_trace(&format!("{count} = {n}\n{text}"));
        let some: BTreeSet<_> = play(&counted, Share::ALL, response).into_iter().collect();
        let sessions: BTreeSet<u64> = some.iter().map(|(launch, _)| launch.session).collect();
        match count {
            "requests" => assert_eq!(some.len(), n, "{text}"),
            _ => assert_eq!(sessions, (0..n as u64).collect(), "{text}"),
        }
        // They are a subset of the requests without a count, and each counted session is complete.
        assert!(some.iter().all(|launch| all.contains(launch)), "{text}");
        if count == "sessions" {
            assert!(all.iter().all(|launch| !sessions.contains(&launch.0.session) || some.contains(launch)), "{text}");
        }
        for (machines, threads) in [(1, 2), (3, 1), (2, 3)] {
            assert_eq!(divided(&counted, machines, threads), some, "{text}");
        }
    }
}

#[test]
fn a_count_of_closed_users_is_divided_between_shares() {
    let closed = "arrivals.closed = { users = 5, think = { exponential = \"50ms\" } }\n";
    let partly = "arrivals.partly_open = { rate = \"20/s\", stay = 0.8, think = { exponential = \"50ms\" } }\n";
    for (text, n) in [(closed, 101), (partly, 101), (closed, 3), ("arrivals.closed.users = 5\n", 1000)] {
        let counted = workload(&format!("requests = {n}\n{text}{REQUESTS}"));
        let all = play(&workload(&format!("duration = \"100s\"\n{text}{REQUESTS}")), Share::ALL, response);
        assert_eq!(play(&counted, Share::ALL, response), all[..n], "{text}");
        for (machines, threads) in [(1, 2), (3, 1), (2, 3), (1, 7)] {
            assert_eq!(divided(&counted, machines, threads).len(), n, "{text} on {machines} of {threads}");
        }
    }
}

#[test]
fn visits_that_have_begun_when_the_last_counted_one_begins_are_walked_to_their_end() {
    for n in [1, 2, 17, 100] {
        let text = format!("sessions = {n}\narrivals.closed = {{ users = 7, think = {{ exponential = \"50ms\" }} }}\n");
        let visits = |launched: &BTreeSet<(Launch, u16)>| launched.iter().filter(|(l, _)| l.visit.begins()).count();
        for (machines, threads) in [(1, 1), (2, 1), (2, 5)] {
            let launched = divided(&workload(&format!("{text}{WALK}")), machines, threads);
            assert_eq!((visits(&launched), launched.len()), (n, 2 * n), "{machines} of {threads}");
            let launched = divided(&workload(&format!("{text}{REQUESTS}")), machines, threads);
            assert_eq!((visits(&launched), launched.len()), (n, n), "{machines} of {threads}");
        }
    }
}

#[test]
fn the_duration_ends_a_run_before_its_count() {
    for arrivals in ["open.rate = \"10/s\"", "closed.users = 1", "partly_open = { rate = \"5/s\", stay = 0.5 }"] {
        let limited = |count: &str| {
            let text = format!("{count}duration = \"2s\"\narrivals.{arrivals}\n");
            play(&workload(&text), Share::ALL, |_| Nanos::from_millis(100))
        };
        assert_eq!(limited("requests = 1000\n"), limited(""), "{arrivals}");
    }
}

/// The starts of visits (seconds) of a user with these durations of visits.
fn begun(every: &str, took: &[f64]) -> Vec<f64> {
    let text = format!("duration = \"100s\"\narrivals.closed = {{ users = 1, start = \"at-once\", every = {every} }}");
    let workload = workload(&text);
    let launched = play(&workload, Share::ALL, |launch| {
        Nanos::from_secs_f64(took.get(launch.step as usize).copied().unwrap_or(1e3))
    });
    launched.iter().map(|(launch, _)| launch.intended.as_secs_f64()).collect()
}

#[test]
fn users_with_a_pace_wait_for_the_rest_of_the_interval_and_do_not_catch_up() {
    // JMeter's Constant Throughput Timer ("this thread only"), Locust's constant_pacing and Gatling's pace agree: the next visit begins
    // at the end of the previous one, or `every` after its start if that is later.
    for (took, expected) in [
        // Shorter than the pace: every 10 s, however long each takes.
        (&[0.0, 3.0, 9.0][..], &[0.0, 10.0, 20.0, 30.0][..]),
        // As long as the pace.
        (&[10.0, 10.0], &[0.0, 10.0, 20.0]),
        // Longer: the next begins at once, and the pace counts from then.
        (&[14.0, 1.0, 1.0], &[0.0, 14.0, 24.0, 34.0]),
        (&[25.0, 25.0, 1.0], &[0.0, 25.0, 50.0, 60.0]),
    ] {
        assert_eq!(begun("\"10s\"", took), expected, "{took:?}");
        assert_eq!(begun("{ request = \"10s\" }", took), expected, "{took:?}");
    }
}

#[test]
fn a_pace_is_of_visits_with_their_pauses_or_of_requests() {
    let instants = |every: &str, think: &str| -> Vec<u64> {
        let text = format!(
            "duration = \"60s\"\narrivals.closed = {{ users = 1, start = \"at-once\", every = {every}, think.constant = \"{think}\" }}\n{WALK}"
        );
        let launched = play(&workload(&text), Share::ALL, |_| Nanos::from_secs(1));
        launched.iter().map(|(launch, _)| launch.intended.0 / 1_000_000_000).collect()
    };
    // Two requests of a second, each with a pause of 2 s: six of twenty seconds.
    assert_eq!(instants("\"20s\"", "2s"), [0, 3, 20, 23, 40, 43]);
    // The pauses alone are longer than the pace.
    assert_eq!(instants("\"20s\"", "14s"), [0, 15, 30, 45]);
    assert_eq!(instants("{ request = \"20s\" }", "2s"), [0, 20, 40]);
}

#[test]
fn users_with_a_pace_begin_at_random_and_equally_in_every_share() {
    let text = format!("duration = \"30s\"\narrivals.closed = {{ users = 3000, every = \"10s\", visits = 2 }}\n{WALK}");
    let whole: BTreeSet<_> = play(&workload(&text), Share::ALL, response).into_iter().collect();
    assert_eq!(whole.len(), 3000 * 4);
    let first = |second: u64| {
        let begins = |launch: &Launch| launch.step == 0 && launch.intended.0 / 1_000_000_000 == second;
        whole.iter().filter(|(launch, _)| begins(launch)).count()
    };
    assert!((0..10).all(|second| (230..370).contains(&first(second))), "{:?}", (0..10).map(first).collect::<Vec<_>>());
    assert_eq!(divided(&workload(&text), 2, 3), whole);
}

#[test]
fn a_visit_that_ends_early_does_not_change_the_pace() {
    let text =
        format!("duration = \"60s\"\narrivals.closed = {{ users = 1, start = \"at-once\", every = \"10s\" }}\n{WALK}");
    let mut agenda = workload(&text).agenda(Share::ALL);
    let first = agenda.due(Instant::ZERO).unwrap();
    assert_eq!(agenda.broken_off(first, Instant::from_secs(1)), After::Renewed);
    assert_eq!(agenda.next_due(), Some(Instant::from_secs(10)));
    let again = agenda.due(Instant::from_secs(10)).unwrap();
    assert!(again.visit.begins());
    agenda.completed(again, Instant::from_secs(11));
    let second = agenda.due(Instant::from_secs(11)).unwrap();
    agenda.broken_off(second, Instant::from_secs(12));
    assert_eq!(agenda.next_due(), Some(Instant::from_secs(20)));
}

#[test]
fn a_user_becomes_a_new_visitor_after_its_flow_unless_configured() {
    use After::{Leaves, Renewed, Returns, Revisits};
    let afters = |arrivals: &str, rest: &str| -> Vec<After> {
        let mut agenda = workload(&format!("duration = \"1h\"\narrivals.{arrivals}\n{rest}")).agenda(Share::ALL);
        let mut after = || {
            let launch = agenda.due(Instant::from_secs(3599))?;
            Some(agenda.completed(launch, launch.intended + Nanos::from_millis(1)))
        };
        (0..6).map_while(|_| after()).collect()
    };
    assert_eq!(afters("closed.users = 1", WALK), [Returns, Renewed, Returns, Renewed, Returns, Renewed]);
    assert_eq!(afters("closed = { users = 1, every = \"1s\" }", WALK)[..2], [Returns, Renewed]);
    assert_eq!(
        afters("closed = { users = 1, visitor = \"same\" }", WALK),
        [Returns, Revisits, Returns, Revisits, Returns, Revisits]
    );
    // Nothing is walked through.
    assert_eq!(afters("closed.users = 1", REQUESTS), [Revisits; 6]);
    assert_eq!(afters("closed = { users = 1, visits = 2 }", WALK), [Returns, Renewed, Returns, Leaves]);
}

#[test]
fn a_share_that_is_taken_over_has_the_later_requests() {
    let from = Instant::from_secs(5);
    let share = Share::new(1, 3).unwrap();
    let left = |workload: &Workload| {
        let mut agenda = workload.agenda(share).from(from).unwrap();
        let launches: Vec<_> = std::iter::from_fn(|| agenda.due(Instant::MAX)).collect();
        (launches, agenda.skipped())
    };
    let open = workload(MODELS[0]);
    let mut all = open.agenda(share);
    let (before, after): (Vec<_>, Vec<_>) =
        std::iter::from_fn(|| all.due(Instant::MAX)).partition(|launch| launch.intended < from);
    assert_eq!(left(&open), (after, before.len() as u64), "the schedule knows no workers");
    let closed = workload(MODELS[4]);
    let mut all = closed.agenda(share);
    let later = |launch: Launch| Launch { intended: launch.intended + Nanos::from_secs(5), ..launch };
    let begins: Vec<_> = std::iter::from_fn(|| all.due(Instant::MAX)).map(later).collect();
    assert_eq!(left(&closed), (begins, 0), "users begin as they do at the start");
    let counted = workload(&format!("requests = 100\n{}", MODELS[4]));
    assert!(counted.agenda(share).from(from).is_none(), "the number of earlier requests is unknown");
}

#[test]
fn users_who_leave_in_a_stage_finish_their_request_and_others_take_their_place() {
    let text = "arrivals.closed = { users = { stages = [[2, \"4s\"], [1, \"4s\"], [2, \"4s\"]] }, think.constant = \"1s\", start = \"at-once\" }";
    let workload = workload(text);
    assert_eq!(workload.duration(), Nanos::from_secs(12));
    let launched = play(&workload, Share::ALL, |_| Nanos::from_millis(500));
    let of = |session: u64| {
        let own = launched.iter().filter(move |(launch, _)| launch.session == session);
        own.map(|(launch, _)| launch.intended.as_secs_f64()).collect::<Vec<_>>()
    };
    assert_eq!(of(0), [0.0, 1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 10.5]);
    assert_eq!(of(1), [0.0, 1.5, 3.0], "it would send at 4.5 s, but leaves at 4 s");
    assert_eq!(of(2), [8.0, 9.5, 11.0], "another user");
    assert_eq!(launched.len(), 8 + 3 + 3);
}

#[test]
fn a_worker_that_takes_over_has_only_the_users_of_that_time() {
    let text = "arrivals.closed = { users = { stages = [[2, \"4s\"], [1, \"4s\"], [2, \"4s\"]] }, think.constant = \"1s\", start = \"at-once\" }";
    let agenda = workload(text).agenda(Share::ALL).from(Instant::ZERO + Nanos::from_secs(5)).unwrap();
    let mut agenda = agenda;
    let due: Vec<_> = std::iter::from_fn(|| agenda.due(Instant::MAX)).map(|due| (due.session, due.intended)).collect();
    assert_eq!(due, [(0, Instant(5_000_000_000)), (2, Instant(8_000_000_000))]);
}

#[test]
fn stages_set_the_rate_and_the_duration() {
    let stages = "[[\"0/s\", \"100/s\", \"1m\"], [\"100/s\", \"5m\"], [\"10/s\", \"1m\"]]";
    let staged = workload(&format!("arrivals.open.rate = {{ stages = {stages} }}"));
    assert_eq!(staged.duration(), Nanos::from_secs(420));
    assert_eq!(staged.scheduled_before(staged.end()), Some(3000.0 + 30_000.0 + 600.0));
    assert_eq!(staged.max_rate_per_s(), Some(100.0));
    let sent = play(&staged, Share::ALL, response).len() as f64;
    assert!((sent - 33_600.0).abs() < 4.0 * 33_600f64.sqrt(), "{sent}");
}

#[test]
fn visits_under_way_at_the_end_may_finish() {
    let flows = "\n[[request]]\nname = \"in\"\nget = \"/in\"\n[[request]]\nname = \"out\"\nget = \"/out\"\n\
        [[flow]]\nname = \"f\"\nstep = [{ request = \"in\", repeat = 4 }, { request = \"out\" }]\n";
    let all = |end: &str, model: &str| {
        let workload = workload(&format!("duration = \"20s\"\n{end}arrivals.{model}{flows}"));
        let launched = play(&workload, Share::ALL, |_| Nanos::from_millis(100));
        let outs = launched.iter().filter(|(_, label)| *label == 1).count();
        let begun = launched.iter().filter(|(launch, _)| launch.visit.begins()).count();
        assert!(launched.iter().all(|(launch, _)| !launch.visit.begins() || launch.intended < workload.end()));
        (begun, outs, launched.last().unwrap().0.intended)
    };
    for model in [
        "closed = { users = 30, think.exponential = \"1s\" }",
        "closed = { users = { stages = [[20, \"5s\"], [10, \"15s\"]] }, think.exponential = \"1s\" }",
        "partly_open = { rate = \"5/s\", think.exponential = \"1s\" }",
    ] {
        let (begun, outs, last) = all("", model);
        assert!(outs < begun && last < Instant::from_secs(20), "{model}: {outs} of {begun}");
        let (begun, outs, last) = all("end = \"finish\"\n", model);
        assert_eq!(outs, begun, "{model}");
        assert!(last > Instant::from_secs(20), "{model}: {last:?}");
        let (begun, outs, last) = all("end = { finish = \"1s\" }\n", model);
        assert!(outs < begun && last < Instant::from_secs(21), "{model}: {outs} of {begun}");
    }
}

#[test]
fn a_share_without_requests_sends_none_where_visits_finish() {
    let arrivals = "arrivals.partly_open = { rate = \"20/s\", stay = 0.8 }";
    let workload = workload(&format!("requests = 1\nduration = \"20s\"\nend = \"finish\"\n{arrivals}"));
    let number = |index| play(&workload, Share::new(index, 2).unwrap(), |_| Nanos(0)).len();
    assert_eq!((number(0), number(1)), (1, 0));
}
