//! Users and think time that make a closed tool launch like the open web (Principle A).

use offered_model::document::Schema;
use offered_model::{Law, Wrong};
use offered_plan::emulate::{Emulation, Wanted};

use crate::Error;
use crate::document::plan::{Doubled, Emulation as Document, Fewer, Queueing, Wanted as Asked};

/// What is to be emulated.
pub struct Question<'a> {
    /// Launches per second wanted.
    pub rate: f64,
    /// The mean response expected at that rate, in seconds.
    pub response: f64,
    /// The demand of the slowest station in seconds, if it is known.
    pub bottleneck: Option<f64>,
    /// How many users.
    pub users: Users,
    /// The name of the law of the think times.
    pub law: &'a str,
    /// That law, of a mean in seconds.
    pub think: Think,
}

/// A law of think times, of a mean in seconds.
pub type Think = fn(f64) -> Result<Law, Wrong>;

/// How many users there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Users {
    /// So many.
    These(u64),
    /// As many as keep R / (R + Z) below this.
    Rort(f64),
}

/// The users that do it, and what they do.
pub struct Answer {
    /// N, Z and what follows.
    pub emulation: Emulation,
    /// All of it.
    pub document: Document,
}

/// Answers.
///
/// # Errors
/// What no formula takes.
pub fn emulate(question: &Question) -> Result<Answer, Error> {
    let Question { rate, response, bottleneck, users, law: name, think: law } = *question;
    let mut wanted = Wanted::new(rate, response)?;
    if let Some(slowest) = bottleneck {
        wanted = wanted.within(slowest)?;
    }
    let emulation = match users {
        Users::These(users) => wanted.with_users(users)?,
        Users::Rort(rort) => wanted.with_rort(rort)?,
    };
    // S of the server that the launches are judged on.
    let service = bottleneck.unwrap_or(wanted.service());
    let launches = emulation.launches(service)?;
    let own = law(emulation.think)?;
    // The same share of waiting at twice the response: twice the think time, so twice the users.
    let twice = Wanted::new(rate, 2.0 * response)?.with_users(2 * emulation.users)?;
    let document = Document {
        schema: Schema::new(),
        wanted: Asked { rate_per_s: rate, response_s: response },
        users: emulation.users,
        think_s: emulation.think,
        ratio_per_s: emulation.ratio,
        rate_per_s: emulation.rate,
        concurrency: emulation.in_system,
        q_over_z: emulation.in_system / emulation.think,
        rort: emulation.rort,
        exact_think_s: emulation.exact_think,
        think_law: name.to_owned(),
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
        fewer_users: fewer(&wanted, emulation.users, law)?,
        if_response_doubles: Doubled {
            users: twice.users,
            think_s: twice.think,
            rate_per_s: twice.rate,
            rort: twice.rort,
            rate_unchanged_plan_per_s: emulation.users as f64 / (emulation.think + 2.0 * response),
        },
    };
    Ok(Answer { emulation, document })
}

/// What fewer users at the same N/Z would do.
fn fewer(wanted: &Wanted, users: u64, law: Think) -> Result<Vec<Fewer>, Error> {
    let sizes = [2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter().filter(|n| *n < users);
    let fewer = sizes.map(|n| {
        let fewer = wanted.with_users(n)?;
        Ok(Fewer {
            users: fewer.users,
            think_s: fewer.think,
            rate_per_s: fewer.rate,
            concurrency: fewer.in_system,
            rort: fewer.rort,
            cov: fewer.cov(&law(fewer.think)?)?,
        })
    });
    fewer.collect()
}
