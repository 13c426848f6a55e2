//! The addresses of the target. Its name is resolved once per run or periodically.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use offered_events::Outcome;
use offered_workload::Address;

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
}

impl Addresses {
    /// Resolves the name of the target. Connections come from `sources`.
    ///
    /// # Errors
    /// The name is unknown, or a source address cannot be used.
    pub(crate) fn resolve(address: &Address, sources: &[IpAddr]) -> Result<Self, Error> {
        let endpoints = lookup(address)?;
        for source_address in sources.iter().copied() {
            let failed = |reason| Error::Source { source_address, reason };
            let is_like =
                |endpoint: &Endpoint| matches!(endpoint, Endpoint::Tcp(to) if to.is_ipv4() == source_address.is_ipv4());
            if !endpoints.iter().all(is_like) {
                return Err(failed("the target has addresses of the other IP version".to_owned()));
            }
            TcpListener::bind((source_address, 0)).map_err(|reason| failed(reason.to_string()))?;
        }
        let (address, endpoints, turn) = (address.clone(), RwLock::new(Ok(endpoints)), AtomicUsize::new(0));
        Ok(Self { address, endpoints, sources: sources.to_vec(), turn })
    }

    /// Resolves the name again. While that fails, new connections fail with outcome `dns`.
    pub(crate) fn resolve_again(&self) {
        let found = lookup(&self.address).map_err(|error| error.to_string());
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

    /// The endpoint and the source address of the next connection, or why the name could not be resolved.
    pub(crate) fn next(&self) -> Result<(Endpoint, Option<IpAddr>), String> {
        let endpoints = self.endpoints.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let endpoints = endpoints.as_ref().map_err(Clone::clone)?;
        let turn = self.turn.fetch_add(1, Relaxed);
        let source = self.sources.get(turn % self.sources.len().max(1)).copied();
        Ok((endpoints[turn % endpoints.len()].clone(), source))
    }
}

fn lookup(address: &Address) -> Result<Vec<Endpoint>, Error> {
    match address {
        Address::Unix(path) => Ok(vec![Endpoint::Unix(path.into())]),
        Address::Tcp { host, port } => {
            let failed = |reason| Error::Resolve { host: host.clone(), reason };
            let found: Vec<_> = (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
            let first = found.first().ok_or_else(|| failed(io::Error::other("the name has no address")))?;
            // `localhost` is both ::1 and 127.0.0.1, and a server often listens on only one of them.
            let family = match found.iter().any(|other| other.is_ipv4() != first.is_ipv4()) {
                true => found.iter().find(|address| is_listening(address)).unwrap_or(first).is_ipv4(),
                false => first.is_ipv4(),
            };
            Ok(found.into_iter().filter(|address| address.is_ipv4() == family).map(Endpoint::Tcp).collect())
        }
    }
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
        let addresses = Addresses::resolve(&target, &sources).unwrap();
        for _ in 0..3 {
            let (endpoint, source) = addresses.next().unwrap();
            let _socket = dial(&endpoint, source).unwrap();
            assert_eq!(Some(listener.accept().unwrap().1.ip()), source);
        }
        let turn: Vec<_> = (0..4).map(|_| addresses.next().unwrap().1).collect();
        assert_eq!((turn[0], turn[1]), (turn[2], turn[3]));
        assert_eq!(Addresses::resolve(&target, &[]).unwrap().next().unwrap().1, None);
    }

    #[test]
    fn an_unusable_source_address_is_an_error_before_the_run() {
        let target = Address::Tcp { host: "127.0.0.1".to_owned(), port: 9 };
        for source in ["::1", "192.0.2.1"] {
            let error = Addresses::resolve(&target, &[source.parse().unwrap()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot connect from {source} (target.sources): ")), "{error}");
        }
    }
}
