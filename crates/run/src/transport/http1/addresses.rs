//! Where connections go: the target's name, resolved once per run or again and again.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use offered_model::Nanos;
use offered_model::workload::Address;

use super::connection::dial;
use crate::Error;

/// Where one connection goes.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// The places of a target, shared by all threads; connections go to them in turn.
#[derive(Debug)]
pub(crate) struct Addresses {
    address: Address,
    places: RwLock<Result<Vec<Place>, String>>,
    turn: AtomicUsize,
}

impl Addresses {
    /// Resolves the target's name.
    ///
    /// # Errors
    /// The name is not known.
    pub(crate) fn resolve(address: &Address) -> Result<Self, Error> {
        let places = lookup(address)?;
        Ok(Self { address: address.clone(), places: RwLock::new(Ok(places)), turn: AtomicUsize::new(0) })
    }

    /// Resolves the name again; while that fails, new connections fail with outcome `dns`.
    pub(crate) fn again(&self) {
        let found = lookup(&self.address).map_err(|error| error.to_string());
        *self.places.write().unwrap_or_else(std::sync::PoisonError::into_inner) = found;
    }

    /// Connects to one place, within `timeout`, and hangs up.
    ///
    /// # Errors
    /// Nobody listens there.
    pub(crate) fn knock(&self, timeout: Nanos) -> Result<(), Error> {
        let place = self.next().map_err(|why| Error::Nobody { place: "the target".to_owned(), why })?;
        let (name, knocked) = match place {
            Place::Tcp(address) => {
                let timeout = Duration::from_nanos(timeout.0.max(1));
                (address.to_string(), TcpStream::connect_timeout(&address, timeout).map(drop))
            }
            // Not by the standard library, which would wait for ever for a server that does not accept.
            Place::Unix(ref path) => (path.display().to_string(), dial(&place).map(drop)),
        };
        knocked.map_err(|why| Error::Nobody { place: name, why: why.to_string() })
    }

    /// The place of the next connection, or why the name could not be resolved.
    pub(crate) fn next(&self) -> Result<Place, String> {
        let places = self.places.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let places = places.as_ref().map_err(Clone::clone)?;
        Ok(places[self.turn.fetch_add(1, Relaxed) % places.len()].clone())
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
