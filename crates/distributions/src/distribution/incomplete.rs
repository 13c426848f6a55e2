//! The incomplete gamma functions over their whole range.
//!
//! The functions of `statrs` refuse zero and infinity, and are inaccurate and slow for a large shape, where the
//! logarithm is a difference of far larger numbers.

use statrs::function::gamma::{gamma_lr, gamma_ur};

/// From this shape on a gamma number is normal after a cube root (Wilson and Hilferty 1931), to seven digits of probability.
const NEARLY_NORMAL: f64 = 1e6;

/// P(X <= x) of a gamma number of this shape (above zero) and scale 1; x may be infinite.
pub(super) fn lower_gamma(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x == f64::INFINITY {
        1.0
    } else if shape < NEARLY_NORMAL {
        gamma_lr(shape, x).clamp(0.0, 1.0)
    } else {
        0.5 * libm::erfc(-cube_root_score(shape, x))
    }
}

/// P(X > x), with all its digits where it is small.
pub(super) fn upper_gamma(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        1.0
    } else if x == f64::INFINITY {
        0.0
    } else if shape < NEARLY_NORMAL {
        gamma_ur(shape, x).clamp(0.0, 1.0)
    } else {
        0.5 * libm::erfc(cube_root_score(shape, x))
    }
}

/// The distance of the cube root of x from the mean of the cube roots of gamma numbers, in standard deviations over sqrt 2.
fn cube_root_score(shape: f64, x: f64) -> f64 {
    let variance = 1.0 / (9.0 * shape);
    (libm::cbrt(x / shape) - 1.0 + variance) / libm::sqrt(2.0 * variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_form_takes_over_where_both_agree() {
        for z in [-5.0, -2.0, -0.3, 0.0, 1.0, 3.0, 6.0] {
            let x = NEARLY_NORMAL + z * NEARLY_NORMAL.sqrt();
            let (exact, normal) = (gamma_lr(NEARLY_NORMAL, x), lower_gamma(NEARLY_NORMAL, x));
            assert!((exact - normal).abs() < 1e-7, "{z}: {exact} and {normal}");
            assert!((lower_gamma(NEARLY_NORMAL, x) + upper_gamma(NEARLY_NORMAL, x) - 1.0).abs() < 1e-12);
        }
        assert_eq!((lower_gamma(2.0, f64::INFINITY), upper_gamma(2.0, f64::INFINITY)), (1.0, 0.0));
        assert_eq!((lower_gamma(2.0, 0.0), upper_gamma(2.0, 0.0)), (0.0, 1.0));
    }
}
