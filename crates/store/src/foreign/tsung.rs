//! Tsung's request log (`dumptraffic="protocol"`): one row per response, stamped when it ended, with its duration in ms.
//!
//! Source: `dump2str` in `ts_http.erl`, `dump` in `ts_mon_cache.erl`. A URL may contain the separator, so the columns behind it are counted
//! from the end. Requests without a response are not in the file.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{from_f64, instant, nanos, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "tsung", sniff: |head| head.line().starts_with(b"#date;pid;id;http method;host;URL;"), read };

const S: Nanos = Nanos::from_secs(1);

/// Index of the URL.
const URL: usize = 5;

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    // Erlang's clock has microseconds.
    intake.recording.resolution = Nanos::from_micros(1);
    let mut rows = Rows::of_plain_fields(content, b';');
    let [status, size, took, error, tag] =
        intake.header(&mut rows, ["HTTP status", "size", "duration", "error", "tag"])?;
    let (Some(status), Some(size), Some(took), Some(error)) = (status, size, took, error) else {
        return Err(Error::content(
            intake.name(),
            "has no columns HTTP status, size, duration and error in its header",
        ));
    };
    let columns = tag.unwrap_or(error) + 1;
    intake.each_row(&mut rows, |intake, row| {
        // Every further field is a part of the URL.
        let more = row.len().checked_sub(columns).ok_or("it has fewer fields than the header")?;
        let field = |column: usize| row.get(column + more);
        let done = seconds(row.get(0)).ok_or("its date is not a time in seconds")?;
        let took = nanos(field(took), Nanos::from_millis(1)).ok_or("its duration is not a time in ms")?;
        let sent = Instant(done.0.checked_sub(took.0).ok_or("its duration is longer than its date")?);
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
    })
}

/// A time in seconds; Erlang writes some numbers as `1.4e9`.
fn seconds(text: &[u8]) -> Option<Instant> {
    instant(text, S).or_else(|| {
        let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        Some(Instant(from_f64(number, S)?.0))
    })
}
