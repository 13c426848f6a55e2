//! Bunches: several requests at a time, for example because many workers share a ticker.
//!
//! A bunched stream has gaps of two sizes with few in between: tiny within a bunch, large between bunches. On a logarithmic scale, the density
//! of its gaps has a valley. A bursty stream (gamma gaps with a CoV of 2) has gaps of all sizes, and its density has
//! one hill. Bunches that come at random have gaps of every size between them, so the valley is not empty, but only
//! lower than both hills. Bunches are also short: no request is sent most of the time. A steady stream with a few long
//! pauses (a ramp, a stall) has a valley but no bunches.

use crate::cov::cov;

/// Statistics of bunches: groups of requests that are close together in a stream of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bunches {
    /// The mean number of requests per bunch.
    pub size: f64,
    /// The median time from the start of one bunch to the start of the next, in the unit of the times.
    pub every: f64,
    /// The CoV of the times between bunches: near 0 for a ticker, near 1 for random bunches.
    pub spacing_cov: f64,
}

/// The width of the valley: gaps up to this multiple of the largest gap within bunches.
const VALLEY_FACTOR: f64 = 3.0;
/// The valley holds at most this share of the gaps of each hill beside it, over the same factor.
const MAX_VALLEY_DENSITY: f64 = 0.25;
/// A hill has at least this number of gaps.
const MIN_HILL: usize = 5;
/// A hill of gaps within bunches has at least this share of all gaps.
const MIN_HILL_SHARE: f64 = 0.1;
/// The largest share of the time that bunches fill.
const MAX_FILLED_SHARE: f64 = 0.5;

/// The bunches of ascending times; `None` if the gap sizes have no valley, or if the groups between valleys fill most
/// of the time.
///
/// Gaps below the 30th percentile are not searched: at least that share of the gaps must be within bunches.
pub fn find(sorted: &[u64]) -> Option<Bunches> {
    let mut gaps: Vec<f64> = crate::summary::gaps(sorted).map(|gap| gap.max(1) as f64).collect();
    if gaps.len() < 20 {
        return None;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let threshold = largest_within(&gaps)? * VALLEY_FACTOR.sqrt();
    let inside: f64 = gaps.iter().take_while(|gap| **gap <= threshold).sum();
    if inside > MAX_FILLED_SHARE * (sorted[gaps.len()] - sorted[0]) as f64 {
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

/// The largest gap within bunches: the one below the deepest valley. `None` if no valley is deep enough. The gaps are ascending and positive.
fn largest_within(gaps: &[f64]) -> Option<f64> {
    let n = gaps.len();
    let up_to = |limit: f64| gaps.partition_point(|gap| *gap <= limit);
    // The most gaps in a range of this factor up to each gap.
    let mut below: Vec<usize> = gaps
        .iter()
        .enumerate()
        .map(|(at, gap)| at + 1 - gaps.partition_point(|lower| *lower < gap / VALLEY_FACTOR))
        .collect();
    for at in 1..n {
        below[at] = below[at].max(below[at - 1]);
    }
    // The end of the range of each gap up to its multiple, and the most gaps in such a range from there on.
    let ends: Vec<usize> = gaps.iter().map(|gap| up_to(gap * VALLEY_FACTOR)).collect();
    let mut fullest: Vec<usize> = ends.iter().enumerate().map(|(from, end)| end - from).collect();
    for from in (0..n - 1).rev() {
        fullest[from] = fullest[from].max(fullest[from + 1]);
    }
    let depth = |at: usize| {
        let below = below[at];
        let above = *fullest.get(ends[at])?;
        let is_hill = above >= MIN_HILL && below >= MIN_HILL.max((MIN_HILL_SHARE * n as f64) as usize);
        let density = (ends[at] - at - 1) as f64 / below.min(above) as f64;
        (is_hill && density <= MAX_VALLEY_DENSITY).then_some((at, density))
    };
    let candidates = (n * 3 / 10..n - 1).filter(|&at| gaps[at + 1] > gaps[at]).filter_map(depth);
    candidates.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| gaps[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests in pairs that are this far apart (us); the pairs come at random, on average `mean` us apart.
    fn pairs(apart: u64, mean: f64, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        let mut at = 0;
        let mut all = Vec::new();
        for _ in 0..1000 {
            at += (-mean * uniform().ln()) as u64;
            all.extend([at, at + apart]);
            at += apart;
        }
        all
    }

    #[test]
    fn pairs_at_random_times_are_bunches() {
        for seed in 1..=50 {
            for mean in [4_000.0, 20_000.0] {
                let found = find(&pairs(100, mean, seed)).unwrap_or_else(|| panic!("seed {seed}, mean {mean}"));
                assert!((1.8..2.2).contains(&found.size) && found.spacing_cov > 0.8, "{found:?}");
            }
        }
        // Pairs that overlap are a stream of gaps of all sizes.
        assert_eq!(find(&pairs(100, 100.0, 1)), None);
        // Ten requests at a time; every fifth bunch has two longer gaps, which are few but no valley.
        let within = |bunch: u64| {
            [1, 1, 1, 1, 2, 2, 2, 3, 3]
                .into_iter()
                .chain([6, 15].into_iter().filter(move |_| u64::is_multiple_of(bunch, 5)))
        };
        let gaps = (0..20).flat_map(|bunch| within(bunch).chain([900]));
        let mut at = 0;
        let bunches: Vec<u64> = std::iter::once(0)
            .chain(gaps.map(|gap| {
                at += gap * 1000;
                at
            }))
            .collect();
        let size = find(&bunches).unwrap().size;
        assert!((9.0..11.0).contains(&size), "{size}");
    }
}
