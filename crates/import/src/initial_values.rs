//! Ensures that every variable has a value when a request uses it, which workloads require.

use std::collections::{HashSet, VecDeque};

use offered_workload::Template;
use offered_workload::condition::Condition;
use offered_workload::script::{Auth, Body, Content, IfMissing};

use crate::note::Note;
use crate::plan::{Flow, Plan, Request, Variable};
use crate::text::{self, Text};

/// Removes unused variables. If a flow can use an extracted variable before it is extracted, the variable gets the
/// initial value `otherwise` and a note at `line`.
pub(crate) fn ensure_initial_values(plan: &mut Plan, line: usize, otherwise: impl Fn(&str) -> String) {
    let used: HashSet<String> = plan
        .requests
        .iter()
        .flat_map(variables_of)
        .chain(plan.target.headers().iter().flat_map(|(_, value)| names(value)))
        .chain(plan.target.auth().into_iter().flat_map(auth_variables))
        .chain(
            plan.flows
                .iter()
                .chain(&plan.once)
                .flat_map(Flow::conditions)
                .flat_map(Condition::templates)
                .flat_map(names),
        )
        .collect();
    plan.variables.retain(|variable| used.contains(&variable.name));
    let extracted: HashSet<&str> =
        plan.requests.iter().flat_map(|request| &request.extract).map(|extract| extract.name.as_str()).collect();
    let mut early: Vec<String> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for name in &used {
        let known = plan.variables.iter().any(|variable| variable.name == *name);
        let keeps = |request: &Request| {
            request.extract.iter().any(|extract| extract.name == *name && extract.if_missing == IfMissing::KeepPrevious)
        };
        if !known && plan.requests.iter().any(keeps) && !used_before_extraction(plan, name) {
            // It keeps its initial value if the first response does not contain it.
            kept.push(name);
        } else if !known
            && !text::is_built_in(name)
            && (!extracted.contains(name.as_str()) || used_before_extraction(plan, name))
        {
            early.push(name.clone());
        }
    }
    kept.sort_unstable();
    let kept: Vec<Variable> = kept.into_iter().map(|name| Variable::constant(name, otherwise(name))).collect();
    plan.variables.extend(kept);
    early.sort();
    for name in early {
        let value = otherwise(&name);
        plan.notes.push(Note {
            line,
            element: String::new(),
            message: format!("`{name}` is used before a response has set it; until then it is `{value}`"),
        });
        plan.variables.push(Variable::constant(name, value));
    }
}

/// Names of the variables that a request uses.
fn variables_of(request: &Request) -> Vec<String> {
    let texts = std::iter::once(&request.path).chain(request.headers.iter().map(|(_, value)| value));
    let texts = texts.chain(&request.objects);
    let mut used: Vec<String> =
        texts.flat_map(Text::variable_names).map(|name| name.split('.').next().unwrap_or(name).to_owned()).collect();
    used.extend(request.auth.iter().flat_map(auth_variables));
    match &request.body {
        Body::Text(text) => used.extend(names(text)),
        Body::Form(fields) => used.extend(fields.iter().flat_map(|(_, value)| names(value))),
        Body::Multipart(parts) => used.extend(parts.iter().flat_map(|part| match &part.content {
            Ok(Content::Text(text)) => names(text),
            _ => Vec::new(),
        })),
        Body::File { .. } | Body::None => {}
    }
    used
}

fn names(text: &Template) -> Vec<String> {
    text.names().map(|name| name.variable.to_string()).collect()
}

fn auth_variables(auth: &Auth) -> Vec<String> {
    auth.templates().into_iter().flat_map(names).collect()
}

/// What a walk through a flow does first with a variable.
#[derive(PartialEq, Eq)]
enum FirstUse {
    /// A request uses the variable, on at least one path.
    Used,
    /// A request extracts the variable, on all paths.
    Extracted,
    Neither,
}

/// Whether a path through the actions of a user reaches a request that uses `name` before a request that extracts it.
fn used_before_extraction(plan: &Plan, name: &str) -> bool {
    let uses = |request: &Request| variables_of(request).iter().any(|used| used == name);
    if plan.flows.is_empty() {
        return plan.requests.iter().any(uses);
    }
    let first_use = |flow: &Flow| first_use(plan, flow, name);
    match plan.once.as_ref().map_or(FirstUse::Neither, first_use) {
        FirstUse::Used => true,
        FirstUse::Extracted => false,
        FirstUse::Neither => plan.flows.iter().any(|flow| first_use(flow) == FirstUse::Used),
    }
}

fn first_use(plan: &Plan, flow: &Flow, name: &str) -> FirstUse {
    let request = |called: &str| plan.requests.iter().find(|request| request.name == called);
    let uses = |request: &Request| variables_of(request).iter().any(|used| used == name);
    let extracts = |request: &Request| request.extract.iter().any(|extract| extract.name == name);
    let (mut seen, mut ends) = (vec![false; flow.steps.len()], false);
    let mut ahead = VecDeque::from([0]);
    while let Some(at) = ahead.pop_front() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let Some(request) = request(&flow.steps[at].request) else { continue };
        if uses(request) {
            return FirstUse::Used;
        }
        // A step with a condition may be left out.
        if !extracts(request) || flow.may_skip(at) {
            ends |= flow.steps[at].next.iter().any(|(to, _)| to.is_none());
            ahead.extend(flow.steps[at].next.iter().filter_map(|(to, _)| *to));
        }
    }
    if ends { FirstUse::Neither } else { FirstUse::Extracted }
}
