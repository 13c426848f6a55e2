//! Clock comparison between workers. Worker 1 serves its clock by UDP, and the other workers query it.
//!
//! The method is NTP's (RFC 5905, section 8). A query leaves at t1 and its response arrives at t4, by the querying worker's clock. Worker 1
//! receives the query at t2 and responds at t3, by its own clock. The querying clock is then ahead by ((t1 - t2) + (t4 - t3)) / 2. The error is
//! at most half of the time on the network, ((t4 - t1) - (t3 - t2)) / 2, even if the two directions differ. A few dozen
//! exchanges are made; the one with the shortest time on the network gives the result.
//!
//! Clocks are compared before the start and after the end, never during the run.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use offered_base::Nanos;
use offered_events::ClockOffset;
use offered_io::WallClock;
use serde::{Deserialize, Serialize};

use crate::datagram::{ANY_SERVER, Datagram, Kind, LENGTH};

/// Number of responses after which a query ends.
const MAX_RESPONSES: u32 = 32;
/// Interval between two queries before the first response, and after it.
const INTERVAL_BEFORE_RESPONSE: Nanos = Nanos::from_millis(50);
const INTERVAL: Nanos = Nanos::from_millis(5);
/// Maximum duration of queries, from the first response on.
const QUERY_TIME: Nanos = Nanos::from_secs(1);
/// Minimum wait for a first response before the start, however near the start seems: this clock may be far off.
const MIN_QUERY_TIME: Nanos = Nanos::from_millis(300);
/// Time before the start at which queries end, so that the worker can prepare.
pub(crate) const PREPARATION_TIME: Nanos = Nanos::from_millis(1500);
/// Maximum time for which workers wait for each other after the end.
pub const FINAL_COMPARISON_LIMIT: Nanos = Nanos::from_secs(5);
/// Maximum delay until a stop flag is noticed.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Where to query the clock of worker 1, as published at the rendezvous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClockEndpoint {
    /// The addresses; clients try all.
    addresses: Vec<SocketAddr>,
    /// Queries must contain this token.
    token: u64,
    /// The boot ID of its kernel, in hexadecimal digits, if known.
    boot_id: Option<String>,
}

/// Serves the clock of worker 1 to the other workers.
pub struct ClockServer {
    wall: WallClock,
    socket: UdpSocket,
    token: u64,
    /// Workers that have sent a query, but not yet their last message.
    querying: BTreeSet<u64>,
}

impl ClockServer {
    /// Listens on this address. An unspecified IP address (`[::]:0`, `0.0.0.0:7799`) means all addresses of this
    /// machine.
    pub(crate) fn new(wall: WallClock, at: SocketAddr) -> io::Result<Self> {
        let (socket, token) = (bind(at)?, token(&wall));
        Ok(Self { wall, socket, token, querying: BTreeSet::new() })
    }

    pub(crate) fn endpoint(&self) -> io::Result<ClockEndpoint> {
        let at = self.socket.local_addr()?;
        let addresses = if at.ip().is_unspecified() { all_addresses(at) } else { vec![at] };
        Ok(ClockEndpoint { addresses, token: self.token, boot_id: boot_id(&self.wall) })
    }

    /// Serves after the end of the run until all workers that queried before the start have sent their last message.
    /// Ends after [`FINAL_COMPARISON_LIMIT`] or when `stop` is set.
    pub fn serve_until_done(mut self, stop: &AtomicBool) {
        self.serve(self.wall.now() + FINAL_COMPARISON_LIMIT, |querying| querying.is_empty() || stop.load(Relaxed));
    }

    /// Serves until `until` by its own clock, or until `is_over` returns true; its argument is the set of workers still querying.
    pub(crate) fn serve(&mut self, until: Nanos, is_over: impl Fn(&BTreeSet<u64>) -> bool) {
        let mut buffer = [0; LENGTH + 1];
        while self.wall.now() < until && !is_over(&self.querying) {
            // A time-out, or an ICMP error from a client that has ended: neither is a query.
            let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let received = self.wall.now().0;
            match Datagram::read(&buffer[..length]).filter(|datagram| datagram.token == self.token) {
                Some(query @ Datagram { kind: Kind::Query, worker, .. }) => {
                    self.querying.insert(worker);
                    let answered = self.wall.now().0;
                    let answer = Datagram { kind: Kind::Response, received, answered, ..query };
                    // Lost responses need no handling: clients repeat queries.
                    let _ = self.socket.send_to(&answer.bytes(), from);
                }
                Some(Datagram { kind: Kind::Thanks, worker, .. }) => {
                    self.querying.remove(&worker);
                }
                _ => {}
            }
        }
    }
}

/// Binds a socket to this address; an unspecified IP address means all addresses of this machine.
fn bind(at: SocketAddr) -> io::Result<UdpSocket> {
    // Some systems have no IPv6.
    let old = (Ipv4Addr::UNSPECIFIED, at.port()).into();
    let candidates = [at, if at.ip().is_unspecified() { old } else { at }];
    let socket = UdpSocket::bind(&candidates[..])?;
    socket.set_read_timeout(Some(STOP_CHECK))?;
    Ok(socket)
}

/// Distinguishes clock servers. Not secret: readers of the rendezvous know it.
fn token(wall: &WallClock) -> u64 {
    wall.now().0.rotate_left(32) ^ u64::from(std::process::id())
}

/// Serves a clock to any client, outside of runs: used by an observer on a machine of the server.
pub struct PublicClockServer {
    wall: WallClock,
    socket: UdpSocket,
    token: u64,
}

impl PublicClockServer {
    /// Listens on this address. An unspecified IP address (`[::]:7799`, `0.0.0.0:7799`) means all addresses of this
    /// machine.
    ///
    /// # Errors
    /// The address is in use, or does not belong to this machine.
    pub fn new(wall: WallClock, at: SocketAddr) -> io::Result<Self> {
        Ok(Self { wall, socket: bind(at)?, token: token(&wall) })
    }

    /// The address on which the server listens.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The identity in its responses.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Serves all clients until the clock shows `until`, or `stop` is set.
    pub fn serve(&self, until: Nanos, stop: &AtomicBool) {
        let mut buffer = [0; LENGTH + 1];
        while !stop.load(Relaxed) {
            let left = Duration::from_nanos(until.saturating_sub(self.wall.now()).0).min(STOP_CHECK);
            if left.is_zero() || self.socket.set_read_timeout(Some(left)).is_err() {
                return;
            }
            let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let received = self.wall.now().0;
            let query = Datagram::read(&buffer[..length]);
            if let Some(query @ Datagram { kind: Kind::Query, token: ANY_SERVER, .. }) = query {
                let answered = self.wall.now().0;
                let answer = Datagram { kind: Kind::Response, token: self.token, received, answered, ..query };
                let _ = self.socket.send_to(&answer.bytes(), from);
            }
        }
    }
}

/// Queries the [`PublicClockServer`] at these addresses for at most one second. Returns the identity of the server and how far
/// the local clock is ahead of the clock of the server; `None` without a response.
pub fn query_clock(wall: WallClock, addresses: Vec<SocketAddr>, stop: &AtomicBool) -> Option<(u64, ClockOffset)> {
    let of = ClockEndpoint { addresses, token: ANY_SERVER, boot_id: None };
    let end = wall.now() + QUERY_TIME;
    ClockClient::new(wall, of, 1).query_raw(|_| end, stop)
}

/// Queries the clock of worker 1.
pub struct ClockClient {
    wall: WallClock,
    of: ClockEndpoint,
    /// The number of this worker, from 1.
    worker: u64,
}

impl ClockClient {
    pub(crate) fn new(wall: WallClock, of: ClockEndpoint, worker: u64) -> Self {
        Self { wall, of, worker }
    }

    /// Queries until there are enough responses, or until the time that `until` computes from the best offset so far. `None` without
    /// a response.
    pub(crate) fn query(
        &self,
        until: impl Fn(Option<&ClockOffset>) -> Nanos,
        stop: &AtomicBool,
    ) -> Option<ClockOffset> {
        let best = self.query_raw(until, stop).map(|(_, best)| best);
        let one_clock = self.of.boot_id.is_some() && self.of.boot_id == boot_id(&self.wall);
        // Same kernel and no measurable difference: it is the same clock.
        best.map(|best| match best.offset_ns.unsigned_abs() <= best.bound_ns && one_clock {
            true => ClockOffset { offset_ns: 0, bound_ns: 0, ..best },
            false => best,
        })
    }

    /// The best offset, and the token of the responding server.
    fn query_raw(
        &self,
        until: impl Fn(Option<&ClockOffset>) -> Nanos,
        stop: &AtomicBool,
    ) -> Option<(u64, ClockOffset)> {
        let socket = any_socket().ok()?;
        let query = Datagram {
            kind: Kind::Query,
            token: self.of.token,
            worker: self.worker,
            number: 0,
            received: 0,
            answered: 0,
        };
        let (mut best, mut answering, mut query_raw) = (None::<ClockOffset>, None::<(u64, SocketAddr)>, Vec::new());
        loop {
            let now = self.wall.now();
            let answers = best.map_or(0, |best| best.answers);
            if answers >= MAX_RESPONSES || now >= until(best.as_ref()) || stop.load(Relaxed) {
                break;
            }
            let next = now + if answering.is_some() { INTERVAL } else { INTERVAL_BEFORE_RESPONSE };
            let known = answering.as_slice().iter().map(|(_, from)| from);
            for to in known.chain(self.of.addresses.iter().filter(|_| answering.is_none())) {
                // A wrong address only loses the datagram.
                let number = query_raw.len() as u64;
                query_raw.push(self.wall.now().0);
                let _ = socket.send_to(&Datagram { number, ..query }.bytes(), normalise(&socket, *to));
            }
            while let Some((answer, from)) = receive(&socket, &self.wall, next) {
                let back = self.wall.now();
                let query_raw = usize::try_from(answer.number).ok().and_then(|number| query_raw.get(number));
                let of = if self.of.token == ANY_SERVER {
                    answering.map_or(answer.token, |(token, _)| token)
                } else {
                    self.of.token
                };
                let is_ours = (answer.kind, answer.token, answer.worker) == (Kind::Response, of, self.worker);
                if let (Some(query_raw), true) = (query_raw, is_ours) {
                    answering = Some((answer.token, from));
                    let (one, query_until) = (offset(*query_raw, &answer, back), best);
                    let least = query_until.filter(|query_until| query_until.bound_ns <= one.bound_ns).unwrap_or(one);
                    best = Some(ClockOffset {
                        answers: query_until.map_or(0, |query_until| query_until.answers) + 1,
                        ..least
                    });
                }
            }
        }
        answering.map(|(token, _)| token).zip(best)
    }

    /// Queries again after the end of the run. Waits for worker 1 at most [`FINAL_COMPARISON_LIMIT`], or until `stop` is set.
    pub fn query_after_run(self, stop: &AtomicBool) -> Option<ClockOffset> {
        let end = self.wall.now() + FINAL_COMPARISON_LIMIT;
        let found = self.query(|best| best.map_or(end, |best| (Nanos(best.at_unix_ns) + QUERY_TIME).min(end)), stop);
        self.send_thanks();
        found
    }

    /// Tells worker 1 that no further query follows.
    fn send_thanks(&self) {
        let Ok(socket) = any_socket() else { return };
        let Self { of: ClockEndpoint { token, addresses, .. }, worker, .. } = self;
        let thanks =
            Datagram { kind: Kind::Thanks, token: *token, worker: *worker, number: 0, received: 0, answered: 0 };
        // Sent three times, because datagrams may be lost.
        for to in (0..3).flat_map(|_| addresses) {
            let _ = socket.send_to(&thanks.bytes(), normalise(&socket, *to));
        }
    }
}

/// The role of a worker in clock comparison.
pub enum ClockRole {
    /// None: there is no other worker, or worker 1 does not respond.
    None,
    /// Worker 1 serves its clock.
    Server(ClockServer),
    /// The worker queries worker 1.
    Client(ClockClient),
}

/// The time until which to query before a start at `start` by worker 1's clock; `now` is the current time.
pub(crate) fn query_until(begin: Nanos, now: Nanos) -> impl Fn(Option<&ClockOffset>) -> Nanos {
    move |best| {
        let begin = best.map_or(begin, |best| local_time(begin, best));
        begin.saturating_sub(PREPARATION_TIME).min(now + QUERY_TIME).max(now + MIN_QUERY_TIME)
    }
}

/// The local time at which worker 1's clock shows `at`, for a local clock with this offset.
pub(crate) fn local_time(at: Nanos, offset: &ClockOffset) -> Nanos {
    Nanos(at.0.saturating_add_signed(offset.offset_ns))
}

/// Computes the offset from one exchange; `back` is the arrival of the response.
fn offset(query_raw: u64, answer: &Datagram, back: Nanos) -> ClockOffset {
    let apart = |one: u64, other: u64| i128::from(one) - i128::from(other);
    let ahead = i128::midpoint(apart(query_raw, answer.received), apart(back.0, answer.answered));
    let on_the_way = apart(back.0, query_raw) - apart(answer.answered, answer.received);
    ClockOffset {
        offset_ns: ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
        // Rounded up, plus a nanosecond for the rounding of the midpoint.
        bound_ns: (on_the_way.max(0) / 2 + 1) as u64,
        at_unix_ns: back.0,
        answers: 1,
    }
}

/// The next datagram before `until`.
fn receive(socket: &UdpSocket, wall: &WallClock, until: Nanos) -> Option<(Datagram, SocketAddr)> {
    let mut buffer = [0; LENGTH + 1];
    loop {
        let left = until.saturating_sub(wall.now());
        if left == Nanos::ZERO {
            return None;
        }
        socket.set_read_timeout(Some(Duration::from_nanos(left.0))).ok()?;
        if let Ok((length, from)) = socket.recv_from(&mut buffer)
            && let Some(datagram) = Datagram::read(&buffer[..length])
        {
            return Some((datagram, from));
        }
    }
}

/// A socket that reaches IPv6 and IPv4 addresses if the system has both.
fn any_socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))
}

/// The address in the form that this socket accepts.
fn normalise(socket: &UdpSocket, to: SocketAddr) -> SocketAddr {
    match (to.ip(), socket.local_addr()) {
        (IpAddr::V4(ip), Ok(SocketAddr::V6(_))) => (ip.to_ipv6_mapped(), to.port()).into(),
        _ => to,
    }
}

/// All addresses of this machine at which a socket bound to `at` receives, loopback addresses last.
fn all_addresses(at: SocketAddr) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for interface in getifaddrs().into_iter().flatten() {
        let Some(address) = interface.address.filter(|_| interface.flags.contains(InterfaceFlags::IFF_UP)) else {
            continue;
        };
        let ip = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => IpAddr::V4(v4.ip()),
            // Link-local addresses are useless elsewhere.
            (None, Some(v6)) if !v6.ip().is_unicast_link_local() => IpAddr::V6(v6.ip()),
            _ => continue,
        };
        if at.is_ipv6() || ip.is_ipv4() {
            found.push(SocketAddr::new(ip, at.port()));
        }
    }
    found.sort_by_key(|address| (address.ip().is_loopback(), address.is_ipv6()));
    found.dedup();
    found
}

/// The boot ID of the kernel that provides the clock `wall`.
fn boot_id(wall: &WallClock) -> Option<String> {
    wall.boot_id().map(|boot_id| format!("{boot_id:032x}"))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    const OFF: Nanos = Nanos::from_millis(50);

    /// The measured offset of a worker with the clock `wall`, derived from worker 1's, and the workers that queried.
    fn compared(wall: impl Fn(WallClock) -> WallClock) -> (ClockOffset, BTreeSet<u64>) {
        let reference = WallClock::read();
        let wall = wall(reference);
        let mut server = ClockServer::new(reference, LOOPBACK).unwrap();
        let client = ClockClient::new(wall, server.endpoint().unwrap(), 2);
        let (is_over, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let found = thread::scope(|scope| {
            let endpoint = scope.spawn(|| server.serve(Nanos::MAX, |_| is_over.load(Relaxed)));
            let long = wall.now() + Nanos::from_secs(60);
            let found = client.query(|best| best.map_or(long, |best| Nanos(best.at_unix_ns) + QUERY_TIME), &never);
            is_over.store(true, Relaxed);
            endpoint.join().unwrap();
            found
        });
        (found.expect("a response"), server.querying)
    }

    #[test]
    fn an_offset_is_measured_within_its_bound() {
        let (found, querying) = compared(|wall| wall.ahead_by(OFF));
        assert!(found.offset_ns.abs_diff(OFF.0 as i64) <= found.bound_ns, "{found:?}");
        assert!(found.answers > 0 && found.bound_ns > 0);
        assert_eq!(querying, BTreeSet::from([2]));
    }

    #[test]
    fn the_bound_holds_for_asymmetric_network_times() {
        // Ahead by 1000; the query takes 300, the response 100, and serving it 50.
        let answer =
            Datagram { kind: Kind::Response, token: 0, worker: 2, number: 0, received: 9_300, answered: 9_350 };
        let found = offset(10_000, &answer, Nanos(10_450));
        assert_eq!((found.offset_ns, found.bound_ns), (900, 201));
        assert!(found.offset_ns.abs_diff(1_000) <= found.bound_ns);
        assert_eq!(local_time(Nanos(9_000), &found), Nanos(9_900));
        let behind = ClockOffset { offset_ns: -5, ..found };
        assert_eq!(local_time(Nanos(9_000), &behind), Nanos(8_995));
    }

    #[test]
    fn a_public_clock_server_serves_any_client() {
        let (wall, stop) = (WallClock::read(), AtomicBool::new(false));
        let server = PublicClockServer::new(wall, LOOPBACK).unwrap();
        let (at, silent) = (server.address().unwrap(), UdpSocket::bind(LOOPBACK).unwrap());
        let addresses = vec![silent.local_addr().unwrap(), at];
        let found = thread::scope(|scope| {
            scope.spawn(|| server.serve(Nanos::MAX, &stop));
            let found = query_clock(wall.ahead_by(OFF), addresses, &AtomicBool::new(false));
            stop.store(true, Relaxed);
            found
        });
        let (token, found) = found.expect("a response");
        assert_eq!(token, server.token());
        assert!(found.offset_ns.abs_diff(OFF.0 as i64) <= found.bound_ns, "{found:?}");
        assert_eq!(query_clock(wall, vec![at], &AtomicBool::new(true)), None, "it was stopped");
        server.serve(Nanos::ZERO, &AtomicBool::new(false));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn two_workers_on_one_kernel_have_one_clock() {
        let (found, _) = compared(|wall| wall);
        assert_eq!((found.offset_ns, found.bound_ns), (0, 0));
    }

    #[test]
    fn without_a_response_the_offset_is_unknown_and_nothing_blocks() {
        let (wall, silent) = (WallClock::read(), UdpSocket::bind(LOOPBACK).unwrap());
        let of = ClockEndpoint { addresses: vec![silent.local_addr().unwrap()], token: 7, boot_id: None };
        let (client, now) = (ClockClient::new(wall, of, 2), wall.now());
        assert_eq!(client.query(|_| now + Nanos::from_millis(60), &AtomicBool::new(false)), None);
        let mut buffer = [0; LENGTH + 1];
        let (length, _) = silent.recv_from(&mut buffer).unwrap();
        assert_eq!(Datagram::read(&buffer[..length]).unwrap().token, 7, "it did query");
        assert_eq!(client.query(|_| Nanos::MAX, &AtomicBool::new(true)), None, "it was stopped");
    }

    #[test]
    fn queries_with_a_wrong_token_are_ignored() {
        let mut server = ClockServer::new(WallClock::read(), LOOPBACK).unwrap();
        let stranger = UdpSocket::bind(LOOPBACK).unwrap();
        let (at, token) = (server.socket.local_addr().unwrap(), server.token);
        let other = Datagram { kind: Kind::Query, token: token ^ 1, worker: 3, number: 0, received: 0, answered: 0 };
        let ours = Datagram { token, worker: 2, ..other };
        for query in [&other.bytes()[..], b"anything", &ours.bytes()] {
            stranger.send_to(query, at).unwrap();
        }
        server.serve(Nanos::MAX, |querying| !querying.is_empty());
        let mut buffer = [0; LENGTH + 1];
        let (length, _) = stranger.recv_from(&mut buffer).unwrap();
        assert_eq!(Datagram::read(&buffer[..length]).unwrap().worker, 2, "the only answer");
        assert_eq!(server.querying, BTreeSet::from([2]));
    }

    #[test]
    fn worker_1_serves_until_all_querying_workers_have_sent_thanks() {
        let mut server = ClockServer::new(WallClock::read(), LOOPBACK).unwrap();
        let client = |worker| ClockClient::new(WallClock::read().ahead_by(OFF), server.endpoint().unwrap(), worker);
        let (two, three, stop) = (client(2), client(3), AtomicBool::new(false));
        server.querying = BTreeSet::from([2, 3]);
        let staying = thread::spawn(move || server.serve_until_done(&AtomicBool::new(false)));
        assert!(two.query_after_run(&stop).is_some());
        assert!(three.query_after_run(&stop).is_some(), "it was still there");
        staying.join().unwrap();
    }

    #[test]
    fn queries_before_the_start_take_a_second_and_end_before_the_start() {
        let until = |begin, best: Option<&ClockOffset>| {
            query_until(Nanos::from_millis(begin), Nanos::from_millis(10_000))(best)
        };
        let far_ahead = ClockOffset { offset_ns: 3_000_000_000, bound_ns: 1, at_unix_ns: 0, answers: 1 };
        assert_eq!(until(14_000, None), Nanos::from_millis(11_000));
        assert_eq!(until(12_000, None), Nanos::from_millis(10_500));
        assert_eq!(until(9_000, None), Nanos::from_millis(10_300), "its clock may be wrong");
        assert_eq!(until(9_000, Some(&far_ahead)), Nanos::from_millis(10_500), "and is");
    }

    #[test]
    fn a_machine_lists_its_addresses_with_loopback_last() {
        let found = all_addresses("0.0.0.0:7".parse().unwrap());
        assert!(found.iter().all(|address| address.is_ipv4() && address.port() == 7));
        assert!(found.last().is_some_and(|last| last.ip().is_loopback()), "{found:?}");
    }
}
