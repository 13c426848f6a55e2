//! What the launches were meant to be, and what theory expects of it.

mod text;

use offered_model::arrivals::{Batch, Process, Schedule};
use offered_model::workload::{Closed, Sessions};
use offered_model::{Law, Workload};

/// What the launches were meant to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Meant {
    /// A Poisson process.
    Poisson,
    /// A fixed number of launches at independent uniform instants: Poisson but for the number.
    FixedCount,
    /// Even gaps.
    Constant,
    /// Independent gaps with this CoV.
    Renewal {
        /// sdev / mean of the gaps meant.
        cov: f64,
    },
    /// So many users who launch, wait for the answer, think, and launch again.
    Closed {
        /// N.
        users: u64,
        /// The law of Z, in seconds.
        think: Law,
    },
    /// Sessions that arrive as a Poisson process, think between requests, and leave.
    PartlyOpen,
    /// Anything else, by name: a replayed trace, a changing rate, bursts.
    Other(String),
}

impl Meant {
    /// What `workload` meant.
    pub fn of(workload: &Workload) -> Self {
        match &workload.sessions {
            Sessions::Closed(Closed { flows: Some(flows), .. }) if flows.thinks() => {
                Self::Other("closed users whose think times differ by step".into())
            }
            Sessions::Closed(Closed { users, think, .. }) => Self::Closed { users: *users, think: think.clone() },
            Sessions::Open(schedule) => Self::of_schedule(schedule),
            Sessions::PartlyOpen { schedule, .. } => match Self::of_schedule(schedule) {
                Self::Poisson => Self::PartlyOpen,
                other => Self::Other(format!("partly-open, sessions {}", other.name())),
            },
            Sessions::Replay(_) => Self::Other("a replayed trace".into()),
        }
    }

    fn of_schedule(schedule: &Schedule) -> Self {
        if schedule.rate.as_constant().is_none() {
            return Self::Other("a changing rate".into());
        }
        if schedule.batch != Batch::Single {
            return Self::Other("batches".into());
        }
        match &schedule.process {
            Process::Poisson => Self::Poisson,
            Process::Constant => Self::Constant,
            Process::FixedCount => Self::FixedCount,
            Process::Renewal(law) => Self::Renewal { cov: law.scv().sqrt() },
            Process::Modulated(_) => Self::Other("a modulated rate".into()),
        }
    }

    /// What is left of it in a share of the run: every n-th arrival, or every n-th user.
    ///
    /// Every n-th gap of a stream is the sum of n gaps, so its CoV is smaller by sqrt(n): one share of a Poisson stream is *not*
    /// a Poisson stream, only all shares together are.
    #[must_use]
    pub(crate) fn share(self, fraction: f64) -> Self {
        match self {
            _ if fraction >= 1.0 => self,
            Self::Poisson | Self::FixedCount => Self::Renewal { cov: fraction.sqrt() },
            Self::Renewal { cov } => Self::Renewal { cov: cov * fraction.sqrt() },
            Self::Closed { users, think } => Self::Closed { users: (users as f64 * fraction).round() as u64, think },
            Self::PartlyOpen => Self::Other("a share of partly-open sessions".into()),
            Self::Constant | Self::Other(_) => self,
        }
    }

    /// Its name in the verdict.
    pub fn name(&self) -> String {
        match self {
            Self::Poisson => "poisson".into(),
            Self::FixedCount => "poisson-fixed-count".into(),
            Self::Constant => "constant".into(),
            Self::Renewal { cov } => format!("renewal with CoV {cov}"),
            Self::Closed { users, think } => format!("closed, {users} users, think {think}"),
            Self::PartlyOpen => "partly-open, sessions poisson".into(),
            Self::Other(name) => name.clone(),
        }
    }

    /// The CoV of gaps to expect, where theory has one.
    pub fn expected_cov(&self) -> Option<f64> {
        match self {
            Self::Poisson | Self::FixedCount | Self::PartlyOpen => Some(1.0),
            Self::Constant => Some(0.0),
            Self::Renewal { cov } => Some(*cov),
            Self::Closed { users, think } => superposition_cov(*users, think),
            Self::Other(_) => None,
        }
    }
}

/// Steps of the integral in [`superposition_cov`].
const STEPS: usize = 40_000;

/// The CoV of the gaps of `users` independent users whose launches are a `think` apart: a closed system without queueing.
///
/// The gap D after a launch outlasts t when that user's own next launch is more than t away and so is the residual time of all
/// others: P(D > t) = F'(t) G(t)^(N-1) with F'(t) = P(Z > t) and G(t) = integral over (t, inf) of F' / E[Z]. Integrating
/// 2 t P(D > t) by parts, E[D^2] = 2 (E[Z]/N) integral of G^N, and E[D] = E[Z]/N. It gives sqrt((2N-1)/(2N+1)) for uniform(0, 2Z),
/// sqrt((N-1)/(N+1)) for constant and 1 for exponential think times. `None` for no users or no think time.
pub fn superposition_cov(users: u64, think: &Law) -> Option<f64> {
    let mean = think.mean();
    if users == 0 || mean <= 0.0 {
        return None;
    }
    // G^N is below 1e-17 once N t / E[Z] passes 40, for laws no heavier than the exponential.
    let step = mean * 40.0 / users as f64 / STEPS as f64;
    let mut residual = 1.0;
    let mut integral = 0.0;
    let mut above = 1.0 - think.cdf(0.0);
    for i in 0..STEPS {
        let middle = 1.0 - think.cdf((i as f64 + 0.5) * step);
        let next = 1.0 - think.cdf((i as f64 + 1.0) * step);
        // G falls by Simpson's rule over the step, G^N is taken at both ends by the trapezium rule.
        let after = (residual - (above + 4.0 * middle + next) / 6.0 * step / mean).max(0.0);
        integral += step * (f64::powf(residual, users as f64) + f64::powf(after, users as f64)) / 2.0;
        (residual, above) = (after, next);
        if above <= 0.0 {
            // Nothing is left of the law; what rounding left of G must not be carried on.
            break;
        }
    }
    let scv = 2.0 * integral * users as f64 / mean - 1.0;
    Some(scv.max(0.0).sqrt())
}
