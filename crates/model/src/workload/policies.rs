//! Policies that take turns within one run, put in place by a command while launches go on.
//!
//! Two runs of a server differ by whatever else the machine did meanwhile, and at a high load that is more than most policies differ
//! by. Within one run all of them meet the same. Their blocks come in the order ABBA, ABC CBA, ... so that what drifts evenly
//! falls upon all of them alike; the beginning of each block, which still has the queue of the one before, is left out.

use std::ops::Range;

use crate::time::{Instant, Nanos};

/// Blocks are no shorter: a command takes some milliseconds to start.
pub(super) const SHORTEST: Nanos = Nanos::from_millis(100);

/// Policies of the server that take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// What they are called, in the order of their first blocks.
    pub names: Vec<String>,
    /// How long each holds at a time.
    pub block: Nanos,
    /// The part of that at its beginning which is not counted.
    pub settle: Nanos,
    /// The command that puts one in place; `{{policy}}` in its words is a place for the name.
    pub hook: Vec<String>,
}

/// A policy's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which of the policies.
    pub policy: usize,
    /// When it is put in place.
    pub begins: Instant,
    /// From when on launches count for it.
    pub settled: Instant,
    /// When it is over.
    pub ends: Instant,
}

impl Policies {
    /// How long it takes until each has had its turn once forth and once back.
    pub fn round(&self) -> Nanos {
        Nanos(self.block.0.saturating_mul(2 * self.names.len() as u64))
    }

    /// The turns in a time that counts. The first is in place from the start of the run, so that the ramp-up is its own.
    pub fn turns(&self, counted: Range<Instant>) -> impl Iterator<Item = Turn> + use<> {
        let (policies, block, settle) = (self.names.len(), self.block, self.settle);
        let starts = (0u64..).map(move |number| (number, counted.start + Nanos(number * block.0)));
        starts.take_while(move |(_, at)| *at + block <= counted.end).map(move |(number, at)| {
            let place = (number % (2 * policies as u64)) as usize;
            Turn {
                policy: if place < policies { place } else { 2 * policies - 1 - place },
                begins: if number == 0 { Instant::ZERO } else { at },
                settled: at + settle,
                ends: at + block,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_forth_and_back_so_that_a_drift_falls_upon_all_alike() {
        let seconds = Nanos::from_secs;
        let policies = Policies {
            names: ["a", "b", "c"].map(str::to_owned).into(),
            block: seconds(8),
            settle: seconds(2),
            hook: vec!["./switch".into()],
        };
        let turns: Vec<Turn> = policies.turns(Instant::from_secs(10)..Instant::from_secs(106)).collect();
        let order: String = turns.iter().map(|turn| policies.names[turn.policy].as_str()).collect();
        assert_eq!(order, "abccbaabccba");
        let first =
            Turn { policy: 0, begins: Instant::ZERO, settled: Instant::from_secs(12), ends: Instant::from_secs(18) };
        assert_eq!(turns[0], first);
        let middles = |policy| turns.iter().filter(|t| t.policy == policy).map(|t| t.settled.0 + t.ends.0).sum::<u64>();
        assert_eq!((middles(0), middles(1)), (middles(1), middles(2)));
        assert_eq!(policies.round(), seconds(48));
    }
}
