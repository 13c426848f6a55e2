//! The specified arrivals, and what theory predicts for them.

mod text;

use offered_base::{Instant, Nanos};
use offered_distributions::{Distribution, superposition};
use offered_schedule::arrivals::{Batch, Process, Profile, Schedule};
use offered_schedule::{Count, System};
use offered_schedule::{Sessions, Start};
use offered_workload::Workload;

/// After this number of mean think times, users who started together are mixed,
const SETTLING_THINK_TIMES: f64 = 5.0;
/// if the squared CoV of their think times is at least this.
pub(crate) const MIN_MIXING_SCV: f64 = 0.1;

/// The arrivals with which the requests of a recording are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedArrivals {
    /// A Poisson process.
    Poisson,
    /// A fixed number of requests at independent, uniformly distributed times: a Poisson process whose number of requests is fixed.
    FixedCount,
    /// Constant gaps.
    Constant,
    /// Independent gaps with this CoV.
    Renewal {
        /// The coefficient of variation of the gaps.
        cov: f64,
    },
    /// A fixed number of users, each of whom sends a request, waits for the response, and thinks.
    Closed {
        /// The number of users, N.
        users: u64,
        /// The distribution of the think time Z, in seconds.
        think: Distribution,
    },
    /// Closed users whose number changes.
    ChangingUsers {
        /// The numbers of users, each with its share of the time that all users together are present.
        levels: Vec<(u64, f64)>,
        /// The distribution of the think time Z, in seconds.
        think: Distribution,
    },
    /// Sessions that arrive with these arrivals, think between requests, and leave. Only arrivals of sessions are
    /// compared, because later requests depend on responses.
    PartlyOpen(Box<Self>),
    /// Arrivals with this changing rate. After rescaling time so that the rate is constant (operational time), they are
    /// like `arrivals`.
    ChangingRate {
        /// The rate over time, up to a factor.
        rate: Profile,
        /// The arrivals in operational time.
        arrivals: Box<Self>,
    },
    /// Anything else: a replayed trace, a modulated rate, batches.
    Other {
        /// A description.
        what: String,
        /// The system model; `None` if it is unknown.
        system: Option<System>,
    },
}

impl ExpectedArrivals {
    /// The arrivals that `workload` specifies, after `skip_first`.
    pub fn from_workload(workload: &Workload, skip_first: Nanos) -> Self {
        let sessions = workload.sessions();
        let other = |what: &str| Self::Other { what: what.to_owned(), system: sessions.system() };
        match sessions {
            Sessions::Closed(closed) if closed.pace().is_some() => other("closed users with a fixed pace"),
            Sessions::Closed(closed) if closed.flows().is_some_and(|flows| flows.thinks()) => {
                other("closed users with think times by step")
            }
            Sessions::Closed(closed) if closed.visits().is_some() || leave(workload) => other("closed users who leave"),
            Sessions::Closed(closed) => {
                let think = closed.think();
                if let Some(population) = closed.population() {
                    if closed.start() != Start::MidThought {
                        return other("closed users in stages, not settled");
                    }
                    let window = Instant::ZERO + skip_first..workload.end().earlier(workload.skip_last());
                    let users = Self::ChangingUsers { levels: population.levels(window), think: think.clone() };
                    return Self::ChangingRate { rate: population.profile(), arrivals: Box::new(users) };
                }
                let meant = Self::Closed { users: closed.users(), think: think.clone() };
                // Theory assumes that all users are present and have forgotten their start.
                let left_out = skip_first.as_secs_f64() - closed.ramp().as_secs_f64();
                let mixed = think.scv() >= MIN_MIXING_SCV && left_out >= SETTLING_THINK_TIMES * think.mean();
                let settled = left_out >= 0.0 && (closed.start() == Start::MidThought || mixed);
                if settled { meant } else { other(&format!("{}, not settled", meant.name())) }
            }
            Sessions::Open(schedule) => Self::from_schedule(schedule),
            Sessions::PartlyOpen { schedule, .. } => Self::PartlyOpen(Box::new(Self::from_schedule(schedule))),
            Sessions::Replay(_) => other("a replayed trace"),
            Sessions::Scenarios(scenarios) => other(&format!("{} scenarios", scenarios.all().len())),
        }
    }

    fn from_schedule(schedule: &Schedule) -> Self {
        let other = |what: &str| Self::Other { what: what.to_owned(), system: Some(System::Open) };
        if schedule.batch() != Batch::Single {
            return other("batches");
        }
        let arrivals = match schedule.process() {
            Process::Poisson => Self::Poisson,
            Process::Constant => Self::Constant,
            Process::FixedCount => Self::FixedCount,
            Process::Renewal(law) => Self::Renewal { cov: law.scv().sqrt() },
            Process::Modulated(_) => return other("a modulated rate"),
        };
        match schedule.rate().as_constant() {
            Some(_) => arrivals,
            None => Self::ChangingRate { rate: schedule.rate().clone(), arrivals: Box::new(arrivals) },
        }
    }

    /// The rate over time; `None` if it does not change.
    pub(crate) fn changing_rate(&self) -> Option<&Profile> {
        match self {
            Self::ChangingRate { rate, .. } => Some(rate),
            Self::PartlyOpen(sessions) => sessions.changing_rate(),
            _ => None,
        }
    }

    /// The same arrivals where only real time is known, in which there is no test for a changing rate.
    pub(crate) fn in_real_time(&self) -> Self {
        match self {
            Self::ChangingRate { .. } => Self::Other { what: self.name(), system: self.system() },
            Self::PartlyOpen(sessions) => Self::PartlyOpen(Box::new(sessions.in_real_time())),
            _ => self.clone(),
        }
    }

    /// The arrivals of one share of the run: every n-th arrival, or every n-th user.
    ///
    /// Every n-th gap is the sum of n gaps, so its CoV is smaller by sqrt(n). A single share of a Poisson process is
    /// therefore *not* a Poisson process; only all shares together are.
    #[must_use]
    pub(crate) fn share(self, fraction: f64) -> Self {
        match self {
            _ if fraction >= 1.0 => self,
            Self::Poisson | Self::FixedCount => Self::Renewal { cov: fraction.sqrt() },
            Self::Renewal { cov } => Self::Renewal { cov: cov * fraction.sqrt() },
            Self::Closed { users, think } => Self::Closed { users: (users as f64 * fraction).round() as u64, think },
            Self::ChangingUsers { levels, think } => {
                let levels = levels.into_iter().map(|(users, share)| (part(users, fraction), share));
                Self::ChangingUsers { levels: levels.collect(), think }
            }
            Self::PartlyOpen(sessions) => Self::PartlyOpen(Box::new(sessions.share(fraction))),
            Self::ChangingRate { rate, arrivals } => {
                Self::ChangingRate { rate, arrivals: Box::new(arrivals.share(fraction)) }
            }
            Self::Constant | Self::Other { .. } => self,
        }
    }

    /// The name of these arrivals, for the verdict.
    pub fn name(&self) -> String {
        match self {
            Self::Poisson => "poisson".into(),
            Self::FixedCount => "poisson-fixed-count".into(),
            Self::Constant => "constant".into(),
            Self::Renewal { cov } => format!("renewal with CoV {cov}"),
            Self::Closed { users, think } => format!("closed, {users} users, think {think}"),
            Self::PartlyOpen(sessions) => format!("partly-open, sessions {}", sessions.name()),
            Self::ChangingUsers { think, .. } => format!("closed, users in stages, think {think}"),
            Self::ChangingRate { arrivals, .. } if arrivals.system() == Some(System::Closed) => arrivals.name(),
            Self::ChangingRate { arrivals, .. } => format!("{} with a changing rate", arrivals.name()),
            Self::Other { what, .. } => what.clone(),
        }
    }

    /// The system model; `None` if it is unknown.
    pub fn system(&self) -> Option<System> {
        match self {
            Self::Poisson | Self::FixedCount | Self::Constant | Self::Renewal { .. } => Some(System::Open),
            Self::PartlyOpen(_) => Some(System::PartlyOpen),
            Self::Closed { .. } | Self::ChangingUsers { .. } => Some(System::Closed),
            Self::ChangingRate { arrivals, .. } => arrivals.system(),
            Self::Other { system, .. } => *system,
        }
    }

    /// The CoV of the gaps that theory predicts; `None` if it has no formula.
    pub fn expected_cov(&self) -> Option<f64> {
        match self {
            Self::Poisson | Self::FixedCount => Some(1.0),
            Self::PartlyOpen(arrivals) | Self::ChangingRate { arrivals, .. } => arrivals.expected_cov(),
            Self::Constant => Some(0.0),
            Self::Renewal { cov } => Some(*cov),
            Self::Closed { users, think } => superposition::cov(think, *users).ok(),
            Self::ChangingUsers { .. } | Self::Other { .. } => None,
        }
    }

    /// Whether these arrivals are only those of the first requests of sessions.
    pub const fn applies_to_sessions(&self) -> bool {
        matches!(self, Self::PartlyOpen(_))
    }

    /// The arrivals that are compared, in operational time: for a partly-open system those of its sessions.
    pub(crate) fn arrivals(&self) -> &Self {
        match self {
            Self::PartlyOpen(arrivals) | Self::ChangingRate { arrivals, .. } => arrivals.arrivals(),
            other => other,
        }
    }

    /// Whether these arrivals are tested for a Poisson process.
    pub(crate) fn is_poisson(&self) -> bool {
        matches!(self.arrivals(), Self::Poisson | Self::FixedCount)
    }
}

/// This fraction of a number of users, as a whole number; at least one, unless there are no users.
fn part(users: u64, fraction: f64) -> u64 {
    ((users as f64 * fraction).round() as u64).max(users.min(1))
}

/// Whether closed users leave one after another because the number of sessions is limited.
fn leave(workload: &Workload) -> bool {
    matches!(workload.count(), Some(Count::Sessions(_))) && workload.flows().is_some()
}
