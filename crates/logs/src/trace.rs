//! Writes the exact requests of a log as a trace (format: `offered_schedule::trace`), in order of time.

use std::collections::{HashMap, VecDeque};
use std::io::Write;

use offered_base::Nanos;

use crate::clients::ClientMap;
use crate::entry::Entry;
use crate::error::Error;
use crate::format::trimmed;
use crate::input::{Input, Progress};
use crate::labels::{self, LabelRules, sendable};
use crate::lines::Line;
use crate::options::Options;
use crate::part::WINDOW;
use crate::read::{client, each};
use crate::robots::Robots;
use crate::time::SECOND;

/// Maximum number of distinct requests in a trace (16-bit numbers).
const MOST_REQUESTS: usize = u16::MAX as usize;
/// Number of distinct requests above which requests are replaced by the first one with the same label.
const EXACT: usize = 60_000;

/// Summary of a written trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Number of entries.
    pub entries: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of distinct requests.
    pub requests: u64,
    /// Number of jobs excluded because their work is unknown or zero.
    pub without_work: u64,
    /// Number of requests excluded because of their method.
    pub other_methods: u64,
    /// Number of entries replaced by another request, because a trace cannot hold all distinct requests.
    pub stand_ins: u64,
    /// Number of entries of clients above the maximum; each is a separate session.
    pub unfollowed: u64,
    /// Time from the first to the last entry in nanoseconds.
    pub span: u64,
}

/// A request in the sort window.
struct PendingEntry {
    time: i64,
    client: u64,
    request: u32,
    work: Option<u64>,
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// Whether entries have their work.
    has_work: bool,
    timeout: i64,
    max_clients: usize,
    /// Sort window, as in [`crate::part::Part`].
    window: VecDeque<PendingEntry>,
    known: HashMap<String, u32>,
    rules: &'a LabelRules,
    /// Replacement request of each label.
    stand_ins: HashMap<Vec<u8>, u32>,
    /// Time of the latest request and session number of each client.
    clients: ClientMap<(i64, u32)>,
    /// Times of the first and the latest entry.
    span: Option<(i64, i64)>,
    written: TraceSummary,
}

/// Writes the requests of `inputs` that pass the filters and have one of `methods` to `out`, with a session timeout of
/// `timeout` seconds.
///
/// # Errors
/// An input is standard input (already consumed), a file cannot be read, or `out` cannot be written.
pub fn write_trace(
    inputs: &[Input],
    options: &Options,
    timeout: u64,
    methods: &[String],
    out: &mut dyn Write,
) -> Result<TraceSummary, Error> {
    if inputs.iter().any(Input::is_stdin) {
        return Err(Error::StandardInput("a trace"));
    }
    let jobs = inputs.iter().find(|input| input.format.has_work());
    if let Some(jobs) = jobs.filter(|_| !inputs.iter().all(|input| input.format.has_work())) {
        return Err(Error::MixedWork(jobs.name.clone()));
    }
    let by_default = LabelRules::default();
    let mut writer = Writer {
        out,
        has_work: jobs.is_some(),
        timeout: timeout as i64 * SECOND,
        max_clients: options.max_clients,
        window: VecDeque::new(),
        known: HashMap::new(),
        rules: options.labels.as_ref().unwrap_or(&by_default),
        stand_ins: HashMap::new(),
        clients: ClientMap::default(),
        span: None,
        written: TraceSummary::default(),
    };
    writeln!(writer.out, "{}", offered_schedule::trace::HEADER).map_err(failed)?;
    let mut robots = Robots::default();
    for input in inputs {
        let mut format = input.format.clone();
        let record = format.record().is_some();
        let mut failure = None;
        each(input, None, &Progress::default(), |line| {
            let Line::Text(text) = line else { return };
            if failure.is_some() {
                return;
            }
            let Ok(Some(entry)) = format.parse(if record { text } else { trimmed(text) }) else { return };
            let filters = &options.filters;
            let kept = filters.drops(&entry, &mut robots).is_none()
                && !(filters.pages_only && filters.assets.has(entry.target));
            if kept {
                failure = writer.add(&entry, client(&entry, options), methods).err();
            }
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
    }
    while let Some(next) = writer.window.pop_front() {
        writer.entry(&next)?;
    }
    writer.out.flush().map_err(failed)?;
    let mut written = writer.written;
    written.requests = writer.known.len() as u64;
    written.span = writer.span.map_or(0, |(first, last)| (last - first) as u64);
    Ok(written)
}

fn failed(why: std::io::Error) -> Error {
    Error::Trace(why.to_string())
}

impl Writer<'_> {
    fn add(&mut self, entry: &Entry<'_>, client: u64, methods: &[String]) -> Result<(), Error> {
        // Formats without a method contain GET requests.
        let method = if entry.method.is_empty() { b"GET" } else { entry.method };
        if !methods.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(method)) {
            self.written.other_methods += 1;
            return Ok(());
        }
        let work = entry.duration.filter(|run| self.has_work && *run > 0);
        if self.has_work && work.is_none() {
            self.written.without_work += 1;
            return Ok(());
        }
        let text = format!("{} {}", String::from_utf8_lossy(method).to_uppercase(), sendable(entry.target));
        let request = match self.known.get(&text) {
            Some(known) => *known,
            None => self.new_request(text, method, entry.target)?,
        };
        let at = self.window.partition_point(|earlier| earlier.time <= entry.time);
        self.window.insert(at, PendingEntry { time: entry.time, client, request, work });
        if self.window.len() > WINDOW
            && let Some(next) = self.window.pop_front()
        {
            self.entry(&next)?;
        }
        Ok(())
    }

    /// Number of a new request: the next free number, or the number of the request that replaces it.
    fn new_request(&mut self, text: String, method: &[u8], target: &[u8]) -> Result<u32, Error> {
        let next = self.known.len();
        if next >= EXACT {
            let mut label = Vec::new();
            labels::label(self.rules, method, target, &mut label);
            // Without a free number, the very first request is the replacement.
            let stand_in = self.stand_ins.get(&label).copied().or((next == MOST_REQUESTS).then_some(0));
            if let Some(stand_in) = stand_in {
                self.written.stand_ins += 1;
                return Ok(stand_in);
            }
            self.stand_ins.insert(label, next as u32);
        }
        writeln!(self.out, "{text}").map_err(failed)?;
        self.known.insert(text, next as u32);
        Ok(next as u32)
    }

    fn entry(&mut self, waiting: &PendingEntry) -> Result<(), Error> {
        // Entries that are still out of order get the latest time.
        let time = self.span.map_or(waiting.time, |(_, latest)| waiting.time.max(latest));
        let first = self.span.map_or(time, |(first, _)| first);
        self.span = Some((first, time));
        let session = match self.clients.get(&waiting.client) {
            Some((latest, session)) if time - latest <= self.timeout => *session,
            _ => {
                self.written.sessions += 1;
                self.written.sessions as u32 - 1
            }
        };
        // Clients above the maximum are not tracked: each request is a session.
        if self.clients.len() < self.max_clients || self.clients.contains_key(&waiting.client) {
            self.clients.insert(waiting.client, (time, session));
        } else {
            self.written.unfollowed += 1;
        }
        let since = (time - first) as u64;
        let (seconds, part) = (since / SECOND as u64, since % SECOND as u64);
        let decimals = if part == 0 { String::new() } else { format!(".{part:09}").trim_end_matches('0').to_owned() };
        self.written.entries += 1;
        let work = waiting.work.map(|work| format!(" {}", Nanos(work)));
        writeln!(self.out, "{seconds}{decimals} {session} {}{}", waiting.request, work.unwrap_or_default())
            .map_err(failed)
    }
}
