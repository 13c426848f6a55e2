//! Writes time limits, retries and circuit breakers.

use super::pairs::{Pairs, list};
use crate::breaker::CircuitBreaker;
use crate::defaults::statuses;
use crate::retry::{AttemptSettings, Backoff, Budget, Failure, Retry};
use crate::toml_text::toml_text;
use offered_base::time::written_number;

/// Adds the keys of a `[[request]]`.
pub(super) fn attempts(keys: Pairs, attempts: &AttemptSettings) -> Pairs {
    let AttemptSettings { timeout, retry: policy, breaker, patience, redirects } = attempts;
    let keys = keys.maybe(timeout.as_ref(), |keys, timeout| keys.text("timeout", timeout));
    let keys = keys.maybe(redirects.as_ref(), |keys, most| keys.raw("redirects", most));
    let keys = keys.maybe(policy.as_ref(), |keys, policy| keys.raw("retry", retry(policy)));
    let keys = keys.maybe(breaker.as_ref(), |keys, breaker| keys.raw("circuit_breaker", self::breaker(breaker)));
    keys.maybe(patience.as_ref(), |keys, distribution| keys.raw("patience", distribution))
}

/// The value of `retry`.
pub(super) fn retry(retry: &Retry) -> String {
    if retry.times == 0 {
        return "false".to_owned();
    }
    let keys = Pairs::default().raw("times", retry.times);
    let keys = keys.when(retry.on != Failure::DEFAULT, |keys| keys.raw("on", list(retry.on.iter().copied(), failure)));
    let keys = keys.when(retry.wait != Backoff::DEFAULT, |keys| keys.raw("wait", backoff(retry.wait)));
    let keys = keys.maybe(retry.budget, |keys, Budget { share, burst }| {
        let table = || Pairs::default().raw("share", written_number(share)).raw("burst", written_number(burst)).table();
        keys.raw("budget", if burst == Budget::BURST { written_number(share) } else { table() })
    });
    keys.table()
}

/// The value of `circuit_breaker`.
pub(super) fn breaker(breaker: &CircuitBreaker) -> String {
    if !breaker.exists() {
        return "false".to_owned();
    }
    let CircuitBreaker { failure_rate, window, minimum_calls, open, half_open_calls, on } = breaker;
    let keys = Pairs::default().raw("failure_rate", written_number(*failure_rate));
    let keys = keys.when(*window != CircuitBreaker::DEFAULT_WINDOW, |keys| keys.text("window", window));
    let usual = CircuitBreaker::DEFAULT_MINIMUM_CALLS;
    let keys = keys.when(*minimum_calls != usual, |keys| keys.raw("minimum_calls", minimum_calls));
    let keys = keys.when(*open != CircuitBreaker::DEFAULT_OPEN, |keys| keys.text("open", open));
    let usual = CircuitBreaker::DEFAULT_HALF_OPEN_CALLS;
    let keys = keys.when(*half_open_calls != usual, |keys| keys.raw("half_open_calls", half_open_calls));
    keys.when(*on != Failure::DEFAULT, |keys| keys.raw("on", list(on.iter().copied(), failure))).table()
}

fn failure(failure: Failure) -> String {
    match failure {
        Failure::Outcome(outcome) => toml_text(outcome.name()),
        Failure::Status(low, high) if low == high => low.to_string(),
        Failure::Status(low, high) => toml_text(statuses((low, high))),
    }
}

fn backoff(wait: Backoff) -> String {
    match wait {
        Backoff::Constant(wait) => toml_text(wait.to_string()),
        Backoff::Exponential { initial, max, multiplier, jitter } => {
            let keys = Pairs::default().text("initial", initial);
            let keys = keys.when(max != Backoff::MAX.max(initial), |keys| keys.text("max", max));
            let keys =
                keys.when(multiplier != Backoff::MULTIPLIER, |keys| keys.raw("multiplier", written_number(multiplier)));
            keys.when(!jitter, |keys| keys.text("jitter", "none")).table()
        }
    }
}
