//! How launches ended, failures told apart by what they said.

use std::borrow::Cow;

use offered_model::{Outcome, Reason, Recording};
use offered_stats::frequent::{Frequent, frequent};
use serde::Serialize;

/// So many kinds are told apart; the rest is one more.
const MAX_KINDS: usize = 20;

/// Launches that ended in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// The outcome's name.
    pub outcome: &'static str,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Why, in words that launches which failed alike have in common.
    pub error: Option<String>,
    /// How many.
    pub n: u64,
}

/// The ways in which all launches of `recording` ended, the most frequent first.
pub(super) fn endings(recording: &Recording) -> Vec<Kind> {
    let kinds =
        recording.events.iter().map(|event| (event.outcome, event.status, event.error.as_ref().map(Reason::kind)));
    let Frequent { top, rest: (others, left) } = frequent(kinds, MAX_KINDS);
    let kind = |((outcome, status, error), n): ((Outcome, u16, Option<Cow<'_, str>>), u64)| Kind {
        outcome: outcome.name(),
        status: (status > 0).then_some(status),
        error: error.map(Cow::into_owned),
        n,
    };
    let rest = (others > 0).then(|| Kind {
        outcome: "other",
        status: None,
        error: Some(format!("{others} more kinds")),
        n: left,
    });
    top.into_iter().map(kind).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Event, Nanos};

    #[test]
    fn the_most_frequent_come_first_and_none_is_lost() {
        let failed = |n: u64| Event { error: Some(format!("e{}", n % 40).into()), ..Event::at(Nanos(n)) };
        let ok = |n| Event { outcome: Outcome::Ok, status: 200, ..Event::at(Nanos(n)) };
        let events = (0..100).map(ok).chain((0..80).map(failed)).collect();
        let kinds = endings(&Recording { events, ..Recording::default() });
        assert_eq!(kinds.len(), MAX_KINDS + 1);
        assert_eq!(kinds[0], Kind { outcome: "ok", status: Some(200), error: None, n: 100 });
        assert_eq!(kinds[MAX_KINDS].error.as_deref(), Some("21 more kinds"));
        assert_eq!(kinds.iter().map(|kind| kind.n).sum::<u64>(), 180);
    }
}
