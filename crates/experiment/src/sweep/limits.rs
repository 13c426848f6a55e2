//! The limit of an objective: the largest value of the first field at which it is met.

use offered_stats::steady_state::Estimate;
use offered_workload::Objective;

use super::cell::MeasuredCell;
use crate::{Error, Field, VariedField};

/// The largest value of `field` at which the objective is met, with all other fields `fixed`.
///
/// Between two neighbouring cells the metric is interpolated linearly. The interval extends from the largest value
/// whose whole 95 % interval meets the objective to the smallest value whose whole 95 % interval fails it. If the
/// metric rises with the field, this interval contains the limit at least as often as the intervals of the cells
/// contain their values. `None`: the limit is outside the values of the sweep; `note` gives the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectiveLimit {
    /// The other fields and their values.
    pub fixed: Vec<(Field, String)>,
    /// The first field.
    pub field: Field,
    /// The value.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
    /// A note, for example why there is no value.
    pub note: Option<String>,
}

/// The values of a field, each as text and as a number.
pub(super) fn steps(vary: &VariedField) -> Result<Vec<(String, f64)>, Error> {
    let number = |value: &String| {
        let step = vary.field.load_number(value).map(|number| (value.clone(), number.value));
        step.ok_or_else(|| Error::NoNumber { field: vary.field.clone(), value: value.clone() })
    };
    vary.values.iter().map(number).collect()
}

/// Cells with the same values of the other fields.
type Group<'a> = (&'a [(Field, String)], Vec<&'a MeasuredCell>);

/// One limit per combination of the other fields, in the order of the cells.
pub(super) fn objective_limits(
    objective: &Objective,
    field: &Field,
    steps: &[(String, f64)],
    cells: &[MeasuredCell],
) -> Vec<ObjectiveLimit> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in cells {
        let fixed = &cell.point.values[1..];
        match groups.iter_mut().find(|(other, _)| *other == fixed) {
            Some((_, group)) => group.push(cell),
            None => groups.push((fixed, vec![cell])),
        }
    }
    let at = |cell: &MeasuredCell| {
        let value = &cell.point.values[0].1;
        steps.iter().find(|(text, _)| text == value).expect("a value of the field").1
    };
    let answer = |(fixed, mut group): Group| {
        group.sort_by(|a, b| at(a).total_cmp(&at(b)));
        let is_measured = |cell: &MeasuredCell| !cell.objective.is_empty();
        let named = |excluded: &dyn Fn(&MeasuredCell) -> bool| {
            let cells = group.iter().filter(|cell| excluded(cell));
            cells.map(|cell| cell.point.values[0].1.as_str()).collect::<Vec<_>>().join(",")
        };
        let (invalid, unmeasured) = (named(&|cell| !cell.figures.is_valid()), named(&|cell| !is_measured(cell)));
        let (tried, points): (Vec<f64>, Vec<&[Option<Estimate>]>) = group
            .iter()
            .filter(|cell| cell.figures.is_valid() && is_measured(cell))
            .map(|cell| (at(cell), cell.objective.as_slice()))
            .unzip();
        let worst = |end: fn(&dyn Fn(f64) -> f64, Estimate) -> f64| -> Vec<f64> {
            points.iter().map(|figures| excess(objective, figures, end)).collect()
        };
        let value = crossing(&tried, &worst(|excess, figure| excess(figure.value)));
        let (low, high) = bracket(
            &tried,
            &worst(|excess, figure| excess(figure.low).max(excess(figure.high)).max(excess(figure.value))),
            &worst(|excess, figure| excess(figure.low).min(excess(figure.high)).min(excess(figure.value))),
        );
        let mut notes = Vec::new();
        match value {
            Crossing::Nowhere => notes.push("no valid cells".to_owned()),
            Crossing::Below => notes.push(format!("not met even at {}, the smallest value", tried[0])),
            Crossing::Above => notes.push(format!("met even at {}, the largest value", tried[tried.len() - 1])),
            Crossing::At(_) => {}
        }
        if !invalid.is_empty() {
            notes.push(format!("{field}={invalid} excluded: invalid"));
        }
        if !unmeasured.is_empty() {
            notes.push(format!("{field}={unmeasured} excluded: no request completed"));
        }
        ObjectiveLimit {
            fixed: fixed.to_vec(),
            field: field.clone(),
            value: whole(field, value).map(|x| x.max(low.unwrap_or(x)).min(high.unwrap_or(x))),
            low,
            high,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    };
    groups.into_iter().map(answer).collect()
}

/// The excess of the worst metric of the objective over its bound, in units of that bound; infinite for a missing
/// metric.
fn excess(objective: &Objective, figures: &[Option<Estimate>], end: fn(&dyn Fn(f64) -> f64, Estimate) -> f64) -> f64 {
    let one = |(threshold, figure): (&offered_workload::Threshold, &Option<Estimate>)| {
        let bound = &threshold.bound;
        // The excess of zero has the size of the bound.
        let unit = bound.excess(0.0).abs().max(f64::MIN_POSITIVE);
        figure.map_or(f64::INFINITY, |figure| end(&|x| bound.excess(x) / unit, figure))
    };
    objective.thresholds().iter().zip(figures).map(one).fold(f64::NEG_INFINITY, f64::max)
}

/// Where a curve first exceeds zero.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crossing {
    /// The metric has no points.
    Nowhere,
    /// Before the first point.
    Below,
    /// After the last point.
    Above,
    /// At this value.
    At(f64),
}

fn crossing(x: &[f64], excess: &[f64]) -> Crossing {
    match excess.iter().position(|excess| *excess > 0.0) {
        None if x.is_empty() => Crossing::Nowhere,
        None => Crossing::Above,
        Some(0) => Crossing::Below,
        Some(i) => {
            let (from, to) = (excess[i - 1], excess[i]);
            // From an infinite excess there is no interpolation: the crossing is at the finite point.
            let share = if from.is_infinite() { 1.0 } else { -from / (to - from) };
            Crossing::At(x[i - 1] + share * (x[i] - x[i - 1]))
        }
    }
}

/// Of the ascending values: the largest one at which even the upper end of the excess is at most zero, and the smallest
/// one at which even the lower end is above zero.
fn bracket(x: &[f64], worst: &[f64], best: &[f64]) -> (Option<f64>, Option<f64>) {
    let fails = best.iter().position(|excess| *excess > 0.0);
    let before = &worst[..fails.unwrap_or(worst.len())];
    (before.iter().rposition(|excess| *excess <= 0.0).map(|i| x[i]), fails.map(|i| x[i]))
}

fn whole(field: &Field, crossing: Crossing) -> Option<f64> {
    match crossing {
        Crossing::At(x) if field.is_whole() => Some(x.floor()),
        Crossing::At(x) => Some(x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_crosses_where_it_first_rises_above_zero() {
        let x = [25.0, 50.0, 100.0];
        assert_eq!(crossing(&x, &[-1.0, -0.5, 0.5]), Crossing::At(75.0));
        assert_eq!(crossing(&x, &[-1.0, 1.0, -1.0]), Crossing::At(37.5));
        assert_eq!(crossing(&x, &[-1.0, -0.5, 0.0]), Crossing::Above);
        assert_eq!(crossing(&x, &[0.1, -0.5, 0.0]), Crossing::Below);
        assert_eq!(crossing(&x, &[-1.0, -0.5, f64::INFINITY]), Crossing::At(50.0));
        assert_eq!(crossing(&x, &[f64::NEG_INFINITY, 0.5, 1.0]), Crossing::At(50.0));
        assert_eq!(crossing(&[], &[]), Crossing::Nowhere);
        assert_eq!(whole(&Field::Users, Crossing::At(75.9)), Some(75.0));
        assert_eq!(whole(&Field::Rate, Crossing::At(75.9)), Some(75.9));
    }

    #[test]
    fn the_limit_lies_between_the_last_cell_that_passes_and_the_first_that_fails() {
        let x = [25.0, 50.0, 75.0, 100.0];
        let between = |worst: [f64; 4], best: [f64; 4]| bracket(&x, &worst, &best);
        assert_eq!(between([-1.0, -0.1, 0.1, 0.9], [-1.2, -0.3, 0.05, 0.4]), (Some(50.0), Some(75.0)));
        // The cell at 75 is undecided.
        assert_eq!(between([-1.0, -0.1, 0.1, 0.9], [-1.2, -0.3, -0.1, 0.4]), (Some(50.0), Some(100.0)));
        let unknown = [f64::INFINITY; 4];
        assert_eq!(between(unknown, unknown.map(|x| -x)), (None, None));
        // A cell that passes after one that fails does not count.
        assert_eq!(between([-1.0, 0.9, -0.1, 0.9], [-1.2, 0.3, -0.3, 0.4]), (Some(25.0), Some(50.0)));
        assert_eq!(between([0.9; 4], [0.4; 4]), (None, Some(25.0)));
        assert_eq!(between([-0.4; 4], [-0.9; 4]), (Some(100.0), None));
    }

    #[test]
    fn steps_are_numbers_or_rates() {
        let steps = |text: &str| steps(&text.parse().unwrap()).map(|s| s.iter().map(|(_, x)| *x).collect::<Vec<_>>());
        assert_eq!(steps("users=25,50").unwrap(), [25.0, 50.0]);
        assert_eq!(steps("rate=6000/m,50").unwrap(), [100.0, 50.0]);
        assert!(matches!(steps("discipline=ps").unwrap_err(), Error::NoNumber { .. }));
    }

    #[test]
    fn the_worst_figure_counts() {
        let objective: Objective = "p99 < 200ms, errors < 1%".parse().unwrap();
        let sure = |value| Some(Estimate { value, low: value, high: value });
        let value = |figures: &[_]| excess(&objective, figures, |excess, figure| excess(figure.value));
        assert!((value(&[sure(0.1), sure(0.02)]) - 1.0).abs() < 1e-9, "errors are twice what they may be");
        assert!((value(&[sure(0.1), sure(0.0)]) + 0.5).abs() < 1e-9);
        assert_eq!(value(&[None, sure(0.0)]), f64::INFINITY);
    }
}
