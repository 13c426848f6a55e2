//! From a scheduling policy to the discipline it stands for.

pub use offered_model::policy::{Knowledge, Order, Policy};
use offered_model::{Nanos, Seed, Wrong};

use crate::discipline::{
    Discipline, Estimate, Fb, Fcfs, Infinite, Lcfs, LimitedPriorityPs, LimitedPs, Ljf, Pljf, PreemptiveLcfs,
    PreemptivePriority, Priority, PriorityPs, Ps, Psjf, RoundRobin, Sjf, Srpt,
};

/// What is done with a discipline whose type is not known before the workload is read.
pub trait Use {
    /// What comes of it.
    type Out;
    /// Uses it.
    fn with<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Out;
}

/// What a discipline must know of the modelled server besides the policy.
#[derive(Clone, Debug)]
pub struct Setting {
    /// m, at least 1.
    pub servers: u32,
    /// The mean size of each class of jobs.
    pub class_means: Vec<Nanos>,
    /// Where noise comes from.
    pub seed: Seed,
}

/// From a policy to its discipline.
pub trait Make {
    /// Makes the discipline and hands it to `what` with its own type, so that what is done with it can be compiled for it.
    ///
    /// # Errors
    /// A policy by class where there is one class, FB with several servers, a limit or quantum of zero.
    fn make<U: Use>(self, setting: &Setting, what: U) -> Result<U::Out, Wrong>;

    /// The discipline as a value of one type, for a server on the real clock.
    ///
    /// # Errors
    /// As [`Make::make`].
    fn boxed(self, setting: &Setting) -> Result<Box<dyn Discipline + Send>, Wrong>;
}

impl Make for Policy {
    fn make<U: Use>(self, setting: &Setting, what: U) -> Result<U::Out, Wrong> {
        let m = setting.servers;
        if self.by_class() && setting.class_means.len() < 2 {
            return Err(Wrong::new(format!(
                "the discipline {self} goes by classes, and there is one; write at least two [[request]] tables (each with its service), or take psjf"
            )));
        }
        Ok(match self {
            Self::Fcfs => what.with(Fcfs::new(m)),
            Self::Lcfs { preemptive: false } => what.with(Lcfs::new(m)),
            Self::Lcfs { preemptive: true } => what.with(PreemptiveLcfs::new(m)),
            Self::Ps(None) => what.with(Ps::new(m)),
            Self::Ps(Some(limit)) => what.with(LimitedPs::new(m, limit)?),
            Self::Srpt => what.with(Srpt::new(m)),
            Self::Size(order) => {
                let estimate = match order.known {
                    Knowledge::Exactly => Estimate::Exact,
                    Knowledge::ByClass => Estimate::ClassMean(setting.class_means.clone()),
                    Knowledge::WithNoise(scv) => Estimate::noisy(scv, setting.seed)?,
                };
                match (order.preemptive, order.longest) {
                    (false, false) => what.with(Sjf::new(m, estimate)),
                    (true, false) => what.with(Psjf::new(m, estimate)),
                    (false, true) => what.with(Ljf::new(m, estimate)),
                    (true, true) => what.with(Pljf::new(m, estimate)),
                }
            }
            Self::Priority { preemptive: false } => what.with(Priority::new(m)),
            Self::Priority { preemptive: true } => what.with(PreemptivePriority::new(m)),
            Self::PriorityPs => what.with(PriorityPs::new(m)),
            Self::PsByClass(limit) => what.with(LimitedPriorityPs::new(m, limit)?),
            Self::Fb if m > 1 => {
                return Err(Wrong::new(format!("fb is defined for one server, not {m}; take ps or rr for several")));
            }
            Self::Fb => what.with(Fb::default()),
            Self::RoundRobin(quantum) => what.with(RoundRobin::new(m, quantum)?),
            Self::Infinite => what.with(Infinite::default()),
        })
    }

    fn boxed(self, setting: &Setting) -> Result<Box<dyn Discipline + Send>, Wrong> {
        struct Boxed;
        impl Use for Boxed {
            type Out = Box<dyn Discipline + Send>;
            fn with<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Out {
                Box::new(discipline)
            }
        }
        self.make(setting, Boxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_a_discipline_that_starts_empty() {
        let settings = ["ps:16", "ps:16:priority", "rr:10ms", "pesjf:0.5", "lejf:2"].map(|name| name.parse().unwrap());
        let setting = Setting { servers: 1, class_means: vec![Nanos(1), Nanos(2)], seed: Seed(1) };
        for policy in Policy::all().chain(settings) {
            assert_eq!(policy.boxed(&setting).unwrap().next(), None, "{policy} starts empty");
        }
    }

    #[test]
    fn what_does_not_fit_is_one_clear_line() {
        let alone = Setting { servers: 2, class_means: vec![Nanos(1)], seed: Seed(1) };
        for (policy, why) in [
            ("pesjf".parse().unwrap(), "[[request]]"),
            ("priority".parse().unwrap(), "[[request]]"),
            (Policy::Fb, "one server"),
            (Policy::Ps(Some(0)), "at least 1"),
            (Policy::RoundRobin(Nanos::ZERO), "above zero"),
        ] {
            let error = policy.boxed(&alone).err().unwrap().to_string();
            assert!(error.contains(why), "{policy}: {error}");
        }
    }
}
