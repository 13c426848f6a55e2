//! Who was there: how many launches had been sent before and had not ended when another was sent.

use std::io;

use offered_model::{Difference, Outcome};
use offered_stats::order::Key;

use crate::scope::{Scope, in_order};

/// Somebody comes or goes.
#[derive(Clone, Copy)]
struct Passing {
    at: u64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Comes,
    /// With the response that this one will have, in ns, of a good answer.
    ComesAndGetsIt(i64),
    Goes,
}

impl Key for Passing {
    /// Whoever goes at an instant is gone before anybody comes.
    type Rank = (u64, bool);

    fn rank(&self) -> Self::Rank {
        (self.at, !matches!(self.what, What::Goes))
    }
}

/// What is seen of them in order.
struct Present<C> {
    seen: C,
    came: u64,
    gone: u64,
}

impl Scope<'_> {
    /// What `fresh` makes, after `see` has been told of each good answer, in the order of the launches, how many had been sent before
    /// and had not ended, and its response.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn present<C>(self, fresh: impl Fn() -> C, see: impl Fn(&mut C, u64, Difference)) -> io::Result<C> {
        let source = |give: &mut dyn FnMut(Passing)| {
            self.launches(|sent, event| {
                let good = event.response().filter(|_| event.outcome == Outcome::Ok);
                let what = good.map_or(What::Comes, |response| What::ComesAndGetsIt(response.0));
                give(Passing { at: sent, what });
                if let Some(done) = event.done {
                    give(Passing { at: done.0, what: What::Goes });
                }
            })
        };
        let fresh = || Present { seen: fresh(), came: 0, gone: 0 };
        let pass = |present: &mut Present<C>, passing: Passing| match passing.what {
            What::Goes => present.gone += 1,
            what => {
                if let What::ComesAndGetsIt(response) = what {
                    // A damaged row may go before it comes.
                    see(&mut present.seen, present.came.saturating_sub(present.gone), Difference(response));
                }
                present.came += 1;
            }
        };
        Ok(in_order(&source, fresh, pass)?.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::Criteria;
    use offered_model::{Event, Instant, Nanos, Recording};

    #[test]
    fn who_goes_at_an_instant_is_gone_before_anybody_comes() {
        let event = |sent: u64, stay: u64, outcome| {
            let sent = Instant::from_millis(sent);
            Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(stay)), outcome, ..Event::at(sent) }
        };
        // As they end: two that come at once when another goes, one that fails, one that nobody meets.
        let events = vec![
            event(0, 5, Outcome::Ok),
            event(5, 1, Outcome::Ok),
            event(5, 2, Outcome::HttpError),
            event(6, 2, Outcome::Ok),
            event(1, 20, Outcome::Ok),
        ];
        let recording = Recording::of_run(events, vec!["a".into()]);
        let scope = Scope::of(&recording, &Criteria::default()).unwrap();
        let found = scope.present(Vec::new, |found, others, response| found.push((others, response.0 / 1_000_000)));
        assert_eq!(found.unwrap(), [(0, 5), (1, 20), (1, 1), (2, 2)]);
    }
}
