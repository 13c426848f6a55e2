//! The agenda: the one time-ordered list of next launches behind open, closed and partly-open load.
//!
//! Sessions arrive; a session launches requests one after another, thinking in between; after each completion it goes on or
//! leaves. Arrivals fill the agenda from outside, completions refill it after a think time. Driven by a virtual clock it is
//! the simulator's, driven by the real clock the load generator's.
//!
//! Nothing about a session is stored while it thinks but its next launch (24 bytes): think times, lengths and choices are
//! functions of (seed, session, step). So any division of a run among workers gives the same launches.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::closed::{Closed, Pace, Start};
use crate::count::Count;
use crate::flow::Flows;
use crate::heap::{Entry, Heap};
use crate::launch::{Launch, Visit};
use crate::sessions::{Length, Opening, Sessions};
use crate::thinking::Thinking;
use crate::trace::{Replay, Way};
use offered_base::Share;
use offered_base::random::{Purpose, Seed};
use offered_base::time::{Instant, Nanos};
use offered_distributions::Distribution;

/// What a session does after a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It thinks, and launches again.
    Returns,
    /// It has walked to the end of its flow; it thinks, and begins again as somebody else.
    Renewed,
    /// It has made its last request.
    Leaves,
    /// It would launch again, but not before the run ends.
    TooLate,
}

/// The next launches of one share of a workload, in order of time; ties in order of session.
pub struct Agenda {
    seed: Seed,
    end: Instant,
    share: Share,
    arrivals: Option<Numbered>,
    /// The first of the arrivals still to come; [`NEVER`] when there is none.
    arriving: Launch,
    /// The next launches of sessions that come back, by instant and session, with their steps, places and visits.
    returning: Heap<(u32, u16, Visit)>,
    /// What sessions do after a completion; `None`: they leave (open).
    sessions: Option<Turn>,
    /// What may still be launched, where launches are counted as they are made.
    left: Option<Left>,
    /// Whether a launch that is due is looked at: by flows, or by what counts it.
    looks: bool,
    /// How many arrivals were passed over.
    skipped: u64,
}

/// How much may still be launched.
#[derive(Clone, Copy)]
enum Left {
    Launches(u64),
    /// Visits that may still begin.
    Visits(u64),
}

impl Left {
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

/// No launch: later than all others.
const NEVER: Launch =
    Launch { intended: Instant::MAX, session: u64::MAX, step: u32::MAX, place: 0, visit: Visit::FIRST };

/// What a session does between its requests.
enum Turn {
    /// It draws how long it thinks, and whether it stays.
    Drawn { think: Distribution, length: Length, thinking: Thinking },
    /// It draws how long it thinks, and stays for so many requests (`None`: always).
    User { think: Distribution, visits: Option<u32> },
    /// It walks through a flow, so many times (`None`: again and again), and is then somebody else or not.
    Flowing { think: Distribution, flows: Arc<Flows>, visits: Option<u32>, renews: bool },
    /// It does what a trace recorded.
    Recorded(Replay),
    /// It does what another does, and keeps a pace.
    Paced(Box<Self>, Paced),
}

/// The next launch of a session.
struct Next {
    intended: Instant,
    place: u16,
    visit: Visit,
    /// How it comes back.
    after: After,
}

/// The pace of users, and what must be remembered for it.
struct Paced {
    pace: Pace,
    /// When each of those began its visit who has gone on in it.
    begun: HashMap<u64, Instant>,
}

impl Paced {
    /// When the user of `launch` goes on who would at `ready`; `next` is the visit of what comes then.
    fn held(&mut self, launch: Launch, ready: Instant, next: Visit) -> Instant {
        let Launch { intended, session, .. } = launch;
        match self.pace {
            Pace::Requests(every) => ready.max(intended + every),
            Pace::Visits(every) if next.begins() => ready.max(self.begun.remove(&session).unwrap_or(intended) + every),
            Pace::Visits(_) => {
                self.begun.entry(session).or_insert(intended);
                ready
            }
        }
    }
}

impl Turn {
    /// What the session of `launch`, which was over at `done`, launches next; `None`: it leaves.
    #[inline]
    fn after(&mut self, seed: Seed, launch: Launch, done: Instant) -> Option<Next> {
        let Launch { session, step, place, visit, .. } = launch;
        let mut after = After::Returns;
        let (think, place, visit) = match self {
            Self::Drawn { length, thinking, .. } if !thinking.goes_on(length, session, step) => return None,
            Self::User { visits: Some(visits), .. } if step + 1 >= *visits => return None,
            // Each request is a visit of its own.
            Self::User { think, .. } => (think.think(seed, session, step + 1), 0, Visit::FIRST),
            Self::Drawn { think, .. } => (think.think(seed, session, step + 1), 0, visit.on()),
            Self::Recorded(replay) => (replay.think(seed, session, step)?, 0, visit.on()),
            Self::Flowing { think, flows, visits, renews } => {
                let (next, visit) = match flows.next(seed, session, step, place) {
                    Some(next) => (next, visit.on()),
                    None => {
                        after = if *renews { After::Renewed } else { After::Returns };
                        (flows.enter(seed, session, step + 1), visit.next(*visits)?)
                    }
                };
                (flows.think(think, seed, session, step + 1, place), next, visit)
            }
            Self::Paced(turn, paced) => {
                let next = turn.after(seed, launch, done)?;
                return Some(Next { intended: paced.held(launch, next.intended, next.visit), ..next });
            }
        };
        Some(Next { intended: done + think, place, visit, after })
    }

    /// The same where the visit of `launch` is over before its time.
    fn broken_off(&mut self, seed: Seed, launch: Launch, done: Instant) -> Option<Next> {
        let Launch { session, step, place, visit, .. } = launch;
        match self {
            Self::User { .. } => self.after(seed, launch, done),
            Self::Flowing { think, flows, visits, .. } => {
                let visit = visit.next(*visits)?;
                let intended = done + flows.think(think, seed, session, step + 1, place);
                Some(Next { intended, place: flows.enter(seed, session, step + 1), visit, after: After::Returns })
            }
            Self::Paced(turn, paced) => {
                let next = turn.broken_off(seed, launch, done)?;
                Some(Next { intended: paced.held(launch, next.intended, next.visit), ..next })
            }
            Self::Drawn { .. } | Self::Recorded(_) => None,
        }
    }

    /// Where sessions walk.
    fn flows(&self) -> Option<&Flows> {
        match self {
            Self::Flowing { flows, .. } => Some(flows),
            Self::Paced(turn, _) => turn.flows(),
            Self::Drawn { .. } | Self::User { .. } | Self::Recorded(_) => None,
        }
    }

    /// No visit begins any more.
    fn end_visits(&mut self) {
        match self {
            Self::User { visits, .. } | Self::Flowing { visits, .. } => *visits = Some(0),
            Self::Paced(turn, _) => turn.end_visits(),
            Self::Drawn { .. } | Self::Recorded(_) => {}
        }
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
    Process(Box<Arrivals>),
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
                return Some(Launch { intended, session, step: 0, place: 0, visit: Visit::FIRST });
            }
        }
    }
}

impl Agenda {
    /// The launches of `share` of a run of these sessions that are scheduled before `end`, at most `count`.
    pub fn new(sessions: &Sessions, seed: Seed, end: Instant, count: Option<Count>, share: Share) -> Self {
        let mut agenda = Self {
            seed,
            end,
            share,
            arrivals: None,
            arriving: NEVER,
            returning: Heap::default(),
            sessions: None,
            left: None,
            looks: false,
            skipped: 0,
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
                        agenda.left = Some(Left::Launches(share.number_of(n)));
                        u64::MAX
                    }
                    None => u64::MAX,
                };
                let thinking = match opening {
                    Opening::Empty => Thinking::nobody(seed),
                    Opening::Stationary => Thinking::new(schedule, length, think, seed),
                };
                agenda.returning =
                    share.of(thinking.number()).map(|session| thinking.first(length, think, session)).collect();
                let source = Source::Process(Box::new(schedule.arrivals(seed, end).first(most)));
                agenda.arrive_after(thinking.number(), source);
                agenda.sessions = Some(match length.flows() {
                    Some(flows) => {
                        Turn::Flowing { think: think.clone(), flows: flows.clone(), visits: Some(1), renews: false }
                    }
                    None => Turn::Drawn { think: think.clone(), length: length.clone(), thinking },
                });
            }
            Sessions::Closed(closed) => {
                agenda.returning = share.of(closed.users()).map(|user| closed.first(seed, user)).collect();
                agenda.left = count.map(|count| match count {
                    Count::Requests(n) => Left::Launches(share.of_users(n, closed.users())),
                    Count::Sessions(n) => Left::Visits(share.of_users(n, closed.users())),
                });
                let (think, visits) = (closed.think().clone(), closed.visits());
                let turn = match closed.flows() {
                    Some(flows) => Turn::Flowing { think, flows: flows.clone(), visits, renews: closed.renews() },
                    None => Turn::User { think, visits },
                };
                agenda.sessions = Some(match closed.pace() {
                    Some(pace) => Turn::Paced(Box::new(turn), Paced { pace, begun: HashMap::new() }),
                    None => turn,
                });
            }
            Sessions::Replay(replay) => {
                let replay = &count.map_or_else(|| replay.clone(), |count| replay.clone().first(count));
                match replay.way() {
                    Way::Closed(closed) => {
                        let users = share.of(closed.users()).take_while(|user| replay.has(*user, 0));
                        agenda.returning = users.map(|user| closed.first(seed, user)).collect();
                    }
                    Way::Open | Way::Sessions { .. } => agenda.arrive(Source::Trace(replay.clone())),
                }
                agenda.sessions = Some(Turn::Recorded(replay.clone()));
            }
        }
        agenda.looks = agenda.left.is_some() || agenda.sessions.as_ref().is_some_and(|turn| turn.flows().is_some());
        if let Some(Left::Launches(0) | Left::Visits(0)) = agenda.left {
            agenda.use_up();
        }
        agenda
    }

    fn arrive(&mut self, source: Source) {
        self.arrive_after(0, source);
    }

    /// Sessions arrive that are numbered after so many others.
    fn arrive_after(&mut self, others: u64, source: Source) {
        self.arrivals = Some(Numbered { source, next: others, share: self.share });
        self.await_arrival();
    }

    #[inline]
    fn await_arrival(&mut self) {
        self.arriving = self.arrivals.as_mut().and_then(Iterator::next).unwrap_or(NEVER);
    }

    /// The same, taken up at `from` by somebody who knows nothing of the time before: arrivals meant earlier are passed over, and users
    /// begin at `from` as they do at the start. `None` where launches are counted as they are made, for how many there were is not known.
    #[must_use]
    pub fn from(mut self, from: Instant) -> Option<Self> {
        if from == Instant::ZERO {
            return Some(self);
        }
        if self.left.is_some() {
            return None;
        }
        while self.arriving.intended < from {
            self.await_arrival();
            self.skipped += 1;
        }
        let late = Instant::ZERO.until(from);
        let mut users = std::mem::take(&mut self.returning);
        while let Some(Entry { key, serial, what }) = users.pop() {
            self.returning.push(key + late.0, serial, what);
        }
        Some(self)
    }

    /// How many arrivals were passed over.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// When the next launch is due; `None` when nothing is, until a completion brings a session back.
    #[inline]
    pub fn next_due(&self) -> Option<Instant> {
        let returning = self.returning.first().map_or(Instant::MAX, |top| Instant(top.key));
        let first = self.arriving.intended.min(returning);
        (first < self.end).then_some(first)
    }

    /// Takes the next launch if it is due by `now`.
    pub fn due(&mut self, now: Instant) -> Option<Launch> {
        self.due_before(now + Nanos(1))
    }

    /// Takes the next launch if it is due before `until`.
    #[inline]
    pub fn due_before(&mut self, until: Instant) -> Option<Launch> {
        let launch = self.first_before(until.min(self.end))?;
        if self.looks { Some(self.look(launch)) } else { Some(launch) }
    }

    /// Where in its flow `launch` stands; counts it.
    fn look(&mut self, mut launch: Launch) -> Launch {
        if launch.step == 0
            && let Some(flows) = self.sessions.as_ref().and_then(Turn::flows)
        {
            launch.place = flows.enter(self.seed, launch.session, 0);
        }
        self.left = self.left.map(|left| left.after(launch));
        if self.left.is_some_and(Left::is_none) {
            self.use_up();
        }
        launch
    }

    /// Nothing is left of what may be launched.
    fn use_up(&mut self) {
        match &mut self.sessions {
            // Visits that have begun go on.
            Some(turn) if matches!(self.left, Some(Left::Visits(_))) => {
                turn.end_visits();
                self.returning.retain(|(_, _, visit)| !visit.begins());
            }
            _ => self.end = Instant::ZERO,
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
            let Entry { key, serial, what: (step, place, visit) } = self.returning.pop()?;
            return Some(Launch { intended: Instant(key), session: serial, step, place, visit });
        }
        if arriving.intended >= until {
            return None;
        }
        self.await_arrival();
        Some(arriving)
    }

    /// Tells that `launch` was answered (or given up, or not sent) at `done`, and answers what its session does now.
    #[inline]
    pub fn completed(&mut self, launch: Launch, done: Instant) -> After {
        let Some(turn) = &mut self.sessions else { return After::Leaves };
        let next = turn.after(self.seed, launch, done);
        self.come_back(launch, next)
    }

    /// Tells that the visit of `launch` is over before its time, at `done`; a closed user begins another after a think time.
    pub fn broken_off(&mut self, launch: Launch, done: Instant) -> After {
        let next = self.sessions.as_mut().and_then(|turn| turn.broken_off(self.seed, launch, done));
        self.come_back(launch, next)
    }

    /// The session of `launch` launches `next`, unless the run is over by then.
    #[inline]
    fn come_back(&mut self, launch: Launch, next: Option<Next>) -> After {
        let Some(Next { intended, place, visit, after }) = next else { return After::Leaves };
        if intended >= self.end {
            return After::TooLate;
        }
        self.returning.push(intended.0, launch.session, (launch.step + 1, place, visit));
        after
    }

    /// How many sessions are thinking.
    pub fn thinking(&self) -> usize {
        self.returning.len()
    }
}

impl Closed {
    /// The first launch of `user`: after its place in the ramp, and what is left of a think time under way (or a whole one).
    fn first(&self, seed: Seed, user: u64) -> Entry<(u32, u16, Visit)> {
        let ramp = Instant((u128::from(self.ramp().0) * u128::from(user) / u128::from(self.users())) as u64);
        let launch = |intended: Instant| Entry { key: intended.0, serial: user, what: (0, 0, Visit::FIRST) };
        if self.think().is_zero() && self.pace().is_none() {
            return launch(ramp);
        }
        let mut stream = seed.at(Purpose::Start, user, 0);
        let wait = match (self.start(), self.pace()) {
            (Start::MidThought, Some(pace)) => pace.every().as_secs_f64() * stream.uniform(),
            (Start::MidThought, None) => self.think().sample_residual(&mut stream),
            (Start::Thinking, _) => self.think().sample(&mut stream),
            (Start::AtOnce, _) => 0.0,
        };
        launch(ramp + Nanos::from_secs_f64(wait))
    }
}
