//! The workload of a site: the compared system, with the log's rates over time.

use std::ops::ControlFlow;

use offered_base::{Instant, InvalidValue, Seed};
use offered_distributions::Distribution;
use offered_logs::Findings;
use offered_schedule::{After, Launch, System};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::{Job, simulate_with};
use offered_workload::{Draft, Policy, Server, Workload};

use super::{Discipline, SiteModels};
use crate::prediction::dry_run_response;
use crate::{Error, parallel};

/// Relative difference of the number of requests of a dry run from that of the log at which a seed is taken.
const TOLERANCE: f64 = 0.005;
/// Maximum number of seeds that are tried.
const MAX_SEEDS: u64 = 400;
/// Maximum number of requests of all dry runs together.
const MAX_REQUESTS: u64 = 5_000_000;
/// Number of dry runs from which the share of requests that the end cuts off is estimated.
const CUT_OFF_RUNS: usize = 16;

impl SiteModels {
    /// The workload that behaves like the site: the compared system at the modelled server, with the requests of the
    /// log. An open or partly-open system also has the log's rate over time. With the seed of the workload, a dry run
    /// has the log's rate.
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
                for own in dry_runs(&workload, &response)?.take(CUT_OFF_RUNS) {
                    requests += own? as f64;
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
        for (seed, requests) in (1..=MAX_SEEDS).zip(dry_runs(&workload, &response)?) {
            let requests = requests?;
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

/// Numbers of requests of dry runs with these response times and the seeds 1, 2, and so on. As many dry runs as
/// processors run at a time.
fn dry_runs(
    workload: &Workload,
    response: &Distribution,
) -> Result<impl Iterator<Item = Result<u64, InvalidValue>>, InvalidValue> {
    let server = Some(Server::new(1, Policy::Infinite, response.clone())?);
    let draft = Draft::new(workload.sessions().clone(), workload.duration());
    let workload = Workload::new(Draft { server, ..draft })?;
    let processors = parallel::processors();
    Ok((1..).step_by(processors).flat_map(move |first| {
        let seeds: Vec<u64> = (first..).take(processors).collect();
        parallel::map(&seeds, processors, |seed| {
            let mut requests = Requests(0);
            simulate_with(&workload.clone().with_seed(Seed(*seed)), &mut requests)?;
            Ok(requests.0)
        })
    }))
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
