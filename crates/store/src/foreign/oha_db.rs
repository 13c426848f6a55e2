//! The database of oha's `--db-url`: seconds since the start of the run, with scheduled times if `--latency-correction` was used.
//!
//! It contains only successful requests. Columns differ between versions of oha (later ones have `url` and `run`), so
//! they are found by name. The reader holds the file in memory.

use offered_base::{Instant, Nanos};
use offered_events::note::Listed;
use offered_events::{Event, Note, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::number::from_f64;
use super::sqlite::{Database, Value};
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "oha-db", sniff: |head| head.bytes.starts_with(b"SQLite format 3\0"), read };

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes).map_err(Error::io("read", intake.name().as_ref()))?;
    let wrong = |intake: &Intake, why: &str| Error::content(intake.name(), why.to_owned());
    let damaged = "is an SQLite database that is damaged or truncated; copy it again";
    let database = Database::new(&bytes).ok_or_else(|| wrong(intake, damaged))?;
    let (root, names) = database.table("oha").ok_or_else(|| {
        wrong(intake, "is an SQLite database without a table `oha`; only databases of oha --db-url can be read")
    })?;
    let column = |name: &str| names.iter().position(|known| known == name);
    let [start, meant, end, status, bytes_in, url, run] =
        ["start", "start_latency_correction", "end", "status", "len_bytes", "url", "run"].map(column);
    intake.note(Note::OnlyListed { tool: "oha".to_owned(), listed: Listed::Succeeded });
    let (mut row_number, mut intended, mut runs) = (0u64, 0u64, Vec::new());
    database
        .rows(root, &mut |row| {
            row_number += 1;
            let number = |column: Option<usize>| row.get(column?)?.number();
            let seconds = |column| Some(Instant::ZERO + from_f64(number(column)?, Nanos::from_secs(1))?);
            let (Some(sent), Some(done)) = (seconds(start), seconds(end)) else {
                return intake.bad(format!("row {row_number}"), "this row has no start or no end in seconds");
            };
            if done < sent {
                return intake.bad(format!("row {row_number}"), "the end of the request is before its send time");
            }
            let run = number(run);
            if runs.last() != Some(&run) {
                runs.push(run);
            }
            let meant = seconds(meant);
            intended += u64::from(meant.is_some());
            let status = number(status).unwrap_or(0.0) as u16;
            let label = match url.and_then(|url| row.get(url)) {
                Some(Value::Text(url)) => url,
                _ => &b"request"[..],
            };
            intake.understood();
            intake.add(
                label,
                Event {
                    sent: Some(sent),
                    done: Some(done),
                    bytes_in: number(bytes_in).unwrap_or(0.0) as u64,
                    status,
                    outcome: if status < 400 { Outcome::Ok } else { Outcome::HttpError },
                    ..Event::at(meant.unwrap_or(sent))
                },
            );
        })
        .ok_or_else(|| wrong(intake, damaged))?;
    // Several runs in one file, each with its own clock, are separated by their send times, as in every other file.
    intake.recording.intent_known = intended > 0 && intended == row_number && runs.len() == 1;
    if !intake.recording.intent_known {
        intake.revise(|event| {
            event.intended = event.sent.unwrap_or(event.intended);
            true
        })?;
    }
    Ok(())
}
