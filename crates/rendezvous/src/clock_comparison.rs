//! How far the workers' clocks are apart: worker 1 tells what its clock shows, the others ask, by datagrams.
//!
//! As in NTP (RFC 5905, section 8): a question leaves at t1 and is back at t4 by the clock of who asks, it came at t2 and was answered at t3 by
//! that of worker 1. Then this clock is ahead by ((t1 - t2) + (t4 - t3)) / 2, and no further from the truth than half of the time on the way,
//! ((t4 - t1) - (t3 - t2)) / 2, whichever way took how much of it. Of a few dozen the one that was on the way for the least time is believed.
//!
//! Clocks are compared before the start and after the end. During the run nobody asks and nobody answers.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use offered_clock::Wall;
use offered_model::{Nanos, Offset};
use serde::{Deserialize, Serialize};

use crate::datagram::{ANYBODY, Datagram, Kind, LENGTH};

/// So many answers are enough.
const ENOUGH: u32 = 32;
/// From one question to the next: while nobody has answered, and then.
const PATIENT: Nanos = Nanos::from_millis(50);
const QUICK: Nanos = Nanos::from_millis(5);
/// So long is asked from the first answer on, at most.
const ASKING: Nanos = Nanos::from_secs(1);
/// Before the start a first answer is waited for so long at least, however near the start seems: a clock that is far off does not know.
const FIRST: Nanos = Nanos::from_millis(300);
/// So long before the start nobody asks or answers any more: everything is put in place.
pub(crate) const PLACING: Nanos = Nanos::from_millis(1500);
/// After the end workers wait for each other so long at most.
pub const STAY: Nanos = Nanos::from_secs(5);
/// How soon a stop is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// How worker 1 can be asked; it says so where the workers meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Its addresses; who asks tries all of them.
    addresses: Vec<SocketAddr>,
    /// What a question has to hold to be answered.
    token: u64,
    /// Its kernel, in hexadecimal digits, where that is known.
    kernel: Option<String>,
}

/// Worker 1, when it is asked.
pub struct Teller {
    wall: Wall,
    socket: UdpSocket,
    token: u64,
    /// Who has asked and not said thanks.
    asking: BTreeSet<u64>,
}

impl Teller {
    /// Will be asked at this address; at all addresses of this machine where it is no machine's (`[::]:0`, `0.0.0.0:7799`).
    pub(crate) fn new(wall: Wall, at: SocketAddr) -> io::Result<Self> {
        let (socket, token) = (told_at(at)?, token(&wall));
        Ok(Self { wall, socket, token, asking: BTreeSet::new() })
    }

    pub(crate) fn told(&self) -> io::Result<Told> {
        let at = self.socket.local_addr()?;
        let addresses = if at.ip().is_unspecified() { everywhere(at) } else { vec![at] };
        Ok(Told { addresses, token: self.token, kernel: kernel(&self.wall) })
    }

    /// After the end: answers until all have said thanks who asked before the start. For no longer than [`STAY`], or once `stop` is set.
    pub fn stay(mut self, stop: &AtomicBool) {
        self.tell(self.wall.now() + STAY, |asking| asking.is_empty() || stop.load(Relaxed));
    }

    /// Answers until `until` by its own clock, or until `is_over`, which is told who is still asking.
    pub(crate) fn tell(&mut self, until: Nanos, is_over: impl Fn(&BTreeSet<u64>) -> bool) {
        let mut buffer = [0; LENGTH + 1];
        while self.wall.now() < until && !is_over(&self.asking) {
            // A time-out, or a word of the system that somebody has gone: neither is a question.
            let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let received = self.wall.now().0;
            match Datagram::read(&buffer[..length]).filter(|datagram| datagram.token == self.token) {
                Some(question @ Datagram { kind: Kind::Question, worker, .. }) => {
                    self.asking.insert(worker);
                    let answered = self.wall.now().0;
                    let answer = Datagram { kind: Kind::Answer, received, answered, ..question };
                    // Who hears no answer asks again.
                    let _ = self.socket.send_to(&answer.bytes(), from);
                }
                Some(Datagram { kind: Kind::Thanks, worker, .. }) => {
                    self.asking.remove(&worker);
                }
                _ => {}
            }
        }
    }
}

/// A socket at this address; at all addresses of this machine where it is no machine's.
fn told_at(at: SocketAddr) -> io::Result<UdpSocket> {
    // Not every system has addresses of the sixth version.
    let old = (Ipv4Addr::UNSPECIFIED, at.port()).into();
    let places = [at, if at.ip().is_unspecified() { old } else { at }];
    let socket = UdpSocket::bind(&places[..])?;
    socket.set_read_timeout(Some(NOTICE))?;
    Ok(socket)
}

/// By which those who are asked are told apart. It is no secret to who reads the folder.
fn token(wall: &Wall) -> u64 {
    wall.now().0.rotate_left(32) ^ u64::from(std::process::id())
}

/// Who is of no run, and tells anybody what its clock shows: an observer beside the server.
pub struct Answerer {
    wall: Wall,
    socket: UdpSocket,
    token: u64,
}

impl Answerer {
    /// Will be asked at this address; at all addresses of this machine where it is no machine's (`[::]:7799`, `0.0.0.0:7799`).
    ///
    /// # Errors
    /// The address is taken, or not of this machine.
    pub fn new(wall: Wall, at: SocketAddr) -> io::Result<Self> {
        Ok(Self { wall, socket: told_at(at)?, token: token(&wall) })
    }

    /// Where it is asked.
    ///
    /// # Errors
    /// The system does not say.
    pub fn at(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// What its answers say of who it is.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Answers whoever asks until its clock shows `until`, or `stop` is set.
    pub fn answer(&self, until: Nanos, stop: &AtomicBool) {
        let mut buffer = [0; LENGTH + 1];
        while !stop.load(Relaxed) {
            let left = Duration::from_nanos(until.saturating_sub(self.wall.now()).0).min(NOTICE);
            if left.is_zero() || self.socket.set_read_timeout(Some(left)).is_err() {
                return;
            }
            let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { continue };
            let received = self.wall.now().0;
            let question = Datagram::read(&buffer[..length]);
            if let Some(question @ Datagram { kind: Kind::Question, token: ANYBODY, .. }) = question {
                let answered = self.wall.now().0;
                let answer = Datagram { kind: Kind::Answer, token: self.token, received, answered, ..question };
                let _ = self.socket.send_to(&answer.bytes(), from);
            }
        }
    }
}

/// Asks the [`Answerer`] at one of these addresses for a second at most: who it is, and how far this clock is ahead of its. `None` where no
/// answer came.
pub fn ask(wall: Wall, addresses: Vec<SocketAddr>, stop: &AtomicBool) -> Option<(u64, Offset)> {
    let of = Told { addresses, token: ANYBODY, kernel: None };
    let end = wall.now() + ASKING;
    Asker::new(wall, of, 1).asked(|_| end, stop)
}

/// Another worker, who asks.
pub struct Asker {
    wall: Wall,
    of: Told,
    /// Its number, from 1.
    worker: u64,
}

impl Asker {
    pub(crate) fn new(wall: Wall, of: Told, worker: u64) -> Self {
        Self { wall, of, worker }
    }

    /// Asks until there are answers enough, or until the instant by its own clock that `until` makes of the best so far. `None` where no
    /// answer came.
    pub(crate) fn ask(&self, until: impl Fn(Option<&Offset>) -> Nanos, stop: &AtomicBool) -> Option<Offset> {
        let best = self.asked(until, stop).map(|(_, best)| best);
        let one_clock = self.of.kernel.is_some() && self.of.kernel == kernel(&self.wall);
        // Of one kernel and found no further apart than can be told: it is one clock.
        best.map(|best| match best.ahead_ns.unsigned_abs() <= best.bound_ns && one_clock {
            true => Offset { ahead_ns: 0, bound_ns: 0, ..best },
            false => best,
        })
    }

    /// The best answer, and the token of who gave it.
    fn asked(&self, until: impl Fn(Option<&Offset>) -> Nanos, stop: &AtomicBool) -> Option<(u64, Offset)> {
        let socket = any_socket().ok()?;
        let question = Datagram {
            kind: Kind::Question,
            token: self.of.token,
            worker: self.worker,
            number: 0,
            received: 0,
            answered: 0,
        };
        let (mut best, mut answering, mut asked) = (None::<Offset>, None::<(u64, SocketAddr)>, Vec::new());
        loop {
            let now = self.wall.now();
            let answers = best.map_or(0, |best| best.answers);
            if answers >= ENOUGH || now >= until(best.as_ref()) || stop.load(Relaxed) {
                break;
            }
            let next = now + if answering.is_some() { QUICK } else { PATIENT };
            let known = answering.as_slice().iter().map(|(_, from)| from);
            for to in known.chain(self.of.addresses.iter().filter(|_| answering.is_none())) {
                // At what is no address of its own a datagram is lost, as on any way.
                let number = asked.len() as u64;
                asked.push(self.wall.now().0);
                let _ = socket.send_to(&Datagram { number, ..question }.bytes(), reached(&socket, *to));
            }
            while let Some((answer, from)) = receive(&socket, &self.wall, next) {
                let back = self.wall.now();
                let asked = usize::try_from(answer.number).ok().and_then(|number| asked.get(number));
                let of = if self.of.token == ANYBODY {
                    answering.map_or(answer.token, |(token, _)| token)
                } else {
                    self.of.token
                };
                let is_ours = (answer.kind, answer.token, answer.worker) == (Kind::Answer, of, self.worker);
                if let (Some(asked), true) = (asked, is_ours) {
                    answering = Some((answer.token, from));
                    let (one, before) = (offset(*asked, &answer, back), best);
                    let least = before.filter(|before| before.bound_ns <= one.bound_ns).unwrap_or(one);
                    best = Some(Offset { answers: before.map_or(0, |before| before.answers) + 1, ..least });
                }
            }
        }
        answering.map(|(token, _)| token).zip(best)
    }

    /// After the end: how far this clock is ahead now. Worker 1 is waited for no longer than [`STAY`], or until `stop` is set.
    pub fn after(self, stop: &AtomicBool) -> Option<Offset> {
        let end = self.wall.now() + STAY;
        let found = self.ask(|best| best.map_or(end, |best| (Nanos(best.at_unix_ns) + ASKING).min(end)), stop);
        self.thank();
        found
    }

    /// Tells worker 1 not to wait for more.
    fn thank(&self) {
        let Ok(socket) = any_socket() else { return };
        let Self { of: Told { token, addresses, .. }, worker, .. } = self;
        let thanks =
            Datagram { kind: Kind::Thanks, token: *token, worker: *worker, number: 0, received: 0, answered: 0 };
        // More than once: nobody tells whether one came.
        for to in (0..3).flat_map(|_| addresses) {
            let _ = socket.send_to(&thanks.bytes(), reached(&socket, *to));
        }
    }
}

/// What a worker has to do with the others' clocks.
pub enum Clocks {
    /// Nothing: there are no others, or nobody can be asked.
    Alone,
    /// It is asked.
    Tells(Teller),
    /// It asks.
    Asks(Asker),
}

/// Until when is asked before a start that is meant for when worker 1's clock shows `begin`, from `now` on.
pub(crate) fn before(begin: Nanos, now: Nanos) -> impl Fn(Option<&Offset>) -> Nanos {
    move |best| {
        let begin = best.map_or(begin, |best| by_own(begin, best));
        begin.saturating_sub(PLACING).min(now + ASKING).max(now + FIRST)
    }
}

/// What a clock shows that is so far ahead when worker 1's shows `at`.
pub(crate) fn by_own(at: Nanos, offset: &Offset) -> Nanos {
    Nanos(at.0.saturating_add_signed(offset.ahead_ns))
}

/// What this answer, that came `back` just now, tells.
fn offset(asked: u64, answer: &Datagram, back: Nanos) -> Offset {
    let apart = |one: u64, other: u64| i128::from(one) - i128::from(other);
    let ahead = i128::midpoint(apart(asked, answer.received), apart(back.0, answer.answered));
    let on_the_way = apart(back.0, asked) - apart(answer.answered, answer.received);
    Offset {
        ahead_ns: ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
        // Rounded up, and a nanosecond for what the other division has cut.
        bound_ns: (on_the_way.max(0) / 2 + 1) as u64,
        at_unix_ns: back.0,
        answers: 1,
    }
}

/// The next datagram before `until`.
fn receive(socket: &UdpSocket, wall: &Wall, until: Nanos) -> Option<(Datagram, SocketAddr)> {
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

/// A socket from which addresses of both kinds are reached, where the system has both.
fn any_socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))
}

/// The address as this socket takes it.
fn reached(socket: &UdpSocket, to: SocketAddr) -> SocketAddr {
    match (to.ip(), socket.local_addr()) {
        (IpAddr::V4(ip), Ok(SocketAddr::V6(_))) => (ip.to_ipv6_mapped(), to.port()).into(),
        _ => to,
    }
}

/// All addresses of this machine that a socket at `at` hears, those of other machines' reach first.
fn everywhere(at: SocketAddr) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for interface in getifaddrs().into_iter().flatten() {
        let Some(address) = interface.address.filter(|_| interface.flags.contains(InterfaceFlags::IFF_UP)) else {
            continue;
        };
        let ip = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => IpAddr::V4(v4.ip()),
            // One that is of a link only means nothing elsewhere.
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

/// The kernel whose clock `wall` is.
fn kernel(wall: &Wall) -> Option<String> {
    wall.kernel().map(|kernel| format!("{kernel:032x}"))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    const OFF: Nanos = Nanos::from_millis(50);

    /// What a worker finds out whose clock `wall` makes of that of worker 1, and who was heard.
    fn compared(wall: impl Fn(Wall) -> Wall) -> (Offset, BTreeSet<u64>) {
        let reference = Wall::read();
        let wall = wall(reference);
        let mut teller = Teller::new(reference, LOOPBACK).unwrap();
        let asker = Asker::new(wall, teller.told().unwrap(), 2);
        let (is_over, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let found = thread::scope(|scope| {
            let told = scope.spawn(|| teller.tell(Nanos::MAX, |_| is_over.load(Relaxed)));
            let long = wall.now() + Nanos::from_secs(60);
            let found = asker.ask(|best| best.map_or(long, |best| Nanos(best.at_unix_ns) + ASKING), &never);
            is_over.store(true, Relaxed);
            told.join().unwrap();
            found
        });
        (found.expect("an answer"), teller.asking)
    }

    #[test]
    fn a_clock_that_is_off_is_found_out_to_its_bound() {
        let (found, asking) = compared(|wall| wall.ahead_by(OFF));
        assert!(found.ahead_ns.abs_diff(OFF.0 as i64) <= found.bound_ns, "{found:?}");
        assert!(found.answers > 0 && found.bound_ns > 0);
        assert_eq!(asking, BTreeSet::from([2]));
    }

    #[test]
    fn what_is_found_is_between_the_two_readings_however_the_ways_differ() {
        // Ahead by 1000; the way there takes 300, the way back 100, and the answer 50.
        let answer = Datagram { kind: Kind::Answer, token: 0, worker: 2, number: 0, received: 9_300, answered: 9_350 };
        let found = offset(10_000, &answer, Nanos(10_450));
        assert_eq!((found.ahead_ns, found.bound_ns), (900, 201));
        assert!(found.ahead_ns.abs_diff(1_000) <= found.bound_ns);
        assert_eq!(by_own(Nanos(9_000), &found), Nanos(9_900));
        let behind = Offset { ahead_ns: -5, ..found };
        assert_eq!(by_own(Nanos(9_000), &behind), Nanos(8_995));
    }

    #[test]
    fn an_observer_tells_anybody_its_clock_and_who_it_is() {
        let (wall, stop) = (Wall::read(), AtomicBool::new(false));
        let answerer = Answerer::new(wall, LOOPBACK).unwrap();
        let (at, silent) = (answerer.at().unwrap(), UdpSocket::bind(LOOPBACK).unwrap());
        let addresses = vec![silent.local_addr().unwrap(), at];
        let found = thread::scope(|scope| {
            scope.spawn(|| answerer.answer(Nanos::MAX, &stop));
            let found = ask(wall.ahead_by(OFF), addresses, &AtomicBool::new(false));
            stop.store(true, Relaxed);
            found
        });
        let (token, found) = found.expect("an answer");
        assert_eq!(token, answerer.token());
        assert!(found.ahead_ns.abs_diff(OFF.0 as i64) <= found.bound_ns, "{found:?}");
        assert_eq!(ask(wall, vec![at], &AtomicBool::new(true)), None, "it was stopped");
        answerer.answer(Nanos::ZERO, &AtomicBool::new(false));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn two_of_one_kernel_have_one_clock() {
        let (found, _) = compared(|wall| wall);
        assert_eq!((found.ahead_ns, found.bound_ns), (0, 0));
    }

    #[test]
    fn who_hears_nothing_knows_nothing_and_is_not_held_up() {
        let (wall, silent) = (Wall::read(), UdpSocket::bind(LOOPBACK).unwrap());
        let of = Told { addresses: vec![silent.local_addr().unwrap()], token: 7, kernel: None };
        let (asker, now) = (Asker::new(wall, of, 2), wall.now());
        assert_eq!(asker.ask(|_| now + Nanos::from_millis(60), &AtomicBool::new(false)), None);
        let mut buffer = [0; LENGTH + 1];
        let (length, _) = silent.recv_from(&mut buffer).unwrap();
        assert_eq!(Datagram::read(&buffer[..length]).unwrap().token, 7, "it did ask");
        assert_eq!(asker.ask(|_| Nanos::MAX, &AtomicBool::new(true)), None, "it was stopped");
    }

    #[test]
    fn a_stranger_is_not_answered() {
        let mut teller = Teller::new(Wall::read(), LOOPBACK).unwrap();
        let stranger = UdpSocket::bind(LOOPBACK).unwrap();
        let (at, token) = (teller.socket.local_addr().unwrap(), teller.token);
        let other = Datagram { kind: Kind::Question, token: token ^ 1, worker: 3, number: 0, received: 0, answered: 0 };
        let ours = Datagram { token, worker: 2, ..other };
        for question in [&other.bytes()[..], b"anything", &ours.bytes()] {
            stranger.send_to(question, at).unwrap();
        }
        teller.tell(Nanos::MAX, |asking| !asking.is_empty());
        let mut buffer = [0; LENGTH + 1];
        let (length, _) = stranger.recv_from(&mut buffer).unwrap();
        assert_eq!(Datagram::read(&buffer[..length]).unwrap().worker, 2, "the only answer");
        assert_eq!(teller.asking, BTreeSet::from([2]));
    }

    #[test]
    fn worker_1_stays_until_it_was_thanked_by_all_who_have_asked() {
        let mut teller = Teller::new(Wall::read(), LOOPBACK).unwrap();
        let asker = |worker| Asker::new(Wall::read().ahead_by(OFF), teller.told().unwrap(), worker);
        let (two, three, stop) = (asker(2), asker(3), AtomicBool::new(false));
        teller.asking = BTreeSet::from([2, 3]);
        let staying = thread::spawn(move || teller.stay(&AtomicBool::new(false)));
        assert!(two.after(&stop).is_some());
        assert!(three.after(&stop).is_some(), "it was still there");
        staying.join().unwrap();
    }

    #[test]
    fn before_the_start_is_asked_for_a_second_and_not_into_the_start() {
        let until = |begin, best: Option<&Offset>| before(Nanos::from_millis(begin), Nanos::from_millis(10_000))(best);
        let far_ahead = Offset { ahead_ns: 3_000_000_000, bound_ns: 1, at_unix_ns: 0, answers: 1 };
        assert_eq!(until(14_000, None), Nanos::from_millis(11_000));
        assert_eq!(until(12_000, None), Nanos::from_millis(10_500));
        assert_eq!(until(9_000, None), Nanos::from_millis(10_300), "its clock may be wrong");
        assert_eq!(until(9_000, Some(&far_ahead)), Nanos::from_millis(10_500), "and is");
    }

    #[test]
    fn a_machine_is_reached_by_its_addresses_and_by_its_own_last() {
        let found = everywhere("0.0.0.0:7".parse().unwrap());
        assert!(found.iter().all(|address| address.is_ipv4() && address.port() == 7));
        assert!(found.last().is_some_and(|last| last.ip().is_loopback()), "{found:?}");
    }
}
