//! `offered compare`: interleaved rounds against two targets, with intervals of the difference.

mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_base::Nanos;
use offered_experiment::WorkloadSource;
use offered_experiment::compare::{Baseline, Comparison, Side};
use offered_report::Report;
use offered_verify::CheckResult;
use offered_workload::Url;
use offered_workload::threshold::{Quantity, Statistic};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, readable};
use crate::progress::Stderr;
use crate::report::outputs::{Format, by_extension};
use crate::result_files::ResultFiles;
use crate::tolerance::Percent;
use crate::workload_file::WorkloadFlags;
use crate::{input_file, report, result_files, signals};

const AFTER: &str = "\
A pair is one round against A and one against B, with the same requests at the
same times. (Two workloads need the same seed for this.) The order alternates:
A B, B A. The first pair is a warm-up. After four pairs, and then after every
second pair, the 95 % interval of the change is computed. The interval accounts
for repeated tests, so the comparison may stop as soon as the answer is clear.

Without --no-worse-than, the comparison stops when B is known to be slower or
faster, or when the interval is as narrow as --precision. With --no-worse-than,
B passes when the interval is below the limit. B fails when the interval is
above the limit, or when more requests of B fail.

With --baseline, A is a recording: a run directory, or the directory of an
earlier comparison, whose rounds of B are used. If A and B ran on different
machines, the effect counts as a change of the server; the interval ignores it.

Examples:
  Two versions of a service
    offered compare w.toml --target http://old/ --target http://new/
  Two workloads, for example with another connection pool
    offered compare a.toml b.toml
  Two modelled servers
    offered compare a.toml b.toml --simulate
  A check in CI against last week's recording
    offered compare w.toml --baseline last -o now --no-worse-than 5%
  A page, and a summary for the pull request
    offered compare a.toml b.toml -o compare.html -o compare.md
  The first recording for this check
    offered run w.toml -o last

Exit codes: 0 done, or no worse; 1 could not continue; 2 wrong input; 3 unclear
whether B is worse; 99 B is worse.";

/// Compare two targets or workloads in interleaved rounds: is B slower than A?
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file of both sides, or of A
    workload: PathBuf,
    /// Workload file of B
    #[arg(conflicts_with = "target")]
    other: Option<PathBuf>,
    /// URL instead of the target of the workload; given twice: A, then B
    #[arg(long, value_name = "URL")]
    target: Vec<String>,
    /// Directory of a recorded comparison or run to use as A
    #[arg(long, value_name = "DIR", conflicts_with = "other")]
    baseline: Option<PathBuf>,
    /// Compared statistic of the response times: mean, max, or a percentile
    #[arg(long, value_name = "STATISTIC", default_value = "p95", value_parser = statistic)]
    metric: Statistic,
    /// Largest accepted increase of the metric from A to B
    #[arg(long, value_name = "PERCENT")]
    no_worse_than: Option<Percent>,
    /// Stop when the half-width of the 95 % interval of the change is at most this
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = crate::simulate::percent)]
    precision: f64,
    /// Duration of a round
    #[arg(long, value_name = "TIME", default_value = "10s")]
    round: Nanos,
    /// Exclude the first TIME of each round from statistics
    #[arg(long, value_name = "TIME", default_value = "1s")]
    settle: Nanos,
    /// Maximum number of pairs of rounds
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(4..=1000))]
    pairs: u16,
    /// New directory for all rounds, or (repeatable) a report: .html, .md, .xml (JUnit), .json
    #[arg(short, long, value_name = "DIR|FILE")]
    output: Vec<PathBuf>,
    /// Simulate the rounds on the workloads' [server] instead of running them
    #[arg(long, requires = "other", conflicts_with = "baseline")]
    simulate: bool,
    #[command(flatten)]
    flags: WorkloadFlags,
    #[command(flatten)]
    result_files: ResultFiles,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (directory, reports) = outputs(args)?;
    if args.settle >= args.round {
        return Err(Failure::input(format!("--settle {} must be shorter than --round {}", args.settle, args.round)));
    }
    let read = |path: &PathBuf| args.flags.read(path, args.simulate);
    let (first, workload) = read(&args.workload)?;
    let second = args.other.as_ref().map(read).transpose()?;
    let sides = sides(args, &first, second.as_ref().map(|(source, _)| source))?;
    let counted = Nanos(args.round.0 - args.settle.0);
    let baseline = |path: &PathBuf| Baseline::read(path, counted, args.metric, workload.sessions(), input_file::broken);
    let comparison = Comparison {
        sides,
        baseline: args.baseline.as_ref().map(baseline).transpose()?,
        simulated: args.simulate,
        round: args.round,
        settle: args.settle,
        max_pairs: args.pairs.into(),
        statistic: args.metric,
        no_worse_than: args.no_worse_than.map(Percent::fraction),
        precision: args.precision,
        directory,
    };
    let stop = Arc::default();
    if !args.simulate {
        signals::stop(&stop)?;
    }
    let document = comparison.run(&stop, &mut Stderr::new(args.quiet))?;
    if args.result_files.prints_json() {
        json(&document);
    } else {
        out!(no newline: "{}", text::Text(&document));
        for path in directory.into_iter().chain(reports.iter().map(|(path, _)| *path)) {
            out!("saved       {}", path.display());
        }
    }
    let report = Report { comparisons: vec![document.clone()], ..Report::new(Vec::new()) };
    for (path, format) in reports {
        match format {
            Format::Json => result_files::write(path, &(readable(&document) + "\n"))?,
            format => result_files::write(path, &report::text(&report, format)?)?,
        }
    }
    args.result_files.write(&document, || Ok(report))?;
    Ok(match document.result {
        None if document.responses.iter().all(|row| row.change_percent.is_none()) => Exit::Invalid,
        None | Some(CheckResult::Passed) => Exit::Done,
        Some(CheckResult::NotChecked) => Exit::Invalid,
        Some(CheckResult::Failed) => Exit::Failed,
    })
}

/// The directory of the rounds, and the files of the result with their formats.
type Outputs<'a> = (Option<&'a Path>, Vec<(&'a Path, Format)>);

/// The files and the directory that `--output` names. Returns an error, before the work begins, if they cannot be
/// written.
fn outputs(args: &Args) -> Result<Outputs<'_>, Failure> {
    let (mut directories, mut reports) = (Vec::new(), Vec::new());
    for path in &args.output {
        match by_extension(path) {
            Some(format) => reports.push((path.as_path(), format)),
            None => directories.push(path.as_path()),
        }
    }
    match directories[..] {
        [_, _, ..] => return Err(Failure::input("--output names two directories; give only one")),
        [_] if args.simulate => {
            return Err(Failure::input(
                "--simulate records no rounds; --output can only be a report: .html, .md, .xml (JUnit) or .json",
            ));
        }
        _ => {}
    }
    args.result_files.check()?;
    result_files::check(reports.iter().map(|(path, _)| *path))?;
    Ok((directories.first().copied(), reports))
}

/// A and B, or B alone with a baseline.
fn sides<'a>(
    args: &Args,
    first: &'a WorkloadSource,
    second: Option<&'a WorkloadSource>,
) -> Result<Vec<Side<'a>>, Failure> {
    for url in &args.target {
        url.parse::<Url>().map_err(|error| Failure::input(format!("--target: {error}")))?;
    }
    let of_file = |source: &'a WorkloadSource| Side { name: source.name.clone(), source, target: None };
    let of_target = |url: &String| Side { name: url.clone(), source: first, target: Some(url.clone()) };
    match (&args.target[..], second, &args.baseline) {
        ([], None, Some(_)) => Ok(vec![of_file(first)]),
        ([target], None, Some(_)) => Ok(vec![of_target(target)]),
        ([], Some(second), None) => Ok(vec![of_file(first), of_file(second)]),
        ([_, _], None, None) => Ok(args.target.iter().map(of_target).collect()),
        (_, _, Some(_)) => {
            Err(Failure::input("with --baseline, A is the recording; give --target at most once, for B"))
        }
        _ => Err(Failure::input("nothing to compare: give two --target, a second workload file, or --baseline DIR")),
    }
}

/// A statistic of the response times.
fn statistic(text: &str) -> Result<Statistic, String> {
    match text.parse::<Quantity>() {
        Ok(Quantity::Response(statistic)) => Ok(statistic),
        _ => Err(format!("`{text}` is not mean, max or a percentile such as p95")),
    }
}
