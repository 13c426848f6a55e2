use super::*;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn attempts(keys: &str) -> AttemptTracker {
    let text = format!(
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://h/\"\n[[request]]\nget = \"/\"\n{keys}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    AttemptTracker::new(&workload, 1).unwrap()
}

/// A request of session `session`, scheduled at 10 ms.
fn resend(session: u64) -> Resend {
    let launch = Launch { intended: ms(10), session, step: 0, place: 0, visit: offered_schedule::Visit::FIRST };
    Resend { launch, label: 0, sequence: session }
}

/// The end of an attempt.
fn event(session: u64, sent: u64, done: u64, outcome: Outcome) -> Event {
    let (sent, done) = (Some(ms(sent)), Some(ms(done)));
    Event { session, sent, done, outcome, bytes_out: 5, ..Event::at(ms(10)) }
}

/// The requests that ended with this event, and the attempts that it recorded.
fn settle(all: &mut AttemptTracker, event: Event) -> (Vec<Event>, Vec<Event>) {
    let (mut events, mut attempts, mut waiting) = (vec![event], Vec::new(), Vec::new());
    all.settle(&mut events, &mut attempts, &mut waiting);
    assert_eq!(events.is_empty(), !waiting.is_empty());
    (events, attempts)
}

#[test]
fn a_request_ends_with_its_last_attempt_and_began_with_its_first() {
    let mut all = attempts("retry = { times = 2, wait = \"50ms\" }");
    assert!(all.first(resend(3), ms(0)));
    let (ended, attempts) = settle(&mut all, event(3, 11, 30, Outcome::Timeout));
    assert_eq!((ended.len(), attempts[0].attempt, attempts[0].intended), (0, 1, ms(10)));
    assert_eq!(all.next_due(), Some(ms(80)));
    assert!(all.due(ms(79), &mut Vec::new()).is_none());
    let again = all.due(ms(81), &mut Vec::new()).unwrap();
    assert!(!again.launch.visit.begins() && again.launch.intended == ms(10) && again.sequence == 3);
    let (ended, attempts) = settle(&mut all, event(3, 81, 99, Outcome::Ok));
    assert_eq!((attempts[0].attempt, attempts[0].intended, attempts[0].sent), (2, ms(80), Some(ms(81))));
    let expected = Event { retries: 1, bytes_out: 10, ..event(3, 11, 99, Outcome::Ok) };
    assert_eq!(ended, [expected]);
}

#[test]
fn requests_without_a_failure_have_no_attempts() {
    let mut all = attempts("retry = { times = 2, on = [\"timeout\"] }");
    for outcome in [Outcome::Ok, Outcome::HttpError, Outcome::Cut] {
        assert!(all.first(resend(1), ms(0)));
        assert_eq!(settle(&mut all, event(1, 10, 20, outcome)), (vec![event(1, 10, 20, outcome)], vec![]));
    }
}

#[test]
fn number_and_budget_limit_the_retries() {
    let mut all = attempts("retry = { times = 1, wait = \"1ms\", budget = { share = 0, burst = 2 } }");
    let mut fails = |session| {
        assert!(all.first(resend(session), ms(0)));
        let (ended, _) = settle(&mut all, event(session, 10, 20, Outcome::Refused));
        if ended.is_empty() {
            assert_eq!(all.due(ms(21), &mut Vec::new()).map(|again| again.sequence), Some(session));
            let (ended, attempts) = settle(&mut all, event(session, 21, 22, Outcome::Refused));
            assert_eq!((ended[0].retries, attempts[0].attempt), (1, 2));
            return true;
        }
        false
    };
    assert_eq!([1, 2, 3].map(&mut fails), [true, true, false]);
}

#[test]
fn a_user_gives_up_during_an_attempt_or_a_wait() {
    let patience = Nanos::from_millis(100);
    let mut all = attempts("patience = { constant = \"100ms\" }\nretry = { times = 9, wait = \"60ms\" }");
    assert!(all.first(resend(1), ms(0)));
    let (ended, _) = settle(&mut all, event(1, 10, 110, Outcome::Timeout));
    assert_eq!((ended[0].error.clone(), ended[0].retries), (Some(Reason::GaveUp(patience)), 0));
    assert!(all.first(resend(2), ms(0)));
    // The next attempt would be at 115 ms, and the user waits until 110 ms.
    let (ended, _) = settle(&mut all, event(2, 10, 55, Outcome::Refused));
    assert_eq!((ended[0].outcome, ended[0].error.clone()), (Outcome::Refused, Some(Reason::GaveUp(patience))));
    let mut alone = attempts("patience = { constant = \"100ms\" }");
    let (ended, attempts) = settle(&mut alone, event(2, 10, 110, Outcome::Timeout));
    assert_eq!((ended[0].error.clone(), attempts.len()), (Some(Reason::GaveUp(patience)), 0));
}

#[test]
fn a_stop_cuts_off_those_that_wait() {
    let mut all = attempts("retry = { times = 5, wait = \"1s\" }");
    assert!(all.first(resend(1), ms(0)));
    assert!(all.first(resend(2), ms(0)));
    settle(&mut all, event(1, 10, 20, Outcome::Timeout));
    let mut events = Vec::new();
    all.stop(&mut events);
    assert_eq!(
        events.iter().map(|event| (event.session, event.outcome, event.retries)).collect::<Vec<_>>(),
        [(1, Outcome::Cut, 1)]
    );
    let (ended, attempts) = settle(&mut all, event(2, 10, 30, Outcome::Timeout));
    assert_eq!((ended[0].outcome, attempts.len(), all.next_due()), (Outcome::Timeout, 0, None));
}

#[test]
fn an_attempt_that_cannot_be_sent_leaves_the_outcome_of_the_one_before() {
    let mut all = attempts("retry = { times = 5, wait = \"1ms\" }");
    assert!(all.first(resend(1), ms(0)));
    settle(&mut all, event(1, 10, 20, Outcome::Reset));
    all.due(ms(30), &mut Vec::new());
    let unsent = Event { session: 1, error: Some(Reason::Connections(4)), ..Event::at(ms(10)) };
    let (ended, attempts) = settle(&mut all, unsent);
    assert_eq!(ended, [Event { retries: 1, ..event(1, 10, 20, Outcome::Reset) }]);
    assert_eq!((attempts[0].attempt, attempts[0].sent), (2, None));
}

#[test]
fn a_request_has_no_more_attempts_than_an_event_can_number() {
    let mut all = attempts("retry = { times = 100000, wait = \"0s\" }");
    assert!(all.first(resend(1), ms(0)));
    let (mut last, mut ended) = (0, Vec::new());
    while ended.is_empty() {
        let (requests, attempts) = settle(&mut all, event(1, 11, 20, Outcome::Timeout));
        (last, ended) = (attempts[0].attempt, requests);
        assert_eq!(all.due(ms(20), &mut Vec::new()).is_some(), ended.is_empty());
    }
    assert_eq!((last, ended[0].retries), (u16::MAX, u16::MAX - 1));
}

#[test]
fn an_open_breaker_holds_back_requests_and_retries() {
    let mut all = attempts(
        "retry = { times = 2, wait = \"50ms\" }\ncircuit_breaker = { minimum_calls = 2, open = \"1s\", on = [\"timeout\"] }",
    );
    for session in [1, 2] {
        assert!(all.first(resend(session), ms(10)));
    }
    let (ended, _) = settle(&mut all, event(1, 10, 30, Outcome::Timeout));
    assert!(ended.is_empty(), "it is sent again");
    settle(&mut all, event(2, 10, 30, Outcome::Timeout));
    assert!(!all.first(resend(3), ms(40)));
    // The retries of the first two are due, and end with what their last attempts were.
    let mut ended = Vec::new();
    assert_eq!(all.due(ms(80), &mut ended), None);
    let of = |event: &Event| (event.session, event.outcome, event.done, event.retries);
    assert_eq!(
        ended.iter().map(of).collect::<Vec<_>>(),
        [(1, Outcome::Timeout, Some(ms(80)), 1), (2, Outcome::Timeout, Some(ms(80)), 1)]
    );
    // They are settled once more on the way to the recording.
    let (settled, attempts) = settle(&mut all, ended.remove(0));
    assert_eq!((settled.len(), attempts.len()), (1, 0));
    // After a second one trial decides.
    assert!(all.first(resend(4), ms(1030)) && !all.first(resend(5), ms(1031)));
    settle(&mut all, event(4, 1030, 1040, Outcome::Ok));
    assert!(all.first(resend(6), ms(1050)));
}
