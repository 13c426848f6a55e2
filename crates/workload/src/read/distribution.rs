//! Reading distributions, and the numbers and files they are made of.

use super::{Reader, small};
use crate::shape::{self, Shape};
use crate::source::{Mistake, Table, Value};
use offered_base::InvalidValue;
use offered_base::time::Nanos;
use offered_distributions::Distribution;

impl Reader<'_> {
    /// Reads a distribution of times: a table with one key, the name of the distribution. (A bare duration would not name the distribution.)
    pub(super) fn distribution(&self, value: &Value<'_>) -> Result<Distribution, Mistake> {
        if value.is_text() {
            let text = value.text()?;
            return Err(value.mistake(match text.parse::<Distribution>() {
                Ok(distribution) => format!("expected a distribution as a table; write {distribution}"),
                Err(_) if text.parse::<Nanos>().is_ok() => {
                    format!(
                        "`{text}` has no distribution; write {{ constant = \"{text}\" }} for a constant time, or \
                         {{ exponential = \"{text}\" }} for this mean"
                    )
                }
                Err(_) => "expected a distribution as a table; write for example { exponential = \"5s\" }".to_owned(),
            }));
        }
        let table = value.table(&shape::DISTRIBUTIONS)?;
        let (kind, inner) = table.the_one("{ exponential = \"5s\" }")?;
        let mean_and = |other: &str, shape: &'static Shape| -> Result<(f64, f64, Table<'_>), Mistake> {
            let table = inner.table(shape)?;
            let mean = table.need("mean", "\"5s\"")?.seconds()?;
            let second = table.need(other, "2.0")?.number()?;
            Ok((mean, second, table))
        };
        let distribution = match kind {
            "constant" => Distribution::constant(inner.seconds()?),
            "exponential" => Distribution::exponential(inner.seconds()?),
            "poisson" => Distribution::poisson_millis(inner.seconds()?),
            "uniform" => {
                let [low, high] = inner.pair("two durations, such as [\"0s\", \"12.5s\"]")?;
                Distribution::uniform(low.seconds()?, high.seconds()?)
            }
            "erlang" => {
                let table = inner.table(&shape::ERLANG)?;
                let stages = table.need("stages", "4")?;
                Distribution::erlang(small(&stages, stages.count()?)?, table.need("mean", "\"5s\"")?.seconds()?)
            }
            "gamma" => mean_and("scv", &shape::MEAN_AND_SCV).map(|(mean, scv, _)| Distribution::gamma(mean, scv))?,
            "lognormal" => {
                let (mean, scv, table) = mean_and("scv", &shape::LOGNORMAL)?;
                within(inner.checked(Distribution::lognormal(mean, scv))?, &table)?
            }
            "weibull" => {
                mean_and("shape", &shape::WEIBULL).map(|(mean, shape, _)| Distribution::weibull(mean, shape))?
            }
            "hyperexponential" => {
                let (mean, scv, table) = mean_and("scv", &shape::HYPEREXPONENTIAL)?;
                let distribution = match table.get("p") {
                    Some(p) => Distribution::hyperexponential_with(mean, scv, p.number()?),
                    None => Distribution::hyperexponential(mean, scv),
                };
                within(inner.checked(distribution)?, &table)?
            }
            "pareto" => {
                let table = inner.table(&shape::PARETO)?;
                Distribution::pareto(table.need("min", "\"1s\"")?.seconds()?, table.need("shape", "2.5")?.number()?)
            }
            "bounded_pareto" => {
                let table = inner.table(&shape::BOUNDED_PARETO)?;
                let (min, max) = (table.need("min", "\"10ms\"")?.seconds()?, table.need("max", "\"50s\"")?.seconds()?);
                Distribution::bounded_pareto(min, max, table.need("shape", "1.1")?.number()?)
            }
            _ if inner.is_text() => Distribution::empirical(self.numbers(&inner)?),
            _ => Distribution::empirical(inner.list()?.iter().map(Value::seconds).collect::<Result<Vec<_>, _>>()?),
        };
        inner.checked(distribution)
    }

    /// The numbers of a list, or of the file a text names (one per line; `#` starts a comment).
    pub(super) fn numbers(&self, value: &Value<'_>) -> Result<Vec<f64>, Mistake> {
        if !value.is_text() {
            return value.list()?.iter().map(Value::number).collect();
        }
        let name = value.text()?;
        let text = self.text(name).map_err(|why| value.mistake(format!("cannot read `{name}`: {why}")))?;
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.split('#').next().unwrap_or("").trim()));
        lines
            .filter(|(_, line)| !line.is_empty())
            .map(|(i, line)| {
                line.parse::<f64>().map_err(|_| {
                    value.mistake(format!(
                        "{name}:{i}: `{line}` is not a number (one number per line, times in seconds)"
                    ))
                })
            })
            .collect()
    }
}

/// `distribution`, truncated to the bounds in `table`, if it has bounds.
fn within(distribution: Distribution, table: &Table<'_>) -> Result<Result<Distribution, InvalidValue>, Mistake> {
    let Some(bounds) = table.get("within") else { return Ok(Ok(distribution)) };
    let [low, high] = bounds.pair("two durations, such as [\"10ms\", \"50s\"]")?;
    Ok(distribution.truncated(low.seconds()?, high.seconds()?))
}
