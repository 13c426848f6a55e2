//! N users and one FCFS server with phase-type service (a mixture or a chain of exponential phases): M/PH/1/N/N.
//!
//! There is no product form, so the Markov chain itself is solved exactly ([`crate::levels`]). With hyperexponential
//! service this is the closed system of Schroeder, Wierman and Harchol-Balter's Figures 2 to 5. Think times are
//! exponential.

use offered_distributions::Distribution;

use super::{Means, RequestStream};
use crate::error::{positive, some};
use crate::levels::{Level, Levels};
use crate::matrix::Matrix;
use crate::phase_type::{Phases, fcfs_response};
use crate::{Error, Response};

/// Exact means for `users` users with exponential think times of mean `think` seconds. At zero every user always has a
/// request at the server.
///
/// # Errors
/// There are no users, the think time is negative, or the service does not consist of exponential phases.
pub fn solve(service: &Distribution, users: u64, think: f64) -> Result<Means, Error> {
    if think == 0.0 {
        let n = some("the number of users", users)?;
        let service = Phases::of(service).map(|_| service.mean())?;
        return Ok(Means { throughput: 1.0 / service, response: n * service, in_system: n, utilisation: 1.0 });
    }
    let chain = chain(service, users, think)?;
    let (throughput, in_system) = (chain.rate(), chain.mean());
    let utilisation = if chain.empty() < 0.5 { 1.0 - chain.empty() } else { throughput * service.mean() };
    Ok(Means { throughput, response: in_system / throughput, in_system, utilisation })
}

/// Exact second-order properties of the request stream.
///
/// # Errors
/// As [`solve`]; also a think time of zero.
pub fn request_stream(service: &Distribution, users: u64, think: f64) -> Result<RequestStream, Error> {
    Ok(RequestStream::of(&chain(service, users, think)?))
}

/// Mean and standard deviation of the response time, from the state of the server when a request arrives.
///
/// # Errors
/// As [`solve`]; also a think time of zero.
pub fn response(service: &Distribution, users: u64, think: f64) -> Result<Response, Error> {
    let chain = chain(service, users, think)?;
    let found = chain.p.iter().enumerate().flat_map(|(there, p)| {
        let rate = (users as usize - there) as f64 / think;
        p.iter().enumerate().map(move |(phase, p)| (rate * p, there, phase))
    });
    Ok(fcfs_response(service, &Phases::of(service)?, found))
}

fn chain(service: &Distribution, users: u64, think: f64) -> Result<Levels, Error> {
    let n = some("the number of users", users)?;
    positive("the think time", think)?;
    let Phases { start, onward, end } = Phases::of(service)?;
    let d = start.len();
    let level = |at: u64| {
        let launch = (users - at) as f64 / think;
        if at == 0 {
            let mut up = Matrix::zero(1, d);
            (0..d).for_each(|j| *up.of(0, j) = launch * start[j]);
            return Level { down: Matrix::zero(1, 0), local: Matrix::zero(1, 1), up };
        }
        let up = if at == users { Matrix::zero(d, 0) } else { Matrix::diagonal(&vec![launch; d]) };
        let mut down = Matrix::zero(d, if at == 1 { 1 } else { d });
        for (i, end) in end.iter().enumerate() {
            if at == 1 {
                *down.of(i, 0) = *end;
            } else {
                start.iter().enumerate().for_each(|(j, start)| *down.of(i, j) = end * start);
            }
        }
        Level { down, local: onward.clone(), up }
    };
    Ok(Levels::solve((0..=users).map(level).collect(), likely_level(n, service.mean(), think)))
}

/// The level where the flows in and out balance: the queue that remains above saturation, or 0.
pub(crate) fn likely_level(users: f64, service: f64, think: f64) -> usize {
    (users - think / service).max(0.0) as usize
}
