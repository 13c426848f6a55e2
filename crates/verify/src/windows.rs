//! The dispersion of counts at a ladder of windows, from a millisecond to a twentieth of the run.

use offered_stats::dispersion::Dispersion;
use offered_stats::windows::Dispersed;

use crate::ends::Ends;
use crate::finding::{Size, Strictness};
use crate::verdict::{Check, Finding};

/// What this finding has of the level; the other shares are in poisson.rs.
const SHARE: f64 = 0.12;
/// A rung needs so many windows.
pub(crate) const FEWEST: u64 = 20;
/// And in each so many launches on average.
const LEAST: f64 = 0.25;

/// Counts at every rung (1, 2, 5 times a power of ten) that a stream fills, as its instants come.
#[derive(Default)]
pub(crate) struct Ladder(Vec<Dispersed>);

impl Ladder {
    /// Of a stream with these ends.
    pub(crate) fn new(ends: Ends, tick: u64) -> Self {
        // Windows begin with a tick, so that no tick is torn.
        let (from, length) = (ends.first / tick * tick, ends.length());
        let decades = (6..15).map(|power| 10u64.pow(power));
        let rungs = decades
            .flat_map(|decade| [decade, 2 * decade, 5 * decade])
            .skip_while(|&window| window < tick || (window as f64) < LEAST * ends.mean_gap())
            .take_while(|&window| window <= length / FEWEST);
        Self(rungs.map(|window| Dispersed::new(from, from + length, window)).collect())
    }

    /// Takes an instant.
    #[inline]
    pub(crate) fn add(&mut self, at: u64) {
        self.0.iter_mut().for_each(|rung| rung.add(at));
    }

    pub(crate) fn finish(self) -> Vec<Dispersion> {
        self.0.into_iter().filter_map(Dispersed::finish).collect()
    }
}

/// Is the index 1 at every rung? The worst rung that matters speaks, its p-value multiplied by the number of rungs.
pub(crate) fn finding(ladder: &[Dispersion], strictness: Strictness) -> Finding {
    // Counts of independent gaps have the square of the gaps' CoV as their index, so the tolerance is twice that of a CoV.
    let matters = |rung: &&Dispersion| (rung.idc - 1.0).abs() > 2.0 * strictness.tolerance;
    let worst = |a: &&Dispersion, b: &&Dispersion| a.test.p.total_cmp(&b.test.p);
    let rung = ladder.iter().filter(matters).min_by(worst).or_else(|| ladder.iter().min_by(worst));
    let test = rung.map(|rung| offered_stats::Test { p: (rung.test.p * ladder.len() as f64).min(1.0), ..rung.test });
    let effect = rung
        .map_or_else(Size::default, |rung| Size::of(rung.idc, 1.0, 2.0 * strictness.tolerance).within(rung.interval));
    strictness.finding(Check::Dispersion, test, SHARE, effect)
}
