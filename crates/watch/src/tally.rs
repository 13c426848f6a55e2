//! The tally: running statistics of a run's events.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};
use offered_run::Counts;
use offered_schedule::Sessions;
use offered_stats::cov::exponential_interval;
use offered_stats::growth::growth;
use offered_verify::{
    CheckResult, Criteria, InterimStats, Object, ObjectJoiner, Pattern, PercentileError, ThresholdResult, VisitTracker,
    interim_verdict, page_response,
};
use offered_workload::retry::{Backoff, Retry, RetryPolicies};
use offered_workload::{Target, Workload};

use crate::gaps::Gaps;

use crate::snapshot::{Growth, LiveRequest, LiveStats, LiveVisits, Phase, Snapshot};
use crate::threshold_tracker::ThresholdTracker;
use crate::times::{RECENT, Ring, Services, Times};
use crate::totals::Totals;

/// Events arrive at most this long after they happen, because they are batched.
const BATCH_DELAY: Nanos = Nanos::from_secs(5);

/// Minimum number of seconds before growth is reported. Of 150 queues that started empty at a load of 0.9 and were checked every second of a
/// minute, none was reported as growing after this time. At a load of 1.5, all but one in a hundred were reported within nine seconds.
const SECONDS_OF_GROWTH: usize = 5;

/// Maximum number of requests with statistics of their own.
const MAX_LABELS: usize = 1000;

/// The longest time from sending a request until its last attempt ends, with the waits between attempts.
fn longest_request(workload: &Workload) -> Nanos {
    let attempt = |target: &Target| {
        let usual = target.response_timeout();
        target.connect_timeout() + workload.time_limits().map_or(usual, |limits| limits.longest(usual))
    };
    let attempt = workload.targets().map(attempt).max().unwrap_or(Nanos::ZERO);
    let with_retries = |retry: &Retry| {
        let (Backoff::Constant(wait) | Backoff::Exponential { max: wait, .. }) = retry.wait;
        attempt + Nanos((wait + attempt).0.saturating_mul(retry.times.into()))
    };
    let policies = workload.retry_policies();
    policies.iter().flat_map(RetryPolicies::policies).map(with_retries).max().unwrap_or(attempt)
}

/// Running statistics of the events of one run, in any order.
pub struct Tally {
    workload: Workload,
    fraction: f64,
    /// The maximum number of requests; for a share, accurate to one.
    max_requests: Option<u64>,
    criteria: Criteria,
    /// The range of scheduled times in the analysed time.
    analysed: Range<Instant>,
    /// Maximum time from sending a request until its event arrives.
    longest: Nanos,
    all: Times,
    ring: Ring,
    /// Service times in the analysed time.
    service: Services,
    /// Sent requests; in a partly-open system the first of each session.
    sent: Gaps,
    /// The scheduled times.
    scheduled: Gaps,
    outcomes: [u64; Outcome::ALL.len()],
    /// Number of retries of ended requests.
    retries: u64,
    statuses: BTreeMap<u16, u64>,
    /// The first requests of the workload in order of labels: name, times, successes, failures.
    requests: Vec<(String, Times, u64, u64)>,
    /// Name, times, successes and failures of the scenarios of the workload.
    scenarios: Vec<(String, Times, u64, u64)>,
    trackers: Vec<ThresholdTracker>,
    joined: ObjectJoiner,
    visits: VisitTracker,
    /// Visits that have ended; `None` if there are none.
    ended_visits: Option<LiveVisits>,
    /// Totals for metrics, if enabled.
    totals: Option<Arc<Totals>>,
    /// The first failed threshold that ends the run, with its value at that time.
    failed_threshold: Option<String>,
    /// The number in flight at each snapshot in the analysed time.
    in_flight: Vec<f64>,
    /// Number of requests in the analysed time: sent, and not sent.
    counts: (u64, u64),
    /// The first and last send time.
    span: Option<(Instant, Instant)>,
    /// Number of sent requests at each snapshot of the last seconds.
    before: VecDeque<(Instant, u64)>,
    /// The first and the last snapshot in the analysed time, with the number of sent requests.
    counting: Option<((Instant, u64), (Instant, u64))>,
}

impl Tally {
    /// A tally for a run of this fraction of `workload`.
    pub fn new(workload: &Workload, fraction: f64) -> Self {
        let labels = workload.labels();
        Self {
            workload: workload.clone(),
            fraction,
            max_requests: workload.max_requests().map(|most| (most as f64 * fraction).ceil() as u64),
            criteria: Criteria::from_workload(workload, fraction),
            analysed: workload.counted(),
            longest: longest_request(workload) + BATCH_DELAY,
            all: Times::default(),
            ring: Ring::default(),
            service: Services::default(),
            sent: Gaps::default(),
            scheduled: Gaps::default(),
            outcomes: [0; Outcome::ALL.len()],
            retries: 0,
            statuses: BTreeMap::new(),
            requests: labels.iter().take(MAX_LABELS).cloned().map(empty_row).collect(),
            scenarios: workload.scenario_names().into_iter().map(empty_row).collect(),
            trackers: ThresholdTracker::all(
                workload.thresholds(),
                &labels,
                &workload.pages(),
                [&workload.checks(), &workload.metrics()],
                workload.goodput(),
                workload.flows(),
            ),
            joined: ObjectJoiner::default(),
            visits: VisitTracker::new(workload.flows().cloned(), workload.groups().to_vec()),
            ended_visits: workload.sessions().have_visits().then(LiveVisits::default),
            totals: None,
            failed_threshold: None,
            in_flight: Vec::new(),
            counts: (0, 0),
            span: None,
            before: VecDeque::from([(Instant::ZERO, 0)]),
            counting: (workload.counted().start == Instant::ZERO).then_some(((Instant::ZERO, 0), (Instant::ZERO, 0))),
        }
    }

    /// Enables [`Totals`] in snapshots.
    pub fn enable_totals(&mut self) {
        let users = match self.workload.sessions() {
            Sessions::Closed(closed) => Some((closed.users() as f64 * self.fraction).round() as u64),
            _ => None,
        };
        self.totals = Some(Arc::new(Totals::new(&self.workload.labels(), users)));
    }

    /// Adds events.
    pub fn add(&mut self, events: &[Event]) {
        let sessions_only = matches!(self.workload.sessions(), Sessions::PartlyOpen { .. });
        for event in events {
            let Some(objects) = self.joined.add(event) else { continue };
            self.outcomes[event.outcome as usize] += 1;
            self.retries += u64::from(event.retries);
            if let Some(totals) = &mut self.totals {
                Arc::make_mut(totals).add(event, &objects);
            }
            if event.status > 0 {
                *self.statuses.entry(event.status).or_default() += 1;
            }
            self.ring.add(event);
            self.add_to_visit(event, &objects);
            if !self.analysed.contains(&event.intended) {
                continue;
            }
            self.all.add(event);
            self.service.add(event);
            self.trackers.iter_mut().for_each(|tracker| tracker.add(event, &objects));
            let scenario = self.workload.scenarios().map(|scenarios| scenarios.split(event.session).0);
            let request = self.requests.get_mut(usize::from(event.label));
            for (_, times, ok, failed) in request.into_iter().chain(scenario.and_then(|n| self.scenarios.get_mut(n))) {
                times.add(event);
                *(if event.outcome == Outcome::Ok { ok } else { failed }) += 1;
            }
            // A request that could not be sent by the rules of the workload is no arrival.
            if matches!(event.outcome, Outcome::NoValue | Outcome::BreakerOpen) {
                continue;
            }
            let counts_for_gaps = !sessions_only || event.step == 0;
            if counts_for_gaps {
                self.scheduled.insert(event.intended.0);
            }
            let Some(sent) = event.sent else {
                self.counts.1 += 1;
                continue;
            };
            self.counts.0 += 1;
            self.span = Some(self.span.map_or((sent, sent), |(first, last)| (first.min(sent), last.max(sent))));
            if counts_for_gaps {
                self.sent.insert(sent.0);
            }
        }
    }

    /// Adds a request to its visit; the visit may end with this request.
    fn add_to_visit(&mut self, event: &Event, objects: &[Object]) {
        let Some(ended) = self.ended_visits.as_mut().filter(|_| event.visit.is_some()) else { return };
        let (analysed, trackers, groups) = (&self.analysed, &mut self.trackers, self.workload.groups());
        self.visits.add(event, page_response(event, objects), &mut |visit| {
            if analysed.contains(&visit.begins) {
                ended.add(visit);
                for tracker in &mut *trackers {
                    tracker.add_visit(visit, groups);
                }
            }
        });
    }

    /// The figures at `now`. `live` are the current counts of the generator; `stopping` is true once the run was stopped.
    pub fn snapshot(&mut self, now: Instant, live: Counts, stopping: bool) -> Snapshot {
        let forget_before = now.earlier(self.longest).0;
        self.sent.forget(forget_before);
        self.scheduled.forget(forget_before);
        // The two counts are not read at the same instant.
        let sent = live.requests.saturating_sub(live.unsent);
        let since = self.recent_from(now, sent);
        let (from, to) = (self.analysed.start, now.min(self.analysed.end));
        let recent = self.ring.recent(now);
        let so_far = LiveStats {
            target_rate_per_s: self.target_rate(from, to),
            sent_rate_per_s: self.sent_rate_per_s(now, sent, live.in_flight),
            completed_rate_per_s: rate(self.all.completed(), from.until(to)),
            response: self.all.response(),
            lateness: self.all.lateness(),
        };
        let service = self.service.percentiles();
        if (from..self.analysed.end).contains(&now) {
            self.in_flight.push(live.in_flight as f64);
        }
        let interim = interim_verdict(&self.so_far(so_far.target_rate_per_s, live.in_flight), &self.criteria);
        // Requests in flight have no events yet. If there are many, the gaps between the others are meaningless.
        let has_pattern = interim.pattern != Pattern::TooFewRequests;
        let cov = self.sent.cov().filter(|_| has_pattern);
        let interval = cov.map(|cov| exponential_interval(cov, self.sent.count()));
        let results = self.trackers.iter().map(|tracker| tracker.result(from.until(to), self.sent_rate(), cov));
        let is_share = self.criteria.is_share;
        let thresholds: Vec<ThresholdResult> =
            results.map(|result| if is_share { result.of_share() } else { result }).collect();
        if self.failed_threshold.is_none() && !stopping {
            self.failed_threshold = self.first_failed_threshold(&thresholds, now);
        }
        Snapshot {
            time_s: now.as_secs_f64(),
            duration_s: self.workload.time_limit().map(Nanos::as_secs_f64),
            max_requests: self.max_requests,
            phase: self.phase(now, stopping, live.requests),
            recent: LiveStats {
                target_rate_per_s: self.target_rate(since.0, now),
                sent_rate_per_s: rate(sent.saturating_sub(since.1), since.0.until(now)),
                completed_rate_per_s: rate(recent.completed(), Instant::ZERO.until(now).min(Nanos::from_secs(RECENT))),
                response: recent.response(),
                lateness: recent.lateness(),
            },
            so_far,
            service,
            by_request: self.by_request(),
            by_scenario: self.scenarios.iter().map(live_row).collect(),
            workers: Vec::new(),
            response_histogram: recent.histogram(),
            thresholds,
            failed_threshold: self.failed_threshold.clone(),
            write_error: None,
            growth: self.growth(),
            requests: live.requests,
            unsent: live.unsent,
            in_flight: live.in_flight,
            retries: self.retries,
            visits: self.ended_visits,
            outcomes: Outcome::ALL.iter().map(|o| (*o, self.outcomes[*o as usize])).filter(|o| o.1 > 0).collect(),
            statuses: self.statuses.clone(),
            measured_cov: cov,
            measured_cov_low: interval.map(|interval| interval.low),
            measured_cov_high: interval.map(|interval| interval.high),
            scheduled_cov: self.scheduled.cov().filter(|_| has_pattern),
            pattern: interim.pattern,
            validity: interim.validity,
            reason: interim.reason,
            totals: self.totals.clone(),
        }
    }

    /// The final figures of a run.
    pub fn final_snapshot(&mut self, now: Instant, live: Counts) -> Snapshot {
        Snapshot { phase: Phase::Ended, ..self.snapshot(now, live, true) }
    }

    /// Whether a threshold of the workload may end the run.
    pub fn can_stop(&self) -> bool {
        self.workload.thresholds().iter().any(|threshold| threshold.stop.is_some())
    }

    /// Describes the first failed threshold that ends the run now.
    fn first_failed_threshold(&self, thresholds: &[ThresholdResult], now: Instant) -> Option<String> {
        let ends_run = |checked: &&ThresholdResult| {
            let from = checked.threshold.stop.map(|after| self.analysed.start + after);
            checked.result == CheckResult::Failed && from.is_some_and(|from| now >= from)
        };
        let failed_threshold = thresholds.iter().find(ends_run)?;
        let (value, requests) = (failed_threshold.value_text(), self.counts.0 + self.counts.1);
        Some(format!(
            "{} failed: {value} after {:.1} s, of {requests} requests",
            failed_threshold.threshold,
            now.as_secs_f64()
        ))
    }

    /// The rows of the most frequent requests, and the total if there are several.
    fn by_request(&self) -> Vec<LiveRequest> {
        let rows = self.requests.iter().map(live_row);
        let mut rows: Vec<LiveRequest> = rows.filter(|row| row.ok + row.failed > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.ok + row.failed));
        let (ok, failed) = rows.iter().fold((0, 0), |(ok, failed), row| (ok + row.ok, failed + row.failed));
        let total = LiveRequest { name: "Total".to_owned(), ok, failed, response: self.all.response() };
        let several = rows.len() > 1;
        rows.truncate(Snapshot::MAX_REQUESTS);
        rows.extend(several.then_some(total));
        rows
    }

    /// Growth of the number in flight so far. `None` in the first [`SECONDS_OF_GROWTH`] of the analysed time, and in a closed system, where
    /// it is bounded.
    fn growth(&self) -> Option<Growth> {
        if self.in_flight.len() < SECONDS_OF_GROWTH || matches!(self.workload.sessions(), Sessions::Closed(_)) {
            return None;
        }
        let changes: Vec<f64> = self.in_flight.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let growth = growth(&changes)?;
        let matters = self.sent_rate().is_some_and(|rate| growth.mean > offered_verify::SIGNIFICANT_GROWTH * rate);
        Some(Growth { per_s: growth.mean, overloaded: matters && growth.interval.low > 0.0 })
    }

    /// The statistics for the interim verdict.
    fn so_far(&self, target_rate_per_s: Option<f64>, in_flight: u64) -> InterimStats {
        // A random rate is compared with its schedule, which is known only after the run.
        let steady = self.criteria.target_rate_per_s.is_some() && self.criteria.random_rate.is_none();
        let judged_per_s = target_rate_per_s.filter(|_| steady).map(|target| target / self.per_session());
        InterimStats {
            gaps: self.sent.count(),
            measured_cov: self.sent.cov(),
            scheduled_cov: self.scheduled.cov(),
            rate_ratio: self.sent.rate_per_s().zip(judged_per_s).map(|(sent, target)| sent / target),
            scheduled_rate_ratio: self.scheduled.rate_per_s().zip(judged_per_s).map(|(rate, target)| rate / target),
            is_own_schedule: true,
            lateness_p99_us: self.all.lateness().map(|lateness| lateness.p99_us),
            worst_percentile: self.worst(),
            sent: self.counts.0,
            unsent: self.counts.1,
            in_flight,
        }
    }

    /// The percentile with the largest share of lateness.
    fn worst(&self) -> Option<PercentileError> {
        let (response, service) = (self.all.response()?, self.service.percentiles()?);
        let error = |percentile, response_ms: f64, service_ms: f64| PercentileError {
            percentile,
            response_ms,
            service_ms,
            with_unsent_ms: None,
            lateness_share: (1.0 - service_ms / response_ms).max(0.0),
            bunching_share: None,
            reading_share: None,
            writing_share: None,
        };
        let all = [
            error(50.0, response.p50_ms, service.p50_ms),
            error(95.0, response.p95_ms, service.p95_ms),
            error(99.0, response.p99_ms, service.p99_ms),
        ];
        all.into_iter().max_by(|a, b| a.lateness_share.total_cmp(&b.lateness_share))
    }

    /// Mean number of requests per session in a partly-open system, otherwise 1.
    fn per_session(&self) -> f64 {
        match self.workload.sessions() {
            Sessions::PartlyOpen { length, .. } => length.mean(),
            _ => 1.0,
        }
    }

    fn phase(&self, now: Instant, stopping: bool, requests: u64) -> Phase {
        match now {
            _ if stopping => Phase::Stopping,
            Instant::ZERO => Phase::Starting,
            _ if self.max_requests.is_some_and(|most| requests >= most) => Phase::Draining,
            now if now < self.analysed.start => Phase::WarmingUp,
            now if now < self.workload.end() => Phase::Running,
            _ => Phase::Draining,
        }
    }

    /// The start of the last ten seconds and the number of requests sent before; records the number `sent` at `now`.
    fn recent_from(&mut self, now: Instant, sent: u64) -> (Instant, u64) {
        self.before.push_back((now, sent));
        while self.before.len() > 2 && self.before[1].0 + Nanos::from_secs(RECENT) <= now {
            self.before.pop_front();
        }
        self.before[0]
    }

    /// Sent requests per second in the analysed time: from events if all requests have ended, otherwise from the generator's
    /// counts.
    fn sent_rate_per_s(&mut self, now: Instant, sent: u64, in_flight: u64) -> Option<f64> {
        if self.analysed.contains(&now) {
            // Skip a second that starts before the analysed time.
            let begun = self.counting.map_or((now, sent), |(begun, _)| begun);
            self.counting = Some((begun, (now, sent)));
        }
        let counting = self.counting.filter(|_| in_flight > 0);
        counting.map_or_else(|| self.sent_rate(), |((from, before), (to, after))| rate(after - before, from.until(to)))
    }

    /// Sent requests per second in the analysed time, from ended requests.
    fn sent_rate(&self) -> Option<f64> {
        let (first, last) = self.span?;
        rate(self.counts.0 - 1, first.until(last))
    }

    /// The target rate from `from` to `to`; 0 after the run's duration.
    fn target_rate(&self, from: Instant, to: Instant) -> Option<f64> {
        let requests = self.workload.scheduled_before(to)? - self.workload.scheduled_before(from)?;
        (to > from).then(|| requests * self.fraction / from.until(to).as_secs_f64())
    }
}

/// The row of a request or scenario without events.
fn empty_row(name: String) -> (String, Times, u64, u64) {
    (name, Times::default(), 0, 0)
}

fn live_row((name, times, ok, failed): &(String, Times, u64, u64)) -> LiveRequest {
    LiveRequest { name: name.clone(), ok: *ok, failed: *failed, response: times.response() }
}

fn rate(n: u64, span: Nanos) -> Option<f64> {
    (span > Nanos::ZERO).then(|| n as f64 / span.as_secs_f64())
}

#[cfg(test)]
mod tests;
