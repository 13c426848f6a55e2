//! The JSON document `offered.logs/1`, printed by `offered logs --json`.

use offered_events::document::{self, Schema};
use offered_schedule::System;
use serde::{Deserialize, Serialize};

use crate::choose::RecommendationReason;
use crate::findings::{Figures, Findings};

/// Analysis of access logs: sessions and the recommended system model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogAnalysis {
    /// Name and version of the document type.
    pub schema: Schema<LogAnalysis>,
    /// Figures of the log.
    #[serde(flatten)]
    pub figures: Figures,
    /// Number of excluded lines, by the option that excluded them.
    pub excluded: Vec<(String, u64)>,
    /// Recommended system model.
    pub recommendation: RecommendedModel,
    /// Comparison of the three system models; `null` if they were not compared.
    pub model_comparison: Option<ModelComparison>,
    /// Warnings, each with a fix.
    pub warnings: Vec<String>,
}

impl document::Document for LogAnalysis {
    const SCHEMA: &'static str = "offered.logs/1";
}

/// The recommended system model with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecommendedModel {
    /// The system model.
    pub model: System,
    /// Reason of the recommendation.
    pub reason: RecommendationReason,
    /// The reasons as text, one per line.
    pub reasons: Vec<String>,
}

/// Comparison of the three system models by simulation, with its assumptions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelComparison {
    /// Load of the modelled server.
    pub load: f64,
    /// Distribution of service times: its mean gives this load at the log's mean rate.
    pub service_distribution: String,
    /// C2 (squared coefficient of variation) of service times.
    pub scv: f64,
    /// Whether the C2 was measured from the log; otherwise it is assumed.
    pub scv_known: bool,
    /// Number of users of the closed model.
    pub users: u64,
    /// Results of the models.
    pub models: Vec<ModelResponses>,
    /// Models that could not be simulated, with the reason.
    pub missing: Vec<String>,
}

/// Response times of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelResponses {
    /// The system model.
    pub model: System,
    /// First come, first served.
    pub fcfs: Option<ResponseEstimate>,
    /// Processor sharing.
    pub ps: Option<ResponseEstimate>,
}

/// Mean and 95th percentile of response times, with the half-widths of their 95 % confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseEstimate {
    /// Mean in seconds.
    pub mean_s: f64,
    /// Half-width of the confidence interval of the mean, in seconds.
    pub mean_half_width_s: f64,
    /// 95th percentile in seconds.
    pub p95_s: f64,
    /// Half-width of the confidence interval of the 95th percentile, in seconds; `null` if there are too few responses.
    pub p95_half_width_s: Option<f64>,
    /// Mean relative to the partly-open model.
    pub mean_ratio: f64,
    /// 95th percentile relative to the partly-open model.
    pub p95_ratio: f64,
}

/// Texts of a document.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Number of excluded lines, by the option that excluded them.
    pub excluded: Vec<(String, u64)>,
    /// Reasons of the recommendation.
    pub reasons: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl LogAnalysis {
    /// Builds the document from the findings and their texts.
    pub fn new(found: &Findings, model_comparison: Option<ModelComparison>, messages: Messages) -> Self {
        Self {
            schema: Schema::new(),
            figures: found.figures.clone(),
            excluded: messages.excluded,
            recommendation: RecommendedModel {
                model: found.recommendation.model,
                reason: found.recommendation.reason,
                reasons: messages.reasons,
            },
            model_comparison,
            warnings: messages.warnings,
        }
    }
}
