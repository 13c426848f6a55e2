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

/// The CoV of the gaps between `sorted` stamps without what rounding to ticks added to it. `None` for fewer than two gaps.
///
/// Two rounded ends add tick^2 / 6 to the variance (Sheppard's correction, twice), but only where a gap is several ticks long.
/// Of finer gaps the sums of k are looked at, k so large that a sum is four ticks: their variance is k times that of one gap
/// when gaps are independent, and next to nothing for a clock.
pub fn corrected_cov(sorted: &[u64], tick: u64) -> Option<f64> {
    let gaps = sorted.len().saturating_sub(1);
    let length = sorted.last()? - sorted[0];
    if gaps < 2 || length == 0 {
        return None;
    }
    let mean = length as f64 / gaps as f64;
    let tick = if tick > 1 { tick as f64 } else { 0.0 };
    let k = ((4.0 * tick / mean).ceil() as usize).clamp(1, gaps / 2);
    let sums: Vec<f64> = sorted.windows(k + 1).step_by(k).map(|run| (run[k] - run[0]) as f64).collect();
    let middle = sums.iter().sum::<f64>() / sums.len() as f64;
    let variance = sums.iter().map(|sum| (sum - middle).powi(2)).sum::<f64>() / (sums.len() - 1) as f64;
    Some(((variance - tick * tick / 6.0).max(0.0) / k as f64).sqrt() / mean)
}
