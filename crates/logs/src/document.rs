//! The document `offered.logs/1`: what `offered logs --json` prints.

use offered_model::document::{self, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choose::{Because, Model, PaperRule};
use crate::curve::Point;
use crate::findings::{Findings, Pages};
use crate::lengths::{Geometric, Lengths};
use crate::options::ServiceFrom;
use crate::starts::{Concurrency, Starts};
use crate::think::Think;

/// A site by its access logs: its sessions, and the system model that it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// What this document is.
    pub schema: Schema<Document>,
    /// Requests that count.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Lines left out, by the option that did it.
    pub left_out: Vec<(String, u64)>,
    /// Clients.
    pub clients: u64,
    /// One in how many clients was followed; above 1 all counts of clients and sessions are those of the sample times this.
    pub followed_one_in: u64,
    /// The first instant, ISO 8601 in UTC.
    pub first: String,
    /// The last.
    pub last: String,
    /// tau: a client who is silent for longer has begun another session.
    pub timeout_s: u64,
    /// Sessions at tau.
    pub sessions: u64,
    /// How long they are.
    pub requests_per_session: Lengths,
    /// The stay probability of the geometric law with that mean.
    pub stay: f64,
    /// How well that law fits.
    pub stay_fit: Geometric,
    /// The think times within sessions.
    pub think_s: Option<Think>,
    /// The curve over tau.
    pub sessions_by_timeout: Vec<Point>,
    /// When sessions start.
    pub session_starts: Starts,
    /// Sessions in progress.
    pub concurrency: Concurrency,
    /// C2 of service times, as far as the log tells or is taken to tell it.
    pub scv: Option<f64>,
    /// What `scv` is of.
    pub scv_of: Option<ServiceFrom>,
    /// C2 of bytes, whatever it may stand for.
    pub bytes_scv: Option<f64>,
    /// Without the parts of pages, where those are in.
    pub pages_only: Option<Pages>,
    /// What the rule of the paper would say.
    pub paper_rule: PaperRule,
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
    pub model: Model,
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
    pub model: Model,
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
            lines: found.lines,
            unreadable: found.unreadable,
            left_out: words.left_out,
            clients: found.clients,
            followed_one_in: found.followed_one_in,
            first: found.first.clone(),
            last: found.last.clone(),
            timeout_s: found.timeout_s,
            sessions: found.sessions,
            requests_per_session: found.requests_per_session.clone(),
            stay: found.stay,
            stay_fit: found.stay_fit,
            think_s: found.think_s.clone(),
            sessions_by_timeout: found.sessions_by_timeout.clone(),
            session_starts: found.session_starts.clone(),
            concurrency: found.concurrency,
            scv: found.scv,
            scv_of: found.scv_of,
            bytes_scv: found.bytes_scv,
            pages_only: found.pages_only,
            paper_rule: found.paper_rule.clone(),
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
