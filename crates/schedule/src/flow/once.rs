//! Steps that a session makes once: before its visits, such as a login, and after them, such as a logout.
//!
//! They are separate flows in the same chain. A session enters the flow `start`, then walks through the other flows,
//! and makes the flow `end` before it leaves.

use offered_base::random::{Purpose, Seed};
use offered_base::time::{Instant, Nanos};

use super::{Branches, Flow, Flows};

offered_base::named! {
    /// When a session makes a flow that is not part of each visit.
    pub enum Once {
        /// Before its first visit.
        Start = "start",
        /// After its last visit.
        End = "end",
    }
}

impl Flows {
    /// The flows in which sessions begin.
    pub fn begins(&self) -> impl Iterator<Item = &Flow> {
        let start = self.used(Once::Start);
        self.all.iter().filter(move |flow| flow.weight > 0.0 && flow.once == start.map(|_| Once::Start))
    }

    /// Whether sessions make steps once.
    pub fn has_once(&self) -> bool {
        self.all.iter().any(|flow| flow.weight > 0.0 && flow.once.is_some())
    }

    /// The flow that sessions make once, at their start or end; `None`: nothing.
    pub(super) fn used(&self, once: Once) -> Option<&Flow> {
        self.all.iter().find(|flow| flow.weight > 0.0 && flow.once == Some(once))
    }

    /// When a session makes the step of this place, if it is not part of each visit.
    pub fn once(&self, place: u16) -> Option<Once> {
        self.all[usize::from(self.step(place).flow)].once
    }

    /// The first place of the steps at the end of a session; `None` if there are none.
    pub fn end(&self) -> Option<u16> {
        Some(self.first_place(self.used(Once::End)?.start.into()))
    }

    /// The place where a session goes on from `place` if it must end instead of going to `next`; `None`: it leaves.
    pub(crate) fn ending(&self, place: u16, next: u16) -> Option<u16> {
        match (self.once(place), self.once(next)) {
            (_, Some(Once::End)) => Some(next),
            (Some(Once::End), _) => None,
            _ => self.end(),
        }
    }

    /// The same flows for users who make this number of visits (`None`: unlimited): the expected numbers of requests are those per visit.
    pub(crate) fn per_visit(&self, visits: Option<u32>) -> Self {
        let share = visits.map_or(0.0, |visits| 1.0 / f64::from(visits));
        let once = |flow: u16| self.all[usize::from(flow)].once.is_some();
        let of = |(all, step): (&f64, &super::Step)| if once(step.flow) { all * share } else { *all };
        let visits = self.per_session.iter().zip(&self.steps).map(of).collect();
        Self { visits, ..self.clone() }
    }

    /// The steps in which sessions begin.
    pub(super) fn entries(&self) -> Branches {
        Branches::new(self.begins().map(|flow| (Some(flow.start), flow.weight)))
    }
}

/// When a session that ended a request at `done` makes a last step that is `wanted` after the end of all sessions: then, if that is at most `within`
/// after `end`; else at a random time in between, so that sessions do not leave together.
pub(crate) fn last_step(
    seed: Seed,
    (session, step): (u64, u32),
    done: Instant,
    wanted: Instant,
    (end, within): (Instant, Nanos),
) -> Instant {
    if wanted < end + within {
        return wanted;
    }
    let spread = seed.at(Purpose::End, session, step).uniform() * within.as_secs_f64();
    done.max(end + Nanos::from_secs_f64(spread))
}
