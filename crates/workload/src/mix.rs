//! The choice of requests.

use std::sync::Arc;

use super::{Request, Sessions, Workload};
use offered_base::random::{Purpose, Seed};
use offered_base::time::Instant;
use offered_schedule::flow::{Decide, Flows, OnFailure};
use offered_schedule::replay::Replay;
use offered_schedule::{Launch, Scenarios, Visit};

/// Chooses the request of each launch.
#[derive(Clone, Debug)]
pub struct Mix {
    seed: Seed,
    /// Running sums of the weights.
    sums: Vec<f64>,
    /// The trace determines the request of a replay, if it has requests.
    replay: Option<Replay>,
    /// The place in the flow determines the request.
    flows: Option<Arc<Flows>>,
    /// The scenarios, each with its own choice; then the other fields are not used.
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
            Sessions::Replay(replay) if replay.trace().has_requests() => Some(replay.clone()),
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
        let walk = self.walk_of(session);
        let place = walk.flows.map_or(0, |flows| flows.enter(walk.seed, walk.session, 0));
        let step = walk.next_weighted(0).unwrap_or_default();
        walk.labelled(Launch { intended: Instant::ZERO, session, step, place, visit: Visit::FIRST })
    }

    /// The request of a walk after `launch`, where `decide` evaluates conditions; `None` if `launch` was the last.
    pub fn walk_on(&self, launch: Launch, decide: Decide<'_>) -> Option<(Launch, u16)> {
        let Launch { session, step, place, visit, .. } = launch;
        let walk = self.walk_of(session);
        let (step, place) = match walk.flows {
            Some(flows) => {
                let next = flows.next(walk.seed, walk.session, step, place, decide);
                (step + 1, next.or_else(|| flows.end().filter(|_| flows.once(place).is_none()))?)
            }
            None => (walk.next_weighted(step + 1)?, 0),
        };
        Some(walk.labelled(Launch { step, place, visit: visit.continued(), ..launch }))
    }

    /// The data that determine the walk of a session.
    fn walk_of(&self, session: u64) -> Walk<'_> {
        let requests = &self.0.requests[..];
        let whole = Walk { seed: self.0.seed, session, flows: self.flows(), requests, weights: None };
        self.scenarios().map_or(whole, |scenarios| {
            let (number, session) = scenarios.split(session);
            let scenario = &scenarios.all()[number];
            let (seed, flows) = (scenarios.seed(self.0.seed, number), scenario.sessions.flows());
            Walk { seed, session, flows, requests, weights: Some(&scenario.weights) }
        })
    }
}

/// What the walk of a session depends on: of its scenario, if there are several.
struct Walk<'a> {
    seed: Seed,
    /// The number of the session in its scenario.
    session: u64,
    flows: Option<&'a Arc<Flows>>,
    requests: &'a [Request],
    /// The weights of the requests in the scenario; `None`: their own.
    weights: Option<&'a [f64]>,
}

impl Walk<'_> {
    /// The first step from `step` on whose request has a weight; requests without a weight belong to other scenarios.
    /// Flows have steps of their own.
    fn next_weighted(&self, step: u32) -> Option<u32> {
        let own = |number: usize| self.weights.and_then(|weights| weights.get(number)).copied();
        let weight = |number: usize| own(number).unwrap_or(self.requests[number].weight);
        let mut steps = step as usize..self.requests.len();
        steps.find(|number| self.flows.is_some() || weight(*number) > 0.0).map(|number| number as u32)
    }

    /// A request of the walk, with the number of its label.
    fn labelled(&self, launch: Launch) -> (Launch, u16) {
        (launch, self.flows.map_or(launch.step as u16, |flows| flows.request(launch.place)))
    }
}

impl Mix {
    /// What a session does if the request of this place fails; `None`: the setting of the request applies.
    #[inline]
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
