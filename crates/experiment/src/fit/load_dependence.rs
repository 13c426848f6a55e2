//! Load-dependent rates of a server, from the rates at which it completes requests with each number in flight.
//!
//! With n requests in flight a server under processor sharing completes them at the rate mu(n) / E\[S\], for any service distribution, with
//! Poisson arrivals and for users who think: its network has product form, so the flows between n - 1 and n are equal (BCMP 1975).
//! The Universal Scalability Law is fitted to these rates. A coefficient whose bootstrap interval includes 0 is
//! omitted. Otherwise noise alone could give the server a rate that falls to zero.

use offered_base::{Purpose, Seed};
use offered_workload::Rates;
use serde::{Deserialize, Serialize};

use super::in_flight::{InFlight, Sojourn, sum};
use super::scalability::{ALL, FEWEST, Law, Subsets, interval};

/// Completions with a number of requests in flight from which on its rate is used.
const FEWEST_COMPLETIONS: u64 = 100;
/// Number of samples of the bootstrap. Each draws the parts of all runs anew.
const SAMPLES: usize = 500;

/// Load-dependent rates by the Universal Scalability Law, mu(n) = n / (1 + contention (n - 1) + coherency n (n - 1)), with 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedRates {
    /// Contention; 0 if its interval includes 0.
    pub contention: f64,
    /// The lower end of the 95 % interval of `contention`.
    pub contention_low: f64,
    /// The upper end of the 95 % interval of `contention`.
    pub contention_high: f64,
    /// Coherency; 0 if its interval includes 0.
    pub coherency: f64,
    /// The lower end of the 95 % interval of `coherency`.
    pub coherency_low: f64,
    /// The upper end of the 95 % interval of `coherency`.
    pub coherency_high: f64,
    /// The largest total rate, in units of a server of speed 1.
    pub largest: f64,
    /// The lower end of the 95 % interval of `largest`.
    pub largest_low: f64,
    /// The upper end of the 95 % interval of `largest`.
    pub largest_high: f64,
    /// The largest number of requests in flight for which the rate was measured.
    pub most_in_flight: u32,
}

const CONTENTION: Subsets = &[&[0, 1], &[0]];
const COHERENCY: Subsets = &[&[0, 2], &[0]];

impl FittedRates {
    /// The rates of the server of some runs; `None` if they have too few numbers in flight, or no coefficient differs from 0.
    pub(super) fn of<'a>(runs: impl Iterator<Item = &'a InFlight>) -> Option<Self> {
        let parts: Vec<&Vec<Sojourn>> = runs.flat_map(|run| &run.parts).collect();
        let all = sum(parts.iter().copied());
        let is_used: Vec<bool> = all.iter().map(|one| one.completions >= FEWEST_COMPLETIONS).collect();
        let most_in_flight = is_used.iter().rposition(|is_used| *is_used)? as u32;
        let points = |sojourns: &[Sojourn]| -> Vec<(f64, f64, f64)> {
            let used = (0u32..)
                .zip(sojourns)
                .zip(&is_used)
                .skip(1)
                .filter(|((_, at), is_used)| **is_used && at.completions > 0);
            used.map(|((n, at), _)| (f64::from(n), at.completions as f64 / at.time, at.completions as f64)).collect()
        };
        let measured = points(&all);
        if measured.len() < FEWEST {
            return None;
        }
        let mut random = Seed(1).stream(Purpose::Judge);
        let mut again = || points(&sum((0..parts.len()).map(|_| parts[random.below(parts.len() as u64) as usize])));
        let samples: Vec<_> = (0..SAMPLES).map(|_| again()).collect();
        let fit = |subsets: Subsets| Fitted::of(&measured, &samples, subsets);
        let both = fit(ALL)?;
        let [has_contention, has_coherency] = [both.contention().0, both.coherency().0].map(|low| low > 0.0);
        let fitted = match (has_contention, has_coherency) {
            (true, true) => both,
            (false, true) => fit(COHERENCY)?,
            (_, false) => fit(CONTENTION).filter(|fitted| fitted.contention().0 > 0.0)?,
        };
        let (contention_low, contention_high) = fitted.contention();
        let (coherency_low, coherency_high) = fitted.coherency();
        let (largest_low, largest_high) = fitted.interval(largest);
        Some(Self {
            contention: fitted.law.alpha,
            contention_low,
            contention_high,
            coherency: fitted.law.beta,
            coherency_low,
            coherency_high,
            largest: largest(&fitted.law),
            largest_low,
            largest_high,
            most_in_flight,
        })
    }

    /// The number in flight with the largest rate; `None` if the rate only rises.
    pub fn peak(&self) -> Option<u32> {
        (self.coherency > 0.0)
            .then(|| ((1.0 - self.contention).max(0.0) / self.coherency).sqrt().round().max(1.0) as u32)
    }
}

/// A law, and those of the samples.
struct Fitted {
    law: Law,
    samples: Vec<Law>,
}

impl Fitted {
    fn of(measured: &[(f64, f64, f64)], samples: &[Vec<(f64, f64, f64)>], subsets: Subsets) -> Option<Self> {
        let samples = samples.iter().filter_map(|points| Law::weighted(points, subsets)).collect();
        Some(Self { law: Law::weighted(measured, subsets)?, samples })
    }

    /// The 95 % interval of a figure.
    fn interval(&self, figure: impl Fn(&Law) -> f64) -> (f64, f64) {
        interval(self.samples.iter().map(figure).collect()).unwrap_or((f64::NAN, f64::NAN))
    }

    fn contention(&self) -> (f64, f64) {
        self.interval(|law| law.alpha)
    }

    fn coherency(&self) -> (f64, f64) {
        self.interval(|law| law.beta)
    }
}

fn largest(law: &Law) -> f64 {
    Rates::scalability(law.alpha, law.beta).map_or(f64::NAN, |rates| rates.lasting(Some(u64::from(u32::MAX))))
}
