//! The system model: who comes, and what sessions do.

use std::sync::Arc;

use crate::Wrong;
use crate::arrivals::Schedule;
use crate::flow::Flows;
use crate::launch::Visit;
use crate::law::Law;
use crate::random::{Purpose, Seed};
use crate::time::{Nanos, written_number};
use crate::trace::{Replay, Way};

/// Each user costs memory from the start; where there are more, they are many machines' shares.
const MAX_USERS: u64 = 100_000_000;

/// The three system models (Schroeder, Wierman and Harchol-Balter, section 2), said once: sessions arrive and take turns.
#[derive(Clone, Debug, PartialEq)]
pub enum Sessions {
    /// Sessions of one request.
    Open(Schedule),
    /// Sessions that arrive, make some requests with think times between, and leave.
    PartlyOpen {
        /// When sessions arrive.
        schedule: Schedule,
        /// How many requests each makes.
        length: Length,
        /// The time from a completion to the session's next launch.
        think: Law,
    },
    /// Sessions that are there from the start and never leave.
    Closed(Closed),
    /// What a trace recorded, as any of the three.
    Replay(Replay),
}

impl Sessions {
    /// Whether sessions make several requests and then end.
    pub fn end(&self) -> bool {
        match self {
            Self::PartlyOpen { .. } => true,
            Self::Replay(replay) => matches!(replay.way(), Way::Sessions { .. }),
            Self::Open(_) | Self::Closed(_) => false,
        }
    }

    /// The flows that they walk through.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        match self {
            Self::Closed(closed) => closed.flows(),
            Self::PartlyOpen { length, .. } => length.flows(),
            Self::Open(_) | Self::Replay(_) => None,
        }
    }
}

/// A closed system: users who are there from the start, ask and think.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    users: u64,
    think: Law,
    ramp: Nanos,
    start: Start,
    visits: Option<u32>,
    flows: Option<Arc<Flows>>,
}

impl Closed {
    /// N users who think by this law after each answer (the papers' Z). They start in mid-thought and all together, and choose
    /// each request by weight.
    ///
    /// # Errors
    /// No users, or more than 100 million.
    pub fn new(users: u64, think: Law) -> Result<Self, Wrong> {
        match users {
            0 => Err(Wrong::new("a closed system has at least 1 user")),
            1..=MAX_USERS => {
                Ok(Self { users, think, ramp: Nanos::ZERO, start: Start::MidThought, visits: None, flows: None })
            }
            _ => Err(Wrong::new(format!("{users} users are too many; write a number up to {MAX_USERS}"))),
        }
    }

    /// The same users, starting one after another, evenly over this time.
    #[must_use]
    pub fn with_ramp(self, ramp: Nanos) -> Self {
        Self { ramp, ..self }
    }

    /// The same users, doing this first.
    #[must_use]
    pub fn with_start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// The same users, each leaving after so many visits; without flows, requests.
    ///
    /// # Errors
    /// No visits, or more than [`Visit::MAX`].
    pub fn with_visits(self, visits: u32) -> Result<Self, Wrong> {
        match visits {
            0 => Err(Wrong::new("a user makes at least 1 visit")),
            1..=Visit::MAX => Ok(Self { visits: Some(visits), ..self }),
            _ => Err(Wrong::new(format!("{visits} visits are too many; write up to {}", Visit::MAX))),
        }
    }

    /// The same users, making these visits one after another.
    #[must_use]
    pub fn with_flows(self, flows: Arc<Flows>) -> Self {
        Self { flows: Some(flows), ..self }
    }

    /// The same users with this mean think time, in seconds: every think law stretched alike.
    ///
    /// # Errors
    /// A mean that is not above zero, or users who do not think at all.
    pub fn with_mean_think(&self, mean: f64) -> Result<Self, Wrong> {
        let factor = mean / self.mean_think();
        let think = if self.think.is_zero() { self.think.clone() } else { self.think.scaled(factor)? };
        let flows = self.flows.as_ref().map(|flows| flows.stretched(factor).map(Arc::new)).transpose()?;
        Ok(Self { think, flows, ..self.clone() })
    }

    /// N, at least 1.
    pub fn users(&self) -> u64 {
        self.users
    }

    /// The time from a completion to the user's next launch (the papers' Z).
    pub fn think(&self) -> &Law {
        &self.think
    }

    /// Users start one after another, evenly over this time.
    pub fn ramp(&self) -> Nanos {
        self.ramp
    }

    /// What a user does first.
    pub fn start(&self) -> Start {
        self.start
    }

    /// How many visits each user makes before it leaves, from 1 to [`Visit::MAX`]; without flows, requests. `None`: it never
    /// leaves.
    pub fn visits(&self) -> Option<u32> {
        self.visits
    }

    /// The visits it makes one after another; `None`: each request is chosen by weight.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        self.flows.as_ref()
    }

    /// The mean think time after a request, seconds (the papers' Z).
    pub fn mean_think(&self) -> f64 {
        self.flows.as_ref().map_or_else(|| self.think.mean(), |flows| flows.mean_think(&self.think))
    }
}

/// What a closed user does first, after its place in the ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Finishes a think time under way: the stream is stationary from the first instant.
    MidThought,
    /// Thinks a whole think time (`JMeter`'s timers before the first sampler).
    Thinking,
    /// Launches at once: N users without a ramp make a bunch of N.
    AtOnce,
}

/// How many requests a session makes: at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Length(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Geometric { stay: f64 },
    Fixed(u32),
    Empirical(Arc<[u32]>),
    Flows(Arc<Flows>),
}

impl Length {
    /// After each request the session stays with this probability (the papers' p); the mean is 1/(1-p).
    ///
    /// # Errors
    /// A probability that is not in [0, 1).
    pub fn geometric(stay: f64) -> Result<Self, Wrong> {
        if (0.0..1.0).contains(&stay) {
            return Ok(Self(Kind::Geometric { stay }));
        }
        Err(Wrong::new(format!(
            "the stay probability must be at least 0 and below 1, not {stay}; with 1 nobody ever leaves: use closed"
        )))
    }

    /// Always so many.
    ///
    /// # Errors
    /// A length of no request.
    pub fn fixed(requests: u32) -> Result<Self, Wrong> {
        match requests {
            0 => Err(Wrong::new("a session makes at least one request")),
            _ => Ok(Self(Kind::Fixed(requests))),
        }
    }

    /// One of these, each as likely.
    ///
    /// # Errors
    /// An empty list, or one with a zero.
    pub fn empirical(lengths: Vec<u32>) -> Result<Self, Wrong> {
        if lengths.is_empty() || lengths.contains(&0) {
            return Err(Wrong::new("expected at least one session length, and each at least 1"));
        }
        Ok(Self(Kind::Empirical(lengths.into())))
    }

    /// As many as there are on its way through these.
    pub fn of_flows(flows: Arc<Flows>) -> Self {
        Self(Kind::Flows(flows))
    }

    /// The stay probability of a geometric length.
    pub fn stay(&self) -> Option<f64> {
        match &self.0 {
            Kind::Geometric { stay } => Some(*stay),
            _ => None,
        }
    }

    /// The key and value with which a workload file says it; of flows the flows do.
    pub(crate) fn written(&self) -> (&'static str, String) {
        match &self.0 {
            Kind::Geometric { stay } => ("stay", written_number(*stay)),
            Kind::Fixed(requests) => ("length", format!("{{ fixed = {requests} }}")),
            Kind::Empirical(all) => {
                let all: Vec<String> = all.iter().map(u32::to_string).collect();
                ("length", format!("{{ empirical = [{}] }}", all.join(", ")))
            }
            Kind::Flows(_) => ("stay", "0".to_owned()),
        }
    }

    /// The flows that say it.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        match &self.0 {
            Kind::Flows(flows) => Some(flows),
            _ => None,
        }
    }

    /// The mean number of requests of a session.
    pub fn mean(&self) -> f64 {
        match &self.0 {
            Kind::Geometric { stay } => 1.0 / (1.0 - stay),
            Kind::Fixed(requests) => f64::from(*requests),
            Kind::Empirical(all) => all.iter().map(|n| f64::from(*n)).sum::<f64>() / all.len() as f64,
            Kind::Flows(flows) => flows.mean(),
        }
    }

    /// Whether `session`, which walks through no flow, makes another request after step `step`.
    #[inline]
    pub(crate) fn goes_on(&self, seed: Seed, session: u64, step: u32) -> bool {
        match &self.0 {
            Kind::Geometric { stay } => seed.at(Purpose::Length, session, step).uniform() < *stay,
            Kind::Fixed(requests) => step + 1 < *requests,
            Kind::Flows(_) => unreachable!("sessions with flows walk through them"),
            Kind::Empirical(lengths) => {
                let drawn = seed.at(Purpose::Length, session, 0).below(lengths.len() as u64);
                step + 1 < lengths[drawn as usize]
            }
        }
    }
}
