//! The verdict on a single run, in three steps: prepare (counts in the order of the recording), measure (statistics in the order of
//! time), judge (findings, validity and reason).

use std::borrow::Cow;
use std::cell::OnceCell;
use std::io;

use offered_base::Nanos;
use offered_events::Recording;
use offered_events::document::Schema;
use offered_stats::cov::exponential_interval;
use offered_stats::dispersion::Dispersion as CountDispersion;
use offered_stats::values::Sorted;

use crate::attempts::AttemptStats;
use crate::counts::Counts;
use crate::criteria::Criteria;
use crate::finding::Strictness;
use crate::generator_error::{BunchingCounts, GeneratorError, bunching_window};
use crate::incomplete::Incomplete;
use crate::judge::Observed;
use crate::metric_error::NOTICEABLE_MS;
use crate::metrics::MetricStats;
use crate::not_sent::NotSent;
use crate::not_sent::groups::not_sent;
use crate::pattern::{self, Classification};
use crate::poisson::{self, Statistics};
use crate::queue::{Users, queue};
use crate::reading::MeasuredReading;
use crate::reason::{ReasonInput, reason};
use crate::scans::{InSentOrder, in_scheduled_order, in_sent_order, scheduled_stream};
use crate::scope::{RunRange, Scope};
use crate::stream::Stream;
use crate::tables::Tables;
use crate::threshold_sensitivity::ThresholdSensitivity;
use crate::token_metrics::{StreamWarning, TokenMetrics};
use crate::verdict::warning_kind::SATURATED;
use crate::verdict::{
    Check, CheckResult, Clock, Dispersion, Expected, Finding, Lateness, Limits, Pattern, Queue, ReadingLateness,
    RequestStats, Sessions, Source, Stability, Stalls, TimeStats, Validity, Verdict, Warning, WarningKind, Window,
};
use crate::visits::VisitStats;
use crate::{by_threads, clocks, judge, lateness, policies, scheduling, warnings};

/// The verdict on one run of a recording.
pub(crate) fn verdict_on_run(recording: &Recording, run: &RunRange, criteria: &Criteria) -> io::Result<Verdict> {
    // Operational time needs the clock of the run.
    let criteria = &*if recording.on_run_clock { Cow::Borrowed(criteria) } else { criteria.in_real_time() };
    let prepared = Prepared::new(recording, run, criteria)?;
    let measured = Measured::new(prepared)?;
    let judged = Judged::new(&measured)?;
    assemble(measured, judged)
}

/// Counts and sums of a run, independent of the order of requests.
struct Prepared<'a> {
    scope: Scope<'a>,
    criteria: &'a Criteria,
    counts: Counts<'a>,
    /// Lateness of sent requests, in nanoseconds.
    lateness: Sorted<i64>,
    /// How late responses were read.
    reading: MeasuredReading,
    /// Service times of successful requests, in nanoseconds.
    service: Sorted<i64>,
    users: Option<Users>,
}

impl<'a> Prepared<'a> {
    fn new(recording: &'a Recording, run: &RunRange, criteria: &'a Criteria) -> io::Result<Self> {
        let scope = Scope::new(recording, run, criteria);
        let mut counts = Counts::of(scope, criteria)?;
        let lateness = std::mem::take(&mut counts.lateness).sorted();
        let reading = std::mem::take(&mut counts.reading).finish();
        let service = std::mem::take(&mut counts.service).sorted();
        // The sessions of several loads are not the users of one system.
        let users = std::mem::take(&mut counts.sessions).users().filter(|_| criteria.scenarios.is_none());
        Ok(Self { scope, criteria, counts, lateness, reading, service, users })
    }
}

/// The statistics of a run.
struct Measured<'a> {
    scope: Scope<'a>,
    criteria: &'a Criteria,
    counts: Counts<'a>,
    stream: Stream,
    by_worker: Vec<TimeStats>,
    by_node: Vec<TimeStats>,
    tables: Tables,
    requests: Vec<RequestStats>,
    statuses: std::collections::BTreeMap<u16, u64>,
    stability: Option<Stability>,
    attempts: Option<AttemptStats>,
    queue: Queue,
    lateness: Option<Lateness>,
    not_sent: Vec<NotSent>,
    /// What is missing of the run.
    incomplete: Option<Incomplete>,
    reading: Option<ReadingLateness>,
    tokens: Option<TokenMetrics>,
    metrics: Vec<MetricStats>,
    generator_error: Option<GeneratorError>,
    /// The CoV of the gaps between scheduled times, if those are known.
    scheduled_cov: Option<f64>,
    /// The CoV of the gaps in the stream that is compared with the specification: in operational time if the rate
    /// changes.
    scheduled_stream_cov: Option<f64>,
    /// The rate of the schedule, for a rate that changes at random.
    realised_rate_per_s: Option<f64>,
    /// The findings of the tests of a Poisson process.
    poisson: Vec<Finding>,
    classification: Classification,
    /// The stream as if all requests had been sent on schedule, once it is needed.
    scheduled: OnceCell<(Stream, Statistics)>,
}

impl<'a> Measured<'a> {
    fn new(prepared: Prepared<'a>) -> io::Result<Self> {
        let Prepared { scope, criteria, mut counts, lateness, reading, service, users } = prepared;
        let recording = scope.recording;
        let window = bunching_window(&service);

        let InSentOrder { gaps, workers, bunching, stream, .. } = in_sent_order(scope, criteria, &counts, window)?;
        let (stream, (by_worker, by_node)) = (stream.finish(), workers.finish());
        let stability = counts.stability(scope, criteria);
        let attempts = AttemptStats::of(recording, scope.range(), criteria.capacity_per_s)?;
        let response_ms = counts.responses.mean_ms();
        let (columns, requests) = counts.take_tables(scope);
        let (tables, responses) = columns.with_responses(&recording.labels, gaps);
        let (requests, statuses) = requests.finish(&recording.labels);
        let poisson = poisson::findings(&stream, &Statistics::of(&stream), strictness(scope, criteria));
        let classification = pattern::classify(&stream, &poisson, criteria);
        let total_rate = tables.gaps.last().map(|total| 1e3 / total.mean_ms).filter(|rate| rate.is_finite());
        let queue = queue(response_ms, users, total_rate, stability.as_ref());

        let lateness = recording.intent_known.then(|| lateness.summary(1e3)).flatten();
        let usual = Nanos(lateness.map_or(0, |lateness| (lateness.median * 1e3) as u64));
        let scheduled = match recording.intent_known {
            true => Some(in_scheduled_order(scope, criteria, &counts, window, usual)?),
            false => None,
        };
        let scheduled_cov = scheduled.as_ref().and_then(|scheduled| scheduled.gaps.cov());
        let scheduled_stream_cov = scheduled.as_ref().and_then(|scheduled| scheduled.stream_gaps.cov());
        let judged = scope.range().start.until(scope.range().end);
        let (tokens, stream_errors) = std::mem::take(&mut counts.tokens).finish(judged);
        let metrics = std::mem::take(&mut counts.metrics).finish();
        let stalls = scheduled.as_ref().and_then(|scheduled| scheduled.stalls.finish(recording, judged.as_secs_f64()));
        let not_sent = if counts.unsent > 0 && recording.intent_known { not_sent(scope)? } else { Vec::new() };
        let lateness = lateness.map(|summary| lateness::lateness(&summary, counts.unsent, stalls));
        let generator_error = scheduled.and_then(|scheduled| {
            let bunching = BunchingCounts { sent: bunching.finish(), scheduled: scheduled.bunching.finish() };
            let tolerance = criteria.generator_error_tolerance;
            GeneratorError::of(&responses, &service, &bunching, &reading, stream_errors, counts.unsent, tolerance)
        });
        Ok(Self {
            scope,
            criteria,
            stream,
            by_worker,
            by_node,
            tables,
            requests,
            statuses,
            stability,
            attempts,
            queue,
            lateness,
            not_sent,
            incomplete: criteria.incomplete.clone().or_else(|| Incomplete::from_notes(recording)),
            reading: reading.lateness(),
            tokens,
            metrics,
            generator_error,
            scheduled_cov,
            scheduled_stream_cov,
            realised_rate_per_s: criteria.realised_rate_per_s(recording),
            poisson,
            classification,
            scheduled: OnceCell::new(),
            counts,
        })
    }

    /// The stream as if all requests had been sent on schedule.
    fn scheduled(&self) -> io::Result<&(Stream, Statistics)> {
        if let Some(scheduled) = self.scheduled.get() {
            return Ok(scheduled);
        }
        let stream = scheduled_stream(self.scope, self.criteria, &self.counts)?;
        let statistics = Statistics::of(&stream);
        Ok(self.scheduled.get_or_init(|| (stream, statistics)))
    }

    fn observed(&self) -> Observed<'_> {
        Observed {
            counts: &self.counts,
            stream: &self.stream,
            queue: &self.queue,
            lateness: self.lateness.as_ref(),
            reading: self.reading.as_ref(),
            scheduled_cov: self.scheduled_stream_cov,
            realised_rate_per_s: self.realised_rate_per_s,
            as_scheduled: false,
        }
    }

    /// The findings about the arrivals, and the conclusions about schedule and sending.
    fn arrivals(&self) -> io::Result<Arrivals> {
        let Self { scope, criteria, stream, .. } = self;
        let mut against_expected = judge::check_against_expected(*scope, criteria, &self.observed());
        let mut poisson = self.poisson.clone();
        let not_checked = |finding: &mut Finding| finding.result = CheckResult::NotChecked;
        if self.has_gaps() {
            // Requests that are missing decide these checks.
            let arrivals = |check: Check| check.compares_with_theory() || check == Check::UnsentShare;
            let all = poisson.iter_mut().chain(&mut against_expected);
            all.filter(|finding| arrivals(finding.check)).for_each(not_checked);
        }
        let is_own_schedule = self.is_own_schedule(&poisson, &against_expected)?;
        let excused = match is_own_schedule {
            Some(true) => self.checks_that_the_schedule_fails(&poisson, &against_expected)?,
            _ => Vec::new(),
        };
        let mut classification = self.classification.clone();
        if !excused.is_empty() {
            let all = poisson.iter_mut().chain(&mut against_expected);
            all.filter(|finding| excused.contains(&finding.check)).for_each(not_checked);
            classification = pattern::classify(stream, &poisson, criteria);
        }
        // Late reading does not change the arrivals.
        let (late_reading, failed): (Vec<&Finding>, Vec<&Finding>) = failed(criteria, &poisson, &against_expected)
            .partition(|finding| finding.check == Check::ReadingLatenessP99);
        let badly_sent = self.is_badly_sent(&failed, !excused.is_empty())?;
        let is_late = badly_sent || !late_reading.is_empty();
        let only_late = is_late && failed.iter().all(|of| badly_sent && of.check.depends_on_send_times());
        let is_other = is_own_schedule == Some(false) && !badly_sent && self.shows_other_schedule(&failed);
        let other_schedule = is_other.then_some(WarningKind::OtherSchedule);
        Ok(Arrivals {
            poisson,
            against_expected,
            classification,
            excused,
            badly_sent,
            is_late,
            only_late,
            other_schedule,
        })
    }

    /// If a check against theory failed: whether the recording has the schedule of the workload. `None` if no check
    /// failed, or if the schedule is not known.
    fn is_own_schedule(&self, poisson: &[Finding], others: &[Finding]) -> io::Result<Option<bool>> {
        let Self { scope, criteria, .. } = self;
        let needs_schedule = scope.recording.intent_known
            && failed(criteria, poisson, others).any(|finding| finding.check.compares_with_theory());
        criteria.schedule.as_ref().filter(|_| needs_schedule).map(|schedule| schedule.is_recorded(*scope)).transpose()
    }

    /// Whether these failed checks show that the recording has another schedule than that of the run's workload. Only
    /// for a run of one worker, because the clocks of several workers may differ.
    fn shows_other_schedule(&self, failed: &[&Finding]) -> bool {
        let is_known = self.criteria.is_own_workload && self.scope.recording.nodes.len() < 2 && !self.has_gaps();
        is_known && failed.iter().all(|finding| finding.check.compares_with_theory()) && !failed.is_empty()
    }

    /// Whether requests are missing between the judged requests.
    fn has_gaps(&self) -> bool {
        self.incomplete.as_ref().is_some_and(Incomplete::has_gaps)
    }

    /// The failed checks against theory that the schedule of the workload also fails.
    fn checks_that_the_schedule_fails(&self, poisson: &[Finding], others: &[Finding]) -> io::Result<Vec<Check>> {
        /// A schedule whose deviation is a little smaller than the tolerance explains one that is a little larger.
        const SMALLER: f64 = 0.8;
        let Self { scope, criteria, .. } = self;
        let (scheduled, statistics) = self.scheduled()?;
        let checks = || failed(criteria, poisson, others).map(|finding| finding.check);
        let criteria = Criteria { cov_tolerance: SMALLER * criteria.cov_tolerance, ..(*criteria).clone() };
        let strictness = Strictness::new(true, criteria.cov_tolerance).with_less_evidence();
        let observed = Observed { stream: scheduled, as_scheduled: true, ..self.observed() };
        let mut found = judge::check_against_expected(*scope, &criteria, &observed);
        found.extend(poisson::findings(scheduled, statistics, strictness));
        // Where theory says nothing about the schedule, it says nothing about the run.
        let passes =
            |check| found.iter().any(|finding| finding.check == check && finding.result == CheckResult::Passed);
        Ok(checks().filter(|check| check.compares_with_theory() && !passes(*check)).collect())
    }

    /// Whether the requests deviate from the specification, although they would not deviate if they had been sent on
    /// schedule. `is_own_schedule` is true if the schedule is known to be that of the workload, and no check fails
    /// because of it.
    fn is_badly_sent(&self, failed: &[&Finding], is_own_schedule: bool) -> io::Result<bool> {
        let Self { scope, criteria, .. } = self;
        let may_be = scope.recording.intent_known && failed.iter().any(|finding| finding.check.depends_on_send_times());
        if !may_be || is_own_schedule {
            return Ok(may_be);
        }
        let (scheduled, statistics) = self.scheduled()?;
        let poisson = poisson::findings(scheduled, statistics, strictness(*scope, criteria));
        let observed = Observed { stream: scheduled, as_scheduled: true, ..self.observed() };
        Ok(judge::matches_expected(*scope, criteria, &observed, &poisson))
    }

    /// All warnings, except that the order of requests is uncertain.
    fn warnings(&self, arrivals: &Arrivals, stalled: Option<&Stalls>) -> Vec<WarningKind> {
        let error = self.generator_error.as_ref();
        let Self { criteria, queue, not_sent, .. } = self;
        let Arrivals { classification, excused, badly_sent, other_schedule, .. } = arrivals;
        let recording = self.scope.recording;
        let (generator, has_gaps) = (recording.generator.as_ref(), self.has_gaps());
        let mut all: Vec<WarningKind> = warnings::of_saturation(recording).into_iter().collect();
        all.extend(warnings::of_source(criteria, recording, self.incomplete.as_ref()));
        all.extend(stalled.map(|stalls| WarningKind::GeneratorStalled(stalls.clone())));
        all.extend(warnings::of_launches(criteria, &self.stream, classification, recording.sessions_known));
        // A pattern that comes from sending late, or from missing requests, is not one of the workload.
        let blames_pattern = criteria.expected.is_poisson() && !badly_sent && !has_gaps;
        all.extend(warnings::of_pattern(classification).filter(|_| blames_pattern));
        let sustained = self.attempts.as_ref().and_then(|attempts| attempts.sustained_by_retries);
        all.extend(sustained.map(WarningKind::SustainedByRetries));
        all.extend(self.counts.on_the_wire.and_then(warnings::of_resends));
        all.extend(warnings::of_queue(criteria, queue, self.scope.stability_interval()));
        all.extend(warnings::of_length(criteria, queue, &self.stream.ladder));
        if let Some(lateness) = &self.lateness {
            // The reason of an incomplete run does not state the generator error.
            let error = error.filter(|_| self.incomplete.is_none());
            all.extend(warnings::of_lateness(criteria, lateness, error, stalled.is_some()));
            all.extend(warnings::of_not_sent(lateness, not_sent, error).filter(|_| !has_gaps));
        }
        let reading = self.reading.as_ref();
        all.extend(reading.and_then(|of| warnings::of_reading(criteria, of, error)));
        let tolerance = criteria.generator_error_tolerance;
        let late = error.and_then(GeneratorError::worst_of_streams);
        let streams = self.tokens.iter().flat_map(|tokens| tokens.warnings(tolerance, NOTICEABLE_MS));
        // What reading late would have changed is less than what the generator changed.
        let streams = streams.filter(|warning| late.is_none() || !matches!(warning, StreamWarning::ReadLate { .. }));
        let late = late.map(|error| StreamWarning::GeneratorError { error: error.clone() });
        all.extend(late.into_iter().chain(streams).map(WarningKind::Streams));
        all.extend(warnings::of_schedule(criteria, self.realised_rate_per_s));
        all.extend((!excused.is_empty()).then(|| WarningKind::UnusualSchedule { checks: excused.clone() }));
        all.extend(other_schedule.clone());
        all.extend(warnings::of_early(self.counts.early));
        all.extend(generator.into_iter().flat_map(|of| warnings::of_generator(of, recording, criteria)));
        all.extend(policies::results::warning(recording));
        all
    }
}

/// What the arrivals show.
struct Arrivals {
    /// The findings of the tests of a Poisson process.
    poisson: Vec<Finding>,
    /// All other findings.
    against_expected: Vec<Finding>,
    classification: Classification,
    /// Checks that the schedule itself fails. Their findings do not count.
    excused: Vec<Check>,
    /// Whether requests were sent at other times than scheduled.
    badly_sent: bool,
    /// Whether requests were sent at other times than scheduled, or responses were read too late.
    is_late: bool,
    /// Whether there is no other problem.
    only_late: bool,
    /// The warning that the schedule belongs to another workload.
    other_schedule: Option<WarningKind>,
}

/// The failed findings. Tests of a Poisson process count only if one is specified.
fn failed<'a>(criteria: &Criteria, poisson: &'a [Finding], others: &'a [Finding]) -> impl Iterator<Item = &'a Finding> {
    let poisson = if criteria.expected.is_poisson() { poisson } else { &[] };
    others.iter().chain(poisson).filter(|finding| finding.failed())
}

/// The findings of a run, and what follows from them.
struct Judged {
    pattern: Pattern,
    window: Window,
    clocks: Vec<Clock>,
    findings: Vec<Finding>,
    validity: Validity,
    reason: String,
    incomplete: Option<Incomplete>,
    warnings: Vec<Warning>,
    stability: Option<Stability>,
}

impl Judged {
    fn new(measured: &Measured) -> io::Result<Self> {
        let Measured { scope, criteria, stream, .. } = measured;
        let recording = scope.recording;
        let arrivals = measured.arrivals()?;
        let Arrivals { poisson, against_expected, classification, badly_sent, is_late, only_late, .. } = &arrivals;
        let (badly_sent, is_late, only_late) = (*badly_sent, *is_late, *only_late);

        let strict = judge::overall(criteria, poisson, against_expected, stream);
        let sent = measured.tables.gaps.last().map_or(stream.requests(), |total| total.n + 1);
        let window = scope.window(sent, measured.counts.sent_in_run);
        let error = measured.generator_error.as_ref();
        let relevant_error = error.filter(|_| only_late || strict != Validity::Invalid);
        let thresholds = ThresholdSensitivity::of(recording, criteria, &measured.tables.gaps, &window, relevant_error)?;
        let (clocks, order_uncertain) = clocks::clocks_and_warning(recording, stream.mean_gap(), criteria);
        let validity = error.map_or(strict, |error| judge::with_generator_error(strict, only_late, thresholds, error));

        let stalls = measured.lateness.as_ref().and_then(|lateness| lateness.stalls.as_ref());
        let fails = |check| against_expected.iter().any(|finding| finding.check == check && finding.failed());
        // Requests that were not sent have another cause than those that were late.
        let stalled = stalls.filter(|_| badly_sent && !fails(Check::UnsentShare));
        let saturated = warnings::of_saturation(recording);
        let mut kinds = measured.warnings(&arrivals, stalled);
        kinds.extend(order_uncertain);
        if validity == Validity::Invalid || measured.incomplete.is_some() {
            // More requests help neither an invalid run nor one that is not complete.
            kinds.retain(|kind| !matches!(kind, WarningKind::FewGaps { .. }));
        }
        // The reason of late requests comes before other warnings, except for requests that were not sent: they may explain the arrivals.
        let is_first = |kind: &&WarningKind| match kind {
            WarningKind::UnsentRequests { .. } => true,
            other => other.is_caveat() && !other.is_lateness() && !is_late,
        };
        let is_usable = matches!(validity, Validity::Valid | Validity::ValidWithWarnings);
        let caveat = kinds.iter().find(is_first).filter(|_| is_usable);
        let validity = if caveat.is_some() { Validity::ValidWithWarnings } else { validity };
        let reason_input = ReasonInput {
            criteria,
            classification,
            findings: against_expected,
            validity,
            is_late,
            stalled,
            not_sent: &measured.not_sent,
            saturated: saturated.as_ref(),
            lateness: measured.lateness.as_ref(),
            scheduled_cov: measured.scheduled_stream_cov,
            reading: measured.reading.as_ref(),
            generator_error: error.filter(|_| only_late || validity != Validity::Invalid),
            thresholds_unaffected: is_late && thresholds.all_unaffected(),
            other_schedule: arrivals.other_schedule.as_ref(),
            caveat,
        };
        let incomplete = measured.incomplete.clone();
        let states_all = incomplete.is_none() || validity == Validity::Invalid;
        let reason = match &incomplete {
            // What the rest shows is of interest only where it is wrong too.
            Some(incomplete) if validity == Validity::Invalid => {
                format!("{}; {}", incomplete.reason(), reason(&reason_input))
            }
            Some(incomplete) => incomplete.reason(),
            None => reason(&reason_input),
        };
        let validity = if incomplete.is_some() { Validity::Invalid } else { validity };
        let generator = recording.generator.as_ref();
        let warning = |kind: &WarningKind| Warning {
            in_reason: states_all && reason_input.states(kind),
            fix: scheduling::fix(kind, generator, validity, error),
            ..kind.clone().into()
        };
        let warnings = kinds.iter().map(warning).collect();
        let (has_gaps, target) = (measured.has_gaps(), target_rate(criteria));
        let is_short = has_gaps || [Check::UnsentShare, Check::RateAgainstTarget].into_iter().any(fails);
        let stability = measured.stability.map(|of| if is_short { of.at_target(target, has_gaps) } else { of });
        let poisson = poisson::if_compared(poisson.clone(), criteria);
        let bootstrap = bootstrap(classification, criteria, stream);
        let findings = poisson.into_iter().chain(bootstrap).chain(against_expected.iter().copied()).collect();
        let pattern = classification.pattern;
        Ok(Self { pattern, window, clocks, findings, validity, reason, incomplete, warnings, stability })
    }
}

/// Assembles the document.
fn assemble(measured: Measured, judged: Judged) -> io::Result<Verdict> {
    let Measured { scope, criteria, stream, tables, .. } = measured;
    let applies_to_sessions = criteria.expected.applies_to_sessions();
    Ok(Verdict {
        schema: Schema::new(),
        source: source(scope.recording, criteria),
        window: judged.window,
        incomplete: judged.incomplete,
        expected: expected(criteria, measured.scheduled_cov, measured.realised_rate_per_s),
        sessions: applies_to_sessions.then(|| sessions(criteria, &stream, measured.scheduled_stream_cov)),
        gaps: tables.gaps,
        requests: measured.requests,
        statuses: measured.statuses,
        on_the_wire: measured.counts.on_the_wire,
        attempts: measured.attempts,
        visits: match criteria.have_visits {
            true => VisitStats::of(scope.recording, &scope.range(), criteria.flows.as_ref(), &criteria.groups)?,
            false => None,
        },
        metrics: measured.metrics,
        stability: judged.stability,
        responses: tables.responses,
        failures: tables.failures,
        first_byte: tables.first_byte,
        tokens: measured.tokens,
        sizes: tables.sizes,
        by_threads: if criteria.by_threads { by_threads::by_threads(scope)? } else { Vec::new() },
        by_worker: measured.by_worker,
        by_node: measured.by_node,
        clocks: judged.clocks,
        lateness: measured.lateness,
        not_sent: measured.not_sent,
        reading: measured.reading,
        scheduling: scope.recording.generator.as_ref().map_or_else(Vec::new, |generator| generator.scheduling.clone()),
        generator_error: measured.generator_error,
        queue: measured.queue,
        dispersion: stream.ladder.iter().map(dispersion).collect(),
        policies: policies::results::policies(scope.recording, criteria, &judged.window)?,
        twin: None,
        server_side: None,
        thresholds: Vec::new(),
        limits: limits(criteria),
        reason: judged.reason,
        pattern: judged.pattern,
        validity: judged.validity,
        findings: judged.findings,
        warnings: judged.warnings,
        runs: Vec::new(),
        scenarios: Vec::new(),
    })
}

/// The limits by which a run is judged.
fn limits(criteria: &Criteria) -> Limits {
    Limits {
        cov_percent: 100.0 * criteria.cov_tolerance,
        lateness_p99_ms: criteria.late_after.as_millis_f64(),
        not_sent_percent: 100.0 * crate::not_sent::MAX_UNSENT_SHARE,
        busy_percent: 100.0 * SATURATED,
        generator_error_percent: 100.0 * criteria.generator_error_tolerance,
        generator_error_ms: NOTICEABLE_MS,
    }
}

/// The CoV with its bootstrap interval, if the requests are not a Poisson process.
fn bootstrap(classification: &Classification, criteria: &Criteria, stream: &Stream) -> Option<Finding> {
    match classification.pattern {
        Pattern::Poisson | Pattern::PoissonFixedCount | Pattern::TooFewRequests => None,
        _ => judge::bootstrap_finding(criteria, stream),
    }
}

fn source(recording: &Recording, criteria: &Criteria) -> Source {
    Source {
        path: criteria.path.clone(),
        format: recording.format.clone(),
        requests: recording.events.launches(),
        unreadable_rows: recording.unreadable,
        timestamps: recording.stamps.clone(),
        resolution_ms: recording.resolution.as_millis_f64(),
    }
}

fn expected(criteria: &Criteria, scheduled_cov: Option<f64>, scheduled_rate_per_s: Option<f64>) -> Expected {
    Expected {
        arrivals: criteria.expected.name(),
        system: criteria.expected.system(),
        is_own_workload: criteria.is_own_workload,
        target_rate_per_s: criteria.target_rate_per_s,
        target_request_rate_per_s: target_rate(criteria),
        scheduled_rate_per_s,
        // The measured CoV that it stands beside is that of the gaps in real time.
        expected_cov: criteria.expected.expected_cov().filter(|_| criteria.expected.changing_rate().is_none()),
        scheduled_cov,
    }
}

/// The target rate of all requests. A target rate that is given without a workload is the rate of requests, in a
/// partly-open system of sessions.
fn target_rate(criteria: &Criteria) -> Option<f64> {
    let of_requests = criteria.target_rate_per_s.filter(|_| !criteria.expected.applies_to_sessions());
    criteria.target_request_rate_per_s.or(of_requests)
}

/// The arrivals of sessions; `stream` contains the first request of each.
fn sessions(criteria: &Criteria, stream: &Stream, scheduled_cov: Option<f64>) -> Sessions {
    let interval = stream.corrected_cov.map(|cov| exponential_interval(cov, stream.gaps()));
    Sessions {
        n: stream.requests(),
        target_rate_per_s: criteria.target_rate_per_s,
        sent_rate_per_s: stream.rate_per_s(),
        scheduled_cov,
        measured_cov: stream.corrected_cov,
        cov_low: interval.map(|interval| interval.low),
        cov_high: interval.map(|interval| interval.high),
    }
}

fn dispersion(of_window: &CountDispersion) -> Dispersion {
    let CountDispersion { window, idc, interval, .. } = of_window;
    Dispersion { window_s: *window as f64 / 1e9, idc: *idc, low: interval.low, high: interval.high }
}

/// The strictness of the tests of a Poisson process.
fn strictness(scope: Scope, criteria: &Criteria) -> Strictness {
    Strictness::new(scope.recording.intent_known, criteria.cov_tolerance)
}
