//! Reading lateness: how long the operating system held a response before this thread read it.
//!
//! The kernel knows when data arrived, but a timestamp costs 500 ns and more, 1.5 times as much as a read. So reads are
//! timestamped at random: all of them up to a thousand per second, then one in two, in four, and so on.
//!
//! The timestamp of a read is that of its last segment. If several segments of a response were waiting, an earlier time
//! is known: the time at which the poller reported the socket.

use offered_base::{Instant, Nanos};
use offered_io::{ReceiveTimestamps, TimestampsEnabled, unix_now};

use crate::event_stream::{DataArrival, PROMPT};

/// Maximum numbers of timestamped reads per second, approximately: of those that may begin a response, and of others.
const MAX_FIRST_PER_S: u64 = 1000;
const MAX_LATER_PER_S: u64 = 500;
/// Interval at which the share of timestamped reads is set.
const PERIOD: Nanos = Nanos::from_millis(50);

/// Measures reading lateness on one thread.
pub(super) struct ReadingLateness {
    first: Sampler,
    later: Sampler,
    /// The instant since which the data that is read next has been waiting, as far as this thread knows.
    waiting_since: Instant,
    /// No data arrived before this instant.
    empty_until: Instant,
    /// The earliest of these instants in the current iteration of the event loop.
    all_empty_until: Instant,
    /// Whether the thread slept before this iteration, and so was waiting for the data that it reads.
    has_slept: bool,
    _enabled: TimestampsEnabled,
}

impl ReadingLateness {
    pub(super) fn new() -> Self {
        Self {
            first: Sampler::new(MAX_FIRST_PER_S),
            later: Sampler::new(MAX_LATER_PER_S),
            waiting_since: Instant::ZERO,
            empty_until: Instant::ZERO,
            all_empty_until: Instant::ZERO,
            has_slept: false,
            _enabled: ReceiveTimestamps::keep_enabled(),
        }
    }

    /// Called in each iteration of the event loop.
    #[inline]
    pub(super) fn adapt(&mut self, now: Instant) {
        self.first.adapt(now);
        self.later.adapt(now);
        self.all_empty_until = now;
    }

    /// An iteration of the event loop begins after a wait of this length.
    #[inline]
    pub(super) fn woke_up(&mut self, wait: Nanos) {
        self.has_slept = wait > PROMPT;
    }

    /// The next socket was reported by the poller at `since`, and was empty until `empty_until`.
    #[inline]
    pub(super) fn socket_ready(&mut self, since: Instant, empty_until: Instant) {
        (self.waiting_since, self.empty_until) = (since, empty_until);
        self.all_empty_until = self.all_empty_until.min(empty_until);
    }

    /// The arrival of the data that were just read, on a connection that carries one exchange at a time. The last of them arrived at `stamp`,
    /// since the Unix epoch, and data had `waited`.
    pub(super) fn data_arrival(&self, stamp: Option<Nanos>, waited: Option<Nanos>) -> DataArrival {
        let has_slept = self.has_slept && waited.is_some_and(|waited| waited <= PROMPT);
        DataArrival { stamp, waited, empty_until: self.empty_until, has_slept, is_shared: false }
    }

    /// The same on a connection that carries several exchanges: the stamp is that of the latest read.
    pub(super) fn shared_arrival(&self, stamp: Option<Nanos>) -> DataArrival {
        let (empty_until, has_slept) = (self.all_empty_until, self.has_slept);
        DataArrival { stamp, waited: None, empty_until, has_slept, is_shared: true }
    }

    /// Whether the next read is timestamped; `is_first` if it may begin a response.
    #[inline]
    pub(super) fn samples(&mut self, is_first: bool) -> bool {
        if is_first { self.first.samples() } else { self.later.samples() }
    }

    /// How late data was read at `read`, on a connection that carries one exchange at a time: `arrival` is its receive
    /// time, since the Unix epoch. `None` if that is unknown. Data that is read later from the same socket is new.
    #[inline]
    pub(super) fn of_read(&mut self, arrival: Option<Nanos>, sent: Option<Instant>, read: Instant) -> Option<Nanos> {
        let waited = std::mem::replace(&mut self.waiting_since, read).until(read);
        Self::of_response(arrival?, sent, read).map(|late| late.max(waited))
    }

    /// The same on a connection that carries several exchanges, where the socket may have been ready because of others.
    ///
    /// `None` if the time is impossible, because the wall clock was set in the meantime: no response arrives before its
    /// request was `sent`.
    pub(super) fn of_response(arrival: Nanos, sent: Option<Instant>, read: Instant) -> Option<Nanos> {
        let late = Nanos(unix_now().0.checked_sub(arrival.0)?);
        Some(late).filter(|late| *late <= sent.unwrap_or_default().until(read))
    }
}

/// Chooses reads at random, with a share that keeps their number per second below a maximum.
struct Sampler {
    max_per_s: u64,
    /// One read in `mask + 1` is chosen, a power of two.
    mask: u64,
    /// Number of reads in the current period, and when it began.
    reads: u64,
    since: Instant,
    random: u64,
}

impl Sampler {
    const fn new(max_per_s: u64) -> Self {
        Self { max_per_s, mask: 0, reads: 0, since: Instant::ZERO, random: 0x9e37_79b9_7f4a_7c15 }
    }

    #[inline]
    fn samples(&mut self) -> bool {
        self.reads += 1;
        // Xorshift (Marsaglia 2003): the choice must not follow a pattern of the workload.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) & self.mask == 0
    }

    #[inline]
    fn adapt(&mut self, now: Instant) {
        let elapsed = self.since.until(now);
        if elapsed >= PERIOD {
            let per_s = u128::from(self.reads) * 1_000_000_000 / u128::from(elapsed.0);
            self.mask = (per_s as u64).div_ceil(self.max_per_s).next_power_of_two() - 1;
            (self.reads, self.since) = (0, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of reads per second that are chosen at this rate, and their share.
    fn chosen(per_s: u64) -> (f64, f64) {
        let (mut sampler, mut chosen) = (Sampler::new(4000), 0);
        let (reads, step) = (per_s * 20, 1_000_000_000 / per_s);
        for i in 0..reads {
            sampler.adapt(Instant(i * step));
            chosen += u64::from(sampler.samples());
        }
        (chosen as f64 / 20.0, chosen as f64 / reads as f64)
    }

    #[test]
    fn few_reads_are_all_timestamped_and_many_in_part() {
        assert_eq!(chosen(1000).1, 1.0);
        for (per_s, share) in [(4001, 0.5), (9000, 0.25), (100_000, 1.0 / 32.0)] {
            let (chosen, measured) = chosen(per_s);
            assert!((measured / share - 1.0).abs() < 0.1 && chosen < 4400.0, "{per_s}: {chosen} {measured}");
        }
    }

    #[test]
    fn lateness_is_the_longer_of_two_waits() {
        let (ms, now) = (Nanos::from_millis, Instant::from_secs(10));
        let arrived = |before: u64| Some(unix_now().saturating_sub(ms(before)));
        let mut reading = ReadingLateness::new();
        let mut late = |arrival, waited: u64, sent: u64| {
            reading.socket_ready(now.earlier(ms(waited)), Instant::ZERO);
            reading.of_read(arrival, Some(now.earlier(ms(sent))), now).map(|late| late.0 / 1_000_000)
        };
        assert_eq!(late(None, 50, 500), None);
        assert_eq!(late(arrived(3), 50, 500), Some(50));
        assert!(late(arrived(70), 50, 5000).is_some_and(|late| (70..1000).contains(&late)));
        assert_eq!(late(arrived(600), 50, 500), None, "the clock was set forward");
        assert_eq!(late(Some(unix_now() + ms(60_000)), 50, 500), None, "the clock was set back");
        reading.socket_ready(Instant::ZERO, Instant::ZERO);
        reading.of_read(None, None, now);
        assert_eq!(reading.waiting_since, now);
    }
}
