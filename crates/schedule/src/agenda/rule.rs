//! The rule for a session after a completion: its next request, or its end.

use std::collections::HashMap;
use std::sync::Arc;

use super::After;
use crate::closed::{Closed, Pace};
use crate::flow::{Decide, Flows, Once, last_step};
use crate::launch::{Launch, Visit};
use crate::population::Population;
use crate::replay::Replay;
use crate::sessions::Length;
use crate::thinking::Thinking;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos};
use offered_distributions::Distribution;

/// The think time, and the next request if there is one, after a completion.
#[expect(clippy::large_enum_variant, reason = "one for each kind of session, not one per session")]
pub(super) enum SessionRule {
    /// Random think time and random length.
    Drawn { think: Distribution, length: Length, thinking: Thinking },
    /// A closed user: random think time, and a maximum number of requests (`None`: unlimited).
    User { think: Distribution, visits: Option<u32> },
    /// A walk through flows, with a maximum number of visits (`None`: unlimited). `renews`: each visit is a new visitor.
    Flowing { think: Distribution, flows: Arc<Flows>, visits: Option<u32>, renews: bool },
    /// The requests of a trace.
    Recorded(Replay),
    /// Another rule with a minimum interval between visits or requests.
    Paced(Box<Self>, Paced),
    /// Another rule for users who leave when the number of users falls; a visit that has begun may continue for this
    /// time.
    Leaving(Box<Self>, Population, Nanos),
}

/// The next request of a session.
#[derive(Clone, Copy)]
pub(super) struct NextLaunch {
    pub(super) intended: Instant,
    pub(super) place: u16,
    pub(super) visit: Visit,
    /// The result of [`Agenda::completed`](super::Agenda::completed).
    pub(super) after: After,
}

impl NextLaunch {
    /// Whether the instant is before the user leaves, or belongs to a visit that continues for at most `finish` after
    /// that.
    fn is_before(&self, leaves: Instant, finish: Nanos) -> bool {
        self.intended < leaves || (!self.visit.begins() && self.intended < leaves + finish)
    }

    /// The next step of `once.end` instead of this request, which is after the end of all sessions; `None`: the session leaves, or has ended
    /// and would begin again as a new visitor. A visit that is cut off for it keeps its number; the last steps have the next one. `end`: that end,
    /// and how long visits go on after it.
    pub(super) fn ending(
        self,
        flows: &Flows,
        seed: Seed,
        launch: Launch,
        done: Instant,
        end: (Instant, Nanos),
    ) -> Option<Self> {
        let place = flows.ending(launch.place, self.place).filter(|_| self.after != After::Renewed)?;
        let intended = last_step(seed, (launch.session, launch.step), done, self.intended, end);
        let is_over = self.visit.begins() || place == self.place;
        let visit = launch.visit.next(None).filter(|_| !is_over).unwrap_or(launch.visit).continued();
        Some(Self { intended, place, visit, after: After::Returns })
    }
}

/// The pace of users, with the state that it needs.
pub(super) struct Paced {
    pace: Pace,
    /// Start of the current visit of each user that has made more than one request of it.
    begun: HashMap<u64, Instant>,
}

impl Paced {
    /// The time of the next request of the user of `launch`: `ready`, or later if the pace requires it. `next` is its visit.
    fn delayed(&mut self, launch: Launch, ready: Instant, next: Visit) -> Instant {
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

impl SessionRule {
    /// The rule of closed users.
    pub(super) fn of_users(closed: &Closed) -> Self {
        let (think, visits) = (closed.think().clone(), closed.visits());
        let rule = match closed.flows() {
            Some(flows) => Self::Flowing { think, flows: flows.clone(), visits, renews: closed.renews() },
            None => Self::User { think, visits },
        };
        let rule = match closed.pace() {
            Some(pace) => Self::Paced(Box::new(rule), Paced { pace, begun: HashMap::new() }),
            None => rule,
        };
        match closed.population() {
            Some(population) => Self::Leaving(Box::new(rule), population.clone(), Nanos::ZERO),
            None => rule,
        }
    }

    /// The next request of the session of `launch`, which completed at `done`; `None`: the session leaves.
    #[inline]
    pub(super) fn after(
        &mut self,
        seed: Seed,
        launch: Launch,
        done: Instant,
        decide: Decide<'_>,
    ) -> Option<NextLaunch> {
        let Launch { session, step, place, visit, .. } = launch;
        let mut after = After::Returns;
        let (think, place, visit) = match self {
            Self::Drawn { length, thinking, .. } if !thinking.continues(length, session, step) => return None,
            Self::User { visits: Some(visits), .. } if step + 1 >= *visits => return None,
            // Each request is a visit.
            Self::User { think, .. } => {
                after = After::Revisits;
                (think.think(seed, session, step + 1), 0, Visit::FIRST)
            }
            Self::Drawn { think, .. } => (think.think(seed, session, step + 1), 0, visit.continued()),
            Self::Recorded(replay) => (replay.think(seed, session, step)?, 0, visit.continued()),
            Self::Flowing { think, flows, visits, renews } => {
                let (next, visit) = match flows.next(seed, session, step, place, decide) {
                    Some(next) => (next, visit.continued()),
                    None => match (visit.next(*visits), flows.once(place)) {
                        (None, Some(Once::End)) => return None,
                        (None, _) => (flows.end()?, visit.continued()),
                        (Some(visit), Some(Once::End)) => {
                            after = After::Renewed;
                            (flows.enter(seed, session, step + 1), visit)
                        }
                        (Some(visit), _) => {
                            after = if *renews { After::Renewed } else { After::Revisits };
                            (flows.enter_visit(seed, session, step + 1), visit)
                        }
                    },
                };
                (flows.think(think, seed, session, step + 1, place), next, visit)
            }
            Self::Paced(rule, paced) => {
                let next = rule.after(seed, launch, done, decide)?;
                return Some(NextLaunch { intended: paced.delayed(launch, next.intended, next.visit), ..next });
            }
            Self::Leaving(rule, population, finish) => {
                let next = rule.after(seed, launch, done, decide)?;
                return rule.before_leaving(seed, launch, done, next, (population.stay(session).1, *finish));
            }
        };
        Some(NextLaunch { intended: done + think, place, visit, after })
    }

    /// `next`, or if that is after the user leaves, the next step of `once.end`. Without such a step, a visit that is
    /// cut off has its next request at [`Instant::MAX`], and a completed visit has no next request.
    fn before_leaving(
        &self,
        seed: Seed,
        launch: Launch,
        done: Instant,
        next: NextLaunch,
        leaves: (Instant, Nanos),
    ) -> Option<NextLaunch> {
        if next.is_before(leaves.0, leaves.1) {
            return Some(next);
        }
        let cut = (!next.visit.begins()).then_some(NextLaunch { intended: Instant::MAX, ..next });
        self.flows().and_then(|flows| next.ending(flows, seed, launch, done, leaves)).or(cut)
    }

    /// The next request of the session if the visit of `launch` ends early; `None`: the session leaves.
    pub(super) fn broken_off(&mut self, seed: Seed, launch: Launch, done: Instant) -> Option<NextLaunch> {
        let Launch { session, step, place, visit, .. } = launch;
        match self {
            Self::User { .. } => {
                let next = self.after(seed, launch, done, &mut |_| None)?;
                Some(NextLaunch { after: After::Renewed, ..next })
            }
            Self::Flowing { think, flows, visits, .. } => {
                let intended = done + flows.think(think, seed, session, step + 1, place);
                // A visit that began ends with the last steps of the session.
                if let (None, Some(place)) = (flows.once(place), flows.end()) {
                    return Some(NextLaunch { intended, place, visit: visit.continued(), after: After::Returns });
                }
                let (visit, place) = (visit.next(*visits)?, flows.enter(seed, session, step + 1));
                Some(NextLaunch { intended, place, visit, after: After::Renewed })
            }
            Self::Paced(rule, paced) => {
                let next = rule.broken_off(seed, launch, done)?;
                Some(NextLaunch { intended: paced.delayed(launch, next.intended, next.visit), ..next })
            }
            Self::Leaving(rule, population, finish) => {
                let next = rule.broken_off(seed, launch, done)?;
                rule.before_leaving(seed, launch, done, next, (population.stay(session).1, *finish))
            }
            Self::Drawn { .. } | Self::Recorded(_) => None,
        }
    }

    /// The flows of the sessions, if they have any.
    pub(super) fn flows(&self) -> Option<&Flows> {
        match self {
            Self::Flowing { flows, .. } => Some(flows),
            Self::Paced(rule, _) | Self::Leaving(rule, ..) => rule.flows(),
            Self::Drawn { .. } | Self::User { .. } | Self::Recorded(_) => None,
        }
    }

    /// Lets no further visit begin.
    pub(super) fn end_visits(&mut self) {
        match self {
            Self::User { visits, .. } | Self::Flowing { visits, .. } => *visits = Some(0),
            Self::Paced(rule, _) | Self::Leaving(rule, ..) => rule.end_visits(),
            Self::Drawn { .. } | Self::Recorded(_) => {}
        }
    }
}
