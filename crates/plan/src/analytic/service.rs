//! Service time distributions of the requests at a modelled server: one for all, or one per class of requests.

use offered_distributions::Distribution;
use offered_distributions::Shape;
use offered_workload::Workload;
use offered_workload::{Request, Server};

use crate::Percentiles;
use crate::open::mg1::ServiceMoments;
use crate::transform::Laplace;

/// The service distributions by class of requests, with the share of each class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Service {
    /// (share, distribution). Shares sum to 1. There is one entry where no request has its own distribution.
    pub(super) classes: Vec<(f64, Distribution)>,
    /// Names of the requests, in the order of `classes`; empty where no request has its own distribution.
    pub(super) names: Vec<String>,
}

impl Service {
    /// The service of `server` for the requests of `workload`.
    pub(super) fn of(server: &Server, workload: &Workload) -> Self {
        if workload.requests().iter().all(|r| r.service().is_none()) {
            return Self { classes: vec![(1.0, server.service().clone())], names: Vec::new() };
        }
        let class = |(r, share): (&Request, f64)| (share, r.service().unwrap_or(server.service()).clone());
        let shares = || workload.requests().iter().zip(workload.shares()).filter(|(_, share)| *share > 0.0);
        Self {
            classes: shares().map(class).collect(),
            names: shares().map(|(request, _)| request.name().to_owned()).collect(),
        }
    }

    /// E\[S\] over all classes, seconds.
    pub(super) fn mean(&self) -> f64 {
        self.classes.iter().map(|(share, distribution)| share * distribution.mean()).sum()
    }

    /// E[S^2] over all classes, seconds squared.
    pub(super) fn second_moment(&self) -> f64 {
        self.classes.iter().map(|(share, distribution)| share * distribution.second_moment()).sum()
    }

    /// Moments of all classes together.
    pub(super) fn work(&self) -> ServiceMoments {
        let third = self.classes.iter().map(|(share, distribution)| share * distribution.third_moment()).sum();
        ServiceMoments { mean: self.mean(), second: self.second_moment(), third }
    }

    /// The transform of all classes together; `None` where no quadrature resolves one of them.
    pub(super) fn transform(&self) -> Option<Laplace> {
        Laplace::of(self.classes.iter().map(|(share, distribution)| (*share, distribution)))
    }

    /// P(S > t) over all classes.
    pub(super) fn tail(&self, t: f64) -> f64 {
        self.classes.iter().map(|(share, distribution)| share * distribution.tail(t)).sum()
    }

    /// Percentiles of the service time.
    pub(super) fn percentiles(&self) -> Percentiles {
        Percentiles::of(self.mean(), |t| self.tail(t))
    }

    /// Each class alone, with its name and its share. There are none where all requests have the same distribution.
    pub(super) fn parts(&self) -> Vec<(&str, f64, Self)> {
        let differ = self.classes.iter().any(|(_, distribution)| *distribution != self.classes[0].1);
        let alone =
            |distribution: &Distribution| Self { classes: vec![(1.0, distribution.clone())], names: Vec::new() };
        let all = self.classes.iter().zip(&self.names).filter(|_| differ);
        all.map(|((share, distribution), name)| (name.as_str(), *share, alone(distribution))).collect()
    }

    /// The distribution for a policy that does not look at classes. `None` unless the mixture of the classes is a known
    /// distribution: all classes alike, or exponential with two different means (hyperexponential).
    pub(super) fn size_blind_distribution(&self) -> Option<Distribution> {
        let (_, first) = &self.classes[0];
        if self.classes.iter().all(|(_, distribution)| distribution == first) {
            return Some(first.clone());
        }
        let mut phases: Vec<(f64, f64)> = Vec::new();
        for (share, distribution) in &self.classes {
            let Shape::Exponential(mean) = distribution.shape() else { return None };
            match phases.iter_mut().find(|(_, of)| of == mean) {
                Some((all, _)) => *all += share,
                None => phases.push((*share, *mean)),
            }
        }
        let [one, other] = phases[..] else { return None };
        let (shorter, mean) = (if one.1 < other.1 { one.0 } else { other.0 }, self.mean());
        Distribution::hyperexponential_with(mean, self.second_moment() / (mean * mean) - 1.0, shorter).ok()
    }

    /// Whether every class has the same exponential distribution.
    pub(super) fn is_exponential(&self) -> bool {
        self.size_blind_distribution().is_some_and(|distribution| matches!(distribution.shape(), Shape::Exponential(_)))
    }

    /// (share of the first, mean of the first, mean of the second) of two exponential classes; `None` otherwise.
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
