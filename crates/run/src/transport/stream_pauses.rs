//! Pauses before polling, while a thread reads streams.
//!
//! Many streams bring one small event after the other, and a thread that wakes up for each spends more time waking up
//! than reading. The arrival of an event is known from the kernel's timestamp, however late it is read. So a thread
//! whose connections only wait for streams collects events for a moment. It still wakes up for its next request.
//!
//! A pause is at most a small part of what is measured: [`MAX`], a hundredth of the mean time to the first chunk, and a
//! twentieth of the mean gap between chunks, so that chunks of one stream are rarely read together.

use offered_base::{Instant, Nanos};

use crate::event_stream::Interval;

/// The longest pause.
const MAX: Nanos = Nanos::from_micros(500);
/// A shorter pause saves nothing.
const MIN: Nanos = Nanos::from_micros(50);
/// A sleep ends up to this much late, and a request may be due.
const MARGIN: Nanos = Nanos::from_micros(200);
/// How many intervals the means cover, about.
const MEMORY: f64 = 32.0;

/// Determines the pauses of one thread.
#[derive(Default)]
pub(super) struct StreamPauses {
    /// Mean time to the first chunk and mean gap in ns; 0 before the first.
    first: f64,
    gap: f64,
    /// When sockets were last polled, and whether any was ready.
    polled: Instant,
    has_read: bool,
}

impl StreamPauses {
    /// A chunk has arrived after this interval.
    #[inline]
    pub(super) fn observe(&mut self, interval: Interval) {
        let (mean, Nanos(new)) = match interval {
            Interval::First(time) => (&mut self.first, time),
            Interval::Gap(time) => (&mut self.gap, time),
        };
        *mean = if *mean == 0.0 { new as f64 } else { *mean + (new as f64 - *mean) / MEMORY };
    }

    /// Sockets were polled, until `now`; `any` was ready.
    #[inline]
    pub(super) fn polled(&mut self, now: Instant, any: bool) {
        (self.polled, self.has_read) = (now, any);
    }

    /// Until when a thread that is to wake up at `due` does not poll, at `now`; `None`: it polls at once.
    #[inline]
    pub(super) fn until(&self, now: Instant, due: Instant) -> Option<Instant> {
        if !self.has_read {
            return None;
        }
        let pause = Nanos((self.first / 100.0).min(self.gap / 20.0) as u64).min(MAX);
        let until = (self.polled + pause).min(due.earlier(MARGIN));
        (pause >= MIN && until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(1);

    /// Until when a thread pauses after a poll at [`NOW`], with these intervals in microseconds.
    fn pause(first: u64, gap: u64, due: Instant) -> Option<Nanos> {
        let mut pauses = StreamPauses::default();
        pauses.observe(Interval::First(Nanos::from_micros(first)));
        pauses.observe(Interval::Gap(Nanos::from_micros(gap)));
        pauses.polled(NOW, true);
        pauses.until(NOW, due).map(|until| NOW.until(until))
    }

    #[test]
    fn a_pause_is_a_small_part_of_the_intervals() {
        let us = |us| Some(Nanos::from_micros(us));
        assert_eq!(pause(80_000, 20_000, Instant::MAX), us(500));
        assert_eq!(pause(20_000, 20_000, Instant::MAX), us(200));
        assert_eq!(pause(80_000, 4000, Instant::MAX), us(200));
        assert_eq!(pause(4000, 4000, Instant::MAX), None, "too short");
        assert_eq!(StreamPauses::default().until(NOW, Instant::MAX), None, "no stream");
    }

    #[test]
    fn the_next_request_ends_a_pause_in_time() {
        let in_us = |us| NOW + Nanos::from_micros(us);
        assert_eq!(pause(80_000, 20_000, in_us(300)), Some(Nanos::from_micros(100)));
        assert_eq!(pause(80_000, 20_000, in_us(180)), None);
    }

    #[test]
    fn there_is_no_pause_after_a_wait_without_data() {
        let mut pauses = StreamPauses { first: 1e8, gap: 1e8, ..StreamPauses::default() };
        pauses.polled(NOW, false);
        assert_eq!(pauses.until(NOW, Instant::MAX), None);
        pauses.polled(NOW, true);
        assert_eq!(pauses.until(NOW + MAX, Instant::MAX), None, "the time is over");
    }
}
