//! `--once`: sends single sessions and shows every exchange.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_events::{Outcome, RunId};
use offered_experiment::trace_sessions;
use offered_workload::Workload;

use super::exchange::ExchangeText;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::signals;

/// Flags that show single exchanges.
#[derive(clap::Args)]
pub(super) struct OnceFlags {
    /// Send one session without pauses and show each exchange; nothing is recorded
    #[arg(long, conflicts_with_all = OTHERS)]
    once: bool,
    /// Like --once, with N sessions one after another
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = OTHERS)]
    sessions: Option<u64>,
    /// Show the first failures of each kind in full; with --once, every exchange in full
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(super) verbose: bool,
}

/// Flags that do not apply to `--once`.
const OTHERS: [&str; 8] = ["output", "json", "junit", "markdown", "share", "start_at", "dry_run", "ui"];

impl OnceFlags {
    /// Number of sessions to send; `None` without `--once`.
    pub(super) fn sessions(&self) -> Option<u64> {
        self.sessions.or(self.once.then_some(1))
    }
}

/// Sends `sessions` sessions one after another; prints exchanges in full if `whole`, else cut to a screenful.
pub(super) fn run(workload: &Workload, run: &RunId, sessions: u64, whole: bool) -> Result<Exit, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop(&stop)?;
    let events = trace_sessions(workload, run, sessions, stop, |exchange| {
        out!("{}", ExchangeText { exchange: &exchange, whole });
    })?;
    let failed = events.iter().filter(|event| event.outcome != Outcome::Ok).count();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    out!("{} of {}: {failed} failed", plural(events.len(), "request"), plural(sessions as usize, "session"));
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}
