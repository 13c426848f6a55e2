//! The result of a capacity search as text.

use std::fmt;

use offered_experiment::Field;
use offered_experiment::document::capacity::{Document, Limit};
use offered_experiment::sweep::Interval;
use offered_workload::Objective;
use offered_workload::threshold::Unit;

use offered_report::format::number;

use crate::table::{Table, wrapped};

/// The result as text.
pub(super) struct Text<'a> {
    pub(super) result: &'a Document,
    pub(super) objective: &'a Objective,
}

/// A figure with its interval and unit.
fn figure_text(figure: &Interval, unit: Unit) -> String {
    let (times, name) = match unit {
        Unit::Seconds => (1e3, " ms"),
        Unit::Fraction => (1e2, " %"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Number => (1.0, ""),
    };
    // Both ends, as the interval is not symmetric.
    let ends = [figure.low.unwrap_or(f64::NEG_INFINITY), figure.high.unwrap_or(f64::INFINITY)];
    let [value, low, high] = [figure.value, ends[0], ends[1]].map(|x| number(x * times));
    format!("{value}{name} ({low} to {high})")
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { result, objective } = self;
        let field = &result.field;
        if let Some(Limit { value, reason, .. }) = &result.generator_limit {
            let text = format!("the generator, not the server, was the limit at {field}={}: {reason}", number(*value));
            wrapped(f, "INVALID  ", &text)?;
        }
        match (result.low, result.high) {
            (Some(low), Some(high)) => {
                let (low, high) = (number(low), number(high));
                // Other fields have no known unit.
                let (what, unit) = match field {
                    Field::Rate => ("a rate", "/s"),
                    Field::Users => ("a number of users", ""),
                    other => (other.name(), ""),
                };
                let text = format!("{objective} is met up to {what} between {low}{unit} and {high}{unit} (95 %)");
                wrapped(f, "", &text)?;
            }
            (Some(low), None) => {
                wrapped(f, "", &format!("{objective} is met at {field}={}; the limit was not reached", number(low)))?;
            }
            (None, Some(high)) => wrapped(f, "", &format!("{objective} is missed even at {field}={}", number(high)))?,
            (None, None) => {
                wrapped(
                    f,
                    "",
                    &format!("no result: no {field} was found at which {objective} is clearly met or missed"),
                )?;
            }
        }
        if !result.complete {
            let why = "the maximum number of trials was reached before the interval was narrow enough";
            wrapped(f, "", &format!("{why}; increase --trials or the duration"))?;
        }
        let mut table = Table::new([field.name(), "trials", "figures (95 % interval)", ""]);
        for point in &result.points {
            let units = objective.thresholds().iter().map(|threshold| threshold.metric.quantity.unit());
            let figures: Vec<String> =
                point.metrics.iter().zip(units).map(|(figure, unit)| figure_text(figure, unit)).collect();
            let figures = if figures.is_empty() { "the load is 1 or more".to_owned() } else { figures.join(", ") };
            table.row([number(point.value), point.trials.to_string(), figures, point.result.name().to_owned()]);
        }
        write!(f, "\n{table}")?;
        result.warnings.iter().try_for_each(|warning| {
            writeln!(f)?;
            wrapped(f, "warning: ", warning)
        })
    }
}

#[cfg(test)]
mod tests {
    use offered_events::document::Schema;

    use super::*;

    #[test]
    fn a_generator_limit_is_the_first_line() {
        let objective: Objective = "p99 < 250ms".parse().unwrap();
        let result = Document {
            schema: Schema::new(),
            workload: "w.toml".into(),
            simulated: false,
            objective: objective.to_string(),
            field: Field::Rate,
            low: Some(400.0),
            high: None,
            complete: true,
            generator_limit: Some(Limit {
                value: 800.0,
                failed_checks: Vec::new(),
                reason: "requests were late".into(),
            }),
            warnings: Vec::new(),
            trials: 11,
            points: Vec::new(),
        };
        let page = Text { result: &result, objective: &objective }.to_string();
        assert!(
            page.starts_with(
                "INVALID  the generator, not the server, was the limit at rate=800: requests were\n         late\n"
            ),
            "{page}"
        );
        assert!(page.contains("is met at rate=400; the limit was not reached"), "{page}");
    }
}
