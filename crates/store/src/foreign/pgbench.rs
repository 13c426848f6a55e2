//! pgbench's transaction log (`-l`): client, number, time, script, END in s and us, and with `-R` the lag behind the schedule.
//!
//! With `-R` the time counts from the *scheduled* start (`processXactStats` in `pgbench.c`), so scheduled times are known:
//! intended = end - time, sent = intended + lag. Without `-R`, sent = end - time. A transaction skipped by `--latency-limit` was
//! not sent; the log only has the time when pgbench skipped it, which is used as its scheduled time. A log exported by
//! offered has a negative time or lag if a request was sent too early.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{signed, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "pgbench",
    sniff: |head| {
        let cells = head.cells(b' ');
        let numbers = [0, 1, 3, 4, 5].iter().all(|&column| cells.get(column).is_some_and(|cell| whole(cell).is_some()));
        numbers && (6..=8).contains(&cells.len()) && cells[4].len() == 10 && cells[5].len() <= 6
    },
    read,
};

const S: Nanos = Nanos::from_secs(1);
const US: Nanos = Nanos::from_micros(1);

/// The time this many us later, or earlier if negative.
fn later(at: Instant, us: i64) -> Instant {
    let by = US * us.unsigned_abs();
    if us < 0 { at.earlier(by) } else { at + by }
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    let mut rows = Rows::of_plain_fields(content, b' ');
    intake.each_row(&mut rows, |intake, row| {
        let number = |column: usize| whole(row.get(column));
        let client = number(0).ok_or("the client is not a number")?;
        let second = number(4).ok_or(
            "this line has no end time; if this is an aggregated log, run pgbench without --aggregate-interval",
        )?;
        let end = Instant::ZERO + S * second + US * number(5).ok_or("the end time has no microseconds")?;
        let lag = signed(row.get(6));
        let label = [b"script ", row.get(3)].concat();
        let step = number(1).unwrap_or(0) as u32;
        let common = Event { session: client, step, ..Event::at(end) };
        if row.get(2) == b"skipped" {
            let error = Some("skipped: already past --latency-limit".into());
            intake.add(&label, Event { error, ..common });
            return Ok(());
        }
        let Some(time) = signed(row.get(2)) else {
            // A failed transaction (serialization, deadlock) is logged without its time.
            let (outcome, error) = (Outcome::Malformed, Some(crate::labels::text(row.get(2)).into()));
            intake.add(&label, Event { sent: Some(end), done: Some(end), outcome, error, ..common });
            return Ok(());
        };
        let intended = later(end, -time);
        intake.recording.intent_known |= lag.is_some();
        intake.add(
            &label,
            Event {
                intended,
                sent: Some(later(intended, lag.unwrap_or(0)).min(end)),
                done: Some(end),
                outcome: Outcome::Ok,
                ..common
            },
        );
        Ok(())
    })?;
    // A log exported by offered may come from a run with a coarser clock.
    intake.recording.resolution = intake.step.max(US);
    Ok(())
}
