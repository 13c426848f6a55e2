//! The system model: the arrivals of sessions, and their requests.

mod scenarios;

use std::sync::Arc;

pub use self::scenarios::{MAX_SCENARIOS, Scenario, Scenarios};
use crate::arrivals::Schedule;
use crate::closed::Closed;
use crate::flow::Flows;
use crate::launch::Launch;
use crate::replay::{Replay, ReplayMode};
use offered_base::InvalidValue;
use offered_base::random::{Purpose, Seed, Stream};
use offered_base::time::written_number;
use offered_distributions::Distribution;
use offered_events::VisitPosition;

/// The three system models (Schroeder, Wierman and Harchol-Balter, section 2) and the replay of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Sessions {
    /// Sessions of one request.
    Open(Schedule),
    /// Sessions that arrive, send some requests with think times between them, and leave.
    PartlyOpen {
        /// When sessions arrive.
        schedule: Schedule,
        /// Number of requests of a session.
        length: Length,
        /// The time from a completion to the next request of the session.
        think: Distribution,
        /// The sessions that are present when the run begins.
        opening: Opening,
    },
    /// Users who are present from the start and never leave.
    Closed(Closed),
    /// The requests of a trace, as one of the three models.
    Replay(Replay),
    /// Several loads at a time.
    Scenarios(Scenarios),
}

offered_base::named! {
    /// The sessions of a partly-open system that are present when the run begins.
    pub enum Opening {
        /// No sessions: the system reaches its steady state after about the length of a session.
        Empty = "empty",
        /// The steady-state number of sessions that arrived earlier and are thinking; see
        /// [`Thinking`](crate::thinking::Thinking).
        Stationary = "stationary",
    }
}

offered_base::named! {
    /// A system model.
    pub enum System {
        /// Requests do not depend on earlier responses.
        Open = "open",
        /// Sessions arrive, send requests, think, and leave.
        PartlyOpen = "partly-open",
        /// A fixed number of users send requests and think, and never leave.
        Closed = "closed",
    }
}

impl Sessions {
    /// The system model; `None`: scenarios with different system models.
    pub fn system(&self) -> Option<System> {
        Some(match self {
            Self::Open(_) => System::Open,
            Self::PartlyOpen { .. } => System::PartlyOpen,
            Self::Closed(_) => System::Closed,
            Self::Replay(replay) => match replay.mode() {
                ReplayMode::Open => System::Open,
                ReplayMode::Sessions { .. } => System::PartlyOpen,
                ReplayMode::Closed(_) => System::Closed,
            },
            Self::Scenarios(scenarios) => {
                let mut systems = scenarios.all().iter().map(|scenario| scenario.sessions.system());
                let first = systems.next()??;
                return systems.all(|system| system == Some(first)).then_some(first);
            }
        })
    }

    /// The scenarios, if there are several loads.
    pub fn scenarios(&self) -> Option<&Scenarios> {
        match self {
            Self::Scenarios(scenarios) => Some(scenarios),
            _ => None,
        }
    }

    /// The position of a request in its visit; `ends` tells whether it is the last one. `None` if its session makes no
    /// visits: an open arrival, or a user without flows.
    #[inline]
    pub fn position(&self, launch: Launch, ends: bool) -> Option<VisitPosition> {
        let Launch { session, place, visit, .. } = launch;
        self.makes_visits(session).then(|| VisitPosition { number: visit.number() as u16, place, ends })
    }

    #[inline]
    fn makes_visits(&self, session: u64) -> bool {
        match self {
            Self::Scenarios(scenarios) => scenarios.all()[scenarios.split(session).0].sessions.have_visits(),
            _ => self.have_visits(),
        }
    }

    /// Whether some sessions make visits, that is, send several requests and end, or walk through flows.
    #[inline]
    pub fn have_visits(&self) -> bool {
        match self {
            Self::PartlyOpen { .. } => true,
            Self::Closed(closed) => closed.flows().is_some(),
            Self::Replay(replay) => matches!(replay.mode(), ReplayMode::Sessions { .. }),
            Self::Scenarios(scenarios) => scenarios.all().iter().any(|scenario| scenario.sessions.have_visits()),
            Self::Open(_) => false,
        }
    }

    /// The flows of the sessions.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        match self {
            Self::Closed(closed) => closed.flows(),
            Self::PartlyOpen { length, .. } => length.flows(),
            Self::Scenarios(scenarios) => scenarios.flows(),
            Self::Open(_) | Self::Replay(_) => None,
        }
    }
}

/// The number of requests of a session, at least one.
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
    /// A geometric length: after each request the session stays with this probability (the papers' p); the mean is
    /// 1/(1-p).
    ///
    /// # Errors
    /// A probability that is not in [0, 1).
    pub fn geometric(stay: f64) -> Result<Self, InvalidValue> {
        if (0.0..1.0).contains(&stay) {
            return Ok(Self(Kind::Geometric { stay }));
        }
        Err(InvalidValue::new(format!(
            "the stay probability must be at least 0 and below 1, not {stay}; with 1 sessions never leave: use closed"
        )))
    }

    /// A constant number of requests.
    ///
    /// # Errors
    /// A length of zero.
    pub fn fixed(requests: u32) -> Result<Self, InvalidValue> {
        match requests {
            0 => Err(InvalidValue::new("a session makes at least one request")),
            _ => Ok(Self(Kind::Fixed(requests))),
        }
    }

    /// One of these lengths, with equal probabilities.
    ///
    /// # Errors
    /// An empty list, or one with a zero.
    pub fn empirical(lengths: Vec<u32>) -> Result<Self, InvalidValue> {
        if lengths.is_empty() || lengths.contains(&0) {
            return Err(InvalidValue::new("expected at least one session length, and each at least 1"));
        }
        Ok(Self(Kind::Empirical(lengths.into())))
    }

    /// The number of requests on a walk through these flows.
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

    /// The key and value in a workload file. Not for flows, which are written as tables.
    pub fn written(&self) -> (&'static str, String) {
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

    /// The flows that determine the length, if any.
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

    /// For a session that is thinking at a random instant: the step of its next request (at least 1), and its length if
    /// one draw determines it. A session of n requests thinks n - 1 times, so long sessions are more likely.
    pub fn met(&self, stream: &mut Stream) -> (u32, Option<u32>) {
        match &self.0 {
            // P(step k comes) = p^k, k from 1.
            Kind::Geometric { stay } => {
                let steps = (-stream.exponential() / libm::log(*stay)) as u64;
                (u32::try_from(1 + steps).unwrap_or(u32::MAX), None)
            }
            Kind::Fixed(requests) => (1 + stream.below(u64::from(*requests) - 1) as u32, None),
            Kind::Empirical(lengths) => {
                let pauses = |length: &u32| u64::from(*length) - 1;
                let mut at = stream.below(lengths.iter().map(pauses).sum());
                let met = lengths.iter().find(|length| {
                    let here = at < pauses(length);
                    if !here {
                        at -= pauses(length);
                    }
                    here
                });
                (1 + at as u32, met.copied())
            }
            Kind::Flows(_) => unreachable!("a run does not begin with sessions inside a flow"),
        }
    }

    /// Whether `session` makes another request after step `step`. Not for sessions with flows.
    #[inline]
    pub fn continues(&self, seed: Seed, session: u64, step: u32) -> bool {
        match &self.0 {
            Kind::Geometric { stay } => seed.at(Purpose::Length, session, step).uniform() < *stay,
            Kind::Fixed(requests) => step + 1 < *requests,
            Kind::Flows(_) => unreachable!("the flow determines the next request"),
            Kind::Empirical(lengths) => {
                let drawn = seed.at(Purpose::Length, session, 0).below(lengths.len() as u64);
                step + 1 < lengths[drawn as usize]
            }
        }
    }
}
