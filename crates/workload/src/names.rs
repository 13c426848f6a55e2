//! Checks before the run that every placeholder of a template has a value when it is needed. So no request is sent with
//! an empty text.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::condition::Condition;
use super::misfit::Place;
use super::script::{Auth, Body, Content, Source, Test, TextCondition, Variable};
use super::{Call, Draft, Request, Submit, Target};
use crate::composed::expanded;
use crate::template::{ALWAYS, Name, Piece, Template, is_name};
use offered_base::nearest;
use offered_schedule::flow::Flows;

/// The place of the first placeholder that has no value, and the reason.
pub(super) fn check(draft: &Draft, flows: Option<&Flows>) -> Result<(), (Place, String)> {
    let Draft { requests, variables, conditions, .. } = draft;
    let mut extracting: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, request) in requests.iter().enumerate() {
        for extraction in &request.extract {
            extracting.entry(&extraction.name).or_default().push(number);
        }
    }
    let known = Known { requests, variables, extracting, flows };
    for variable in variables {
        let of_variable = |why| (Place::Variables, format!("`{}`: {why}", variable.name));
        variable.source.names().try_for_each(|name| known.check_defined(name)).map_err(of_variable)?;
    }
    // Whether a value that a condition needs is there is a part of the condition.
    let mut conditional = conditions.iter().flat_map(Condition::templates).flat_map(Template::names);
    let of_condition = |why| (Place::Flows, format!("a condition of a flow: {why}"));
    conditional.try_for_each(|name| known.check_defined(name)).map_err(of_condition)?;
    for (number, request) in requests.iter().enumerate() {
        let wrong = |why| (Place::Request(number), why);
        for name in request_names(request, draft.target_of(request)).flat_map(|name| expanded(name, variables)) {
            known.check_defined(name).map_err(wrong)?;
            known.check_available(number, name).map_err(wrong)?;
        }
        for name in response_names(request).flat_map(|name| expanded(name, variables)) {
            known.check_defined(name).map_err(wrong)?;
            if !request.extract.iter().any(|extraction| *extraction.name == *name.variable) {
                known.check_available(number, name).map_err(wrong)?;
            }
        }
    }
    Ok(())
}

/// Whether a request contains the number of its session.
pub(super) fn uses_session_number(request: &Request, target: Option<&Target>) -> bool {
    request_templates(request, target)
        .flat_map(Template::pieces)
        .flat_map(Piece::atoms)
        .any(|piece| matches!(piece, Piece::Session))
}

/// Whether a request or one of its checks contains the run id.
pub(super) fn uses_run_id(request: &Request, target: Option<&Target>) -> bool {
    let sought = response_templates(request).map(|(_, text)| text);
    request_templates(request, target).chain(sought).flat_map(Template::pieces).any(Piece::uses_run_id)
}

/// Whether a request, or what it expects of its response, contains a variable, directly or in the value of another one of `variables`.
pub(super) fn has_variable(request: &Request, target: Option<&Target>, variables: &[Variable], variable: &str) -> bool {
    let names = request_names(request, target).chain(response_names(request));
    names.flat_map(|name| expanded(name, variables)).any(|name| *name.variable == *variable)
}

/// The placeholders that need a value before a request is sent.
fn request_names<'a>(request: &'a Request, target: Option<&'a Target>) -> impl Iterator<Item = &'a Name> {
    request_templates(request, target).flat_map(Template::names)
}

/// The templates of a request.
fn request_templates<'a>(request: &'a Request, target: Option<&'a Target>) -> impl Iterator<Item = &'a Template> {
    request_templates_with_keys(request, target).map(|(_, text)| text)
}

/// The templates of a request, with their keys in the workload file.
fn request_templates_with_keys<'a>(
    request: &'a Request,
    target: Option<&'a Target>,
) -> impl Iterator<Item = (&'static str, &'a Template)> {
    let auth = request.auth.as_ref().or_else(|| target.and_then(|target| target.auth.as_ref()));
    let auth = auth.into_iter().flat_map(Auth::templates).map(|text| ("auth", text));
    let parts: Vec<(&str, &Template)> = match &request.body {
        Body::Form(fields) => fields.iter().map(|(_, value)| ("form", value)).collect(),
        Body::Multipart(parts) => parts
            .iter()
            .filter_map(|part| match &part.content {
                Ok(Content::Text(text)) => Some(("multipart", text)),
                _ => None,
            })
            .collect(),
        body => body.text().into_iter().map(|text| (BODY, text)).collect(),
    };
    let fields = request.submit.iter().flat_map(Submit::templates).map(|(_, text)| ("submit", text));
    let parameters = match &request.call {
        Call::Sql(sql) => Some(sql.templates().map(|text| ("parameters", text))),
        Call::Http | Call::Grpc | Call::WebSocket(_) => None,
    };
    let awaited = match &request.call {
        Call::WebSocket(chat) => chat.awaited.as_ref().map(|text| ("websocket.await", text)),
        Call::Http | Call::Grpc | Call::Sql(_) => None,
    };
    let headers = request.headers_to(target).map(|(_, value)| ("headers", value));
    let path = std::iter::once(("path", &request.path));
    path.chain(headers).chain(auth).chain(parts).chain(fields).chain(parameters.into_iter().flatten()).chain(awaited)
}

const BODY: &str = "body";

/// The placeholders that need a value when the response has arrived.
fn response_names(request: &Request) -> impl Iterator<Item = &Name> {
    response_templates(request).flat_map(|(_, text)| text.names())
}

/// The templates for the response (checks and paths of objects), with their keys in the workload file.
fn response_templates(request: &Request) -> impl Iterator<Item = (&'static str, &Template)> {
    let checked = request.checks.iter().filter_map(|check| match &check.test {
        Test::Text(_, TextCondition::Is(text) | TextCondition::Contains(text)) => Some(("check", text)),
        _ => None,
    });
    request.objects.iter().flat_map(|objects| &objects.paths).map(|path| ("objects", path)).chain(checked)
}

/// A name of a value in single braces. In earlier versions it was a placeholder; now a placeholder has two braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleBraces {
    /// The label of the request.
    pub request: String,
    /// The key in the workload file.
    pub key: &'static str,
    /// The text between the braces.
    pub name: String,
}

impl SingleBraces {
    /// Whether the braces are possibly intended: GraphQL bodies contain such names, paths and headers do not.
    pub fn may_be_literal(&self) -> bool {
        self.key == BODY
    }
}

impl fmt::Display for SingleBraces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, key, name } = self;
        // The quotes that the text does not contain.
        let text = |quote: char| format!("{{{{{quote}{{{quote}}}}}{name}}}");
        write!(
            f,
            "request `{request}`: {key} has {{{name}}}, which is no longer a placeholder; write {{{{{name}}}}} for the value, or {} (or {}) for the text",
            text('\''),
            text('"')
        )
    }
}

/// The names of values in single braces, each once per request and key.
pub(super) fn singles(draft: &Draft) -> Vec<SingleBraces> {
    let Draft { requests, variables, .. } = draft;
    let extracted = requests.iter().flat_map(|request| &request.extract).map(|extraction| extraction.name.as_str());
    let named = variables.iter().map(|variable| variable.name.as_str());
    let known: HashSet<&str> = extracted.chain(named).chain(["session", "sequence"]).collect();
    let mut all: Vec<SingleBraces> = Vec::new();
    for request in requests {
        for (key, text) in
            request_templates_with_keys(request, draft.target_of(request)).chain(response_templates(request))
        {
            let is_known = |name: &&str| name.split(['.', '|']).next().is_some_and(|name| known.contains(name));
            for name in text.singles().into_iter().filter(is_known) {
                let single = SingleBraces { request: request.name.clone(), key, name: name.to_owned() };
                if !all.contains(&single) {
                    all.push(single);
                }
            }
        }
    }
    all
}

struct Known<'a> {
    requests: &'a [Request],
    variables: &'a [Variable],
    /// Which requests extract a name.
    extracting: HashMap<&'a str, Vec<usize>>,
    flows: Option<&'a Flows>,
}

impl Known<'_> {
    /// Checks that `name` is a variable, an extracted value or a built-in value.
    fn check_defined(&self, name: &Name) -> Result<(), String> {
        let variable = self.variables.iter().find(|variable| *variable.name == *name.variable);
        if let Some(Variable { source: Source::Feeder(feeder), .. }) = variable {
            let columns: Vec<&str> = feeder.rows.iter().flat_map(|rows| rows.columns()).map(String::as_str).collect();
            let example = columns.first().copied().unwrap_or("name");
            return match &name.column {
                None => Err(format!(
                    "{name} is a row of {}; write for example {{{{{}.{example}}}}}",
                    feeder.file, name.variable
                )),
                // A file that cannot be read is a separate error, reported before a run.
                Some(column) if feeder.rows.is_ok() && !columns.contains(&&**column) => Err(format!(
                    "{} has no column `{column}`{}; it has {}",
                    feeder.file,
                    nearest(column, &columns),
                    columns.join(", ")
                )),
                Some(_) => Ok(()),
            };
        }
        if let Some((_, way)) = name.variable.split_once('|').filter(|(named, _)| named.trim_end() == "now") {
            return Err(format!(
                "{name}: `{way}` is not a time format; write iso, unix, unix_ms or a format of strftime, for example {{{{now|%Y-%m-%d}}}}"
            ));
        }
        if !is_name(&name.variable) {
            return Err(format!(
                "{name} is not a placeholder; write {{{{name}}}}, {{{{name.column}}}} or {{{{name|raw}}}}, or for two literal braces {{{{'{{{{'}}}}"
            ));
        }
        if variable.is_none() && !self.extracting.contains_key(&*name.variable) {
            let names = self.variables.iter().map(|variable| &*variable.name).chain(self.extracting.keys().copied());
            let mut names: Vec<&str> = names.chain(ALWAYS).collect();
            names.sort_unstable();
            return Err(format!(
                "{name} is undefined{}; define it under [variables], extract it from a response, or for the literal text write {{{{'{{{{'}}}} instead of its first two braces",
                nearest(&name.variable, &names)
            ));
        }
        match name.column {
            None => Ok(()),
            Some(_) => Err(format!("{name}: `{}` has no columns; write {{{{{}}}}}", name.variable, name.variable)),
        }
    }

    /// Checks that `name` has a value whenever a session sends `request`.
    fn check_available(&self, request: usize, name: &Name) -> Result<(), String> {
        if self.variables.iter().any(|variable| *variable.name == *name.variable) {
            return Ok(());
        }
        let Some(extracting) = self.extracting.get(&*name.variable) else { return Ok(()) };
        let by = format!("{name} is extracted from the response to `{}`", self.requests[extracting[0]].name);
        let remedy =
            format!("send that request first on every path, or give `{}` a value under [variables]", name.variable);
        let Some(flows) = self.flows else {
            return Err(if extracting.contains(&request) {
                format!("{by}, but the same request needs it; {remedy}")
            } else {
                format!(
                    "{by}, but in a random mix that request is not always first; write a [[flow]] that sends `{}` before `{}`",
                    self.requests[extracting[0]].name, self.requests[request].name
                )
            });
        };
        match path_without(flows, request, extracting) {
            None => Ok(()),
            Some(way) => {
                let names: Vec<&str> = way.iter().map(|step| &*flows.steps()[usize::from(*step)].name).collect();
                let flow = &flows.flows()[usize::from(flows.steps()[usize::from(way[0])].flow)].name;
                Err(format!(
                    "{by}, but in flow `{flow}` a session reaches this request without it: {}; {remedy}",
                    names.join(" -> ")
                ))
            }
        }
    }
}

/// A shortest path of steps from the start of a session to one that sends `request`, without steps that send one of
/// `avoided`; `None`: no such path.
pub(super) fn path_without(flows: &Flows, request: usize, avoided: &[usize]) -> Option<Vec<u16>> {
    let sends = |step: u16| usize::from(flows.steps()[usize::from(step)].request);
    let mut came_from: HashMap<u16, Option<u16>> = HashMap::new();
    let begins = flows.begins().map(|flow| flow.start);
    let mut next: std::collections::VecDeque<(u16, Option<u16>)> = begins.map(|start| (start, None)).collect();
    while let Some((step, from)) = next.pop_front() {
        if came_from.contains_key(&step) {
            continue;
        }
        came_from.insert(step, from);
        if sends(step) == request {
            let mut way = vec![step];
            while let Some(before) = came_from[&way[way.len() - 1]] {
                way.push(before);
            }
            way.reverse();
            return Some(way);
        }
        if !avoided.contains(&sends(step)) {
            next.extend(flows.followers(step).iter().filter_map(|to| Some(((*to)?, Some(step)))));
        }
    }
    None
}
