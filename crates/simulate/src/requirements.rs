//! How many requests the intervals of a simulation need, and whether its mean response can be estimated at all. The load and the moments
//! of the service distribution determine it, not the sample.
//!
//! If requests wait for the rest of a service, the mean response of an open system depends on E\[S^2\], and the
//! variance of its estimate on E\[S^4\] (Whitt 1989, Planning queueing simulations, Management Science 35). A sample
//! without the largest sizes looks precise and is wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use offered_plan::analytic::analyse;
use offered_schedule::Sessions;
use offered_stats::queue::QueueCorrelation;
use offered_stats::requirements::{IntervalRequirements, LargeSizes, MeanRequirement};
use offered_workload::Workload;
use offered_workload::policy::{Order, Policy};

use crate::drive::ServiceDemands;
use crate::modelled_server::ModelledServer;

/// Relative standard error of the sample's second moment at which the mean has an interval.
const SECOND_MOMENT_ERROR: f64 = 0.1;

/// Whether the service distribution permits an estimate of the mean response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeanInterval {
    /// The mean has an interval.
    Exists,
    /// The mean has an interval from about this number of jobs on.
    NeedsJobs(u64),
    /// The mean has an interval from this number of jobs on, because responses are correlated.
    NeedsLongerRun(u64),
    /// No number of jobs gives an interval.
    None,
    /// The mean is infinite.
    InfiniteMean,
}

impl MeanInterval {
    /// For a run of `jobs` jobs.
    pub(crate) fn of(requirements: &IntervalRequirements, jobs: u64) -> Self {
        let queue = requirements.queue.map_or(0, QueueCorrelation::needed_for_mean);
        match requirements.mean {
            MeanRequirement::InfiniteMean => Self::InfiniteMean,
            MeanRequirement::NoNumber => Self::None,
            MeanRequirement::Responses(sizes) if sizes.max(queue) <= jobs => Self::Exists,
            MeanRequirement::Responses(sizes) if sizes > queue => Self::NeedsJobs(sizes),
            MeanRequirement::Responses(_) => Self::NeedsLongerRun(queue),
        }
    }
}

/// The numbers of responses that the intervals of a simulation of `workload` need; `None` if it cannot be simulated.
pub fn interval_requirements(workload: &Workload) -> Option<IntervalRequirements> {
    let demands = ServiceDemands::new(workload).ok()?;
    Some(of(workload, &ModelledServer::new(workload, &demands).ok()?, &demands))
}

/// As [`interval_requirements`], of a workload with this server and these demands.
pub(crate) fn of(workload: &Workload, modelled: &ModelledServer, demands: &ServiceDemands) -> IntervalRequirements {
    let unlimited = modelled.admits_all()
        && workload.time_limits().is_none()
        && !matches!(workload.sessions(), Sessions::Closed(_));
    let for_mean = |(policy, servers, [second, fourth]): (Policy, u32, [f64; 2])| {
        // A request that arrives waits for the rest of another: its mean wait has the factor E[S^2].
        let waits = unlimited && waits_for_residual(policy);
        if second.is_infinite() {
            let is_infinite = waits && servers == 1;
            return if is_infinite { MeanRequirement::InfiniteMean } else { MeanRequirement::NoNumber };
        }
        match waits {
            true if fourth.is_infinite() => MeanRequirement::NoNumber,
            true => {
                let needed = fourth / (second * second) / (SECOND_MOMENT_ERROR * SECOND_MOMENT_ERROR);
                MeanRequirement::Responses(needed.ceil() as u64)
            }
            false => MeanRequirement::Responses(0),
        }
    };
    let stations = modelled.second_and_fourth_moments(demands).into_iter().map(for_mean);
    let mean = stations.max().unwrap_or(MeanRequirement::Responses(0));
    IntervalRequirements {
        queue: modelled.queue_correlation(workload, demands),
        mean,
        large_sizes: (!matches!(mean, MeanRequirement::Responses(_))).then(|| large_sizes(workload, modelled, demands)),
    }
}

/// The sizes of a workload in which single large sizes cause most long responses.
fn large_sizes(workload: &Workload, modelled: &ModelledServer, demands: &ServiceDemands) -> LargeSizes {
    let known = exact_percentiles(workload, demands);
    let (modelled, demands) = (modelled.clone(), demands.clone());
    LargeSizes::new(move |size| modelled.services_above(&demands, size), known)
}

/// Exact percentiles by model. Grids and searches simulate a model with many seeds, and solving it takes longer than a short simulation.
static SOLVED: Mutex<BTreeMap<String, Vec<(f64, f64)>>> = Mutex::new(BTreeMap::new());

/// Exact percentiles of the response in an open system with one station: each p in (0, 1), and its value in seconds. Empty where no formula
/// is known.
fn exact_percentiles(workload: &Workload, demands: &ServiceDemands) -> Vec<(f64, f64)> {
    let (Sessions::Open(schedule), Some(server), None) =
        (workload.sessions(), workload.server(), workload.time_limits())
    else {
        return Vec::new();
    };
    let Some(rate) = schedule.rate().as_constant() else { return Vec::new() };
    let model = format!("{:?}", (schedule.process(), schedule.batch(), rate.per_sec(), server, demands.mixture()));
    let solved = || SOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = solved().get(&model).cloned();
    known.unwrap_or_else(|| {
        let steady_state = analyse(workload, None).ok().and_then(|answer| answer.steady_state);
        let exact = steady_state.filter(|of| !of.is_approximation).and_then(|of| of.percentiles);
        let exact = exact.map(|of| vec![(0.5, of.p50), (0.9, of.p90), (0.95, of.p95), (0.99, of.p99)]);
        let exact = exact.unwrap_or_default();
        solved().insert(model, exact.clone());
        exact
    })
}

/// Whether a request waits for the rest of a service in progress, so that its mean wait depends on E\[S^2\].
fn waits_for_residual(policy: Policy) -> bool {
    match policy {
        Policy::Fcfs | Policy::Lcfs { preemptive: false } | Policy::Priority { preemptive: false } => true,
        Policy::Size(Order { preemptive, longest, .. }) => !preemptive || longest,
        _ => false,
    }
}
