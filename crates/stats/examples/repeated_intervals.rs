//! How often repeated confidence intervals contain the truth where a sequence stops as soon as the interval decides.
//!
//! A sequence has up to 20 values, with looks at 4, 6, ..., 20, like the pairs of `offered compare`. It stops when the interval excludes zero. The
//! values are the truth, in standard deviations, plus noise. Prints the table of `book/src/reference/compare.md`:
//!
//! ```text
//! cargo run -p offered-stats --example repeated_intervals
//! ```

use offered_base::{Purpose, Seed};
use offered_stats::sequential::RepeatedIntervals;
use offered_stats::steady_state::Estimate;

const SEQUENCES: usize = 4000;

fn main() {
    let looks: Vec<usize> = (4..=20).step_by(2).collect();
    let repeated = RepeatedIntervals::new(&looks.iter().map(|n| *n as f64).collect::<Vec<_>>());
    let ordinary = RepeatedIntervals::new(&[20.0]);
    let mut stream = Seed(20_261_126).stream(Purpose::Judge);
    println!("noise        change (sd)  contains %  known %  wrong sign %  values  ordinary: contains %");
    for noise in ["normal", "exponential"] {
        for truth in [0.0, 0.3, 0.6, 1.0, 2.0] {
            let (mut contains, mut known, mut wrong, mut values, mut by_ordinary) = (0, 0, 0, 0, 0);
            for _ in 0..SEQUENCES {
                let mut draw = || match noise {
                    "normal" => (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0,
                    _ => stream.exponential() - 1.0,
                };
                let sequence: Vec<f64> = (0..20).map(|_| truth + draw()).collect();
                let (n, found) = stopped(repeated, &looks, &sequence);
                contains += usize::from(found.low <= truth && truth <= found.high);
                known += usize::from(excludes_zero(found));
                wrong += usize::from(found.high < 0.0 || (truth == 0.0 && found.low > 0.0));
                values += n;
                let (_, found) = stopped(ordinary, &looks, &sequence);
                by_ordinary += usize::from(found.low <= truth && truth <= found.high);
            }
            let percent = |n: usize| 100.0 * n as f64 / SEQUENCES as f64;
            println!(
                "{noise:<11}  {truth:>11.1}  {:>10.1}  {:>7.1}  {:>12.1}  {:>6.1}  {:>20.1}",
                percent(contains),
                percent(known),
                percent(wrong),
                values as f64 / SEQUENCES as f64,
                percent(by_ordinary)
            );
        }
    }
}

/// The number of values at which the sequence stops, and the interval then.
fn stopped(intervals: RepeatedIntervals, looks: &[usize], sequence: &[f64]) -> (usize, Estimate) {
    let all = looks.iter().map(|n| (*n, intervals.mean(&sequence[..*n])));
    let mut last = (0, intervals.mean(&[]));
    for (n, found) in all {
        last = (n, found);
        if excludes_zero(found) {
            break;
        }
    }
    last
}

fn excludes_zero(found: Estimate) -> bool {
    found.low > 0.0 || found.high < 0.0
}
