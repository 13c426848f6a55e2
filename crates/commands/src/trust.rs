//! The files and commands that a workload uses outside its own directory, and the permission for them.

use std::io::{self, BufRead as _, IsTerminal as _};

use offered_base::visible;
use offered_experiment::{LocalAccess, WorkloadSource};
use offered_workload::Workload;

use crate::failure::Failure;
use crate::output::status;

/// Permits files outside the directory of the workload.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct FilesFlag {
    /// Allow the workload to read files outside its directory
    #[arg(long, help_heading = "Trust")]
    allow_files: bool,
}

impl FilesFlag {
    /// The flag.
    const NAME: &str = "--allow-files";

    /// Restricts `source` to its directory unless the flag is given.
    pub(crate) fn restrict(self, source: WorkloadSource) -> WorkloadSource {
        if self.allow_files { source } else { source.restricted(Self::NAME) }
    }

    /// Lists what the workload uses on this machine. An error if it names files that are not permitted.
    pub(crate) fn check(self, source: &WorkloadSource, workload: &Workload) -> Result<LocalAccess, Failure> {
        let access = source.local_access(workload);
        let files: Vec<String> = access.files.iter().map(|file| file.display().to_string()).collect();
        for (what, all) in [
            ("runs commands", &access.commands),
            ("reads files outside its directory", &files),
            ("reads environment variables", &access.environment),
        ] {
            if !all.is_empty() {
                status!("note: {} {what}: {}", source.name, visible(&all.join(", ")));
            }
        }
        if files.is_empty() || self.allow_files {
            return Ok(access);
        }
        Err(Failure::input(format!(
            "{} names files outside its directory: {}; if you trust it, add {}",
            source.name,
            files.join(", "),
            Self::NAME
        )))
    }
}

/// Permits the commands of the workload.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct CommandsFlag {
    /// Run the commands of the workload (hooks) without asking
    #[arg(long, help_heading = "Trust")]
    allow_commands: bool,
}

impl CommandsFlag {
    /// The flag.
    pub(crate) const NAME: &str = "--allow-commands";

    /// An error unless the workload has no commands, or the flag permits them, or the user at the terminal does.
    pub(crate) fn check(self, source: &WorkloadSource, access: &LocalAccess) -> Result<(), Failure> {
        if access.commands.is_empty() || self.allow_commands || confirmed() {
            return Ok(());
        }
        Err(Failure::input(format!(
            "{} runs commands: {}; if you trust it, add {}",
            source.name,
            access.commands.join(", "),
            Self::NAME
        )))
    }
}

/// Asks the user at the terminal whether the listed commands may run.
fn confirmed() -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    status!(no newline: "Run these commands? [y/N] ");
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .is_ok_and(|_| ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
