//! Regression tests of OpenAPI descriptions, recordings (HAR), curl commands and Postman collections that an earlier version
//! translated wrongly without a note.

use super::semantics::{has, paths, with};
use super::*;

#[test]
fn openapi_files_may_quote_curl_commands() {
    let yaml = "openapi: 3.0.0\ninfo:\n  description: |\n    Try\n    curl http://third.party/a\nservers: [{url: 'http://own.test'}]\npaths: {/a: {get: {}}}\n";
    assert_eq!(read(yaml, "f", None).unwrap()[0].target.url().to_string(), "http://own.test/");
    let script = "curl http://a/ -d @- <<END\nopenapi: 3\nEND\n";
    assert_eq!(read(script, "f", None).unwrap()[0].target.url().to_string(), "http://a/");
}

#[test]
fn files_that_start_as_openapi_are_openapi() {
    let yaml = "# pets\nopenapi: 3.0.0\ninfo:\n  description: |\n    Try\npaths: {/a: {get: {}}}\nservers: [{url: 'http://own.test'}]\nx-note: >\n  a\n";
    assert_eq!(read(yaml, "f", None).unwrap()[0].target.url().to_string(), "http://own.test/");
    // A command at the start of a line makes it invalid YAML, never a load on the host of the command.
    let broken = format!("{yaml}curl http://third.party/a\n");
    assert!(read(&broken, "f", None).unwrap_err().to_string().contains("not well-formed YAML"));
    let quoting = "openapi: 3.0.0\ninfo: {description: \"from 'k6'\"}\npaths: {/a: {get: {}}}\n";
    assert_eq!(read(quoting, "f", None).unwrap()[0].requests.len(), 1);
}

/// A recording with these entries: seconds, URL, status, resource type.
fn recording(entries: &[(u32, &str, i32, &str)]) -> String {
    let entry = |(at, url, status, kind): &(u32, &str, i32, &str)| {
        format!(
            "{{\"startedDateTime\": \"2026-01-01T{:02}:{:02}:{:02}Z\", \"time\": 10, \"_resourceType\": \"{kind}\", \"request\": {{\"method\": \"GET\", \"url\": \"{url}\"}}, \"response\": {{\"status\": {status}}}}}",
            at / 3600,
            at / 60 % 60,
            at % 60
        )
    };
    format!("{{\"log\": {{\"entries\": [{}]}}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
}

#[test]
fn recordings_target_the_host_of_their_page() {
    let har = recording(&[
        (0, "http://own/", 200, "document"),
        (2, "http://cdn/1", 200, "xhr"),
        (4, "http://cdn/2", 200, "xhr"),
        (6, "http://own/pushed", -2, "xhr"),
        (3606, "http://own/late", 200, "xhr"),
    ]);
    let plan = read(&har, "f", None).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://own/", vec!["/".to_owned(), "/late".to_owned()])
    );
    assert!(has(&plan, "longest pause is 1h"), "{:?}", plan.notes());
    let capped = ImportOptions { max_pause: Some(Nanos::from_secs(30)), ..ImportOptions::default() };
    let plan = super::super::read(&har, "f", &capped).unwrap().remove(0);
    let Arrivals::Closed { think, .. } = &plan.arrivals else { panic!("{plan:?}") };
    assert!(think.mean() < 31.0 && has(&plan, "1 pause was longer than 30s"), "{:?}", plan.notes());
}

#[test]
fn recordings_of_redirected_pages_target_the_final_host() {
    let redirect = recording(&[(0, "http://x.test/", 301, "document")])
        .replace("\"status\": 301", "\"status\": 301, \"redirectURL\": \"http://www.x.test/\"");
    let redirect = redirect.split_once('[').unwrap().1.rsplit_once(']').unwrap().0.to_owned();
    let text = recording(&[
        (1, "http://www.x.test/", 200, "document"),
        (2, "http://www.x.test/a.css", 200, "stylesheet"),
        (5, "http://www.x.test/next", 200, "document"),
    ])
    .replace("\"entries\": [", &format!("\"entries\": [{redirect},"));
    let plan = read(&text, "f", None).unwrap().remove(0);
    assert_eq!(
        (plan.target.url().to_string().as_str(), paths(&plan)),
        ("http://www.x.test/", vec!["/".to_owned(), "/next".to_owned()])
    );
    assert_eq!(plan.requests[0].objects, [Text::from("/a.css")]);
    assert!(has(&plan, "was redirected to http://www.x.test/"), "{:?}", plan.notes());
}

#[test]
fn curl_fields_from_files_are_noted() {
    let plan = read("curl http://a/ -F 'note=<f.txt' -F 'pic=@p.png'\n", "f", None).unwrap().remove(0);
    let Body::Multipart(parts) = &plan.requests[0].body else { panic!("{plan:?}") };
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["pic"]);
    assert!(has(&plan, "-F note=<f.txt"), "{:?}", plan.notes());
}

#[test]
fn time_and_redirect_limits_of_curl_are_translated() {
    // Below its resolution of a millisecond curl sets no limit.
    let plan = with("curl --max-time 0.0000000001 --connect-timeout 0.0004 http://h/", &[]).unwrap().remove(0);
    let workload = plan.workload().unwrap();
    assert_eq!(workload.target().unwrap().response_timeout(), Nanos::from_secs(30));
    assert!(!has(&plan, "max-time"), "{:?}", plan.notes());
    for (most, followed, noted) in [("100", 100, false), ("1000", 100, true), ("-1", 100, true), ("7", 7, false)] {
        let plan = with(&format!("curl -L --max-redirs {most} http://h/"), &[]).unwrap().remove(0);
        assert_eq!(plan.target.redirects(), followed, "{most}");
        assert_eq!(has(&plan, "at most 100"), noted, "{most}: {:?}", plan.notes());
    }
}

#[test]
fn headers_that_curl_removes_are_not_sent() {
    let plan = read("curl -H 'Accept:' -H 'X-A:' http://h/\n", "f", None).unwrap().remove(0);
    assert!(plan.target.omits_header("accept") && !plan.target.omits_header("user-agent"));
    assert_eq!(plan.notes(), Vec::<String>::new());
    let plan = read("curl -H 'Accept:' http://h/\ncurl http://h/b\n", "f", None).unwrap().remove(0);
    assert!(!plan.target.omits_header("accept") && has(&plan, "only some commands remove the header Accept"));
}

#[test]
fn curl_removes_dot_segments_and_sends_the_credentials_of_a_url() {
    // lib/urlapi.c and lib/mime.c of curl.
    let read = |command: &str| read(&format!("{command}\n"), "f", None).unwrap().remove(0);
    assert_eq!(paths(&read("curl http://h/a/../b")), ["/b"]);
    assert_eq!(paths(&read("curl --path-as-is http://h/a/../b")), ["/a/../b"]);
    let auth = read("curl http://me:p%40w@h/a").requests[0].auth.clone();
    assert_eq!(auth, Some(Auth::Basic(literal_template("me:p@w"))));
    let plan = read("curl -F f=@a.txt http://h/");
    let Body::Multipart(parts) = &plan.requests[0].body else { panic!("{plan:?}") };
    assert_eq!(parts[0].media_type.as_deref(), Some("text/plain"));
    let upload = read("curl -T a.bin http://h/");
    assert!(has(&upload, "Expect: 100-continue") && !has(&upload, "Content-Length"), "{:?}", upload.notes());
    assert!(has(&read("curl -X POST http://h/"), "no Content-Length"));
}

#[test]
fn postman_requests_are_those_that_postman_sends() {
    let collection = |items: &str| format!("{{\"info\": {{\"schema\": \"/collection/v2\"}}, \"item\": [{items}]}}");
    let item = |request: &str| format!("{{\"name\": \"a\", \"request\": {request}}}");
    let one = |request: &str| read(&collection(&item(request)), "f", None).unwrap().remove(0).requests.remove(0);
    let url = "\"url\": {\"raw\": \"http://h/p?a=1&b=2\", \"query\": [{\"key\": \"a\", \"value\": \"1\", \"disabled\": true}, {\"key\": \"b\", \"value\": \"2\"}]}";
    assert_eq!(one(&format!("{{{url}}}")).path.to_source(), "/p?b=2");
    let raw = "\"body\": {\"mode\": \"raw\", \"raw\": \"hi\"}";
    let post = one(&format!("{{\"method\": \"POST\", \"url\": \"http://h/\", {raw}}}"));
    assert_eq!(post.header("content-type"), Some(&Text::from("text/plain")));
    assert_eq!(post.body, body("hi"));
    let pruned = one(&format!("{{\"method\": \"GET\", \"url\": \"http://h/\", {raw}}}"));
    assert_eq!((&pruned.body, pruned.header("content-type")), (&Body::None, None));
    let kept = format!(
        "{{\"name\": \"a\", \"protocolProfileBehavior\": {{\"disableBodyPruning\": true}}, \"request\": {{\"method\": \"GET\", \"url\": \"http://h/\", {raw}}}}}"
    );
    assert_eq!(read(&collection(&kept), "f", None).unwrap()[0].requests[0].body, body("hi"));
    // A fragment is not sent, and newman adds headers of its own (postman-runtime).
    assert_eq!(one("\"http://h/p#part\"").path.to_source(), "/p");
    let names: Vec<String> = one("\"http://h/\"").headers.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Accept-Encoding", "Cache-Control"]);
    // The host that the user sets is the target.
    let items = [item("\"http://third.party/hit\""), item("\"{{base}}/login\"")].join(",");
    let plan = with(&collection(&items), &[("base", "http://mine:81")]).unwrap().remove(0);
    assert_eq!(plan.target.url().to_string(), "http://mine:81/");
}

#[test]
fn many_positions_without_lines_are_counted() {
    let plan = read(
        &recording(
            &(0..20)
                .map(|n| (n, "http://a/b", 0, "xhr"))
                .chain([(30, "http://a/", 200, "document")])
                .collect::<Vec<_>>(),
        ),
        "f",
        None,
    );
    let notes = plan.unwrap().remove(0).notes();
    assert!(notes.iter().any(|note| note.contains("and 12 more: has no response")), "{notes:?}");
}
