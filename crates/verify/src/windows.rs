//! The dispersion of counts at a ladder of windows, from a millisecond to a twentieth of the run.

use offered_stats::dispersion::{Dispersion, counts, dispersion};

use crate::finding::{Size, Strictness};
use crate::stream::Stream;
use crate::verdict::{Check, Finding};

/// What this finding has of the level; the other shares are in poisson.rs.
const SHARE: f64 = 0.12;
/// A rung needs so many windows.
pub(crate) const FEWEST: u64 = 20;
/// And in each so many launches on average.
const LEAST: f64 = 0.25;

/// The dispersion at every rung (1, 2, 5 times a power of ten) that the stream fills.
pub(crate) fn ladder(stream: &Stream) -> Vec<Dispersion> {
    if !stream.is_long_enough() {
        return Vec::new();
    }
    // Windows begin with a tick, so that no tick is torn.
    let tick = (stream.tick as u64).max(1);
    let (from, length) = (stream.instants[0] / tick * tick, stream.length());
    let decades = (6..15).map(|power| 10u64.pow(power));
    decades
        .flat_map(|decade| [decade, 2 * decade, 5 * decade])
        .skip_while(|&window| window < tick || (window as f64) < LEAST * stream.mean_gap())
        .take_while(|&window| window <= length / FEWEST)
        .filter_map(|window| dispersion(&counts(&stream.instants, from, from + length, window), window))
        .collect()
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
