//! Client spans as OTLP JSON lines, the encoding of the file exporter of `OpenTelemetry`, which the Collector's `otlpjsonfile` receiver reads.
//!
//! Attributes follow the semantic conventions 1.44 for HTTP, database and RPC client spans: one span for each request
//! on the wire. If the run sent a `traceparent`, the span has its IDs, so that spans of the server become its children.
//! All attempts of such a request share the header, so they are one span.

use std::borrow::Cow;
use std::io::{self, Write};

use offered_base::random::{Purpose, Stream};
use offered_base::{Instant, Seed};
use offered_events::{Event, Outcome, Reason, Recording};
use offered_workload::{Call, Sql};
use serde::Serialize;

use super::request_info::{Path, RequestInfo, RequestsByLabel};
use super::{Omissions, RunContext, each, label};

const SCHEMA: &str = "https://opentelemetry.io/schemas/1.44.0";
/// A line is written when its spans have this many bytes: receivers of files read lines of at most 1 MiB by default.
const LINE_BYTES: usize = 1 << 19;
/// `SPAN_KIND_CLIENT`.
const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span<'a> {
    trace_id: String,
    #[serde(rename = "spanId")]
    id: String,
    name: Cow<'a, str>,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<[SpanEvent; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanEvent {
    time_unix_nano: String,
    name: &'static str,
}

#[derive(Serialize)]
struct Status<'a> {
    code: u8,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: Cow<'a, str>,
}

#[derive(Serialize)]
struct Attribute<'a> {
    key: &'static str,
    value: Value<'a>,
}

/// 64-bit integers are texts in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Value<'a> {
    StringValue(Cow<'a, str>),
    IntValue(String),
}

fn text<'a>(key: &'static str, value: impl Into<Cow<'a, str>>) -> Attribute<'a> {
    Attribute { key, value: Value::StringValue(value.into()) }
}

fn number<'a>(key: &'static str, value: impl ToString) -> Attribute<'a> {
    Attribute { key, value: Value::IntValue(value.to_string()) }
}

pub(super) fn write(recording: &Recording, run: &RunContext<'_>, out: &mut dyn Write) -> io::Result<Omissions> {
    let requests = RequestsByLabel::new(recording, run.workload);
    let resource = {
        let mut resource = vec![text("service.name", "offered")];
        resource.extend(run.version.map(|version| text("service.version", version)));
        resource.extend(run.run_id.map(|id| text("offered.run.id", id.as_str())));
        serde_json::to_string(&resource)?
    };
    let head = format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":{resource}}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"offered\",\"version\":\"{}\"}},\"spans\":[",
        env!("CARGO_PKG_VERSION")
    );
    let tail = format!("],\"schemaUrl\":\"{SCHEMA}\"}}],\"schemaUrl\":\"{SCHEMA}\"}}]}}\n");
    let mut spans: Vec<u8> = Vec::new();
    let mut omitted = Omissions::default();
    let (mut row, keyed) = (0, recording.on_run_clock && recording.sessions_known);
    let by_sent = |event: &Event| Some((event.sent.unwrap_or(event.intended).0, event.done));
    each(recording, by_sent, |event, _| {
        row += 1;
        let (Some(sent), Some(done)) = (event.sent, event.done) else {
            omitted.count(event.is_request() && event.sent.is_none(), "requests without a span: they were not sent");
            return Ok(());
        };
        let known = requests.of(event);
        let header = known.filter(|_| event.object == 0).zip(run.traceparent);
        let header = header.and_then(|(known, sent)| sent(known.index, event.session, event.step));
        let is_wire = match &header {
            Some(_) => event.attempt == 0,
            None => event.attempt > 0 || event.retries == 0,
        };
        if !is_wire {
            return Ok(());
        }
        // Requests of a run are numbered by session and step, those of other files by their order.
        let request = if keyed { (event.session, event.step) } else { (row, 0) };
        let (trace_id, span_id) = header.as_deref().and_then(ids_of).unwrap_or_else(|| ids(run, request, event));
        let (attributes, name) = described(recording, event, known, &mut omitted);
        let at = |instant: Instant| (instant + run.origin).0.to_string();
        let span = Span {
            trace_id,
            id: span_id,
            name,
            kind: CLIENT,
            start_time_unix_nano: at(sent),
            end_time_unix_nano: at(done),
            attributes,
            events: event.first_byte.map(|first| [SpanEvent { time_unix_nano: at(first), name: "first_byte" }]),
            status: status(event),
        };
        if !spans.is_empty() {
            spans.push(b',');
        }
        serde_json::to_writer(&mut spans, &span)?;
        if spans.len() >= LINE_BYTES {
            write_line(out, [head.as_bytes(), &spans, tail.as_bytes()])?;
            spans.clear();
        }
        Ok(())
    })?;
    if !spans.is_empty() {
        write_line(out, [head.as_bytes(), &spans, tail.as_bytes()])?;
    }
    Ok(omitted)
}

fn write_line(out: &mut dyn Write, parts: [&[u8]; 3]) -> io::Result<()> {
    parts.into_iter().try_for_each(|part| out.write_all(part))
}

/// Trace and span ID of a `traceparent` header of version 00 (W3C Trace Context).
fn ids_of(header: &str) -> Option<(String, String)> {
    let mut parts = header.split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    (version == "00" && trace.len() == 32 && span.len() == 16).then(|| (trace.to_owned(), span.to_owned()))
}

/// IDs computed from seed, run and request; objects and attempts of a request share its trace. Neither ID is zero.
fn ids(run: &RunContext<'_>, (session, step): (u64, u32), event: &Event) -> (String, String) {
    let seed = run.workload.map_or(0, |workload| workload.seed().0);
    let seed = Seed(seed ^ run.run_id.map_or(run.origin.0, offered_events::RunId::number));
    let words = |mut stream: Stream| (stream.below(u64::MAX), stream.below(u64::MAX) | 1);
    let trace = words(seed.named("trace").at(Purpose::Data, session, step));
    let part = u32::from(event.object) << 16 | u32::from(event.attempt);
    let (_, span) = words(Seed(trace.0).at(Purpose::Data, trace.1, part));
    (format!("{:016x}{:016x}", trace.0, trace.1), format!("{span:016x}"))
}

/// The attributes and the name of a span.
fn described<'a>(
    recording: &'a Recording,
    event: &'a Event,
    known: Option<&RequestInfo<'a>>,
    omitted: &mut Omissions,
) -> (Vec<Attribute<'a>>, Cow<'a, str>) {
    let request = label(recording, event);
    let mut attributes = Vec::with_capacity(16);
    let mut name = Cow::Borrowed(request);
    if let Some(known) = known {
        match known.request.call() {
            Call::Http | Call::WebSocket(_) => {
                if let Some(method) = known.method(event) {
                    attributes.extend(method_attributes(method));
                    // Without a method that the conventions list, the name begins with HTTP.
                    if !request.starts_with(method) {
                        name = format!("{} {request}", if LISTED.contains(&method) { method } else { "HTTP" }).into();
                    }
                }
                attributes.extend(url(event, known, omitted));
            }
            Call::Grpc => {
                attributes.push(text("rpc.system.name", "grpc"));
                if let Path::Sent(path) = known.path(event) {
                    let method = path.trim_start_matches('/').to_owned();
                    attributes.push(text("rpc.method", method.clone()));
                    name = method.into();
                }
                attributes.extend(grpc_status(event).map(|status| text("rpc.status_code", status)));
            }
            Call::Sql(sql) => attributes.extend(database(event, sql, known)),
        }
        if let Some((address, port)) = known.server() {
            attributes.push(text("server.address", address));
            attributes.extend(port.map(|port| number("server.port", port)));
        }
        attributes.extend(known.http_version().map(|version| text("network.protocol.version", version)));
    } else {
        omitted.count(true, "spans without method and URL: the workload is unknown");
    }
    if event.status > 0 {
        attributes.push(number("http.response.status_code", event.status));
    }
    // An attempt was sent again as often as there were attempts before it; redirects are part of the span.
    let resent = u32::from(event.attempt.saturating_sub(1))
        + u32::from(event.redirects)
        + u32::from(event.resends)
        + u32::from(event.retries);
    if resent > 0 {
        attributes.push(number("http.request.resend_count", resent));
    }
    attributes.extend(error_type(event).map(|error| text("error.type", error)));
    attributes.push(text("offered.request.name", request));
    attributes.push(text("offered.outcome", event.outcome.name()));
    if recording.intent_known {
        attributes.extend(event.lateness().map(|late| number("offered.lateness_ns", late.0)));
    }
    if recording.sessions_known {
        attributes.push(number("offered.session", event.session));
    }
    (attributes, name)
}

/// The URL, or its template.
fn url<'a>(event: &Event, known: &RequestInfo<'a>, omitted: &mut Omissions) -> Option<Attribute<'a>> {
    match known.path(event) {
        Path::Sent(path) => known.url(&path).map(|url| text("url.full", url)),
        Path::Template(template) => {
            omitted.count(true, "spans without url.full: their paths have values that are not recorded");
            Some(text("url.template", template))
        }
        Path::Unknown => {
            omitted.count(true, "spans without url.full: the URL came from a response");
            None
        }
    }
}

/// The attributes of statements for a database.
fn database<'a>(event: &Event, sql: &'a Sql, known: &RequestInfo<'a>) -> impl Iterator<Item = Attribute<'a>> {
    let login = known.target.and_then(|target| target.url().login.as_deref());
    let statements: Vec<&str> = sql.statements.iter().map(|statement| &*statement.text).collect();
    let status = match &event.error {
        Some(Reason::Sql(state, _)) => Some(text("db.response.status_code", state.as_str().to_owned())),
        _ => None,
    };
    [text("db.system.name", "postgresql"), text("db.query.text", statements.join("; "))]
        .into_iter()
        .chain(login.map(|login| text("db.namespace", &*login.database)))
        .chain(status)
}

/// The methods that the conventions know.
const LISTED: [&str; 10] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];

/// `http.request.method`; others are `_OTHER`, besides their own name.
fn method_attributes(method: &str) -> impl Iterator<Item = Attribute<'_>> {
    let is_listed = LISTED.contains(&method);
    let shown = text("http.request.method", if is_listed { method } else { "_OTHER" });
    [shown].into_iter().chain((!is_listed).then(|| text("http.request.method_original", method)))
}

/// The name of the status of a gRPC response; the reason of a failure begins with it.
fn grpc_status(event: &Event) -> Option<String> {
    match event.outcome {
        Outcome::GrpcError => event.why().split(':').next().map(str::to_owned),
        outcome => outcome.is_response().then(|| "OK".to_owned()),
    }
}

/// The class of the error; `None`: it succeeded, or the generator itself ended it.
fn error_type(event: &Event) -> Option<Cow<'static, str>> {
    match (event.outcome, &event.error) {
        (Outcome::Ok | Outcome::Cut, _) => None,
        (Outcome::HttpError, _) => Some(event.status.to_string().into()),
        (_, Some(Reason::Sql(state, _))) => Some(state.as_str().to_owned().into()),
        (Outcome::GrpcError, _) => grpc_status(event).map(Cow::Owned),
        (outcome, _) => Some(outcome.name().into()),
    }
}

/// The status of the span: unset for successes, and for requests that the end of the run cut off.
fn status(event: &Event) -> Option<Status<'_>> {
    error_type(event)?;
    // The status code is the reason.
    let message = if event.outcome == Outcome::HttpError { "".into() } else { event.why() };
    Some(Status { code: ERROR, message })
}
