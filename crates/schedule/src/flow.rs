//! Flows: the paths of sessions through named steps, such as home, search, buy.
//!
//! All flows of a workload are one Markov chain over *places*. A place is one request of one step; a step repeated three
//! times has three places, and so has a step in a block that is repeated three times. From each place the session moves to another or leaves. The next place is a function of (seed, session, step)
//! and the current place, so a scheduled request carries its place, and no other state is stored.

mod blocks;
mod once;
mod rules;
mod visits;
mod walk;

use std::collections::HashSet;

use offered_base::InvalidValue;
use offered_base::random::{Purpose, Seed};
use offered_base::time::Nanos;
use offered_distributions::Distribution;

pub use self::blocks::Block;
use self::blocks::Layout;
pub use self::once::Once;
pub(crate) use self::once::last_step;
pub use self::rules::{Condition, Decide, OnFailure, Rules};

/// The flows of a workload, and their Markov chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    all: Vec<Flow>,
    /// All steps, flow after flow.
    steps: Vec<Step>,
    /// Steps that are repeated together.
    blocks: Vec<Block>,
    /// Where a visit begins.
    entry: Branches,
    /// The places of the steps.
    layout: Layout,
    /// The steps that may follow each step (`None`: the session leaves).
    followers: Vec<Vec<Option<u16>>>,
    /// The mean number of requests a session makes at each step if it makes one visit.
    per_session: Vec<f64>,
    /// The mean number of requests per visit at each step, for users who make several visits.
    visits: Vec<f64>,
}

/// One flow: one kind of visitor.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The name, unique among the flows.
    pub name: String,
    /// The weight of this flow when a session chooses one.
    pub weight: f64,
    /// The index of its first step in the steps of all flows.
    pub start: u16,
    /// When a session makes the flow once; `None`: in each visit that chooses it. With `Some`, sessions skip the flow
    /// only if its weight is 0.
    pub once: Option<Once>,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The index of its flow.
    pub flow: u16,
    /// The name, unique in the flow.
    pub name: String,
    /// The request it sends, an index into the workload's.
    pub request: u16,
    /// Number of repetitions, at least 1.
    pub repeat: u16,
    /// The think time after each repetition; `None`: the think time of the workload.
    pub think: Option<Distribution>,
    /// The next steps after the last repetition.
    pub next: Branches,
    /// The conditions of the step.
    pub rules: Rules,
}

/// The branch that leaves the flow; a reserved name for steps.
pub const LEAVE: &str = "leave";

/// The branches of a step, each with its probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branches(Vec<Branch>);

/// One branch of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    /// The next step; `None`: it leaves.
    pub to: Option<u16>,
    /// The weight; if it depends on the session, the expected weight.
    pub weight: f64,
    /// The index, among the conditions of the workload, of the value that is the weight during a run; `None`: the
    /// weight is constant.
    pub value: Option<u16>,
}

impl From<(Option<u16>, f64)> for Way {
    fn from((to, weight): (Option<u16>, f64)) -> Self {
        Self { to, weight, value: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Branch {
    /// As it was given.
    way: Way,
    probability: f64,
    /// The sum of the probabilities up to and including this branch.
    upto: f64,
}

impl Branches {
    /// Branches with their weights; at least one weight must be above zero.
    pub fn new<W: Into<Way>>(ways: impl IntoIterator<Item = W>) -> Self {
        let ways: Vec<Way> =
            ways.into_iter().map(Into::into).filter(|way: &Way| way.weight > 0.0 || way.value.is_some()).collect();
        let total: f64 = ways.iter().map(|way| way.weight).sum();
        let branch = |sum: &mut f64, way: Way| {
            *sum += way.weight;
            Some(Branch { way, probability: way.weight / total, upto: *sum / total })
        };
        Self(ways.into_iter().scan(0.0, branch).collect())
    }

    /// The next steps (`None`: leave) with their probabilities, which sum to 1.
    pub fn ways(&self) -> impl Iterator<Item = (Option<u16>, f64)> + '_ {
        self.0.iter().map(|branch| (branch.way.to, branch.probability))
    }

    /// The branches with their weights as given.
    pub fn weights(&self) -> impl Iterator<Item = Way> + '_ {
        self.0.iter().map(|branch| branch.way)
    }

    /// Whether `to` is the only branch, with weight 1.
    pub fn leads_only_to(&self, to: Option<u16>) -> bool {
        matches!(&self.0[..], [branch] if branch.way == (to, 1.0).into())
    }

    fn choose(&self, at: f64) -> Option<u16> {
        let chosen = self.0.partition_point(|branch| branch.upto <= at).min(self.0.len() - 1);
        self.0[chosen].way.to
    }

    /// The branches with the weights of the session, if `decide` knows them. If they are all 0, the session leaves.
    fn choose_by(&self, at: f64, decide: Decide<'_>) -> Option<u16> {
        if self.0.iter().all(|branch| branch.way.value.is_none()) {
            return self.choose(at);
        }
        let weight = |Branch { way, .. }: &Branch| way.value.and_then(&mut *decide).unwrap_or(way.weight);
        let weights: Vec<f64> = self.0.iter().map(weight).collect();
        let mut rest = at * weights.iter().sum::<f64>();
        let chosen = weights.iter().position(|weight| {
            rest -= weight;
            rest < 0.0
        });
        self.0[chosen?].way.to
    }
}

/// Checks the conditions of [`Flows::new`].
fn check(flows: &[Flow], steps: &[Step]) -> Result<(), InvalidValue> {
    let wrong = |what: String| Err(InvalidValue::new(what));
    let mut names = HashSet::new();
    if let Some(again) = flows.iter().find(|flow| !names.insert(&flow.name)) {
        return wrong(format!("two flows are named `{}`; give each flow its own name", again.name));
    }
    if let Some(flow) = flows.iter().find(|flow| !(flow.weight >= 0.0 && flow.weight.is_finite())) {
        return wrong(format!("the weight of flow `{}` must be zero or more, not {}", flow.name, flow.weight));
    }
    if flows.iter().all(|flow| flow.weight == 0.0 || flow.once.is_some()) {
        return wrong("at least one flow needs a weight above zero".to_owned());
    }
    if flows.len() > usize::from(u16::MAX) || steps.len() > usize::from(u16::MAX) {
        return wrong(format!("{} flows of {} steps are too many; up to 65535 are counted", flows.len(), steps.len()));
    }
    if !steps.is_sorted_by_key(|step| step.flow) {
        return wrong("steps must be grouped by flow, in the order of the flows".to_owned());
    }
    if let Some(step) = steps.iter().find(|step| usize::from(step.flow) >= flows.len()) {
        return wrong(format!(
            "step `{}` belongs to flow {}, but there are only {}",
            step.name,
            step.flow,
            flows.len()
        ));
    }
    let mut rest = steps;
    for (number, flow) in (0u16..).zip(flows) {
        let base = steps.len() - rest.len();
        let (own, others) = rest.split_at(rest.partition_point(|step| step.flow == number));
        rest = others;
        if own.is_empty() {
            return wrong(format!("flow `{}` has no step", flow.name));
        }
        let is_own = |step: u16| (base..base + own.len()).contains(&usize::from(step));
        if !is_own(flow.start) {
            return wrong(format!(
                "flow `{}` begins with step {}, which belongs to another flow",
                flow.name, flow.start
            ));
        }
        if steps[usize::from(flow.start)].rules.only_if.is_some() {
            return wrong(format!(
                "flow `{}` begins with a step that has a condition, before any response; put `if` or `switch` on a later step",
                flow.name
            ));
        }
        let mut names = HashSet::new();
        for step in own {
            let Step { name, repeat, next: Branches(ways), rules, .. } = step;
            if name == LEAVE {
                return wrong(format!(
                    "`{LEAVE}` is the reserved branch that leaves a flow; choose another name for the step"
                ));
            }
            if !names.insert(name) {
                return wrong(format!(
                    "flow `{}` has a second step named `{name}`; give each step its own name",
                    flow.name
                ));
            }
            if *repeat == 0 {
                return wrong(format!(
                    "step `{name}` of flow `{}` sends no request; a step sends at least one",
                    flow.name
                ));
            }
            if ways.is_empty() || ways.iter().any(|way| !way.probability.is_finite()) {
                return wrong(format!("step `{name}` of flow `{}` has no branch with a weight above zero", flow.name));
            }
            let switched = rules.switch.iter().filter_map(|(_, to)| *to);
            if let Some(to) = ways.iter().filter_map(|branch| branch.way.to).chain(switched).find(|to| !is_own(*to)) {
                return wrong(format!("step `{name}` leads to step {to}, which is not in flow `{}`", flow.name));
            }
        }
    }
    Ok(())
}

impl Flows {
    /// Flows with their steps, which are ordered by flow.
    ///
    /// # Errors
    /// No flow with a weight above zero, a flow without steps, steps in another order than their flows, a duplicate name,
    /// a step named `leave`, a start or branch outside the flow, a step without requests or branches, a flow that some
    /// sessions never leave, or more than 65,535 requests with all repeats.
    pub fn new(flows: Vec<Flow>, steps: Vec<Step>) -> Result<Self, InvalidValue> {
        Self::with_blocks(flows, steps, Vec::new())
    }

    /// Like [`Flows::new`], with blocks of steps that are repeated together: in the order of their first steps, outer
    /// blocks before inner ones.
    ///
    /// # Errors
    /// Those of [`Flows::new`], blocks in another order, or one that overlaps another, is in several flows or has no repetition.
    pub fn with_blocks(flows: Vec<Flow>, steps: Vec<Step>, blocks: Vec<Block>) -> Result<Self, InvalidValue> {
        check(&flows, &steps)?;
        blocks::check(&flows, &steps, &blocks)?;
        let visits = flows.iter().filter(|flow| flow.once.is_none()).map(|flow| (Some(flow.start), flow.weight));
        let mut flows = Self {
            entry: Branches::new(visits),
            layout: Layout::new(&steps, &blocks)?,
            all: flows,
            blocks,
            followers: vec![Vec::new(); steps.len()],
            per_session: vec![0.0; steps.len()],
            visits: Vec::new(),
            steps,
        };
        // The ways from the last repetition of a step, at its first place.
        let place = |place: usize| flows.layout.position(place as u16);
        let ways = |at: usize| if place(at).repetition == 0 { flows.ways(at as u16) } else { Vec::new() };
        let ways: Vec<Vec<(Option<u16>, f64)>> = (0..flows.layout.steps.len()).map(ways).collect();
        let first = |to: Option<u16>| to.map(|to| flows.layout.first[usize::from(to)]);
        let entries = flows.entries().ways().map(|(to, probability)| (first(to), probability)).collect();
        let runs = visits::of(entries, &ways).map_err(|endless| {
            let step = flows.step(endless as u16);
            InvalidValue::new(format!(
                "sessions never leave step `{}` of flow `{}`; add an exit: stay = 0.9, or leave = 0.1 in its branches",
                step.name,
                flows.all[usize::from(step.flow)].name
            ))
        })?;
        for (at, (runs, ways)) in runs.into_iter().zip(ways).enumerate() {
            let step = usize::from(flows.layout.steps[at]);
            flows.per_session[step] += runs * flows.steps[step].mean_repeats();
            for to in ways.into_iter().map(|(to, _)| to.map(|to| flows.layout.steps[usize::from(to)])) {
                if !flows.followers[step].contains(&to) {
                    flows.followers[step].push(to);
                }
            }
        }
        flows.visits.clone_from(&flows.per_session);
        Ok(flows)
    }

    /// A copy in which sessions can begin only with flows for which `begins` is true. The numbers of flows and steps do
    /// not change.
    ///
    /// # Errors
    /// No such flow has a weight above zero.
    pub fn only(&self, begins: impl Fn(&Flow) -> bool) -> Result<Self, InvalidValue> {
        let mut all = self.all.clone();
        for flow in all.iter_mut().filter(|flow| !begins(flow)) {
            flow.weight = 0.0;
        }
        Self::with_blocks(all, self.steps.clone(), self.blocks.clone())
    }

    /// The flows, in the order of the file.
    pub fn flows(&self) -> &[Flow] {
        &self.all
    }

    /// All steps, flow after flow.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Steps that are repeated together, in the order of their first steps, outer blocks before inner ones.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The steps of a flow, with their numbers in [`Flows::steps`].
    pub fn steps_of(&self, flow: &Flow) -> impl Iterator<Item = (u16, &Step)> {
        let number = self.steps[usize::from(flow.start)].flow;
        (0u16..).zip(&self.steps).filter(move |(_, step)| step.flow == number)
    }

    /// The mean number of requests that a session with one visit makes at each step: the solution of v = e + v P, times the repeats.
    pub fn per_session(&self) -> &[f64] {
        &self.per_session
    }

    /// The mean number of requests at each step per visit; see [`Flows::per_session`].
    pub fn visits(&self) -> &[f64] {
        &self.visits
    }

    /// The mean number of requests of a session.
    pub fn mean(&self) -> f64 {
        self.visits.iter().sum()
    }

    /// The expected share of each of `requests` requests in all requests of the sessions; the shares add up to 1.
    pub fn shares(&self, requests: usize) -> Vec<f64> {
        let mut shares = vec![0.0; requests];
        for (step, visits) in self.steps.iter().zip(&self.visits) {
            shares[usize::from(step.request)] += visits / self.mean();
        }
        shares
    }

    /// The mean think time after a request, seconds, where `otherwise` is the distribution for steps without their own.
    pub fn mean_think(&self, otherwise: &Distribution) -> f64 {
        let thought = |(step, visits): (&Step, &f64)| visits * step.think.as_ref().unwrap_or(otherwise).mean();
        self.steps.iter().zip(&self.visits).map(thought).sum::<f64>() / self.mean()
    }

    /// Whether some step has its own think time.
    pub fn thinks(&self) -> bool {
        self.steps.iter().any(|step| step.think.is_some())
    }

    /// The same flows with all think times of steps multiplied by `factor`.
    ///
    /// # Errors
    /// A scaled think time that is not a valid distribution.
    pub fn stretched(&self, factor: f64) -> Result<Self, InvalidValue> {
        let mut flows = self.clone();
        for think in flows.steps.iter_mut().filter_map(|step| step.think.as_mut()).filter(|think| !think.is_zero()) {
            *think = think.scaled(factor)?;
        }
        Ok(flows)
    }

    /// The request that is sent at a place (position in a flow, with all repeats).
    pub fn request(&self, place: u16) -> u16 {
        self.step(place).request
    }

    /// The place of the first request of step number `step` of [`Flows::steps`].
    pub fn first_place(&self, step: usize) -> u16 {
        self.layout.first[step]
    }

    /// The number in [`Flows::steps`] of the step at a place; `None`: there is no such place.
    pub fn step_number(&self, place: u16) -> Option<usize> {
        self.layout.steps.get(usize::from(place)).map(|step| usize::from(*step))
    }

    /// The flow of a place; `None`: there is no such place.
    pub fn flow_at(&self, place: u16) -> Option<&Flow> {
        self.step_number(place).map(|step| &self.all[usize::from(self.steps[step].flow)])
    }

    /// The name of the flow and of each step of [`Flows::steps`]: `visitor/look`.
    pub fn step_names(&self) -> Vec<String> {
        let name = |step: &Step| format!("{}/{}", self.all[usize::from(step.flow)].name, step.name);
        self.steps.iter().map(name).collect()
    }

    fn step(&self, place: u16) -> &Step {
        &self.steps[usize::from(self.layout.steps[usize::from(place)])]
    }

    /// The first place of `session`, which begins with request `step`.
    pub fn enter(&self, seed: Seed, session: u64, step: u32) -> u16 {
        let start = self.used(Once::Start).map(|flow| self.first_place(flow.start.into()));
        start.unwrap_or_else(|| self.enter_visit(seed, session, step))
    }

    /// The first place of a visit that begins with request `step` of `session`.
    pub fn enter_visit(&self, seed: Seed, session: u64, step: u32) -> u16 {
        let begun = self.entry.choose(seed.at(Purpose::Choice, session, step).uniform());
        self.first_place(begun.expect("a visit begins somewhere").into())
    }

    /// The steps that may follow step number `step` of [`Flows::steps`]; `None`: the session leaves.
    pub fn followers(&self, step: u16) -> &[Option<u16>] {
        &self.followers[usize::from(step)]
    }

    /// What a session does if the request at `place` fails; `None`: the setting of the request applies.
    pub fn on_failure(&self, place: u16) -> Option<OnFailure> {
        self.step(place).rules.on_failure
    }

    /// The first step with a condition that states no probability.
    pub fn unstated(&self) -> Option<&Step> {
        let unstated = |condition: Condition| condition.probability.is_none();
        let block = self.blocks.iter().find(|block| block.only_if.into_iter().chain(block.until).any(unstated));
        let block = block.map(|block| &self.steps[usize::from(block.first)]);
        block.or_else(|| self.steps.iter().find(|step| step.rules.conditions().any(unstated)))
    }

    /// The think time of `session` at `place`, before its request `step`; `otherwise` is the distribution for steps without one.
    pub fn think(&self, otherwise: &Distribution, seed: Seed, session: u64, step: u32, place: u16) -> Nanos {
        self.step(place).think.as_ref().unwrap_or(otherwise).think(seed, session, step)
    }
}
