//! The JSON documents of the commands, as types that are written and read.
//!
//! Some documents are defined where they are computed: [`crate::Summary`] is `offered.run/1`,
//! [`crate::calibrate::Calibration`] is `offered.calibrate/1`, [`offered_verify::Verdict`] is `offered.verify/1`.

pub mod capacity;
pub mod compare;
pub mod demo;
pub mod simulate;
pub mod sweep;
pub mod version;

use offered_events::document::Document;
use offered_store::RunKind;
use serde::Serialize;

/// The record of a run or a dry run.
pub type RunRecord = offered_store::RunRecord<crate::Summary, offered_verify::Verdict>;

/// The record of a simulation.
pub type SimulationRecord = offered_store::RunRecord<simulate::Outcome, ()>;

/// The run record: `run.json` in a run directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Record {
    /// The record of a run or a dry run.
    Run(Box<RunRecord>),
    /// The record of a simulation.
    Simulation(Box<SimulationRecord>),
}

impl Document for Record {
    const SCHEMA: &'static str = RunRecord::SCHEMA;
}

impl Record {
    /// Parses a run record.
    ///
    /// # Errors
    /// `text` is not a run record.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str::<offered_store::RunRecord>(text)?.kind {
            RunKind::Simulation => serde_json::from_str(text).map(Self::Simulation),
            RunKind::Run | RunKind::DryRun => serde_json::from_str(text).map(Self::Run),
        }
    }
}

pub use offered_plan::document::finite;
