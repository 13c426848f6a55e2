//! Reading `[[flow]]`: the steps of sessions.

use super::{Reader, small};
use crate::Request;
use crate::condition::Subject;
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use offered_base::nearest;
use offered_schedule::flow::{Block, Branches, Flow, LEAVE, Once, Rules, Step, Way};

/// Maximum difference of the sum of a matrix row from 1; printed tables are rounded.
const ROUNDED: f64 = 1e-3;

/// The name of the flow that the sessions of a scenario (`None`: all sessions) make once.
pub(super) fn once_name(scenario: Option<&str>, once: Once) -> String {
    match scenario {
        Some(scenario) => format!("{scenario}: once.{once}"),
        None => format!("once.{once}"),
    }
}

/// The `once` tables: of the workload, or of each scenario with its name.
fn once_tables<'v>(root: &Table<'v>) -> Result<Vec<(Option<String>, Value<'v>)>, Mistake> {
    let Some(scenarios) = root.get("scenario") else {
        return Ok(root.get("once").map(|value| (None, value)).into_iter().collect());
    };
    if let Some(value) = root.get("once") {
        return Err(value.mistake("in a workload with scenarios, write this key in each [[scenario]]"));
    }
    let mut all = Vec::new();
    for item in scenarios.list()? {
        let Some(once) = item.entry("once") else { continue };
        let name = item.table(&shape::SCENARIO)?.need("name", "\"batch\"")?.text()?.to_owned();
        all.push((Some(name), once));
    }
    Ok(all)
}

impl Reader<'_> {
    /// The `[[flow]]` and `once` tables, over these requests; `None`: there are none.
    pub(super) fn flows(&self, root: &Table<'_>, requests: &[Request]) -> Result<Option<FlowParts>, Mistake> {
        let once = once_tables(root)?;
        match (root.get("flow"), once.first()) {
            (Some(value), _) => {
                let may_lack = root.get("scenario").is_some();
                self.all_flows(&value, &once, requests, may_lack).map(Some)
            }
            (None, Some((_, value))) => {
                Err(value
                    .mistake("needs a flow: write the steps in between as a [[flow]], for example step = [\"home\"]"))
            }
            (None, None) => Ok(None),
        }
    }

    fn all_flows(
        &self,
        value: &Value<'_>,
        once: &[(Option<String>, Value<'_>)],
        requests: &[Request],
        may_lack: bool,
    ) -> Result<FlowParts, Mistake> {
        let mut chain = Chain { requests, steps: Vec::new(), blocks: Vec::new() };
        let mut flows: Vec<Flow> = Vec::new();
        for (number, item) in (0u16..).zip(value.list()?) {
            let table = item.table(&shape::FLOW)?;
            let name = table.need("name", "\"buy\"")?.text()?.to_owned();
            if flows.iter().any(|earlier| earlier.name == name) {
                return Err(item.mistake(format!("two flows are named `{name}`; give each its own name")));
            }
            let weight = table.get("weight").map_or(Ok(1.0), |value| value.weight())?;
            let (kind, content) = table.the_one("[[flow.step]] request = \"home\"")?;
            let base = chain.steps.len();
            let start = table.get("start");
            let start = match kind {
                "step" => {
                    self.steps(&content, number, &mut chain)?;
                    start.map_or(Ok(base as u16), |start| named(&start, &chain.steps[base..], base))?
                }
                _ => {
                    matrix(&content, number, &mut chain)?;
                    named(&table.need("start", "\"home\"")?, &chain.steps[base..], base)?
                }
            };
            flows.push(Flow { name, weight, start, once: None });
        }
        for (scenario, value) in once {
            let table = value.table(&shape::ONCE)?;
            for part in [Once::Start, Once::End] {
                let Some(content) = table.get(part.name()) else { continue };
                let (number, start) = (flows.len() as u16, chain.steps.len() as u16);
                self.steps(&content, number, &mut chain)?;
                let name = once_name(scenario.as_deref(), part);
                flows.push(Flow { name, weight: 1.0, start, once: Some(part) });
            }
        }
        let Chain { steps, blocks, .. } = chain;
        let is_unused = |request: &usize| steps.iter().all(|step| usize::from(step.request) != *request);
        if let Some(unused) = (0..requests.len()).find(is_unused).filter(|_| !may_lack) {
            let name = &requests[unused].name;
            return Err(value.mistake(format!("the request `{name}` is in no flow, so it would never be sent")));
        }
        if flows.iter().all(|flow| flow.weight == 0.0 || flow.once.is_some()) {
            return Err(value.mistake("at least one flow needs a weight above zero"));
        }
        Ok(FlowParts { flows, steps, blocks })
    }

    /// Reads the `[[flow.step]]` tables of flow `flow`.
    fn steps(&self, value: &Value<'_>, flow: u16, chain: &mut Chain<'_>) -> Result<(), Mistake> {
        let (base, mut ways) = (chain.steps.len(), Vec::new());
        self.listed(value, flow, base, chain, &mut ways)?;
        let steps = &mut chain.steps;
        for (here, Outgoing { stay, next, switch }) in ways.into_iter().enumerate() {
            let here = base + here;
            let on = match &next {
                Some(next) => branches(next, &steps[base..], base, |weight| self.weight(weight))?,
                None => vec![((here + 1 < steps.len()).then_some(here as u16 + 1), 1.0).into()],
            };
            if let (Some(next), true) = (&next, stay < 1.0 && on.iter().any(|way| way.value.is_some())) {
                return Err(
                    next.mistake("weights by value cannot be combined with stay; write leave with its own weight")
                );
            }
            steps[here].next = Branches::new(staying(on, stay));
            for (condition, to) in switch.map_or(Ok(Vec::new()), |switch| self.cases(&switch))? {
                let to = if to.text()? == LEAVE { None } else { Some(named(&to, &steps[base..], base)?) };
                steps[here].rules.switch.push((condition, to));
            }
        }
        Ok(())
    }

    /// Reads a list of steps, some of which are blocks of steps; `base` is the number of the first step of the flow.
    fn listed<'v>(
        &self,
        value: &Value<'v>,
        flow: u16,
        base: usize,
        chain: &mut Chain<'_>,
        ways: &mut Vec<Outgoing<'v>>,
    ) -> Result<(), Mistake> {
        let items = value.list()?;
        if items.is_empty() {
            return Err(value.mistake("a flow has at least one step"));
        }
        for item in &items {
            if item.is_text() {
                ways.push(Outgoing { stay: 1.0, next: None, switch: None });
                push(&mut chain.steps, base, item, plain(flow, item.text()?, requested(item, chain.requests)?))?;
                continue;
            }
            let table = item.table(&shape::STEP)?;
            let repeat = table.get("repeat").map_or(Ok(1), |v| match v.count()? {
                repeat @ 1..=65_535 => Ok(repeat as u16),
                repeat => Err(v.mistake(format!("{repeat} times in a row are too many; write a number up to 65535"))),
            })?;
            let rules = self.rules(&table, repeat)?;
            let (kind, content) = table.the_one("request = \"home\"")?;
            if kind == "step" {
                const OF_REQUESTS: [&str; 6] = ["name", "think", "stay", "switch", "on_failure", "next"];
                if let Some(value) = OF_REQUESTS.iter().find_map(|key| table.get(key)) {
                    return Err(value.mistake("needs request; write the key at a step of the block"));
                }
                let (number, first) = (chain.blocks.len(), chain.steps.len() as u16);
                let Rules { only_if, until, .. } = rules;
                chain.blocks.push(Block { first, last: first, repeat, only_if, until });
                self.listed(&content, flow, base, chain, ways)?;
                chain.blocks[number].last = chain.steps.len() as u16 - 1;
                continue;
            }
            let name = table.get("name").map_or(content.text(), |v| v.text())?;
            let stay = table.get("stay").map_or(Ok(1.0), |value| match value.number()? {
                stay if (0.0..=1.0).contains(&stay) => Ok(stay),
                stay => Err(value.mistake(format!("a probability is from 0 to 1, not {stay}"))),
            })?;
            let think = table.get("think").map(|distribution| self.distribution(&distribution)).transpose()?;
            ways.push(Outgoing { stay, next: table.get("next"), switch: table.get("switch") });
            let step = plain(flow, name, requested(&content, chain.requests)?);
            push(&mut chain.steps, base, item, Step { repeat, think, rules, ..step })?;
        }
        Ok(())
    }

    /// The weight of a branch: a number, or `{ value = "{{premium}}", expected = 3 }` with the number of its value.
    fn weight(&self, value: &Value<'_>) -> Result<(f64, Option<u16>), Mistake> {
        if value.is_text() {
            let text = value.shown();
            let wrong =
                format!("a weight is a number, or a value of the session: {{ value = \"{text}\", expected = 1 }}");
            return Err(value.mistake(wrong));
        }
        if !value.is_table() {
            return Ok((value.weight()?, None));
        }
        let table = value.table(&shape::WEIGHT)?;
        let text = Template::new(table.need("value", "\"{{premium}}\"")?.text()?);
        let number = self.add_condition(&table, Subject::Weight(text), false)?;
        Ok((table.need("expected", "1")?.weight()?, Some(number)))
    }
}

/// Flows with their steps and blocks, before they are checked.
#[derive(Default)]
pub(super) struct FlowParts {
    pub(super) flows: Vec<Flow>,
    pub(super) steps: Vec<Step>,
    pub(super) blocks: Vec<Block>,
}

/// The steps and blocks of all flows, while they are read.
struct Chain<'r> {
    requests: &'r [Request],
    steps: Vec<Step>,
    blocks: Vec<Block>,
}

/// The keys of a step that name other steps.
struct Outgoing<'v> {
    stay: f64,
    next: Option<Value<'v>>,
    switch: Option<Value<'v>>,
}

/// These branches, taken with probability `stay`; otherwise the session leaves.
fn staying(mut ways: Vec<Way>, stay: f64) -> Vec<Way> {
    if stay == 1.0 {
        return ways;
    }
    let total: f64 = ways.iter().map(|way| way.weight).sum();
    for way in &mut ways {
        way.weight *= stay / total;
    }
    match ways.iter_mut().find(|way| way.to.is_none()) {
        Some(leaves) => leaves.weight += 1.0 - stay,
        None => ways.push((None, 1.0 - stay).into()),
    }
    ways
}

/// The rows of a transition matrix: pages by the names of their requests, with probabilities that sum to 1.
fn matrix(value: &Value<'_>, flow: u16, chain: &mut Chain<'_>) -> Result<(), Mistake> {
    let (base, steps) = (chain.steps.len(), &mut chain.steps);
    let rows = value.entries("rows such as home = { search = 0.8, leave = 0.2 }")?;
    for (name, row) in &rows {
        push(steps, base, row, plain(flow, name, numbered(row, name, chain.requests)?))?;
    }
    for (here, (_, row)) in rows.iter().enumerate() {
        let ways = branches(row, &steps[base..], base, |value| Ok((value.weight()?, None)))?;
        let total: f64 = ways.iter().map(|way| way.weight).sum();
        if (total - 1.0).abs() > ROUNDED {
            let total = (total * 1e6).round() / 1e6;
            return Err(
                row.mistake(format!("the row sums to {total}, not to 1; `{LEAVE}` is the branch that leaves the flow"))
            );
        }
        steps[base + here].next = Branches::new(ways);
    }
    Ok(())
}

/// A step that only sends a request.
fn plain(flow: u16, name: &str, request: u16) -> Step {
    Step {
        flow,
        name: name.to_owned(),
        request,
        repeat: 1,
        think: None,
        next: Branches::default(),
        rules: Rules::default(),
    }
}

fn push(steps: &mut Vec<Step>, base: usize, value: &Value<'_>, step: Step) -> Result<(), Mistake> {
    if step.name == LEAVE {
        return Err(value.mistake(format!(
            "`{LEAVE}` is the reserved branch that leaves a flow; choose another name for the step"
        )));
    }
    if steps[base..].iter().any(|earlier| earlier.name == step.name) {
        return Err(value.mistake(format!("a second step named `{}`; give it another name", step.name)));
    }
    small(value, steps.len() as u64)?;
    steps.push(step);
    Ok(())
}

/// The next steps of a session by weight: `{ search = 3, leave = 1 }`; `weight` reads a weight and the number of its
/// value.
fn branches(
    value: &Value<'_>,
    steps: &[Step],
    base: usize,
    weight: impl Fn(&Value<'_>) -> Result<(f64, Option<u16>), Mistake>,
) -> Result<Vec<Way>, Mistake> {
    let ways = value.entries("steps with their weights such as { search = 3, leave = 1 }")?;
    let ways = ways.iter().map(|(name, content)| {
        let to = if *name == LEAVE { None } else { Some(find(content, name, steps, base)?) };
        let (weight, value) = weight(content)?;
        Ok(Way { to, weight, value })
    });
    let ways = ways.collect::<Result<Vec<_>, Mistake>>()?;
    if ways.iter().all(|way| way.weight == 0.0) {
        return Err(value.mistake("at least one branch needs a weight above zero"));
    }
    Ok(ways)
}

fn named(value: &Value<'_>, steps: &[Step], base: usize) -> Result<u16, Mistake> {
    find(value, value.text()?, steps, base)
}

fn find(value: &Value<'_>, name: &str, steps: &[Step], base: usize) -> Result<u16, Mistake> {
    let known: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    let found = known.iter().position(|step| *step == name).map(|at| (base + at) as u16);
    found.ok_or_else(|| missing(value, "step", name, &known))
}

fn requested(value: &Value<'_>, requests: &[Request]) -> Result<u16, Mistake> {
    numbered(value, value.text()?, requests)
}

fn numbered(value: &Value<'_>, name: &str, requests: &[Request]) -> Result<u16, Mistake> {
    let known: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
    let found = known.iter().position(|request| *request == name).map(|at| at as u16);
    found.ok_or_else(|| missing(value, "request", name, &known))
}

pub(super) fn missing(value: &Value<'_>, what: &str, name: &str, known: &[&str]) -> Mistake {
    let some = known.iter().take(20).copied().collect::<Vec<_>>().join(", ");
    value.mistake(format!("no {what} is named `{name}`{}; known: {some}", nearest(name, known)))
}
