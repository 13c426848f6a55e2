//! Whether every name that a plan's requests ask for has a value in time, as a workload wants it.

use std::collections::{HashSet, VecDeque};

use offered_model::Template;
use offered_model::workload::script::{Auth, Body, Content, Otherwise};

use crate::note::Note;
use crate::plan::{Plan, Request, Variable};
use crate::text::Text;

/// Leaves out variables that nothing asks for. A name that some way reaches before the request that extracts it from an answer is
/// given a value to begin with, `otherwise`, and noted at `line`.
pub(crate) fn ensure_initial_values(plan: &mut Plan, line: usize, otherwise: impl Fn(&str) -> String) {
    let used: HashSet<String> = plan
        .requests
        .iter()
        .flat_map(variables_of)
        .chain(plan.target.headers().iter().flat_map(|(_, value)| names(value)))
        .chain(plan.target.auth().into_iter().flat_map(auth_variables))
        .collect();
    plan.variables.retain(|variable| used.contains(&variable.name));
    let extracted: HashSet<&str> =
        plan.requests.iter().flat_map(|request| &request.extract).map(|extract| extract.name.as_str()).collect();
    let mut early: Vec<String> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for name in &used {
        let known = plan.variables.iter().any(|variable| variable.name == *name);
        let keeps = |request: &Request| {
            request.extract.iter().any(|extract| extract.name == *name && extract.otherwise == Otherwise::Keeps)
        };
        if !known && plan.requests.iter().any(keeps) && !used_before_extraction(plan, name) {
            // It has what it had where the first answer has none of it.
            kept.push(name);
        } else if !known
            && !["session", "sequence"].contains(&name.as_str())
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
            message: format!("`{name}` is used for where no answer has given it yet; until then it is `{value}`"),
        });
        plan.variables.push(Variable::constant(name, value));
    }
}

/// The variables that stand in what is sent of a request.
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
    match auth {
        Auth::Basic(text) | Auth::Bearer(text) => names(text),
        Auth::Nobody => Vec::new(),
    }
}

/// Whether some way comes to a request that asks for `name` before one that extracts it from an answer.
fn used_before_extraction(plan: &Plan, name: &str) -> bool {
    let request = |called: &str| plan.requests.iter().find(|request| request.name == called);
    let uses = |request: &Request| variables_of(request).iter().any(|used| used == name);
    let extracts = |request: &Request| request.extract.iter().any(|extract| extract.name == name);
    if plan.flows.is_empty() {
        return plan.requests.iter().any(uses);
    }
    plan.flows.iter().any(|flow| {
        let mut seen = vec![false; flow.steps.len()];
        let mut ahead = VecDeque::from([0]);
        while let Some(at) = ahead.pop_front() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let Some(request) = request(&flow.steps[at].request) else { continue };
            if uses(request) {
                return true;
            }
            if !extracts(request) {
                ahead.extend(flow.steps[at].next.iter().filter_map(|(to, _)| *to));
            }
        }
        false
    })
}
