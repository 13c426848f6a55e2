//! goose's request log (`--request-log FILE`), JSON lines or CSV: ms since the run's start.
//!
//! Rows with `coordinated_omission_elapsed` above zero are synthetic samples of goose's mitigation; no request was sent.
//! A row with `update` corrects the outcome of an earlier row and is not a request either.

use std::borrow::Cow;

use offered_base::{Instant, Nanos};
use offered_events::note::RowKind;
use offered_events::{Event, Note, Outcome};
use serde::Deserialize;

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::whole;
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static JSON: Reader = Reader {
    name: "goose-json",
    sniff: |head| head.json_line(&["coordinated_omission_elapsed", "elapsed", "response_time", "user"]),
    read: read_json,
};
pub(super) static CSV: Reader = Reader {
    name: "goose-csv",
    sniff: |head| {
        head.line().starts_with(b"elapsed,") && head.cells(b',').contains(&&b"coordinated_omission_elapsed"[..])
    },
    read: read_csv,
};

const MS: Nanos = Nanos::from_millis(1);

#[derive(Deserialize)]
struct Line<'a> {
    elapsed: u64,
    response_time: u64,
    status_code: u16,
    success: bool,
    update: bool,
    user: u64,
    coordinated_omission_elapsed: u64,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    error: Cow<'a, str>,
}

#[derive(Default)]
struct LeftOut {
    invented: u64,
    updates: u64,
}

impl LeftOut {
    fn take(&mut self, line: Line, intake: &mut Intake) {
        if line.coordinated_omission_elapsed > 0 {
            self.invented += 1;
            return;
        }
        if line.update {
            self.updates += 1;
            return;
        }
        let start = Instant::ZERO + MS * line.elapsed;
        intake.add(
            line.name.as_bytes(),
            Event {
                sent: Some(start),
                done: Some(start + MS * line.response_time),
                session: line.user,
                status: line.status_code,
                outcome: match line.status_code {
                    _ if line.success => Outcome::Ok,
                    0 => Outcome::Reset,
                    _ => Outcome::HttpError,
                },
                error: (!line.error.is_empty()).then(|| line.error.into_owned().into()),
                ..Event::at(start)
            },
        );
    }

    fn note(&self, intake: &mut Intake) {
        if self.invented > 0 {
            intake.note(Note::Excluded { rows: self.invented, row_kind: RowKind::Corrected });
        }
        if self.updates > 0 {
            intake.note(Note::Excluded { rows: self.updates, row_kind: RowKind::Updates });
        }
    }
}

fn read_json(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    intake.recording.resolution = MS;
    let mut left_out = LeftOut::default();
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        left_out.take(serde_json::from_slice(row.get(0)).map_err(|why| Bad::from(why.to_string()))?, intake);
        Ok(())
    })?;
    left_out.note(intake);
    Ok(())
}

fn read_csv(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.sessions_known = true;
    intake.recording.resolution = MS;
    let mut rows = Rows::of_fields(content, b',');
    let names = [
        "elapsed",
        "response_time",
        "status_code",
        "success",
        "update",
        "user",
        "coordinated_omission_elapsed",
        "name",
        "error",
    ];
    let [elapsed, took, status, success, update, user, invented, name, error] = intake.header(&mut rows, names)?;
    let mut left_out = LeftOut::default();
    intake.each_row(&mut rows, |intake, row| {
        let number = |column| whole(row.maybe(column));
        let line = Line {
            elapsed: number(elapsed).ok_or("the elapsed time is not a whole number of ms")?,
            response_time: number(took).ok_or("response_time is not a whole number of ms")?,
            status_code: number(status).unwrap_or(0) as u16,
            success: row.maybe(success) == b"true",
            update: row.maybe(update) == b"true",
            user: number(user).ok_or("the user is not a number")?,
            coordinated_omission_elapsed: number(invented).unwrap_or(0),
            name: crate::labels::text(&row.maybe_text(name)).into(),
            error: crate::labels::text(&row.maybe_text(error)).into(),
        };
        left_out.take(line, intake);
        Ok(())
    })?;
    left_out.note(intake);
    Ok(())
}
