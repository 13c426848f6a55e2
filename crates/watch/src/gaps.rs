//! Streaming CoV of the gaps between instants that arrive in any order.

use std::collections::BTreeSet;

/// The number and CoV of the gaps between neighbouring instants, exact after each insertion.
///
/// Instants are sorted. A new instant splits one gap in two, so its neighbours suffice to update the sum of squares. The sum of all gaps
/// is the last instant minus the first. [`Gaps::forget`] drops instants that cannot get new neighbours; their gaps stay in the
/// sums.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Instants that may still get new neighbours, without duplicates.
    instants: BTreeSet<u64>,
    first: u64,
    n: u64,
    /// Sum of the squares of all gaps.
    squares: u128,
    /// Whether earlier instants have been dropped.
    is_cut: bool,
}

impl Gaps {
    /// Adds an instant. Ignores it if it is earlier than all remaining instants after some were dropped.
    pub(crate) fn insert(&mut self, at: u64) {
        let before = self.instants.range(..=at).next_back().copied();
        if before.is_none() && self.is_cut {
            return;
        }
        self.n += 1;
        let after = self.instants.range(at..).next().copied();
        let square = |from: Option<u64>, to: Option<u64>| from.zip(to).map_or(0, |(a, b)| u128::from(b - a).pow(2));
        self.squares += square(before, Some(at)) + square(Some(at), after);
        self.squares -= square(before, after);
        if before.is_none() {
            self.first = at;
        }
        self.instants.insert(at);
    }

    /// Drops all instants before `instant` except the last one.
    pub(crate) fn forget(&mut self, instant: u64) {
        if let Some(last) = self.instants.range(..instant).next_back().copied() {
            self.is_cut = self.is_cut || self.instants.first() != Some(&last);
            self.instants = self.instants.split_off(&last);
        }
    }

    /// The number of gaps.
    pub(crate) fn count(&self) -> usize {
        self.n.saturating_sub(1) as usize
    }

    /// Standard deviation / mean of the gaps (divisor n - 1); `None` with fewer than two gaps, or if all are zero.
    pub(crate) fn cov(&self) -> Option<f64> {
        let (n, sum) = (self.count() as f64, self.span()? as f64);
        if n < 2.0 || sum <= 0.0 {
            return None;
        }
        let variance = (self.squares as f64 - sum * sum / n).max(0.0) / (n - 1.0);
        Some(variance.sqrt() / (sum / n))
    }

    /// Requests per second: one over the mean gap.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        let span = self.span().filter(|span| *span > 0)?;
        Some(self.count() as f64 / (span as f64 / 1e9))
    }

    /// The time from the first instant to the last.
    fn span(&self) -> Option<u64> {
        self.instants.last().map(|last| last - self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_stats::summary::gaps;
    use proptest::prelude::*;

    fn of(instants: impl IntoIterator<Item = u64>) -> Gaps {
        let mut gaps = Gaps::default();
        instants.into_iter().for_each(|at| gaps.insert(at));
        gaps
    }

    /// The CoV by definition, from all instants.
    fn by_definition(mut instants: Vec<u64>) -> Option<f64> {
        instants.sort_unstable();
        offered_stats::cov::cov(&gaps(&instants).map(|gap| gap as f64).collect::<Vec<_>>())
    }

    fn same(a: Option<f64>, b: Option<f64>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            (a, b) => a == b,
        }
    }

    #[test]
    fn few_instants_have_no_cov() {
        assert_eq!((of([]).cov(), of([]).count(), of([]).rate_per_s()), (None, 0, None));
        assert_eq!((of([5]).cov(), of([5]).count(), of([5]).rate_per_s()), (None, 0, None));
        assert_eq!((of([5, 5, 5]).cov(), of([5, 5, 5]).count(), of([5, 5, 5]).rate_per_s()), (None, 2, None));
        assert_eq!(of([0, 1_000_000_000, 500_000_000]).rate_per_s(), Some(2.0));
    }

    proptest! {
        #[test]
        fn any_order_gives_the_cov_of_the_definition(instants in prop::collection::vec(0u64..1_000_000, 3..200)) {
            prop_assert!(same(of(instants.iter().copied()).cov(), by_definition(instants)));
        }

        #[test]
        fn forgetting_changes_nothing_if_later_instants_follow(
            early in prop::collection::vec(0u64..1000, 2..50),
            late in prop::collection::vec(1000u64..2000, 2..50),
        ) {
            let mut gaps = of(early.iter().copied());
            gaps.forget(1000);
            prop_assert_eq!(gaps.instants.len(), 1);
            for at in &late {
                gaps.insert(*at);
            }
            prop_assert!(same(gaps.cov(), by_definition([early, late].concat())));
        }
    }

    #[test]
    fn instants_that_arrive_too_late_are_ignored() {
        let mut gaps = of([10, 20, 30, 40]);
        gaps.forget(35);
        gaps.insert(15);
        assert_eq!((gaps.count(), gaps.cov()), (3, Some(0.0)));
    }
}
