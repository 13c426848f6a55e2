//! `offered report`: what a run, or several, looked like, as one page.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use offered_experiment::document::sweep::Document as Sweep;
use offered_logs::document::Document as Site;
use offered_model::Workload;
use offered_model::document::Document as _;
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::svg::svg;
use offered_report::{Own, Report, Run, document, few_threads, summary};
use offered_store::{RunRecord, read_failures};
use offered_verify::verify;

use crate::exit::{Exit, Failure};
use crate::file;
use crate::say::{json, say};
use crate::verify::{Window, intent::Intent, source, source::Hints};

const EXAMPLES: &str = "\
Examples:
  offered report runs/1 -o report.html                 a run of ours, against its own workload
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
    /// Run directories (of `run` or `simulate --out`), result files of any tool (plain, .gz or .zst), sweep directories, or
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
        let has_page = matches!(Known::of(path)?, Some(Known::Sweep(_) | Known::Site(_)));
        if !has_page && args.from.is_none() {
            file::refuse(path, &file::RESULTS)?;
        }
    }
    if args.out.is_none() && args.format == Format::Html && !args.json && args.svg.is_none() {
        return Err(Failure::input("where shall the page be written? Name it, for example -o report.html"));
    }
    let (mut runs, mut sweeps, mut sites) = (Vec::new(), Vec::new(), Vec::new());
    for path in &args.files {
        match Known::of(path)? {
            Some(Known::Sweep(sweep)) => sweeps.push(sweep),
            Some(Known::Site(site)) => sites.push(*site),
            Some(Known::Other(schema)) => {
                return Err(Failure::input(format!(
                    "{}: is a document {schema}, of which there is no page; give run directories, sweeps, the document of \
                     `logs --json`, or result files",
                    path.display()
                )));
            }
            None => runs.push(of_file(args, path)?),
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

/// A document of ours that is no run.
enum Known {
    Sweep(Sweep),
    Site(Box<Site>),
    /// Of this schema.
    Other(String),
}

impl Known {
    /// The document at `path` (of a sweep's directory: its `sweep.json`), told by its schema; `None` for anything else.
    fn of(path: &Path) -> Result<Option<Self>, Failure> {
        let file = if path.is_dir() { path.join("sweep.json") } else { path.to_owned() };
        // The schema stands first; what is not a file of ours, or none at all, is for the reader of runs to tell.
        let mut head = Vec::new();
        let Ok(opened) = File::open(&file) else { return Ok(None) };
        if !opened.metadata().is_ok_and(|metadata| metadata.is_file())
            || opened.take(64).read_to_end(&mut head).is_err()
        {
            return Ok(None);
        }
        let head = String::from_utf8_lossy(&head);
        let wrong = |why: serde_json::Error| Failure::input(format!("{}: {why}; make the file anew", file.display()));
        Ok(if head.contains(&format!("\"{}\"", Sweep::SCHEMA)) {
            Some(Self::Sweep(serde_json::from_str(&file::text(&file)?).map_err(wrong)?))
        } else if head.contains(&format!("\"{}\"", Site::SCHEMA)) {
            Some(Self::Site(serde_json::from_str(&file::text(&file)?).map_err(wrong)?))
        } else {
            let schema = head.split('"').find(|word| word.starts_with("offered."));
            schema.filter(|_| head.contains("\"schema\"")).map(|schema| Self::Other(schema.to_owned()))
        })
    }
}

/// What is known of the run in a file or directory; one recording is in memory at a time.
fn of_file(args: &Args, path: &Path) -> Result<Run, Failure> {
    let recording = args.hints.read(path, args.from)?;
    let name = path.display().to_string();
    let mut ask = args.window.ask(name.clone(), args.intent.ask(&[path.to_owned()], &args.window)?);
    ask.by_threads |= few_threads(&recording).map_err(Failure::stopped)?;
    let verdict = verify(&recording, &ask).map_err(Failure::stopped)?;
    args.window.check(&verdict)?;
    Ok(Run::of(name, recording, &ask, verdict, own(path)?)?)
}

/// What a run of ours says of itself beside its events.
fn own(path: &Path) -> Result<Option<Own>, Failure> {
    let own = path.join("workload.toml");
    if !own.is_file() {
        return Ok(None);
    }
    let failures = read_failures(path).map_err(Failure::input)?;
    let record = RunRecord::read(path).map_err(Failure::input)?;
    let workload = Workload::parse(&file::text(&own)?, &own.display().to_string(), &file::beside(Some(&own)));
    Ok(Some(Own { workload: workload.map_err(Failure::input)?, record, failures }))
}
