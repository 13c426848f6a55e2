//! The distribution of the service times of each request.

use std::collections::BTreeMap;

use offered_distributions::Distribution;
use serde::{Deserialize, Serialize};

use super::minimise::minimise;
use super::observations::Observations;
use super::survival::Survival;
use crate::{Error, VerifiedRun};

/// Number of complete service times below which no distribution is fitted.
const FEWEST: usize = 100;
/// Number of times of a likelihood.
const MOST: usize = 20_000;
/// CoV below which service times are a constant.
const CONSTANT_COV: f64 = 0.01;
/// Largest distance from the measured distribution function that is accepted, if chance does not explain more.
const DISTANCE: f64 = 0.02;
/// Number of values of an empirical distribution.
const VALUES: usize = 200;
/// Difference of the Bayesian information criterion up to which another distribution fits as well (Raftery 1995: 6 is strong evidence).
const AS_GOOD: f64 = 6.0;

/// The service time of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedService {
    /// Name of the request.
    pub request: String,
    /// Where the service time comes from.
    pub source: ServiceSource,
    /// The distribution as a workload file writes it.
    pub distribution: String,
    /// The mean of the distribution.
    pub mean_ms: f64,
    /// The lower end of the 95 % interval of the mean.
    pub mean_low_ms: f64,
    /// The upper end of the 95 % confidence interval of `mean_ms`.
    pub mean_high_ms: f64,
    /// The squared coefficient of variation.
    pub scv: f64,
    /// Number of requests that were sent with no other in flight, and that completed before the next request was sent.
    pub complete: u64,
    /// Number of requests that were sent with no other in flight, and that were still in flight when the next request
    /// was sent.
    pub censored: u64,
    /// Largest distance between the fitted and the measured distribution function, 0 to 1; `None` for another source.
    pub distance: Option<f64>,
    /// Other distributions that the data do not distinguish from this one.
    pub alternatives: Vec<String>,
}

offered_base::named! {
    /// Where a service time comes from.
    pub enum ServiceSource {
        /// Requests that were sent with no other request in flight.
        Unloaded = "unloaded",
        /// Processor time per response on an observed machine; the distribution is assumed.
        Demand = "demand",
    }
}

impl FittedService {
    /// Standard error of the mean, relative to it.
    pub(super) fn relative_error(&self) -> f64 {
        (self.mean_high_ms - self.mean_low_ms) / (2.0 * 1.96 * self.mean_ms)
    }
}

/// Processor time per response in seconds, with its 95 % interval.
pub(super) type Demand = (f64, f64, f64);

/// Processor time per response by request, from observed machines. The name of the only request is empty.
pub(super) fn demands<'a>(runs: impl Iterator<Item = &'a VerifiedRun>) -> BTreeMap<String, Demand> {
    let mut all = BTreeMap::new();
    for host in runs.filter_map(|run| run.verdict.server_side.as_ref()).flat_map(|side| &side.hosts) {
        for of in host.demands.iter().flat_map(|demands| &demands.labels) {
            if let (Some(mean), Some(low), Some(high)) = (of.demand_ms, of.demand_low_ms, of.demand_high_ms) {
                all.insert(of.label.clone(), (mean / 1e3, low / 1e3, high / 1e3));
            }
        }
        if let Some(line) = host.utilisation_law.as_ref().and_then(|law| law.regression.as_ref()) {
            all.insert(String::new(), (line.demand_ms / 1e3, line.demand_low_ms / 1e3, line.demand_high_ms / 1e3));
        }
    }
    all
}

/// The service time of each request, and its distribution.
///
/// # Errors
/// A request has neither enough unloaded times nor a demand.
pub(super) fn fit(
    labels: &[String],
    runs: &[&Observations],
    demands: &BTreeMap<String, Demand>,
    warnings: &mut Vec<String>,
) -> Result<(Vec<FittedService>, Vec<Distribution>), Error> {
    let mut all = (Vec::new(), Vec::new());
    for (label, request) in (0u16..).zip(labels) {
        let survival = Survival::of(label, runs);
        let demand = demands.get(if labels.len() == 1 { "" } else { request });
        let (law, distribution) = if survival.complete() >= FEWEST {
            of_unloaded(request, &survival)
        } else {
            let Some(demand) = demand else {
                return Err(Error::TooFewUnloaded { request: request.clone(), n: survival.complete() });
            };
            warnings.push(format!(
                "{request}: only {} requests were alone at the server, so the mean service time is the processor time of the observed machine, and the distribution is assumed to be exponential; add a run at a low rate",
                survival.complete()
            ));
            of_demand(request, *demand)?
        };
        if let (Some((mean, _, high)), ServiceSource::Unloaded) = (demand, law.source)
            && *high * 1e3 < law.mean_low_ms
        {
            warnings.push(format!(
                "{request}: an unloaded request takes {:.3} ms, of which {:.3} ms are processor time of the observed machine; the rest (network, other machines) is part of the fitted service time",
                law.mean_ms,
                mean * 1e3
            ));
        }
        all.0.push(law);
        all.1.push(distribution);
    }
    Ok(all)
}

fn of_demand(request: &str, (mean, low, high): Demand) -> Result<(FittedService, Distribution), Error> {
    let distribution = Distribution::exponential(mean)?;
    let law = FittedService {
        request: request.to_owned(),
        source: ServiceSource::Demand,
        distribution: distribution.to_string(),
        mean_ms: mean * 1e3,
        mean_low_ms: low * 1e3,
        mean_high_ms: high * 1e3,
        scv: 1.0,
        complete: 0,
        censored: 0,
        distance: None,
        alternatives: Vec::new(),
    };
    Ok((law, distribution))
}

fn of_unloaded(request: &str, survival: &Survival) -> (FittedService, Distribution) {
    let mut fits = fits(survival);
    fits.sort_by(|a, b| a.criterion.total_cmp(&b.criterion));
    let n = survival.complete() as f64;
    let accepted = (1.63 / n.sqrt()).max(DISTANCE);
    let best = fits.first().filter(|best| distance(&best.distribution, survival) <= accepted);
    let (distribution, alternatives) = match best {
        Some(best) => {
            let as_good = |other: &&Fit| {
                other.criterion - best.criterion <= AS_GOOD && distance(&other.distribution, survival) <= accepted
            };
            let others = fits[1..].iter().filter(as_good).map(|other| other.distribution.to_string());
            (best.distribution.clone(), others.collect())
        }
        None => (empirical(survival), Vec::new()),
    };
    let mean = distribution.mean();
    let sdev = distribution.scv().sqrt() * mean;
    let wide = 1.96 * sdev / n.sqrt();
    let law = FittedService {
        request: request.to_owned(),
        source: ServiceSource::Unloaded,
        distribution: distribution.to_string(),
        mean_ms: mean * 1e3,
        mean_low_ms: (mean - wide) * 1e3,
        mean_high_ms: (mean + wide) * 1e3,
        scv: distribution.scv(),
        complete: survival.complete() as u64,
        censored: (survival.times.len() - survival.complete()) as u64,
        distance: Some(distance(&distribution, survival)),
        alternatives,
    };
    (law, distribution)
}

/// A fitted distribution and its Bayesian information criterion.
struct Fit {
    distribution: Distribution,
    criterion: f64,
}

/// The distributions of each family with the largest likelihood.
fn fits(survival: &Survival) -> Vec<Fit> {
    let (mean, sdev) = survival.mean_and_sdev();
    if sdev < CONSTANT_COV * mean {
        let constant = Distribution::constant(mean).ok();
        return constant.into_iter().map(|distribution| Fit { distribution, criterion: 0.0 }).collect();
    }
    let times = survival.thinned(MOST);
    let scv = (sdev / mean).powi(2).clamp(0.01, 100.0);
    let minus_log_likelihood = |distribution: &Distribution| -> f64 {
        -times
            .iter()
            .map(|(time, complete)| if *complete { distribution.density(*time) } else { distribution.tail(*time) })
            .map(|likelihood| likelihood.max(1e-300).ln())
            .sum::<f64>()
    };
    let penalty = (times.len() as f64).ln();
    let mut all = Vec::new();
    // The search is over the logarithms of positive parameters.
    let mut search = |start: &[f64], make: &dyn Fn(&[f64]) -> Option<Distribution>| {
        let values = |at: &[f64]| at.iter().map(|x| x.exp()).collect::<Vec<f64>>();
        let cost = |at: &[f64]| make(&values(at)).map_or(f64::MAX, |distribution| minus_log_likelihood(&distribution));
        let (at, value) = minimise(cost, &start.iter().map(|x| x.ln()).collect::<Vec<f64>>(), 0.2);
        let rounded: Vec<f64> = values(&at).into_iter().map(significant).collect();
        if let Some(distribution) = make(&rounded).filter(|_| value < f64::MAX) {
            all.push(Fit { distribution, criterion: 2.0 * value + start.len() as f64 * penalty });
        }
    };
    search(&[mean], &|at| Distribution::exponential(at[0]).ok());
    let stages = (1.0 / scv).round() as u32;
    if (2..=50).contains(&stages) {
        search(&[mean], &|at| Distribution::erlang(stages, at[0]).ok());
    }
    search(&[mean, scv], &|at| Distribution::gamma(at[0], at[1]).ok());
    search(&[mean, scv], &|at| Distribution::lognormal(at[0], at[1]).ok());
    search(&[mean, scv.sqrt().recip()], &|at| Distribution::weibull(at[0], at[1]).ok());
    if scv > 1.05 {
        let balanced = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
        search(&[mean, scv - 1.0, balanced / (1.0 - balanced)], &|at| {
            Distribution::hyperexponential_with(at[0], significant(1.0 + at[1]), at[2] / (1.0 + at[2])).ok()
        });
    }
    // The ends of a uniform distribution lie just outside the extremes.
    let complete = || times.iter().filter(|time| time.1).map(|time| time.0);
    let (low, high) = (complete().fold(f64::MAX, f64::min), complete().fold(0.0, f64::max));
    let beyond = (high - low) / times.len() as f64;
    if let Ok(distribution) = Distribution::uniform((low - beyond).max(0.0), high + beyond) {
        let criterion = 2.0 * minus_log_likelihood(&distribution) + 2.0 * penalty;
        all.push(Fit { distribution, criterion });
    }
    all
}

/// A parameter, rounded to five digits; no run determines more.
fn significant(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// The largest distance between the distribution function and the measured one.
fn distance(distribution: &Distribution, survival: &Survival) -> f64 {
    let mut before = 0.0;
    let mut most: f64 = 0.0;
    for (time, below) in &survival.steps {
        let fitted = distribution.cdf(*time);
        // All values of a constant are equal up to the noise of a clock.
        if distribution.scv() > 0.0 {
            most = most.max((fitted - before).abs()).max((fitted - below).abs());
        }
        before = *below;
    }
    most
}

/// Equally likely values, with the measured mean.
fn empirical(survival: &Survival) -> Distribution {
    let at = |i: usize| survival.quantile((i as f64 + 0.5) / VALUES as f64);
    Distribution::empirical((0..VALUES).map(at).collect()).expect("there are positive times")
}
