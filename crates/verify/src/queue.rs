//! Concurrency by Little's law: the numbers of requests in flight, of thinking users, and of all users.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use offered_events::Event;

use crate::verdict::{NotCheckedReason, Queue, Stability, StabilityState};

/// Maximum number of sessions that are tracked. With more sessions, each counts as a visit, and users are not reported. A hash
/// table of up to 917,504 sessions takes 35 MB. A larger one takes 69 MB, and both exist while the sessions are moved.
const MAX_SESSIONS: usize = 900_000;

/// A session so far.
struct Session {
    first_sent: u64,
    last_sent: u64,
    /// Service time (done - sent) of the last request, in nanoseconds.
    last_service: i64,
}

/// Little's law for requests sent at `rate_per_s` with the mean response time `response_ms`, successful or not.
///
/// The law applies to stable systems. If the system is overloaded, or if nothing completed, only measured values are
/// returned.
///
/// Z is the mean time of a session between the end of a response and its next request: the sum over all sessions of
/// (last request - first request - service times of all requests but the last), divided by the number of requests that
/// follow another. It exists only if sessions send one request after another.
pub(crate) fn queue(
    response_ms: Option<f64>,
    users: Option<Users>,
    rate_per_s: Option<f64>,
    stability: Option<&Stability>,
) -> Queue {
    let has_responses = stability.is_some_and(|stability| stability.completed_rate_per_s > 0.0);
    let applies = has_responses && stability.is_none_or(|stability| stability.state != StabilityState::Overloaded);
    let closed =
        stability.is_some_and(|stability| stability.not_checked_reason == Some(NotCheckedReason::ClosedSystem));
    // In a closed system without responses each user sends one request at once, which is not a rate.
    let rate_per_s = rate_per_s.filter(|_| has_responses || !closed);
    let users_seen = users.map(|users| users.observed);
    // There cannot be more requests in flight than users. After a fast start and a hang, requests and responses are in
    // different parts of the run.
    let plausible = |rate: &f64| {
        let in_flight = response_ms.map(|response| rate * response / 1e3);
        !closed || in_flight.zip(users_seen).is_none_or(|(in_flight, users)| in_flight <= 1.1 * users as f64)
    };
    let law_rate = rate_per_s.filter(|_| applies).filter(plausible);
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

/// The sessions, if they are users.
#[derive(Clone, Copy)]
pub(crate) struct Users {
    observed: u64,
    think_ms: Option<f64>,
}

/// Tracks the sessions of requests.
#[derive(Default)]
pub(crate) struct SessionTracker {
    /// `None` if the sessions are unknown, or if there are too many.
    by_id: Option<HashMap<u64, Session, RandomState>>,
    requests: u64,
    /// The sum over all sessions of (last request - first request - service times of all requests but the last), in
    /// nanoseconds.
    think_ns: i128,
}

impl SessionTracker {
    /// Creates a tracker; `known`: whether the recording has sessions.
    pub(crate) fn new(known: bool) -> Self {
        Self { by_id: known.then(HashMap::default), ..Self::default() }
    }

    /// Adds a sent request.
    pub(crate) fn add(&mut self, sent: u64, event: &Event) {
        let Some(each) = &mut self.by_id else { return };
        let serving = event.service().map_or(0, |service| service.0);
        self.requests += 1;
        match each.entry(event.session) {
            Entry::Vacant(place) => {
                place.insert(Session { first_sent: sent, last_sent: sent, last_service: serving });
                if each.len() > MAX_SESSIONS {
                    self.by_id = None;
                }
            }
            Entry::Occupied(mut session) => {
                let session = session.get_mut();
                if sent >= session.last_sent {
                    self.think_ns += i128::from(sent - session.last_sent) - i128::from(session.last_service);
                    (session.last_sent, session.last_service) = (sent, serving);
                } else {
                    let before = session.first_sent.saturating_sub(sent);
                    self.think_ns += i128::from(before) - i128::from(serving);
                    session.first_sent -= before;
                }
            }
        }
    }

    /// The users; `None` if sessions are unknown, too many, or all of a single request.
    pub(crate) fn users(self) -> Option<Users> {
        let seen = self.by_id?.len() as u64;
        let waits = self.requests - seen;
        let think_ms = (self.think_ns >= 0).then(|| self.think_ns as f64 / waits as f64 / 1e6);
        (waits > 0).then_some(Users { observed: seen, think_ms })
    }
}
