//! The candidates for discipline and number of servers, each simulated with the arrivals of the runs.

use offered_base::Instant;
use offered_distributions::Distribution;
use offered_simulate::simulate_with;
use offered_workload::Policy;
use serde::{Deserialize, Serialize};

use super::features::features;
use super::input::{Candidate, FitOptions, RunData};
use super::load_dependence::FittedRates;
use super::observations::{Collected, Observations};
use super::workload_text::with_server;
use crate::{Error, WorkloadSource, file_reader};

/// Numbers of servers that are tried.
const SERVERS: [u32; 14] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
/// Number of these that are tried, from the least that carries the measured rate.
const TRIED: usize = 4;
/// The largest difference in standard errors that chance explains: there are some thirty features, and their errors are estimates.
const EXPLAINED: f64 = 4.5;
/// Relative difference that is accepted whatever the number of requests: no server is exactly its model.
const MODEL_ERROR: f64 = 0.01;

/// A candidate for the server model, and the differences between its simulated and the measured response times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateResult {
    /// The discipline as a workload file writes it.
    pub discipline: String,
    /// Number of servers.
    pub servers: u32,
    /// Load-dependent rates, if the candidate has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<FittedRates>,
    /// Whether the differences can be due to chance.
    pub explains: bool,
    /// Root mean square of the differences between measured and simulated features, in standard errors: about 1 for the true server.
    pub typical_difference: f64,
    /// The largest difference between a measured and a simulated feature, in standard errors.
    pub largest_difference: f64,
    /// The feature with the largest difference.
    pub largest_difference_in: String,
    /// Ratio of the simulated to the measured mean, for each stable run.
    pub mean_ratios: Vec<f64>,
}

impl Candidate {
    /// The candidates that carry the rates of the `runs` with a mean service time of `mean` seconds. `capacity` is the rate that a saturated
    /// server completed, if one was measured.
    pub(super) fn all(
        options: &FitOptions,
        runs: &[&RunData],
        mean: f64,
        capacity: Option<f64>,
        labels: usize,
    ) -> Vec<Self> {
        if runs.is_empty() {
            return Vec::new();
        }
        let busy = runs.iter().map(|run| run.observed.completed_rate() * mean).fold(0.0, f64::max);
        let servers: Vec<u32> = match (options.servers, capacity) {
            (Some(servers), _) => vec![servers],
            (None, Some(capacity)) => vec![(capacity * mean).round().max(1.0) as u32],
            (None, None) => {
                SERVERS.into_iter().filter(|servers| f64::from(*servers) > 0.98 * busy).take(TRIED).collect()
            }
        };
        let usual = [Policy::Fcfs, Policy::Ps(None)];
        let single = [Policy::Lcfs { preemptive: false }, Policy::Lcfs { preemptive: true }, Policy::Srpt, Policy::Fb];
        let by_class = [Policy::Priority { preemptive: false }, Policy::Priority { preemptive: true }];
        let all = servers.into_iter().flat_map(|servers| {
            let mut disciplines = options.disciplines.clone();
            if disciplines.is_empty() {
                disciplines.extend(usual);
                disciplines.extend(single.into_iter().filter(|_| servers == 1));
                disciplines.extend(by_class.into_iter().filter(|_| servers == 1 && labels > 1));
            }
            disciplines.into_iter().map(move |discipline| Self { discipline, servers, rates: None })
        });
        let infinite = Self { discipline: Policy::Infinite, servers: 1, rates: None };
        all.chain(options.disciplines.is_empty().then_some(infinite)).collect()
    }

    /// Processor sharing with load-dependent rates, where it may be chosen and the runs show the rates.
    pub(super) fn load_dependent(options: &FitOptions, runs: &[&RunData]) -> Option<Self> {
        let may_be = options.servers.is_none()
            && (options.disciplines.is_empty() || options.disciplines.contains(&Policy::Ps(None)));
        let rates = FittedRates::of(runs.iter().map(|run| &run.observed.numbers)).filter(|_| may_be)?;
        Some(Self { discipline: Policy::Ps(None), servers: 1, rates: Some(rates) })
    }

    /// The same server for an open system, in which a rate that falls without end has no steady state: at most the largest measured number of
    /// requests is served at once.
    pub(super) fn limited(self) -> Self {
        match self.rates {
            Some(rates) if rates.coherency > 0.0 => Self { discipline: Policy::Ps(Some(rates.most_in_flight)), ..self },
            _ => self,
        }
    }

    /// The requests of a run at this candidate, with the same arrivals.
    pub(super) fn simulate(
        &self,
        run: &RunData,
        labels: &[String],
        service: &[Distribution],
    ) -> Result<Observations, Error> {
        let text = with_server(&run.text, self, labels, service)?;
        let file = run.directory.join("workload.toml");
        let source = WorkloadSource::new(run.name.clone(), text, file_reader(Some(&file), |_, _| {}));
        let workload = source.parse(&source.text)?.with_seed(run.workload.seed());
        let until = Instant(run.observed.window.end);
        let workload = workload.with_count(None)?.with_duration(Instant::ZERO.until(until))?;
        let mut collected = Collected::default();
        simulate_with(&workload, &mut collected)?;
        Ok(Observations::new(collected.0, run.observed.window.clone()))
    }
}

impl CandidateResult {
    /// `2 servers, ps`.
    pub fn name(&self) -> String {
        if let Some(FittedRates { contention, coherency, .. }) = self.rates {
            let coherency = if coherency > 0.0 { format!(", coherency {coherency:.2e}") } else { String::new() };
            return format!("{}, contention {contention:.3}{coherency}", self.discipline);
        }
        match (self.discipline.as_str(), self.servers) {
            ("infinite", _) => "infinite (no request waits)".to_owned(),
            (discipline, 1) => format!("1 server, {discipline}"),
            (discipline, servers) => format!("{servers} servers, {discipline}"),
        }
    }

    /// The total rate at saturation in units of a server of speed 1, its 95 % interval, and what it is.
    pub(super) fn largest_rate(&self) -> (f64, (f64, f64), &'static str) {
        let servers = f64::from(self.servers);
        self.rates.map_or((servers, (servers, servers), "servers"), |rates| {
            (rates.largest, (rates.largest_low, rates.largest_high), "largest total rate")
        })
    }

    pub(super) fn candidate(&self) -> Candidate {
        let discipline = self.discipline.parse().expect("it was written by a policy");
        Candidate { discipline, servers: self.servers, rates: self.rates }
    }
}

/// Compares simulated with measured runs.
pub(super) struct Judge {
    /// Mean service time, seconds.
    pub(super) mean: f64,
    /// The standard error, relative to it.
    pub(super) relative_error: f64,
}

impl Judge {
    /// Simulates all runs at a candidate.
    pub(super) fn compare(
        &self,
        candidate: &Candidate,
        runs: &[&RunData],
        labels: &[String],
        service: &[Distribution],
    ) -> Result<CandidateResult, Error> {
        let (mut squares, mut n, mut mean_ratios) = (0.0, 0.0, Vec::new());
        let (mut largest_difference, mut largest_difference_in) = (0.0, String::new());
        for run in runs {
            let simulated = candidate.simulate(run, labels, service)?;
            mean_ratios.push(simulated.mean() / run.observed.mean());
            for (name, difference) in self.differences(run, &simulated, labels) {
                squares += difference * difference;
                n += 1.0;
                if difference > largest_difference {
                    (largest_difference, largest_difference_in) =
                        (difference, format!("{name} ({})", run.short_name()));
                }
            }
        }
        Ok(CandidateResult {
            discipline: candidate.discipline.to_string(),
            servers: candidate.servers,
            rates: candidate.rates,
            explains: n > 0.0 && largest_difference < EXPLAINED,
            typical_difference: (squares / f64::max(n, 1.0)).sqrt(),
            largest_difference,
            largest_difference_in,
            mean_ratios,
        })
    }

    /// The differences of features that both have, in standard errors.
    pub(super) fn differences(&self, run: &RunData, simulated: &Observations, labels: &[String]) -> Vec<(String, f64)> {
        let of_model = features(simulated, labels);
        let growth = (run.observed.mean() / self.mean).max(1.0);
        let both = run.features.iter().filter_map(|one| {
            let other = of_model.iter().find(|other| other.name == one.name)?;
            let model = MODEL_ERROR.max(self.relative_error * if one.is_overall { growth } else { 2.0 });
            let error = (one.error * one.error + other.error * other.error + model * model).sqrt();
            Some((one.name.clone(), (other.value / one.value).ln().abs() / error))
        });
        both.collect()
    }
}
