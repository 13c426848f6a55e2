//! Formats that take methods, URLs and checks from the workload.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason, Recording, VisitPosition};
use offered_workload::Workload;
use serde_json::Value;

use super::{ExportFormat, RunContext, write};

const WORKLOAD: &str = r#"
seed = 7
duration = "10s"
target = { url = "http://shop.test:8080/" }
arrivals.partly_open = { rate = "1/s", stay = 0.5, think = { constant = "1s" } }
variables = { id = { random = "uniform:1..9" } }
[[request]]
name = "home"
get = "/?from=ad"
check = [{ status = 200, name = "ok" }, { body = true, contains = "Shop", name = "shop" }]
[[request]]
name = "item"
post = "/item/{{id}}"
headers = { User-Agent = "Shopper/1" }
retry = { times = 2, on = ["timeout"] }
"#;

/// A request of session `session` at second `session`, with a response after 20 ms.
fn request(session: u64, label: u16, step: u32) -> Event {
    let sent = Instant::from_secs(session) + Nanos::from_millis(100 * u64::from(step));
    let visit = Some(VisitPosition { number: 0, place: 0, ends: session > 0 || step > 0 });
    Event {
        sent: Some(sent),
        first_byte: Some(sent + Nanos::from_millis(15)),
        done: Some(sent + Nanos::from_millis(20)),
        handshake: Some(Nanos::from_millis(5)).filter(|_| step == 0),
        session,
        step,
        label,
        outcome: Outcome::Ok,
        status: 200,
        bytes_out: 80,
        bytes_in: 300,
        visit,
        ..Event::at(sent)
    }
}

/// A visit of two requests, the second in two attempts; a failed check; a refused request; one that was not sent.
fn recording() -> Recording {
    let item = request(0, 1, 1);
    let second = Event { attempt: 2, visit: None, ..item.clone() };
    let first = Event {
        attempt: 1,
        outcome: Outcome::Timeout,
        status: 0,
        first_byte: None,
        error: Some(Reason::ResponseTimeout(Nanos::from_millis(20))),
        ..second.clone()
    };
    let later = |at: Option<Instant>| at.map(|at| at + Nanos::from_millis(30));
    let second =
        Event { sent: later(second.sent), first_byte: later(second.first_byte), done: later(second.done), ..second };
    let item = Event { retries: 1, done: second.done, first_byte: second.first_byte, ..item };
    let unchecked = Event { outcome: Outcome::CheckFailed, error: Some("shop".into()), ..request(1, 0, 0) };
    let refused =
        Event { outcome: Outcome::Refused, status: 0, first_byte: None, error: Some("no".into()), ..request(2, 1, 0) };
    let events = vec![request(0, 0, 0), first, second, item, unchecked, refused, Event::at(Instant::from_secs(3))];
    Recording::of_run(events, vec!["home".to_owned(), "item".to_owned()])
}

/// The exported lines, and what they lack.
fn exported(
    kind: ExportFormat,
    traceparent: Option<&dyn Fn(usize, u64, u32) -> Option<String>>,
) -> (String, Vec<String>) {
    let workload = Workload::parse(WORKLOAD, "w.toml", &|_| Err(String::new())).unwrap_or_else(|e| panic!("{e}"));
    let run = RunContext {
        origin: Nanos::from_secs(1_800_000_000),
        version: Some("1.2.3"),
        workload: Some(&workload),
        traceparent,
        ..RunContext::default()
    };
    let mut out = Vec::new();
    let omitted = write(kind, &recording(), &run, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), omitted.texts().collect())
}

fn spans(line: &str) -> Vec<Value> {
    let line: Value = serde_json::from_str(line).unwrap();
    line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

/// An attribute of a span as text.
fn attribute(span: &Value, key: &str) -> Option<String> {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key)?;
    let value = found["value"].as_object().unwrap().values().next().unwrap();
    Some(value.as_str().unwrap().to_owned())
}

#[test]
fn spans_are_the_requests_on_the_wire() {
    let (text, omitted) = exported(ExportFormat::Otlp, None);
    assert_eq!(text.lines().count(), 1);
    let spans = spans(&text);
    let shown = |span: &Value| {
        let of = |key| attribute(span, key).unwrap_or_else(|| "-".to_owned());
        let status = &span["status"];
        format!(
            "{} {} {} {} {} {} {} {}",
            span["name"].as_str().unwrap(),
            span["startTimeUnixNano"].as_str().unwrap().strip_prefix("18000000").unwrap(),
            of("url.full"),
            of("url.template"),
            of("http.response.status_code"),
            of("http.request.resend_count"),
            of("error.type"),
            status
        )
    };
    let shown: Vec<String> = spans.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            "GET home 00000000000 http://shop.test:8080/?from=ad - 200 - - null",
            "POST item 00100000000 - /item/{id} - - timeout {\"code\":2,\"message\":\"no complete response within 20ms\"}",
            "POST item 00130000000 - /item/{id} 200 1 - null",
            "GET home 01000000000 http://shop.test:8080/?from=ad - 200 - check_failed {\"code\":2,\"message\":\"shop\"}",
            "POST item 02000000000 - /item/{id} - - refused {\"code\":2,\"message\":\"no\"}",
        ]
    );
    let first = &spans[0];
    assert_eq!((&first["kind"], &first["endTimeUnixNano"]), (&3.into(), &"1800000000020000000".into()));
    assert_eq!(first["events"], serde_json::json!([{ "timeUnixNano": "1800000000015000000", "name": "first_byte" }]));
    for (key, value) in [("server.address", "shop.test"), ("server.port", "8080"), ("network.protocol.version", "1.1")]
    {
        assert_eq!(attribute(first, key).as_deref(), Some(value));
    }
    let ids: Vec<(&str, &str)> =
        spans.iter().map(|span| (span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap())).collect();
    assert!(ids.iter().all(|(trace, span)| trace.len() == 32 && span.len() == 16), "{ids:?}");
    assert!(ids[1].0 == ids[2].0 && ids[1].1 != ids[2].1 && ids[0].0 != ids[1].0, "attempts share a trace: {ids:?}");
    assert_eq!(exported(ExportFormat::Otlp, None).0, text, "IDs follow from the run");
    let lacks = [
        "requests without a span: they were not sent: 1",
        "spans without url.full: their paths have values that are not recorded: 3",
    ];
    assert_eq!(omitted, lacks);
}

#[test]
fn spans_have_the_ids_that_were_sent() {
    let sent = |request: usize, session: u64, step: u32| {
        (request == 1).then(|| format!("00-{:032x}-{:016x}-01", session + 1, step + 7))
    };
    let (text, _) = exported(ExportFormat::Otlp, Some(&sent));
    let spans = spans(&text);
    let items: Vec<&Value> = spans.iter().filter(|span| span["name"] == "POST item").collect();
    // All attempts have sent the same header.
    assert_eq!(items.len(), 2);
    assert_eq!(
        (&items[0]["traceId"], &items[0]["spanId"]),
        (&format!("{:032x}", 1).into(), &format!("{:016x}", 8).into())
    );
    assert_eq!(attribute(items[0], "http.request.resend_count").as_deref(), Some("1"));
    assert_eq!(items[0]["startTimeUnixNano"], "1800000000100000000");
}

#[test]
fn lines_of_spans_stay_below_the_limit_of_readers() {
    let events = (0..3000).map(|session| request(session, 0, 0)).collect();
    let recording = Recording::of_run(events, vec!["home".to_owned()]);
    let mut out = Vec::new();
    write(ExportFormat::Otlp, &recording, &RunContext::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() < 1 << 20));
    assert_eq!(text.lines().map(|line| spans(line).len()).sum::<usize>(), 3000);
}

#[test]
fn k6_points_are_those_of_k6() {
    let (text, omitted) = exported(ExportFormat::K6, None);
    let lines: Vec<&str> = text.lines().collect();
    let of = |metric: &str| -> Vec<&str> {
        let of = format!("{{\"metric\":\"{metric}\",\"type\":\"Point\"");
        lines.iter().filter(|line| line.starts_with(&of)).copied().collect()
    };
    assert_eq!(
        lines[..2],
        [
            r#"{"type":"Metric","data":{"name":"http_reqs","type":"counter","contains":"default","thresholds":[],"submetrics":null},"metric":"http_reqs"}"#,
            r#"{"metric":"http_reqs","type":"Point","data":{"time":"2027-01-15T08:00:00.02Z","value":1,"tags":{"expected_response":"true","group":"","method":"GET","name":"home","proto":"HTTP/1.1","scenario":"default","status":"200","url":"home"},"metadata":{"vu":"0"}}}"#,
        ]
    );
    let refused = r#""tags":{"error":"no","error_code":"1212","expected_response":"false","group":"","method":"POST","name":"item","scenario":"default","status":"0","url":"item"}"#;
    assert!(of("http_req_failed")[3].contains(refused), "{text}");
    let values = |metric: &str| -> Vec<f64> {
        let value = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["data"]["value"].as_f64().unwrap();
        of(metric).iter().map(value).collect()
    };
    assert_eq!(values("http_req_duration"), [15.0, 50.0, 15.0, 15.0]);
    assert_eq!(values("http_req_failed"), [0.0, 0.0, 0.0, 1.0], "a failed check is no failed request");
    assert_eq!(values("checks"), [1.0, 1.0, 1.0, 0.0]);
    assert!(of("checks")[3].contains(r#""tags":{"check":"shop","group":"","scenario":"default"}"#), "{text}");
    // The first visit has two requests.
    assert_eq!((values("iterations"), values("data_sent")), (vec![1.0; 3], vec![160.0, 80.0, 80.0]));
    assert_eq!(values("iteration_duration"), [150.0, 20.0, 20.0]);
    assert_eq!(values("dropped_iterations"), [1.0]);
    assert_eq!(omitted, [""; 0]);
}

#[test]
fn lines_of_a_combined_log_are_those_of_the_server() {
    let (text, omitted) = exported(ExportFormat::Combined, None);
    let own = concat!("offered/", env!("CARGO_PKG_VERSION"));
    let line = |user, second, request, status, agent| {
        format!(
            "user-{user} - - [15/Jan/2027:08:00:0{second} +0000] \"{request} HTTP/1.1\" {status} 300 \"-\" \"{agent}\""
        )
    };
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            line(0, 0, "GET /?from=ad", "200", own),
            line(0, 0, "POST /item/{id}", "000", "Shopper/1"),
            line(0, 0, "POST /item/{id}", "200", "Shopper/1"),
            line(1, 1, "GET /?from=ad", "200", own),
        ]
    );
    let lacks = [
        "lines with names in braces for values of the path that are not recorded: 2",
        "requests without a line: they had no connection to the server: 1",
    ];
    assert_eq!(omitted, lacks);
}

#[test]
fn an_arrow_file_has_a_footer_and_aligned_messages() {
    let mut out = Vec::new();
    let run = RunContext { origin: Nanos(5), ..RunContext::default() };
    write(ExportFormat::Arrow, &recording(), &run, &mut out).unwrap();
    assert!(out.starts_with(b"ARROW1\0\0\xff\xff\xff\xff") && out.ends_with(b"ARROW1"));
    let footer = out.len() - 10;
    let length = u32::from_le_bytes(out[footer..footer + 4].try_into().unwrap()) as usize;
    assert_eq!(
        out[footer - length - 8..footer - length],
        [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        "the end of the stream"
    );
    assert!((footer - length).is_multiple_of(8));
    let text = String::from_utf8_lossy(&out[footer - length..footer]);
    let missing = ["intended_ns", "visit_end", "attempt", "offered.started_unix_ns"].map(|name| !text.contains(name));
    assert_eq!((missing, text.contains("head_ns")), ([false; 4], false), "columns of streams are left out");
}
