//! The trace of a log: its exact requests in order of time, in the format of `offered_model::trace`, streamed.

use std::collections::{HashMap, VecDeque};
use std::io::Write;

use offered_model::Nanos;

use crate::clients::ByClient;
use crate::entry::Entry;
use crate::error::Error;
use crate::format::trimmed;
use crate::input::{Input, Progress};
use crate::labels::{self, Rules, sendable};
use crate::lines::Line;
use crate::options::Options;
use crate::part::WINDOW;
use crate::read::{client, each};
use crate::robots::Robots;
use crate::time::SECOND;

/// Distinct requests that a trace can hold: a workload numbers them with 16 bits.
const MOST_REQUESTS: usize = u16::MAX as usize;
/// Beyond so many of them the first of each label stands for those of its label.
const EXACT: usize = 60_000;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Entries.
    pub entries: u64,
    /// Sessions.
    pub sessions: u64,
    /// Distinct requests.
    pub requests: u64,
    /// Jobs left out because it is not known how much work they brought, or they brought none.
    pub without_work: u64,
    /// Requests left out for their method.
    pub other_methods: u64,
    /// Entries for which another request stands, since there are more distinct ones than a trace can hold.
    pub stand_ins: u64,
    /// Entries of clients beyond the most that are followed, each a session of its own.
    pub unfollowed: u64,
    /// Nanoseconds from the first entry to the last.
    pub span: u64,
}

/// A request on its way into the trace.
struct Waiting {
    time: i64,
    client: u64,
    request: u32,
    work: Option<u64>,
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    /// Whether entries say how much work they bring.
    says_work: bool,
    timeout: i64,
    most_clients: usize,
    /// Nearly in order of time, as in [`crate::part::Part`].
    window: VecDeque<Waiting>,
    known: HashMap<String, u32>,
    rules: &'a Rules,
    /// What stands for the requests of a label.
    stand_ins: HashMap<Vec<u8>, u32>,
    /// The latest request and the session of every client.
    clients: ByClient<(i64, u32)>,
    /// The instants of the first and the latest entry written.
    span: Option<(i64, i64)>,
    written: Written,
}

/// Writes the requests of `inputs` that pass the filters and have one of `methods` to `out`, sessions ending after `timeout`
/// seconds.
///
/// # Errors
/// Standard input (it was read already), a file that cannot be read, an `out` that cannot be written.
pub fn trace(
    inputs: &[Input],
    options: &Options,
    timeout: u64,
    methods: &[String],
    out: &mut dyn Write,
) -> Result<Written, Error> {
    if inputs.iter().any(Input::once) {
        return Err(Error::Twice("a trace"));
    }
    let jobs = inputs.iter().find(|input| input.format.says_work());
    if let Some(jobs) = jobs.filter(|_| !inputs.iter().all(|input| input.format.says_work())) {
        return Err(Error::Mixed(jobs.name.clone()));
    }
    let by_default = Rules::default();
    let mut writer = Writer {
        out,
        says_work: jobs.is_some(),
        timeout: timeout as i64 * SECOND,
        most_clients: options.most_clients,
        window: VecDeque::new(),
        known: HashMap::new(),
        rules: options.labels.as_ref().unwrap_or(&by_default),
        stand_ins: HashMap::new(),
        clients: ByClient::default(),
        span: None,
        written: Written::default(),
    };
    writeln!(writer.out, "{}", offered_model::trace::HEADER).map_err(failed)?;
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
                && !(filters.pages_only && filters.parts.has(entry.target));
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
        // Logs of a kind that has no method are of GETs.
        let method = if entry.method.is_empty() { b"GET" } else { entry.method };
        if !methods.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(method)) {
            self.written.other_methods += 1;
            return Ok(());
        }
        let work = entry.duration.filter(|run| self.says_work && *run > 0);
        if self.says_work && work.is_none() {
            self.written.without_work += 1;
            return Ok(());
        }
        let text = format!("{} {}", String::from_utf8_lossy(method).to_uppercase(), sendable(entry.target));
        let request = match self.known.get(&text) {
            Some(known) => *known,
            None => self.new_request(text, method, entry.target)?,
        };
        let at = self.window.partition_point(|earlier| earlier.time <= entry.time);
        self.window.insert(at, Waiting { time: entry.time, client, request, work });
        if self.window.len() > WINDOW
            && let Some(next) = self.window.pop_front()
        {
            self.entry(&next)?;
        }
        Ok(())
    }

    /// The number of a request that has none yet: the next, or that of what stands for it.
    fn new_request(&mut self, text: String, method: &[u8], target: &[u8]) -> Result<u32, Error> {
        let next = self.known.len();
        if next >= EXACT {
            let mut label = Vec::new();
            labels::label(self.rules, method, target, &mut label);
            // The first request of all stands for labels that came too late.
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

    fn entry(&mut self, waiting: &Waiting) -> Result<(), Error> {
        // What is still late stands with the latest.
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
        // Clients beyond the most are not followed: each of their requests is a session.
        if self.clients.len() < self.most_clients || self.clients.contains_key(&waiting.client) {
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
