//! How a verb ends: the exit codes, and the one line that says why.

use crate::say::say;
use std::process::ExitCode;

/// A verb that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 3: done, but the result must not be believed.
    Doubtful,
    /// 99: done and to be believed, but a threshold was not kept.
    Failed,
}

/// A verb that could not do its work; prints as one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 2: wrong use or wrong input.
    Input(String),
    /// 1: could not go on.
    Stopped(String),
}

impl Failure {
    /// Wrong use or wrong input, because of this.
    pub(crate) fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Could not go on, because of this.
    pub(crate) fn stopped(why: impl ToString) -> Self {
        Self::Stopped(why.to_string())
    }
}

impl From<offered_model::Wrong> for Failure {
    fn from(wrong: offered_model::Wrong) -> Self {
        Self::input(wrong)
    }
}

/// The process's exit code; a failure is printed to stderr as one `error:` line.
pub(crate) fn code(done: Result<Exit, Failure>) -> ExitCode {
    let (code, why) = match done {
        Ok(Exit::Done) => return ExitCode::SUCCESS,
        Ok(Exit::Doubtful) => return ExitCode::from(3),
        Ok(Exit::Failed) => return ExitCode::from(99),
        Err(Failure::Input(why)) => (2, why),
        Err(Failure::Stopped(why)) => (1, why),
    };
    eprintln!("error: {}", why.replace('\n', " "));
    ExitCode::from(code)
}

/// Help and version go to stdout; wrong use is one `error:` line like any other, with where to read more.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        say!(no newline: "{text}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprint!("{text}");
        return ExitCode::from(2);
    }
    // clap tells the error, then hints, then the usage; the first two in one line.
    let told = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let told: Vec<&str> = told.map(str::trim).filter(|line| !line.is_empty()).collect();
    eprintln!("{}; see --help", told.join(" "));
    ExitCode::from(2)
}
