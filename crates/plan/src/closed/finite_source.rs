//! N users and one server with any service distribution: M/G/1//N.
//!
//! The means hold for exponential think times and every order of service that neither interrupts requests nor depends
//! on their sizes.
//!
//! Source: Takacs 1962, Introduction to the Theory of Queues, chapter 5 (machine interference). With S* the transform of the service time S,
//! and `C_j` = product of S*(i/Z) / (1 - S*(i/Z)) over i = 1 to j, the probability that the server is idle is
//!
//! ```text
//! 1 / (1 + N (E[S] / Z) sum over j = 0 to N - 1 of binomial(N - 1, j) / C_j)
//! ```
//!
//! All terms are positive, so nothing cancels.

use super::Means;
use crate::Error;
use crate::error::{positive, some};
use crate::transform::Laplace;

/// The exact means for `users` users with exponential think times of mean `think`, seconds. `mean` is that of `service`.
///
/// # Errors
/// There are no users, or a time is not above zero.
pub(crate) fn solve(service: &Laplace, mean: f64, users: u64, think: f64) -> Result<Means, Error> {
    let n = some("the number of users", users)?;
    let (mean, think) = (positive("the service time", mean)?, positive("the think time", think)?);
    // Logarithms of the terms, and their largest: for many users they exceed the range of numbers.
    let mut term = 0.0f64;
    let mut terms = vec![term];
    for (j, transform) in (1u32..).zip(service.at_multiples(1.0 / think, users as usize - 1)) {
        let binomial = (n - f64::from(j)) / f64::from(j);
        term += libm::log(binomial * (1.0 - transform) / transform.max(f64::MIN_POSITIVE));
        terms.push(term);
    }
    let largest = terms.iter().copied().fold(0.0, f64::max);
    let sum: f64 = terms.iter().map(|term| libm::exp(term - largest)).sum();
    // The ratio of the probabilities of a busy and an idle server, over e^largest.
    let busy = n * mean / think * sum;
    let utilisation = busy / (libm::exp(-largest) + busy);
    let throughput = utilisation / mean;
    let response = n / throughput - think;
    Ok(Means { throughput, response, in_system: throughput * response, utilisation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed::machine_repair::MachineRepair;
    use crate::closed::phases;
    use offered_distributions::Distribution;

    fn means(service: &Distribution, users: u64, think: f64) -> Means {
        solve(&Laplace::of([(1.0, service)]).unwrap(), service.mean(), users, think).unwrap()
    }

    #[track_caller]
    fn agree(one: Means, other: Means, within: f64) {
        for (a, b) in
            [(one.response, other.response), (one.throughput, other.throughput), (one.utilisation, other.utilisation)]
        {
            assert!((a / b - 1.0).abs() < within, "{one:?} {other:?}");
        }
    }

    #[test]
    fn exponential_service_is_machine_repair() {
        let service = Distribution::exponential(0.01).unwrap();
        for (users, think) in [(1, 0.3), (10, 0.05), (100, 0.9), (1000, 12.0), (5000, 3.0)] {
            agree(means(&service, users, think), MachineRepair::new(1, 0.01, users, think).unwrap().solve(), 1e-9);
        }
    }

    #[test]
    fn phases_agree_with_their_chain() {
        for service in [Distribution::hyperexponential(0.01, 8.0).unwrap(), Distribution::erlang(4, 0.01).unwrap()] {
            for (users, think) in [(10, 0.057_557_131), (100, 0.937_171_291), (10, 1.0)] {
                agree(means(&service, users, think), phases::solve(&service, users, think).unwrap(), 1e-7);
            }
        }
    }

    #[test]
    fn one_user_never_waits() {
        for service in [Distribution::constant(0.02).unwrap(), Distribution::lognormal(0.02, 4.0).unwrap()] {
            let one = means(&service, 1, 0.1);
            assert!((one.response - 0.02).abs() < 1e-12 && (one.utilisation - 0.02 / 0.12).abs() < 1e-9, "{one:?}");
        }
    }
}
