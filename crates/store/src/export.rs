//! Exports a recording in the formats of other tools, for their analyses.
//!
//! If a format cannot contain exact times, they are in extra columns. A JTL, for example, has the whole milliseconds
//! that JMeter expects, and exact times in additional columns. So `offered verify` computes the same numbers as for the
//! run itself.

mod combined;
mod k6;
mod otlp;
mod pgbench;
mod request_info;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use offered_base::{Instant, Nanos};
use offered_events::csv::Table;
use offered_events::{Event, Finish, Outcome, Reason, Recording, RunId};
use offered_stats::order::{self, Key, Rank};
use offered_workload::Workload;

use crate::part::{STARTED, arrow, metrics, streams};

offered_base::named! {
    /// An output format.
    pub enum ExportFormat {
        /// JMeter's CSV log, with exact times in extra columns.
        Jtl = "jtl",
        /// All columns of all events; [`read`](crate::read) reads it back.
        Csv = "csv",
        /// vegeta's JSON lines.
        Vegeta = "vegeta",
        /// k6's JSON points.
        K6 = "k6",
        /// `OpenTelemetry` client spans, as OTLP JSON lines.
        Otlp = "otlp",
        /// Arrow IPC file, with the columns of a run directory.
        Arrow = "arrow",
        /// Apache's combined log as a server would have written it, with timestamps in whole seconds.
        Combined = "combined",
        /// `HdrHistogram` interval log, one interval a second, tags `response` and `service`, values in ns.
        Hdr = "hdr",
        /// pgbench's transaction log, in whole microseconds.
        Pgbench = "pgbench",
        /// The gaps between successive sent requests in ms, one per line.
        Gaps = "gaps",
    }
}

impl ExportFormat {
    /// Whether the file depends on [`RunContext::workload`].
    pub const fn uses_workload(self) -> bool {
        matches!(self, Self::K6 | Self::Otlp | Self::Arrow | Self::Combined)
    }

    /// Whether the format can represent only requests that have ended.
    pub const fn needs_ends(self) -> bool {
        matches!(self, Self::Jtl | Self::Vegeta | Self::K6 | Self::Otlp | Self::Hdr | Self::Pgbench)
    }
}

/// The data of a recorded run besides its events. The default is for files of other tools.
#[derive(Clone, Copy, Default)]
pub struct RunContext<'a> {
    /// The start of the run since the Unix epoch; zero if timestamps count from there already, and on a virtual clock.
    pub origin: Nanos,
    /// The version of the program that made the run.
    pub version: Option<&'a str>,
    /// The ID of the run.
    pub run_id: Option<&'a RunId>,
    /// The workload of the run, which has the methods and URLs of its requests.
    pub workload: Option<&'a Workload>,
    /// The `traceparent` header that a request of the workload, by its index, sent at a step of a session.
    pub traceparent: Option<&'a dyn Fn(usize, u64, u32) -> Option<String>>,
}

/// Parts that an export lacks, with counts, to be shown as warnings.
#[derive(Clone, Debug, Default)]
pub struct Omissions(BTreeMap<&'static str, u64>);

impl Omissions {
    fn count(&mut self, is_omitted: bool, what: &'static str) {
        self.add(u16::from(is_omitted), what);
    }

    fn add(&mut self, number: u16, what: &'static str) {
        if number > 0 {
            *self.0.entry(what).or_default() += u64::from(number);
        }
    }

    /// One text for each kind of missing part, with its count.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(what, number)| format!("{what}: {number}"))
    }
}

/// Writes a recording. Requests that the format cannot represent are skipped.
///
/// # Errors
/// `out` cannot be written, the recording is unreadable, or the format cannot represent a time.
pub fn write(
    kind: ExportFormat,
    recording: &Recording,
    run: &RunContext<'_>,
    out: &mut impl Write,
) -> io::Result<Omissions> {
    let mut out = BufWriter::new(out);
    let mut omitted = Omissions::default();
    let origin = run.origin;
    match kind {
        ExportFormat::Jtl => jtl(recording, origin, &mut out)?,
        ExportFormat::Csv => csv(recording, origin, &mut out)?,
        ExportFormat::Vegeta => vegeta(recording, origin, &mut out)?,
        ExportFormat::K6 => omitted = k6::write(recording, run, &mut out)?,
        ExportFormat::Otlp => omitted = otlp::write(recording, run, &mut out)?,
        ExportFormat::Arrow => arrow_file(recording, run, &mut out)?,
        ExportFormat::Combined => omitted = combined::write(recording, run, &mut out)?,
        ExportFormat::Hdr => hdr(recording, origin, &mut out)?,
        ExportFormat::Pgbench => pgbench::write(recording, origin, &mut out)?,
        ExportFormat::Gaps => gaps(recording, &mut out)?,
    }
    out.flush()?;
    Ok(omitted)
}

/// Events may be out of order by this many before sorting takes longer.
const WINDOW: usize = 100_000;

/// An event and its sort key. Events with equal keys keep the order of the recording.
struct Sortable<R> {
    rank: R,
    event: Event,
}

impl<R: Rank + Copy> Key for Sortable<R> {
    type Rank = R;

    fn rank(&self) -> R {
        self.rank
    }
}

/// Passes all events with a rank, including page objects, to `visit` in order of rank. Stops after its first error.
fn each<R: Rank + Copy>(
    recording: &Recording,
    rank: impl Fn(&Event) -> Option<R>,
    mut visit: impl FnMut(&Event, R) -> io::Result<()>,
) -> io::Result<()> {
    let source = |give: &mut dyn FnMut(Sortable<R>)| {
        recording.events.each_row(|event| {
            if let Some(rank) = rank(event) {
                give(Sortable { rank, event: event.clone() });
            }
        })
    };
    let mut seen = Ok(());
    order::for_each_ascending(&source, WINDOW, &mut |Sortable { rank, event }| {
        if seen.is_ok() {
            seen = visit(&event, rank);
        }
    })?;
    seen
}

/// Passes all sent requests to `visit`, in order of send time. (Events are recorded in order of completion.)
fn each_sent(recording: &Recording, mut visit: impl FnMut(&Event, Instant) -> io::Result<()>) -> io::Result<()> {
    let sent = |event: &Event| event.sent.filter(|_| event.is_request()).map(|sent| sent.0);
    each(recording, sent, |event, sent| visit(event, Instant(sent)))
}

/// Passes all sent requests that ended to `visit`, with the times of sending and completion.
fn each_ended(
    recording: &Recording,
    mut visit: impl FnMut(&Event, Instant, Instant) -> io::Result<()>,
) -> io::Result<()> {
    each_sent(recording, |event, sent| event.done.map_or(Ok(()), |done| visit(event, sent, done)))
}

/// Like [`each_ended`], in order of completion.
fn each_by_end(
    recording: &Recording,
    mut visit: impl FnMut(&Event, Instant, Instant) -> io::Result<()>,
) -> io::Result<()> {
    let ended = |event: &Event| Some((event.done?.0, event.sent?.0)).filter(|_| event.is_request());
    each(recording, ended, |event, (done, sent)| visit(event, Instant(sent), Instant(done)))
}

fn label<'a>(recording: &'a Recording, event: &Event) -> &'a str {
    recording.labels.get(usize::from(event.label)).map_or("", String::as_str)
}

/// The status for formats in which 0 means no response: a successful response without a status gets 200.
fn status(event: &Event) -> u16 {
    if event.outcome == Outcome::Ok && event.status == 0 { 200 } else { event.status }
}

/// JMeter treats quoted columns as variables of the test plan and ignores them.
fn jtl(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes,Latency,Hostname,\
         \"intended_ns\",\"sent_ns\",\"first_byte_ns\",\"done_ns\",\"step\",\"tick_ns\",\"start_ns\",\"outcome\""
    )?;
    let mut table = Table::new(out);
    each_ended(recording, |event, sent, done| {
        let ms = |from: Instant, to: Instant| from.until(to).0 / 1_000_000;
        let since_1970 = |at: Instant| Some((at + origin).0);
        let ok = event.outcome == Outcome::Ok;
        table
            .number(Some((sent + origin).0 / 1_000_000))?
            .number(Some(ms(sent, done)))?
            .text(label(recording, event))?;
        match event.status {
            0 => table.text(event.outcome.name())?,
            status => table.number(Some(status))?,
        };
        let message = event.error.as_ref().map_or(if ok { "OK" } else { event.outcome.name() }.into(), Reason::text);
        table.text(&message)?;
        let user = if recording.sessions_known { format!("user 1-{}", event.session) } else { String::new() };
        table.text(&user)?.number(Some(ok))?.number(Some(event.bytes_in))?.number(Some(event.bytes_out))?;
        table.number(Some(event.first_byte.map_or(0, |at| ms(sent, at))))?;
        table.text(&format!("worker-{}", event.worker))?;
        let intended = Some(event.intended).filter(|_| recording.intent_known);
        table.number(intended.and_then(since_1970))?.number(since_1970(sent))?;
        table.number(event.first_byte.and_then(since_1970))?.number(since_1970(done))?;
        table.number(Some(event.step))?.number(Some(recording.resolution.0))?;
        table.number(start(recording, origin))?.text(event.outcome.name())?.end()
    })?;
    table.flush()
}

/// The start of the run that times count from; `None` for the file of another tool.
fn start(recording: &Recording, origin: Nanos) -> Option<u64> {
    recording.on_run_clock.then_some(origin.0)
}

/// Unknown values are empty: scheduled times and sessions.
fn csv(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new(out);
    table.row(crate::CSV_COLUMNS)?;
    let planned = |event: &Event| Some((event.intended.0, (event.session, event.step, event.object, event.attempt)));
    let ns = |at: Option<Instant>| at.map(|at| at.0);
    let length = |length: Option<Nanos>| length.map(|length| length.0);
    each(recording, planned, |event, _| {
        let intended = Some(event.intended).filter(|_| recording.intent_known || event.sent.is_none());
        table.number(ns(intended))?.number(ns(event.sent))?.number(ns(event.first_byte))?;
        table.number(ns(event.done))?.number(Some(event.session).filter(|_| recording.sessions_known))?;
        table.number(Some(event.step))?.text(label(recording, event))?.text(event.outcome.name())?;
        table.number(Some(event.status))?.number(Some(event.bytes_out))?.number(Some(event.bytes_in))?;
        table.number(Some(event.worker))?.number(Some(event.connection))?.number(Some(event.reused))?;
        table.text(&event.why())?.number(length(event.handshake))?;
        table.number(Some(event.object))?.number(Some(recording.resolution.0))?;
        table.number(start(recording, origin))?.number(length(event.waited))?.number(Some(event.rows))?;
        table.number(Some(event.redirects))?.number(Some(event.resends))?;
        table.number(length(event.reading_lateness))?.number(length(event.done_lateness))?;
        table.number(Some(event.retries))?.number(Some(event.attempt))?;
        for nth in 0..streams::COUNT {
            table.number(streams::number(nth, event))?;
        }
        let finish = event.stream.as_ref().and_then(|stream| stream.finish).map_or("", Finish::name);
        let gaps = event.stream.as_ref().map_or(String::new(), |stream| streams::gaps(stream));
        table.text(finish)?.text(&gaps)?;
        let visit = event.visit;
        table.number(visit.map(|visit| visit.number))?.number(visit.map(|visit| visit.place))?;
        table.number(visit.map(|visit| visit.ends))?.text(&metrics::text(event).unwrap_or_default())?;
        table.number(Some(event.token_requests))?.number(length(event.writing_lateness))?.end()
    })?;
    table.flush()
}

fn arrow_file(recording: &Recording, run: &RunContext<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (scenarios, flow_steps) =
        run.workload.map(|workload| (workload.scenario_names(), workload.place_names())).unwrap_or_default();
    let names = arrow::ColumnNames { labels: &recording.labels, scenarios: &scenarios, flow_steps: &flow_steps };
    let started = (run.origin > Nanos::ZERO).then(|| (STARTED, run.origin.0.to_string()));
    arrow::write(&recording.events, names, started.as_slice(), out)
}

/// vegeta's `latency` counts from its timestamp, which is our `service`. vegeta counts status 200 to 399 as success. So a successful response
/// without a status gets 200, and a failed one never gets a status in this range.
fn vegeta(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    let mut seq = 0;
    each_ended(recording, |event, sent, done| {
        let at = jiff::Timestamp::from_nanosecond(i128::from((sent + origin).0)).map_err(io::Error::other)?;
        let error = match (&event.error, event.outcome) {
            (Some(error), _) => error.text(),
            (None, Outcome::Ok) => "".into(),
            (None, outcome) => outcome.name().into(),
        };
        let code = match (event.outcome, event.status) {
            (Outcome::Ok, 0) => 200,
            (Outcome::Ok, status) | (_, status @ 400..) => status,
            _ => 0,
        };
        let row = serde_json::json!({
            "attack": "offered",
            "seq": seq,
            "code": code,
            "timestamp": at.to_string(),
            "latency": (done - sent).0,
            "bytes_out": event.bytes_out,
            "bytes_in": event.bytes_in,
            "error": error,
            "body": null,
            "method": "",
            "url": label(recording, event),
            "headers": null,
        });
        seq += 1;
        writeln!(out, "{row}")
    })
}

/// One interval for every second with completions. Java's tools show its maximum in ms.
fn hdr(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    const SECOND: u64 = 1_000_000_000;
    let mut first = None;
    recording.events.each(|event| {
        if event.sent.is_some() && first.is_none_or(|first| event.done.is_some_and(|done| done < first)) {
            first = event.done;
        }
    })?;
    // The start of the log is given since the Unix epoch; intervals count from there.
    let start = origin + Nanos(first.map_or(0, |done| done.0 / SECOND * SECOND));
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .with_base_time(SystemTime::UNIX_EPOCH + Duration::from_nanos(start.0))
        .with_start_time(SystemTime::UNIX_EPOCH + Duration::from_nanos(start.0))
        .with_max_value_divisor(1e6)
        .begin_log_with(out, &mut serializer)?;
    let times = [("response", Event::response as fn(&Event) -> _), ("service", Event::service)];
    let empty = || times.map(|_| Histogram::<u64>::new(3).expect("three digits are allowed"));
    let mut histograms = empty();
    let mut open = None;
    let mut close = |second: u64, histograms: &[Histogram<u64>; 2]| {
        let from = Duration::from_nanos((origin + Nanos(second * SECOND)).saturating_sub(start).0);
        times.iter().zip(histograms).try_for_each(|((name, _), histogram)| {
            log.write_histogram(histogram, from, Duration::from_secs(1), Tag::new(name)).map_err(io::Error::other)
        })
    };
    each_by_end(recording, |event, _, done| {
        let second = done.0 / SECOND;
        if let Some(before) = open.replace(second).filter(|before| *before != second) {
            close(before, &histograms)?;
            histograms = empty();
        }
        for ((name, time), histogram) in times.iter().zip(&mut histograms) {
            let Some(value) = time(event) else { continue };
            let negative = |_| {
                io::Error::other(format!(
                    "a histogram cannot contain a negative {name} time ({value}); check the timestamps with `offered verify`"
                ))
            };
            histogram.record(u64::try_from(value.0).map_err(negative)?).map_err(io::Error::other)?;
        }
        Ok(())
    })?;
    open.map_or(Ok(()), |last| close(last, &histograms))
}

fn gaps(recording: &Recording, out: &mut impl Write) -> io::Result<()> {
    let mut before = None;
    each_sent(recording, |_, sent| match before.replace(sent) {
        Some(before) => writeln!(out, "{:.6}", (sent - before).as_millis_f64()),
        None => Ok(()),
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod workload_tests;
