//! Writes `[arrivals]` and the flows.

use super::condition;
use super::pairs::{Pairs, inline, list, one, section};
use crate::Request;
use crate::condition::Condition;
use crate::toml_text::{toml_key, toml_text};
use offered_base::time::{Nanos, written_number};
use offered_schedule::arrivals::Schedule;
use offered_schedule::flow::{Block, Flow, Flows, Once, Way};
use offered_schedule::replay::{Part, ReplayMode};
use offered_schedule::{Closed, Opening, Pace, Scenario, Scenarios, Sessions, Start, Visitor};

/// The value of `[arrivals]`: `open = { rate = "100/s" }`.
pub fn sessions_to_toml(sessions: &Sessions) -> String {
    let (model, keys) = match sessions {
        Sessions::Open(at) => ("open", schedule(at)),
        Sessions::PartlyOpen { schedule: at, length, think, opening } => {
            let keys = schedule(at).when(length.flows().is_none(), |keys| {
                let (key, value) = length.written();
                keys.raw(key, value)
            });
            let keys = keys.when(!think.is_zero(), |keys| keys.raw("think", think));
            ("partly_open", keys.when(*opening != Opening::Empty, |keys| keys.text("start", opening)))
        }
        Sessions::Closed(closed) => ("closed", users(Pairs::default(), closed)),
        Sessions::Scenarios(_) => unreachable!("scenarios are written as tables"),
        Sessions::Replay(replay) => {
            let mut keys = Pairs::default().text("trace", replay.trace().file());
            let Part { window, schedule: rate, .. } = replay.part();
            keys = keys.maybe(*window, |keys, (from, to)| {
                keys.raw("window", list([from, to], |at| toml_text(at.to_string())))
            });
            keys.0.extend(rate.iter().flat_map(|rate| schedule(rate).0));
            let keys = keys.when(replay.speed() != 1.0, |keys| keys.raw("speed", written_number(replay.speed())));
            // The ticks of a coarse clock are spread over unless it is written that they are not.
            let is_as_recorded = rate.is_none() && replay.trace().tick().is_some();
            let keys = keys.when(is_as_recorded, |keys| keys.text("timestamps", "as-recorded"));
            (
                "replay",
                match replay.mode() {
                    ReplayMode::Open => keys,
                    ReplayMode::Sessions { think } => keys
                        .text("as", "sessions")
                        .maybe(think.as_ref(), |keys, distribution| keys.raw("think", distribution)),
                    ReplayMode::Closed(closed) => users(keys.text("as", "closed"), closed),
                },
            )
        }
    };
    format!("{model} = {}", keys.table())
}

fn schedule(schedule: &Schedule) -> Pairs {
    let (process, batch) = (schedule.process().written(), schedule.batch().written());
    let keys = Pairs::default().raw("rate", schedule.rate());
    keys.maybe(process, |keys, process| keys.raw("process", process))
        .maybe(batch, |keys, batch| keys.raw("batch", batch))
}

fn users(keys: Pairs, closed: &Closed) -> Pairs {
    let keys = match closed.population() {
        Some(population) => keys.raw("users", population),
        None => keys.raw("users", closed.users()),
    };
    let keys = keys.when(!closed.think().is_zero(), |keys| keys.raw("think", closed.think()));
    let keys = keys.when(closed.ramp() > Nanos::ZERO, |keys| keys.text("ramp", closed.ramp()));
    let keys = keys.maybe(closed.visits(), |keys, visits| keys.raw("visits", visits));
    let keys = match closed.pace() {
        None => keys,
        Some(Pace::Visits(every)) => keys.text("every", every),
        Some(Pace::Requests(every)) => keys.raw("every", one("request", toml_text(every.to_string()))),
    };
    let keys = keys.when(closed.visitor() != Visitor::New, |keys| keys.text("visitor", closed.visitor()));
    keys.when(closed.start() != Start::MidThought, |keys| keys.text("start", closed.start()))
}

/// Appends the scenarios.
pub(super) fn of_scenarios(text: &mut String, scenarios: &Scenarios, requests: &[Request], conditions: &[Condition]) {
    for Scenario { name, sessions, start, duration, weights } in scenarios.all() {
        let keys = Pairs::default().text("name", name);
        let keys = keys.when(*start > Nanos::ZERO, |keys| keys.text("start", start)).text("end", *start + *duration);
        let keys = match sessions.flows() {
            Some(flows) => {
                let begun = flows.flows().iter().filter(|flow| flow.weight > 0.0 && flow.once.is_none());
                let keys = keys.raw("flows", list(begun, |flow| toml_text(&flow.name)));
                keys.maybe(of_once(flows, |flow| flow.weight > 0.0, requests, conditions), |keys, once| {
                    keys.raw("once", once.table())
                })
            }
            None => {
                let sent = requests.iter().zip(weights.iter()).filter(|(_, weight)| **weight > 0.0);
                keys.raw("requests", list(sent, |(request, _)| toml_text(&request.name)))
            }
        };
        let keys = keys.raw("arrivals", format!("{{ {} }}", sessions_to_toml(sessions)));
        section(text, "[[scenario]]", &keys.0);
    }
}

/// Appends the flows with their steps.
pub(super) fn of_flows(text: &mut String, flows: &Flows, requests: &[Request], conditions: &[Condition]) {
    for flow in flows.flows().iter().filter(|flow| flow.once.is_none()) {
        let first = flows.steps_of(flow).next().map(|(first, _)| first);
        let keys = Pairs::default().text("name", &flow.name);
        let keys = keys.when(flow.weight != 1.0, |keys| keys.raw("weight", written_number(flow.weight)));
        let start = || &flows.steps()[usize::from(flow.start)].name;
        section(text, "[[flow]]", &keys.when(first != Some(flow.start), |keys| keys.text("start", start())).0);
        for step in steps(flows, flow, requests, conditions) {
            section(text, "[[flow.step]]", &step.0);
        }
    }
}

/// The steps of a flow; the steps of a block are in a list inside it.
fn steps(flows: &Flows, flow: &Flow, requests: &[Request], conditions: &[Condition]) -> Vec<Pairs> {
    let numbers: Vec<u16> = flows.steps_of(flow).map(|(number, _)| number).collect();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Vec::new() };
    let own = flows.blocks().iter().filter(|block| (*first..=*last).contains(&block.first)).collect::<Vec<_>>();
    listed(*first..*last + 1, &own, &|number| of_step(flows, number, requests, conditions), conditions)
}

/// The steps with these numbers, of which these blocks are a part.
fn listed(
    range: std::ops::Range<u16>,
    blocks: &[&Block],
    step: &dyn Fn(u16) -> Pairs,
    conditions: &[Condition],
) -> Vec<Pairs> {
    let (mut all, mut number, mut rest) = (Vec::new(), range.start, blocks);
    while number < range.end {
        let Some((block, others)) = rest.split_first().filter(|(block, _)| block.first == number) else {
            all.push(step(number));
            number += 1;
            continue;
        };
        let (inner, others) = others.split_at(others.partition_point(|inner| inner.first <= block.last));
        let inner = listed(block.first..block.last + 1, inner, step, conditions);
        let keys = condition::of_block(Pairs::default(), block, conditions);
        all.push(keys.raw("step", list(inner, Pairs::table)));
        (number, rest) = (block.last + 1, others);
    }
    all
}

/// The steps that are made once, of the flows with these names.
pub(super) fn of_once(
    flows: &Flows,
    named: impl Fn(&Flow) -> bool,
    requests: &[Request],
    conditions: &[Condition],
) -> Option<Pairs> {
    let steps = |flow: &Flow| list(steps(flows, flow, requests, conditions), Pairs::table);
    let of = |once: Once| flows.flows().iter().find(|flow| flow.once == Some(once) && named(flow)).map(steps);
    let keys = Pairs::default().maybe(of(Once::Start), |keys, steps| keys.raw("start", steps));
    Some(keys.maybe(of(Once::End), |keys, steps| keys.raw("end", steps))).filter(|keys| !keys.0.is_empty())
}

fn of_step(flows: &Flows, number: u16, requests: &[Request], conditions: &[Condition]) -> Pairs {
    let step = &flows.steps()[usize::from(number)];
    let name = |step: u16| &flows.steps()[usize::from(step)].name;
    let request = &requests[usize::from(step.request)].name;
    let keys = Pairs::default().text("request", request);
    let keys = keys.when(step.name != *request, |keys| keys.text("name", &step.name));
    let keys = keys.when(step.repeat != 1, |keys| keys.raw("repeat", step.repeat));
    let keys = keys.maybe(step.think.as_ref(), |keys, distribution| keys.raw("think", distribution));
    let keys = condition::of_rules(keys, &step.rules, conditions, &|to| name(to).clone());
    let next = flows.steps().get(usize::from(number) + 1).filter(|next| next.flow == step.flow).map(|_| number + 1);
    keys.when(!step.next.leads_only_to(next), |keys| {
        let way = |way: Way| {
            let to = way.to.map_or("leave".to_owned(), |to| toml_key(name(to)));
            (to, condition::weight(way, conditions))
        };
        keys.raw("next", inline(&step.next.weights().map(way).collect::<Vec<_>>()))
    })
}
