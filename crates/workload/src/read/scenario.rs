//! Reading `[[scenario]]`: several loads in one run.

use std::sync::Arc;

use super::{Reader, staged};
use crate::source::{Mistake, Table, Value};
use crate::{Request, shape};
use offered_base::random::Seed;
use offered_base::time::Nanos;
use offered_schedule::flow::Flows;
use offered_schedule::{Scenario, Scenarios, Sessions};

impl Reader<'_> {
    /// The scenarios of a run with this duration; `sent`: the flows by name and the requests by number that each sends.
    pub(super) fn scenarios(
        &self,
        value: &Value<'_>,
        (requests, flows): (&[Request], Option<Flows>),
        sent: Vec<(Vec<String>, Vec<usize>)>,
        seed: Seed,
        duration: Option<Nanos>,
    ) -> Result<Sessions, Mistake> {
        let mut all = Vec::new();
        for (item, sent) in value.list()?.iter().zip(sent) {
            let table = item.table(&shape::SCENARIO)?;
            all.push(self.scenario(&table, (requests, flows.as_ref()), sent, seed, duration)?);
        }
        Ok(Sessions::Scenarios(value.checked(Scenarios::new(all, flows.map(Arc::new)))?))
    }

    fn scenario(
        &self,
        table: &Table<'_>,
        (requests, flows): (&[Request], Option<&Flows>),
        (own_flows, own_requests): (Vec<String>, Vec<usize>),
        seed: Seed,
        duration: Option<Nanos>,
    ) -> Result<Scenario, Mistake> {
        let name = table.need("name", "\"batch\"")?.text()?.to_owned();
        let arrivals = table.need("arrivals", "{ open = { rate = \"100/s\" } }")?;
        let flows = flows.filter(|_| !own_flows.is_empty());
        let flows = flows.map(|flows| flows.only(|flow| own_flows.contains(&flow.name)));
        let flows = flows.transpose().map_err(|wrong| table.mistake(wrong))?;
        if let (Some(once), None) = (table.get("once"), &flows) {
            return Err(once.mistake("needs flows of closed or partly_open sessions"));
        }
        let is_sent = |number: usize| flows.is_some() || own_requests.contains(&number);
        let weight = |(number, request): (usize, &Request)| if is_sent(number) { request.weight } else { 0.0 };
        let weights = requests.iter().enumerate().map(weight).collect();
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
