//! The replay of a trace.

use std::sync::Arc;

use offered_base::InvalidValue;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos};
use offered_distributions::Distribution;

use crate::arrivals::Schedule;
use crate::closed::Closed;
use crate::count::Count;
use crate::trace::{TokenEntry, Trace};

const SECOND: u64 = 1_000_000_000;

/// A trace and how it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    trace: Arc<Trace>,
    speed: f64,
    mode: ReplayMode,
    part: Part,
    /// Only entries with an index below this are replayed.
    entries: usize,
    /// Only sessions with a number below this are replayed.
    sessions: usize,
}

/// The changes that derived the trace of a replay from the recorded one; the trace already contains them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The window of recorded times.
    pub window: Option<(Nanos, Nanos)>,
    /// Whether the trace continues after the window.
    pub continues: bool,
    /// Arrivals instead of the recorded times.
    pub schedule: Option<Schedule>,
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
    /// Only the sequence of requests. User u of N sends entries u, u + N, u + 2N, ... and leaves at the end of the
    /// trace.
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
            return Ok(Self { trace, speed, mode, part: Part::default(), entries, sessions });
        }
        Err(InvalidValue::new(format!("must be a number above zero, not {speed}; 2.0 is twice as fast as recorded")))
    }

    /// Records that the trace was derived from the recorded one as described by `part`.
    #[must_use]
    pub fn made_by(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// How the trace was derived from the recorded one.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// The duration of the replay in whole seconds: that of the window, or until the last entry; `None` if it
    /// depends on think times other than the recorded ones.
    pub fn length(&self) -> Option<Nanos> {
        if matches!(self.mode, ReplayMode::Closed(_) | ReplayMode::Sessions { think: Some(_) }) {
            return None;
        }
        let window = self.part.window.filter(|_| self.part.continues && self.part.schedule.is_none());
        Some(match window {
            Some((from, to)) => self.scaled(Nanos(to.0 - from.0)),
            None => Nanos((self.last().0 / SECOND + 1) * SECOND),
        })
    }

    /// Limits the replay to the first `count` entries or sessions.
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
        self.entry(session, step).and_then(|entry| self.trace.requests.get(entry).copied()).unwrap_or(0)
    }

    /// The work of step `step` of `session`; `None` if the trace has none.
    #[inline]
    pub fn work(&self, session: u64, step: u32) -> Option<Nanos> {
        self.trace.work.get(self.entry(session, step)?).copied()
    }

    /// The numbers of tokens of step `step` of `session`; after the last step, those of the first step. `None` if the
    /// trace has no tokens.
    pub fn tokens(&self, session: u64, step: u32) -> Option<TokenEntry<'_>> {
        let entry = self.entry(session, step).or_else(|| self.entry(session, 0))?;
        self.trace.entry_tokens(entry)
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
        match self.some_sessions() {
            Some(entries) => {
                let mut entries: Vec<usize> = entries.collect();
                entries.sort_unstable();
                self.peak_of(entries.into_iter(), end)
            }
            None => self.peak_of(0..self.entries, end),
        }
    }

    /// The same of these entries, ascending.
    fn peak_of(&self, entries: impl Iterator<Item = usize>, end: Instant) -> u64 {
        let entries = entries.take_while(|entry| *entry < self.entries);
        let scaled = entries.map(|entry| self.scaled_instant(self.trace.instants[entry])).take_while(|at| *at < end);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_is_replayed() {
        let text = "offered.trace/1\nGET /a\n0 0 0\n1.1 1 0\n1.2 2 0\n1.3 0 0\n";
        let trace = Arc::new(Trace::parse(text, "four.trace").unwrap().0);
        let peak = |mode, count: Option<Count>, end| {
            let replay = Replay::new(trace.clone(), 1.0, mode).unwrap();
            let replay = if let Some(count) = count { replay.first(count) } else { replay };
            replay.peak(Instant::from_secs(end))
        };
        let sessions = || ReplayMode::Sessions { think: None };
        assert_eq!((peak(ReplayMode::Open, None, 9), peak(ReplayMode::Open, None, 1)), (3, 1));
        assert_eq!(peak(ReplayMode::Open, Some(Count::Requests(2)), 9), 1);
        assert_eq!(peak(sessions(), Some(Count::Sessions(1)), 9), 1);
        assert_eq!(peak(sessions(), Some(Count::Sessions(2)), 9), 2);
    }
}
