//! Yandex.Tank's phout (phantom, pandora, bfg): twelve columns between tabs, the start in seconds with ms, times in us.

use offered_base::Nanos;
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{instant, tick, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "phout",
    sniff: |head| {
        let cells = head.cells(b'\t');
        cells.len() == 12 && cells[0].contains(&b'.') && (2..12).all(|column| whole(cells[column]).is_some())
    },
    read,
};

const S: Nanos = Nanos::from_secs(1);
const US: Nanos = Nanos::from_micros(1);

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut finest = S;
    let mut rows = Rows::of_plain_fields(content, b'\t');
    intake.each_row(&mut rows, |intake, row| {
        let number = |column: usize| whole(row.get(column));
        let start = instant(row.get(0), S).ok_or("the time is not a number of seconds")?;
        let took = US * number(2).ok_or("interval_real is not a whole number of us")?;
        let net = number(10).ok_or("this row has fewer than twelve columns")?;
        let status = number(11).ok_or("this row has fewer than twelve columns")? as u16;
        finest = finest.min(tick(row.get(0), S));
        // connect + send + latency: the start of the response.
        let parts = [3, 4, 5].iter().filter_map(|&column| number(column)).sum::<u64>();
        let tag = row.get(1).split(|&byte| byte == b'#').next().unwrap_or_default();
        intake.add(
            tag,
            Event {
                sent: Some(start),
                first_byte: (net == 0 && parts > 0).then(|| start + (US * parts).min(took)),
                done: Some(start + took),
                bytes_out: number(8).unwrap_or(0),
                bytes_in: number(9).unwrap_or(0),
                status,
                // The network code is an errno of the system.
                outcome: match (net, status) {
                    (0, 400..) => Outcome::HttpError,
                    (0, _) => Outcome::Ok,
                    (110, _) => Outcome::Timeout,
                    (111, _) => Outcome::Refused,
                    (71, _) => Outcome::Malformed,
                    _ => Outcome::Reset,
                },
                error: (net != 0).then(|| format!("network code {net}").into()),
                ..Event::at(start)
            },
        );
        Ok(())
    })?;
    intake.recording.resolution = finest;
    Ok(())
}
