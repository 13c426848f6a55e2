//! The document `offered.logs/1`: what `offered logs --json` prints.

use offered_model::System;
use offered_model::document::{self, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choose::Because;
use crate::findings::{Figures, Findings};

/// A site by its access logs: its sessions, and the system model that it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// What this document is.
    pub schema: Schema<Document>,
    /// What the log says, in figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Lines left out, by the option that did it.
    pub left_out: Vec<(String, u64)>,
    /// The system model to use.
    pub recommendation: Recommended,
    /// The three system models side by side, where they were compared.
    pub other_models: Option<Others>,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<String>,
}

impl document::Document for Document {
    const SCHEMA: &'static str = "offered.logs/1";
}

/// The system model to use, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recommended {
    /// The model.
    pub model: System,
    /// What decided.
    pub decided_by: Because,
    /// The reasons in words, one a line.
    pub because: Vec<String>,
}

/// The three system models side by side, and what was assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Of the one modelled server.
    pub load: f64,
    /// Law of the work of a request: the C2, and the mean that makes this load at the log's mean rate.
    pub service: String,
    /// Its C2.
    pub scv: f64,
    /// Whether the log told the C2; else it is assumed.
    pub scv_known: bool,
    /// Of the closed system.
    pub users: u64,
    /// The models.
    pub models: Vec<Simulated>,
    /// Why a model is not among them.
    pub missing: Vec<String>,
}

/// One model's responses under the disciplines that were assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulated {
    /// The model.
    pub model: System,
    /// First come, first served.
    pub fcfs: Option<Response>,
    /// Processor sharing.
    pub ps: Option<Response>,
}

/// A mean and a 95 % point, with the half-widths of their 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The mean.
    pub mean_s: f64,
    /// Half the width of its interval.
    pub half_width_s: f64,
    /// The 95 % point.
    pub p95_s: f64,
    /// Half the width of its interval; absent where so many answers do not tell.
    pub p95_half_width_s: Option<f64>,
    /// The mean over that of the partly-open model.
    pub ratio: f64,
    /// The 95 % point over that of the partly-open model.
    pub p95_ratio: f64,
}

/// What a document says in words.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Lines left out, by the option that did it.
    pub left_out: Vec<(String, u64)>,
    /// Why this system model.
    pub because: Vec<String>,
    /// What to doubt.
    pub warnings: Vec<String>,
}

impl Document {
    /// Of what was found, in these words.
    pub fn new(found: &Findings, other_models: Option<Others>, words: Words) -> Self {
        Self {
            schema: Schema::new(),
            figures: found.figures.clone(),
            left_out: words.left_out,
            recommendation: Recommended {
                model: found.recommendation.model,
                decided_by: found.recommendation.because,
                because: words.because,
            },
            other_models,
            warnings: words.warnings,
        }
    }
}
