//! Several plans of a file as one workload, with a scenario each.

use std::fmt::Write as _;
use std::sync::Arc;

use offered_base::{InvalidValue, Nanos};
use offered_schedule::flow::{Block, Flow, Flows, Step};
use offered_schedule::{Length, Scenario, Scenarios, Sessions};
use offered_workload::condition::Condition;
use offered_workload::{Draft, Request, Target, Workload};

use crate::address::target_name;
use crate::plan::Plan;
use crate::unique_names::UniqueNames;
use crate::write::one_line;

/// The parts of several workloads, as they are put together.
#[derive(Default)]
struct Parts {
    targets: Vec<Target>,
    target_names: UniqueNames,
    requests: Vec<Request>,
    request_names: UniqueNames,
    flows: Vec<Flow>,
    flow_names: UniqueNames,
    steps: Vec<Step>,
    blocks: Vec<Block>,
    conditions: Vec<Condition>,
}

/// A scenario without the flows of the other ones.
struct Part {
    name: String,
    sessions: Sessions,
    /// The positions of its requests and flows in the lists of all scenarios.
    requests: std::ops::Range<usize>,
    flows: std::ops::Range<usize>,
    start: Nanos,
    duration: Nanos,
}

impl Plan {
    /// The text of [`Plan::combined`], with the notes of all plans as comments above it. `file` is the name of the plan file.
    ///
    /// # Errors
    /// The errors of [`Plan::combined`].
    pub fn combined_text(plans: &[Self], file: &str) -> Result<String, InvalidValue> {
        let workload = Self::combined(plans)?;
        let mut text = format!("# Written by `offered import` from {}: a scenario for each group.\n", one_line(file));
        for plan in plans.iter().filter(|plan| !plan.notes.is_empty()) {
            let _ = writeln!(text, "#\n# Parts of {} that were not translated, or not exactly:", one_line(&plan.name));
            plan.notes().iter().for_each(|note| {
                let _ = writeln!(text, "#   {note}");
            });
        }
        let _ = write!(text, "\n{workload}");
        Ok(text)
    }

    /// One workload with a scenario for each of `plans`. If the file runs its plans one after another, each scenario
    /// starts at the end of the previous one.
    ///
    /// # Errors
    /// Two plans have a variable of the same name with different values, or a plan ends only after a count.
    pub fn combined(plans: &[Self]) -> Result<Workload, InvalidValue> {
        let wrong = |what: &str| Err(InvalidValue::new(what));
        let (mut parts, mut all, mut start) = (Parts::default(), Vec::new(), Nanos::ZERO);
        let mut whole: Option<Draft> = None;
        for plan in plans {
            let draft = plan.workload()?.into_draft();
            if draft.count.is_some() || draft.duration == Nanos::MAX {
                return wrong("a group ends after a number of requests or iterations, and a scenario ends at a time");
            }
            let first = whole.get_or_insert_with(|| Draft { variables: Vec::new(), ..draft.clone() });
            for variable in &draft.variables {
                match first.variables.iter().find(|known| known.name == variable.name) {
                    Some(known) if known == variable => {}
                    Some(known) => {
                        return wrong(&format!("the groups have different variables named `{}`", known.name));
                    }
                    None => first.variables.push(variable.clone()),
                }
            }
            let duration = draft.duration;
            for threshold in &draft.thresholds {
                if !first.thresholds.contains(threshold) {
                    first.thresholds.push(threshold.clone());
                }
            }
            all.push(parts.add(plan, draft, start + plan.start)?);
            if plan.serial {
                start += duration;
            }
        }
        let Some(whole) = whole else { return wrong("no plans") };
        let Parts { mut targets, requests, flows, steps, blocks, conditions, .. } = parts;
        let flows = if flows.is_empty() { None } else { Some(Flows::with_blocks(flows, steps, blocks)?) };
        let scenarios = all.into_iter().map(|part| part.scenario(&requests, flows.as_ref()));
        let scenarios = Scenarios::new(scenarios.collect::<Result<_, _>>()?, flows.clone().map(Arc::new))?;
        let duration = scenarios.end();
        let sessions = Sessions::Scenarios(scenarios);
        let target = (!targets.is_empty()).then(|| targets.remove(0));
        let (more_targets, skip_first) = (targets, Nanos::ZERO);
        Workload::new(Draft { target, more_targets, requests, conditions, sessions, duration, skip_first, ..whole })
    }
}

impl Parts {
    /// The number of `target` in the list of targets of all scenarios. It is added if no equal target is in the list.
    fn target(&mut self, target: &Target) -> usize {
        let unnamed = |target: &Target| target.clone().with_name("");
        let equal = |known: &Target| unnamed(known) == unnamed(target);
        if let Some(at) = self.targets.iter().position(equal) {
            return at;
        }
        self.targets.push(if self.targets.is_empty() {
            target.clone()
        } else {
            target.clone().with_name(self.target_names.take(&target_name(target.url())))
        });
        self.targets.len() - 1
    }

    fn add(&mut self, plan: &Plan, draft: Draft, start: Nanos) -> Result<Part, InvalidValue> {
        let too_many = |_| InvalidValue::new("the groups have too many steps");
        let number = |n: usize| u16::try_from(n).map_err(too_many);
        let (requests, flows, steps) = (self.requests.len(), self.flows.len(), self.steps.len());
        // The name is not taken: requests of this scenario may have it.
        let scenario = self.request_names.clone().take(&plan.name);
        let targets = draft.target.iter().chain(&draft.more_targets).map(|target| number(self.target(target)));
        let targets: Vec<u16> = targets.collect::<Result<_, _>>()?;
        for request in draft.requests {
            let name = self.request_names.take(request.name());
            let target = targets.get(usize::from(request.target())).copied().unwrap_or_default();
            self.requests.push(request.named(name).with_target(target));
        }
        if let Some(own) = draft.sessions.flows() {
            for flow in own.flows() {
                let wanted = match flow.once {
                    Some(_) => format!("{scenario}: {}", flow.name),
                    None => flow.name.clone(),
                };
                let name = self.flow_names.take(&wanted);
                self.flows.push(Flow { name, start: number(usize::from(flow.start) + steps)?, ..flow.clone() });
            }
            for step in own.steps() {
                let request = number(usize::from(step.request) + requests)?;
                let shifted = step.shifted(number(usize::from(step.flow) + flows)?, number(steps)?);
                let mut step = Step { request, ..shifted };
                for condition in step.rules.only_if.iter_mut().chain(&mut step.rules.until) {
                    condition.number = number(usize::from(condition.number) + self.conditions.len())?;
                }
                self.steps.push(step);
            }
            for block in own.blocks() {
                let of_step = |step: u16| number(usize::from(step) + steps);
                let mut block = Block { first: of_step(block.first)?, last: of_step(block.last)?, ..block.clone() };
                for condition in block.only_if.iter_mut().chain(&mut block.until) {
                    condition.number = number(usize::from(condition.number) + self.conditions.len())?;
                }
                self.blocks.push(block);
            }
        }
        self.conditions.extend(draft.conditions);
        Ok(Part {
            name: scenario,
            sessions: draft.sessions,
            requests: requests..self.requests.len(),
            flows: flows..self.flows.len(),
            start,
            duration: draft.duration,
        })
    }
}

impl Part {
    fn scenario(self, requests: &[Request], flows: Option<&Flows>) -> Result<Scenario, InvalidValue> {
        let Self { name, sessions, requests: own, flows: begun, start, duration } = self;
        let chosen: Vec<&str> =
            flows.into_iter().flat_map(|flows| &flows.flows()[begun.clone()]).map(|flow| flow.name.as_str()).collect();
        let only = |flows: &Flows| flows.only(|flow| chosen.contains(&flow.name.as_str())).map(Arc::new);
        let flows = flows.filter(|_| !begun.is_empty()).map(only).transpose()?;
        let has_flows = flows.is_some();
        let sessions = match (sessions, flows) {
            (Sessions::Closed(closed), Some(flows)) => Sessions::Closed(closed.with_flows(flows)),
            (Sessions::PartlyOpen { schedule, think, opening, .. }, Some(flows)) => {
                Sessions::PartlyOpen { schedule, length: Length::of_flows(flows), think, opening }
            }
            (sessions, _) => sessions,
        };
        let weight = |(number, request): (usize, &Request)| {
            if has_flows || own.contains(&number) { request.weight() } else { 0.0 }
        };
        let weights = requests.iter().enumerate().map(weight).collect();
        Ok(Scenario { name, sessions, start, duration, weights })
    }
}
