//! Access tokens: fetched before requests, shared, renewed, and missing.

use super::*;

const KEYS: &str = "token_url = \"/token\", client_id = \"me\", client_secret = \"s&1\", scope = \"a b\"";

/// The sessions of a workload with these keys of `oauth2`, over a server that gives tokens.
fn sessions(keys: &str) -> Scripted<Fake> {
    sessions_of_target(keys, "")
}

/// The same with these further keys of `target`.
fn sessions_of_target(keys: &str, more: &str) -> Scripted<Fake> {
    let text = format!(
        "duration = \"1h\"\narrivals.closed.users = 5\n[target]\nurl = \"http://h/\"\nauth.oauth2 = {{ {keys} }}\n{more}\n\
         [variables]\nuser.file = \"users.csv\"\nid = {{ uuid = true, per = \"request\" }}\n[[request]]\nget = \"/a\"\n[[request]]\nget = \"/refused\"\n"
    );
    let users = "name,password\nann,p1\nbob,p2\n";
    let workload = Workload::parse(&text, "w", &|_| Ok(users.into())).unwrap_or_else(|mistake| panic!("{mistake}"));
    let script = Arc::new(Script::new(&workload, workload.target().unwrap()).unwrap());
    Scripted::new(Box::new(Fake::new(answers)), script, Arc::default(), 3, None)
}

fn body(outgoing: &OutgoingRequest) -> String {
    String::from_utf8(outgoing.body.clone().unwrap_or_default().to_vec()).unwrap()
}

fn authorization(outgoing: &OutgoingRequest) -> &str {
    let header = outgoing.headers.iter().find(|(name, _)| name == "Authorization");
    header.map_or("", |(_, value)| value)
}

fn answers(outgoing: &OutgoingRequest) -> Said {
    let body = body(outgoing);
    match outgoing.path.as_str() {
        "/token" if body.contains("refresh_token=r1") => {
            (200, vec![], r#"{"access_token": "t2", "expires_in": "100"}"#)
        }
        "/token" if body.contains("refresh_token=r0") => (200, vec![], r#"{"access_token": "t0"}"#),
        "/token" if body.contains("username=ann") => (200, vec![], r#"{"access_token": "t-ann"}"#),
        "/token" if body.contains("username=bob") => (200, vec![], r#"{"access_token": "t-bob"}"#),
        "/token" => {
            (200, vec![], r#"{"access_token": "t1", "token_type": "bearer", "expires_in": 100, "refresh_token": "r1"}"#)
        }
        "/stubborn" => (200, vec![], r#"{"access_token": "t1"}"#),
        "/short" if body.contains("refresh_token") => (400, vec![], r#"{"error": "invalid_grant"}"#),
        "/short" => (200, vec![], r#"{"access_token": "t5", "expires_in": 100, "refresh_token": "old"}"#),
        "/unknown" => (401, vec![], r#"{"error": "invalid_client", "error_description": "no such client"}"#),
        "/odd" => (200, vec![], "<html>"),
        "/mac" => (200, vec![], r#"{"access_token": "t", "token_type": "mac"}"#),
        "/down" => (0, vec![], ""),
        "/refused" if authorization(outgoing) == "Bearer t1" => {
            (401, vec![("WWW-Authenticate", "Bearer realm=\"h\", error=\"invalid_token\"")], "")
        }
        _ => (200, vec![], "fine"),
    }
}

/// The paths of all requests.
fn paths(sessions: &Scripted<Fake>) -> Vec<&str> {
    sessions.client.requests.iter().map(|outgoing| outgoing.path.as_str()).collect()
}

/// Sends the first request of these sessions at once, and returns their events.
fn launch_together(sessions: &mut Scripted<Fake>, numbers: &[u64]) -> Vec<Event> {
    let mut events = Vec::new();
    for session in numbers {
        let launch = Launch { intended: sessions.now(), session: *session, step: 0, place: 0, visit: Visit::FIRST };
        sessions.send(launch, 0, 0, &mut events);
    }
    while events.len() < numbers.len() {
        sessions.wait(Instant::from_secs(100), &mut events);
    }
    events
}

#[test]
fn the_first_request_gets_a_token_that_all_others_share() {
    let mut sessions = sessions(KEYS);
    let [first] = &launch(&mut sessions, 0, 1)[..] else { panic!("one event") };
    assert_eq!((first.outcome, first.status, first.token_requests, first.redirects), (Outcome::Ok, 200, 1, 0));
    // The token request belongs to the response time of the request.
    assert_eq!((first.sent, first.done), (Some(Instant::ZERO), Some(Instant::from_millis(2))));
    let second = launch(&mut sessions, 0, 2).remove(0);
    assert_eq!((second.outcome, second.token_requests), (Outcome::Ok, 0));
    assert_eq!(paths(&sessions), ["/token", "/a", "/a"]);
    let [token, request, _] = &sessions.client.requests[..] else { panic!("three requests") };
    assert_eq!((token.method.as_str(), body(token).as_str()), ("POST", "grant_type=client_credentials&scope=a+b"));
    // printf 'me:s%261' | base64
    assert_eq!((authorization(token), authorization(request)), ("Basic bWU6cyUyNjE=", "Bearer t1"));
}

#[test]
fn requests_at_the_same_time_wait_for_one_token() {
    let mut sessions = sessions(KEYS);
    let events = launch_together(&mut sessions, &[1, 2, 3]);
    assert_eq!(paths(&sessions), ["/token", "/a", "/a", "/a"]);
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok && event.sent == Some(Instant::ZERO)), "{events:?}");
    assert_eq!(events.iter().map(|event| event.token_requests).sum::<u16>(), 1);
}

#[test]
fn a_token_is_renewed_before_its_end_while_others_use_it() {
    let mut sessions = sessions(KEYS);
    launch(&mut sessions, 0, 1);
    sessions.client.now = Instant::from_secs(89);
    assert_eq!(launch(&mut sessions, 0, 1)[0].token_requests, 0);
    sessions.client.now = Instant::from_secs(91);
    let events = launch_together(&mut sessions, &[1, 2]);
    assert_eq!(events.iter().map(|event| event.token_requests).sum::<u16>(), 1);
    let sent: Vec<(&str, &str)> = sessions.client.requests[3..]
        .iter()
        .map(|outgoing| (outgoing.path.as_str(), authorization(outgoing)))
        .collect();
    assert_eq!(sent, [("/token", "Basic bWU6cyUyNjE="), ("/a", "Bearer t1"), ("/a", "Bearer t2")]);
    assert_eq!(body(&sessions.client.requests[3]), "grant_type=refresh_token&refresh_token=r1");
}

#[test]
fn a_refused_refresh_token_is_followed_by_the_grant() {
    let mut sessions = sessions(&KEYS.replace("/token", "/short"));
    launch(&mut sessions, 0, 1);
    sessions.client.now = Instant::from_secs(95);
    let event = launch(&mut sessions, 0, 1).remove(0);
    assert_eq!((event.outcome, event.token_requests), (Outcome::Ok, 2));
    assert_eq!(paths(&sessions), ["/short", "/a", "/short", "/short", "/a"]);
}

#[test]
fn a_request_with_an_invalid_token_is_sent_once_more_with_a_new_one() {
    let mut sessions = sessions(KEYS);
    let event = launch(&mut sessions, 1, 1).remove(0);
    assert_eq!((event.outcome, event.token_requests, event.redirects), (Outcome::Ok, 2, 1));
    assert_eq!(paths(&sessions), ["/token", "/refused", "/token", "/refused"]);
    assert_eq!(authorization(&sessions.client.requests[3]), "Bearer t2");
    // A new token that is refused too is not renewed again.
    let mut sessions = self::sessions(&KEYS.replace("/token", "/stubborn"));
    let event = launch(&mut sessions, 1, 1).remove(0);
    assert_eq!((event.outcome, event.status, event.token_requests), (Outcome::HttpError, 401, 2));
}

#[test]
fn a_token_endpoint_without_a_token_fails_the_requests_and_is_named() {
    for (path, reason) in [
        ("/unknown", "status 401, invalid_client: no such client"),
        ("/odd", "the response has no access_token"),
        ("/mac", "the token_type is mac; only Bearer is supported"),
        ("/down", "broke"),
    ] {
        let mut sessions = sessions(&KEYS.replace("/token", path));
        let events = launch_together(&mut sessions, &[1, 2]);
        for event in &events {
            assert_eq!(event.outcome, Outcome::AuthError, "{path}");
            assert_eq!(event.why(), format!("token endpoint http://h{path}: {reason}"));
        }
        assert_eq!(events.iter().map(|event| event.token_requests).sum::<u16>(), 1);
        // The next request tries again.
        launch(&mut sessions, 0, 3);
        assert_eq!(paths(&sessions), [path, path]);
        assert!(sessions.pages.is_empty() && sessions.waiting.is_empty());
    }
}

#[test]
fn tokens_are_of_a_session_or_of_equal_values() {
    let password = "token_url = \"/token\", grant = \"password\", client_id = \"me\", \
                    username = \"{{user.name}}\", password = \"{{user.password}}\"";
    let mut shared = sessions(password);
    for session in 0..4 {
        launch(&mut shared, 0, session);
    }
    let used: Vec<&str> = shared.client.requests.iter().map(authorization).filter(|used| !used.is_empty()).collect();
    // Two rows of the file are four sessions.
    assert_eq!(used, ["Bearer t-ann", "Bearer t-bob", "Bearer t-ann", "Bearer t-bob"]);
    assert_eq!(paths(&shared), ["/token", "/a", "/token", "/a", "/a", "/a"]);
    assert_eq!(body(&shared.client.requests[0]), "grant_type=password&username=ann&password=p1&client_id=me");
    let mut own = sessions(&format!("{KEYS}, per = \"session\""));
    for session in [1, 2, 1] {
        launch(&mut own, 0, session);
    }
    own.close_session(1);
    launch(&mut own, 0, 1);
    assert_eq!(paths(&own), ["/token", "/a", "/token", "/a", "/a", "/token", "/a"]);
}

#[test]
fn the_time_and_unique_values_do_not_distinguish_tokens() {
    let mut sessions = sessions(
        "token_url = \"/token\", client_id = \"me\", client_secret = \"{{hmac_sha256('k', date('unix_ms'))}}\", \
         parameters = { at = \"{{now|unix_ms}}\", nonce = \"{{random_text(8)}}\", id = \"{{id}}\", trace = \"{{traceparent()}}\" }",
    );
    for session in 1..4 {
        launch(&mut sessions, 0, session);
        // The clock of the dates goes on.
        Clock::start().sleep_until(Instant::from_millis(2));
    }
    assert_eq!(paths(&sessions), ["/token", "/a", "/a", "/a"]);
    let body = body(&sessions.client.requests[0]);
    let pairs: Vec<_> = body.split('&').map(|pair| pair.split_once('=').unwrap()).collect();
    let length = |key: &str| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| value.len());
    assert_eq!(["at", "nonce", "id", "trace"].map(length), [Some(13), Some(8), Some(36), Some(55)], "{body}");
}

#[test]
fn a_request_that_a_value_leads_to_another_target_needs_no_token() {
    let text = format!(
        "duration = \"1h\"\narrivals.closed.users = 5\n[variables]\nurl = \"http://other/b\"\n\
         [[target]]\nurl = \"http://h/\"\nauth.oauth2 = {{ {KEYS} }}\n[[target]]\nname = \"other\"\nurl = \"http://other/\"\n\
         [[request]]\nname = \"b\"\nget = \"{{{{url}}}}\"\n[[request]]\nname = \"a\"\nget = \"/a\"\n"
    );
    let workload = Workload::parse(&text, "w", &|_| Err(String::new())).unwrap_or_else(|mistake| panic!("{mistake}"));
    let script = Arc::new(Script::new(&workload, workload.target().unwrap()).unwrap());
    assert_eq!(
        script.token_for_preview(0, RequestContext { session: 1, step: 0, visit: 0, sequence: 0, label: 0 }),
        Ok(None)
    );
    let mut sessions = Scripted::new(Box::new(Fake::new(answers)), script, Arc::default(), 3, None);
    for label in [0, 1] {
        let event = launch(&mut sessions, label, 1).remove(0);
        assert_eq!((event.outcome, event.token_requests), (Outcome::Ok, label), "{event:?}");
    }
    assert_eq!(paths(&sessions), ["/b", "/token", "/a"]);
    assert_eq!(authorization(&sessions.client.requests[0]), "");
}

#[test]
fn a_given_refresh_token_is_the_first_grant() {
    let mut sessions =
        sessions("token_url = \"/token\", grant = \"refresh_token\", client_id = \"me\", refresh_token = \"r0\"");
    assert_eq!(launch(&mut sessions, 0, 1)[0].outcome, Outcome::Ok);
    assert_eq!(body(&sessions.client.requests[0]), "grant_type=refresh_token&refresh_token=r0&client_id=me");
    assert_eq!(authorization(&sessions.client.requests[1]), "Bearer t0");
}

/// Sends the first request of a session, which is scheduled now.
fn send_now(sessions: &mut Scripted<Fake>, session: u64, events: &mut Vec<Event>) {
    let launch = Launch { intended: sessions.now(), session, step: 0, place: 0, visit: Visit::FIRST };
    sessions.send(launch, 0, 0, events);
}

#[test]
fn requests_that_wait_for_a_token_have_their_time_limits() {
    let (timeout, patience) = ("response_timeout = \"2s\"", "patience = { constant = \"1500ms\" }");
    for (more, done, reason) in [
        (timeout.to_owned(), 2000, "no access token within 2s (requested by another request)"),
        (format!("{timeout}\n{patience}"), 1500, "the user gave up after 1s500ms"),
    ] {
        let (mut sessions, mut events) = (sessions_of_target(KEYS, &more), Vec::new());
        for session in [1, 2] {
            send_now(&mut sessions, session, &mut events);
        }
        // The token endpoint does not respond.
        sessions.client.under_way[0].0 = Instant::from_secs(100);
        while events.is_empty() {
            sessions.wait(Instant::from_secs(99), &mut events);
        }
        let event = &events[0];
        assert_eq!((event.session, event.outcome, &*event.why()), (2, Outcome::AuthError, reason));
        assert_eq!((event.sent, event.done), (Some(Instant::ZERO), Some(Instant::from_millis(done))));
        assert_eq!((events.len(), event.token_requests), (1, 0));
    }
}

#[test]
fn another_request_gets_the_token_if_the_user_of_the_first_gives_up() {
    let mut sessions = sessions_of_target(KEYS, "patience = { constant = \"5s\" }");
    let mut events = Vec::new();
    for session in 1..4 {
        send_now(&mut sessions, session, &mut events);
        sessions.client.now = Instant::from_secs(4);
    }
    let (_, event, _) = sessions.client.under_way.remove(0);
    sessions.client.now = Instant::from_secs(5);
    let error = Some(Reason::ResponseTimeout(Nanos::from_secs(30)));
    let event = Event { done: Some(sessions.now()), outcome: Outcome::Timeout, error, ..event };
    sessions.completions.push(Completion::Done(event, None));
    while events.len() < 3 {
        sessions.wait(Instant::from_secs(99), &mut events);
    }
    let outcomes = events.iter().map(|event| (event.session, event.outcome, event.token_requests));
    assert_eq!(outcomes.collect::<Vec<_>>(), [(1, Outcome::AuthError, 1), (2, Outcome::Ok, 1), (3, Outcome::Ok, 0)]);
    assert_eq!(events[0].error, Some(Reason::GaveUp(Nanos::from_secs(5))));
    assert_eq!(paths(&sessions), ["/token", "/token", "/a", "/a"]);
}

#[test]
fn requests_that_wait_for_a_token_are_cut_off_by_a_stop() {
    let mut sessions = sessions(KEYS);
    let mut events = Vec::new();
    for session in [1, 2] {
        let launch = Launch { intended: Instant::ZERO, session, step: 0, place: 0, visit: Visit::FIRST };
        sessions.send(launch, 0, 0, &mut events);
    }
    sessions.cancel_all(&mut events);
    assert_eq!(events.iter().map(|event| event.outcome).collect::<Vec<_>>(), [Outcome::Cut, Outcome::Cut]);
}
