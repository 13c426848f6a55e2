//! Exit codes of commands, and the error line.

use std::io::{self, Write};
use std::process::ExitCode;

use offered_base::visible;
use offered_experiment::{Error, RunResult};
use offered_run::{Counts, Error as Run};

use crate::conventions;
use crate::messages;
use crate::output::{out, status};

/// Error texts of clap and the standard library, and their plain forms.
const REWORDED: [(&str, &str); 5] = [
    (" tip: ", "; "),
    (": invalid digit found in string", ": not a whole number"),
    (": number too large to fit in target type", ": too large"),
    (": cannot parse integer from empty string", ": missing number"),
    (": invalid float literal", ": not a number"),
];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 3: done, but the result is invalid or could not be checked.
    Invalid,
    /// 4: done, but the disk or the object store did not take all data.
    WriteLoss,
    /// 99: done and valid, but a threshold failed or every request failed.
    Failed,
}

/// Why a command could not finish; printed as one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 2: wrong use or wrong input.
    Input(String),
    /// 1: could not continue.
    Stopped(String),
}

impl Failure {
    /// Wrong use or wrong input, for this reason.
    pub(crate) fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Could not continue, for this reason.
    pub(crate) fn stopped(why: impl ToString) -> Self {
        Self::Stopped(why.to_string())
    }

    /// The reason.
    pub(crate) fn message(&self) -> &str {
        let (Self::Input(why) | Self::Stopped(why)) = self;
        why
    }
}

impl From<offered_base::InvalidValue> for Failure {
    fn from(wrong: offered_base::InvalidValue) -> Self {
        Self::input(wrong)
    }
}

impl From<offered_observe::Error> for Failure {
    fn from(error: offered_observe::Error) -> Self {
        if error.is_of_input() { Self::input(error) } else { Self::stopped(error) }
    }
}

/// Adds the flags that help: the library knows none.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let why = match &error {
            Error::LoadVaries => "`load` can only be varied by `simulate`; vary rate, users or think".to_owned(),
            Error::NoNumber { field, value } => format!(
                "--slo needs numbers in the first --vary, but `{value}` of {field} is not a number; put a numeric field first"
            ),
            Error::NoStart { field } => {
                format!("the search along `{field}` needs a start, for example --vary {field}=100")
            }
            Error::Occupied { path, content } => {
                format!("{} already contains {content}; choose another -o", path.display())
            }
            Error::OtherValues { path, first, n } => format!(
                "{} contains {n} finished cells of other values (for example {first}); add their values to --vary, or choose \
                 another -o",
                path.display()
            ),
            Error::AnotherSweep { path, given } => format!(
                "{} belongs to another workload: {} differs from {given}; resume with that workload, or choose another -o",
                path.display(),
                path.join("workload.toml").display()
            ),
            Error::SweepStopped { left } => {
                format!("stopped with {left} cells to do; run the same command again to resume")
            }
            Error::Stopped => {
                "stopped; a search cannot be resumed, start a new one near its last value (--vary FIELD=START)"
                    .to_owned()
            }
            Error::Run(Run::Certificate { address, reason }) => format!(
                "the certificate of {address} is not valid: {reason}; set its root (target.tls.roots) or its name \
                 (target.tls.server_name), or accept any with --insecure (target.tls.insecure = true)"
            ),
            Error::Run(Run::NoHttp2 { address, reason }) => {
                format!("{address} does not support HTTP/2: {reason}; remove --protocol h2 (target.protocol)")
            }
            Error::NotVerified { counts, directory, .. } => {
                let Counts { requests, ok, failed, unsent, in_flight } = counts;
                let cut = if *in_flight > 0 { format!(", {in_flight} cut") } else { String::new() };
                let again = directory.as_ref().map_or_else(String::new, |out| {
                    format!("; verify the recorded part with: offered verify {}", out.display())
                });
                format!("{error}; {requests} requests, {ok} ok, {failed} failed, {unsent} not sent{cut}{again}")
            }
            Error::NoObjects { .. } => format!("{error}: `cargo install --path crates/cli --features full`"),
            Error::Read(error) => messages::read_error(error),
            other => other.to_string(),
        };
        if error.is_of_input() { Self::Input(why) } else { Self::Stopped(why) }
    }
}

impl From<RunResult> for Exit {
    fn from(result: RunResult) -> Self {
        match result {
            RunResult::Passed => Self::Done,
            RunResult::Failed => Self::Failed,
            RunResult::Invalid => Self::Invalid,
        }
    }
}

/// The process exit code. Prints a failure to stderr as one `error:` line.
pub(crate) fn code(result: Result<Exit, Failure>) -> ExitCode {
    let (code, why) = match result {
        Ok(Exit::Done) => return ExitCode::SUCCESS,
        Ok(Exit::Invalid) => return ExitCode::from(3),
        Ok(Exit::WriteLoss) => return ExitCode::from(4),
        Ok(Exit::Failed) => return ExitCode::from(99),
        Err(Failure::Input(why)) => (2, why),
        Err(Failure::Stopped(why)) => (1, why),
    };
    // Ignore errors: the terminal may be closed.
    let _ = writeln!(io::stderr(), "error: {}", visible(&why.replace('\n', " ")));
    ExitCode::from(code)
}

/// Prints help and version to stdout, and a usage error to stderr as one `error:` line.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        out!(no newline: "{text}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        status!(no newline: "{text}");
        return ExitCode::from(2);
    }
    if let Some(hint) = conventions::hint(error, std::env::args()) {
        status!("error: {hint}; see --help");
        return ExitCode::from(2);
    }
    // clap prints the error, hints and the usage: keep the first two, in one line.
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = REWORDED.iter().fold(lines.join(" "), |message, (old, new)| message.replace(old, new));
    status!("{message}; see --help");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use offered_base::Share;
    use offered_distributions::Distribution;
    use offered_experiment::{FinishedRun, RunPlan};
    use offered_run::Load;
    use offered_verify::{CheckResult, Validity};
    use offered_workload::Workload;

    use super::*;

    #[test]
    fn an_invalid_certificate_names_the_flag_that_accepts_it() {
        let reason = "it is self-signed".to_owned();
        let error = Run::Certificate { address: "shop.example:443".to_owned(), reason };
        let Failure::Stopped(message) = Failure::from(Error::Run(error)) else { panic!("not an input error") };
        assert!(
            message.starts_with("the certificate of shop.example:443 is not valid: it is self-signed"),
            "{message}"
        );
        assert!(message.contains("--insecure"), "{message}");
    }

    /// A run on a virtual clock whose thresholds pass.
    fn made() -> (FinishedRun, Workload) {
        const TEXT: &str = "seed = 1\nduration = \"10s\"\narrivals.open.rate = \"150/s\"\n[thresholds]\nerrors = \"< 1%\"\np95 = \"< 30ms\"\n";
        let workload = Workload::parse(TEXT, "w.toml", &|_| Err("there is no such file".to_owned())).unwrap();
        let plan = RunPlan {
            text: TEXT,
            workload: &workload,
            share: Share::ALL,
            load: Load::Mock(Distribution::constant(0.02).unwrap()),
            start_at: None,
            run_id: None,
            directory: None,
            name: "a run".to_owned(),
            capture_failures: false,
        };
        let made = plan.prepare(Arc::default()).unwrap().run(Vec::new()).unwrap();
        (made, workload)
    }

    #[test]
    fn unchecked_thresholds_exit_with_3_and_failed_ones_with_99() {
        let (mut made, _) = made();
        assert_eq!(made.result(), RunResult::Passed);
        // The generator error decides the second threshold.
        let second = &mut made.summary.thresholds[1];
        (second.result, second.possible_range) = (CheckResult::NotChecked, Some([0.02, 0.04]));
        assert_eq!(made.result(), RunResult::Invalid);
        // The first fails in any case.
        made.summary.thresholds[0].result = CheckResult::Failed;
        assert_eq!(made.result(), RunResult::Failed);
        made.verdict.validity = Validity::Invalid;
        assert_eq!(made.result(), RunResult::Invalid);
        // If every sent request failed, lateness does not matter, unless none was sent.
        made.verdict.requests.last_mut().unwrap().ok = 0;
        assert_eq!(made.result(), RunResult::Failed);
        made.verdict.window.requests = 0;
        assert_eq!(made.result(), RunResult::Invalid);
    }
}
