//! Bracketing and bisection with noisy answers: what is asked next, and what is known.

use offered_model::Objective;
use offered_stats::steady_state::{Estimate, from_trials};

use crate::document::capacity::Said;

/// The trials of one value are looked at again with every one that is added, and a 95 % interval looked at often misses more often
/// than one time in twenty. Wider by so much it misses that seldom in all: Pocock, Group sequential methods, Biometrika 64
/// (1977), Table 1, eight looks (after the third to the tenth trial), 2.512 where one look needs 1.960.
const LOOKS: f64 = 2.512 / 1.960;

/// The mean of every figure over `trials` (each with a figure per threshold), with its 95 % interval however often one looks.
pub(super) fn means(trials: &[Vec<f64>]) -> Vec<Estimate> {
    let mean = |place: usize| {
        let values: Vec<f64> = trials.iter().map(|trial| trial[place]).collect();
        let Estimate { value, low, high } = from_trials(&values);
        Estimate { value, low: value - (value - low) * LOOKS, high: value + (high - value) * LOOKS }
    };
    (0..trials.first().map_or(0, Vec::len)).map(mean).collect()
}

/// What these means say: kept where the interval of every figure lies within its bound, broken where that of one lies beyond.
pub(super) fn judge(objective: &Objective, means: &[Estimate]) -> Said {
    let mut said = Said::Keeps;
    for (threshold, figure) in objective.thresholds().iter().zip(means) {
        let ends = [figure.low, figure.value, figure.high].map(|x| threshold.bound.excess(x));
        if ends.iter().all(|excess| *excess > 0.0) {
            return Said::Breaks;
        }
        if ends.iter().any(|excess| *excess > 0.0) {
            said = Said::Unsure;
        }
    }
    said
}

/// A search goes no farther from where it began than this many times.
const REACH: f64 = 1000.0;

/// What is known of the largest value that keeps an objective, which smaller values keep and larger ones break.
pub(super) struct Range {
    /// The largest value known to keep it.
    pub(super) low: Option<f64>,
    /// The smallest known to break it.
    pub(super) high: Option<f64>,
    /// Values between them that are too close to tell.
    unsure: Option<(f64, f64)>,
    precision: f64,
    /// Whether there are whole values only.
    whole: bool,
}

impl Range {
    pub(super) fn new(precision: f64, whole: bool) -> Self {
        Self { low: None, high: None, unsure: None, precision, whole }
    }

    /// The value to ask next, of six digits; `None` when no end can be moved by more than the precision, or there is none within reach.
    pub(super) fn next(&self, start: f64) -> Option<f64> {
        self.wanted(start).map(|value| format!("{value:.5e}").parse().expect("it was a number"))
    }

    fn wanted(&self, start: f64) -> Option<f64> {
        let bottom = self.unsure.map(|unsure| unsure.0).or(self.high);
        let top = self.unsure.map(|unsure| unsure.1).or(self.low);
        match (self.low, bottom, top, self.high) {
            (None, None, ..) => Some(if self.whole { start.round().max(1.0) } else { start }),
            (None, Some(bottom), ..) if bottom <= start / REACH => None,
            (None, Some(bottom), ..) if self.whole => (bottom > 1.0).then(|| (bottom / 2.0).floor()),
            (None, Some(bottom), ..) => Some(bottom / 2.0),
            (_, _, Some(top), None) => (top < start * REACH).then_some(top * 2.0),
            (Some(low), Some(bottom), Some(top), Some(high)) => {
                let gaps = [(low, bottom), (top, high)];
                let (from, to) = gaps.into_iter().max_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)))?;
                self.between(from, to)
            }
            _ => None,
        }
    }

    /// A value well between two others, where the gap is wide enough to ask.
    fn between(&self, from: f64, to: f64) -> Option<f64> {
        let middle = (from * to).sqrt();
        match self.whole {
            true => (to - from > 1.0 && to / from > 1.0 + self.precision)
                .then(|| middle.round().clamp(from + 1.0, to - 1.0)),
            false => (to / from > 1.0 + self.precision).then_some(middle),
        }
    }

    /// Takes an answer in. One that contradicts an unsure one below or above it only widens what is unsure.
    pub(super) fn learn(&mut self, value: f64, said: Said) {
        match (said, &mut self.unsure) {
            (Said::Keeps, Some(unsure)) if value > unsure.0 => unsure.1 = unsure.1.max(value),
            (Said::Breaks, Some(unsure)) if value < unsure.1 => unsure.0 = unsure.0.min(value),
            (Said::Unsure, Some(unsure)) => *unsure = (unsure.0.min(value), unsure.1.max(value)),
            (Said::Unsure, None) => self.unsure = Some((value, value)),
            (Said::Keeps, _) => self.low = Some(value),
            (Said::Breaks, _) => self.high = Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches where `truth` is the largest value that keeps, and within `noise` (a share of it) nobody can tell.
    fn found(start: f64, truth: f64, noise: f64, whole: bool) -> (Range, usize) {
        let mut range = Range::new(0.05, whole);
        let mut asked = 0;
        while let Some(value) = range.next(start) {
            let said = match value / truth - 1.0 {
                off if off.abs() < noise => Said::Unsure,
                off if off <= 0.0 => Said::Keeps,
                _ => Said::Breaks,
            };
            range.learn(value, said);
            asked += 1;
            assert!(asked < 60, "{start} to {truth} does not end");
        }
        (range, asked)
    }

    proptest! {
        #[test]
        fn the_truth_lies_between_the_ends(start in 0.1f64..1e5, away in -6.0f64..6.0, noise in 0.0f64..0.2) {
            let truth = start * away.exp();
            let (range, _) = found(start, truth, noise, false);
            let (low, high) = (range.low.unwrap(), range.high.unwrap());
            prop_assert!(low <= truth && truth <= high, "{} to {} for {}", low, high, truth);
            let unsure = (1.0 + noise) / (1.0 - noise);
            prop_assert!(high / low <= unsure * 1.05 * 1.05 + 1e-9, "{} to {} for noise {}", low, high, noise);
        }

        #[test]
        fn users_are_whole(start in 1u32..1000, truth in 1u32..1000) {
            let (range, _) = found(f64::from(start), f64::from(truth), 0.0, true);
            let (low, high) = (range.low.unwrap(), range.high.unwrap());
            prop_assert!(low.fract() == 0.0 && high.fract() == 0.0);
            prop_assert!(low <= f64::from(truth) && f64::from(truth) < high);
            prop_assert!(high - low <= (0.05 * low).max(1.0) + 1e-9, "{} to {}", low, high);
        }
    }

    #[test]
    fn no_user_at_all_may_be_the_answer() {
        let (range, asked) = found(16.0, 0.5, 0.0, true);
        assert_eq!((range.low, range.high, asked), (None, Some(1.0), 5));
    }

    #[test]
    fn a_search_stays_within_a_thousand_times_its_beginning() {
        let (up, asked) = found(3.0, f64::INFINITY, 0.0, true);
        assert_eq!((up.low, up.high, asked), (Some(3.0 * 1024.0), None, 11));
        let (down, asked) = found(3.0, 1e-9, 0.0, false);
        // Each value asked is rounded to six digits, and the next is half of it.
        assert!((down.high.unwrap() * 1024.0 / 3.0 - 1.0).abs() < 1e-5, "{:?}", down.high);
        assert_eq!((down.low, asked), (None, 11));
    }

    #[test]
    fn looking_often_asks_for_wider_intervals() {
        let trials: Vec<Vec<f64>> = [0.19, 0.20, 0.21].iter().map(|x| vec![*x]).collect();
        let mean = &means(&trials)[0];
        // Student's t for two degrees of freedom is 4.303; sqrt(0.01^2 / 3) = 0.00577.
        assert!((mean.half_width() - 4.303 * 0.01 / 3f64.sqrt() * 2.512 / 1.960).abs() < 1e-4, "{}", mean.half_width());
    }

    #[test]
    fn trials_say_what_their_interval_says() {
        let objective: Objective = "p99 < 250ms, errors < 1%".parse().unwrap();
        let said =
            |trials: &[[f64; 2]]| judge(&objective, &means(&trials.iter().map(|t| t.to_vec()).collect::<Vec<_>>()));
        assert_eq!(said(&[[0.2, 0.0], [0.21, 0.0], [0.19, 0.0]]), Said::Keeps);
        assert_eq!(said(&[[0.24, 0.0], [0.26, 0.0], [0.23, 0.0]]), Said::Unsure);
        assert_eq!(said(&[[0.3, 0.0], [0.31, 0.0], [0.29, 0.0]]), Said::Breaks);
        assert_eq!(said(&[[0.24, 0.02], [0.26, 0.02], [0.23, 0.02]]), Said::Breaks, "one broken is enough");
    }
}
