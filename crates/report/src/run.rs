//! A run of a report.

use offered_events::Exchange;
use offered_experiment::RunResult;
use offered_experiment::prediction::{Prediction, ServerLimits, WebUsers};
use offered_verify::{ThresholdResult, Verdict};
use serde::{Deserialize, Serialize};

use crate::chart_data::ChartData;
use crate::check_counts::CheckCounts;
use crate::test_setup::TestSetup;
use crate::verdict_lines::VerdictLine;

/// A run with its verdict and the data of its charts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Name of the run.
    pub name: String,
    /// The result, which decides the exit code of `offered run` and `verify`; `None` for the file of another tool.
    #[serde(default)]
    pub result: Option<RunResult>,
    /// The setup of the test.
    pub test_setup: TestSetup,
    /// Results of the workload's thresholds.
    pub thresholds: Vec<ThresholdResult>,
    /// Results of the workload's response checks.
    pub checks: Vec<CheckCounts>,
    /// The verdict of `offered verify`.
    pub verdict: Verdict,
    /// Aggregates for charts; `None` if nothing was sent.
    pub chart_data: Option<ChartData>,
    /// The modelled server; `None` without one.
    pub server: Option<ServerLimits>,
    /// Predicted response times; empty without a modelled server.
    pub predictions: Vec<Prediction>,
    /// Numbers of web users that the request rate corresponds to.
    pub web_users: Vec<WebUsers>,
    /// A few recorded failures, in full.
    pub failed_exchanges: Vec<Exchange>,
}

impl Run {
    /// A run without known workload and record.
    pub fn new(name: String, verdict: Verdict, chart_data: Option<ChartData>) -> Self {
        Self {
            name,
            result: None,
            test_setup: TestSetup::default(),
            thresholds: Vec::new(),
            checks: Vec::new(),
            verdict,
            chart_data,
            server: None,
            predictions: Vec::new(),
            web_users: Vec::new(),
            failed_exchanges: Vec::new(),
        }
    }

    /// The fixes of a line of the verdict.
    pub(crate) fn fixes(&self, line: &VerdictLine) -> Vec<String> {
        line.fixes(&self.verdict, |warning| warning.fix.clone())
    }
}
