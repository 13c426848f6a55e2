//! Converts the control flow of a plan (sequences, choices, loops) into the Markov chain of steps that a workload uses.
//!
//! Other tools wait *before* a request, a workload thinks *after* one, so the wait before a request moves to the
//! preceding step. If the transitions of a step have different waits, the step is duplicated for each wait and the
//! choice is made one request earlier. The sequence of requests and waits keeps its distribution.

use offered_distributions::Distribution;
use offered_workload::condition::Condition;

use crate::delay::Delay;
use crate::plan::{Flow, Step};
use crate::unique_name::unique_name;

/// Maximum number of steps, with loops unrolled.
pub(crate) const MAX_STEPS: usize = 2000;

/// Maximum number of requests of all flows, repeats included (step numbers have 16 bits).
const MAX_REQUESTS: u64 = 65_535;

/// Maximum number of transitions visited. It bounds the time for nested loops that send nothing and so make no steps.
const MAX_TRANSITIONS: usize = 200_000;

/// What a user does in one iteration.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Wait, then send a request (an index).
    Request(usize, Delay),
    /// Wait.
    Pause(Delay),
    /// All actions in order.
    Sequence(Vec<Action>),
    /// One of the actions, by weight.
    Choice(Vec<(f64, Action)>),
    /// The action, repeated this number of times.
    Repeat(u32, Box<Action>),
    /// The action, only in the first pass of the enclosing loop, or of all iterations.
    FirstPass(Box<Action>),
    /// The action, only if the condition holds.
    If(Condition, Box<Action>),
    /// A request (an index) with the wait before it, again and again until the condition holds; at most this number of times.
    Until(Condition, u32, usize, Delay),
}

impl Action {
    /// Number of steps when written out.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Request(..) => 1,
            Self::Pause(_) => 0,
            Self::Sequence(actions) => actions.iter().fold(0, |sum, action| sum.saturating_add(action.size())),
            Self::Choice(actions) => actions.iter().fold(0, |sum, (_, action)| sum.saturating_add(action.size())),
            Self::Repeat(_, action) if matches!(**action, Self::Request(..)) => 2,
            Self::Repeat(times, action) => action.size().saturating_mul(*times as usize),
            Self::FirstPass(action) | Self::If(_, action) => action.size(),
            Self::Until(..) => 1,
        }
    }

    /// Indices of the requests, once for each occurrence in the plan (loops are not unrolled).
    pub(crate) fn requests(&self) -> Vec<usize> {
        match self {
            Self::Request(request, _) | Self::Until(_, _, request, _) => vec![*request],
            Self::Pause(_) => Vec::new(),
            Self::Sequence(actions) => actions.iter().flat_map(Self::requests).collect(),
            Self::Choice(actions) => actions.iter().flat_map(|(_, action)| action.requests()).collect(),
            Self::Repeat(_, action) | Self::FirstPass(action) | Self::If(_, action) => action.requests(),
        }
    }

    /// Removes the requests that are not `kept`; their waits stay.
    pub(crate) fn retain_requests(self, kept: &impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Request(request, before) | Self::Until(_, _, request, before) if !kept(request) => {
                Self::Pause(before)
            }
            Self::Sequence(actions) => {
                Self::Sequence(actions.into_iter().map(|action| action.retain_requests(kept)).collect())
            }
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.retain_requests(kept))).collect(),
            ),
            Self::Repeat(times, action) => Self::Repeat(times, Box::new(action.retain_requests(kept))),
            Self::FirstPass(action) => Self::FirstPass(Box::new(action.retain_requests(kept))),
            Self::If(condition, action) => Self::If(condition, Box::new(action.retain_requests(kept))),
            action => action,
        }
    }

    /// The first passes outside of loops, choices and conditions, and the actions of every pass.
    pub(crate) fn split_first_passes(self) -> (Vec<Self>, Self) {
        let Self::Sequence(actions) = self else { return (Vec::new(), self) };
        let (mut first, mut every) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Self::FirstPass(action) => first.push(*action),
                action => {
                    let (inner, rest) = action.split_first_passes();
                    first.extend(inner);
                    every.push(rest);
                }
            }
        }
        (first, Self::Sequence(every))
    }

    /// Unrolls the first pass of loops that contain [`Action::FirstPass`]; outside of loops a first pass is a plain
    /// action.
    pub(crate) fn expand_first_passes(self) -> Self {
        match self {
            Self::Sequence(actions) => Self::Sequence(actions.into_iter().map(Self::expand_first_passes).collect()),
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.expand_first_passes())).collect(),
            ),
            Self::FirstPass(action) => action.expand_first_passes(),
            Self::If(condition, action) => Self::If(condition, Box::new(action.expand_first_passes())),
            Self::Repeat(times, action) if times > 1 => match *action {
                Self::Sequence(actions) if actions.iter().any(|action| matches!(action, Self::FirstPass(_))) => {
                    let later = actions.iter().filter(|action| !matches!(action, Self::FirstPass(_))).cloned();
                    let later = Self::Sequence(later.map(Self::expand_first_passes).collect());
                    let first = Self::Sequence(actions.into_iter().map(Self::expand_first_passes).collect());
                    Self::Sequence(vec![first, Self::Repeat(times - 1, Box::new(later))])
                }
                action => Self::Repeat(times, Box::new(action.expand_first_passes())),
            },
            Self::Repeat(times, action) => Self::Repeat(times, Box::new(action.expand_first_passes())),
            action => action,
        }
    }
}

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
    /// The condition with the number of its [`Action::If`].
    only_if: Option<(usize, Condition)>,
    until: Option<Condition>,
}

/// The chain of steps of an [`Action`].
pub(crate) struct Chain {
    /// Steps in reverse order: transitions lead to smaller indices.
    steps: Vec<ChainStep>,
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
        let chain = Self { steps: builder.steps, entry, nonempty_share, initial_wait, is_mixture };
        // Each entry step becomes a flow with all steps that it reaches; iterations of one request need no flows.
        let simple = chain.steps.iter().all(|step| step.next.iter().all(|(to, _)| to.is_none()));
        let flows = if simple { 1 } else { chain.entry.len() as u64 };
        let requests: u64 = chain.steps.iter().map(|step| u64::from(step.repeat)).sum();
        if requests * flows > MAX_REQUESTS { Err(TooLong) } else { Ok(chain) }
    }

    /// Whether every pass begins with the same request.
    pub(crate) fn has_one_start(&self) -> bool {
        self.entry.len() == 1 && self.nonempty_share == 1.0
    }

    /// Removes the conditions of the first requests of an iteration, which a flow cannot have, from all requests of the same
    /// [`Action::If`]. Returns them.
    pub(crate) fn drop_first_conditions(&mut self) -> Vec<Condition> {
        let first: Vec<(usize, Condition)> =
            self.entry.iter().filter_map(|(step, _)| self.steps[*step].only_if.clone()).collect();
        for step in &mut self.steps {
            step.only_if = step.only_if.take().filter(|one| !first.contains(one));
        }
        first.into_iter().map(|(_, condition)| condition).collect()
    }

    /// The weight of each request if every iteration is a single request, so that no flows are needed; else `None`.
    pub(crate) fn weights(&self, requests: usize) -> Option<Vec<f64>> {
        let single = |step: &ChainStep| {
            step.repeat == 1
                && step.only_if.is_none()
                && step.think == self.steps[0].think
                && step.next.iter().all(|(to, _)| to.is_none())
        };
        let mut weights = vec![0.0; requests];
        for (step, weight) in &self.entry {
            weights[self.steps[*step].request] += weight;
        }
        (!self.steps.is_empty() && self.steps.iter().all(single)).then_some(weights)
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
        for step in &self.steps {
            let repeat = f64::from(step.repeat);
            let on = along(&mut step.next.iter().filter_map(|(to, p)| Some(((*to)?, *p))), &means);
            means.push((repeat + on.0, repeat * step.think.mean() + on.1));
        }
        let sum = along(&mut self.entry.iter().copied(), &means);
        (sum.0 / self.nonempty_share, sum.1 / self.nonempty_share)
    }

    /// Whether a run decides which requests are sent, or how often.
    pub(crate) fn is_conditional(&self) -> bool {
        self.steps.iter().any(|step| step.only_if.is_some() || step.until.is_some())
    }

    /// Whether the wait before a request with a condition differs from the one after it, which is left out with the request.
    pub(crate) fn has_conditional_wait(&self) -> bool {
        let differs =
            |step: &ChainStep, to: usize| self.steps[to].only_if.is_some() && self.steps[to].think != step.think;
        self.steps.iter().any(|step| step.next.iter().filter_map(|(to, _)| *to).any(|to| differs(step, to)))
    }

    /// Whether a think time is approximated by another distribution.
    pub(crate) fn is_approximate(&self) -> bool {
        self.steps.iter().any(|step| step.think.distribution().1)
    }

    /// One flow for each entry step. `name` is the base of the flow names, `requests` are the request names, `usual` is the think
    /// time that steps need not state.
    pub(crate) fn flows(&self, name: &str, requests: &[String], usual: &Distribution) -> Vec<Flow> {
        let mut flows: Vec<Flow> = Vec::new();
        for (start, weight) in &self.entry {
            let mut seen = vec![false; self.steps.len()];
            seen[*start] = true;
            for step in (0..=*start).rev() {
                if seen[step] {
                    self.steps[step].next.iter().filter_map(|(to, _)| *to).for_each(|to| seen[to] = true);
                }
            }
            let order: Vec<usize> = (0..=*start).rev().filter(|step| seen[*step]).collect();
            let mut steps: Vec<Step> = Vec::new();
            for step in order.iter().map(|step| &self.steps[*step]) {
                let request = requests[step.request].clone();
                let taken = |name: &str| steps.iter().any(|step| step.name == name);
                let think = step.think.distribution().0;
                let next = step.next.iter().map(|(to, p)| (to.map(|to| position(&order, to)), *p)).collect();
                let (name, think) = (unique_name(&request, taken), (think != *usual).then_some(think));
                let only_if = step.only_if.as_ref().map(|(_, condition)| condition.clone());
                let until = step.until.clone();
                steps.push(Step { name, request, repeat: step.repeat, think, only_if, until, next });
            }
            let name = unique_name(name, |name| flows.iter().any(|flow| flow.name == name));
            flows.push(Flow { name, weight: weight / self.nonempty_share, steps });
        }
        flows
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
    /// Number of conditions so far.
    conditions: usize,
    /// The condition of the requests that are added, with its number.
    only_if: Option<(usize, Condition)>,
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
                _ => (0..*times).try_fold(on, |on, _| self.enter(action, on))?,
            },
            Action::Request(request, before) => self.add_request(*request, before, on)?,
            Action::FirstPass(action) => self.enter(action, on)?,
            Action::If(condition, action) => {
                self.conditions += 1;
                let outer = self.only_if.replace((self.conditions, condition.clone()));
                let into = self.enter(action, on);
                self.only_if = outer;
                into?
            }
            Action::Until(condition, times, request, before) => {
                let before_steps = self.steps.len();
                let into = self.add_request(*request, before, on)?;
                for step in &mut self.steps[before_steps..] {
                    step.repeat = *times;
                    step.until = Some(condition.clone());
                    if before.mean() > 0.0 {
                        step.think = before.clone();
                    }
                }
                into
            }
        };
        let transitions = merge(transitions);
        self.transitions += 1 + transitions.len();
        let most = transitions.len().max(self.steps.len());
        if most > MAX_STEPS || self.transitions > MAX_TRANSITIONS { Err(TooLong) } else { Ok(transitions) }
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
