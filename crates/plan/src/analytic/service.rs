//! What requests bring to a modelled server: one law, or one for each class of requests.

use offered_model::law::Shape;
use offered_model::workload::{Request, Server};
use offered_model::{Law, Workload};

use crate::open::mg1::Work;

/// The laws of service by class of requests, with the share of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Service {
    /// (share, law), shares summing to 1; one entry where no request has a law of its own.
    pub(super) classes: Vec<(f64, Law)>,
}

impl Service {
    /// Of this server for these requests.
    pub(super) fn of(server: &Server, workload: &Workload) -> Self {
        if workload.requests().iter().all(|r| r.service().is_none()) {
            return Self { classes: vec![(1.0, server.service().clone())] };
        }
        let class = |(r, share): (&Request, f64)| (share, r.service().unwrap_or(server.service()).clone());
        let shares = workload.requests().iter().zip(workload.shares()).filter(|(_, share)| *share > 0.0);
        Self { classes: shares.map(class).collect() }
    }

    /// E\[S\] over all classes.
    pub(super) fn mean(&self) -> f64 {
        self.classes.iter().map(|(share, law)| share * law.mean()).sum()
    }

    /// E[S^2] over all classes.
    pub(super) fn second_moment(&self) -> f64 {
        self.classes.iter().map(|(share, law)| share * law.second_moment()).sum()
    }

    /// The moments of all classes together.
    pub(super) fn work(&self) -> Work {
        let third = self.classes.iter().map(|(share, law)| share * law.third_moment()).sum();
        Work { mean: self.mean(), second: self.second_moment(), third }
    }

    /// The one law, where there is one.
    pub(super) fn law(&self) -> Option<&Law> {
        match &self.classes[..] {
            [(_, law)] => Some(law),
            _ => None,
        }
    }

    /// The law of work for a policy that does not look at classes, where the mixture of the classes is a law we know: all alike,
    /// or exponential with two different means (a hyperexponential law).
    pub(super) fn blind_law(&self) -> Option<Law> {
        let (_, first) = &self.classes[0];
        if self.classes.iter().all(|(_, law)| law == first) {
            return Some(first.clone());
        }
        let mut phases: Vec<(f64, f64)> = Vec::new();
        for (share, law) in &self.classes {
            let Shape::Exponential(mean) = law.shape() else { return None };
            match phases.iter_mut().find(|(_, of)| of == mean) {
                Some((all, _)) => *all += share,
                None => phases.push((*share, *mean)),
            }
        }
        let [one, other] = phases[..] else { return None };
        let (shorter, mean) = (if one.1 < other.1 { one.0 } else { other.0 }, self.mean());
        Law::hyperexponential_with(mean, self.second_moment() / (mean * mean) - 1.0, shorter).ok()
    }

    /// Whether every class has the same exponential law.
    pub(super) fn is_exponential(&self) -> bool {
        self.blind_law().is_some_and(|law| matches!(law.shape(), Shape::Exponential(_)))
    }

    /// (share of the first, mean of the first, mean of the second) where there are two exponential classes.
    pub(super) fn two_exponential_classes(&self) -> Option<(f64, f64, f64)> {
        match &self.classes[..] {
            [(share, first), (_, second)] => match (first.shape(), second.shape()) {
                (Shape::Exponential(first), Shape::Exponential(second)) => Some((*share, *first, *second)),
                _ => None,
            },
            _ => None,
        }
    }
}
