//! The JSON documents `offered.logs/1` and `offered.logs.each/1`, printed by `offered logs --json`.

use offered_events::document::{self, Schema};
use offered_schedule::System;
use serde::{Deserialize, Serialize};

pub use crate::choose::RatioEstimate;
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

/// Analyses of several sites, printed by `offered logs --each --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogAnalyses {
    /// Name and version of the document type.
    pub schema: Schema<LogAnalyses>,
    /// The sites, in the order of the command line.
    pub sites: Vec<SiteAnalysis>,
}

impl document::Document for LogAnalyses {
    const SCHEMA: &'static str = "offered.logs.each/1";
}

impl LogAnalyses {
    /// The document of these sites.
    pub fn new(sites: Vec<SiteAnalysis>) -> Self {
        Self { schema: Schema::new(), sites }
    }
}

/// The analysis of one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteAnalysis {
    /// The log, as on the command line.
    pub site: String,
    /// The analysis.
    pub analysis: LogAnalysis,
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

/// Comparison of the three system models at the same load, with its assumptions.
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
    /// Number of simulated trials of each model; 0 if formulas give all results.
    pub trials: u64,
    /// Number of responses of a trial.
    pub responses_per_trial: u64,
    /// Results of the models.
    pub models: Vec<ModelResponses>,
    /// Models without a result, with the reason.
    pub missing: Vec<String>,
    /// Warnings of the simulations, with model and discipline.
    pub warnings: Vec<String>,
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

/// Mean and 95th percentile of response times, also relative to the partly-open model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseEstimate {
    /// Mean response time.
    pub mean: TimeEstimate,
    /// 95th percentile of the response time.
    pub p95: TimeEstimate,
    /// Mean relative to the partly-open model.
    pub mean_ratio: RatioEstimate,
    /// 95th percentile relative to the partly-open model.
    pub p95_ratio: RatioEstimate,
    /// Load of the server in the trials; the required load if there were none.
    pub load_reached: f64,
    /// Mean think time of closed users, which gives the load.
    pub think_s: Option<f64>,
}

/// A time with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeEstimate {
    /// The estimated time.
    pub value_s: f64,
    /// Lower end of the 95 % confidence interval of `value_s`.
    pub low_s: f64,
    /// Upper end of the 95 % confidence interval of `value_s`.
    pub high_s: f64,
    /// Whether a formula gives the time; then the interval is a point.
    pub exact: bool,
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
