//! The common part of JMeter's CSV and XML logs: threads, outcomes, and two properties that can only be determined from
//! the whole file.
//!
//! # Start or end?
//! `sampleresult.timestamp.start` decides whether a timestamp is the start or the end of its sample; the file does not contain this setting.
//! A thread sends one request at a time, so its samples cannot overlap. The reader compares the numbers of overlaps of
//! both meanings. It chooses end if that at least halves the number of overlaps, and otherwise start, JMeter's default.
//!
//! # Sub-results
//! A redirect or an embedded resource may appear as a row `label-0` next to its parent `label`, with times inside the parent's. It belongs to
//! the parent's request and is not a request itself. A row counts as sub-result only if such a parent is its
//! neighbour in the same thread, so a request that is really named `page-1` stays a request.

use std::collections::HashMap;
use std::io;

use offered_base::{Instant, Nanos};
use offered_events::Events;
use offered_events::note::RowKind;
use offered_events::{Event, Note, Outcome};

use super::TimestampMeaning;
use super::intake::Intake;
use crate::error::Error;

/// Maps every thread to a session: its group in the upper half, its number within the group in the lower half.
///
/// `Thread Group 1-17` is thread 17 of `Thread Group 1`; sessions in ascending order are the threads in order of their
/// numbers, group by group.
#[derive(Default)]
pub(super) struct Threads {
    /// The remembered threads; limited, because there may be one per row.
    groups: HashMap<Box<[u8]>, u64>,
}

impl Threads {
    #[inline]
    pub(super) fn session(&mut self, name: &[u8]) -> u64 {
        let dash = memchr::memrchr(b'-', name);
        let numbered = dash.and_then(|dash| Some((&name[..dash], super::number::whole(&name[dash + 1..])?)));
        let (group, number) = numbered.unwrap_or((name, 0));
        let group = match self.groups.get(group) {
            Some(&known) => known,
            None => {
                let next = self.groups.len() as u64;
                self.groups.insert(group.into(), next);
                next
            }
        };
        group << 32 | number & u64::from(u32::MAX)
    }
}

/// Converts JMeter's response code and success flag; the flag wins, because assertions set it.
pub(super) fn outcome(success: bool, code: &[u8]) -> (Outcome, u16) {
    let status = super::number::whole(code).and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
    let names = |exception: &str| memchr::memmem::find(code, exception.as_bytes()).is_some();
    let outcome = match () {
        () if success => Outcome::Ok,
        () if status > 0 => Outcome::HttpError,
        () if names("Timeout") || names("TimedOut") => Outcome::Timeout,
        () if names("HostConnectException") || names("java.net.ConnectException") => Outcome::Refused,
        () if names("UnknownHost") => Outcome::Dns,
        () if names("SocketException") || names("NoHttpResponse") => Outcome::Reset,
        () => Outcome::Malformed,
    };
    (outcome, status)
}

/// Whether this response message is that of a Transaction Controller, which sums up samples that have their own rows.
pub(super) fn is_controller(message: &[u8]) -> bool {
    message.starts_with(b"Number of samples in transaction")
}

/// Decides about timestamps and sub-results when all rows are read, with timestamps read as starts.
pub(super) fn settle(intake: &mut Intake, asked: Option<TimestampMeaning>, controllers: u64) -> Result<(), Error> {
    if controllers > 0 {
        intake.note(Note::Excluded { rows: controllers, row_kind: RowKind::Controllers });
        if !intake.has_launches() {
            let why = "contains only Transaction Controllers, not requests; clear `Generate parent sample` in the plan";
            return Err(Error::content(intake.name(), why));
        }
    }
    let parents = parents(intake.labels());
    let all = intake.all()?;
    let (pairs, start, end) =
        overlaps(&all, &parents, intake.recording.resolution).map_err(|why| intake.unkept(&why))?;
    let stamps = asked.unwrap_or(if end * 2 < start { TimestampMeaning::End } else { TimestampMeaning::Start });
    let why = match asked {
        Some(_) => "asked for",
        None if end * 2 < start || start * 2 < end => "chosen",
        None => "JMeter's default; the file does not show it",
    };
    let evidence = format!(
        "{stamps} of the sample, {why}: of {pairs} pairs of consecutive samples of one thread, {start} overlap if stamps \
         are starts, {end} if they are ends"
    );
    intake.recording.stamps = Some(evidence);
    if stamps == TimestampMeaning::End {
        intake.revise(|event| {
            shift_to_end(event);
            true
        })?;
    }
    if parents.is_empty() {
        return Ok(());
    }
    let inside = sub_results(&intake.all()?, &parents).map_err(|why| intake.unkept(&why))?;
    let dropped = inside.count();
    if dropped > 0 {
        let mut row = 0;
        intake.revise(|_| {
            row += 1;
            !inside.has(row - 1)
        })?;
        intake.note(Note::Excluded { rows: dropped, row_kind: RowKind::SubResults });
    }
    Ok(())
}

/// The elapsed time of a sample; never negative, because JMeter records it directly.
fn elapsed(event: &Event) -> Nanos {
    event.service().unwrap_or_default().positive()
}

/// Shifts all times by the elapsed time: the timestamp was the end.
fn shift_to_end(event: &mut Event) {
    let (start, elapsed) = (event.intended, elapsed(event));
    let earlier = |at: Instant| at.earlier(elapsed);
    event.intended = earlier(start);
    event.sent = Some(earlier(start));
    event.done = Some(start);
    event.first_byte = event.first_byte.map(earlier);
}

/// For every label that looks like a sub-result: the label of its parent.
fn parents(labels: &[String]) -> HashMap<u16, u16> {
    let numbers: HashMap<&str, u16> = labels.iter().zip(0..).map(|(name, number)| (name.as_str(), number)).collect();
    let parent = |name: &str| {
        let (stem, number) = name.rsplit_once('-')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| numbers.get(stem).copied())?
    };
    let mut parents: HashMap<u16, u16> =
        labels.iter().zip(0..).filter_map(|(name, number)| Some((number, parent(name)?))).collect();
    // `a-0-1` is inside `a-0`, which is inside `a`: point at the outermost.
    for label in parents.keys().copied().collect::<Vec<_>>() {
        let mut root = parents[&label];
        while let Some(&above) = parents.get(&root) {
            root = above;
        }
        parents.insert(label, root);
    }
    parents
}

/// Maximum number of threads with compared samples: more than any JMeter has, and a few megabytes.
const FOLLOWED: usize = 100_000;

/// Pairs of consecutive samples of a thread: their number, and the numbers of overlaps if timestamps are starts or
/// ends.
///
/// A thread logs its samples in order. Pairs that go backwards (an appended second run) are ignored. Times are rounded, so an overlap by one
/// tick does not count. If there are more threads than [`FOLLOWED`], only the first ones are
/// compared.
fn overlaps(events: &Events, parents: &HashMap<u16, u16>, tick: Nanos) -> io::Result<(u64, u64, u64)> {
    let mut last: HashMap<u64, (Instant, Nanos)> = HashMap::new();
    let (mut pairs, mut start, mut end) = (0, 0, 0);
    events.each(|event| {
        if !parents.is_empty() && parents.contains_key(&event.label) {
            return;
        }
        let (stamp, elapsed) = (event.sent.unwrap_or_default(), elapsed(event));
        if last.len() >= FOLLOWED && !last.contains_key(&event.session) {
            return;
        }
        let Some((before, took)) = last.insert(event.session, (stamp, elapsed)) else { return };
        if stamp >= before {
            pairs += 1;
            start += u64::from(stamp + tick < before + took);
            end += u64::from(before.until(stamp) + tick < elapsed);
        }
    })?;
    Ok((pairs, start, end))
}

/// A set of rows, one bit each: a thousand million rows take 125 MB.
#[derive(Default)]
struct Marked(Vec<u64>);

impl Marked {
    fn mark(&mut self, row: usize) {
        if self.0.len() <= row / 64 {
            self.0.resize(row / 64 + 1, 0);
        }
        self.0[row / 64] |= 1 << (row % 64);
    }

    fn has(&self, row: usize) -> bool {
        self.0.get(row / 64).is_some_and(|bits| bits >> (row % 64) & 1 > 0)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

/// The fields of a row that show whether it lies inside another one.
#[derive(Clone, Copy)]
struct Span {
    label: u16,
    sent: Option<Instant>,
    done: Option<Instant>,
}

/// The rows that lie inside a neighbouring row of their parent's label in the same thread.
fn sub_results(events: &Events, parents: &HashMap<u16, u16>) -> io::Result<Marked> {
    // The neighbours in the same thread that are not sub-results: the last before the row, and the first after it.
    let mut inside = Marked::default();
    let within = |child: Span, parent: Span| {
        parents[&child.label] == parent.label && child.sent >= parent.sent && child.done <= parent.done
    };
    let mut before: HashMap<u64, Span> = HashMap::new();
    let mut waiting: HashMap<u64, Vec<(usize, Span)>> = HashMap::new();
    let mut row = 0;
    events.each(|event| {
        let span = Span { label: event.label, sent: event.sent, done: event.done };
        if parents.contains_key(&event.label) {
            match before.get(&event.session) {
                Some(parent) if within(span, *parent) => inside.mark(row),
                _ => waiting.entry(event.session).or_default().push((row, span)),
            }
        } else {
            for (row, child) in waiting.remove(&event.session).unwrap_or_default() {
                if within(child, span) {
                    inside.mark(row);
                }
            }
            before.insert(event.session, span);
        }
        row += 1;
    })?;
    Ok(inside)
}
