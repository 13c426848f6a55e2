use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use proptest::prelude::*;

use super::*;
use crate::message::{OutgoingRequest, Response};

mod expressions;
mod forms;
mod hosts;
mod responses;
mod signing;

fn workload(text: &str) -> Workload {
    let text = format!("seed = 7\nduration = \"10s\"\narrivals.closed.users = 5\n{text}");
    Workload::parse(&text, "w.toml", &|name| match name {
        "users.csv" => Ok("name,password\nann,s1\nbob,s2\ncy,s3\n".into()),
        "order.json" => Ok("{\"who\": \"{{user.name}}\"}".into()),
        "a.png" => Ok(vec![0x89, b'P', 0xff, 0]),
        _ => Err("no such file".to_owned()),
    })
    .unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

fn script(text: &str) -> Result<Script, Error> {
    let text =
        if text.contains("[target]") { text.to_owned() } else { format!("[target]\nurl = \"http://h:81/\"\n{text}") };
    let workload = workload(&text);
    let mut script = Script::new(&workload, workload.target().unwrap())?;
    script.in_run("r0".parse().unwrap());
    Ok(script)
}

const AT: RequestContext = RequestContext { session: 1, step: 2, visit: 0, sequence: 9, label: 0 };

fn request(text: &str) -> OutgoingRequest {
    script(text).unwrap().request(0, AT, None, Instant::ZERO).unwrap()
}

fn header<'a>(request: &'a OutgoingRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

fn response(headers: &[(&str, &str)], body: &[u8]) -> Response {
    Response {
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect(),
        body: body.to_vec().into(),
        size: body.len() as u64,
        body_limit: usize::MAX,
        rows: 0,
        stream: None,
        text: None,
    }
}

#[test]
fn placeholders_are_replaced_by_values() {
    let built = request(
        "[variables]\nuser.file = \"users.csv\"\nn.sequence = 100\nodd = \"a b&c\"\n[[request]]\npost = \"/{{session}}/{{sequence}}?q={{odd}}&u={{user.name}}\"\nheaders = { X-N = \"{{n}}\" }\nbody_file = \"order.json\"",
    );
    assert_eq!((built.method.as_str(), built.path.as_str()), ("POST", "/1/9?q=a%20b%26c&u=bob"));
    assert_eq!((header(&built, "X-N"), header(&built, "Accept")), (Some("109"), Some("*/*")));
    assert_eq!(built.body.as_deref(), Some(br#"{"who": "bob"}"#.as_slice()));
}

#[test]
fn credentials_forms_and_multipart_bodies() {
    let built = request(
        "[target]\nurl = \"http://h/\"\nauth.basic = \"{{user.name}}:{{user.password}}\"\n[variables]\nuser.file = \"users.csv\"\n[[request]]\npost = \"/\"\nform = { a = \"1 & 2\", b = \"{{user.name}}\" }",
    );
    assert_eq!(header(&built, "Authorization"), Some("Basic Ym9iOnMy"));
    assert_eq!(header(&built, "Content-Type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(built.body.as_deref(), Some(b"a=1+%26+2&b=bob".as_slice()));
    let built = request(
        "[[request]]\nput = \"/\"\nmultipart = [{ name = \"p\", file = \"a.png\", type = \"image/png\" }, { name = \"t\", value = \"x{{session}}\" }]",
    );
    let kind = header(&built, "Content-Type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = String::from_utf8_lossy(built.body.as_deref().unwrap()).into_owned();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"p\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\u{fffd}P\u{fffd}\0\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nx1\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, expected);
}

#[test]
fn a_value_that_would_break_the_request_is_rejected() {
    let script = script("[variables]\nodd = { file = \"users.csv\", columns = [\"a\", \"b\"] }\n[[request]]\nname = \"a\"\nget = \"/\"\nextract = [{ name = \"t\", regex = \"(?s)(.*)\" }]\n[[request]]\nname = \"b\"\nget = \"/{{odd.a}}\"\nheaders = { X = \"{{t}}\" }\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\"").unwrap();
    let mut state = SessionState::default();
    let missing = script.request(1, AT, Some(&state), Instant::ZERO).unwrap_err();
    assert_eq!(missing, MissingValue::Value("{{t}} has no value (nothing was extracted)".to_owned()));
    script
        .evaluate(0, AT, Received::for_test(200, &response(&[], b"x\r\nHost: evil")), &mut state, &|| Nanos::MAX)
        .unwrap();
    let missing = script.request(1, AT, Some(&state), Instant::ZERO).unwrap_err();
    assert!(
        matches!(&missing, MissingValue::Value(reason) if reason.contains("X has a control character")),
        "{missing:?}"
    );
}

#[test]
fn rows_depend_on_the_session_alone() {
    let of = |per: &str, at: RequestContext| {
        let text =
            format!("[variables]\nuser = {{ file = \"users.csv\", {per} }}\n[[request]]\nget = \"/{{{{user.name}}}}\"");
        script(&text).unwrap().request(0, at, None, Instant::ZERO).map(|request| request.path)
    };
    let at = |session, sequence| RequestContext { session, step: 0, visit: 0, sequence, label: 0 };
    assert_eq!(of("order = \"sequential\"", at(4, 0)).unwrap(), "/bob");
    assert_eq!(of("per = \"request\"", at(4, 2)).unwrap(), "/cy");
    for (at_end, error) in [("stop", false), ("error", true)] {
        assert_eq!(of(&format!("at_end = \"{at_end}\""), at(2, 0)).unwrap(), "/cy");
        let missing = of(&format!("at_end = \"{at_end}\""), at(3, 0)).unwrap_err();
        assert_eq!(
            missing,
            MissingValue::Rows { reason: "the 3 rows of users.csv are used up (user)".to_owned(), error }
        );
    }
    let drawn: Vec<String> = (0..200).map(|session| of("order = \"random\"", at(session, 0)).unwrap()).collect();
    let again: Vec<String> = (0..200).map(|session| of("order = \"random\"", at(session, 99)).unwrap()).collect();
    assert_eq!(drawn, again);
    assert!(["/ann", "/bob", "/cy"].iter().all(|name| drawn.iter().filter(|row| row == name).count() > 40));
}

#[test]
fn each_visit_of_a_closed_user_has_its_own_values() {
    let text = "[variables]\nuser = { file = \"users.csv\", per = \"visit\" }\nid = { uuid = true, per = \"visit\" }\n\
                n = { sequence = 1, per = \"visit\" }\n[[request]]\nget = \"/{{user.name}}/{{n}}/{{id}}\"";
    let script = script(text).unwrap();
    assert!(script.counts_visits);
    let of = |session, step, visit| {
        script
            .request(0, RequestContext { session, step, visit, sequence: 99, label: 0 }, None, Instant::ZERO)
            .unwrap()
            .path
    };
    // The same at every step of a visit, but different in the next visit.
    assert_eq!(of(1, 0, 0), of(1, 1, 0));
    let id = |path: String| path.rsplit('/').next().unwrap().to_owned();
    assert_ne!(id(of(1, 1, 0)), id(of(1, 2, 1)));
    let users = 5;
    let mut numbers: Vec<u64> = (0..users)
        .flat_map(|user| (0..4).map(move |visit| (user, visit)))
        .map(|(user, visit)| of(user, 0, visit).split('/').nth(2).unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=4 * users), "rows are taken in order over all users");
}

#[test]
fn uuids_are_of_version_4_and_each_their_own() {
    let text = "[variables]\na.uuid = true\nb.uuid = true\nc = { uuid = true, per = \"request\" }\n[[request]]\nget = \"/{{a}}/{{b}}/{{c}}\"";
    let script = script(text).unwrap();
    let of = |session, step| {
        script
            .request(0, RequestContext { session, step, visit: 0, sequence: 0, label: 0 }, None, Instant::ZERO)
            .unwrap()
            .path
    };
    let pieces = |path: String| path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (first, second) = (pieces(of(1, 0)), pieces(of(1, 1)));
    for uuid in &first {
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
        assert!(uuid[14..].starts_with('4') && uuid[19..].starts_with(['8', '9', 'a', 'b']), "{uuid}");
    }
    assert!(first[0] != first[1] && first[0] == second[0] && first[2] != second[2]);
}

#[test]
fn uuids_and_run_ids_differ_between_runs_unless_the_id_is_given() {
    let text = "[variables]\nid.uuid = true\ndice = { random = \"uniform:1..1000000\" }\n[[request]]\npost = \"/{{run}}/{{dice}}/{{id}}\"\n\
                headers = { X-Run = \"of {{ run }}\" }\nbody = \"{{run}}\"";
    let of = |run: &str| {
        let mut script = script(text).unwrap();
        script.in_run(run.parse().unwrap());
        script.request(0, AT, None, Instant::ZERO).unwrap()
    };
    let (one, again, other) = (of("r1"), of("r1"), of("r2"));
    assert_eq!((&one.path, one.body.as_deref()), (&again.path, Some(&b"r1"[..])));
    assert!(one.headers.contains(&("X-Run".to_owned(), "of r1".to_owned())));
    let pieces = |request: &OutgoingRequest| request.path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (pieces(&one), pieces(&other));
    assert_eq!((&*one[0], &*other[0]), ("r1", "r2"));
    // Values that depend on the seed alone do not change.
    assert!(one[1] == other[1] && one[2] != other[2], "{one:?} {other:?}");
}

#[test]
fn now_has_formats_and_is_the_same_within_a_text() {
    let text = "[[request]]\npost = \"/{{now|%Y-%m-%d}}?at={{now}}\"\n\
                body = '{\"ms\": {{now|unix_ms}}, \"s\": {{ now | unix }}, \"iso\": \"{{now|iso}}\", \"q\": \"{{now|\"%%\"%H}}\"}'";
    let before = unix_now();
    let request = script(text).unwrap().request(0, AT, None, Instant::ZERO).unwrap();
    let after = unix_now();
    let body: serde_json::Value = serde_json::from_slice(&request.body.unwrap()).unwrap();
    let ms = body["ms"].as_u64().unwrap();
    assert!((before.0 / 1_000_000..=after.0 / 1_000_000).contains(&ms), "{body}");
    assert_eq!(body["s"].as_u64(), Some(ms / 1000));
    let iso = body["iso"].as_str().unwrap();
    assert_eq!(iso.parse::<jiff::Timestamp>().unwrap().as_millisecond(), ms as i64);
    assert_eq!(body["q"].as_str().unwrap(), format!("\"%\"{}", &iso[11..13]));
    let (day, at) = request.path.split_once("?at=").unwrap();
    assert!(
        day.len() == "/2026-11-23".len() && at.len() == "2026-11-23T15:26:10.123Z".len() + 4 && at.contains("%3A"),
        "{}",
        request.path
    );
}

/// Evaluates a response to request 0: the failed check, and the path of a request that uses the extracted `t`.
fn evaluate(settings: &str, status: u16, response: &Response) -> (Result<(), String>, String) {
    evaluate_within(settings, status, response, &|| Nanos::MAX)
}

/// The same with a time limit.
fn evaluate_within(
    settings: &str,
    status: u16,
    response: &Response,
    time_left: &dyn Fn() -> Nanos,
) -> (Result<(), String>, String) {
    let text = format!(
        "[[request]]\nname = \"a\"\nget = \"/\"\n{settings}\n[[request]]\nname = \"b\"\nget = \"/{{{{t}}}}\"\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\""
    );
    let text = if settings.contains("\"t\"") { text } else { format!("{text}\n[variables]\nt = \"-\"") };
    let script = script(&text).unwrap_or_else(|reason| panic!("{reason}"));
    let mut state = SessionState::default();
    let result =
        script.evaluate(0, AT, Received::for_test(status, response), &mut state, time_left).map_err(|no| no.reason);
    let rendered = script.request(1, AT, Some(&state), Instant::ZERO);
    (result, rendered.map_or_else(|missing| format!("{missing:?}"), |request| request.path))
}

#[test]
fn random_matches_are_uniform_and_missing_ones_can_stay() {
    let text = "[variables]\nt = \"first\"\n[[request]]\nget = \"/{{t}}\"\n\
                extract = [{ name = \"t\", regex = '\\d', nth = \"random\", keep = true }]";
    let script = script(text).unwrap();
    let mut counts = [0; 3];
    for session in 0..3_000 {
        let at = RequestContext { session, ..AT };
        let mut state = SessionState::default();
        let mut rendered = |body: &[u8]| {
            assert_eq!(
                script.evaluate(0, at, Received::for_test(200, &response(&[], body)), &mut state, &|| Nanos::MAX),
                Ok(())
            );
            script.request(0, at, Some(&state), Instant::ZERO).unwrap().path
        };
        assert_eq!(rendered(b"none"), "/first");
        let drawn = rendered(b"0, 1 or 2");
        assert_eq!((rendered(b"0, 1 or 2"), rendered(b"none")), (drawn.clone(), drawn.clone()));
        counts[drawn[1..].parse::<usize>().unwrap()] += 1;
    }
    assert!(counts.iter().all(|n| (850..1_150).contains(n)), "{counts:?}");
}

const HTML: &[u8] = b"<!doctype html><title>Shop</title><form><input name=csrf value='a&amp;b'></form>\
    <div class=menu><p>no</p><a class='logout big' href=\"/out?x=1&amp;y=2\"> Bye </a></div>";

#[test]
fn html_is_limited_in_depth_and_time() {
    let check = "check = [{ css = \"#x\" }]";
    let page = |depth| response(&[], format!("{}<p id=x>", "<div>".repeat(depth)).as_bytes());
    assert_eq!(evaluate(check, 200, &page(400)).0, Ok(()));
    let flat = response(&[], format!("{}<p id=x>", "<div></div><br>".repeat(50_000)).as_bytes());
    assert_eq!(evaluate(check, 200, &flat).0, Ok(()), "long is not deep");
    assert!(evaluate(check, 200, &page(100_000)).0.unwrap_err().contains("deeper than 512"));
    assert!(evaluate_within(check, 200, &flat, &|| Nanos::ZERO).0.unwrap_err().contains("too long to evaluate"));
    let looks = std::cell::Cell::new(0);
    let soon = || Nanos(u64::from(looks.replace(looks.get() + 1) <= 200));
    assert!(evaluate_within(check, 200, &flat, &soon).0.unwrap_err().contains("too long to evaluate"), "in the middle");
    assert!(looks.get() < 300, "and then no more");
}

/// A body of 16 MB: `part` between `start` and `end`.
fn body_of_16_mb(start: &str, part: &str, end: &str) -> Response {
    let repeated = part.repeat(((16 << 20) - start.len() - end.len()) / part.len());
    response(&[], format!("{start}{repeated}{end}").as_bytes())
}

#[test]
fn large_responses_are_examined_within_bounds_or_the_reason_names_the_check() {
    let maps = body_of_16_mb("[", "{\"\":0},", "0]");
    let arrays = body_of_16_mb("[", "[],", "0]");
    let deep = body_of_16_mb("[", &format!("{}1{},", "[".repeat(100), "]".repeat(100)), "0]");
    let tokens = body_of_16_mb("{\"list\":[", "{\"id\":1,\"name\":\"abcdefgh\"},", "0],\"token\":\"t\"}");
    let html = body_of_16_mb("", "<p class=a>x</p>", "");
    let text = body_of_16_mb("", "abcdefgh ", "");
    let no_bytes = body_of_16_mb("", "a", "\u{e4}");
    let letters = body_of_16_mb("", "\u{e4}\u{20000}", "");
    let memory = "would need more than 64 MB of memory";
    let late = "took too long to evaluate";
    for (settings, response, reasons) in [
        ("check = [{ json = \"$.token\" }]", &maps, &["json $.token", late] as &[&str]),
        ("check = [{ json = \"$.token\" }]", &tokens, &[late]),
        ("check = [{ json = \"$.list[*].id\", is = \"1\" }]", &tokens, &[memory, late]),
        ("check = [{ name = \"n\", json = \"$..a[3]\" }]", &maps, &["n: ", memory, late]),
        ("check = [{ name = \"n\", json = \"$..a[3]\" }]", &arrays, &["n: ", memory, late]),
        ("check = [{ name = \"n\", json = \"$..[?@..a]\" }]", &deep, &["n: ", memory, late]),
        ("extract = [{ name = \"t\", json = \"$..*\", nth = \"random\" }]", &deep, &["extract t: ", memory, late]),
        ("check = [{ status = 200 }, { name = \"n\", css = \"p + p > b\" }]", &html, &["n: ", late]),
        ("extract = [{ name = \"t\", css = \"*\", nth = \"random\" }]", &html, &["extract t: ", late]),
        ("extract = [{ name = \"t\", regex = '\\w+', nth = \"random\" }]", &text, &["extract t: ", late]),
        ("check = [{ name = \"n\", regex = '(?:a|b).*?\\d|h' }]", &text, &[late]),
        ("check = [{ name = \"n\", regex = '(\\w+@)+\\w' }]", &no_bytes, &["n"]),
        ("check = [{ name = \"n\", regex = '(?i)(\\w{1,50}@){3}\\w' }]", &letters, &["n: ", late]),
    ] {
        let clock = offered_io::Clock::start();
        let time_left = || clock.now().until(Instant::ZERO + Nanos::from_millis(200));
        let result = evaluate_within(settings, 200, response, &time_left).0;
        let ok = result.as_ref().map_or_else(|reason| reasons.iter().any(|part| reason.contains(part)), |()| true);
        assert!(ok && (reasons.first() != Some(&"n: ") || result.is_err()), "{settings}: {result:?}");
    }
}

#[test]
fn values_are_extracted_from_all_parts() {
    let json = response(
        &[("Location", "/next"), ("location", "/other")],
        br#"{"token": "t1", "n": 7, "items": [{"id": 3}, {"id": 4}]}"#,
    );
    let html = response(&[], HTML);
    for (extract, response, rendered) in [
        ("json = \"$.token\"", &json, "/t1"),
        ("json = \"$.n\"", &json, "/7"),
        ("json = \"$.items[*].id\", nth = 2", &json, "/4"),
        ("json = \"$.items[?@.id > 3].id\"", &json, "/4"),
        ("regex = '\"token\": \"(\\w+)\"'", &json, "/t1"),
        ("regex = '(\\w)(\\d)', group = 2", &json, "/1"),
        ("regex = 'tok..'", &json, "/token"),
        ("header = \"LOCATION\", nth = 2", &json, "//other"),
        ("css = \"input[name=csrf]\", attribute = \"value\"", &html, "/a&b"),
        ("css = \"div > a.logout\", attribute = \"href\"", &html, "//out?x=1&y=2"),
        ("css = \"div a\"", &html, "/Bye"),
        ("json = \"$.token\", regex = 't(\\d)'", &json, "/1"),
        ("json = \"$.items[*].id\", regex = '[4-9]'", &json, "/4"),
        ("css = \"div > a.logout\", attribute = \"href\", regex = 'x=(\\d)&'", &html, "/1"),
        ("json = \"$.none\", default = \"d\"", &json, "/d"),
        ("json = \"$.none\", nth = \"random\", default = \"d\"", &json, "/d"),
    ] {
        let (result, path) = evaluate(&format!("extract = [{{ name = \"t\", {extract} }}]"), 200, response);
        assert_eq!((result, path.as_str()), (Ok(()), rendered), "{extract}");
    }
    for (extract, response) in [
        ("json = \"$.none\"", &json),
        ("json = \"$.a\"", &html),
        ("css = \"b\"", &html),
        ("regex = 'zz'", &json),
        ("json = \"$.token\", regex = 'zz'", &json),
        ("header = \"X\"", &json),
    ] {
        let (result, rendered) = evaluate(&format!("extract = [{{ name = \"t\", {extract} }}]"), 200, response);
        assert_eq!(result, Err("extract t".to_owned()), "{extract}");
        assert!(rendered.contains("{{t}} has no value"), "{rendered}");
    }
}

#[test]
fn checks_pass_and_fail_by_name() {
    let json = || response(&[("Content-Type", "application/json")], br#"{"ok": true, "who": "bob", "list": [1, 2]}"#);
    let html = || response(&[], HTML);
    let sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"; // printf hello | sha256sum
    let sum = |check: &str| format!("sha256 = \"{sum}\"{check}");
    for (check, response, passes, name) in [
        ("status = 200", json(), true, "status = 200"),
        ("status = [404, \"2xx\"]", json(), true, ""),
        ("status = 404", json(), false, "status = 404"),
        ("header = \"content-type\", contains = \"json\"", json(), true, ""),
        ("header = \"Content-Type\", is = \"json\"", json(), false, "header Content-Type = json"),
        ("header = \"ETag\"", json(), false, "header ETag"),
        ("body = true, contains = \"bob\"", json(), true, ""),
        ("body = true, matches = '\"who\": \"\\w{3}\"'", json(), true, ""),
        ("body = true, contains = \"Bob\"", json(), false, "body contains Bob"),
        ("json = \"$.ok\", is = \"true\"", json(), true, ""),
        ("json = \"$.list[*]\", is = \"2\"", json(), true, ""),
        ("json = \"$.ok\", is = \"yes\"", html(), false, "json $.ok = yes"),
        ("json = \"$.none\"", json(), false, "json $.none"),
        ("css = \".logout\"", html(), true, ""),
        ("css = \"title\", is = \"Shop\"", html(), true, ""),
        ("css = \"a.login\", name = \"signed out\"", html(), false, "signed out"),
        ("size = \"< 10\"", json(), false, "size < 10"),
        ("size = \"1..1000\"", json(), true, ""),
        (&sum(""), response(&[], b"hello"), true, ""),
        (&sum(", name = \"as it was\""), response(&[], b"hallo"), false, "as it was"),
        ("regex = 'wh.'", json(), true, ""),
    ] {
        let (result, _) = evaluate(&format!("check = [{{ {check} }}]"), 200, &response);
        assert_eq!(result, if passes { Ok(()) } else { Err(name.to_owned()) }, "{check}");
    }
    // A check may use a value extracted from the same response.
    let uses_own =
        "extract = [{ name = \"t\", json = \"$.who\" }]\ncheck = [{ body = true, contains = \"who\\\": \\\"{{t}}\" }]";
    assert_eq!(evaluate(uses_own, 200, &json()).0, Ok(()));
}

#[test]
fn compressed_responses_are_decoded_and_invalid_ones_reported() {
    let mut coded = response(&[("Content-Encoding", "zstd")], &zstd::encode_all(&b"hello bob"[..], 1).unwrap());
    let check = "check = [{ body = true, contains = \"bob\" }]";
    assert_eq!(evaluate(check, 200, &coded).0, Ok(()));
    let mut broken = coded.body.to_vec();
    broken[0] ^= 1;
    coded.body = broken.into();
    assert_eq!(evaluate(check, 200, &coded).0, Err("the response is not valid zstd".to_owned()));
    // If nothing examines the body, its encoding does not matter.
    assert_eq!(evaluate("check = [{ status = 200 }]", 200, &coded).0, Ok(()));
    coded.size = 20 << 20;
    assert!(evaluate(check, 200, &coded).0.unwrap_err().contains("too large to be evaluated"));
}

#[test]
fn invalid_expressions_are_errors_with_their_location() {
    for (settings, parts) in [
        (
            "check = [{ regex = \"(\" }]",
            &["request `/`", "check `regex (`", "not a valid regular expression", "unclosed group"][..],
        ),
        ("check = [{ json = \"items[\" }]", &["not a valid JSONPath"]),
        ("check = [{ css = \"a[\" }]", &["not a valid CSS selector"]),
        ("extract = [{ name = \"t\", regex = \"a\", group = 2 }]", &["extract `t`", "no group 2"]),
        ("body_file = \"none.json\"", &["cannot read none.json"]),
    ] {
        let rendered = script(&format!("[[request]]\nget = \"/\"\n{settings}")).unwrap_err().to_string();
        assert!(parts.iter().all(|part| rendered.contains(part)), "{rendered}");
    }
    let rendered =
        script("[variables]\nk.env = \"OFFERED_NOT_SET\"\n[[request]]\nget = \"/{{k}}\"").unwrap_err().to_string();
    assert!(rendered.contains("variable `k`") && rendered.contains("OFFERED_NOT_SET is not set"), "{rendered}");
}

#[test]
fn redirects_are_resolved_as_in_a_browser() {
    let script =
        script("[target]\nurl = \"http://h:81/\"\nredirects = 3\n[[request]]\npost = \"/a/b?c\"\nform = { x = \"1\" }")
            .unwrap();
    let built = script.request(0, AT, None, Instant::ZERO).unwrap();
    let go = |status, location: &str| {
        script.redirect((0, AT), &built, status, &response(&[("Location", location)], b""), None, Instant::ZERO)
    };
    for (location, path) in [
        ("/x", "/x"),
        ("x?y=z", "/a/x?y=z"),
        ("../x/./y", "/x/y"),
        ("?q", "/a/b?q"),
        ("http://h:81/z#part", "/z"),
        ("HTTP://H:81", "/"),
        ("//h:81/w", "/w"),
        ("/sp ace", "/sp%20ace"),
    ] {
        let next = go(302, location).unwrap().unwrap();
        assert_eq!((next.method.as_str(), next.path.as_str(), next.body.as_ref()), ("GET", path, None), "{location}");
        assert_eq!(header(&next, "Content-Type"), None);
    }
    let kept = go(307, "/x").unwrap().unwrap();
    assert_eq!((kept.method.as_str(), kept.body.as_deref()), ("POST", Some(b"x=1".as_slice())));
    assert!(go(301, "http://other/").unwrap_err().contains("is on another server than http://h:81"));
    assert!(go(301, "https://h:81/").is_err(), "another scheme is another target");
    assert_eq!(go(304, "/x"), Ok(None));
    assert_eq!(script.redirect((0, AT), &built, 302, &response(&[], b""), None, Instant::ZERO), Ok(None));
}

proptest! {
    #[test]
    fn no_response_makes_the_evaluation_panic(body in proptest::collection::vec(any::<u8>(), 0..300), coding in "(gzip|br|zstd|deflate|)") {
        let response = response(&[("Content-Encoding", &coding)], &body);
        let settings = "extract = [{ name = \"t\", css = \"a b\", default = \"x\" }]\ncheck = [{ json = \"$..a\" }, { regex = \"a+b\" }]";
        let _ = evaluate(settings, 200, &response);
    }

    #[test]
    fn an_extracted_value_cannot_break_the_request_line(value in "\\PC{0,40}") {
        let script = script("[variables]\nv = \"x\"\n[[request]]\nname = \"a\"\nget = \"/\"\nextract = [{ name = \"v\", regex = \"(?s).*\" }]\n[[request]]\nname = \"b\"\nget = \"/p/{{v}}?q={{v}}\"\n[[flow]]\nname = \"f\"\n[[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\"").unwrap();
        let mut state = SessionState::default();
        let _ = script.evaluate(0, AT, Received::for_test(200, &response(&[], value.as_bytes())), &mut state, &|| Nanos::MAX);
        let path = script.request(1, AT, Some(&state), Instant::ZERO).unwrap().path;
        prop_assert!(path.starts_with("/p/") && path.bytes().all(|b| b > b' ' && b < 0x7f), "{path}");
    }
}

#[test]
fn values_are_encoded_for_their_context() {
    let body_of = |request: &str| {
        let text =
            format!("[variables]\nw = \"say \\\"hi\\\" & go\"\nn.sequence = 5\n[[request]]\npost = \"/\"\n{request}");
        String::from_utf8(self::request(&text).body.unwrap().to_vec()).unwrap()
    };
    let json = r#"{"w": "say \"hi\" & go", "n": 14}"#;
    assert_eq!(body_of("body = '{\"w\": \"{{w}}\", \"n\": {{n}}}'"), json);
    assert_eq!(body_of("body = '<w n=\"{{n}}\">{{w}}</w>'"), "<w n=\"14\">say &quot;hi&quot; &amp; go</w>");
    assert_eq!(
        body_of("form = { w = \"{{w}}\", r = \"a&b={{w|raw}}\" }"),
        "w=say+%22hi%22+%26+go&r=a%26b%3Dsay \"hi\" & go"
    );
    let form = "headers = { Content-Type = \"application/x-www-form-urlencoded\" }\nbody = \"w={{w}}&n={{n}}\"";
    assert_eq!(body_of(form), "w=say+%22hi%22+%26+go&n=14");
    assert_eq!(body_of("body = '{\"w\": \"{{w|raw}}\"}'"), "{\"w\": \"say \"hi\" & go\"}");
    let path =
        request("[variables]\nw = \"a/b?c\"\nn.sequence = 1\n[[request]]\nget = \"/x?w={{w}}&r={{w|raw}}&n={{n}}\"")
            .path;
    assert_eq!(path, "/x?w=a%2Fb%3Fc&r=a/b?c&n=10");
}

#[test]
fn each_visit_of_a_new_visitor_has_the_values_of_a_new_session() {
    let text = "arrivals.closed.visitor = \"WHO\"\n[target]\nurl = \"http://h/\"\n[variables]\nuser = { file = \"users.csv\" }\n\
                id.uuid = true\nn = { sequence = 1, per = \"session\" }\n[[request]]\nname = \"a\"\nget = \"/{{session}}/{{n}}/{{user.name}}/{{id}}\"\n\
                [[flow]]\nname = \"f\"\nstep = [{ request = \"a\" }]\n";
    let of = |visitor: &str, session, visit| {
        let script = script(&text.replace("WHO", visitor)).unwrap();
        let context = RequestContext { session, step: 3, visit, sequence: 99, label: 0 };
        let path = script.request(0, context, None, Instant::ZERO).unwrap().path;
        path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // With five users, visit v of user u is visitor 5 v + u.
    assert_eq!(of("new", 1, 0)[..3], ["1", "2", "bob"]);
    assert_eq!(of("new", 1, 1)[..3], ["6", "7", "ann"]);
    assert_eq!(of("same", 1, 1)[..3], ["1", "2", "bob"]);
    assert!(of("new", 1, 0)[3] != of("new", 1, 1)[3] && of("same", 1, 0)[3] == of("same", 1, 1)[3]);
    assert!(script(&text.replace("WHO", "new")).unwrap().counts_visits);
    assert!(!script(&text.replace("WHO", "same")).unwrap().counts_visits);
}

#[test]
fn requests_contain_the_work_that_a_simulation_draws() {
    let text = "seed = 9\nduration = \"10s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://h/\"\n\
                server.service.exponential = \"10ms\"\n[variables]\nms = { work = \"ms\" }\ns = { work = \"s\" }\n\
                [[request]]\nget = \"/a?{{ms}}&{{s}}\"\n[[request]]\nget = \"/b?{{ms}}\"\nservice = { constant = \"7.5ms\" }\n";
    let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
    let script = Script::new(&workload, workload.target().unwrap()).unwrap();
    let path = |label| script.request(label, RequestContext { label, ..AT }, None, Instant::ZERO).unwrap().path;
    let drawn = Distribution::exponential(0.01).unwrap().draw(Seed(9), Purpose::Size, AT.session, AT.step);
    let ns = Nanos::from_secs_f64(drawn).0;
    assert_eq!(path(0), format!("/a?{}.{:06}&0.{ns:09}", ns / 1_000_000, ns % 1_000_000));
    assert_eq!(path(1), "/b?7.500000");
    let without_service = text.replace("server.service.exponential = \"10ms\"\n", "");
    let error = Workload::parse(&without_service, "w.toml", &|_| Err(String::new())).unwrap_err().to_string();
    assert!(error.contains("the work is undefined"), "{error}");
}

#[test]
fn relative_urls_refer_to_the_response_that_they_are_from() {
    let text = "[[request]]\nname = \"a\"\npost = \"/\"\nextract = [{ name = \"t\", header = \"Location\" }]\n\
        [[request]]\nname = \"b\"\nget = \"{{t}}\"\n[[request]]\nname = \"c\"\nget = \"/x/{{t}}\"\n[[flow]]\nname = \"f\"\n\
        [[flow.step]]\nrequest = \"a\"\n[[flow.step]]\nrequest = \"b\"\n[[flow.step]]\nrequest = \"c\"";
    let script = script(text).unwrap();
    // RFC 3986, section 5.4, for the base http://h/b/c/d;p?q.
    for (location, resolved) in [
        ("5", "/b/c/5"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        (";x", "/b/c/;x"),
        ("", "/b/c/d;p?q"),
        (".", "/b/c/"),
        ("..", "/b/"),
        ("../g", "/b/g"),
        ("../../../g", "/g"),
        ("g;x=1/../y", "/b/c/y"),
        ("http://h:81/z", "/z"),
        ("//h:81/z?1", "/z?1"),
        ("g#s", "/b/c/g"),
    ] {
        let reply = response(&[("Location", location)], b"");
        let mut state = SessionState::default();
        let received = Received { path: "/b/c/d;p?q", ..Received::for_test(201, &reply) };
        script.evaluate(0, AT, received, &mut state, &|| Nanos::MAX).unwrap();
        assert_eq!(script.request(1, AT, Some(&state), Instant::ZERO).unwrap().path, resolved, "{location}");
    }
}

#[test]
fn text_is_read_in_the_encoding_that_the_response_states() {
    let latin = response(&[("Content-Type", "text/html; charset=ISO-8859-1")], b"<p id=x>caf\xe9</p>");
    for find in ["regex = 'x>(\\w+)'", "css = '#x'"] {
        let (result, path) = evaluate(&format!("extract = [{{ name = \"t\", {find} }}]"), 200, &latin);
        assert_eq!((result, path.as_str()), (Ok(()), "/caf%C3%A9"), "{find}");
    }
    assert_eq!(evaluate("check = [{ body = true, contains = \"café\" }]", 200, &latin).0, Ok(()));
}
