//! Reduces a sample to fewer values while keeping its mean.

/// Means of `n` equal shares of a sample, given in ascending order as (value, count). Their mean is that of the sample;
/// the variation within a share is lost.
pub(crate) fn quantile_means(sample: impl Iterator<Item = (f64, u64)> + Clone, n: usize) -> Vec<f64> {
    let count: u64 = sample.clone().map(|(_, count)| count).sum();
    let per = count as f64 / n as f64;
    let (mut shares, mut sum, mut room) = (Vec::with_capacity(n), 0.0, per);
    for (value, count) in sample {
        let mut left = count as f64;
        while left > 0.0 {
            let taken = left.min(room);
            sum += taken * value;
            left -= taken;
            room -= taken;
            // Rounding errors must not create another share.
            if room <= 1e-9 * per && shares.len() + 1 < n {
                shares.push(sum / per);
                (sum, room) = (0.0, per);
            } else if room <= 0.0 {
                break;
            }
        }
    }
    shares.push(sum / per);
    shares
}

/// Rounds `values` to integers such that their sum differs by at most one half: rounding errors are carried over.
pub(crate) fn round_keeping_sum(values: &[f64]) -> Vec<u64> {
    let (mut exact, mut given) = (0.0, 0.0);
    let round = |value: &f64| {
        exact += value;
        let next = f64::round(exact - given);
        given += next;
        next as u64
    };
    values.iter().map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_keep_mean_and_order(counts in proptest::collection::vec(1u64..50, 1..60), n in 1usize..40) {
            let sample = counts.iter().enumerate().map(|(i, count)| ((i * i + 1) as f64, *count));
            let total: f64 = sample.clone().map(|(value, count)| value * count as f64).sum();
            let (mean, n) = (total / counts.iter().sum::<u64>() as f64, n.min(counts.iter().sum::<u64>() as usize));
            let shares = quantile_means(sample, n);
            prop_assert_eq!(shares.len(), n);
            prop_assert!((shares.iter().sum::<f64>() / n as f64 / mean - 1.0).abs() < 1e-6, "{:?}", shares);
            prop_assert!(shares.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-9)));
            let numbers = round_keeping_sum(&shares);
            prop_assert!((numbers.iter().sum::<u64>() as f64 - shares.iter().sum::<f64>()).abs() <= 0.5 + 1e-6);
            prop_assert!(numbers.iter().all(|number| *number >= 1));
        }
    }
}
