//! Requests to several targets.

use super::*;

const TARGETS: &str = "[[target]]\nurl = \"https://www.shop.test/\"\ncookies = true\nredirects = 3\nheaders = { X-Of = \"shop\" }\n\
    auth = { bearer = \"t0\" }\n[[target]]\nname = \"api\"\nurl = \"http://api.shop.test:81/\"\ncookies = true\n\
    [[target]]\nname = \"cdn\"\nurl = \"https://cdn.test/\"\nheaders = { X-Of = \"cdn\" }\n";

/// A script with these requests to the targets.
fn of(requests: &str) -> Script {
    let workload = workload(&format!("{TARGETS}{requests}"));
    Script::new(&workload, workload.target().unwrap()).unwrap()
}

fn built(script: &Script, label: u16, state: Option<&SessionState>) -> OutgoingRequest {
    script.request(label, RequestContext { label, ..AT }, state, Instant::ZERO).unwrap()
}

#[test]
fn a_request_goes_to_the_target_of_its_name_or_of_its_url() {
    let script =
        of("[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\"\ntarget = \"api\"\nget = \"/b\"\n\
                     [[request]]\nname = \"c\"\nget = \"https://CDN.test:443/c?{{session}}\"\nauth = false\n");
    let requests: Vec<OutgoingRequest> = (0..3).map(|label| built(&script, label, None)).collect();
    let sent: Vec<_> = requests.iter().map(|r| (r.target, r.client, r.path.as_str(), header(r, "X-Of"))).collect();
    assert_eq!(sent, [(0, 0, "/a", Some("shop")), (1, 1, "/b", None), (2, 2, "/c?1", Some("cdn"))]);
    assert_eq!(header(&requests[0], "Authorization"), Some("Bearer t0"));
    assert_eq!((header(&requests[1], "Authorization"), header(&requests[2], "Authorization")), (None, None));
}

#[test]
fn redirects_and_values_lead_from_one_target_to_another() {
    let script = of("[[request]]\nname = \"a\"\nget = \"/a\"\nextract = [{ name = \"t\", header = \"Location\" }]\n\
                     [[request]]\nname = \"b\"\nget = \"{{t}}\"\n[[flow]]\nname = \"f\"\nstep = [{ request = \"a\" }, { request = \"b\" }]");
    let first = built(&script, 0, None);
    let go = |location: &str| {
        script.redirect((0, AT), &first, 302, &response(&[("Location", location)], b""), None, Instant::ZERO)
    };
    let next = go("http://api.shop.test:81/x").unwrap().unwrap();
    assert_eq!((next.target, next.path.as_str(), header(&next, "Authorization")), (1, "/x", None));
    let next = go("/x").unwrap().unwrap();
    assert_eq!((next.target, header(&next, "Authorization")), (0, Some("Bearer t0")));
    assert!(
        go("http://www.shop.test/")
            .unwrap_err()
            .contains("is on another server than https://www.shop.test or http://api.shop.test:81")
    );
    for (location, target, path) in [("y", 1, "/b/y"), ("https://cdn.test/z", 2, "/z"), ("//www.shop.test:81/", 9, "")]
    {
        let reply = response(&[("Location", location)], b"");
        let mut state = SessionState::default();
        let received = Received { target: 1, path: "/b/c", ..Received::for_test(200, &reply) };
        script.evaluate(0, AT, received, &mut state, &|| Nanos::MAX).unwrap();
        match script.request(1, AT, Some(&state), Instant::ZERO) {
            Ok(request) => assert_eq!((request.target, request.path.as_str()), (target, path), "{location}"),
            Err(missing) => {
                assert!(target == 9 && format!("{missing:?}").contains("is on another server than"), "{missing:?}");
            }
        }
    }
}

#[test]
fn cookies_are_sent_to_their_hosts_only() {
    let script =
        of("[[request]]\nname = \"a\"\nget = \"/a\"\n[[request]]\nname = \"b\"\ntarget = \"api\"\nget = \"/b\"\n\
                     [[request]]\nname = \"c\"\ntarget = \"cdn\"\nget = \"/c\"\n");
    let mut state = SessionState::default();
    let lines = [
        ("Set-Cookie", "own=1"),
        ("Set-Cookie", "all=2; Domain=shop.test"),
        ("Set-Cookie", "tls=3; Domain=shop.test; Secure"),
    ];
    script.store_cookies(&built(&script, 0, None), &response(&lines, b""), &mut state, Instant::ZERO);
    // The third target keeps no cookies.
    script.store_cookies(&built(&script, 2, None), &response(&[("Set-Cookie", "c=4")], b""), &mut state, Instant::ZERO);
    let sent = |label| header(&built(&script, label, Some(&state)), "Cookie").map(str::to_owned);
    assert_eq!((sent(0).as_deref(), sent(1).as_deref(), sent(2)), (Some("own=1; all=2; tls=3"), Some("all=2"), None));
}

#[test]
fn a_cookie_header_of_the_workload_comes_before_the_cookies_of_the_session() {
    let text = "[target]\nurl = \"http://h/\"\ncookies = true\nredirects = 3\n[[request]]\nget = \"/a\"\nheaders = { Cookie = \"given={{session}}\" }\n";
    let workload = workload(text);
    let script = Script::new(&workload, workload.target().unwrap()).unwrap();
    let mut state = SessionState::default();
    let first = built(&script, 0, None);
    assert_eq!(header(&first, "Cookie"), Some("given=1"));
    script.store_cookies(&first, &response(&[("Set-Cookie", "sid=7")], b""), &mut state, Instant::ZERO);
    let second = built(&script, 0, Some(&state));
    assert_eq!(header(&second, "Cookie"), Some("given=1; sid=7"));
    let moved = response(&[("Location", "/b")], b"");
    let next = script.redirect((0, AT), &second, 302, &moved, Some(&state), Instant::ZERO).unwrap().unwrap();
    assert_eq!((next.path.as_str(), header(&next, "Cookie")), ("/b", Some("given=1; sid=7")));
}

#[test]
fn a_redirect_to_another_target_ends_the_cookies_and_credentials_of_the_workload() {
    let text = "[[target]]\nurl = \"http://h/\"\ncookies = true\nredirects = 3\nauth = { aws = { region = \"r\", service = \"s\", access_key = \"a\", secret_key = \"k\", token = \"t\" } }\n\
                [[target]]\nname = \"other\"\nurl = \"http://other/\"\ncookies = true\n\
                [[request]]\nname = \"a\"\nget = \"/a\"\nheaders = { Cookie = \"given=1\" }\n";
    let workload = workload(text);
    let script = Script::new(&workload, workload.target().unwrap()).unwrap();
    let sent = |request: &OutgoingRequest| {
        (request.target, header(request, "Cookie").map(str::to_owned), header(request, "Authorization").is_some())
    };
    let mut request = built(&script, 0, None);
    assert_eq!(sent(&request), (0, Some("given=1".to_owned()), true));
    for (location, expected) in [
        ("/b", (0, Some("given=1".to_owned()), true)),
        ("http://other/c", (1, None, false)),
        ("/d", (1, None, false)),
        ("http://h/e", (0, None, false)),
    ] {
        let moved = response(&[("Location", location)], b"");
        request = script.redirect((0, AT), &request, 302, &moved, None, Instant::ZERO).unwrap().unwrap();
        assert_eq!(sent(&request), expected, "{location}");
        assert_eq!(header(&request, "X-Amz-Security-Token").is_some(), expected.2, "{location}");
    }
}

#[test]
fn a_host_header_of_the_workload_is_for_its_own_target() {
    let text = "[variables]\nurl = \"http://other/o\"\n[[target]]\nurl = \"http://10.0.0.1/\"\nredirects = 3\nheaders = { Host = \"shop.test\" }\n\
                [[target]]\nname = \"other\"\nurl = \"http://other/\"\n\
                [[request]]\nname = \"a\"\nget = \"/a\"\nobjects = [\"{{url}}\"]\n";
    let workload = workload(text);
    let script = Script::new(&workload, workload.target().unwrap()).unwrap();
    let mut request = built(&script, 0, None);
    assert_eq!(header(&request, "Host"), Some("shop.test"));
    for (location, expected) in
        [("/b", Some("shop.test")), ("http://other/c", None), ("/d", None), ("http://10.0.0.1/e", Some("shop.test"))]
    {
        let moved = response(&[("Location", location)], b"");
        request = script.redirect((0, AT), &request, 302, &moved, None, Instant::ZERO).unwrap().unwrap();
        assert_eq!(header(&request, "Host"), expected, "{location}");
    }
    let object = script.object((0, 1), 0, AT, None, Instant::ZERO).unwrap();
    assert_eq!((object.target, header(&object, "Host")), (1, None));
}

#[test]
fn no_credentials_leave_their_target_by_a_redirect_a_value_a_form_or_an_object() {
    for auth in [
        "{ bearer = \"b\" }",
        "{ basic = \"a:b\" }",
        "{ digest = \"a:b\" }",
        "{ oauth2 = { token_url = \"/t\", client_id = \"a\" } }",
    ] {
        let text = format!(
            "[variables]\ncdn = \"http://other/o\"\n[[target]]\nurl = \"http://h/\"\nredirects = 3\nauth = {auth}\nheaders = {{ Cookie = \"given=1\" }}\n\
             [[target]]\nname = \"other\"\nurl = \"http://other/\"\nauth = {{ bearer = \"of other\" }}\n\
             [[request]]\nname = \"a\"\nget = \"/a\"\nobjects = [\"{{{{cdn}}}}\", \"/o\"]\n\
             [[request]]\nname = \"b\"\nget = \"{{{{cdn}}}}\"\n\
             [[request]]\nname = \"c\"\nget = \"/c\"\ntarget = \"other\"\n\
             [[request]]\nname = \"d\"\nsubmit = \"form\"\n\
             [[flow]]\nname = \"f\"\nstep = [{{ request = \"b\" }}, {{ request = \"c\" }}, {{ request = \"a\" }}, {{ request = \"d\" }}]\n"
        );
        let workload = workload(&text);
        let script = Script::new(&workload, workload.target().unwrap()).unwrap();
        let mut state = SessionState::default();
        let page = response(
            &[("Content-Type", "text/html")],
            b"<form method=post action='http://other/f'><input name=x></form>",
        );
        script.evaluate(0, AT, Received::for_test(200, &page), &mut state, &|| Nanos::MAX).unwrap();
        let sent = |request: &OutgoingRequest| {
            let authorization = header(request, "Authorization").map(str::to_owned);
            (request.target, header(request, "Cookie").is_some(), authorization)
        };
        let first = built(&script, 0, Some(&state));
        assert_eq!((first.target, header(&first, "Cookie")), (0, Some("given=1")));
        let moved = response(&[("Location", "http://other/c")], b"");
        let redirected = script.redirect((0, AT), &first, 302, &moved, Some(&state), Instant::ZERO).unwrap().unwrap();
        let object = |number| script.object((0, number), 0, AT, Some(&state), Instant::ZERO).unwrap();
        for elsewhere in [redirected, built(&script, 1, Some(&state)), built(&script, 3, Some(&state)), object(1)] {
            assert_eq!(sent(&elsewhere), (1, false, None), "{auth} {}", elsewhere.path);
            let challenge = response(&[("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")], b"");
            assert_eq!(script.answer_challenge(0, AT, &elsewhere, 401, &challenge, &mut SessionState::default()), None);
        }
        assert_eq!((object(2).target, header(&object(2), "Cookie")), (0, Some("given=1")));
        assert_eq!(sent(&built(&script, 2, Some(&state))), (1, false, Some("Bearer of other".to_owned())));
    }
}

#[test]
fn messages_of_a_websocket_have_a_client_of_their_own() {
    let text = "[[target]]\nurl = \"http://h/\"\ncookies = true\n[[request]]\nname = \"a\"\nget = \"/a\"\n\
                [[request]]\nname = \"b\"\nget = \"/room\"\nwebsocket = { send = \"hi\" }\n";
    let workload = workload(text);
    assert_eq!(workload.clients(), [(0, false), (0, true)]);
    let script = Script::new(&workload, workload.target().unwrap()).unwrap();
    let mut state = SessionState::default();
    let first = built(&script, 0, None);
    script.store_cookies(&first, &response(&[("Set-Cookie", "sid=7")], b""), &mut state, Instant::ZERO);
    let second = built(&script, 1, Some(&state));
    assert_eq!((first.client, second.client, second.target), (0, 1, 0));
    assert_eq!(header(&second, "Cookie"), Some("sid=7"));
}

#[test]
fn targets_that_cannot_be_told_apart_are_errors() {
    let of = |text: &str| {
        let text = format!("duration = \"1s\"\narrivals.closed.users = 5\n{text}");
        Workload::parse(&text, "w", &|_| Err(String::new())).map(|workload| workload.to_string())
    };
    let two = "[[target]]\nurl = \"http://a/\"\n[[target]]\nname = \"b\"\nurl = \"http://b/\"\n";
    for (text, reason) in [
        ("[[target]]\nurl = \"http://a/\"\n[[target]]\nurl = \"http://b/\"\n".to_owned(), "a name"),
        (format!("{two}[[target]]\nname = \"b\"\nurl = \"http://c/\"\n"), "the same name"),
        (format!("{two}[[target]]\nname = \"c\"\nurl = \"postgres://me@h/d\"\nconnections = 1\n"), "a database"),
        (format!("{two}[[request]]\nget = \"/\"\ntarget = \"c\"\n"), "no [[target]] is named `c`"),
        (format!("{two}[[request]]\nget = \"http://c/x\"\n"), "http://c is not the origin of a target"),
        (format!("{two}[[request]]\nget = \"http://a/x\"\ntarget = \"b\"\n"), "another target"),
    ] {
        let message = of(&text).unwrap_err().to_string();
        assert!(message.contains(reason), "{text}: {message}");
    }
    let written = of(&format!("{two}[[request]]\nname = \"x\"\nget = \"/x\"\ntarget = \"b\"\n[[request]]\nname = \"y\"\nget = \"http://b/y\"\n")).unwrap();
    assert!(written.contains("[[target]]\nname = \"b\"") && written.contains("target = \"b\""), "{written}");
    assert_eq!(written.matches("target = \"b\"").count(), 1, "{written}");
}
