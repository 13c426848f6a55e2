//! Flows: sessions that walk from request to request, as a visitor does who looks, searches and buys.
//!
//! All flows of a workload are one Markov chain over *places*. A place is one request of one step (a step repeated three
//! times has three); from each the session goes on to another or leaves. Where it goes is a function of (seed, session, step)
//! and of the place it comes from, so a launch carries its place and nothing else is remembered.

mod visits;

use crate::Wrong;
use crate::law::Law;
use crate::random::{Purpose, Seed};
use crate::time::Nanos;

/// The flows of a workload, and the chain they make.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    all: Vec<Flow>,
    /// All steps, flow after flow.
    steps: Vec<Step>,
    /// Where a session begins.
    entry: Branches,
    /// The step of each place, and the first place of each step.
    places: Vec<u16>,
    first: Vec<u16>,
    /// The mean number of requests a session makes at each step.
    visits: Vec<f64>,
}

/// One flow: one kind of visitor.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// How often sessions follow it, against the others.
    pub weight: f64,
    /// The number of its first step among all.
    pub start: u16,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its flow, an index.
    pub flow: u16,
    /// Its name, unlike the other steps' of the flow.
    pub name: String,
    /// The request it sends, an index into the workload's.
    pub request: u16,
    /// So many times in a row, at least 1.
    pub repeat: u16,
    /// The think time after each of them, where it is not the workload's.
    pub think: Option<Law>,
    /// Where a session goes after the last of them.
    pub next: Branches,
}

/// Where a session goes, each way with its probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Branches(Vec<Branch>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Branch {
    /// As it was given.
    weight: f64,
    probability: f64,
    /// The sum of the probabilities up to this one.
    upto: f64,
    /// The step, or `None`: it leaves.
    to: Option<u16>,
}

impl Branches {
    /// Ways to steps (`None`: to leave) with their weights, of which at least one is above zero.
    pub fn new(ways: impl IntoIterator<Item = (Option<u16>, f64)>) -> Self {
        let ways: Vec<_> = ways.into_iter().filter(|(_, weight)| *weight > 0.0).collect();
        let total: f64 = ways.iter().map(|(_, weight)| weight).sum();
        let branch = |sum: &mut f64, (to, weight)| {
            *sum += weight;
            Some(Branch { weight, probability: weight / total, upto: *sum / total, to })
        };
        Self(ways.into_iter().scan(0.0, branch).collect())
    }

    /// The steps it leads to (`None`: out), with their probabilities, which sum to 1.
    pub fn ways(&self) -> impl Iterator<Item = (Option<u16>, f64)> + '_ {
        self.0.iter().map(|branch| (branch.to, branch.probability))
    }

    /// The same with the weights they were given.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (Option<u16>, f64)> + '_ {
        self.0.iter().map(|branch| (branch.to, branch.weight))
    }

    /// Whether this is the only way, by weight 1.
    pub(crate) fn leads_only_to(&self, to: Option<u16>) -> bool {
        matches!(&self.0[..], [branch] if branch.to == to && branch.weight == 1.0)
    }

    fn choose(&self, at: f64) -> Option<u16> {
        let chosen = self.0.partition_point(|branch| branch.upto <= at).min(self.0.len() - 1);
        self.0[chosen].to
    }
}

impl Flows {
    /// These flows of these steps.
    ///
    /// # Errors
    /// A flow that some sessions never leave, or more than 65,535 places.
    pub fn new(flows: Vec<Flow>, steps: Vec<Step>) -> Result<Self, Wrong> {
        let mut flows = Self {
            entry: Branches::new(flows.iter().map(|flow| (Some(flow.start), flow.weight))),
            all: flows,
            steps,
            places: Vec::new(),
            first: Vec::new(),
            visits: Vec::new(),
        };
        for (number, step) in (0u16..).zip(&flows.steps) {
            flows.first.push(flows.places.len() as u16);
            flows.places.extend(std::iter::repeat_n(number, usize::from(step.repeat)));
            if flows.places.len() > usize::from(u16::MAX) {
                return Err(Wrong::new("the flows have more than 65535 requests, repeats included; repeat less"));
            }
        }
        let runs = visits::of(&flows.entry, &flows.steps).map_err(|endless| {
            let step = &flows.steps[endless];
            Wrong::new(format!(
                "no session that comes to `{}` of flow `{}` ever leaves; give it a way out (stay = 0.9, or leave = 0.1 among its branches)",
                step.name,
                flows.all[usize::from(step.flow)].name
            ))
        })?;
        flows.visits = runs.iter().zip(&flows.steps).map(|(runs, step)| runs * f64::from(step.repeat)).collect();
        Ok(flows)
    }

    /// The flows, in the order of the file.
    pub fn flows(&self) -> &[Flow] {
        &self.all
    }

    /// All steps, flow after flow.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The mean number of requests a session makes at each step: the solution of v = e + v P, times the repeats.
    pub fn visits(&self) -> &[f64] {
        &self.visits
    }

    /// The mean number of requests a session makes.
    pub fn mean(&self) -> f64 {
        self.visits.iter().sum()
    }

    /// The share of the launches that falls to each of so many requests.
    pub fn shares(&self, requests: usize) -> Vec<f64> {
        let mut shares = vec![0.0; requests];
        for (step, visits) in self.steps.iter().zip(&self.visits) {
            shares[usize::from(step.request)] += visits / self.mean();
        }
        shares
    }

    /// The mean think time after a request, seconds, where `otherwise` is the law of steps without one of their own.
    pub fn mean_think(&self, otherwise: &Law) -> f64 {
        let thought = |(step, visits): (&Step, &f64)| visits * step.think.as_ref().unwrap_or(otherwise).mean();
        self.steps.iter().zip(&self.visits).map(thought).sum::<f64>() / self.mean()
    }

    /// Whether some step has a think law of its own.
    pub fn thinks(&self) -> bool {
        self.steps.iter().any(|step| step.think.is_some())
    }

    /// The same flows with the think times of their steps so many times as long.
    pub(crate) fn stretched(&self, factor: f64) -> Result<Self, Wrong> {
        let mut flows = self.clone();
        for think in flows.steps.iter_mut().filter_map(|step| step.think.as_mut()).filter(|think| !think.is_zero()) {
            *think = think.scaled(factor)?;
        }
        Ok(flows)
    }

    /// The request sent at a place.
    pub fn request(&self, place: u16) -> u16 {
        self.step(place).request
    }

    fn step(&self, place: u16) -> &Step {
        &self.steps[usize::from(self.places[usize::from(place)])]
    }

    /// Where a visit begins whose first request is step `step` of `session`.
    pub(crate) fn enter(&self, seed: Seed, session: u64, step: u32) -> u16 {
        let begun = self.entry.choose(seed.at(Purpose::Choice, session, step).uniform());
        self.first[usize::from(begun.expect("a visit begins somewhere"))]
    }

    /// Where `session` goes from `place`, where it made request `step`; `None`: it leaves.
    pub(crate) fn next(&self, seed: Seed, session: u64, step: u32, place: u16) -> Option<u16> {
        let here = self.places[usize::from(place)];
        if self.places.get(usize::from(place) + 1) == Some(&here) {
            return Some(place + 1);
        }
        let next = &self.steps[usize::from(here)].next;
        let to = next.choose(seed.at(Purpose::Length, session, step).uniform())?;
        Some(self.first[usize::from(to)])
    }

    /// How long `session` thinks at `place`, before its request `step`, where `otherwise` is the law of steps without one.
    pub(crate) fn think(&self, otherwise: &Law, seed: Seed, session: u64, step: u32, place: u16) -> Nanos {
        self.step(place).think.as_ref().unwrap_or(otherwise).think(seed, session, step)
    }
}

#[cfg(test)]
mod tests;
