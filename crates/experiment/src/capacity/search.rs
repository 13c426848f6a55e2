//! Bracketing and bisection with noisy results: the next value to try, and the known bounds.

use offered_stats::steady_state::{Estimate, from_trials};
use offered_workload::Objective;

use crate::document::capacity::ObjectiveResult;

/// Numbers of trials at one value after which they are evaluated. An interval that is evaluated repeatedly misses the truth more often
/// than once, so intervals are wider by a factor.
pub(super) struct Looks {
    /// Ascending.
    trials: &'static [usize],
    /// Half-width relative to the half-width of a 95 % interval that is evaluated once.
    factor: f64,
}

/// For runs: 95 % over all evaluations. Pocock, Group sequential methods, Biometrika 64 (1977), Table 1, eight looks: 2.512 where one look
/// needs 1.960.
pub(super) const RUN: Looks = Looks { trials: &[3, 4, 5, 6, 7, 8, 9, 10], factor: 2.512 / 1.960 };
/// For simulations, which are cheap: more trials, fewer looks, and 90 % over all evaluations (five looks: 2.122). An end of the result is
/// wrong on one side only, so that 95 % of the lower ends and of the upper ends are right.
pub(super) const SIMULATED: Looks = Looks { trials: &[3, 6, 12, 24, 48], factor: 2.122 / 1.960 };

impl Looks {
    /// Whether this number of trials is evaluated.
    pub(super) fn includes(&self, trials: usize) -> bool {
        self.trials.contains(&trials)
    }

    /// Maximum number of trials.
    pub(super) fn last(&self) -> usize {
        self.trials[self.trials.len() - 1]
    }

    /// The mean of every metric over `trials` (each with one value per threshold), with an interval valid for repeated evaluation.
    pub(super) fn means(&self, trials: &[Vec<f64>]) -> Vec<Estimate> {
        let mean = |place: usize| {
            let values: Vec<f64> = trials.iter().map(|trial| trial[place]).collect();
            let Estimate { value, low, high } = from_trials(&values);
            Estimate { value, low: value - (value - low) * self.factor, high: value + (high - value) * self.factor }
        };
        (0..trials.first().map_or(0, Vec::len)).map(mean).collect()
    }
}

/// The result of the objective: passed if the interval of every metric is within its bound, failed if one interval is outside.
pub(super) fn evaluate(objective: &Objective, means: &[Estimate]) -> ObjectiveResult {
    let mut result = ObjectiveResult::Passed;
    for (threshold, figure) in objective.thresholds().iter().zip(means) {
        let ends = [figure.low, figure.value, figure.high].map(|x| threshold.bound.excess(x));
        if ends.iter().all(|excess| *excess > 0.0) {
            return ObjectiveResult::Failed;
        }
        if ends.iter().any(|excess| *excess > 0.0) {
            result = ObjectiveResult::Undecided;
        }
    }
    result
}

/// Maximum ratio between a value and the first value of the search.
const MAX_RATIO: f64 = 1000.0;

/// The bracket around the largest value that meets an objective. Smaller values are assumed to pass, larger ones to fail.
pub(super) struct Range {
    /// The largest value that passed.
    pub(super) low: Option<f64>,
    /// The smallest value that failed.
    pub(super) high: Option<f64>,
    /// The range of undecided values between them.
    undecided: Option<(f64, f64)>,
    precision: f64,
    /// The precision of each end around undecided values. It is half of the required precision, so that the whole
    /// bracket is narrow enough if the undecided range is.
    precision_of_ends: f64,
    /// Whether only integers are possible.
    whole: bool,
}

impl Range {
    /// A search up to this precision, as a fraction, of simulations or of runs. Runs take long: their ends are not moved any further where each
    /// of them has the precision, although the bracket around an undecided value does not have it.
    pub(super) fn new(precision: f64, whole: bool, simulated: bool) -> Self {
        let precision_of_ends = if simulated { precision / 2.0 } else { precision };
        Self { low: None, high: None, undecided: None, precision, precision_of_ends, whole }
    }

    /// The next value to try, rounded to six digits; `None` if the bracket has reached the precision, or the maximum ratio is exceeded.
    pub(super) fn next(&self, start: f64) -> Option<f64> {
        self.unrounded(start).map(|value| format!("{value:.5e}").parse().expect("it was a number"))
    }

    fn unrounded(&self, start: f64) -> Option<f64> {
        let bottom = self.undecided.map(|range| range.0).or(self.high);
        let top = self.undecided.map(|range| range.1).or(self.low);
        match (self.low, bottom, top, self.high) {
            (None, None, ..) => Some(if self.whole { start.round().max(1.0) } else { start }),
            (None, Some(bottom), ..) if bottom <= start / MAX_RATIO => None,
            (None, Some(bottom), ..) if self.whole => (bottom > 1.0).then(|| (bottom / 2.0).floor()),
            (None, Some(bottom), ..) => Some(bottom / 2.0),
            (_, _, Some(top), None) => (top < start * MAX_RATIO).then_some(top * 2.0),
            (Some(low), Some(bottom), Some(top), Some(high)) => {
                let gaps = [(low, bottom), (top, high)];
                let (from, to) = gaps.into_iter().max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
                let precision = if self.undecided.is_some() { self.precision_of_ends } else { self.precision };
                (high / low > 1.0 + self.precision).then(|| self.between(from, to, precision))?
            }
            _ => None,
        }
    }

    /// The geometric mean of two values, if their ratio exceeds this precision.
    fn between(&self, from: f64, to: f64, precision: f64) -> Option<f64> {
        let middle = (from * to).sqrt();
        match self.whole {
            true => {
                (to - from > 1.0 && to / from > 1.0 + precision).then(|| middle.round().clamp(from + 1.0, to - 1.0))
            }
            false => (to / from > 1.0 + precision).then_some(middle),
        }
    }

    /// Records a result. A result that contradicts an undecided value only widens the undecided range.
    pub(super) fn learn(&mut self, value: f64, said: ObjectiveResult) {
        match (said, &mut self.undecided) {
            (ObjectiveResult::Passed, Some(range)) if value > range.0 => range.1 = range.1.max(value),
            (ObjectiveResult::Failed, Some(range)) if value < range.1 => range.0 = range.0.min(value),
            (ObjectiveResult::Undecided, Some(range)) => *range = (range.0.min(value), range.1.max(value)),
            (ObjectiveResult::Undecided, None) => self.undecided = Some((value, value)),
            (ObjectiveResult::Passed, _) => self.low = Some(value),
            (ObjectiveResult::Failed, _) => self.high = Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches for `truth`, the largest passing value; values within `noise` of it (as a fraction) are undecided.
    fn search(start: f64, truth: f64, noise: f64, whole: bool) -> (Range, usize) {
        search_of(Range::new(0.05, whole, false), start, truth, noise)
    }

    fn search_of(mut range: Range, start: f64, truth: f64, noise: f64) -> (Range, usize) {
        let mut tries = 0;
        while let Some(value) = range.next(start) {
            let result = match value / truth - 1.0 {
                off if off.abs() < noise => ObjectiveResult::Undecided,
                off if off <= 0.0 => ObjectiveResult::Passed,
                _ => ObjectiveResult::Failed,
            };
            range.learn(value, result);
            tries += 1;
            assert!(tries < 60, "{start} to {truth} does not end");
        }
        (range, tries)
    }

    proptest! {
        #[test]
        fn the_truth_lies_between_the_ends(start in 0.1f64..1e5, away in -6.0f64..6.0, noise in 0.0f64..0.2) {
            let truth = start * away.exp();
            let (range, _) = search(start, truth, noise, false);
            let (low, high) = (range.low.unwrap(), range.high.unwrap());
            prop_assert!(low <= truth && truth <= high, "{} to {} for {}", low, high, truth);
            let unsure = (1.0 + noise) / (1.0 - noise);
            prop_assert!(high / low <= unsure * 1.05 * 1.05 + 1e-9, "{} to {} for noise {}", low, high, noise);
            let (range, _) = search_of(Range::new(0.05, false, true), start, truth, noise);
            let (low, high) = (range.low.unwrap(), range.high.unwrap());
            prop_assert!(low <= truth && truth <= high, "{} to {} for {}", low, high, truth);
            prop_assert!(high / low <= unsure.max(1.0) * 1.025 * 1.025 + 1e-9, "{} to {} for noise {}", low, high, noise);
        }

        #[test]
        fn users_are_whole(start in 1u32..1000, truth in 1u32..1000) {
            let (range, _) = search(f64::from(start), f64::from(truth), 0.0, true);
            let (low, high) = (range.low.unwrap(), range.high.unwrap());
            prop_assert!(low.fract() == 0.0 && high.fract() == 0.0);
            prop_assert!(low <= f64::from(truth) && f64::from(truth) < high);
            prop_assert!(high - low <= (0.05 * low).max(1.0) + 1e-9, "{} to {}", low, high);
        }
    }

    #[test]
    fn the_result_may_be_below_one_user() {
        let (range, tries) = search(16.0, 0.5, 0.0, true);
        assert_eq!((range.low, range.high, tries), (None, Some(1.0), 5));
    }

    #[test]
    fn a_search_stays_within_the_maximum_ratio() {
        let (up, tries) = search(3.0, f64::INFINITY, 0.0, true);
        assert_eq!((up.low, up.high, tries), (Some(3.0 * 1024.0), None, 11));
        let (down, tries) = search(3.0, 1e-9, 0.0, false);
        // Each value tries is rounded to six digits, and the next is half of it.
        assert!((down.high.unwrap() * 1024.0 / 3.0 - 1.0).abs() < 1e-5, "{:?}", down.high);
        assert_eq!((down.low, tries), (None, 11));
    }

    #[test]
    fn repeated_evaluation_widens_the_intervals() {
        let trials: Vec<Vec<f64>> = [0.19, 0.20, 0.21].iter().map(|x| vec![*x]).collect();
        let mean = &RUN.means(&trials)[0];
        // Student's t for two degrees of freedom is 4.303; sqrt(0.01^2 / 3) = 0.00577.
        assert!((mean.half_width() - 4.303 * 0.01 / 3f64.sqrt() * 2.512 / 1.960).abs() < 1e-4, "{}", mean.half_width());
    }

    #[test]
    fn the_result_follows_from_the_intervals() {
        let objective: Objective = "p99 < 250ms, errors < 1%".parse().unwrap();
        let result = |trials: &[[f64; 2]]| {
            evaluate(&objective, &RUN.means(&trials.iter().map(|t| t.to_vec()).collect::<Vec<_>>()))
        };
        assert_eq!(result(&[[0.2, 0.0], [0.21, 0.0], [0.19, 0.0]]), ObjectiveResult::Passed);
        assert_eq!(result(&[[0.24, 0.0], [0.26, 0.0], [0.23, 0.0]]), ObjectiveResult::Undecided);
        assert_eq!(result(&[[0.3, 0.0], [0.31, 0.0], [0.29, 0.0]]), ObjectiveResult::Failed);
        assert_eq!(
            result(&[[0.24, 0.02], [0.26, 0.02], [0.23, 0.02]]),
            ObjectiveResult::Failed,
            "one broken is enough"
        );
    }
}
