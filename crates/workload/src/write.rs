//! Writing a workload: the text that is read as the same workload.
//!
//! Every key is written that says something other than its default, and templates as they stood in the file, so that neither
//! variables nor secrets of the environment appear in their place. What a distribution, a count or a list came from a file for is
//! written as its numbers; data, bodies and traces keep the names of their files.

use std::fmt::{self, Write};
use std::net::IpAddr;
use std::path::Path;

use crate::toml_text::{toml_key, toml_text};

use super::observe::EVERY;
use super::read::{beginning, has_group, usual_name};
use super::script::{
    AtEnd, Auth, Body, Check, Content, CsvFormat, Draw, Extraction, Feeder, Find, Objects, OnFailure, Order, Otherwise,
    Part, Per, Sizes, Source, Test, Variable, Wanted, When, Which,
};
use super::target::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};
use super::{
    Call, Descriptors, Draft, Generator, Late, OnDiskFull, Policies, Priority, Protocol, Request, Resolve, Reuse,
    Scrape, Server, Sql, Statement, Station, Target, Tls, WaitMode, Workload,
};
use crate::catalogue::OneOf;
use crate::policy::Policy;
use crate::template::Template;
use crate::threshold::Threshold;
use offered_base::time::{Nanos, written_number};
use offered_distributions::Shape;
use offered_schedule::Count;
use offered_schedule::arrivals::Schedule;
use offered_schedule::flow::{Flows, Step};
use offered_schedule::trace::Way;
use offered_schedule::{Closed, Opening, Pace, Sessions, Start, Visitor};

/// The text that [`Workload::parse`] reads as this workload, where the same files stand beside it.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        pairs(&mut text, &general(&self.0));
        text.push_str("\n[arrivals]\n");
        let _ = writeln!(text, "{}", sessions_to_toml(&self.0.sessions));
        if let Some(target) = &self.0.target {
            section(&mut text, "[target]", &of_target(target));
        }
        if let Some(server) = &self.0.server {
            section(&mut text, "[server]", &of_server(server));
        }
        for station in &self.0.stations {
            section(&mut text, "[[station]]", &of_station(station));
        }
        if self.0.generator != Generator::default() {
            section(&mut text, "[generator]", &of_generator(self.0.generator));
        }
        if !self.0.observe.hosts.is_empty() {
            let hosts = self.0.observe.hosts.iter().map(|(name, at)| (toml_key(name), toml_text(at)));
            let hosts = Pairs(hosts.collect()).table();
            section(&mut text, "[observe]", &[("hosts".to_owned(), hosts)]);
        }
        for scrape in &self.0.observe.scrapes {
            section(&mut text, "[[observe.scrape]]", &of_scrape(scrape));
        }
        if let Some(Policies { names, block, settle, hook }) = &self.0.policies {
            let said = Pairs(Vec::new()).raw("names", list(names, toml_text));
            let said = said.text("block", block).text("settle", settle);
            section(&mut text, "[policies]", &said.raw("hook", list(hook, toml_text)).0);
        }
        if !self.0.variables.is_empty() {
            let variables: Vec<Pair> = self.0.variables.iter().map(|v| (toml_key(&v.name), variable(v))).collect();
            section(&mut text, "[variables]", &variables);
        }
        // Of a replay the trace says what is asked.
        if !matches!(self.0.sessions, Sessions::Replay(_)) {
            self.0.requests.iter().for_each(|request| section(&mut text, "[[request]]", &of_request(request)));
        }
        if let Some(flows) = self.0.sessions.flows() {
            of_flows(&mut text, flows, &self.0.requests);
        }
        if !self.0.thresholds.is_empty() {
            let bounds =
                self.0.thresholds.iter().map(|threshold| (toml_key(threshold.metric.to_string()), bound(threshold)));
            section(&mut text, "[thresholds]", &bounds.collect::<Vec<_>>());
        }
        f.write_str(&text)
    }
}

/// A key and a value as they are written.
type Pair = (String, String);

/// Keys and values in the making.
#[derive(Default)]
struct Pairs(Vec<Pair>);

impl Pairs {
    /// With this value as it is written.
    fn raw(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.0.push((key.to_owned(), value.to_string()));
        self
    }

    /// With this text.
    fn text(self, key: &str, text: impl fmt::Display) -> Self {
        let text = toml_text(text.to_string());
        self.raw(key, text)
    }

    /// With this, where it is.
    fn maybe<T>(self, value: Option<T>, with: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => with(self, value),
            None => self,
        }
    }

    /// With this, where `said` is true.
    fn when(self, said: bool, with: impl FnOnce(Self) -> Self) -> Self {
        if said { with(self) } else { self }
    }

    fn table(self) -> String {
        inline(&self.0)
    }
}

fn pairs(text: &mut String, pairs: &[Pair]) {
    for (key, value) in pairs {
        let _ = writeln!(text, "{key} = {value}");
    }
}

fn section(text: &mut String, head: &str, content: &[Pair]) {
    let _ = write!(text, "\n{head}\n");
    pairs(text, content);
}

fn inline(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

fn one(key: &str, value: impl fmt::Display) -> String {
    format!("{{ {key} = {value} }}")
}

fn list<T>(items: impl IntoIterator<Item = T>, written: impl FnMut(T) -> String) -> String {
    format!("[{}]", items.into_iter().map(written).collect::<Vec<_>>().join(", "))
}

/// A list of tables; more than one stand on lines of their own.
fn lines<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    match items {
        [one] => format!("[{}]", written(one)),
        many => format!("[\n{}]", many.iter().map(|item| format!("  {},\n", written(item))).collect::<String>()),
    }
}

fn template(text: &Template) -> String {
    toml_text(text.written())
}

fn templates(texts: &[(String, Template)]) -> String {
    inline(&texts.iter().map(|(name, text)| (toml_key(name), template(text))).collect::<Vec<_>>())
}

fn general(draft: &Draft) -> Vec<Pair> {
    let zero = Nanos::ZERO;
    let said = Pairs::default().raw("seed", draft.seed.0);
    let limited = draft.duration < Nanos::MAX || draft.count.is_none();
    let said = said.when(limited, |said| said.text("duration", draft.duration));
    let said = said.maybe(draft.count, |said, count| match count {
        Count::Requests(n) => said.raw("requests", n),
        Count::Sessions(n) => said.raw("sessions", n),
    });
    let said = said.when(draft.skip_first > zero, |said| said.text("skip_first", draft.skip_first));
    let said = said.when(draft.skip_last > zero, |said| said.text("skip_last", draft.skip_last));
    let secret = draft.secret_names.added();
    let said = said.when(!secret.is_empty(), |said| said.raw("secret_names", list(secret, toml_text)));
    match draft.late {
        Late::Send => said.0,
        Late::Skip(after) => said.text("late", "skip").text("late_after", after).0,
    }
}

/// As it stands under `[arrivals]`: `open = { rate = "100/s" }`.
pub fn sessions_to_toml(sessions: &Sessions) -> String {
    let (model, said) = match sessions {
        Sessions::Open(at) => ("open", schedule(at)),
        Sessions::PartlyOpen { schedule: at, length, think, opening } => {
            let said = schedule(at).when(length.flows().is_none(), |said| {
                let (key, value) = length.written();
                said.raw(key, value)
            });
            let said = said.when(!think.is_zero(), |said| said.raw("think", think));
            ("partly_open", said.when(*opening != Opening::Empty, |said| said.text("start", opening)))
        }
        Sessions::Closed(closed) => ("closed", users(Pairs::default(), closed)),
        Sessions::Replay(replay) => {
            let said = Pairs::default().text("trace", replay.trace().file());
            let said = said.when(replay.speed() != 1.0, |said| said.raw("speed", written_number(replay.speed())));
            // Whole seconds are spread over unless it is written that they are not.
            let said = said.when(replay.trace().has_whole_seconds(), |said| said.text("timestamps", "as-recorded"));
            (
                "replay",
                match replay.way() {
                    Way::Open => said,
                    Way::Sessions { think } => said
                        .text("as", "sessions")
                        .maybe(think.as_ref(), |said, distribution| said.raw("think", distribution)),
                    Way::Closed(closed) => users(said.text("as", "closed"), closed),
                },
            )
        }
    };
    format!("{model} = {}", said.table())
}

fn bound(threshold: &Threshold) -> String {
    let Some(after) = threshold.stop else { return toml_text(threshold.bound.to_string()) };
    let said = Pairs::default().text("bound", &threshold.bound).raw("stop", true);
    said.when(after > Nanos::ZERO, |said| said.text("after", after)).table()
}

fn schedule(schedule: &Schedule) -> Pairs {
    let (process, batch) = (schedule.process().written(), schedule.batch().written());
    let said = Pairs::default().raw("rate", schedule.rate());
    said.maybe(process, |said, process| said.raw("process", process))
        .maybe(batch, |said, batch| said.raw("batch", batch))
}

fn users(said: Pairs, closed: &Closed) -> Pairs {
    let said = said.raw("users", closed.users());
    let said = said.when(!closed.think().is_zero(), |said| said.raw("think", closed.think()));
    let said = said.when(closed.ramp() > Nanos::ZERO, |said| said.text("ramp", closed.ramp()));
    let said = said.maybe(closed.visits(), |said, visits| said.raw("visits", visits));
    let said = match closed.pace() {
        None => said,
        Some(Pace::Visits(every)) => said.text("every", every),
        Some(Pace::Requests(every)) => said.raw("every", one("request", toml_text(every.to_string()))),
    };
    let said = said.when(closed.visitor() != Visitor::New, |said| said.text("visitor", closed.visitor()));
    said.when(closed.start() != Start::MidThought, |said| said.text("start", closed.start()))
}

fn of_target(target: &Target) -> Vec<Pair> {
    let Target {
        folder,
        url,
        reuse,
        connections,
        in_flight,
        connect_timeout,
        response_timeout,
        sources,
        resolve_every,
        resolve,
        headers,
        auth,
        cookies,
        redirects,
        resend,
        tls,
        proxy,
        protocol,
        descriptors,
        pools,
        on_connect,
        hook,
    } = target;
    let said = Pairs::default().text("url", url.written());
    let said = said.when(*reuse != Reuse::Pool, |said| said.text("reuse", reuse));
    let said = said.maybe(connections.as_ref(), |said, most| said.raw("connections", most));
    let said = said.maybe(in_flight.as_ref(), |said, most| said.raw("in_flight", most));
    let said = said.when(*connect_timeout != CONNECT_TIMEOUT, |said| said.text("connect_timeout", *connect_timeout));
    let said =
        said.when(*response_timeout != RESPONSE_TIMEOUT, |said| said.text("response_timeout", *response_timeout));
    let said = said.maybe(resolve_every.as_ref(), |said, every| said.text("resolve_every", every));
    let said = said.when(*resolve != Resolve::default(), |said| said.text("resolve", resolve));
    let said = said.when(!sources.is_empty(), |said| said.raw("sources", addresses(sources)));
    let said = said.when(!headers.is_empty(), |said| said.raw("headers", templates(headers)));
    let said = said.maybe(auth.as_ref(), |said, who| said.raw("auth", credentials(who)));
    let said = said.when(*cookies, |said| said.raw("cookies", true));
    let said = said.when(*redirects > 0, |said| said.raw("redirects", *redirects));
    let said = said.when(!resend, |said| said.raw("resend", false));
    let said = said.maybe(proxy.as_ref(), |said, proxy| said.text("proxy", proxy));
    let said = said.when(*protocol != Protocol::default(), |said| said.text("protocol", protocol));
    let said = match descriptors {
        None => said,
        Some(Descriptors::Reflection) => said.raw("reflection", true),
        Some(Descriptors::File(file)) => said.text("descriptors", beside(file, folder)),
    };
    let said = said.when(!pools.is_empty(), |said| {
        let pairs: Vec<Pair> = pools.iter().map(|pool| (toml_key(&pool.name), pool.connections.to_string())).collect();
        said.raw("pools", inline(&pairs))
    });
    let said = said.when(!on_connect.is_empty(), |said| said.raw("on_connect", list(on_connect, toml_text)));
    let said = said.when(!hook.is_empty(), |said| said.raw("hook", list(hook, toml_text)));
    said.when(*tls != Tls::default(), |said| said.raw("tls", security(tls, folder))).0
}

/// The name of a file as it stood in a workload of this folder.
fn beside<'f>(file: &'f Path, folder: &Path) -> std::path::Display<'f> {
    file.strip_prefix(folder).unwrap_or(file).display()
}

fn security(tls: &Tls, folder: &Path) -> String {
    let said = Pairs::default().when(tls.insecure, |said| said.raw("insecure", true));
    let said = said.maybe(tls.roots.as_ref(), |said, file| said.text("roots", beside(file, folder)));
    let said = said.maybe(tls.identity.as_ref(), |said, own| {
        said.text("certificate", beside(&own.certificate, folder)).text("key", beside(&own.key, folder))
    });
    let said = said.maybe(tls.server_name.as_ref(), |said, name| said.text("server_name", name));
    said.when(tls.resume, |said| said.raw("resume", true)).table()
}

/// Addresses, those that follow one another as a range.
fn addresses(all: &[IpAddr]) -> String {
    let follows = |(before, after): (&IpAddr, &IpAddr)| match (before, after) {
        (IpAddr::V4(before), IpAddr::V4(after)) => before.to_bits().checked_add(1) == Some(after.to_bits()),
        (IpAddr::V6(before), IpAddr::V6(after)) => before.to_bits().checked_add(1) == Some(after.to_bits()),
        _ => false,
    };
    list(all.chunk_by(|before, after| follows((before, after))), |range| match range {
        [first, .., last] => format!("\"{first}-{last}\""),
        range => list_of_one(range),
    })
}

fn list_of_one(range: &[IpAddr]) -> String {
    range.iter().map(|address| format!("\"{address}\"")).collect()
}

fn credentials(auth: &Auth) -> String {
    match auth {
        Auth::Basic(text) => one("basic", template(text)),
        Auth::Bearer(text) => one("bearer", template(text)),
        Auth::Nobody => "false".to_owned(),
    }
}

fn of_server(server: &Server) -> Vec<Pair> {
    works(Pairs::default(), server).maybe(server.capacity, |said, capacity| said.raw("capacity", capacity)).0
}

fn of_scrape(scrape: &Scrape) -> Vec<Pair> {
    let Scrape { name, target, sql, every, series, counters } = scrape;
    let said = Pairs::default().text("name", name).raw("target", Pairs(of_target(target)).table());
    let said = said.maybe(sql.as_ref(), |said, sql| said.text("sql", sql));
    let said = said.when(*every != EVERY, |said| said.text("every", *every));
    let said = said.when(!series.is_empty(), |said| said.raw("series", list(series, toml_text)));
    said.when(!counters.is_empty(), |said| said.raw("counters", list(counters, toml_text))).0
}

fn of_station(station: &Station) -> Vec<Pair> {
    let said = Pairs::default().text("name", &station.name);
    let said = said.when(station.visits != 1.0, |said| said.raw("visits", written_number(station.visits)));
    works(said, &station.server).0
}

fn works(said: Pairs, server: &Server) -> Pairs {
    let said = said.when(server.servers != 1, |said| said.raw("servers", server.servers));
    let said = said.when(server.discipline != Policy::Fcfs, |said| said.text("discipline", server.discipline));
    said.raw("service", &server.service)
}

fn of_generator(generator: Generator) -> Vec<Pair> {
    let said = Pairs::default().maybe(generator.threads, |said, threads| said.raw("threads", threads));
    let wait_mode = generator.wait_mode;
    let said = said.when(wait_mode != WaitMode::Spin, |said| said.text("wait", wait_mode));
    let priority = generator.priority;
    let said = said.when(priority != Priority::Auto, |said| said.text("priority", priority));
    let tolerated = generator.tolerance != Generator::default().tolerance;
    let said = said.when(tolerated, |said| said.text("tolerance", format!("{}%", generator.tolerance)));
    let on_disk_full = generator.on_disk_full;
    said.when(on_disk_full != OnDiskFull::Continue, |said| said.text("on_disk_full", on_disk_full)).0
}

fn variable(variable: &Variable) -> String {
    let said = Pairs::default();
    let (said, per) = match (&variable.source, &variable.env) {
        (_, Some(name)) => (said.text("env", name), Per::Session),
        (Source::Constant(value), None) => return toml_text(value.as_deref().unwrap_or_default()),
        (Source::Feeder(feeder), None) => (rows(said, feeder), Per::Session),
        (Source::Uuid, None) => (said.raw("uuid", true), Per::Session),
        (Source::Sequence(first), None) => (said.raw("sequence", first), Per::Request),
        (Source::Random(draw), None) => (drawn(said, draw), Per::Session),
        (Source::Work(unit), None) => (said.text("work", unit), Per::Request),
    };
    said.when(variable.per != per, |said| said.text("per", variable.per)).table()
}

fn rows(said: Pairs, feeder: &Feeder) -> Pairs {
    let said = said.text("file", &feeder.file);
    let said = said.when(feeder.order != Order::Sequential, |said| said.text("order", feeder.order));
    let said = said.when(feeder.at_end != AtEnd::Repeat, |said| said.text("at_end", feeder.at_end));
    let said = said.maybe(feeder.columns.as_ref(), |said, names| said.raw("columns", list(names, toml_text)));
    let CsvFormat { separator, quotes, skip_lines, ragged } = feeder.format;
    let said = said.when(separator != b',', |said| said.text("separator", char::from(separator)));
    let said = said.when(!quotes, |said| said.raw("quotes", false));
    let said = said.when(skip_lines > 0, |said| said.raw("skip_lines", skip_lines));
    said.when(ragged, |said| said.raw("ragged", true))
}

fn drawn(said: Pairs, draw: &Draw) -> Pairs {
    let distribution = match *draw.distribution.shape() {
        Shape::Uniform(_, width) if draw.shift < 0.0 => {
            // The number that is read as this width, which rounding may have put beside the sum.
            let high = width + draw.shift;
            let read = [high, high.next_up(), high.next_down()].into_iter().find(|high| high - draw.shift == width);
            Some(format!("uniform:{}..{}", draw.shift, read.unwrap_or(high)))
        }
        _ => draw.distribution.of_numbers(),
    };
    said.maybe(distribution, |said, distribution| said.text("random", distribution))
        .when(draw.decimals > 0, |said| said.raw("decimals", draw.decimals))
}

fn of_request(request: &Request) -> Vec<Pair> {
    let said = Pairs::default().text("name", &request.name);
    let path = || template(&request.path);
    let files = |said: Pairs, one_of: &OneOf| {
        let said = said.text("catalogue", one_of.catalogue().file());
        said.maybe(one_of.class(), |said, class| said.text("class", class))
    };
    let said = match (&request.call, request.method.as_str()) {
        (_, "GET") if request.one_of.is_some() => said.maybe(request.one_of.as_ref(), files),
        (_, method) if request.one_of.is_some() => said.maybe(request.one_of.as_ref(), files).text("method", method),
        (Call::Sql(sql), _) => in_sql(said, sql),
        (Call::Grpc, _) => said.text("grpc", request.path.as_str().trim_start_matches('/')),
        (_, short @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD" | "PATCH" | "OPTIONS")) => {
            said.raw(&short.to_lowercase(), path())
        }
        (_, method) => said.text("method", method).raw("path", path()),
    };
    let (said, body) = match (&request.call, &request.body) {
        (Call::WebSocket(chat), body) => {
            let send = if let Body::Text(text) = body { Some(text) } else { None };
            let key = if chat.binary { "send_hex" } else { "send" };
            let told = Pairs::default().maybe(send, |told, text| told.raw(key, template(text)));
            let told = told.maybe(chat.awaited.as_ref(), |told, pattern| told.raw("await", template(pattern)));
            let told = told.maybe(chat.count, |told, count| told.raw("count", count));
            let told = told.maybe(chat.listen, |told, time| told.text("listen", time));
            (said.raw("websocket", told.table()), if send.is_some() { &Body::None } else { body })
        }
        (_, body) => (said, body),
    };
    let said = said.when(request.weight != 1.0, |said| said.raw("weight", written_number(request.weight)));
    let said = said.when(!request.headers.is_empty(), |said| said.raw("headers", templates(&request.headers)));
    let said = match body {
        Body::None => said,
        Body::Text(text) => said.raw("body", template(text)),
        Body::File { file, raw, .. } => said.text("body_file", file).when(*raw, |said| said.raw("raw", true)),
        Body::Form(fields) => said.raw("form", templates(fields)),
        Body::Multipart(parts) => said.raw("multipart", lines(parts, part)),
    };
    let said = said.maybe(request.auth.as_ref(), |said, who| said.raw("auth", credentials(who)));
    let said = said.when(!request.extract.is_empty(), |said| said.raw("extract", lines(&request.extract, extraction)));
    let said = said.when(!request.checks.is_empty(), |said| said.raw("check", lines(&request.checks, check)));
    let failed = request.on_failure;
    let said = said.when(failed != OnFailure::default(), |said| said.text("on_failure", failed));
    let said = said.maybe(request.objects.as_ref(), |said, objects| {
        let usual = objects.connections == Objects::CONNECTIONS;
        let said = said.raw("objects", list(&objects.paths, template));
        let said = said.when(!usual, |said| said.raw("connections", objects.connections));
        let said = said.when(objects.when != When::After, |said| said.text("objects_when", objects.when));
        said.when(objects.may_fail, |said| said.raw("objects_may_fail", true))
    });
    let own = request.service.as_ref();
    let own = own.filter(|_| !request.one_of.as_ref().is_some_and(|one_of| one_of.catalogue().says_work()));
    said.maybe(own, |said, distribution| said.raw("service", distribution)).0
}

fn in_sql(said: Pairs, sql: &Sql) -> Pairs {
    let parameters = |said: Pairs, statement: &Statement| {
        let written = |value: &Option<Template>| value.as_ref().map_or_else(|| one("null", true), template);
        let given = &statement.parameters;
        said.when(!given.is_empty(), |said| said.raw("parameters", list(given, written)))
    };
    let statement = |statement: &Statement| match statement.parameters.is_empty() {
        true => toml_text(&statement.text),
        false => parameters(Pairs::default().text("sql", &statement.text), statement).table(),
    };
    let said = match &sql.statements[..] {
        [one] if !sql.is_transaction => parameters(said.text("sql", &one.text), one),
        many => said.raw("transaction", lines(many, statement)),
    };
    said.maybe(sql.class.as_ref(), |said, class| said.text("class", class))
}

fn part(part: &Part) -> String {
    let said = Pairs::default().text("name", &part.name);
    let said = match (&part.file, &part.content) {
        (Some(file), _) => said.text("file", file).when(!part.raw, |said| said.raw("raw", false)),
        (None, Ok(Content::Text(text))) => said.raw("value", template(text)),
        (None, _) => said,
    };
    said.maybe(part.media_type.as_ref(), |said, kind| said.text("type", kind)).table()
}

/// `said`, and the place in the answer.
fn find(said: Pairs, find: &Find) -> Pairs {
    match find {
        Find::Body => said.raw("body", true),
        Find::Column(name) => said.text("column", name),
        Find::Header(name) => said.text("header", name),
        Find::Json(path) => said.text("json", path),
        Find::Regex { pattern, group } => {
            let usual = u32::from(has_group(pattern)) == *group;
            said.text("regex", pattern).when(!usual, |said| said.raw("group", group))
        }
        Find::Css { selector, attribute } => {
            said.text("css", selector).maybe(attribute.as_ref(), |said, name| said.text("attribute", name))
        }
    }
}

fn extraction(extraction: &Extraction) -> String {
    let said = find(Pairs::default().text("name", &extraction.name), &extraction.find);
    let said = match extraction.which {
        Which::Nth(1) => said,
        Which::Nth(nth) => said.raw("nth", nth),
        Which::Random => said.text("nth", "random"),
    };
    match &extraction.otherwise {
        Otherwise::Fails => said,
        Otherwise::Is(text) => said.text("default", text),
        Otherwise::Keeps => said.raw("keep", true),
    }
    .table()
}

impl Check {
    /// A check of this, called after it.
    pub fn of(test: Test) -> Self {
        let (kind, said, _) = tested(&test);
        Self { name: usual_name(kind, &said), test }
    }
}

fn check(check: &Check) -> String {
    let (kind, said, test) = tested(&check.test);
    let own = usual_name(kind, &said) != check.name;
    let name = Pairs::default().when(own, |said| said.text("name", &check.name));
    inline(&[name.0, test.0].concat())
}

/// What a check looks at: its kind, how that is said where the check has no name of its own, and its keys.
fn tested(test: &Test) -> (&'static str, String, Pairs) {
    let pairs = Pairs::default();
    match test {
        Test::Status(ranges) => {
            let all: Vec<String> = ranges.iter().map(|range| statuses(*range)).collect();
            let value = |text: &String| if text.parse::<u16>().is_ok() { text.clone() } else { toml_text(text) };
            let said = match &all[..] {
                [one] => pairs.raw("status", value(one)),
                many => pairs.raw("status", list(many, value)),
            };
            ("status", all.join(", "), said)
        }
        Test::Size(sizes) => ("size", sizes.to_string(), pairs.text("size", sizes)),
        Test::Rows(rows) => ("rows", rows.to_string(), pairs.text("rows", rows)),
        Test::Sha256(digest) => ("sha256", beginning(digest), pairs.text("sha256", digest)),
        Test::Text(place, wanted) => {
            let (kind, at) = match place {
                Find::Body => ("body", ""),
                Find::Column(name) => ("column", &**name),
                Find::Header(name) => ("header", &**name),
                Find::Json(path) => ("json", &**path),
                Find::Regex { pattern, .. } => ("regex", &**pattern),
                Find::Css { selector, .. } => ("css", &**selector),
            };
            let found = find(pairs, place);
            let (said, pairs) = match wanted {
                Wanted::There => (String::new(), found),
                Wanted::Is(text) => (format!("= {}", text.written()), found.raw("is", template(text))),
                Wanted::Contains(text) => {
                    (format!("contains {}", text.written()), found.raw("contains", template(text)))
                }
                Wanted::Matches(pattern) => (format!("matches {pattern}"), found.text("matches", pattern)),
            };
            let said = if at.is_empty() { said } else { format!("{at} {said}").trim_end().to_owned() };
            (kind, said, pairs)
        }
    }
}

/// `200`, `2xx` or `200..204`.
pub(super) fn statuses((low, high): (u16, u16)) -> String {
    if low == high {
        low.to_string()
    } else if low % 100 == 0 && high == low + 99 {
        format!("{}xx", low / 100)
    } else {
        format!("{low}..{high}")
    }
}

/// As it is read: `512`, `< 1000`, `>= 1` or `100..2000`.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { least, most } if least == most => write!(f, "{least}"),
            Self { least, most: u64::MAX } => write!(f, ">= {least}"),
            Self { least: 0, most } => write!(f, "< {}", most + 1),
            Self { least, most } => write!(f, "{least}..{most}"),
        }
    }
}

fn of_flows(text: &mut String, flows: &Flows, requests: &[Request]) {
    for (number, flow) in (0u16..).zip(flows.flows()) {
        let name = |step: u16| &flows.steps()[usize::from(step)].name;
        let steps: Vec<(u16, &Step)> = (0u16..).zip(flows.steps()).filter(|(_, step)| step.flow == number).collect();
        let said = Pairs::default().text("name", &flow.name);
        let said = said.when(flow.weight != 1.0, |said| said.raw("weight", written_number(flow.weight)));
        let begins = steps.first().is_some_and(|(first, _)| *first == flow.start);
        section(text, "[[flow]]", &said.when(!begins, |said| said.text("start", name(flow.start))).0);
        for (place, step) in &steps {
            let request = &requests[usize::from(step.request)].name;
            let said = Pairs::default().text("request", request);
            let said = said.when(step.name != *request, |said| said.text("name", &step.name));
            let said = said.when(step.repeat != 1, |said| said.raw("repeat", step.repeat));
            let said = said.maybe(step.think.as_ref(), |said, distribution| said.raw("think", distribution));
            let next = steps.iter().map(|(next, _)| *next).find(|next| *next == place + 1);
            let said = said.when(!step.next.leads_only_to(next), |said| {
                let way = |(to, weight): (Option<u16>, f64)| {
                    let to = to.map_or("leave".to_owned(), |to| toml_key(name(to)));
                    (to, written_number(weight))
                };
                said.raw("next", inline(&step.next.weights().map(way).collect::<Vec<_>>()))
            });
            section(text, "[[flow.step]]", &said.0);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
