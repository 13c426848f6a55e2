//! Scenarios, each as a workload of its own.

use std::collections::HashSet;

use super::misfit::{Misfit, Place};
use super::{Draft, Request, Workload, names};
use offered_base::time::{Instant, Nanos};
use offered_schedule::{Scenario, Scenarios, Sessions};

impl Workload {
    /// The scenarios; `None` if the workload has one load only.
    pub fn scenarios(&self) -> Option<&Scenarios> {
        self.0.sessions.scenarios()
    }

    /// The names of the scenarios; empty if the workload has one load only.
    pub fn scenario_names(&self) -> Vec<String> {
        let all = self.scenarios().into_iter().flat_map(Scenarios::all);
        all.map(|scenario| scenario.name.clone()).collect()
    }

    /// The scenario with this number as a workload of its own, without thresholds. Its time begins with the scenario, and it has its part of
    /// the measured time. Session k of it is session [`Scenarios::number`] of the run.
    pub fn scenario(&self, number: usize) -> Option<Self> {
        let scenarios = self.scenarios()?;
        let Scenario { sessions, start, duration, weights, .. } = scenarios.all().get(number)?;
        let end = *start + *duration;
        let after = self.time_limit().map_or(Nanos::ZERO, |run| run.saturating_sub(end));
        let mut draft = self.0.clone();
        for (request, weight) in draft.requests.iter_mut().zip(weights.iter()) {
            request.weight = *weight;
        }
        Some(Self(Draft {
            seed: scenarios.seed(self.seed(), number),
            duration: (*duration).min(self.0.duration.saturating_sub(*start)),
            skip_first: self.0.skip_first.saturating_sub(*start),
            skip_last: self.0.skip_last.saturating_sub(after),
            sessions: sessions.clone(),
            thresholds: Vec::new(),
            policies: None,
            ..draft
        }))
    }

    /// The number of scenarios that send a request with this variable; 1 for a workload with one load only.
    pub fn scenarios_with(&self, variable: &str) -> usize {
        let Some(scenarios) = self.scenarios() else { return 1 };
        let has =
            |request: &Request| names::has_variable(request, self.0.target_of(request), &self.0.variables, variable);
        let requests: HashSet<usize> = (0..self.0.requests.len()).filter(|of| has(&self.0.requests[*of])).collect();
        scenarios.all().iter().filter(|scenario| sent(scenario).any(|request| requests.contains(&request))).count()
    }

    /// All scenarios as workloads of their own.
    pub(crate) fn each_scenario(&self) -> impl Iterator<Item = Self> + '_ {
        (0..).map_while(|number| self.scenario(number))
    }

    /// The number of requests before `end` of all scenarios, `of` each; `None` if it is unknown for one.
    pub(crate) fn sum_of_scenarios(&self, end: Instant, of: impl Fn(&Self, Instant) -> Option<f64>) -> Option<f64> {
        let starts = self.scenarios()?.all().iter().map(|scenario| scenario.start);
        starts.zip(self.each_scenario()).map(|(start, one)| of(&one, end.earlier(start))).sum()
    }

    /// The expected share of each request, if responses take no time; a scenario without a known rate counts as one request per second.
    pub(crate) fn shares_of_scenarios(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.requests().len()];
        for one in self.each_scenario() {
            let rate = one.scheduled_rate().or_else(|| one.max_rate_per_s()).unwrap_or(1.0);
            let requests = rate * one.duration().as_secs_f64();
            shares.iter_mut().zip(one.shares()).for_each(|(all, share)| *all += share * requests);
        }
        let total: f64 = shares.iter().sum();
        shares.iter().map(|share| share / total).collect()
    }
}

/// The requests that a scenario sends.
fn sent(scenario: &Scenario) -> impl Iterator<Item = usize> + '_ {
    let flows = scenario.sessions.flows();
    let visited = flows.into_iter().flat_map(|flows| flows.steps().iter().zip(flows.per_session()));
    let in_flows = visited.filter(|(_, visits)| **visits > 0.0).map(|(step, _)| usize::from(step.request));
    let weighted = scenario.weights.iter().enumerate().filter(move |(_, weight)| flows.is_none() && **weight > 0.0);
    in_flows.chain(weighted.map(|(request, _)| request))
}

/// Checks that every request is sent by some scenario, and has all its values there.
pub(super) fn check(draft: &Draft, scenarios: &Scenarios) -> Result<(), Misfit> {
    let requests = &draft.requests;
    let mut all: HashSet<usize> = HashSet::new();
    for scenario in scenarios.all() {
        let name = &scenario.name;
        if requests.iter().any(|request| request.name == *name) {
            return Place::Key("scenario")
                .wrong(format!("`{name}` is also the name of a request; thresholds and tables need different names"));
        }
        if matches!(scenario.sessions, Sessions::Replay(_)) {
            return Place::Key("scenario").wrong("a trace is replayed alone; write it as [arrivals]");
        }
        let used: Vec<usize> = sent(scenario).filter(|number| *number < requests.len()).collect();
        if used.is_empty() {
            return Place::Key("scenario").wrong(format!("scenario `{}` sends no request", scenario.name));
        }
        let wrong = |place: Place, why: String| match place {
            Place::Request(number) => {
                place.wrong(format!("request `{}` of scenario `{name}`: {why}", requests[number].name))
            }
            place => place.wrong(format!("scenario `{name}`: {why}")),
        };
        match scenario.sessions.flows() {
            Some(flows) => names::check(draft, Some(flows)).or_else(|(place, why)| wrong(place, why))?,
            None => {
                let own = used.iter().map(|number| requests[*number].clone()).collect();
                let own = Draft { requests: own, conditions: Vec::new(), ..draft.clone() };
                names::check(&own, None).or_else(|(place, why)| match place {
                    Place::Request(number) => wrong(Place::Request(used[number]), why),
                    place => wrong(place, why),
                })?;
            }
        }
        all.extend(used);
    }
    match (0..requests.len()).find(|number| !all.contains(number)) {
        Some(number) => {
            let name = &requests[number].name;
            Place::Request(number).wrong(format!("the request `{name}` is in no scenario, so it would never be sent"))
        }
        None => Ok(()),
    }
}
