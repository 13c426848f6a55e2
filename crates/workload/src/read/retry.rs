//! Reads time limits, retries and circuit breakers of `[[request]]` and `[target]`.

use super::script::statuses;
use super::{Reader, choice, small};
use crate::Target;
use crate::breaker::{CircuitBreaker, check_breaker};
use crate::retry::{AttemptSettings, Backoff, Budget, Failure, Retry, check_retry};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use offered_base::Nanos;
use offered_events::Outcome;

impl Reader<'_> {
    /// Reads the keys of a `[[request]]`.
    pub(super) fn attempts(&self, table: &Table<'_>) -> Result<AttemptSettings, Mistake> {
        Ok(AttemptSettings {
            timeout: table.parsed("timeout")?,
            retry: table.get("retry").map(|value| retry(&value)).transpose()?,
            breaker: table.get("circuit_breaker").map(|value| breaker(&value)).transpose()?,
            patience: table.get("patience").map(|value| self.distribution(&value)).transpose()?,
            redirects: table.get("redirects").map(|value| small(&value, value.whole()?)).transpose()?,
        })
    }

    /// Adds the keys of a `[target]` that name a distribution or a policy.
    pub(super) fn defaults(&self, value: &Value<'_>, target: Target) -> Result<Target, Mistake> {
        let table = value.table(&shape::TARGET)?;
        let retry = table.get("retry").map(|value| retry(&value)).transpose()?;
        let breaker = table.get("circuit_breaker").map(|value| breaker(&value)).transpose()?;
        let patience = table.get("patience").map(|value| self.distribution(&value)).transpose()?;
        Ok(Target { retry, breaker, patience, ..target })
    }
}

/// `{ times = 3, ... }`, or `false`.
fn retry(value: &Value<'_>) -> Result<Retry, Mistake> {
    match value.truth() {
        Ok(false) => return Ok(Retry::NONE),
        Ok(true) => return Err(value.mistake("write { times = 3 }, or false")),
        Err(_) => {}
    }
    let table = value.table(&shape::RETRY)?;
    let times = table.need("times", "3")?;
    let retry = Retry {
        times: small(&times, times.count()?)?,
        on: failures(&table)?,
        wait: table.get("wait").map_or(Ok(Backoff::DEFAULT), |value| backoff(&value))?,
        budget: table.get("budget").map(|value| budget(&value)).transpose()?,
    };
    value.checked(check_retry(&retry))?;
    Ok(retry)
}

/// `{ failure_rate = 0.5, ... }`, or `false`.
fn breaker(value: &Value<'_>) -> Result<CircuitBreaker, Mistake> {
    match value.truth() {
        Ok(false) => return Ok(CircuitBreaker::NONE),
        Ok(true) => return Err(value.mistake("write { failure_rate = 0.5 }, or false")),
        Err(_) => {}
    }
    let table = value.table(&shape::CIRCUIT_BREAKER)?;
    let number = |key, default| table.get(key).map_or(Ok(default), |value| small(&value, value.count()?));
    let open = match table.get("open") {
        None => CircuitBreaker::DEFAULT_OPEN,
        Some(value) => match value.parsed()? {
            Nanos::ZERO => return Err(value.mistake("must be longer than 0s")),
            open => open,
        },
    };
    let breaker = CircuitBreaker {
        failure_rate: match table.get("failure_rate") {
            None => CircuitBreaker::DEFAULT_FAILURE_RATE,
            Some(value) => value.number()?,
        },
        window: table.parsed("window")?.unwrap_or(CircuitBreaker::DEFAULT_WINDOW),
        minimum_calls: number("minimum_calls", CircuitBreaker::DEFAULT_MINIMUM_CALLS)?,
        open,
        half_open_calls: number("half_open_calls", CircuitBreaker::DEFAULT_HALF_OPEN_CALLS)?,
        on: failures(&table)?,
    };
    value.checked(check_breaker(&breaker))?;
    Ok(breaker)
}

/// The failures of the key `on`.
fn failures(table: &Table<'_>) -> Result<Vec<Failure>, Mistake> {
    match table.get("on") {
        None => Ok(Failure::DEFAULT.to_vec()),
        Some(list) => list.list()?.iter().map(failure).collect(),
    }
}

/// `"timeout"`, `503`, `"5xx"` or `"500..504"`.
fn failure(value: &Value<'_>) -> Result<Failure, Mistake> {
    let text = value.shown();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return statuses(value).map(|(low, high)| Failure::Status(low, high));
    }
    let outcome = Outcome::from_name(&text).filter(|outcome| Failure::OUTCOMES.contains(outcome));
    outcome.map(Failure::Outcome).ok_or_else(|| choice(value, &text, &Failure::OUTCOMES.map(Outcome::name)))
}

/// `"100ms"`, or `{ initial = "100ms", max = "10s" }`.
fn backoff(value: &Value<'_>) -> Result<Backoff, Mistake> {
    if value.is_text() {
        return value.parsed().map(Backoff::Constant);
    }
    let table = value.table(&shape::BACKOFF)?;
    let initial = table.need("initial", "\"100ms\"")?.parsed()?;
    Ok(Backoff::Exponential {
        initial,
        max: table.parsed("max")?.unwrap_or(Backoff::MAX.max(initial)),
        multiplier: table.get("multiplier").map_or(Ok(Backoff::MULTIPLIER), |value| value.number())?,
        jitter: match table.get("jitter") {
            None => true,
            Some(value) => match value.text()? {
                "full" => true,
                "none" => false,
                other => return Err(choice(&value, other, &shape::JITTER)),
            },
        },
    })
}

/// `0.1`, or `{ share = 0.1, burst = 10 }`.
fn budget(value: &Value<'_>) -> Result<Budget, Mistake> {
    if !value.is_table() {
        return Ok(Budget { share: value.number()?, burst: Budget::BURST });
    }
    let table = value.table(&shape::BUDGET)?;
    let share = table.need("share", "0.1")?.number()?;
    Ok(Budget { share, burst: table.get("burst").map_or(Ok(Budget::BURST), |value| value.number())? })
}
