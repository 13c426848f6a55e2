//! Whether a simulation can estimate a mean response at all: the moments of the service distribution decide, not the sample.
//!
//! Where requests wait for the rest of a service, the mean response of an open system depends on E\[S^2\], and the variance of its
//! estimate on E\[S^4\] (Whitt 1989, Planning queueing simulations, Management Science 35). A sample without the largest sizes
//! looks precise and is wrong.

use offered_schedule::Sessions;
use offered_workload::Workload;
use offered_workload::policy::{Order, Policy};

use crate::drive::ServiceDemands;
use crate::modelled_server::ModelledServer;

/// Relative standard error of the sample's second moment at which the mean has an interval.
const SECOND_MOMENT_ERROR: f64 = 0.1;

/// What the service distribution permits to say about the mean response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeanInterval {
    /// The mean has an interval.
    Exists,
    /// It has one from about this number of jobs on.
    NeedsJobs(u64),
    /// No number of jobs gives an interval.
    None,
    /// The mean is infinite.
    InfiniteMean,
}

impl MeanInterval {
    /// For a run of `jobs` jobs.
    pub(crate) fn of(workload: &Workload, modelled: &ModelledServer, demands: &ServiceDemands, jobs: u64) -> Self {
        let unlimited = modelled.admits_all()
            && workload.time_limits().is_none()
            && !matches!(workload.sessions(), Sessions::Closed(_));
        let each = |(policy, servers, [second, fourth]): (Policy, u32, [f64; 2])| {
            // A request that arrives waits for the rest of another: its mean wait has the factor E[S^2].
            let waits = unlimited && waits_for_residual(policy);
            if second.is_infinite() {
                return if waits && servers == 1 { Self::InfiniteMean } else { Self::None };
            }
            let needed = fourth / (second * second) / (SECOND_MOMENT_ERROR * SECOND_MOMENT_ERROR);
            match waits {
                true if fourth.is_infinite() => Self::None,
                true if needed > jobs as f64 => Self::NeedsJobs(needed.ceil() as u64),
                _ => Self::Exists,
            }
        };
        let severity = |interval: &Self| match interval {
            Self::Exists => 0,
            Self::NeedsJobs(jobs) => *jobs,
            Self::None => u64::MAX - 1,
            Self::InfiniteMean => u64::MAX,
        };
        modelled.second_and_fourth_moments(demands).into_iter().map(each).max_by_key(severity).unwrap_or(Self::Exists)
    }
}

/// Whether a request waits for the rest of a service in progress, so that its mean wait depends on E\[S^2\].
fn waits_for_residual(policy: Policy) -> bool {
    match policy {
        Policy::Fcfs | Policy::Lcfs { preemptive: false } | Policy::Priority { preemptive: false } => true,
        Policy::Size(Order { preemptive, longest, .. }) => !preemptive || longest,
        _ => false,
    }
}
