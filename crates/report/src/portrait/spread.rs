//! The spread of a time: its percentiles, its density, and how well its mean is known.

use std::io;

use offered_model::{Difference, Event};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::steady_state::{Estimate, from_batches, ratio};
use offered_stats::values::Sorted;
use offered_verify::{self as verify, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Places of the percentile curve per nine.
const PER_NINE: u32 = 20;
/// It ends at the 99.999 % point.
const NINES: u32 = 5;
/// Cells of the density per decade.
const PER_DECADE: i32 = 20;
/// Intervals come from so many equal parts of the judged time: consecutive responses resemble each other, parts hardly do.
const BATCHES: usize = 10;

/// How a time is spread, in ms. Percentiles are values that occurred, by the rule of the verdict's tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many values.
    pub n: u64,
    /// The mean.
    pub mean_ms: f64,
    /// The 95 % interval of the mean, from ten parts of the judged time; `None` where the run is too short to tell.
    pub mean_interval_ms: Option<Ends>,
    /// The sample standard deviation.
    pub sdev_ms: f64,
    /// sdev / mean.
    pub cov: f64,
    /// The median.
    pub p50_ms: f64,
    /// The 90 % point.
    pub p90_ms: f64,
    /// The 95 % point.
    pub p95_ms: f64,
    /// Its interval, as that of the mean.
    pub p95_interval_ms: Option<Ends>,
    /// The 99 % point.
    pub p99_ms: f64,
    /// The 99.9 % point.
    #[serde(rename = "p99.9_ms")]
    pub p999_ms: f64,
    /// The largest.
    pub max_ms: f64,
    /// The fraction p and the value that p of all are at most, as far as a single value does not decide it.
    pub curve: Vec<[f64; 2]>,
    /// Cells of equal factors: lower edge and upper edge in ms, and how many lie above the one and at most at the other.
    pub cells: Vec<(f64, f64, u64)>,
}

/// The ends of a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ends {
    /// The lower.
    pub low: f64,
    /// The upper.
    pub high: f64,
}

impl Ends {
    /// Of a time; `None` where the interval reaches below zero or has no end, and so tells nothing.
    fn of(Estimate { low, high, .. }: Estimate) -> Option<Self> {
        (low >= 0.0 && high.is_finite()).then_some(Self { low, high })
    }
}

/// What is looked at of a launch.
type Time<'a> = dyn Fn(&Event) -> Option<Difference> + 'a;

impl Spread {
    /// Of what each of `times` says of the launches of `scope`, whose clock has this tick; `None` of those that say nothing of any.
    pub(super) fn of<const N: usize>(scope: Scope, tick: u64, times: [&Time; N]) -> io::Result<[Option<Self>; N]> {
        let mut ends = [verify::Ends::default(); N];
        scope.launches(|sent, event| {
            for (ends, time) in ends.iter_mut().zip(times) {
                if time(event).is_some() {
                    ends.add(sent);
                }
            }
        })?;
        let mut parts = [(); N].map(|()| Groups::default());
        scope.launches(|sent, event| {
            for ((ends, time), parts) in ends.iter().zip(times).zip(&mut parts) {
                if let Some(time) = time(event) {
                    let span = u128::from(ends.last - ends.first) + 1;
                    parts.add((u128::from(sent - ends.first) * BATCHES as u128 / span) as usize, time.0);
                }
            }
        })?;
        Ok(parts.map(|parts| Self::of_parts(&parts.sorted(), tick)))
    }

    /// Of values in parts of the time.
    fn of_parts(parts: &SortedGroups<i64>, tick: u64) -> Option<Self> {
        let all = parts.all();
        let row = all.summary(1e6)?;
        let each: Vec<&Sorted<i64>> = (0..BATCHES).filter_map(|part| parts.of(part)).collect();
        let full = each.len() == BATCHES && each.iter().all(|part| !part.is_empty());
        let sums: Vec<_> = each.iter().map(|part| (part.moments().sum as f64 / 1e6, part.len() as f64)).collect();
        let p95s: Vec<f64> = each.iter().filter_map(|part| Some(part.quantile(0.95)? as f64 / 1e6)).collect();
        Some(Self {
            n: row.n as u64,
            mean_ms: row.mean,
            mean_interval_ms: full.then(|| ratio(&sums)).and_then(Ends::of),
            sdev_ms: row.sdev,
            cov: row.cov,
            p50_ms: row.median,
            p90_ms: row.p90,
            p95_ms: row.p95,
            p95_interval_ms: full.then(|| from_batches(row.p95, &p95s)).and_then(Ends::of),
            p99_ms: row.p99,
            p999_ms: row.p999,
            max_ms: row.max,
            curve: curve(all),
            cells: cells(all, tick),
        })
    }
}

/// The percentiles of `sorted` from the 11 % point, up to where fewer than two values are left above.
fn curve(sorted: &Sorted<i64>) -> Vec<[f64; 2]> {
    let places = (1..=PER_NINE * NINES).map(|k| 1.0 - 10f64.powf(-f64::from(k) / f64::from(PER_NINE)));
    let seen = places.take_while(|p| sorted.len() as f64 * (1.0 - p) >= 2.0);
    seen.filter_map(|p| Some([p, sorted.quantile(p)? as f64 / 1e6])).collect()
}

/// The counts of `sorted` in cells of equal factors, whose edges are whole ticks so that each has its share of them.
/// The first edge is a nanosecond or more, and what is not above it is in no cell.
fn cells(sorted: &Sorted<i64>, tick: u64) -> Vec<(f64, f64, u64)> {
    let positive = || sorted.ascending().filter(|(value, _)| *value > 0).map(|(value, n)| (value.unsigned_abs(), n));
    let Some(((min, _), max)) = positive().next().zip(sorted.max().map(i64::unsigned_abs)) else { return Vec::new() };
    let place = |value: u64| (value as f64).log10() * f64::from(PER_DECADE);
    let whole =
        |k: i32| ((10f64.powf(f64::from(k) / f64::from(PER_DECADE)) / tick as f64).ceil() as u64).saturating_mul(tick);
    // The first edge lies below the smallest value.
    let mut edges: Vec<u64> = vec![whole(place(min).floor() as i32 - 1).min(min - 1).max(1)];
    for k in place(min).floor() as i32..=place(max).ceil() as i32 {
        if whole(k) > edges[edges.len() - 1] {
            edges.push(whole(k));
        }
    }
    let mut counts = vec![0; edges.len() - 1];
    for (value, n) in positive() {
        let above = edges.partition_point(|edge| *edge < value).checked_sub(1);
        above.and_then(|cell| counts.get_mut(cell)).into_iter().for_each(|count| *count += n);
    }
    edges.windows(2).zip(counts).map(|(edge, n)| (edge[0] as f64 / 1e6, edge[1] as f64 / 1e6, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_stats::values::Values;

    #[test]
    fn the_curve_passes_through_the_percentiles_of_the_tables() {
        let values = (1..=100_000).map(|i| i * 1000).collect::<Values<i64>>().sorted();
        let curve = curve(&values);
        let at = |p: f64| curve.iter().find(|point| (point[0] - p).abs() < 1e-12).unwrap()[1];
        for p in [0.9, 0.99, 0.999, 0.9999] {
            assert_eq!(at(p), values.quantile(p).unwrap() as f64 / 1e6, "{p}");
        }
        assert!(curve.last().unwrap()[0] <= 0.99999, "a single value decides nothing");
        assert!(curve.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1]));
    }

    #[test]
    fn an_interval_that_tells_nothing_is_none() {
        let of = |low, high| Ends::of(Estimate { value: 40.0, low, high });
        assert_eq!(of(30.0, 57.0), Some(Ends { low: 30.0, high: 57.0 }));
        // Parts that resemble each other so much that they count as hardly more than one.
        assert_eq!((of(-53_028.0, 53_433.0), of(f64::NEG_INFINITY, f64::INFINITY)), (None, None));
        assert_eq!((of(30.0, f64::INFINITY), of(f64::NAN, f64::NAN)), (None, None));
    }

    #[test]
    fn every_value_is_in_one_cell() {
        for tick in [1, 1_000_000] {
            let values = (1..5000u64).map(|i| (i * i * 7).next_multiple_of(tick) as i64);
            let values = values.collect::<Values<i64>>().sorted();
            let cells = cells(&values, tick);
            assert_eq!(cells.iter().map(|cell| cell.2).sum::<u64>(), values.len(), "{tick}");
            assert!(cells.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1));
        }
        let of = |values: &[i64]| values.iter().copied().collect::<Values<i64>>().sorted();
        assert!(cells(&of(&[-5, 0, 0]), 1).is_empty(), "zeros and less have no place on a logarithmic axis");
        assert_eq!(cells(&of(&[-5, 2]), 1).iter().map(|cell| cell.2).sum::<u64>(), 1);
    }
}
