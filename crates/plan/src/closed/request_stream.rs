//! Regularity of the request stream of a closed system: CoV of the gaps, correlation of neighbouring gaps, and
//! dispersion of counts.
//!
//! The CoV is Brady and Gunther's Principle B; it describes single gaps. The dispersion (variance of the count in a
//! window over its mean, as the window grows) describes all gaps together and determines the queue. In a closed system
//! near saturation the requests follow the departures of a busy server, so their long-range dispersion tends to the C2
//! of its service, whatever the CoV.
//!
//! Source: the requests are a Markovian arrival process (Neuts 1979); moments and the limit of the index of dispersion
//! as in Fischer and Meier-Hellstern 1993, section 2.

use crate::levels::{Levels, dot};

/// Second-order properties of a stream of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestStream {
    /// Requests per second.
    pub rate: f64,
    /// CoV of the gaps; 1 for a Poisson process.
    pub cov: f64,
    /// Correlation of neighbouring gaps; 0 for a Poisson process.
    pub lag1: f64,
    /// Variance over mean of the count in a long window; 1 for a Poisson process.
    pub dispersion: f64,
}

impl RequestStream {
    /// Properties of the steps up of a chain, where a step up is a request.
    pub(crate) fn of(chain: &Levels) -> Self {
        let rate = chain.rate();
        // h: expected time to the next request. E[D^2] = 2 E[h] / rate, taken over time.
        let h = chain.until_up(|n| vec![1.0; chain.p[n].len()]);
        let over_time = |value: &[Vec<f64>]| -> f64 { chain.p.iter().zip(value).map(|(p, v)| dot(p, v)).sum() };
        let scv = 2.0 * rate * over_time(&h) - 1.0;
        // The time from the next request to the one after it: E[D_0 D_1] = E[that] / rate.
        let after_next = chain.until_up(|n| chain.after_up(n, &h));
        let covariance = rate * over_time(&after_next) - 1.0;
        let y = chain.surplus();
        let push: f64 = (0..chain.p.len()).map(|n| dot(&chain.p[n], &chain.after_up(n, &y))).sum();
        Self { rate, cov: libm::sqrt(scv), lag1: covariance / scv, dispersion: 1.0 + 2.0 * push / rate }
    }
}
