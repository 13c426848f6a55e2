//! Converts the control flow of a plan (sequences, choices, loops) into the Markov chain of steps that a workload uses.
//!
//! Other tools wait *before* a request, a workload thinks *after* one, so the wait before a request moves to the
//! preceding step. If the transitions of a step have different waits, the step is duplicated for each wait and the
//! choice is made one request earlier. The sequence of requests and waits keeps its distribution.

use std::cmp::Reverse;
use std::ops::Range;

use offered_distributions::Distribution;
use offered_workload::condition::{Condition, Subject};

use crate::action::{Action, Decided};
use crate::delay::Delay;
use crate::plan::{Block, Flow, Step};
use crate::unique_names::UniqueNames;

/// Maximum number of steps, with loops unrolled.
pub(crate) const MAX_STEPS: usize = 2000;

/// Maximum number of requests of all flows, repeats included (step numbers have 16 bits).
const MAX_REQUESTS: u64 = 65_535;

/// Maximum number of transitions visited. It bounds the time for nested loops that send nothing and so make no steps.
const MAX_TRANSITIONS: usize = 200_000;

/// A transition to a step (`None` ends the iteration) with its weight and wait (`None` if any wait will do).
#[derive(Clone, Debug, PartialEq)]
struct Transition {
    to: Option<usize>,
    weight: f64,
    delay: Option<Delay>,
}

struct ChainStep {
    request: usize,
    repeat: u32,
    think: Delay,
    next: Vec<(Option<usize>, f64)>,
    /// Conditions that must all hold, with the numbers of their [`Action::If`].
    only_if: Vec<(usize, Condition)>,
    until: Option<Condition>,
}

/// Steps that are repeated together or have one condition.
struct ChainBlock {
    /// Indices of its steps; the last one comes first.
    steps: Range<usize>,
    repeat: u32,
    only_if: Option<Condition>,
    until: Option<Condition>,
}

/// The chain of steps of an [`Action`].
pub(crate) struct Chain {
    /// Steps in reverse order: transitions lead to smaller indices.
    steps: Vec<ChainStep>,
    /// Inner blocks before outer ones.
    blocks: Vec<ChainBlock>,
    entry: Vec<(usize, f64)>,
    /// Share of the iterations that send at least one request.
    pub(crate) nonempty_share: f64,
    /// Wait before the first request of an iteration.
    pub(crate) initial_wait: Delay,
    pub(crate) is_mixture: bool,
}

/// Error: more than [`MAX_STEPS`], [`MAX_REQUESTS`] or [`MAX_TRANSITIONS`].
#[derive(Debug)]
pub(crate) struct TooLong;

impl Chain {
    /// Builds the chain of `action`. If the same user iterates (`same_user`), the wait before the first request follows
    /// the last one.
    ///
    /// # Errors
    /// The chain exceeds one of the limits.
    pub(crate) fn build(action: &Action, same_user: bool) -> Result<Self, TooLong> {
        let chain = Self::followed_by(action, None)?;
        if same_user { Self::followed_by(action, Some(chain.initial_wait)) } else { Ok(chain) }
    }

    /// Builds the chain of `action`, after whose last request the user waits; `None`: any time.
    ///
    /// # Errors
    /// The chain exceeds one of the limits.
    pub(crate) fn followed_by(action: &Action, wait: Option<Delay>) -> Result<Self, TooLong> {
        let mut builder = Builder::default();
        let transitions = builder.enter(action, vec![Transition { to: None, weight: 1.0, delay: wait }])?;
        let firsts: Vec<(f64, Delay)> = transitions
            .iter()
            .filter(|transition| transition.to.is_some())
            .map(|transition| (transition.weight, transition.delay.clone().unwrap_or_default()))
            .collect();
        let initial_wait = Delay::mixture(&firsts);
        let is_mixture = firsts.iter().any(|(_, delay)| *delay != initial_wait);
        let mut entry: Vec<(usize, f64)> = Vec::new();
        for transition in &transitions {
            if let Some(to) = transition.to {
                match entry.iter_mut().find(|(step, _)| *step == to) {
                    Some((_, weight)) => *weight += transition.weight,
                    None => entry.push((to, transition.weight)),
                }
            }
        }
        let nonempty_share = entry.iter().map(|(_, weight)| weight).sum();
        let Builder { steps, blocks, .. } = builder;
        let chain = Self { steps, blocks, entry, nonempty_share, initial_wait, is_mixture };
        // Each entry step becomes a flow with all steps that it reaches; iterations of one request need no flows.
        let simple = chain.steps.iter().all(|step| step.next.iter().all(|(to, _)| to.is_none()));
        let flows = if simple { 1 } else { chain.entry.len() as u64 };
        let times = |at: usize| u64::from(chain.steps[at].repeat).saturating_mul(chain.passes(at));
        let requests = (0..chain.steps.len()).map(times).fold(0, u64::saturating_add);
        if requests.saturating_mul(flows) > MAX_REQUESTS { Err(TooLong) } else { Ok(chain) }
    }

    /// Whether every pass begins with the same request.
    pub(crate) fn has_one_start(&self) -> bool {
        self.entry.len() == 1 && self.nonempty_share == 1.0
    }

    /// Removes the conditions of the first requests of an iteration, which a flow cannot have, from all requests of the same
    /// [`Action::If`]. Returns them.
    pub(crate) fn drop_first_conditions(&mut self) -> Vec<Condition> {
        let first: Vec<(usize, Condition)> =
            self.entry.iter().flat_map(|(step, _)| self.steps[*step].only_if.clone()).collect();
        for step in &mut self.steps {
            step.only_if.retain(|one| !first.contains(one));
        }
        let mut dropped: Vec<Condition> = first.into_iter().map(|(_, condition)| condition).collect();
        for block in &mut self.blocks {
            if self.entry.iter().any(|(step, _)| step + 1 == block.steps.end) {
                dropped.extend(block.only_if.take());
            }
        }
        self.blocks.retain(|block| block.repeat > 1 || block.only_if.is_some());
        dropped
    }

    /// Maximum number of passes through a step: the product of the repetitions of the blocks around it.
    fn passes(&self, step: usize) -> u64 {
        let around = self.blocks.iter().filter(|block| block.steps.contains(&step));
        around.fold(1, |passes: u64, block| passes.saturating_mul(u64::from(block.repeat)))
    }

    /// The weight of each request if every iteration is a single request, so that no flows are needed; else `None`.
    pub(crate) fn weights(&self, requests: usize) -> Option<Vec<f64>> {
        let single = |step: &ChainStep| {
            step.repeat == 1
                && step.only_if.is_empty()
                && step.think == self.steps[0].think
                && step.next.iter().all(|(to, _)| to.is_none())
        };
        let mut weights = vec![0.0; requests];
        for (step, weight) in &self.entry {
            weights[self.steps[*step].request] += weight;
        }
        let is_plain = self.blocks.is_empty() && !self.steps.is_empty() && self.steps.iter().all(single);
        is_plain.then_some(weights)
    }

    /// Indices of the requests in the chain, in ascending order.
    pub(crate) fn requests(&self) -> Vec<usize> {
        let mut requests: Vec<usize> = self.steps.iter().map(|step| step.request).collect();
        requests.sort_unstable();
        requests.dedup();
        requests
    }

    /// Mean number of requests and mean think time in seconds of an iteration that sends any request.
    pub(crate) fn means(&self) -> (f64, f64) {
        let mut means: Vec<(f64, f64)> = Vec::with_capacity(self.steps.len());
        let along = |transitions: &mut dyn Iterator<Item = (usize, f64)>, means: &[(f64, f64)]| {
            transitions.fold((0.0, 0.0), |sum, (to, p)| (sum.0 + p * means[to].0, sum.1 + p * means[to].1))
        };
        for (at, step) in self.steps.iter().enumerate() {
            let repeat = f64::from(step.repeat) * self.passes(at) as f64;
            let on = along(&mut step.next.iter().filter_map(|(to, p)| Some(((*to)?, *p))), &means);
            means.push((repeat + on.0, repeat * step.think.mean() + on.1));
        }
        let sum = along(&mut self.entry.iter().copied(), &means);
        (sum.0 / self.nonempty_share, sum.1 / self.nonempty_share)
    }

    /// Whether a run decides which requests are sent, or how often.
    pub(crate) fn is_conditional(&self) -> bool {
        let in_block = |block: &ChainBlock| block.only_if.is_some() || block.until.is_some();
        self.blocks.iter().any(in_block)
            || self.steps.iter().any(|step| !step.only_if.is_empty() || step.until.is_some())
    }

    /// Whether the wait before a request with a condition differs from the one after it, which is left out with the request.
    pub(crate) fn has_conditional_wait(&self) -> bool {
        let differs = |step: &ChainStep, to: usize| {
            let alone = !self.steps[to].only_if.is_empty() && self.steps[to].think != step.think;
            let begins = |block: &&ChainBlock| block.steps.end == to + 1 && block.only_if.is_some();
            alone || self.blocks.iter().filter(begins).any(|block| self.steps[block.steps.start].think != step.think)
        };
        self.steps.iter().any(|step| step.next.iter().filter_map(|(to, _)| *to).any(|to| differs(step, to)))
    }

    /// Whether a think time is approximated by another distribution.
    pub(crate) fn is_approximate(&self) -> bool {
        self.steps.iter().any(|step| step.think.distribution().1)
    }

    /// The blocks of a flow with these steps, in the order of their first steps, outer blocks before inner ones.
    fn blocks_in(&self, order: &[usize]) -> Vec<Block> {
        let inside = self.blocks.iter().filter(|block| order.contains(&block.steps.start)).map(|block| Block {
            first: position(order, block.steps.end - 1),
            last: position(order, block.steps.start),
            repeat: block.repeat,
            only_if: block.only_if.clone(),
            until: block.until.clone(),
        });
        let mut blocks: Vec<Block> = inside.collect();
        blocks.reverse();
        blocks.sort_by_key(|block| (block.first, Reverse(block.last)));
        blocks
    }

    /// One flow for each entry step. `name` is the base of the flow names, `requests` are the request names, `usual` is the default think
    /// time of the workload.
    pub(crate) fn flows(&self, name: &str, requests: &[String], usual: &Distribution) -> Vec<Flow> {
        let (mut flows, mut flow_names) = (Vec::new(), UniqueNames::default());
        for (start, weight) in &self.entry {
            let mut seen = vec![false; self.steps.len()];
            seen[*start] = true;
            for step in (0..=*start).rev() {
                if seen[step] {
                    self.steps[step].next.iter().filter_map(|(to, _)| *to).for_each(|to| seen[to] = true);
                }
            }
            let order: Vec<usize> = (0..=*start).rev().filter(|step| seen[*step]).collect();
            let (mut steps, mut step_names) = (Vec::new(), UniqueNames::default());
            for step in order.iter().map(|step| &self.steps[*step]) {
                let request = requests[step.request].clone();
                let think = step.think.distribution().0;
                let think = (think != *usual).then_some(think);
                let next = step.next.iter().map(|(to, p)| (to.map(|to| position(&order, to)), *p)).collect();
                let only_if = all_of(step.only_if.iter().map(|(_, condition)| condition.clone()).collect());
                let until = step.until.clone();
                let name = step_names.take(&request);
                steps.push(Step { name, request, repeat: step.repeat, think, only_if, until, next });
            }
            let name = flow_names.take(name);
            flows.push(Flow { name, weight: weight / self.nonempty_share, steps, blocks: self.blocks_in(&order) });
        }
        flows
    }
}

/// A condition that holds if all `conditions` hold; `None` without conditions.
fn all_of(mut conditions: Vec<Condition>) -> Option<Condition> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(Condition { subject: Subject::All(conditions), negated: false }),
    }
}

fn position(order: &[usize], step: usize) -> usize {
    order.iter().position(|other| *other == step).expect("every transition leads to a visited step")
}

#[derive(Default)]
struct Builder {
    /// Steps so far, last step first.
    steps: Vec<ChainStep>,
    /// Number of transitions visited.
    transitions: usize,
    blocks: Vec<ChainBlock>,
    /// Number of conditions so far.
    conditions: usize,
    /// The conditions of the requests that are added, with their numbers.
    only_if: Vec<(usize, Condition)>,
}

impl Builder {
    /// Adds the steps of `action`, which continue with the transitions `on`, and returns the transitions into them.
    fn enter(&mut self, action: &Action, on: Vec<Transition>) -> Result<Vec<Transition>, TooLong> {
        let transitions = match action {
            Action::Pause(delay) => {
                let wait = |transition: Transition| Transition {
                    delay: transition.delay.map(|after| delay.plus(&after)),
                    ..transition
                };
                on.into_iter().map(wait).collect()
            }
            Action::Sequence(actions) => actions.iter().rev().try_fold(on, |on, action| self.enter(action, on))?,
            Action::Choice(actions) => {
                let total: f64 = actions.iter().map(|(weight, _)| weight).sum();
                let mut transitions = Vec::new();
                for (weight, action) in actions.iter().filter(|(weight, _)| *weight > 0.0) {
                    let into = self.enter(action, on.clone())?;
                    transitions.extend(
                        into.into_iter()
                            .map(|transition| Transition { weight: transition.weight * weight / total, ..transition }),
                    );
                }
                transitions
            }
            Action::Repeat(0, _) => on,
            Action::Repeat(times, action) => match &**action {
                Action::Request(request, before) => self.add_repeated(*request, before, *times, on)?,
                _ if action.is_long_loop(*times) => self.add_loop(*times, action, on)?,
                _ => (0..*times).try_fold(on, |on, _| self.enter(action, on))?,
            },
            Action::Request(request, before) => self.add_request(*request, before, on)?,
            Action::FirstPass(action) | Action::FirstEver(action) => self.enter(action, on)?,
            Action::If(condition, decided, action) => self.add_conditional(condition, *decided, action, on)?,
            Action::Until(until, times, action) => match action.single_request() {
                Some((request, before)) => {
                    let earlier = self.steps.len();
                    let into = self.add_request(request, before, on)?;
                    for step in &mut self.steps[earlier..] {
                        step.repeat = *times;
                        step.until = Some(until.clone());
                        if before.mean() > 0.0 {
                            step.think = before.clone();
                        }
                    }
                    into
                }
                None => self.add_block(*times, None, Some(until.clone()), action, on)?,
            },
        };
        let transitions = merge(transitions);
        self.transitions += 1 + transitions.len();
        let most = transitions.len().max(self.steps.len());
        if most > MAX_STEPS || self.transitions > MAX_TRANSITIONS { Err(TooLong) } else { Ok(transitions) }
    }

    /// Adds a loop as a block. If the wait after the last pass differs from that after the others, the last pass is behind the block.
    fn add_loop(&mut self, times: u32, action: &Action, on: Vec<Transition>) -> Result<Vec<Transition>, TooLong> {
        let wait = action.first_wait().0;
        if on.iter().all(|to| to.delay.as_ref().is_none_or(|own| *own == wait)) {
            return self.add_block(times, None, None, action, on);
        }
        let last = self.enter(action, on)?;
        self.add_block(times - 1, None, None, action, last)
    }

    /// Adds steps with a condition: as a block, which evaluates the condition once, or as steps that each have the
    /// condition.
    fn add_conditional(
        &mut self,
        condition: &Condition,
        decided: Decided,
        action: &Action,
        on: Vec<Transition>,
    ) -> Result<Vec<Transition>, TooLong> {
        let is_block = decided == Decided::Once && action.size() > 1 && action.is_straight();
        match action {
            Action::Until(until, times, action) if is_block => {
                self.add_block(*times, Some(condition.clone()), Some(until.clone()), action, on)
            }
            _ if is_block => self.add_block(1, Some(condition.clone()), None, action, on),
            _ => {
                self.conditions += 1;
                self.only_if.push((self.conditions, condition.clone()));
                let into = self.enter(action, on);
                self.only_if.pop();
                into
            }
        }
    }

    /// Adds the steps of a straight action as a block. A block has one last step and so one wait after it.
    fn add_block(
        &mut self,
        repeat: u32,
        only_if: Option<Condition>,
        until: Option<Condition>,
        action: &Action,
        on: Vec<Transition>,
    ) -> Result<Vec<Transition>, TooLong> {
        let first = action.first_wait().0;
        let timed = on.iter().filter_map(|to| Some((to.weight, to.delay.clone()?)));
        let after = if repeat > 1 && first.mean() > 0.0 { first } else { Delay::mixture(&timed.collect::<Vec<_>>()) };
        let on = on.into_iter().map(|to| Transition { delay: Some(after.clone()), ..to }).collect();
        let start = self.steps.len();
        let into = self.enter(action, on)?;
        if self.steps.len() > start {
            self.blocks.push(ChainBlock { steps: start..self.steps.len(), repeat, only_if, until });
        }
        Ok(into)
    }

    /// Adds a step for each different wait among the outgoing transitions.
    fn add_request(&mut self, request: usize, before: &Delay, on: Vec<Transition>) -> Result<Vec<Transition>, TooLong> {
        let (any, timed): (Vec<Transition>, Vec<Transition>) =
            on.into_iter().partition(|transition| transition.delay.is_none());
        let mut kinds: Vec<(Delay, Vec<Transition>)> = Vec::new();
        for transition in timed {
            let delay = transition.delay.clone().unwrap_or_default();
            match kinds.iter_mut().find(|(kind, _)| *kind == delay) {
                Some((_, transitions)) => transitions.push(transition),
                None => kinds.push((delay, vec![transition])),
            }
        }
        match kinds.first_mut() {
            Some((_, transitions)) => transitions.extend(any),
            None => kinds.push((Delay::default(), any)),
        }
        let mut into = Vec::new();
        for (think, transitions) in kinds.into_iter().rev() {
            let weight: f64 = transitions.iter().map(|transition| transition.weight).sum();
            let next = transitions.iter().map(|transition| (transition.to, transition.weight / weight)).collect();
            into.push(Transition { to: Some(self.steps.len()), weight, delay: Some(before.clone()) });
            self.steps.push(ChainStep { request, repeat: 1, think, next, only_if: self.only_if.clone(), until: None });
            if self.steps.len() > MAX_STEPS {
                return Err(TooLong);
            }
        }
        into.reverse();
        Ok(into)
    }

    /// Adds a request that is repeated `times` in a row.
    fn add_repeated(
        &mut self,
        request: usize,
        before: &Delay,
        times: u32,
        on: Vec<Transition>,
    ) -> Result<Vec<Transition>, TooLong> {
        let last = self.add_request(request, before, on)?;
        if times == 1 {
            return Ok(last);
        }
        let top = self.steps.len() - 1;
        if last.len() == 1 && self.steps[top].think == *before {
            self.steps[top].repeat = times;
            return Ok(last);
        }
        let into = self.add_request(request, before, last)?;
        let top = self.steps.len() - 1;
        self.steps[top].repeat = times - 1;
        Ok(into)
    }
}

/// Merges transitions with the same step and wait.
fn merge(transitions: Vec<Transition>) -> Vec<Transition> {
    let mut merged: Vec<Transition> = Vec::new();
    for transition in transitions {
        match merged.iter_mut().find(|other| other.to == transition.to && other.delay == transition.delay) {
            Some(other) => other.weight += transition.weight,
            None => merged.push(transition),
        }
    }
    merged
}
