//! k6's CSV and JSON points (`--out csv=...`, `--out json=...`).
//!
//! A request is a sequence of samples that starts with `http_reqs`; all carry the time of the end of the request. k6's `duration`
//! is sending + waiting + receiving, without connecting. `blocked` is the wait for the connection
//! and, in k6's own code (`httpext/tracer.go`), *includes* connecting and TLS. So
//!
//! ```text
//! sent = end - duration - max(blocked, connecting + tls)
//! ```
//!
//! Subtracting all four would count the handshakes of new connections twice.

use std::borrow::Cow;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Reason};
use serde::Deserialize;

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::{date_time, from_f64, nanos, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static CSV: Reader = Reader {
    name: "k6-csv",
    sniff: |head| head.line().starts_with(b"metric_name,timestamp,metric_value"),
    read: read_csv,
};
pub(super) static JSON: Reader =
    Reader { name: "k6-json", sniff: |head| head.json_line(&["type", "metric", "data"]), read: read_json };

const S: Nanos = Nanos::from_secs(1);
const MS: Nanos = Nanos::from_millis(1);
const US: Nanos = Nanos::from_micros(1);

/// The samples of one request that have been read.
#[derive(Default)]
struct Request {
    end: Instant,
    duration: Nanos,
    blocked: Nanos,
    connecting: Nanos,
    tls: Nanos,
    receiving: Nanos,
    label: u16,
    status: u16,
    session: u64,
    error: Option<Reason>,
}

impl Request {
    fn set(&mut self, metric: &str, value: Nanos) {
        match metric {
            "http_req_duration" => self.duration = value,
            "http_req_blocked" => self.blocked = value,
            "http_req_connecting" => self.connecting = value,
            "http_req_tls_handshaking" => self.tls = value,
            "http_req_receiving" => self.receiving = value,
            _ => {}
        }
    }

    fn event(self) -> Event {
        let before = self.blocked.max(self.connecting + self.tls);
        let start = self.end.earlier(self.duration + before);
        let answered = self.status > 0;
        Event {
            sent: Some(start),
            first_byte: answered.then(|| self.end.earlier(self.receiving).max(start)),
            done: Some(self.end),
            session: self.session,
            label: self.label,
            outcome: match self.status {
                0 => Outcome::Reset,
                400.. => Outcome::HttpError,
                _ => Outcome::Ok,
            },
            status: self.status,
            reused: self.connecting == Nanos::ZERO && self.tls == Nanos::ZERO,
            error: self.error,
            ..Event::at(start)
        }
    }
}

/// The timestamp (end) of a CSV row and its resolution; k6 writes whole seconds by default.
fn stamp(text: &[u8]) -> Option<(Instant, Nanos)> {
    match (whole(text), text.len()) {
        (Some(n), 17..) => Some((Instant(n), Nanos(1))),
        (Some(n), 15..=16) => Some((Instant::ZERO + US * n, US)),
        (Some(n), 12..=14) => Some((Instant::ZERO + MS * n, MS)),
        (Some(n), _) => Some((Instant::ZERO + S * n, S)),
        (None, _) => date_time(text),
    }
}

fn read_csv(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    let names = ["metric_name", "timestamp", "metric_value", "name", "url", "status", "error", "vu", "metadata"];
    let [metric, at, value, name, url, status, error, vu, metadata] = intake.header(&mut rows, names)?;
    let mut open: Option<Request> = None;
    let mut tick = Nanos(1);
    intake.each_row(&mut rows, |intake, row| {
        let metric = std::str::from_utf8(row.maybe(metric)).unwrap_or_default();
        if metric == "http_reqs" {
            let (end, step) = stamp(row.maybe(at)).ok_or("the timestamp is neither a number nor a date")?;
            tick = tick.max(step);
            if let Some(request) = open.take() {
                intake.take(request.event());
            }
            let user = whole(row.maybe(vu)).or_else(|| {
                let pairs = row.maybe(metadata).split(|&byte| byte == b'&');
                pairs.filter_map(|pair| pair.strip_prefix(b"vu=")).find_map(whole)
            });
            intake.recording.sessions_known |= user.is_some();
            let label = row.maybe_text(if row.maybe(name).is_empty() { url } else { name });
            open = Some(Request {
                end,
                label: intake.label(&label),
                status: whole(row.maybe(status)).unwrap_or(0) as u16,
                session: user.unwrap_or(0),
                error: Some(row.maybe_text(error))
                    .filter(|why| !why.is_empty())
                    .map(|why| crate::labels::text(&why).into()),
                ..Request::default()
            });
        } else if let (Some(request), true) = (&mut open, metric.starts_with("http_req_")) {
            // `http_req_failed` is not a time; all other metrics of the family are times in ms.
            request.set(metric, nanos(row.maybe(value), MS).ok_or("the value is not a time in ms")?);
        }
        Ok(())
    })?;
    if let Some(request) = open {
        intake.take(request.event());
    }
    intake.recording.resolution = tick;
    if tick >= S {
        let why = "has timestamps in whole seconds only, so the order of its requests is unknown; run k6 with \
                   K6_CSV_TIME_FORMAT=unix_nano, or with --out json=FILE";
        return Err(Error::content(intake.name(), why));
    }
    Ok(())
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    metric: &'a str,
    #[serde(borrow)]
    data: Data<'a>,
}

/// All fields are absent in a definition (`"type":"Metric"`).
#[derive(Deserialize)]
struct Data<'a> {
    time: Option<&'a str>,
    value: Option<f64>,
    #[serde(borrow)]
    tags: Option<Tags<'a>>,
    #[serde(borrow)]
    metadata: Option<Tags<'a>>,
}

#[derive(Default, Deserialize)]
struct Tags<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    vu: Option<Cow<'a, str>>,
}

fn read_json(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_lines(content);
    let mut open: Option<Request> = None;
    intake.each_row(&mut rows, |intake, row| {
        let line: Line = serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?;
        if line.r#type != "Point" {
            return Ok(());
        }
        if line.metric == "http_reqs" {
            let time = line.data.time.and_then(|time| date_time(time.as_bytes()));
            let end = time.ok_or("the time is not an RFC 3339 date")?.0;
            if let Some(request) = open.take() {
                intake.take(request.event());
            }
            let tags = line.data.tags.unwrap_or_default();
            let user =
                tags.vu.or(line.data.metadata.and_then(|metadata| metadata.vu)).and_then(|vu| whole(vu.as_bytes()));
            intake.recording.sessions_known |= user.is_some();
            open = Some(Request {
                end,
                label: intake.label(tags.name.as_deref().unwrap_or("").as_bytes()),
                status: tags.status.and_then(|status| whole(status.as_bytes())).unwrap_or(0) as u16,
                session: user.unwrap_or(0),
                error: tags.error.map(|why| why.into_owned().into()),
                ..Request::default()
            });
        } else if let (Some(request), true) = (&mut open, line.metric.starts_with("http_req_")) {
            let value = line.data.value.and_then(|value| from_f64(value, MS));
            request.set(line.metric, value.ok_or("the value is not a time in ms")?);
        }
        Ok(())
    })?;
    if let Some(request) = open {
        intake.take(request.event());
    }
    // Values from a coarser clock have more digits here, but are not finer.
    intake.recording.resolution = intake.step;
    Ok(())
}
