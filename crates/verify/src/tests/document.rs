//! The document of a verdict survives a round trip through JSON.

use offered_base::{Instant, Nanos};
use offered_distributions::Distribution;
use offered_events::document::Schema;
use offered_events::{Event, Outcome, Recording};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::verify;
use crate::{Criteria, ExpectedArrivals, Failures, Verdict, Verdicts};

/// A request with any outcome, close to others.
fn event() -> impl Strategy<Value = Event> {
    let instant = || (0u64..5_000).prop_map(Instant::from_millis);
    let instants = (
        instant(),
        option::of(instant()),
        option::of(instant()),
        option::of((0u64..5_000).prop_map(Nanos::from_millis)),
    );
    let fate = (0..Outcome::ALL.len(), 0u16..600, 0u16..2, 0u64..3, 0u32..3, 0u16..3);
    (instants, fate, 0u64..9).prop_map(|((intended, sent, first, took), fate, bytes)| {
        let (outcome, status, label, session, step, worker) = fate;
        let done = sent.zip(took).map(|(sent, took)| sent + took);
        let event = Event { sent, first_byte: first.filter(|_| done.is_some()), done, ..Event::at(intended) };
        Event { outcome: Outcome::ALL[outcome], status, label, session, step, worker, bytes_in: bytes, ..event }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn documents_survive_a_round_trip(
        events in vec(event(), 0..40),
        (intent_known, sessions_known, on_run_clock) in any::<(bool, bool, bool)>(),
        (closed, drop, by_threads) in any::<(bool, bool, bool)>(),
    ) {
        let labels = vec!["a".to_owned(), "b".to_owned()];
        let known = Recording { intent_known, sessions_known, on_run_clock, ..Recording::default() };
        let recording = Recording { events: events.into(), labels, resolution: Nanos(1), ..known };
        let failures = if drop { Failures::Drop } else { Failures::Keep };
        let users = ExpectedArrivals::Closed { users: 3, think: Distribution::constant(0.1).unwrap() };
        let expected = if closed { users } else { ExpectedArrivals::Poisson };
        let verdict = verify(&recording, &Criteria { expected, failures, by_threads, ..Criteria::default() });
        let text = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Verdict>(&text).unwrap(), &verdict, "{}", text);
        let several = Verdicts { schema: Schema::new(), verdicts: vec![verdict] };
        let text = serde_json::to_string(&several).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Verdicts>(&text).unwrap(), &several);
        prop_assert!(serde_json::from_str::<Verdict>(&text).is_err());
    }
}
