//! The trace: the exact requests of a site and when they came, to be replayed (the trace-driven side of the generator of
//! Schroeder, Wierman and Harchol-Balter 2006, section 4.1).
//!
//! A text, streamed in order of time, one thing a line:
//!
//! ```text
//! offered.trace/1
//! # a comment
//! GET /shuttle/missions.html      the next request, numbered from 0; before its first use
//! 0 0 0                           at 0 s session 0 asks for request 0
//! 12.25 1 0                       seconds (decimals allowed), session, request
//! ```
//! A fourth field says how much work an entry brings to the modelled server, with its unit: `12.25 1 0 35ms`. Either all have it or none.
//! Instants count from the first entry's origin and never decrease; sessions are numbered from 0 in order of their first
//! request. One file serves all three ways to replay: open (every entry alone), sessions, closed (the sequence only).

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
    /// What it asked for: an index into the requests that came with the trace.
    requests: Vec<u16>,
    /// How much work it brings; empty where the trace does not say.
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

    /// The largest index of a request that it asks for.
    pub fn most(&self) -> u16 {
        self.requests.iter().copied().max().unwrap_or(0)
    }

    /// Whether it says how much work each entry brings.
    pub fn says_work(&self) -> bool {
        !self.work.is_empty()
    }

    /// The distribution of the work of what is asked for by each of so many requests, where the trace says it: each entry as likely. (Of a request
    /// that nobody asks for: none.)
    pub fn distributions(&self, requests: usize) -> Vec<Option<Distribution>> {
        let mut work = vec![Vec::new(); requests];
        for (request, brought) in self.requests.iter().zip(&self.work) {
            work[usize::from(*request)].push((1.0, brought.as_secs_f64()));
        }
        // Times in whole nanoseconds are numbers that a distribution takes.
        work.into_iter().map(|values| Distribution::weighted(values).ok()).collect()
    }

    /// Whether every stamp is a whole second and some second has several entries: where in it they came is not known.
    pub fn has_whole_seconds(&self) -> bool {
        self.instants.iter().all(|at| at.0.is_multiple_of(SECOND)) && self.instants.windows(2).any(|at| at[0] == at[1])
    }

    /// Whether its stamps were whole seconds, and its entries have been put anywhere in them. (A log of whole seconds has 20
    /// requests at one instant where 20 came in one second: replayed so, they are a bunch that no user made.)
    pub fn is_spread(&self) -> bool {
        self.spread
    }

    /// Of a trace in whole seconds: puts the entries of each second anywhere in it, evenly by the seed. They keep their order.
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

/// A trace under construction.
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
        let expected = || format!("`{line}` is no request; write a method and a path, such as GET /Home.aspx");
        let (method, path) = line.split_once(' ').ok_or_else(expected)?;
        let token = method.bytes().all(|b| b.is_ascii_uppercase());
        if !token || !path.starts_with('/') || path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(expected());
        }
        if self.known.len() == usize::from(u16::MAX) {
            return Err("more than 65535 distinct requests; leave some out when the trace is written".to_owned());
        }
        self.known.push((method.to_owned(), path.to_owned()));
        Ok(())
    }

    fn entry(&mut self, line: &str) -> Result<(), String> {
        let expected = || {
            format!(
                "`{line}` is no entry; write seconds, session and request, such as 12.25 0 3, and its work where that is known: 12.25 0 3 35ms"
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
                Some(_) => "this entry says its work, and those above do not; either all do or none".to_owned(),
                None => "those above say their work, and this entry does not; either all do or none".to_owned(),
            });
        }
        let instant = Instant::ZERO + format!("{time}s").parse().map_err(|_| expected())?;
        let (session, request): (u32, u16) =
            (session.parse().map_err(|_| expected())?, request.parse().map_err(|_| expected())?);
        if self.instants.last().is_some_and(|last| *last > instant) {
            return Err(format!("{time} s is before the entry above; entries stand in order of time"));
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
    way: Way,
    /// Only the entries below this are asked for.
    entries: usize,
    /// And only the sessions below this arrive.
    sessions: usize,
}

/// What of a trace a replay keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Every entry at its instant, whatever became of the others: an open system.
    Open,
    /// Every session at the instant of its first entry; its next follows when the one before has completed and a think time
    /// has passed: a partly-open system.
    Sessions {
        /// The distribution of think times; `None`: the recorded time between the two entries.
        think: Option<Distribution>,
    },
    /// The sequence of requests only: user u of N asks for entries u, u + N, u + 2N, ... and leaves at the end of the trace.
    Closed(Closed),
}

impl Replay {
    /// `trace`, `speed` times faster than it was recorded, with what `way` keeps of it.
    ///
    /// # Errors
    /// A speed that is not above zero; users with visits or flows of their own, where the trace says what they ask for.
    pub fn new(trace: Arc<Trace>, speed: f64, way: Way) -> Result<Self, InvalidValue> {
        if let Way::Closed(closed) = &way
            && (closed.visits().is_some() || closed.pace().is_some() || closed.flows().is_some())
        {
            return Err(InvalidValue::new(
                "the trace says what its users ask for, and when they leave: no visits, no pace, no flows",
            ));
        }
        if speed > 0.0 && speed.is_finite() {
            let (entries, sessions) = (trace.len(), trace.sessions());
            return Ok(Self { trace, speed, way, entries, sessions });
        }
        Err(InvalidValue::new(format!("must be a number above zero, not {speed}; 2.0 is twice as fast as recorded")))
    }

    /// The part of it that a count leaves: its first entries, or its first sessions.
    #[must_use]
    pub fn first(self, count: Count) -> Self {
        let most = |n: u64, all: usize| usize::try_from(n).map_or(all, |n| n.min(all));
        match (count, &self.way) {
            (Count::Requests(n), _) | (Count::Sessions(n), Way::Open) => {
                Self { entries: most(n, self.entries), ..self }
            }
            (Count::Sessions(n), _) => Self { sessions: most(n, self.sessions), ..self },
        }
    }

    /// When the last of the entries is replayed that it asks for.
    pub fn last(&self) -> Instant {
        let last = match self.some_sessions() {
            Some(entries) => entries.max().unwrap_or(0),
            None => self.entries - 1,
        };
        self.scaled_instant(self.trace.instants[last])
    }

    /// The entries of the sessions that arrive, where that is not all of them.
    fn some_sessions(&self) -> Option<impl Iterator<Item = usize> + '_> {
        (self.sessions < self.trace.sessions())
            .then(|| (0..self.sessions as u64).flat_map(|session| self.trace.of(session)).map(|entry| *entry as usize))
    }

    /// What came when.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How many times faster than it was recorded, above zero.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// What of the trace is kept.
    pub fn way(&self) -> &Way {
        &self.way
    }

    fn scaled(&self, recorded: Nanos) -> Nanos {
        if self.speed == 1.0 { recorded } else { Nanos((recorded.0 as f64 / self.speed).round() as u64) }
    }

    fn scaled_instant(&self, recorded: Instant) -> Instant {
        Instant::ZERO + self.scaled(Instant::ZERO.until(recorded))
    }

    /// When arrival number `session` comes; `None` after the last. (The users of a closed replay do not arrive.)
    #[inline]
    pub fn arrival(&self, session: u64) -> Option<Instant> {
        let entry = match self.way {
            Way::Open => usize::try_from(session).ok()?,
            _ if session < self.sessions as u64 => self.trace.of(session)[0] as usize,
            _ => return None,
        };
        self.trace.instants[..self.entries].get(entry).map(|recorded| self.scaled_instant(*recorded))
    }

    /// The entry that step `step` of `session` stands for.
    fn entry(&self, session: u64, step: u32) -> Option<usize> {
        match &self.way {
            Way::Open => (step == 0).then_some(session as usize),
            Way::Sessions { .. } => self.trace.of(session).get(step as usize).map(|entry| *entry as usize),
            Way::Closed(closed) => {
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

    /// The work of step `step` of `session`, where the trace says it.
    #[inline]
    pub fn work(&self, session: u64, step: u32) -> Option<Nanos> {
        self.trace.work.get(self.entry(session, step)?).copied()
    }

    /// How many of the entries ask for each of so many requests.
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

    /// How long `session` thinks after step `step`; `None`: it leaves.
    pub fn think(&self, seed: Seed, session: u64, step: u32) -> Option<Nanos> {
        let next = self.entry(session, step + 1)?;
        match &self.way {
            Way::Open => None,
            Way::Sessions { think: None } => {
                let now = self.entry(session, step)?;
                Some(self.scaled(self.trace.instants[now].until(self.trace.instants[next])))
            }
            Way::Sessions { think: Some(distribution) } => Some(distribution.think(seed, session, step + 1)),
            Way::Closed(closed) => Some(closed.think().think(seed, session, step + 1)),
        }
    }

    /// How many entries were recorded before `end` of the replay; `None` for a closed one, whose rate is the server's.
    pub fn entries_before(&self, end: Instant) -> Option<usize> {
        let is_before = |recorded: Instant| self.scaled_instant(recorded) < end;
        let before = || match self.some_sessions() {
            Some(entries) => entries.filter(|entry| is_before(self.trace.instants[*entry])).count(),
            None => self.trace.instants[..self.entries].partition_point(|recorded| is_before(*recorded)),
        };
        (!matches!(self.way, Way::Closed(_))).then(before)
    }

    /// The most entries in any second of the replay, before `end`.
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
