//! The agenda: the next scheduled request of every session, in order of time, for open, closed and partly-open systems.
//!
//! Sessions arrive. A session makes requests one after another with think times between them; after each completion it continues or
//! leaves. Arrivals add the first request of a session, completions add the next one after a think time. The simulator drives an
//! agenda with a virtual clock, the load generator with the real clock.
//!
//! The only state of a thinking session is its next request (24 bytes): think times, lengths and choices are
//! functions of (seed, session, step). Therefore every division of a run into shares schedules the same requests.

mod merged;
mod rule;

use self::merged::MergedAgenda;
use self::rule::{NextLaunch, SessionRule};
use crate::arrivals::Arrivals;
use crate::closed::{Closed, Start};
use crate::count::Count;
use crate::flow::{Decide, Once};
use crate::heap::{Entry, Heap};
use crate::launch::{Launch, Visit};
use crate::replay::{Replay, ReplayMode};
use crate::sessions::{Opening, Sessions};
use crate::thinking::Thinking;
use offered_base::Share;
use offered_base::random::{Purpose, Seed};
use offered_base::time::{Instant, Nanos};

/// The action of a session after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The session sends another request of its visit after a think time.
    Returns,
    /// The session has completed its visit, and begins another visit as the same visitor after a think time.
    Revisits,
    /// The session has completed its visit, and begins another visit as a new visitor after a think time.
    Renewed,
    /// The session leaves: that was its last request.
    Leaves,
    /// The visit is cut off: the next request would be after the end of the run, or after its user leaves.
    TooLate,
}

impl After {
    /// Whether the session has completed its visit.
    pub const fn ends_visit(self) -> bool {
        matches!(self, Self::Revisits | Self::Renewed | Self::Leaves)
    }

    /// Whether the same visitor makes another request.
    pub const fn is_same_visitor(self) -> bool {
        matches!(self, Self::Returns | Self::Revisits)
    }
}

/// The next requests of one share of a workload, in order of time; ties in order of session.
pub struct Agenda {
    seed: Seed,
    end: Instant,
    /// Visits in progress may continue until this instant; not before `end`.
    last: Instant,
    /// No request is due from this instant on.
    limit: Instant,
    share: Share,
    arrivals: Option<ShareArrivals>,
    /// The next arrival; [`NEVER`] after the last.
    arriving: Launch,
    /// The next requests of sessions that are present, by instant and session, with step, place and visit.
    returning: Heap<(u32, u16, Visit)>,
    /// The rule for sessions after a completion; `None`: they leave (open).
    sessions: Option<SessionRule>,
    /// The remaining part of a count that is reduced with each request; `None` without such a count.
    remaining: Option<Remaining>,
    /// Whether [`Agenda::track`] sees each request that is due: to enter a flow, or to count it.
    tracks_launches: bool,
    /// Number of arrivals before [`Agenda::from`].
    skipped: u64,
    /// The agendas of several scenarios; then the other fields are not used.
    merged: Option<Box<MergedAgenda>>,
}

/// The part of a count that has not been scheduled.
#[derive(Clone, Copy)]
enum Remaining {
    Launches(u64),
    /// Visits that have not begun.
    Visits(u64),
}

impl Remaining {
    fn after(self, launch: Launch) -> Self {
        match self {
            Self::Launches(left) => Self::Launches(left - 1),
            Self::Visits(left) => Self::Visits(left - u64::from(launch.visit.begins())),
        }
    }

    fn is_none(self) -> bool {
        matches!(self, Self::Launches(0) | Self::Visits(0))
    }
}

/// A placeholder for no request: later than all others.
const NEVER: Launch =
    Launch { intended: Instant::MAX, session: u64::MAX, step: u32::MAX, place: 0, visit: Visit::FIRST };

/// The arrivals of one share, numbered in the whole run.
struct ShareArrivals {
    source: Source,
    next: u64,
    share: Share,
}

/// Where arrivals come from.
enum Source {
    Process(Box<Arrivals>),
    /// Up to an instant.
    Trace(Box<Replay>, Instant),
}

impl Iterator for ShareArrivals {
    type Item = Launch;

    #[inline]
    fn next(&mut self) -> Option<Launch> {
        loop {
            let session = self.next;
            let intended = match &mut self.source {
                Source::Process(arrivals) => arrivals.next()?,
                Source::Trace(replay, end) => replay.arrival(session).filter(|at| at < end)?,
            };
            self.next += 1;
            if self.share.has(session) {
                return Some(Launch { intended, session, step: 0, place: 0, visit: Visit::FIRST });
            }
        }
    }
}

impl Agenda {
    /// The requests of `share` of a run of these sessions that are scheduled before `end`, at most `count`.
    pub fn new(sessions: &Sessions, seed: Seed, end: Instant, count: Option<Count>, share: Share) -> Self {
        let mut agenda = Self {
            seed,
            end,
            last: end,
            limit: end,
            share,
            arrivals: None,
            arriving: NEVER,
            returning: Heap::default(),
            sessions: None,
            remaining: None,
            tracks_launches: false,
            skipped: 0,
            merged: None,
        };
        match sessions {
            Sessions::Open(schedule) => {
                let most = count.map_or(u64::MAX, Count::number);
                agenda.arrive(Source::Process(Box::new(schedule.arrivals(seed, end).first(most))));
            }
            Sessions::PartlyOpen { schedule, length, think, opening } => {
                let most = match count {
                    Some(Count::Sessions(most)) => most,
                    Some(Count::Requests(n)) => {
                        agenda.remaining = Some(Remaining::Launches(share.number_of(n)));
                        u64::MAX
                    }
                    None => u64::MAX,
                };
                let thinking = match opening {
                    Opening::Empty => Thinking::none(seed),
                    Opening::Stationary => Thinking::new(schedule, length, think, seed),
                };
                agenda.returning =
                    share.of(thinking.number()).map(|session| thinking.first(length, think, session)).collect();
                let source = Source::Process(Box::new(schedule.arrivals(seed, end).first(most)));
                agenda.arrive_after(thinking.number(), source);
                agenda.sessions = Some(match length.flows() {
                    Some(flows) => SessionRule::Flowing {
                        think: think.clone(),
                        flows: flows.clone(),
                        visits: Some(1),
                        renews: false,
                    },
                    None => SessionRule::Drawn { think: think.clone(), length: length.clone(), thinking },
                });
            }
            Sessions::Closed(closed) => {
                agenda.returning = share.of(closed.all_users()).filter_map(|user| closed.first(seed, user)).collect();
                agenda.remaining = count.map(|count| match count {
                    Count::Requests(n) => Remaining::Launches(share.of_users(n, closed.all_users())),
                    Count::Sessions(n) => Remaining::Visits(share.of_users(n, closed.all_users())),
                });
                agenda.sessions = Some(SessionRule::of_users(closed));
            }
            Sessions::Replay(replay) => {
                let replay = &count.map_or_else(|| replay.clone(), |count| replay.clone().first(count));
                match replay.mode() {
                    ReplayMode::Closed(closed) => {
                        let users = share.of(closed.users()).take_while(|user| replay.has(*user, 0));
                        agenda.returning = users.filter_map(|user| closed.first(seed, user)).collect();
                    }
                    ReplayMode::Open | ReplayMode::Sessions { .. } => {
                        agenda.arrive(Source::Trace(Box::new(replay.clone()), end));
                    }
                }
                agenda.sessions = Some(SessionRule::Recorded(replay.clone()));
            }
            Sessions::Scenarios(scenarios) => {
                agenda.merged = Some(Box::new(MergedAgenda::new(scenarios, seed, end, share)));
            }
        }
        agenda.tracks_launches =
            agenda.remaining.is_some() || agenda.sessions.as_ref().is_some_and(|rule| rule.flows().is_some());
        if let Some(Remaining::Launches(0) | Remaining::Visits(0)) = agenda.remaining {
            agenda.exhaust();
        }
        agenda
    }

    /// Lets visits that began before the end, or before their user leaves, continue for up to `within` longer.
    #[must_use]
    pub fn finishing(mut self, within: Nanos) -> Self {
        // The end is zero if this share of the count has no requests.
        if self.end > Instant::ZERO {
            (self.last, self.limit) = (self.end + within, Instant::MAX);
        }
        self.merged = self.merged.map(|merged| Box::new(merged.finishing(within)));
        if let Some(SessionRule::Leaving(_, _, finish)) = &mut self.sessions {
            *finish = within;
        }
        let end = self.end.0;
        self.returning = self.returning.entries().iter().filter(|entry| entry.key < end).copied().collect();
        self
    }

    fn arrive(&mut self, source: Source) {
        self.arrive_after(0, source);
    }

    /// Adds the arrivals. The numbers of their sessions begin at `others`.
    fn arrive_after(&mut self, others: u64, source: Source) {
        self.arrivals = Some(ShareArrivals { source, next: others, share: self.share });
        self.await_arrival();
    }

    #[inline]
    fn await_arrival(&mut self) {
        self.arriving = self.arrivals.as_mut().and_then(Iterator::next).unwrap_or(NEVER);
    }

    /// The agenda of a worker that takes over at `from`: arrivals scheduled earlier are skipped, and users begin at
    /// `from` instead of at the start. `None` if the workload counts requests as they are sent, because the number sent
    /// before `from` is unknown.
    #[must_use]
    pub fn from(mut self, from: Instant) -> Option<Self> {
        if from == Instant::ZERO {
            return Some(self);
        }
        if self.remaining.is_some() {
            return None;
        }
        if let Some(merged) = self.merged.take() {
            return Some(Self { merged: Some(Box::new(merged.from(from)?)), ..self });
        }
        while self.arriving.intended < from {
            self.await_arrival();
            self.skipped += 1;
        }
        let mut users = std::mem::take(&mut self.returning);
        while let Some(Entry { key, serial, value }) = users.pop() {
            let (joins, leaves) = match &self.sessions {
                Some(SessionRule::Leaving(_, population, _)) => population.stay(serial),
                _ => (Instant::ZERO, Instant::MAX),
            };
            let begins = Instant(key) + joins.until(joins.max(from));
            if begins < leaves.min(self.end) {
                self.returning.push(begins.0, serial, value);
            }
        }
        Some(self)
    }

    /// Number of arrivals that [`Agenda::from`] skipped.
    pub fn skipped(&self) -> u64 {
        self.merged.as_ref().map_or(self.skipped, |merged| merged.skipped())
    }

    /// The time of the next request; `None`: no request is scheduled before the end, unless a completion adds one.
    #[inline]
    pub fn next_due(&self) -> Option<Instant> {
        if let Some(merged) = &self.merged {
            return merged.next_due();
        }
        let returning = self.returning.first().map_or(Instant::MAX, |top| Instant(top.key));
        let first = self.arriving.intended.min(returning);
        (first < self.limit).then_some(first)
    }

    /// Removes and returns the next request if it is scheduled at or before `now`.
    pub fn due(&mut self, now: Instant) -> Option<Launch> {
        self.due_before(now + Nanos(1))
    }

    /// Removes and returns the next request if it is scheduled before `until`.
    #[inline]
    pub fn due_before(&mut self, until: Instant) -> Option<Launch> {
        if let Some(merged) = &mut self.merged {
            return merged.due_before(until);
        }
        let launch = self.first_before(until.min(self.limit))?;
        if self.tracks_launches { Some(self.track(launch)) } else { Some(launch) }
    }

    /// Enters a flow if `launch` is the first of its session, and counts it.
    fn track(&mut self, mut launch: Launch) -> Launch {
        if launch.step == 0
            && let Some(flows) = self.sessions.as_ref().and_then(SessionRule::flows)
        {
            launch.place = flows.enter(self.seed, launch.session, 0);
        }
        self.remaining = self.remaining.map(|left| left.after(launch));
        if self.remaining.is_some_and(Remaining::is_none) {
            self.exhaust();
        }
        launch
    }

    /// Schedules nothing more, because the count is reached.
    fn exhaust(&mut self) {
        match &mut self.sessions {
            // Visits that have begun continue.
            Some(rule) if matches!(self.remaining, Some(Remaining::Visits(_))) => {
                rule.end_visits();
                let flows = rule.flows();
                let last = |mut entry: Entry<(u32, u16, Visit)>| {
                    let (step, place, visit) = entry.value;
                    if visit.begins() {
                        // Only a session that has begun makes the steps at its end.
                        let flows = flows.filter(|flows| step > 0 && flows.once(place) != Some(Once::Start))?;
                        entry.value = (step, flows.end()?, visit.continued());
                    }
                    Some(entry)
                };
                self.returning = self.returning.entries().iter().copied().filter_map(last).collect();
            }
            _ => (self.end, self.last, self.limit) = (Instant::ZERO, Instant::ZERO, Instant::ZERO),
        }
    }

    #[inline]
    fn first_before(&mut self, until: Instant) -> Option<Launch> {
        let arriving = self.arriving;
        if let Some(top) = self.returning.first()
            && (top.key, top.serial) < (arriving.intended.0, arriving.session)
        {
            if top.key >= until.0 {
                return None;
            }
            let Entry { key, serial, value: (step, place, visit) } = self.returning.pop()?;
            return Some(Launch { intended: Instant(key), session: serial, step, place, visit });
        }
        if arriving.intended >= until {
            return None;
        }
        self.await_arrival();
        Some(arriving)
    }

    /// Reports that `launch` completed, failed or was not sent at `done`. Schedules the next request of its session.
    #[inline]
    pub fn completed(&mut self, launch: Launch, done: Instant) -> After {
        self.decided(launch, done, &mut |_| None)
    }

    /// Like [`Agenda::completed`], but `decide` evaluates the conditions of the flow. ([`Agenda::completed`] draws them
    /// by their probabilities.)
    #[inline]
    pub fn decided(&mut self, launch: Launch, done: Instant, decide: Decide<'_>) -> After {
        if let Some(merged) = &mut self.merged {
            return merged.decided(launch, done, decide);
        }
        let Some(rule) = &mut self.sessions else { return After::Leaves };
        let next = rule.after(self.seed, launch, done, decide);
        self.come_back(launch, done, next)
    }

    /// Reports that the visit of `launch` ended early at `done`; a closed user begins another one after a think time.
    pub fn broken_off(&mut self, launch: Launch, done: Instant) -> After {
        if let Some(merged) = &mut self.merged {
            return merged.broken_off(launch, done);
        }
        let next = self.sessions.as_mut().and_then(|rule| rule.broken_off(self.seed, launch, done));
        self.come_back(launch, done, next)
    }

    /// Schedules `next` for the session of `launch`, unless it is after the end of the run.
    #[inline]
    fn come_back(&mut self, launch: Launch, done: Instant, next: Option<NextLaunch>) -> After {
        let Some(mut next) = next else { return After::Leaves };
        let end = if next.visit.begins() { self.end } else { self.last };
        if next.intended >= end {
            let cut = if next.visit.begins() { After::Leaves } else { After::TooLate };
            let Some(ending) = self.ending(launch, done, next) else { return cut };
            next = ending;
        }
        let NextLaunch { intended, place, visit, after } = next;
        self.returning.push(intended.0, launch.session, (launch.step + 1, place, visit));
        after
    }

    /// The next step of `once.end` instead of `next`, which is after the end of the run; `None`: the run ends without it.
    fn ending(&self, launch: Launch, done: Instant, next: NextLaunch) -> Option<NextLaunch> {
        let within = self.end.until(self.last);
        let flows = self.sessions.as_ref().filter(|_| within > Nanos::ZERO)?.flows()?;
        next.ending(flows, self.seed, launch, done, (self.end, within))
    }

    /// Number of sessions that are thinking.
    pub fn thinking(&self) -> usize {
        self.merged.as_ref().map_or(self.returning.len(), |merged| merged.thinking())
    }
}

impl Closed {
    /// The first request of `user`: after it joins, and then after a residual or a whole think time. `None`: it leaves
    /// before that.
    fn first(&self, seed: Seed, user: u64) -> Option<Entry<(u32, u16, Visit)>> {
        let ramp = || Instant((u128::from(self.ramp().0) * u128::from(user) / u128::from(self.users())) as u64);
        let (joins, leaves) = self.population().map_or_else(|| (ramp(), Instant::MAX), |all| all.stay(user));
        let mut stream = seed.at(Purpose::Start, user, 0);
        let wait = match (self.start(), self.pace()) {
            (_, None) if self.think().is_zero() => 0.0,
            (Start::MidThought, Some(pace)) => pace.every().as_secs_f64() * stream.uniform(),
            (Start::MidThought, None) => self.think().sample_residual(&mut stream),
            (Start::Thinking, _) => self.think().sample(&mut stream),
            (Start::AtOnce, _) => 0.0,
        };
        let intended = joins + Nanos::from_secs_f64(wait);
        (intended < leaves).then_some(Entry { key: intended.0, serial: user, value: (0, 0, Visit::FIRST) })
    }
}
