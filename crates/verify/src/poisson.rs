//! The tests of a Poisson process, each with its share of the significance level.
//!
//! The shares add up to one, so that all tests together keep the level (Bonferroni). The largest share belongs to the
//! gamma fit, which detects pacing and burstiness soonest: with n = 400 gaps it detects a CoV of 0.9 in four cases out
//! of five.

use offered_stats::independence::{ljung_box, rank_autocorrelations, spearman_next};
use offered_stats::trend::mann_kendall;
use offered_stats::{cov, dispersion, exponential, periodicity, spectrum};

use crate::finding::{EffectSize, Strictness};
use crate::stream::Stream;
use crate::verdict::{Check, Finding};

/// The share of the CoV test.
pub(crate) const COV_SHARE: f64 = 0.10;
/// Maximum number of lags of the Ljung-Box test. A short stream gets one lag per 40 gaps, or the limit distribution
/// does not fit.
const LAGS: usize = 20;
/// Maximum lag of the search for a repeated pattern, that is, the number of users with fixed timers that can be
/// detected.
const REPEAT_LAGS: usize = 1000;

/// All tests except dispersion, which is in `windows.rs`. Empty if the stream is too short.
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
    let effect = estimate.map_or_else(EffectSize::default, |cov| {
        EffectSize::of(cov, 1.0, tolerance).with_interval(cov::exponential_interval(cov, n))
    });
    let gamma = exponential::moran(&stream.sample);
    let gamma_effect = gamma
        .map_or_else(EffectSize::default, |fit| EffectSize::of(fit.cov, 1.0, tolerance).with_interval(fit.interval));
    // Gamma gaps whose CoV differs from 1 by the tolerance have about half that Kolmogorov distance from exponential
    // gaps.
    let kolmogorov = exponential::lilliefors(&stream.sorted_sample);
    let distance =
        kolmogorov.map_or_else(EffectSize::default, |test| EffectSize::of(test.statistic, 0.0, tolerance / 2.0));
    let anderson_darling = exponential::anderson_darling(&stream.sorted_sample);
    vec![
        strictness.finding(Check::Cov, estimate.map(|cov| cov::greenwood(cov, n)), COV_SHARE, effect),
        strictness.finding(Check::GammaFit, gamma.map(|fit| fit.test), 0.60, gamma_effect),
        strictness.finding(Check::AndersonDarling, anderson_darling, 0.04, distance),
        strictness.finding(Check::KolmogorovSmirnov, kolmogorov, 0.02, distance),
    ]
}

/// Tests whether the counts in windows of three mean gaps are Poisson distributed, and vary accordingly over long
/// times.
fn counts(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let (seen, launches) = &stream.window_counts;
    let test = dispersion::poisson_chi_square(seen, *launches);
    let windows = seen.iter().sum::<u64>() as f64;
    // Cohen's effect size: the square root of chi-square per observation.
    let effect = test.map_or_else(EffectSize::default, |test| {
        EffectSize::of((test.statistic / windows).sqrt(), 0.0, 2.0 * strictness.tolerance)
    });
    let low = spectrum::low_frequencies(&stream.spectrum_counts);
    let of_low = low.map_or_else(EffectSize::default, |low| {
        EffectSize::of(low.dispersion, 1.0, 2.0 * strictness.tolerance).with_interval(low.interval)
    });
    vec![
        strictness.finding(Check::PoissonCounts, test, 0.02, effect),
        strictness.finding(Check::LowFrequencies, low.map(|low| low.test), 0.06, of_low),
    ]
}

/// Are the gaps independent?
fn independence(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let gaps = &stream.stretch;
    let correlations = rank_autocorrelations(gaps, LAGS.min(gaps.len() / 40));
    let largest = correlations.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let portmanteau = largest.map(|_| ljung_box(&correlations, gaps.len()));
    let next = spearman_next(gaps);
    let repeat = periodicity::find_period(gaps, REPEAT_LAGS.min(gaps.len() / 4));
    let size = |correlation: Option<f64>, tolerance| {
        correlation.map_or_else(EffectSize::default, |r| EffectSize::of(r, 0.0, tolerance))
    };
    let tolerance = strictness.tolerance;
    vec![
        strictness.finding(Check::LjungBox, portmanteau, 0.03, size(largest, tolerance)),
        strictness.finding(Check::Spearman, next, 0.02, size(next.map(|test| test.statistic), tolerance)),
        strictness.finding(
            Check::RepeatedPattern,
            repeat.map(|repeat| repeat.test),
            0.02,
            // The estimate is the lag, which is what a reader needs; the statistic is the correlation.
            EffectSize {
                estimate: repeat.map(|repeat| repeat.lag as f64),
                interval: None,
                limits: None,
                matters: repeat.is_some_and(|repeat| repeat.test.statistic > 2.0 * tolerance),
            },
        ),
    ]
}

/// Tests whether the rate has a trend. The effect is the change over the whole stream, as a share of the mean rate.
fn steadiness(stream: &Stream, strictness: Strictness) -> Vec<Finding> {
    let counts = &stream.blocks;
    let trend = mann_kendall(counts);
    let effect = trend.map_or_else(EffectSize::default, |trend| {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        EffectSize::of(trend.slope * counts.len() as f64 / mean, 0.0, 2.0 * strictness.tolerance)
    });
    vec![strictness.finding(Check::Trend, trend.map(|trend| trend.test), 0.03, effect)]
}
