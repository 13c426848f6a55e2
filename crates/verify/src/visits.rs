//! Visits: the sessions of a partly-open system, and the walks of closed users through flows.
//!
//! A visit succeeds if all of its requests do and the end of the run does not cut it off. Its response time is the sum of the response times of
//! its requests: what the visitor waits, without think time. Its duration is from the scheduled time of the first request to the end of the
//! last response, with think times.

use std::collections::HashMap;
use std::io;
use std::ops::Range;

use offered_base::{Difference, Instant, Nanos, count, short};
use offered_events::{Columns, Event, Outcome, Recording};
use offered_schedule::Flows;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::values::Sorted;
use serde::{Deserialize, Serialize};

use crate::pages::{self, ObjectJoiner};
use crate::requests::RequestCounter;
use crate::verdict::RequestStats;

/// The visits of a run that began in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisitStats {
    /// Counts and times, one row per flow, then `Total`.
    pub flows: Vec<VisitTimes>,
    /// Requests by step, in the order of the workload. A request that several steps make has a row for each. Empty without flows.
    pub steps: Vec<StepStats>,
}

/// Counts and times of visits. Times are of successful visits; `None` if there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisitTimes {
    /// The name of the flow, or `Total`.
    pub label: String,
    /// Number of visits that succeeded: all of their requests did.
    pub ok: u64,
    /// Number of visits with a failed request.
    pub failed: u64,
    /// Number of visits that the end of the run cut off, without a failed request so far.
    pub cut: u64,
    /// Mean number of requests of successful visits.
    pub requests_per_visit: Option<f64>,
    /// Response time of a visit: the sum of the response times of its requests, without think time.
    pub response: Option<TimeSummary>,
    /// Duration of a visit, with think times.
    pub duration: Option<TimeSummary>,
}

/// Mean and percentiles of times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The maximum.
    pub max_ms: f64,
}

/// The requests of one step of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepStats {
    /// The flow and the step: `visitor/look`.
    pub step: String,
    /// Counts and response times; `label` is the name of the request.
    #[serde(flatten)]
    pub requests: RequestStats,
}

/// A visit that has ended, or that the end of the run cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitRecord {
    /// Scheduled time of the first request.
    pub begins: Instant,
    /// The [place](offered_events::VisitPosition::place) of the first request.
    pub place: u16,
    /// Number of requests.
    pub requests: u64,
    /// The sum of their response times.
    pub response: Difference,
    /// The sum of their lateness.
    pub lateness: Difference,
    /// From the scheduled time of the first request to the end of the last response.
    pub duration: Difference,
    /// `Ok`, `Cut`, or the outcome of the first failed request.
    pub outcome: Outcome,
}

/// Joins requests to visits. Requests of a session arrive in their order.
#[derive(Clone, Debug, Default)]
pub struct VisitTracker {
    open: HashMap<u64, OpenVisit>,
}

#[derive(Clone, Copy, Debug)]
struct OpenVisit {
    number: u16,
    /// Whether its first request is known; the sessions that are present when a run begins made it earlier.
    is_whole: bool,
    record: VisitRecord,
}

impl VisitTracker {
    /// Adds a request with its response time, which for a page is until its last object is done. Passes visits that have ended to `see`.
    pub fn add(&mut self, event: &Event, response: Option<Difference>, see: &mut impl FnMut(&VisitRecord)) {
        let Some(position) = event.visit else { return };
        if self.open.get(&event.session).is_some_and(|open| open.number != position.number) {
            // The end of the earlier visit is not recorded.
            self.close(event.session, see);
        }
        let open = self.open.entry(event.session).or_insert_with(|| OpenVisit {
            number: position.number,
            is_whole: event.step == 0 || position.number > 0,
            record: VisitRecord {
                begins: event.intended,
                place: position.place,
                requests: 0,
                response: Difference(0),
                lateness: Difference(0),
                duration: Difference(0),
                outcome: Outcome::Ok,
            },
        });
        let record = &mut open.record;
        record.requests += 1;
        record.response.0 += response.map_or(0, |response| response.0);
        record.lateness.0 += event.lateness().map_or(0, |lateness| lateness.0);
        record.duration = event.intended - record.begins;
        record.duration.0 += response.map_or(0, |response| response.0);
        if record.outcome == Outcome::Ok {
            record.outcome = event.outcome;
        }
        if position.ends {
            let OpenVisit { is_whole, record, .. } = *open;
            self.open.remove(&event.session);
            if is_whole {
                see(&record);
            }
        }
    }

    /// Passes the visit of `session` to `see` as cut off.
    fn close(&mut self, session: u64, see: &mut impl FnMut(&VisitRecord)) {
        let Some(OpenVisit { is_whole: true, record, .. }) = self.open.remove(&session) else { return };
        let outcome = if record.outcome == Outcome::Ok { Outcome::Cut } else { record.outcome };
        see(&VisitRecord { outcome, ..record });
    }

    /// Passes the visits that have not ended to `see` as cut off.
    pub fn finish(mut self, see: &mut impl FnMut(&VisitRecord)) {
        let sessions: Vec<u64> = self.open.keys().copied().collect();
        sessions.into_iter().for_each(|session| self.close(session, see));
    }
}

/// Passes every request of a visit to `request` and every visit to `visit`.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn each(
    recording: &Recording,
    mut request: impl FnMut(&Event),
    mut visit: impl FnMut(&VisitRecord),
) -> io::Result<()> {
    let (mut joined, mut tracker) = (ObjectJoiner::default(), VisitTracker::default());
    recording.events.batches(Columns::Response, &mut |events| {
        for event in events {
            if let Some(objects) = joined.add(event)
                && event.visit.is_some()
            {
                request(event);
                tracker.add(event, pages::response(event, &objects), &mut visit);
            }
        }
    })?;
    tracker.finish(&mut visit);
    Ok(())
}

/// Counts and times of visits of several groups.
#[derive(Default)]
struct VisitCounter {
    counts: Vec<Counts>,
    response: Groups<i64>,
    duration: Groups<i64>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    ok: u64,
    failed: u64,
    cut: u64,
    requests: u64,
}

impl VisitCounter {
    fn add(&mut self, group: usize, visit: &VisitRecord) {
        if self.counts.len() <= group {
            self.counts.resize_with(group + 1, Counts::default);
        }
        let counts = &mut self.counts[group];
        match visit.outcome {
            Outcome::Ok => {
                counts.ok += 1;
                counts.requests += visit.requests;
                self.response.add(group, visit.response.0);
                self.duration.add(group, visit.duration.0);
            }
            Outcome::Cut => counts.cut += 1,
            _ => counts.failed += 1,
        }
    }

    /// A row per name whose group has visits, then the total.
    fn rows(self, names: &[&str]) -> Vec<VisitTimes> {
        let (response, duration) = (self.response.sorted(), self.duration.sorted());
        let of = |times: &SortedGroups<i64>, group| times.group(group).and_then(summary);
        let mut rows = Vec::new();
        for (group, (name, counts)) in names.iter().zip(&self.counts).enumerate() {
            let times = (of(&response, group), of(&duration, group));
            rows.extend((counts.all() > 0).then(|| counts.row(name, times)));
        }
        let total = self.counts.iter().fold(Counts::default(), |total, counts| total.and(counts));
        rows.push(total.row("Total", (summary(response.all()), summary(duration.all()))));
        rows
    }
}

impl Counts {
    fn all(&self) -> u64 {
        self.ok + self.failed + self.cut
    }

    fn and(self, other: &Self) -> Self {
        Self {
            ok: self.ok + other.ok,
            failed: self.failed + other.failed,
            cut: self.cut + other.cut,
            requests: self.requests + other.requests,
        }
    }

    fn row(&self, name: &str, (response, duration): (Option<TimeSummary>, Option<TimeSummary>)) -> VisitTimes {
        VisitTimes {
            label: name.to_owned(),
            ok: self.ok,
            failed: self.failed,
            cut: self.cut,
            requests_per_visit: (self.ok > 0).then(|| self.requests as f64 / self.ok as f64),
            response,
            duration,
        }
    }
}

fn summary(times: &Sorted<i64>) -> Option<TimeSummary> {
    let ms = times.summary(1e6)?;
    Some(TimeSummary { mean_ms: ms.mean, p50_ms: ms.median, p95_ms: ms.p95, p99_ms: ms.p99, max_ms: ms.max })
}

impl VisitStats {
    /// The visits that began in `measured`, and the requests of their steps that were scheduled in it. `None` if no visit began.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(recording: &Recording, measured: &Range<Instant>, flows: Option<&Flows>) -> io::Result<Option<Self>> {
        let mut visits = VisitCounter::default();
        let steps = flows.map_or(&[][..], Flows::steps);
        let names: Vec<&str> = flows.into_iter().flat_map(Flows::flows).map(|flow| flow.name.as_str()).collect();
        let (mut requests, mut labels) = (RequestCounter::new(steps.len()), vec![0; steps.len()]);
        let request = |event: &Event| {
            let step = event.visit.and_then(|position| flows?.step_number(position.place));
            // A request that lacked a value was not due.
            let counts = measured.contains(&event.intended) && event.outcome != Outcome::NoValue;
            if let Some(step) = step.filter(|_| counts) {
                labels[step] = event.label;
                requests.add_to(step, event);
            }
        };
        each(recording, request, |visit| {
            if measured.contains(&visit.begins) {
                let flow = flows.and_then(|flows| flows.flow_at(visit.place));
                let number = flow.and_then(|flow| names.iter().position(|name| *name == flow.name));
                visits.add(number.unwrap_or(0), visit);
            }
        })?;
        if visits.counts.is_empty() {
            return Ok(None);
        }
        let rows = flows.map_or_else(Vec::new, Flows::step_names).into_iter().zip(labels).zip(requests.by_number());
        let step = |((step, label), requests): ((String, u16), RequestStats)| {
            let label = recording.labels.get(usize::from(label)).cloned().unwrap_or_default();
            StepStats { step, requests: RequestStats { label, ..requests } }
        };
        let steps = rows.map(step).filter(|row| row.requests.requests > 0).collect();
        Ok(Some(Self { flows: visits.rows(&names), steps }))
    }

    /// All visits.
    pub fn total(&self) -> Option<&VisitTimes> {
        self.flows.last()
    }

    /// `310 ok, 2 failed, 8 cut off by the end; 6.4 requests each; response p95 240 ms, duration p95 31.2 s`.
    pub fn text(&self) -> String {
        self.total().map_or_else(String::new, VisitTimes::text)
    }
}

impl VisitTimes {
    /// Number of visits.
    pub fn visits(&self) -> u64 {
        self.ok + self.failed + self.cut
    }

    /// Share of the visits that succeeded, without those that were cut off; `None` if all were.
    pub fn success_percent(&self) -> Option<f64> {
        let judged = self.ok + self.failed;
        (judged > 0).then(|| 100.0 * self.ok as f64 / judged as f64)
    }

    fn text(&self) -> String {
        let mut text = format!("{} ok, {} failed", count(self.ok), count(self.failed));
        if self.cut > 0 {
            text += &format!(", {} cut off by the end", count(self.cut));
        }
        text += &self.requests_per_visit.map_or_else(String::new, |n| format!("; {} requests each", short(n)));
        if let (Some(response), Some(duration)) = (self.response, self.duration) {
            let [response, duration] =
                [response, duration].map(|of| Nanos::from_secs_f64(of.p95_ms.max(0.0) / 1e3)).map(time_text);
            text += &format!("; response p95 {response}, with think time {duration}");
        }
        text
    }
}

/// A time in ms, from ten seconds on in s.
fn time_text(time: Nanos) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 10.0 => format!("{} s", short(seconds)),
        seconds => format!("{} ms", short(1e3 * seconds)),
    }
}

#[cfg(test)]
mod tests;
