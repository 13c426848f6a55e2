//! M/G/1 with priority classes, the most important first.
//!
//! Source: Cobham 1954 (non-preemptive); White and Christie 1958, Kleinrock 1976, section 3.5 (preemptive-resume).

use offered_distributions::Distribution;

use crate::Error;
use crate::error::{below_one, positive};

/// One class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// lambda of the class, per second.
    pub rate: f64,
    /// Distribution of its service times, seconds.
    pub service: Distribution,
}

/// Whether an arrival of higher priority interrupts the request in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The arrival waits for the request in service.
    NonPreemptive,
    /// The arrival interrupts it; the interrupted request resumes later where it stopped.
    Preemptive,
}

/// Mean response time of each class, seconds, in the order of the classes.
///
/// # Errors
/// There are no classes, a rate or a service time is not above zero, the total load is 1 or more, or a second moment is
/// infinite.
pub fn responses(classes: &[Class], rank: Rank) -> Result<Vec<f64>, Error> {
    if classes.is_empty() {
        return Err(Error::Empty { what: "classes" });
    }
    let mut load = 0.0;
    for class in classes {
        load += positive("the rate of a class", class.rate)? * positive("a service time", class.service.mean())?;
        if class.service.second_moment().is_infinite() {
            return Err(Error::Unsupported(format!("{} service has an infinite second moment", class.service)));
        }
    }
    below_one(load)?;
    // Residual work that a class cannot interrupt: of all classes, or of its own priority and above.
    let residual = |classes: &[Class]| classes.iter().map(|c| c.rate * c.service.second_moment() / 2.0).sum::<f64>();
    let mut above = 0.0;
    let mut responses = Vec::with_capacity(classes.len());
    for (i, class) in classes.iter().enumerate() {
        let service = class.service.mean();
        let upto = above + class.rate * service;
        let both = (1.0 - above) * (1.0 - upto);
        responses.push(match rank {
            Rank::NonPreemptive => service + residual(classes) / both,
            Rank::Preemptive => service / (1.0 - above) + residual(&classes[..=i]) / both,
        });
        above = upto;
    }
    Ok(responses)
}

/// Mean response time over all classes, weighted by their rates, seconds.
///
/// # Errors
/// As [`responses`].
pub fn mean(classes: &[Class], rank: Rank) -> Result<f64, Error> {
    let responses = responses(classes, rank)?;
    let rate: f64 = classes.iter().map(|c| c.rate).sum();
    Ok(classes.iter().zip(&responses).map(|(c, r)| c.rate * r).sum::<f64>() / rate)
}
