//! k6's JSON points, as `k6 run --out json=FILE` writes them (k6 2.0, `internal/output/json`): for each request a count and its times, all with
//! the time of its end; then its checks; and at the end of an iteration its duration and data.
//!
//! An iteration is a visit, or a request if sessions make no visits. k6's `duration` excludes connecting; `blocked` is the wait for a
//! connection including the TLS handshake. A recording contains only the duration of the handshake, so connecting
//! counts as `duration`. The number of virtual users of a run is unknown in advance, so `vus` and `vus_max` are absent.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use offered_workload::{Workload, failed_checks};
use serde::Serialize;
use serde_json::Number;

use super::request_info::{RequestInfo, RequestsByLabel};
use super::{Omissions, RunContext, each, label, status};

/// A metric's name, type, and what it contains.
type Metric = (&'static str, &'static str, &'static str);

const REQUESTS: Metric = ("http_reqs", "counter", "default");
const FAILED: Metric = ("http_req_failed", "rate", "default");
const CHECKS: Metric = ("checks", "rate", "default");
const DATA_SENT: Metric = ("data_sent", "counter", "data");
const DATA_RECEIVED: Metric = ("data_received", "counter", "data");
const ITERATION_DURATION: Metric = ("iteration_duration", "trend", "time");
const ITERATIONS: Metric = ("iterations", "counter", "default");
const DROPPED: Metric = ("dropped_iterations", "counter", "default");

const fn time(name: &'static str) -> Metric {
    (name, "trend", "time")
}

#[derive(Serialize)]
struct Definition {
    r#type: &'static str,
    data: DefinitionData,
    metric: &'static str,
}

#[derive(Serialize)]
struct DefinitionData {
    name: &'static str,
    r#type: &'static str,
    contains: &'static str,
    thresholds: [(); 0],
    submetrics: Option<()>,
}

#[derive(Serialize)]
struct Point<'a> {
    metric: &'static str,
    r#type: &'static str,
    data: PointData<'a>,
}

#[derive(Serialize)]
struct PointData<'a> {
    time: &'a str,
    value: Number,
    tags: &'a Tags<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: &'a BTreeMap<&'static str, String>,
}

/// Whole numbers have no decimals in Go's JSON.
fn number(value: f64) -> Number {
    let decimal = Number::from_f64(value).filter(|_| value.fract() != 0.0);
    decimal.unwrap_or_else(|| Number::from(value as i64))
}

/// k6 sorts tags by name.
type Tags<'a> = BTreeMap<&'static str, Cow<'a, str>>;

/// Writes points, and the definition of a metric before its first point.
struct Points<'a> {
    out: &'a mut dyn Write,
    line: Vec<u8>,
    origin: Nanos,
    defined: BTreeSet<&'static str>,
}

impl Points<'_> {
    fn write(
        &mut self,
        at: Instant,
        tags: &Tags<'_>,
        metadata: &BTreeMap<&'static str, String>,
        values: &[(Metric, f64)],
    ) -> io::Result<()> {
        let time = jiff::Timestamp::from_nanosecond(i128::from((at + self.origin).0)).map_err(io::Error::other)?;
        let time = time.to_string();
        for &((metric, kind, contains), value) in values {
            if self.defined.insert(metric) {
                let data = DefinitionData { name: metric, r#type: kind, contains, thresholds: [], submetrics: None };
                self.line(&Definition { r#type: "Metric", data, metric })?;
            }
            let data = PointData { time: &time, value: number(value), tags, metadata };
            self.line(&Point { metric, r#type: "Point", data })?;
        }
        Ok(())
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

/// The visit so far.
struct Iteration {
    start: Instant,
    sent: u64,
    received: u64,
}

pub(super) fn write(recording: &Recording, run: &RunContext<'_>, out: &mut dyn Write) -> io::Result<Omissions> {
    let requests = RequestsByLabel::new(recording, run.workload);
    let scenarios = run.workload.map(Workload::scenario_names).unwrap_or_default();
    let mut points = Points { out, line: Vec::new(), origin: run.origin, defined: BTreeSet::new() };
    // Only visits in progress are held.
    let mut iterations: HashMap<(u64, u16), Iteration> = HashMap::new();
    let mut omitted = Omissions::default();
    let by_end =
        |event: &Event| Some((event.done.unwrap_or(event.intended).0, event.sent)).filter(|_| event.is_request());
    each(recording, by_end, |event, _| {
        let scenario = event.session.checked_rem(scenarios.len() as u64).map(|nth| &*scenarios[nth as usize]);
        let common: Tags = [("group", ""), ("scenario", scenario.unwrap_or("default"))]
            .map(|(name, value)| (name, value.into()))
            .into();
        let vu = recording.sessions_known.then(|| ("vu", event.session.to_string()));
        let metadata = BTreeMap::from_iter(vu);
        let (Some(sent), Some(done)) = (event.sent, event.done) else {
            if event.outcome == Outcome::Unsent && event.visit.is_none() {
                points.write(event.intended, &common, &metadata, &[(DROPPED, 1.0)])?;
            } else {
                omitted.count(event.sent.is_none(), "requests without points: they were not sent");
            }
            return Ok(());
        };
        let known = requests.of(event);
        let tags = tags(label(recording, event), event, known, &common);
        points.write(done, &tags, &metadata, &samples(event, sent, done))?;
        for (name, value) in checks(event, known) {
            let tags = common.clone().into_iter().chain([("check", name.into())]).collect();
            points.write(done, &tags, &metadata, &[(CHECKS, value)])?;
        }
        let own = Iteration { start: sent, sent: event.bytes_out, received: event.bytes_in };
        let ended = match event.visit {
            // A file of another tool does not say what an iteration is.
            None => Some(own).filter(|_| recording.on_run_clock),
            Some(visit) => {
                let key = (event.session, visit.number);
                let so_far = iterations.entry(key).or_insert(Iteration { sent: 0, received: 0, ..own });
                so_far.sent += event.bytes_out;
                so_far.received += event.bytes_in;
                if visit.ends { iterations.remove(&key) } else { None }
            }
        };
        let Some(Iteration { start, sent, received }) = ended else { return Ok(()) };
        let values = [
            (DATA_SENT, sent as f64),
            (DATA_RECEIVED, received as f64),
            (ITERATION_DURATION, start.until(done).as_millis_f64()),
            (ITERATIONS, 1.0),
        ];
        points.write(done, &common, &metadata, &values)
    })?;
    Ok(omitted)
}

/// All metrics of a request with their values; times in ms.
fn samples(event: &Event, sent: Instant, done: Instant) -> [(Metric, f64); 9] {
    let ms = |time: Nanos| time.as_millis_f64();
    let handshake = event.handshake.unwrap_or_default().min(sent.until(done));
    let begun = sent + handshake;
    let first_byte = event.first_byte.unwrap_or(done).max(begun);
    [
        (REQUESTS, 1.0),
        (time("http_req_duration"), ms(begun.until(done))),
        (time("http_req_blocked"), ms(handshake)),
        (time("http_req_connecting"), 0.0),
        (time("http_req_tls_handshaking"), ms(handshake)),
        (time("http_req_sending"), 0.0),
        (time("http_req_waiting"), ms(begun.until(first_byte))),
        (time("http_req_receiving"), ms(first_byte.until(done))),
        (FAILED, f64::from(u8::from(!is_expected(event)))),
    ]
}

/// Whether k6 expects the response by default: a status from 200 to 399. Failed checks are counted separately.
fn is_expected(event: &Event) -> bool {
    (200..400).contains(&status(event)) && event.outcome.is_response()
}

/// The tags of a request with its own name, which k6 writes as `url` too.
fn tags<'a>(name: &'a str, event: &'a Event, known: Option<&RequestInfo<'a>>, common: &Tags<'a>) -> Tags<'a> {
    let mut tags = common.clone();
    tags.insert("expected_response", is_expected(event).to_string().into());
    tags.extend(known.and_then(|known| known.method(event)).map(|method| ("method", method.into())));
    tags.extend([("name", name.into()), ("url", name.into()), ("status", status(event).to_string().into())]);
    if status(event) > 0 {
        let version = known.and_then(RequestInfo::http_version);
        let proto = version.map(|version| if version == "2" { "HTTP/2.0" } else { "HTTP/1.1" });
        tags.extend(proto.map(|proto| ("proto", proto.into())));
    } else {
        let why = event.why();
        tags.insert("error", if why.is_empty() { event.outcome.name().into() } else { why });
    }
    tags.extend(error_code(event).map(|code| ("error_code", code.to_string().into())));
    tags
}

/// k6's code of an error (`lib/netext/httpext/error_codes.go`).
fn error_code(event: &Event) -> Option<u16> {
    match (status(event), event.outcome) {
        (status @ 400.., _) => Some(1000 + status),
        (1.., _) => None,
        (0, Outcome::Timeout) => Some(1050),
        (0, Outcome::Dns) => Some(1100),
        (0, Outcome::Refused) => Some(1212),
        (0, Outcome::Reset) => Some(1220),
        (0, Outcome::Tls) => Some(1300),
        (0, Outcome::Unprocessed) => Some(1610),
        (0, _) => Some(1000),
    }
}

/// The checks of a response, with 1 if it passed.
fn checks<'a>(event: &'a Event, known: Option<&RequestInfo<'a>>) -> impl Iterator<Item = (&'a str, f64)> {
    let checks = known.filter(|_| event.outcome.is_response()).map_or(&[][..], |known| known.request.checks());
    let names: Vec<&str> = checks.iter().map(|check| &*check.name).collect();
    let failed: Vec<usize> = match event.outcome {
        Outcome::CheckFailed => failed_checks::indexes(&event.why(), &names).collect(),
        _ => Vec::new(),
    };
    names.into_iter().enumerate().map(move |(nth, name)| (name, f64::from(u8::from(!failed.contains(&nth)))))
}
