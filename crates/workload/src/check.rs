//! Checks that the parts of a workload fit together.

mod arrivals;
mod fill;
mod oauth2;
pub(super) mod parts;
mod regions;
pub(super) mod submit;

use std::collections::HashSet;

use super::policies::SHORTEST;
use super::request::{check_headers, check_once, check_path};
use super::retry::check_attempts;
use super::script::{Body, Extraction, Find, Source, Test};
use super::{
    Address, Call, Draft, Encryption, Policies, Pool, Protocol, Request, Reuse, Target, Tls, Workload, names, scenario,
};
use crate::composed;
use crate::misfit::{Misfit, Place};
use crate::prompt::PromptTokens;
use crate::template::{Piece, Template};
use crate::threshold::{Quantity, Threshold};
use offered_base::time::Nanos;
use offered_base::{InvalidValue, nearest};
use offered_schedule::replay::ReplayMode;
use offered_schedule::{Opening, Scenarios, Sessions};

use self::fill::{fill, unfill};
use self::parts::{check_auth, check_extraction, check_objects, check_part, check_test, check_variable};
use self::regions::check_regions;
use self::submit::check_submit;

impl Workload {
    /// Checks a draft and makes a workload of it. Variables with a constant value are filled into the templates.
    ///
    /// # Errors
    /// The first conflict: a duration that is skipped completely, no request, a request that is never sent, a duplicate name,
    /// sessions or thresholds with an unknown request, templates with an undefined name, a
    /// modelled server together with stations, or a value that cannot be written to a workload file and read again.
    pub fn new(draft: Draft) -> Result<Self, InvalidValue> {
        Self::checked(draft).map_err(|misfit| InvalidValue::new(misfit.why))
    }

    /// The parts of this workload, which can be changed and checked again.
    pub fn into_draft(self) -> Draft {
        self.0
    }

    pub(super) fn checked(mut draft: Draft) -> Result<Self, Misfit> {
        let whole = |wrong: InvalidValue| Misfit { place: Place::Whole, why: wrong.to_string() };
        unfill(&mut draft);
        let longest = if draft.skip_first < draft.skip_last { "skip_last" } else { "skip_first" };
        counted(draft.duration, draft.skip_first, draft.skip_last)
            .or_else(|wrong| Place::Key(longest).wrong(wrong.to_string()))?;
        arrivals::count(&draft)?;
        policies(&draft)?;
        targets(&draft)?;
        variables(&draft)?;
        requests(&draft)?;
        database(&draft)?;
        stations(&draft)?;
        arrivals::opening(&draft.sessions).map_err(whole)?;
        session_requests(&draft).map_err(whole)?;
        let flows = draft.sessions.flows().map(|flows| &**flows);
        match draft.sessions.scenarios() {
            Some(scenarios) => scenario::check(&draft, scenarios)?,
            None => names::check(&draft, flows).or_else(|(place, why)| match place {
                Place::Request(number) => place.wrong(format!("request `{}`: {why}", draft.requests[number].name)),
                place => place.wrong(why),
            })?,
        }
        for (number, Request { name, .. }) in draft.requests.iter().enumerate() {
            submit::pages(&draft.requests, flows, number)
                .or_else(|why| Place::Request(number).wrong(format!("request `{name}`: {why}")))?;
        }
        for condition in &draft.conditions {
            condition.check(&draft.requests).or_else(|wrong| Place::Flows.wrong(wrong))?;
        }
        fill(&mut draft);
        oauth2::check_token_endpoints(&draft)?;
        let relative =
            |path: &Template| matches!(path.pieces().first(), Some(Piece::Text(_))) && check_path(path).is_err();
        if let Some(Request { name, path, .. }) = draft.requests.iter().find(|request| relative(&request.path)) {
            return Place::Whole
                .wrong(format!("the path of request `{name}` becomes `{path}`, which does not start with /"));
        }
        let groups = crate::group::check(&draft.groups, draft.sessions.flows().map(|flows| &**flows));
        groups.or_else(|(number, why)| Place::Group(number).wrong(why))?;
        thresholds(&draft)?;
        crate::goodput::check_thresholds(&draft)?;
        Ok(Self(draft))
    }
}

/// Checks that a part of the duration is not skipped.
fn counted(duration: Nanos, skip_first: Nanos, skip_last: Nanos) -> Result<(), InvalidValue> {
    if skip_first + skip_last < duration {
        return Ok(());
    }
    Err(InvalidValue::new(format!(
        "skip_first {skip_first} and skip_last {skip_last} leave nothing of the duration {duration}; increase the duration, or reduce skip_first or skip_last"
    )))
}

/// Checks that all policies have equally many blocks, in complete rounds.
fn policies(Draft { policies, duration, count, skip_first, skip_last, .. }: &Draft) -> Result<(), Misfit> {
    let Some(said @ Policies { names, block, settle, hook }) = policies else { return Ok(()) };
    let mut seen = HashSet::new();
    if names.len() < 2 {
        return Place::Policies("names").wrong("needs at least two policies to compare");
    }
    match names.iter().find(|name| name.trim().is_empty() || !seen.insert(*name)) {
        Some(name) if name.trim().is_empty() => return Place::Policies("names").wrong("has a name that is empty"),
        Some(name) => return Place::Policies("names").wrong(format!("has `{name}` twice")),
        None => {}
    }
    if hook.first().is_none_or(|program| program.trim().is_empty()) {
        return Place::Policies("hook").wrong("must be a command, such as [\"./switch\", \"{{policy}}\"]");
    }
    if *block < SHORTEST {
        return Place::Policies("block").wrong(format!("must be at least {SHORTEST}: each switch runs a command"));
    }
    if settle >= block {
        return Place::Policies("settle").wrong(format!("must be shorter than a block, {block}"));
    }
    if count.is_some() {
        return Place::Policies("block").wrong(
            "needs a duration, without `requests` or `sessions`: these could end the run before all policies have equally many blocks",
        );
    }
    let (counted, round) = (*duration - *skip_first - *skip_last, said.round());
    let rounds = counted.0 / round.0;
    if rounds > 0 && counted.0 % round.0 == 0 {
        return Ok(());
    }
    let lengths = [rounds, rounds + 1].into_iter().filter(|rounds| *rounds > 0);
    let lengths = lengths.map(|rounds| (Nanos(rounds * round.0) + *skip_first + *skip_last).to_string());
    Place::Policies("block").wrong(format!(
        "does not divide the counted time, {counted}: one round of {} policies, forwards and backwards, takes {round}; write duration = {}",
        names.len(),
        lengths.collect::<Vec<_>>().join(" or ")
    ))
}

/// Checks that requests can be chosen by weight.
fn weighted(requests: &[Request]) -> Result<(), InvalidValue> {
    if let Some(request) = requests.iter().find(|request| !(request.weight >= 0.0 && request.weight.is_finite())) {
        return Err(InvalidValue::new(format!("a weight must be zero or more, not {}", request.weight)));
    }
    if requests.iter().all(|request| request.weight == 0.0) {
        return Err(InvalidValue::new("at least one request needs a weight above zero"));
    }
    Ok(())
}

/// Checks that sessions use only existing requests, and that the requests of a replay are those of its trace.
fn session_requests(Draft { sessions, requests, .. }: &Draft) -> Result<(), InvalidValue> {
    let most = match sessions {
        Sessions::Replay(replay) => Some(replay.trace().max_request()),
        sessions => sessions.flows().and_then(|flows| flows.steps().iter().map(|step| step.request).max()),
    };
    match most {
        Some(request) if usize::from(request) >= requests.len() => {
            return Err(InvalidValue::new(format!(
                "sessions use request number {request}, but there are only {}",
                requests.len()
            )));
        }
        _ => {}
    }
    let has_requests = matches!(sessions, Sessions::Replay(replay) if replay.trace().has_requests());
    let of_trace = |request: &Request| {
        let path = request.path.text().unwrap_or_default();
        *request == Request::of_trace(request.method.clone(), path)
    };
    match requests.iter().find(|request| has_requests && !of_trace(request)) {
        Some(Request { name, .. }) => Err(InvalidValue::new(format!(
            "a trace contains only method and path of a request; remove the other keys of `{name}`"
        ))),
        None => Ok(()),
    }
}

fn targets(Draft { target, more_targets, .. }: &Draft) -> Result<(), Misfit> {
    let mut names = HashSet::new();
    for each in target.iter().chain(more_targets) {
        self::target(each)?;
        if !more_targets.is_empty() && each.url.login.is_some() {
            return Place::Target("url").wrong("a database cannot be combined with other targets");
        }
        if each.name.as_ref().is_some_and(|name| !names.insert(name)) {
            return Place::Target("name").wrong("two targets have the same name");
        }
    }
    match more_targets.iter().find(|each| each.name.is_none()) {
        Some(each) => Place::Target("name").wrong(format!("give the target {} a name", each.url)),
        None => Ok(()),
    }
}

fn target(target: &Target) -> Result<(), Misfit> {
    let Target { url, tls, proxy, protocol, headers, omit_headers, auth, redirects, .. } = target;
    if url.written().parse().as_ref() != Ok(url) {
        return Place::Target("url").wrong(format!("`{url}` cannot be written as a URL"));
    }
    if let Some(proxy) = proxy
        && proxy.to_string().parse().as_ref() != Ok(proxy)
    {
        return Place::Target("proxy").wrong("the address of the proxy cannot be written as a URL");
    }
    let applies = if url.login.is_some() { "does not apply" } else { "applies only" };
    if let Some(key) = target.misplaced_key() {
        return Place::Target(key).wrong(format!("{applies} to a database (postgres://)"));
    }
    let times = [
        ("connect_timeout", Some(target.connect_timeout)),
        ("response_timeout", Some(target.response_timeout)),
        ("resolve_every", target.resolve_every),
    ];
    if let Some((key, _)) = times.into_iter().find(|(_, time)| *time == Some(Nanos::ZERO)) {
        return Place::Target(key).wrong("must be longer than 0s");
    }
    let limits = [("connections", target.connections), ("in_flight", target.in_flight)];
    if let Some((key, _)) = limits.into_iter().find(|(_, most)| *most == Some(0)) {
        return Place::Target(key).wrong("must be at least 1");
    }
    if *redirects > Target::MOST_REDIRECTS {
        return Place::Target("redirects")
            .wrong(format!("{redirects} redirects are too many; write a number up to {}", Target::MOST_REDIRECTS));
    }
    check_headers(headers).or_else(|wrong| Place::Target("headers").wrong(wrong))?;
    if let Some(other) = omit_headers.iter().find(|name| !Target::OWN_HEADERS.contains(&name.as_str())) {
        return Place::Target("omit_headers")
            .wrong(format!("`{other}` is not one of {}", Target::OWN_HEADERS.join(", ")));
    }
    auth.as_ref().map_or(Ok(()), check_auth).or_else(|wrong| Place::Target("auth").wrong(wrong))?;
    if *tls != Tls::default() && !url.secure {
        let need =
            if url.login.is_some() { "an sslmode other than disable" } else { "a url that begins with https://" };
        return Place::Target("tls").wrong(format!("TLS needs {need}"));
    }
    match url.login.as_ref().map(|login| login.encryption) {
        Some(Encryption::Verified) if tls.insecure => {
            return Place::Target("tls").wrong("sslmode=verify-full and insecure = true contradict each other");
        }
        Some(Encryption::Preferred | Encryption::Required) if tls.roots.is_some() || tls.server_name.is_some() => {
            return Place::Target("tls").wrong("only sslmode=verify-full checks the server's certificate");
        }
        _ => {}
    }
    if tls.insecure && tls.roots.is_some() {
        return Place::Target("tls").wrong("insecure = true accepts any certificate; give roots or insecure, not both");
    }
    if proxy.is_some() && matches!(url.address, Address::Unix(_)) {
        return Place::Target("proxy").wrong("cannot be combined with a Unix socket");
    }
    match protocol {
        Protocol::Http2 if proxy.is_some() && !url.secure => {
            Place::Target("protocol").wrong("a proxy can forward h2 only inside TLS; use an https:// url")
        }
        Protocol::Auto if !url.secure => {
            Place::Target("protocol").wrong("\"auto\" negotiates by TLS; for an http:// url write \"http1\" or \"h2\"")
        }
        _ => Ok(()),
    }
}

fn variables(draft @ Draft { variables, .. }: &Draft) -> Result<(), Misfit> {
    let mut names = HashSet::new();
    for variable in variables {
        let name = &variable.name;
        check_variable(variable).or_else(|wrong| Place::Variables.wrong(format!("`{name}`: {wrong}")))?;
        if !names.insert(name) {
            return Place::Variables.wrong(format!("two variables are named `{name}`; give each its own name"));
        }
        if let Source::Conversation(user) = &variable.source {
            check_conversation(name, user, draft)?;
        }
        let is_of_trace = match &variable.source {
            Source::Prompt(prompt) => prompt.tokens == PromptTokens::Trace,
            Source::TraceValue(_) => true,
            _ => false,
        };
        if is_of_trace && !matches!(&draft.sessions, Sessions::Replay(replay) if replay.trace().has_tokens()) {
            return Place::Variables.wrong(format!(
                "`{name}` needs a replayed trace with numbers of tokens; write for example [arrivals] replay = {{ trace = \"azure.csv\" }}"
            ));
        }
        if matches!(variable.source, Source::Work(_)) && !all_have_work(draft) {
            return Place::Variables.wrong(format!(
                "`{name}` is the work of a request, but the work is undefined; write [server] service = {{ exponential = \"10ms\" }}, or service in every request"
            ));
        }
    }
    composed::check_cycles(variables).or_else(|cycle| Place::Variables.wrong(cycle))
}

/// Checks the conversation `name`, in which the messages of the user are the values of variable `user`.
fn check_conversation(name: &str, user: &str, Draft { variables, sessions, .. }: &Draft) -> Result<(), Misfit> {
    let wrong = |why: String| Place::Variables.wrong(format!("`{name}`: {why}"));
    let source = variables.iter().find(|variable| variable.name == user).map(|variable| &variable.source);
    let is_of_trace = match source {
        None | Some(Source::Conversation(_)) => {
            return wrong(format!("`{user}` must be a variable with the user's message"));
        }
        Some(Source::Prompt(prompt)) => prompt.tokens == PromptTokens::Trace,
        Some(_) => false,
    };
    if matches!(sessions, Sessions::PartlyOpen { opening: Opening::Stationary, .. }) {
        return wrong(
            "sessions that began before the run have no earlier messages; remove start = \"stationary\"".to_owned(),
        );
    }
    let has_texts = matches!(sessions, Sessions::Replay(replay) if replay.trace().has_texts());
    if is_of_trace && !has_texts {
        return wrong(format!(
            "the prompts of this trace contain the earlier turns already; send {{{{{user}}}}} as the only message"
        ));
    }
    let is_endless = |sessions: &Sessions| match sessions {
        Sessions::Closed(closed) => closed.flows().is_none(),
        Sessions::Replay(replay) => matches!(replay.mode(), ReplayMode::Closed(_)),
        _ => false,
    };
    let scenarios = sessions.scenarios().map_or(&[][..], |scenarios| scenarios.all());
    if is_endless(sessions) || scenarios.iter().any(|scenario| is_endless(&scenario.sessions)) {
        return wrong(
            "closed users never end their conversation; use arrivals.partly_open, a flow, or a replay as sessions"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether the work of every request for a single modelled server is defined.
fn all_have_work(Draft { server, stations, requests, sessions, .. }: &Draft) -> bool {
    let traced = matches!(sessions, Sessions::Replay(replay) if replay.trace().has_work());
    stations.is_empty() && (server.is_some() || traced || requests.iter().all(|request| request.service.is_some()))
}

/// Checks headers, body, authentication, extractions, checks and objects of a request.
fn request(request: &Request) -> Result<(), InvalidValue> {
    let Request { call, headers, body, submit, auth, extract, checks, objects, stream, .. } = request;
    check_attempts(request)?;
    check_headers(headers)?;
    submit.as_ref().map_or(Ok(()), check_submit)?;
    if submit.is_some() && (*call != Call::Http || *body != Body::None) {
        return Err(InvalidValue::new("a request with submit must be HTTP and cannot have its own body"));
    }
    match (call, body) {
        (Call::Sql(_), _) if !headers.is_empty() || *body != Body::None || auth.is_some() || objects.is_some() => {
            return Err(InvalidValue::new("a request in SQL cannot have headers, body, auth or objects"));
        }
        (Call::WebSocket { .. }, Body::File { .. } | Body::Form(_) | Body::Multipart(_)) => {
            return Err(InvalidValue::new("a WebSocket message must be a text"));
        }
        (_, Body::Form(fields)) => check_once(fields)?,
        (_, Body::Multipart(parts)) => parts.iter().try_for_each(check_part)?,
        (_, Body::File { raw, content, .. }) => parts::check_content(*raw, content)?,
        (_, Body::None | Body::Text(_)) => {}
    }
    auth.as_ref().map_or(Ok(()), check_auth)?;
    let mut names = HashSet::new();
    for extraction in extract {
        check_extraction(extraction)?;
        let Extraction { name, .. } = extraction;
        if !names.insert(name) {
            return Err(InvalidValue::new(format!("a second `{name}`; give each its own name")));
        }
    }
    checks.iter().try_for_each(|check| check_test(&check.test))?;
    stream.as_ref().map_or(Ok(()), |stream| stream.check(request))?;
    objects.as_ref().map_or(Ok(()), check_objects)
}

fn requests(Draft { requests, sessions, .. }: &Draft) -> Result<(), Misfit> {
    if requests.is_empty() || requests.len() > usize::from(u16::MAX) {
        return Place::Requests.wrong("expected between 1 and 65535 [[request]] tables");
    }
    let mut names = HashSet::new();
    if let Some(number) = requests.iter().position(|request| !names.insert(&request.name)) {
        let name = &requests[number].name;
        return Place::Request(number).wrong(format!("two requests are named `{name}`; give each its own name"));
    }
    for (number, asked) in requests.iter().enumerate() {
        request(asked).or_else(|wrong| Place::Request(number).wrong(format!("request `{}`: {wrong}", asked.name)))?;
    }
    weighted(requests).or_else(|wrong| Place::Requests.wrong(wrong))?;
    let Some(flows) = sessions.flows().filter(|_| sessions.scenarios().is_none()) else { return Ok(()) };
    let sent: HashSet<usize> = flows.steps().iter().map(|step| usize::from(step.request)).collect();
    match requests.iter().enumerate().find(|(number, _)| !sent.contains(number)) {
        Some((_, Request { name, .. })) => {
            Place::Flows.wrong(format!("the request `{name}` is in no flow, so it would never be sent"))
        }
        None => Ok(()),
    }
}

/// Checks that all requests to a database are in SQL and name existing pools, and that no other target has requests in SQL.
fn database(Draft { target, requests, .. }: &Draft) -> Result<(), Misfit> {
    let sql = |request: &Request| match &request.call {
        Call::Sql(sql) => Some(sql.clone()),
        Call::Http | Call::Grpc | Call::WebSocket { .. } => None,
    };
    for (number, request) in requests.iter().enumerate() {
        if let Some(place) = request.unavailable_part(sql(request).is_some()) {
            let server = if sql(request).is_some() { "a database" } else { "a server that is not a database" };
            return Place::Request(number).wrong(format!("a response of {server} has no {place}"));
        }
    }
    let Some(target) = target else { return Ok(()) };
    if target.url.login.is_none() {
        return match requests.iter().position(|request| sql(request).is_some()) {
            Some(number) => {
                Place::Request(number).wrong("a request in SQL needs a target url that begins with postgres://")
            }
            None => Ok(()),
        };
    }
    if target.pools.is_empty() && target.connections.is_none() {
        return Place::Whole.wrong(
            "a database needs a number of connections, which are opened before the run: target.connections = 20",
        );
    }
    pools(target)?;
    let names: Vec<&str> = target.pools.iter().map(|pool| pool.name.as_str()).collect();
    for (number, request) in requests.iter().enumerate() {
        let place = Place::Request(number);
        let Some(sql) = sql(request) else {
            return place.wrong("a request to a database must be in SQL; write sql = \"select 1\"");
        };
        match sql.class.as_deref() {
            None if names.is_empty() => {}
            None => {
                return place
                    .wrong(format!("the request needs the pool of its connection; write class = \"{}\"", names[0]));
            }
            Some(class) if names.contains(&class) => {}
            Some(_) if names.is_empty() => {
                return place.wrong("`class` needs target.pools = { short = 20, long = 20 }");
            }
            Some(class) => {
                let why = format!("class `{class}` is not one of {}{}", names.join(", "), nearest(class, &names));
                return place.wrong(why);
            }
        }
    }
    Ok(())
}

fn pools(Target { pools, connections, .. }: &Target) -> Result<(), Misfit> {
    let mut names = HashSet::new();
    for Pool { name, connections } in pools {
        if *connections == 0 {
            return Place::Target("pools").wrong(format!("the pool `{name}` must have at least 1 connection"));
        }
        if !names.insert(name) {
            return Place::Target("pools").wrong(format!("two pools are named `{name}`; give each its own name"));
        }
    }
    if pools.len() > usize::from(u16::MAX) {
        return Place::Target("pools").wrong("more than 65535 pools");
    }
    if !pools.is_empty() && connections.is_some() {
        return Place::Target("connections")
            .wrong("cannot be combined with pools, which have their own numbers of connections");
    }
    Ok(())
}

impl Target {
    /// The first key that does not apply to this kind of target: a key of databases for another server, or the reverse.
    fn misplaced_key(&self) -> Option<&'static str> {
        let given: [(&str, bool); 13] = [
            ("pools", !self.pools.is_empty()),
            ("on_connect", !self.on_connect.is_empty()),
            ("hook", !self.hook.is_empty()),
            ("reuse", self.reuse != Reuse::Pool),
            ("headers", !self.headers.is_empty()),
            ("omit_headers", !self.omit_headers.is_empty()),
            ("auth", self.auth.is_some()),
            ("cookies", self.cookies),
            ("redirects", self.redirects > 0),
            ("resend", !self.resend),
            ("proxy", self.proxy.is_some()),
            ("protocol", self.protocol != Protocol::default()),
            ("descriptors", self.descriptors.is_some()),
        ];
        let (of_databases, of_others) = given.split_at(3);
        let foreign = if self.url.login.is_some() { of_others } else { of_databases };
        foreign.iter().find(|(_, given)| *given).map(|(key, _)| *key)
    }
}

impl Request {
    /// The first part of a response that a check or an extraction needs and that responses of a database (or of another server) lack.
    fn unavailable_part(&self, of_database: bool) -> Option<&'static str> {
        fn place(find: &Find) -> Option<(&'static str, bool)> {
            match find {
                Find::Matched { of, .. } => place(of),
                Find::Header(_) => Some(("header", false)),
                Find::Cookie(_) => Some(("cookie", false)),
                Find::Url => Some(("url", false)),
                Find::Css { .. } => Some(("css", false)),
                Find::Column(_) => Some(("column", true)),
                Find::Body | Find::Json(_) | Find::Regex { .. } => None,
            }
        }
        let tested = self.checks.iter().filter_map(|check| match &check.test {
            Test::Text(find, _) => place(find),
            Test::Status(_) => Some(("status", false)),
            Test::Size(_) => Some(("size", false)),
            Test::Sha256(_) => Some(("sha256", false)),
            Test::Rows(_) => Some(("rows", true)),
            Test::Time(_) => None,
        });
        let mut all = self.extract.iter().filter_map(|extraction| place(&extraction.find)).chain(tested);
        all.find(|(_, only)| *only != of_database).map(|(place, _)| place)
    }
}

fn stations(Draft { server, stations, regions, .. }: &Draft) -> Result<(), Misfit> {
    if server.is_some() && !stations.is_empty() {
        return Place::Stations.wrong("[[station]] cannot be combined with [server]; remove one");
    }
    let mut names = HashSet::new();
    match stations.iter().position(|station| !names.insert(&station.name)) {
        Some(number) => Place::Station(number)
            .wrong(format!("two stations are named `{}`; give each its own name", stations[number].name)),
        None => check_regions(regions, stations, names),
    }
}

/// Checks that the label of each threshold is the name of a request, flow, group or other measured part, and that no
/// threshold is a duplicate.
fn thresholds(Draft { thresholds, requests, sessions, groups, .. }: &Draft) -> Result<(), Misfit> {
    let scenarios = || sessions.scenarios().into_iter().flat_map(Scenarios::all).map(|scenario| scenario.name.as_str());
    let labels: Vec<&str> = requests.iter().map(|request| request.name.as_str()).chain(scenarios()).collect();
    let steps = sessions.flows().map_or_else(Vec::new, |flows| flows.step_names());
    let with_steps: Vec<&str> = labels.iter().copied().chain(steps.iter().map(String::as_str)).collect();
    let flows = sessions.flows().into_iter().flat_map(|flows| flows.flows()).map(|flow| flow.name.as_str());
    let flows: Vec<&str> = flows.chain(scenarios()).collect();
    let groups: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let checks: Vec<&str> = requests.iter().flat_map(|request| &request.checks).map(|check| &*check.name).collect();
    let metrics: Vec<&str> = requests.iter().flat_map(Request::metrics).collect();
    for (number, threshold) in thresholds.iter().enumerate() {
        let (metric, bound) = (threshold.metric.to_string(), threshold.bound.to_string());
        let written = Threshold::new(&metric, &bound).map(|written| Threshold { stop: threshold.stop, ..written });
        if written.as_ref() != Ok(threshold) {
            return Place::Threshold(number).wrong(format!("`{threshold}` cannot be written as a threshold"));
        }
        if thresholds[..number].iter().any(|earlier| earlier.metric == threshold.metric) {
            return Place::Threshold(number).wrong(format!("{metric} has two thresholds; write one, or a range"));
        }
        let quantity = threshold.metric.quantity;
        if quantity.is_of_groups() && groups.is_empty() {
            return Place::Threshold(number).wrong(format!("there is no {quantity} without a [[group]]; add one"));
        }
        if quantity.is_of_visits() && !sessions.have_visits() {
            return Place::Threshold(number).wrong(format!(
                "no session makes several requests, so there is no {quantity}; use arrivals.partly_open, or add a [[flow]]"
            ));
        }
        if matches!(quantity, Quantity::Metric(_)) && threshold.metric.label.is_none() {
            let example = metrics.first().copied().unwrap_or("rows");
            return Place::Threshold(number).wrong(format!("name the metric, for example {quantity}{{{example}}}"));
        }
        let known = match quantity {
            Quantity::ChecksFailed => &checks,
            Quantity::Metric(_) => &metrics,
            Quantity::ArrivalsRate | Quantity::ArrivalsCov => &labels,
            quantity if quantity.is_of_visits() => &flows,
            quantity if quantity.is_of_groups() => &groups,
            _ => &with_steps,
        };
        if let Some(label) = threshold.metric.label.as_deref().filter(|label| !known.contains(label)) {
            let what = format!("`{label}` is not one of {}{}", known.join(", "), nearest(label, known));
            return Place::Threshold(number).wrong(what);
        }
    }
    Ok(())
}
