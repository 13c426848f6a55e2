//! Requests on the wire: what the log of the server contains.
//!
//! One request of the workload may be several there. Redirects are requests of their own, objects of a page and retries too, and over HTTP/2 a
//! request that the server did not process is sent again.

use std::io;

use offered_base::count;
use offered_events::{Event, Outcome, Reason, Recording};
use serde::{Deserialize, Serialize};

/// Number of requests that the generator put on the wire, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnTheWire {
    /// Requests of the workload, without those that were not sent or for which no connection could be opened.
    pub requests: u64,
    /// Redirects that were followed.
    pub redirects: u64,
    /// Requests for access tokens (OAuth 2.0).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub token_requests: u64,
    /// Requests that were sent again because the server had not processed them (`REFUSED_STREAM` or `GOAWAY` of HTTP/2).
    pub resends: u64,
    /// Requests that were sent again by a retry policy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
    /// Objects of pages.
    pub objects: u64,
    /// The sum of all, without `messages`.
    pub total: u64,
    /// Messages over a WebSocket that was open already; access logs do not contain them.
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
        let is_sent = event.reached_the_wire();
        // Without its last token, a request was sent only as often as earlier ones were refused.
        let is_refused = event.outcome == Outcome::AuthError;
        let redirects = if is_sent || is_refused { u64::from(event.redirects) } else { 0 };
        self.token_requests += token_requests;
        self.redirects += redirects;
        self.total += token_requests + redirects;
        if !is_sent {
            return;
        }
        if is_message(event) {
            self.messages += 1;
            return;
        }
        self.requests += u64::from(event.object == 0 && event.attempt <= 1);
        self.retries += u64::from(event.attempt > 1);
        self.objects += u64::from(event.object > 0);
        self.resends += resends;
        self.total += 1 + resends;
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
        recording.events.each_row(|event| counts.add(event))?;
        Ok(Some(counts))
    }

    /// `209 requests, 84 redirects: 293 on the wire`, and the number of messages; `None` if each request was one on the wire.
    pub fn text(&self) -> Option<String> {
        let Self { requests, redirects, token_requests, resends, retries, objects, total, messages } = *self;
        let extra = [
            (redirects, "redirect"),
            (token_requests, "token request"),
            (resends, "resend"),
            (retries, "retry"),
            (objects, "object"),
        ];
        let extra = extra.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| counted(n, name));
        let parts: Vec<String> = std::iter::once(counted(requests, "request")).chain(extra).collect();
        let total = if parts.len() > 1 { format!(": {}", count(total)) } else { String::new() };
        let messages = (messages > 0).then(|| format!(", and {}", counted(messages, "WebSocket message")));
        (parts.len() > 1 || messages.is_some())
            .then(|| format!("{}{total} on the wire{}", parts.join(", "), messages.unwrap_or_default()))
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

/// Whether it was a message over a WebSocket that was open already.
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
    fn everything_that_was_written_counts_once() {
        let ok = event(Outcome::Ok);
        let no_connection = Some(Reason::ConnectTimeout(Nanos::from_secs(1)));
        let late = Some(Reason::ResponseTimeout(Nanos::from_secs(1)));
        let events = [
            ok.clone(),
            Event { redirects: 2, ..ok.clone() },
            Event { resends: 3, ..event(Outcome::Unprocessed) },
            Event { object: 1, ..ok.clone() },
            Event { object: 2, ..event(Outcome::HttpError) },
            Event { error: late, ..event(Outcome::Timeout) },
            // These never had a connection.
            Event { error: no_connection, ..event(Outcome::Timeout) },
            event(Outcome::Refused),
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
                redirects: 3,
                token_requests: 2,
                resends: 3,
                retries: 0,
                objects: 2,
                total: 15,
                messages: 0
            }
        );
        assert_eq!(
            counts.text().as_deref(),
            Some("5 requests, 3 redirects, 2 token requests, 3 resends, 2 objects: 15 on the wire")
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
