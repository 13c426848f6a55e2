//! fortio's access log (`-access-log-file FILE`), as JSON lines, with a timestamp in ns at the start of the call.

use std::borrow::Cow;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use serde::Deserialize;

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::{from_f64, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "fortio", sniff: |head| head.json_line(&["latency", "timestamp", "thread", "iter"]), read };

#[derive(Deserialize)]
struct Line<'a> {
    latency: f64,
    timestamp: u64,
    thread: u64,
    iter: u32,
    ok: bool,
    #[serde(borrow, default)]
    details: Cow<'a, str>,
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let line: Line = serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?;
        let took = from_f64(line.latency, Nanos::from_secs(1)).ok_or("the latency is not a time in seconds")?;
        let (start, status) = (Instant(line.timestamp), whole(line.details.as_bytes()));
        intake.add(
            b"call",
            Event {
                sent: Some(start),
                done: Some(start + took),
                session: line.thread,
                step: line.iter,
                status: status.unwrap_or(0) as u16,
                outcome: match (line.ok, status) {
                    (true, _) => Outcome::Ok,
                    (false, Some(400..)) => Outcome::HttpError,
                    (false, _) => Outcome::Reset,
                },
                error: (!line.ok).then(|| line.details.into_owned().into()),
                ..Event::at(start)
            },
        );
        Ok(())
    })
}
