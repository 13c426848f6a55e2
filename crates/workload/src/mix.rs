//! The choice of requests.

use std::sync::Arc;

use super::{Sessions, Workload};
use offered_base::random::{Purpose, Seed};
use offered_base::time::Instant;
use offered_schedule::flow::Flows;
use offered_schedule::trace::Replay;
use offered_schedule::{Launch, Scenarios, Visit};

/// Chooses the request of each launch.
#[derive(Clone, Debug)]
pub struct Mix {
    seed: Seed,
    /// Running sums of the weights.
    sums: Vec<f64>,
    /// The trace determines the request of a replay.
    replay: Option<Replay>,
    /// The place in the flow determines the request.
    flows: Option<Arc<Flows>>,
    /// The scenarios with the choice of each, instead of all the above.
    scenarios: Option<(Scenarios, Vec<Mix>)>,
}

impl Workload {
    /// The choice of requests by weight.
    pub fn mix(&self) -> Mix {
        let sums = self.0.requests.iter().scan(0.0, |sum, request| {
            *sum += request.weight;
            Some(*sum)
        });
        let replay = match &self.0.sessions {
            Sessions::Replay(replay) => Some(replay.clone()),
            _ => None,
        };
        let mixes = || self.each_scenario().map(|scenario| scenario.mix()).collect();
        let scenarios = self.scenarios().map(|scenarios| (scenarios.clone(), mixes()));
        Mix { seed: self.0.seed, sums: sums.collect(), replay, flows: self.flows().cloned(), scenarios }
    }

    /// The requests of `session` with their numbers, without scheduled times: once along its flow, or without flows all requests once
    /// in the order of the file. With scenarios the sessions belong to each of them in turn.
    pub fn walk(&self, session: u64) -> Box<dyn Iterator<Item = (Launch, u16)> + '_> {
        let Some(scenarios) = self.scenarios() else { return Box::new(self.walk_alone(session)) };
        let (number, own) = scenarios.split(session);
        let scenario = self.scenario(number);
        let steps: Vec<_> = scenario.iter().flat_map(|scenario| scenario.walk_alone(own)).collect();
        Box::new(steps.into_iter().map(move |(launch, label)| (Launch { session, ..launch }, label)))
    }

    fn walk_alone(&self, session: u64) -> impl Iterator<Item = (Launch, u16)> + '_ {
        let (seed, flows) = (self.0.seed, self.flows());
        let place = flows.map_or(0, |flows| flows.enter(seed, session, 0));
        let first = Launch { intended: Instant::ZERO, session, step: 0, place, visit: Visit::FIRST };
        let after = move |launch: &Launch| {
            let Launch { step, place, visit, .. } = *launch;
            let place = match flows {
                Some(flows) => flows.next(seed, session, step, place)?,
                None => ((step as usize + 1) < self.0.requests.len()).then_some(0)?,
            };
            Some(Launch { step: step + 1, place, visit: visit.continued(), ..*launch })
        };
        let label = move |launch: &Launch| flows.map_or(launch.step as u16, |flows| flows.request(launch.place));
        let steps = std::iter::successors(Some(first), after).map(move |launch| (launch, label(&launch)));
        // A request without weight is one of another scenario.
        steps.filter(move |(_, label)| flows.is_some() || self.0.requests[usize::from(*label)].weight > 0.0)
    }
}

impl Mix {
    /// The index of the request of `launch`.
    #[inline]
    pub fn choose(&self, launch: Launch) -> u16 {
        if self.sums.len() == 1 {
            return 0;
        }
        if let Some((scenarios, mixes)) = &self.scenarios {
            let (scenario, session) = scenarios.split(launch.session);
            return mixes[scenario].choose(Launch { session, ..launch });
        }
        let Launch { session, step, place, .. } = launch;
        if let Some(replay) = &self.replay {
            return replay.request(session, step);
        }
        if let Some(flows) = &self.flows {
            return flows.request(place);
        }
        let at = self.seed.at(Purpose::Choice, session, step).uniform() * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1) as u16
    }
}
