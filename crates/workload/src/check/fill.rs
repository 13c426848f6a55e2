//! Filling constant variables into the templates of a workload, and reversing it.

use std::collections::HashSet;

use crate::composed;
use crate::script::{Auth, Body, Content};
use crate::template::{Name, Template, in_url};
use crate::{Call, Draft, Request, Target};

/// Reverses [`fill`] for requests and a target that come from a workload.
pub(super) fn unfill(Draft { requests, target, more_targets, .. }: &mut Draft) {
    let identify = |auth: &mut Option<Auth>| {
        auth.iter_mut().flat_map(Auth::templates_mut).for_each(Template::unfill);
    };
    for Request { path, headers, auth, body, call, .. } in requests {
        path.unfill();
        headers.iter_mut().map(|(_, value)| value).for_each(Template::unfill);
        identify(auth);
        if let Body::Text(text) | Body::File { content: Ok(Content::Text(text)), .. } = body {
            text.unfill();
        }
        if let Call::Sql(sql) = call {
            let parameters = sql.statements.iter_mut().flat_map(|statement| statement.parameters.iter_mut().flatten());
            parameters.for_each(Template::unfill);
        }
    }
    for Target { headers, auth, .. } in target.iter_mut().chain(more_targets) {
        headers.iter_mut().map(|(_, value)| value).for_each(Template::unfill);
        identify(auth);
    }
}

/// Fills constant variables into the templates, so that a workload with only constant variables needs no script.
pub(super) fn fill(draft: &mut Draft) {
    let Draft { requests, target, more_targets, variables, .. } = draft;
    // An extraction with the same name overrides the variable.
    let extracted: HashSet<String> =
        requests.iter().flat_map(|request| &request.extract).map(|extraction| extraction.name.clone()).collect();
    let constants = composed::constants(variables, &extracted);
    let constant = |name: &Name| constants.get(&*name.variable).cloned();
    let put = |text: &mut Template| *text = text.filled(constant, |_, _, value| value);
    let identify = |auth: Option<&mut Auth>| auth.into_iter().flat_map(Auth::templates_mut).for_each(put);
    for request in requests.iter_mut() {
        request.path = request.path.filled(constant, |_, before, value| in_url(before, &value));
        request.headers.iter_mut().for_each(|(_, value)| put(value));
        identify(request.auth.as_mut());
        let format = request.format(target.iter().chain(more_targets.iter()).nth(request.target.into()));
        if let Body::Text(text) | Body::File { content: Ok(Content::Text(text)), .. } = &mut request.body {
            let escapings = text.escapings(format);
            *text = text.filled(constant, |piece, _, value| escapings[piece].apply(&value).into_owned());
        }
        if let Call::Sql(sql) = &mut request.call {
            sql.statements.iter_mut().flat_map(|statement| statement.parameters.iter_mut().flatten()).for_each(put);
        }
    }
    for target in target.iter_mut().chain(more_targets) {
        target.headers.iter_mut().for_each(|(_, value)| put(value));
        identify(target.auth.as_mut());
    }
}
