//! The stream that is judged: launch instants, ticks spread, with their gaps in the orders the tests need.

use offered_model::random::Purpose;
use offered_model::{Event, Seed};
use offered_stats::summary::gaps;
use offered_stats::ticks;

use crate::scope::Scope;

/// Below so many gaps no pattern is named: a CoV of 0.75 would still be chance.
pub(crate) const FEWEST_GAPS: usize = 50;

/// Tests whose work grows faster than their sample look at so many neighbouring gaps from the middle of the stream.
const STRETCH: usize = 50_000;

/// A stream of launches.
pub(crate) struct Stream {
    /// The instants in ns, ascending, each put somewhere in its tick.
    pub(crate) instants: Vec<u64>,
    /// The CoV of the gaps without what rounding added to it; `None` for fewer than two gaps.
    pub(crate) corrected_cov: Option<f64>,
    /// Their differences in order.
    pub(crate) gaps: Vec<f64>,
    /// And by size.
    pub(crate) sorted_gaps: Vec<f64>,
    /// The tick in ns.
    pub(crate) tick: f64,
}

impl Stream {
    /// The launches of `scope` for which `which` holds.
    pub(crate) fn new(scope: Scope, seed: Seed, which: impl Fn(&Event) -> bool) -> Self {
        Self::of_instants(scope.sent(which), scope, seed)
    }

    /// The launches that were meant, as if all had been sent in time.
    pub(crate) fn intended(scope: Scope, seed: Seed, which: impl Fn(&Event) -> bool) -> Self {
        let mut intended: Vec<u64> = scope.meant().filter(|event| which(event)).map(|event| event.intended.0).collect();
        intended.sort_unstable();
        Self::of_instants(intended, scope, seed)
    }

    fn of_instants(sent: Vec<u64>, scope: Scope, seed: Seed) -> Self {
        let tick = scope.recording.resolution.0;
        let corrected_cov = ticks::corrected_cov(&sent, tick);
        let mut chance = seed.stream(Purpose::Judge);
        let instants = ticks::spread(&sent, tick, || chance.uniform());
        let gaps: Vec<f64> = gaps(&instants).map(|gap| gap as f64).collect();
        let mut sorted_gaps = gaps.clone();
        sorted_gaps.sort_unstable_by(f64::total_cmp);
        Self { instants, corrected_cov, gaps, sorted_gaps, tick: tick as f64 }
    }

    /// Whether a pattern can be named at all: enough gaps, over enough ticks of the clock.
    pub(crate) fn is_long_enough(&self) -> bool {
        self.gaps.len() >= FEWEST_GAPS && self.length() as f64 >= FEWEST_GAPS as f64 * self.tick.max(1.0)
    }

    /// In ns.
    pub(crate) fn mean_gap(&self) -> f64 {
        self.gaps.iter().sum::<f64>() / self.gaps.len() as f64
    }

    /// Launches per second, from the gaps.
    pub(crate) fn rate_per_s(&self) -> Option<f64> {
        (self.length() > 0).then(|| 1e9 / self.mean_gap())
    }

    /// From the first launch to the last, in ns.
    pub(crate) fn length(&self) -> u64 {
        self.instants.last().map_or(0, |last| last - self.instants[0])
    }

    /// Neighbouring gaps from the middle, no more than the slow tests can bear.
    pub(crate) fn stretch(&self) -> &[f64] {
        let spare = self.gaps.len().saturating_sub(STRETCH);
        &self.gaps[spare / 2..self.gaps.len() - spare.div_ceil(2)]
    }
}
