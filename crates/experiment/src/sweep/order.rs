//! The order in which cells are visited. It does not confound time with load.

use offered_base::{Purpose, Seed};

/// Every place of `cells`, with a stride near 0.618 of their number that shares no factor with it.
///
/// Successive multiples of the golden section are spread as evenly as any sequence can be, so in every stretch of time the values
/// of the first field are mixed; and since the stride shares no factor with the number of cells, neither does it with the number
/// of values of the last field, which therefore takes all its values in turn.
pub(super) fn strided(cells: usize) -> Vec<usize> {
    let golden = (cells as f64 * 0.618_034).round() as usize;
    let mut stride = golden.max(1);
    while gcd(stride, cells) > 1 {
        stride += 1;
    }
    (0..cells).map(|visit| visit * stride % cells).collect()
}

/// Every place of `cells`, all orders being as likely (Fisher and Yates).
pub(super) fn shuffled(cells: usize, seed: Seed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells).collect();
    let mut stream = seed.stream(Purpose::Order);
    for last in (1..cells).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    order
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The correlation of when a cell is visited with its value on one axis.
    fn correlation(order: &[usize], value: impl Fn(usize) -> usize) -> f64 {
        let n = order.len() as f64;
        let pairs: Vec<(f64, f64)> = order.iter().enumerate().map(|(t, at)| (t as f64, value(*at) as f64)).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
        sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
    }

    #[test]
    fn every_cell_is_visited_once() {
        for cells in 0..200 {
            for mut order in [strided(cells), shuffled(cells, Seed(3))] {
                order.sort_unstable();
                assert_eq!(order, (0..cells).collect::<Vec<_>>());
            }
        }
        assert_ne!(shuffled(20, Seed(1)), shuffled(20, Seed(2)));
        assert_eq!(shuffled(20, Seed(1)), shuffled(20, Seed(1)));
    }

    #[test]
    fn time_is_not_confounded_with_load() {
        for first in 2..12 {
            for last in 2..12 {
                let order = strided(first * last);
                let (a, b) = (correlation(&order, |at| at / last), correlation(&order, |at| at % last));
                assert!(a.abs() < 0.5 && b.abs() < 0.5, "{first} x {last}: {a:.2}, {b:.2}");
            }
        }
    }
}
