//! oha's CSV (`--output-format csv`): seconds since the start of the run, in order of starts.
//!
//! It contains only successful requests. With `--latency-correction` durations count from an unknown time before the start;
//! the database of `--db-url` contains that time (see `oha_db`). oha's JSON is a summary without send times (its
//! `printer.rs`) and is refused.

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
    Reader { name: "oha-csv", sniff: |head| head.line().starts_with(b"request-start,DNS,DNS+dialup,"), read };

const S: Nanos = Nanos::from_secs(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    let names = ["request-start", "Response-delay", "request-duration", "bytes", "status"];
    let [start, delay, duration, bytes, status] = intake.header(&mut rows, names)?;
    intake.note(Note::OnlyListed { tool: "oha".to_owned(), listed: Listed::Succeeded });
    intake.each_row(&mut rows, |intake, row| {
        let seconds = |column| nanos(row.maybe(column), S);
        let start = instant(row.maybe(start), S).ok_or("request-start is not a time in seconds")?;
        let done = start + seconds(duration).ok_or("request-duration is not a time in seconds")?;
        let status = whole(row.maybe(status)).unwrap_or(0) as u16;
        intake.add(
            b"request",
            Event {
                sent: Some(start),
                first_byte: seconds(delay).filter(|delay| *delay > Nanos::ZERO).map(|delay| (start + delay).min(done)),
                done: Some(done),
                bytes_in: whole(row.maybe(bytes)).unwrap_or(0),
                status,
                outcome: if status < 400 { Outcome::Ok } else { Outcome::HttpError },
                ..Event::at(start)
            },
        );
        Ok(())
    })
}
