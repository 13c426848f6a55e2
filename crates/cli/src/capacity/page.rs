//! The answer: the interval, and what it rests on.

use std::fmt;

use offered_experiment::capacity::Answer;
use offered_model::threshold::Unit;
use offered_stats::steady_state::Estimate;

use crate::run::short;
use crate::table::Table;

/// An answer as the page a person reads.
pub(super) struct Page<'a>(pub(super) &'a Answer);

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

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = self.0;
        let Answer { objective, field, .. } = answer;
        if let Some((value, why)) = &answer.limited {
            writeln!(f, "THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at {field}={}: {why}", short(*value))?;
        }
        match (answer.low, answer.high) {
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
        if !answer.complete {
            writeln!(
                f,
                "the trials were used up before the ends were near enough; give more (--trials), or longer ones (duration)"
            )?;
        }
        let mut table = Table::new([field, "trials", "figures, with the 95 % interval of their mean", ""]);
        for point in &answer.points {
            let units = objective.thresholds().iter().map(|threshold| threshold.metric.quantity.unit());
            let figures: Vec<String> =
                point.figures.iter().zip(units).map(|(figure, unit)| in_words(figure, unit)).collect();
            let figures = if figures.is_empty() { "the load is 1 or more".to_owned() } else { figures.join(", ") };
            table.row([short(point.value), point.trials.to_string(), figures, point.said.name().to_owned()]);
        }
        write!(f, "\n{table}")?;
        answer.warning.as_ref().map_or(Ok(()), |warning| writeln!(f, "\nwarning: {warning}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_that_was_the_limit_stands_first() {
        let answer = Answer {
            workload: "w.toml".into(),
            simulated: false,
            objective: "p99 < 250ms".parse().unwrap(),
            field: "rate".into(),
            low: Some(400.0),
            high: None,
            complete: true,
            limited: Some((800.0, "launches were late".into())),
            warning: None,
            trials: 11,
            points: Vec::new(),
        };
        let page = Page(&answer).to_string();
        assert!(
            page.starts_with("THE GENERATOR, NOT THE SERVER, WAS THE LIMIT at rate=800: launches were late\n"),
            "{page}"
        );
        assert!(page.contains("is kept at rate=400; where it breaks was not seen"), "{page}");
    }
}
