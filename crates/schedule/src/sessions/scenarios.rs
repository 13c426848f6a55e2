//! Scenarios: several loads in one run, each with its own sessions, start and end.
//!
//! A scenario is scheduled as a run of its own: with its own random streams, its own clock that starts with it, and its own numbering of
//! sessions. So other scenarios do not change its requests. In the run, session k of scenario s of S has the number
//! k S + s.

use std::sync::Arc;

use super::Sessions;
use crate::flow::Flows;
use offered_base::InvalidValue;
use offered_base::random::Seed;
use offered_base::time::Nanos;

/// The maximum number of scenarios.
pub const MAX_SCENARIOS: usize = 1000;

/// One of the loads of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name, unique in the run.
    pub name: String,
    /// The sessions; nested scenarios are not allowed.
    pub sessions: Sessions,
    /// When it starts, since the start of the run.
    pub start: Nanos,
    /// The duration for which requests are scheduled, from its start.
    pub duration: Nanos,
    /// The weight of each request of the workload, if sessions choose by weight; 0 for requests of other scenarios.
    pub weights: Arc<[f64]>,
}

/// The scenarios of a run: at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenarios {
    all: Arc<[Scenario]>,
    /// The flows of all scenarios together.
    flows: Option<Arc<Flows>>,
}

impl Scenarios {
    /// The scenarios `all`; `flows` contains the flows of all of them.
    ///
    /// # Errors
    /// No scenario, too many, an empty or duplicate name, scenarios within a scenario, or one without duration.
    pub fn new(all: Vec<Scenario>, flows: Option<Arc<Flows>>) -> Result<Self, InvalidValue> {
        if all.is_empty() || all.len() > MAX_SCENARIOS {
            return Err(InvalidValue::new(format!("expected between 1 and {MAX_SCENARIOS} scenarios")));
        }
        for (number, Scenario { name, sessions, duration, .. }) in all.iter().enumerate() {
            let wrong = |what: &str| Err(InvalidValue::new(format!("scenario `{name}` {what}")));
            if name.trim().is_empty() {
                return Err(InvalidValue::new("a scenario needs a name"));
            }
            if all[..number].iter().any(|other| other.name == *name) {
                return wrong("exists twice; give each its own name");
            }
            if matches!(sessions, Sessions::Scenarios(_)) {
                return wrong("has scenarios itself");
            }
            if *duration == Nanos::ZERO {
                return wrong("ends when it starts");
            }
        }
        Ok(Self { all: all.into(), flows })
    }

    /// The scenarios, in the order of the file.
    pub fn all(&self) -> &[Scenario] {
        &self.all
    }

    /// The flows of all scenarios together.
    pub fn flows(&self) -> Option<&Arc<Flows>> {
        self.flows.as_ref()
    }

    /// The seed of a scenario in a run with this seed; other scenarios do not change it.
    pub fn seed(&self, seed: Seed, scenario: usize) -> Seed {
        seed.named(&self.all[scenario].name)
    }

    /// The scenario of a session of the run, and the number of the session in it.
    #[inline]
    pub fn split(&self, session: u64) -> (usize, u64) {
        let scenarios = self.all.len() as u64;
        ((session % scenarios) as usize, session / scenarios)
    }

    /// The number of a session in the run.
    #[inline]
    pub fn number(&self, scenario: usize, session: u64) -> u64 {
        session * self.all.len() as u64 + scenario as u64
    }

    /// The end of the last scenario.
    pub fn end(&self) -> Nanos {
        self.all.iter().map(|one| one.start + one.duration).max().unwrap_or(Nanos::ZERO)
    }
}
