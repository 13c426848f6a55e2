//! The choice of requests.

use std::sync::Arc;

use super::{Sessions, Workload};
use offered_base::random::{Purpose, Seed};
use offered_base::time::Instant;
use offered_schedule::flow::{Decide, Flows, OnFailure};
use offered_schedule::trace::Replay;
use offered_schedule::{Launch, Visit};

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
        Mix { seed: self.0.seed, sums: sums.collect(), replay, flows: self.flows().cloned() }
    }

    /// The requests of `session` with their numbers, without scheduled times: once along its flow, or without flows all requests once
    /// in the order of the file. Conditions are drawn by their probabilities.
    pub fn walk(&self, session: u64) -> impl Iterator<Item = (Launch, u16)> + '_ {
        std::iter::successors(Some(self.walk_from(session)), |(launch, _)| self.walk_on(*launch, &mut |_| None))
    }

    /// The first request of [`walk`](Self::walk).
    pub fn walk_from(&self, session: u64) -> (Launch, u16) {
        let place = self.flows().map_or(0, |flows| flows.enter(self.0.seed, session, 0));
        self.walked(Launch { intended: Instant::ZERO, session, step: 0, place, visit: Visit::FIRST })
    }

    /// The request of a walk after `launch`, where `decide` decides conditions; `None`: that was the last.
    pub fn walk_on(&self, launch: Launch, decide: Decide<'_>) -> Option<(Launch, u16)> {
        let Launch { session, step, place, visit, .. } = launch;
        let place = match self.flows() {
            Some(flows) => flows.next(self.0.seed, session, step, place, decide)?,
            None => ((step as usize + 1) < self.0.requests.len()).then_some(0)?,
        };
        Some(self.walked(Launch { step: step + 1, place, visit: visit.continued(), ..launch }))
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
