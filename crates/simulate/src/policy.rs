//! Builds the discipline of a scheduling policy.

use offered_base::{InvalidValue, Nanos, Seed};
use offered_workload::Rates;
pub use offered_workload::policy::{Knowledge, Order, Policy};

use crate::discipline::{
    Batch, Discipline, Fb, Fcfs, Infinite, Lcfs, LimitedPriorityPs, LimitedPs, Ljf, LoadDependent, Pljf,
    PreemptiveLcfs, PreemptivePriority, Priority, PriorityPs, Ps, Psjf, RoundRobin, SizeEstimate, Sjf, Srpt,
};

/// Receives a discipline with its concrete type, which is known only after the workload is read.
pub trait DisciplineVisitor {
    /// Result of the visit.
    type Output;
    /// Uses the discipline.
    fn visit<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Output;
}

/// Parameters of the modelled server besides the policy.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// m, number of servers; at least 1.
    pub servers: u32,
    /// Mean size of each job class.
    pub class_means: Vec<Nanos>,
    /// Seed of the noise of size estimates.
    pub seed: Seed,
    /// Load-dependent total rates; `None`: each server has speed 1.
    pub rates: Option<Rates>,
}

/// Builds a discipline from a policy.
pub trait BuildDiscipline {
    /// Builds the discipline and passes it to `visitor` with its concrete type, so that the visitor is compiled for
    /// that type.
    ///
    /// # Errors
    /// The policy needs classes and there is only one; FB has several servers; a limit or quantum is zero.
    fn build<U: DisciplineVisitor>(self, config: &ServerConfig, visitor: U) -> Result<U::Output, InvalidValue>;

    /// Builds the discipline as a boxed value, for a server on the real clock.
    ///
    /// # Errors
    /// As [`BuildDiscipline::build`].
    fn boxed(self, config: &ServerConfig) -> Result<Box<dyn Discipline + Send>, InvalidValue>;
}

impl BuildDiscipline for Policy {
    fn build<U: DisciplineVisitor>(self, config: &ServerConfig, visitor: U) -> Result<U::Output, InvalidValue> {
        let m = config.servers;
        if let Some(rates) = &config.rates {
            let inner = self.boxed(&ServerConfig { rates: None, ..config.clone() })?;
            return Ok(visitor.visit(LoadDependent::new(inner, m, rates.clone())));
        }
        if self.by_class() && config.class_means.len() < 2 {
            return Err(InvalidValue::new(format!(
                "the discipline {self} needs classes, and there is only one; write at least two [[request]] tables, each with its own `service`, or use psjf"
            )));
        }
        Ok(match self {
            Self::Fcfs => visitor.visit(Fcfs::new(m)),
            Self::Lcfs { preemptive: false } => visitor.visit(Lcfs::new(m)),
            Self::Lcfs { preemptive: true } => visitor.visit(PreemptiveLcfs::new(m)),
            Self::Ps(None) => visitor.visit(Ps::new(m)),
            Self::Ps(Some(limit)) => visitor.visit(LimitedPs::new(m, limit)?),
            Self::Srpt => visitor.visit(Srpt::new(m)),
            Self::Size(order) => {
                let estimate = match order.known {
                    Knowledge::Exactly => SizeEstimate::Exact,
                    Knowledge::ByClass => SizeEstimate::ClassMean(config.class_means.clone()),
                    Knowledge::WithNoise(scv) => SizeEstimate::noisy(scv, config.seed)?,
                };
                match (order.preemptive, order.longest) {
                    (false, false) => visitor.visit(Sjf::new(m, estimate)),
                    (true, false) => visitor.visit(Psjf::new(m, estimate)),
                    (false, true) => visitor.visit(Ljf::new(m, estimate)),
                    (true, true) => visitor.visit(Pljf::new(m, estimate)),
                }
            }
            Self::Priority { preemptive: false } => visitor.visit(Priority::new(m)),
            Self::Priority { preemptive: true } => visitor.visit(PreemptivePriority::new(m)),
            Self::PriorityPs => visitor.visit(PriorityPs::new(m)),
            Self::PsByClass(limit) => visitor.visit(LimitedPriorityPs::new(m, limit)?),
            Self::Fb if m > 1 => {
                return Err(InvalidValue::new(format!(
                    "fb is defined for one server, not {m}; use ps or rr with several servers"
                )));
            }
            Self::Fb => visitor.visit(Fb::default()),
            Self::RoundRobin(quantum) => visitor.visit(RoundRobin::new(m, quantum)?),
            Self::Infinite => visitor.visit(Infinite::default()),
            Self::Batch(engine) => visitor.visit(Batch::new(engine)),
        })
    }

    fn boxed(self, config: &ServerConfig) -> Result<Box<dyn Discipline + Send>, InvalidValue> {
        struct Boxed;
        impl DisciplineVisitor for Boxed {
            type Output = Box<dyn Discipline + Send>;
            fn visit<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Output {
                Box::new(discipline)
            }
        }
        self.build(config, Boxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_builds_an_empty_discipline() {
        let settings = ["ps:16", "ps:16:priority", "rr:10ms", "pesjf:0.5", "lejf:2"].map(|name| name.parse().unwrap());
        let config = ServerConfig { servers: 1, class_means: vec![Nanos(1), Nanos(2)], seed: Seed(1), rates: None };
        for policy in Policy::all().chain(settings) {
            assert_eq!(policy.boxed(&config).unwrap().next(), None, "{policy} starts empty");
        }
    }

    #[test]
    fn misfits_are_refused_in_one_line() {
        let alone = ServerConfig { servers: 2, class_means: vec![Nanos(1)], seed: Seed(1), rates: None };
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
