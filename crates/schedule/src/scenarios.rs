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
    due: Due,
    end: Instant,
}

/// When the next request of each scenario is scheduled, with the earliest first: a tournament, where each node has the earlier of its two
/// children. The last half are the scenarios.
struct Due(Vec<(Instant, usize)>);

impl Due {
    /// Of these scenarios; [`Instant::MAX`] for one without a request.
    fn new(dues: impl Iterator<Item = Instant>) -> Self {
        let leaves: Vec<(Instant, usize)> = dues.enumerate().map(|(number, due)| (due, number)).collect();
        let mut nodes = [leaves.clone(), leaves].concat();
        for node in (1..nodes.len() / 2).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self(nodes)
    }

    /// The earliest, and its scenario; ties in order of scenario.
    fn first(&self) -> (Instant, usize) {
        self.0[1]
    }

    /// Sets that of one scenario.
    fn set(&mut self, number: usize, due: Instant) {
        let mut node = number + self.0.len() / 2;
        self.0[node].0 = due;
        while node > 1 {
            node /= 2;
            self.0[node] = self.0[2 * node].min(self.0[2 * node + 1]);
        }
    }
}

impl MergedAgenda {
    pub(crate) fn new(scenarios: &Scenarios, seed: Seed, end: Instant, share: Share) -> Self {
        let agenda = |(number, scenario): (usize, &Scenario)| {
            let last = (Instant::ZERO + scenario.duration).min(end.earlier(scenario.start));
            Agenda::new(&scenario.sessions, scenarios.seed(seed, number), last, None, share)
        };
        Self::of(scenarios.clone(), scenarios.all.iter().enumerate().map(agenda).collect(), end)
    }

    fn of(scenarios: Scenarios, agendas: Vec<Agenda>, end: Instant) -> Self {
        let due = Due::new(agendas.iter().zip(scenarios.all.iter()).map(|(agenda, one)| due_of(agenda, one.start)));
        Self { scenarios, agendas, due, end }
    }

    pub(crate) fn finishing(self, within: Nanos) -> Self {
        let agendas = self.agendas.into_iter().map(|agenda| agenda.finishing(within)).collect();
        Self::of(self.scenarios, agendas, self.end + within)
    }

    fn start(&self, scenario: usize) -> Nanos {
        self.scenarios.all[scenario].start
    }

    /// The scenario of the next request, and its time.
    fn next(&self) -> Option<(Instant, usize)> {
        Some(self.due.first()).filter(|(due, _)| *due < self.end)
    }

    /// Notes that the agenda of a scenario has changed.
    fn changed(&mut self, number: usize) {
        self.due.set(number, due_of(&self.agendas[number], self.start(number)));
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
        let launch = self.agendas[number].due_before(Instant::MAX);
        self.changed(number);
        let launch = launch?;
        let session = self.scenarios.number(number, launch.session);
        Some(Launch { intended: launch.intended + start, session, ..launch })
    }

    /// Reports that `launch` ended at `done` to the agenda of its scenario, with the request and the instant as it knows them.
    fn ended(
        &mut self,
        launch: Launch,
        done: Instant,
        report: impl FnOnce(&mut Agenda, Launch, Instant) -> After,
    ) -> After {
        let (number, session) = self.scenarios.split(launch.session);
        let start = self.start(number);
        let own = Launch { intended: launch.intended.earlier(start), session, ..launch };
        let after = report(&mut self.agendas[number], own, done.earlier(start));
        self.changed(number);
        after
    }

    pub(crate) fn decided(&mut self, launch: Launch, done: Instant, decide: Decide<'_>) -> After {
        self.ended(launch, done, |agenda, launch, done| agenda.decided(launch, done, decide))
    }

    pub(crate) fn broken_off(&mut self, launch: Launch, done: Instant) -> After {
        self.ended(launch, done, Agenda::broken_off)
    }

    pub(crate) fn from(self, from: Instant) -> Option<Self> {
        let later = |(agenda, scenario): (Agenda, &Scenario)| agenda.from(from.earlier(scenario.start));
        let agendas = self.agendas.into_iter().zip(self.scenarios.all.iter()).map(later).collect::<Option<_>>()?;
        Some(Self::of(self.scenarios, agendas, self.end))
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.agendas.iter().map(Agenda::skipped).sum()
    }

    pub(crate) fn thinking(&self) -> usize {
        self.agendas.iter().map(Agenda::thinking).sum()
    }
}

/// When the next request of a scenario that starts at `start` is scheduled in the run; [`Instant::MAX`] if it has none.
fn due_of(agenda: &Agenda, start: Nanos) -> Instant {
    agenda.next_due().map_or(Instant::MAX, |due| due + start)
}

#[cfg(test)]
mod tests {
    use offered_base::Rate;
    use offered_distributions::Distribution;

    use super::*;
    use crate::{Closed, Schedule};

    /// All requests of an agenda; each takes 10 ms.
    fn requests(mut agenda: Agenda) -> Vec<Launch> {
        let next = || {
            let launch = agenda.due_before(Instant::MAX)?;
            agenda.completed(launch, launch.intended + Nanos::from_millis(10));
            Some(launch)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn the_requests_of_many_scenarios_are_those_of_each_in_order_of_time() {
        for count in [1, 2, 7, 300] {
            let scenario = |number: u64| Scenario {
                name: format!("s{number}"),
                sessions: match number % 3 {
                    0 => Sessions::Open(Schedule::poisson(Rate::from_per_sec(20.0 + number as f64).unwrap())),
                    _ => Sessions::Closed(Closed::new(number, Distribution::exponential(0.5).unwrap()).unwrap()),
                },
                start: Nanos::from_millis(37 * (number % 11)),
                duration: Nanos::from_secs(1 + number % 2),
                weights: [1.0].into(),
            };
            let scenarios = Scenarios::new((0..count).map(scenario).collect(), None).unwrap();
            let end = Instant::ZERO + scenarios.end();
            let whole = requests(Agenda::new(&Sessions::Scenarios(scenarios.clone()), Seed(5), end, None, Share::ALL));
            let mut apart: Vec<(Instant, usize, Launch)> = Vec::new();
            for (number, Scenario { sessions, start, duration, .. }) in scenarios.all().iter().enumerate() {
                let last = Instant::ZERO + *duration;
                let own = Agenda::new(sessions, scenarios.seed(Seed(5), number), last, None, Share::ALL);
                apart.extend(requests(own).into_iter().map(|launch| {
                    let (intended, session) = (launch.intended + *start, scenarios.number(number, launch.session));
                    (intended, number, Launch { intended, session, ..launch })
                }));
            }
            apart.sort_by_key(|(intended, number, _)| (*intended, *number));
            assert!(whole.len() > 20, "{count}: {}", whole.len());
            assert!(whole.iter().eq(apart.iter().map(|(_, _, launch)| launch)), "{count}");
        }
    }
}
