//! The CSV export of `offered` (`offered export --format csv`): all columns of all events, times in ns.
//!
//! `tick_ns` is the resolution of send times. `start_ns` is the start of the run since the Unix epoch, from which all times count (0 on a
//! virtual clock). Empty fields are unknown. Without `start_ns` the times are those of another tool's file.

use offered_base::{Instant, Nanos};
use offered_events::csv::unguarded;
use offered_events::{Event, Outcome, Reason, VisitPosition};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::whole;
use super::rows::{Row, Rows};
use super::{Content, Reader};
use crate::error::Error;
use crate::part::{metrics, streams};

pub(super) static READER: Reader = Reader {
    name: "offered-csv",
    sniff: |head| COLUMNS[..8].iter().map(|name| name.as_bytes()).eq(head.cells(b',').into_iter().take(8)),
    read,
};

/// The columns, in order.
pub const COLUMNS: [&str; 51] = [
    "intended_ns",
    "sent_ns",
    "first_byte_ns",
    "done_ns",
    "session",
    "step",
    "label",
    "outcome",
    "status",
    "bytes_out",
    "bytes_in",
    "worker",
    "connection",
    "reused",
    "error",
    "handshake_ns",
    "object",
    "tick_ns",
    "start_ns",
    "waited_ns",
    "rows",
    "redirects",
    "resends",
    "reading_lateness_ns",
    "done_lateness_ns",
    "retries",
    "attempt",
    "head_ns",
    "first_token_ns",
    "first_answer_ns",
    "last_token_ns",
    "tokens_intended",
    "tokens_in",
    "tokens_cached",
    "tokens_out",
    "tokens_first",
    "chunks",
    "coalesced",
    "gap_max_ns",
    "read_late_ns",
    "last_read_late_ns",
    "first_earliest_ns",
    "last_earliest_ns",
    "finish",
    "gaps_us",
    "visit",
    "place",
    "visit_end",
    "metrics",
    "token_requests",
    "writing_lateness_ns",
];

/// The first column about streams, and the two after their numbers.
const STREAMS: usize = 27;
const FINISH: usize = STREAMS + streams::COUNT;
const GAPS: usize = FINISH + 1;
/// The first column about visits, and the one after them.
const VISITS: usize = GAPS + 1;
const METRICS: usize = VISITS + 3;
const TOKEN_REQUESTS: usize = METRICS + 1;
const WRITING: usize = TOKEN_REQUESTS + 1;

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    let mut rows = Rows::of_fields(content, b',');
    let columns = intake.header(&mut rows, COLUMNS)?;
    let mut tick: Option<Nanos> = None;
    let (mut start, mut first) = (None, true);
    intake.each_row(&mut rows, |intake, row| {
        let fields = Fields { row, columns: &columns };
        let event = fields.event()?;
        let started = fields.number(18)?;
        if std::mem::take(&mut first) {
            start = started;
        }
        if start != started {
            return Err(
                "this row belongs to another run than the previous rows; export each run to its own file".into()
            );
        }
        intake.recording.intent_known |= !fields.text(0).is_empty();
        intake.recording.sessions_known |= !fields.text(4).is_empty();
        let of_row = whole(fields.text(17)).map_or(Nanos(1), Nanos);
        tick = Some(tick.map_or(of_row, |tick| tick.min(of_row)));
        let label = row.maybe_text(columns[6]);
        intake.add(unguarded(&label), event);
        Ok(())
    })?;
    intake.recording.resolution = tick.unwrap_or(Nanos(1));
    intake.recording.on_run_clock = start.is_some();
    Ok(())
}

/// A row, accessed by positions in [`COLUMNS`].
struct Fields<'a, 'r> {
    row: &'a Row<'r>,
    columns: &'a [Option<usize>; COLUMNS.len()],
}

impl Fields<'_, '_> {
    fn text(&self, which: usize) -> &[u8] {
        self.row.maybe(self.columns[which])
    }

    /// A number, or an empty field.
    fn number(&self, which: usize) -> Result<Option<u64>, Bad> {
        match self.text(which) {
            b"" => Ok(None),
            text => whole(text).map(Some).ok_or_else(|| format!("{} is not a whole number", COLUMNS[which]).into()),
        }
    }

    /// The value of a column of smaller integers; 0 if empty.
    fn small<N: TryFrom<u64>>(&self, which: usize) -> Result<N, Bad> {
        let number = self.number(which)?.unwrap_or(0);
        N::try_from(number).map_err(|_| format!("{} is too large", COLUMNS[which]).into())
    }

    fn event(&self) -> Result<Event, Bad> {
        let instant = |which| Ok::<_, Bad>(self.number(which)?.map(Instant));
        let length = |which| Ok::<_, Bad>(self.number(which)?.map(Nanos));
        let (intended, sent, first_byte, done) = (instant(0)?, instant(1)?, instant(2)?, instant(3)?);
        let in_order = [sent, first_byte, done].into_iter().flatten().is_sorted();
        if !in_order || sent.is_none() && done.is_some() {
            return Err("the end of the request is before its send time".into());
        }
        let outcome = crate::labels::text(self.text(7));
        let error = self.row.maybe_text(self.columns[14]);
        let mut event = Event {
            sent,
            first_byte,
            done,
            handshake: length(15)?,
            waited: length(19)?,
            reading_lateness: length(23)?,
            done_lateness: length(24)?,
            writing_lateness: length(WRITING)?,
            session: self.small(4)?,
            step: self.small(5)?,
            object: self.small(16)?,
            outcome: Outcome::from_name(&outcome).ok_or_else(|| format!("the outcome `{outcome}` is unknown"))?,
            status: self.small(8)?,
            bytes_out: self.small(9)?,
            bytes_in: self.small(10)?,
            rows: self.small(20)?,
            worker: self.small(11)?,
            connection: self.small(12)?,
            reused: self.text(13) == b"true",
            redirects: self.small(21)?,
            resends: self.small(22)?,
            token_requests: self.small(TOKEN_REQUESTS)?,
            retries: self.small(25)?,
            attempt: self.small(26)?,
            error: (!error.is_empty()).then(|| Reason::read(&crate::labels::text(unguarded(&error)))),
            ..Event::at(intended.or(sent).ok_or("this row has neither intended_ns nor sent_ns")?)
        };
        for nth in 0..streams::COUNT {
            streams::set_number(nth, &mut event, self.number(STREAMS + nth)?);
        }
        streams::set_finish(&mut event, Some(self.text(FINISH)).filter(|name| !name.is_empty()));
        streams::set_gaps(&mut event, self.text(GAPS));
        event.visit = self.visit()?;
        metrics::set(&mut event, self.text(METRICS));
        Ok(event)
    }

    /// The position of the request in its visit; `None` without the number of the visit.
    fn visit(&self) -> Result<Option<VisitPosition>, Bad> {
        if self.text(VISITS).is_empty() {
            return Ok(None);
        }
        let (number, place) = (self.small(VISITS)?, self.small(VISITS + 1)?);
        Ok(Some(VisitPosition { number, place, ends: self.text(VISITS + 2) == b"true" }))
    }
}
