//! How launches ended, failures told apart by what they said.

use std::collections::HashMap;

use offered_model::{Outcome, Recording};
use serde::Serialize;

/// So many kinds are told apart; the rest is one more.
const MOST: usize = 20;

/// Launches that ended in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// The outcome's name.
    pub outcome: &'static str,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// What the error said.
    pub error: Option<String>,
    /// How many.
    pub n: u64,
}

/// The ways in which all launches of `recording` ended, the most frequent first.
pub(super) fn endings(recording: &Recording) -> Vec<Kind> {
    let mut kinds: HashMap<(Outcome, u16, Option<&str>), u64> = HashMap::new();
    for event in &recording.events {
        *kinds.entry((event.outcome, event.status, event.error.as_deref())).or_default() += 1;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let rest = kinds.split_off(kinds.len().min(MOST));
    let kind = |((outcome, status, error), n): ((Outcome, u16, Option<&str>), u64)| Kind {
        outcome: outcome.name(),
        status: (status > 0).then_some(status),
        error: error.map(str::to_owned),
        n,
    };
    let others = rest.iter().map(|kind| kind.1).sum::<u64>();
    let others = (others > 0).then(|| Kind {
        outcome: "other",
        status: None,
        error: Some(format!("{} more kinds", rest.len())),
        n: others,
    });
    kinds.into_iter().map(kind).chain(others).collect()
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
        assert_eq!(kinds.len(), MOST + 1);
        assert_eq!(kinds[0], Kind { outcome: "ok", status: Some(200), error: None, n: 100 });
        assert_eq!(kinds[MOST].error.as_deref(), Some("21 more kinds"));
        assert_eq!(kinds.iter().map(|kind| kind.n).sum::<u64>(), 180);
    }
}
