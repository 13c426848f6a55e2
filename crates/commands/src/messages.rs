//! Messages of the libraries with the flags of the command line added. The libraries know no flags.

use offered_experiment::{CopyProgress, ResourceShortfall};
use offered_rendezvous::ShareError;
use offered_simulate::SimulationWarning;
use offered_store::Error;
use offered_verify::hosts::HostNote;
use offered_verify::{LatenessAction, NotSent, NotSentReason, Pattern, PriorityAction, Verdict, Warning, WarningKind};

/// The fix of a warning of `verdict`, with the flags that do it.
pub(crate) fn fix(verdict: &Verdict, warning: &Warning) -> String {
    let Some(flags) = warning.details.as_ref().and_then(|kind| flags(verdict, kind)) else {
        return warning.fix.clone();
    };
    match warning.fix.strip_suffix(')') {
        Some(fix) => format!("{fix}; {flags})"),
        None => format!("{} ({flags})", warning.fix),
    }
}

/// The flags that do the fix of a warning of this kind; `None` if there are none, or if no action is needed.
fn flags(verdict: &Verdict, kind: &WarningKind) -> Option<String> {
    let flags = match kind {
        WarningKind::GeneratorStalled(stalls) if stalls.threads_idle => return against_lateness(verdict, &[]),
        WarningKind::GeneratorStalled(_) => return against_lateness(verdict, &["--threads"]),
        WarningKind::LateRequests { .. } | WarningKind::LateReading { .. } => {
            return against_lateness(verdict, &["--threads", "--share"]);
        }
        WarningKind::GeneratorSaturated { .. } => "--threads, --share",
        WarningKind::NearGeneratorLimit { .. } => "--threads, --share; see `offered calibrate`",
        WarningKind::UnsentRequests { causes, .. } => match causes.first().map(|cause| cause.reason) {
            _ if causes.first().is_some_and(NotSent::became_slow) => return None,
            Some(NotSentReason::InFlightLimit) => "--in-flight",
            Some(NotSentReason::ConnectionsLimit) => "--connections",
            Some(NotSentReason::Late) => "--late",
            Some(NotSentReason::RunOver) if !causes[0].stood_still => "--threads, --share",
            _ => return None,
        },
        WarningKind::RequestsSentAgain { .. } => "--reuse fresh",
        WarningKind::RunPaused { .. } => "--take, --skip-first",
        WarningKind::UserCountMismatch { .. } | WarningKind::NotPoisson { pattern: Pattern::OverDispersed, .. } => {
            "--skip-first, --skip-last"
        }
        _ => return None,
    };
    Some(flags.to_owned())
}

/// The flags against lateness: `others`, and those of the priority and of the tolerance if the fix contains them.
fn against_lateness(verdict: &Verdict, others: &[&'static str]) -> Option<String> {
    let action = verdict.lateness_action();
    if action == LatenessAction::Nothing {
        return None;
    }
    let priority = match verdict.priority_action() {
        Some(PriorityAction::Request | PriorityAction::RequestRealtime) => Some("--priority"),
        Some(PriorityAction::UseMoreThreads) if others.is_empty() => Some("--threads"),
        Some(PriorityAction::UseMoreThreads | PriorityAction::Permit) | None => None,
    };
    let tolerance = (action == LatenessAction::BeOnTimeOrAccept).then_some("--tolerance");
    let flags: Vec<&str> = priority.into_iter().chain(others.iter().copied()).chain(tolerance).collect();
    (!flags.is_empty()).then(|| flags.join(", "))
}

/// A note about an observed machine, with the flags that help.
pub(crate) fn host_note(note: &HostNote) -> String {
    let help = match note {
        HostNote::WholeMachineCounter => "`offered observe --cgroup DIR`, `--pid N`",
        HostNote::ClockAssumed => "`offered observe --listen`, and [observe] hosts in the workload",
        _ => return note.text(),
    };
    format!("{} ({help})", note.text())
}

/// The note about a copy from an object store.
pub(crate) fn copied(copied: &CopyProgress) -> String {
    let CopyProgress { name, folder, objects, bytes } = copied;
    let (megabytes, s) = (*bytes as f64 / 1e6, if *objects == 1 { "" } else { "s" });
    let folder = folder.display();
    format!("note: copying {objects} object{s} of {name} ({megabytes:.1} MB) to {folder}, deleted at exit")
}

/// Why a file cannot be read, with the flags that help.
pub(crate) fn read_error(error: &Error) -> String {
    match error {
        Error::UnknownFormat { .. } => format!("{error}; add --input-format"),
        Error::WrongFormat { .. } => format!("{error}; if the file has another format, add --input-format"),
        Error::NoStartColumn { .. } => {
            format!("{error}; add --start-column NAME (see also --unit, --end-column, --label-column)")
        }
        other => other.to_string(),
    }
}

/// A warning about a simulation, with the flags that help.
pub(crate) fn simulation_warning(doubt: &SimulationWarning) -> String {
    match doubt {
        SimulationWarning::TooFewRequests { needed, .. } | SimulationWarning::RareSizes { needed, .. } => {
            format!("{} (--jobs {needed})", doubt.message())
        }
        SimulationWarning::Imprecise { .. } => format!("{} (--until-precision)", doubt.message()),
        other => other.message(),
    }
}

/// What this machine lacks for a run, with the flags that help.
pub(crate) fn resource_shortfall(shortfall: &ResourceShortfall) -> String {
    match shortfall {
        ResourceShortfall::Rate { target_rate_per_s, possible_rate_per_s, threads, calibrated } => {
            let s = if *threads == 1 { "" } else { "s" };
            let (known, measure) = match calibrated {
                true => ("that `offered calibrate` measured here", ""),
                false => ("of typical machines", ", or measure this machine with `offered calibrate`"),
            };
            format!(
                "the target rate of {target_rate_per_s:.0}/s on {threads} thread{s} exceeds {possible_rate_per_s:.0}/s, the maximum {known}; \
                 requests will be late (add --threads or --share{measure})"
            )
        }
        ResourceShortfall::Files { connections, allowed } => format!(
            "the run may need {connections} connections, but this process may open only {allowed}; requests without a connection are not sent (raise ulimit -n, or add --connections or --share)"
        ),
        ResourceShortfall::Memory { users, needed_bytes: needed, available_bytes: there } => format!(
            "{users} users or requests in flight need at least {:.1} GB of memory, but only {:.1} GB are free (divide the run with --share)",
            *needed as f64 / 1e9,
            *there as f64 / 1e9
        ),
    }
}

/// Why the number of this worker is unknown, with the flag that sets it.
pub(crate) fn unknown_share(why: &ShareError) -> String {
    match why {
        ShareError::NoCount { .. } => format!("{why}; add --workers N"),
        other => format!("{other}; add --share K/N"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Recording;
    use offered_events::recording::Scheduling;
    use offered_verify::{Criteria, Stalls, Validity, verify};

    #[test]
    fn a_fix_has_only_the_flags_that_it_needs() {
        let verdict = verify(&Recording::default(), &Criteria::default()).unwrap();
        let verdict = Verdict { validity: Validity::Invalid, generator_error: None, findings: Vec::new(), ..verdict };
        let flags = |scheduling: &[Scheduling], threads_idle| {
            let verdict = Verdict { scheduling: scheduling.to_vec(), ..verdict.clone() };
            flags(&verdict, &WarningKind::GeneratorStalled(Stalls { threads_idle, ..Stalls::default() }))
        };
        let normal = Scheduling {
            requested: "normal".to_owned(),
            policy: "SCHED_OTHER".to_owned(),
            nice: 0,
            slice_us: None,
            refused: None,
            lowered_s: 0.0,
        };
        let refused = Scheduling {
            requested: "realtime".to_owned(),
            refused: Some("not permitted".to_owned()),
            ..normal.clone()
        };
        let lowered = Scheduling { lowered_s: 1.5, ..normal.clone() };
        assert_eq!(flags(&[], true).as_deref(), Some("--tolerance"), "the priority is unknown");
        assert_eq!(flags(&[normal], true).as_deref(), Some("--priority, --tolerance"));
        assert_eq!(flags(&[refused], false).as_deref(), Some("--threads, --tolerance"));
        assert_eq!(flags(&[lowered], true).as_deref(), Some("--threads, --tolerance"));
    }
}
