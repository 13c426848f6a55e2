//! What the launches were meant to be, and what theory expects of it.

mod text;

use offered_model::arrivals::{Batch, Process, Schedule};
use offered_model::workload::{Sessions, Start};
use offered_model::{Count, Law, Nanos, System, Workload, superposition};

/// Users who began together are as good as mixed after so many think times,
const SETTLING: f64 = 5.0;
/// if their think times vary at least so much (C2).
const MIXING: f64 = 0.1;

/// What the launches were meant to be.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedArrivals {
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
    /// Sessions that arrive like this, think between requests, and leave. Only their arrivals are held to it: their later
    /// launches follow the server.
    PartlyOpen(Box<Self>),
    /// Anything else: a replayed trace, a changing rate, bursts.
    Other {
        /// What, in words.
        what: String,
        /// Its system model, where that is known.
        system: Option<System>,
    },
}

impl ExpectedArrivals {
    /// What `workload` meant, after `skip_first`.
    pub fn from_workload(workload: &Workload, skip_first: Nanos) -> Self {
        let sessions = workload.sessions();
        let other = |what: &str| Self::Other { what: what.to_owned(), system: Some(sessions.system()) };
        match sessions {
            Sessions::Closed(closed) if closed.pace().is_some() => other("closed users who keep a pace"),
            Sessions::Closed(closed) if closed.flows().is_some_and(|flows| flows.thinks()) => {
                other("closed users whose think times differ by step")
            }
            Sessions::Closed(closed) if closed.visits().is_some() || leave(workload) => other("closed users who leave"),
            Sessions::Closed(closed) => {
                let think = closed.think();
                let meant = Self::Closed { users: closed.users(), think: think.clone() };
                // Theory speaks of users who are all there and have forgotten how they began.
                let left_out = skip_first.as_secs_f64() - closed.ramp().as_secs_f64();
                let mixed = think.scv() >= MIXING && left_out >= SETTLING * think.mean();
                let settled = left_out >= 0.0 && (closed.start() == Start::MidThought || mixed);
                if settled { meant } else { other(&format!("{}, not settled", meant.name())) }
            }
            Sessions::Open(schedule) => Self::from_schedule(schedule),
            Sessions::PartlyOpen { schedule, .. } => Self::PartlyOpen(Box::new(Self::from_schedule(schedule))),
            Sessions::Replay(_) => other("a replayed trace"),
        }
    }

    fn from_schedule(schedule: &Schedule) -> Self {
        let other = |what: &str| Self::Other { what: what.to_owned(), system: Some(System::Open) };
        if schedule.rate().as_constant().is_none() {
            return other("a changing rate");
        }
        if schedule.batch() != Batch::Single {
            return other("batches");
        }
        match schedule.process() {
            Process::Poisson => Self::Poisson,
            Process::Constant => Self::Constant,
            Process::FixedCount => Self::FixedCount,
            Process::Renewal(law) => Self::Renewal { cov: law.scv().sqrt() },
            Process::Modulated(_) => other("a modulated rate"),
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
            Self::PartlyOpen(sessions) => Self::PartlyOpen(Box::new(sessions.share(fraction))),
            Self::Constant | Self::Other { .. } => self,
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
            Self::PartlyOpen(sessions) => format!("partly-open, sessions {}", sessions.name()),
            Self::Other { what, .. } => what.clone(),
        }
    }

    /// Its system model, where that is known.
    pub const fn system(&self) -> Option<System> {
        match self {
            Self::Poisson | Self::FixedCount | Self::Constant | Self::Renewal { .. } => Some(System::Open),
            Self::PartlyOpen(_) => Some(System::PartlyOpen),
            Self::Closed { .. } => Some(System::Closed),
            Self::Other { system, .. } => *system,
        }
    }

    /// The CoV of gaps to expect, where theory has one.
    pub fn expected_cov(&self) -> Option<f64> {
        match self {
            Self::Poisson | Self::FixedCount => Some(1.0),
            Self::PartlyOpen(sessions) => sessions.expected_cov(),
            Self::Constant => Some(0.0),
            Self::Renewal { cov } => Some(*cov),
            Self::Closed { users, think } => superposition::cov(think, *users).ok(),
            Self::Other { .. } => None,
        }
    }

    /// Whether only the first launches of sessions are held to it.
    pub const fn applies_to_sessions(&self) -> bool {
        matches!(self, Self::PartlyOpen(_))
    }

    /// What the launches that are judged are held to.
    pub(crate) fn arrivals(&self) -> &Self {
        match self {
            Self::PartlyOpen(sessions) => sessions,
            other => other,
        }
    }

    /// Whether the tests of a Poisson stream are what it is held to.
    pub(crate) fn is_poisson(&self) -> bool {
        matches!(self.arrivals(), Self::Poisson | Self::FixedCount)
    }
}

/// Whether closed users leave one after another, since only so many visits are made.
fn leave(workload: &Workload) -> bool {
    matches!(workload.count(), Some(Count::Sessions(_))) && workload.flows().is_some()
}
