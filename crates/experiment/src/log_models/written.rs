//! The workload of a site: the compared system, with the log's rates over time.

use std::ops::ControlFlow;

use offered_base::{Instant, Seed};
use offered_distributions::Distribution;
use offered_logs::Findings;
use offered_schedule::{After, Launch, System};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, simulate_with};
use offered_workload::{Draft, Policy, Server, Workload};

use super::{Discipline, SiteModels};
use crate::Error;
use crate::prediction::dry_run_response;

/// Relative difference of the number of requests of a dry run from that of the log at which a seed is taken.
const TOLERANCE: f64 = 0.005;
/// Maximum number of seeds that are tried.
const MAX_SEEDS: u64 = 400;
/// Maximum number of requests of all dry runs together.
const MAX_REQUESTS: u64 = 5_000_000;
/// Number of dry runs from which the share of requests that the end cuts off is estimated.
const CUT_OFF_RUNS: u64 = 16;

impl SiteModels {
    /// The workload that behaves like the site: the compared system of this model at the modelled server, with the log's requests and, of
    /// an open or partly-open system, its rate over time. The seed is one with which a dry run has the log's rate.
    ///
    /// # Errors
    /// The log does not give a valid workload.
    pub fn workload(&self, found: &Findings, model: System, discipline: Discipline) -> Result<Workload, Error> {
        let system = self.system(model, discipline)?;
        let response = dry_run_response(&system);
        let workload = found.workload(&system, 1.0)?;
        let target = self.rate * workload.duration().as_secs_f64();
        let workload = match model {
            System::PartlyOpen => {
                // Sessions that begin near the end are cut off.
                let (mut runs, mut requests) = (0.0, 0.0);
                for seed in 1..=CUT_OFF_RUNS {
                    requests += dry_run_requests(&workload, &response, seed)? as f64;
                    runs += 1.0;
                    if requests > MAX_REQUESTS as f64 / 4.0 {
                        break;
                    }
                }
                found.workload(&system, target * runs / requests.max(1.0))?
            }
            System::Open | System::Closed => workload,
        };
        let mut left = MAX_REQUESTS;
        let mut best = (f64::INFINITY, workload.seed().0);
        for seed in 1..=MAX_SEEDS {
            let requests = dry_run_requests(&workload, &response, seed)?;
            let off = (requests as f64 / target - 1.0).abs();
            if off < best.0 {
                best = (off, seed);
            }
            left = left.saturating_sub(requests);
            if off <= TOLERANCE || left == 0 {
                break;
            }
        }
        Ok(workload.with_seed(Seed(best.1)))
    }
}

/// Number of requests of a dry run with these response times.
fn dry_run_requests(workload: &Workload, response: &Distribution, seed: u64) -> Result<u64, Error> {
    let sessions = workload.sessions().clone();
    let server = Some(Server::new(1, Policy::Infinite, response.clone())?);
    let workload = Workload::new(Draft { server, seed: Seed(seed), ..Draft::new(sessions, workload.duration()) })?;
    let mut requests = Requests(0);
    simulate_with(&workload, &mut requests)?;
    Ok(requests.0)
}

/// Counts requests.
struct Requests(u64);

impl SimulationObserver for Requests {
    fn arrived(&mut self, _: Instant) {
        self.0 += 1;
    }

    fn rejected(&mut self, _: Launch, _: u16, _: After) {}

    fn completed(&mut self, _: Instant, _: Launch, _: &Job, _: After) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
