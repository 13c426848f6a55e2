//! The closed system: a fixed number of users, or one that changes in stages.

use std::sync::Arc;

use crate::flow::Flows;
use crate::launch::Visit;
use crate::population::{MAX_USERS, Population};
use offered_base::InvalidValue;
use offered_base::time::Nanos;
use offered_distributions::Distribution;

/// A closed system: a fixed number of users that send a request, wait for the response, and think.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    users: u64,
    population: Option<Population>,
    think: Distribution,
    ramp: Nanos,
    start: Start,
    visits: Option<u32>,
    pace: Option<Pace>,
    visitor: Visitor,
    flows: Option<Arc<Flows>>,
}

offered_base::named! {
    /// Whether a user continues as a new visitor or as the same one after the end of its flow.
    pub enum Visitor {
        /// A new visitor: no cookies, new values and rows, and a new connection if connections belong to sessions.
        New = "new",
        /// The same visitor, with its cookies and values.
        Same = "same",
    }
}

/// The minimum interval between the starts of two visits or requests of a user. After the think time the user waits for the rest of the
/// interval. A user that overruns the interval starts again immediately and does not catch up: the next interval begins then.
///
/// `JMeter` (Constant Throughput Timer, "this thread only"), Locust (`constant_pacing`) and Gatling (`pace`) define it
/// in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Minimum time from the start of a visit to the start of the next.
    Visits(Nanos),
    /// From one request to the next.
    Requests(Nanos),
}

impl Pace {
    /// The interval.
    pub fn every(self) -> Nanos {
        match self {
            Self::Visits(every) | Self::Requests(every) => every,
        }
    }
}

impl Closed {
    /// N users with this distribution of think times (Z in the papers). They start in the middle of a think time, without a ramp, and
    /// choose each request by weight.
    ///
    /// # Errors
    /// No users, or more than 100 million.
    pub fn new(users: u64, think: Distribution) -> Result<Self, InvalidValue> {
        match users {
            0 => Err(InvalidValue::new("a closed system has at least 1 user")),
            1..=MAX_USERS => {
                let (ramp, start) = (Nanos::ZERO, Start::MidThought);
                Ok(Self {
                    users,
                    population: None,
                    think,
                    ramp,
                    start,
                    visits: None,
                    pace: None,
                    visitor: Visitor::New,
                    flows: None,
                })
            }
            _ => Err(InvalidValue::new(format!("{users} users are too many; write a number up to {MAX_USERS}"))),
        }
    }

    /// Users whose number changes over time, with this distribution of think times.
    ///
    /// # Errors
    /// As [`Closed::new`].
    pub fn in_stages(population: Population, think: Distribution) -> Result<Self, InvalidValue> {
        Ok(Self { population: Some(population.clone()), ..Self::new(population.peak(), think)? })
    }

    /// Makes the users start one after another, evenly over the duration `ramp`.
    #[must_use]
    pub fn with_ramp(self, ramp: Nanos) -> Self {
        Self { ramp, ..self }
    }

    /// Sets how the users start.
    #[must_use]
    pub fn with_start(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// Makes each user leave after this number of visits (without flows: requests).
    ///
    /// # Errors
    /// No visits, or more than [`Visit::MAX`].
    pub fn with_visits(self, visits: u32) -> Result<Self, InvalidValue> {
        match visits {
            0 => Err(InvalidValue::new("a user makes at least 1 visit")),
            1..=Visit::MAX => {
                let flows = self.flows.map(|flows| Arc::new(flows.per_visit(Some(visits))));
                Ok(Self { visits: Some(visits), flows, ..self })
            }
            _ => Err(InvalidValue::new(format!("{visits} visits are too many; write up to {}", Visit::MAX))),
        }
    }

    /// Sets the minimum interval between the starts of two visits or requests of a user.
    ///
    /// # Errors
    /// An interval of duration zero.
    pub fn with_pace(self, pace: Pace) -> Result<Self, InvalidValue> {
        if pace.every() == Nanos::ZERO {
            return Err(InvalidValue::new("must be longer than 0s; remove the key for users without a pace"));
        }
        Ok(Self { pace: Some(pace), ..self })
    }

    /// Sets the kind of visitor as which a user continues after each visit.
    #[must_use]
    pub fn with_visitor(self, visitor: Visitor) -> Self {
        Self { visitor, ..self }
    }

    /// Sets the flows of the users' visits.
    #[must_use]
    pub fn with_flows(self, flows: Arc<Flows>) -> Self {
        let flows = if flows.has_once() { Arc::new(flows.per_visit(self.visits)) } else { flows };
        Self { flows: Some(flows), ..self }
    }

    /// Scales all think times by the same factor, so that their mean is `mean` seconds.
    ///
    /// # Errors
    /// A mean that is not above zero, or users without think times.
    pub fn with_mean_think(&self, mean: f64) -> Result<Self, InvalidValue> {
        let factor = mean / self.mean_think();
        let think = if self.think.is_zero() { self.think.clone() } else { self.think.scaled(factor)? };
        let flows = self.flows.as_ref().map(|flows| flows.stretched(factor).map(Arc::new)).transpose()?;
        Ok(Self { think, flows, ..self.clone() })
    }

    /// The number of users N, at least 1; if it changes over time, the largest number at a time.
    pub fn users(&self) -> u64 {
        self.users
    }

    /// The number of users over time; `None` if it does not change.
    pub fn population(&self) -> Option<&Population> {
        self.population.as_ref()
    }

    /// Number of different users in the whole run, including those who join after others left.
    pub fn all_users(&self) -> u64 {
        self.population.as_ref().map_or(self.users, Population::joined)
    }

    /// The time from a completion to the next request of the user (Z in the papers).
    pub fn think(&self) -> &Distribution {
        &self.think
    }

    /// The ramp: the time over which users start one after another, evenly spaced.
    pub fn ramp(&self) -> Nanos {
        self.ramp
    }

    /// The start of a user.
    pub fn start(&self) -> Start {
        self.start
    }

    /// Number of visits (without flows: requests) before a user leaves, from 1 to [`Visit::MAX`]. `None`: it never leaves.
    pub fn visits(&self) -> Option<u32> {
        self.visits
    }

    /// The minimum interval between visits or requests; `None`: no minimum.
    pub fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// Whether a user continues as a new visitor or as the same one after each visit.
    pub fn visitor(&self) -> Visitor {
        self.visitor
    }

    /// Whether a user becomes a new visitor after each visit: it has flows, and [`Visitor::New`].
    pub fn renews(&self) -> bool {
        self.flows.is_some() && self.visitor == Visitor::New
    }

    /// The request rate (per second) of all users if responses take no time; `None` if only responses limit it.
    pub fn max_rate_per_s(&self) -> Option<f64> {
        let length = self.flows.as_ref().map_or(1.0, |flows| flows.mean());
        let paced = match self.pace {
            None => 0.0,
            Some(Pace::Visits(every)) => every.as_secs_f64() / length,
            Some(Pace::Requests(every)) => every.as_secs_f64(),
        };
        let each = self.mean_think().max(paced);
        (each > 0.0).then(|| self.users as f64 / each)
    }

    /// The flows of each user; `None`: each request is chosen by weight.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        self.flows.as_ref()
    }

    /// The mean think time after a request, seconds (the papers' Z).
    pub fn mean_think(&self) -> f64 {
        self.flows.as_ref().map_or_else(|| self.think.mean(), |flows| flows.mean_think(&self.think))
    }
}

offered_base::named! {
    /// The first action of a closed user, after its part of the ramp.
    pub enum Start {
        /// Waits for the residual of a think time (with a pace: of an interval), so that the stream is stationary from the first instant.
        MidThought = "mid-thought",
        /// Waits for a whole think time, as `JMeter`'s timers before the first sampler.
        Thinking = "thinking",
        /// Sends a request at once: N users without a ramp send N requests together.
        AtOnce = "at-once",
    }
}
