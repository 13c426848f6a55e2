//! A plain list of send times, one per line: numbers or dates.
//!
//! A setting gives the unit of numbers. Otherwise their magnitude decides: a time in this century has 10 digits in
//! seconds, 13 in ms, 16 in us and 19 in ns. Smaller numbers count as seconds.

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::{self, date_time, tick};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader {
    name: "instants",
    sniff: |head| {
        let mut lines = head.lines().filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        lines.next().is_some_and(|line| instant(line, None).is_some())
    },
    read,
};

/// A time in one of the usual notations, and its resolution.
pub(super) fn instant(text: &[u8], unit: Option<Nanos>) -> Option<(Instant, Nanos)> {
    let text = text.trim_ascii();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = unit.unwrap_or(match digits {
        18.. => Nanos(1),
        15..=17 => Nanos::from_micros(1),
        12..=14 => Nanos::from_millis(1),
        _ => Nanos::from_secs(1),
    });
    number::instant(text, unit).map(|at| (at, tick(text, unit))).or_else(|| date_time(text))
}

fn read(content: Content, options: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut finest: Option<Nanos> = None;
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        if row.get(0).starts_with(b"#") {
            return Ok(());
        }
        let (at, tick) = instant(row.get(0), options.unit).ok_or("this is neither a number nor a date")?;
        finest = Some(finest.map_or(tick, |finest| finest.min(tick)));
        intake.add(b"launch", Event { sent: Some(at), outcome: Outcome::Ok, ..Event::at(at) });
        Ok(())
    })?;
    intake.recording.resolution = finest.unwrap_or(Nanos(1));
    Ok(())
}
