//! hey's CSV (`-o csv`): the offset from the run's start in seconds with four decimals, taken right before the request.
//!
//! It contains only requests with a response.

use offered_base::Nanos;
use offered_events::note::Listed;
use offered_events::{Event, Note, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{instant, nanos, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "hey-csv", sniff: |head| head.line().starts_with(b"response-time,DNS+dialup,"), read };

const S: Nanos = Nanos::from_secs(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    let names = ["response-time", "DNS+dialup", "Request-write", "Response-delay", "status-code", "offset"];
    let columns = intake.header(&mut rows, names)?;
    let [.., Some(_)] = columns else {
        let why = "has no column `offset`, so no send times; use hey 0.1.3 or newer";
        return Err(Error::content(intake.name(), why));
    };
    let [total, dial, write, delay, status, offset] = columns;
    intake.recording.resolution = Nanos::from_micros(100);
    intake.note(Note::OnlyListed { tool: "hey".to_owned(), listed: Listed::Answered });
    intake.each_row(&mut rows, |intake, row| {
        let seconds = |column| nanos(row.maybe(column), S);
        let start = instant(row.maybe(offset), S).ok_or("the offset is not a time in seconds")?;
        let done = start + seconds(total).ok_or("the response time is not a time in seconds")?;
        let parts = [dial, write, delay].map(seconds);
        let status = whole(row.maybe(status)).unwrap_or(0) as u16;
        intake.add(
            b"request",
            Event {
                sent: Some(start),
                first_byte: parts.into_iter().try_fold(start, |at, part| Some(at + part?)).map(|at| at.min(done)),
                done: Some(done),
                status,
                outcome: if status < 400 { Outcome::Ok } else { Outcome::HttpError },
                ..Event::at(start)
            },
        );
        Ok(())
    })
}
