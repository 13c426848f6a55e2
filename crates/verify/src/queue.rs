//! Concurrency by Little's law: how many were being served, how many were thinking, and what that makes of the users.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use offered_model::Event;

use crate::verdict::{StabilityState, Stability, Queue, NotCheckedReason};

/// Sessions are followed up to this many; beyond it they are visits rather than users, and memory is worth more.
const MOST_SESSIONS: usize = 1_000_000;

/// A session so far.
struct Session {
    first_sent: u64,
    last_sent: u64,
    /// done - sent of the last launch.
    last_serving: i64,
}

/// Little's law for a run whose launches came at `rate_per_s` and took `response_ms` in the mean, well or not.
///
/// The law is about systems in balance: of one that does not keep up with its load, or from which nothing came back, only what was
/// measured is told.
///
/// Z is the mean time a session spent between the end of an answer and its next launch:
/// (last launch - first launch - time waited for all answers but the last) / (launches - 1), all sessions together. It exists
/// only where sessions launch one request after another.
pub(crate) fn queue(
    response_ms: Option<f64>,
    users: Option<Users>,
    rate_per_s: Option<f64>,
    keeps_up: Option<&Stability>,
) -> Queue {
    let answered = keeps_up.is_some_and(|keeps_up| keeps_up.completed_rate_per_s > 0.0);
    let applies = answered && keeps_up.is_none_or(|keeps_up| keeps_up.state != StabilityState::Overloaded);
    let closed = keeps_up.is_some_and(|keeps_up| keeps_up.not_checked_reason == Some(NotCheckedReason::ClosedSystem));
    // A closed system that answers nothing launches each user once, in no time: that is no rate.
    let rate_per_s = rate_per_s.filter(|_| answered || !closed);
    let users_seen = users.map(|users| users.seen);
    // Users who wait cannot have more requests under way than they are: a server that hung after a quick beginning left the
    // launches in one part of the run and the answers waited for in the other.
    let possible = |rate: &f64| {
        let under_way = response_ms.map(|response| rate * response / 1e3);
        !closed || under_way.zip(users_seen).is_none_or(|(under_way, users)| under_way <= 1.1 * users as f64)
    };
    let law_rate = rate_per_s.filter(|_| applies).filter(possible);
    let concurrency = law_rate.zip(response_ms).map(|(rate, response)| rate * response / 1e3);
    let think_ms = users.and_then(|users| users.think_ms);
    let rtt_ms = response_ms.zip(think_ms).map(|(response, think)| response + think);
    Queue {
        rate_per_s,
        response_ms,
        concurrency,
        think_ms,
        rtt_ms,
        users: law_rate.zip(rtt_ms).map(|(rate, rtt)| rate * rtt / 1e3),
        users_observed: users_seen,
        rort: response_ms.zip(rtt_ms).map(|(response, rtt)| response / rtt),
    }
}

/// The sessions of launches, where they are users.
#[derive(Clone, Copy)]
pub(crate) struct Users {
    seen: u64,
    think_ms: Option<f64>,
}

/// The sessions of the launches, in the making.
#[derive(Default)]
pub(crate) struct Sessions {
    /// `None` where they are not known, or too many.
    each: Option<HashMap<u64, Session>>,
    launches: u64,
    /// The sum of last launch - first launch - time waited for all answers but the last.
    idle: i128,
}

impl Sessions {
    /// Whose sessions are known, or not.
    pub(crate) fn new(known: bool) -> Self {
        Self { each: known.then(HashMap::new), ..Self::default() }
    }

    /// Takes a launch.
    pub(crate) fn add(&mut self, sent: u64, event: &Event) {
        let Some(each) = &mut self.each else { return };
        let serving = event.service().map_or(0, |service| service.0);
        self.launches += 1;
        match each.entry(event.session) {
            Entry::Vacant(place) => {
                place.insert(Session { first_sent: sent, last_sent: sent, last_serving: serving });
                if each.len() > MOST_SESSIONS {
                    self.each = None;
                }
            }
            Entry::Occupied(mut session) => {
                let session = session.get_mut();
                if sent >= session.last_sent {
                    self.idle += i128::from(sent - session.last_sent) - i128::from(session.last_serving);
                    (session.last_sent, session.last_serving) = (sent, serving);
                } else {
                    let before = session.first_sent.saturating_sub(sent);
                    self.idle += i128::from(before) - i128::from(serving);
                    session.first_sent -= before;
                }
            }
        }
    }

    /// The users, where there are any to speak of: known, few enough, and not each a single arrival.
    pub(crate) fn users(self) -> Option<Users> {
        let seen = self.each?.len() as u64;
        let waits = self.launches - seen;
        let think_ms = (self.idle >= 0).then(|| self.idle as f64 / waits as f64 / 1e6);
        (waits > 0).then_some(Users { seen, think_ms })
    }
}
