//! What a reader must know of a machine that was observed, with its numbers; the words are a library's, and know no flags.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reader must know of a machine that was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostNote {
    /// None of its samples falls into the run.
    NotObserved,
    /// No window of the time that was judged was observed from end to end.
    HardlyObserved,
    /// The work of an answer cannot be told.
    NoLaw {
        /// Why.
        why: String,
    },
    /// The work of the answers of each label cannot be told.
    NoDemands {
        /// Why.
        why: String,
    },
    /// The work was counted by the counter of the whole machine.
    WholeMachine,
    /// Most of what the machine did was not the server's.
    Others {
        /// Processors at work.
        busy: f64,
        /// And on the server's own account.
        own: f64,
    },
    /// The generator ran there too.
    HasGenerator,
    /// Nobody asked its clock.
    ClockBelieved,
    /// It was asked for its numbers in vain.
    AskedInVain {
        /// How often.
        failures: u64,
        /// Why, the first time.
        why: String,
    },
    /// An answer had more series than are kept.
    TooMany {
        /// How many more.
        left_out: u64,
    },
    /// Series that are kept and not shown: they did nothing, or there were busier ones of their name.
    NotShown {
        /// How many.
        series: u64,
    },
    /// A counter fell: who counts has begun anew.
    BeganAnew {
        /// Which.
        name: String,
    },
}

impl HostNote {
    /// In a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::NotObserved => "none of its samples falls into the run: it was not observed then, or the clocks are wrong".to_owned(),
            Self::HardlyObserved => "it was not observed in the time that was judged, or too seldom for so short a run".to_owned(),
            Self::NoLaw { why } => format!("the work of an answer is not told: {why}"),
            Self::NoDemands { why } => format!("the work of each label is not told: {why}"),
            Self::WholeMachine => "work is counted by /proc/stat, which counts whatever runs on the machine; on one that is shared observe \
                                   the control group or the processes of the server"
                .to_owned(),
            Self::Others { busy, own } => format!(
                "of {busy:.2} processors at work {own:.2} were the server's own; the rest worked for something else on this machine"
            ),
            Self::HasGenerator => "the generator ran on this machine: what it used is in the figures of all processors".to_owned(),
            Self::ClockBelieved => {
                "nobody asked its clock: samples lie where its wall clock says, and nobody knows how well".to_owned()
            }
            Self::AskedInVain { failures, why } => {
                let times = if *failures == 1 { "once".to_owned() } else { format!("{failures} times") };
                format!("it was asked in vain {times}, the first time: {why}")
            }
            Self::TooMany { left_out } => {
                format!("{left_out} more series of it were not kept; name those that matter (series = [...])")
            }
            Self::NotShown { series } => {
                format!("{series} more series are kept and not shown: they did nothing, or there were busier ones of their name")
            }
            Self::BeganAnew { name } => {
                format!("{name} began anew from zero in the time of the run; what it counted just before that is lost")
            }
        }
    }
}
