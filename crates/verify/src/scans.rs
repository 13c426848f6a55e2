//! Scans of the requests in the order of time: as they were sent, and as they were scheduled.

use std::io;

use offered_base::Nanos;
use offered_stats::values::Moments;

use crate::counts::Counts;
use crate::criteria::Criteria;
use crate::generator_error::BunchingCounter;
use crate::not_sent::groups::node;
use crate::operational_time::StreamClock;
use crate::scope::{ScheduledRequest, Scope};
use crate::stalls::StallDetector;
use crate::stream::{self, Stream, StreamBuilder};
use crate::tables::GapCollector;
use crate::workers::Workers;

/// Collectors that need requests in the order of their sent times.
pub(crate) struct InSentOrder<U> {
    pub(crate) gaps: GapCollector,
    pub(crate) workers: Workers,
    pub(crate) bunching: BunchingCounter,
    clock: StreamClock,
    pub(crate) stream: StreamBuilder<U>,
}

/// Collectors that need requests in the order of their scheduled times.
pub(crate) struct InScheduledOrder {
    pub(crate) bunching: BunchingCounter,
    pub(crate) stalls: StallDetector,
    before: Option<u64>,
    pub(crate) gaps: Moments,
    clock: StreamClock,
    stream_before: Option<u64>,
    /// The gaps of the stream that is compared with the specification: in operational time if the rate changes.
    pub(crate) stream_gaps: Moments,
}

/// Whether bunching can be compared with the schedule. In a closed system responses determine when requests are sent.
fn compares_bunching(scope: Scope, criteria: &Criteria) -> bool {
    scope.recording.intent_known && !criteria.is_closed()
}

/// Scans the sent requests; `window` is the length of the bunching window in nanoseconds.
pub(crate) fn in_sent_order(
    scope: Scope,
    criteria: &Criteria,
    counts: &Counts,
    window: u64,
) -> io::Result<InSentOrder<impl FnMut() -> f64>> {
    let (labels, tick, ends) = (scope.recording.labels.len(), scope.recording.resolution.0, counts.sent);
    let (first_only, compares) = (criteria.expected.applies_to_sessions(), compares_bunching(scope, criteria));
    let clock = StreamClock::new(scope, criteria);
    let ends = clock.ends(ends);
    let spread = if tick > 1 {
        let fresh = || (stream::spread_ends(tick, criteria.seed), clock.clone());
        let spread = counts.keys.in_sent_order(fresh, |(spread, clock), request| {
            if !first_only || request.first {
                spread.add(clock.next(request.sent));
            }
        });
        spread?.0.finish()
    } else {
        ends
    };
    let fresh = || InSentOrder {
        gaps: GapCollector::new(labels),
        workers: Workers::new(scope),
        bunching: BunchingCounter::new(window),
        clock: clock.clone(),
        stream: stream::builder(ends, spread, tick, criteria.seed),
    };
    counts.keys.in_sent_order(fresh, |all, request| {
        all.gaps.add(request.label.into(), request.sent);
        all.workers.add(request.worker, request.sent);
        if compares && request.first {
            all.bunching.add(request.sent);
        }
        if !first_only || request.first {
            all.stream.add(all.clock.next(request.sent));
        }
    })
}

/// Scans the scheduled requests; `usual` is their median lateness.
pub(crate) fn in_scheduled_order(
    scope: Scope,
    criteria: &Criteria,
    counts: &Counts,
    window: u64,
    usual: Nanos,
) -> io::Result<InScheduledOrder> {
    let (first_only, compares) = (criteria.expected.applies_to_sessions(), compares_bunching(scope, criteria));
    let fresh = || InScheduledOrder {
        bunching: BunchingCounter::new(window),
        stalls: StallDetector::new(usual),
        before: None,
        gaps: Moments::default(),
        clock: StreamClock::new(scope, criteria),
        stream_before: None,
        stream_gaps: Moments::default(),
    };
    counts.keys.in_scheduled_order(fresh, |all, request| {
        if let Some(sent) = request.sent {
            all.stalls.add(node(scope.recording, request.worker), request.intended, sent);
            if compares && request.first {
                all.bunching.add(request.intended);
            }
        }
        if request.in_window && (!first_only || request.first) {
            if let Some(before) = all.before.replace(request.intended) {
                all.gaps.add(request.intended - before, 1);
            }
            let at = all.clock.next(request.intended);
            if let Some(before) = all.stream_before.replace(at) {
                all.stream_gaps.add(at - before, 1);
            }
        }
    })
}

/// The stream of requests as if all had been sent at their scheduled times.
pub(crate) fn scheduled_stream(scope: Scope, criteria: &Criteria, counts: &Counts) -> io::Result<Stream> {
    let (tick, ends) = (scope.recording.resolution.0, counts.scheduled);
    let first_only = criteria.expected.applies_to_sessions();
    let is_included = |request: &ScheduledRequest| request.in_window && (!first_only || request.first);
    let clock = StreamClock::new(scope, criteria);
    let ends = clock.ends(ends);
    let spread = if tick > 1 {
        let fresh = || (stream::spread_ends(tick, criteria.seed), clock.clone());
        let spread = counts.keys.in_scheduled_order(fresh, |(spread, clock), request| {
            if is_included(&request) {
                spread.add(clock.next(request.intended));
            }
        });
        spread?.0.finish()
    } else {
        ends
    };
    let fresh = || (stream::builder(ends, spread, tick, criteria.seed), clock.clone());
    let builder = counts.keys.in_scheduled_order(fresh, |(builder, clock), request| {
        if is_included(&request) {
            builder.add(clock.next(request.intended));
        }
    });
    Ok(builder?.0.finish())
}
