//! What to write on this command line, said of what the libraries say: they know doubts and errors, and no flags.

use offered_experiment::{Beyond, Copied};
use offered_meet::NoShare;
use offered_simulate::Doubt as SimulationDoubt;
use offered_store::Error;
use offered_verify::hosts::HostNote;
use offered_verify::{Doubt, Pattern, Request, Warning};

/// What to do about a doubt, with the flags that do it.
pub(crate) fn remedy(warning: &Warning) -> String {
    let flags = match &warning.about {
        Some(Doubt::Saturated { .. }) => "--threads, --share",
        Some(Doubt::NearLimit { .. }) => "--threads, --share; found by `offered calibrate`",
        Some(Doubt::StoodStill { .. }) => "--take, --skip-first",
        Some(Doubt::OtherUsers { .. } | Doubt::NoPoisson { pattern: Pattern::OverDispersed, .. }) => {
            "--skip-first, --skip-last"
        }
        _ => return warning.remedy.clone(),
    };
    format!("{} ({flags})", warning.remedy)
}

/// What must be known of a machine that was observed, with the flags that help.
pub(crate) fn of_host(note: &HostNote) -> String {
    let help = match note {
        HostNote::WholeMachine => "`offered observe --cgroup DIR`, `--pid N`",
        HostNote::ClockBelieved => "`offered observe --listen`, and [observe] hosts in the workload",
        _ => return note.words(),
    };
    format!("{} ({help})", note.words())
}

/// That something is copied from an object store.
pub(crate) fn of_copied(copied: &Copied) -> String {
    let Copied { name, folder, objects, bytes } = copied;
    let (megabytes, s) = (*bytes as f64 / 1e6, if *objects == 1 { "" } else { "s" });
    let folder = folder.display();
    format!("note: {objects} object{s} of {name} ({megabytes:.1} MB) are copied to {folder} and taken away again")
}

/// That many launches failed, where many did: `136 of 262 launches failed (52 %)`.
pub(crate) fn failures(total: &Request) -> Option<String> {
    let (failed, launches) = total.many_failed()?;
    let percent = 100.0 * failed as f64 / launches as f64;
    let digits = usize::from(percent < 10.0);
    Some(format!("{failed} of {launches} launches failed ({percent:.digits$} %)"))
}

/// Why a file cannot be read, with the flags that help.
pub(crate) fn of_reading(error: &Error) -> String {
    match error {
        Error::NoKnownKind { .. } => format!("{error}; say what it is with --format (of `report`: --from)"),
        Error::AnotherKind { .. } => format!("{error}; say what it is with --format (of `report`: --from)"),
        Error::NoColumn { .. } => {
            format!("{error}; name it with --start-column (and --unit, --end-column, --label-column)")
        }
        other => other.to_string(),
    }
}

/// A doubt about a simulation, with the flags that help.
pub(crate) fn of_simulation(doubt: &SimulationDoubt) -> String {
    match doubt {
        SimulationDoubt::Imprecise { .. } => format!("{} (--until-precision)", doubt.words()),
        other => other.words(),
    }
}

/// What a run asks of this machine that it does not have, and the flags that help.
pub(crate) fn of_machine(beyond: &Beyond) -> String {
    match beyond {
        Beyond::Rate { asked_per_s, possible_per_s, threads, calibrated } => {
            let s = if *threads == 1 { "" } else { "s" };
            let known = match calibrated {
                true => "`offered calibrate` found possible here",
                false => "any that we have measured; find this machine's own with `offered calibrate`",
            };
            format!(
                "{asked_per_s:.0} launches/s are asked of {threads} thread{s}, and {possible_per_s:.0}/s is the most that {known}; \
                 expect it to come late (--threads, --share)"
            )
        }
        Beyond::Files { connections, allowed } => format!(
            "up to {connections} connections may be wanted at once, and this process may open {allowed}: the others will not be sent \
             (ulimit -n, --connections, --share)"
        ),
        Beyond::Memory { users, needed, there } => format!(
            "{users} users take at least {:.1} GB, and there are {:.1} GB (--share)",
            *needed as f64 / 1e9,
            *there as f64 / 1e9
        ),
    }
}

/// Why the number of a worker is not known, with the flag that says it.
pub(crate) fn of_no_share(why: &NoShare) -> String {
    match why {
        NoShare::NoCount { .. } => format!("{why}; give their number with --workers N"),
        other => format!("{other}; give --share K/N"),
    }
}
