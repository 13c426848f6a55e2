//! A service distribution as exponential phases (a phase-type distribution).
//!
//! Source: Neuts 1981, chapter 2.

use offered_distributions::Distribution;
use offered_distributions::Shape;

use crate::matrix::{Eliminated, Matrix};
use crate::{Error, Response};

/// The phases of a distribution. Rates are per second.
pub(crate) struct Phases {
    /// Probability that the service starts in each phase.
    pub(crate) start: Vec<f64>,
    /// Rates from one phase to another.
    pub(crate) onward: Matrix,
    /// Rate at which each phase ends the service.
    pub(crate) end: Vec<f64>,
}

/// Maximum number of stages of an Erlang distribution. Each stage multiplies the number of states of the chain.
const MAX_STAGES: f64 = 100.0;

impl Phases {
    pub(crate) fn of(distribution: &Distribution) -> Result<Self, Error> {
        match distribution.shape() {
            Shape::Exponential(mean) => Ok(Self::mixture(&[1.0], &[*mean])),
            Shape::Hyperexponential { p, first, second } => Ok(Self::mixture(&[*p, 1.0 - p], &[*first, *second])),
            Shape::Gamma { shape, scale } if shape.fract() == 0.0 && *shape <= MAX_STAGES => {
                let stages = *shape as usize;
                let mut start = vec![0.0; stages];
                start[0] = 1.0;
                let mut onward = Matrix::zero(stages, stages);
                for i in 1..stages {
                    *onward.of(i - 1, i) = 1.0 / scale;
                }
                let mut end = vec![0.0; stages];
                end[stages - 1] = 1.0 / scale;
                Ok(Self { start, onward, end })
            }
            _ => Err(Error::Unsupported(format!(
                "{distribution} service does not consist of exponential phases, so no Markov chain describes FCFS; use exponential, \
                 hyperexponential or erlang service, or simulate"
            ))),
        }
    }

    fn mixture(share: &[f64], mean: &[f64]) -> Self {
        let d = share.len();
        Self { start: share.to_vec(), onward: Matrix::zero(d, d), end: mean.iter().map(|m| 1.0 / m).collect() }
    }

    /// Remaining service time from each phase: E\[left\] in seconds and E[left^2] in seconds squared.
    pub(crate) fn left(&self) -> (Vec<f64>, Vec<f64>) {
        let phases = Eliminated::new(self.onward.clone(), self.end.clone());
        let first = phases.until_out(&vec![1.0; self.end.len()]);
        let second = phases.until_out(&first.iter().map(|m| 2.0 * m).collect::<Vec<_>>());
        (first, second)
    }
}

/// Response time under FCFS on one server.
///
/// `found` lists what arrivals find: the weight, the number of requests in the system and the phase of the request in
/// service. The remaining service, the services of the waiting requests and the request's own service are independent.
pub(crate) fn fcfs_response(
    service: &Distribution,
    phases: &Phases,
    found: impl Iterator<Item = (f64, usize, usize)>,
) -> Response {
    let (mean, variance) = (service.mean(), service.scv() * service.mean() * service.mean());
    let left = phases.left();
    let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
    for (share, there, phase) in found {
        // An empty server has no service to finish.
        let (ahead, squared) = if there == 0 { (0.0, 0.0) } else { (left.0[phase], left.1[phase]) };
        let whole = there.max(1) as f64;
        let response = ahead + whole * mean;
        weight += share;
        first += share * response;
        second += share * (squared - ahead * ahead + whole * variance + response * response);
    }
    let mean = first / weight;
    Response { mean, sdev: libm::sqrt(second / weight - mean * mean) }
}
