//! Principle A: how many users, thinking how long, make a closed tool launch like the open web.
//!
//! Source: Brady and Gunther 2016, section 3.3. Keep N/Z at the wanted rate and make N large: then Q/Z, the launches that
//! wait instead of happening, is small, and lambda = N/Z - Q/Z.
//!
//! # Limitations
//! The CoV of gaps nears 1 with N; the dispersion of counts over long windows does not near 1 at any N. It stays at the C2
//! of one user's think time while nothing queues, and tends to the C2 of the service near saturation. A closed system
//! imitates open traffic gap by gap, not minute by minute; for the rest, launch from an open schedule.

use offered_model::{Law, superposition};

use crate::closed::Launches;
use crate::closed::machine_repair::MachineRepair;
use crate::error::{positive, some};
use crate::{Error, littles};

/// At this many users the CoV of launch gaps is within 1 % of 1 (0.990 for uniform think times; Figure 15 of Brady's paper on
/// launches in bunches).
pub const SETTLED: u64 = 50;

/// The traffic to be emulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    rate: f64,
    response: f64,
}

/// A closed system that emulates it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emulation {
    /// N.
    pub users: u64,
    /// Z, seconds.
    pub think: f64,
    /// N/Z, per second: the wanted rate.
    pub ratio: f64,
    /// lambda = N/Z - Q/Z = N/(Z + R), per second: what will be launched.
    pub rate: f64,
    /// Q = lambda R.
    pub in_system: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// The think time that launches exactly the wanted rate, N/lambda - R, seconds; `None` when N is too small to.
    pub exact_think: Option<f64>,
}

impl Wanted {
    /// `rate` launches per second, answered in `response` seconds on average.
    ///
    /// # Errors
    /// A rate or response that is not above zero.
    pub fn new(rate: f64, response: f64) -> Result<Self, Error> {
        Ok(Self { rate: positive("the rate", rate)?, response: positive("the response", response)? })
    }

    /// Refuses a rate that a station of service demand `bottleneck` seconds cannot sustain (eqn 11).
    ///
    /// # Errors
    /// A rate above 1/`S_max`; the bound itself is only approached as N grows, as in the paper's Table 1b.
    pub fn within(self, bottleneck: f64) -> Result<Self, Error> {
        let most = 1.0 / positive("the bottleneck's service demand", bottleneck)?;
        if self.rate <= most { Ok(self) } else { Err(Error::AboveBottleneck { rate: self.rate, most }) }
    }

    /// With this many users: Z = N / rate.
    ///
    /// # Errors
    /// No users.
    pub fn with_users(&self, users: u64) -> Result<Emulation, Error> {
        let n = some("the number of users", users)?;
        let think = n / self.rate;
        let rate = n / (think + self.response);
        Ok(Emulation {
            users,
            think,
            ratio: n / think,
            rate,
            in_system: littles::in_system(rate, self.response),
            rort: littles::rort(self.response, think),
            exact_think: Some(n / self.rate - self.response).filter(|z| *z > 0.0),
        })
    }

    /// With as many users as keep R / (R + Z) at or below `rort`: Z = R (1 - `rort`) / `rort`, N = rate Z rounded up, and at
    /// least [`SETTLED`].
    ///
    /// # Errors
    /// A share outside (0, 1).
    pub fn with_rort(&self, rort: f64) -> Result<Emulation, Error> {
        if !(rort > 0.0 && rort < 1.0) {
            return Err(Error::Share { what: "the RoRT", expected: "above 0 and below 1 (say 3%)", value: rort });
        }
        let think = self.response * (1.0 - rort) / rort;
        // A hair below, so that 3 % of a round number does not round up to one user more.
        let users = libm::ceil(self.rate * think * (1.0 - 1e-12)).max(SETTLED as f64);
        self.with_users(users as u64)
    }

    /// The mean service time of the M/M/1 server that answers this rate in this response, S = R / (1 + lambda R).
    ///
    /// What is known of a system of which only its response is known: a server that explains it.
    pub fn service(&self) -> f64 {
        self.response / (1.0 + self.rate * self.response)
    }
}

impl Emulation {
    /// CoV of launch gaps to expect while hardly anything queues, for think times with the law of `think` (its mean aside).
    ///
    /// # Errors
    /// No users, or no think time.
    pub fn cov(&self, think: &Law) -> Result<f64, Error> {
        superposition::cov(think, self.users).map_err(|wrong| Error::Refused(wrong.to_string()))
    }

    /// The exact second-order properties of the launches on an exponential server of mean `service` seconds with exponential
    /// think times.
    ///
    /// # Errors
    /// A service time that is not above zero.
    pub fn launches(&self, service: f64) -> Result<Launches, Error> {
        MachineRepair::new(1, service, self.users, self.think)?.launches()
    }
}
