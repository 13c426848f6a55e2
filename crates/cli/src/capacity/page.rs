//! The answer: the interval, and what it rests on.

use std::fmt;

use offered_model::Objective;
use offered_model::threshold::Unit;
use offered_stats::steady_state::Estimate;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::search::Said;
use crate::run::short;
use crate::table::Table;

/// What a search found; prints as the page a person reads, and as the document `offered.capacity/1`.
pub(super) struct Answer {
    pub(super) workload: String,
    pub(super) simulated: bool,
    pub(super) objective: Objective,
    pub(super) field: String,
    /// The largest value at which the objective was seen to be kept.
    pub(super) low: Option<f64>,
    /// The smallest at which it was seen to be broken.
    pub(super) high: Option<f64>,
    /// Whether the search came to its end before the trials did.
    pub(super) complete: bool,
    /// Where the generator was the limit, and why.
    pub(super) limited: Option<(f64, String)>,
    pub(super) warning: Option<String>,
    /// How many were made.
    pub(super) trials: usize,
    /// In ascending order.
    pub(super) points: Vec<Point>,
}

/// A value that was tried.
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) trials: usize,
    /// Of the objective, in its order; empty where the queue would have grown without end.
    pub(super) figures: Vec<Estimate>,
    pub(super) said: Said,
}

/// In the unit that a table shows.
fn in_words(figure: &Estimate, unit: Unit) -> String {
    let (times, name) = match unit {
        Unit::Seconds => (1e3, " ms"),
        Unit::Fraction => (1e2, " %"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Number => (1.0, ""),
    };
    // Both ends: they are not equally far away.
    let [value, low, high] = [figure.value, figure.low, figure.high].map(|x| short(x * times));
    format!("{value}{name} ({low} to {high})")
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { objective, field, .. } = self;
        if let Some((value, why)) = &self.limited {
            writeln!(f, "THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at {field}={}: {why}", short(*value))?;
        }
        match (self.low, self.high) {
            (Some(low), Some(high)) => {
                let (low, high) = (short(low), short(high));
                // Of other fields nobody knows what they count.
                let (what, unit) = match field.as_str() {
                    "rate" => ("a rate", "/s"),
                    "users" => ("a number of users", ""),
                    other => (other, ""),
                };
                writeln!(f, "{objective} is kept up to {what} between {low}{unit} and {high}{unit} (95 %)")?;
            }
            (Some(low), None) => {
                writeln!(f, "{objective} is kept at {field}={}; where it breaks was not seen", short(low))?;
            }
            (None, Some(high)) => writeln!(f, "{objective} is not kept, not even at {field}={}", short(high))?,
            (None, None) => writeln!(f, "up to which {field} {objective} is kept could not be told")?,
        }
        if !self.complete {
            writeln!(
                f,
                "the trials were used up before the ends were near enough; give more (--trials), or longer ones (duration)"
            )?;
        }
        let mut table = Table::new([field, "trials", "figures, with the 95 % interval of their mean", ""]);
        for point in &self.points {
            let units = objective.thresholds().iter().map(|threshold| threshold.metric.quantity.unit());
            let figures: Vec<String> =
                point.figures.iter().zip(units).map(|(figure, unit)| in_words(figure, unit)).collect();
            let figures = if figures.is_empty() { "the load is 1 or more".to_owned() } else { figures.join(", ") };
            table.row([short(point.value), point.trials.to_string(), figures, point.said.name().to_owned()]);
        }
        write!(f, "\n{table}")?;
        self.warning.as_ref().map_or(Ok(()), |warning| writeln!(f, "\nwarning: {warning}"))
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let end = |end: f64| end.is_finite().then_some(end);
        let figure = |x: &Estimate| json!({ "value": x.value, "low": end(x.low), "high": end(x.high) });
        let point = |point: &Point| {
            let figures: Vec<Value> = point.figures.iter().map(figure).collect();
            json!({ "value": point.value, "trials": point.trials, "figures": figures, "says": point.said.name() })
        };
        let limited = self.limited.as_ref().map(|(value, because)| json!({ "value": value, "because": because }));
        json!({
            "schema": "offered.capacity/1",
            "workload": self.workload,
            "simulated": self.simulated,
            "objective": self.objective.to_string(),
            "field": self.field,
            "low": self.low,
            "high": self.high,
            "complete": self.complete,
            "generator_limit": limited,
            "warnings": self.warning.iter().collect::<Vec<_>>(),
            "trials": self.trials,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
        .serialize(serializer)
    }
}
