//! What did not go well, per request and by what was said of it.

use std::collections::HashMap;
use std::io;

use offered_model::{Event, Outcome, Reason, Recording};
use offered_stats::frequent::{Frequent, frequent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many are told apart; the rest is one more.
const MAX_KINDS: usize = 20;

/// Launches of one request that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The request; `null` of the rest.
    pub label: Option<String>,
    /// How they ended; of the rest `other`.
    pub outcome: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Why, in words that launches which failed alike have in common: the name of a failed check, why one was not sent.
    pub why: Option<String>,
    /// How many launches.
    pub n: u64,
}

/// What launches have in common that failed in the same way: request, outcome, status and why.
type Kind = (u16, Outcome, u16, Option<String>);

/// The failures of `recording`, its pages' objects included, the most frequent first.
///
/// # Errors
/// The recording can no longer be read.
pub fn failures(recording: &Recording) -> io::Result<Vec<Failure>> {
    let mut failing = Failing::default();
    recording.events.each_of_all(|event| failing.add(event))?;
    Ok(failing.finish(&recording.labels))
}

/// Failures in the making.
#[derive(Default)]
pub(super) struct Failing(HashMap<Kind, u64>);

impl Failing {
    /// Takes what has happened.
    #[inline]
    pub(super) fn add(&mut self, event: &Event) {
        if event.outcome != Outcome::Ok {
            let why = event.error.as_ref().map(|why| Reason::kind(why).into_owned());
            *self.0.entry((event.label, event.outcome, event.status, why)).or_default() += 1;
        }
    }

    /// All of requests with these names, the most frequent first.
    pub(super) fn finish(self, labels: &[String]) -> Vec<Failure> {
        let Frequent { top, rest: (others, left) } = frequent(self.0, MAX_KINDS);
        let failure = |((label, outcome, status, why), n): (Kind, u64)| Failure {
            label: labels.get(usize::from(label)).cloned(),
            outcome: outcome.name().to_owned(),
            status: (status > 0).then_some(status),
            why,
            n,
        };
        let rest = (others > 0).then(|| Failure {
            label: None,
            outcome: "other".to_owned(),
            status: None,
            why: Some(format!("{others} more kinds")),
            n: left,
        });
        top.into_iter().map(failure).chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Instant, Nanos};

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
            found.iter().map(|f| (f.label.as_deref().unwrap(), f.why.as_deref().unwrap(), f.n)).collect();
        assert_eq!(said, [("form", "later than is allowed (late = \"skip\")", 2), ("item", "extract csrf2", 1)]);
    }

    #[test]
    fn the_rest_is_one_more_and_none_is_lost() {
        let failed = |n: u16| Event { label: n % 30, ..Event::at(Instant(1)) };
        let events = (0..60).map(failed).collect::<Vec<_>>().into();
        let found = failures(&Recording { events, ..Recording::default() }).unwrap();
        assert_eq!(found.len(), MAX_KINDS + 1);
        assert_eq!(found[MAX_KINDS].why.as_deref(), Some("10 more kinds"));
        assert_eq!(found.iter().map(|failure| failure.n).sum::<u64>(), 60);
    }
}
