//! Messages of the libraries with the flags of the command line added. The libraries know no flags.

use offered_experiment::{CopyProgress, ResourceShortfall};
use offered_rendezvous::ShareError;
use offered_simulate::SimulationWarning;
use offered_store::Error;
use offered_verify::hosts::HostNote;
use offered_verify::{Pattern, Warning, WarningKind};

/// The fix of a warning, with the flags that do it.
pub(crate) fn fix(warning: &Warning) -> String {
    let flags = match &warning.details {
        Some(WarningKind::GeneratorSaturated { .. }) => "--threads, --share",
        Some(WarningKind::NearGeneratorLimit { .. }) => "--threads, --share; found by `offered calibrate`",
        Some(WarningKind::GeneratorStalled(_)) => "--priority, --tolerance",
        Some(WarningKind::LateRequests { .. } | WarningKind::LateReading { .. }) => {
            "--priority, --threads, --share, --tolerance"
        }
        Some(WarningKind::RunPaused { .. }) => "--take, --skip-first",
        Some(
            WarningKind::UserCountMismatch { .. } | WarningKind::NotPoisson { pattern: Pattern::OverDispersed, .. },
        ) => "--skip-first, --skip-last",
        _ => return warning.fix.clone(),
    };
    match warning.fix.strip_suffix(')') {
        Some(fix) => format!("{fix}; {flags})"),
        None => format!("{} ({flags})", warning.fix),
    }
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
        Error::WrongFormat { .. } => format!("{error}; add --input-format"),
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
pub(crate) fn resource_shortfall(beyond: &ResourceShortfall) -> String {
    match beyond {
        ResourceShortfall::Rate { target_rate_per_s, possible_rate_per_s, threads, calibrated } => {
            let s = if *threads == 1 { "" } else { "s" };
            let known = match calibrated {
                true => "`offered calibrate` measured here",
                false => "of typical machines; measure this one with `offered calibrate`",
            };
            format!(
                "the target of {target_rate_per_s:.0}/s on {threads} thread{s} exceeds {possible_rate_per_s:.0}/s, the maximum {known}; \
                 requests will be late (add --threads or --share)"
            )
        }
        ResourceShortfall::Files { connections, allowed } => format!(
            "the run may need {connections} connections, but this process may open {allowed}; requests beyond are not sent \
             (raise ulimit -n, or add --connections or --share)"
        ),
        ResourceShortfall::Memory { users, needed_bytes: needed, available_bytes: there } => format!(
            "{users} users or requests in flight need at least {:.1} GB of memory, {:.1} GB are free (add --share)",
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
