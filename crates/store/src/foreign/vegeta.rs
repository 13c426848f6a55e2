//! vegeta's results as CSV or JSON (`vegeta encode --to csv|json`).
//!
//! The stamp is the moment before sending; what was meant is not recorded.

use std::borrow::Cow;

use offered_model::{Event, Nanos, Outcome};
use serde::Deserialize;

use super::intake::{Bad, Intake};
use super::number::{date_time, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::door::ReadOptions;
use crate::error::Error;

/// stamp ns, status, response ns, bytes out, bytes in, error, body, attack, number, method, URL, headers; no header.
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

fn event(start: Nanos, took: u64, status: u16, error: Cow<str>) -> Event {
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
        let start = number(0).ok_or("its stamp is no whole number of ns")?;
        let took = number(2).ok_or("its response time is no whole number of ns")?;
        let status = number(1).ok_or("its status is no number")? as u16;
        let error = crate::labels::text(&row.text(5));
        let label = [row.get(9), b" ", row.get(10)].concat();
        let (bytes_out, bytes_in) = (number(3).unwrap_or(0), number(4).unwrap_or(0));
        intake.launch(&label, Event { bytes_out, bytes_in, ..event(Nanos(start), took, status, error.into()) });
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
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let line: Line = serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?;
        let start = date_time(line.timestamp.as_bytes()).ok_or("its timestamp is no RFC 3339 date")?.0;
        let label = format!("{} {}", line.method, line.url);
        let (bytes_out, bytes_in) = (line.bytes_out, line.bytes_in);
        intake.launch(
            label.as_bytes(),
            Event { bytes_out, bytes_in, ..event(start, line.latency, line.code, line.error) },
        );
        Ok(())
    })
}
