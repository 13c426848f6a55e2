//! `offered verify`: checks whether any tool's run sent its requests as scheduled.

pub(crate) mod expected;
mod files;
mod hosts;
pub(crate) mod policies;
pub(crate) mod reading;
pub(crate) mod scenarios;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod visits;

use std::path::PathBuf;

use offered_base::Nanos;
use offered_events::document::Schema;
use offered_experiment::{
    Failure as FailureKind, LocalRun, RunResult, ThreadAnalysis, TwinComparison, VerifiedRun, VerifyOptions, failures,
};
use offered_report::{Report, Run};
use offered_verify::{Failures, Validity, Verdict, Verdicts};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::result_files::ResultFiles;
use crate::{input_file, object_store};

const EXAMPLES: &str = "\
Examples:
  A recorded run, compared with its own workload
    offered verify runs/1
    offered verify s3://bucket/run7
  Another tool's result file: 20 minutes after a warm-up of 2
    offered verify results.jtl --skip-first 2m --take 20m
  Compared with an expected pattern; exit code 3 if the requests differ from it
    offered verify k6.csv.gz --expected constant --rate 100/s --strict
  Compared with a simulation of the same requests
    offered verify runs/1 --twin
  With the server's resource usage from `offered observe`
    offered verify runs/1 --host db.parquet
  Several files: as separate runs, or as one run of several generators
    offered verify a.jtl b.jtl c.jtl
    offered verify a.jtl b.jtl --merge
  Text on the terminal; for CI: JSON (schema offered.verify/1), JUnit XML, Markdown
    offered verify runs/1 --json=verdict.json --junit run.xml --markdown run.md
  From a pipe
    k6 run --out csv=- script.js | offered verify -

Exit codes, as for `offered run`: 0 done; 1 could not continue; 2 wrong input;
3 the run is invalid, or a threshold could not be checked (for the file of
another tool, 3 is used only with --strict); 99 a threshold failed, or every
request failed.";

/// Check whether a run of any tool sent its requests as expected
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Run directories, result files (.gz, .zst), URLs (s3://, gs://, az://), or - for stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Treat the files as one run of several generators
    #[arg(long)]
    merge: bool,
    /// Exit with 3 if requests were not sent as expected; implies --tolerance 0% for runs of `offered`
    #[arg(long)]
    strict: bool,
    /// Show all requests, warnings, tables of gaps and times, and every statistical test
    #[arg(long)]
    details: bool,
    /// Simulate the same requests on the workload's [server] and compare the response times
    #[arg(long)]
    twin: bool,

    #[command(flatten)]
    hosts: HostFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    expected: expected::ExpectedFlags,
    #[command(flatten)]
    source: reading::ReadingFlags,
    #[command(flatten)]
    result_files: ResultFiles,
    #[command(flatten)]
    files_out: files::Files,
}

/// Resource usage of the server's machines.
#[derive(clap::Args)]
pub(crate) struct HostFlags {
    /// File of `offered observe` from a server machine (repeatable) [default: RUN/observed/*]
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Vec<PathBuf>,
}

/// Which requests are analysed.
#[derive(clap::Args)]
#[command(next_help_heading = "Time window")]
pub(crate) struct WindowFlags {
    /// Exclude this time after the first request
    #[arg(long, value_name = "TIME")]
    skip_first: Option<Nanos>,
    /// Exclude this time before the last request
    #[arg(long, value_name = "TIME")]
    skip_last: Option<Nanos>,
    /// Analyse only this time after --skip-first, including both ends
    #[arg(long, value_name = "TIME")]
    take: Option<Nanos>,
    /// Include or exclude failed requests
    #[arg(long, value_parser = ["keep", "drop"], default_value = "keep")]
    failures: String,
    /// Show the coefficient of variation (CoV) of the gaps between requests for 1, 2, 3, ... of the tool's threads
    #[arg(long)]
    by_threads: bool,
}

impl WindowFlags {
    /// `terms` with this time window.
    pub(crate) fn of(&self, terms: VerifyOptions) -> VerifyOptions {
        VerifyOptions {
            skip_first: self.skip_first,
            skip_last: self.skip_last,
            take: self.take,
            failures: if self.failures == "drop" { Failures::Drop } else { Failures::Keep },
            by_threads: if self.by_threads { ThreadAnalysis::On } else { terms.by_threads },
            ..terms
        }
    }

    /// An error if the window excludes all requests.
    pub(crate) fn check(&self, verdict: &Verdict) -> Result<(), Failure> {
        let Verdict { window, source, .. } = verdict;
        let given = [("--skip-first", self.skip_first), ("--skip-last", self.skip_last), ("--take", self.take)];
        let given: Vec<&str> = given.iter().filter(|(_, time)| time.is_some()).map(|(flag, _)| *flag).collect();
        if given.is_empty() || window.requests > 0 || window.excluded == 0 {
            return Ok(());
        }
        let (path, all) = (&source.path, window.excluded);
        Err(Failure::input(format!("{path}: all {all} requests are excluded; change {}", given.join(", "))))
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.merge && !args.hosts.host.is_empty() {
        return Err(Failure::input("--host needs one run, not --merge: merged files have no common clock"));
    }
    args.files_out.check(args.merge || args.files.len() == 1)?;
    args.result_files.check()?;
    let mut judged = if args.merge { vec![merged(args)?] } else { each(args)? };
    let runs = judged.iter_mut().filter_map(|one| one.run.take()).collect();
    match &judged[..] {
        [one] => show(args, &judged, runs, &one.verdict)?,
        several => {
            let verdicts = several.iter().map(|one| one.verdict.clone()).collect();
            show(args, several, runs, &Verdicts { schema: Schema::new(), verdicts })?;
        }
    }
    let worst = judged.iter().map(|judged| judged.result(args.strict)).max();
    Ok(worst.map_or(Exit::Done, Exit::from))
}

/// A verdict and the failures behind it.
struct Judged {
    verdict: Verdict,
    /// Failures by kind, for the text; empty with `--json`.
    failures: Vec<FailureKind>,
    /// The result of a run of `offered`; `None` for the file of another tool.
    result: Option<RunResult>,
    /// The run, for the result files; `None` if they do not need it.
    run: Option<Run>,
}

/// Prints the verdicts as text, or their document, and writes the result files.
fn show(args: &Args, judged: &[Judged], runs: Vec<Run>, document: &impl Serialize) -> Result<(), Failure> {
    let (details, hosts) = (args.details, !args.hosts.host.is_empty());
    match judged {
        _ if args.result_files.prints_json() => json(document),
        [Judged { verdict, failures, .. }] => {
            out!(no newline: "{}", text::Text { verdict, failures, details, hosts });
        }
        several => out!(no newline: "{}", text::Several { judged: several, details }),
    }
    args.result_files.write(document, || Ok(Report::new(runs)))
}

impl Judged {
    /// The result that determines the exit code. The file of another tool fails only with `--strict`.
    fn result(&self, strict: bool) -> RunResult {
        let Self { verdict, result, .. } = self;
        let is_refused = strict && verdict.validity == Validity::Invalid;
        match result {
            Some(result) => *result,
            None if is_refused || verdict.incomplete.is_some() => RunResult::Invalid,
            None => RunResult::Passed,
        }
    }
}

/// The verdict on each file, one after another.
fn each(args: &Args) -> Result<Vec<Judged>, Failure> {
    let terms = args.terms()?;
    let verdict = |path: &PathBuf| {
        let options = args.source.options(path)?;
        let at = object_store::run(path)?;
        args.judged(terms.verify(&at, &options, input_file::broken)?, Some(&at))
    };
    args.files.iter().map(verdict).collect()
}

/// The verdict on all files merged to one run.
fn merged(args: &Args) -> Result<Judged, Failure> {
    args.files.iter().try_for_each(|path| args.source.options(path).map(drop))?;
    let options = args.source.options(&args.files[0])?;
    let runs = args.files.iter().map(|path| object_store::run(path)).collect::<Result<Vec<_>, _>>()?;
    args.judged(args.terms()?.verify_merged(&runs, &options, input_file::broken)?, None)
}

impl Args {
    fn terms(&self) -> Result<VerifyOptions, Failure> {
        let terms = self.window.of(self.expected.terms()?);
        let strict = self.strict && terms.generator_error_tolerance.is_none();
        Ok(VerifyOptions {
            generator_error_tolerance: if strict { Some(0.0) } else { terms.generator_error_tolerance },
            twin: if self.twin { TwinComparison::On } else { TwinComparison::Off },
            hosts: self.hosts.host.clone(),
            ..terms
        })
    }

    /// Writes the additional files (`--csv`, `--gaps`) and returns the verdict on the run at `at`, or on the merged
    /// files if `at` is `None`.
    fn judged(&self, verified: VerifiedRun, at: Option<&LocalRun>) -> Result<Judged, Failure> {
        let result = verified.result();
        let VerifiedRun { recording, criteria, verdict, .. } = &verified;
        self.window.check(verdict)?;
        self.files_out.toolkit().write(recording, criteria, verdict)?;
        // Another scan of the recording, so only if there is something to count.
        let has_failures = verdict.requests.last().is_some_and(|total| total.ok < total.requests);
        let counted = has_failures && !self.result_files.prints_json();
        let failures = if counted { failures(recording) } else { Ok(Vec::new()) };
        let path = &verdict.source.path;
        let failures = failures.map_err(|error| Failure::stopped(format!("{path}: {error}")))?;
        let verdict = verdict.clone();
        let run = self.result_files.needs_report().then(|| Run::of_verified(verified, at)).transpose()?;
        Ok(Judged { verdict, failures, result, run })
    }
}
