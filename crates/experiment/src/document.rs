//! The documents of the verbs: what `--json` prints, as types that are written and read.
//!
//! Those that are computed as they are printed stand where they are computed: [`crate::Summary`] is `offered.run/1`,
//! [`crate::calibrate::Calibration`] is `offered.calibrate/1`, [`offered_verify::Verdict`] is `offered.verify/1`.

pub mod capacity;
pub mod demo;
pub mod simulate;
pub mod sweep;

use offered_events::document::Document;
use offered_store::RunKind;
use serde::Serialize;

/// The record of a run at a target or of a dry run.
pub type RunRecord = offered_store::RunRecord<crate::Summary, offered_verify::Verdict>;

/// The record of a simulation.
pub type SimulationRecord = offered_store::RunRecord<simulate::Outcome, ()>;

/// What is known of a run beside its workload and its events: `run.json` in its directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Record {
    /// Of a run at a target or of a dry run.
    Run(Box<RunRecord>),
    /// Of a simulation.
    Simulation(Box<SimulationRecord>),
}

impl Document for Record {
    const SCHEMA: &'static str = RunRecord::SCHEMA;
}

impl Record {
    /// The record that `text` is.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str::<offered_store::RunRecord>(text)?.kind {
            RunKind::Simulation => serde_json::from_str(text).map(Self::Simulation),
            RunKind::Run | RunKind::DryRun => serde_json::from_str(text).map(Self::Run),
        }
    }
}

pub use offered_plan::document::finite;
