//! Concurrency by Little's law: how many were being served, how many were thinking, and what that makes of the users.

use std::collections::HashMap;

use crate::keeps_up::{KeepsUp, Unchecked};
use crate::scope::Scope;
use crate::verdict::{Judgement, Queue};

/// Sessions are followed up to this many; beyond it they are visits rather than users, and memory is worth more.
const MOST_SESSIONS: usize = 1_000_000;

/// A session so far.
struct Session {
    launches: u64,
    first_sent: u64,
    last_sent: u64,
    /// The sum of done - sent over all launches, and over the last one alone.
    serving: i128,
    last_serving: i128,
}

/// Little's law for a run whose launches came at `rate_per_s`. R is the mean time of all that left the system, well or not.
///
/// The law is about systems in balance: of one that does not keep up with its load, or from which nothing came back, only what was
/// measured is told.
///
/// Z is the mean time a session spent between the end of an answer and its next launch:
/// (last launch - first launch - time waited for all answers but the last) / (launches - 1), all sessions together. It exists
/// only where sessions launch one request after another.
pub(crate) fn queue(scope: Scope, rate_per_s: Option<f64>, keeps_up: Option<&KeepsUp>) -> Queue {
    let response_ms = mean_response_ms(scope);
    let answered = keeps_up.is_some_and(|keeps_up| keeps_up.answered_per_s > 0.0);
    let applies = answered && keeps_up.is_none_or(|keeps_up| keeps_up.judgement != Judgement::Fails);
    let closed = keeps_up.is_some_and(|keeps_up| keeps_up.not_checked == Some(Unchecked::Closed));
    // A closed system that answers nothing launches each user once, in no time: that is no rate.
    let rate_per_s = rate_per_s.filter(|_| answered || !closed);
    let sessions = sessions(scope);
    let users_seen = sessions.as_ref().map(|sessions| sessions.len() as u64);
    // Users who wait cannot have more requests under way than they are: a server that hung after a quick beginning left the
    // launches in one part of the run and the answers waited for in the other.
    let possible = |rate: &f64| {
        let under_way = response_ms.map(|response| rate * response / 1e3);
        !closed || under_way.zip(users_seen).is_none_or(|(under_way, users)| under_way <= 1.1 * users as f64)
    };
    let law_rate = rate_per_s.filter(|_| applies).filter(possible);
    let concurrency = law_rate.zip(response_ms).map(|(rate, response)| rate * response / 1e3);
    let think_ms = sessions.as_ref().and_then(think_ms);
    let rtt_ms = response_ms.zip(think_ms).map(|(response, think)| response + think);
    Queue {
        rate_per_s,
        response_ms,
        concurrency,
        think_ms,
        rtt_ms,
        users: law_rate.zip(rtt_ms).map(|(rate, rtt)| rate * rtt / 1e3),
        users_seen,
        rort: response_ms.zip(rtt_ms).map(|(response, rtt)| response / rtt),
    }
}

/// The mean of R in ms, over all that came to an end.
fn mean_response_ms(scope: Scope) -> Option<f64> {
    let (mut n, mut sum) = (0u64, 0i128);
    for response in scope.launches().filter_map(|(_, event)| event.response()) {
        (n, sum) = (n + 1, sum + i128::from(response.0));
    }
    (n > 0).then(|| sum as f64 / n as f64 / 1e6)
}

/// The sessions of the scope, where there are users to speak of: known, few enough, and not each a single arrival.
fn sessions(scope: Scope) -> Option<HashMap<u64, Session>> {
    if !scope.recording.sessions_known {
        return None;
    }
    let mut sessions: HashMap<u64, Session> = HashMap::new();
    for (sent, event) in scope.launches() {
        let serving = event.service().map_or(0, |service| i128::from(service.0));
        let session = sessions.entry(event.session).or_insert(Session {
            launches: 0,
            first_sent: sent,
            last_sent: sent,
            serving: 0,
            last_serving: serving,
        });
        session.launches += 1;
        session.serving += serving;
        session.first_sent = session.first_sent.min(sent);
        if sent >= session.last_sent {
            (session.last_sent, session.last_serving) = (sent, serving);
        }
        if sessions.len() > MOST_SESSIONS {
            return None;
        }
    }
    sessions.values().any(|session| session.launches > 1).then_some(sessions)
}

fn think_ms(sessions: &HashMap<u64, Session>) -> Option<f64> {
    let (mut waits, mut idle) = (0u64, 0i128);
    for session in sessions.values().filter(|session| session.launches > 1) {
        waits += session.launches - 1;
        idle += i128::from(session.last_sent - session.first_sent) - (session.serving - session.last_serving);
    }
    (waits > 0 && idle >= 0).then(|| idle as f64 / waits as f64 / 1e6)
}
