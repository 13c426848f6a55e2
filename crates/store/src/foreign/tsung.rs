//! Tsung's request log (`dumptraffic="protocol"`): one row per response, stamped when it ended, with its duration in ms.
//!
//! Source: `dump2str` in `ts_http.erl`, `dump` in `ts_mon_cache.erl` and `ts_local_mon.erl` (`protocol_local`: a file for each machine,
//! without a header). A URL may contain the separator, so the columns behind it are counted
//! from the end. Requests without a response are not in the file.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{from_f64, instant, nanos, whole};
use super::rows::{Row, Rows};
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "tsung", sniff: |head| head.line().starts_with(HEADER) || is_row(head.line()), read };

/// How the header begins.
const HEADER: &[u8] = b"#date;pid;id;http method;host;URL;";
const S: Nanos = Nanos::from_secs(1);

/// Index of the URL.
const URL: usize = 5;

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    // Erlang's clock has microseconds.
    intake.recording.resolution = Nanos::from_micros(1);
    let (mut columns, mut lacks_columns) = (Columns::default(), false);
    intake.each_row(&mut Rows::of_plain_fields(content, b';'), |intake, row| {
        if row.get(0).starts_with(b"#") {
            // Joined files have several headers.
            intake.header_row();
            match Columns::of_header(row) {
                Some(named) => columns = named,
                None if row.ended => lacks_columns = true,
                None => intake.cut(),
            }
            return Ok(());
        }
        let Columns { status, size, took, error, tag } = columns;
        // Every further field is a part of the URL.
        let more =
            row.len().checked_sub(tag.unwrap_or(error) + 1).ok_or("this row has fewer fields than the header")?;
        let field = |column: usize| row.get(column + more);
        let done = seconds(row.get(0)).ok_or("the date is not a time in seconds")?;
        let took = nanos(field(took), Nanos::from_millis(1)).ok_or("the duration is not a time in ms")?;
        let sent = Instant(
            done.0
                .checked_sub(took.0)
                .ok_or("the duration is longer than the time from 1970 to the date of this line; check both fields")?,
        );
        let status = whole(field(status)).unwrap_or(0) as u16;
        let failure = field(error);
        let url = (URL..=URL + more).map(|part| row.get(part)).collect::<Vec<_>>().join(&b';');
        let path = url.split(|&byte| byte == b'?').next().unwrap_or_default();
        let label = match tag.map_or(&b""[..], field).trim_ascii() {
            b"" => [row.get(3), path].join(&b" "[..]),
            tag => tag.to_vec(),
        };
        intake.add(
            &label,
            Event {
                sent: Some(sent),
                done: Some(done),
                session: whole(row.get(2)).unwrap_or(0),
                bytes_in: whole(field(size)).unwrap_or(0),
                status,
                outcome: match status {
                    400.. => Outcome::HttpError,
                    // A response without a status, or one that Tsung could not parse.
                    _ if status == 0 || !failure.is_empty() => Outcome::Malformed,
                    _ => Outcome::Ok,
                },
                error: (!failure.is_empty()).then(|| crate::labels::text(failure).into()),
                ..Event::at(sent)
            },
        );
        Ok(())
    })?;
    if lacks_columns {
        return Err(Error::content(
            intake.name(),
            "has no columns HTTP status, size, duration and error in its header",
        ));
    }
    Ok(())
}

/// Indices of the columns behind the URL.
#[derive(Clone, Copy)]
struct Columns {
    status: usize,
    size: usize,
    took: usize,
    error: usize,
    tag: Option<usize>,
}

impl Default for Columns {
    /// The columns of a file without a header.
    fn default() -> Self {
        Self { status: 6, size: 7, took: 8, error: 11, tag: Some(12) }
    }
}

impl Columns {
    fn of_header(row: &Row) -> Option<Self> {
        Some(Self {
            status: row.column("HTTP status")?,
            size: row.column("size")?,
            took: row.column("duration")?,
            error: row.column("error")?,
            tag: row.column("tag"),
        })
    }
}

/// Whether a line is a row of a file without a header: a time, a process such as `<0.1.0>`, and the number of a user.
fn is_row(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b';').collect();
    let [date, process, user, ..] = fields[..] else { return false };
    fields.len() >= 13
        && seconds(date).is_some()
        && process.starts_with(b"<")
        && process.ends_with(b">")
        && whole(user).is_some()
}

/// A time in seconds; Erlang writes some numbers as `1.4e9`.
fn seconds(text: &[u8]) -> Option<Instant> {
    instant(text, S).or_else(|| {
        let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        Some(Instant(from_f64(number, S)?.0))
    })
}
