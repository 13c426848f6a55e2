//! Gatling's `simulation.log` as text: 2.x and 3.0 to 3.12.
//!
//! The columns of a REQUEST differ between versions (with or without scenario and user ID; 2.0 has four timestamps). In all versions the
//! timestamps in ms directly precede OK or KO, and the names directly precede the timestamps.

use std::borrow::Cow;
use std::collections::HashMap;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::whole;
use super::rows::{Row, Rows};
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "gatling-text",
    sniff: |head| {
        head.lines().take(20).any(|line| {
            let mut cells = line.split(|&byte| byte == b'\t');
            let (first, third) = (cells.next().unwrap_or_default(), cells.nth(1).unwrap_or_default());
            (first == b"RUN" && cells.next().is_some()) || third == b"RUN"
        })
    },
    read,
};

const MS: Nanos = Nanos::from_millis(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = MS;
    let mut users: HashMap<Box<[u8]>, u64> = HashMap::new();
    let mut rows = Rows::of_plain_fields(content, b'\t');
    intake.each_row(&mut rows, |intake, row| match (row.get(0), row.get(2)) {
        (b"REQUEST", _) | (_, b"REQUEST") => request(row, &mut users, intake),
        (b"RUN" | b"USER" | b"GROUP" | b"ERROR" | b"ASSERTION", _) | (_, b"RUN" | b"USER" | b"GROUP") => Ok(()),
        _ => Err("expected RUN, USER, REQUEST, GROUP, ERROR or ASSERTION".into()),
    })
}

fn request(row: &Row, users: &mut HashMap<Box<[u8]>, u64>, intake: &mut Intake) -> Result<(), Bad> {
    let judged = |column: &usize| matches!(row.get(*column), b"OK" | b"KO") && !stamps_before(row, *column).is_empty();
    let status = (3..row.len()).find(judged).ok_or("expected start and end (ms since 1970) before OK or KO")?;
    let stamps = stamps_before(row, status);
    let (start, end) = match stamps.as_slice() {
        [start, end] | [start, _, _, end] => (*start, *end),
        _ => return Err("this line has neither two timestamps (start, end) nor four (Gatling 2.0)".into()),
    };
    let name = status - stamps.len() - 1;
    if name < 2 {
        return Err("this line has no name".into());
    }
    // The groups precede the name; the user ID, if any, precedes the groups (2.0 starts with it).
    let user = row.get(if row.get(2) == b"REQUEST" { 1 } else { name - 2 });
    let session = is_id(user).then(|| {
        let next = users.len() as u64;
        *users.entry(user.into()).or_insert(next)
    });
    intake.recording.sessions_known |= session.is_some();
    let label = match row.get(name - 1) {
        b"" => Cow::Borrowed(row.get(name)),
        groups => Cow::Owned([groups, b" / ", row.get(name)].concat()),
    };
    let (start, end) = (Instant::ZERO + MS * start, Instant::ZERO + MS * end.max(start));
    let ok = row.get(status) == b"OK";
    intake.add(
        &label,
        Event {
            sent: Some(start),
            done: Some(end),
            session: session.unwrap_or(0),
            outcome: if ok { Outcome::Ok } else { Outcome::HttpError },
            error: (!ok).then(|| crate::labels::text(row.get(status + 1).trim_ascii()).into()),
            ..Event::at(start)
        },
    );
    Ok(())
}

/// The timestamps before column `status`: two, or four in 2.0.
fn stamps_before(row: &Row, status: usize) -> Vec<u64> {
    let mut stamps: Vec<u64> = (1..status)
        .rev()
        .map_while(|column| whole(row.get(column)).filter(|&ms| ms > 100_000_000_000))
        .take(4)
        .collect();
    stamps.reverse();
    stamps
}

/// User ids are numbers, or in 2.0 a scenario's hash and a number.
fn is_id(text: &[u8]) -> bool {
    text.last().is_some_and(u8::is_ascii_digit) && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
}
