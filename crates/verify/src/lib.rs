//! Verifies recordings: whether requests were sent as specified, and whether the measurement is good. The specification
//! is usually a Poisson process (Principle B: the CoV of the gaps is near 1).
//!
//! [`verify`] accepts any recording, of `offered` or of another tool, and returns a [`Verdict`]. It contains the four tables of the
//! web-generator-toolkit, statistical tests, the arrival *pattern*, and the *validity* of the results.
//!
//! A finding fails if it is both statistically significant and large enough to matter (`finding.rs`). The error rates are measured in
//! book/src/background/calibration.md.
//!
//! # Percentiles
//! The percentile p of n values is the value of the nearest rank, ceil(p n); there is no interpolation. See
//! [`offered_stats::summary::quantile_at`].
//!
//! # Example
//! Requests every 10 ms have constant gaps, so they are not a Poisson process.
//! ```
//! use offered_base::{Instant, Nanos};
//! use offered_events::{Event, Outcome, Recording};
//! use offered_verify::{Criteria, ExpectedArrivals, Pattern, Validity, verify};
//!
//! let request = |i: u64| {
//!     let sent = Instant::from_millis(10 * i);
//!     Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(3)), outcome: Outcome::Ok, ..Event::at(sent) }
//! };
//! let recording = Recording {
//!     events: (0..500).map(request).collect::<Vec<Event>>().into(),
//!     labels: vec!["home".into()],
//!     resolution: Nanos(1),
//!     ..Recording::default()
//! };
//! let verdict = verify(&recording, &Criteria { expected: ExpectedArrivals::Poisson, ..Criteria::default() })?;
//! assert_eq!((verdict.pattern, verdict.validity), (Pattern::Constant, Validity::Invalid));
//! assert!(verdict.gaps.last().unwrap().cov < 0.01);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limitations
//! Bunching within the resolution of the timestamps is invisible. A single run does not show whether the number of its requests was
//! fixed in advance. A saturated closed system with exponential service times produces a perfect Poisson process; only the queue
//! (`RoRT`) shows it.

mod attempts;
mod by_threads;
mod clocks;
mod concurrency_at_arrival;
mod counts;
mod criteria;
mod ends;
mod event_keys;
mod expected_arrivals;
mod finding;
mod generator_error;
pub mod hosts;
mod incomplete;
mod interim;
mod judge;
mod lateness;
mod measured;
mod merge;
mod metric_error;
mod metrics;
mod not_sent;
mod operational_time;
mod own_schedule;
mod pages;
mod pattern;
mod percent;
mod poisson;
pub mod policies;
mod principle_b;
mod queue;
mod reading;
mod reason;
mod requests;
mod run_verdict;
mod runs;
mod samples;
mod scans;
mod scenarios;
mod scheduling;
mod scope;
mod stability;
mod stalls;
mod stream;
mod tables;
mod threshold_sensitivity;
mod thresholds;
pub mod token_metrics;
mod twin;
mod verdict;
mod visits;
mod warnings;
mod windows;
mod wire;
mod workers;

pub use attempts::{AttemptRates, AttemptStats, SustainedByRetries};
pub use criteria::{Criteria, Failures, RandomRate, ScenarioCriteria};
pub use ends::Ends;
pub use expected_arrivals::ExpectedArrivals;
pub use generator_error::{GeneratorError, PercentileError};
pub use incomplete::{Incomplete, IncompleteCause};
pub use interim::{InterimStats, InterimVerdict, interim_verdict};
pub use measured::{BatchedTimes, Measurements, check_outcomes};
pub use merge::merge;
pub use metric_error::MetricError;
pub use metrics::{MetricStats, metric_values};
pub use not_sent::{NotSent, NotSentReason};
pub use own_schedule::OwnSchedule;
pub use pages::{Object, ObjectJoiner, Pages, response as page_response};
pub use principle_b::PrincipleB;
pub use samples::{Sample, samples};
pub use scheduling::{LatenessAction, PriorityAction};
pub use scope::{Scope, SentRequest};
pub use stability::{FlowCounts, SIGNIFICANT_GROWTH};
pub use tables::{Tables, toolkit};
pub use thresholds::{ThresholdResult, UncheckedReason};
pub use token_metrics::{GoodputStats, TokenMetrics};
pub use twin::{PairSampler, PairedInterval, PairedStats, SimulatedRequest, Twin, Unpaired};
pub use verdict::{
    Check, CheckResult, Clock, Dispersion, Expected, Finding, Lateness, Limits, NotCheckedReason, Pattern, Queue,
    ReadingLateness, RequestStats, Sessions, SizeStats, Source, Stability, StabilityState, Stalls, ThreadStats,
    TimeStats, Validity, Verdict, Verdicts, Warning, WarningKind, Window,
};
pub use visits::{StepStats, TimeSummary, VisitRecord, VisitStats, VisitTimes, VisitTracker};
pub use wire::OnTheWire;

use std::io;

use offered_events::Recording;

use run_verdict::verdict_on_run;
use scenarios::with_scenarios;
use scope::RunRange;

/// Verifies a recording.
///
/// Recordings are streamed; memory does not grow with their length. Up to a million events every number is exact. With
/// more events, counts, means, standard deviations, extremes and counts in windows remain exact; percentiles have a
/// relative error of at most 0.001; and tests of single gaps use a random sample of a million, drawn with the seed of
/// `criteria`. If a recording contains several runs, each run is judged; the verdict on the whole recording has figures, but no judgement.
///
/// # Errors
/// The recording cannot be read.
pub fn verify(recording: &Recording, criteria: &Criteria) -> io::Result<Verdict> {
    let split = runs::split(recording)?;
    let nothing = RunRange { rows: 0..recording.events.launches(), from: 0, to: 0 };
    let whole = RunRange::whole(recording).unwrap_or(nothing);
    let verdict = verdict_on_run(recording, &whole, criteria)?;
    if split.runs.len() < 2 {
        let warnings = verdict.warnings.into_iter().chain(split.warnings.into_iter().map(Warning::from)).collect();
        let verdict = Verdict { warnings, ..verdict };
        return Ok(match &criteria.scenarios {
            Some(scenarios) => with_scenarios(verdict, scenarios.verdicts(recording, criteria)?),
            None => verdict,
        });
    }
    let named = |number: usize| Criteria { path: format!("{}, run {number}", criteria.path), ..criteria.clone() };
    let numbered = (1..).zip(&split.runs);
    let runs: Vec<Verdict> =
        numbered.map(|(number, run)| verdict_on_run(recording, run, &named(number))).collect::<io::Result<_>>()?;
    let warnings = warnings::of_source(criteria, recording, None).into_iter().chain(split.warnings);
    Ok(summary_of_runs(verdict, runs, warnings.map(Warning::from).collect()))
}

/// The verdict on a file with several `runs`; `whole` is the verdict on all of them as one run.
fn summary_of_runs(mut whole: Verdict, runs: Vec<Verdict>, warnings: Vec<Warning>) -> Verdict {
    // There is no gap between two runs, and no common rate.
    whole.responses.iter_mut().chain(&mut whole.failures).for_each(|row| row.rate_per_s = None);
    Verdict {
        gaps: Vec::new(),
        by_node: Vec::new(),
        by_worker: Vec::new(),
        stability: None,
        queue: Queue { response_ms: whole.queue.response_ms, ..Queue::default() },
        dispersion: Vec::new(),
        findings: Vec::new(),
        warnings,
        pattern: Pattern::SeveralRuns,
        validity: validity_of_runs(&runs),
        reason: format!("the file contains {} runs, each judged separately", runs.len()),
        runs,
        ..whole
    }
}

/// The combined validity: invalid if any run is invalid, valid if all are valid, with warnings if one has warnings.
/// Runs with too few requests do not count.
fn validity_of_runs(runs: &[Verdict]) -> Validity {
    let judged = || runs.iter().filter(|run| run.pattern != Pattern::TooFewRequests).map(|run| run.validity);
    [Validity::Invalid, Validity::NotChecked, Validity::ValidWithWarnings, Validity::Valid]
        .into_iter()
        .find(|worst| judged().any(|validity| validity == *worst))
        .unwrap_or(Validity::NotChecked)
}

#[cfg(test)]
mod tests;
