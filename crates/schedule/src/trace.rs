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
//!
//! Traces of language model services have numbers of tokens instead of requests ([`TokenTrace`]).

mod tokens;

pub use tokens::{BLOCK_TOKENS, TokenEntry};

use self::tokens::Tokens;
use crate::arrivals::Schedule;
use offered_base::InvalidValue;
use offered_base::time::{Instant, Nanos};
use offered_base::{Purpose, Seed};
use offered_distributions::Distribution;

const SECOND: u64 = 1_000_000_000;

/// The first line of a trace file.
pub const HEADER: &str = "offered.trace/1";

/// The entries of a trace, 14 bytes each, or 22 with their work; of tokens 28, and their blocks and texts.
#[derive(Debug, PartialEq)]
pub struct Trace {
    /// The name of the file from which it was read.
    file: String,
    /// When each entry came.
    pub(crate) instants: Vec<Instant>,
    /// The request of each entry: an index into the requests of the trace; empty if the trace has none.
    pub(crate) requests: Vec<u16>,
    /// The work of each entry; empty if the trace has none.
    pub(crate) work: Vec<Nanos>,
    /// The tokens of each entry, if it has any.
    tokens: Option<Tokens>,
    /// Whether the instants were recorded.
    has_times: bool,
    /// The entries of session s are `order[begins[s]..begins[s + 1]]`.
    order: Vec<u32>,
    begins: Vec<u32>,
    /// Whether the entries of each instant have been spread over the time until the next instant.
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

    /// The name of the file from which it was read.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.instants.len()
    }

    /// Always false: a trace has entries.
    pub fn is_empty(&self) -> bool {
        self.instants.is_empty()
    }

    /// The time of its last entry, in whole milliseconds.
    pub fn length(&self) -> Nanos {
        self.instants.last().map_or(Nanos::ZERO, |last| Nanos::from_millis(last.0 / 1_000_000))
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

    /// Whether its entries state the request that they send.
    pub fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Whether its entries have numbers of tokens.
    pub fn has_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether the texts of its prompts were recorded.
    pub fn has_texts(&self) -> bool {
        self.tokens.as_ref().is_some_and(Tokens::has_texts)
    }

    /// Whether its instants were recorded.
    pub fn has_times(&self) -> bool {
        self.has_times
    }

    /// Whether some session has several entries.
    pub fn has_sessions(&self) -> bool {
        self.sessions() < self.len()
    }

    /// Number of its sessions.
    pub fn sessions(&self) -> usize {
        self.begins.len() - 1
    }

    /// The tick of a coarse clock that gave several entries the same instant; within a tick only their order is known.
    /// `None` if there is no such clock. The tick is a second if all timestamps are whole seconds. A slower clock is
    /// detected if there are at least two entries for each instant. (Mooncake's traces of a real service have a tick of
    /// 3 s.)
    pub fn tick(&self) -> Option<Nanos> {
        let steps = || self.instants.windows(2).map(|pair| pair[0].until(pair[1])).filter(|step| *step > Nanos::ZERO);
        let distinct = steps().count() + 1;
        if self.is_spread() || !self.has_times || distinct == self.len() {
            return None;
        }
        if self.instants.iter().all(|at| at.0.is_multiple_of(SECOND)) {
            return Some(Nanos(SECOND));
        }
        steps().min().filter(|step| step.0 >= SECOND && self.len() >= 2 * distinct)
    }

    /// Whether [`Trace::spread`] was applied. (A log with whole seconds has 20 requests at one instant if 20 arrived in
    /// that second. Without spreading, a replay would send them as a bunch.)
    pub fn is_spread(&self) -> bool {
        self.spread
    }

    /// For a trace with a [`tick`](Self::tick): moves the entries of each instant to uniform random instants within the
    /// tick, and keeps their order.
    pub fn spread(&mut self, seed: Seed) {
        let Some(tick) = self.tick() else { return };
        for entries in self.instants.chunk_by_mut(|one, next| one == next) {
            let begin = entries[0];
            let mut chance = seed.at(Purpose::Arrivals, begin.0 / SECOND, 0);
            for at in entries.iter_mut() {
                *at = begin + Nanos(chance.below(tick.0));
            }
            entries.sort_unstable();
        }
        self.spread = true;
    }

    /// The tokens of an entry; `None` if the trace has none.
    pub(crate) fn entry_tokens(&self, entry: usize) -> Option<TokenEntry<'_>> {
        Some(self.tokens.as_ref()?.entry(entry))
    }

    /// The entries from `from` until before `to`; instants then count from `from`.
    ///
    /// # Errors
    /// There are no such entries.
    pub fn cut(&self, from: Instant, to: Instant) -> Result<Self, InvalidValue> {
        let inside = |at: &Instant| *at >= from && *at < to;
        let entries = (0u32..).zip(&self.instants).filter(|(_, at)| inside(at)).map(|(entry, _)| entry).collect();
        let cut = self.chosen(entries, from);
        if cut.is_empty() {
            let end = self.length();
            return Err(InvalidValue::new(format!("the trace has no entries in this window; it ends after {end}")));
        }
        Ok(cut)
    }

    /// These entries at the arrivals of `schedule`. With `is_by_session` only the first entry of each session gets
    /// an arrival, and the other entries keep their time difference from the first. The trace ends when the arrivals
    /// end.
    ///
    /// # Errors
    /// There are no arrivals.
    pub fn at(&self, schedule: &Schedule, seed: Seed, is_by_session: bool) -> Result<Self, InvalidValue> {
        let arrivals = schedule.arrivals(seed, Instant::MAX);
        let mut instants = vec![None; self.len()];
        if is_by_session {
            for (session, arrival) in (0..self.sessions() as u64).zip(arrivals) {
                let entries = self.of(session);
                let first = self.instants[entries[0] as usize];
                for entry in entries {
                    instants[*entry as usize] = Some(arrival + first.until(self.instants[*entry as usize]));
                }
            }
        } else {
            for (instant, arrival) in instants.iter_mut().zip(arrivals) {
                *instant = Some(arrival);
            }
        }
        let mut entries: Vec<u32> =
            (0..self.len() as u32).filter(|entry| instants[*entry as usize].is_some()).collect();
        entries.sort_by_key(|entry| instants[*entry as usize]);
        let mut moved = self.chosen(entries.clone(), Instant::ZERO);
        if moved.is_empty() {
            return Err(InvalidValue::new("the rate produces no arrivals"));
        }
        moved.instants = entries.iter().filter_map(|entry| instants[*entry as usize]).collect();
        Ok(moved)
    }

    /// These entries in order of their instants, which begin at `from`, with sessions numbered as they begin.
    fn chosen(&self, entries: Vec<u32>, from: Instant) -> Self {
        let mut session_of = vec![0u32; self.len()];
        for session in 0..self.sessions() as u64 {
            for entry in self.of(session) {
                session_of[*entry as usize] = session as u32;
            }
        }
        let mut numbers = vec![u32::MAX; self.sessions()];
        let mut sessions = 0;
        let mut number = |entry: &u32| {
            let number = &mut numbers[session_of[*entry as usize] as usize];
            if *number == u32::MAX {
                *number = sessions;
                sessions += 1;
            }
            *number
        };
        let session_of: Vec<u32> = entries.iter().map(&mut number).collect();
        let (begins, order) = by_session(sessions, session_of);
        let pick = |entry: &u32| *entry as usize;
        Self {
            file: self.file.clone(),
            instants: entries.iter().map(|e| Instant::ZERO + from.until(self.instants[pick(e)])).collect(),
            requests: entries.iter().filter_map(|e| self.requests.get(pick(e)).copied()).collect(),
            work: entries.iter().filter_map(|e| self.work.get(pick(e)).copied()).collect(),
            tokens: self.tokens.as_ref().map(|tokens| tokens.chosen(&entries)),
            has_times: self.has_times,
            order,
            begins,
            spread: self.spread,
        }
    }

    /// The entries of a session, in order of time.
    pub(crate) fn of(&self, session: u64) -> &[u32] {
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
                    "this entry has a work field, but earlier entries have none; write the field for all entries or for none"
                        .to_owned()
                }
                None => {
                    "this entry has no work field, but earlier entries have one; write the field for all entries or for none"
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
                "session {session} begins before session {}; number sessions in the order in which they begin",
                self.sessions
            ));
        }
        if usize::from(request) >= self.known.len() {
            return Err(format!(
                "request {request} is not defined before this entry; {} requests are defined",
                self.known.len()
            ));
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
        let (begins, order) = by_session(sessions, session_of);
        let file = file.to_owned();
        let trace =
            Trace { file, instants, requests, work, tokens: None, has_times: true, order, begins, spread: false };
        (trace, known)
    }
}

/// The entries by session: where each session begins, and their numbers. A counting sort; entries of a session keep their order of time.
fn by_session(sessions: u32, session_of: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
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
    (begins, order)
}

/// A trace of a language model service while it is read: instants, sessions and tokens, but no requests.
#[derive(Debug, Default)]
pub struct TokenTrace {
    instants: Vec<Instant>,
    session_of: Vec<u32>,
    sessions: u32,
    tokens: Tokens,
}

impl TokenTrace {
    /// Adds an entry. Sessions are numbered from 0 as they first appear.
    pub fn push(&mut self, at: Instant, session: u32, entry: TokenEntry<'_>) {
        self.instants.push(at);
        self.session_of.push(session);
        self.sessions = self.sessions.max(session + 1);
        self.tokens.push(entry);
    }

    /// The trace of `file`; it begins with its first instant. `has_times` is true if the instants were recorded.
    ///
    /// # Errors
    /// It has no entries.
    pub fn finish(self, file: &str, has_times: bool) -> Result<Trace, InvalidValue> {
        let Self { instants, session_of, sessions, tokens } = self;
        let Some(begin) = instants.iter().min().copied() else {
            return Err(InvalidValue::new(format!("{file}: the trace has no entries")));
        };
        let mut entries: Vec<u32> = (0..instants.len() as u32).collect();
        entries.sort_by_key(|entry| instants[*entry as usize]);
        let (begins, order) = by_session(sessions, session_of);
        let (file, requests, work) = (file.to_owned(), Vec::new(), Vec::new());
        let read =
            Trace { file, instants, requests, work, tokens: Some(tokens), has_times, order, begins, spread: false };
        Ok(read.chosen(entries, begin))
    }
}
