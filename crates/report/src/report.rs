//! The report: what is known of some runs, in the shape of the JSON document `offered.report/1`.

use offered_experiment::document::sweep::Document as Sweep;
use offered_experiment::theory::{Prediction, Server, WebUsers};
use offered_logs::document::Document as Site;
use offered_model::Exchange;
use offered_model::document::{Document, Schema};
use offered_verify::{Checked, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Tried;
use crate::compare::{Difference, differences};
use crate::portrait::Portrait;
use crate::tested::Tested;

/// What is known of some runs, sweeps and sites: every number of the page that is made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// What this document is.
    pub schema: Schema<Report>,
    /// The runs in the order given.
    pub runs: Vec<Run>,
    /// How every run differs from the first.
    pub differences: Vec<Difference>,
    /// Sweeps.
    pub sweeps: Vec<Sweep>,
    /// Sites, by their access logs.
    pub sites: Vec<Site>,
}

impl Document for Report {
    const SCHEMA: &'static str = "offered.report/1";
}

impl Report {
    /// Of these runs.
    pub fn new(runs: Vec<Run>) -> Self {
        let differences = differences(&runs);
        Self { schema: Schema::new(), runs, differences, sweeps: Vec::new(), sites: Vec::new() }
    }
}

/// What is known of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What the reader calls it.
    pub name: String,
    /// How it came to be.
    pub tested: Tested,
    /// The workload's own, held against the run.
    pub thresholds: Vec<Checked>,
    /// What became of the checks of its requests.
    pub checks: Vec<Tried>,
    /// As `offered verify` gives it.
    pub verdict: Verdict,
    /// What it looked like; `None` when nothing was sent.
    pub portrait: Option<Portrait>,
    /// What is known of the server, where the workload models it.
    pub server: Option<Server>,
    /// What theory says of the responses, where the workload models the server.
    pub predictions: Vec<Prediction>,
    /// How many people the launches stand for.
    pub web_users: Vec<WebUsers>,
    /// A few of its failures, whole, where the run kept them.
    pub seen: Vec<Exchange>,
}

impl Run {
    /// Of a recording of which no more is known than its events tell.
    pub fn new(name: String, verdict: Verdict, portrait: Option<Portrait>) -> Self {
        Self {
            name,
            tested: Tested::default(),
            thresholds: Vec::new(),
            checks: Vec::new(),
            verdict,
            portrait,
            server: None,
            predictions: Vec::new(),
            web_users: Vec::new(),
            seen: Vec::new(),
        }
    }
}
