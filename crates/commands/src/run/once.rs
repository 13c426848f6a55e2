//! `--once`: sends single sessions and shows every exchange.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_events::{Exchange, Outcome, RunId};
use offered_experiment::trace_sessions;
use offered_workload::{Request, Target, Workload};

use super::exchange::ExchangeText;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{out, status};
use crate::signals;

/// Flags that show single exchanges.
#[derive(clap::Args)]
pub(super) struct OnceFlags {
    /// Send one session without pauses and show each request and response; nothing is recorded
    #[arg(long, conflicts_with_all = OTHERS)]
    once: bool,
    /// Like --once, with N sessions one after another
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = OTHERS)]
    sessions: Option<u64>,
    /// Show the first failures of each kind in full; with --once, every request and response in full
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

/// The request of an exchange and its target.
fn request_of<'a>(workload: &'a Workload, exchange: &Exchange) -> Option<(&'a Request, &'a Target)> {
    let request = workload.requests().iter().find(|request| request.name() == exchange.request)?;
    Some((request, workload.target_of(request)?))
}

/// The hint for a redirect that fails a check because it was not followed.
fn redirect_hint(workload: &Workload, exchange: &Exchange) -> Option<String> {
    let (request, target) = request_of(workload, exchange)?;
    let is_wrong = !exchange.failed_checks.is_empty() && (300..400).contains(&exchange.status);
    (is_wrong && request.redirects_to(target) == 0)
        .then(|| format!("`{}` was redirected; to follow redirects, add `redirects = 5` to [target]", exchange.request))
}

/// The hint for a response that sets a cookie which the workload discards.
fn cookie_hint(workload: &Workload, exchange: &Exchange) -> Option<String> {
    let (_, target) = request_of(workload, exchange)?;
    let sets = |line: &String| line.to_ascii_lowercase().starts_with("set-cookie:");
    let is_set = exchange.received.as_ref().is_some_and(|received| received.head.iter().any(sets));
    (is_set && !target.cookies() && workload.requests().len() > 1).then(|| {
        "the server sets cookies, which the workload discards; to keep them, add `cookies = true` to [target]"
            .to_owned()
    })
}

/// Sends `sessions` sessions one after another; prints exchanges in full if `whole`, else cut to a screenful.
pub(super) fn run(workload: &Workload, run: &RunId, sessions: u64, whole: bool) -> Result<Exit, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop(&stop)?;
    let mut hints: Vec<String> = Vec::new();
    let events = trace_sessions(workload, run, sessions, stop, |exchange| {
        out!("{}", ExchangeText { exchange: &exchange, whole });
        let new = [redirect_hint(workload, &exchange), cookie_hint(workload, &exchange)].into_iter().flatten();
        hints.extend(new.filter(|hint| !hints.contains(hint)).collect::<Vec<_>>());
    })?;
    let failed = events.iter().filter(|event| event.outcome != Outcome::Ok).count();
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    out!("{} of {}: {failed} failed", plural(events.len(), "request"), plural(sessions as usize, "session"));
    for hint in hints {
        status!("note: {hint}");
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}
