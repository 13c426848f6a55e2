//! Sessions that are there when a partly-open run begins, and think.
//!
//! A system that begins empty takes as long to fill as a session lasts: sessions of 20 requests who think for 7 s reach the load that
//! was asked for after minutes.
//!
//! # What is exact
//! Thinking is a station with room for everybody. Sessions come to it at the rate lambda (E\[L\] - 1), for each thinks between its L
//! requests, so by Little's law lambda (E\[L\] - 1) E\[Z\] of them think in the mean, *whatever the server is*. One that is met there
//! has a residual think time before it, and its next request is number k with a probability in proportion to P(L > k). Where the
//! system has a product form (sessions arrive as a Poisson process; a server that is `ps`, or `fcfs` with exponential work) their number is
//! Poisson and does not depend on who is at the server (Baskett, Chandy, Muntz and Palacios 1975).
//!
//! # What is assumed
//! Where it has none, the number is taken to be Poisson all the same. And nobody waits for an answer: how many do depends on
//! responses that no one knows before the run, and to ask for all of them at once would be a bunch. So the server begins empty, and
//! fills as fast as that of an open system.

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
    /// How many think in the mean: lambda (E\[L\] - 1) E\[Z\], by the rate at the beginning.
    pub fn mean(schedule: &Schedule, length: &Length, think: &Distribution) -> f64 {
        schedule.rate().as_constant().map_or(0.0, |rate| rate.per_sec() * (length.mean() - 1.0) * think.mean())
    }

    /// Those of a run with this seed.
    pub fn new(schedule: &Schedule, length: &Length, think: &Distribution, seed: Seed) -> Self {
        let mean = Self::mean(schedule, length, think);
        let number = if mean > 0.0 { poisson(mean, &mut seed.stream(Purpose::Start)) as u64 } else { 0 };
        Self { seed, number }
    }

    /// Nobody.
    pub fn nobody(seed: Seed) -> Self {
        Self { seed, number: 0 }
    }

    /// How many they are.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next launch of `session`, one of them: when what is left of its think time is over.
    pub fn first(&self, length: &Length, think: &Distribution, session: u64) -> Entry<(u32, u16, Visit)> {
        let wait = think.sample_residual(&mut self.seed.at(Purpose::Start, session, 0));
        let (step, _) = self.met(length, session);
        Entry { key: Nanos::from_secs_f64(wait).0, serial: session, what: (step, 0, Visit::FIRST.on()) }
    }

    /// Whether `session` makes another request after step `step`.
    #[inline]
    pub fn goes_on(&self, length: &Length, session: u64, step: u32) -> bool {
        if session < self.number
            && let (_, Some(requests)) = self.met(length, session)
        {
            return step + 1 < requests;
        }
        length.goes_on(self.seed, session, step)
    }

    fn met(&self, length: &Length, session: u64) -> (u32, Option<u32>) {
        length.met(&mut self.seed.at(Purpose::Start, session, 1))
    }
}
