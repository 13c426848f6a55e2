//! Requests that were not sent: how many, why, when, and by which worker.
//!
//! The reason of each request is recorded. What it means for the generator follows from its context: a worker that sent on time until it sent
//! nothing any more stood still, and a worker that fell behind was too slow.

use std::collections::BTreeMap;
use std::io;

use offered_base::{Difference, Instant, count};
use offered_events::{Event, Reason, Recording};
use serde::{Deserialize, Serialize};

use crate::scope::Scope;

offered_base::named! {
    /// Why requests were not sent.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum NotSentReason {
        /// As many requests were in flight as the limit allows.
        InFlightLimit = "in_flight_limit",
        /// All connections, or all their streams, were busy.
        ConnectionsLimit = "connections_limit",
        /// They were late, and the workload skips late requests.
        Late = "late",
        /// The run was over before they could be sent.
        RunOver = "run_over",
        /// Their worker was lost.
        WorkerLost = "worker_lost",
        /// Any other reason.
        Other = "other",
    }
}

impl NotSentReason {
    const fn of(error: Option<&Reason>) -> Self {
        match error {
            Some(Reason::InFlight(_)) => Self::InFlightLimit,
            Some(Reason::Connections(_) | Reason::Streams(_)) => Self::ConnectionsLimit,
            Some(Reason::Late(_)) => Self::Late,
            Some(Reason::RunOver) => Self::RunOver,
            Some(Reason::WorkerLost) => Self::WorkerLost,
            _ => Self::Other,
        }
    }
}

/// The requests of a worker that were not sent for the same reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotSent {
    /// The worker; `None` for a run of one worker.
    pub worker: Option<String>,
    /// Why they were not sent.
    pub reason: NotSentReason,
    /// Number of these requests.
    pub requests: u64,
    /// The scheduled time of the first of them, from the start of the run.
    pub first_s: f64,
    /// The scheduled time of the last of them.
    pub last_s: f64,
    /// Whether the worker stood still: it sent on time until the first of them, and nothing between the first and the last.
    pub stood_still: bool,
}

/// A worker that sent this share of its requests in a period did not stand still.
const MAX_SENT_SHARE: f64 = 0.01;
/// A worker that stood still was late before by at most this share of the period; one that is too slow falls behind gradually.
const MAX_LATENESS_SHARE: f64 = 0.1;

/// What is known of the requests of a worker that were not sent for the same reason.
struct Group {
    requests: u64,
    first: Instant,
    last: Instant,
    /// Number of requests that the worker sent in between.
    sent_between: u64,
    /// The scheduled time and the lateness of the last request that it sent before.
    before: Option<(Instant, Difference)>,
}

impl Group {
    /// Whether the worker stood still. It shows only once the run is over: otherwise the requests would have been sent late.
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
        let empty = Group { requests: 0, first: at, last: at, sent_between: 0, before: None };
        let group = groups.entry(key).or_insert(empty);
        (group.requests, group.first, group.last) = (group.requests + 1, group.first.min(at), group.last.max(at));
    })?;
    scope.each_key(|key| {
        let Some(sent) = key.sent else { return };
        let worker = node(recording, key.worker);
        for ((_, _), group) in groups.range_mut((worker, NotSentReason::InFlightLimit)..=(worker, NotSentReason::Other))
        {
            group.sent_between += u64::from((group.first..=group.last).contains(&key.intended));
            if key.intended < group.first && group.before.is_none_or(|(last, _)| last < key.intended) {
                group.before = Some((key.intended, sent - key.intended));
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
    };
    let mut rows: Vec<NotSent> = groups.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.requests));
    Ok(rows)
}

/// The number of the worker that this thread belongs to.
pub(crate) fn node(recording: &Recording, thread: u16) -> usize {
    recording.nodes.partition_point(|(_, first)| *first <= thread).saturating_sub(1)
}

/// What happened to these requests, the largest groups first; `None` if there are none.
pub(crate) fn text(groups: &[NotSent]) -> Option<String> {
    /// Number of groups that are described.
    const SHOWN: usize = 3;
    let shown: Vec<String> = groups.iter().take(SHOWN).map(NotSent::text).collect();
    let rest: u64 = groups.iter().skip(SHOWN).map(|group| group.requests).sum();
    let rest = if rest > 0 { format!("; and {} more", count(rest)) } else { String::new() };
    (!shown.is_empty()).then(|| shown.join("; ") + &rest)
}

impl NotSent {
    /// What happened, as far as the recording shows it: `worker 3/4 on b7 stood still from 10.2 s to 29.4 s: 1,063 requests were not sent`.
    pub fn text(&self) -> String {
        let Self { worker, reason, first_s, last_s, stood_still, .. } = self;
        let requests = count(self.requests);
        let of_worker = worker.as_ref().map_or_else(String::new, |worker| format!(" of worker {worker}"));
        let when = format!("from {first_s:.1} s to {last_s:.1} s");
        if *stood_still {
            let who = worker.as_ref().map_or_else(|| "the generator".to_owned(), |worker| format!("worker {worker}"));
            return format!("{who} stood still {when}: {requests} requests were not sent");
        }
        let why = match reason {
            NotSentReason::InFlightLimit => "the limit of requests in flight was reached",
            NotSentReason::ConnectionsLimit => "the limit of connections was reached",
            NotSentReason::Late => "they were late, and the workload skips late requests",
            NotSentReason::RunOver => "the run was over before they could be sent",
            NotSentReason::WorkerLost => "the worker was lost",
            NotSentReason::Other => return format!("{requests} requests{of_worker} were not sent, scheduled {when}"),
        };
        format!("{requests} requests{of_worker} were not sent, scheduled {when}: {why}")
    }

    /// How to avoid it.
    pub const fn fix(&self) -> &'static str {
        match self.reason {
            _ if self.stood_still => {
                "run again; if it recurs, give the process its own CPUs, and see whether it was suspended"
            }
            NotSentReason::InFlightLimit => {
                "raise the limit of requests in flight, or lower the rate: these requests are missing from the load"
            }
            NotSentReason::ConnectionsLimit => {
                "raise the limit of connections, or lower the rate: these requests are missing from the load"
            }
            NotSentReason::Late => "reserve cores for the generator, or send late requests too (late = \"send\")",
            NotSentReason::RunOver => "lower the rate, add threads, or divide the load among machines",
            NotSentReason::WorkerLost => "find out why the worker ended, and run again",
            NotSentReason::Other => "the failures of the run list the reasons",
        }
    }
}
