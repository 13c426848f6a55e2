//! Policies that take turns: each is put in place by the workload's command, on a thread of its own. No launch waits for it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_clock::Clock;
use offered_model::recording::Block;
use offered_model::workload::{Policies, Turn};
use offered_model::{Instant, Nanos};

use crate::{Error, command};

/// How soon the end of the run is noticed.
const NOTICE: Nanos = Nanos::from_millis(20);

/// The turns of a run whose first policy is in place.
pub(crate) struct Switching<'a> {
    policies: &'a Policies,
    turns: Vec<Turn>,
}

impl<'a> Switching<'a> {
    /// Puts the first policy in place, before the start; `stop` ends that too.
    ///
    /// # Errors
    /// The command failed.
    pub(crate) fn begin(policies: &'a Policies, turns: Vec<Turn>, stop: &AtomicBool) -> Result<Self, Error> {
        let own = Self { policies, turns };
        if let Some(first) = own.turns.first().filter(|turn| turn.begins == Instant::ZERO) {
            own.put(first, &|took| took >= policies.block || stop.load(Relaxed)).map_err(Error::Policy)?;
        }
        Ok(own)
    }

    /// Puts one after another in place, until the run has `ended`. A command that takes longer than its block is ended, and so is one
    /// that is at work when `hurry` is set.
    pub(crate) fn go_on(self, clock: &Clock, ended: &AtomicBool, hurry: &AtomicBool) -> Vec<Block> {
        clock.wait_for_start(ended);
        let mut blocks: Vec<Block> = Vec::new();
        for turn in &self.turns {
            while clock.now() < turn.begins && !ended.load(Relaxed) {
                clock.sleep_until(turn.begins.min(clock.now() + NOTICE));
            }
            // One that would begin with the end is no turn.
            if ended.load(Relaxed) {
                break;
            }
            // The first is in place.
            let is_first = turn.begins == Instant::ZERO;
            let began = if is_first { Instant::ZERO } else { clock.now() };
            let over = |_| clock.now() >= turn.ends || hurry.load(Relaxed);
            let failed = if is_first { None } else { self.put(turn, &over).err() };
            blocks.push(Block {
                policy: self.policies.names[turn.policy].clone(),
                begins_ns: turn.begins.0,
                settled_ns: turn.settled.0,
                ends_ns: turn.ends.0,
                began_ns: began.0,
                ended_ns: if is_first { 0 } else { clock.now().0 },
                failed,
            });
        }
        while clock.now() < self.turns.last().map_or(Instant::ZERO, |last| last.ends) && !ended.load(Relaxed) {
            clock.sleep_until(clock.now() + NOTICE);
        }
        // Of a run that was stopped the last turn is shorter.
        if let Some(last) = blocks.last_mut() {
            last.ends_ns = last.ends_ns.min(clock.now().0.max(last.begins_ns));
        }
        blocks
    }

    fn put(&self, turn: &Turn, over: &dyn Fn(Nanos) -> bool) -> Result<(), String> {
        command::run(&self.policies.hook, &[("{{policy}}", &self.policies.names[turn.policy])], over)
    }
}
