//! HAR, the browsers' HTTP Archive 1.2: one entry per request, its start as a date with ms, its parts in ms.

use offered_base::Nanos;
use offered_events::{Event, Outcome};
use serde::Deserialize;

use super::ReadOptions;
use super::intake::Intake;
use super::number::{date_time, from_f64};
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "har",
    sniff: |head| head.starts_with("{") && head.contains("\"log\"") && head.contains("\"entries\""),
    read,
};

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    time: f64,
    request: Request,
    response: Response,
    #[serde(default)]
    timings: Timings,
    #[serde(default)]
    pageref: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    body_size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: i32,
    #[serde(default)]
    body_size: i64,
}

/// Parts that do not apply are -1.
#[derive(Default, Deserialize)]
struct Timings {
    #[serde(default)]
    receive: f64,
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let har: Har =
        serde_json::from_reader(content).map_err(|why| Error::content(intake.name(), format!("as HAR: {why}")))?;
    intake.recording.resolution = Nanos::from_millis(1);
    let mut pages: Vec<String> = Vec::new();
    for (entry, number) in har.log.entries.into_iter().zip(1..) {
        let (Some((start, _)), Some(took)) =
            (date_time(entry.started_date_time.as_bytes()), from_f64(entry.time, Nanos::from_millis(1)))
        else {
            intake.bad(format_args!("entry {number}"), "startedDateTime is not a date, or the time is below zero");
            continue;
        };
        intake.understood();
        let page = pages.iter().position(|page| *page == entry.pageref).unwrap_or_else(|| {
            pages.push(entry.pageref);
            pages.len() - 1
        });
        let done = start + took;
        let status = u16::try_from(entry.response.status).unwrap_or(0);
        let receive = from_f64(entry.timings.receive, Nanos::from_millis(1)).unwrap_or_default();
        let url = entry.request.url.split(['?', '#']).next().unwrap_or_default();
        intake.add(
            format!("{} {url}", entry.request.method).as_bytes(),
            Event {
                sent: Some(start),
                first_byte: (status > 0).then(|| done.earlier(receive).max(start)),
                done: Some(done),
                session: page as u64,
                bytes_out: u64::try_from(entry.request.body_size).unwrap_or(0),
                bytes_in: u64::try_from(entry.response.body_size).unwrap_or(0),
                status,
                outcome: match status {
                    0 => Outcome::Reset,
                    400.. => Outcome::HttpError,
                    _ => Outcome::Ok,
                },
                ..Event::at(start)
            },
        );
    }
    Ok(())
}
