//! Bunches: launches that come several at a time, as when many workers share one ticker.
//!
//! In a bunched stream gaps have two sizes with nothing in between: tiny inside a bunch, large between bunches. That valley is
//! what is looked for; a merely bursty stream (say, gamma gaps with a CoV of 2) has gaps of every size and no valley.
//! And bunches are short: most of the time nothing is launched. A steady stream with a few long pauses (a ramp, a stall) has a
//! valley too, but no bunches.

use crate::cov::cov;

/// How a bunched stream is bunched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bunches {
    /// Launches per bunch, on average.
    pub size: f64,
    /// The median time from the start of a bunch to the start of the next, in the unit of the instants.
    pub every: f64,
    /// The CoV of those times: near 0 for a ticker, near 1 for bunches at random.
    pub spacing_cov: f64,
}

/// A step from one gap to the next larger one (a thousandth of the sample further up) by more than this factor is a valley.
const VALLEY: f64 = 3.0;
/// Bunches fill at most this share of the time.
const FILLED: f64 = 0.5;

/// The bunches of `sorted` instants; `None` when there is no valley in the sizes of the gaps, or what is
/// between valleys fills most of the time.
///
/// Gaps below the 30 % point are not searched (at least that share of the gaps must be inside bunches), nor the last three.
pub fn find(sorted: &[u64]) -> Option<Bunches> {
    let mut gaps: Vec<u64> = crate::summary::gaps(sorted).map(|gap| gap.max(1)).collect();
    let n = gaps.len();
    if n < 20 {
        return None;
    }
    gaps.sort_unstable();
    let step = (n / 1000).max(1);
    let ratio = |i: usize| gaps[i + step] as f64 / gaps[i] as f64;
    let at = (n * 3 / 10..n - step - 2).max_by(|&i, &j| ratio(i).total_cmp(&ratio(j)))?;
    if ratio(at) < VALLEY {
        return None;
    }
    // The threshold is the middle of the valley on the logarithmic scale.
    let threshold = (gaps[at] as f64 * gaps[at + step] as f64).sqrt();
    let inside: u64 = gaps.iter().take_while(|gap| **gap as f64 <= threshold).sum();
    if inside as f64 > FILLED * (sorted[n] - sorted[0]) as f64 {
        return None;
    }
    let mut starts = vec![sorted[0]];
    starts.extend(sorted.windows(2).filter(|pair| (pair[1] - pair[0]) as f64 > threshold).map(|pair| pair[1]));
    let mut apart: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let spacing_cov = cov(&apart)?;
    apart.sort_by(f64::total_cmp);
    Some(Bunches {
        size: sorted.len() as f64 / starts.len() as f64,
        every: crate::summary::quantile(&apart, 0.5),
        spacing_cov,
    })
}
