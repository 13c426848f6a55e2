//! Circuit breakers of clients: after too many failures no request is sent for a time; then the results of a few trial
//! requests determine whether requests are sent again (Nygard, *Release It!*, 2007; Hystrix and resilience4j).

use std::collections::{HashMap, VecDeque};

use super::Workload;
use super::by_label::ByLabel;
use super::failure::Failure;
use offered_base::{Instant, InvalidValue, Nanos};
use offered_events::{Event, Outcome};

/// A circuit breaker: the conditions under which it opens and closes again.
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitBreaker {
    /// Share of failed attempts in the window at which the breaker opens, above 0 and at most 1.
    pub failure_rate: f64,
    /// The time over which attempts are counted, by their ends.
    pub window: Nanos,
    /// Minimum number of attempts in the window for opening, at least 1.
    pub minimum_calls: u32,
    /// Time for which the breaker stays open; 0 means no breaker.
    pub open: Nanos,
    /// Number of trial attempts after the time `open`, at least 1. Their failure rate determines whether the breaker opens
    /// again or closes.
    pub half_open_calls: u32,
    /// The failures that the breaker counts.
    pub on: Vec<Failure>,
}

impl CircuitBreaker {
    /// The defaults of Hystrix: half of at least 20 attempts in 10 s, open for 5 s, one trial.
    pub const DEFAULT_FAILURE_RATE: f64 = 0.5;
    /// The default of `window`.
    pub const DEFAULT_WINDOW: Nanos = Nanos::from_secs(10);
    /// The default of `minimum_calls`.
    pub const DEFAULT_MINIMUM_CALLS: u32 = 20;
    /// The default of `open`.
    pub const DEFAULT_OPEN: Nanos = Nanos::from_secs(5);
    /// The default of `half_open_calls`.
    pub const DEFAULT_HALF_OPEN_CALLS: u32 = 1;

    /// No breaker, although the target has one.
    pub const NONE: Self = Self {
        failure_rate: Self::DEFAULT_FAILURE_RATE,
        window: Self::DEFAULT_WINDOW,
        minimum_calls: Self::DEFAULT_MINIMUM_CALLS,
        open: Nanos::ZERO,
        half_open_calls: Self::DEFAULT_HALF_OPEN_CALLS,
        on: Vec::new(),
    };

    /// Whether these settings describe a breaker, that is, `open` is above zero.
    pub fn exists(&self) -> bool {
        self.open > Nanos::ZERO
    }

    /// Whether an attempt with this result counts as failed; `None` if it gives no information about the server.
    fn failed(&self, event: &Event) -> Option<bool> {
        match event.outcome {
            Outcome::Cut | Outcome::Unsent | Outcome::NoValue | Outcome::BreakerOpen => None,
            outcome => Some(self.on.iter().any(|failure| failure.includes(outcome, event.status))),
        }
    }
}

/// Checks the numbers of a breaker.
pub(super) fn check_breaker(breaker: &CircuitBreaker) -> Result<(), InvalidValue> {
    let wrong = |what: &str| Err(InvalidValue::new(what));
    match breaker {
        _ if !breaker.exists() => Ok(()),
        CircuitBreaker { failure_rate, .. } if !(*failure_rate > 0.0 && *failure_rate <= 1.0) => {
            wrong("failure_rate must be above 0 and at most 1")
        }
        CircuitBreaker { window, .. } if *window < SHORTEST_WINDOW => wrong("window must be at least 1ms"),
        CircuitBreaker { on, .. } if on.is_empty() => wrong("`on` is empty; remove the key to use the default"),
        _ => Ok(()),
    }
}

/// A shorter window has no parts.
const SHORTEST_WINDOW: Nanos = Nanos::from_millis(1);
/// Number of parts of a window. The oldest part leaves it as a whole.
const PARTS: u64 = 100;

/// A breaker in operation.
#[derive(Debug)]
struct Breaker {
    policy: CircuitBreaker,
    state: State,
    /// Number of changes of the state. Attempts that began before the last change do not count.
    changes: u32,
}

#[derive(Debug)]
enum State {
    /// Closed: attempts pass. Contains the current part of the window, and the attempts and failures of each part.
    Closed(VecDeque<(u64, u64, u64)>),
    /// No attempt passes until this instant.
    Open(Instant),
    /// Trial attempts: begun, ended and failed.
    HalfOpen { begun: u32, ended: u32, failed: u32 },
}

impl Breaker {
    fn new(policy: CircuitBreaker) -> Self {
        Self { policy, state: State::Closed(VecDeque::new()), changes: 0 }
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.changes += 1;
    }

    /// Decides whether an attempt at `now` may be sent. If so, returns the number of changes of the state before it;
    /// otherwise `None`.
    fn permit(&mut self, now: Instant) -> Option<u32> {
        if matches!(self.state, State::Open(until) if now >= until) {
            self.change(State::HalfOpen { begun: 0, ended: 0, failed: 0 });
        }
        match &mut self.state {
            State::Closed(_) => Some(self.changes),
            State::Open(_) => None,
            State::HalfOpen { begun, .. } if *begun < self.policy.half_open_calls => {
                *begun += 1;
                Some(self.changes)
            }
            State::HalfOpen { .. } => None,
        }
    }

    /// Records the end of an attempt that passed after this number of changes. `failed` is `None` if the attempt gives
    /// no information about the server.
    fn record(&mut self, changes: u32, at: Instant, failed: Option<bool>) {
        if changes != self.changes {
            return;
        }
        let CircuitBreaker { failure_rate, window, minimum_calls, open, half_open_calls, .. } = self.policy;
        let is_too_high = |failed: u64, calls: u64| failed > 0 && failed as f64 >= failure_rate * calls as f64;
        let next = match (&mut self.state, failed) {
            (State::Closed(parts), Some(has_failed)) => {
                let part = at.0 / (window.0 / PARTS);
                match parts.back_mut() {
                    Some((last, calls, failures)) if *last >= part => {
                        *calls += 1;
                        *failures += u64::from(has_failed);
                    }
                    _ => parts.push_back((part, 1, u64::from(has_failed))),
                }
                while parts.front().is_some_and(|(first, ..)| first + PARTS <= part) {
                    parts.pop_front();
                }
                let sum = |of: fn(&(u64, u64, u64)) -> u64| parts.iter().map(of).sum::<u64>();
                let (calls, failures) = (sum(|part| part.1), sum(|part| part.2));
                (calls >= u64::from(minimum_calls) && is_too_high(failures, calls)).then(|| State::Open(at + open))
            }
            (State::HalfOpen { ended, failed, .. }, Some(has_failed)) => {
                *ended += 1;
                *failed += u32::from(has_failed);
                (*ended == half_open_calls).then(|| match is_too_high((*failed).into(), (*ended).into()) {
                    true => State::Open(at + open),
                    false => State::Closed(VecDeque::new()),
                })
            }
            // A trial without a result makes room for another one.
            (State::HalfOpen { begun, .. }, None) => {
                *begun -= 1;
                None
            }
            _ => None,
        };
        if let Some(next) = next {
            self.change(next);
        }
    }
}

/// The circuit breakers of one client, which is a generator thread or a simulation.
#[derive(Debug)]
pub(super) struct Breakers {
    by_label: ByLabel<CircuitBreaker>,
    states: Vec<Breaker>,
    /// The attempts in flight that a breaker let pass, by session: the number of changes before.
    passed: HashMap<u64, u32>,
}

impl Breakers {
    /// Those of `workload`; `None` if it has none.
    pub(super) fn new(workload: &Workload) -> Option<Self> {
        let by_label = workload.circuit_breakers()?;
        let states = by_label.policies().iter().cloned().map(Breaker::new).collect();
        Some(Self { by_label, states, passed: HashMap::new() })
    }

    /// Whether an attempt of a request may be sent at `now`.
    pub(super) fn permits(&mut self, label: u16, session: u64, now: Instant) -> bool {
        let Some((number, _)) = self.by_label.of(label) else { return true };
        let Some(changes) = self.states[number].permit(now) else { return false };
        self.passed.insert(session, changes);
        true
    }

    /// Records the end of an attempt.
    pub(super) fn record(&mut self, event: &Event) {
        let Some((number, policy)) = self.by_label.of(event.label) else { return };
        let failed = policy.failed(event);
        if let Some(changes) = self.passed.remove(&event.session) {
            self.states[number].record(changes, event.done.unwrap_or(event.intended), failed);
        }
    }
}

impl Workload {
    /// The circuit breaker of each request. Requests without their own circuit breaker share the one of their target.
    /// `None`: the request has no circuit breaker.
    pub fn circuit_breakers(&self) -> Option<ByLabel<CircuitBreaker>> {
        ByLabel::of_workload(
            self,
            |target| target.breaker.as_ref(),
            |request| request.attempts().breaker.as_ref(),
            CircuitBreaker::exists,
        )
    }
}

#[cfg(test)]
mod tests;
