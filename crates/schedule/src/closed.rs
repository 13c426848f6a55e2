//! The closed system: who is there from the start.

use std::sync::Arc;

use crate::flow::Flows;
use crate::launch::Visit;
use offered_base::InvalidValue;
use offered_base::time::Nanos;
use offered_distributions::Distribution;

/// Each user costs memory from the start; where there are more, they are many machines' shares.
pub const MAX_USERS: u64 = 100_000_000;

/// A closed system: users who are there from the start, ask and think.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    users: u64,
    think: Distribution,
    ramp: Nanos,
    start: Start,
    visits: Option<u32>,
    pace: Option<Pace>,
    visitor: Visitor,
    flows: Option<Arc<Flows>>,
}

offered_base::named! {
    /// Who a user is that has walked to the end of its flow, and begins again.
    pub enum Visitor {
        /// Somebody else: without cookies, with values and rows of its own, over another connection where each session has its own.
        New = "new",
        /// The same, who remembers everything.
        Same = "same",
    }
}

/// How often a user begins something at most: it waits for what is left of the interval when it is done, its think time included.
/// Where it took longer it begins at once, and catches nothing up: the next interval counts from then.
///
/// This is what `JMeter` (Constant Throughput Timer, "this thread only"), Locust (`constant_pacing`) and Gatling (`pace`) do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// From the beginning of a visit to that of the next.
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
    /// N users who think by this distribution after each answer (the papers' Z). They start in mid-thought and all together, and choose
    /// each request by weight.
    ///
    /// # Errors
    /// No users, or more than 100 million.
    pub fn new(users: u64, think: Distribution) -> Result<Self, InvalidValue> {
        match users {
            0 => Err(InvalidValue::new("a closed system has at least 1 user")),
            1..=MAX_USERS => {
                let (ramp, start) = (Nanos::ZERO, Start::MidThought);
                Ok(Self { users, think, ramp, start, visits: None, pace: None, visitor: Visitor::New, flows: None })
            }
            _ => Err(InvalidValue::new(format!("{users} users are too many; write a number up to {MAX_USERS}"))),
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
    pub fn with_visits(self, visits: u32) -> Result<Self, InvalidValue> {
        match visits {
            0 => Err(InvalidValue::new("a user makes at least 1 visit")),
            1..=Visit::MAX => Ok(Self { visits: Some(visits), ..self }),
            _ => Err(InvalidValue::new(format!("{visits} visits are too many; write up to {}", Visit::MAX))),
        }
    }

    /// The same users, keeping this pace.
    ///
    /// # Errors
    /// An interval of no time.
    pub fn with_pace(self, pace: Pace) -> Result<Self, InvalidValue> {
        if pace.every() == Nanos::ZERO {
            return Err(InvalidValue::new("must be longer than 0s; who does not wait keeps no pace"));
        }
        Ok(Self { pace: Some(pace), ..self })
    }

    /// The same users, being this visitor after each visit.
    #[must_use]
    pub fn with_visitor(self, visitor: Visitor) -> Self {
        Self { visitor, ..self }
    }

    /// The same users, making these visits one after another.
    #[must_use]
    pub fn with_flows(self, flows: Arc<Flows>) -> Self {
        Self { flows: Some(flows), ..self }
    }

    /// The same users with this mean think time, in seconds: every think distribution stretched alike.
    ///
    /// # Errors
    /// A mean that is not above zero, or users who do not think at all.
    pub fn with_mean_think(&self, mean: f64) -> Result<Self, InvalidValue> {
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
    pub fn think(&self) -> &Distribution {
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

    /// How often it begins a visit, or a request, at most.
    pub fn pace(&self) -> Option<Pace> {
        self.pace
    }

    /// Who a user is after each visit.
    pub fn visitor(&self) -> Visitor {
        self.visitor
    }

    /// Whether a user is somebody else after each visit: it has flows to walk to their end, and is not to stay the same.
    pub fn renews(&self) -> bool {
        self.flows.is_some() && self.visitor == Visitor::New
    }

    /// How many requests a second all of them make if answers take no time; `None` where nothing but answers holds them back.
    pub fn most_per_s(&self) -> Option<f64> {
        let length = self.flows.as_ref().map_or(1.0, |flows| flows.mean());
        let paced = match self.pace {
            None => 0.0,
            Some(Pace::Visits(every)) => every.as_secs_f64() / length,
            Some(Pace::Requests(every)) => every.as_secs_f64(),
        };
        let each = self.mean_think().max(paced);
        (each > 0.0).then(|| self.users as f64 / each)
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

offered_base::named! {
    /// What a closed user does first, after its place in the ramp.
    pub enum Start {
        /// Finishes a think time under way (of a pace: what is left of an interval): the stream is stationary from the first instant.
        MidThought = "mid-thought",
        /// Thinks a whole think time (`JMeter`'s timers before the first sampler).
        Thinking = "thinking",
        /// Launches at once: N users without a ramp make a bunch of N.
        AtOnce = "at-once",
    }
}
