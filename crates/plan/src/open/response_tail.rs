//! Tails of the response time of M/G/1 queues, from their transforms.
//!
//! W is the wait until the service starts, S the service, rho the load, Se the remaining service that an arrival finds.
//! Source: Takacs 1962; Kleinrock 1975, sections 5.7, 5.8 and 5.10; Kleinrock 1976, section 3.3; Takagi 1991.

use num_complex::Complex64;

use super::priority::{Class, Rank};
use crate::transform::{Laplace, Tail, busy_period};

/// P(S > t) of a mixture of (share, distribution).
pub(crate) type ServiceTail<'a> = Box<dyn Fn(f64) -> f64 + 'a>;

/// A class of requests at a queue that does not look at classes.
pub(crate) struct Part<'a> {
    /// Transform of its service.
    pub(crate) service: &'a Laplace,
    /// Tail of its service.
    pub(crate) tail: ServiceTail<'a>,
}

/// FCFS: W* = (1 - rho) / (1 - rho Se*) and R* = W* S*. With probability 1 - rho nothing waits. `service` with mean
/// `mean` is that of all classes together.
pub(crate) fn fcfs<'a>(service: &'a Laplace, part: Part<'a>, mean: f64, rate: f64) -> Tail<'a> {
    let load = rate * mean;
    let transform = move |s: Complex64| {
        let residual = (1.0 - service.at(s)) / (s * mean);
        part.service.at(s) * (1.0 - load) * residual / (1.0 - load * residual)
    };
    Tail { known: Box::new(move |t| (1.0 - load) * (part.tail)(t)), rest: load, transform: Box::new(transform) }
}

/// LCFS without preemption: an arrival that waits does so for a busy period that starts with Se. `None` where the busy
/// period takes too long to compute.
pub(crate) fn lcfs<'a>(service: &'a Laplace, part: Part<'a>, mean: f64, rate: f64) -> Option<Tail<'a>> {
    let load = rate * mean;
    let transform = move |s: Complex64| {
        let busy = busy_period(service, rate, s);
        part.service.at(s) * (1.0 - busy) / (mean * (s + rate * (1.0 - busy)))
    };
    service.is_quick().then(|| Tail {
        known: Box::new(move |t| (1.0 - load) * (part.tail)(t)),
        rest: load,
        transform: Box::new(transform),
    })
}

/// Preemptive LCFS: the response is a busy period that starts with the own service. `None` as for [`lcfs`].
pub(crate) fn lcfs_preemptive<'a>(service: &'a Laplace, part: &'a Laplace, rate: f64) -> Option<Tail<'a>> {
    service.is_quick().then(|| Tail::of(move |s| part.at(s + rate * (1.0 - busy_period(service, rate, s)))))
}

/// M/M/1 under processor sharing, with mean service time `mean`.
///
/// Source: Coffman, Muntz and Trotter 1970: the transform for a request of size x is a geometric series of exponentials
/// in x, which is summed over sizes.
pub(crate) fn exponential_ps(mean: f64, rate: f64) -> Tail<'static> {
    let (mu, load) = (1.0 / mean, rate * mean);
    Tail::of(move |s: Complex64| {
        let sum = mu + rate + s;
        // The root of lambda r^2 - (mu + lambda + s) r + mu inside the unit circle, without cancellation.
        let r = 2.0 * mu / (sum + (sum * sum - 4.0 * rate * mu).sqrt());
        let left = 1.0 - load * r;
        let ratio = load * (1.0 - r) * (1.0 - r) / (left * left);
        let mut weight = (1.0 - load) * (1.0 - load * r * r) / (left * left);
        let mut rate_of = mu + rate * (1.0 - r) + s;
        let step = mu / r - rate * r;
        let mut total = Complex64::new(0.0, 0.0);
        for _ in 0..100_000 {
            let term = weight * mu / rate_of;
            total += term;
            if term.norm() < 1e-17 {
                break;
            }
            weight *= ratio;
            rate_of += step;
        }
        total
    })
}

/// Transforms of the service of priority classes, the most important class first.
pub(crate) struct ClassTransforms<'a> {
    classes: &'a [Class],
    own: Vec<Laplace>,
    /// The combined load and service of all classes above each class; `None` for the first class.
    above: Vec<Option<Laplace>>,
    rank: Rank,
}

impl<'a> ClassTransforms<'a> {
    /// `None` where a busy period takes too long to compute.
    pub(crate) fn new(classes: &'a [Class], rank: Rank) -> Option<Self> {
        let own = classes.iter().map(|class| Laplace::of([(1.0, &class.service)])).collect::<Option<Vec<_>>>()?;
        let above = |i: usize| {
            let rate: f64 = classes[..i].iter().map(|class| class.rate).sum();
            Laplace::of(classes[..i].iter().map(|class| (class.rate / rate, &class.service)))
        };
        let above = (0..classes.len()).map(|i| if i == 0 { Some(None) } else { above(i).map(Some) });
        let above = above.collect::<Option<Vec<_>>>()?;
        own.iter().all(Laplace::is_quick).then_some(Self { classes, own, above, rank })
    }

    /// The response of class `i`.
    ///
    /// During the busy periods of higher classes, time passes for a waiting request at another rate.
    pub(crate) fn response(&self, i: usize) -> Tail<'_> {
        let load = |classes: &[Class]| classes.iter().map(|class| class.rate * class.service.mean()).sum::<f64>();
        let above: f64 = self.classes[..i].iter().map(|class| class.rate).sum();
        let (class, own) = (&self.classes[i], &self.own[i]);
        let passes = move |s: Complex64| match &self.above[i] {
            Some(service) => s + above * (1.0 - busy_period(service, above, s)),
            None => s,
        };
        let tail = |t: f64| class.service.tail(t);
        match self.rank {
            Rank::NonPreemptive => {
                let load = load(self.classes);
                let below = move |at: Complex64| -> Complex64 {
                    let lower = self.classes.iter().zip(&self.own).skip(i + 1);
                    lower.map(|(class, service)| class.rate * (1.0 - service.at(at))).sum()
                };
                let transform = move |s: Complex64| {
                    let at = passes(s);
                    let wait = ((1.0 - load) * at + below(at)) / (s - class.rate + class.rate * own.at(at));
                    (wait - (1.0 - load)) / load * own.at(s)
                };
                Tail { known: Box::new(move |t| (1.0 - load) * tail(t)), rest: load, transform: Box::new(transform) }
            }
            Rank::Preemptive => {
                // Lower classes do not exist for this one. Nothing interrupts the first class.
                let load = load(&self.classes[..=i]);
                let known = if i == 0 { 1.0 - load } else { 0.0 };
                let transform = move |s: Complex64| {
                    let at = passes(s);
                    let wait = (1.0 - load) * at / (s - class.rate + class.rate * own.at(at));
                    (wait - known) / (1.0 - known) * own.at(at)
                };
                Tail { known: Box::new(move |t| known * tail(t)), rest: 1.0 - known, transform: Box::new(transform) }
            }
        }
    }
}
