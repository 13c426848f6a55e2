//! M/G/1 under policies that look at the size of a request: SRPT, PSJF, SJF, their opposites, and FB which looks at its age.
//!
//! Mean response is the mean over sizes of the response of a size, by numeric integration. With rho(x) the load of requests
//! of size at most x, F the law of sizes and W(x) the mean wait to first service:
//!
//! | policy | wait W(x) | then |
//! |---|---|---|
//! | SRPT | lambda (m2(x) + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) | integral over t < x of dt / (1 - rho(t)) |
//! | PSJF | lambda m2(x) / (2 (1 - rho(x))^2) | x / (1 - rho(x)) |
//! | SJF | lambda E[S^2] / (2 (1 - rho(x))^2) | x |
//! | FB | lambda E[min(S,x)^2] / (2 (1 - rho'(x))^2), rho'(x) = lambda E[min(S,x)] | x / (1 - rho'(x)) |
//!
//! LJF and PLJF are SJF and PSJF with the order of sizes reversed. Where a law has atoms, requests of equal size are served
//! in order of arrival, and (1 - rho(x))^2 becomes (1 - rho(x-)) (1 - rho(x)).
//!
//! Source: Schrage and Miller 1966 (SRPT); Kleinrock 1976, section 3.7 and 4.6; Harchol-Balter 2013, chapters 30 to 33.

use offered_model::Law;

use crate::Error;
use crate::error::{below_one, positive};
use crate::moments::Sizes;

/// A policy that looks at sizes or ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Shortest remaining processing time first.
    Srpt,
    /// Smallest original size first, interrupting.
    Psjf,
    /// Smallest first, not interrupting.
    Sjf,
    /// Largest first, not interrupting.
    Ljf,
    /// Largest original size first, interrupting.
    Pljf,
    /// Least attained service first (foreground-background).
    Fb,
}

/// Mean response time, seconds.
///
/// # Errors
/// A rate or mean size that is not above zero, a load of 1 or more; an infinite second moment, except under SRPT, PSJF and
/// FB, which do not mind.
pub fn response(service: &Law, rate: f64, policy: Policy) -> Result<f64, Error> {
    below_one(positive("the rate", rate)? * positive("the service time", service.mean())?)?;
    let second = service.second_moment();
    if second.is_infinite() && matches!(policy, Policy::Sjf | Policy::Ljf | Policy::Pljf) {
        return Err(Error::Refused(format!(
            "{service} service has an infinite second moment, so the mean wait is infinite; use srpt, psjf, fb or ps"
        )));
    }
    let sizes = Sizes::of(service);
    let (mean, load) = (service.mean(), |moment: f64| 1.0 - rate * moment);
    Ok(match policy {
        Policy::Srpt => {
            let wait = sizes.expect(|at| {
                let work = at.second_upto + at.x * at.x * at.longer;
                rate * work / 2.0 / (load(at.mean_below) * load(at.mean_upto))
            });
            wait + sizes.integral(|at| at.longer / load(at.mean_upto))
        }
        Policy::Psjf => sizes.expect(|at| {
            at.x / load(at.mean_below) + rate * at.second_upto / 2.0 / (load(at.mean_below) * load(at.mean_upto))
        }),
        Policy::Sjf => mean + rate * second / 2.0 * sizes.expect(|at| 1.0 / (load(at.mean_below) * load(at.mean_upto))),
        Policy::Ljf => {
            mean + rate * second / 2.0
                * sizes.expect(|at| 1.0 / (load(mean - at.mean_below) * load(mean - at.mean_upto)))
        }
        Policy::Pljf => sizes.expect(|at| {
            let (from, above) = (load(mean - at.mean_below), load(mean - at.mean_upto));
            at.x / above + rate * (second - at.second_below) / 2.0 / (from * above)
        }),
        Policy::Fb => sizes.expect(|at| {
            let left = load(at.mean_upto + at.x * at.longer);
            at.x / left + rate * (at.second_upto + at.x * at.x * at.longer) / 2.0 / (left * left)
        }),
    })
}
