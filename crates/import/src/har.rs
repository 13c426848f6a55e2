//! Reads browser recordings (HTTP Archive, .har): pages with their embedded objects, and the pauses between them.
//!
//! Embedded objects belong to the step of their page; every other request (page, script call, form) is a step of its
//! own. Pauses of a second or more between steps count as think time and form one empirical distribution; shorter
//! pauses stay with their step.

use std::collections::HashSet;

use jiff::Timestamp;
use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_workload::script::Body;
use offered_workload::{Protocol, Reuse};

use crate::address::{Server, default_target, encode_path, is_valid_header};
use crate::body;
use crate::data::Data;
use crate::note::Note;
use crate::plan::{Plan, Request};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Visit, default_name};
use crate::text::Text;
use crate::{Error, ImportOptions};

/// Maximum number of entries.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of embedded objects of a page.
const MAX_OBJECTS: usize = 1_000;
/// Shortest pause that counts as think time, in seconds.
const MIN_THINK_S: f64 = 1.0;
/// Pauses longer than this are noted, in seconds.
const LONG_PAUSE_S: f64 = 120.0;
/// Maximum number of values of the empirical distribution; more pauses are reduced to this number of quantiles.
const MAX_VALUES: usize = 100;
/// Maximum number of redirects that browsers follow.
const REDIRECTS: u32 = 20;

/// Headers that reflect the state of the recording browser (cookies, cache).
const CLIENT_STATE_HEADERS: [&str; 4] = ["cookie", "if-none-match", "if-modified-since", "if-range"];

/// A request of the recording.
struct Entry<'d> {
    element: String,
    request: &'d Data,
    response: &'d Data,
    data: &'d Data,
    server: Server,
    path: String,
    url: &'d str,
    /// Start and end in seconds since the epoch.
    start: f64,
    end: f64,
}

/// The plan of `har`, the content of `file`.
pub(crate) fn read(har: &Data, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let refused = |message: String| Error::File { file: file.to_owned(), message };
    let all = har.at(&["log", "entries"]).list();
    if all.is_empty() {
        return Err(refused(
            "the recording (HAR) contains no requests; record again and save it with content".to_owned(),
        ));
    }
    if all.len() > MAX_ENTRIES {
        return Err(refused(format!("{} requests; a recording can have at most {MAX_ENTRIES}", all.len())));
    }
    let mut reader =
        Reader { max_pause_s: options.max_pause.map_or(f64::INFINITY, Nanos::as_secs_f64), ..Reader::default() };
    let mut entries: Vec<Entry> = all
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| reader.entry(at, entry).map_err(&refused).transpose())
        .collect::<Result<_, _>>()?;
    entries.sort_by(|a, b| a.start.total_cmp(&b.start));
    for entry in &entries {
        reader.step(entry);
    }
    reader.into_request_list().into_plan(file)
}

#[derive(Default)]
struct Reader<'d> {
    requests: Vec<PlannedRequest>,
    /// Page and end time of each step.
    ends: Vec<(&'d str, f64)>,
    pauses: Vec<f64>,
    /// Targets of redirects that have not been followed yet.
    pending_redirects: Vec<String>,
    objects: Vec<HashSet<String>>,
    redirects: bool,
    /// Server of the first page.
    page_server: Option<Server>,
    /// Upper bound of pauses in seconds.
    max_pause_s: f64,
    /// Number of steps sent with HTTP/2 or HTTP/3.
    http2_requests: usize,
    notes: Vec<Note>,
}

impl<'d> Reader<'d> {
    fn note(&mut self, element: &str, message: impl Into<String>) {
        self.notes.push(Note { line: 0, element: element.to_owned(), message: message.into() });
    }

    /// Reads an entry; `None` if it is not a request that a server has answered.
    fn entry(&mut self, at: usize, data: &'d Data) -> Result<Option<Entry<'d>>, String> {
        let (request, response) = (data.get("request"), data.get("response"));
        let (method, url) = (request.get("method").text(), request.get("url").text());
        let shown: String = url.chars().take(100).collect();
        let element = format!("entry {} `{method} {shown}`", at + 1);
        if url.is_empty() {
            return Err(format!("entry {} has no request.url; is the file a recording (HAR)?", at + 1));
        }
        let started = data.get("startedDateTime").text();
        let start: Timestamp = started.parse().map_err(|_| {
            format!("entry {}: startedDateTime `{started}` is not a time such as 2024-05-01T10:00:00Z", at + 1)
        })?;
        let start = start.as_nanosecond() as f64 / 1e9;
        let took = data.get("time").number().unwrap_or(0.0).clamp(0.0, 1e9) / 1e3;
        let Some((server, path)) = Server::parse(url) else {
            let message = match url.split(':').next() {
                Some("ws" | "wss") => "a WebSocket; left out",
                _ => "is not an HTTP request; left out",
            };
            self.note(&element, message);
            return Ok(None);
        };
        let left_out = match (method, response.get("status").number()) {
            _ if data.get("_webSocketMessages").is() => "a WebSocket; left out",
            _ if data.get("_fromCache").is() => "was served from the browser's cache; left out",
            // Browsers write 0, -1 or -2 for requests that were blocked or aborted, and for unused pushes.
            (_, None | Some(..100.0)) => "has no response (blocked or aborted); left out",
            ("CONNECT", _) => "is a proxy tunnel (CONNECT); left out",
            ("OPTIONS", _) if header_of(request, "access-control-request-method").is() => {
                "is a CORS preflight request; left out"
            }
            _ => {
                return Ok(Some(Entry {
                    element,
                    request,
                    response,
                    data,
                    server,
                    path,
                    url,
                    start,
                    end: start + took,
                }));
            }
        };
        self.note(&element, left_out);
        Ok(None)
    }

    /// Turns the entry into a step or an embedded object of an earlier step, or skips a followed redirect.
    fn step(&mut self, entry: &Entry<'d>) {
        let page = entry.data.get("pageref").text();
        let plain = entry.url.split('#').next().unwrap_or_default();
        let followed = self.pending_redirects.iter().position(|url| url == plain);
        if let Some(at) = followed {
            self.pending_redirects.swap_remove(at);
        }
        let status = entry.response.get("status").number().unwrap_or(0.0);
        let to = entry.response.get("redirectURL").text();
        if (300.0..400.0).contains(&status) && !to.is_empty() {
            self.pending_redirects.push(resolve_location(to, entry.url));
            self.redirects = true;
        }
        let last = self.ends.len().wrapping_sub(1);
        if followed.is_some() && !self.ends.is_empty() {
            self.ends[last].1 = self.ends[last].1.max(entry.end);
            self.follow_to_other_server(last, entry);
            return;
        }
        if is_embedded(entry)
            && let Some(owner) = (0..self.ends.len()).rev().find(|at| page.is_empty() || self.ends[*at].0 == page)
        {
            self.object(owner, entry);
            return;
        }
        if !self.ends.is_empty() {
            // Rounded to the millisecond resolution of recordings.
            self.pauses.push(((entry.start - self.ends[last].1).max(0.0) * 1e3).round() / 1e3);
        }
        let version = entry.request.get("httpVersion").text().to_ascii_lowercase();
        self.http2_requests +=
            usize::from(["h2", "http/2", "http/2.0", "h3", "http/3", "http/3.0"].contains(&version.as_str()));
        let request = self.request(entry);
        if self.page_server.is_none() && is_page(entry) {
            self.page_server = Some(entry.server.clone());
        }
        self.requests.push(PlannedRequest {
            line: 0,
            element: entry.element.clone(),
            server: entry.server.clone(),
            request,
        });
        self.ends.push((page, entry.end));
        self.objects.push(HashSet::new());
    }

    /// If a page was redirected to another server (`x` to `www.x`), its step requests the final URL.
    fn follow_to_other_server(&mut self, step: usize, entry: &Entry<'d>) {
        let before = &self.requests[step];
        if before.server == entry.server || before.request.method != "get" || !self.objects[step].is_empty() {
            return;
        }
        let request = self.request(entry);
        if request.method != "get" {
            return;
        }
        let before = self.requests[step].server.clone();
        if self.page_server.is_none() && is_page(entry) || self.page_server.as_ref() == Some(&before) {
            self.page_server = Some(entry.server.clone());
        }
        let message = format!("was redirected to {}; here that URL is requested directly", entry.server.url());
        let element = self.requests[step].element.clone();
        self.note(&element, message);
        self.requests[step].server = entry.server.clone();
        self.requests[step].request = request;
    }

    fn object(&mut self, owner: usize, entry: &Entry) {
        self.ends[owner].1 = self.ends[owner].1.max(entry.end);
        if entry.server != self.requests[owner].server {
            let message = format!("an embedded object from another server, {}; left out", entry.server.url());
            self.note(&entry.element, message);
            return;
        }
        let full = self.objects[owner].len() == MAX_OBJECTS;
        if full {
            self.note(&entry.element, format!("the page has more than {MAX_OBJECTS} embedded objects; left out"));
        } else if self.objects[owner].insert(entry.path.clone()) {
            let request = &mut self.requests[owner].request;
            request.objects.push(encode_path(&Text::from(entry.path.as_str())));
            let status = entry.response.get("status").number().unwrap_or(0.0);
            if status >= 400.0 {
                request.objects_may_fail = true;
                let message = format!(
                    "an embedded object with status {status}; fetched, but its failure does not fail the page (objects_may_fail)"
                );
                self.note(&entry.element, message);
            }
        }
    }

    fn request(&mut self, entry: &Entry) -> Request {
        let method = entry.request.get("method").text();
        let mut request = Request::new(method, encode_path(&Text::from(entry.path.as_str())));
        request.name = default_name(&request);
        let post = entry.request.get("postData");
        for pair in entry.request.get("headers").list() {
            let (name, value) = (pair.get("name").text(), pair.get("value").text());
            let lower = name.to_ascii_lowercase();
            if CLIENT_STATE_HEADERS.contains(&lower.as_str()) {
                self.note("", format!("the recorded header {lower} is state of the recording browser; left out"));
                continue;
            }
            if lower == "authorization" {
                self.note(
                    &entry.element,
                    "contains the recorded Authorization header; extract a fresh login from a response instead",
                );
            }
            let text = Text::from(value);
            if lower != "host" && is_valid_header(name, &text) {
                request.add_header(name, text);
            }
        }
        request.body = self.body(entry, post, &mut request.headers);
        request
    }

    fn body(&mut self, entry: &Entry, post: &Data, headers: &mut Vec<(String, Text)>) -> Body {
        let kind = post.get("mimeType").text();
        let text = post.get("text").text();
        let parts = kind.starts_with("multipart/");
        if !text.is_empty() {
            if parts {
                self.note(
                    &entry.element,
                    "sends a multipart body as recorded; recordings do not contain the content of files",
                );
            }
            let text_kind = Text::from(kind);
            let known = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            if !known && !kind.is_empty() && is_valid_header("Content-Type", &text_kind) {
                headers.push(("Content-Type".to_owned(), text_kind));
            }
            return body::text(&Text::from(text));
        }
        let params = post.get("params").list();
        if params.is_empty() {
            return Body::None;
        }
        let pair = |param: &Data| (param.get("name").text().to_owned(), Text::from(param.get("value").text()));
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        if parts {
            if params.iter().any(|param| param.get("fileName").is()) {
                self.note(
                    &entry.element,
                    "sends files, which recordings do not contain; put them next to the workload",
                );
            }
            let part = |param: &Data| match param.get("fileName").text() {
                "" => body::field(&pair(param).0, &pair(param).1, None),
                file => body::upload(&pair(param).0, file, None),
            };
            return Body::Multipart(params.iter().map(part).collect());
        }
        body::form(&params.iter().map(pair).collect::<Vec<_>>(), headers)
    }

    fn into_request_list(mut self) -> RequestList {
        self.cap_pauses();
        let mut think_times: Vec<f64> = self.pauses.iter().copied().filter(|pause| *pause >= MIN_THINK_S).collect();
        think_times.sort_by(f64::total_cmp);
        let think = self.think_distribution(&think_times);
        let after = |at: usize| match self.pauses.get(at) {
            Some(pause) if *pause < MIN_THINK_S => Distribution::constant(*pause).ok().filter(|law| *law != think),
            _ => None,
        };
        let steps = (0..self.requests.len()).map(|at| (at, after(at))).collect();
        let http2_requests = 2 * self.http2_requests > self.requests.len();
        RequestList {
            origin: "a browser recording (HAR)",
            remark: "One recorded visit; set the number of users.",
            visits: vec![Visit { name: "visit".to_owned(), steps }],
            requests: self.requests,
            preferred_server: self.page_server,
            keep_flows: false,
            target: default_target()
                .with_reuse(Reuse::PerSession)
                .with_cookies(true)
                .with_redirects(if self.redirects { REDIRECTS } else { 0 })
                .with_protocol(if http2_requests { Protocol::Auto } else { Protocol::Http1 }),
            variables: Vec::new(),
            arrivals_default: DefaultArrivals::OneUser(think),
            notes: self.notes,
        }
    }

    /// Shortens pauses that are too long, and notes pauses in which a run with few users sends nothing.
    fn cap_pauses(&mut self) {
        let longest = self.pauses.iter().copied().fold(0.0, f64::max);
        let over = self.pauses.iter().filter(|pause| **pause > self.max_pause_s).count();
        let shown = |secs: f64| Nanos::from_secs_f64(secs);
        if over > 0 {
            let pauses = if over == 1 { "1 pause was".to_owned() } else { format!("{over} pauses were") };
            let message = format!("{pauses} longer than {} and shortened to it", shown(self.max_pause_s));
            self.note("", message);
            let most = self.max_pause_s;
            self.pauses.iter_mut().for_each(|pause| *pause = pause.min(most));
        } else if longest > LONG_PAUSE_S {
            let message = format!(
                "the longest pause is {}; a user sends nothing in that time, so a run that is no longer may be empty; cap the pauses at import, or set `think`",
                shown(longest)
            );
            self.note("", message);
        }
    }

    /// The distribution of think times, from pauses in ascending order.
    fn think_distribution(&mut self, think_times: &[f64]) -> Distribution {
        let none = || Distribution::constant(0.0).expect("zero is a constant");
        let Some(first) = think_times.first() else {
            self.note("", "the recording has no pause of a second or more; set a think time");
            return none();
        };
        let mean = think_times.iter().sum::<f64>() / think_times.len() as f64;
        self.note(
            "",
            format!(
                "{} of a second or more, mean {mean:.3} s: their empirical distribution is the think time of every step; if they are few, any distribution with this mean is as good",
                if think_times.len() == 1 { "1 pause".to_owned() } else { format!("{} pauses", think_times.len()) },
            ),
        );
        if think_times.iter().all(|time| time == first) {
            return Distribution::constant(*first).unwrap_or_else(|_| none());
        }
        let values = match think_times.len() {
            few if few <= MAX_VALUES => think_times.to_vec(),
            many => (0..MAX_VALUES).map(|at| think_times[(2 * at + 1) * many / (2 * MAX_VALUES)]).collect(),
        };
        Distribution::empirical(values).unwrap_or_else(|_| none())
    }
}

fn header_of<'d>(message: &'d Data, name: &str) -> &'d Data {
    let pair = message.get("headers").list().iter().find(|pair| pair.get("name").text().eq_ignore_ascii_case(name));
    pair.map_or(&crate::data::NOTHING, |pair| pair.get("value"))
}

/// Whether the entry is an HTML page.
fn is_page(entry: &Entry) -> bool {
    match entry.data.get("_resourceType").text() {
        "" => entry.response.at(&["content", "mimeType"]).text().to_ascii_lowercase().starts_with("text/html"),
        known => known == "document",
    }
}

/// Whether the entry is an embedded object of a page.
fn is_embedded(entry: &Entry) -> bool {
    if entry.request.get("method").text() != "GET" {
        return false;
    }
    let resource = ["stylesheet", "script", "image", "imageset", "font", "media", "texttrack", "manifest"];
    match entry.data.get("_resourceType").text() {
        "" => {
            let kind = entry.response.at(&["content", "mimeType"]).text().to_ascii_lowercase();
            let kinds =
                ["image/", "font/", "audio/", "video/", "text/css", "application/font", "application/vnd.ms-font"];
            kinds.iter().any(|known| kind.starts_with(known)) || kind.contains("javascript") || kind.contains("woff")
        }
        known => resource.contains(&known),
    }
}

/// Resolves a `Location` header against the URL of its response.
fn resolve_location(to: &str, from: &str) -> String {
    let to = to.split('#').next().unwrap_or_default();
    if to.contains("://") {
        return to.to_owned();
    }
    let authority = from.find("://").map_or(0, |at| at + 3);
    let root = from[authority..].find(['/', '?']).map_or(from.len(), |at| authority + at);
    if let Some(other) = to.strip_prefix("//") {
        return format!("{}//{other}", &from[..authority.saturating_sub(2)]);
    }
    if to.starts_with('/') {
        return format!("{}{to}", &from[..root]);
    }
    let path = &from[root..];
    let path = path.split('?').next().unwrap_or_default();
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    format!("{}{folder}{to}", &from[..root])
}
