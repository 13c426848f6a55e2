//! The addresses of the target. Its name is resolved once per run or periodically.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use offered_base::Nanos;
use offered_events::Outcome;
use offered_events::recording::AddressUse;
use offered_workload::{Address, Resolve, Target};

use super::socket::Endpoint;
use crate::Error;

/// The endpoints of a target, shared by all threads. Connections use them in turn.
#[derive(Debug)]
pub(crate) struct Addresses {
    address: Address,
    endpoints: RwLock<Result<Vec<Endpoint>, String>>,
    /// Local addresses of connections, used in turn; if empty, the system chooses.
    sources: Vec<IpAddr>,
    turn: AtomicUsize,
    resolve: Resolve,
    connect_timeout: Nanos,
    /// The numbers of connections to each endpoint, if there are several.
    uses: Mutex<Vec<AddressUse>>,
}

/// The endpoints of a connection, in the order in which it tries them.
pub(super) struct Candidates {
    pub(super) first: Endpoint,
    /// Whether `rest` begins with an endpoint that is tried at the same time.
    pub(super) race: bool,
    pub(super) rest: VecDeque<Endpoint>,
    /// The local address; `None`: the system chooses.
    pub(super) source: Option<IpAddr>,
    /// The part of the connect timeout that each attempt gets.
    pub(super) patience: Nanos,
}

impl Addresses {
    /// Resolves the name at `address`, which is that of `target` or of its proxy.
    ///
    /// # Errors
    /// The name is unknown, or a source address cannot be used.
    pub(crate) fn resolve(address: &Address, target: &Target) -> Result<Self, Error> {
        let (sources, resolve) = (target.sources(), target.resolve());
        let endpoints = lookup(address, resolve)?;
        for source_address in sources.iter().copied() {
            let failed = |reason| Error::Source { source_address, reason };
            let is_like =
                |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(to) if to.is_ipv4() == source_address.is_ipv4());
            if !endpoints.iter().all(is_like) {
                return Err(failed("the target has addresses of the other IP version".to_owned()));
            }
            TcpListener::bind((source_address, 0)).map_err(|reason| failed(reason.to_string()))?;
        }
        Ok(Self {
            address: address.clone(),
            endpoints: RwLock::new(Ok(endpoints)),
            sources: sources.to_vec(),
            turn: AtomicUsize::new(0),
            resolve,
            connect_timeout: target.connect_timeout(),
            uses: Mutex::default(),
        })
    }

    /// Resolves the name again. While that fails, new connections fail with outcome `dns`.
    pub(crate) fn resolve_again(&self) {
        let found = lookup(&self.address, self.resolve).map_err(|error| error.to_string());
        *self.endpoints.write().unwrap_or_else(std::sync::PoisonError::into_inner) = found;
    }

    /// The error for a connection that could not be opened.
    pub(crate) fn connect_error(&self, outcome: Outcome, reason: String) -> Error {
        let address = self.first();
        match outcome {
            Outcome::Tls => Error::Handshake { address, reason },
            // A resource of this machine is exhausted.
            Outcome::Unsent => Error::NoResources { address, reason },
            _ => Error::Unreachable { address, reason },
        }
    }

    /// The first endpoint, for messages.
    pub(crate) fn first(&self) -> String {
        let endpoints = self.endpoints.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let first = endpoints.as_ref().ok().and_then(|endpoints| endpoints.first());
        first.map_or_else(|| "the target".to_owned(), Endpoint::to_string)
    }

    /// The endpoints and the source address of the next connection, or why the name could not be resolved.
    pub(super) fn next(&self) -> Result<Candidates, String> {
        let endpoints = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        let endpoints = endpoints.as_ref().map_err(Clone::clone)?;
        let turn = self.turn.fetch_add(1, Relaxed);
        let source = self.sources.get(turn % self.sources.len().max(1)).copied();
        let start = if self.resolve == Resolve::Rotate { turn % endpoints.len() } else { 0 };
        let (before, after) = endpoints.split_at(start);
        let patience = Nanos(self.connect_timeout.0 / endpoints.len() as u64);
        let rest: VecDeque<Endpoint> = after[1..].iter().chain(before).cloned().collect();
        let race = self.resolve == Resolve::Race && rest.front().is_some_and(|other| !other.is_like(&after[0]));
        Ok(Candidates { first: after[0].clone(), race, rest, source, patience })
    }

    /// Replaces the endpoints.
    #[cfg(test)]
    pub(super) fn set(&self, endpoints: Vec<Endpoint>) {
        *self.endpoints.write().unwrap() = Ok(endpoints);
    }

    /// Counts an attempt to connect to one of several endpoints: opened, or failed for a reason.
    pub(super) fn count(&self, endpoint: &Endpoint, error: Option<String>) {
        let (address, mut uses) = (endpoint.to_string(), self.uses.lock().unwrap_or_else(PoisonError::into_inner));
        let known = uses.iter().position(|use_| use_.address == address).unwrap_or_else(|| {
            uses.push(AddressUse { address, ..AddressUse::default() });
            uses.len() - 1
        });
        let counted = &mut uses[known];
        match error {
            None => counted.opened += 1,
            Some(error) => (counted.failed, counted.error) = (counted.failed + 1, Some(error)),
        }
    }

    /// The connections to each of several endpoints; empty if there is only one.
    pub(crate) fn uses(&self) -> Vec<AddressUse> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn lookup(address: &Address, resolve: Resolve) -> Result<Vec<Endpoint>, Error> {
    match address {
        Address::Unix(path) => Ok(vec![Endpoint::Unix(path.into())]),
        Address::Tcp { host, port } => {
            let failed = |reason| Error::Resolve { host: host.clone(), reason };
            let found: Vec<_> = (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
            let first = found.first().ok_or_else(|| failed(io::Error::other("the name has no address")))?;
            if resolve == Resolve::Race {
                return Ok(in_turn(found).into_iter().map(Endpoint::Tcp).collect());
            }
            // `localhost` is both ::1 and 127.0.0.1, and a server often listens on only one of them.
            let family = match found.iter().any(|other| other.is_ipv4() != first.is_ipv4()) {
                true => found.iter().find(|address| is_listening(address)).unwrap_or(first).is_ipv4(),
                false => first.is_ipv4(),
            };
            Ok(found.into_iter().filter(|address| address.is_ipv4() == family).map(Endpoint::Tcp).collect())
        }
    }
}

/// The addresses with alternating IP versions, beginning with the version of the first (RFC 8305, section 4).
fn in_turn(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_first = |address: &SocketAddr| found.first().is_some_and(|first| first.is_ipv4() == address.is_ipv4());
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) =
        found.iter().copied().partition(|address| is_first(address));
    let mut all = Vec::with_capacity(found.len());
    while let Some(next) = first.pop_front().or_else(|| second.pop_front()) {
        all.push(next);
        all.extend(second.pop_front());
    }
    all
}

/// Whether a server accepts connections there. Used only for names with addresses of both families, once per
/// resolution.
fn is_listening(address: &SocketAddr) -> bool {
    TcpStream::connect_timeout(address, Duration::from_millis(500)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::socket::dial;

    #[test]
    fn connections_come_from_the_sources_in_turn() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Address::Tcp { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        // On Linux all of 127/8 is local; elsewhere one address must do for both.
        let second = if cfg!(target_os = "linux") { "127.0.0.2" } else { "127.0.0.1" };
        let sources = ["127.0.0.1".parse().unwrap(), second.parse().unwrap()];
        let addresses = Addresses { sources: sources.to_vec(), ..at(&target) };
        for _ in 0..3 {
            let Candidates { first, source, .. } = addresses.next().unwrap();
            let _socket = dial(&first, source).unwrap();
            assert_eq!(Some(listener.accept().unwrap().1.ip()), source);
        }
        let turn: Vec<_> = (0..4).map(|_| addresses.next().unwrap().source).collect();
        assert_eq!((turn[0], turn[1]), (turn[2], turn[3]));
        assert_eq!(at(&target).next().unwrap().source, None);
    }

    fn at(address: &Address) -> Addresses {
        let url = "http://127.0.0.1/".parse().unwrap();
        Addresses::resolve(address, &Target::new(url)).unwrap()
    }

    #[test]
    fn every_connection_has_all_addresses_in_an_order_of_its_own() {
        let addresses = at(&Address::Tcp { host: "127.0.0.1".to_owned(), port: 9 });
        let endpoints = ["[::1]:1", "127.0.0.1:2", "127.0.0.1:3"].map(|at| Endpoint::Tcp(at.parse().unwrap()));
        addresses.set(endpoints.to_vec());
        let order = |addresses: &Addresses| {
            let Candidates { first, race, rest, patience, .. } = addresses.next().unwrap();
            assert_eq!(patience, Nanos(5_000_000_000 / 3));
            let all: Vec<String> = std::iter::once(first).chain(rest).map(|endpoint| endpoint.to_string()).collect();
            (all.join(" "), race)
        };
        assert_eq!(order(&addresses), ("[::1]:1 127.0.0.1:2 127.0.0.1:3".to_owned(), false));
        assert_eq!(order(&addresses), ("127.0.0.1:2 127.0.0.1:3 [::1]:1".to_owned(), false));
        assert_eq!(order(&addresses), ("127.0.0.1:3 [::1]:1 127.0.0.1:2".to_owned(), false));
        let first = Addresses { resolve: Resolve::First, ..addresses };
        assert_eq!(order(&first), order(&first));
        let race = Addresses { resolve: Resolve::Race, ..first };
        assert_eq!(order(&race), ("[::1]:1 127.0.0.1:2 127.0.0.1:3".to_owned(), true));
        let found = ["[::1]:1", "[::2]:1", "127.0.0.1:2"].map(|at| at.parse().unwrap());
        assert_eq!(in_turn(found.to_vec()), [found[0], found[2], found[1]]);
    }

    #[test]
    fn attempts_are_counted_by_address() {
        let addresses = at(&Address::Tcp { host: "127.0.0.1".to_owned(), port: 9 });
        assert_eq!(addresses.uses(), []);
        let endpoint = Endpoint::Tcp("127.0.0.1:2".parse().unwrap());
        addresses.count(&endpoint, Some("refused".to_owned()));
        addresses.count(&endpoint, None);
        let error = Some("refused".to_owned());
        assert_eq!(addresses.uses(), [AddressUse { address: "127.0.0.1:2".to_owned(), opened: 1, failed: 1, error }]);
    }

    #[test]
    fn an_unusable_source_address_is_an_error_before_the_run() {
        let target = Address::Tcp { host: "127.0.0.1".to_owned(), port: 9 };
        for source in ["::1", "192.0.2.1"] {
            let text = format!(
                "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://127.0.0.1:9/\"\nsources = [\"{source}\"]\n"
            );
            let workload = offered_workload::Workload::parse(&text, "w", &|_| Err(String::new())).unwrap();
            let error = Addresses::resolve(&target, workload.target().unwrap()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot connect from {source} (target.sources): ")), "{error}");
        }
    }
}
