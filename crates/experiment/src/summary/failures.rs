//! Failures by request, outcome and reason.

use std::collections::HashMap;
use std::io;

use offered_events::{Event, Outcome, Reason, Recording};
use offered_stats::frequent::{Frequent, frequent};
use serde::{Deserialize, Serialize};

/// Maximum number of kinds of failures; the others are combined into one more.
const MAX_KINDS: usize = 20;

/// Requests with the same label that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The label; `null` for the combined others.
    pub label: Option<String>,
    /// The outcome; `other` for the combined others.
    pub outcome: String,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The reason, without details that differ between requests: the name of a failed check, or why the request was not sent.
    pub reason: Option<String>,
    /// Number of requests.
    pub n: u64,
}

impl Failure {
    /// What happened, without the request: `status 503`, `refused: Connection refused`. The reason may be text from outside.
    pub fn text(&self) -> String {
        let reason = self.reason.as_deref();
        let what = match (Outcome::from_name(&self.outcome), self.status) {
            (Some(Outcome::HttpError), Some(status)) => format!("status {status}"),
            // The worker may have sent them, and have recorded them elsewhere.
            (Some(Outcome::Unsent), _) if reason.is_some() && self.unsent_reason().is_none() => {
                return "not in this recording".to_owned();
            }
            (Some(Outcome::Refused), _) if reason.is_none() => "connection refused".to_owned(),
            (Some(Outcome::Unsent | Outcome::NoValue), _) => "not sent".to_owned(),
            (Some(Outcome::BreakerOpen), _) => "not sent: circuit breaker open".to_owned(),
            (Some(Outcome::Cut), _) => "cut off by the end of the run".to_owned(),
            (_, Some(status)) => format!("{} (status {status})", self.outcome.replace('_', " ")),
            (_, None) => self.outcome.replace('_', " "),
        };
        reason.map_or_else(|| what.clone(), |reason| format!("{what}: {reason}"))
    }

    /// Why these requests were not sent; `None` if they were, and for those of a lost worker, which may have sent them.
    pub fn unsent_reason(&self) -> Option<&str> {
        let reason = self.reason.as_deref().filter(|_| self.is_unsent())?;
        (reason != Reason::WorkerLost.text()).then_some(reason)
    }

    /// Whether these requests were not sent, and therefore give no information about the server.
    pub fn is_unsent(&self) -> bool {
        Outcome::from_name(&self.outcome) == Some(Outcome::Unsent)
    }
}

/// A kind of failure: label, outcome, status and reason.
type Kind = (u16, Outcome, u16, Option<String>);

/// The failures in `recording`, including embedded objects, the most frequent first.
///
/// # Errors
/// The recording can no longer be read.
pub fn failures(recording: &Recording) -> io::Result<Vec<Failure>> {
    let mut failing = FailureCounter::default();
    recording.events.each_with_objects(|event| failing.add(event))?;
    Ok(failing.finish(&recording.labels))
}

/// Counts failures by kind.
#[derive(Default)]
pub(super) struct FailureCounter(HashMap<Kind, u64>);

impl FailureCounter {
    /// Counts an event, if it is a failure.
    #[inline]
    pub(super) fn add(&mut self, event: &Event) {
        if event.outcome != Outcome::Ok {
            let reason = event.error.as_ref().map(|why| Reason::kind(why).into_owned());
            *self.0.entry((event.label, event.outcome, event.status, reason)).or_default() += 1;
        }
    }

    /// The failures, the most frequent first; `labels` are the names of the requests.
    pub(super) fn finish(self, labels: &[String]) -> Vec<Failure> {
        let Frequent { top, other: (others, left) } = frequent(self.0, MAX_KINDS);
        let failure = |((label, outcome, status, reason), n): (Kind, u64)| Failure {
            label: labels.get(usize::from(label)).cloned(),
            outcome: outcome.name().to_owned(),
            status: (status > 0).then_some(status),
            reason,
            n,
        };
        let rest = (others > 0).then(|| Failure {
            label: None,
            outcome: "other".to_owned(),
            status: None,
            reason: Some(format!("{others} more kinds")),
            n: left,
        });
        top.into_iter().map(failure).chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};

    #[test]
    fn failures_are_counted_per_request_and_reason() {
        let failed = |label, why: Reason| Event { label, error: Some(why), ..Event::at(Instant(1)) };
        let events = vec![
            failed(0, Reason::Late(Nanos::from_micros(12_500))),
            failed(0, Reason::Late(Nanos::from_millis(3))),
            failed(1, "extract csrf2".into()),
            Event { outcome: Outcome::Ok, ..Event::at(Instant(2)) },
        ];
        let labels = vec!["form".to_owned(), "item".to_owned()];
        let found = failures(&Recording { events: events.into(), labels, ..Recording::default() }).unwrap();
        let said: Vec<_> =
            found.iter().map(|f| (f.label.as_deref().unwrap(), f.reason.as_deref().unwrap(), f.n)).collect();
        assert_eq!(said, [("form", "later than allowed (late = \"skip\")", 2), ("item", "extract csrf2", 1)]);
    }

    #[test]
    fn the_remaining_failures_are_one_more_row() {
        let failed = |n: u16| Event { label: n % 30, ..Event::at(Instant(1)) };
        let events = (0..60).map(failed).collect::<Vec<_>>().into();
        let found = failures(&Recording { events, ..Recording::default() }).unwrap();
        assert_eq!(found.len(), MAX_KINDS + 1);
        assert_eq!(found[MAX_KINDS].reason.as_deref(), Some("10 more kinds"));
        assert_eq!(found.iter().map(|failure| failure.n).sum::<u64>(), 60);
    }
}
