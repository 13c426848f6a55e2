//! Coarse stamps: launches written down in whole milliseconds, tested as if they had been written exactly.
//!
//! Rounding makes ties, and a test for exponential gaps then rejects every true Poisson stream. Given how many launches of a
//! Poisson process fall into a tick, they are uniform in it and independent; so adding to each stamp a uniform part of its tick
//! turns a rounded Poisson process back into a Poisson process, *exactly*, and every test keeps its false-alarm rate.
//!
//! # Limitations
//! What happened inside a tick is gone: bunches shorter than the tick look like chance afterwards. Counts in windows of many
//! ticks still tell the truth.

/// `sorted` stamps, each put at a random place of the tick that begins at it, in ascending order again.
///
/// `uniform` yields numbers in (0, 1). A tick of one unit or none leaves the stamps as they are.
pub fn spread(sorted: &[u64], tick: u64, mut uniform: impl FnMut() -> f64) -> Vec<u64> {
    let mut spread = sorted.to_vec();
    if tick > 1 {
        for stamp in &mut spread {
            *stamp = stamp.saturating_add((uniform() * tick as f64) as u64);
        }
        // Nearly sorted already: the standard sort finds the runs.
        spread.sort_unstable();
    }
    spread
}

/// The CoV of gaps with the variance that rounding to ticks added taken out again, from their `mean` and `sdev`.
///
/// Two rounded ends add tick^2 / 6 on average (Sheppard's correction, twice); zero where nothing is left. All three in one
/// unit.
pub fn corrected_cov(mean: f64, sdev: f64, tick: f64) -> f64 {
    (sdev * sdev - tick * tick / 6.0).max(0.0).sqrt() / mean
}
