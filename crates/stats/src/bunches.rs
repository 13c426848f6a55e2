//! Bunches: several requests at a time, for example because many workers share a ticker.
//!
//! A bunched stream has gaps of two sizes with nothing in between: tiny within a bunch, large between bunches. This
//! valley is detected. A bursty stream (such as gamma gaps with a CoV of 2) has gaps of all sizes and no valley.
//! Bunches are also short: no request is sent most of the time. A steady stream with a few long pauses (a ramp, a
//! stall) has a valley but no bunches.

use crate::cov::cov;

/// The bunches of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bunches {
    /// The mean number of requests per bunch.
    pub size: f64,
    /// The median time from the start of one bunch to the start of the next, in the unit of the times.
    pub every: f64,
    /// The CoV of those times: near 0 for a ticker, near 1 for random bunches.
    pub spacing_cov: f64,
}

/// A step from one gap to a larger one (a thousandth of the sample further up) by more than this factor is a valley.
const VALLEY_FACTOR: f64 = 3.0;
/// The largest share of the time that bunches fill.
const MAX_FILLED_SHARE: f64 = 0.5;

/// The bunches of ascending times; `None` if the gap sizes have no valley, or if the groups between valleys fill most
/// of the time.
///
/// Gaps below the 30th percentile are not searched (at least that share of the gaps must be within bunches), nor the
/// last three.
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
    if ratio(at) < VALLEY_FACTOR {
        return None;
    }
    // The threshold is the middle of the valley on a logarithmic scale.
    let threshold = (gaps[at] as f64 * gaps[at + step] as f64).sqrt();
    let inside: u64 = gaps.iter().take_while(|gap| **gap as f64 <= threshold).sum();
    if inside as f64 > MAX_FILLED_SHARE * (sorted[n] - sorted[0]) as f64 {
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
