//! h2load's request log (`--log-file=FILE`): start in us since 1970, status or -1, duration in us, between tabs.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::whole;
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "h2load",
    sniff: |head| {
        let cells = head.cells(b'\t');
        let status =
            cells.get(1).is_some_and(|status| *status == b"-1" || (status.len() == 3 && whole(status).is_some()));
        status && cells.len() <= 4 && cells[0].len() == 16 && cells.get(2).is_some_and(|took| whole(took).is_some())
    },
    read,
};

const US: Nanos = Nanos::from_micros(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = US;
    let mut rows = Rows::of_plain_fields(content, b'\t');
    intake.each_row(&mut rows, |intake, row| {
        let start = Instant::ZERO + US * whole(row.get(0)).ok_or("the start is not a whole number of us")?;
        let took = US * whole(row.get(2)).ok_or("the duration is not a whole number of us")?;
        let status = whole(row.get(1)).unwrap_or(0) as u16;
        intake.add(
            b"request",
            Event {
                sent: Some(start),
                done: Some(start + took),
                status,
                outcome: match status {
                    0 => Outcome::Reset,
                    400.. => Outcome::HttpError,
                    _ => Outcome::Ok,
                },
                ..Event::at(start)
            },
        );
        Ok(())
    })
}
