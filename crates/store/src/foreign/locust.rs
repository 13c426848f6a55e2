//! Locust's request CSV (`locust.contrib.csv_request_logger`): one row per request, stamped in seconds when it was sent.
//!
//! Hand-written listeners use the field names of the event (`start_time`, `response_time`), which this reader accepts too.

use offered_base::Nanos;
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{instant, nanos, tick, whole};
use super::rows::Rows;
use super::{Content, Head, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader { name: "locust-csv", sniff, read };

fn sniff(head: &Head) -> bool {
    let cells = head.cells(b',');
    let any = |names: &[&str]| names.iter().any(|name| cells.contains(&name.as_bytes()));
    any(&["timestamp", "start_time"]) && any(&["response_time_ms", "response_time"]) && any(&["request_type"])
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    let names = [
        "start_time",
        "timestamp",
        "response_time_ms",
        "response_time",
        "request_type",
        "name",
        "response_length",
        "status_code",
        "exception",
    ];
    let [start, stamp, took_ms, took, kind, name, length, status, exception] = intake.header(&mut rows, names)?;
    let (start, took) = (start.or(stamp), took_ms.or(took));
    let second = Nanos::from_secs(1);
    let mut finest = second;
    intake.each_row(&mut rows, |intake, row| {
        let at = instant(row.maybe(start), second).ok_or("the start is not a time in seconds")?;
        let took = nanos(row.maybe(took), Nanos::from_millis(1)).ok_or("the response time is not a time in ms")?;
        finest = finest.min(tick(row.maybe(start), second));
        let failed = !matches!(row.maybe(exception), b"" | b"None");
        let status = whole(row.maybe(status)).unwrap_or(0) as u16;
        intake.add(
            [row.maybe(kind), &row.maybe_text(name)].join(&b" "[..]).trim_ascii(),
            Event {
                sent: Some(at),
                done: Some(at + took),
                bytes_in: whole(row.maybe(length)).unwrap_or(0),
                status,
                outcome: match status {
                    400.. => Outcome::HttpError,
                    _ if !failed => Outcome::Ok,
                    0 => Outcome::Reset,
                    _ => Outcome::Malformed,
                },
                error: failed.then(|| crate::labels::text(&row.maybe_text(exception)).into()),
                ..Event::at(at)
            },
        );
        Ok(())
    })?;
    // Floats are printed with as few digits as possible: the finest row gives the resolution.
    intake.recording.resolution = finest;
    Ok(())
}
