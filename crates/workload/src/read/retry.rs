//! Reads time limits and retries of `[[request]]` and `[target]`.

use super::script::statuses;
use super::{Reader, choice, small};
use crate::Target;
use crate::retry::{AttemptSettings, Backoff, Budget, Failure, Retry, check_retry};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use offered_events::Outcome;

impl Reader<'_> {
    /// Reads the keys of a `[[request]]`.
    pub(super) fn attempts(&self, table: &Table<'_>) -> Result<AttemptSettings, Mistake> {
        Ok(AttemptSettings {
            timeout: table.parsed("timeout")?,
            retry: table.get("retry").map(|value| retry(&value)).transpose()?,
            patience: table.get("patience").map(|value| self.distribution(&value)).transpose()?,
            redirects: table.get("redirects").map(|value| small(&value, value.whole()?)).transpose()?,
        })
    }

    /// Adds the keys of a `[target]` that name a distribution or a policy.
    pub(super) fn defaults(&self, value: &Value<'_>, target: Target) -> Result<Target, Mistake> {
        let table = value.table(&shape::TARGET)?;
        let retry = table.get("retry").map(|value| retry(&value)).transpose()?;
        let patience = table.get("patience").map(|value| self.distribution(&value)).transpose()?;
        Ok(Target { retry, patience, ..target })
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
    let on = match table.get("on") {
        None => Failure::DEFAULT.to_vec(),
        Some(list) => list.list()?.iter().map(failure).collect::<Result<_, _>>()?,
    };
    let retry = Retry {
        times: small(&times, times.count()?)?,
        on,
        wait: table.get("wait").map_or(Ok(Backoff::DEFAULT), |value| backoff(&value))?,
        budget: table.get("budget").map(|value| budget(&value)).transpose()?,
    };
    value.checked(check_retry(&retry))?;
    Ok(retry)
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
