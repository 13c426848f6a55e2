//! `--once`: sessions walked by themselves, every exchange shown.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_experiment::once;
use offered_model::{Outcome, RunId, Workload};

use super::exchange::Shown;
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::signals;

/// The flags that show exchanges: of sessions that are walked instead of a run, or of what failed in it.
#[derive(clap::Args)]
pub(super) struct Look {
    /// Walk one session without its pauses and show each exchange, secrets blanked; nothing is judged or kept
    #[arg(long, conflicts_with_all = OTHERS)]
    once: bool,
    /// The same with so many sessions, one after another
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = OTHERS)]
    sessions: Option<u64>,
    /// Show the first few failures of each kind whole when the run is over; with --once, whole exchanges however long
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(super) verbose: bool,
}

/// What a walk has nothing of.
const OTHERS: [&str; 6] = ["out", "json", "share", "start_at", "dry_run", "ui"];

impl Look {
    /// How many sessions are walked, if any.
    pub(super) fn sessions(&self) -> Option<u64> {
        self.sessions.or(self.once.then_some(1))
    }
}

/// Walks so many sessions; exchanges are shown `whole`, or as much of each as fits on a screen.
pub(super) fn run(workload: &Workload, run: &RunId, sessions: u64, whole: bool) -> Result<Exit, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop(&stop)?;
    let events = once(workload, run, sessions, stop, |exchange| say!("{}", Shown { exchange: &exchange, whole }))?;
    let failed = events.iter().filter(|event| event.outcome != Outcome::Ok).count();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    say!("{} of {}: {failed} failed", plural(events.len(), "request"), plural(sessions as usize, "session"));
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}
