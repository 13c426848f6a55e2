//! Collects the requests that were not sent.

use std::collections::BTreeMap;
use std::io;

use offered_base::{Difference, Instant};
use offered_events::{Event, Recording};

use super::{NotSent, NotSentReason};
use crate::counts::ResponseSums;
use crate::scope::Scope;

/// A worker that sent this share of its requests in a period did not stand still.
const MAX_SENT_SHARE: f64 = 0.01;
/// A worker that stood still was late before by at most this share of the period; one that is too slow falls behind gradually.
const MAX_LATENESS_SHARE: f64 = 0.1;
/// Fewer responses are not compared with others.
const FEWEST_RESPONSES: u64 = 20;

/// What is known of the requests of a worker that were not sent for the same reason.
struct Group {
    requests: u64,
    first: Instant,
    last: Instant,
    /// Number of requests that the worker sent between the first and the last of these.
    sent_between: u64,
    /// The scheduled time and the lateness of the last request that it sent before.
    before: Option<(Instant, Difference)>,
    /// The times of the responses to requests that it sent before the first of these.
    responses_before: ResponseSums,
    /// The times of the responses to requests that it sent between the first and the last of these.
    responses_between: ResponseSums,
}

impl Group {
    fn starting_at(at: Instant) -> Self {
        Self {
            requests: 0,
            first: at,
            last: at,
            sent_between: 0,
            before: None,
            responses_before: ResponseSums::default(),
            responses_between: ResponseSums::default(),
        }
    }

    /// Whether the worker stood still. This is known only after the run, because until then the requests could still be
    /// sent late.
    fn stood_still(&self, reason: NotSentReason) -> bool {
        let period = self.first.until(self.last).0 as f64;
        let (unsent, sent) = (self.requests as f64, self.sent_between as f64);
        let lateness = self.before.map_or(0, |(_, lateness)| lateness.0) as f64;
        reason == NotSentReason::RunOver && sent <= MAX_SENT_SHARE * unsent && lateness <= MAX_LATENESS_SHARE * period
    }
}

/// The requests of the scope that were not sent, by worker and reason: the largest group first. Scans the recording twice.
///
/// # Errors
/// The recording cannot be read.
pub(crate) fn not_sent(scope: Scope) -> io::Result<Vec<NotSent>> {
    let recording = scope.recording;
    let is_counted = |event: &Event| scope.is_scheduled_in_window(event.key());
    let mut groups: BTreeMap<(usize, NotSentReason), Group> = BTreeMap::new();
    recording.events.each(|event| {
        if event.sent.is_some() || !is_counted(event) {
            return;
        }
        let (key, at) = ((node(recording, event.worker), NotSentReason::of(event.error.as_ref())), event.intended);
        let group = groups.entry(key).or_insert_with(|| Group::starting_at(at));
        (group.requests, group.first, group.last) = (group.requests + 1, group.first.min(at), group.last.max(at));
    })?;
    scope.each(|event| {
        let Some(sent) = event.sent else { return };
        let worker = node(recording, event.worker);
        for ((_, _), group) in groups.range_mut((worker, NotSentReason::InFlightLimit)..=(worker, NotSentReason::Other))
        {
            if event.intended < group.first {
                event.service().into_iter().for_each(|time| group.responses_before.add(time));
                if group.before.is_none_or(|(last, _)| last < event.intended) {
                    group.before = Some((event.intended, sent - event.intended));
                }
            } else if event.intended <= group.last {
                event.service().into_iter().for_each(|time| group.responses_between.add(time));
                group.sent_between += 1;
            }
        }
    })?;
    let row = |((worker, reason), group): ((usize, NotSentReason), Group)| NotSent {
        worker: recording.nodes.get(worker).map(|(name, _)| name.clone()),
        reason,
        requests: group.requests,
        first_s: group.first.as_secs_f64(),
        last_s: group.last.as_secs_f64(),
        stood_still: group.stood_still(reason),
        mean_response_before_ms: comparable_mean_ms(&group.responses_before),
        mean_response_between_ms: comparable_mean_ms(&group.responses_between),
    };
    let mut rows: Vec<NotSent> = groups.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.requests));
    Ok(rows)
}

/// The mean of these response times; `None` if there are too few to compare with others.
fn comparable_mean_ms(responses: &ResponseSums) -> Option<f64> {
    responses.mean_ms().filter(|_| responses.n >= FEWEST_RESPONSES)
}

/// The number of the worker that this thread belongs to.
pub(crate) fn node(recording: &Recording, thread: u16) -> usize {
    recording.nodes.partition_point(|(_, first)| *first <= thread).saturating_sub(1)
}
