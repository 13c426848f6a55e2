//! `offered report`: what a run, or several, looked like, as one page.

use std::path::{Path, PathBuf};

use offered_experiment::{ByThreads, Here, Terms, WithTwin};
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::svg::svg;
use offered_report::{Known, Report, Run, document, summary};

use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::verify::{Hosts, Window, intent::Intent, source, source::Hints};
use crate::{file, stored};

const EXAMPLES: &str = "\
Examples:
  offered report runs/1 -o report.html                 a run of ours, against its own workload
  offered report s3://bucket/run7 -o report.html       a run in an object store
  offered report runs/1 --host db.parquet -o r.html    beside what `offered observe` saw of the server
  offered report results.jtl -o report.html            any other tool's file
  offered report runs/25 runs/50 runs/75 -o all.html   side by side, then each by itself
  offered report sweeps/1 -o curves.html               the curves through a sweep
  offered logs access.log --json > site.json && offered report site.json -o site.html
  offered report runs/1 --svg charts                   every chart as a file of its own
  offered report runs/1 --json                         the numbers of the page
  offered report runs/1 --format md                    a summary for a pull request
  offered report runs/1 --format junit -o report.xml   checks and thresholds for a CI

Exit codes: 0 done; 1 could not go on; 2 wrong input.";

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The page
    Html,
    /// A short summary in Markdown, for a pull request
    Md,
    /// Thresholds and checks as test cases in XML, as a CI reads them
    Junit,
}

/// Make one page of tables and charts of a run, or of several side by side
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directories (of `run` or `simulate --out`), URLs of runs in an object store, result files of any tool (plain, .gz or .zst), sweep directories, or
    /// the document of `logs --json`
    #[arg(required = true, value_name = "RUN_OR_FILE")]
    files: Vec<PathBuf>,
    /// Where it is written, over what was there [default: a page must be named, the rest goes to stdout]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What is written
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
    /// Write every chart of the page as a file of its own too, without a browser, into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Print one JSON document (schema offered.report/1) with every number of the page
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    server: Hosts,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    intent: Intent,
    /// What kind of file is read, instead of looking at its content
    #[arg(long, value_name = "FORMAT", value_parser = source::format, help_heading = "Reading")]
    from: Option<offered_store::Format>,
    #[command(flatten)]
    hints: Hints,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    for path in &args.files {
        let has_page = matches!(Known::read(path)?, Some(Known::Sweep(_) | Known::Site(_)));
        if !has_page && args.from.is_none() {
            file::refuse(path, &file::RESULTS)?;
        }
    }
    if args.out.is_none() && args.format == Format::Html && !args.json && args.svg.is_none() {
        return Err(Failure::input("where shall the page be written? Name it, for example -o report.html"));
    }
    let (mut runs, mut sweeps, mut sites) = (Vec::new(), Vec::new(), Vec::new());
    for path in &args.files {
        let here = stored::here(path)?;
        match Known::read(here.path())? {
            Some(Known::Sweep(sweep)) => sweeps.push(sweep),
            Some(Known::Site(site)) => sites.push(*site),
            Some(Known::Other(schema)) => {
                return Err(Failure::input(format!(
                    "{}: is a document {schema}, of which there is no page; give run directories, sweeps, the document of \
                     `logs --json`, or result files",
                    path.display()
                )));
            }
            None => runs.push(of_file(args, path, &here)?),
        }
    }
    let report = Report { sweeps, sites, ..Report::new(runs) };
    if args.json {
        json(&report);
    }
    if let Some(folder) = &args.svg {
        charts(folder, &report)?;
    }
    let text = match args.format {
        Format::Html if args.out.is_none() => return Ok(Exit::Done),
        Format::Html => page(&report)?,
        Format::Md => markdown(&summary(&report)),
        Format::Junit => junit(&report).map_err(Failure::stopped)?,
    };
    match &args.out {
        Some(out) => write(out, &text)?,
        None => say!(no newline: "{text}"),
    }
    Ok(Exit::Done)
}

/// The page of `report`.
pub(crate) fn page(report: &Report) -> Result<String, Failure> {
    let launches: u64 = report.runs.iter().map(|run| run.verdict.source.rows).sum();
    let subtitle = if launches > 0 { format!("{launches} launches") } else { String::new() };
    html(&document(report), &subtitle).map_err(Failure::stopped)
}

/// Writes the charts of `report` into `folder`, over those of the same names.
fn charts(folder: &Path, report: &Report) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|why| Failure::stopped(format!("cannot create {}: {why}", folder.display())))?;
    let document = document(report);
    document.charts().try_for_each(|(name, chart)| {
        let text = svg(chart).map_err(|why| Failure::stopped(format!("the chart {name}: {why}")))?;
        write(&folder.join(format!("{name}.svg")), &text)
    })
}

/// Writes a file whole, over what was there.
pub(crate) fn write(out: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(out, text).map_err(|why| Failure::stopped(format!("cannot write {}: {why}", out.display())))
}

/// What is known of the run in a file or directory.
fn of_file(args: &Args, path: &Path, here: &Here) -> Result<Run, Failure> {
    let terms = args.window.of(Terms {
        by_threads: ByThreads::IfFew,
        with_twin: WithTwin::IfMeasured,
        hosts: args.server.host.clone(),
        ..args.intent.terms()?
    });
    let run = Run::judged(here, &args.hints.options(path, args.from)?, &terms, file::broken)?;
    args.window.check(&run.verdict)?;
    Ok(run)
}
