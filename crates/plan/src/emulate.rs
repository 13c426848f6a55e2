//! Principle A: the number of users and the think time with which a closed system sends requests like web users.
//!
//! Source: Brady and Gunther 2016, section 3.3. Keep N/Z at the target rate and make N large. Then Q/Z, the rate lost
//! to waiting users, is small, and lambda = N/Z - Q/Z.
//!
//! # Limitations
//! The CoV of gaps tends to 1 as N grows. The dispersion of counts over long windows does not tend to 1. Without
//! queueing it is the C2 of one user's think time; near saturation it tends to the C2 of the service. A closed system
//! imitates open traffic gap by gap, not minute by minute. To imitate both, use an open schedule.

use offered_distributions::{Distribution, superposition};

use crate::closed::RequestStream;
use crate::closed::machine_repair::MachineRepair;
use crate::error::{positive, some};
use crate::{Error, littles_law};

/// Smallest number of users whose CoV of gaps between requests is within 1 % of 1 (0.990 for uniform think times;
/// Figure 15 of Brady's paper on bunched requests).
pub const MIN_USERS: u64 = 50;

/// The open traffic to emulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenTraffic {
    rate: f64,
    response: f64,
}

/// A closed system that emulates the traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emulation {
    /// N, number of users.
    pub users: u64,
    /// Z, mean think time, seconds.
    pub think: f64,
    /// N/Z, per second: the target rate.
    pub ratio: f64,
    /// lambda = N/Z - Q/Z = N/(Z + R), per second: the rate that the users achieve.
    pub rate: f64,
    /// Q = lambda R, mean number of requests in the system.
    pub in_system: f64,
    /// R / (R + Z), the share of a round trip spent waiting.
    pub rort: f64,
    /// The think time at which users achieve exactly the target rate, N/lambda - R, seconds. `None` if N is too small
    /// for this rate.
    pub exact_think: Option<f64>,
}

impl OpenTraffic {
    /// Traffic of `rate` requests per second with mean response time `response`, in seconds.
    ///
    /// # Errors
    /// The rate or the response is not above zero.
    pub fn new(rate: f64, response: f64) -> Result<Self, Error> {
        Ok(Self { rate: positive("the rate", rate)?, response: positive("the response", response)? })
    }

    /// Checks that a station of service demand `bottleneck` seconds can sustain the rate (eqn 11).
    ///
    /// # Errors
    /// The rate is above 1/`S_max`. A closed system only approaches this bound as N grows, as in the paper's Table 1b.
    pub fn within(self, bottleneck: f64) -> Result<Self, Error> {
        let max = 1.0 / positive("the bottleneck's service demand", bottleneck)?;
        if self.rate <= max { Ok(self) } else { Err(Error::AboveBottleneck { rate: self.rate, max }) }
    }

    /// The emulation with `users` users: Z = N / rate.
    ///
    /// # Errors
    /// `users` is zero.
    pub fn with_users(&self, users: u64) -> Result<Emulation, Error> {
        let n = some("the number of users", users)?;
        let think = n / self.rate;
        let rate = n / (think + self.response);
        Ok(Emulation {
            users,
            think,
            ratio: n / think,
            rate,
            in_system: littles_law::in_system(rate, self.response),
            rort: littles_law::rort(self.response, think),
            exact_think: Some(n / self.rate - self.response).filter(|z| *z > 0.0),
        })
    }

    /// The emulation with the fewest users that keep R / (R + Z) at or below `rort`: Z = R (1 - `rort`) / `rort`, and N
    /// = rate Z rounded up, but at least [`MIN_USERS`].
    ///
    /// # Errors
    /// `rort` is outside (0, 1).
    pub fn with_rort(&self, rort: f64) -> Result<Emulation, Error> {
        if !(rort > 0.0 && rort < 1.0) {
            return Err(Error::OutOfRange { what: "the RoRT", expected: "above 0 and below 1 (say 3%)", value: rort });
        }
        let think = self.response * (1.0 - rort) / rort;
        // The factor slightly below 1 keeps rounding errors from adding one user.
        let users = libm::ceil(self.rate * think * (1.0 - 1e-12)).max(MIN_USERS as f64);
        self.with_users(users as u64)
    }

    /// Mean service time of the M/M/1 server that has this response time at this rate: S = R / (1 + lambda R).
    ///
    /// It replaces the real server if only the response time is known.
    pub fn service(&self) -> f64 {
        self.response / (1.0 + self.rate * self.response)
    }
}

impl Emulation {
    /// Expected CoV of gaps between requests when there is almost no queueing. Only the shape of `think` counts, not
    /// its mean.
    ///
    /// # Errors
    /// No users, or no think time.
    pub fn cov(&self, think: &Distribution) -> Result<f64, Error> {
        superposition::cov(think, self.users).map_err(|wrong| Error::Unsupported(wrong.to_string()))
    }

    /// Exact second-order properties of the request stream, for an exponential server of mean `service` seconds and
    /// exponential think times.
    ///
    /// # Errors
    /// The service time is not above zero.
    pub fn request_stream(&self, service: f64) -> Result<RequestStream, Error> {
        MachineRepair::new(1, service, self.users, self.think)?.request_stream()
    }
}
