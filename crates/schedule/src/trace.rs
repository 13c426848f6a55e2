//! Traces: the recorded requests of a site with their times, for replay (the trace-driven part of the generator of
//! Schroeder, Wierman and Harchol-Balter 2006, section 4.1).
//!
//! A trace is a text in order of time, with one request or entry per line:
//!
//! ```text
//! offered.trace/1
//! # a comment
//! GET /shuttle/missions.html      the next request, numbered from 0; before its first use
//! 0 0 0                           at 0 s session 0 sends request 0
//! 12.25 1 0                       seconds (decimals allowed), session, request
//! ```
//! A fourth field is the work of the entry for the modelled server, with its unit: `12.25 1 0 35ms`. Either all entries have it or none.
//! Instants begin at the origin of the first entry and never decrease; sessions are numbered from 0 in order of their first
//! request. One file can be replayed in three modes: open (every entry alone), sessions, closed (only the sequence).

use crate::closed::Closed;
use crate::count::Count;
use offered_base::InvalidValue;
use offered_base::time::{Instant, Nanos};
use offered_base::{Purpose, Seed};
use offered_distributions::Distribution;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

/// The first line of a trace file.
pub const HEADER: &str = "offered.trace/1";

/// The entries of a trace, 14 bytes each, or 22 with their work.
#[derive(Debug, PartialEq)]
pub struct Trace {
    /// The file it was read from, as it was named.
    file: String,
    /// When each entry came.
    instants: Vec<Instant>,
    /// The request of each entry: an index into the requests of the trace.
    requests: Vec<u16>,
    /// The work of each entry; empty if the trace has none.
    work: Vec<Nanos>,
    /// The entries of session s are `order[begins[s]..begins[s + 1]]`.
    order: Vec<u32>,
    begins: Vec<u32>,
    /// Whether entries of one second have been put anywhere in it.
    spread: bool,
}

impl Trace {
    /// Reads `text`, the content of `file`: the trace, and its distinct requests as method and path.
    ///
    /// # Errors
    /// The first line that is wrong, as `file:line: what`; a trace without entries.
    pub fn parse(text: &str, file: &str) -> Result<(Self, Vec<(String, String)>), InvalidValue> {
        let mut reading = Reading::default();
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line.trim_end()) != Some(HEADER) {
            return Err(InvalidValue::new(format!("{file}:1: not a trace; its first line must be `{HEADER}`")));
        }
        for (i, line) in lines {
            reading.line(line.trim()).map_err(|why| InvalidValue::new(format!("{file}:{}: {why}", i + 1)))?;
        }
        if reading.instants.is_empty() {
            return Err(InvalidValue::new(format!("{file}: the trace has no entries")));
        }
        Ok(reading.finish(file))
    }

    /// The file it was read from, as it was named.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.instants.len()
    }

    /// Never: a trace has entries.
    pub fn is_empty(&self) -> bool {
        self.instants.is_empty()
    }

    /// The largest index of a request in the entries.
    pub fn max_request(&self) -> u16 {
        self.requests.iter().copied().max().unwrap_or(0)
    }

    /// Whether the entries have their work.
    pub fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// For each of `requests` requests, the empirical distribution of the work of its entries; `None` for a request without entries or work.
    pub fn distributions(&self, requests: usize) -> Vec<Option<Distribution>> {
        let mut work = vec![Vec::new(); requests];
        for (request, brought) in self.requests.iter().zip(&self.work) {
            work[usize::from(*request)].push((1.0, brought.as_secs_f64()));
        }
        // Times in whole nanoseconds are numbers that a distribution takes.
        work.into_iter().map(|values| Distribution::weighted(values).ok()).collect()
    }

    /// Whether every timestamp is a whole second and some second has several entries, so that their times within the second are unknown.
    pub fn has_whole_seconds(&self) -> bool {
        self.instants.iter().all(|at| at.0.is_multiple_of(SECOND)) && self.instants.windows(2).any(|at| at[0] == at[1])
    }

    /// Whether [`Trace::spread`] was applied. (A log with whole seconds has 20 requests at one instant if 20 arrived in that second. A
    /// replay would send them as a bunch that the users did not make.)
    pub fn is_spread(&self) -> bool {
        self.spread
    }

    /// For a trace in whole seconds: moves the entries of each second to uniform random instants in it. Their order stays.
    pub fn spread(&mut self, seed: Seed) {
        for entries in self.instants.chunk_by_mut(|one, next| one == next) {
            let second = entries[0];
            let mut chance = seed.at(Purpose::Arrivals, second.0 / SECOND, 0);
            for at in entries.iter_mut() {
                *at = second + Nanos(chance.below(SECOND));
            }
            entries.sort_unstable();
        }
        self.spread = true;
    }

    fn sessions(&self) -> usize {
        self.begins.len() - 1
    }

    /// The entries of a session, in order of time.
    fn of(&self, session: u64) -> &[u32] {
        let at = session as usize;
        &self.order[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// A trace while it is read.
#[derive(Default)]
struct Reading {
    known: Vec<(String, String)>,
    instants: Vec<Instant>,
    requests: Vec<u16>,
    work: Vec<Nanos>,
    session_of: Vec<u32>,
    sessions: u32,
}

impl Reading {
    fn line(&mut self, line: &str) -> Result<(), String> {
        match line.as_bytes().first() {
            None | Some(b'#') => Ok(()),
            Some(b'0'..=b'9') => self.entry(line),
            Some(_) => self.request(line),
        }
    }

    fn request(&mut self, line: &str) -> Result<(), String> {
        let expected = || format!("`{line}` is not a request; write a method and a path, such as GET /Home.aspx");
        let (method, path) = line.split_once(' ').ok_or_else(expected)?;
        let token = method.bytes().all(|b| b.is_ascii_uppercase());
        if !token || !path.starts_with('/') || path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(expected());
        }
        if self.known.len() == usize::from(u16::MAX) {
            return Err("more than 65535 distinct requests; write the trace with fewer".to_owned());
        }
        self.known.push((method.to_owned(), path.to_owned()));
        Ok(())
    }

    fn entry(&mut self, line: &str) -> Result<(), String> {
        let expected = || {
            format!(
                "`{line}` is not an entry; write seconds, session and request, such as 12.25 0 3, and the work if it is known: 12.25 0 3 35ms"
            )
        };
        let mut fields = line.split_ascii_whitespace();
        let (Some(time), Some(session), Some(request), work, None) =
            (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(expected());
        };
        let work = work.map(|work| work.parse::<Nanos>().map_err(|why| why.to_string())).transpose()?;
        if !self.instants.is_empty() && work.is_some() == self.work.is_empty() {
            return Err(match work {
                Some(_) => {
                    "this entry has a work field, but earlier entries have none; write it for all entries or for none"
                        .to_owned()
                }
                None => {
                    "this entry has no work field, but earlier entries have one; write it for all entries or for none"
                        .to_owned()
                }
            });
        }
        let instant = Instant::ZERO + format!("{time}s").parse().map_err(|_| expected())?;
        let (session, request): (u32, u16) =
            (session.parse().map_err(|_| expected())?, request.parse().map_err(|_| expected())?);
        if self.instants.last().is_some_and(|last| *last > instant) {
            return Err(format!("{time} s is before the previous entry; entries must be in order of time"));
        }
        if session > self.sessions {
            return Err(format!(
                "session {session} before session {}; sessions are numbered as they begin",
                self.sessions
            ));
        }
        if usize::from(request) >= self.known.len() {
            return Err(format!("request {request} has not been named yet; {} are known", self.known.len()));
        }
        if self.instants.len() == u32::MAX as usize {
            return Err("more than 4294967295 entries; cut the trace".to_owned());
        }
        self.sessions = self.sessions.max(session + 1);
        self.instants.push(instant);
        self.work.extend(work);
        self.requests.push(request);
        self.session_of.push(session);
        Ok(())
    }

    fn finish(self, file: &str) -> (Trace, Vec<(String, String)>) {
        let Self { known, instants, requests, work, session_of, sessions } = self;
        // A counting sort by session; entries of a session keep their order of time.
        let mut begins = vec![0u32; sessions as usize + 1];
        for session in &session_of {
            begins[*session as usize + 1] += 1;
        }
        for i in 1..begins.len() {
            begins[i] += begins[i - 1];
        }
        let mut next = begins.clone();
        let mut order = vec![0; session_of.len()];
        for (entry, session) in session_of.into_iter().enumerate() {
            let place = &mut next[session as usize];
            order[*place as usize] = entry as u32;
            *place += 1;
        }
        (Trace { file: file.to_owned(), instants, requests, work, order, begins, spread: false }, known)
    }
}

/// A trace and how it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    trace: Arc<Trace>,
    speed: f64,
    mode: ReplayMode,
    /// Only entries with an index below this are replayed.
    entries: usize,
    /// Only sessions with a number below this are replayed.
    sessions: usize,
}

/// The properties of a trace that a replay reproduces.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayMode {
    /// Every entry at its instant, independent of responses: an open system.
    Open,
    /// Every session at the instant of its first entry. Each further entry follows a think time after the completion of the previous one:
    /// a partly-open system.
    Sessions {
        /// The distribution of think times; `None`: the recorded time between the two entries.
        think: Option<Distribution>,
    },
    /// Only the sequence of requests: user u of N sends entries u, u + N, u + 2N, ... and leaves at the end of the trace.
    Closed(Closed),
}

impl Replay {
    /// A replay of `trace`, `speed` times faster than it was recorded.
    ///
    /// # Errors
    /// A speed that is not above zero; closed users with visits, a pace or flows, because the trace determines their requests.
    pub fn new(trace: Arc<Trace>, speed: f64, mode: ReplayMode) -> Result<Self, InvalidValue> {
        if let ReplayMode::Closed(closed) = &mode
            && (closed.visits().is_some() || closed.pace().is_some() || closed.flows().is_some())
        {
            return Err(InvalidValue::new(
                "the trace determines the requests of the users and when they leave; remove visits, pace and flows",
            ));
        }
        if speed > 0.0 && speed.is_finite() {
            let (entries, sessions) = (trace.len(), trace.sessions());
            return Ok(Self { trace, speed, mode, entries, sessions });
        }
        Err(InvalidValue::new(format!("must be a number above zero, not {speed}; 2.0 is twice as fast as recorded")))
    }

    /// Only the first entries or sessions, up to `count`.
    #[must_use]
    pub fn first(self, count: Count) -> Self {
        let most = |n: u64, all: usize| usize::try_from(n).map_or(all, |n| n.min(all));
        match (count, &self.mode) {
            (Count::Requests(n), _) | (Count::Sessions(n), ReplayMode::Open) => {
                Self { entries: most(n, self.entries), ..self }
            }
            (Count::Sessions(n), _) => Self { sessions: most(n, self.sessions), ..self },
        }
    }

    /// The time of the last entry.
    pub fn last(&self) -> Instant {
        let last = match self.some_sessions() {
            Some(entries) => entries.max().unwrap_or(0),
            None => self.entries - 1,
        };
        self.scaled_instant(self.trace.instants[last])
    }

    /// The entries of the sessions that are replayed; `None`: all sessions are.
    fn some_sessions(&self) -> Option<impl Iterator<Item = usize> + '_> {
        (self.sessions < self.trace.sessions())
            .then(|| (0..self.sessions as u64).flat_map(|session| self.trace.of(session)).map(|entry| *entry as usize))
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The speed relative to the recording, above zero.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// The properties of the trace that are reproduced.
    pub fn mode(&self) -> &ReplayMode {
        &self.mode
    }

    fn scaled(&self, recorded: Nanos) -> Nanos {
        if self.speed == 1.0 { recorded } else { Nanos((recorded.0 as f64 / self.speed).round() as u64) }
    }

    fn scaled_instant(&self, recorded: Instant) -> Instant {
        Instant::ZERO + self.scaled(Instant::ZERO.until(recorded))
    }

    /// The time of arrival number `session`; `None` after the last. (The users of a closed replay do not arrive.)
    #[inline]
    pub fn arrival(&self, session: u64) -> Option<Instant> {
        let entry = match self.mode {
            ReplayMode::Open => usize::try_from(session).ok()?,
            _ if session < self.sessions as u64 => self.trace.of(session)[0] as usize,
            _ => return None,
        };
        self.trace.instants[..self.entries].get(entry).map(|recorded| self.scaled_instant(*recorded))
    }

    /// The entry of step `step` of `session`.
    fn entry(&self, session: u64, step: u32) -> Option<usize> {
        match &self.mode {
            ReplayMode::Open => (step == 0).then_some(session as usize),
            ReplayMode::Sessions { .. } => self.trace.of(session).get(step as usize).map(|entry| *entry as usize),
            ReplayMode::Closed(closed) => {
                usize::try_from(u128::from(session) + u128::from(step) * u128::from(closed.users())).ok()
            }
        }
        .filter(|entry| *entry < self.entries)
    }

    /// The request that step `step` of `session` sends: an index into the workload's requests.
    #[inline]
    pub fn request(&self, session: u64, step: u32) -> u16 {
        self.entry(session, step).map_or(0, |entry| self.trace.requests[entry])
    }

    /// The work of step `step` of `session`; `None` if the trace has none.
    #[inline]
    pub fn work(&self, session: u64, step: u32) -> Option<Nanos> {
        self.trace.work.get(self.entry(session, step)?).copied()
    }

    /// For each of `requests` requests, the number of its entries.
    pub fn counts(&self, requests: usize) -> Vec<u64> {
        let mut counts = vec![0; requests];
        let mut count = |entry: usize| counts[usize::from(self.trace.requests[entry])] += 1;
        match self.some_sessions() {
            Some(entries) => entries.for_each(&mut count),
            None => (0..self.entries).for_each(&mut count),
        }
        counts
    }

    /// Whether the trace has a request for step `step` of `session`.
    pub fn has(&self, session: u64, step: u32) -> bool {
        self.entry(session, step).is_some()
    }

    /// The think time of `session` after step `step`; `None`: it leaves.
    pub fn think(&self, seed: Seed, session: u64, step: u32) -> Option<Nanos> {
        let next = self.entry(session, step + 1)?;
        match &self.mode {
            ReplayMode::Open => None,
            ReplayMode::Sessions { think: None } => {
                let now = self.entry(session, step)?;
                Some(self.scaled(self.trace.instants[now].until(self.trace.instants[next])))
            }
            ReplayMode::Sessions { think: Some(distribution) } => Some(distribution.think(seed, session, step + 1)),
            ReplayMode::Closed(closed) => Some(closed.think().think(seed, session, step + 1)),
        }
    }

    /// Number of entries before `end` of the replay; `None` for a closed one, whose rate depends on the server.
    pub fn entries_before(&self, end: Instant) -> Option<usize> {
        let is_before = |recorded: Instant| self.scaled_instant(recorded) < end;
        let before = || match self.some_sessions() {
            Some(entries) => entries.filter(|entry| is_before(self.trace.instants[*entry])).count(),
            None => self.trace.instants[..self.entries].partition_point(|recorded| is_before(*recorded)),
        };
        (!matches!(self.mode, ReplayMode::Closed(_))).then(before)
    }

    /// The largest number of entries in any second of the replay before `end`.
    pub fn peak(&self, end: Instant) -> u64 {
        let scaled =
            self.trace.instants.iter().map(|recorded| self.scaled_instant(*recorded)).take_while(|at| *at < end);
        let (mut peak, mut second, mut count) = (0, 0, 0);
        for at in scaled {
            let this = at.0 / 1_000_000_000;
            count = if this == second { count + 1 } else { 1 };
            second = this;
            peak = peak.max(count);
        }
        peak
    }
}
