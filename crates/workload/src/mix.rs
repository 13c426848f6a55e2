//! The choice of requests.

use std::sync::Arc;

use super::{Sessions, Workload};
use offered_base::random::{Purpose, Seed};
use offered_base::time::Instant;
use offered_schedule::flow::{Decide, Flows, OnFailure};
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
    /// in the order of the file. With scenarios the sessions belong to each of them in turn. Conditions are drawn by their probabilities.
    pub fn walk(&self, session: u64) -> impl Iterator<Item = (Launch, u16)> + '_ {
        std::iter::successors(Some(self.walk_from(session)), |(launch, _)| self.walk_on(*launch, &mut |_| None))
    }

    /// The first request of [`walk`](Self::walk).
    pub fn walk_from(&self, session: u64) -> (Launch, u16) {
        if let Some((scenario, own)) = self.scenario_of(session) {
            let (launch, label) = scenario.walk_from(own);
            return (Launch { session, ..launch }, label);
        }
        let place = self.flows().map_or(0, |flows| flows.enter(self.0.seed, session, 0));
        let step = self.next_weighted(0).unwrap_or_default();
        self.walked(Launch { intended: Instant::ZERO, session, step, place, visit: Visit::FIRST })
    }

    /// The request of a walk after `launch`, where `decide` decides conditions; `None`: that was the last.
    pub fn walk_on(&self, launch: Launch, decide: Decide<'_>) -> Option<(Launch, u16)> {
        let Launch { session, step, place, visit, .. } = launch;
        if let Some((scenario, own)) = self.scenario_of(session) {
            let (launch, label) = scenario.walk_on(Launch { session: own, ..launch }, decide)?;
            return Some((Launch { session, ..launch }, label));
        }
        let (step, place) = match self.flows() {
            Some(flows) => {
                let next = flows.next(self.0.seed, session, step, place, decide);
                (step + 1, next.or_else(|| flows.end().filter(|_| flows.once(place).is_none()))?)
            }
            None => (self.next_weighted(step + 1)?, 0),
        };
        Some(self.walked(Launch { step, place, visit: visit.continued(), ..launch }))
    }

    /// The scenario of a session of the run, and the number of the session in it; `None` without scenarios.
    fn scenario_of(&self, session: u64) -> Option<(Self, u64)> {
        let (number, own) = self.scenarios()?.split(session);
        Some((self.scenario(number)?, own))
    }

    /// The first step from `step` for a request that has a weight; others are those of other scenarios. Flows have steps of their own.
    fn next_weighted(&self, step: u32) -> Option<u32> {
        let requests = self.0.requests.iter().enumerate().skip(step as usize);
        let mut weighted = requests.filter(|(_, request)| self.flows().is_some() || request.weight > 0.0);
        weighted.next().map(|(number, _)| number as u32)
    }

    fn walked(&self, launch: Launch) -> (Launch, u16) {
        (launch, self.flows().map_or(launch.step as u16, |flows| flows.request(launch.place)))
    }
}

impl Mix {
    /// What a session does if the request of this place fails; `None`: what the request says.
    pub fn on_failure(&self, place: u16) -> Option<OnFailure> {
        self.flows.as_ref()?.on_failure(place)
    }

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
