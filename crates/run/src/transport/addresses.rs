//! Where connections go: the target's name, resolved once per run or again and again.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use offered_model::Outcome;
use offered_model::workload::Address;

use super::socket::Place;
use crate::Error;

/// The places of a target, shared by all threads; connections go to them in turn.
#[derive(Debug)]
pub(crate) struct Addresses {
    address: Address,
    places: RwLock<Result<Vec<Place>, String>>,
    /// Where connections come from, in turn; empty: the system chooses.
    sources: Vec<IpAddr>,
    turn: AtomicUsize,
}

impl Addresses {
    /// Resolves the target's name; connections come from `sources`.
    ///
    /// # Errors
    /// The name is not known, or nothing can come from a source.
    pub(crate) fn resolve(address: &Address, sources: &[IpAddr]) -> Result<Self, Error> {
        let places = lookup(address)?;
        for source_address in sources.iter().copied() {
            let failed = |why| Error::Source { source_address, why };
            let is_like = |place: &Place| matches!(place, Place::Tcp(to) if to.is_ipv4() == source_address.is_ipv4());
            if !places.iter().all(is_like) {
                return Err(failed("the target is of another family".to_owned()));
            }
            TcpListener::bind((source_address, 0)).map_err(|why| failed(why.to_string()))?;
        }
        let (address, places, turn) = (address.clone(), RwLock::new(Ok(places)), AtomicUsize::new(0));
        Ok(Self { address, places, sources: sources.to_vec(), turn })
    }

    /// Resolves the name again; while that fails, new connections fail with outcome `dns`.
    pub(crate) fn again(&self) {
        let found = lookup(&self.address).map_err(|error| error.to_string());
        *self.places.write().unwrap_or_else(std::sync::PoisonError::into_inner) = found;
    }

    /// The error of a way there that did not open.
    pub(crate) fn unreachable(&self, outcome: Outcome, why: String) -> Error {
        let place = self.first();
        match outcome {
            Outcome::Tls => Error::Handshake { place, why },
            _ => Error::Nobody { place, why },
        }
    }

    /// Where connections go, for people: the first place of it.
    pub(crate) fn first(&self) -> String {
        let places = self.places.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let first = places.as_ref().ok().and_then(|places| places.first());
        first.map_or_else(|| "the target".to_owned(), Place::to_string)
    }

    /// The place of the next connection and the address it comes from, or why the name could not be resolved.
    pub(crate) fn next(&self) -> Result<(Place, Option<IpAddr>), String> {
        let places = self.places.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let places = places.as_ref().map_err(Clone::clone)?;
        let turn = self.turn.fetch_add(1, Relaxed);
        let source = self.sources.get(turn % self.sources.len().max(1)).copied();
        Ok((places[turn % places.len()].clone(), source))
    }
}

fn lookup(address: &Address) -> Result<Vec<Place>, Error> {
    match address {
        Address::Unix(path) => Ok(vec![Place::Unix(path.into())]),
        Address::Tcp { host, port } => {
            let failed = |why| Error::Resolve { host: host.clone(), why };
            let found: Vec<_> = (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
            let first = found.first().ok_or_else(|| failed(io::Error::other("the name has no address")))?;
            // `localhost` is ::1 and 127.0.0.1, and a server listens on one of them as often as on both.
            let family = match found.iter().any(|other| other.is_ipv4() != first.is_ipv4()) {
                true => found.iter().find(|address| accepts(address)).unwrap_or(first).is_ipv4(),
                false => first.is_ipv4(),
            };
            Ok(found.into_iter().filter(|address| address.is_ipv4() == family).map(Place::Tcp).collect())
        }
    }
}

/// Whether somebody listens there; asked only of names with addresses of both families, once per resolution.
fn accepts(address: &SocketAddr) -> bool {
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
        // The whole of 127/8 is this machine on Linux; elsewhere one address must do for both.
        let second = if cfg!(target_os = "linux") { "127.0.0.2" } else { "127.0.0.1" };
        let sources = ["127.0.0.1".parse().unwrap(), second.parse().unwrap()];
        let addresses = Addresses::resolve(&target, &sources).unwrap();
        for _ in 0..3 {
            let (place, source) = addresses.next().unwrap();
            let _socket = dial(&place, source).unwrap();
            assert_eq!(Some(listener.accept().unwrap().1.ip()), source);
        }
        let turn: Vec<_> = (0..4).map(|_| addresses.next().unwrap().1).collect();
        assert_eq!((turn[0], turn[1]), (turn[2], turn[3]));
        assert_eq!(Addresses::resolve(&target, &[]).unwrap().next().unwrap().1, None);
    }

    #[test]
    fn a_source_that_cannot_be_is_told_before_launch() {
        let target = Address::Tcp { host: "127.0.0.1".to_owned(), port: 9 };
        for source in ["::1", "192.0.2.1"] {
            let error = Addresses::resolve(&target, &[source.parse().unwrap()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot connect from {source} (target.sources): ")), "{error}");
        }
    }
}
