//! The agenda: the one time-ordered list of next launches behind open, closed and partly-open load.
//!
//! Sessions arrive; a session launches requests one after another, thinking in between; after each completion it goes on or
//! leaves. Arrivals fill the agenda from outside, completions refill it after a think time. Driven by a virtual clock it is
//! the simulator's, driven by the real clock the load generator's.
//!
//! Nothing about a session is stored while it thinks but its next launch (24 bytes): think times, lengths and choices are
//! functions of (seed, session, step). So any division of a run among workers gives the same launches.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::flow::Flows;
use crate::law::Law;
use crate::random::{Purpose, Seed};
use crate::share::Share;
use crate::time::Nanos;
use crate::trace::{Replay, Way};
use crate::workload::{Closed, Length, Sessions, Start, Workload};

/// One request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Launch {
    /// When.
    pub intended: Nanos,
    /// By which session: the user of a closed system, else the arrival's number in the whole run.
    pub session: u64,
    /// Which request of that session, from 0.
    pub step: u32,
    /// Where in its flow it stands; 0 in a workload without flows.
    pub place: u16,
}

/// The next launches of one share of a workload, in order of time; ties in order of session.
pub struct Agenda {
    seed: Seed,
    end: Nanos,
    share: Share,
    arrivals: Option<Numbered>,
    /// The first of the arrivals still to come.
    arriving: Option<Launch>,
    returning: BinaryHeap<Returning>,
    /// What sessions do after a completion; `None`: they leave (open).
    sessions: Option<Turn>,
}

/// The launch of a session that comes back. The heap puts its largest on top, so the order is turned round.
///
/// A session has one launch at a time, so time and session decide. As one number of 128 bits they are compared without a
/// branch, and in a heap of thousands every branch would be a coin toss.
struct Returning(Launch);

impl Returning {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.0.intended.0) << 64 | u128::from(self.0.session)
    }
}

impl Ord for Returning {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Returning {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.key() <= self.key()
    }
}

impl PartialEq for Returning {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Returning {}

/// What a session does between its requests.
enum Turn {
    /// It draws how long it thinks, and whether it stays (`None`: always).
    Drawn { think: Law, length: Option<Length> },
    /// It walks through a flow; when it has left, a closed user begins another visit.
    Flowing { think: Law, flows: Arc<Flows>, again: bool },
    /// It does what a trace recorded.
    Recorded(Replay),
}

impl Turn {
    /// How long the session of `launch` thinks after it, and the place of its next request; `None`: it leaves.
    #[inline]
    fn after(&self, seed: Seed, launch: Launch) -> Option<(Nanos, u16)> {
        let Launch { session, step, place, .. } = launch;
        let think = match self {
            Self::Drawn { length: Some(length), .. } if !length.goes_on(seed, session, step) => return None,
            Self::Drawn { think, .. } => think.think(seed, session, step + 1),
            Self::Recorded(replay) => replay.think(seed, session, step)?,
            Self::Flowing { think, flows, again } => {
                let on = flows.next(seed, session, step, place);
                let next = on.or_else(|| again.then(|| flows.enter(seed, session, step + 1)))?;
                return Some((flows.think(think, seed, session, step + 1, place), next));
            }
        };
        Some((think, 0))
    }
}

/// The arrivals of one share, with their numbers in the whole run.
struct Numbered {
    source: Source,
    next: u64,
    share: Share,
}

/// Where arrivals come from.
enum Source {
    Process(Arrivals),
    Trace(Replay),
}

impl Iterator for Numbered {
    type Item = Launch;

    #[inline]
    fn next(&mut self) -> Option<Launch> {
        loop {
            let session = self.next;
            let intended = match &mut self.source {
                Source::Process(arrivals) => arrivals.next()?,
                Source::Trace(replay) => replay.arrival(session)?,
            };
            self.next += 1;
            if self.share.has(session) {
                return Some(Launch { intended, session, step: 0, place: 0 });
            }
        }
    }
}

impl Agenda {
    /// The launches of `share` of `workload`.
    pub fn new(workload: &Workload, share: Share) -> Self {
        let (seed, end) = (workload.seed, workload.duration);
        let mut agenda =
            Self { seed, end, share, arrivals: None, arriving: None, returning: BinaryHeap::new(), sessions: None };
        match &workload.sessions {
            Sessions::Open(schedule) => agenda.arrive(Source::Process(schedule.arrivals(seed, end))),
            Sessions::PartlyOpen { schedule, length, think } => {
                agenda.arrive(Source::Process(schedule.arrivals(seed, end)));
                agenda.sessions = Some(match length {
                    Length::Flows(flows) => Turn::Flowing { think: think.clone(), flows: flows.clone(), again: false },
                    length => Turn::Drawn { think: think.clone(), length: Some(length.clone()) },
                });
            }
            Sessions::Closed(closed) => {
                agenda.returning = share.of(closed.users).map(|user| closed.first(seed, user)).collect();
                let think = closed.think.clone();
                agenda.sessions = Some(match &closed.flows {
                    Some(flows) => Turn::Flowing { think, flows: flows.clone(), again: true },
                    None => Turn::Drawn { think, length: None },
                });
            }
            Sessions::Replay(replay) => {
                match &replay.way {
                    Way::Closed(closed) => {
                        let users = share.of(closed.users).take_while(|user| replay.has(*user, 0));
                        agenda.returning = users.map(|user| closed.first(seed, user)).collect();
                    }
                    Way::Open | Way::Sessions { .. } => agenda.arrive(Source::Trace(replay.clone())),
                }
                agenda.sessions = Some(Turn::Recorded(replay.clone()));
            }
        }
        agenda
    }

    fn arrive(&mut self, source: Source) {
        self.arrivals = Some(Numbered { source, next: 0, share: self.share });
        self.arriving = self.arrivals.as_mut().and_then(Iterator::next);
    }

    /// When the next launch is due; `None` when nothing is, until a completion brings a session back.
    #[inline]
    pub fn next_due(&self) -> Option<Nanos> {
        let returning = self.returning.peek().map(|launch| launch.0.intended);
        let first = match (self.arriving, returning) {
            (Some(a), Some(b)) => a.intended.min(b),
            (a, b) => a.map(|launch| launch.intended).or(b)?,
        };
        (first < self.end).then_some(first)
    }

    /// Takes the next launch if it is due by `now`.
    #[inline]
    pub fn due(&mut self, now: Nanos) -> Option<Launch> {
        let mut launch = self.first_due(now)?;
        if launch.step == 0
            && let Some(Turn::Flowing { flows, .. }) = &self.sessions
        {
            launch.place = flows.enter(self.seed, launch.session, 0);
        }
        Some(launch)
    }

    #[inline]
    fn first_due(&mut self, now: Nanos) -> Option<Launch> {
        let due = |launch: &Launch| launch.intended <= now && launch.intended < self.end;
        let returning = self.returning.peek().map(|top| top.0).filter(due);
        if let Some(launch) = self.arriving.filter(due)
            && returning.is_none_or(|other| launch < other)
        {
            self.arriving = self.arrivals.as_mut().and_then(Iterator::next);
            return Some(launch);
        }
        returning?;
        self.returning.pop().map(|top| top.0)
    }

    /// Tells that `launch` was answered (or given up, or not sent) at `done`; its session thinks and returns (true), or it
    /// leaves for good.
    #[inline]
    pub fn completed(&mut self, launch: Launch, done: Nanos) -> bool {
        let Some(turn) = &self.sessions else { return false };
        let Some((think, place)) = turn.after(self.seed, launch) else { return false };
        let intended = done + think;
        let returns = intended < self.end;
        if returns {
            self.returning.push(Returning(Launch { intended, step: launch.step + 1, place, ..launch }));
        }
        returns
    }

    /// How many sessions are thinking.
    pub fn thinking(&self) -> usize {
        self.returning.len()
    }
}

impl Law {
    /// The think time before step `step` of `session`.
    #[inline]
    pub(crate) fn think(&self, seed: Seed, session: u64, step: u32) -> Nanos {
        if self.is_zero() {
            return Nanos::ZERO;
        }
        Nanos::from_secs_f64(self.draw(seed, Purpose::Think, session, step))
    }
}

impl Closed {
    /// The first launch of `user`: after its place in the ramp, and what is left of a think time under way (or a whole one).
    fn first(&self, seed: Seed, user: u64) -> Returning {
        let ramp = Nanos((u128::from(self.ramp.0) * u128::from(user) / u128::from(self.users)) as u64);
        let launch = |intended| Returning(Launch { intended, session: user, step: 0, place: 0 });
        if self.think.is_zero() {
            return launch(ramp);
        }
        let mut stream = seed.at(Purpose::Start, user, 0);
        let wait = match self.start {
            Start::MidThought => self.think.sample_residual(&mut stream),
            Start::Thinking => self.think.sample(&mut stream),
            Start::AtOnce => 0.0,
        };
        launch(ramp + Nanos::from_secs_f64(wait))
    }
}

impl Length {
    /// Whether `session` makes another request after step `step`.
    #[inline]
    fn goes_on(&self, seed: Seed, session: u64, step: u32) -> bool {
        match self {
            Self::Geometric { stay } => seed.at(Purpose::Length, session, step).uniform() < *stay,
            Self::Fixed(requests) => step + 1 < *requests,
            Self::Flows(_) => unreachable!("sessions with flows walk through them"),
            Self::Empirical(lengths) => {
                let drawn = seed.at(Purpose::Length, session, 0).below(lengths.len() as u64);
                step + 1 < lengths[drawn as usize]
            }
        }
    }
}

#[cfg(test)]
mod tests;
