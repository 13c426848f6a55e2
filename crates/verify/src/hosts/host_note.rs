//! Notes about an observed machine, with their numbers. The texts name no flags, because a library does not know which
//! program uses it.

use serde::{Deserialize, Serialize};

/// A note about an observed machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostNote {
    /// No sample is within the run.
    NotObserved,
    /// No window of the analysed time was observed completely.
    BarelyObserved,
    /// The service demand of a response could not be determined.
    NoUtilisationLaw {
        /// The reason.
        reason: String,
    },
    /// The service demands by label could not be determined.
    NoDemands {
        /// The reason.
        reason: String,
    },
    /// The service demands by label include the usage of the server without load.
    IdleUsageInDemands {
        /// The share of its processors that the server used.
        utilisation: f64,
    },
    /// The processor time is that of the whole machine.
    WholeMachineCounter,
    /// Most of the load of the machine did not come from the server.
    OtherLoad {
        /// The busy processors.
        busy_processors: f64,
        /// The busy processors of the server.
        server_processors: f64,
    },
    /// The generator ran on the machine too.
    RunsGenerator,
    /// The clock offset was not measured.
    ClockAssumed,
    /// Some scrapes failed.
    ScrapeFailed {
        /// Number of failed scrapes.
        failures: u64,
        /// The error of the first one.
        first_error: String,
    },
    /// A scrape had more series than are kept.
    TooManySeries {
        /// Number of dropped series.
        excluded_series: u64,
    },
    /// Series that are not reported, because they were idle or because others of the same name were busier.
    SeriesNotShown {
        /// Number of series.
        series: u64,
    },
    /// A counter was reset.
    CounterReset {
        /// The name of the counter.
        counter: String,
    },
}

impl HostNote {
    /// The note in a sentence.
    pub fn text(&self) -> String {
        match self {
            Self::NotObserved => {
                "no sample is within the run: the machine was not observed then, or the clocks are wrong".to_owned()
            }
            Self::BarelyObserved => {
                "the machine was not observed in the analysed time, or it has too few samples for this short run".to_owned()
            }
            Self::NoUtilisationLaw { reason } => format!("the service demand is unknown: {reason}"),
            Self::NoDemands { reason } => format!("the service demands by label are unknown: {reason}"),
            Self::IdleUsageInDemands { utilisation } => format!(
                "at a utilisation of {utilisation:.2}, the processor time that is used without load cannot be separated: the service demands by label include it"
            ),
            Self::WholeMachineCounter => {
                "the processor time is from /proc/stat, which counts all processes of the machine; if the \
                                          machine is shared, observe the control group or the processes of the server"
                    .to_owned()
            }
            Self::OtherLoad { busy_processors, server_processors } => format!(
                "the server used {server_processors:.2} of {busy_processors:.2} busy processors; other programs on this machine used the rest"
            ),
            Self::RunsGenerator => {
                "the generator ran on this machine, so the processor time of the machine includes that of the generator".to_owned()
            }
            Self::ClockAssumed => {
                "the clock offset was not measured: the times of samples are from the wall clock of the machine, whose error is unknown"
                    .to_owned()
            }
            Self::ScrapeFailed { failures, first_error } => {
                let scrapes = if *failures == 1 { "1 scrape".to_owned() } else { format!("{failures} scrapes") };
                format!("{scrapes} failed; the first error: {first_error}")
            }
            Self::TooManySeries { excluded_series } => {
                format!("{excluded_series} more series were dropped; name the series that you need (series = [...])")
            }
            Self::SeriesNotShown { series } => {
                format!("{series} more series are not reported: they were idle, or others of the same name were busier")
            }
            Self::CounterReset { counter } => {
                format!("{counter} was reset to zero during the run; the increase just before the reset is lost")
            }
        }
    }
}
