//! Is this a Poisson stream? Every test of it, each with its share of the false alarms allowed.
//!
//! The shares add up to one, so that all tests together keep the level (Bonferroni). Most goes to the one that finds pacing
//! and burstiness soonest, the gamma fit: at n = 400 it finds a CoV of 0.9 four times out of five within its share.

use offered_stats::independence::{ljung_box, rank_autocorrelations, spearman_next};
use offered_stats::steadiness::mann_kendall;
use offered_stats::{cov, dispersion, exponential, periodicity};

use crate::finding::{Size, Strictness};
use crate::stream::Stream;
use crate::verdict::{Check, Finding};

/// The share of the CoV's test.
pub(crate) const COV_SHARE: f64 = 0.10;
/// Lags of the portmanteau test, at most; a short stream gets one for every 40 gaps, or its limit law does not fit yet.
const LAGS: usize = 20;
/// Lags searched for a repeating pattern: up to so many users with fixed timers are found.
const REPEAT_LAGS: usize = 1000;

/// Every test but that of dispersion, which has its own file. Nothing is tested on a stream that is too short.
pub(crate) fn findings(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let long = stream.is_long_enough();
    let parts = [gap_law, counts, independence, steadiness];
    let mut found: Vec<Finding> = parts.iter().flat_map(|part| part(stream, strictness)).collect();
    for finding in found.iter_mut().filter(|_| !long) {
        finding.result = crate::CheckResult::NotChecked;
    }
    found
}

/// Are the gaps exponential?
fn gap_law(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let (n, tolerance) = (stream.gaps(), strictness.tolerance);
    let estimate = stream.cov();
    let effect = estimate
        .map_or_else(Size::default, |cov| Size::of(cov, 1.0, tolerance).within(cov::exponential_interval(cov, n)));
    let gamma = exponential::moran(&stream.sample);
    let gamma_effect = gamma.map_or_else(Size::default, |fit| Size::of(fit.cov, 1.0, tolerance).within(fit.interval));
    // Gamma gaps whose CoV is a tolerance away from 1 are about half that far from exponential in Kolmogorov's distance.
    let kolmogorov = exponential::lilliefors(&stream.sorted_sample);
    let distance = kolmogorov.map_or_else(Size::default, |test| Size::of(test.statistic, 0.0, tolerance / 2.0));
    let anderson_darling = exponential::anderson_darling(&stream.sorted_sample);
    vec![
        strictness.finding(Check::Cov, estimate.map(|cov| cov::greenwood(cov, n)), COV_SHARE, effect),
        strictness.finding(Check::GammaFit, gamma.map(|fit| fit.test), 0.60, gamma_effect),
        strictness.finding(Check::AndersonDarling, anderson_darling, 0.04, distance),
        strictness.finding(Check::KolmogorovSmirnov, kolmogorov, 0.02, distance),
    ]
}

/// Are counts in windows of three mean gaps Poisson?
fn counts(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let (seen, launches) = &stream.seen;
    let test = dispersion::poisson_chi_square(seen, *launches);
    let windows = seen.iter().sum::<u64>() as f64;
    // Cohen's effect size: the root of chi-square per observation.
    let effect = test.map_or_else(Size::default, |test| {
        Size::of((test.statistic / windows).sqrt(), 0.0, 2.0 * strictness.tolerance)
    });
    vec![strictness.finding(Check::PoissonCounts, test, 0.02, effect)]
}

/// Does one gap say anything about the next ones?
fn independence(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let gaps = &stream.stretch;
    let correlations = rank_autocorrelations(gaps, LAGS.min(gaps.len() / 40));
    let largest = correlations.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let portmanteau = largest.map(|_| ljung_box(&correlations, gaps.len()));
    let next = spearman_next(gaps);
    let repeat = periodicity::strongest(gaps, REPEAT_LAGS.min(gaps.len() / 4));
    let size =
        |correlation: Option<f64>, tolerance| correlation.map_or_else(Size::default, |r| Size::of(r, 0.0, tolerance));
    let tolerance = strictness.tolerance;
    vec![
        strictness.finding(Check::LjungBox, portmanteau, 0.03, size(largest, tolerance)),
        strictness.finding(Check::Spearman, next, 0.02, size(next.map(|test| test.statistic), tolerance)),
        strictness.finding(
            Check::RepeatedPattern,
            repeat.map(|repeat| repeat.test),
            0.02,
            // The lag is what a person wants to know; the correlation is the statistic.
            Size {
                estimate: repeat.map(|repeat| repeat.lag as f64),
                interval: None,
                matters: repeat.is_some_and(|repeat| repeat.test.statistic > 2.0 * tolerance),
            },
        ),
    ]
}

/// Does the rate rise or fall? The effect is the change over the whole stream as a share of the mean rate.
fn steadiness(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let counts = &stream.blocks;
    let trend = mann_kendall(counts);
    let effect = trend.map_or_else(Size::default, |trend| {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        Size::of(trend.slope * counts.len() as f64 / mean, 0.0, 2.0 * strictness.tolerance)
    });
    vec![strictness.finding(Check::Trend, trend.map(|trend| trend.test), 0.03, effect)]
}
