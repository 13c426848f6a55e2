//! JMeter's CSV log (JTL), with the header of any version since 2.6 or without one.
//!
//! `jmeter.save.saveservice.*` determines columns, delimiter and header. A header names the columns. Without one, the
//! position of `success` and the number of columns after it reveal the version.

use offered_base::{Instant, Nanos};
use offered_events::csv::unguarded;
use offered_events::{Event, Outcome, Reason};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::jtl::{Threads, is_controller, outcome, settle};
use super::number::{date_time, whole};
use super::rows::{Row, Rows};
use super::{Content, Head, Reader, TrimQuotes};
use crate::error::Error;
use crate::labels::Labels;

pub(super) static READER: Reader =
    Reader { name: "jtl-csv", sniff: |head| header(head.line()).is_some() || headerless(head.bytes).is_some(), read };

const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];
const MS: Nanos = Nanos::from_millis(1);

/// The positions of the columns; `None`: not in this log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Columns {
    stamp: usize,
    elapsed: usize,
    label: Option<usize>,
    code: Option<usize>,
    message: Option<usize>,
    thread: Option<usize>,
    success: Option<usize>,
    bytes: Option<usize>,
    sent_bytes: Option<usize>,
    first_byte: Option<usize>,
    host: Option<usize>,
    samples: Option<usize>,
    exact: Option<Exact>,
}

/// The columns of `offered export` with times in ns, which JMeter treats as variables of the plan (`sample_variables`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exact {
    intended: usize,
    sent: usize,
    first_byte: usize,
    done: usize,
    step: usize,
    /// The resolution of send times; 1 ns if absent.
    tick: Option<usize>,
    /// The start of the run, since the Unix epoch; empty for another tool's file.
    start: Option<usize>,
    /// The name of the outcome, which is more precise than JMeter's own columns.
    outcome: Option<usize>,
}

/// The delimiter and columns according to a header line.
fn header(line: &[u8]) -> Option<(u8, Columns)> {
    DELIMITERS.into_iter().find_map(|delimiter| {
        let names: Vec<&[u8]> =
            line.split(|&byte| byte == delimiter).map(|name| name.trim_ascii().trim_quotes()).collect();
        let at = |name: &str| names.iter().position(|found| found.eq_ignore_ascii_case(name.as_bytes()));
        let columns = Columns {
            stamp: at("timeStamp")?,
            elapsed: at("elapsed")?,
            label: at("label"),
            code: at("responseCode"),
            message: at("responseMessage"),
            thread: at("threadName"),
            success: at("success"),
            bytes: at("bytes"),
            sent_bytes: at("sentBytes"),
            first_byte: at("Latency"),
            host: at("Hostname"),
            samples: at("SampleCount"),
            exact: exact(at),
        };
        Some((delimiter, columns))
    })
}

fn exact(at: impl Fn(&str) -> Option<usize>) -> Option<Exact> {
    Some(Exact {
        intended: at("intended_ns")?,
        sent: at("sent_ns")?,
        first_byte: at("first_byte_ns")?,
        done: at("done_ns")?,
        step: at("step")?,
        tick: at("tick_ns"),
        start: at("start_ns"),
        outcome: at("outcome"),
    })
}

/// The delimiter and columns of a log without header, from its first row.
fn headerless(bytes: &[u8]) -> Option<(u8, Columns)> {
    DELIMITERS.into_iter().find_map(|delimiter| {
        let mut bytes = bytes;
        let mut rows = Rows::of_fields(&mut bytes, delimiter);
        let row = rows.next().ok()??;
        whole(row.get(1))?;
        stamp(row.get(0))?;
        let success = (6..=7).find(|&column| matches!(row.get(column), b"true" | b"false"))?;
        // The columns after `success`, by version: 2.6 (bytes, Latency), 2.12 with thread counts, 3.0, 3.1 to 4, 5.
        let (bytes, sent_bytes, first_byte) = match row.len() - success - 1 {
            0 => (None, None, None),
            1 => (Some(1), None, None),
            2 => (Some(1), None, Some(2)),
            4 => (Some(1), None, Some(4)),
            6 => (Some(2), None, Some(5)),
            8 => (Some(2), Some(3), Some(6)),
            9 => (Some(2), Some(3), Some(7)),
            _ => return None,
        };
        let after = |columns: Option<usize>| columns.map(|columns| success + columns);
        let columns = Columns {
            stamp: 0,
            elapsed: 1,
            label: Some(2),
            code: Some(3),
            message: Some(4),
            thread: Some(5),
            success: Some(success),
            bytes: after(bytes),
            sent_bytes: after(sent_bytes),
            first_byte: after(first_byte),
            host: None,
            samples: None,
            exact: None,
        };
        Some((delimiter, columns))
    })
}

/// A timestamp and its resolution: milliseconds since the Unix epoch, or a date.
#[inline]
fn stamp(text: &[u8]) -> Option<(Instant, Nanos)> {
    match whole(text) {
        Some(ms) => Some((Instant::ZERO + MS * ms, MS)),
        None => date_time(text),
    }
}

fn read(content: Content, options: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    // Inspect the first line before splitting rows: it determines the delimiter.
    let peek = content.fill_buf().map_err(Error::io("read", intake.name().as_ref()))?;
    let named = header(Head { bytes: peek }.line());
    let Some((delimiter, columns)) = named.or_else(|| headerless(peek)) else {
        let why = "the first line is neither a header with timeStamp and elapsed nor a row in a known layout of JMeter; set \
                   jmeter.save.saveservice.print_field_names=true in JMeter";
        return Err(Error::content(intake.name(), why));
    };
    let mut rows = Rows::of_fields(content, delimiter);
    if named.is_some() {
        intake.header(&mut rows, [])?;
    }
    let mut log = Log {
        columns,
        threads: Threads::default(),
        hosts: Labels::default(),
        controllers: 0,
        tick: MS,
        seen: Seen::default(),
    };
    intake.recording.sessions_known = columns.thread.is_some();
    intake.each_row(&mut rows, |intake, row| log.row(row, intake))?;
    if columns.exact.is_some() {
        // Our own export: times are exact, and every row is a request.
        let Seen { intent, users, finest, start } = log.seen;
        if let Some(start) = start {
            intake.recording.on_run_clock = true;
            intake.revise(|event| {
                since(event, start);
                true
            })?;
        }
        intake.recording.intent_known = intent;
        intake.recording.sessions_known = users;
        intake.recording.resolution = finest.unwrap_or(Nanos(1));
        return Ok(());
    }
    intake.recording.resolution = log.tick;
    settle(intake, options.stamps, log.controllers)
}

struct Log {
    columns: Columns,
    threads: Threads,
    hosts: Labels,
    controllers: u64,
    tick: Nanos,
    seen: Seen,
}

/// Properties of the exported recording in the rows of an export of `offered`.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    intent: bool,
    users: bool,
    /// The finest resolution.
    finest: Option<Nanos>,
    /// The start of the run, from the first row.
    start: Option<Instant>,
}

/// Converts the times of `event` to the clock of a run with this start.
fn since(event: &mut Event, start: Instant) {
    let since = |at: &mut Instant| *at = Instant::ZERO + start.until(*at);
    since(&mut event.intended);
    for at in [&mut event.sent, &mut event.first_byte, &mut event.done] {
        at.iter_mut().for_each(since);
    }
}

impl Exact {
    fn refine(&self, row: &Row, event: &mut Event, seen: &mut Seen) -> Result<(), Bad> {
        let ns = |column| whole(row.get(column)).map(Instant);
        let missing = "intended_ns, sent_ns, done_ns or step is not a whole number";
        let (sent, done) = (ns(self.sent).ok_or(missing)?, ns(self.done).ok_or(missing)?);
        event.intended = match row.get(self.intended) {
            // Times that were not recorded repeat the send time.
            b"" => sent,
            _ => ns(self.intended).ok_or(missing)?,
        };
        (event.sent, event.first_byte, event.done) = (Some(sent), ns(self.first_byte), Some(done));
        if ![event.sent, event.first_byte, event.done].into_iter().flatten().is_sorted() {
            return Err("the end of the request is before its send time".into());
        }
        event.step = whole(row.get(self.step)).and_then(|step| step.try_into().ok()).ok_or(missing)?;
        let start = self.start.and_then(ns);
        if seen.finest.is_none() {
            seen.start = start;
        }
        if seen.start != start {
            return Err(
                "this row belongs to another run than the previous rows; export each run to its own file".into()
            );
        }
        if start.is_some_and(|start| event.intended.min(sent) < start) {
            return Err("the scheduled or send time is before the start of the run".into());
        }
        if let Some(outcome) = self.outcome.and_then(|column| Outcome::from_name(&crate::labels::text(row.get(column))))
        {
            event.outcome = outcome;
        }
        let tick = self.tick.and_then(|column| whole(row.get(column))).map_or(Nanos(1), Nanos);
        seen.finest = Some(seen.finest.map_or(tick, |finest| finest.min(tick)));
        seen.intent |= !row.get(self.intended).is_empty();
        Ok(())
    }
}

impl Log {
    #[inline]
    fn row(&mut self, row: &Row, intake: &mut Intake) -> Result<(), Bad> {
        let columns = &self.columns;
        let Some((start, tick)) = stamp(row.get(columns.stamp)) else {
            // Concatenated logs repeat the header.
            if !row.get(columns.stamp).eq_ignore_ascii_case(b"timeStamp") {
                return Err("the timestamp is neither milliseconds nor a date".into());
            }
            intake.header_row();
            return Ok(());
        };
        let elapsed = whole(row.get(columns.elapsed)).ok_or("the elapsed time is not a whole number of ms")?;
        if [columns.success, columns.thread, columns.label].into_iter().flatten().any(|column| column >= row.len()) {
            return Err("this row has fewer columns than the first row".into());
        }
        if whole(row.maybe(columns.samples)).is_some_and(|samples| samples > 1) {
            return Err("this row sums up several samples; ask JMeter for mode=Standard".into());
        }
        if is_controller(row.maybe(columns.message)) {
            self.controllers += 1;
            return Ok(());
        }
        self.tick = self.tick.max(tick);
        let success = row.maybe(columns.success) != b"false";
        let code = row.maybe(columns.code);
        let (outcome, status) = outcome(success, code);
        let done = start + MS * elapsed;
        let first_byte = whole(row.maybe(columns.first_byte)).filter(|&ms| ms > 0 || success).map(|ms| start + MS * ms);
        let label = row.maybe_text(columns.label);
        let mut event = Event {
            sent: Some(start),
            first_byte: first_byte.filter(|&at| at <= done),
            done: Some(done),
            session: self.threads.session(row.maybe(columns.thread)),
            outcome,
            status,
            bytes_out: whole(row.maybe(columns.sent_bytes)).unwrap_or(0),
            bytes_in: whole(row.maybe(columns.bytes)).unwrap_or(0),
            worker: columns.host.map_or(0, |column| self.hosts.number(row.get(column))),
            error: (outcome != Outcome::Ok).then(|| error(code, unguarded(&row.maybe_text(columns.message)))),
            ..Event::at(start)
        };
        if let Some(exact) = &columns.exact {
            exact.refine(row, &mut event, &mut self.seen)?;
            self.seen.users |= !row.maybe(columns.thread).is_empty();
            intake.add(unguarded(&label), event);
        } else {
            intake.add(&label, event);
        }
        Ok(())
    }
}

fn error(code: &[u8], message: &[u8]) -> Reason {
    crate::labels::text(if message.is_empty() { code } else { message }).into()
}
