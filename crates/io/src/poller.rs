//! Waiting for sockets and for an instant at once.
//!
//! Sockets are registered once, edge-triggered, for reading and writing: one system call per connection, not per
//! request. After a [`Ready`] the owner must read (and write) until the system reports `WouldBlock`.
//!
//! # Precision
//! A sleeping wait ends some 20 us late on an idle Linux machine, and the kernel wakes neighbouring sleepers together,
//! which distorts the gaps of a fast schedule. [`Poller::wait_until`] therefore sleeps only until `spin` before its
//! deadline and polls without sleeping for the rest. Sockets are still reported, and the deadline is met within a
//! microsecond.

#[cfg(any(not(target_os = "linux"), feature = "portable"))]
mod portable;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
use portable as system;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
use linux as system;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use offered_base::{Instant, Nanos};

use crate::Clock;

/// A socket that can be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token with which the socket was added.
    pub token: usize,
    /// The socket has data to read, or the peer has closed it.
    pub readable: bool,
    /// The socket accepts data, or an attempt to connect has ended.
    pub writable: bool,
    /// The peer may have closed: read to the end, because this is not reported again. If false, a read that did not
    /// fill its buffer has read all data.
    pub closed: bool,
}

/// The token of the waker; no socket may use it.
const WAKE: usize = usize::MAX;

/// Waits for any of its sockets, for a [`Waker`], or for an instant.
pub struct Poller(Arc<system::System>, system::Buffer);

/// Ends the wait of another thread.
#[derive(Clone)]
pub struct Waker(Arc<system::System>);

impl Waker {
    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl Poller {
    /// The maximum number of events of one wait. If a wait reports fewer than this number minus one, it has reported
    /// all ready sockets.
    pub const MAX_READY: usize = 256;

    /// A poller without sockets. Sets the timer slack of the current thread to the minimum, so that sleeps end in time.
    ///
    /// # Errors
    /// The process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(system::System::new()?), system::Buffer::default()))
    }

    /// A waker for this poller.
    pub fn waker(&self) -> Waker {
        Waker(self.0.clone())
    }

    /// Registers `source`, edge-triggered, for reading and writing, under `token`.
    ///
    /// # Errors
    /// The system refused: too many registrations, or a source that cannot be polled.
    pub fn add(&self, source: impl AsFd, token: usize) -> io::Result<()> {
        assert_ne!(token, WAKE);
        self.0.add(source.as_fd(), token)
    }

    /// Registers another poller under `token`. It is reported as long as one of its sockets is ready.
    ///
    /// # Errors
    /// The system refused: too many registrations.
    pub fn add_poller(&self, inner: &Self, token: usize) -> io::Result<()> {
        assert_ne!(token, WAKE);
        self.0.add_system(&inner.0, token)
    }

    /// Removes `source`. Call it before the source is closed.
    ///
    /// # Errors
    /// The source was not registered.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        self.0.remove(source.as_fd())
    }

    /// Removes a source that the caller closes next, and that has no other descriptor. In Linux this does nothing,
    /// because the kernel removes a source when it is closed.
    pub fn remove_closing(&self, source: impl AsFd) {
        self.0.remove_closing(source.as_fd());
    }

    /// Waits until a socket is ready, a [`Waker`] wakes, or `timeout` has passed (`None`: no timeout), and fills
    /// `ready`.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn wait(&mut self, timeout: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        self.0.wait(&mut self.1, timeout, ready)
    }

    /// Waits until a socket is ready or `clock` shows `deadline`, without sleeping for the last `spin` before it. `now` is the time
    /// on `clock` before the wait. Returns the time after it.
    ///
    /// Returns early, with an empty `ready`, when woken.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn wait_until(
        &mut self,
        clock: &Clock,
        mut now: Instant,
        deadline: Instant,
        spin: Nanos,
        ready: &mut Vec<Ready>,
    ) -> io::Result<Instant> {
        loop {
            let left = now.until(deadline);
            // Linux may extend a sleep in epoll by a thousandth of its length (`select_estimate_accuracy`).
            let early = spin + Nanos(left.0 / 1000);
            self.wait(Some(left.saturating_sub(early)), ready)?;
            now = clock.now();
            // During the spin only a socket or the deadline ends the wait; before it a wake-up does too.
            if !ready.is_empty() || left == Nanos::ZERO || (left > early && now + early < deadline) {
                return Ok(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_is_reported_once_per_edge() {
        let mut poller = Poller::new().unwrap();
        let (mut near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        poller.add(&near, 7).unwrap();
        let mut ready = Vec::new();
        poller.wait(Some(Nanos::from_secs(5)), &mut ready).unwrap();
        assert!(ready[0].writable && !ready[0].readable && ready[0].token == 7);
        far.write_all(b"x").unwrap();
        poller.wait(Some(Nanos::from_secs(5)), &mut ready).unwrap();
        assert!(ready[0].readable && ready[0].token == 7);
        assert_eq!(near.read(&mut [0; 8]).unwrap(), 1);
        poller.wait(Some(Nanos::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
        drop(far);
        poller.wait(Some(Nanos::from_secs(5)), &mut ready).unwrap();
        assert!(ready[0].readable && ready[0].closed);
        poller.remove(&near).unwrap();
    }

    #[test]
    fn a_poller_is_ready_as_long_as_one_of_its_sockets_is() {
        let (mut outer, mut inner) = (Poller::new().unwrap(), Poller::new().unwrap());
        outer.add_poller(&inner, 3).unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut ready = Vec::new();
        outer.wait(Some(Nanos::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
        inner.add(&near, 7).unwrap();
        far.write_all(b"x").unwrap();
        for _ in 0..2 {
            outer.wait(Some(Nanos::from_secs(5)), &mut ready).unwrap();
            assert_eq!(ready[0].token, 3);
        }
        inner.wait(Some(Nanos::ZERO), &mut ready).unwrap();
        assert_eq!(ready[0].token, 7);
        outer.wait(Some(Nanos::ZERO), &mut ready).unwrap();
        assert_eq!(ready, []);
    }

    #[test]
    fn waits_never_end_early() {
        let clock = Clock::start();
        let mut poller = Poller::new().unwrap();
        let mut ready = Vec::new();
        for spin in [Nanos::ZERO, Nanos::from_micros(300), Nanos::from_secs(1)] {
            let deadline = clock.now() + Nanos::from_millis(2);
            poller.wait_until(&clock, clock.now(), deadline, spin, &mut ready).unwrap();
            assert!(clock.now() >= deadline && ready.is_empty());
        }
    }

    #[test]
    fn a_sleep_is_not_rounded_up_to_a_millisecond() {
        let clock = Clock::start();
        let mut poller = Poller::new().unwrap();
        // Single sleeps may be delayed by the machine; but if sleeps were whole milliseconds, every one would be late.
        let is_prompt = (0..500).any(|_| {
            let deadline = clock.now() + Nanos::from_micros(100);
            poller.wait_until(&clock, clock.now(), deadline, Nanos::ZERO, &mut Vec::new()).unwrap();
            deadline.until(clock.now()) < Nanos::from_micros(500)
        });
        assert!(is_prompt || cfg!(not(target_os = "linux")) || cfg!(feature = "portable"));
    }

    #[test]
    fn a_wake_from_another_thread_ends_the_wait() {
        let clock = Clock::start();
        let mut poller = Poller::new().unwrap();
        let waker = poller.waker();
        let thread = std::thread::spawn(move || waker.wake());
        poller.wait_until(&clock, clock.now(), Instant::from_secs(60), Nanos::ZERO, &mut Vec::new()).unwrap();
        thread.join().unwrap();
        assert!(clock.now() < Instant::from_secs(50));
    }
}
