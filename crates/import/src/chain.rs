//! From what a plan says (do this, then one of these, twice) to the chain of steps that a workload actions through.
//!
//! Other tools wait *before* a request, a workload thinks *after* one. So the wait before a request goes to the step before
//! it; where the transitions on from a step wait by different laws, the step is written once for each law and the transition is chosen one
//! request earlier, which changes nothing that can be seen.

use crate::delay::Delay;
use crate::plan::{Flow, Step, unique_name};

/// Steps written out at most; loops are as well.
pub(crate) const MAX_STEPS: usize = 2000;

/// Requests of all flows at most, repeats included: the steps that a workload can tell apart.
const MAX_REQUESTS: u64 = 65_535;

/// Ways gone through at most: loops of loops that send nothing make no steps, and take time all the same.
const MAX_TRANSITIONS: usize = 200_000;

/// What one user does in one round.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Waits, then sends a request (an index).
    Request(usize, Delay),
    /// Waits.
    Pause(Delay),
    /// One after another.
    Sequence(Vec<Action>),
    /// One of these, by weight.
    Choice(Vec<(f64, Action)>),
    /// So many times.
    Repeat(u32, Box<Action>),
    /// Only the first time of what repeats it.
    FirstPass(Box<Action>),
}

impl Action {
    /// How many steps it takes to write it out.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Request(..) => 1,
            Self::Pause(_) => 0,
            Self::Sequence(actions) => actions.iter().fold(0, |sum, action| sum.saturating_add(action.size())),
            Self::Choice(actions) => actions.iter().fold(0, |sum, (_, action)| sum.saturating_add(action.size())),
            Self::Repeat(_, action) if matches!(**action, Self::Request(..)) => 2,
            Self::Repeat(times, action) => action.size().saturating_mul(*times as usize),
            Self::FirstPass(action) => action.size(),
        }
    }

    /// Every request in it, as often as it is written.
    pub(crate) fn requests(&self) -> Vec<usize> {
        match self {
            Self::Request(request, _) => vec![*request],
            Self::Pause(_) => Vec::new(),
            Self::Sequence(actions) => actions.iter().flat_map(Self::requests).collect(),
            Self::Choice(actions) => actions.iter().flat_map(|(_, action)| action.requests()).collect(),
            Self::Repeat(_, action) | Self::FirstPass(action) => action.requests(),
        }
    }

    /// Without the requests that are not `kept`: their waits stay.
    pub(crate) fn retain_requests(self, kept: &impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Request(request, before) if !kept(request) => Self::Pause(before),
            Self::Sequence(actions) => {
                Self::Sequence(actions.into_iter().map(|action| action.retain_requests(kept)).collect())
            }
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.retain_requests(kept))).collect(),
            ),
            Self::Repeat(times, action) => Self::Repeat(times, Box::new(action.retain_requests(kept))),
            Self::FirstPass(action) => Self::FirstPass(Box::new(action.retain_requests(kept))),
            action => action,
        }
    }

    /// With what is retain_requests done the first time of a repetition done then, and what is repeated by nothing done once.
    pub(crate) fn expand_first_passes(self) -> Self {
        match self {
            Self::Sequence(actions) => Self::Sequence(actions.into_iter().map(Self::expand_first_passes).collect()),
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.expand_first_passes())).collect(),
            ),
            Self::FirstPass(action) => action.expand_first_passes(),
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

/// A transition on: where to (`None`: the round is over), how likely, after what wait (`None`: whichever).
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
}

/// The chain of a action.
pub(crate) struct Chain {
    /// From the last to the first: a step's transitions on lead to steps before it in this list.
    steps: Vec<ChainStep>,
    entry: Vec<(usize, f64)>,
    /// The share of the rounds that send anything at all.
    pub(crate) nonempty_share: f64,
    /// What a user waits before its round, and whether that is a mixture.
    pub(crate) initial_wait: Delay,
    pub(crate) is_mixture: bool,
}

/// More than [`MAX_STEPS`], [`MAX_REQUESTS`] or [`MAX_TRANSITIONS`].
#[derive(Debug)]
pub(crate) struct TooLong;

impl Chain {
    /// The chain of `action`. Where it is `add_repeated` and add_repeated by the same user, the wait before the first request stands after the
    /// last.
    pub(crate) fn build(action: &Action, same_user: bool) -> Result<Self, TooLong> {
        let over = |delay| vec![Transition { to: None, weight: 1.0, delay }];
        let transitions = Builder::default().enter(action, over(None))?;
        let firsts: Vec<(f64, Delay)> = transitions
            .iter()
            .filter(|transition| transition.to.is_some())
            .map(|transition| (transition.weight, transition.delay.clone().unwrap_or_default()))
            .collect();
        let initial_wait = Delay::mixture(&firsts);
        let is_mixture = firsts.iter().any(|(_, delay)| *delay != initial_wait);
        let mut builder = Builder::default();
        let transitions = builder.enter(action, over(same_user.then(|| initial_wait.clone())))?;
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
        // Each transition in is a flow, which has all that can be reached; rounds of one request are no flows.
        let simple = chain.steps.iter().all(|step| step.next.iter().all(|(to, _)| to.is_none()));
        let flows = if simple { 1 } else { chain.entry.len() as u64 };
        let requests: u64 = chain.steps.iter().map(|step| u64::from(step.repeat)).sum();
        if requests * flows > MAX_REQUESTS { Err(TooLong) } else { Ok(chain) }
    }

    /// The weight of each request, where every round is one request: then there is no need of flows.
    pub(crate) fn weights(&self, requests: usize) -> Option<Vec<f64>> {
        let single = |step: &ChainStep| {
            step.repeat == 1 && step.think == self.steps[0].think && step.next.iter().all(|(to, _)| to.is_none())
        };
        let mut weights = vec![0.0; requests];
        for (step, weight) in &self.entry {
            weights[self.steps[*step].request] += weight;
        }
        (!self.steps.is_empty() && self.steps.iter().all(single)).then_some(weights)
    }

    /// The requests that are ever sent, in their order.
    pub(crate) fn requests(&self) -> Vec<usize> {
        let mut requests: Vec<usize> = self.steps.iter().map(|step| step.request).collect();
        requests.sort_unstable();
        requests.dedup();
        requests
    }

    /// The mean number of requests of a round that sends any, and the seconds it thinks.
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

    /// Whether some think time is a law that is retain_requests alike.
    pub(crate) fn is_approximate(&self) -> bool {
        self.steps.iter().any(|step| step.think.distribution().1)
    }

    /// One flow for each step that rounds begin with, named after `name`; `requests` are the requests' names.
    pub(crate) fn flows(&self, name: &str, requests: &[String]) -> Vec<Flow> {
        let usual = self.initial_wait.distribution().0;
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
                let (name, think) = (unique_name(&request, taken), (think != usual).then_some(think));
                steps.push(Step { name, request, repeat: step.repeat, think, next });
            }
            let name = unique_name(name, |name| flows.iter().any(|flow| flow.name == name));
            flows.push(Flow { name, weight: weight / self.nonempty_share, steps });
        }
        flows
    }
}

fn position(order: &[usize], step: usize) -> usize {
    order.iter().position(|other| *other == step).expect("every transition leads to a step that was seen")
}

#[derive(Default)]
struct Builder {
    /// Those so far, from the last to the first.
    steps: Vec<ChainStep>,
    /// Ways gone through.
    transitions: usize,
}

impl Builder {
    /// The transitions into `action`, after which it goes `on`.
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
        };
        let transitions = merge(transitions);
        self.transitions += 1 + transitions.len();
        let most = transitions.len().max(self.steps.len());
        if most > MAX_STEPS || self.transitions > MAX_TRANSITIONS { Err(TooLong) } else { Ok(transitions) }
    }

    /// A step for each law of waiting among the transitions on.
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
            self.steps.push(ChainStep { request, repeat: 1, think, next });
            if self.steps.len() > MAX_STEPS {
                return Err(TooLong);
            }
        }
        into.reverse();
        Ok(into)
    }

    /// The same request so many times in a row.
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

/// With transitions to the same step after the same wait as one.
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
