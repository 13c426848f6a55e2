//! The hosts that requests of a recording are sent to: those of the site that it shows, or those that the user names.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use offered_public_suffix::registrable_domain;

use super::entry::Entry;
use crate::address::{MAX_TARGETS, Server};

/// Maximum number of hosts that a note names.
const MAX_NAMES: usize = 20;

/// Which servers get load.
#[derive(Default)]
pub(super) struct Hosts {
    /// The default target; `None` if no entry can be sent.
    first: Option<Server>,
    /// The hosts that the user names; empty for the site of the first target.
    named: Vec<String>,
    /// Servers with other responses than redirects.
    answering: HashSet<Server>,
    /// Number of requests to each host that gets none, in the order of the recording.
    left_out: Vec<(String, usize)>,
}

impl Hosts {
    /// The hosts for `entries`, which are in the order of time. `named` are the hosts that the user names.
    ///
    /// # Errors
    /// No request goes to a named host, or there are too many hosts.
    pub(super) fn new(entries: &[Entry], named: &[String]) -> Result<Self, String> {
        for name in named {
            if !entries.iter().any(|entry| is_below(&entry.server, name)) {
                let mut all: Vec<&str> = Vec::new();
                for name in entries.iter().map(|entry| entry.server.authority()) {
                    if !all.contains(&name) {
                        all.push(name);
                    }
                }
                return Err(format!(
                    "no request of the recording goes to the host {name}; its hosts are {}",
                    listed(all.into_iter().map(str::to_owned).collect())
                ));
            }
        }
        let sent: Vec<&Entry> = entries.iter().filter(|entry| is_named(&entry.server, named)).collect();
        let others = sent.iter().filter(|entry| entry.redirect().is_none());
        let hosts = Self {
            first: first_server(&sent),
            named: named.to_vec(),
            answering: others.map(|entry| entry.server.clone()).collect(),
            left_out: Vec::new(),
        };
        let servers: HashSet<&Server> =
            entries.iter().map(|entry| &entry.server).filter(|server| hosts.includes(server)).collect();
        match servers.len() {
            many if many > MAX_TARGETS => {
                Err(format!("{many} hosts would get requests; a workload has at most {MAX_TARGETS} from a recording"))
            }
            _ => Ok(hosts),
        }
    }

    /// The default target.
    pub(super) fn first(&self) -> Option<&Server> {
        self.first.as_ref()
    }

    /// Whether requests are sent to `server`.
    pub(super) fn includes(&self, server: &Server) -> bool {
        match &self.first {
            _ if !self.named.is_empty() => is_named(server, &self.named),
            Some(first) => is_same_site(first.host(), server.host()),
            None => false,
        }
    }

    /// Whether a server redirects every request.
    pub(super) fn only_redirects(&self, server: &Server) -> bool {
        !self.answering.contains(server)
    }

    /// Counts a request that is not sent.
    pub(super) fn leave_out(&mut self, server: &Server) {
        match self.left_out.iter_mut().find(|(host, _)| host == server.host()) {
            Some((_, count)) => *count += 1,
            None => self.left_out.push((server.host().to_owned(), 1)),
        }
    }

    /// The note about the requests that are not sent, and how to send them; `None` if there are none.
    pub(super) fn note(&self) -> Option<String> {
        let mut hosts = self.left_out.clone();
        hosts.sort_by_key(|(_, count)| Reverse(*count));
        let all: usize = hosts.iter().map(|(_, count)| count).sum();
        let own = match (self.named.as_slice(), &self.first) {
            ([], Some(first)) => vec![registrable_domain(first.host()).unwrap_or(first.host()).to_owned()],
            (named, _) => named.to_vec(),
        };
        let flags: String = own.iter().map(|host| format!("--target-host {host} ")).collect();
        let example = &hosts.first()?.0;
        Some(format!(
            "left out: {all} request{} to other hosts: {}; if you may load a host, import again with {flags}--target-host {example}",
            if all == 1 { "" } else { "s" },
            listed(hosts.iter().map(|(host, count)| format!("{host} ({count})")).collect())
        ))
    }
}

/// The texts, separated by commas; of many only the first and a number.
fn listed(mut texts: Vec<String>) -> String {
    if texts.len() > MAX_NAMES {
        let more = texts.len() - MAX_NAMES;
        texts.truncate(MAX_NAMES);
        texts.push(format!("{more} more"));
    }
    texts.join(", ")
}

fn is_named(server: &Server, named: &[String]) -> bool {
    named.is_empty() || named.iter().any(|name| is_below(server, name))
}

/// Whether the host of `server` is `name`, which may have a port, or a subdomain of it.
fn is_below(server: &Server, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let host = server.host();
    server.authority() == name || host == name || host.strip_suffix(&name).is_some_and(|before| before.ends_with('.'))
}

/// Whether two hosts belong to one site (HTML Standard, "same site", without the scheme).
fn is_same_site(host: &str, other: &str) -> bool {
    host == other || registrable_domain(host).is_some_and(|site| registrable_domain(other) == Some(site))
}

/// Whether a host is the machine of the browser or has a private address.
fn is_local(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The default target: the server of the first page on a local host, or else of the first page. If redirects led that page
/// over several servers, such as that of a sign-in, the one of them with most pages, then most requests. Without pages, the
/// server with most requests.
fn first_server(entries: &[&Entry]) -> Option<Server> {
    let mut servers: Vec<&Server> = Vec::new();
    // A recording of a local application can begin with a sign-in elsewhere.
    let local = entries.iter().position(|entry| entry.is_page() && is_local(entry.server.host()));
    if let Some(at) = local.or_else(|| entries.iter().position(|entry| entry.is_page())) {
        servers.push(&entries[at].server);
        let mut to = entries[at].redirect();
        for entry in &entries[at + 1..] {
            if to.as_deref() == Some(entry.plain_url()) {
                servers.push(&entry.server);
                to = entry.redirect();
            }
        }
    } else {
        servers.extend(entries.iter().map(|entry| &entry.server).rev());
    }
    let mut counts: HashMap<&Server, (usize, usize)> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.redirect().is_none()) {
        let (pages, requests) = counts.entry(&entry.server).or_default();
        *pages += usize::from(entry.is_page());
        *requests += 1;
    }
    // On a tie the last one, which is the final server, or the first one of a recording without pages.
    servers.into_iter().max_by_key(|server| counts.get(server).copied().unwrap_or_default()).cloned()
}
