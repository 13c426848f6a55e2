//! Requests that were not sent: their number, reasons, times and workers.
//!
//! The reason of each request is recorded. The context shows the state of the generator: a worker that sent on time and
//! then nothing stood still; a worker whose lateness grew was too slow.

pub(crate) mod groups;

use offered_base::count;
use offered_base::time::span;
use offered_events::Reason;
use serde::{Deserialize, Serialize};

use crate::percent::{percent, plain_percent};

/// The largest share of requests that may stay unsent.
pub(crate) const MAX_UNSENT_SHARE: f64 = 0.01;

/// The ratio of the mean response times while and before a limit was reached from which on the slow responses are the cause: by Little's
/// law, the number in flight grows with them.
const SLOWER: f64 = 2.0;

offered_base::named! {
    /// Why requests were not sent.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum NotSentReason {
        /// As many requests were in flight as the limit allows.
        InFlightLimit = "in_flight_limit",
        /// All connections, or all their streams, were busy.
        ConnectionsLimit = "connections_limit",
        /// The requests were late, and the workload skips late requests.
        Late = "late",
        /// The run was over before they could be sent.
        RunOver = "run_over",
        /// The worker was lost.
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
    /// Why the requests were not sent.
    pub reason: NotSentReason,
    /// Number of requests that were not sent.
    pub requests: u64,
    /// The scheduled time of the first request that was not sent, from the start of the run.
    pub first_s: f64,
    /// The scheduled time of the last request that was not sent.
    pub last_s: f64,
    /// Whether the worker stood still: it sent on time until the first of these requests, and nothing between the first
    /// and the last.
    pub stood_still: bool,
    /// The mean time from sending to the response of the requests that the worker sent before the first of these; `None` if they
    /// are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_response_before_ms: Option<f64>,
    /// The mean time from sending to the response of the requests that it sent between the first and the last of these; `None` if
    /// they are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_response_between_ms: Option<f64>,
}

/// What happened to these requests, the largest groups first, and the share of the `unsent` in all `requests` with the
/// tolerated one: `1,362 requests were not sent, ... (22 % of 6,259 requests; 1 % tolerated)`.
pub(crate) fn text(groups: &[NotSent], unsent: u64, requests: u64) -> String {
    /// Number of groups that are described.
    const SHOWN: usize = 3;
    let share = format!("{} of {} requests", percent(unsent as f64 / requests as f64), count(requests));
    let limit = plain_percent(MAX_UNSENT_SHARE);
    if groups.is_empty() {
        return format!("{} requests were not sent ({share}; {limit} tolerated)", count(unsent));
    }
    let shown: Vec<String> = groups.iter().take(SHOWN).map(NotSent::text).collect();
    let rest: u64 = groups.iter().skip(SHOWN).map(|group| group.requests).sum();
    let rest = if rest > 0 { format!("; and {} more", count(rest)) } else { String::new() };
    format!("{}{rest} ({share}; {limit} tolerated)", shown.join("; "))
}

impl NotSent {
    /// The event that the recording shows: `worker 3/4 on b7 stood still from 10.2 s to 29.4 s: 1,063 requests were not
    /// sent`.
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
            NotSentReason::RunOver => "the run ended before they could be sent",
            NotSentReason::WorkerLost => "the worker was lost",
            NotSentReason::Other => return format!("{requests} requests{of_worker} were not sent, scheduled {when}"),
        };
        format!("{requests} requests{of_worker} were not sent, scheduled {when}: {why}{}", self.because_slow())
    }

    /// The mean response times, in milliseconds, before the first and until the last of these requests, if they show that a limit was
    /// reached because the server became slow.
    fn slower(&self) -> Option<(f64, f64)> {
        let at_limit = matches!(self.reason, NotSentReason::InFlightLimit | NotSentReason::ConnectionsLimit);
        let times = self.mean_response_before_ms.zip(self.mean_response_between_ms);
        times.filter(|(before, between)| at_limit && between >= &(SLOWER * before))
    }

    /// Whether a limit was reached because the server became slow.
    pub fn became_slow(&self) -> bool {
        self.slower().is_some()
    }

    fn because_slow(&self) -> String {
        self.slower().map_or_else(String::new, |(before, between)| {
            format!(", because the mean response time rose from {} to {}", span(before * 1e6), span(between * 1e6))
        })
    }

    /// The fix: how to avoid requests that are not sent, in the imperative.
    pub fn fix(&self) -> &'static str {
        match self.reason {
            _ if self.stood_still => {
                "run again; if this recurs, give the process its own CPUs, and check whether it was suspended"
            }
            _ if self.became_slow() => "find out why the server became slow, or lower the rate",
            NotSentReason::InFlightLimit => {
                "raise the limit of requests in flight; if it is reached again, lower the rate"
            }
            NotSentReason::ConnectionsLimit => "raise the limit of connections; if it is reached again, lower the rate",
            NotSentReason::Late => "reserve cores for the generator, or send late requests too (late = \"send\")",
            NotSentReason::RunOver => "lower the rate, add threads, or divide the load between machines",
            NotSentReason::WorkerLost => "find out why the worker ended, and run again",
            NotSentReason::Other => "see the reasons in the list of failures",
        }
    }
}
