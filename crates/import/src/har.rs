//! Reads browser recordings (HTTP Archive, .har): pages with their embedded objects, and the pauses between them.
//!
//! Embedded objects belong to the step of their page; every other request (page, script call, form) is a step of its
//! own. Pauses of a second or more between steps count as think time and form one empirical distribution; shorter
//! pauses stay with their step.

mod entry;
mod hosts;

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
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Targets, Visit, default_name};
use crate::text::Text;
use crate::{Error, ImportOptions};
use entry::{Entry, header_of};
use hosts::Hosts;

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
    if reader.untimed {
        reader.note(
            "",
            "the recording has entries without startedDateTime: requests are in the order of the file, without pauses",
        );
        for entry in &mut entries {
            (entry.start, entry.end) = (0.0, 0.0);
        }
    }
    entries.sort_by(|a, b| a.start.total_cmp(&b.start));
    reader.hosts = Hosts::new(&entries, options.hosts).map_err(refused)?;
    for entry in &entries {
        reader.add(entry);
    }
    reader.into_request_list().into_plan(file)
}

/// A step of the visit.
struct RecordedStep<'d> {
    /// Number of its page.
    page: &'d str,
    is_page: bool,
    /// When its last response ended, in seconds since the epoch.
    end: f64,
    /// The objects that belong to it.
    objects: HashSet<String>,
}

/// A redirect that the browser follows.
struct Redirect {
    to: String,
    step: usize,
    is_object: bool,
    /// Number of redirects of its request so far, with this one.
    hops: u32,
}

#[derive(Default)]
struct Reader<'d> {
    requests: Vec<PlannedRequest>,
    /// For each request.
    steps: Vec<RecordedStep<'d>>,
    pauses: Vec<f64>,
    /// Redirects that have not been followed yet.
    redirects: Vec<Redirect>,
    has_redirects: bool,
    hosts: Hosts,
    /// Servers of objects and of redirects.
    further_servers: Vec<Server>,
    /// Upper bound of pauses in seconds.
    max_pause_s: f64,
    /// Whether an entry has no start time.
    untimed: bool,
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
        self.untimed |= started.is_empty();
        let start = match started {
            "" => 0.0,
            started => {
                let time: Timestamp = started.parse().map_err(|_| {
                    format!("entry {}: startedDateTime `{started}` is not a time such as 2024-05-01T10:00:00Z", at + 1)
                })?;
                time.as_nanosecond() as f64 / 1e9
            }
        };
        let took = data.get("time").number().unwrap_or(0.0).clamp(0.0, 1e9) / 1e3;
        let (server, path) = Server::parse(url).unwrap_or_default();
        let left_out = match (method, response.get("status").number()) {
            _ if server == Server::Unspecified => match url.split(':').next() {
                Some("ws" | "wss") => "a WebSocket; left out",
                _ => "is not a valid HTTP URL; left out",
            },
            _ if data.get("_webSocketMessages").is() => "a WebSocket; left out",
            _ if data.get("_fromCache").is() => "was served from the browser's cache; left out",
            // Browsers write 0, -1 or -2 for requests that were blocked or aborted, and for unused pushes.
            (_, None | Some(..100.0)) if response.is() => "has no response (blocked or aborted); left out",
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

    /// Turns the entry into a step or an embedded object of an earlier step, or skips it: a followed redirect, or a request
    /// to a host that gets none.
    fn add(&mut self, entry: &Entry<'d>) {
        if !self.hosts.includes(&entry.server) {
            self.hosts.leave_out(&entry.server);
            // Its page is complete with it.
            if let Some(owner) = self.owner(entry).filter(|_| entry.is_embedded()) {
                self.steps[owner].end = self.steps[owner].end.max(entry.end);
            }
            return;
        }
        if let Some(at) = self.redirects.iter().position(|redirect| redirect.to == entry.plain_url()) {
            let from = self.redirects.swap_remove(at);
            self.followed(entry, from);
            return;
        }
        match self.owner(entry).filter(|_| entry.is_embedded()) {
            Some(owner) => self.object(owner, entry),
            None => self.step(entry),
        }
    }

    /// Adds a step.
    fn step(&mut self, entry: &Entry<'d>) {
        if let Some(before) = self.steps.last() {
            // Rounded to the millisecond resolution of recordings.
            self.pauses.push(((entry.start - before.end).max(0.0) * 1e3).round() / 1e3);
        }
        let version = entry.request.get("httpVersion").text().to_ascii_lowercase();
        self.http2_requests +=
            usize::from(["h2", "http/2", "http/2.0", "h3", "http/3", "http/3.0"].contains(&version.as_str()));
        let request = self.request(entry);
        self.requests.push(PlannedRequest {
            line: 0,
            element: entry.element.clone(),
            server: entry.server.clone(),
            request,
        });
        let page = entry.data.get("pageref").text();
        self.steps.push(RecordedStep { page, is_page: entry.is_page(), end: entry.end, objects: HashSet::new() });
        let step = self.steps.len() - 1;
        self.follow(entry, Redirect { to: String::new(), step, is_object: false, hops: 0 });
    }

    /// Waits for the redirect of `entry`, to which the redirects `before` led. Returns whether it leads to a host that gets
    /// no requests.
    fn follow(&mut self, entry: &Entry<'d>, before: Redirect) -> bool {
        let Some(to) = entry.redirect() else { return false };
        let leaves = Server::parse(&to).is_none_or(|(server, _)| !self.hosts.includes(&server));
        if !leaves {
            self.has_redirects = true;
            self.redirects.push(Redirect { to, hops: before.hops + 1, ..before });
        } else if !before.is_object {
            self.requests[before.step].request.redirects = Some(before.hops);
            let message = "redirects to another host, which gets no requests; the redirect is not followed";
            self.note(&entry.element, message);
        }
        leaves
    }

    /// A request that follows from the redirect `from`. If a server does nothing but redirect (`x` to `www.x`), the step
    /// requests the final URL.
    fn followed(&mut self, entry: &Entry<'d>, mut from: Redirect) {
        let step = from.step;
        self.steps[step].end = self.steps[step].end.max(entry.end);
        let before = &self.requests[step];
        if entry.server != before.server {
            let is_get = before.request.method == "get" && entry.request.get("method").text() == "GET";
            let is_whole = !from.is_object && self.steps[step].objects.is_empty();
            if is_get && is_whole && self.hosts.only_redirects(&before.server) {
                let message = format!("was redirected to {}; here that URL is requested directly", entry.server.url());
                let element = before.element.clone();
                self.note(&element, message);
                self.requests[step].request = self.request(entry);
                self.requests[step].server = entry.server.clone();
                from.hops = 0;
            } else {
                self.further_servers.push(entry.server.clone());
            }
        }
        self.follow(entry, from);
    }

    /// The step that an embedded object belongs to: that of its page while the page loads, the last one afterwards.
    fn owner(&self, entry: &Entry<'d>) -> Option<usize> {
        let page = entry.data.get("pageref").text();
        let mut of_page = (0..self.steps.len()).rev().filter(|at| page.is_empty() || self.steps[*at].page == page);
        let document = of_page.clone().find(|at| self.steps[*at].is_page);
        document.filter(|at| entry.start - self.steps[*at].end < MIN_THINK_S).or_else(|| of_page.next())
    }

    fn object(&mut self, owner: usize, entry: &Entry<'d>) {
        self.steps[owner].end = self.steps[owner].end.max(entry.end);
        if self.follow(entry, Redirect { to: String::new(), step: owner, is_object: true, hops: 0 }) {
            self.note(&entry.element, "an embedded object that redirects to another host; left out");
            return;
        }
        let is_elsewhere = entry.server != self.requests[owner].server;
        let mut location = Text::from(if is_elsewhere { entry.server.url().trim_end_matches('/') } else { "" });
        location.push(&encode_path(&Text::from(entry.path.as_str())));
        if self.steps[owner].objects.len() == MAX_OBJECTS {
            self.note(&entry.element, format!("the page has more than {MAX_OBJECTS} embedded objects; left out"));
        } else if self.steps[owner].objects.insert(location.to_source()) {
            let differs = ["accept", "referer"].iter().any(|name| {
                let of_page = self.requests[owner].request.header(name).and_then(Text::as_literal).unwrap_or("");
                header_of(entry.request, name).text() != of_page
            });
            if differs {
                self.note("", "embedded objects are requested with the headers of their page; their own headers, such as Accept and Referer, are left out");
            }
            if is_elsewhere {
                self.further_servers.push(entry.server.clone());
            }
            let request = &mut self.requests[owner].request;
            request.objects.push(location);
            let status = entry.status();
            if status >= 400.0 {
                request.objects_may_fail = true;
                let message = format!(
                    "an embedded object with status {status}; fetched, but its failure does not fail the page (objects_may_fail)"
                );
                self.note(&entry.element, message);
            }
        }
    }

    fn request(&mut self, entry: &Entry<'d>) -> Request {
        let method = entry.request.get("method").text();
        if method.bytes().any(|b| b.is_ascii_lowercase()) {
            let message = format!("the method `{method}` is in lower case; here it is sent in upper case");
            self.note(&entry.element, message);
        }
        let mut request = Request::new(method, encode_path(&Text::from(entry.path.as_str())));
        request.name = default_name(&request);
        if self.hosts.first() != Some(&entry.server) {
            request.name = request.name.replacen('/', &format!("{}/", entry.server.authority()), 1);
        }
        let post = entry.request.get("postData");
        for pair in entry.request.get("headers").list() {
            let (name, value) = (pair.get("name").text(), pair.get("value").text());
            let lower = name.to_ascii_lowercase();
            if CLIENT_STATE_HEADERS.contains(&lower.as_str()) {
                self.note(
                    "",
                    format!("the recorded header {lower} depends on the state of the recording browser; left out"),
                );
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

    fn body(&mut self, entry: &Entry, post: &'d Data, headers: &mut Vec<(String, Text)>) -> Body {
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
            if !kind.is_empty() && is_valid_header("Content-Type", &Text::from(kind)) {
                body::set_default_type(headers, kind);
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
                    "sends files, which recordings do not contain; put them into the directory of the workload",
                );
            }
            let media_type = |param: &'d Data| Some(param.get("contentType").text()).filter(|kind| !kind.is_empty());
            let part = |param: &'d Data| match param.get("fileName").text() {
                "" => body::field(&pair(param).0, &pair(param).1, media_type(param)),
                file => body::upload(&pair(param).0, file, media_type(param)),
            };
            return Body::Multipart(params.iter().map(part).collect());
        }
        body::form(&params.iter().map(pair).collect::<Vec<_>>(), headers)
    }

    fn into_request_list(mut self) -> RequestList {
        if let Some(left_out) = self.hosts.note() {
            self.note("", left_out);
        }
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
            targets: Targets::All { first: self.hosts.first().cloned(), further: self.further_servers },
            keep_flows: false,
            target: default_target()
                .with_reuse(Reuse::PerSession)
                .with_cookies(true)
                .with_redirects(if self.has_redirects { REDIRECTS } else { 0 })
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
            let message = format!("{pauses} longer than {}; shortened to this time", shown(self.max_pause_s));
            self.note("", message);
            let most = self.max_pause_s;
            self.pauses.iter_mut().for_each(|pause| *pause = pause.min(most));
        } else if longest > LONG_PAUSE_S {
            let message = format!(
                "the longest pause is {}; a user sends nothing during a pause, so a shorter run may have no requests; cap the think times, or set `think`",
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
                "{} of a second or more, mean {mean:.3} s: their empirical distribution is the think time of every step; if the pauses are few, any distribution with this mean is as good",
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
