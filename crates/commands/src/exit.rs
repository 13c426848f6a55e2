//! Exit codes of commands, and how a failure is printed.

use std::io::{self, Write};
use std::process::ExitCode;

use offered_base::visible;
use offered_experiment::RunResult;

use crate::conventions;
use crate::failure::Failure;
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
    /// 4: done, but some data could not be written to the disk or object store.
    WriteLoss,
    /// 99: done and valid, but a threshold failed or every request failed.
    Failed,
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
