//! A site: what its access logs say, as the document `offered.logs/1` tells it.

use serde::{Deserialize, Serialize};

/// What the page shows of a log analysis.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Site {
    /// Requests that count.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Clients.
    pub clients: u64,
    /// The first instant.
    pub first: String,
    /// The last.
    pub last: String,
    /// tau: a client who is silent for longer has begun another session.
    pub timeout_s: u64,
    /// Sessions at tau.
    pub sessions: u64,
    /// Requests of a session.
    pub requests_per_session: Lengths,
    /// The stay probability of the geometric law with that mean.
    pub stay: f64,
    /// Think times within sessions.
    pub think_s: Option<Think>,
    /// The curve over tau.
    pub sessions_by_timeout: Vec<Point>,
    /// When sessions start.
    pub session_starts: Starts,
    /// Sessions in progress.
    pub concurrency: Concurrency,
    /// C2 of the service times, or of what stands in for them.
    pub scv: Option<f64>,
    /// The system model to use.
    pub recommendation: Recommendation,
    /// Doubts.
    pub warnings: Vec<String>,
}

/// Requests of a session.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Lengths {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub median: u64,
    /// The 90 % point.
    pub p90: u64,
    /// The most.
    pub max: u64,
}

/// Think times, in seconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Think {
    /// The mean.
    pub mean: f64,
    /// sdev / mean.
    pub cov: f64,
    /// The median.
    pub median: f64,
    /// The law that fits.
    pub law: Option<String>,
}

/// Sessions at one timeout.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Point {
    /// The timeout.
    pub timeout_s: u64,
    /// How many sessions.
    pub sessions: u64,
    /// How many requests each on average.
    pub requests_per_session: f64,
}

/// When sessions start.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Starts {
    /// Per second.
    pub rate_per_s: f64,
    /// The CoV of the gaps between them.
    pub cov: Option<f64>,
    /// Variance over mean of their counts.
    pub idc: Vec<Idc>,
}

/// The dispersion of session starts at one window.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Idc {
    /// The window.
    pub window_s: u64,
    /// Variance over mean.
    pub idc: f64,
}

/// Sessions in progress.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Concurrency {
    /// On average.
    pub mean: f64,
    /// At most.
    pub peak: u64,
}

/// The system model to use.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recommendation {
    /// Its name.
    pub model: String,
    /// Why.
    pub because: Vec<String>,
}
