//! `offered simulate`: a workload on a virtual clock and its modelled server.

mod table;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use offered_experiment::document::simulate::Document;
use offered_experiment::{Point, Vary, cores, points, simulated};
use offered_simulate::{Simulated, Stop};

use crate::csv;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::say::{json, say, tell};
use crate::words;

/// Simulate a workload: open, closed or partly-open load on its [server], under any scheduling policy.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file with a [server] table
    workload: PathBuf,
    /// Stop after so many answered requests (1e6 is fine), instead of at the end of the workload's duration
    #[arg(long, value_name = "N", value_parser = jobs, conflicts_with = "until_precision")]
    jobs: Option<u64>,
    /// Run until the 95 % interval of the mean response is this narrow, for example 1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_precision: Option<f64>,
    /// Bring the server to this load: by the rate of an open or partly-open system, by the think time of a closed one
    #[arg(long, value_name = "LOAD")]
    load: Option<f64>,
    /// Repeat for every value of a field; several sweeps multiply
    #[arg(long, value_name = "FIELD=VALUES")]
    sweep: Vec<Vary>,
    /// New directory for the run: workload, events and figures, as `offered run` leaves them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["sweep"])]
    out: Option<PathBuf>,
    /// New CSV file with one row per result
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// New Parquet file with one row per result
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
    /// Threads for a sweep; the numbers do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

const AFTER: &str = "\
Fields to sweep: load, discipline, scv, users, think, session_length, rate, or any other by its path in the file \
(server.servers, request.0.weight). Values: a list (fcfs,ps,srpt) or a range with its step (0.1..0.95:0.05).
Disciplines: fcfs, lcfs, lcfs-preemptive, ps, ps:16 (at most 16 share), srpt, sjf, psjf, ljf, pljf, sejf, pesjf, lejf, \
peljf (by the class's mean; sejf:0.5 by the size with noise of scv 0.5), priority, priority-preemptive, fb, rr:10ms, infinite.
Service laws may be read from a Standard Workload Format log: service = { empirical = \"log.swf.gz\" }";

/// A number of jobs, also as 1e6.
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

/// Simulates every point of the sweep, or the one workload.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let input = input::read(&args.workload)?;
    let points = points(&input, &args.sweep)?;
    let stop = match (args.jobs, args.until_precision) {
        (Some(jobs), _) => Stop::Jobs(jobs),
        (_, Some(precision)) => Stop::Precision(precision),
        _ => Stop::Duration,
    };
    let answers = match &args.out {
        Some(out) => vec![simulated::recorded(&points[0], args.load, stop, out)?],
        None => all(&points, args, stop)?,
    };
    for (point, answer) in points.iter().zip(&answers) {
        for warning in &answer.warnings {
            tell!(
                "warning: {}{}",
                if points.len() > 1 { format!("{}: ", point.name()) } else { String::new() },
                words::of_simulation(warning)
            );
        }
    }
    if let Some(path) = &args.csv {
        csv::write(path, &table::columns(&points, &answers))?;
    }
    if let Some(path) = &args.parquet {
        let written = offered_store::write_table(path, &table::columns(&points, &answers));
        written.map_err(|error| Failure::stopped(format!("{error}; name a new file")))?;
    }
    if args.json {
        json(&Document::new(&points, &answers));
    } else if points.len() == 1 {
        say!(no newline: "{}", table::one(&answers[0]));
    } else {
        say!(no newline: "{}", table::many(&points, &answers));
    }
    Ok(Exit::Done)
}

/// All points, on all cores. Each depends on its workload only, so neither the order nor the number of threads matters.
fn all(points: &[Point], args: &Args, stop: Stop) -> Result<Vec<Simulated>, Failure> {
    let done = Mutex::new(0);
    let show = points.len() > 1 && std::io::stderr().is_terminal();
    let answers = cores::map(points, args.threads.map_or_else(cores::all, usize::from), |point| {
        let answer = simulated::answer(point, args.load, stop);
        if show {
            progress(&done, points.len());
        }
        answer
    });
    Ok(answers.into_iter().collect::<Result<_, _>>()?)
}

/// Redraws the bar on stderr after one more point.
fn progress(done: &Mutex<usize>, all: usize) {
    let Ok(mut done) = done.lock() else { return };
    *done += 1;
    let filled = 40 * *done / all;
    let end = if *done == all { "\n" } else { "" };
    // A progress bar that cannot be drawn is no reason to stop.
    let _ = write!(std::io::stderr(), "\r[{:<40}] {done}/{all}{end}", "=".repeat(filled));
}
