//! Visits: the sessions of a partly-open system, and the walks of closed users through flows.
//!
//! A visit succeeds if all of its requests succeed and it is not cut off. The end of the run can cut it off, or its
//! user, who then makes the last steps of the session (`once.end`). Its response time is the sum of the response times
//! of its requests, without think time. Its duration is from the scheduled time of the first request to the end of the
//! last response, with think times.
//!
//! A group is the part of a visit from one step of a flow to another. It begins with the first request of the first step, and ends with the
//! last response of the second one. A visit may contain a group several times, or end before the group is complete.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use offered_base::{Difference, Instant, Nanos, count, short};
use offered_events::{Columns, Event, Outcome, Recording};
use offered_schedule::Flows;
use offered_schedule::flow::Once;
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::values::Sorted;
use offered_workload::Group;

use crate::pages::{self, ObjectJoiner};
use crate::requests::RequestCounter;
use crate::verdict::RequestStats;
pub use crate::verdict::{StepStats, TimeSummary, VisitStats, VisitTimes};

/// A visit or group that has ended, or that was cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitRecord {
    /// The number of the group in the workload; `None`: a visit.
    pub group: Option<usize>,
    /// Scheduled time of the first request.
    pub begins: Instant,
    /// The [place](offered_events::VisitPosition::place) of the first request in its flow.
    pub place: u16,
    /// Number of requests.
    pub requests: u64,
    /// The sum of the response times of its requests.
    pub response: Difference,
    /// The sum of the lateness of its requests.
    pub lateness: Difference,
    /// From the scheduled time of the first request to the end of the last response.
    pub duration: Difference,
    /// `Ok`, `Cut`, or the outcome of the first failed request.
    pub outcome: Outcome,
}

impl VisitRecord {
    /// One that begins with this request.
    fn begin(event: &Event, place: u16, group: Option<usize>) -> Self {
        let zero = Difference(0);
        let (begins, outcome) = (event.intended, Outcome::Ok);
        Self { group, begins, place, requests: 0, response: zero, lateness: zero, duration: zero, outcome }
    }

    /// Adds a request.
    fn add(&mut self, event: &Event, response: Option<Difference>) {
        let response = response.map_or(0, |response| response.0);
        self.requests += 1;
        self.response.0 += response;
        self.lateness.0 += event.lateness().map_or(0, |lateness| lateness.0);
        self.duration = Difference((event.intended - self.begins).0 + response);
        if self.outcome == Outcome::Ok {
            self.outcome = event.outcome;
        }
    }

    /// The same without its end.
    fn cut_off(self) -> Self {
        Self { outcome: if self.outcome == Outcome::Ok { Outcome::Cut } else { self.outcome }, ..self }
    }
}

/// Joins requests to visits and groups. Requests of a session arrive in their order.
#[derive(Clone, Debug, Default)]
pub struct VisitTracker {
    flows: Option<Arc<Flows>>,
    groups: Vec<Group>,
    open: HashMap<u64, OpenVisit>,
}

#[derive(Clone, Debug)]
struct OpenVisit {
    number: u16,
    /// The place of the visit's last request so far.
    place: u16,
    /// Whether the first request of the visit is known. (Sessions that are present when a run begins sent it earlier.)
    /// The last steps of a session after a visit that was cut off do not count as a visit.
    is_whole: bool,
    record: VisitRecord,
    /// Groups that have begun, each with whether its last step was reached.
    groups: Vec<(VisitRecord, bool)>,
}

/// When a session makes the step of this place, if it is not part of each visit.
fn once(flows: Option<&Flows>, place: u16) -> Option<Once> {
    flows?.flow_at(place)?.once
}

impl VisitTracker {
    /// A collector for visits through these flows and for these groups of their steps.
    pub fn new(flows: Option<Arc<Flows>>, groups: Vec<Group>) -> Self {
        Self { flows, groups, open: HashMap::new() }
    }

    /// Adds a request with its response time; that of a page ends with its last object. Passes visits and groups that
    /// have ended to
    /// `see`.
    pub fn add(&mut self, event: &Event, response: Option<Difference>, see: &mut impl FnMut(&VisitRecord)) {
        let Some(position) = event.visit else { return };
        let earlier = self.open.get(&event.session);
        let is_cut = earlier.is_some_and(|open| self.is_cut_off(open.place, position.place));
        if is_cut || earlier.is_some_and(|open| open.number != position.number) {
            // The end of the earlier visit is not recorded.
            self.close(event.session, false, see);
        }
        let open = self.open.entry(event.session).or_insert_with(|| OpenVisit {
            number: position.number,
            place: position.place,
            is_whole: once(self.flows.as_deref(), position.place) != Some(Once::End)
                && (event.step == 0 || position.number > 0),
            record: VisitRecord::begin(event, position.place, None),
            groups: Vec::new(),
        });
        // A visit is of the flow that it walks through, not of the steps that a session makes once.
        if once(self.flows.as_deref(), open.record.place).is_some()
            && once(self.flows.as_deref(), position.place).is_none()
        {
            open.record.place = position.place;
        }
        open.place = position.place;
        open.record.add(event, response);
        if !self.groups.is_empty() {
            let step = self.flows.as_ref().and_then(|flows| flows.step_number(position.place));
            open.add_to_groups(&self.groups, step, (event, response, position.place), see);
        }
        if position.ends {
            self.close(event.session, true, see);
        }
    }

    /// Whether a visit is cut off by a transition between two places: its session makes its last steps, although they
    /// do not follow the first place.
    fn is_cut_off(&self, from: u16, to: u16) -> bool {
        let Some(flows) = &self.flows else { return false };
        let is_end = |place| once(self.flows.as_deref(), place) == Some(Once::End);
        if !is_end(to) || is_end(from) {
            return false;
        }
        let (before, after) = (flows.step_number(from), flows.step_number(to).map(|step| step as u16));
        before.is_some_and(|step| !flows.followers(step as u16).contains(&after))
    }

    /// Passes the visit of `session` and its groups to `see`; `is_over` is true if the end of the visit is known.
    fn close(&mut self, session: u64, is_over: bool, see: &mut impl FnMut(&VisitRecord)) {
        let Some(OpenVisit { is_whole, record, groups, .. }) = self.open.remove(&session) else { return };
        for (group, is_reached) in groups {
            // Without the end of the visit, a group may have gone on with its last step.
            see(&if is_reached && is_over { group } else { group.cut_off() });
        }
        if is_whole {
            see(&if is_over { record } else { record.cut_off() });
        }
    }

    /// Passes the visits and groups that have not ended to `see` as cut off.
    pub fn finish(mut self, see: &mut impl FnMut(&VisitRecord)) {
        let sessions: Vec<u64> = self.open.keys().copied().collect();
        for session in sessions {
            self.close(session, false, see);
        }
    }
}

impl OpenVisit {
    /// Adds a request of step number `step` to the groups; it may begin or end groups.
    fn add_to_groups(
        &mut self,
        groups: &[Group],
        step: Option<usize>,
        (event, response, place): (&Event, Option<Difference>, u16),
        see: &mut impl FnMut(&VisitRecord),
    ) {
        let is = |other: u16| step == Some(usize::from(other));
        for (number, Group { from, to, .. }) in groups.iter().enumerate() {
            let begun = self.groups.iter().position(|(record, _)| record.group == Some(number));
            // The last step may be repeated; the next step ends the group.
            let left = begun.filter(|at| self.groups[*at].1 && !is(*to));
            if let Some(at) = left {
                see(&self.groups.swap_remove(at).0);
            }
            let at = match begun.filter(|_| left.is_none()) {
                Some(at) => at,
                None if is(*from) => {
                    self.groups.push((VisitRecord::begin(event, place, Some(number)), false));
                    self.groups.len() - 1
                }
                None => continue,
            };
            let (record, is_reached) = &mut self.groups[at];
            record.add(event, response);
            *is_reached |= is(*to);
        }
    }
}

/// Passes every request of a visit to `request`, and every visit and group of a new `tracker` to `visit`.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn each(
    recording: &Recording,
    mut tracker: VisitTracker,
    mut request: impl FnMut(&Event),
    mut visit: impl FnMut(&VisitRecord),
) -> io::Result<()> {
    let mut joined = ObjectJoiner::default();
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

    /// One row for each name that has visits, and with `total` a row for all.
    fn rows<'n>(self, names: impl Iterator<Item = &'n str>, total: bool) -> Vec<VisitTimes> {
        let (response, duration) = (self.response.sorted(), self.duration.sorted());
        let of = |times: &SortedGroups<i64>, group| times.group(group).and_then(summary);
        let mut rows = Vec::new();
        for (group, (name, counts)) in names.zip(&self.counts).enumerate() {
            let times = (of(&response, group), of(&duration, group));
            rows.extend((counts.all() > 0).then(|| counts.row(name, times)));
        }
        if total {
            let all = self.counts.iter().fold(Counts::default(), Counts::and);
            rows.push(all.row("Total", (summary(response.all()), summary(duration.all()))));
        }
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
            mean_requests: (self.ok > 0).then(|| self.requests as f64 / self.ok as f64),
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
    /// The visits and groups that began in `measured`, and the requests of their steps that were scheduled in it. `None` if no visit began.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn of(
        recording: &Recording,
        measured: &Range<Instant>,
        flows: Option<&Arc<Flows>>,
        groups: &[Group],
    ) -> io::Result<Option<Self>> {
        let (mut visits, mut of_groups) = (VisitCounter::default(), VisitCounter::default());
        let tracker = VisitTracker::new(flows.cloned(), groups.to_vec());
        let flows = flows.map(|flows| &**flows);
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
        each(recording, tracker, request, |visit| {
            if !measured.contains(&visit.begins) {
            } else if let Some(group) = visit.group {
                of_groups.add(group, visit);
            } else {
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
        let groups = of_groups.rows(groups.iter().map(|group| group.name.as_str()), false);
        Ok(Some(Self { flows: visits.rows(names.into_iter(), true), steps, groups }))
    }

    /// The row of all visits; `None` if there is none.
    pub fn total(&self) -> Option<&VisitTimes> {
        self.flows.last()
    }

    /// `310 ok, 2 failed, 8 cut off; 6.40 requests each; response p95 240 ms, with think time 31.2 s`.
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

    /// `310 ok, 2 failed; 3.00 requests each; duration p95 31.2 s, without think times 240 ms`.
    pub fn text(&self) -> String {
        let mut text = format!("{} ok, {} failed", count(self.ok), count(self.failed));
        if self.cut > 0 {
            text += &format!(", {} cut off", count(self.cut));
        }
        text += &self.mean_requests.map_or_else(String::new, |n| format!("; {} requests each", short(n)));
        if let (Some(response), Some(duration)) = (self.response, self.duration) {
            let [response, duration] =
                [response, duration].map(|of| Nanos::from_secs_f64(of.p95_ms.max(0.0) / 1e3)).map(time_text);
            text += &format!("; duration p95 {duration}, without think times {response}");
        }
        text
    }
}

/// A time as text: in ms, from ten seconds on in s.
fn time_text(time: Nanos) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 10.0 => format!("{} s", short(seconds)),
        seconds => format!("{} ms", short(1e3 * seconds)),
    }
}

#[cfg(test)]
mod tests;
