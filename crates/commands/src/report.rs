//! `offered report`: writes a report of one or several runs.

pub(crate) mod outputs;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use offered_experiment::{LocalRun, ThreadAnalysis, TwinComparison, VerifyOptions};
use offered_report::document::Document;
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::svg::svg;
use offered_report::{InputDocument, Report, Run, csv, document, study};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, readable};
use crate::result_files::write;
use crate::verify::{HostFlags, WindowFlags, expected::ExpectedFlags, reading, reading::FormatHints};
use crate::{input_file, object_store};
use outputs::Format;

const EXAMPLES: &str = "\
Examples:
  A recorded run, or another tool's result file
    offered report runs/1 -o report.html
    offered report runs/1 -o report.html --title 'Checkout, staging'
    offered report s3://bucket/run7 -o report.html
    offered report results.jtl -o report.html
  With the server's resource usage from `offered observe`
    offered report runs/1 --host db.parquet -o report.html
  Several runs side by side
    offered report runs/25 runs/50 runs/75 -o all.html
  The curves of a sweep; a web site from its logs
    offered report sweeps/1 -o curves.html
    offered logs access.log --json > site.json
    offered report site.json -o site.html
  Figures described in a TOML file, from CSV or the JSON of simulate and plan
    offered report page.toml --data results -o figures.html --svg figures
  Every chart as an SVG file, its data and all tables as CSV; every number as JSON
    offered report runs/1 --svg charts --csv data
    offered report runs/1 --json
  For pull requests and CI: Markdown, JUnit XML and a page at once
    offered report runs/1 -o summary.md -o junit.xml -o report.html
    offered report runs/1 --format md >> $GITHUB_STEP_SUMMARY

Exit codes: 0 done; 1 could not continue; 2 wrong input.";

/// Write an HTML report with tables and charts of one or several runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run or sweep directories, URLs, result files, JSON of `logs` or `compare`, or descriptions of figures
    #[arg(required = true, value_name = "RUN_OR_FILE")]
    files: Vec<PathBuf>,
    /// Output file, overwritten (repeatable): .html, .md, .xml (JUnit) or .json [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Title of the report [default: the name of the run]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Output format [default: the extension of the output file]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Directory of the data files of a figure description [default: its own directory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Also write every chart as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Also write every chart and table as a CSV file into this directory
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Print one JSON document (schema offered.report/1) with every number of the report
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    hosts: HostFlags,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    expected: ExpectedFlags,
    /// Format of the input files [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = reading::format, help_heading = "Input")]
    input_format: Option<offered_store::InputFormat>,
    #[command(flatten)]
    hints: FormatHints,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let pages = args.files.iter().filter(|path| study::is_page(path)).count();
    if pages == args.files.len() {
        return figures(args);
    }
    if pages > 0 {
        return Err(Failure::input(
            "figures from a description need their own page; report runs and result files separately",
        ));
    }
    for path in &args.files {
        let has_page =
            matches!(InputDocument::read(path)?, Some(document) if !matches!(document, InputDocument::Other(_)));
        if !has_page && args.input_format.is_none() {
            input_file::refuse(path, &input_file::RESULTS)?;
        }
    }
    let outputs = outputs::of(&args.output, args.format)?;
    if outputs.is_empty() && args.format.is_none() && !args.json && args.svg.is_none() && args.csv.is_none() {
        return Err(Failure::input(
            "no output file: add -o report.html (or .md, .xml for JUnit, .json), or print with --format md",
        ));
    }
    let (mut runs, mut sweeps, mut comparisons, mut sites) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in &args.files {
        let here = object_store::here(path)?;
        match InputDocument::read(here.path())? {
            Some(InputDocument::Sweep(sweep)) => sweeps.push(sweep),
            Some(InputDocument::Comparison(comparison)) => comparisons.push(*comparison),
            Some(InputDocument::Site(site)) => sites.push(*site),
            Some(InputDocument::Other(schema)) => {
                return Err(Failure::input(format!(
                    "{}: {schema} documents cannot be reported; give run or sweep directories, result files, or the \
                     output of `logs --json` or `compare --json`",
                    path.display()
                )));
            }
            None => runs.push(of_file(args, path, &here)?),
        }
    }
    let report = Report { title: args.title.clone(), sweeps, comparisons, sites, ..Report::new(runs) };
    if args.json {
        json(&report);
    }
    if args.svg.is_some() || args.csv.is_some() {
        parts(args, &document(&report))?;
    }
    for (path, format) in outputs {
        let text = text(&report, format)?;
        let exchanges = report.runs.iter().any(|run| !run.failed_exchanges.is_empty());
        match format {
            Format::Html | Format::Json if exchanges => write_private(path, &text)?,
            _ => write(path, &text)?,
        }
    }
    if let Some(format) = args.format.filter(|_| args.output.is_empty()) {
        out!(no newline: "{}", text(&report, format)?);
    }
    Ok(Exit::Done)
}

/// Writes the page of described figures.
fn figures(args: &Args) -> Result<Exit, Failure> {
    let has_output = !args.output.is_empty() || args.svg.is_some() || args.csv.is_some();
    let mut formats = args.output.iter().filter_map(|file| outputs::by_extension(file)).chain(args.format);
    if args.json || !has_output || formats.any(|format| format != Format::Html) {
        return Err(Failure::input(
            "write figures from a description as a page, SVG or CSV files: -o figures.html, --svg DIR, --csv DIR",
        ));
    }
    let folder = args.data.as_deref().or(args.files[0].parent()).unwrap_or(Path::new(""));
    let document = study::document(&args.files, folder, args.title.as_deref()).map_err(|error| {
        let is_missing = matches!(error, study::Error::Missing { .. });
        let hint = if is_missing { "; --data names the directory of the data" } else { "" };
        Failure::input(format!("{error}{hint}"))
    })?;
    parts(args, &document)?;
    for path in &args.output {
        write(path, &html(&document).map_err(Failure::stopped)?)?;
    }
    Ok(Exit::Done)
}

/// The report in this format.
pub(crate) fn text(report: &Report, format: Format) -> Result<String, Failure> {
    Ok(match format {
        Format::Html => page(report)?,
        Format::Md => markdown(report),
        Format::Junit => junit(report).map_err(Failure::stopped)?,
        Format::Json => readable(report) + "\n",
    })
}

/// The HTML page of `report`.
pub(crate) fn page(report: &Report) -> Result<String, Failure> {
    html(&document(report)).map_err(Failure::stopped)
}

/// Writes the charts of a document as SVG files, and its charts and tables as CSV files, if the flags request this.
/// Overwrites existing files.
fn parts(args: &Args, document: &Document) -> Result<(), Failure> {
    let create = |folder: &Path| {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::stopped(format!("cannot create {}: {error}", folder.display())))
    };
    if let Some(folder) = &args.svg {
        create(folder)?;
        for (name, chart) in document.charts() {
            let text = svg(chart).map_err(|error| Failure::stopped(format!("the chart {name}: {error}")))?;
            write(&folder.join(format!("{name}.svg")), &text)?;
        }
    }
    if let Some(folder) = &args.csv {
        create(folder)?;
        for (name, chart) in document.charts() {
            write(&folder.join(format!("{name}.csv")), &csv::csv(chart))?;
        }
        for (name, table) in document.tables() {
            write(&folder.join(format!("{name}.csv")), &csv::table(table))?;
        }
    }
    Ok(())
}

/// Writes a report with recorded exchanges. Only the owner of the file may read it, as with `failed.jsonl`. Overwrites
/// an existing file.
fn write_private(out: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::stopped(format!("cannot write {}: {error}", out.display()));
    // An existing file keeps its permissions, so it is replaced.
    if fs::symlink_metadata(out).is_ok_and(|metadata| metadata.is_file()) {
        fs::remove_file(out).map_err(failed)?;
    }
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(out);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

/// The run in a file or directory, with its verdict.
fn of_file(args: &Args, path: &Path, here: &LocalRun) -> Result<Run, Failure> {
    let terms = args.window.of(VerifyOptions {
        by_threads: ThreadAnalysis::IfFewSessions,
        twin: TwinComparison::IfMeasured,
        hosts: args.hosts.host.clone(),
        ..args.expected.terms()?
    });
    let run = Run::judged(here, &args.hints.options(path, args.input_format)?, &terms, input_file::broken)?;
    args.window.check(&run.verdict)?;
    Ok(run)
}
