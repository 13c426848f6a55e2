//! The distribution of a time: percentiles, density, and confidence intervals.

use std::io;

use offered_base::Difference;
use offered_events::Event;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::percentile::{self, BATCHES, PercentileInterval, SortedBatches};
use offered_stats::steady_state::{Estimate, ratio};
use offered_stats::values::Sorted;
use offered_verify::{self as verify, Scope};
use serde::{Deserialize, Serialize};

/// Points of the percentile curve per nine.
const PER_NINE: u32 = 20;
/// The curve ends at the 99.999th percentile.
const NINES: u32 = 5;
/// Bins of the density per decade.
const PER_DECADE: i32 = 20;

/// The distribution of a time, in ms. Percentiles are observed values, as in the tables of the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeDistribution {
    /// Number of values.
    pub n: u64,
    /// Mean.
    pub mean_ms: f64,
    /// 95 % interval of the mean, from 60 batches; `None` if the run is too short.
    pub mean_interval_ms: Option<ConfidenceInterval>,
    /// Sample standard deviation.
    pub sdev_ms: f64,
    /// Coefficient of variation, sdev / mean.
    pub cov: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 95 % interval of the 95th percentile, from 60 batches; `None` if the run is too short.
    pub p95_interval_ms: Option<ConfidenceInterval>,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p999_ms: f64,
    /// Maximum.
    pub max_ms: f64,
    /// Percentile curve: fraction p and its quantile, up to where fewer than two values remain.
    pub percentile_curve: Vec<[f64; 2]>,
    /// Logarithmic bins: lower edge (exclusive), upper edge (inclusive), both in ms, and count.
    pub bins: Vec<(f64, f64, u64)>,
}

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfidenceInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// The interval of a time; `None` if it extends below zero or to infinity.
    fn of(Estimate { low, high, .. }: Estimate) -> Option<Self> {
        (low >= 0.0 && high.is_finite()).then_some(Self { low, high })
    }
}

/// A time of a request.
type Time<'a> = dyn Fn(&Event) -> Option<Difference> + 'a;

impl TimeDistribution {
    /// The distribution of each of `times` over the requests in `scope`, from a clock with this tick; `None` without values.
    pub(super) fn of<const N: usize>(scope: Scope, tick: u64, times: [&Time; N]) -> io::Result<[Option<Self>; N]> {
        let mut ends = [verify::Ends::default(); N];
        scope.each_sent(|sent, event| {
            for (ends, time) in ends.iter_mut().zip(times) {
                if time(event).is_some() {
                    ends.add(sent);
                }
            }
        })?;
        let mut parts = [(); N].map(|()| Groups::default());
        scope.each_sent(|sent, event| {
            for ((ends, time), parts) in ends.iter().zip(times).zip(&mut parts) {
                if let Some(time) = time(event) {
                    let span = u128::from(ends.last - ends.first) + 1;
                    parts.add((u128::from(sent - ends.first) * BATCHES as u128 / span) as usize, time.0);
                }
            }
        })?;
        Ok(parts.map(|parts| Self::of_batches(&parts.sorted(), tick)))
    }

    /// The distribution of values in batches.
    fn of_batches(parts: &SortedGroups<i64>, tick: u64) -> Option<Self> {
        let all = parts.all();
        let row = all.summary(1e6)?;
        let each: Vec<&Sorted<i64>> = (0..BATCHES).filter_map(|part| parts.group(part)).collect();
        let enough = row.n >= 2 * BATCHES;
        let sums: Vec<_> = each.iter().map(|part| (part.moments().sum as f64 / 1e6, part.len() as f64)).collect();
        let batched = SortedBatches { finite: parts, infinite: &[0; BATCHES] };
        let p95_interval_ms = match percentile::interval(&batched, 0.95, None) {
            PercentileInterval::Known(low, high) if low >= 0.0 => {
                Some(ConfidenceInterval { low: low / 1e6, high: high / 1e6 })
            }
            _ => None,
        };
        Some(Self {
            n: row.n as u64,
            mean_ms: row.mean,
            mean_interval_ms: enough.then(|| ratio(&sums)).and_then(ConfidenceInterval::of),
            sdev_ms: row.sdev,
            cov: row.cov,
            p50_ms: row.median,
            p90_ms: row.p90,
            p95_ms: row.p95,
            p95_interval_ms,
            p99_ms: row.p99,
            p999_ms: row.p999,
            max_ms: row.max,
            percentile_curve: percentile_curve(all),
            bins: bins(all, tick),
        })
    }
}

/// The percentiles of `sorted` from 11 %, up to where fewer than two values remain.
fn percentile_curve(sorted: &Sorted<i64>) -> Vec<[f64; 2]> {
    let places = (1..=PER_NINE * NINES).map(|k| 1.0 - 10f64.powf(-f64::from(k) / f64::from(PER_NINE)));
    let seen = places.take_while(|p| sorted.len() as f64 * (1.0 - p) >= 2.0);
    seen.filter_map(|p| Some([p, sorted.quantile(p)? as f64 / 1e6])).collect()
}

/// The counts of the positive values of `sorted` in logarithmic bins with edges at whole ticks. No bin is narrower than
/// a tick, because a timestamp represents all times that are rounded to it. The first edge is one tick below the
/// smallest value, or half a tick.
fn bins(sorted: &Sorted<i64>, tick: u64) -> Vec<(f64, f64, u64)> {
    let positive = || sorted.ascending().filter(|(value, _)| *value > 0).map(|(value, n)| (value.unsigned_abs(), n));
    let Some(((min, _), max)) = positive().next().zip(sorted.max().map(i64::unsigned_abs)) else { return Vec::new() };
    let place = |value: u64| (value as f64).log10() * f64::from(PER_DECADE);
    let whole = |k: i32| (10f64.powf(f64::from(k) / f64::from(PER_DECADE)) / tick as f64).ceil() * tick as f64;
    let first = place(min).floor() as i32;
    let (min, tick) = (min as f64, tick as f64);
    let below =
        [whole(first), whole(first - 1), min - tick].into_iter().find(|edge| *edge > 0.0 && *edge <= min - tick);
    let mut edges = vec![below.unwrap_or(min.min(tick) / 2.0)];
    for k in first..=place(max).ceil() as i32 {
        if whole(k) >= min && whole(k) > edges[edges.len() - 1] {
            edges.push(whole(k));
        }
    }
    let mut counts = vec![0; edges.len() - 1];
    for (value, n) in positive() {
        let above = edges.partition_point(|edge| *edge < value as f64).checked_sub(1);
        above.and_then(|cell| counts.get_mut(cell)).into_iter().for_each(|count| *count += n);
    }
    edges.windows(2).zip(counts).map(|(edge, n)| (edge[0] / 1e6, edge[1] / 1e6, n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_stats::values::Values;

    #[test]
    fn the_curve_passes_through_the_percentiles_of_the_tables() {
        let values = (1..=100_000).map(|i| i * 1000).collect::<Values<i64>>().sorted();
        let curve = percentile_curve(&values);
        let at = |p: f64| curve.iter().find(|point| (point[0] - p).abs() < 1e-12).unwrap()[1];
        for p in [0.9, 0.99, 0.999, 0.9999] {
            assert_eq!(at(p), values.quantile(p).unwrap() as f64 / 1e6, "{p}");
        }
        assert!(curve.last().unwrap()[0] <= 0.99999, "a single value decides nothing");
        assert!(curve.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1]));
    }

    #[test]
    fn an_interval_without_information_is_none() {
        let of = |low, high| ConfidenceInterval::of(Estimate { value: 40.0, low, high });
        assert_eq!(of(30.0, 57.0), Some(ConfidenceInterval { low: 30.0, high: 57.0 }));
        // Parts that resemble each other so much that they count as hardly more than one.
        assert_eq!((of(-53_028.0, 53_433.0), of(f64::NEG_INFINITY, f64::INFINITY)), (None, None));
        assert_eq!((of(30.0, f64::INFINITY), of(f64::NAN, f64::NAN)), (None, None));
    }

    #[test]
    fn every_value_is_in_one_bin() {
        for tick in [1, 1_000_000] {
            let values = (1..5000u64).map(|i| (i * i * 7).next_multiple_of(tick) as i64);
            let values = values.collect::<Values<i64>>().sorted();
            let cells = bins(&values, tick);
            assert_eq!(cells.iter().map(|cell| cell.2).sum::<u64>(), values.len(), "{tick}");
            assert!(cells.windows(2).all(|pair| pair[0].1 == pair[1].0 && pair[0].0 < pair[0].1));
        }
        // Times from 0 to 30 ms of a clock with a tick of 1 ms.
        let coarse = (0..=30).map(|ms| ms * 1_000_000).collect::<Values<i64>>().sorted();
        let cells = bins(&coarse, 1_000_000);
        assert_eq!((cells[0].0, cells[0].1, cells[0].2), (0.5, 1.0, 1));
        assert!(cells[1..].iter().all(|cell| cell.1 - cell.0 >= 1.0 - 1e-9), "{cells:?}");
        let of = |values: &[i64]| values.iter().copied().collect::<Values<i64>>().sorted();
        assert!(bins(&of(&[-5, 0, 0]), 1).is_empty(), "zeros and less have no place on a logarithmic axis");
        assert_eq!(bins(&of(&[-5, 2]), 1).iter().map(|cell| cell.2).sum::<u64>(), 1);
    }
}
