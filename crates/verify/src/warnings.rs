//! Finds the warnings about a recording, in the terms of Brady and Gunther's principles.

use offered_base::{Instant, Nanos};
use offered_events::recording::Evidence;
use offered_events::{Note, Recording};
use offered_schedule::System;
use offered_stats::dispersion::Dispersion;

use crate::criteria::Criteria;
use crate::expected_arrivals::ExpectedArrivals;
use crate::generator_error::GeneratorError;
use crate::incomplete::Incomplete;
use crate::not_sent::NotSent;
use crate::pattern::Classification;
use crate::stream::Stream;
use crate::token_metrics::StreamWarning;
use crate::verdict::warning_kind::{SATURATED, stop_time};
use crate::verdict::{Lateness, Pattern, Queue, ReadingLateness, Warning, WarningKind};
use crate::windows;
use crate::wire::OnTheWire;

/// With a larger R / (R + Z), users wait so long that their requests follow the server.
const HIGH_RORT: f64 = 0.1;
/// The counts of returning users are under-dispersed in windows of this number of user cycles.
const CYCLES_PER_WINDOW: f64 = 3.0;
/// Ticks above this share of the mean gap hide what happens within them.
const COARSE_TICK_SHARE: f64 = 0.2;
/// More resends than this share of the requests on the wire are worth a warning.
const MAX_RESEND_SHARE: f64 = 0.01;

/// A warning if a sending thread was saturated.
pub(crate) fn of_saturation(recording: &Recording) -> Option<WarningKind> {
    let generator = recording.generator.as_ref()?;
    let (thread, busy) = generator.busiest().filter(|(_, busy)| *busy > SATURATED)?;
    // The threads of all workers are listed one worker after another. Workers without events leave none.
    let (workers, threads) = (recording.nodes.len(), generator.busy.len());
    let each = threads.checked_div(workers).unwrap_or(0);
    let is_known = (0..).zip(&recording.nodes).all(|(number, (_, first))| usize::from(*first) == number * each);
    let worker =
        recording.nodes.get(thread.checked_div(each).unwrap_or(0)).filter(|_| is_known && each * workers == threads);
    let (worker, thread) = match worker {
        Some((name, _)) => (Some(name.clone()), thread % each),
        None => (None, thread),
    };
    Some(WarningKind::GeneratorSaturated { thread, busy, worker })
}

impl Warning {
    /// Whether it is only a note: it needs no action, and a run with it is valid.
    pub fn is_note(&self) -> bool {
        self.details.as_ref().is_some_and(|kind| !kind.is_caveat())
    }
}

impl WarningKind {
    /// Whether the results must be read with this warning, so that a run is valid only with warnings. The others need no action.
    pub(crate) fn is_caveat(&self) -> bool {
        match self {
            // It has a line of its own.
            Self::StoppedEarly { .. } => false,
            Self::ReaderNote { note } => !matches!(
                note.without_worker(),
                Note::Excluded { .. } | Note::CoarseClock { .. } | Note::WholeSeconds { .. }
            ),
            other => !matches!(
                other,
                Self::NearGeneratorLimit { .. }
                    | Self::PriorityRefused { .. }
                    | Self::CertificateNotVerified
                    | Self::TooFewRequests { .. }
                    | Self::FewGaps { .. }
                    | Self::CoarseTimestamps { .. }
                    | Self::RunTooShortForUsers { .. }
                    | Self::RandomRateDiffers { .. }
                    | Self::UnusualSchedule { .. }
            ),
        }
    }

    /// The time and the reason of the end of a stopped run: `at 12.0 s of 20 s: response.p95 < 10ms failed: 15.2 ms`;
    /// `None` for any other warning.
    pub fn stop_text(&self) -> Option<String> {
        let Self::StoppedEarly { reason, at_s, duration_s, .. } = self else { return None };
        let outside = "from outside (Ctrl-C, a signal, or the live page)";
        Some(match (stop_time(*at_s, *duration_s), reason) {
            (Some(at), Some(reason)) => format!("{at}: {reason}"),
            (Some(at), None) => format!("{at}, {outside}"),
            (None, reason) => reason.clone().unwrap_or_else(|| outside.to_owned()),
        })
    }

    /// Whether it is about the time at which requests were sent or responses were read, whose effect is the generator error.
    pub(crate) const fn is_lateness(&self) -> bool {
        matches!(
            self,
            Self::GeneratorStalled(_)
                | Self::LateRequests { .. }
                | Self::LateReading { .. }
                | Self::Streams(StreamWarning::GeneratorError { .. })
        )
    }
}

/// Whether the reason of an incomplete run states this note.
fn is_of_incomplete(note: &Note) -> bool {
    matches!(
        note.without_worker(),
        Note::Killed
            | Note::Running
            | Note::NotRecorded { .. }
            | Note::WorkerMissing { .. }
            | Note::WorkerLost { .. }
            | Note::Silent { .. }
    )
}

/// Warnings about a run that was stopped early, about a generator near its limit, and about a refused priority.
pub(crate) fn of_generator(generator: &Evidence, recording: &Recording, criteria: &Criteria) -> Vec<WarningKind> {
    let (reason, end) = generator.halted.as_ref().map(|halted| (halted.reason.clone(), halted.end)).unzip();
    let at_s = recording.events.extent().last_intended.map(Instant::as_secs_f64);
    let duration_s = criteria.duration.map(Nanos::as_secs_f64);
    let stopped = generator.stopped.then_some(WarningKind::StoppedEarly { reason, end, at_s, duration_s });
    let near = generator.calibrated.filter(|found| found.target_rate_per_s > found.sustained_rate_per_s / 2.0);
    let near = near.map(|found| WarningKind::NearGeneratorLimit {
        target_rate_per_s: found.target_rate_per_s,
        sustained_rate_per_s: found.sustained_rate_per_s,
        threads: generator.busy.len(),
    });
    let mut refused = generator.scheduling.iter().filter(|of| of.requested == "realtime" && !of.is_realtime());
    let refused = refused.find_map(|of| of.refused.clone());
    let refused = refused.map(|reason| WarningKind::PriorityRefused { reason });
    stopped.into_iter().chain(near).chain(refused).collect()
}

/// Warnings about the file and about the identity of the server. The reason of the verdict states what is `incomplete`.
pub(crate) fn of_source(
    criteria: &Criteria,
    recording: &Recording,
    incomplete: Option<&Incomplete>,
) -> Vec<WarningKind> {
    let is_stated = |note: &&Note| incomplete.is_some() && is_of_incomplete(note);
    let notes = recording.notes.iter().filter(|note| !is_stated(note));
    let mut all: Vec<WarningKind> = notes.map(|note| WarningKind::ReaderNote { note: note.clone() }).collect();
    if recording.unreadable > 0 {
        all.push(WarningKind::UnreadableRows {
            rows: recording.unreadable,
            first_error: recording.complaints.first().cloned(),
        });
    }
    all.extend(criteria.insecure.then_some(WarningKind::CertificateNotVerified));
    all
}

/// Warnings about the number of requests and the resolution of their timestamps.
pub(crate) fn of_launches(
    criteria: &Criteria,
    stream: &Stream,
    classification: &Classification,
    sessions_known: bool,
) -> Vec<WarningKind> {
    let gaps = stream.gaps();
    let mut all = Vec::new();
    let (to_within, needed) = (criteria.cov_tolerance, (1.96 / criteria.cov_tolerance).powi(2).ceil());
    if !stream.is_long_enough() {
        all.push(WarningKind::TooFewRequests {
            reason: classification.reason.clone(),
            needed_gaps: needed,
            half_width: to_within,
        });
    } else if (gaps as f64) < needed {
        let of_sessions = criteria.expected.applies_to_sessions();
        all.push(WarningKind::FewGaps { gaps, needed_gaps: needed, half_width: to_within, of_sessions });
    }
    if stream.is_long_enough() && stream.tick > COARSE_TICK_SHARE * stream.mean_gap() && stream.tick > 1.0 {
        all.push(WarningKind::CoarseTimestamps { tick_ms: stream.tick / 1e6, mean_gap_ms: stream.mean_gap() / 1e6 });
    }
    all.extend((criteria.by_threads && !sessions_known).then_some(WarningKind::ThreadsUnknown));
    all
}

/// A warning if the requests are not a Poisson process.
pub(crate) fn of_pattern(classification: &Classification) -> Option<WarningKind> {
    let plain = matches!(
        classification.pattern,
        Pattern::Poisson | Pattern::PoissonFixedCount | Pattern::TooFewRequests | Pattern::SeveralRuns
    );
    let ticking = classification.bunches.is_some_and(|found| found.spacing_cov < 0.5);
    (!plain).then(|| WarningKind::NotPoisson {
        pattern: classification.pattern,
        regular: ticking,
        reason: classification.reason.clone(),
    })
}

/// A warning if many requests had to be sent again.
pub(crate) fn of_resends(wire: OnTheWire) -> Option<WarningKind> {
    let OnTheWire { resends, total, .. } = wire;
    (resends as f64 > MAX_RESEND_SHARE * total as f64)
        .then_some(WarningKind::RequestsSentAgain { resends, requests: total })
}

/// Warnings about users who wait rather than think.
pub(crate) fn of_queue(criteria: &Criteria, queue: &Queue, analysed: Option<(Instant, Instant)>) -> Vec<WarningKind> {
    let expected_users = match &criteria.expected {
        ExpectedArrivals::Closed { users, .. } => Some(*users),
        _ => criteria.mean_users.map(|users| users.round() as u64).or(queue.users_observed),
    };
    let far = |(seen, by_little): &(u64, f64)| (by_little / *seen as f64 - 1.0).abs() > 0.1;
    // Think times that outlast the run are in no mean, so that users seem to wait for more of their time than they do.
    let waits_of_all = queue.concurrency.zip(expected_users).map(|(waiting, users)| waiting / users as f64);
    let is_high = |rort: &f64| *rort > HIGH_RORT && waits_of_all.is_none_or(|share| share > HIGH_RORT);
    let waiting = queue.rort.filter(is_high).map(|rort| WarningKind::UsersMostlyWaiting { rort });
    // The sessions of a partly-open system are visits, not users.
    let are_users = criteria.expected.system() != Some(System::PartlyOpen);
    let other = expected_users.zip(queue.users).filter(far).filter(|_| are_users);
    let other = other.map(|(observed, littles_law)| {
        let longest_think_s = criteria
            .longest_think_s
            .filter(|longest| analysed.is_some_and(|(from, to)| *longest > from.until(to).as_secs_f64()));
        WarningKind::UserCountMismatch { littles_law, observed, longest_think_s }
    });
    waiting.into_iter().chain(other).collect()
}

/// A warning if the run is too short to show returning users: their under-dispersion appears in windows of several
/// cycles.
pub(crate) fn of_length(criteria: &Criteria, queue: &Queue, ladder: &[Dispersion]) -> Option<WarningKind> {
    let (rtt_ms, window_ms) = (queue.rtt_ms?, ladder.last()?.window as f64 / 1e6);
    let short = window_ms < CYCLES_PER_WINDOW * rtt_ms
        && matches!(criteria.expected, ExpectedArrivals::Poisson | ExpectedArrivals::FixedCount);
    let needed_ms = windows::MIN_WINDOWS as f64 * CYCLES_PER_WINDOW * rtt_ms;
    short.then_some(WarningKind::RunTooShortForUsers { rtt_ms, window_ms, needed_ms })
}

/// A warning if a rate that changes at random differs from its target in this schedule.
pub(crate) fn of_schedule(criteria: &Criteria, scheduled_per_s: Option<f64>) -> Option<WarningKind> {
    let (asked_per_s, scheduled_per_s) = (criteria.target_rate_per_s?, scheduled_per_s?);
    let far = (scheduled_per_s / asked_per_s - 1.0).abs() > criteria.cov_tolerance;
    far.then_some(WarningKind::RandomRateDiffers {
        target_rate_per_s: asked_per_s,
        scheduled_rate_per_s: scheduled_per_s,
    })
}

/// A warning if requests were early by more than the timestamp resolution: a clock error, not a generator error.
pub(crate) fn of_early((launches, most): (u64, Nanos)) -> Option<WarningKind> {
    (launches > 0).then(|| WarningKind::EarlyRequests { requests: launches, max_us: most.as_micros_f64() })
}

/// A warning if responses were read late: by more than the limit, or so that a percentile differs by more than the tolerance.
pub(crate) fn of_reading(
    criteria: &Criteria,
    reading: &ReadingLateness,
    error: Option<&GeneratorError>,
) -> Option<WarningKind> {
    let is_late = reading.p99_us > criteria.late_after.as_micros_f64();
    let matters =
        error.is_some_and(|error| error.percentiles.iter().any(|percentile| percentile.is_read_late(error.tolerance)));
    (is_late || matters).then_some(WarningKind::LateReading { p99_us: reading.p99_us })
}

/// A warning about lateness, if it is above the limit or a percentile differs by more than the tolerance; if the generator `stalled`, that is a
/// separate warning.
pub(crate) fn of_lateness(
    criteria: &Criteria,
    lateness: &Lateness,
    error: Option<&GeneratorError>,
    stalled: bool,
) -> Option<WarningKind> {
    let is_late = lateness.p99_us > criteria.late_after.as_micros_f64();
    let matters = lateness.p99_us > 0.0 && error.is_some_and(GeneratorError::needs_warning);
    ((is_late || matters) && !stalled).then_some(WarningKind::LateRequests { p99_us: lateness.p99_us })
}

/// A warning about requests that were not sent.
pub(crate) fn of_not_sent(
    lateness: &Lateness,
    groups: &[NotSent],
    error: Option<&GeneratorError>,
) -> Option<WarningKind> {
    let (unsent, requests) = (lateness.unsent, lateness.unsent + lateness.n);
    let p99 = error.and_then(|error| error.percentiles.last());
    let p99_ms = p99.and_then(|p99| Some([p99.response_ms, p99.with_unsent_ms?]));
    (unsent > 0).then(|| WarningKind::UnsentRequests { unsent, requests, causes: groups.to_vec(), p99_ms })
}
