//! The Universal Scalability Law: X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)).
//!
//! N is the mean number of requests in flight. N / X is linear in 1, N - 1 and N (N - 1), so least squares without
//! negative coefficients gives the parameters. Source: Gunther 2007, Guerrilla Capacity Planning, chapters 4 to 6.

use offered_base::{Purpose, Seed};
use serde::{Deserialize, Serialize};

use super::observations::Observations;

/// Number of points below which the law is not fitted: it has three coefficients, and one is left out at a time.
pub(super) const FEWEST: usize = 5;
/// Number of samples of the bootstrap.
const SAMPLES: usize = 1000;

/// The Universal Scalability Law of some runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scalability {
    /// gamma: rate with one request in flight.
    pub gamma_per_s: f64,
    /// alpha: contention, 0 to 1.
    pub alpha: f64,
    /// The lower end of the 95 % interval of `alpha`.
    pub alpha_low: f64,
    /// The upper end of the 95 % interval of `alpha`.
    pub alpha_high: f64,
    /// beta: coherency delay.
    pub beta: f64,
    /// The lower end of the 95 % interval of `beta`.
    pub beta_low: f64,
    /// The upper end of the 95 % interval of `beta`.
    pub beta_high: f64,
    /// Number in flight with the largest rate; `None` if the rate only rises.
    pub peak_in_flight: Option<f64>,
    /// The largest rate: at the peak, or the limit gamma / alpha; `None` without contention.
    pub peak_per_s: Option<f64>,
    /// The lower end of the 95 % interval of `peak_per_s`; `None` if some samples have no largest rate.
    pub peak_low_per_s: Option<f64>,
    /// The upper end of the 95 % interval of `peak_per_s`.
    pub peak_high_per_s: Option<f64>,
    /// The runs, by number in flight.
    pub points: Vec<ScalabilityPoint>,
    /// Largest relative difference between a run and the law fitted to the others.
    pub largest_left_out_error: f64,
}

/// A run, and its rates by the law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScalabilityPoint {
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Completed requests per second.
    pub completed_rate_per_s: f64,
    /// The rate that the law gives.
    pub fitted_per_s: f64,
    /// The lower end of the 95 % confidence band of `fitted_per_s`.
    pub low_per_s: f64,
    /// The upper end of the 95 % confidence band of `fitted_per_s`.
    pub high_per_s: f64,
    /// The rate predicted by the law that was fitted to the other runs.
    pub left_out_per_s: f64,
}

/// Subsets of the columns of the law: gamma (0), alpha (1) and beta (2).
pub(super) type Subsets = &'static [&'static [usize]];
/// With few columns all subsets can be tried; the best one without a negative coefficient is the solution.
pub(super) const ALL: Subsets = &[&[0, 1, 2], &[0, 1], &[0, 2], &[0]];

/// gamma, alpha and beta.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    gamma: f64,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

impl Law {
    fn rate(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0))
    }

    fn peak(&self) -> Option<(f64, f64)> {
        let n = ((1.0 - self.alpha) / self.beta).sqrt();
        (self.beta > 1e-12 && n.is_finite() && n > 1.0).then(|| (n, self.rate(n)))
    }

    fn most(&self) -> Option<f64> {
        self.peak().map(|peak| peak.1).or_else(|| (self.alpha > 1e-9).then(|| self.gamma / self.alpha))
    }

    /// Least squares of relative errors over (N, X), without negative coefficients.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<(f64, f64, f64)> = points.iter().map(|(n, x)| (*n, *x, 1.0)).collect();
        Self::weighted(&points, ALL)
    }

    /// The same over (N, X, weight), with the best of these subsets of columns.
    pub(super) fn weighted(points: &[(f64, f64, f64)], subsets: Subsets) -> Option<Self> {
        let columns = |n: f64| [1.0, n - 1.0, n * (n - 1.0)];
        let mut best: Option<(f64, [f64; 3])> = None;
        for subset in subsets {
            let Some(found) = least_squares(points, subset, columns) else { continue };
            let error: f64 = points
                .iter()
                .map(|(n, x, weight)| {
                    let fitted: f64 = columns(*n).iter().zip(found).map(|(column, of)| column * of).sum();
                    weight * (fitted * x / n - 1.0).powi(2)
                })
                .sum();
            let is_allowed = found[0] > 0.0 && found[1] >= 0.0 && found[2] >= 0.0;
            if is_allowed && best.is_none_or(|(least, _)| error < least) {
                best = Some((error, found));
            }
        }
        let (_, [one, alpha, beta]) = best?;
        Some(Self { gamma: 1.0 / one, alpha: alpha / one, beta: beta / one })
    }
}

/// Coefficients of N / X over the columns of `subset`, by the normal equations with relative weights.
fn least_squares(points: &[(f64, f64, f64)], subset: &[usize], columns: impl Fn(f64) -> [f64; 3]) -> Option<[f64; 3]> {
    let k = subset.len();
    let mut rows = vec![vec![0.0; k + 1]; k];
    for (n, x, weight) in points {
        // The equation of a point, divided by its left side.
        let relative: Vec<f64> = subset.iter().map(|column| columns(*n)[*column] * x / n).collect();
        for (row, own) in rows.iter_mut().zip(&relative) {
            for (sum, other) in row.iter_mut().zip(relative.iter().chain([&1.0])) {
                *sum += weight * own * other;
            }
        }
    }
    for i in 0..k {
        let pivot = (i..k).max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs()))?;
        rows.swap(i, pivot);
        if rows[i][i].abs() < 1e-300 {
            return None;
        }
        let row = rows[i].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let by = other[i] / row[i];
            other.iter_mut().zip(&row).for_each(|(a, b)| *a -= by * b);
        }
    }
    let mut found = [0.0; 3];
    for (i, column) in subset.iter().enumerate() {
        found[*column] = rows[i][k] / rows[i][i];
    }
    Some(found)
}

/// The 95 % interval of a figure from its values in the samples of a bootstrap; `None` without samples.
pub(super) fn interval(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[((values.len() - 1) as f64 * p) as usize];
    (!values.is_empty()).then(|| (at(0.025), at(0.975)))
}

/// The law of some runs, or the reason why there is none.
pub(super) fn fit<'a>(runs: impl Iterator<Item = &'a Observations>) -> Result<Scalability, String> {
    let mut points: Vec<(f64, f64, f64)> =
        runs.map(|run| (run.in_flight(), run.completed_rate(), run.completed_rate_error())).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    of_points(&points)
}

/// The law of (N, X, standard error of X) in ascending order of N.
pub(super) fn of_points(points: &[(f64, f64, f64)]) -> Result<Scalability, String> {
    let n = points.len();
    let spread = points.first().zip(points.last()).map_or(1.0, |(first, last)| last.0 / first.0);
    if n < FEWEST || spread < 3.0 {
        return Err(format!(
            "the Universal Scalability Law needs {FEWEST} runs or more over a range of 3 or more in flight; there are {n} runs over \
             a range of {spread:.1}"
        ));
    }
    let pairs: Vec<(f64, f64)> = points.iter().map(|(n, x, _)| (*n, *x)).collect();
    let law =
        Law::of(&pairs).ok_or("the Universal Scalability Law does not fit: the rates do not rise with the load")?;
    // Deviations from the law, where they are larger than the error of a rate, are errors too.
    let deviation =
        pairs.iter().map(|(n, x)| (x / law.rate(*n) - 1.0).powi(2)).sum::<f64>() / (n as f64 - 3.0).max(1.0);
    let mut random = Seed(1).stream(Purpose::Judge);
    let samples: Vec<Law> = (0..SAMPLES)
        .filter_map(|_| {
            let drawn: Vec<(f64, f64)> = points
                .iter()
                .map(|(n, x, error)| (*n, x * (1.0 + random.normal() * deviation.sqrt().max(error / x)).max(0.01)))
                .collect();
            Law::of(&drawn)
        })
        .collect();
    let ends = |of: &dyn Fn(&Law) -> Option<f64>| -> Option<(f64, f64)> {
        interval(samples.iter().map(of).collect::<Option<Vec<f64>>>()?)
    };
    let none = || "the Universal Scalability Law has no interval".to_owned();
    let alpha = ends(&|law| Some(law.alpha)).ok_or_else(none)?;
    let beta = ends(&|law| Some(law.beta)).ok_or_else(none)?;
    let most = ends(&Law::most);
    let point = |i: usize| -> Option<ScalabilityPoint> {
        let (n, x) = pairs[i];
        let others: Vec<(f64, f64)> =
            pairs.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, pair)| *pair).collect();
        let (low, high) = ends(&|law| Some(law.rate(n)))?;
        Some(ScalabilityPoint {
            in_flight: n,
            completed_rate_per_s: x,
            fitted_per_s: law.rate(n),
            low_per_s: low,
            high_per_s: high,
            left_out_per_s: Law::of(&others)?.rate(n),
        })
    };
    let points = (0..n).map(point).collect::<Option<Vec<_>>>().ok_or_else(none)?;
    let error = |at: &ScalabilityPoint| (at.left_out_per_s / at.completed_rate_per_s - 1.0).abs();
    Ok(Scalability {
        gamma_per_s: law.gamma,
        alpha: law.alpha,
        alpha_low: alpha.0,
        alpha_high: alpha.1,
        beta: law.beta,
        beta_low: beta.0,
        beta_high: beta.1,
        peak_in_flight: law.peak().map(|peak| peak.0),
        peak_per_s: law.most(),
        peak_low_per_s: most.map(|most| most.0),
        peak_high_per_s: most.map(|most| most.1),
        largest_left_out_error: points.iter().map(error).fold(0.0, f64::max),
        points,
    })
}
