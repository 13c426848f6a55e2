//! Retries, circuit breakers, and users who give up, for any clock. The events of the attempts of a request are
//! combined to one event of the request. The attempts of a request that was sent several times are recorded before it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::Workload;
use super::breaker::Breakers;
use super::retry::{RetryPolicies, TimeLimits, TokenBucket};
use offered_base::{Instant, Nanos, Seed};
use offered_events::{Event, Outcome, Reason};
use offered_schedule::Launch;

/// Minimum pause of a session after a request that could not be sent or connected. Without it a closed user without think time would spin.
pub const FAILURE_PAUSE: Nanos = Nanos::from_millis(100);

/// The maximum number of retries that an event can record: attempts have numbers of 16 bits.
const MAX_RETRIES: u32 = u16::MAX as u32 - 1;

/// A request to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// The scheduled request.
    pub launch: Launch,
    /// The index of the request in the workload.
    pub label: u16,
    /// The number of the request in the whole run.
    pub sequence: u64,
}

/// The requests of one thread that may be sent again.
#[derive(Debug)]
pub struct AttemptTracker {
    seed: Seed,
    policies: RetryPolicies,
    limits: Option<TimeLimits>,
    /// The budget of each policy.
    budgets: Vec<Option<TokenBucket>>,
    breakers: Option<Breakers>,
    /// The requests with a policy that have not ended, by session: a session has one at a time.
    requests: HashMap<u64, Request>,
    /// When requests are sent again, by session.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Whether the run was stopped; then no request is sent again.
    stopped: bool,
}

/// A request that has not ended.
#[derive(Debug)]
struct Request {
    resend: Resend,
    /// Number of attempts that ended.
    ended: u16,
    /// When the current attempt was due.
    due: Instant,
    /// The event of the request after the attempts that ended; `None` during the first.
    so_far: Option<Event>,
}

impl AttemptTracker {
    /// A tracker for one of `threads` threads; `None` if no request of `workload` is sent again or held back, and no
    /// user gives up.
    pub fn new(workload: &Workload, threads: u64) -> Option<Self> {
        let (policies, limits) = (workload.retry_policies(), workload.time_limits());
        let breakers = Breakers::new(workload);
        if policies.is_none() && limits.is_none() && breakers.is_none() {
            return None;
        }
        let policies = policies.unwrap_or_default();
        let bucket = |budget| TokenBucket::new(budget, threads);
        Some(Self {
            seed: workload.seed(),
            budgets: policies.policies().iter().map(|policy| policy.budget.map(bucket)).collect(),
            policies,
            limits,
            breakers,
            requests: HashMap::new(),
            due: BinaryHeap::new(),
            stopped: false,
        })
    }

    /// Records the first attempt of a request, at `now`. Returns false if it must not be sent, because its circuit
    /// breaker is open.
    #[must_use]
    pub fn first(&mut self, resend: Resend, now: Instant) -> bool {
        if !self.is_permitted(resend, now) {
            return false;
        }
        let Some((policy, _)) = self.policies.of(resend.label) else { return true };
        if let Some(budget) = &mut self.budgets[policy] {
            budget.deposit();
        }
        let request = Request { resend, ended: 0, due: resend.launch.intended, so_far: None };
        self.requests.insert(resend.launch.session, request);
        true
    }

    /// Whether the circuit breaker of a request, if it has one, lets an attempt pass.
    fn is_permitted(&mut self, Resend { launch, label, .. }: Resend, now: Instant) -> bool {
        self.breakers.as_mut().is_none_or(|breakers| breakers.permits(label, launch.session, now))
    }

    /// The time at which the next request is to be sent again.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The next request that is to be sent again by `now`. If a circuit breaker holds a request back, the request ends
    /// now: its event, with the outcome of the last attempt, is added to `ended`.
    pub fn due(&mut self, now: Instant, ended: &mut Vec<Event>) -> Option<Resend> {
        while self.next_due()? <= now {
            let Reverse((_, session)) = self.due.pop()?;
            let resend = self.requests.get(&session)?.resend;
            if self.is_permitted(resend, now) {
                return Some(resend);
            }
            let so_far = self.requests.remove(&session).and_then(|request| request.so_far);
            ended.extend(so_far.map(|event| Event { done: Some(now), ..event }));
        }
        None
    }

    /// Ends all retries. Requests that wait for a retry are cut off.
    pub fn stop(&mut self, events: &mut Vec<Event>) {
        self.stopped = true;
        for Reverse((_, session)) in std::mem::take(&mut self.due) {
            let so_far = self.requests.remove(&session).and_then(|request| request.so_far);
            events.extend(so_far.map(|event| Event {
                outcome: Outcome::Cut,
                error: Some(Reason::Stopped),
                done: None,
                ..event
            }));
        }
    }

    /// Replaces the events of attempts by those of requests that have ended. Attempts of requests that were sent several times go to
    /// `attempts`, requests that wait for their next attempt to `waiting`.
    pub fn settle(&mut self, events: &mut Vec<Event>, attempts: &mut Vec<Event>, waiting: &mut Vec<Event>) {
        for mut event in std::mem::take(events) {
            if event.object > 0 {
                events.push(event);
                continue;
            }
            if let Some(breakers) = &mut self.breakers {
                breakers.record(&event);
            }
            let gave_up = self.limits.as_ref().and_then(|limits| limits.gave_up(&event));
            if let (Outcome::Timeout, Some(patience)) = (event.outcome, gave_up) {
                event.error = Some(Reason::GaveUp(patience));
            }
            let Some(mut request) = self.requests.remove(&event.session) else {
                events.push(event);
                continue;
            };
            let again = (gave_up.is_none() && !self.stopped).then(|| self.next_attempt(&request, &mut event)).flatten();
            request.ended += 1;
            if request.ended > 1 || again.is_some() {
                attempts.push(Event { intended: request.due, attempt: request.ended, ..event.clone() });
            }
            let ended = match &request.so_far {
                None => event,
                Some(earlier) => merge(earlier, event, request.ended),
            };
            let Some(at) = again else {
                events.push(ended);
                continue;
            };
            let ended = Event { retries: request.ended, ..ended };
            waiting.push(ended.clone());
            self.due.push(Reverse((at, ended.session)));
            // The visit of the session has begun.
            let resend = Resend { launch: begun(request.resend.launch), ..request.resend };
            self.requests.insert(ended.session, Request { resend, due: at, so_far: Some(ended), ..request });
        }
    }

    /// When a request is sent again after the attempt that ended with `event`; `None` if it is not sent again. The
    /// reason tells whether the user gives up before that.
    fn next_attempt(&mut self, request: &Request, event: &mut Event) -> Option<Instant> {
        let (number, policy) = self.policies.of(event.label)?;
        let n = u32::from(request.ended) + 1;
        if n > policy.times.min(MAX_RETRIES) || !policy.follows(event.outcome, event.status) {
            return None;
        }
        let at = event.done? + policy.wait.wait(n, self.seed, event.session, event.step);
        let patience = self.limits.as_ref().and_then(|all| all.patience(event.label, event.session, event.step));
        if let Some(patience) = patience.filter(|patience| at >= event.intended + *patience) {
            event.error = Some(Reason::GaveUp(patience));
            return None;
        }
        self.budgets[number].as_mut().is_none_or(TokenBucket::withdraw).then_some(at)
    }
}

/// A launch whose visit has begun.
fn begun(launch: Launch) -> Launch {
    Launch { visit: launch.visit.continued(), ..launch }
}

/// Merges the event of attempt `number` into that of the request so far.
fn merge(earlier: &Event, event: Event, number: u16) -> Event {
    // The request was sent, whatever happened to its last attempt.
    if event.sent.is_none() {
        return earlier.clone();
    }
    Event {
        sent: earlier.sent,
        handshake: earlier.handshake.or(event.handshake),
        connection: earlier.connection,
        reused: earlier.reused,
        bytes_out: earlier.bytes_out + event.bytes_out,
        bytes_in: earlier.bytes_in + event.bytes_in,
        redirects: earlier.redirects.saturating_add(event.redirects),
        token_requests: earlier.token_requests.saturating_add(event.token_requests),
        resends: earlier.resends.saturating_add(event.resends),
        retries: number - 1,
        ..event
    }
}

#[cfg(test)]
mod tests;
