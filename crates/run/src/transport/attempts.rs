//! The attempts of one connection to reach a target with several addresses.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use offered_base::Nanos;
use offered_events::{Outcome, Reason};
use offered_io::Poller;
use rustix::net::sockopt;

use super::Failure;
use super::addresses::{Addresses, Candidates};
use super::socket::{Endpoint, connect_failure, dial, dial_failure, limit_attempt};

/// The attempts, until one is connected.
pub(super) struct Attempts {
    /// The endpoint of the stream's socket.
    pub(super) current: Endpoint,
    /// A second attempt at the same time.
    pub(super) racing: Option<(OwnedFd, Endpoint)>,
    race: bool,
    /// The endpoints that have not been tried.
    rest: VecDeque<Endpoint>,
    source: Option<IpAddr>,
    patience: Nanos,
    /// The failed attempts: endpoint and reason.
    errors: Vec<String>,
    outcome: Outcome,
}

impl Attempts {
    pub(super) fn new(candidates: Candidates) -> Self {
        let Candidates { first, race, mut rest, source, patience } = candidates;
        let current = first.clone();
        rest.push_front(first);
        Self { current, racing: None, race, rest, source, patience, errors: Vec::new(), outcome: Outcome::Refused }
    }

    /// Starts the next attempt. Returns its socket, and whether it is connected already.
    ///
    /// # Errors
    /// All attempts have failed; the reason names each endpoint. Or this machine lacks something for an attempt.
    pub(super) fn start(&mut self, addresses: &Addresses) -> Result<(OwnedFd, bool), Failure> {
        loop {
            let Some(endpoint) = self.rest.pop_front() else {
                return Err((self.outcome, Reason::Other(self.errors.join("; ").into())));
            };
            match self.dial(&endpoint) {
                Ok(dialled) => {
                    self.current = endpoint;
                    return Ok(dialled);
                }
                Err((Outcome::Unsent, reason)) => return Err((Outcome::Unsent, reason)),
                Err(failure) => self.failed(endpoint, failure, addresses),
            }
        }
    }

    fn dial(&self, endpoint: &Endpoint) -> Result<(OwnedFd, bool), Failure> {
        let (socket, connected) = dial(endpoint, self.source).map_err(dial_failure)?;
        if !self.rest.is_empty() && !connected {
            limit_attempt(&socket, self.patience);
        }
        Ok((socket, connected))
    }

    /// Starts a second attempt at the next endpoint, if the two race.
    pub(super) fn race(&mut self, poller: &Poller, token: usize, addresses: &Addresses) {
        if !std::mem::take(&mut self.race) {
            return;
        }
        let Some(endpoint) = self.rest.pop_front() else { return };
        match self.dial(&endpoint) {
            Ok((socket, _)) if poller.add(&socket, token).is_ok() => self.racing = Some((socket, endpoint)),
            Ok(_) => {}
            Err(failure) => self.failed(endpoint, failure, addresses),
        }
    }

    /// Records a failed attempt.
    pub(super) fn failed(&mut self, endpoint: Endpoint, (outcome, reason): Failure, addresses: &Addresses) {
        self.errors.push(format!("{endpoint}: {reason}"));
        self.outcome = outcome;
        addresses.count(&endpoint, Some(reason.to_string()));
    }
}

/// Why an attempt to connect has failed, if it has.
pub(super) fn connect_error(socket: &OwnedFd) -> Option<Failure> {
    let attempt = sockopt::socket_error(socket).and_then(|attempt| attempt);
    attempt.err().map(|error| connect_failure(error.into()))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use offered_workload::{Resolve, Target};

    use super::*;
    use crate::transport::route::Route;
    use crate::transport::stream::Stream;

    /// A route to these addresses.
    fn route(resolve: Resolve, endpoints: &[SocketAddr]) -> Route {
        let url = format!("http://{}/", endpoints[0]).parse().unwrap();
        let target = Target::new(url).with_connect_timeout(Nanos::from_secs(3)).with_resolve(resolve);
        let route = Route::new(&target).unwrap();
        route.addresses.set(endpoints.iter().copied().map(Endpoint::Tcp).collect());
        route
    }

    /// A listener, and an address without one.
    fn listener() -> (TcpListener, SocketAddr, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        (listener, open, free)
    }

    #[test]
    fn a_refused_attempt_is_followed_by_the_next_address() {
        let (_listener, open, refused) = listener();
        for resolve in [Resolve::Rotate, Resolve::First] {
            let route = route(resolve, &[refused, open]);
            for _ in 0..4 {
                assert!(Stream::open(&route, Nanos::from_secs(3)).unwrap().is_open());
            }
            let uses = route.addresses.uses();
            let opened: u64 = uses.iter().map(|counted| counted.opened).sum();
            let failed = uses.iter().find(|counted| counted.address == refused.to_string()).unwrap();
            let expected = if resolve == Resolve::First { 4 } else { 2 };
            assert_eq!((opened, failed.opened, failed.failed), (4, 0, expected), "{resolve}");
            assert!(failed.error.as_ref().unwrap().contains("refused"), "{failed:?}");
        }
    }

    #[test]
    fn an_error_names_every_address() {
        let (_, closed, refused) = listener();
        let Err((outcome, reason)) = Stream::open(&route(Resolve::First, &[refused, closed]), Nanos::from_secs(3))
        else {
            panic!("nothing listens");
        };
        let reason = reason.to_string();
        assert_eq!(outcome, Outcome::Refused);
        assert!(reason.starts_with(&format!("{refused}: Connection refused")), "{reason}");
        assert!(reason.contains(&format!("; {closed}: Connection refused")), "{reason}");
    }

    /// A listener whose backlog is full drops what arrives: its address is silent.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_silent_address_is_given_up_in_time_for_the_next() {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
        let full = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&full, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&full, 0).unwrap();
        let silent = SocketAddr::try_from(getsockname(&full).unwrap()).unwrap();
        let endpoint = Endpoint::Tcp(silent);
        let filling: Vec<_> = (0..4).map(|_| dial(&endpoint, None).unwrap()).collect();
        let (_listener, open, _) = listener();
        let opened = Stream::open(&route(Resolve::First, &[silent, open]), Nanos::from_secs(4)).unwrap();
        assert!(opened.is_open() && filling.len() == 4);
    }

    #[test]
    fn the_first_of_two_racing_attempts_is_used() {
        let (_listener, open, refused) = listener();
        let Ok(other) = TcpListener::bind("[::1]:0") else { return };
        for (first, second) in [(refused, other.local_addr().unwrap()), (open, other.local_addr().unwrap())] {
            let route = route(Resolve::Race, &[first, second]);
            assert!(Stream::open(&route, Nanos::from_secs(3)).unwrap().is_open());
            assert_eq!(route.addresses.uses().iter().map(|counted| counted.opened).sum::<u64>(), 1);
        }
    }
}
