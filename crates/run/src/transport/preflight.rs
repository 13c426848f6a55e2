//! The target's door, tried before a run and without asking for anything: whether a connection opens, whether both sides speak what
//! the workload says, and whether the server takes who we are.
//!
//! What a server of HTTP/1 thinks of a client shows only when that asks something, and a request more would be one that no event tells
//! of. So whether such a port speaks TLS is tried only when the first answers of a run were none ([`speaks_tls`]).

use std::io;

use offered_clock::{Clock, Poller};
use offered_model::{Instant, Nanos, Outcome, Reason};

use super::Failure;
use super::route::Route;
use super::socket::{Read, reset_failure};
use super::stream::Stream;
use crate::Error;

/// So long a server that has asked for a certificate of ours may take to say what it thinks of it: under TLS 1.3 the client is through
/// before it does.
const VERDICT_TIMEOUT: Nanos = Nanos::from_secs(1);
/// How a client begins to speak HTTP/2 (RFC 9113, section 3.4), with no settings of its own, and how it says goodbye.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const GOODBYE: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// The head of a frame, and where its type and its flags are: the first one of a server is SETTINGS (type 4), and no acknowledgement.
const FRAME_HEAD: usize = 9;
const SETTINGS: (u8, u8) = (4, 0);

/// A connection that was opened, or the last that is known of one that was not.
struct Probe {
    clock: Clock,
    poller: Poller,
    stream: Stream,
}

/// Connects as far as requests could be written, where `http2` is asked for as far as the server speaks it, and hangs up.
///
/// # Errors
/// Nobody listens there, TLS finds no agreement, the server wants another certificate or none, or it speaks no HTTP/2.
pub(super) fn check(route: &Route, http2: bool, timeout: Nanos) -> Result<(), Error> {
    let mut probe = open(route, timeout)?;
    let wrong = |(outcome, reason): Failure| route.addresses.connect_error(outcome, reason.to_string());
    if let Some(client) = &route.tls {
        if client.client_certificate_requested() {
            probe.await_certificate_verdict().map_err(wrong)?;
        }
        return match http2 && !probe.stream.agreed_on_http2() {
            true => Err(Error::NoHttp2 {
                address: route.addresses.first(),
                reason: "it did not agree to it in the handshake",
            }),
            false => Ok(()),
        };
    }
    if http2 {
        probe.check_http2(timeout).map_err(|reason| match speaks_tls(route, timeout) {
            true => Error::SpeaksTls { address: route.addresses.first() },
            false => Error::NoHttp2 { address: route.addresses.first(), reason },
        })?;
    }
    Ok(())
}

/// Whether the server would rather speak HTTP/2 than HTTP/1, where TLS leaves the choice to it.
///
/// # Errors
/// As [`knock`].
pub(super) fn chooses_http2(route: &Route, timeout: Nanos) -> Result<bool, Error> {
    Ok(open(route, timeout)?.stream.agreed_on_http2())
}

/// Whether TLS is spoken where `route` goes without it. A client's first words are said for that; who speaks TLS answers them, if only to
/// refuse.
pub(super) fn speaks_tls(route: &Route, timeout: Nanos) -> bool {
    let Some(route) = route.with_tls() else { return false };
    let Ok(mut probe) = Probe::new(&route) else { return false };
    probe.open(&route, timeout).is_ok() || probe.stream.received_tls()
}

/// An open connection.
fn open(route: &Route, timeout: Nanos) -> Result<Probe, Error> {
    let wrong = |(outcome, reason): Failure| route.addresses.connect_error(outcome, reason.to_string());
    let mut probe = Probe::new(route).map_err(wrong)?;
    match probe.open(route, timeout) {
        Ok(()) => Ok(probe),
        Err(failure) => Err(match probe.stream.certificate_error() {
            Some(reason) => Error::Certificate { address: route.addresses.first(), reason },
            None if probe.stream.no_common_protocol() => Error::NoHttp2 {
                address: route.addresses.first(),
                reason: "it refused all that was offered in the handshake",
            },
            None => wrong(failure),
        }),
    }
}

impl Probe {
    /// Begins to connect.
    fn new(route: &Route) -> Result<Self, Failure> {
        let clock = Clock::start();
        let stream = Stream::dial(route, &clock)?;
        let poller = Poller::new().map_err(system_failure)?;
        poller.add(&stream, 0).map_err(system_failure)?;
        Ok(Self { clock, poller, stream })
    }

    /// Waits until the stream is open, at most for `timeout`.
    fn open(&mut self, route: &Route, timeout: Nanos) -> Result<(), Failure> {
        let mut ready = Vec::new();
        while !self.stream.is_open() {
            let left = self.clock.now().until(Instant::ZERO + timeout);
            if left == Nanos::ZERO {
                return Err((Outcome::Timeout, Reason::NotConnected(timeout)));
            }
            self.poller.wait(Some(left), &mut ready).map_err(system_failure)?;
            for ready in &ready {
                self.stream.continue_connecting(route, ready.writable || ready.closed, &self.clock)?;
            }
        }
        Ok(())
    }

    /// Reads what comes next, at most until `until`; `None`: nothing did.
    fn read(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Read>, Failure> {
        let mut ready = Vec::new();
        loop {
            match self.stream.read(buffer)? {
                Read::Nothing { drained: true } => {}
                read => return Ok(Some(read)),
            }
            let left = self.clock.now().until(until);
            if left == Nanos::ZERO {
                return Ok(None);
            }
            self.poller.wait(Some(left), &mut ready).map_err(system_failure)?;
        }
    }

    /// Hears what the server thinks of our certificate, or of our having none. One that agrees says so by what comes behind the
    /// handshake, or says nothing.
    fn await_certificate_verdict(&mut self) -> Result<(), Failure> {
        self.stream.flush().map_err(reset_failure)?;
        match self.read(&mut [0; 16 * 1024], self.clock.now() + VERDICT_TIMEOUT)? {
            Some(Read::End) => Err((
                Outcome::Tls,
                Reason::words("the server hung up when it saw our certificate, or that we have none"),
            )),
            _ => Ok(()),
        }
    }

    /// Begins to speak HTTP/2 and hears whether the other side does.
    fn check_http2(&mut self, timeout: Nanos) -> Result<(), &'static str> {
        // So little fits into the buffer of any new socket.
        self.stream.write(PREFACE).map_err(|_| "it hung up")?;
        let (mut buffer, mut received) = ([0; 1024], Vec::new());
        let until = self.clock.now() + timeout;
        while received.len() < FRAME_HEAD {
            match self.read(&mut buffer, until) {
                Ok(Some(Read::Some { bytes, .. })) => received.extend_from_slice(&buffer[..bytes]),
                Ok(Some(Read::Nothing { .. })) => {}
                Ok(None) => return Err("it does not answer"),
                Ok(Some(Read::End)) | Err(_) => return Err("it hangs up"),
            }
        }
        if (received[3], received[4]) != SETTINGS {
            return Err(if received.starts_with(b"HTTP/1.") {
                "it answers in HTTP/1"
            } else {
                "it answers in something else"
            });
        }
        // Who is gone by now needs no goodbye.
        let _ = self.stream.write(GOODBYE);
        Ok(())
    }
}

fn system_failure(error: io::Error) -> Failure {
    (Outcome::Unsent, error.into())
}
