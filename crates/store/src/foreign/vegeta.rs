//! vegeta's results: its own stream of gobs (`vegeta attack`), or as CSV or JSON (`vegeta encode --to csv|json`).
//!
//! The timestamp is taken right before sending; scheduled times are not recorded.

use std::borrow::Cow;
use std::io::ErrorKind;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use serde::Deserialize;

use super::ReadOptions;
use super::gob::{Stream, Value};
use super::intake::{Bad, Intake};
use super::number::{date_time, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

/// Columns: timestamp in ns, status, response ns, bytes out, bytes in, error, body, attack, number, method, URL, headers; no header.
pub(super) static CSV: Reader = Reader {
    name: "vegeta-csv",
    sniff: |head| {
        let cells = head.cells(b',');
        cells.len() >= 10
            && cells[0].len() == 19
            && [0, 1, 2, 3, 4, 8].iter().all(|&column| whole(cells[column]).is_some())
    },
    read: read_csv,
};
pub(super) static JSON: Reader = Reader {
    name: "vegeta-json",
    sniff: |head| head.json_line(&["attack", "seq", "timestamp", "latency"]),
    read: read_json,
};

pub(super) static GOB: Reader = Reader {
    name: "vegeta-gob",
    sniff: |head| ["\x08BytesOut", "\x09Timestamp", "\x07Latency"].iter().all(|field| head.contains(field)),
    read: read_gob,
};

fn event(start: Instant, took: u64, status: u16, error: Cow<str>) -> Event {
    let timed_out = error.contains("Client.Timeout") || error.contains("deadline exceeded");
    Event {
        sent: Some(start),
        done: Some(start + Nanos(took)),
        status,
        outcome: match status {
            _ if timed_out => Outcome::Timeout,
            0 if error.contains("connection refused") => Outcome::Refused,
            0 if error.contains("no such host") => Outcome::Dns,
            0 => Outcome::Reset,
            400.. => Outcome::HttpError,
            _ => Outcome::Ok,
        },
        error: (!error.is_empty()).then(|| error.into_owned().into()),
        ..Event::at(start)
    }
}

fn read_csv(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    intake.each_row(&mut rows, |intake, row| {
        let number = |column: usize| whole(row.get(column));
        let start = number(0).ok_or("the timestamp is not a whole number of ns")?;
        let took = number(2).ok_or("the response time is not a whole number of ns")?;
        let status = number(1).ok_or("the status is not a number")? as u16;
        let error = crate::labels::text(&row.text(5));
        let label = [row.get(9), b" ", row.get(10)].concat();
        let (bytes_out, bytes_in) = (number(3).unwrap_or(0), number(4).unwrap_or(0));
        intake.add(&label, Event { bytes_out, bytes_in, ..event(Instant(start), took, status, error.into()) });
        Ok(())
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    timestamp: &'a str,
    latency: u64,
    code: u16,
    #[serde(default)]
    bytes_out: u64,
    #[serde(default)]
    bytes_in: u64,
    #[serde(borrow, default)]
    error: Cow<'a, str>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

fn read_json(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    // Timestamps are written without trailing zeros: the longest one reveals the resolution.
    let mut finest: Option<Nanos> = None;
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let line: Line = serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?;
        let (start, tick) = date_time(line.timestamp.as_bytes()).ok_or("the timestamp is not an RFC 3339 date")?;
        finest = Some(finest.map_or(tick, |finest| finest.min(tick)));
        let label = format!("{} {}", line.method, line.url);
        let (bytes_out, bytes_in) = (line.bytes_out, line.bytes_in);
        intake
            .add(label.as_bytes(), Event { bytes_out, bytes_in, ..event(start, line.latency, line.code, line.error) });
        Ok(())
    })?;
    intake.recording.resolution = finest.unwrap_or(Nanos(1));
    Ok(())
}

/// A result, filled field by field.
#[derive(Default)]
struct Found {
    stamp: Option<Instant>,
    latency: Option<u64>,
    code: u16,
    bytes_out: u64,
    bytes_in: u64,
    error: String,
    method: Vec<u8>,
    url: Vec<u8>,
}

impl Found {
    fn take(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("Timestamp", Value::Bytes(bytes)) => self.stamp = time(bytes),
            ("Latency", Value::Int(ns)) => self.latency = u64::try_from(ns).ok(),
            ("Code", Value::Uint(code)) => self.code = u16::try_from(code).unwrap_or(0),
            ("BytesOut", Value::Uint(bytes)) => self.bytes_out = bytes,
            ("BytesIn", Value::Uint(bytes)) => self.bytes_in = bytes,
            ("Error", Value::Bytes(text)) => self.error = crate::labels::text(text),
            ("Method", Value::Bytes(text)) => text.clone_into(&mut self.method),
            ("URL", Value::Bytes(text)) => text.clone_into(&mut self.url),
            _ => {}
        }
    }
}

/// Go's `time.Time` as bytes: a version, seconds since the year 1, nanoseconds, and a time zone, which is ignored.
fn time(bytes: &[u8]) -> Option<Instant> {
    const YEAR_1: i64 = -62_135_596_800;
    let (version, rest) = bytes.split_first()?;
    let (seconds, rest) = rest.split_first_chunk::<8>()?;
    let ns = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    let seconds = u64::try_from(i64::from_be_bytes(*seconds).checked_add(YEAR_1)?).ok()?;
    (1..=2).contains(version).then_some(Instant(seconds.checked_mul(1_000_000_000)?.checked_add(u64::from(ns))?))
}

fn read_gob(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut stream = Stream::default();
    for number in 1u64.. {
        // Go omits fields that are zero.
        let mut found = Found { latency: Some(0), ..Found::default() };
        match stream.next(content, |name, value| found.take(name, value)) {
            Ok(false) => break,
            Ok(true) => match (found.stamp, found.latency) {
                (Some(start), Some(took)) => {
                    let label = [&found.method[..], b" ", &found.url].concat();
                    let (bytes_out, bytes_in) = (found.bytes_out, found.bytes_in);
                    let event = event(start, took, found.code, found.error.into());
                    intake.add(&label, Event { bytes_out, bytes_in, ..event });
                    intake.understood();
                }
                _ => intake.bad(format!("result {number}"), "this row has no timestamp, or a latency below zero"),
            },
            Err(Err(why)) if why.kind() == ErrorKind::UnexpectedEof => {
                intake.cut();
                break;
            }
            Err(Err(why)) => return Err(Error::io("read", intake.name().as_ref())(why)),
            Err(Ok(why)) => {
                // After a damaged message, the start of the next one is unknown.
                intake.bad(format!("result {number}"), why);
                intake.cut();
                break;
            }
        }
    }
    Ok(())
}
