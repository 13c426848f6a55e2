//! The document of `plan emulate`: users and think time with which a closed workload generates nearly open traffic (Principle A).

use super::{DoubledResponse, Emulation as Document, FewerUsers, Queueing, Target};
use crate::Error;
use crate::emulate::{Emulation, OpenTraffic};
use offered_base::InvalidValue;
use offered_distributions::Distribution;
use offered_events::document::Schema;

/// The traffic to emulate, and the choice of users.
pub struct Question<'a> {
    /// Target request rate, per second.
    pub rate: f64,
    /// Expected mean response time at that rate, in seconds.
    pub response: f64,
    /// Service demand of the slowest station in seconds, if known.
    pub bottleneck: Option<f64>,
    /// The number of users.
    pub users: Users,
    /// Name of the think time distribution.
    pub distribution: &'a str,
    /// The think time distribution.
    pub think: Think,
}

/// Makes a think time distribution from its mean in seconds.
pub type Think = fn(f64) -> Result<Distribution, InvalidValue>;

/// The choice of the number of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Users {
    /// A fixed number.
    Fixed(u64),
    /// The smallest number that keeps R / (R + Z) below this share.
    MaxRort(f64),
}

/// The emulation, and its document.
pub struct Answer {
    /// Number of users, think time and the resulting traffic.
    pub emulation: Emulation,
    /// The document of `plan emulate`.
    pub document: Document,
}

/// Solves for the number of users and the think time.
///
/// # Errors
/// A rate, response time or number of users outside the range of the formulas.
pub fn emulate(question: &Question) -> Result<Answer, Error> {
    let Question { rate, response, bottleneck, users, distribution: name, think: distribution } = *question;
    let mut wanted = OpenTraffic::new(rate, response)?;
    if let Some(slowest) = bottleneck {
        wanted = wanted.within(slowest)?;
    }
    let emulation = match users {
        Users::Fixed(users) => wanted.with_users(users)?,
        Users::MaxRort(rort) => wanted.with_rort(rort)?,
    };
    // S of the server at which the requests queue.
    let service = bottleneck.unwrap_or(wanted.service());
    let launches = emulation.request_stream(service)?;
    let own = distribution(emulation.think)?;
    // R / (R + Z) stays the same at twice the response time with twice the think time, and so twice the users.
    let twice = OpenTraffic::new(rate, 2.0 * response)?.with_users(2 * emulation.users)?;
    let document = Document {
        schema: Schema::new(),
        target: Target { rate_per_s: rate, response_s: response },
        users: emulation.users,
        think_s: emulation.think,
        ratio_per_s: emulation.ratio,
        rate_per_s: emulation.rate,
        concurrency: emulation.in_system,
        q_over_z: emulation.in_system / emulation.think,
        rort: emulation.rort,
        exact_think_s: emulation.exact_think,
        think_distribution: name.to_owned(),
        cov: emulation.cov(&own)?,
        dispersion: own.scv(),
        with_queueing: Queueing {
            service_s: service,
            load: launches.rate * service,
            rate_per_s: launches.rate,
            cov: launches.cov,
            lag1_correlation: launches.lag1,
            dispersion: launches.dispersion,
        },
        fewer_users: fewer(&wanted, emulation.users, distribution)?,
        if_response_doubles: DoubledResponse {
            users: twice.users,
            think_s: twice.think,
            rate_per_s: twice.rate,
            rort: twice.rort,
            rate_unchanged_plan_per_s: emulation.users as f64 / (emulation.think + 2.0 * response),
        },
    };
    Ok(Answer { emulation, document })
}

/// The same N/Z with fewer users.
fn fewer(wanted: &OpenTraffic, users: u64, distribution: Think) -> Result<Vec<FewerUsers>, Error> {
    let sizes = [2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter().filter(|n| *n < users);
    let fewer = sizes.map(|n| {
        let fewer = wanted.with_users(n)?;
        Ok(FewerUsers {
            users: fewer.users,
            think_s: fewer.think,
            rate_per_s: fewer.rate,
            concurrency: fewer.in_system,
            rort: fewer.rort,
            cov: fewer.cov(&distribution(fewer.think)?)?,
        })
    });
    fewer.collect()
}
