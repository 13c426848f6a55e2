//! Any table, described by the names of its columns and the unit of its times.
//!
//! A column is given by its header or by its number from 1. The first row is a header unless its start column contains a time.

use std::borrow::Cow;

use offered_base::Nanos;
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::instants::instant;
use super::intake::Intake;
use super::rows::Rows;
use super::{Content, Head, Reader, refused};
use crate::error::Error;

pub(super) static CSV: Reader = Reader {
    name: "csv",
    sniff: |head| is_table(head, b','),
    read: |content, options, intake| read(content, b',', options, intake),
};
pub(super) static TSV: Reader = Reader {
    name: "tsv",
    sniff: |head| is_table(head, b'\t'),
    read: |content, options, intake| read(content, b'\t', options, intake),
};

/// Whether the file has text columns and is not a known summary, which gets a better error message.
fn is_table(head: &Head, delimiter: u8) -> bool {
    let is_text = !head.line().iter().any(|&byte| byte.is_ascii_control() && byte != b'\t');
    is_text && head.cells(delimiter).len() > 1 && refused::why(head).is_none()
}

fn read(content: Content, delimiter: u8, options: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let peek = content.fill_buf().map_err(Error::io("read", intake.name().as_ref()))?;
    let heads = heads(peek, delimiter);
    let mut rows = Rows::of_fields(content, delimiter);
    let column = |name: &Option<String>| -> Result<Option<usize>, Error> {
        let Some(name) = name else { return Ok(None) };
        let named = heads.iter().position(|head| head.eq_ignore_ascii_case(name));
        let counted = || name.parse::<usize>().ok()?.checked_sub(1).filter(|&column| column < heads.len());
        match named.or_else(counted) {
            None => {
                let why = format!("has no column `{name}`; its columns are: {}", heads.join(", "));
                Err(Error::content(intake.name(), why))
            }
            found => Ok(found),
        }
    };
    let (start, end, label) =
        (column(&options.start_column)?, column(&options.end_column)?, column(&options.label_column)?);
    let Some(start) = start else {
        return Err(Error::NoStartColumn { file: intake.name().to_owned(), columns: heads });
    };
    if instant(heads[start].as_bytes(), options.unit).is_none() {
        intake.header(&mut rows, [])?;
    }
    let mut finest: Option<Nanos> = None;
    intake.each_row(&mut rows, |intake, row| {
        let (at, tick) =
            instant(row.get(start), options.unit).ok_or("the start time is neither a number nor a date")?;
        let done = match end {
            Some(end) => {
                Some(instant(row.get(end), options.unit).ok_or("the end time is neither a number nor a date")?.0)
            }
            None => None,
        };
        if done.is_some_and(|done| done < at) {
            return Err("the end is before the start: is the end column a duration?".into());
        }
        finest = Some(finest.map_or(tick, |finest| finest.min(tick)));
        let label = label.map_or(Cow::Borrowed(&b"row"[..]), |column| row.text(column));
        intake.add(&label, Event { sent: Some(at), done, outcome: Outcome::Ok, ..Event::at(at) });
        Ok(())
    })?;
    intake.recording.resolution = finest.unwrap_or(Nanos(1));
    Ok(())
}

/// The fields of the first row.
fn heads(mut peek: &[u8], delimiter: u8) -> Vec<String> {
    let first = Rows::of_fields(&mut peek, delimiter)
        .next()
        .ok()
        .flatten()
        .map(|row| (0..row.len()).map(|column| crate::labels::text(row.get(column).trim_ascii())).collect());
    first.unwrap_or_default()
}
