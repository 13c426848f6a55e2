//! The tests of a Poisson process, each with its share of the significance level.
//!
//! The shares add up to one, so that all tests together keep the level (Bonferroni). The largest share belongs to the
//! gamma fit, which detects pacing and burstiness soonest: with n = 400 gaps it detects a CoV of 0.9 in four cases out
//! of five.

use offered_stats::exponential::GammaFit;
use offered_stats::independence::{Ranks, ljung_box};
use offered_stats::periodicity::Period;
use offered_stats::spectrum::LowFrequencies;
use offered_stats::trend::{Trend, mann_kendall};
use offered_stats::{Test, cov, dispersion, exponential, periodicity, spectrum};

use crate::criteria::Criteria;
use crate::finding::{EffectSize, Strictness};
use crate::stream::Stream;
use crate::verdict::{Check, CheckResult, Finding};
use crate::windows;

/// The share of the CoV test.
pub(crate) const COV_SHARE: f64 = 0.10;
/// Maximum number of lags of the Ljung-Box test. A short stream gets one lag per 40 gaps, or the limit distribution
/// does not fit.
const LAGS: usize = 20;
/// Maximum lag of the search for a repeated pattern, that is, the number of users with fixed timers that can be
/// detected.
const REPEAT_LAGS: usize = 1000;

/// The statistics of a stream that do not depend on the strictness, which several findings may differ in.
pub(crate) struct Statistics {
    cov: Option<f64>,
    gamma: Option<GammaFit>,
    kolmogorov: Option<Test>,
    anderson_darling: Option<Test>,
    window_counts: Option<Test>,
    low_frequencies: Option<LowFrequencies>,
    /// The largest of the rank autocorrelations at the lags of the Ljung-Box test.
    largest_correlation: Option<f64>,
    ljung_box: Option<Test>,
    spearman: Option<Test>,
    period: Option<Period>,
    trend: Option<Trend>,
}

impl Statistics {
    pub(crate) fn of(stream: &Stream) -> Self {
        let gaps = &stream.stretch;
        let ranks = Ranks::new(gaps);
        let correlations = ranks.autocorrelations(REPEAT_LAGS.min(gaps.len() / 4));
        let first = &correlations[..correlations.len().min(LAGS).min(gaps.len() / 40)];
        let largest_correlation = first.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let (seen, requests) = &stream.window_counts;
        Self {
            cov: stream.cov(),
            gamma: exponential::moran(&stream.sample),
            kolmogorov: exponential::lilliefors(&stream.sorted_sample),
            anderson_darling: exponential::anderson_darling(&stream.sorted_sample),
            window_counts: dispersion::poisson_chi_square(seen, *requests),
            low_frequencies: spectrum::low_frequencies(&stream.spectrum_counts),
            largest_correlation,
            ljung_box: largest_correlation.map(|_| ljung_box(first, gaps.len())),
            spearman: ranks.spearman_next(),
            period: periodicity::find_period(&correlations, gaps.len()),
            trend: mann_kendall(&stream.blocks),
        }
    }
}

/// All tests. Those except dispersion are not checked if the stream is too short.
pub(crate) fn findings(stream: &Stream, of: &Statistics, strictness: Strictness) -> Vec<Finding> {
    let long = stream.is_long_enough();
    let mut found = [
        gap_law(stream, of, strictness),
        counts(stream, of, strictness),
        independence(of, strictness),
        steadiness(stream, of, strictness),
    ]
    .concat();
    for finding in found.iter_mut().filter(|_| !long) {
        finding.result = CheckResult::NotChecked;
    }
    found.push(windows::finding(&stream.ladder, strictness));
    found
}

/// Arrivals that were not specified as Poisson are tested to name the pattern; the results do not count.
pub(crate) fn if_compared(mut poisson: Vec<Finding>, criteria: &Criteria) -> Vec<Finding> {
    if !criteria.expected.is_poisson() {
        for finding in &mut poisson {
            finding.result = CheckResult::NotChecked;
        }
    }
    poisson
}

/// Are the gaps exponential?
fn gap_law(stream: &Stream, of: &Statistics, strictness: Strictness) -> Vec<Finding> {
    let (n, tolerance) = (stream.gaps(), strictness.tolerance);
    let &Statistics { cov: estimate, gamma, kolmogorov, anderson_darling, .. } = of;
    let effect = estimate.map_or_else(EffectSize::default, |cov| {
        EffectSize::of(cov, 1.0, tolerance).with_interval(cov::exponential_interval(cov, n))
    });
    let gamma_effect = gamma
        .map_or_else(EffectSize::default, |fit| EffectSize::of(fit.cov, 1.0, tolerance).with_interval(fit.interval));
    // Gamma gaps whose CoV differs from 1 by the tolerance have about half that Kolmogorov distance from exponential
    // gaps.
    let distance =
        kolmogorov.map_or_else(EffectSize::default, |test| EffectSize::of(test.statistic, 0.0, tolerance / 2.0));
    vec![
        strictness.finding(Check::Cov, estimate.map(|cov| cov::greenwood(cov, n)), COV_SHARE, effect),
        strictness.finding(Check::GammaFit, gamma.map(|fit| fit.test), 0.60, gamma_effect),
        strictness.finding(Check::AndersonDarling, anderson_darling, 0.04, distance),
        strictness.finding(Check::KolmogorovSmirnov, kolmogorov, 0.02, distance),
    ]
}

/// Tests whether the counts in windows of three mean gaps are Poisson distributed, and vary accordingly over long
/// times.
fn counts(stream: &Stream, of: &Statistics, strictness: Strictness) -> Vec<Finding> {
    let &Statistics { window_counts: test, low_frequencies: low, .. } = of;
    let windows = stream.window_counts.0.iter().sum::<u64>() as f64;
    // Cohen's effect size: the square root of chi-square per observation.
    let effect = test.map_or_else(EffectSize::default, |test| {
        EffectSize::of((test.statistic / windows).sqrt(), 0.0, 2.0 * strictness.tolerance)
    });
    let of_low = low.map_or_else(EffectSize::default, |low| {
        EffectSize::of(low.dispersion, 1.0, 2.0 * strictness.tolerance).with_interval(low.interval)
    });
    vec![
        strictness.finding(Check::PoissonCounts, test, 0.02, effect),
        strictness.finding(Check::LowFrequencies, low.map(|low| low.test), 0.06, of_low),
    ]
}

/// Are the gaps independent?
fn independence(of: &Statistics, strictness: Strictness) -> Vec<Finding> {
    let &Statistics { largest_correlation, ljung_box, spearman, period, .. } = of;
    let size = |correlation: Option<f64>, tolerance| {
        correlation.map_or_else(EffectSize::default, |r| EffectSize::of(r, 0.0, tolerance))
    };
    let tolerance = strictness.tolerance;
    vec![
        strictness.finding(Check::LjungBox, ljung_box, 0.03, size(largest_correlation, tolerance)),
        strictness.finding(Check::Spearman, spearman, 0.02, size(spearman.map(|test| test.statistic), tolerance)),
        strictness.finding(
            Check::RepeatedPattern,
            period.map(|period| period.test),
            0.02,
            // The estimate is the lag, which is what a reader needs; the statistic is the correlation.
            EffectSize {
                estimate: period.map(|period| period.lag as f64),
                interval: None,
                limits: None,
                matters: period.is_some_and(|period| period.test.statistic > 2.0 * tolerance),
            },
        ),
    ]
}

/// Tests whether the rate has a trend. The effect is the change over the whole stream, as a share of the mean rate.
fn steadiness(stream: &Stream, of: &Statistics, strictness: Strictness) -> Vec<Finding> {
    let (counts, trend) = (&stream.blocks, of.trend);
    let effect = trend.map_or_else(EffectSize::default, |trend| {
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        EffectSize::of(trend.slope * counts.len() as f64 / mean, 0.0, 2.0 * strictness.tolerance)
    });
    vec![strictness.finding(Check::Trend, trend.map(|trend| trend.test), 0.03, effect)]
}
