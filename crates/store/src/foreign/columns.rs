//! Any table with a header: `--start-column`, `--end-column`, `--label-column` and `--unit` say what its columns mean.

use std::borrow::Cow;

use offered_model::{Event, Nanos, Outcome};

use super::instants::instant;
use super::intake::Intake;
use super::rows::Rows;
use super::{Content, Reader};
use crate::door::ReadOptions;
use crate::error::Error;

pub(super) static CSV: Reader = Reader {
    name: "csv",
    sniff: |head| head.cells(b',').len() > 1,
    read: |content, options, intake| read(content, b',', options, intake),
};
pub(super) static TSV: Reader = Reader {
    name: "tsv",
    sniff: |head| head.cells(b'\t').len() > 1,
    read: |content, options, intake| read(content, b'\t', options, intake),
};

fn read(content: Content, delimiter: u8, options: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, delimiter);
    let first = rows.next().map_err(|why| Error::content(intake.name(), why.to_string()))?;
    let heads: Vec<String> = first
        .map_or_else(Vec::new, |row| (0..row.len()).map(|i| crate::labels::text(row.get(i).trim_ascii())).collect());
    let column = |name: &Option<String>| -> Result<Option<usize>, Error> {
        let Some(name) = name else { return Ok(None) };
        match heads.iter().position(|head| head.eq_ignore_ascii_case(name)) {
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
        let why = format!(
            "is a table of no known tool; say which column holds the launch times with --start-column (and --unit, \
             --end-column, --label-column); its columns are: {}",
            heads.join(", ")
        );
        return Err(Error::content(intake.name(), why));
    };
    let mut finest: Option<Nanos> = None;
    intake.each_row(&mut rows, |intake, row| {
        let (at, tick) = instant(row.get(start), options.unit).ok_or("its start is neither a number nor a date")?;
        let done = match end {
            Some(end) => Some(instant(row.get(end), options.unit).ok_or("its end is neither a number nor a date")?.0),
            None => None,
        };
        if done.is_some_and(|done| done < at) {
            return Err("it ends before it starts: is --end-column a duration?".into());
        }
        finest = Some(finest.map_or(tick, |finest| finest.min(tick)));
        let label = label.map_or(Cow::Borrowed(&b"row"[..]), |column| row.text(column));
        intake.launch(&label, Event { sent: Some(at), done, outcome: Outcome::Ok, ..Event::at(at) });
        Ok(())
    })?;
    intake.recording.resolution = finest.unwrap_or(Nanos(1));
    Ok(())
}
