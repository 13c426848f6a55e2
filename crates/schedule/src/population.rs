//! The number of users of a closed system over time, in stages.
//!
//! Within a stage the number N(t) is linear; user number k (from 0) of those who are present stays while N(t) > k. So
//! the users who joined last leave first, as in k6, and a stage from 0 to N users starts them like a ramp: the first at
//! once, the others one after another. Everything is a function of the stages: each user who joins is a new user,
//! numbered in the order of joining, with the instant at which it leaves.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::arrivals::Profile;
use offered_base::InvalidValue;
use offered_base::time::{Instant, Nanos};

/// Maximum number of users. Each user takes memory from the start; a larger number is divided between machines.
pub const MAX_USERS: u64 = 100_000_000;

/// The numbers of users by which a stage with a changing number is described.
const SAMPLES: u64 = 16;

/// A stage: a period in which the number of users changes linearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The number of users at its start.
    pub from: u64,
    /// The number of users at its end.
    pub to: u64,
    /// The length.
    pub over: Nanos,
}

/// The number of users over time. After the last stage the number stays constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    stages: Arc<[Stage]>,
    changes: Arc<[Change]>,
    joined: u64,
}

/// Users who join, or leave, one after another: those whose position among the users present is in `low..high`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    start: Instant,
    over: Nanos,
    low: u64,
    high: u64,
    /// The number of the first user who joins; `None`: users leave.
    first: Option<u64>,
}

impl Change {
    /// The instant at which the `i`-th of these users joins or leaves.
    fn at(&self, i: u64) -> Instant {
        let share = u128::from(self.over.0) * u128::from(i) / u128::from(self.high - self.low);
        self.start + Nanos(share as u64)
    }
}

impl Population {
    /// The users of these stages.
    ///
    /// # Errors
    /// No stages, a stage of duration zero, no users at all, or more than 100 million users in all.
    pub fn new(stages: &[Stage]) -> Result<Self, InvalidValue> {
        if stages.is_empty() || stages.iter().any(|stage| stage.over == Nanos::ZERO) {
            return Err(InvalidValue::new(
                "stages must be a list like [[0, 100, \"1m\"], [100, \"5m\"]], each longer than 0s",
            ));
        }
        let (mut changes, mut joined, mut now, mut start) = (Vec::new(), 0, 0, Instant::ZERO);
        let mut change = |start: Instant, over: Nanos, from: u64, to: u64| {
            if from == to {
                return;
            }
            let first = (to > from).then_some(joined);
            changes.push(Change { start, over, low: from.min(to), high: from.max(to), first });
            joined = if to > from { u64::saturating_add(joined, to - from) } else { joined };
        };
        for Stage { from, to, over } in stages {
            change(start, Nanos::ZERO, now, *from);
            change(start, *over, *from, *to);
            (now, start) = (*to, start + *over);
        }
        match joined {
            0 => Err(InvalidValue::new("at least one stage needs a number of users above 0")),
            1..=MAX_USERS => Ok(Self { stages: stages.into(), changes: changes.into(), joined }),
            _ => Err(InvalidValue::new(format!("{joined} users join in total; at most {MAX_USERS} can join"))),
        }
    }

    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The length of all stages.
    pub fn duration(&self) -> Nanos {
        self.stages.iter().fold(Nanos::ZERO, |sum, stage| sum + stage.over)
    }

    /// The largest number of users at a time.
    pub fn peak(&self) -> u64 {
        self.stages.iter().map(|stage| stage.from.max(stage.to)).max().unwrap_or(0)
    }

    /// Total number of users who join; one who joins after others left is a new user.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// The number of users over time, as a profile. While users join or leave one after another, it is the line through
    /// the middle of the steps.
    pub fn profile(&self) -> Profile {
        let middle = |stage: &Stage| if stage.from == stage.to { 0.0 } else { 0.5 };
        let piece = |stage: &Stage| (stage.from as f64 + middle(stage), stage.to as f64 + middle(stage), stage.over);
        let mut pieces: Vec<_> = self.stages.iter().map(piece).collect();
        let last = self.stages[self.stages.len() - 1].to as f64;
        pieces.push((last, last, Nanos(1)));
        Profile::stages(&pieces).expect("stages of users are stages of a rate")
    }

    /// The numbers of users in an interval, each with its share of the time that all users together are present. A
    /// stage in which the number changes is represented by some of its numbers.
    pub fn levels(&self, window: Range<Instant>) -> Vec<(u64, f64)> {
        let mut levels = Vec::new();
        let mut start = Instant::ZERO;
        let last = self.stages[self.stages.len() - 1].to;
        let held = Stage { from: last, to: last, over: start.until(Instant::MAX) };
        for Stage { from, to, over } in self.stages.iter().copied().chain([held]) {
            let end = Instant(start.0.saturating_add(over.0));
            let (begin, length) = (start.max(window.start), start.max(window.start).until(end.min(window.end)));
            let samples = if from == to { 1 } else { SAMPLES };
            for sample in 0..samples {
                let at = begin + Nanos(length.0 / samples * sample + length.0 / samples / 2);
                let share = start.until(at).as_secs_f64() / over.as_secs_f64();
                let users = (from as f64 + (to as f64 - from as f64) * share).ceil();
                levels.push((users as u64, users * length.as_secs_f64() / samples as f64));
            }
            start = end;
        }
        let all: f64 = levels.iter().map(|(_, time)| time).sum();
        levels.retain(|(_, time)| *time > 0.0);
        for (_, time) in &mut levels {
            *time /= all;
        }
        levels
    }

    /// When `user`, numbered in the order of joining, joins and leaves; [`Instant::MAX`]: it never leaves.
    pub fn stay(&self, user: u64) -> (Instant, Instant) {
        let begins = |change: &Change| change.first.is_some_and(|first| first <= user);
        let Some(number) = self.changes.iter().rposition(begins) else { return (Instant::MAX, Instant::MAX) };
        let joining = &self.changes[number];
        let i = user - joining.first.unwrap_or(0);
        let position = joining.low + i;
        let leaving = self.changes[number + 1..]
            .iter()
            .find(|change| change.first.is_none() && (change.low..change.high).contains(&position));
        let leaves = leaving.map_or(Instant::MAX, |change| change.at(change.high - position));
        (joining.at(i), leaves)
    }
}

/// As a workload file writes it.
impl fmt::Display for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = |stage: &Stage| match stage {
            Stage { from, to, over } if from == to => format!("[{from}, \"{over}\"]"),
            Stage { from, to, over } => format!("[{from}, {to}, \"{over}\"]"),
        };
        let stages: Vec<String> = self.stages.iter().map(stage).collect();
        write!(f, "{{ stages = [{}] }}", stages.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn population(stages: &[(u64, u64, u64)]) -> Population {
        let stage = |(from, to, secs): &(u64, u64, u64)| Stage { from: *from, to: *to, over: Nanos::from_secs(*secs) };
        Population::new(&stages.iter().map(stage).collect::<Vec<_>>()).unwrap()
    }

    fn stays(of: &Population) -> Vec<(f64, f64)> {
        let secs = |at: Instant| if at == Instant::MAX { f64::INFINITY } else { at.as_secs_f64() };
        (0..of.joined()).map(|user| of.stay(user)).map(|(joins, leaves)| (secs(joins), secs(leaves))).collect()
    }

    #[test]
    fn users_join_as_in_a_ramp_and_the_last_leaves_first() {
        let up_and_down = population(&[(0, 4, 4), (4, 4, 2), (4, 0, 4)]);
        assert_eq!(stays(&up_and_down), [(0.0, 10.0), (1.0, 9.0), (2.0, 8.0), (3.0, 7.0)]);
        assert_eq!((up_and_down.peak(), up_and_down.duration()), (4, Nanos::from_secs(10)));
    }

    #[test]
    fn steps_are_sudden_and_the_last_number_is_held() {
        let steps = population(&[(2, 2, 10), (3, 3, 10), (1, 1, 10), (2, 2, 10)]);
        let never = f64::INFINITY;
        assert_eq!(stays(&steps), [(0.0, never), (0.0, 20.0), (10.0, 20.0), (30.0, never)]);
    }

    #[test]
    fn levels_and_profile_have_the_time_of_all_users() {
        let users = population(&[(0, 10, 10), (10, 10, 20), (5, 5, 10)]);
        let at = Instant::from_secs;
        assert_eq!(users.levels(at(10)..at(30)), [(10, 1.0)]);
        let levels = users.levels(at(20)..at(50));
        let expected = [(10, 100.0 / 200.0), (5, 50.0 / 200.0), (5, 50.0 / 200.0)];
        assert!(levels.len() == 3 && levels.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9));
        let shares: f64 = users.levels(at(0)..at(40)).iter().map(|(_, share)| share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
        // Ten users who join one second apart, the first at once: 10 + 9 + ... + 1 seconds.
        assert!((users.profile().cumulative(at(10)) - 55.0).abs() < 1e-6);
        assert!((users.profile().cumulative(at(50)) - (55.0 + 200.0 + 50.0 + 50.0)).abs() < 1e-6);
    }

    #[test]
    fn impossible_stages_are_errors() {
        for stages in [&[][..], &[(0, 0, 5)], &[(1, 1, 0)], &[(0, MAX_USERS, 1), (0, 1, 1)]] {
            let stage =
                |(from, to, secs): &(u64, u64, u64)| Stage { from: *from, to: *to, over: Nanos::from_secs(*secs) };
            assert!(Population::new(&stages.iter().map(stage).collect::<Vec<_>>()).is_err(), "{stages:?}");
        }
    }

    proptest! {
        #[test]
        fn at_every_instant_as_many_are_present_as_the_stages_say(
            stages in prop::collection::vec((0u64..12, 0u64..12, 1u64..20), 1..8),
            at in 0u64..100_000,
        ) {
            prop_assume!(stages.iter().any(|(from, to, _)| from + to > 0));
            let (population, at) = (population(&stages), Instant(at * 1_000_003));
            let present = stays_at(&population, at);
            let (mut start, mut expected) = (0.0, stages[stages.len() - 1].1 as f64);
            for (from, to, secs) in stages {
                let into = at.as_secs_f64() - start;
                if (0.0..secs as f64).contains(&into) {
                    expected = from as f64 + (to as f64 - from as f64) * into / secs as f64;
                    break;
                }
                start += secs as f64;
            }
            prop_assert!((present as f64 - expected).abs() <= 1.0, "{present} present, {expected} expected");
        }
    }

    fn stays_at(population: &Population, at: Instant) -> usize {
        (0..population.joined()).map(|user| population.stay(user)).filter(|(j, l)| (*j..*l).contains(&at)).count()
    }
}
