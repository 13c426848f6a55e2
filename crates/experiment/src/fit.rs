//! Fitting a modelled server to measured runs: service times by request, number of servers, discipline, saturation.
//!
//! Service times come from requests that were alone at the server, the discipline from a simulation of the same
//! arrivals at each candidate, the saturation from the fitted server, from overloaded runs and from the Universal
//! Scalability Law. A figure that the data do not determine is reported as such, with the reason.

mod candidates;
mod features;
mod in_flight;
mod input;
mod load_dependence;
mod minimise;
mod observations;
mod scalability;
mod service_times;
mod survival;
#[cfg(test)]
mod tests;
mod workload_text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use offered_distributions::Distribution;
use offered_events::document::{Document, Schema};
use offered_schedule::Sessions;
use offered_workload::Policy;
use serde::{Deserialize, Serialize};

pub use candidates::CandidateResult;
pub use input::FitOptions;
pub use load_dependence::FittedRates;
pub use scalability::{Scalability, ScalabilityPoint};
pub use service_times::{FittedService, ServiceSource};

use crate::{Error, VerifiedRun, parallel};
use candidates::Judge;
use input::{Candidate, RunData};
use observations::Observations;
use workload_text::with_server;

/// A server fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// Name and version of this document.
    pub schema: Schema<Fit>,
    /// The runs, in the given order.
    pub runs: Vec<FittedRun>,
    /// Service times by request.
    pub service: Vec<FittedService>,
    /// The discipline and the number of servers, the best candidate first.
    pub candidates: Vec<CandidateResult>,
    /// Whether the best candidate explains the responses, and whether other candidates explain them too.
    pub conclusion: Conclusion,
    /// The conclusion in a sentence.
    pub reason: String,
    /// The largest rate that the server completes, by each method.
    pub saturation: Vec<Saturation>,
    /// The Universal Scalability Law over the runs; `None` with the reason in `no_scalability_reason`.
    pub scalability: Option<Scalability>,
    /// Why the Universal Scalability Law was not fitted.
    pub no_scalability_reason: Option<String>,
    /// Each run, predicted from the service times of the other runs; empty for a single run.
    pub left_out: Vec<LeftOutRun>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The workload with the fitted server; `None` if no candidate was simulated.
    pub workload: Option<String>,
}

impl Document for Fit {
    const SCHEMA: &'static str = "offered.fit/1";
}

offered_base::named! {
    /// How well the responses determine the discipline.
    pub enum Conclusion {
        /// One candidate explains the responses, and no other does.
        Determined = "determined",
        /// Several candidates explain the responses.
        Ambiguous = "ambiguous",
        /// No candidate explains the responses.
        Unexplained = "unexplained",
        /// There was nothing to compare.
        NotChecked = "not_checked",
    }
}

/// A run of the fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FittedRun {
    /// The name of the run.
    pub name: String,
    /// Completed requests per second.
    pub completed_rate_per_s: f64,
    /// Mean number of requests in flight.
    pub in_flight: f64,
    /// Requests that were sent with no other request in flight.
    pub unloaded_requests: u64,
    /// Mean service time seen by the client: done - sent.
    pub mean_ms: f64,
    /// Whether the backlog grew.
    pub is_overloaded: bool,
}

/// An estimate of the largest rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saturation {
    /// The method of the estimate.
    pub method: String,
    /// Requests per second.
    pub rate_per_s: f64,
    /// The lower end of its 95 % interval; `None` if unknown.
    pub low_per_s: Option<f64>,
    /// The upper end of that interval.
    pub high_per_s: Option<f64>,
}

/// A run predicted by the model from the other runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOutRun {
    /// The name of the run.
    pub name: String,
    /// Mean, measured.
    pub mean_ms: f64,
    /// Mean, predicted.
    pub predicted_mean_ms: f64,
    /// p95, measured.
    pub p95_ms: f64,
    /// p95, predicted.
    pub predicted_p95_ms: f64,
    /// The largest difference of any feature, in standard errors.
    pub largest_difference: f64,
}

/// Fits a server to runs of `offered`.
///
/// # Errors
/// A run is not a run directory of `offered`, cannot be read, or has no complete request; or no service time can be
/// measured.
pub fn fit(runs: Vec<(PathBuf, VerifiedRun)>, options: &FitOptions) -> Result<Fit, Error> {
    let demands = service_times::demands(runs.iter().map(|(_, run)| run));
    let runs = runs.into_iter().map(|(path, run)| RunData::of(path, run)).collect::<Result<Vec<_>, _>>()?;
    let labels = labels(&runs)?;
    let mut warnings = Vec::new();
    let observed: Vec<&Observations> = runs.iter().map(|run| &run.observed).collect();
    let (service, distributions) = service_times::fit(&labels, &observed, &demands, &mut warnings)?;
    let shares = shares(&runs, labels.len());
    let mean: f64 = shares.iter().zip(&service).map(|(share, law)| share * law.mean_ms / 1e3).sum();
    let relative_error = service.iter().map(FittedService::relative_error).fold(0.0, f64::max);
    let (overloaded, stable): (Vec<&RunData>, Vec<&RunData>) = runs.iter().partition(|run| run.is_overloaded);
    let scalability = scalability::fit(stable.iter().map(|run| &run.observed));
    let capacity = overloaded.iter().map(|run| run.observed.completed_rate()).max_by(f64::total_cmp);
    if stable.is_empty() {
        warnings
            .push("every run is overloaded, so the discipline cannot be determined; add a run at a lower rate".into());
    }
    let judge = Judge { mean, relative_error };
    let candidates = Candidate::all(options, &stable, mean, capacity, labels.len());
    let compare = |candidate| judge.compare(candidate, &stable, &labels, &distributions);
    let results = parallel::map(&candidates, parallel::processors(), compare);
    let mut results = results.into_iter().collect::<Result<Vec<_>, Error>>()?;
    if !results.iter().any(|result| result.explains)
        && let Some(candidate) = Candidate::load_dependent(options, &stable)
    {
        results.push(compare(&candidate)?);
    }
    results.sort_by(|a, b| a.typical_difference.total_cmp(&b.typical_difference));
    let (conclusion, reason) = conclude(&results);
    let left_out = match results.first() {
        Some(best) if stable.len() > 1 => left_out(best.candidate(), &judge, &stable, &labels, &demands)?,
        _ => Vec::new(),
    };
    if stable.len() == 1 {
        warnings.push(
            "only one run was fitted, so the model was not checked on other runs; add runs at other loads".into(),
        );
    }
    let workload = match results.first() {
        Some(best) => Some(written(best, stable[0], mean, &labels, &distributions, &mut warnings)?),
        None => None,
    };
    let (scalability, no_scalability_reason) = match scalability {
        Ok(found) => (Some(found), None),
        Err(why) => (None, Some(why)),
    };
    let saturation = saturation(&results, mean, relative_error, &overloaded, scalability.as_ref());
    Ok(Fit {
        schema: Schema::new(),
        runs: runs.iter().map(FittedRun::from).collect(),
        service,
        candidates: results,
        conclusion,
        reason,
        saturation,
        scalability,
        no_scalability_reason,
        left_out,
        warnings,
        workload,
    })
}

/// The workload of a run with the fitted server, as a system that has a steady state.
fn written(
    best: &CandidateResult,
    run: &RunData,
    mean: f64,
    labels: &[String],
    distributions: &[Distribution],
    warnings: &mut Vec<String>,
) -> Result<String, Error> {
    let mut candidate = best.candidate();
    let is_open = !matches!(run.workload.sessions(), Sessions::Closed(_));
    if let Some((rates, peak)) = best.rates.and_then(|rates| Some((rates, rates.peak()?))).filter(|_| is_open) {
        candidate = candidate.limited();
        warnings.push(format!(
            "coherency: the completed rate is highest, {:.4}/s, at {peak} requests in flight, and falls if more are in flight; open arrivals can exceed this number, and then the queue grows and the rate falls until the load is reduced; in the written workload the server serves at most {} requests at once, the largest number measured; limit the server to about {peak} (ps:{peak}), so that other requests wait before it",
            rates.largest / mean,
            rates.most_in_flight
        ));
    }
    with_server(&run.text, &candidate, labels, distributions)
}

impl From<&RunData> for FittedRun {
    fn from(run: &RunData) -> Self {
        Self {
            name: run.name.clone(),
            completed_rate_per_s: run.observed.completed_rate(),
            in_flight: run.observed.in_flight(),
            unloaded_requests: run.observed.unloaded(),
            mean_ms: run.observed.mean() * 1e3,
            is_overloaded: run.is_overloaded,
        }
    }
}

/// The names of the requests, the same in all runs.
fn labels(runs: &[RunData]) -> Result<Vec<String>, Error> {
    let of = |run: &RunData| run.workload.labels();
    let first = runs.first().map(of).unwrap_or_default();
    match runs.iter().find(|run| of(run) != first) {
        Some(other) => Err(Error::FitOtherRequests { one: runs[0].directory.clone(), other: other.directory.clone() }),
        None => Ok(first),
    }
}

/// The share of each request in all runs.
fn shares(runs: &[RunData], labels: usize) -> Vec<f64> {
    let mut counts = vec![0u64; labels];
    for request in runs.iter().flat_map(|run| &run.observed.requests) {
        counts[usize::from(request.label)] += 1;
    }
    let total: u64 = counts.iter().sum();
    counts.into_iter().map(|count| count as f64 / total.max(1) as f64).collect()
}

/// Whether one candidate explains the responses.
fn conclude(results: &[CandidateResult]) -> (Conclusion, String) {
    let Some(best) = results.first() else {
        return (Conclusion::NotChecked, "there is no run to compare with a model".to_owned());
    };
    let others: Vec<String> = results[1..].iter().filter(|other| other.explains).map(CandidateResult::name).collect();
    if !best.explains {
        let reason = format!(
            "no candidate explains the responses: the closest, {}, differs by {:.1} standard errors in its {}",
            best.name(),
            best.largest_difference,
            best.largest_difference_in
        );
        return (Conclusion::Unexplained, reason);
    }
    if others.is_empty() {
        return (Conclusion::Determined, format!("{} explains the responses, no other candidate does", best.name()));
    }
    let reason =
        format!("the data cannot distinguish {} from {}; add a run at a higher load", best.name(), others.join(", "));
    (Conclusion::Ambiguous, reason)
}

/// Predicts each run from the service times of the other runs.
fn left_out(
    best: Candidate,
    judge: &Judge,
    stable: &[&RunData],
    labels: &[String],
    demands: &BTreeMap<String, service_times::Demand>,
) -> Result<Vec<LeftOutRun>, Error> {
    let predict = |left_out: &usize| -> Result<Option<LeftOutRun>, Error> {
        let run = stable[*left_out];
        let others: Vec<&Observations> =
            stable.iter().enumerate().filter(|(i, _)| i != left_out).map(|(_, run)| &run.observed).collect();
        // Without the unloaded requests of this run there may be too few.
        let Ok((_, distributions)) = service_times::fit(labels, &others, demands, &mut Vec::new()) else {
            return Ok(None);
        };
        let simulated = best.simulate(run, labels, &distributions)?;
        let differences = judge.differences(run, &simulated, labels);
        let largest_difference = differences.into_iter().map(|(_, difference)| difference).fold(0.0, f64::max);
        Ok(Some(LeftOutRun {
            name: run.name.clone(),
            mean_ms: run.observed.mean() * 1e3,
            predicted_mean_ms: simulated.mean() * 1e3,
            p95_ms: run.observed.quantile(0.95) * 1e3,
            predicted_p95_ms: simulated.quantile(0.95) * 1e3,
            largest_difference,
        }))
    };
    let all: Vec<usize> = (0..stable.len()).collect();
    let predicted = parallel::map(&all, parallel::processors(), predict);
    predicted.into_iter().filter_map(Result::transpose).collect()
}

fn saturation(
    results: &[CandidateResult],
    mean: f64,
    relative_error: f64,
    overloaded: &[&RunData],
    scalability: Option<&Scalability>,
) -> Vec<Saturation> {
    let mut all = Vec::new();
    if let Some(best) = results.first().filter(|best| best.explains && best.discipline != Policy::Infinite.to_string())
    {
        let (rate, (low, high), name) = best.largest_rate();
        let wide = 1.96 * relative_error;
        all.push(Saturation {
            method: format!("{name} / mean service time, {}", best.name()),
            rate_per_s: rate / mean,
            low_per_s: Some(low / mean / (1.0 + wide)),
            high_per_s: Some(high / mean / (1.0 - wide).max(0.1)),
        });
    }
    for run in overloaded {
        let (rate, error) = (run.observed.completed_rate(), run.observed.completed_rate_error());
        all.push(Saturation {
            method: format!("completed rate of {}, which is overloaded", run.name),
            rate_per_s: rate,
            low_per_s: Some(rate - 1.96 * error),
            high_per_s: Some(rate + 1.96 * error),
        });
    }
    if let Some(law) = scalability.filter(|law| law.peak_per_s.is_some()) {
        all.push(Saturation {
            method: "Universal Scalability Law".to_owned(),
            rate_per_s: law.peak_per_s.unwrap_or_default(),
            low_per_s: law.peak_low_per_s,
            high_per_s: law.peak_high_per_s,
        });
    }
    all
}
