//! Checks of forms that requests submit, and the pages that have them.

use std::collections::HashSet;

use offered_base::InvalidValue;
use offered_schedule::flow::Flows;

use super::parts::check_part;
use crate::names::path_without;
use crate::submit::{Field, Submit};
use crate::{Request, Workload};

/// Checks the names and files of a form.
///
/// # Errors
/// An empty selector, a field that is set twice, or a file with an invalid name.
pub(crate) fn check_submit(submit: &Submit) -> Result<(), InvalidValue> {
    if submit.selector.trim().is_empty() {
        return Err(InvalidValue::new("must be the CSS selector of a form or its button, such as \"#edit\""));
    }
    let mut names = HashSet::new();
    for (name, field) in submit.fields.iter().chain(&submit.added) {
        if !names.insert(name) {
            return Err(InvalidValue::new(format!("the field `{name}` is set twice; remove one")));
        }
        if let Field::File(part) = field {
            check_part(part)?;
        }
    }
    match submit.added.iter().find(|(_, field)| matches!(field, Field::Included(_))) {
        Some((name, _)) => Err(InvalidValue::new(format!("the added field `{name}` needs a value"))),
        None => Ok(()),
    }
}

impl Workload {
    /// The requests whose responses have the form that request `number` submits; empty if it submits none.
    pub fn form_pages(&self, number: usize) -> Vec<usize> {
        // The workload was checked.
        pages(self.requests(), self.flows().map(|flows| &**flows), number).unwrap_or_default()
    }
}

/// The requests whose responses have the form that request `number` submits.
///
/// # Errors
/// There is no such request, or a session may send `number` before it.
pub(crate) fn pages(requests: &[Request], flows: Option<&Flows>, number: usize) -> Result<Vec<usize>, String> {
    let Some(submit) = &requests[number].submit else { return Ok(Vec::new()) };
    let flows = flows.ok_or("submits a form of an earlier page; write a [[flow]] with that page before it")?;
    if let Some(page) = &submit.page {
        let known: Vec<&str> = requests.iter().map(Request::name).collect();
        let found = known.iter().position(|name| name == page);
        let page =
            found.ok_or_else(|| format!("no request is named `{page}`{}", offered_base::nearest(page, &known)))?;
        return match path_without(flows, number, &[page]) {
            None => Ok(vec![page]),
            Some(way) => {
                Err(format!("a session can reach this request without `{}`: {}", known[page], described(flows, &way)))
            }
        };
    }
    let sends = |step: u16| usize::from(flows.steps()[usize::from(step)].request);
    if let Some(flow) = flows.begins().find(|flow| sends(flow.start) == number) {
        return Err(format!(
            "flow `{}` begins with this request, before any page; put the page with the form before it",
            flow.name
        ));
    }
    let mut before: Vec<usize> = Vec::new();
    for (at, step) in (0u16..).zip(flows.steps()) {
        let leads = flows.followers(at).iter().flatten().any(|to| sends(*to) == number);
        let repeats = step.repeat > 1 && usize::from(step.request) == number;
        if (leads || repeats) && !before.contains(&usize::from(step.request)) {
            before.push(step.request.into());
        }
    }
    Ok(before)
}

/// A path through the flows, for messages.
fn described(flows: &Flows, way: &[u16]) -> String {
    way.iter().map(|step| &*flows.steps()[usize::from(*step)].name).collect::<Vec<_>>().join(" -> ")
}
