//! A scheduling policy by name: what the workload file and the command line say, and the discipline it stands for.

use std::fmt;
use std::str::FromStr;

use offered_model::{Nanos, Seed, Wrong};

use crate::discipline::{
    Discipline, Estimate, Fb, Fcfs, Infinite, Lcfs, LimitedPs, Ljf, Pljf, PreemptiveLcfs, PreemptivePriority, Priority,
    Ps, Psjf, RoundRobin, Sjf, Srpt,
};

/// A scheduling policy, as it is written: `fcfs`, `lcfs`, `lcfs-preemptive`, `ps`, `ps:16` (at most 16 share), `srpt`,
/// `sjf`, `psjf`, `ljf`, `pljf`, the same by expected size `sejf`, `pesjf`, `lejf`, `peljf` (the class's mean; `sejf:0.5` for
/// the exact size with noise of squared coefficient of variation 0.5), `priority`, `priority-preemptive`, `fb`, `rr:10ms`,
/// `infinite`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// First come, first served.
    Fcfs,
    /// Last come, first served.
    Lcfs {
        /// Whether a newcomer interrupts.
        preemptive: bool,
    },
    /// Processor sharing, among at most so many.
    Ps(Option<u32>),
    /// Shortest remaining processing time.
    Srpt,
    /// By size.
    Size(Order),
    /// By class, the first class first.
    Priority {
        /// Whether a newcomer interrupts.
        preemptive: bool,
    },
    /// Foreground-background: least attained service.
    Fb,
    /// Round robin with this quantum.
    RoundRobin(Nanos),
    /// A server for everybody.
    Infinite,
}

/// An order by size: the eight policies between SJF and PELJF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Whether a newcomer interrupts.
    pub preemptive: bool,
    /// Longest first; else shortest first.
    pub longest: bool,
    /// What the server knows of a size.
    pub known: Known,
}

/// What a server knows of a job's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// The size.
    Exactly,
    /// The mean of its class.
    ByClass,
    /// The size times noise of this squared coefficient of variation.
    WithNoise(f64),
}

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

impl Policy {
    /// Makes the discipline and hands it to `what` with its own type, so that what is done with it can be compiled for it.
    ///
    /// # Errors
    /// A policy by class where there is one class, FB with several servers, a limit or quantum of zero.
    pub fn make<U: Use>(self, setting: &Setting, what: U) -> Result<U::Out, Wrong> {
        let m = setting.servers;
        if self.needs_classes() && setting.class_means.len() < 2 {
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
                    Known::Exactly => Estimate::Exact,
                    Known::ByClass => Estimate::ClassMean(setting.class_means.clone()),
                    Known::WithNoise(scv) => Estimate::noisy(scv, setting.seed)?,
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
            Self::Fb if m > 1 => {
                return Err(Wrong::new(format!("fb is defined for one server, not {m}; take ps or rr for several")));
            }
            Self::Fb => what.with(Fb::default()),
            Self::RoundRobin(quantum) => what.with(RoundRobin::new(m, quantum)?),
            Self::Infinite => what.with(Infinite::default()),
        })
    }

    /// The discipline as a value of one type, for a server on the real clock.
    ///
    /// # Errors
    /// As [`Policy::make`].
    pub fn boxed(self, setting: &Setting) -> Result<Box<dyn Discipline + Send>, Wrong> {
        struct Boxed;
        impl Use for Boxed {
            type Out = Box<dyn Discipline + Send>;
            fn with<D: Discipline + Send + 'static>(self, discipline: D) -> Self::Out {
                Box::new(discipline)
            }
        }
        self.make(setting, Boxed)
    }

    fn needs_classes(self) -> bool {
        matches!(self, Self::Priority { .. } | Self::Size(Order { known: Known::ByClass, .. }))
    }
}

/// The names without a setting.
const PLAIN: [(&str, Policy); 17] = [
    ("fcfs", Policy::Fcfs),
    ("lcfs", Policy::Lcfs { preemptive: false }),
    ("lcfs-preemptive", Policy::Lcfs { preemptive: true }),
    ("ps", Policy::Ps(None)),
    ("srpt", Policy::Srpt),
    ("sjf", Policy::Size(Order { preemptive: false, longest: false, known: Known::Exactly })),
    ("psjf", Policy::Size(Order { preemptive: true, longest: false, known: Known::Exactly })),
    ("ljf", Policy::Size(Order { preemptive: false, longest: true, known: Known::Exactly })),
    ("pljf", Policy::Size(Order { preemptive: true, longest: true, known: Known::Exactly })),
    ("sejf", Policy::Size(Order { preemptive: false, longest: false, known: Known::ByClass })),
    ("pesjf", Policy::Size(Order { preemptive: true, longest: false, known: Known::ByClass })),
    ("lejf", Policy::Size(Order { preemptive: false, longest: true, known: Known::ByClass })),
    ("peljf", Policy::Size(Order { preemptive: true, longest: true, known: Known::ByClass })),
    ("priority", Policy::Priority { preemptive: false }),
    ("priority-preemptive", Policy::Priority { preemptive: true }),
    ("fb", Policy::Fb),
    ("infinite", Policy::Infinite),
];

impl FromStr for Policy {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        let wrong = || {
            let names: Vec<&str> = PLAIN.iter().map(|(name, _)| *name).collect();
            Wrong::new(format!(
                "`{text}` is no discipline; there are {}, ps:16, sejf:0.5 and rr:10ms",
                names.join(", ")
            ))
        };
        let (name, setting) = text.split_once(':').map_or((text, None), |(name, setting)| (name, Some(setting)));
        let plain = PLAIN.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
        match (plain, setting) {
            (Some(policy), None) => Ok(policy),
            (Some(Self::Ps(_)), Some(limit)) => Ok(Self::Ps(Some(limit.parse().map_err(|_| wrong())?))),
            (Some(Self::Size(order)), Some(scv)) if order.known == Known::ByClass => {
                Ok(Self::Size(Order { known: Known::WithNoise(scv.parse().map_err(|_| wrong())?), ..order }))
            }
            (None, Some(quantum)) if name == "rr" => Ok(Self::RoundRobin(quantum.parse()?)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plain, setting) = match *self {
            Self::RoundRobin(quantum) => return write!(f, "rr:{quantum}"),
            Self::Ps(Some(limit)) => (Self::Ps(None), format!(":{limit}")),
            Self::Size(Order { known: Known::WithNoise(scv), preemptive, longest }) => {
                (Self::Size(Order { known: Known::ByClass, preemptive, longest }), format!(":{scv}"))
            }
            policy => (policy, String::new()),
        };
        let name = PLAIN.iter().find(|(_, policy)| *policy == plain).map_or("", |(name, _)| name);
        write!(f, "{name}{setting}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_prints_as_it_parses() {
        let settings = ["ps:16", "rr:10ms", "pesjf:0.5", "lejf:2"];
        for name in PLAIN.iter().map(|(name, _)| *name).chain(settings) {
            let policy: Policy = name.parse().unwrap();
            assert_eq!(policy.to_string(), name);
            let setting = Setting { servers: 1, class_means: vec![Nanos(1), Nanos(2)], seed: Seed(1) };
            assert_eq!(policy.boxed(&setting).unwrap().next(), None, "{name} starts empty");
        }
    }

    #[test]
    fn what_cannot_be_is_one_clear_line() {
        for text in ["", "sptr", "fcfs:3", "ps:x", "rr", "rr:10", "sjf:0.5", "priority:1"] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains('`') && !error.contains('\n'), "{text}: {error}");
        }
        let alone = Setting { servers: 2, class_means: vec![Nanos(1)], seed: Seed(1) };
        for (name, why) in [
            ("pesjf", "[[request]]"),
            ("priority", "[[request]]"),
            ("fb", "one server"),
            ("ps:0", "at least 1"),
            ("rr:0s", "above zero"),
            ("sejf:-1", "above zero"),
        ] {
            let error = name.parse::<Policy>().unwrap().boxed(&alone).err().unwrap().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
