//! Whether every name a template asks for has a value when it is asked: an error before the launch, not an empty text on the
//! wire.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::script::{Auth, Body, Content, Source, Test, Variable, Wanted};
use super::{Call, Request, Target};
use crate::template::{ALWAYS, Name, Piece, Template, is_name};
use offered_base::nearest;
use offered_schedule::flow::Flows;

/// The first request that asks for what it cannot have: its index, and why.
pub(super) fn check(
    requests: &[Request],
    target: Option<&Target>,
    variables: &[Variable],
    flows: Option<&Flows>,
) -> Result<(), (usize, String)> {
    let mut extracting: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, request) in requests.iter().enumerate() {
        for extraction in &request.extract {
            extracting.entry(&extraction.name).or_default().push(number);
        }
    }
    let known = Known { requests, variables, extracting, flows };
    for (number, request) in requests.iter().enumerate() {
        let wrong = |why| (number, why);
        for name in said(request, target) {
            known.defined(name).map_err(wrong)?;
            known.in_time(number, name).map_err(wrong)?;
        }
        for name in heard(request) {
            known.defined(name).map_err(wrong)?;
            if !request.extract.iter().any(|extraction| *extraction.name == *name.variable) {
                known.in_time(number, name).map_err(wrong)?;
            }
        }
    }
    Ok(())
}

/// Whether a request says the number of its session.
pub(super) fn asks_for_session(request: &Request, target: Option<&Target>) -> bool {
    texts(request, target).flat_map(Template::pieces).any(|piece| matches!(piece, Piece::Session))
}

/// Whether a request says what tells the run from others.
pub(super) fn asks_for_run(request: &Request, target: Option<&Target>) -> bool {
    let sought = looked_for(request).map(|(_, text)| text);
    texts(request, target).chain(sought).flat_map(Template::pieces).any(|piece| matches!(piece, Piece::Run))
}

/// What a request asks for before it is sent.
fn said<'a>(request: &'a Request, target: Option<&'a Target>) -> impl Iterator<Item = &'a Name> {
    texts(request, target).flat_map(Template::names)
}

/// The templates of what is sent.
fn texts<'a>(request: &'a Request, target: Option<&'a Target>) -> impl Iterator<Item = &'a Template> {
    placed(request, target).map(|(_, text)| text)
}

/// The same, each with where it stands.
fn placed<'a>(request: &'a Request, target: Option<&'a Target>) -> impl Iterator<Item = (&'static str, &'a Template)> {
    let auth = request.auth.as_ref().or_else(|| target.and_then(|target| target.auth.as_ref()));
    let auth = auth.and_then(|auth| match auth {
        Auth::Basic(text) | Auth::Bearer(text) => Some(("auth", text)),
        Auth::Nobody => None,
    });
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
    path.chain(headers).chain(auth).chain(parts).chain(parameters.into_iter().flatten()).chain(awaited)
}

const BODY: &str = "body";

/// What a request asks for once it is answered.
fn heard(request: &Request) -> impl Iterator<Item = &Name> {
    looked_for(request).flat_map(|(_, text)| text.names())
}

/// The templates of what becomes of an answer, each with where it stands.
fn looked_for(request: &Request) -> impl Iterator<Item = (&'static str, &Template)> {
    let wanted = request.checks.iter().filter_map(|check| match &check.test {
        Test::Text(_, Wanted::Is(text) | Wanted::Contains(text)) => Some(("check", text)),
        _ => None,
    });
    request.objects.iter().flat_map(|objects| &objects.paths).map(|path| ("objects", path)).chain(wanted)
}

/// A name in single braces that some value goes by. Once it was a place for that value; now two braces make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Single {
    /// The request in which it stands.
    pub request: String,
    /// Its key there.
    pub key: &'static str,
    /// What stands between the braces.
    pub name: String,
}

impl Single {
    /// Whether a text may well mean it so: GraphQL has such names in its bodies. In a path or a header nobody does.
    pub fn may_be_meant(&self) -> bool {
        self.key == BODY
    }
}

impl fmt::Display for Single {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, key, name } = self;
        // Whichever quotes the text itself has not.
        let text = |quote: char| format!("{{{{{quote}{{{quote}}}}}{name}}}");
        write!(
            f,
            "request `{request}`: {key} has {{{name}}}, which is no place for a value any more; write {{{{{name}}}}} for the value, or {} (or {}) for the text",
            text('\''),
            text('"')
        )
    }
}

/// The names in single braces that some value goes by, each once for where it stands.
pub(super) fn singles(requests: &[Request], target: Option<&Target>, variables: &[Variable]) -> Vec<Single> {
    let extracted = requests.iter().flat_map(|request| &request.extract).map(|extraction| extraction.name.as_str());
    let named = variables.iter().map(|variable| variable.name.as_str());
    let known: HashSet<&str> = extracted.chain(named).chain(["session", "sequence"]).collect();
    let mut all: Vec<Single> = Vec::new();
    for request in requests {
        for (key, text) in placed(request, target).chain(looked_for(request)) {
            let meant = |name: &&str| name.split(['.', '|']).next().is_some_and(|name| known.contains(name));
            for name in text.singles().into_iter().filter(meant) {
                let single = Single { request: request.name.clone(), key, name: name.to_owned() };
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
    /// Whether anybody ever gives `name` a value.
    fn defined(&self, name: &Name) -> Result<(), String> {
        let variable = self.variables.iter().find(|variable| *variable.name == *name.variable);
        if let Some(Variable { source: Source::Feeder(feeder), .. }) = variable {
            let columns: Vec<&str> = feeder.rows.iter().flat_map(|rows| rows.columns()).map(String::as_str).collect();
            let example = columns.first().copied().unwrap_or("name");
            return match &name.column {
                None => Err(format!(
                    "{name} is a row of {}; write for example {{{{{}.{example}}}}}",
                    feeder.file, name.variable
                )),
                // A file that cannot be read is an error of its own, for whoever launches.
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
                "{name}: `{way}` is no way to write an instant; write iso, unix, unix_ms or a format of strftime, for example {{{{now|%Y-%m-%d}}}}"
            ));
        }
        if !is_name(&name.variable) {
            return Err(format!(
                "{name} is no place for a value, which is written {{{{name}}}}, {{{{name.column}}}} or {{{{name|raw}}}}; for two braces as they are write {{{{'{{{{'}}}}"
            ));
        }
        if variable.is_none() && !self.extracting.contains_key(&*name.variable) {
            let names = self.variables.iter().map(|variable| &*variable.name).chain(self.extracting.keys().copied());
            let mut names: Vec<&str> = names.chain(ALWAYS).collect();
            names.sort_unstable();
            return Err(format!(
                "nobody defines {name}{}; define it under [variables], extract it from an answer, or for the text itself write {{{{'{{{{'}}}} in the place of its first two braces",
                nearest(&name.variable, &names)
            ));
        }
        match name.column {
            None => Ok(()),
            Some(_) => Err(format!("{name}: `{}` has no columns; write {{{{{}}}}}", name.variable, name.variable)),
        }
    }

    /// Whether `name` has a value whenever a session comes to send `request`.
    fn in_time(&self, request: usize, name: &Name) -> Result<(), String> {
        if self.variables.iter().any(|variable| *variable.name == *name.variable) {
            return Ok(());
        }
        let Some(extracting) = self.extracting.get(&*name.variable) else { return Ok(()) };
        let by = format!("{name} is extracted from the answer to `{}`", self.requests[extracting[0]].name);
        let remedy = format!("let that come first on every way, or give `{}` a value under [variables]", name.variable);
        let Some(flows) = self.flows else {
            return Err(if extracting.contains(&request) {
                format!("{by}, which needs it itself; {remedy}")
            } else {
                format!(
                    "{by}, and in a random mix nothing says that it comes first; write a [[flow]] that sends `{}` before `{}`",
                    self.requests[extracting[0]].name, self.requests[request].name
                )
            });
        };
        match way(flows, request, extracting) {
            None => Ok(()),
            Some(way) => {
                let names: Vec<&str> = way.iter().map(|step| &*flows.steps()[usize::from(*step)].name).collect();
                let flow = &flows.flows()[usize::from(flows.steps()[usize::from(way[0])].flow)].name;
                Err(format!(
                    "{by}, but in flow `{flow}` a session comes here without it: {}; {remedy}",
                    names.join(" -> ")
                ))
            }
        }
    }
}

/// A shortest way of steps from the beginning of a session to one that sends `request`, past no step that sends one of
/// `avoided`; `None` where there is none.
fn way(flows: &Flows, request: usize, avoided: &[usize]) -> Option<Vec<u16>> {
    let sends = |step: u16| usize::from(flows.steps()[usize::from(step)].request);
    let mut came_from: HashMap<u16, Option<u16>> = HashMap::new();
    let begins = flows.flows().iter().filter(|flow| flow.weight > 0.0).map(|flow| flow.start);
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
            let ways = flows.steps()[usize::from(step)].next.ways();
            next.extend(ways.filter_map(|(to, _)| Some((to?, Some(step)))));
        }
    }
    None
}
