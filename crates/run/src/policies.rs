//! Alternating policies. A separate thread runs the workload's command to apply each policy; no request waits
//! for it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Instant, Nanos};
use offered_events::recording::Block;
use offered_io::Clock;
use offered_workload::{Policies, Turn};

use crate::{Error, command};

/// Interval at which the end of the run is polled.
const POLL_INTERVAL: Nanos = Nanos::from_millis(20);

/// The blocks of a run, after its first policy has been applied.
pub(crate) struct PolicySwitcher<'a> {
    policies: &'a Policies,
    event_loop: Vec<Turn>,
}

impl<'a> PolicySwitcher<'a> {
    /// Puts the first policy in place before the start. `stop` interrupts that too.
    ///
    /// # Errors
    /// The command failed.
    pub(crate) fn start(policies: &'a Policies, event_loop: Vec<Turn>, stop: &AtomicBool) -> Result<Self, Error> {
        let switcher = Self { policies, event_loop };
        if let Some(first) = switcher.event_loop.first().filter(|turn| turn.begins == Instant::ZERO) {
            switcher.apply(first, &|took| took >= policies.block || stop.load(Relaxed)).map_err(Error::Policy)?;
        }
        Ok(switcher)
    }

    /// Puts one policy after another in place until the run has `ended`. A command that is still running at the end of
    /// its block, or when `abort` is set, is killed.
    pub(crate) fn run(self, clock: &Clock, ended: &AtomicBool, abort: &AtomicBool) -> Vec<Block> {
        clock.wait_for_start(ended);
        let mut blocks: Vec<Block> = Vec::new();
        for turn in &self.event_loop {
            while clock.now() < turn.begins && !ended.load(Relaxed) {
                clock.sleep_until(turn.begins.min(clock.now() + POLL_INTERVAL));
            }
            // A block that would begin at the end of the run is not counted.
            if ended.load(Relaxed) {
                break;
            }
            // The first policy is already in place.
            let is_first = turn.begins == Instant::ZERO;
            let began = if is_first { Instant::ZERO } else { clock.now() };
            let is_over = |_| clock.now() >= turn.ends || abort.load(Relaxed);
            let failed = if is_first { None } else { self.apply(turn, &is_over).err() };
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
        while clock.now() < self.event_loop.last().map_or(Instant::ZERO, |last| last.ends) && !ended.load(Relaxed) {
            clock.sleep_until(clock.now() + POLL_INTERVAL);
        }
        // In a run that was stopped the last block is shorter.
        if let Some(last) = blocks.last_mut() {
            last.ends_ns = last.ends_ns.min(clock.now().0.max(last.begins_ns));
        }
        blocks
    }

    fn apply(&self, turn: &Turn, is_over: &dyn Fn(Nanos) -> bool) -> Result<(), String> {
        command::run(&self.policies.hook, &[("{{policy}}", &self.policies.names[turn.policy])], is_over)
    }
}
