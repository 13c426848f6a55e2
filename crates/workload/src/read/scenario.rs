//! Reading `[[scenario]]`: several loads in one run.

use std::sync::Arc;

use super::flow::once_name;
use super::{Reader, missing, staged};
use crate::source::{Mistake, Table, Value};
use crate::{Request, shape};
use offered_base::random::Seed;
use offered_base::time::Nanos;
use offered_schedule::flow::{Flow, Flows};
use offered_schedule::{Scenario, Scenarios, Sessions};

impl Reader<'_> {
    /// The scenarios of a run with this duration.
    pub(super) fn scenarios(
        &self,
        value: &Value<'_>,
        requests: &[Request],
        flows: Option<Flows>,
        seed: Seed,
        duration: Option<Nanos>,
    ) -> Result<Sessions, Mistake> {
        let mut all = Vec::new();
        for item in value.list()? {
            let table = item.table(&shape::SCENARIO)?;
            all.push(self.scenario(&table, requests, flows.as_ref(), seed, duration)?);
        }
        Ok(Sessions::Scenarios(value.checked(Scenarios::new(all, flows.map(Arc::new)))?))
    }

    fn scenario(
        &self,
        table: &Table<'_>,
        requests: &[Request],
        flows: Option<&Flows>,
        seed: Seed,
        duration: Option<Nanos>,
    ) -> Result<Scenario, Mistake> {
        let name = table.need("name", "\"batch\"")?.text()?.to_owned();
        let (own_flows, own_requests) = (table.get("flows"), table.get("requests"));
        if let (Some(_), Some(requests)) = (&own_flows, &own_requests) {
            return Err(requests.mistake("cannot be combined with `flows`; remove one"));
        }
        let arrivals = table.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
        let walks = ["closed", "partly_open"].iter().any(|model| arrivals.entry(model).is_some());
        let chosen = match (&own_flows, flows) {
            (Some(value), None) => return Err(value.mistake("the workload has no [[flow]]")),
            (Some(value), Some(flows)) => {
                let visits = flows.flows().iter().filter(|flow| flow.once.is_none());
                Some(names(value, "flow", &visits.map(|flow| flow.name.as_str()).collect::<Vec<_>>())?)
            }
            (None, _) => None,
        };
        let begins = |flow: &Flow| match flow.once {
            Some(once) => flow.name == once_name(Some(&name), once),
            None => chosen.as_ref().is_none_or(|chosen| chosen.contains(&flow.name.as_str())),
        };
        let flows = flows.filter(|_| own_flows.is_some() || (walks && own_requests.is_none()));
        let flows = flows.map(|flows| flows.only(begins).map_err(|wrong| table.mistake(wrong))).transpose()?;
        if let (Some(once), None) = (table.get("once"), &flows) {
            return Err(once.mistake("goes with flows, of closed or partly_open sessions"));
        }
        let weights = match &own_requests {
            None => requests.iter().map(|request| request.weight).collect(),
            Some(value) => {
                let known: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
                let chosen = names(value, "request", &known)?;
                let weight = |request: &Request| if chosen.contains(&&*request.name) { request.weight } else { 0.0 };
                requests.iter().map(weight).collect()
            }
        };
        let (sessions, _) = self.sessions(&arrivals, flows.map(Arc::new), seed)?;
        let start: Nanos = table.parsed("start")?.unwrap_or_default();
        let end = match table.parsed("end")? {
            Some(end) => end,
            None => match staged(&sessions).map(|stages| start + stages).or(duration) {
                Some(end) => end,
                None => table.need("end", "\"5m\"")?.parsed()?,
            },
        };
        if end <= start {
            return Err(table.mistake(format!("the scenario ends at {end}, before it has started at {start}")));
        }
        Ok(Scenario { name, sessions, start, duration: Nanos(end.0 - start.0), weights })
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
        true => Err(value.mistake("must not be empty; remove it for all")),
        false => Ok(chosen),
    }
}
