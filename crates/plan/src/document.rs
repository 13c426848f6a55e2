//! The JSON documents of `offered plan`, and the functions that fill them.
//!
//! Times are in seconds. Letters as in formulas: N users, Z think time, R response time, S service time, X throughput, U utilisation,
//! Q requests in the system, lambda request rate.

pub mod emulate;
pub mod solve;
pub mod table;

use offered_events::document::{Document, Schema};
use serde::{Deserialize, Serialize};

/// Number of users and think time with which a closed workload generates nearly open traffic (Principle A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Emulation {
    /// Name and version of this document.
    pub schema: Schema<Emulation>,
    /// The traffic to be generated.
    pub target: Target,
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// N/Z: the request rate if responses took no time.
    pub ratio_per_s: f64,
    /// lambda = N/Z - Q/Z: the request rate.
    pub rate_per_s: f64,
    /// Q = lambda R: mean number of requests in the system.
    pub concurrency: f64,
    /// Q/Z: the rate that is lost because users wait.
    pub q_over_z: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// The think time that generates exactly the target rate, if R does not change; `null` if there are too few users.
    pub exact_think_s: Option<f64>,
    /// Name of the think time distribution.
    pub think_distribution: String,
    /// CoV of the gaps between requests, without queueing at the server.
    pub cov: f64,
    /// Index of dispersion: variance over mean of the number of requests in long windows. It is 1 for Poisson arrivals.
    pub dispersion: f64,
    /// The figures with queueing at the server, by M/M/1/N/N.
    pub with_queueing: Queueing,
    /// The expected figures with fewer users at the same N/Z.
    pub fewer_users: Vec<FewerUsers>,
    /// The plan for twice the response time.
    pub if_response_doubles: DoubledResponse,
}

impl Document for Emulation {
    const SCHEMA: &'static str = "offered.plan.emulate/1";
}

/// The traffic to be generated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Request rate.
    pub rate_per_s: f64,
    /// Mean response time R.
    pub response_s: f64,
}

/// Requests of users with exponential think times who queue at one server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queueing {
    /// Mean service time S.
    pub service_s: f64,
    /// Utilisation of the server.
    pub load: f64,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// CoV of the gaps between requests.
    pub cov: f64,
    /// Correlation of neighbouring gaps.
    pub lag1_correlation: f64,
    /// Index of dispersion: variance over mean of the number of requests in long windows.
    pub dispersion: f64,
}

/// The expected figures with a smaller number of users and the same N/Z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FewerUsers {
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// Q: mean number of requests in the system.
    pub concurrency: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// CoV of the gaps between requests.
    pub cov: f64,
}

/// A plan with the same rate and the same R / (R + Z) at twice the response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubledResponse {
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// R / (R + Z).
    pub rort: f64,
    /// Request rate of the unchanged plan at twice the response time.
    pub rate_unchanged_plan_per_s: f64,
}

/// A closed system at several numbers of users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Populations {
    /// Name and version of this document.
    pub schema: Schema<Populations>,
    /// Name of the method.
    pub method: String,
    /// One row per number of users.
    pub rows: Vec<Population>,
}

impl Document for Populations {
    const SCHEMA: &'static str = "offered.plan.table/1";
}

/// A closed system with one number of users. Quotients by a think time of zero are `null`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Population {
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// N/Z: the request rate if responses took no time.
    pub ratio_per_s: Option<f64>,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// Q: mean number of requests in the system.
    pub concurrency: f64,
    /// Q/Z: the rate that is lost because users wait.
    pub q_over_z: Option<f64>,
    /// Mean response time R.
    pub response_s: f64,
    /// R / (R + Z).
    pub rort: f64,
}

/// Rate and response time of a closed system against the number of users, with their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curve {
    /// Name and version of this document.
    pub schema: Schema<Curve>,
    /// Name of the method.
    pub method: String,
    /// `S_max`: the largest service demand of a station.
    pub bottleneck_s: f64,
    /// N* = (D + Z) / `S_max`: the number of users at which the bounds cross.
    pub knee_users: f64,
    /// The points of the curve, by number of users.
    pub points: Vec<Point>,
    /// One load line per requested number of users.
    pub load_lines: Vec<LoadLine>,
}

impl Document for Curve {
    const SCHEMA: &'static str = "offered.plan.curve/1";
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// Upper bound of the rate: min(N / (D + Z), 1 / `S_max`).
    pub rate_bound_per_s: f64,
    /// Mean response time R.
    pub response_s: f64,
    /// Lower bound of the response time: max(D, N `S_max` - Z).
    pub response_bound_s: f64,
    /// Asymptote of the response time: N `S_max` - Z.
    pub response_asymptote_s: f64,
}

/// The load line of N users, from rate N/Z at an empty queue to rate 0 at N queued requests, and its operating point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadLine {
    /// N: number of users.
    pub users: u64,
    /// Mean think time Z.
    pub think_s: f64,
    /// N/Z: the rate at an empty queue; `null` at a think time of zero.
    pub rate_at_no_queue_per_s: Option<f64>,
    /// N: the queue length at rate 0.
    pub queue_at_no_rate: u64,
    /// Request rate at the operating point.
    pub rate_per_s: f64,
    /// Requests in the system at the operating point.
    pub concurrency: f64,
}

/// The number of web users who generate a given request rate: N' = lambda (R + Z'). lambda is the rate, R the mean response time, and
/// Z' the mean think time of the web users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebUsers {
    /// Name and version of this document.
    pub schema: Schema<WebUsers>,
    /// One row per think time.
    pub rows: Vec<WebUserCount>,
    /// Page rate.
    pub pages_per_s: f64,
    /// Mean number of pages in the system.
    pub concurrency_pages: f64,
}

impl Document for WebUsers {
    const SCHEMA: &'static str = "offered.plan.web-users/1";
}

/// The number of web users with one think time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebUserCount {
    /// Think time Z'.
    pub think_s: f64,
    /// Number of web users N'.
    pub web_users: f64,
}

/// The analytic solutions for a workload, or for classes of users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Solutions {
    /// Name and version of this document.
    pub schema: Schema<Solutions>,
    /// One solution per load, or per class.
    pub results: Vec<Solution>,
}

impl Document for Solutions {
    const SCHEMA: &'static str = "offered.plan.solve/1";
}

/// The solution for one class of users, or for a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Solution {
    /// For a class of users.
    Class(Box<ClassSolution>),
    /// For a workload.
    System(Box<SystemSolution>),
}

/// The solution for one of several classes of users in a closed network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassSolution {
    /// `closed network, several classes`.
    pub model: String,
    /// Name of the class.
    pub class: String,
    /// Always `network`: each station has its own discipline.
    pub discipline: String,
    /// `null` for a network, where every station has a utilisation.
    pub load: Option<f64>,
    /// Request rate lambda.
    pub rate_per_s: f64,
    /// Mean think time Z.
    pub think_s: f64,
    /// N: number of users.
    pub users: u64,
    /// Mean response time R.
    pub response_s: f64,
    /// Throughput X.
    pub throughput_per_s: f64,
    /// `null`, like `load`.
    pub utilisation: Option<f64>,
    /// Q: mean number of requests in the system.
    pub in_system: f64,
    /// Residence time at each station.
    pub residences_s: Vec<f64>,
    /// Name of the method.
    pub method: String,
    /// Source of the method.
    pub source: String,
    /// Assumptions of the method.
    pub assumption: String,
}

/// The analytic solution for a workload. If there is none, the figures are `null` and `assumption` gives the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemSolution {
    /// Name of the model, such as `M/M/1`.
    pub model: String,
    /// Scheduling discipline; `network` for several stations.
    pub discipline: String,
    /// rho of the busiest station: its offered load in open and partly-open systems, its utilisation in closed systems.
    pub load: Option<f64>,
    /// Request rate lambda.
    pub rate_per_s: Option<f64>,
    /// Mean think time Z.
    pub think_s: Option<f64>,
    /// N: number of users.
    pub users: Option<u64>,
    /// Stay probability p of a partly-open system.
    pub stay: Option<f64>,
    /// Mean response time R; `null` if infinite.
    pub response_s: Option<f64>,
    /// Throughput X.
    pub throughput_per_s: Option<f64>,
    /// Utilisation U.
    pub utilisation: Option<f64>,
    /// Q: mean number of requests in the system; `null` if infinite.
    pub in_system: Option<f64>,
    /// Share of the requests that are rejected, if the queue is bounded.
    pub rejected_share: Option<f64>,
    /// Standard deviation of R; `null` if unknown or infinite.
    pub response_sdev_s: Option<f64>,
    /// Percentiles of R, if its distribution is known.
    pub percentiles_s: Option<Percentiles>,
    /// Regularity of the requests of a closed system, if known.
    pub requests: Option<RequestRegularity>,
    /// One entry per station.
    pub stations: Vec<Station>,
    /// One entry per class of requests. Under priorities the most important class is first; otherwise the order is that
    /// of the workload.
    pub classes: Vec<RequestClass>,
    /// Whether the figures are an approximation.
    pub is_approximation: bool,
    /// Bounds of a closed system that hold for all distributions.
    pub bounds: Option<Bounds>,
    /// Name of the method.
    pub method: Option<String>,
    /// Source of the method.
    pub source: Option<String>,
    /// Assumptions of the method, or the reason why there is no solution.
    pub assumption: String,
}

/// The regularity of a stream of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRegularity {
    /// CoV of the gaps between requests.
    pub cov: f64,
    /// Correlation of neighbouring gaps.
    pub lag1_correlation: f64,
    /// Index of dispersion: variance over mean of the number of requests in long windows.
    pub dispersion: f64,
}

/// Percentiles of a time, in the unit of the key that contains them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// A class of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestClass {
    /// Name of the requests.
    pub name: String,
    /// Request rate.
    pub rate_per_s: f64,
    /// Mean response time R.
    pub response_s: f64,
    /// Percentiles of R, if known.
    pub percentiles_s: Option<Percentiles>,
}

/// A station of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Station {
    /// The name of the station.
    pub name: String,
    /// Total time of a request at this station, over all its visits.
    pub residence_s: f64,
    /// Mean number of requests at this station.
    pub in_system: f64,
    /// Utilisation U.
    pub utilisation: f64,
    /// Visits per second.
    pub throughput_per_s: f64,
}

/// Bounds for every closed system with these service demands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// Upper bound of the throughput X.
    pub throughput_per_s: f64,
    /// Lower bound of the response time R.
    pub response_s: f64,
    /// N*: the number of users at which the bounds cross.
    pub knee_users: f64,
}

/// The mix of requests that follows from the flows of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowMix {
    /// Name and version of this document.
    pub schema: Schema<FlowMix>,
    /// One entry per step.
    pub steps: Vec<FlowStep>,
    /// One entry per request.
    pub requests: Vec<RequestShare>,
    /// Mean number of requests of a session.
    pub requests_per_session: f64,
    /// Mean think time after a request.
    pub think_s: Option<f64>,
    /// Scheduled request rate; `null` for a closed system.
    pub rate_per_s: Option<f64>,
}

impl Document for FlowMix {
    const SCHEMA: &'static str = "offered.plan.flows/1";
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowStep {
    /// Name of the flow.
    pub flow: String,
    /// Name of the step.
    pub step: String,
    /// Name of its request.
    pub request: String,
    /// Mean number of executions per session.
    pub per_session: f64,
    /// The share of all requests.
    pub share: f64,
}

/// The share of one request in the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestShare {
    /// The name.
    pub request: String,
    /// The share of all requests.
    pub share: f64,
}

/// Open, closed and partly-open systems at equal load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name and version of this document.
    pub schema: Schema<Comparison>,
    /// One row per model and load.
    pub rows: Vec<ComparisonRow>,
}

impl Document for Comparison {
    const SCHEMA: &'static str = "offered.plan.compare/1";
}

/// One model at one load, by formula or by simulation. If the model cannot reach the load, the figures are `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonRow {
    /// `open`, `closed N=10`, `p=0.8`.
    pub model: String,
    /// Load rho.
    pub load: f64,
    /// Number of users N of a closed system.
    pub users: Option<u64>,
    /// Stay probability of a partly-open system.
    pub stay: Option<f64>,
    /// Think time Z; in a closed system it is solved for.
    pub think_s: Option<f64>,
    /// Request rate.
    pub rate_per_s: Option<f64>,
    /// Mean response time R; `null` if infinite.
    pub response_s: Option<f64>,
    /// Name of the formula, or `simulation`.
    pub method: Option<String>,
    /// Source of the method.
    pub source: Option<String>,
    /// Assumptions of the method, or the reason why there is no solution.
    pub assumption: String,
    /// Present if the row was simulated.
    #[serde(flatten)]
    pub simulated: Option<Simulation>,
}

/// Additional figures of a simulated row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulation {
    /// Lower end of the 95 % confidence interval of the mean response time; `null` if the simulation is too short.
    pub response_low_s: Option<f64>,
    /// Upper end of that interval.
    pub response_high_s: Option<f64>,
    /// Load reached in the simulation.
    pub load_reached: f64,
    /// Number of completions counted.
    pub jobs: u64,
    /// Warnings, each with its fix.
    pub warnings: Vec<String>,
}

/// `number`, or `None` if it is infinite or undefined, which JSON cannot express.
pub fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
