//! Scenarios: several loads in one run, each with its own sessions, start and end.
//!
//! A scenario is scheduled as a run of its own: with its own random streams, its own clock that starts with it, and its own numbering of
//! sessions. So a scenario sends the same requests whatever other scenarios there are. In the run, session k of scenario s of S has the number
//! k S + s.

use std::sync::Arc;

use crate::agenda::{After, Agenda};
use crate::flow::{Decide, Flows};
use crate::launch::Launch;
use crate::sessions::Sessions;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos};
use offered_base::{InvalidValue, Share};

/// The maximum number of scenarios.
pub const MAX_SCENARIOS: usize = 1000;

/// One of the loads of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name, unique in the run.
    pub name: String,
    /// Its sessions; not scenarios again.
    pub sessions: Sessions,
    /// When it starts, since the start of the run.
    pub start: Nanos,
    /// How long requests are scheduled, from its start.
    pub duration: Nanos,
    /// The weight of each request of the workload, where sessions choose by weight; 0 for those of other scenarios.
    pub weights: Arc<[f64]>,
}

/// The scenarios of a run; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenarios {
    all: Arc<[Scenario]>,
    /// The flows of all scenarios together.
    flows: Option<Arc<Flows>>,
}

impl Scenarios {
    /// These scenarios; `flows` are those of all of them.
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

    /// The seed of a scenario in a run with this seed: other scenarios do not change it.
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

/// The agendas of scenarios as one.
pub(crate) struct MergedAgenda {
    scenarios: Scenarios,
    agendas: Vec<Agenda>,
}

impl MergedAgenda {
    pub(crate) fn new(scenarios: &Scenarios, seed: Seed, end: Instant, share: Share) -> Self {
        let agenda = |(number, scenario): (usize, &Scenario)| {
            let last = (Instant::ZERO + scenario.duration).min(end.earlier(scenario.start));
            Agenda::new(&scenario.sessions, scenarios.seed(seed, number), last, None, share)
        };
        let agendas = scenarios.all.iter().enumerate().map(agenda).collect();
        Self { scenarios: scenarios.clone(), agendas }
    }

    pub(crate) fn finish(&mut self, within: Nanos) {
        self.agendas = std::mem::take(&mut self.agendas).into_iter().map(|agenda| agenda.finishing(within)).collect();
    }

    fn start(&self, scenario: usize) -> Nanos {
        self.scenarios.all[scenario].start
    }

    /// The scenario of the next request, and its time.
    fn next(&self) -> Option<(Instant, usize)> {
        let due = |(number, agenda): (usize, &Agenda)| Some((agenda.next_due()? + self.start(number), number));
        self.agendas.iter().enumerate().filter_map(due).min()
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.next().map(|(due, _)| due)
    }

    pub(crate) fn due_before(&mut self, until: Instant) -> Option<Launch> {
        let (due, number) = self.next()?;
        if due >= until {
            return None;
        }
        let start = self.start(number);
        let launch = self.agendas[number].due_before(Instant::MAX)?;
        let session = self.scenarios.number(number, launch.session);
        Some(Launch { intended: launch.intended + start, session, ..launch })
    }

    /// The agenda of the scenario of `launch`, with the request and the instant as it knows them.
    fn own(&mut self, launch: Launch, done: Instant) -> (&mut Agenda, Launch, Instant) {
        let (number, session) = self.scenarios.split(launch.session);
        let start = self.start(number);
        let own = Launch { intended: launch.intended.earlier(start), session, ..launch };
        (&mut self.agendas[number], own, done.earlier(start))
    }

    pub(crate) fn decided(&mut self, launch: Launch, done: Instant, decide: Decide<'_>) -> After {
        let (agenda, launch, done) = self.own(launch, done);
        agenda.decided(launch, done, decide)
    }

    pub(crate) fn broken_off(&mut self, launch: Launch, done: Instant) -> After {
        let (agenda, launch, done) = self.own(launch, done);
        agenda.broken_off(launch, done)
    }

    pub(crate) fn from(self, from: Instant) -> Option<Self> {
        let later = |(agenda, scenario): (Agenda, &Scenario)| agenda.from(from.earlier(scenario.start));
        let agendas = self.agendas.into_iter().zip(self.scenarios.all.iter()).map(later).collect::<Option<_>>()?;
        Some(Self { agendas, ..self })
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.agendas.iter().map(Agenda::skipped).sum()
    }

    pub(crate) fn thinking(&self) -> usize {
        self.agendas.iter().map(Agenda::thinking).sum()
    }
}
