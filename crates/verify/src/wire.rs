//! Requests on the wire, as the log of the server contains them.
//!
//! One request of the workload may be several requests there: redirects, objects of a page and retries are separate
//! requests. A request that the server did not process (HTTP/2), or whose reused connection it had closed (HTTP/1.1), is sent again, and the log
//! contains it once.

use std::io;

use offered_base::count;
use offered_events::{Event, Outcome, Reason, Recording};
use serde::{Deserialize, Serialize};

/// Number of requests on the wire that the log of the server contains, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnTheWire {
    /// Requests of the workload, except those that were not sent, had no connection, or were reported by the server as not processed.
    pub requests: u64,
    /// Redirects that were followed.
    pub redirects: u64,
    /// Requests for access tokens (OAuth 2.0).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub token_requests: u64,
    /// Number of times that a request was sent again, because the server had not processed it (`REFUSED_STREAM` or `GOAWAY` of HTTP/2) or had
    /// closed its reused connection (HTTP/1.1).
    pub resends: u64,
    /// Requests that were sent again by a retry policy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Objects of pages.
    pub objects: u64,
    /// The sum of all these numbers except `resends` and `messages`.
    pub total: u64,
    /// Messages over a WebSocket that was already open; access logs do not contain them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: u64,
}

impl OnTheWire {
    /// Counts a request, an object or an attempt.
    pub fn add(&mut self, event: &Event) {
        // A request that was sent several times counts by its attempts.
        if event.is_request() && event.retries > 0 {
            return;
        }
        let (token_requests, resends) = (u64::from(event.token_requests), u64::from(event.resends));
        // A request whose last redirect had no connection, or that did not get its last token, was sent once for each of these.
        let redirects = u64::from(event.redirects);
        self.token_requests += token_requests;
        self.redirects += redirects;
        self.resends += resends;
        self.total += token_requests + redirects;
        if !event.reached_the_wire() || event.outcome == Outcome::Unprocessed {
            return;
        }
        if is_message(event) {
            self.messages += 1;
            return;
        }
        self.requests += u64::from(event.object == 0 && event.attempt <= 1);
        self.retries += u64::from(event.attempt > 1);
        self.objects += u64::from(event.object > 0);
        self.total += 1;
    }

    /// The requests of a run of `offered`; `None` for the file of another tool, which does not contain them all.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub(crate) fn of(recording: &Recording) -> io::Result<Option<Self>> {
        if !recording.on_run_clock {
            return Ok(None);
        }
        let mut counts = Self::default();
        recording.events.each_on_the_wire(|event| counts.add(event))?;
        Ok(Some(counts))
    }

    /// `209 requests, 84 redirects: 293 on the wire`, and the numbers of resends and of messages; `None` if each request was one on the wire.
    pub fn text(&self) -> Option<String> {
        let Self { requests, redirects, token_requests, resends, retries, objects, total, messages } = *self;
        let extra =
            [(redirects, "redirect"), (token_requests, "token request"), (retries, "retry"), (objects, "object")];
        let extra = extra.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| counted(n, name));
        let parts: Vec<String> = std::iter::once(counted(requests, "request")).chain(extra).collect();
        let total = if parts.len() > 1 { format!(": {}", count(total)) } else { String::new() };
        let beside = [(resends, "resend"), (messages, "WebSocket message")].into_iter().filter(|(n, _)| *n > 0);
        let beside: String = beside.map(|(n, name)| format!(", and {}", counted(n, name))).collect();
        (parts.len() > 1 || !beside.is_empty()).then(|| format!("{}{total} on the wire{beside}", parts.join(", ")))
    }
}

/// Whether the count is zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "shaped for serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// `1 redirect`, `84 redirects`.
fn counted(n: u64, name: &str) -> String {
    let several = if name == "retry" { "retries".to_owned() } else { format!("{name}s") };
    format!("{} {}", count(n), if n == 1 { name } else { &several })
}

/// Whether the request was a message over a WebSocket that was already open.
fn is_message(event: &Event) -> bool {
    event.reused && (event.status == 101 || matches!(event.error, Some(Reason::ExpectTimeout(_))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};

    fn event(outcome: Outcome) -> Event {
        Event { sent: Some(Instant(1)), outcome, ..Event::at(Instant(1)) }
    }

    #[test]
    fn everything_that_the_server_may_have_processed_counts_once() {
        let ok = event(Outcome::Ok);
        let no_connection = Some(Reason::ConnectTimeout(Nanos::from_secs(1)));
        let late = Some(Reason::ResponseTimeout(Nanos::from_secs(1)));
        let events = [
            ok.clone(),
            Event { redirects: 2, ..ok.clone() },
            Event { resends: 1, ..ok.clone() },
            // The server has processed no attempt of it.
            Event { resends: 3, ..event(Outcome::Unprocessed) },
            Event { object: 1, ..ok.clone() },
            Event { object: 2, ..event(Outcome::HttpError) },
            Event { error: late, ..event(Outcome::Timeout) },
            // These never had a connection.
            Event { error: no_connection, ..event(Outcome::Timeout) },
            event(Outcome::Refused),
            // The request itself had one, and its redirect to another target did not.
            Event { redirects: 1, ..event(Outcome::Refused) },
            // One that got its token first, and one that was refused once and got no other token.
            Event { token_requests: 1, ..ok.clone() },
            Event { token_requests: 1, redirects: 1, ..event(Outcome::AuthError) },
            Event { sent: None, ..event(Outcome::Unsent) },
            Event { object: 3, sent: None, ..event(Outcome::NoValue) },
        ];
        let mut counts = OnTheWire::default();
        for event in &events {
            counts.add(event);
        }
        assert_eq!(
            counts,
            OnTheWire {
                requests: 5,
                redirects: 4,
                token_requests: 2,
                resends: 4,
                retries: 0,
                objects: 2,
                total: 13,
                messages: 0
            }
        );
        assert_eq!(
            counts.text().as_deref(),
            Some("5 requests, 4 redirects, 2 token requests, 2 objects: 13 on the wire, and 4 resends")
        );
        // Refused, then an error, then a response: two reached the server.
        let attempts = [(1, Outcome::Refused), (2, Outcome::HttpError), (3, Outcome::Ok)];
        let mut retried = OnTheWire::default();
        for (attempt, outcome) in attempts {
            retried.add(&Event { attempt, ..event(outcome) });
        }
        retried.add(&Event { retries: 2, ..ok.clone() });
        assert_eq!(retried, OnTheWire { requests: 0, retries: 2, total: 2, ..OnTheWire::default() });
        let mut session = OnTheWire::default();
        let late = Some(Reason::ExpectTimeout(Nanos::from_secs(1)));
        let messages = [(101, false, None), (101, true, None), (0, true, late)];
        for (status, reused, error) in messages {
            session.add(&Event { status, reused, error, ..ok.clone() });
        }
        assert_eq!(session, OnTheWire { requests: 1, total: 1, messages: 2, ..OnTheWire::default() });
        assert_eq!(session.text().as_deref(), Some("1 request on the wire, and 2 WebSocket messages"));
        let mut plain = OnTheWire::default();
        plain.add(&ok);
        assert_eq!(plain.text(), None);
        plain.add(&Event { redirects: 1, ..ok });
        assert_eq!(plain.text().as_deref(), Some("2 requests, 1 redirect: 3 on the wire"));
    }
}
