//! ab's gnuplot file (`ab -g FILE`): sorted by response time, with timestamps in whole seconds.
//!
//! Send times within a second are indistinguishable; the resolution of the recording is set accordingly, and a verdict must respect it.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Note, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::whole;
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "ab-g", sniff: |head| head.line().starts_with(b"starttime\tseconds\tctime"), read };

const S: Nanos = Nanos::from_secs(1);
const MS: Nanos = Nanos::from_millis(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = S;
    intake.note(Note::WholeSeconds { format: "ab".to_owned() });
    let mut rows = Rows::of_plain_fields(content, b'\t');
    let [seconds, total, connect, wait] = intake.header(&mut rows, ["seconds", "ttime", "ctime", "wait"])?;
    intake.each_row(&mut rows, |intake, row| {
        let ms = |column| whole(row.maybe(column)).map(|ms| MS * ms);
        let start = Instant::ZERO + S * whole(row.maybe(seconds)).ok_or("the value of `seconds` is not a number")?;
        let done = start + ms(total).ok_or("ttime is not a whole number of ms")?;
        intake.add(
            b"request",
            Event {
                sent: Some(start),
                first_byte: ms(connect).zip(ms(wait)).map(|(connect, wait)| (start + connect + wait).min(done)),
                done: Some(done),
                outcome: Outcome::Ok,
                ..Event::at(start)
            },
        );
        Ok(())
    })
}
