//! `offered simulate`: simulates a workload on its modelled server.

mod table;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use offered_experiment::document::simulate::{Document, Simulated};
use offered_experiment::{Point, VariedField, parallel, points, simulation};
use offered_simulate::Stop;

use crate::csv;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages;
use crate::output::{json, out, status};
use crate::progress::SearchLine;
use crate::trust::FilesFlag;
use crate::workload_file;

/// Simulate a workload on its [server] under any scheduling discipline
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file with a [server] table
    workload: PathBuf,
    /// Stop after N completed requests (1e6 is accepted) [default: the workload's duration]
    #[arg(long, value_name = "N", value_parser = jobs, conflicts_with = "until_precision")]
    jobs: Option<u64>,
    /// Stop when the half-width of the 95 % interval of the mean response time is at most this, for example 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_precision: Option<f64>,
    /// Set the server's utilisation by the rate (open, partly-open) or think time (closed)
    #[arg(long, value_name = "LOAD")]
    load: Option<f64>,
    /// Field to vary and its values (repeatable: all combinations)
    #[arg(long, value_name = "FIELD=VALUES")]
    vary: Vec<VariedField>,
    /// Record the run in this new directory, as `offered run -o` does
    #[arg(short, long, value_name = "DIR", conflicts_with = "vary")]
    output: Option<PathBuf>,
    /// Write a new CSV file with one row per result
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write a new Parquet file with one row per result
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Print one JSON document (schema offered.simulate/1)
    #[arg(long)]
    json: bool,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
    /// Number of threads; the results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(flatten)]
    files: FilesFlag,
}

const AFTER: &str = "\
Fields to vary: load, discipline, users, think (time), rate, session_length
(mean number of requests), scv (squared coefficient of variation of the service
times), or any other by its path in the file (server.servers, request.0.weight).
Values: a list (fcfs,ps,srpt) or a range with a step (0.1..0.95:0.05).

Disciplines of the server:
  fcfs              first come, first served
  lcfs              last come, first served; lcfs-preemptive: it interrupts
  ps                processor sharing: all requests at once, equally
  ps:16             the same, with at most 16 requests at once
  srpt              shortest remaining work first
  sjf, ljf          smallest or largest request first; psjf, pljf: preemptive
  sejf, lejf        the same by the mean size of the request's class;
                    pesjf, peljf: preemptive
  sejf:0.5          the same by an estimate of the size; 0.5 is the squared
                    coefficient of variation of its error
  priority          first [[request]] of the file first; priority-preemptive:
                    it interrupts; priority-ps: processor sharing in each class
  ps:16:priority    ps:16, where waiting requests enter by priority
  fb                least service received first
  rr:10ms           round robin, 10 ms in turn
  infinite          all requests at once, each at full speed

Service times can come from a Standard Workload Format log:
service = { empirical = \"log.swf.gz\" }

Examples:
  offered simulate w.toml --jobs 1e6
  offered simulate w.toml --vary load=0.1..0.9:0.1 --vary discipline=fcfs,ps";

/// A number of jobs; `1e6` is accepted.
pub(crate) fn jobs(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(jobs) if jobs >= 1.0 && jobs.fract() == 0.0 && jobs <= 1e15 => Ok(jobs as u64),
        _ => Err(format!("`{text}` is not a number of requests; write for example 1000000 or 1e6")),
    }
}

/// `1%` as 0.01.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a precision; write for example 1%")),
    }
}

/// Simulates the workload at every combination of the varied fields.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (input, _) = workload_file::read_to_run(&args.workload, args.files, None)?;
    let points = points(&input, &args.vary)?;
    let stop = match (args.jobs, args.until_precision) {
        (Some(jobs), _) => Stop::Jobs(jobs),
        (_, Some(precision)) => Stop::Precision(precision),
        _ => Stop::Duration,
    };
    let results = simulated(&points, args, stop)?;
    for (point, result) in points.iter().zip(&results) {
        let name = if points.len() > 1 { format!("{}: ", point.name()) } else { String::new() };
        match result {
            Ok(result) => {
                let warnings = result.warnings.iter().map(messages::simulation_warning);
                warnings.for_each(|warning| status!("warning: {name}{warning}"));
            }
            Err(reason) => status!("warning: {name}{reason}"),
        }
    }
    if let Some(path) = &args.csv {
        csv::write(path, &table::columns(&points, &results))?;
    }
    if let Some(path) = &args.parquet {
        let written = offered_store::write_table(path, &table::columns(&points, &results));
        written.map_err(|error| Failure::stopped(format!("{error}; name a new file")))?;
    }
    if args.json {
        json(&Document::new(&points, &results));
    } else if points.len() == 1 {
        results.iter().flatten().for_each(|result| out!(no newline: "{}", table::one(result)));
    } else {
        out!(no newline: "{}", table::many(&points, &results));
    }
    Ok(Exit::Done)
}

/// Returns the results of all points. While it searches the think time for a load, a line on the terminal shows the
/// trials.
fn simulated(points: &[Point], args: &Args, stop: Stop) -> Result<Vec<Simulated>, Failure> {
    let [point] = points else { return all(points, args, stop) };
    let mut line = SearchLine::default();
    let progress = &mut |trial| {
        if !args.quiet {
            line.show("", trial);
        }
    };
    let result = match &args.output {
        Some(out) => simulation::simulate_point_into(point, args.load, stop, out, progress),
        None => simulation::simulate_point(point, args.load, stop, progress),
    };
    Ok(vec![Ok(result?)])
}

/// Simulates all points in parallel. Each depends only on its workload, so order and number of threads do not matter.
fn all(points: &[Point], args: &Args, stop: Stop) -> Result<Vec<Simulated>, Failure> {
    let done = Mutex::new(0);
    let show = points.len() > 1 && !args.quiet && std::io::stderr().is_terminal();
    let results = parallel::map(points, args.threads.map_or_else(parallel::processors, usize::from), |point| {
        let result = simulation::simulate_cell(point, args.load, stop);
        if show {
            progress(&done, points.len());
        }
        result
    });
    Ok(results.into_iter().collect::<Result<_, _>>()?)
}

/// Redraws the progress bar on stderr after a finished point.
fn progress(done: &Mutex<usize>, all: usize) {
    let Ok(mut done) = done.lock() else { return };
    *done += 1;
    let filled = 40 * *done / all;
    let end = if *done == all { "\n" } else { "" };
    // Ignore errors: the simulation is worth more than its progress bar.
    let _ = write!(std::io::stderr(), "\r[{:<40}] {done}/{all}{end}", "=".repeat(filled));
}
