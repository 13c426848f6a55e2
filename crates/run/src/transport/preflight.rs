//! The preflight check of the target. It sends no request: it checks whether a connection can be opened, whether the
//! server speaks the protocol of the workload, and whether it accepts the client certificate.
//!
//! An HTTP/1 server reveals its protocol only in a response, and the check must not send a request without an event. So
//! TLS on a plain port is tested only after the first responses of a run have failed ([`speaks_tls`]).

use std::io;

use offered_base::{Instant, Nanos};
use offered_events::{Outcome, Reason};
use offered_io::{Clock, Poller};

use super::Failure;
use super::route::Route;
use super::socket::{Read, dial_failure, reset_failure};
use super::stream::Stream;
use crate::Error;

/// How long to wait for the verdict on the client certificate. Under TLS 1.3 the client completes the handshake before
/// the server has verified it.
const VERDICT_TIMEOUT: Nanos = Nanos::from_secs(1);
/// The HTTP/2 connection preface (RFC 9113, section 3.4) with empty SETTINGS, and a GOAWAY frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const GOODBYE: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// Size of a frame head, and the expected type and flags of the first frame of a server: SETTINGS (type 4), without
/// ACK.
const FRAME_HEAD: usize = 9;
const SETTINGS: (u8, u8) = (4, 0);

/// A connection opened for the check.
struct Probe {
    clock: Clock,
    poller: Poller,
    stream: Stream,
}

/// Connects until a request could be written and, with `http2`, until the server has proved that it speaks HTTP/2; then
/// disconnects.
///
/// # Errors
/// The server cannot be reached, the TLS handshake fails, the server rejects the client certificate or its absence, or
/// it does not speak HTTP/2.
pub(super) fn check(route: &Route, http2: bool, timeout: Nanos) -> Result<(), Error> {
    let mut probe = open(route, timeout)?;
    let to_error = |(outcome, reason): Failure| route.addresses.connect_error(outcome, reason.to_string());
    if let Some(client) = &route.tls {
        if client.client_certificate_requested() {
            probe.await_certificate_verdict().map_err(to_error)?;
        }
        return match http2 && !probe.stream.agreed_on_http2() {
            true => Err(Error::NoHttp2 {
                address: route.addresses.first(),
                reason: "the server did not choose HTTP/2 in the TLS handshake",
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

/// Whether the server prefers HTTP/2 to HTTP/1 in the TLS handshake.
///
/// # Errors
/// As [`check`].
pub(super) fn chooses_http2(route: &Route, timeout: Nanos) -> Result<bool, Error> {
    Ok(open(route, timeout)?.stream.agreed_on_http2())
}

/// Whether the server speaks TLS although `route` does not. Sends a TLS `ClientHello`; a TLS server answers it, even if
/// only to refuse.
pub(super) fn speaks_tls(route: &Route, timeout: Nanos) -> bool {
    let Some(route) = route.with_tls() else { return false };
    let Ok(mut probe) = Probe::new(&route) else { return false };
    probe.open(&route, timeout).is_ok() || probe.stream.received_tls()
}

/// Opens a connection.
fn open(route: &Route, timeout: Nanos) -> Result<Probe, Error> {
    let to_error = |(outcome, reason): Failure| route.addresses.connect_error(outcome, reason.to_string());
    let mut probe = Probe::new(route).map_err(to_error)?;
    match probe.open(route, timeout) {
        Ok(()) => Ok(probe),
        Err(failure) => Err(match probe.stream.certificate_error() {
            Some(reason) => Error::Certificate { address: route.addresses.first(), reason },
            None if probe.stream.no_common_protocol() => Error::NoHttp2 {
                address: route.addresses.first(),
                reason: "the server rejected all offered protocols in the TLS handshake",
            },
            None => to_error(failure),
        }),
    }
}

impl Probe {
    /// Starts to connect.
    fn new(route: &Route) -> Result<Self, Failure> {
        let clock = Clock::start();
        let mut stream = Stream::dial(route, &clock)?;
        let poller = Poller::new().map_err(system_failure)?;
        poller.add(&stream, 0).map_err(system_failure)?;
        stream.start_race(&poller, 0, &route.addresses);
        Ok(Self { clock, poller, stream })
    }

    /// Waits until the stream is open, at most for `timeout`.
    fn open(&mut self, route: &Route, timeout: Nanos) -> Result<(), Failure> {
        let mut ready = Vec::new();
        while !self.stream.is_open() {
            let left = self.clock.now().until(Instant::ZERO + timeout);
            if left == Nanos::ZERO {
                return Err((Outcome::Timeout, Reason::ConnectTimeout(timeout)));
            }
            self.poller.wait(Some(left), &mut ready).map_err(system_failure)?;
            for ready in &ready {
                let registered = (&self.poller, 0);
                self.stream.continue_connecting(route, ready.writable || ready.closed, &self.clock, registered)?;
            }
        }
        Ok(())
    }

    /// Reads the next data until `until`; `None` if nothing arrives.
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

    /// Waits for the verdict on the client certificate or its absence. A server that accepts it sends data or nothing
    /// after the handshake, but does not close the connection.
    fn await_certificate_verdict(&mut self) -> Result<(), Failure> {
        self.stream.flush().map_err(reset_failure)?;
        match self.read(&mut [0; 16 * 1024], self.clock.now() + VERDICT_TIMEOUT)? {
            Some(Read::End) => Err((
                Outcome::Tls,
                Reason::words(
                    "the server closed the connection, because the client certificate is wrong or missing; check target.tls.certificate",
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Starts HTTP/2 and checks that the server responds in HTTP/2.
    fn check_http2(&mut self, timeout: Nanos) -> Result<(), &'static str> {
        // This fits into the buffer of any new socket.
        self.stream.write(PREFACE).map_err(|_| "the server closed the connection")?;
        let (mut buffer, mut received) = ([0; 1024], Vec::new());
        let until = self.clock.now() + timeout;
        while received.len() < FRAME_HEAD {
            match self.read(&mut buffer, until) {
                Ok(Some(Read::Some { bytes, .. })) => received.extend_from_slice(&buffer[..bytes]),
                Ok(Some(Read::Nothing { .. })) => {}
                Ok(None) => return Err("the server does not respond"),
                Ok(Some(Read::End)) | Err(_) => return Err("the server closed the connection"),
            }
        }
        if (received[3], received[4]) != SETTINGS {
            return Err(if received.starts_with(b"HTTP/1.") {
                "the server responds in HTTP/1"
            } else {
                "the server responds in another protocol"
            });
        }
        // A server that has closed needs no GOAWAY.
        let _ = self.stream.write(GOODBYE);
        Ok(())
    }
}

fn system_failure(error: io::Error) -> Failure {
    let (_, reason) = dial_failure(error);
    (Outcome::Unsent, reason)
}
