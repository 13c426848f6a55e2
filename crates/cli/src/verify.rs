//! `offered verify`: judges the arrivals of any tool's run.

mod files;
mod hosts;
pub(crate) mod intent;
pub(crate) mod page;
pub(crate) mod policies;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use offered_experiment::{ByThreads, Judged, Terms, WithTwin};
use offered_model::Nanos;
use offered_model::document::Schema;
use offered_verify::{Failures, Judgement, Verdict, Verdicts};

use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::{file, stored};

const EXAMPLES: &str = "\
Examples:
  offered verify results.jtl --skip-first 2m --take 20m --by-threads
  offered verify runs/1                                against its own workload
  offered verify s3://bucket/run7                      a run in an object store
  offered verify runs/1 --twin                         beside a simulation of the same launches
  offered verify runs/1 --host db.parquet              with what `offered observe` saw of the server
  offered verify k6.csv.gz --meant constant --rate 100/s --strict
  offered verify a.jtl b.jtl c.jtl                     each alone, and side by side
  offered verify a.jtl b.jtl --merge                   two generators, one server
  k6 run --out csv=- script.js | offered verify -

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 with --strict, the launches are not what was meant.";

/// Judge the arrivals of any tool's run: the pattern of its launches, and whether that was meant
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Run directories or result files, plain, .gz or .zst; - for stdin; URLs of runs in an object store (s3://, gs://, az://)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Treat the files as one run of several generators
    #[arg(long)]
    merge: bool,
    /// Print one JSON document (schema offered.verify/1) instead of the tables
    #[arg(long)]
    json: bool,
    /// Exit 3 when the launches are not what was meant, whatever that did to the times (with --tolerance: if it did more)
    #[arg(long)]
    strict: bool,
    /// Show every test with its numbers
    #[arg(long)]
    details: bool,
    /// Simulate the workload at its own [server] (or at that of --workload) with the run's seed, and lay the same launches side
    /// by side: the ratio of their mean responses is known much better than either mean
    #[arg(long)]
    twin: bool,

    #[command(flatten)]
    server: Hosts,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    intent: intent::Intent,
    #[command(flatten)]
    source: source::Source,
    #[command(flatten)]
    files_out: files::Files,
}

/// What was observed of the machines that served.
#[derive(clap::Args)]
pub(crate) struct Hosts {
    /// What `offered observe` wrote on a machine that served, to be laid beside the run; may be given again. What is in the run's
    /// directory, under observed/, is found without
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Vec<PathBuf>,
}

/// Which launches are looked at, and how.
#[derive(clap::Args)]
#[command(next_help_heading = "Window and groups")]
pub(crate) struct Window {
    /// Leave so much after the first launch out
    #[arg(long, value_name = "TIME")]
    skip_first: Option<Nanos>,
    /// Leave so much before the last launch out
    #[arg(long, value_name = "TIME")]
    skip_last: Option<Nanos>,
    /// Judge only so much after that; both ends are inclusive
    #[arg(long, value_name = "TIME")]
    take: Option<Nanos>,
    /// Whether failed launches count
    #[arg(long, value_parser = ["keep", "drop"], default_value = "keep")]
    failures: String,
    /// Show the CoV against the number of threads
    #[arg(long)]
    by_threads: bool,
}

impl Window {
    /// The terms with this window.
    pub(crate) fn of(&self, terms: Terms) -> Terms {
        Terms {
            skip_first: self.skip_first,
            skip_last: self.skip_last,
            take: self.take,
            failures: if self.failures == "drop" { Failures::Drop } else { Failures::Keep },
            by_threads: if self.by_threads { ByThreads::Yes } else { terms.by_threads },
            ..terms
        }
    }

    /// Refuses a verdict on nothing, where it was asked for that way.
    pub(crate) fn check(&self, verdict: &Verdict) -> Result<(), Failure> {
        let Verdict { window, source, .. } = verdict;
        let asked = [("--skip-first", self.skip_first), ("--skip-last", self.skip_last), ("--take", self.take)];
        let asked: Vec<&str> = asked.iter().filter(|(_, time)| time.is_some()).map(|(flag, _)| *flag).collect();
        if asked.is_empty() || window.launches > 0 || window.left_out == 0 {
            return Ok(());
        }
        let (path, all) = (&source.path, window.left_out);
        Err(Failure::input(format!(
            "{path}: none of its {all} launches is left to be judged; change {}",
            asked.join(", ")
        )))
    }
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.merge && !args.server.host.is_empty() {
        return Err(Failure::input(
            "--host is of one run: files that are merged have no one clock; verify the run that the server saw",
        ));
    }
    args.files_out.check(args.merge || args.files.len() == 1)?;
    let verdicts = if args.merge { vec![merged(args)?] } else { each(args)? };
    if args.json {
        match &verdicts[..] {
            [verdict] => json(verdict),
            several => json(&Verdicts { schema: Schema::new(), verdicts: several.to_vec() }),
        }
    } else {
        for verdict in &verdicts {
            say!(no newline: "{}", page::Page { verdict, details: args.details });
        }
        if verdicts.len() > 1 {
            say!(no newline: "{}", page::Summary(&verdicts));
        }
    }
    let fails = verdicts.iter().any(|verdict| verdict.judgement == Judgement::Fails);
    Ok(if args.strict && fails { Exit::Doubtful } else { Exit::Done })
}

/// The verdict on each file; one recording is in memory at a time.
fn each(args: &Args) -> Result<Vec<Verdict>, Failure> {
    let terms = args.terms()?;
    let verdict = |path: &PathBuf| {
        let options = args.source.options(path)?;
        args.written(terms.judge(&stored::run(path)?, &options, file::broken)?)
    };
    args.files.iter().map(verdict).collect()
}

/// The verdict on all files as one run.
fn merged(args: &Args) -> Result<Verdict, Failure> {
    args.files.iter().try_for_each(|path| args.source.options(path).map(drop))?;
    let options = args.source.options(&args.files[0])?;
    let runs = args.files.iter().map(|path| stored::run(path)).collect::<Result<Vec<_>, _>>()?;
    args.written(args.terms()?.judge_merged(&runs, &options, file::broken)?)
}

impl Args {
    fn terms(&self) -> Result<Terms, Failure> {
        let terms = self.window.of(self.intent.terms()?);
        let strict = self.strict && terms.effect_tolerance.is_none();
        Ok(Terms {
            effect_tolerance: if strict { Some(0.0) } else { terms.effect_tolerance },
            with_twin: if self.twin { WithTwin::Yes } else { WithTwin::No },
            hosts: self.server.host.clone(),
            ..terms
        })
    }

    /// The verdict on a recording, after the files asked for besides are written.
    fn written(&self, Judged { recording, ask, verdict, .. }: Judged) -> Result<Verdict, Failure> {
        self.window.check(&verdict)?;
        self.files_out.asked().write(&recording, &ask, &verdict)?;
        Ok(verdict)
    }
}
