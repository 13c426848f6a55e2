//! Time limits and retries of requests: waits between attempts, and the budget of retries.

use offered_base::{Instant, InvalidValue, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};

use super::breaker::{CircuitBreaker, check_breaker};
use super::{Call, Request, Target, Workload};
pub use crate::by_label::ByLabel;
pub use crate::failure::Failure;

/// Time limits and retries of a request. `None`: the setting of the target applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptSettings {
    /// Maximum duration of one attempt, from sending to the last byte.
    pub timeout: Option<Nanos>,
    /// The retry policy; a policy without retries disables the policy of the target.
    pub retry: Option<Retry>,
    /// The circuit breaker; a breaker without an open time disables the breaker of the target.
    pub breaker: Option<CircuitBreaker>,
    /// The distribution of the time after which a user gives up: from the scheduled time, over all attempts.
    pub patience: Option<Distribution>,
    /// Maximum number of consecutive redirects.
    pub redirects: Option<u32>,
}

/// A retry policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Maximum number of retries of a request; 0: none.
    pub times: u32,
    /// The failures after which a request is sent again.
    pub on: Vec<Failure>,
    /// The time between the end of an attempt and the next one.
    pub wait: Backoff,
    /// The limit on the retries of all requests together; `None`: no limit.
    pub budget: Option<Budget>,
}

/// The time between the end of an attempt and the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Backoff {
    /// A constant time.
    Constant(Nanos),
    /// `min(max, initial x multiplier^(n - 1))` before retry n; with full jitter a uniform random part of this, from
    /// zero.
    Exponential {
        /// The bound of the first wait.
        initial: Nanos,
        /// The largest bound.
        max: Nanos,
        /// The factor from one bound to the next, at least 1.
        multiplier: f64,
        /// Whether the wait is uniformly distributed between zero and its bound.
        jitter: bool,
    },
}

/// The limit on the retries of all requests together: a token bucket. Each first attempt adds `share` of a token, up to `burst` tokens; each
/// retry takes one. Without a token a request is not sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Retries per first attempt, on average.
    pub share: f64,
    /// The tokens at the start and at most, at least 1.
    pub burst: f64,
}

impl Backoff {
    /// The default: full jitter, at most 100 ms before the first retry.
    pub const DEFAULT: Self = Self::Exponential {
        initial: Nanos::from_millis(100),
        max: Self::MAX,
        multiplier: Self::MULTIPLIER,
        jitter: true,
    };
    /// The default of `max` of [`Backoff::Exponential`].
    pub const MAX: Nanos = Nanos::from_secs(10);
    /// The default of `multiplier` of [`Backoff::Exponential`].
    pub const MULTIPLIER: f64 = 2.0;

    /// The wait before retry `n` (from 1) of a request. It is a function of the seed, so the schedule does not depend
    /// on it.
    pub fn wait(self, n: u32, seed: Seed, session: u64, step: u32) -> Nanos {
        match self {
            Self::Constant(wait) => wait,
            Self::Exponential { initial, max, multiplier, jitter } => {
                let bound = (initial.as_secs_f64() * multiplier.powi(n as i32 - 1)).min(max.as_secs_f64());
                let part = if jitter { jitter_part(n, seed, session, step) } else { 1.0 };
                Nanos::from_secs_f64(part * bound)
            }
        }
    }
}

/// A uniform number for retry `n` of a request. The retries of one request share a stream.
fn jitter_part(n: u32, seed: Seed, session: u64, step: u32) -> f64 {
    let mut stream = seed.at(Purpose::Jitter, session, step);
    (1..n).fold(stream.uniform(), |_, _| stream.uniform())
}

impl Budget {
    /// The default of `burst`.
    pub const BURST: f64 = 10.0;
}

/// The tokens of a [`Budget`].
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    budget: Budget,
    tokens: f64,
}

impl TokenBucket {
    /// A full bucket. `parts` buckets share the burst; each has at least one token.
    pub fn new(budget: Budget, parts: u64) -> Self {
        let budget = Budget { burst: (budget.burst / parts as f64).max(1.0), ..budget };
        Self { budget, tokens: budget.burst }
    }

    /// Counts a first attempt.
    pub fn deposit(&mut self) {
        self.tokens = (self.tokens + self.budget.share).min(self.budget.burst);
    }

    /// Takes a token for a retry; returns false if there is none.
    pub fn withdraw(&mut self) -> bool {
        // Sums of shares such as 0.1 fall short of whole numbers.
        let may = self.tokens >= 1.0 - 1e-9;
        if may {
            self.tokens = (self.tokens - 1.0).max(0.0);
        }
        may
    }
}

impl Retry {
    /// No retries.
    pub const NONE: Self = Self { times: 0, on: Vec::new(), wait: Backoff::DEFAULT, budget: None };

    /// A policy with `times` retries and otherwise default settings.
    pub fn times(times: u32) -> Self {
        Self { times, on: Failure::DEFAULT.to_vec(), ..Self::NONE }
    }

    /// Whether an attempt with this outcome and status is followed by another one, if number and budget allow it.
    pub fn follows(&self, outcome: Outcome, status: u16) -> bool {
        self.on.iter().any(|failure| failure.includes(outcome, status))
    }
}

/// The retry policies of a workload.
pub type RetryPolicies = ByLabel<Retry>;

/// The time limits of the requests of a workload that have their own.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLimits {
    seed: Seed,
    /// By label.
    limits: Vec<(Option<Nanos>, Option<Distribution>)>,
}

impl TimeLimits {
    /// Maximum duration of an attempt; `None`: the setting of the target applies.
    pub fn timeout(&self, label: u16) -> Option<Nanos> {
        self.limits.get(usize::from(label))?.0
    }

    /// The longest timeout of all requests; `usual` applies to requests without a timeout.
    pub fn longest(&self, usual: Nanos) -> Nanos {
        self.limits.iter().map(|(timeout, _)| timeout.unwrap_or(usual)).max().unwrap_or(usual)
    }

    /// Time after which the user of a request gives up, a function of the seed. `None`: the user never gives up.
    pub fn patience(&self, label: u16, session: u64, step: u32) -> Option<Nanos> {
        let distribution = self.limits.get(usize::from(label))?.1.as_ref()?;
        Some(Nanos::from_secs_f64(distribution.sample(&mut self.seed.at(Purpose::Patience, session, step))))
    }

    /// The deadline of an exchange that was sent at `sent`: its timeout, or the time at which its user gives up.
    /// `usual` is the timeout of requests without their own.
    pub fn deadline(&self, event: &Event, sent: Instant, usual: Nanos) -> Instant {
        // Patience counts from the scheduled time, over all attempts. That of an object ends with its page.
        let patience = self.patience(event.label, event.session, event.step).filter(|_| event.object == 0);
        let gives_up = patience.map_or(Instant::MAX, |patience| event.intended + patience);
        gives_up.min(sent + self.timeout(event.label).unwrap_or(usual))
    }

    /// The time after which the user of a request gave up, if the user had given up when the attempt ended.
    pub fn gave_up(&self, event: &Event) -> Option<Nanos> {
        let patience = self.patience(event.label, event.session, event.step)?;
        event.done.is_some_and(|done| done >= event.intended + patience).then_some(patience)
    }
}

impl Request {
    /// Sets the time limits and retries.
    #[must_use]
    pub fn with_attempts(self, attempts: AttemptSettings) -> Self {
        Self { attempts, ..self }
    }

    /// The time limits and retries of this request.
    pub fn attempts(&self) -> &AttemptSettings {
        &self.attempts
    }

    /// Maximum number of consecutive redirects of this request that are followed, for requests to `target`.
    pub fn redirects_to(&self, target: &Target) -> u32 {
        self.attempts.redirects.unwrap_or(target.redirects)
    }
}

impl Workload {
    /// The retry policies of the requests; `None`: no request is sent again.
    pub fn retry_policies(&self) -> Option<RetryPolicies> {
        ByLabel::of_workload(
            self,
            |target| target.retry.as_ref(),
            |request| request.attempts.retry.as_ref(),
            |retry| retry.times > 0,
        )
    }

    /// The time limits of the requests; `None`: all have the limit of the target.
    pub fn time_limits(&self) -> Option<TimeLimits> {
        let limits = self.requests().iter().map(|request| {
            let AttemptSettings { timeout, patience, .. } = &request.attempts;
            let shared = self.target_of(request).and_then(|target| target.patience.as_ref());
            (*timeout, patience.as_ref().or(shared).cloned())
        });
        let limits = TimeLimits { seed: self.seed(), limits: limits.collect() };
        let any = limits.limits.iter().any(|(timeout, patience)| timeout.is_some() || patience.is_some());
        any.then_some(limits)
    }
}

/// Checks the time limits, retries and redirects of a request.
pub(super) fn check_attempts(request: &Request) -> Result<(), InvalidValue> {
    let AttemptSettings { timeout, retry, breaker, redirects, .. } = &request.attempts;
    if *timeout == Some(Nanos::ZERO) {
        return Err(InvalidValue::new("timeout must be longer than 0s"));
    }
    if redirects.is_some_and(|most| most > Target::MOST_REDIRECTS) {
        return Err(InvalidValue::new(format!("redirects must be at most {}", Target::MOST_REDIRECTS)));
    }
    if redirects.is_some() && *request.call() != Call::Http {
        return Err(InvalidValue::new("only a request over HTTP has redirects; remove the key"));
    }
    breaker.as_ref().map_or(Ok(()), check_breaker)?;
    retry.as_ref().map_or(Ok(()), check_retry)
}

/// Checks the numbers of a policy.
pub(super) fn check_retry(retry: &Retry) -> Result<(), InvalidValue> {
    let wrong = |what: &str| Err(InvalidValue::new(what));
    if let Backoff::Exponential { initial, max, multiplier, .. } = retry.wait {
        if !(multiplier >= 1.0 && multiplier.is_finite()) {
            return wrong("multiplier must be at least 1");
        }
        if max < initial {
            return wrong("max must not be below initial");
        }
    }
    match retry.budget {
        Some(Budget { share, .. }) if !(share >= 0.0 && share.is_finite()) => wrong("a budget must be zero or more"),
        Some(Budget { burst, .. }) if !(burst >= 1.0 && burst.is_finite()) => wrong("burst must be at least 1"),
        _ if retry.times > 0 && retry.on.is_empty() => wrong("`on` is empty; remove the key to use the default"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
