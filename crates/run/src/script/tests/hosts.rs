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
        go("http://www.shop.test/").unwrap_err().contains("is not on https://www.shop.test or http://api.shop.test:81")
    );
    for (location, target, path) in [("y", 1, "/b/y"), ("https://cdn.test/z", 2, "/z"), ("//www.shop.test:81/", 9, "")]
    {
        let reply = response(&[("Location", location)], b"");
        let mut state = SessionState::default();
        let received = Received { target: 1, path: "/b/c", ..Received::for_test(200, &reply) };
        script.evaluate(0, AT, received, &mut state, &|| Nanos::MAX).unwrap();
        match script.request(1, AT, Some(&state), Instant::ZERO) {
            Ok(request) => assert_eq!((request.target, request.path.as_str()), (target, path), "{location}"),
            Err(missing) => assert!(target == 9 && format!("{missing:?}").contains("is not on"), "{missing:?}"),
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
