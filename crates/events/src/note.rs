//! What must be known of a recording besides its events.

use std::fmt;

use serde::{Deserialize, Serialize};

use offered_base::time::span;

/// What must be known of a recording besides its events, by its kind and with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// The file ends in the middle of a row, or of the compressed stream around it.
    Cut,
    /// The run has no record: it was killed before its end.
    Killed,
    /// Launches of the schedule that no event tells of, though one tells of a later launch. Of launches that follow from answers nothing is
    /// known beforehand; they are not counted.
    NotRecorded {
        /// How many.
        launches: u64,
        /// When the first and the last of them were meant, from the run's start.
        from_s: f64,
        /// See `from_s`.
        to_s: f64,
    },
    /// The run counted other launches than its parts hold.
    OtherCount {
        /// So many it counted.
        counted: u64,
        /// So many there are.
        found: u64,
    },
    /// Parts of the run cannot be read.
    PartsMissing {
        /// How many.
        missing: u64,
        /// Of how many.
        of: u64,
    },
    /// The clock that stamped another tool's launches ticks more slowly than its stamps are written.
    Tick {
        /// Its tick.
        tick_ms: f64,
        /// The unit of the stamps.
        written_ms: f64,
    },
    /// There are more names of requests than are told apart.
    ManyNames {
        /// So many are.
        told_apart: u64,
        /// What the rest is called.
        rest: String,
    },
    /// The tool lists only some requests; the launches of the others are missing.
    Listed {
        /// The tool.
        tool: String,
        /// Which.
        only: Listed,
    },
    /// Stamps are whole seconds.
    WholeSeconds {
        /// Of which tool, or kind of file.
        of: String,
    },
    /// Rows that are no launches were left out.
    LeftOut {
        /// How many.
        rows: u64,
        /// What they are.
        being: NoLaunch,
    },
    /// It is several, each by its own clock.
    Merged {
        /// How many.
        recordings: usize,
        /// Within this time they began.
        began_within_ms: f64,
        /// The share of the time in which all were at work, in per cent.
        together_percent: f64,
    },
    /// Something that must be known of one worker of the run.
    OfWorker {
        /// Which, `3/8`.
        worker: String,
        /// What.
        note: Box<Note>,
    },
    /// A worker of the run has left nothing.
    NotHere {
        /// Which, `3/8`.
        worker: String,
    },
    /// Launches whose worker was gone: they are in its part of the schedule, and count as not sent.
    Gone {
        /// How many.
        launches: u64,
        /// Whether there would have been others, which follow from answers that never came.
        further: bool,
    },
    /// A worker that is at work.
    Running,
    /// A worker that should be at work, and gives no sign of life.
    Silent {
        /// For so long.
        for_s: f64,
    },
    /// Its workers were on several machines, each with its own clock.
    Clocks {
        /// How many.
        machines: usize,
    },
    /// What is to be doubted of the simulation that it is.
    Simulation {
        /// The doubt.
        doubt: SimulationDoubt,
    },
    /// What a record of an older version says.
    Words {
        /// In words.
        words: String,
    },
}

/// Which requests a tool lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Listed {
    /// Those that succeeded.
    Succeeded,
    /// Those that got an answer.
    Answered,
}

/// Rows that are no launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoLaunch {
    /// `JMeter`'s Transaction Controllers.
    Controllers,
    /// Its sub-results.
    SubResults,
    /// Samples that goose made up against coordinated omission.
    MadeUp,
    /// Corrections of earlier rows.
    Updates,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => f.write_str("cut: the file ends in the middle of a row"),
            Self::Killed => {
                f.write_str("cut: the run was killed before its end (no run.json); up to 2 s of events are lost")
            }
            Self::NotRecorded { launches, from_s, to_s } => write!(
                f,
                "{launches} launches that the schedule has between {from_s:.3} s and {to_s:.3} s are not recorded; whether they were sent \
                 is not known"
            ),
            Self::OtherCount { counted, found } => write!(
                f,
                "the run counted {counted} launches, and its parts hold {found}: parts were taken away or added"
            ),
            Self::PartsMissing { missing, of } => write!(f, "{missing} of {of} parts cannot be read"),
            Self::ManyNames { told_apart, rest } => {
                write!(f, "more than {told_apart} distinct labels; the rest are counted as `{rest}`")
            }
            Self::Listed { tool, only } => {
                let which = match only {
                    Listed::Succeeded => "succeeded",
                    Listed::Answered => "got an answer",
                };
                write!(f, "{tool} lists only requests that {which}: the launches of the others are missing")
            }
            Self::Tick { tick_ms, written_ms } => write!(
                f,
                "stamps are written to {written_ms} ms and stand on a grid of {tick_ms} ms, which is taken for the tick of their clock: how \
                 launches lie within one cannot be seen"
            ),
            Self::WholeSeconds { of } => {
                write!(f, "{of} stamps whole seconds: how launches lie within a second cannot be seen")
            }
            Self::LeftOut { rows, being } => match being {
                NoLaunch::Controllers => {
                    write!(f, "{rows} rows of Transaction Controllers are not launches and are left out")
                }
                NoLaunch::SubResults => {
                    write!(f, "{rows} sub-results (`label-0` inside `label`) are not launches and are left out")
                }
                NoLaunch::MadeUp => {
                    write!(f, "{rows} rows are samples that goose made up against coordinated omission; left out")
                }
                NoLaunch::Updates => write!(f, "{rows} rows correct earlier ones (`update`); left out"),
            },
            Self::Merged { recordings, began_within_ms, together_percent } => write!(
                f,
                "{recordings} recordings merged by their own clocks, whose agreement is not known: they began within {}, and all \
                 were at work {together_percent:.0} % of the time",
                span(began_within_ms * 1e6)
            ),
            Self::OfWorker { worker, note } => write!(f, "worker {worker}: {note}"),
            Self::NotHere { worker } => write!(f, "worker {worker} is not here: it launched nothing"),
            Self::Gone { launches, further } => {
                write!(f, "{launches} launches of its part are not sent, for it was gone")?;
                let more = "; what sessions that had begun would have asked further is not known";
                f.write_str(if *further { more } else { "" })
            }
            Self::Running => f.write_str("it is still running; this is what it has kept so far"),
            Self::Silent { for_s } => {
                write!(f, "it has given no sign of life for {}: it is frozen, or dead", span(for_s * 1e9))
            }
            Self::Clocks { machines } => write!(
                f,
                "launches are placed by the clocks of {machines} machines, whose agreement is not known: two that are closer than it \
                 have no order"
            ),
            Self::Simulation { doubt } => f.write_str(&doubt.words()),
            Self::Words { words } => f.write_str(words),
        }
    }
}

/// What to doubt of a simulation, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SimulationDoubt {
    /// Little's law does not hold within the run, which it must.
    NotLittle,
    /// The run has no part that is no beginning.
    Unsettled,
    /// Neighbouring parts are alike.
    Alike {
        /// So many independent parts the run is worth.
        independent: f64,
    },
    /// The mean response is not known well enough.
    Imprecise {
        /// The half-width of its interval, as a fraction of it.
        relative: f64,
    },
    /// A few requests make the mean slowdown.
    FewMakeTheMean {
        /// The mean slowdown.
        mean: f64,
        /// The largest.
        max: f64,
    },
    /// The largest sizes of the law were not drawn.
    SizesMissing {
        /// C2 of those drawn.
        drawn: f64,
        /// And of the law.
        of_law: f64,
    },
    /// The discipline leaves jobs unfinished, so that those that end tell too little.
    Unfinished {
        /// Mean response of completed jobs, seconds.
        completed_s: f64,
        /// E\[N\]/X, seconds.
        by_little_s: f64,
        /// How many are unfinished, how old the oldest is and they are on average, seconds.
        left: Option<(u64, f64, f64)>,
    },
}

impl SimulationDoubt {
    /// What is doubted, and what to do about it.
    pub fn words(&self) -> String {
        match self {
            Self::NotLittle => {
                "Little's law does not hold: this is a bug of offered, please report it with the workload".to_owned()
            }
            Self::Unsettled => "the first half of the run still looks like a beginning; simulate longer".to_owned(),
            Self::Alike { independent } => format!(
                "neighbouring parts of the run are alike, all of it is worth {independent:.0} independent ones, so the intervals may be too narrow; simulate longer"
            ),
            Self::Imprecise { relative } => format!(
                "the mean response is known to {:.1} % only; simulate longer, or until it is known well enough",
                100.0 * relative
            ),
            Self::FewMakeTheMean { mean, max } => format!(
                "the mean slowdown, {mean:.1}, is made by a few tiny requests that had to wait (the worst {max:.0}); take its percentiles"
            ),
            Self::SizesMissing { drawn, of_law } => format!(
                "the sizes drawn have C2 {drawn:.3}, the law has {of_law:.3}: its largest sizes have not come yet; simulate longer"
            ),
            Self::Unfinished { completed_s, by_little_s, left } => {
                let ages = left.map_or_else(String::new, |(jobs, oldest, mean)| {
                    format!(" ({jobs} jobs are unfinished, {mean:.3} s old on average, the oldest {oldest:.3} s)")
                });
                format!(
                    "completed jobs took {completed_s:.4} s on average, but E[N]/X is {by_little_s:.4} s: the discipline leaves some jobs unfinished{ages}; believe E[N]/X"
                )
            }
        }
    }
}
