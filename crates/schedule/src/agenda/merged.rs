//! The agendas of scenarios as one.

use super::{After, Agenda};
use crate::flow::Decide;
use crate::launch::Launch;
use crate::sessions::{Scenario, Scenarios};
use offered_base::Share;
use offered_base::random::Seed;
use offered_base::time::{Instant, Nanos};

/// The agendas of scenarios as one.
pub(super) struct MergedAgenda {
    scenarios: Scenarios,
    agendas: Vec<Agenda>,
    due: Due,
}

/// When the next request of each scenario is scheduled, with the earliest first: a tournament, where each node has the earlier of its two
/// children. The last half are the scenarios.
struct Due(Vec<(Instant, usize)>);

impl Due {
    /// The time of the next request of each scenario; [`Instant::MAX`] without a request.
    fn new(dues: impl Iterator<Item = Instant>) -> Self {
        let leaves: Vec<(Instant, usize)> = dues.enumerate().map(|(number, due)| (due, number)).collect();
        let mut nodes = [leaves.clone(), leaves].concat();
        for node in (1..nodes.len() / 2).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self(nodes)
    }

    /// The earliest time, and its scenario. If several times are equal, the first scenario comes first.
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
    pub(super) fn new(scenarios: &Scenarios, seed: Seed, end: Instant, share: Share) -> Self {
        let agenda = |(number, scenario): (usize, &Scenario)| {
            let last = (Instant::ZERO + scenario.duration).min(end.earlier(scenario.start));
            Agenda::new(&scenario.sessions, scenarios.seed(seed, number), last, None, share)
        };
        Self::of(scenarios.clone(), scenarios.all().iter().enumerate().map(agenda).collect())
    }

    fn of(scenarios: Scenarios, agendas: Vec<Agenda>) -> Self {
        let due = Due::new(agendas.iter().zip(scenarios.all().iter()).map(|(agenda, one)| due_of(agenda, one.start)));
        Self { scenarios, agendas, due }
    }

    pub(super) fn finishing(self, within: Nanos) -> Self {
        let agendas = self.agendas.into_iter().map(|agenda| agenda.finishing(within)).collect();
        Self::of(self.scenarios, agendas)
    }

    fn start(&self, scenario: usize) -> Nanos {
        self.scenarios.all()[scenario].start
    }

    /// The scenario of the next request, and its time.
    fn next(&self) -> Option<(Instant, usize)> {
        Some(self.due.first()).filter(|(due, _)| *due < Instant::MAX)
    }

    /// Notes that the agenda of a scenario has changed.
    fn changed(&mut self, number: usize) {
        self.due.set(number, due_of(&self.agendas[number], self.start(number)));
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.next().map(|(due, _)| due)
    }

    pub(super) fn due_before(&mut self, until: Instant) -> Option<Launch> {
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

    pub(super) fn decided(&mut self, launch: Launch, done: Instant, decide: Decide<'_>) -> After {
        self.ended(launch, done, |agenda, launch, done| agenda.decided(launch, done, decide))
    }

    pub(super) fn broken_off(&mut self, launch: Launch, done: Instant) -> After {
        self.ended(launch, done, Agenda::broken_off)
    }

    pub(super) fn from(self, from: Instant) -> Option<Self> {
        let later = |(agenda, scenario): (Agenda, &Scenario)| agenda.from(from.earlier(scenario.start));
        let agendas = self.agendas.into_iter().zip(self.scenarios.all().iter()).map(later).collect::<Option<_>>()?;
        Some(Self::of(self.scenarios, agendas))
    }

    pub(super) fn skipped(&self) -> u64 {
        self.agendas.iter().map(Agenda::skipped).sum()
    }

    pub(super) fn thinking(&self) -> usize {
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
    use crate::{Closed, Schedule, Sessions};

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
            assert!(whole.len() > 10, "{count}: {}", whole.len());
            assert!(whole.iter().eq(apart.iter().map(|(_, _, launch)| launch)), "{count}");
        }
    }
}
