//! Reads the keys of flows and scenarios that apply to all of their requests.
//!
//! A request that is sent with different settings becomes several requests, each with its own row in the results: `home (eu)` and `home (us)`.
//! So a flow is copied for each scenario that has such keys. After reading, all settings belong to requests.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{FlowParts, once_name};
use super::target::{headers, target_named};
use super::{Reader, auth, missing, script, small};
use crate::script::{Auth, Check};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use crate::{Call, Request, Target};
use offered_base::time::Nanos;
use offered_schedule::flow::{Block, Flow, Step};

/// The keys that hold for all requests of a flow or scenario, where they have none themselves.
#[derive(Clone, Debug, Default, PartialEq)]
struct Defaults {
    headers: Vec<(String, Template)>,
    auth: Option<Auth>,
    timeout: Option<Nanos>,
    /// Checks besides those of the request.
    checks: Vec<Check>,
    redirects: Option<u32>,
    target: Option<u16>,
}

impl Defaults {
    /// The request with these keys, unless it sets them. `is_targeted` is true if it names its own target.
    fn apply(&self, mut request: Request, is_targeted: bool) -> Request {
        request.attempts.timeout = request.attempts.timeout.or(self.timeout);
        request.target = self.target.filter(|_| !is_targeted).unwrap_or(request.target);
        if matches!(request.call, Call::Sql(_)) {
            return request;
        }
        let lacks = |name: &str| !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let more: Vec<_> = self.headers.iter().filter(|(name, _)| lacks(name)).cloned().collect();
        request.headers.extend(more);
        request.auth = request.auth.or_else(|| self.auth.clone());
        let lacks = |check: &&Check| !request.checks.iter().any(|own| own.name == check.name);
        let more: Vec<_> = self.checks.iter().filter(lacks).cloned().collect();
        request.checks.extend(more);
        if request.call == Call::Http {
            request.attempts.redirects = request.attempts.redirects.or(self.redirects);
        }
        request
    }
}

/// What the sessions of a scenario send.
pub(super) enum Sent<'v> {
    /// Walks through the flows with these names.
    Flows(Vec<&'v str>),
    /// Requests with these names, by weight.
    Requests(Vec<&'v str>),
}

/// What the sessions of a `[[scenario]]` send.
pub(super) fn sent<'v>(table: &Table<'v>, requests: &'v [Request], flows: &'v [Flow]) -> Result<Sent<'v>, Mistake> {
    let visits = flows.iter().filter(|flow| flow.once.is_none()).map(|flow| flow.name.as_str());
    let (all_flows, all): (Vec<_>, Vec<_>) =
        (visits.collect(), requests.iter().map(|request| &*request.name).collect());
    match (table.get("flows"), table.get("requests")) {
        (Some(_), Some(requests)) => Err(requests.mistake("cannot be combined with `flows`; remove one")),
        (Some(value), None) if flows.is_empty() => Err(value.mistake("the workload has no [[flow]]")),
        (Some(value), None) => names(&value, "flow", &all_flows).map(Sent::Flows),
        (None, Some(value)) => names(&value, "request", &all).map(Sent::Requests),
        (None, None) => {
            let arrivals = table.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
            let walks = ["closed", "partly_open"].iter().any(|model| arrivals.entry(model).is_some());
            Ok(if walks && !flows.is_empty() { Sent::Flows(all_flows) } else { Sent::Requests(all) })
        }
    }
}

/// A list of these names.
fn names<'a>(value: &Value<'a>, what: &str, known: &[&str]) -> Result<Vec<&'a str>, Mistake> {
    let mut chosen = Vec::new();
    for item in value.list()? {
        let name = item.text()?;
        if !known.contains(&name) {
            return Err(missing(&item, what, name, known));
        }
        chosen.push(name);
    }
    match chosen.is_empty() {
        true => Err(value.mistake("must not be empty; remove the key to use all")),
        false => Ok(chosen),
    }
}

/// One use of a request: its number, and the numbers of the flow and of the scenario that give it their keys (`None`: no such keys).
type Use = (usize, Option<usize>, Option<usize>);

/// The requests and flows of a workload, with the keys of flows and scenarios.
pub(super) struct Applied {
    pub(super) requests: Vec<Request>,
    pub(super) flows: Option<FlowParts>,
    /// For each scenario, by number: its flows by name, and its requests by number.
    pub(super) scenarios: Vec<(Vec<String>, Vec<usize>)>,
}

impl Reader<'_> {
    /// The keys of a `[[flow]]` or `[[scenario]]` table; `None`: it sets no such key.
    fn defaults_of(table: &Table<'_>, target: Option<u16>) -> Result<Option<Defaults>, Mistake> {
        let redirects = table.get("redirects").map(|value| small(&value, value.whole()?)).transpose()?;
        let defaults = Defaults {
            headers: headers(table)?,
            auth: table.get("auth").map(|value| auth::auth(&value)).transpose()?,
            timeout: table.parsed("timeout")?,
            checks: script::checks(table)?,
            redirects,
            target,
        };
        Ok(Some(defaults).filter(|defaults| *defaults != Defaults::default()))
    }

    /// Applies the keys of flows and scenarios to the requests.
    pub(super) fn apply_defaults(
        &self,
        root: &Table<'_>,
        requests: Vec<Request>,
        flows: Option<FlowParts>,
        targets: &[Target],
    ) -> Result<Applied, Mistake> {
        let tables = |key: &str| root.get(key).map_or(Ok(Vec::new()), |value| value.list());
        let of_flow = |item: &Value<'_>| Self::defaults_of(&item.table(&shape::FLOW)?, None);
        let by_flow = tables("flow")?.iter().map(of_flow).collect::<Result<Vec<_>, Mistake>>()?;
        let scenarios = tables("scenario")?;
        let of_scenario = |item: &Value<'_>| {
            let table = item.table(&shape::SCENARIO)?;
            let target = table.get("target").map(|value| target_named(&value, targets)).transpose()?;
            Self::defaults_of(&table, target)
        };
        let by_scenario = scenarios.iter().map(of_scenario).collect::<Result<Vec<_>, Mistake>>()?;
        let all_flows: &[Flow] = flows.as_ref().map_or(&[], |flows| &flows.flows);
        let mut sends = Vec::new();
        for item in &scenarios {
            let table = item.table(&shape::SCENARIO)?;
            let name = table.need("name", "\"batch\"")?.text()?;
            sends.push(match sent(&table, &requests, all_flows)? {
                Sent::Flows(chosen) => {
                    let own = |flow: &Flow| match flow.once {
                        Some(once) => flow.name == once_name(Some(name), once),
                        None => chosen.contains(&&*flow.name),
                    };
                    (all_flows.iter().enumerate().filter(|(_, flow)| own(flow)).map(|(n, _)| n).collect(), Vec::new())
                }
                Sent::Requests(chosen) => {
                    let own = requests.iter().enumerate().filter(|(_, request)| chosen.contains(&&*request.name));
                    (Vec::new(), own.map(|(number, _)| number).collect::<Vec<_>>())
                }
            });
        }
        Variants { requests: &requests, flows: flows.as_ref(), by_flow, by_scenario, sends }.applied(self, root)
    }
}

/// The uses of a request.
fn uses_of(request: usize, uses: &BTreeMap<Use, usize>) -> impl Iterator<Item = Use> {
    uses.range((request, None, None)..(request + 1, None, None)).map(|(of, _)| *of)
}

/// Requests and flows before the keys of flows and scenarios are applied.
struct Variants<'a> {
    requests: &'a [Request],
    flows: Option<&'a FlowParts>,
    by_flow: Vec<Option<Defaults>>,
    by_scenario: Vec<Option<Defaults>>,
    /// The flows and the requests of each scenario, by number.
    sends: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Variants<'_> {
    /// Scenario `number`, if it has keys for the requests that it sends.
    fn group(&self, number: usize) -> Option<usize> {
        self.by_scenario[number].is_some().then_some(number)
    }

    /// The groups that walk through a flow, at least one.
    fn groups(&self, flow: usize) -> Vec<Option<usize>> {
        let own = self.sends.iter().enumerate().filter(|(_, (flows, _))| flows.contains(&flow));
        let groups: BTreeSet<_> = own.map(|(number, _)| self.group(number)).collect();
        if groups.is_empty() { vec![None] } else { groups.into_iter().collect() }
    }

    /// The use of a request by a step of a flow.
    fn step(&self, step: &Step, flow: usize, group: Option<usize>) -> Use {
        (step.request.into(), self.by_flow.get(flow).and_then(Option::as_ref).map(|_| flow), group)
    }

    /// All uses, with the number of each request afterwards.
    fn uses(&self) -> BTreeMap<Use, usize> {
        let mut all: BTreeSet<Use> = BTreeSet::new();
        let flows = self.flows.map_or(0, |parts| parts.flows.len());
        let groups: Vec<_> = (0..flows).map(|flow| self.groups(flow)).collect();
        for step in self.flows.iter().flat_map(|parts| &parts.steps) {
            let flow = usize::from(step.flow);
            all.extend(groups[flow].iter().map(|group| self.step(step, flow, *group)));
        }
        for (number, (_, requests)) in self.sends.iter().enumerate() {
            all.extend(requests.iter().map(|request| (*request, None, self.group(number))));
        }
        for request in 0..self.requests.len() {
            if all.range((request, None, None)..(request + 1, None, None)).next().is_none() {
                all.insert((request, None, None));
            }
        }
        all.into_iter().zip(0..).collect()
    }

    /// The name of a use: the name of the request, with flow and scenario if it is sent with several settings.
    fn name(&self, of: Use, uses: &BTreeMap<Use, usize>, scenarios: &[String]) -> String {
        let (request, flow, scenario) = of;
        let name = &self.requests[request].name;
        let number = uses_of(request, uses).count();
        let flow = flow.and_then(|flow| Some(&self.flows?.flows[flow].name));
        let parts: Vec<&str> =
            flow.into_iter().chain(scenario.map(|one| &scenarios[one])).map(String::as_str).collect();
        if number == 1 || parts.is_empty() { name.clone() } else { format!("{name} ({})", parts.join(", ")) }
    }

    fn applied(&self, reader: &Reader<'_>, root: &Table<'_>) -> Result<Applied, Mistake> {
        let tables = root.get("request").map_or(Ok(Vec::new()), |value| value.list())?;
        let listed = root.get("scenario").map_or(Ok(Vec::new()), |value| value.list())?;
        let named = |item: &Value<'_>| Ok(item.entry("name").map_or(Ok(""), |name| name.text())?.to_owned());
        let scenarios = listed.iter().map(named).collect::<Result<Vec<_>, Mistake>>()?;
        let uses = self.uses();
        let table_of = std::mem::take(&mut *reader.tables.borrow_mut());
        let mut requests = Vec::new();
        for of in uses.keys() {
            let (number, flow, scenario) = *of;
            let table = table_of.get(number).copied();
            reader.tables.borrow_mut().extend(table);
            let item = table.and_then(|table| tables.get(table));
            let mut request = self.requests[number].clone();
            let is_targeted =
                item.is_some_and(|item| item.entry("target").is_some()) || request.absolute_origin().is_some();
            let by = [
                flow.and_then(|flow| self.by_flow[flow].as_ref()),
                scenario.and_then(|one| self.by_scenario[one].as_ref()),
            ];
            for defaults in by.into_iter().flatten() {
                request = defaults.apply(request, is_targeted);
            }
            if let Some(page) = request.submit.as_mut().and_then(|submit| submit.page.as_mut())
                && let Some(of_page) = self.requests.iter().position(|request| request.name == *page)
            {
                // The page of the same flow, or of another one, such as `once.start`.
                let own = (of_page, flow, scenario);
                let other = || uses_of(of_page, &uses).find(|(.., of)| *of == scenario);
                let of_page = if uses.contains_key(&own) { own } else { other().unwrap_or(own) };
                *page = self.name(of_page, &uses, &scenarios);
            }
            request.name = self.name(*of, &uses, &scenarios);
            requests.push(request);
        }
        let mut names = BTreeMap::new();
        let flows = self.flows.map(|parts| self.copied(parts, &uses, &scenarios, &mut names, root)).transpose()?;
        let of_scenario = |(number, (flows, own)): (usize, &(Vec<usize>, Vec<usize>))| {
            let group = self.group(number);
            let flows = flows.iter().map(|flow| names[&(*flow, group)].clone()).collect();
            (flows, own.iter().map(|request| uses[&(*request, None, group)]).collect())
        };
        let scenarios = self.sends.iter().enumerate().map(of_scenario).collect();
        Ok(Applied { requests, flows, scenarios })
    }

    /// The flows, each once for each group that walks through it; adds their names.
    fn copied(
        &self,
        parts: &FlowParts,
        uses: &BTreeMap<Use, usize>,
        scenarios: &[String],
        names: &mut BTreeMap<(usize, Option<usize>), String>,
        root: &Table<'_>,
    ) -> Result<FlowParts, Mistake> {
        let mut all = FlowParts::default();
        for (number, flow) in parts.flows.iter().enumerate() {
            let own = || (0u16..).zip(&parts.steps).filter(|(_, step)| usize::from(step.flow) == number);
            let first = own().next().map_or(0, |(first, _)| first);
            let range = first..first + own().count() as u16;
            let groups = self.groups(number);
            for group in &groups {
                let name = match group.filter(|_| groups.len() > 1) {
                    Some(scenario) => format!("{} ({})", flow.name, scenarios[scenario]),
                    None => flow.name.clone(),
                };
                if all.steps.len() + range.len() > usize::from(u16::MAX) {
                    return Err(root.mistake("the flows of all scenarios have more than 65535 steps"));
                }
                // Each flow is there at least once, so steps only move back.
                let (to, by) = (all.flows.len() as u16, all.steps.len() as u16 - first);
                for (_, step) in own() {
                    let request = uses[&self.step(step, number, *group)] as u16;
                    all.steps.push(Step { request, ..step.shifted(to, by) });
                }
                let blocks = parts.blocks.iter().filter(|block| range.contains(&block.first));
                all.blocks.extend(blocks.map(|block| Block {
                    first: block.first + by,
                    last: block.last + by,
                    ..*block
                }));
                all.flows.push(Flow { name: name.clone(), start: flow.start + by, ..flow.clone() });
                names.insert((number, *group), name);
            }
        }
        Ok(all)
    }
}
