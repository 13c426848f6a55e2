//! Sessions that are thinking when a partly-open run begins.
//!
//! A system that begins empty reaches its steady state only after about the length of a session: with sessions of 20 requests and think
//! times of 7 s it reaches the target rate after minutes.
//!
//! # What is exact
//! Thinking is a station with infinitely many servers. Sessions arrive there at the rate lambda (E\[L\] - 1), because a session with L
//! requests thinks L - 1 times. By Little's law the mean number of thinking sessions is lambda (E\[L\] - 1) E\[Z\], *for every server*. A
//! thinking session has a residual think time, and its next request is number k with a probability proportional to P(L > k). If the
//! system has a product form (Poisson arrivals of sessions; a `ps` server, or `fcfs` with exponential work), the number is
//! Poisson and independent of the sessions at the server (Baskett, Chandy, Muntz and Palacios 1975).
//!
//! # What is assumed
//! Without a product form, the number is assumed to be Poisson too. No session waits for a response at the start: the number of waiting
//! sessions depends on response times, which are unknown before the run, and if they all sent their requests at once,
//! these would be bunched. So the server begins empty, and fills as fast as in an open system.

use crate::arrivals::Schedule;
use crate::heap::Entry;
use crate::launch::Visit;
use crate::sessions::Length;
use offered_base::random::{Purpose, Seed};
use offered_base::time::Nanos;
use offered_distributions::{Distribution, poisson};

/// The sessions that think when the run begins: the first of the whole run, numbered from 0.
#[derive(Clone, Debug)]
pub struct Thinking {
    seed: Seed,
    number: u64,
}

impl Thinking {
    /// The mean number of thinking sessions: lambda (E\[L\] - 1) E\[Z\], with a constant rate; otherwise 0.
    pub fn mean(schedule: &Schedule, length: &Length, think: &Distribution) -> f64 {
        schedule.rate().as_constant().map_or(0.0, |rate| rate.per_sec() * (length.mean() - 1.0) * think.mean())
    }

    /// The thinking sessions of a run with this seed.
    pub fn new(schedule: &Schedule, length: &Length, think: &Distribution, seed: Seed) -> Self {
        let mean = Self::mean(schedule, length, think);
        let number = if mean > 0.0 { poisson(mean, &mut seed.stream(Purpose::Start)) as u64 } else { 0 };
        Self { seed, number }
    }

    /// No thinking sessions.
    pub fn none(seed: Seed) -> Self {
        Self { seed, number: 0 }
    }

    /// Number of thinking sessions.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next request of thinking session `session`, after its residual think time.
    pub fn first(&self, length: &Length, think: &Distribution, session: u64) -> Entry<(u32, u16, Visit)> {
        let wait = think.sample_residual(&mut self.seed.at(Purpose::Start, session, 0));
        let (step, _) = self.met(length, session);
        Entry { key: Nanos::from_secs_f64(wait).0, serial: session, value: (step, 0, Visit::FIRST.continued()) }
    }

    /// Whether `session` makes another request after step `step`.
    #[inline]
    pub fn continues(&self, length: &Length, session: u64, step: u32) -> bool {
        if session < self.number
            && let (_, Some(requests)) = self.met(length, session)
        {
            return step + 1 < requests;
        }
        length.continues(self.seed, session, step)
    }

    fn met(&self, length: &Length, session: u64) -> (u32, Option<u32>) {
        length.met(&mut self.seed.at(Purpose::Start, session, 1))
    }
}
