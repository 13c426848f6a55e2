//! Non-negative weighted least squares: the contributions of several causes to a sum.
//!
//! Residuals are assumed to be independent, with variances inversely proportional to the weights. All subsets of
//! positive causes are tried, and the best one without negative coefficients is the exact solution (Lawson and Hanson
//! 1974, chapter 23, search it for many causes). Confidence intervals are Student's, for the fit without the constraint
//! (Montgomery and Runger, sections 12-1 and 12-3).

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;

/// Maximum number of causes: the number of subsets doubles with each.
pub const MAX_CAUSES: usize = 8;

/// The contribution of each cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Contributions {
    /// The coefficients: the contribution of one unit of each cause, non-negative.
    pub per_unit: Vec<f64>,
    /// The 95 % confidence intervals, which may include negative values.
    pub intervals: Vec<Interval>,
}

/// The contribution of one unit of each cause to `found`. `causes[i]` are the units of each cause in observation i,
/// with the positive weight `weights[i]`. `None` with more than [`MAX_CAUSES`] causes, with no more observations than
/// causes, or if causes are collinear.
pub fn non_negative_least_squares(causes: &[Vec<f64>], found: &[f64], weights: &[f64]) -> Option<Contributions> {
    let (n, many) = (causes.len(), causes.first()?.len());
    if many > MAX_CAUSES || n <= many {
        return None;
    }
    let sum = |of: &dyn Fn(usize) -> f64| (0..n).map(|i| weights[i] * of(i)).sum::<f64>();
    let square: Vec<Vec<f64>> =
        (0..many).map(|a| (0..many).map(|b| sum(&|i| causes[i][a] * causes[i][b])).collect()).collect();
    let product: Vec<f64> = (0..many).map(|a| sum(&|i| causes[i][a] * found[i])).collect();
    let left = |parts: &[f64]| {
        sum(&|i| (found[i] - causes[i].iter().zip(parts).map(|(cause, part)| cause * part).sum::<f64>()).powi(2))
    };
    let whole: Vec<usize> = (0..many).collect();
    let free = solved(&square, &product, &whole)?;
    let sets = (0..1usize << many).map(|set| (0..many).filter(|a| set >> a & 1 == 1).collect::<Vec<_>>());
    let parts = sets
        .filter_map(|set| solved(&square, &product, &set))
        .filter(|parts| parts.iter().all(|part| *part >= 0.0))
        .min_by(|one, other| left(one).total_cmp(&left(other)))?;
    let t = StudentsT::new(0.0, 1.0, (n - many) as f64).ok()?.inverse_cdf(0.975);
    let variance = left(&free) / (n - many) as f64;
    let interval = |a: usize| {
        let unit: Vec<f64> = (0..many).map(|b| f64::from(u8::from(a == b))).collect();
        let error = t * (variance * solved(&square, &unit, &whole)?[a]).sqrt();
        Some(Interval { low: free[a] - error, high: free[a] + error })
    };
    let intervals = whole.iter().map(|a| interval(*a)).collect::<Option<_>>()?;
    Some(Contributions { per_unit: parts, intervals })
}

/// Solves the equations restricted to `set`, with zeros elsewhere, by Cholesky decomposition; `None` if they are
/// dependent.
fn solved(square: &[Vec<f64>], product: &[f64], set: &[usize]) -> Option<Vec<f64>> {
    let many = set.len();
    let mut root = vec![vec![0.0; many]; many];
    for i in 0..many {
        for j in 0..=i {
            let rest: f64 = square[set[i]][set[j]] - (0..j).map(|k| root[i][k] * root[j][k]).sum::<f64>();
            root[i][j] = if i > j {
                rest / root[j][j]
            } else {
                // The remainder of a collinear cause is a rounding error.
                (rest > 1e-10 * square[set[i]][set[i]]).then(|| rest.sqrt())?
            };
        }
    }
    let mut y: Vec<f64> = set.iter().map(|a| product[*a]).collect();
    for i in 0..many {
        y[i] = (y[i] - (0..i).map(|k| root[i][k] * y[k]).sum::<f64>()) / root[i][i];
    }
    for i in (0..many).rev() {
        y[i] = (y[i] - (i + 1..many).map(|k| root[k][i] * y[k]).sum::<f64>()) / root[i][i];
    }
    let mut parts = vec![0.0; product.len()];
    set.iter().zip(y).for_each(|(a, part)| parts[*a] = part);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 12-2 of Montgomery and Runger, pull strength of wire bonds against wire length and die height, with the
    /// results of its example.
    #[test]
    fn the_wire_bonds_of_the_textbook_are_found() {
        let rows = [
            (9.95, 2.0, 50.0),
            (24.45, 8.0, 110.0),
            (31.75, 11.0, 120.0),
            (35.00, 10.0, 550.0),
            (25.02, 8.0, 295.0),
            (16.86, 4.0, 200.0),
            (14.38, 2.0, 375.0),
            (9.60, 2.0, 52.0),
            (24.35, 9.0, 100.0),
            (27.50, 8.0, 300.0),
            (17.08, 4.0, 412.0),
            (37.00, 11.0, 400.0),
            (41.95, 12.0, 500.0),
            (11.66, 2.0, 360.0),
            (21.65, 4.0, 205.0),
            (17.89, 4.0, 400.0),
            (69.00, 20.0, 600.0),
            (10.30, 1.0, 585.0),
            (34.93, 10.0, 540.0),
            (46.59, 15.0, 250.0),
            (44.88, 15.0, 290.0),
            (54.12, 16.0, 510.0),
            (56.63, 17.0, 590.0),
            (22.13, 6.0, 100.0),
            (21.15, 5.0, 400.0),
        ];
        let causes: Vec<Vec<f64>> = rows.iter().map(|(_, wire, die)| vec![1.0, *wire, *die]).collect();
        let found: Vec<f64> = rows.iter().map(|(strength, ..)| *strength).collect();
        let all = non_negative_least_squares(&causes, &found, &vec![1.0; rows.len()]).unwrap();
        for (part, expected) in all.per_unit.iter().zip([2.26379, 2.74427, 0.01253]) {
            assert!((part - expected).abs() < 1e-5, "{all:?}");
        }
        // Example 12-8: 2.55029 to 2.93825.
        assert!(
            (all.intervals[1].low - 2.55029).abs() < 1e-3 && (all.intervals[1].high - 2.93825).abs() < 1e-3,
            "{all:?}"
        );
    }

    #[test]
    fn coefficients_are_not_negative_and_collinear_columns_are_refused() {
        let causes: Vec<Vec<f64>> = (0..20u8).map(|i| vec![f64::from(i % 5), f64::from(i % 7), 1.0]).collect();
        let found: Vec<f64> = causes.iter().map(|c| 3.0 * c[0] - 0.5 * c[1] + 4.0).collect();
        let all = non_negative_least_squares(&causes, &found, &[1.0; 20]).unwrap();
        assert!(all.per_unit[1] == 0.0 && all.per_unit[0] > 2.5 && all.intervals[1].high < 0.0, "{all:?}");
        let twice: Vec<Vec<f64>> = causes.iter().map(|c| vec![c[0], 2.0 * c[0]]).collect();
        assert_eq!(non_negative_least_squares(&twice, &found, &[1.0; 20]), None);
        assert_eq!(non_negative_least_squares(&causes[..3], &found[..3], &[1.0; 3]), None);
    }
}
