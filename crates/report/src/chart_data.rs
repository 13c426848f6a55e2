//! The data of all charts of a recording. Its size is bounded, whatever the length of the run.
//!
//! Time has at most 120 bins, durations have logarithmic bins, percentile curves a hundred points. Numbers in tables come from the
//! verdict; chart data are counted over the same requests.

mod concurrency;
mod distribution;
mod gaps;
mod grid;
mod over_time;

pub use concurrency::ConcurrencyAtArrival;
pub use distribution::{ConfidenceInterval, TimeDistribution};
use gaps::GapsBuilder;
pub use gaps::{Counts, Excerpt, Gaps};
pub use grid::{Grid, Percentiles};
pub use over_time::OverTime;

use std::io;
use std::ops::Range;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use offered_experiment::{Failure, failures};
use offered_verify::{Criteria, Pages, Scope, Window};
use serde::{Deserialize, Serialize};

/// The analysed time, on the recording's clock.
fn analysed_time(recording: &Recording, window: &Window) -> Range<Instant> {
    let from = |origin: Instant, s: f64| origin + Nanos::from_secs_f64(s);
    match origin(recording).unwrap_or_default() {
        // For a file, both ends are inclusive.
        first if !recording.on_run_clock => from(first, window.start_s)..from(first, window.end_s) + Nanos(1),
        start => from(start, window.start_s)..from(start, window.end_s),
    }
}

/// Time zero: the start of a run, or the first request of a file; `None` if nothing was sent.
fn origin(recording: &Recording) -> Option<Instant> {
    let (first, _) = recording.events.extent().sent?;
    Some(if recording.on_run_clock { Instant::ZERO } else { first })
}

/// The next larger duration of 1, 2 or 5 times a power of ten, in ns.
fn round_up(ns: u64) -> u64 {
    let decades = (0..19).map(|power| 10u64.pow(power));
    decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).find(|round| *round >= ns).unwrap_or(u64::MAX)
}

/// The next multiple of the clock tick; `u64::MAX` on overflow.
fn whole_ticks(ns: u64, tick: u64) -> u64 {
    ns.checked_next_multiple_of(tick).unwrap_or(u64::MAX)
}

/// The data of all charts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChartData {
    /// The whole run over time, including the excluded ends.
    pub over_time: OverTime,
    /// Response times by the number of requests in flight at arrival.
    pub concurrency_at_arrival: Option<ConcurrencyAtArrival>,
    /// Response time (done - scheduled) of successful requests.
    pub response: Option<TimeDistribution>,
    /// Service time (done - sent) of successful requests; `None` without scheduled times.
    pub service: Option<TimeDistribution>,
    /// Lateness (sent - scheduled); `None` without scheduled times.
    pub lateness: Option<TimeDistribution>,
    /// Gaps between requests, or between session starts.
    pub gaps: Option<Gaps>,
    /// Counts per interval.
    pub counts: Option<Counts>,
    /// Some consecutive requests.
    pub excerpt: Excerpt,
    /// Pages with embedded objects.
    pub pages: Option<Pages>,
    /// Failures of the whole run by request and reason, the most frequent first.
    pub failures: Vec<Failure>,
}

impl ChartData {
    /// The chart data of the requests that the verdict analysed; `None` if nothing was sent.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(recording: &Recording, ask: &Criteria, window: &Window) -> io::Result<Option<Self>> {
        let Some(scope) = Scope::of(recording, ask) else { return Ok(None) };
        let tick = recording.resolution.0.max(1);
        let known = recording.intent_known;
        // In a partly-open system, the arrivals are the session starts.
        let sessions_only = ask.expected.applies_to_sessions();
        let of = if sessions_only { "session starts" } else { "requests" };
        let ends = scope.ends(|event| !sessions_only || event.step == 0)?;
        let sent = scope.in_sent_order(
            || GapsBuilder::new(of, ends, tick),
            |sent, launch| {
                if !sessions_only || launch.first {
                    sent.add(launch.sent);
                }
            },
        )?;
        let (gaps, counts, excerpt) = sent.finish(scope, known)?;
        let Some(over_time) = OverTime::of(recording, [window.start_s, window.end_s])? else { return Ok(None) };
        let good = |event: &Event| event.outcome == Outcome::Ok;
        let [response, service, lateness] = TimeDistribution::of(
            scope,
            tick,
            [
                &|event| event.response().filter(|_| good(event)),
                &|event| event.service().filter(|_| known && good(event)),
                &|event| event.lateness().filter(|_| known),
            ],
        )?;
        Ok(Some(Self {
            over_time,
            concurrency_at_arrival: ConcurrencyAtArrival::of(scope)?,
            response,
            service,
            lateness,
            gaps,
            counts,
            excerpt,
            pages: Pages::of(recording, analysed_time(recording, window), &ask.pages)?,
            failures: failures(recording)?,
        }))
    }
}
