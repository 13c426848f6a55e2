//! The answer: the interval, and what it rests on.

use std::fmt;

use offered_experiment::Field;
use offered_experiment::document::capacity::{Document, Limit};
use offered_experiment::sweep::Interval;
use offered_model::Objective;
use offered_model::threshold::Unit;

use crate::run::short;
use crate::table::Table;

/// An answer as the page a person reads.
pub(super) struct Page<'a> {
    pub(super) answer: &'a Document,
    pub(super) objective: &'a Objective,
}

/// In the unit that a table shows.
fn in_words(figure: &Interval, unit: Unit) -> String {
    let (times, name) = match unit {
        Unit::Seconds => (1e3, " ms"),
        Unit::Fraction => (1e2, " %"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Number => (1.0, ""),
    };
    // Both ends: they are not equally far away.
    let ends = [figure.low.unwrap_or(f64::NEG_INFINITY), figure.high.unwrap_or(f64::INFINITY)];
    let [value, low, high] = [figure.value, ends[0], ends[1]].map(|x| short(x * times));
    format!("{value}{name} ({low} to {high})")
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answer, objective } = self;
        let field = &answer.field;
        if let Some(Limit { value, because, .. }) = &answer.generator_limit {
            writeln!(f, "THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at {field}={}: {because}", short(*value))?;
        }
        match (answer.low, answer.high) {
            (Some(low), Some(high)) => {
                let (low, high) = (short(low), short(high));
                // Of other fields nobody knows what they count.
                let (what, unit) = match field {
                    Field::Rate => ("a rate", "/s"),
                    Field::Users => ("a number of users", ""),
                    other => (other.name(), ""),
                };
                writeln!(f, "{objective} is kept up to {what} between {low}{unit} and {high}{unit} (95 %)")?;
            }
            (Some(low), None) => {
                writeln!(f, "{objective} is kept at {field}={}; where it breaks was not seen", short(low))?;
            }
            (None, Some(high)) => writeln!(f, "{objective} is not kept, not even at {field}={}", short(high))?,
            (None, None) => writeln!(f, "up to which {field} {objective} is kept could not be told")?,
        }
        if !answer.complete {
            writeln!(
                f,
                "the trials were used up before the ends were near enough; give more (--trials), or longer ones (duration)"
            )?;
        }
        let mut table = Table::new([field.name(), "trials", "figures, with the 95 % interval of their mean", ""]);
        for point in &answer.points {
            let units = objective.thresholds().iter().map(|threshold| threshold.metric.quantity.unit());
            let figures: Vec<String> =
                point.figures.iter().zip(units).map(|(figure, unit)| in_words(figure, unit)).collect();
            let figures = if figures.is_empty() { "the load is 1 or more".to_owned() } else { figures.join(", ") };
            table.row([short(point.value), point.trials.to_string(), figures, point.says.name().to_owned()]);
        }
        write!(f, "\n{table}")?;
        answer.warnings.iter().try_for_each(|warning| writeln!(f, "\nwarning: {warning}"))
    }
}

#[cfg(test)]
mod tests {
    use offered_model::document::Schema;

    use super::*;

    #[test]
    fn a_generator_that_was_the_limit_stands_first() {
        let objective: Objective = "p99 < 250ms".parse().unwrap();
        let answer = Document {
            schema: Schema::new(),
            workload: "w.toml".into(),
            simulated: false,
            objective: objective.to_string(),
            field: Field::Rate,
            low: Some(400.0),
            high: None,
            complete: true,
            generator_limit: Some(Limit { value: 800.0, failed: Vec::new(), because: "launches were late".into() }),
            warnings: Vec::new(),
            trials: 11,
            points: Vec::new(),
        };
        let page = Page { answer: &answer, objective: &objective }.to_string();
        assert!(
            page.starts_with("THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at rate=800: launches were late\n"),
            "{page}"
        );
        assert!(page.contains("is kept at rate=400; where it breaks was not seen"), "{page}");
    }
}
