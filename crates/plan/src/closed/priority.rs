//! N users and one server with preemptive priority between two classes of requests: the closed PESJF and PELJF.
//!
//! A request is of the first class with probability p. With hyperexponential service the classes are the branches, so
//! this is a server that knows each request's *expected* size (Schroeder, Wierman and Harchol-Balter 2006, section 5).
//! The chain has (N+1)(N+2)/2 states and is solved exactly by levels ([`crate::levels`]) at O(N^4) cost, so N is
//! limited.

use super::Means;
use crate::Error;
use crate::error::{not_negative, positive, some};
use crate::levels::{Level, Levels};
use crate::matrix::Matrix;

/// Maximum number of users.
pub const MAX_USERS: u64 = 200;

/// Exact means when a share `p` of the requests, with mean service time `first`, has priority over the others, with
/// mean service time `second`. Times are in seconds.
///
/// # Errors
/// A service time is not above zero, the think time is negative, the share is outside (0, 1), there are no users, or
/// there are more than [`MAX_USERS`].
pub fn preemptive(p: f64, first: f64, second: f64, users: u64, think: f64) -> Result<Means, Error> {
    some("the number of users", users)?;
    not_negative("the think time", think)?;
    positive("the service time of the first class", first)?;
    positive("the service time of the second class", second)?;
    if !(p > 0.0 && p < 1.0) {
        return Err(Error::OutOfRange { what: "the share of the first class", expected: "between 0 and 1", value: p });
    }
    if users > MAX_USERS {
        return Err(Error::Unsupported(format!(
            "the closed priority chain of {users} users is too large; use at most {MAX_USERS} users, or simulate"
        )));
    }
    let mean = p * first + (1.0 - p) * second;
    if think == 0.0 {
        let n = users as f64;
        return Ok(Means { throughput: 1.0 / mean, response: n * mean, in_system: n, utilisation: 1.0 });
    }
    let last = users as usize;
    // On level n, state j has j requests of the first class.
    let level = |n: usize| {
        let launch = (last - n) as f64 / think;
        let mut up = Matrix::zero(n + 1, if n == last { 0 } else { n + 2 });
        let mut down = Matrix::zero(n + 1, n);
        for j in 0..=n {
            if n < last {
                *up.of(j, j + 1) = launch * p;
                *up.of(j, j) = launch * (1.0 - p);
            }
            if j > 0 {
                *down.of(j, j - 1) = 1.0 / first;
            } else if n > 0 {
                *down.of(0, 0) = 1.0 / second;
            }
        }
        Level { down, local: Matrix::zero(n + 1, n + 1), up }
    };
    let chain = Levels::solve((0..=last).map(level).collect(), super::phases::likely_level(users as f64, mean, think));
    let (throughput, in_system) = (chain.rate(), chain.mean());
    Ok(Means { throughput, response: in_system / throughput, in_system, utilisation: throughput * mean })
}
