//! Scans of the requests in the order of time: as they were sent, and as they were scheduled.

use std::io;

use offered_base::Nanos;
use offered_stats::values::Moments;

use crate::counts::Counts;
use crate::criteria::Criteria;
use crate::generator_error::BunchingCounter;
use crate::not_sent::node;
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
    pub(crate) stream: StreamBuilder<U>,
}

/// Collectors that need requests in the order of their scheduled times.
pub(crate) struct InScheduledOrder {
    pub(crate) bunching: BunchingCounter,
    pub(crate) stalls: StallDetector,
    before: Option<u64>,
    pub(crate) gaps: Moments,
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
    let spread = if tick > 1 {
        let fresh = || stream::spread_ends(tick, criteria.seed);
        let spread = counts.keys.in_sent_order(fresh, |spread, request| {
            if !first_only || request.first {
                spread.add(request.sent);
            }
        });
        spread?.finish()
    } else {
        ends
    };
    let fresh = || InSentOrder {
        gaps: GapCollector::new(labels),
        workers: Workers::new(scope),
        bunching: BunchingCounter::new(window),
        stream: stream::builder(ends, spread, tick, criteria.seed),
    };
    counts.keys.in_sent_order(fresh, |all, request| {
        all.gaps.add(request.label.into(), request.sent);
        all.workers.add(request.worker, request.sent);
        if compares && request.first {
            all.bunching.add(request.sent);
        }
        if !first_only || request.first {
            all.stream.add(request.sent);
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
    };
    counts.keys.in_scheduled_order(fresh, |all, request| {
        if let Some(sent) = request.sent {
            all.stalls.add(node(scope.recording, request.worker), request.intended, sent);
            if compares && request.first {
                all.bunching.add(request.intended);
            }
        }
        if request.in_window
            && (!first_only || request.first)
            && let Some(before) = all.before.replace(request.intended)
        {
            all.gaps.add(request.intended - before, 1);
        }
    })
}

/// The stream of requests as if all had been sent at their scheduled times.
pub(crate) fn scheduled_stream(scope: Scope, criteria: &Criteria, counts: &Counts) -> io::Result<Stream> {
    let (tick, ends) = (scope.recording.resolution.0, counts.scheduled);
    let first_only = criteria.expected.applies_to_sessions();
    let is_included = |request: &ScheduledRequest| request.in_window && (!first_only || request.first);
    let spread = if tick > 1 {
        let fresh = || stream::spread_ends(tick, criteria.seed);
        let spread = counts.keys.in_scheduled_order(fresh, |spread, request| {
            if is_included(&request) {
                spread.add(request.intended);
            }
        });
        spread?.finish()
    } else {
        ends
    };
    let fresh = || stream::builder(ends, spread, tick, criteria.seed);
    let builder = counts.keys.in_scheduled_order(fresh, |builder, request| {
        if is_included(&request) {
            builder.add(request.intended);
        }
    });
    Ok(builder?.finish())
}
