//! Names of scheduling policies, for the discipline of a modelled server in workload files and on the command line.

use std::fmt;
use std::str::FromStr;

use crate::engine::Engine;
use offered_base::time::Nanos;
use offered_base::{InvalidValue, nearest};

/// A scheduling policy. The names are `fcfs`, `lcfs`, `lcfs-preemptive`, `ps`, `ps:16` (at most 16 share), `srpt`,
/// `sjf`, `psjf`, `ljf`, `pljf`, the same by expected size `sejf`, `pesjf`, `lejf`, `peljf` (the class's mean; `sejf:0.5` for
/// the exact size with noise of squared coefficient of variation 0.5), `priority`, `priority-preemptive`, `priority-ps`,
/// `ps:16:priority` (waiting requests are admitted by class), `fb`, `rr:10ms`, `infinite`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// First come, first served.
    Fcfs,
    /// Last come, first served.
    Lcfs {
        /// Whether an arrival interrupts the job in service.
        preemptive: bool,
    },
    /// Processor sharing among at most this number of requests; `None`: no maximum.
    Ps(Option<u32>),
    /// Shortest remaining processing time.
    Srpt,
    /// An order by size.
    Size(Order),
    /// Priorities: the first class first.
    Priority {
        /// Whether an arrival interrupts the job in service.
        preemptive: bool,
    },
    /// Processor sharing by class: each class shares the capacity that higher classes leave.
    PriorityPs,
    /// Processor sharing among at most this number of requests; waiting requests are admitted by class.
    PsByClass(u32),
    /// Foreground-background: least attained service.
    Fb,
    /// Round robin with this quantum.
    RoundRobin(Nanos),
    /// A server for every request.
    Infinite,
    /// Batches of sequences, as in an engine for language models; set by the key `engine`, not by a name.
    Batch(Engine),
}

/// An order by size: the eight policies between SJF and PELJF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Whether an arrival interrupts the job in service.
    pub preemptive: bool,
    /// Whether the longest job is first; otherwise the shortest.
    pub longest: bool,
    /// The server's information about the size of a job.
    pub known: Knowledge,
}

/// A server's information about the size of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knowledge {
    /// The exact size.
    Exactly,
    /// The mean size of the class of the job.
    ByClass,
    /// The exact size, multiplied by random noise with this squared coefficient of variation.
    WithNoise(f64),
}

/// The names without a setting.
const PLAIN: [(&str, Policy); 18] = [
    ("fcfs", Policy::Fcfs),
    ("lcfs", Policy::Lcfs { preemptive: false }),
    ("lcfs-preemptive", Policy::Lcfs { preemptive: true }),
    ("ps", Policy::Ps(None)),
    ("srpt", Policy::Srpt),
    ("sjf", Policy::Size(Order { preemptive: false, longest: false, known: Knowledge::Exactly })),
    ("psjf", Policy::Size(Order { preemptive: true, longest: false, known: Knowledge::Exactly })),
    ("ljf", Policy::Size(Order { preemptive: false, longest: true, known: Knowledge::Exactly })),
    ("pljf", Policy::Size(Order { preemptive: true, longest: true, known: Knowledge::Exactly })),
    ("sejf", Policy::Size(Order { preemptive: false, longest: false, known: Knowledge::ByClass })),
    ("pesjf", Policy::Size(Order { preemptive: true, longest: false, known: Knowledge::ByClass })),
    ("lejf", Policy::Size(Order { preemptive: false, longest: true, known: Knowledge::ByClass })),
    ("peljf", Policy::Size(Order { preemptive: true, longest: true, known: Knowledge::ByClass })),
    ("priority", Policy::Priority { preemptive: false }),
    ("priority-preemptive", Policy::Priority { preemptive: true }),
    ("priority-ps", Policy::PriorityPs),
    ("fb", Policy::Fb),
    ("infinite", Policy::Infinite),
];

impl Policy {
    /// Every policy that needs no setting, in the order in which lists show them.
    pub fn all() -> impl Iterator<Item = Self> {
        PLAIN.iter().map(|(_, policy)| *policy)
    }

    /// The engine if the policy serves requests in batches; otherwise `None`.
    pub fn engine(self) -> Option<Engine> {
        if let Self::Batch(engine) = self { Some(engine) } else { None }
    }

    /// Whether the policy depends on the class of a request.
    pub fn by_class(self) -> bool {
        let by_priority = matches!(self, Self::Priority { .. } | Self::PriorityPs | Self::PsByClass(_));
        by_priority || matches!(self, Self::Size(Order { known: Knowledge::ByClass, .. }))
    }
}

impl FromStr for Policy {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            let names: Vec<&str> = PLAIN.iter().map(|(name, _)| *name).collect();
            InvalidValue::new(format!(
                "unknown discipline `{text}`{}; write one of {}, ps:16, ps:16:priority, sejf:0.5, rr:10ms",
                nearest(text, &names),
                names.join(", ")
            ))
        };
        let (name, setting) = text.split_once(':').map_or((text, None), |(name, setting)| (name, Some(setting)));
        let plain = PLAIN.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
        match (plain, setting) {
            (Some(policy), None) => Ok(policy),
            (Some(Self::Ps(_)), Some(setting)) => {
                let (limit, room) =
                    setting.split_once(':').map_or((setting, None), |(limit, room)| (limit, Some(room)));
                match (limit.parse().map_err(|_| wrong())?, room) {
                    (0, _) => Err(InvalidValue::new("the limit of ps must be at least 1, not 0")),
                    (limit, None) => Ok(Self::Ps(Some(limit))),
                    (limit, Some("priority")) => Ok(Self::PsByClass(limit)),
                    (_, Some(_)) => Err(wrong()),
                }
            }
            (Some(Self::Size(order)), Some(scv)) if order.known == Knowledge::ByClass => {
                let scv: f64 = scv.parse().map_err(|_| wrong())?;
                if !(scv > 0.0 && scv.is_finite()) {
                    return Err(InvalidValue::new(format!(
                        "the noise of {name} must be a number above zero, not {scv}"
                    )));
                }
                Ok(Self::Size(Order { known: Knowledge::WithNoise(scv), ..order }))
            }
            (None, Some(quantum)) if name == "rr" => match quantum.parse()? {
                Nanos::ZERO => Err(InvalidValue::new("the quantum of rr must be above zero")),
                quantum => Ok(Self::RoundRobin(quantum)),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plain, setting) = match *self {
            Self::RoundRobin(quantum) => return write!(f, "rr:{quantum}"),
            Self::Batch(engine) => return write!(f, "batch ({engine})"),
            Self::Ps(Some(limit)) => (Self::Ps(None), format!(":{limit}")),
            Self::PsByClass(limit) => (Self::Ps(None), format!(":{limit}:priority")),
            Self::Size(Order { known: Knowledge::WithNoise(scv), preemptive, longest }) => {
                (Self::Size(Order { known: Knowledge::ByClass, preemptive, longest }), format!(":{scv}"))
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
        for name in
            PLAIN.iter().map(|(name, _)| *name).chain(["ps:16", "ps:4:priority", "rr:10ms", "pesjf:0.5", "lejf:2"])
        {
            assert_eq!(name.parse::<Policy>().unwrap().to_string(), name);
        }
        assert!(Policy::all().eq(PLAIN.iter().map(|(_, policy)| *policy)));
    }

    #[test]
    fn invalid_input_is_an_error_of_one_line() {
        for text in ["", "sptr", "fcfs:3", "ps:x", "ps:4:sjf", "ps::priority", "rr", "rr:10", "sjf:0.5", "priority:1"] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains('`') && !error.contains('\n'), "{text}: {error}");
        }
        for (text, why) in [
            ("sptr", "did you mean `srpt`?"),
            ("ps:0", "at least 1"),
            ("ps:0:priority", "at least 1"),
            ("rr:0s", "above zero"),
            ("sejf:-1", "above zero"),
            ("sejf:nan", "above zero"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
