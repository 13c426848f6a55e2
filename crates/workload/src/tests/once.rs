use super::*;
use crate::Workload;
use offered_base::Share;
use offered_base::time::Nanos;
use offered_schedule::Launch;
use std::collections::HashMap;

const REQUESTS: &str = r#"
[[request]]
name = "log in"
post = "/login"
[[request]]
name = "look"
get = "/look"
[[request]]
name = "more"
get = "/more"
[[request]]
name = "log out"
post = "/logout"
"#;
const FLOW: &str = "[[flow]]\nname = \"visit\"\nstep = [\"look\", { request = \"more\", repeat = 2 }]\n\
    [once]\nstart = [\"log in\"]\nend = [\"log out\"]\n";

fn workload(head: &str) -> Workload {
    read(&format!("duration = \"20s\"\n{head}\n{REQUESTS}{FLOW}"))
}

/// The labels of each session in order, of all shares of a run in which each response takes 100 ms.
fn sessions(workload: &Workload, shares: u64) -> HashMap<u64, Vec<(Launch, u16)>> {
    let mut all: HashMap<u64, Vec<(Launch, u16)>> = HashMap::new();
    for share in 0..shares {
        let (mut agenda, mix) = (workload.agenda(Share::new(share, shares).unwrap()), workload.mix());
        while let Some(now) = agenda.next_due() {
            let launch = agenda.due(now).unwrap();
            all.entry(launch.session).or_default().push((launch, mix.choose(launch)));
            agenda.completed(launch, now + Nanos::from_millis(100));
        }
    }
    all
}

fn labels(session: &[(Launch, u16)]) -> Vec<u16> {
    session.iter().map(|(_, label)| *label).collect()
}

const MODELS: [&str; 4] = [
    "arrivals.closed = { users = 30, think.exponential = \"1s\" }",
    "arrivals.closed = { users = 30, think.exponential = \"1s\", visits = 2 }",
    "arrivals.closed = { users = { stages = [[20, \"5s\"], [10, \"15s\"]] }, think.exponential = \"1s\" }",
    "arrivals.partly_open = { rate = \"5/s\", think.exponential = \"1s\" }",
];

#[test]
fn every_login_is_followed_by_its_logout_if_sessions_finish() {
    for model in MODELS {
        for finish in ["30s", "500ms"] {
            let workload = workload(&format!("end.finish = \"{finish}\"\n{model}"));
            let all = sessions(&workload, 1);
            assert!(all.len() >= 20, "{model}");
            for session in all.values() {
                let labels = labels(session);
                let ends = (labels[0], labels[labels.len() - 1]);
                assert_eq!(ends, (0, 3), "{model}, {finish}: {labels:?}");
                assert!(labels[1..labels.len() - 1].iter().all(|label| [1, 2].contains(label)), "{labels:?}");
                // The response of 100 ms that is under way at the bound is awaited.
                let last = session[session.len() - 1].0.intended;
                assert!(last < workload.last() + Nanos::from_millis(100), "{model}, {finish}: {last:?}");
            }
        }
    }
}

#[test]
fn users_log_in_once_and_loop_through_their_flow() {
    let all = sessions(&workload(&format!("end = \"finish\"\n{}", MODELS[1])), 1);
    assert!(all.values().all(|session| labels(session) == [0, 1, 2, 2, 1, 2, 2, 3]));
    let looping = sessions(&workload(MODELS[0]), 1);
    assert!(looping.values().all(|session| labels(session)[1..].iter().all(|label| [1, 2].contains(label))));
    let visits: Vec<u32> = all[&0].iter().map(|(launch, _)| launch.visit.number()).collect();
    assert_eq!(visits, [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn shares_of_a_run_make_the_same_last_steps() {
    for model in MODELS {
        let workload = workload(&format!("end.finish = \"2s\"\n{model}"));
        assert_eq!(sessions(&workload, 1), sessions(&workload, 3), "{model}");
    }
}

#[test]
fn a_visit_that_breaks_off_ends_with_the_logout_and_the_user_logs_in_again() {
    let workload = workload(&format!("end = \"finish\"\n{}", MODELS[0]));
    let (mut agenda, mix) = (workload.agenda(Share::ALL), workload.mix());
    let mut labels: HashMap<u64, Vec<u16>> = HashMap::new();
    while let Some(now) = agenda.next_due() {
        let launch = agenda.due(now).unwrap();
        let own = labels.entry(launch.session).or_default();
        own.push(mix.choose(launch));
        match own.len() {
            // The second request of the first visit, and the login of the second life of every other user.
            3 => agenda.broken_off(launch, now),
            5 if launch.session % 2 == 0 => agenda.broken_off(launch, now),
            _ => agenda.completed(launch, now),
        };
    }
    for (session, labels) in labels {
        let again = u16::from(session % 2 != 0);
        assert_eq!(labels[..6], [0, 1, 2, 3, 0, again], "{session}");
    }
}

#[test]
fn a_login_that_fails_is_followed_by_no_logout() {
    for model in MODELS {
        let workload = workload(&format!("end.finish = \"30s\"\n{model}"));
        let (mut agenda, mix) = (workload.agenda(Share::ALL), workload.mix());
        while let Some(now) = agenda.next_due() {
            let launch = agenda.due(now).unwrap();
            assert_eq!(mix.choose(launch), 0, "{model}");
            agenda.broken_off(launch, now + Nanos::from_millis(100));
        }
    }
}

#[test]
fn the_last_steps_after_a_visit_that_is_cut_off_have_a_number_of_their_own() {
    for model in MODELS {
        let all = sessions(&workload(&format!("end.finish = \"500ms\"\n{model}")), 1);
        let mut cut = 0;
        for session in all.values() {
            let [.., (before, label), (last, 3)] = &session[..] else { continue };
            // A whole visit ends with the second `more`; before it there may be only the login.
            let whole = *label == 2 && session[session.len() - 3].1 == 2;
            assert_eq!(last.visit.number() > before.visit.number(), !whole, "{model}: {:?}", labels(session));
            cut += u64::from(!whole);
        }
        assert!(cut > 0 || model.contains("visits = 2"), "{model}");
    }
}

#[test]
fn expected_numbers_of_requests_are_per_visit() {
    let one = workload(MODELS[3]);
    let all = one.flows().unwrap();
    assert_eq!((all.visits(), all.mean()), (&[1.0, 2.0, 1.0, 1.0][..], 5.0));
    let users = workload(MODELS[0]);
    assert_eq!(users.flows().unwrap().visits(), [1.0, 2.0, 0.0, 0.0]);
    let twice = workload(MODELS[1]);
    assert_eq!(twice.flows().unwrap().visits(), [1.0, 2.0, 0.5, 0.5]);
    assert_eq!(twice.shares(), [0.125, 0.25, 0.5, 0.125]);
}

#[test]
fn a_count_of_visits_lets_users_log_out() {
    let workload = workload(&format!("sessions = 100\nend = \"finish\"\n{}", MODELS[0]));
    let all = sessions(&workload, 1);
    let count = |label: u16| all.values().flatten().filter(|(_, sent)| *sent == label).count();
    assert_eq!((count(0), count(1), count(3)), (30, 100, 30));
}

#[test]
fn scenarios_have_their_own_first_and_last_steps() {
    let text = format!(
        "duration = \"20s\"\nend = \"finish\"\n{REQUESTS}[[flow]]\nname = \"visit\"\nstep = [\"look\", \"more\"]\n\
         [[scenario]]\nname = \"users\"\narrivals.closed = {{ users = 5, think.constant = \"1s\" }}\n\
         once = {{ start = [\"log in\"], end = [{{ request = \"log out\", think = {{ constant = \"1s\" }} }}] }}\n\
         [[scenario]]\nname = \"guests\"\narrivals.partly_open = {{ rate = \"2/s\" }}\n"
    );
    let workload = read(&text);
    assert_eq!(read(&workload.to_string()), workload);
    for (session, requests) in sessions(&workload, 1) {
        let labels = labels(&requests);
        let is_user = session % 2 == 0;
        assert_eq!((labels[0], *labels.last().unwrap()), if is_user { (0, 3) } else { (1, 2) }, "{session}");
    }
}

#[test]
fn once_is_written_as_it_is_read() {
    for model in MODELS {
        let workload = workload(model);
        assert_eq!(read(&workload.to_string()), workload, "{workload}");
    }
}

#[test]
fn values_of_the_login_are_known_in_all_visits() {
    let text = |start: &str| {
        format!(
            "duration = \"1s\"\narrivals.closed.users = 1\n[[request]]\nname = \"log in\"\nget = \"/\"\n\
             extract = [{{ name = \"token\", json = \"$.token\" }}]\n[[request]]\nname = \"look\"\nget = \"/{{{{token}}}}\"\n\
             [[request]]\nname = \"log out\"\nget = \"/out?{{{{token}}}}\"\n\
             [[flow]]\nname = \"visit\"\nstep = [\"look\"]\n[once]\n{start}end = [\"log out\"]\n"
        )
    };
    read(&text("start = [\"log in\"]\n"));
    let wrong = text("").replace("[\"look\"]", "[\"look\", \"log in\"]");
    let message = Workload::parse(&wrong, "w", &|_| Err(String::new())).unwrap_err().to_string();
    assert!(message.contains("reaches this request without it: look"), "{message}");
}

#[test]
fn mistakes_are_named() {
    let parse = |text: &str| {
        let text = format!("duration = \"20s\"\n{text}");
        Workload::parse(&text, "w", &|_| Err(String::new())).unwrap_err().to_string()
    };
    for (text, reason) in [
        (format!("{}\n{REQUESTS}[once]\nstart = [\"log in\"]\n", MODELS[0]), "write the steps in between"),
        (format!("arrivals.closed = {{ users = 1, visitor = \"new\" }}\n{REQUESTS}{FLOW}"), "same visitor"),
        (format!("arrivals.open.rate = \"1/s\"\n{REQUESTS}{FLOW}"), "partly_open or closed"),
        (format!("{}\n{REQUESTS}{}", MODELS[0], FLOW.replace("log out", "log off")), "no request is named `log off`"),
        (format!("[[scenario]]\nname = \"s\"\n{}\n{REQUESTS}{FLOW}", MODELS[0]), "this key in each [[scenario]]"),
    ] {
        let message = parse(&text);
        assert!(message.contains(reason), "{reason}: {message}");
    }
}
