//! Several runs in one file, separated at clock jumps and at long silences.
//!
//! A silence may also be a stall within one run, whose parts must not be judged separately. The end of the silence
//! distinguishes the two. If responses to earlier requests arrive only after the silence, it was a stall. If users
//! arrive in the same order as at the start of the file, a new run started. If neither is visible, the length of the
//! silence determines the result. The verdict always states the assumption and its reason.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use offered_base::time::span;
use offered_events::{Event, Recording};
use offered_stats::values::Values;

use crate::scope::{RunRange, in_order};
use crate::verdict::WarningKind;

/// Minimum number of requests of a run that starts at a clock jump; around a silence both runs together need twice as
/// many.
const MIN_REQUESTS: u64 = 50;
/// A silence is at least this long (ns) and at least this multiple of the 99th percentile of the gaps. Among n
/// exponential gaps the longest is about ln(n) means; 30 times their 99th percentile is 138 means, which only a stopped
/// stream reaches.
const SILENCE: (u64, u64) = (10_000_000_000, 30);
/// Without other evidence a silence of at least this length separates two runs: every tool has timed out by then.
const LONG_SILENCE: u64 = 60_000_000_000;
/// Users are recognised by the first 3 of them, if there are at least 10.
const RECOGNISED_USERS: (usize, usize) = (3, 10);
/// Number of requests after a silence that are searched for users.
const SEARCHED_REQUESTS: u64 = 200;
/// A clock jump that separates two runs is at least this long (ns), and half the duration recorded so far.
const MIN_JUMP: u64 = 1_000_000_000;
/// More parts than this are a pattern of the arrivals, not appended runs.
const MAX_RUNS: usize = 20;

/// The runs of a recording, and the warnings about their separation.
#[derive(Debug)]
pub(crate) struct Split {
    /// The runs, in the order of the file; empty if no request was sent.
    pub(crate) runs: Vec<RunRange>,
    pub(crate) warnings: Vec<WarningKind>,
}

/// Separates the runs of a recording. If scheduled times are known, there is only one run, and a silence is a stall of
/// the generator.
pub(crate) fn split(recording: &Recording) -> io::Result<Split> {
    if recording.intent_known {
        return Ok(Split { runs: RunRange::whole(recording).into_iter().collect(), warnings: Vec::new() });
    }
    let (mut runs, mut evidence) = (Vec::new(), Evidence::default());
    let parts = split_at_clock_jumps(recording)?;
    if parts.len() > 1 {
        evidence.restarts.push(format!("the clock jumps back {} times", parts.len() - 1));
    }
    for rows in parts {
        runs.extend(split_at_silences(Rows { recording, rows }, &mut evidence)?);
    }
    let warnings = evidence.warnings(runs.len());
    Ok(Split { runs, warnings })
}

/// The evidence for starts of runs and for stalls.
#[derive(Default)]
struct Evidence {
    restarts: Vec<String>,
    stalls: Vec<String>,
}

impl Evidence {
    fn warnings(&self, runs: usize) -> Vec<WarningKind> {
        let restarted = (runs > 1).then(|| WarningKind::SeveralRuns { runs, evidence: first_three(&self.restarts) });
        let stalled = !self.stalls.is_empty();
        let stalled = stalled.then(|| WarningKind::RunPaused { evidence: first_three(&self.stalls) });
        restarted.into_iter().chain(stalled).collect()
    }
}

/// The first three gaps between runs as text, and the number of the others.
fn first_three(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", all[..all.len().min(3)].join("; "))
}

/// Some rows of a recording.
struct Rows<'a> {
    recording: &'a Recording,
    rows: Range<u64>,
}

impl Rows<'_> {
    /// Passes every sent request to `see`, with its sent time in nanoseconds.
    fn sent(&self, mut see: impl FnMut(u64, &Event)) -> io::Result<()> {
        let mut row = 0;
        self.recording.events.each_response(|event| {
            if let Some(sent) = event.sent.filter(|_| self.rows.contains(&row)) {
                see(sent.0, event);
            }
            row += 1;
        })
    }
}

/// A part of a recording so far.
struct Part {
    start: u64,
    rows: u64,
    first: u64,
    last_sent: u64,
    last_done: u64,
    session: Option<u64>,
    /// Whether all its requests belong to one session.
    single_session: bool,
}

impl Part {
    fn new(start: u64) -> Self {
        Self { start, rows: 0, first: u64::MAX, last_sent: 0, last_done: 0, session: None, single_session: true }
    }
}

/// The parts of a recording. At the start of each part both the sent time and the completion time jump back far, which
/// does not happen within a single run in any writing order.
fn split_at_clock_jumps(recording: &Recording) -> io::Result<Vec<Range<u64>>> {
    let whole = || Ok(vec![Range { start: 0, end: recording.events.launches() }]);
    // Our own parts are written by worker, and their clock cannot jump. Several files are read one after another.
    if recording.on_run_clock || !recording.nodes.is_empty() {
        return whole();
    }
    let (mut parts, mut part, mut row) = (Vec::new(), Part::new(0), 0);
    recording.events.each_response(|event| {
        if let Some(sent) = event.sent {
            let end = event.done.unwrap_or(sent);
            let jump = (part.last_sent.saturating_sub(part.first) / 2).max(MIN_JUMP);
            let jumps_back = |from: u64, to: u64| to.checked_sub(from).is_some_and(|back| back > jump);
            let jumped =
                part.first != u64::MAX && jumps_back(sent.0, part.last_sent) && jumps_back(end.0, part.last_done);
            // More parts than this are not runs and need not be stored.
            if jumped && parts.len() <= MAX_RUNS {
                parts.push(std::mem::replace(&mut part, Part::new(row)));
            }
            part.first = part.first.min(sent.0);
            (part.last_sent, part.last_done) = (part.last_sent.max(sent.0), part.last_done.max(end.0));
        }
        part.single_session &= part.session.is_none_or(|session| session == event.session);
        part.session = Some(event.session);
        part.rows += 1;
        row += 1;
    })?;
    parts.push(part);
    let sorted_by_session = recording.sessions_known && parts.iter().all(|part| part.single_session);
    if parts.len() > MAX_RUNS || parts.iter().any(|part| part.rows < MIN_REQUESTS) || sorted_by_session {
        return whole();
    }
    Ok(parts.iter().map(|part| part.start..part.start + part.rows).collect())
}

/// A silence long enough to separate two runs, or the start of the first run.
struct Silence {
    /// The sent times of the last request before the silence and of the first request after it.
    before: u64,
    after: u64,
    /// Number of requests before the silence.
    requests: u64,
    /// The sent time of the last request that is searched for users.
    until: u64,
}

/// Finds silences among requests in the order of their sent times.
struct SilenceFinder {
    requests: u64,
    gaps: Values,
    /// The first entry is the start of the first run.
    silences: Vec<Silence>,
    last: u64,
}

impl SilenceFinder {
    fn add(&mut self, sent: u64) {
        let gap = sent - if self.requests == 0 { sent } else { self.last };
        if self.requests > 0 {
            self.gaps.add(gap);
        }
        if self.requests == 0 || gap >= SILENCE.0 {
            self.silences.push(Silence { before: self.last, after: sent, requests: self.requests, until: sent });
        }
        for silence in
            self.silences.iter_mut().rev().take_while(|silence| self.requests < silence.requests + SEARCHED_REQUESTS)
        {
            silence.until = sent;
        }
        self.requests += 1;
        self.last = sent;
    }
}

/// The runs in these rows. One of them may have few requests: a trial whose data remained in the file.
fn split_at_silences(rows: Rows, evidence: &mut Evidence) -> io::Result<Vec<RunRange>> {
    let source = |give: &mut dyn FnMut(u64)| rows.sent(|sent, _| give(sent));
    let fresh = || SilenceFinder { requests: 0, gaps: Values::default(), silences: Vec::new(), last: 0 };
    let SilenceFinder { requests, gaps, silences, last } = in_order(&source, fresh, SilenceFinder::add)?;
    let Some(from) = silences.first().map(|start_of_run| start_of_run.after) else { return Ok(Vec::new()) };
    let one = vec![RunRange { rows: rows.rows.clone(), from, to: last }];
    if requests < 2 * MIN_REQUESTS {
        return Ok(one);
    }
    let silence = SILENCE.0.max(SILENCE.1 * gaps.sorted().quantile(0.99).unwrap_or(0));
    let parts = |part: &Silence| part.requests == 0 || part.after - part.before >= silence;
    let starts: Vec<Silence> = silences.into_iter().filter(parts).collect();
    if starts.len() < 2 || starts.len() > MAX_RUNS {
        return Ok(one);
    }
    let found = RunStart::all(&rows, &starts)?;
    let (mut runs, mut start): (Vec<RunRange>, usize) = (Vec::new(), 0);
    for at in 1..starts.len() {
        let Silence { before, after, .. } = starts[at];
        let place = format!("a pause of {} after {}", span((after - before) as f64), span((before - from) as f64));
        let first = found[start].users(before);
        match found[at].restart(&first, after - before) {
            Ok(reason) => {
                evidence.restarts.push(format!("{place}, {reason}"));
                runs.push(RunRange { rows: rows.rows.clone(), from: starts[start].after, to: before });
                start = at;
            }
            Err(reason) => evidence.stalls.push(format!("{place}, {reason}")),
        }
    }
    runs.push(RunRange { rows: rows.rows, from: starts[start].after, to: last });
    Ok(runs)
}

fn has_many_users(rows: &Rows) -> io::Result<bool> {
    let mut users = HashSet::new();
    rows.sent(|_, event| {
        if users.len() < RECOGNISED_USERS.1 {
            users.insert(event.session);
        }
    })?;
    Ok(users.len() >= RECOGNISED_USERS.1)
}

/// What distinguishes the start of a run from the end of a stall.
#[derive(Default)]
struct RunStart {
    /// Number of requests that were sent before the silence and whose responses arrived after it.
    waiting: u64,
    /// The first requests and their users; `None` if users cannot be distinguished.
    first: Option<Vec<(u64, u64)>>,
}

impl RunStart {
    /// The starts of all `beginnings` in `rows`.
    fn all(rows: &Rows, starts: &[Silence]) -> io::Result<Vec<Self>> {
        let users_known = rows.recording.sessions_known && has_many_users(rows)?;
        let begin = |_: &Silence| Self { waiting: 0, first: users_known.then(Vec::new) };
        let mut all: Vec<Self> = starts.iter().map(begin).collect();
        rows.sent(|sent, event| {
            for (start_of_run, silence) in all.iter_mut().zip(starts) {
                let spans = sent <= silence.before && event.done.is_some_and(|done| done.0 >= silence.after);
                start_of_run.waiting += u64::from(spans);
                if let Some(first) =
                    start_of_run.first.as_mut().filter(|_| (silence.after..=silence.until).contains(&sent))
                {
                    first.push((sent, event.session));
                }
            }
        })?;
        all.iter_mut().flat_map(|start_of_run| &mut start_of_run.first).for_each(|first| first.sort_unstable());
        Ok(all)
    }

    /// The users of the first requests up to `last`, each once, in the order of their first requests.
    fn users(&self, last: u64) -> Vec<u64> {
        let mut users = Vec::new();
        for (_, user) in self.first.iter().flatten().take_while(|(sent, _)| *sent <= last) {
            if users.len() < RECOGNISED_USERS.0 && !users.contains(user) {
                users.push(*user);
            }
        }
        users
    }

    /// The evidence that a new run starts after a silence of this length; `first` are the users of the other run.
    /// `Err` contains the evidence against it.
    fn restart(&self, first: &[u64], silence: u64) -> Result<String, String> {
        let waiting = self.waiting;
        if waiting > 0 {
            return Err(format!("and {waiting} earlier requests completed only after it"));
        }
        if first.len() == RECOGNISED_USERS.0 && first == self.users(u64::MAX) {
            return Ok("then the same users start in the same order".into());
        }
        if silence >= LONG_SILENCE {
            return Ok("longer than tools wait for a response".into());
        }
        Err("and no evidence that another run starts there".into())
    }
}
