//! `offered report`: what a run, or several, looked like, as one page.

pub(crate) mod theory;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offered_model::{Recording, Workload};
use offered_report::html::html;
use offered_report::junit::junit;
use offered_report::markdown::markdown;
use offered_report::{Portrait, Report, Run, document, summary};
use offered_verify::{Checked, Judgement, Measured, Warning, verify};

use crate::exit::{Exit, Failure};
use crate::file;
use crate::say::say;
use crate::verify::{Window, intent::Intent, source, source::Hints};

const EXAMPLES: &str = "\
Examples:
  offered report runs/1 -o report.html                 a run of ours, against its own workload
  offered report results.jtl -o report.html            any other tool's file
  offered report runs/25 runs/50 runs/75 -o all.html   side by side, then each by itself
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
    /// Run directories (of `run` or `simulate --out`) or result files of any tool, plain, .gz or .zst
    #[arg(required = true, value_name = "RUN_OR_FILE")]
    files: Vec<PathBuf>,
    /// Where it is written, over what was there [default: a page must be named, the rest goes to stdout]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What is written
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
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
    if args.out.is_none() && args.format == Format::Html && !args.json {
        return Err(Failure::input("where shall the page be written? Name it, for example -o report.html"));
    }
    let runs = args.files.iter().map(|path| of_file(args, path)).collect::<Result<Vec<Run>, Failure>>()?;
    let report = Report::new(runs);
    if args.json {
        say!("{}", serde_json::to_string_pretty(&report).map_err(Failure::stopped)?);
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
    html(&document(report), &format!("{launches} launches")).map_err(Failure::stopped)
}

/// Writes a file whole, over what was there.
pub(crate) fn write(out: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(out, text).map_err(|why| Failure::stopped(format!("cannot write {}: {why}", out.display())))
}

/// What is known of the run in a file or directory; one recording is in memory at a time.
fn of_file(args: &Args, path: &Path) -> Result<Run, Failure> {
    let recording = args.hints.read(path, args.from)?;
    let name = path.display().to_string();
    let mut ask = args.window.ask(name.clone(), args.intent.ask(&[path.to_owned()], &args.window)?);
    ask.by_threads |= few_threads(&recording);
    let verdict = verify(&recording, &ask);
    let portrait = Portrait::of(&recording, &ask, &verdict.window);
    let mut run = Run::new(name, verdict, portrait);
    let own = path.join("workload.toml");
    if own.is_file() {
        let kept = Kept::read(path);
        kept.judge(&mut run);
        let text = file::text(&own)?;
        let workload = Workload::parse(&text, &own.display().to_string(), &file::beside(Some(&own)));
        let workload = workload.map_err(Failure::input)?;
        let (from, to) = (workload.skip_first, workload.duration - workload.skip_last);
        let measured = Measured::new(&recording, &run.verdict, from, to);
        run.thresholds = Checked::all(&workload.thresholds, &measured, run.judgement != Judgement::Fails);
        drop(recording);
        theory::add(&mut run, &workload, kept.simulated)?;
    }
    theory::web_users(&mut run)?;
    Ok(run)
}

/// Whether launches come from so few users or threads, time and again, that their number is worth a look.
fn few_threads(recording: &Recording) -> bool {
    const FEW: usize = 1000;
    let mut seen = HashSet::new();
    recording.sessions_known
        && recording.events.iter().all(|event| {
            seen.insert(event.session);
            seen.len() <= FEW
        })
        && recording.events.len() > 2 * seen.len()
}

/// What `run.json` knows beyond the events.
struct Kept {
    simulated: bool,
    judgement: Option<Judgement>,
    warnings: Vec<Warning>,
}

impl Kept {
    /// Of the run directory `path`; a killed run has no `run.json`, and nothing is known.
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path.join("run.json")).unwrap_or_default();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let warning = |warning: &serde_json::Value| {
            let text = |key: &str| Some(warning[key].as_str()?.to_owned());
            Some(Warning { doubt: text("doubt")?, remedy: text("remedy")? })
        };
        Self {
            simulated: run["verb"] == "simulate",
            judgement: (run["summary"]["judgement"] == "fails").then_some(Judgement::Fails),
            warnings: run["summary"]["warnings"].as_array().into_iter().flatten().filter_map(warning).collect(),
        }
    }

    /// A generator that was saturated, or a run that was stopped, is not seen in the events.
    fn judge(&self, run: &mut Run) {
        let new = |warning: &&Warning| run.warnings.iter().all(|known| known.doubt != warning.doubt);
        let generators = |warning: &&Warning| {
            warning.doubt.starts_with("the generator was saturated") || warning.doubt.starts_with("the run was stopped")
        };
        let told: Vec<Warning> = self.warnings.iter().filter(new).filter(generators).cloned().collect();
        if self.judgement == Some(Judgement::Fails) && !told.is_empty() {
            run.judgement = Judgement::Fails;
        }
        run.warnings.splice(0..0, told);
    }
}
