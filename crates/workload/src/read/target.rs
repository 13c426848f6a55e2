//! Reads `[target]`, `[server]` and `[[request]]`.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::script::METHODS;
use super::{Reader, auth, reach, script, small, sql};
use crate::Policy;
use crate::engine::Engine;
use crate::request::{check_headers, check_method};
use crate::script::Body;
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::target::{CONNECT_TIMEOUT, RESPONSE_TIMEOUT};
use crate::template::Template;
use crate::{Call, Rates, Region, Request, Reuse, Server, Station, Target, Url, WhenFull};
use offered_base::nearest;
use offered_distributions::Distribution;

/// Reads `[target]`; its files are in `folder`.
pub(super) fn target(value: &Value<'_>, folder: &Path) -> Result<Target, Mistake> {
    let table = value.table(&shape::TARGET)?;
    let limit = |key| table.get(key).map(|v| small(&v, v.whole()?)).transpose();
    let url: Url = table.need("url", "\"http://127.0.0.1:8080/\"")?.parsed()?;
    let sql::Database { pools, on_connect, hook } = sql::target(&table)?;
    let reuse = table.named("reuse")?.unwrap_or(Reuse::Pool);
    let (tls, proxy, protocol) = reach::reach(&table, folder)?;
    Ok(Target {
        folder: folder.to_owned(),
        name: table.get("name").map(|name| name.text().map(str::to_owned)).transpose()?,
        url,
        tls,
        proxy,
        protocol,
        descriptors: reach::descriptors(&table, folder)?,
        pools,
        on_connect,
        hook,
        reuse,
        connections: limit("connections")?,
        in_flight: limit("in_flight")?,
        connect_timeout: table.parsed("connect_timeout")?.unwrap_or(CONNECT_TIMEOUT),
        response_timeout: table.parsed("response_timeout")?.unwrap_or(RESPONSE_TIMEOUT),
        resolve_every: table.parsed("resolve_every")?,
        resolve: table.named("resolve")?.unwrap_or_default(),
        sources: sources(&table)?,
        headers: headers(&table)?,
        omit_headers: omit_headers(&table)?,
        auth: table.get("auth").map(|value| auth::auth(&value)).transpose()?,
        cookies: table.get("cookies").map_or(Ok(false), |value| value.truth())?,
        redirects: limit("redirects")?.unwrap_or(0),
        retry: None,
        breaker: None,
        patience: None,
        resend: table.get("resend").map_or(Ok(true), |value| value.truth())?,
    })
}

fn omit_headers(table: &Table<'_>) -> Result<Vec<String>, Mistake> {
    let items = table.get("omit_headers").map_or(Ok(Vec::new()), |value| value.list())?;
    items.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// The most addresses of all `sources` together.
const MOST_SOURCES: usize = 65_536;

fn sources(table: &Table<'_>) -> Result<Vec<IpAddr>, Mistake> {
    let Some(value) = table.get("sources") else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for item in value.list()? {
        let text = item.text()?;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let address = |text: &str| text.trim().parse::<IpAddr>().ok();
        let range: Option<Vec<IpAddr>> = match (address(first), address(last)) {
            (Some(IpAddr::V4(first)), Some(IpAddr::V4(last))) if first <= last => Some(
                (first.to_bits()..=last.to_bits()).take(MOST_SOURCES + 1).map(|n| Ipv4Addr::from(n).into()).collect(),
            ),
            (Some(IpAddr::V6(first)), Some(IpAddr::V6(last))) if first <= last => Some(
                (first.to_bits()..=last.to_bits()).take(MOST_SOURCES + 1).map(|n| Ipv6Addr::from(n).into()).collect(),
            ),
            _ => None,
        };
        let example = "write for example \"127.0.0.2\", or \"127.0.0.2-127.0.0.9\" for all from the first to the last";
        all.extend(range.ok_or_else(|| {
            item.mistake(format!("`{text}` is neither an IP address nor a range of addresses; {example}"))
        })?);
        if all.len() > MOST_SOURCES {
            return Err(
                item.mistake(format!("more than {MOST_SOURCES} addresses; give only addresses of this machine"))
            );
        }
    }
    Ok(all)
}

/// Reads an engine.
fn engine(value: &Value<'_>) -> Result<Engine, Mistake> {
    let table = value.table(&shape::ENGINE)?;
    let number = |value: Value<'_>| small(&value, value.count()?);
    let sequences = table.need("sequences", "32")?;
    let engine = Engine {
        step: table.need("step", "\"8ms\"")?.parsed()?,
        per_sequence: table.parsed("per_sequence")?.unwrap_or_default(),
        sequences: small(&sequences, sequences.count()?)?,
        per_prompt_token: table.parsed("per_prompt_token")?.unwrap_or_default(),
        prompt_chunk: table.get("prompt_chunk").map(number).transpose()?,
        prefix_cache: table.get("prefix_cache").map_or(Ok(false), |value| value.truth())?,
    };
    value.checked(engine.check())
}

/// Reads `capacity` and `when_full` of a station or a region.
fn capacity(table: &Table<'_>) -> Result<(Option<u32>, WhenFull), Mistake> {
    let capacity = table.get("capacity").map(|v| small(&v, v.count()?)).transpose()?;
    match (capacity, table.get("when_full")) {
        (None, Some(value)) => Err(value.mistake("needs capacity; write for example capacity = 16")),
        (capacity, _) => Ok((capacity, table.named("when_full")?.unwrap_or(WhenFull::Reject))),
    }
}

/// Reads the regions of a network.
pub(super) fn regions(root: &Table<'_>) -> Result<Vec<Region>, Mistake> {
    let items = root.get("region").map_or(Ok(Vec::new()), |value| value.list())?;
    let region = |item: &Value<'_>| {
        let table = item.table(&shape::REGION)?;
        let name = table.need("name", "\"pool\"")?.text()?.to_owned();
        let stations = table.need("stations", "[\"web\", \"db\"]")?.list()?;
        let stations = stations.iter().map(|name| name.text().map(str::to_owned)).collect::<Result<_, _>>()?;
        table.need("capacity", "16")?;
        let (capacity, when_full) = capacity(&table)?;
        Ok(Region { name, stations, capacity: capacity.unwrap_or_default(), when_full })
    };
    items.iter().map(region).collect()
}

/// Reads load-dependent rates.
fn rates(value: &Value<'_>) -> Result<Rates, Mistake> {
    if value.is_list() {
        let rates = value.list()?.iter().map(Value::number).collect::<Result<_, _>>()?;
        return value.checked(Rates::table(rates));
    }
    let table = value.table(&shape::SCALABILITY)?;
    if ["contention", "coherency"].iter().all(|key| table.get(key).is_none()) {
        return Err(
            table.mistake("has no coefficient; write for example rates = { contention = 0.05, coherency = 0.001 }")
        );
    }
    let coefficient = |key| table.get(key).map_or(Ok(0.0), |value| value.number());
    let (contention, coherency) = (coefficient("contention")?, coefficient("coherency")?);
    value.checked(Rates::scalability(contention, coherency))
}

impl Reader<'_> {
    /// Reads a server; its service is optional if all requests have their own work.
    pub(super) fn server(&self, value: &Value<'_>, all_have_work: bool) -> Result<Server, Mistake> {
        let table = value.table(&shape::SERVER)?;
        let capacity = table.get("capacity").map(|v| small(&v, v.count()?)).transpose()?;
        let cancel = table.get("cancel").map_or(Ok(false), |value| value.truth())?;
        let server = match table.get("engine") {
            None => self.works(&table, all_have_work)?,
            Some(value) => {
                for key in ["servers", "discipline", "service", "rates"] {
                    if let Some(other) = table.get(key) {
                        return Err(other.mistake("cannot be combined with engine, which has its own keys"));
                    }
                }
                Server::of_engine(engine(&value)?)
            }
        };
        if let (true, Some(value)) = (cancel && server.rates.is_some(), table.get("cancel")) {
            return Err(value.mistake("cannot be combined with rates; remove one"));
        }
        let server = Server { capacity, cancel, ..server };
        match table.get("cancel") {
            Some(value) if cancel && server.discipline != Policy::Fcfs => {
                Err(value.mistake("needs discipline = \"fcfs\": only its queue drops requests"))
            }
            _ => Ok(server),
        }
    }

    /// Reads the keys that `[server]` and `[[station]]` have in common.
    fn works(&self, table: &Table<'_>, all_have_work: bool) -> Result<Server, Mistake> {
        let servers = table.get("servers").map_or(Ok(1), |v| small(&v, v.count()?))?;
        let discipline = table.get("discipline").map_or(Ok(Policy::Fcfs), |v| v.checked(v.text()?.parse()))?;
        let service = match table.get("service") {
            None if all_have_work => Distribution::constant(0.0).expect("zero is a constant"),
            _ => self.distribution(&table.need("service", "{ exponential = \"10ms\" }")?)?,
        };
        let server = Server { servers, discipline, service, capacity: None, cancel: false, rates: None };
        match table.get("rates") {
            None => Ok(server),
            Some(value) => value.checked(server.with_rates(rates(&value)?)),
        }
    }

    pub(super) fn stations(&self, root: &Table<'_>) -> Result<Vec<Station>, Mistake> {
        let Some(value) = root.get("station") else { return Ok(Vec::new()) };
        let mut stations = Vec::new();
        for item in value.list()? {
            let table = item.table(&shape::STATION)?;
            let name = table.need("name", "\"db\"")?.text()?.to_owned();
            let visits = table.get("visits").map_or(Ok(1.0), |v| match v.number()? {
                visits if visits > 0.0 && visits.is_finite() => Ok(visits),
                visits => Err(v.mistake(format!("visits must be above zero, not {visits}"))),
            })?;
            let (capacity, when_full) = capacity(&table)?;
            let server = Server { capacity, ..self.works(&table, false)? };
            stations.push(Station { name, visits, server, when_full });
        }
        Ok(stations)
    }

    /// Reads the requests; `path` is the default path of WebSocket requests.
    pub(super) fn requests(&self, value: &Value<'_>, path: &str, targets: &[Target]) -> Result<Vec<Request>, Mistake> {
        let mut unnamed: HashMap<String, HashSet<String>> = HashMap::new();
        let mut numbered = |item: &Value<'_>| {
            if item.table(&shape::REQUEST)?.get("catalogue").is_some() {
                let mut all = self.catalogued(item)?;
                for request in &mut all {
                    request.target = target_of(item, request, targets)?;
                }
                return Ok(all);
            }
            let mut request = self.request(item, path)?;
            request.target = target_of(item, &request, targets)?;
            if item.table(&shape::REQUEST)?.get("name").is_none() {
                // Two paths that differ in their queries only are two requests; two that are the same want names.
                let paths = unnamed.entry(request.name.clone()).or_default();
                if paths.insert(request.path.as_str().to_owned()) && paths.len() > 1 {
                    request.name += &format!(" ({})", paths.len());
                }
            }
            Ok(vec![request])
        };
        let mut all = Vec::new();
        for (table, item) in value.list()?.iter().enumerate() {
            all.extend(numbered(item)?);
            self.tables.borrow_mut().resize(all.len(), table);
        }
        Ok(all)
    }

    fn request(&self, value: &Value<'_>, default_path: &str) -> Result<Request, Mistake> {
        let table = value.table(&shape::REQUEST)?;
        if let Some(request) = self.sql(&table)? {
            return Ok(request);
        }
        if let Some(request) = self.submit(&table)? {
            return Ok(request);
        }
        let (call, said) = reach::call(&table)?;
        let body = self.body(&table)?;
        let (method, path) = match &call {
            Call::Grpc if table.get("method").is_none() && METHODS.iter().all(|key| table.get(key).is_none()) => {
                let name = table.need("grpc", "")?.text()?;
                ("POST".to_owned(), Template::literal(&format!("/{name}")))
            }
            Call::WebSocket { .. } if table.get("get").is_none() => ("GET".to_owned(), Template::new(default_path)),
            Call::Http | Call::WebSocket { .. } => {
                let (method, given) = method_and_path(&table)?;
                (method, script::path(&given)?)
            }
            Call::Grpc | Call::Sql(_) => {
                return Err(value.mistake("a gRPC call has no HTTP method or path; remove the key"));
            }
        };
        if said.is_some() && body != Body::None {
            return Err(value.mistake("write the message of a WebSocket as websocket.send and remove the body"));
        }
        // A query may contain a key or a personal name, so it is not part of the label.
        let name = path.as_str().split('?').next().unwrap_or_default();
        let name = name.trim_start_matches(if call == Call::Grpc { "/" } else { "" });
        let name = table.get("name").map_or(Ok(name), |v| v.text())?.to_owned();
        let weight = table.get("weight").map_or(Ok(1.0), |value| value.weight())?;
        let body = said.map_or(body, Body::Text);
        self.besides(&table, Request { name, call, weight, body, ..Request::of(method, path) })
    }

    /// Reads the further keys of HTTP requests into `request`.
    pub(super) fn besides(&self, table: &Table<'_>, request: Request) -> Result<Request, Mistake> {
        Ok(Request {
            headers: headers(table)?,
            auth: table.get("auth").map(|value| auth::auth(&value)).transpose()?,
            extract: script::extractions(table)?,
            checks: script::checks(table)?,
            on_failure: script::on_failure(table)?,
            attempts: self.attempts(table)?,
            objects: script::objects(table)?,
            stream: script::stream(table)?,
            service: table.get("service").map(|v| self.distribution(&v)).transpose()?.or(request.service),
            ..request
        })
    }
}

/// The index of the target of a request: by name, or by its whole URL.
fn target_of(item: &Value<'_>, request: &Request, targets: &[Target]) -> Result<u16, Mistake> {
    let by_url = request.absolute_origin().map(|origin| {
        let found = targets.iter().position(|target| target.url.has_origin(&origin));
        found.ok_or_else(|| {
            item.mistake(format!(
                "{origin} is not the origin of a target; add [[target]] with a name and url = \"{origin}\""
            ))
        })
    });
    let by_url = by_url.transpose()?.map(|number| number as u16);
    let by_name = item.table(&shape::REQUEST)?.get("target").map(|value| target_named(&value, targets)).transpose()?;
    match (by_url, by_name) {
        (Some(url), Some(name)) if url != name => {
            Err(item.mistake("the URL is on another target than `target` names; remove one of the two"))
        }
        (url, name) => Ok(url.or(name).unwrap_or(0)),
    }
}

/// The index of the target with the name that is this value.
pub(super) fn target_named(value: &Value<'_>, targets: &[Target]) -> Result<u16, Mistake> {
    let (name, names) = (value.text()?, targets.iter().filter_map(Target::name).collect::<Vec<_>>());
    let found = targets.iter().position(|target| target.name.as_deref() == Some(name)).map(|number| number as u16);
    found.ok_or_else(|| value.mistake(format!("no [[target]] is named `{name}`{}", nearest(name, &names))))
}

/// `get = "/"`, or `method = "GET"` and `path = "/"`.
fn method_and_path<'a>(table: &Table<'a>) -> Result<(String, Value<'a>), Mistake> {
    let Some(method) = table.get("method") else {
        if let Some(path) = table.get("path") {
            return Err(path.mistake("needs a method; write method = \"GET\", or get = \"/\" instead of both"));
        }
        let (method, path) = table.one_of(&METHODS, "get = \"/\"")?;
        return Ok((method.to_uppercase(), path));
    };
    if let Some(path) = METHODS.iter().find_map(|short| table.get(short)) {
        return Err(path.mistake("cannot be combined with method; remove one"));
    }
    let name = method.text()?;
    method.checked(check_method(name))?;
    Ok((name.to_owned(), table.need("path", "\"/\"")?))
}

pub(super) fn headers(table: &Table<'_>) -> Result<Vec<(String, Template)>, Mistake> {
    let Some(value) = table.get("headers") else { return Ok(Vec::new()) };
    let headers = script::templates(&value)?;
    value.checked(check_headers(&headers))?;
    Ok(headers)
}
