//! M^\[X\]/G/1 under FCFS: batches of requests arrive as a Poisson process; one server.
//!
//! Source: Burke 1975; Takagi 1991, section 1.4. A batch waits like a request of M/G/1 whose service is that of a whole
//! batch. Then each request waits for the earlier requests of its batch.

use num_complex::Complex64;
use offered_schedule::arrivals::Batch;

use crate::open::mg1::ServiceMoments;
use crate::transform::{Laplace, Tail};

/// Mean and second moment of the size of a batch.
fn sizes(batch: Batch) -> (f64, f64) {
    match batch {
        Batch::Single => (1.0, 1.0),
        Batch::Fixed(size) => (f64::from(size), f64::from(size) * f64::from(size)),
        Batch::Geometric(mean) => (mean, mean * (2.0 * mean - 1.0)),
    }
}

/// E[z^X], the generating function of the size of a batch.
fn generating(batch: Batch, z: Complex64) -> Complex64 {
    match batch {
        Batch::Single => z,
        Batch::Fixed(size) => z.powu(size),
        Batch::Geometric(mean) => z / (mean - (mean - 1.0) * z),
    }
}

/// R, mean response time in seconds, at `rate` requests (not batches) per second and a load below 1.
pub(crate) fn response(batch: Batch, service: ServiceMoments, rate: f64) -> f64 {
    let (size, second) = sizes(batch);
    let work = size * service.variance() + second * service.mean * service.mean;
    rate / size * work / (2.0 * (1.0 - rate * service.mean)) + service.mean * (second / size + 1.0) / 2.0
}

/// The response time.
pub(crate) fn tail(batch: Batch, service: &Laplace, mean: f64, rate: f64) -> Tail<'_> {
    let (size, load) = (sizes(batch).0, rate * mean);
    Tail::of(move |s: Complex64| {
        let own = service.at(s);
        let whole = generating(batch, own);
        let residual = (1.0 - whole) / (s * size * mean);
        let position = own * (1.0 - whole) / (size * (1.0 - own));
        (1.0 - load) / (1.0 - load * residual) * position
    })
}
