//! The natural logarithm of a number between 0 and 1, with the same result on every machine, short enough to be inlined.
//!
//! Every exponential number needs one logarithm, and a simulated request needs two or three. The method is Tang's (1990): x = 2^k z, and
//! a table holds ln(c) and 1/c for 128 points c. With the c nearest to z, and r = (z - c)/c,
//!
//! ```text
//! ln x = k ln 2 + ln c + ln(1 + r),    |r| <= 1/256
//! ```
//!
//! and seven terms of the series of ln(1 + r) are enough. The code uses additions and multiplications only, none of them fused, so the
//! result is the same on every machine with IEEE 754 doubles.

/// Bits of the mantissa that choose a point.
const BITS: u32 = 7;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - BITS;
/// z runs from 11/16 to 11/8, so that 1 is the border of two cells.
const FIRST: u64 = 0.6875f64.to_bits();
/// The cell that ends at 1.
const LAST_BELOW_ONE: usize = ((1.0f64.to_bits() - FIRST) >> SHIFT) as usize - 1;

#[derive(Clone, Copy)]
struct Point {
    c: f64,
    inverse: f64,
    ln: f64,
}

static POINTS: [Point; 1 << BITS] = points();

const fn points() -> [Point; 1 << BITS] {
    let mut points = [Point { c: 1.0, inverse: 1.0, ln: 0.0 }; 1 << BITS];
    let mut i = 0;
    while i < points.len() {
        // Just below 1 the point is 1 itself, where no digit of a small logarithm is lost.
        if i != LAST_BELOW_ONE {
            let c = f64::from_bits(FIRST + ((2 * i as u64 + 1) << (SHIFT - 1)));
            points[i] = Point { c, inverse: 1.0 / c, ln: series(c) };
        }
        i += 1;
    }
    points
}

/// ln c = 2 artanh((c - 1)/(c + 1)), the smallest terms first.
const fn series(c: f64) -> f64 {
    let t = (c - 1.0) / (c + 1.0);
    let mut sum = 0.0;
    let mut n = 31;
    while n > 1 {
        sum = (sum + 1.0 / n as f64) * t * t;
        n -= 2;
    }
    2.0 * t + 2.0 * t * sum
}

/// ln x for 2^-1022 <= x < 1, within 4e-16 of its value.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    let above = x.to_bits().wrapping_sub(FIRST);
    let point = &POINTS[(above >> SHIFT) as usize % POINTS.len()];
    let k = ((above as i64) >> (f64::MANTISSA_DIGITS - 1)) as f64;
    let z = f64::from_bits(x.to_bits().wrapping_sub(above & !((1 << (f64::MANTISSA_DIGITS - 1)) - 1)));
    // Exact: both are near each other.
    let r = (z - point.c) * point.inverse;
    let r2 = r * r;
    let tail = (-0.5 + r * (1.0 / 3.0)) + r2 * ((-0.25 + r * 0.2) + r2 * (-1.0 / 6.0 + r * (1.0 / 7.0)));
    k * std::f64::consts::LN_2 + point.ln + (r + r2 * tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Seed};

    fn error(x: f64) -> f64 {
        (ln(x) / libm::log(x) - 1.0).abs()
    }

    #[test]
    fn it_is_the_logarithm() {
        let mut stream = Seed(1).stream(Purpose::Judge);
        let worst = (0..1_000_000).map(|_| error(stream.uniform())).fold(0.0, f64::max);
        assert!(worst < 4e-16, "{worst:e}");
    }

    #[test]
    fn it_is_the_logarithm_at_its_edges() {
        let near_one = (1..1000).map(|i| 1.0 - f64::from(i) * f64::EPSILON / 2.0);
        let small = (1..1022).map(|k| libm::ldexp(1.0, -k));
        let cells = (0..128u64).flat_map(|i| [0, 1, 2].map(|j| f64::from_bits(FIRST + (i << SHIFT) + j - 1)));
        for x in near_one.chain(small).chain(cells.filter(|x| *x < 1.0)) {
            assert!(error(x) < 4e-16 && ln(x) < 0.0, "ln {x:e}: {:e}", error(x));
        }
    }
}
