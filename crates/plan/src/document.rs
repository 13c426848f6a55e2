//! The documents of `offered plan`, one for each question.

use offered_model::document::{Document, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Users and think time that make a closed tool launch like the open web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Emulation {
    /// What this document is.
    pub schema: Schema<Emulation>,
    /// What was asked for.
    pub wanted: Wanted,
    /// N.
    pub users: u64,
    /// The mean of Z.
    pub think_s: f64,
    /// N/Z.
    pub ratio_per_s: f64,
    /// lambda = N/Z - Q/Z.
    pub rate_per_s: f64,
    /// Q = lambda R.
    pub concurrency: f64,
    /// Q/Z.
    pub q_over_z: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// The think time that makes the rate exactly, if R stays as it is; `null` where there are too few users for it.
    pub exact_think_s: Option<f64>,
    /// The law of Z.
    pub think_law: String,
    /// The CoV of the gaps between launches where nothing queues.
    pub cov: f64,
    /// Variance over mean of their counts in long windows; 1 of the open web.
    pub dispersion: f64,
    /// The same with the server's queue, by M/M/1/N/N.
    pub with_queueing: Queueing,
    /// What fewer users at the same N/Z would do.
    pub fewer_users: Vec<Fewer>,
    /// What becomes of the plan at twice the response.
    pub if_response_doubles: Doubled,
}

impl Document for Emulation {
    const SCHEMA: &'static str = "offered.plan.emulate/1";
}

/// The launches asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    /// How many.
    pub rate_per_s: f64,
    /// R.
    pub response_s: f64,
}

/// Launches of users with exponential think times who queue at one server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queueing {
    /// S.
    pub service_s: f64,
    /// The server's load.
    pub load: f64,
    /// lambda.
    pub rate_per_s: f64,
    /// The CoV of the gaps.
    pub cov: f64,
    /// The correlation of neighbouring gaps.
    pub lag1_correlation: f64,
    /// Variance over mean of the counts in long windows.
    pub dispersion: f64,
}

/// The same N/Z with fewer users.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fewer {
    /// N.
    pub users: u64,
    /// The mean of Z.
    pub think_s: f64,
    /// lambda.
    pub rate_per_s: f64,
    /// Q.
    pub concurrency: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// The CoV of the gaps between launches.
    pub cov: f64,
}

/// A plan that keeps the rate and the share of waiting at twice the response.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubled {
    /// N.
    pub users: u64,
    /// The mean of Z.
    pub think_s: f64,
    /// lambda.
    pub rate_per_s: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// What the plan would launch if nobody changed it.
    pub rate_unchanged_plan_per_s: f64,
}

/// What a closed system answers as its users grow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Populations {
    /// What this document is.
    pub schema: Schema<Populations>,
    /// How it was solved.
    pub method: String,
    /// A row for each number of users.
    pub rows: Vec<Population>,
}

impl Document for Populations {
    const SCHEMA: &'static str = "offered.plan.table/1";
}

/// A number of users and their answer. What divides by a think time of zero is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Population {
    /// N.
    pub users: u64,
    /// Z.
    pub think_s: f64,
    /// N/Z.
    pub ratio_per_s: Option<f64>,
    /// lambda.
    pub rate_per_s: f64,
    /// Q.
    pub concurrency: f64,
    /// Q/Z.
    pub q_over_z: Option<f64>,
    /// R.
    pub response_s: f64,
    /// R / (R + Z).
    pub rort: f64,
}

/// Rate and response of a closed system against its users, with their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// What this document is.
    pub schema: Schema<Curve>,
    /// How it was solved.
    pub method: String,
    /// The largest demand of a station.
    pub bottleneck_s: f64,
    /// N* = (D + Z) / `S_max`, where the bounds cross.
    pub knee_users: f64,
    /// The curve.
    pub points: Vec<Point>,
    /// The load line of each number of users asked for.
    pub load_lines: Vec<LoadLine>,
}

impl Document for Curve {
    const SCHEMA: &'static str = "offered.plan.curve/1";
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// N.
    pub users: u64,
    /// Z.
    pub think_s: f64,
    /// lambda.
    pub rate_per_s: f64,
    /// At most min(N / (D + Z), 1 / `S_max`).
    pub rate_bound_per_s: f64,
    /// R.
    pub response_s: f64,
    /// At least max(D, N `S_max` - Z).
    pub response_bound_s: f64,
    /// N `S_max` - Z.
    pub response_asymptote_s: f64,
}

/// Where the line from N/Z at an empty server to N queued at no rate meets the server's own curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadLine {
    /// N.
    pub users: u64,
    /// Z.
    pub think_s: f64,
    /// N/Z; `null` at a think time of zero.
    pub rate_at_no_queue_per_s: Option<f64>,
    /// N.
    pub queue_at_no_rate: u64,
    /// lambda, where the system settles.
    pub rate_per_s: f64,
    /// Q there.
    pub concurrency: f64,
}

/// How many people at their browsers a rate of requests stands for: N' = lambda (R + Z').
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebUsers {
    /// What this document is.
    pub schema: Schema<WebUsers>,
    /// One for each think time.
    pub rows: Vec<People>,
    /// Pages, each of so many requests as was said.
    pub pages_per_s: f64,
    /// Pages under way at the server.
    pub concurrency_pages: f64,
}

impl Document for WebUsers {
    const SCHEMA: &'static str = "offered.plan.web-users/1";
}

/// People who think for so long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct People {
    /// Z'.
    pub think_s: f64,
    /// N'.
    pub web_users: f64,
}

/// The analytic answers for a workload, or for classes of users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Solutions {
    /// What this document is.
    pub schema: Schema<Solutions>,
    /// One for each load asked for, or for each class.
    pub results: Vec<Solution>,
}

impl Document for Solutions {
    const SCHEMA: &'static str = "offered.plan.solve/1";
}

/// An answer: of classes of users that share stations, or of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Solution {
    /// Of a class.
    Class(Class),
    /// Of a workload.
    System(System),
}

/// The answer for one class of users among several in a closed network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// `closed network, several classes`.
    pub model: String,
    /// Its name.
    pub class: String,
    /// `network`.
    pub discipline: String,
    /// `null`: a network has as many as it has stations.
    pub load: Option<f64>,
    /// lambda.
    pub rate_per_s: f64,
    /// Z.
    pub think_s: f64,
    /// N.
    pub users: u64,
    /// R.
    pub response_s: f64,
    /// X.
    pub throughput_per_s: f64,
    /// `null`, as the load.
    pub utilisation: Option<f64>,
    /// Q.
    pub in_system: f64,
    /// The time spent at each station.
    pub residences_s: Vec<f64>,
    /// How it was solved.
    pub method: String,
    /// Where that is from.
    pub source: String,
    /// What it takes for granted.
    pub assumption: String,
}

/// The analytic answer for a workload. Where none is known its figures are `null`, and `assumption` says why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Its name, such as `M/M/1`.
    pub model: String,
    /// The policy; `network` for several stations.
    pub discipline: String,
    /// rho: the offered load of the busiest station where arrivals do not wait for answers, its utilisation where they do.
    pub load: Option<f64>,
    /// lambda.
    pub rate_per_s: Option<f64>,
    /// Z.
    pub think_s: Option<f64>,
    /// N.
    pub users: Option<u64>,
    /// The stay probability.
    pub stay: Option<f64>,
    /// The mean of R; `null` too where it is infinite.
    pub response_s: Option<f64>,
    /// X.
    pub throughput_per_s: Option<f64>,
    /// U.
    pub utilisation: Option<f64>,
    /// Q; `null` too where it is infinite.
    pub in_system: Option<f64>,
    /// The part of the requests that is turned away, where the room is bounded.
    pub lost: Option<f64>,
    /// The standard deviation of R, where it is known; `null` too where it is infinite.
    #[serde(default)]
    pub response_sdev_s: Option<f64>,
    /// The percentiles of R, where its law is known.
    pub percentiles_s: Option<Percentiles>,
    /// How regular the launches of a closed system are, where that is known.
    #[serde(default)]
    pub launches: Option<Launches>,
    /// Station by station.
    pub stations: Vec<Station>,
    /// Of a closed system, whatever its laws.
    pub bounds: Option<Bounds>,
    /// How it was solved.
    pub method: Option<String>,
    /// Where that is from.
    pub source: Option<String>,
    /// What it takes for granted, or why there is no answer.
    pub assumption: String,
}

/// The gaps between launches, and their counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Launches {
    /// The CoV of the gaps.
    pub cov: f64,
    /// The correlation of neighbouring gaps.
    pub lag1_correlation: f64,
    /// Variance over mean of the counts in long windows.
    pub dispersion: f64,
}

/// Percentiles of a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 90 % point.
    pub p90: f64,
    /// The 95 % point.
    pub p95: f64,
    /// The 99 % point.
    pub p99: f64,
}

/// A station of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// How long a request is there in all its visits.
    pub residence_s: f64,
    /// How many are there.
    pub in_system: f64,
    /// U.
    pub utilisation: f64,
    /// Visits.
    pub throughput_per_s: f64,
}

/// What no closed system with these demands can go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// X is at most this.
    pub throughput_per_s: f64,
    /// R is at least this.
    pub response_s: f64,
    /// N*, where the two bounds cross.
    pub knee_users: f64,
}

/// How often sessions that walk through a workload's flows ask for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mix {
    /// What this document is.
    pub schema: Schema<Mix>,
    /// Step by step.
    pub steps: Vec<Step>,
    /// Request by request.
    pub requests: Vec<Share>,
    /// How many a session makes on average.
    pub requests_per_session: f64,
    /// How long it thinks after each on average.
    pub think_s: Option<f64>,
    /// Launches meant; `null` of a closed system.
    pub rate_per_s: Option<f64>,
}

impl Document for Mix {
    const SCHEMA: &'static str = "offered.plan.flows/1";
}

/// A step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The flow.
    pub flow: String,
    /// The step's name.
    pub step: String,
    /// What it asks for.
    pub request: String,
    /// How often a session takes it on average.
    pub per_session: f64,
    /// Which part of all requests it makes.
    pub share: f64,
}

/// A request of the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Its name.
    pub request: String,
    /// Which part of all requests it is.
    pub share: f64,
}

/// Open, closed and partly-open systems side by side at equal load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What this document is.
    pub schema: Schema<Comparison>,
    /// A row for each model at each load.
    pub rows: Vec<Compared>,
}

impl Document for Comparison {
    const SCHEMA: &'static str = "offered.plan.compare/1";
}

/// One model at one load: by formula where there is one, else simulated. A load that it cannot have leaves its figures `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// `open`, `closed N=10`, `p=0.8`.
    pub model: String,
    /// The load.
    pub load: f64,
    /// N of a closed system.
    pub users: Option<u64>,
    /// The stay probability of a partly-open one.
    pub stay: Option<f64>,
    /// Z, which is solved for in a closed system.
    pub think_s: Option<f64>,
    /// Launches.
    pub rate_per_s: Option<f64>,
    /// The mean of R; `null` too where it is infinite.
    pub response_s: Option<f64>,
    /// How it was found: the name of a formula, or `simulation`.
    pub method: Option<String>,
    /// Where that is from.
    pub source: Option<String>,
    /// What it takes for granted, or why there is no answer.
    pub assumption: String,
    /// Of a simulation.
    #[serde(flatten)]
    pub simulated: Option<Simulation>,
}

/// What a simulation adds to its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// The lower end of the 95 % interval of the response; `null` where the simulation is too short to tell.
    pub response_low_s: Option<f64>,
    /// The upper end.
    pub response_high_s: Option<f64>,
    /// The load that came about.
    pub load_reached: f64,
    /// Completions counted.
    pub jobs: u64,
    /// What to doubt, and what to do about it.
    pub warnings: Vec<String>,
}
