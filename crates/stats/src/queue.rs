//! The number of responses of a station that an interval needs, if the load is known.
//!
//! A short sample from a calm period of a busy server has low values and also a correlation that is too short, so it
//! seems to be long enough. Therefore the sample alone must not determine whether there is an interval. Near saturation
//! the number of requests at a server is a reflected Brownian motion, whose correlation follows from the load and the
//! variability of arrivals and service.

use crate::percentile::{MANY_CLUSTERS, MIN_CORRELATION_LENGTHS};

/// Minimum number of correlation lengths for the mean.
const FOR_MEAN: f64 = 80.0;
/// Minimum number of clusters of values beyond a percentile.
const CLUSTERS: f64 = 3.0;

/// Correlation of the responses of a station at a known load. Counted in responses, it does not depend on the number of servers.
///
/// The correlation length of a figure is the factor by which the variance of its estimate exceeds that of independent values. In heavy
/// traffic it is 4 × s for the mean, with s = V / (1 - rho)^2, where V is half the variance of the work that arrives (1 for M/M/1)
/// (Whitt 1989,
/// Planning queueing simulations, Management Science 35). For the share q of responses above a percentile, it follows
/// from the asymptotic variance of an indicator of a birth-death process (Whitt 1992, Operations Research 40):
///
/// ```text
/// 2 s (q (1/q - q + 2 ln q) + (1 - q)^2) / (1 - q)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueCorrelation {
    /// s, requests.
    scale: f64,
    order: ServiceOrder,
}

/// What the order of service depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceOrder {
    /// The order of arrival.
    Arrivals,
    /// Neither that nor sizes, as in processor sharing.
    Other,
    /// Sizes. Most responses do not wait for the queue, so that percentiles are known better than from its correlation.
    Sizes,
}

impl QueueCorrelation {
    /// The correlation at a station with this load per server and variability of the arriving work: `(C_a^2 + C_s^2) / 2` for
    /// single arrivals. Percentiles need many values only if requests are served in the order of arrival. `None` if the
    /// load is not between 0 and 1, or the variability infinite.
    pub fn new(load: f64, variability: f64, order: ServiceOrder) -> Option<Self> {
        let scale = variability / ((1.0 - load) * (1.0 - load));
        (load > 0.0 && load < 1.0 && scale.is_finite()).then_some(Self { scale, order })
    }

    /// Number of responses from which the mean has an interval.
    pub fn needed_for_mean(self) -> u64 {
        (FOR_MEAN * 4.0 * self.scale).round() as u64
    }

    /// Number of responses from which the percentile `p` (in (0, 1)) may have an interval: as many as in
    /// [`interval`](crate::percentile::interval), with known correlation lengths and a minimum of three clusters.
    pub fn needed_for_percentile(self, p: f64) -> u64 {
        if self.order != ServiceOrder::Arrivals {
            return 0;
        }
        let rarer = p.min(1.0 - p);
        let for_clusters = |clusters: f64| clusters * self.length(rarer) / rarer;
        let for_lengths = MIN_CORRELATION_LENGTHS * self.length(0.5);
        for_clusters(MANY_CLUSTERS).min(for_lengths).max(for_clusters(CLUSTERS)).ceil() as u64
    }

    /// Number of correlation lengths of the median in this number of responses; `None` if the order depends on sizes.
    pub fn correlation_lengths(self, responses: u64) -> Option<f64> {
        (self.order != ServiceOrder::Sizes).then(|| responses as f64 / self.length(0.5))
    }

    /// Number of correlation lengths of the mean in this number of responses.
    pub fn correlation_lengths_of_mean(self, responses: u64) -> f64 {
        responses as f64 / (4.0 * self.scale)
    }

    /// Correlation length of the share of responses above the percentile that a share `q` exceeds.
    fn length(self, q: f64) -> f64 {
        let below = 1.0 - q;
        2.0 * self.scale * (q * (1.0 / q - q + 2.0 * q.ln()) + below * below) / below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sum over the states of M/M/1 at load 0.98: `2 / (lambda p_j)` times the squared distribution function of the centred
    /// indicator, by j.
    #[test]
    fn correlation_lengths_are_those_of_a_birth_death_process() {
        let load: f64 = 0.98;
        let queue = QueueCorrelation::new(load, 1.0, ServiceOrder::Arrivals).unwrap();
        for q in [0.5, 0.1, 0.01] {
            let state = (f64::ln(q) / load.ln()).round();
            let q = load.powf(state);
            let term = |j: f64| {
                let p = (1.0 - load) * load.powf(j);
                let sum = if j < state { q * (1.0 - load.powf(j + 1.0)) } else { (1.0 - q) * load.powf(j + 1.0) };
                2.0 * sum * sum / p
            };
            let exact = (0..3000).map(|j| term(f64::from(j))).sum::<f64>() / (q * (1.0 - q));
            assert!((queue.length(q) / exact - 1.0).abs() < 0.05, "{q}: {} {exact}", queue.length(q));
        }
    }

    #[test]
    fn a_busier_or_more_variable_server_needs_more_responses() {
        let of = |load, variability, order| QueueCorrelation::new(load, variability, order);
        let needed = |load, variability| of(load, variability, ServiceOrder::Arrivals).unwrap().needed_for_mean();
        assert_eq!((needed(0.9, 1.0), needed(0.95, 1.0), needed(0.9, 4.5)), (32_000, 128_000, 144_000));
        let queue = of(0.8, 1.0, ServiceOrder::Arrivals).unwrap();
        // Five minutes at 80/s of 100/s are enough for the p95, and not for the p99.
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|p| queue.needed_for_percentile(p));
        assert!(p50 < 2000 && p95 < 24_000 && p99 > 24_000 && p99 < 35_000, "{p50} {p95} {p99}");
        for (order, has_lengths) in [(ServiceOrder::Other, true), (ServiceOrder::Sizes, false)] {
            let other = of(0.8, 1.0, order).unwrap();
            assert_eq!((other.needed_for_percentile(0.99), other.needed_for_mean()), (0, queue.needed_for_mean()));
            assert_eq!(other.correlation_lengths(1000).is_some(), has_lengths, "{order:?}");
        }
        let order = ServiceOrder::Arrivals;
        assert_eq!((of(1.0, 1.0, order), of(0.5, f64::INFINITY, order)), (None, None));
    }
}
