//! The report: the JSON document `offered.report/1`.

use offered_events::document::{Document, Schema};
use offered_experiment::document::compare::Document as Comparison;
use offered_experiment::document::sweep::Document as Sweep;
use offered_logs::document::LogAnalysis as Site;
use serde::{Deserialize, Serialize};

use crate::difference::{Difference, differences};
use crate::run::Run;

/// Runs, sweeps, comparisons and sites, with every number of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Schema of this document.
    pub schema: Schema<Report>,
    /// The title; `None`: the names of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The runs, in the given order.
    pub runs: Vec<Run>,
    /// Differences of each run from the first.
    pub differences: Vec<Difference>,
    /// The sweeps.
    pub sweeps: Vec<Sweep>,
    /// Comparisons of two targets or workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The sites, from their access logs.
    pub sites: Vec<Site>,
}

impl Document for Report {
    const SCHEMA: &'static str = "offered.report/1";
}

impl Report {
    /// A report of these runs.
    pub fn new(runs: Vec<Run>) -> Self {
        let differences = differences(&runs);
        let (sweeps, comparisons, sites) = (Vec::new(), Vec::new(), Vec::new());
        Self { schema: Schema::new(), title: None, runs, differences, sweeps, comparisons, sites }
    }
}
