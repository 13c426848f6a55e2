//! `offered fit`: a modelled server from measured runs.

use std::path::{Path, PathBuf};

use clap::Args as Arguments;
use offered_base::Nanos;
use offered_experiment::fit::{Conclusion, Fit, FitOptions, fit};
use offered_experiment::sweep::finished_cells;
use offered_experiment::{Error, LocalRun, VerifyOptions};
use offered_report::format::{number, rate};
use offered_store::ReadOptions;
use offered_workload::Policy;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::table::{Table, paragraph};
use crate::verify::HostFlags;
use crate::{input_file, object_store, result_files};

const EXAMPLES: &str = "\
Examples:
  Fit a server to three runs at different loads, and write a workload with it
    offered fit runs/20 runs/60 runs/80 -o fitted.toml
    offered simulate fitted.toml
    offered plan solve fitted.toml --load 0.95
  All runs of a sweep, with the Universal Scalability Law
    offered fit sweeps/1 -o fitted.toml
  Processor time per response from the server's machine
    offered fit runs/1 --host db.parquet -o fitted.toml
  The number of servers is known
    offered fit runs/1 runs/2 --servers 4

Use runs at one low load, which show the service times, and at one or more high
loads, which show the discipline.

Exit codes: 0 done; 1 could not continue; 2 wrong input.";

/// Fit a modelled server to runs: service times, discipline, servers
#[derive(Arguments)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directories, or sweep directories with all their runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Workload file to write, with the fitted [server]; overwritten
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of servers [default: fitted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    servers: Option<u32>,
    /// Disciplines to try (`offered simulate --help` explains them) [default: fcfs, ps, lcfs, srpt, fb, priority, infinite]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    discipline: Vec<Policy>,
    /// Exclude this time after the first request
    #[arg(long, value_name = "TIME")]
    skip_first: Option<Nanos>,
    #[command(flatten)]
    hosts: HostFlags,
    /// Print one JSON document (schema offered.fit/1)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let terms =
        VerifyOptions { skip_first: args.skip_first, hosts: args.hosts.host.clone(), ..VerifyOptions::default() };
    // A copy from an object store is deleted when its value is dropped.
    let places = runs(&args.runs)?.iter().map(|path| object_store::run(path)).collect::<Result<Vec<_>, _>>()?;
    let verified = |at: &LocalRun| -> Result<_, Failure> {
        Ok((at.path().to_owned(), terms.verify(at, &ReadOptions::default(), input_file::broken)?))
    };
    let runs = places.iter().map(verified).collect::<Result<Vec<_>, Failure>>()?;
    let options = FitOptions { servers: args.servers, disciplines: args.discipline.clone() };
    let found = fit(runs, &options)?;
    if args.json {
        json(&found);
    } else {
        print(&found);
    }
    match (&args.output, &found.workload) {
        (Some(path), Some(text)) => {
            result_files::write(path, text)?;
            if !args.json {
                out!("next: offered simulate {0}, or offered plan solve {0}", path.display());
            }
        }
        (Some(path), None) => {
            status!("{} was not written, because there is no run to compare with a model", path.display());
        }
        (None, _) => {}
    }
    Ok(Exit::Done)
}

/// The run directories; a sweep directory stands for those of its cells.
fn runs(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in given {
        if path.is_file() {
            return Err(Error::fit_needs_run(path).into());
        }
        let mut cells: Vec<PathBuf> = finished_cells(path).collect();
        if cells.is_empty() {
            all.push(path.clone());
        }
        cells.sort();
        all.extend(cells);
    }
    Ok(all)
}

fn print(found: &Fit) {
    server(found);
    out!("\nService time (of requests that were alone at the server)");
    let mut table = Table::new(["request", "n", "mean ms", "95 %", "scv", "distribution"]);
    for law in &found.service {
        let interval = format!("{} to {}", number(law.mean_low_ms), number(law.mean_high_ms));
        let n = law.complete.to_string();
        let cells = [n, number(law.mean_ms), interval, number(law.scv), family(&law.distribution).to_owned()];
        table.row([law.request.clone()].into_iter().chain(cells).collect::<Vec<_>>());
    }
    out!(no newline: "{table}");
    for law in found.service.iter().filter(|law| !law.alternatives.is_empty()) {
        let others: Vec<&str> = law.alternatives.iter().map(|other| family(other)).collect();
        prose(&format!("{}: the data cannot distinguish its distribution from {}", law.request, others.join(", ")));
    }
    saturation(found);
    left_out(found);
    found.warnings.iter().for_each(|warning| prose(&format!("warning: {warning}")));
}

/// The name of the distribution in this TOML text.
fn family(distribution: &str) -> &str {
    distribution.trim_start_matches("{ ").split(' ').next().unwrap_or_default()
}

/// The conclusion on the discipline, and the candidates.
fn server(found: &Fit) {
    let word = match found.conclusion {
        Conclusion::Determined => "DETERMINED",
        Conclusion::Ambiguous => "AMBIGUOUS",
        Conclusion::Unexplained => "UNEXPLAINED",
        Conclusion::NotChecked => "NOT CHECKED",
    };
    prose(&format!("{word}: {}", found.reason));
    if !found.candidates.is_empty() {
        let mut table = Table::new(["candidate", "typical", "largest", "largest difference in"]);
        for one in found.candidates.iter().take(5) {
            let differences = [one.typical_difference, one.largest_difference].map(|value| format!("{value:.1}"));
            let [typical, largest] = differences;
            table.row([one.name(), typical, largest, one.largest_difference_in.clone()]);
        }
        out!(no newline: "{table}");
        out!("differences between simulated and measured response times, in standard errors");
        if let Some(rates) = found.candidates[0].rates {
            let coefficient = |name: &str, value: f64, low: f64, high: f64| match value > 0.0 {
                true => format!("{name} {} (95 %: {} to {})", number(value), number(low), number(high)),
                false => format!("{name} 0"),
            };
            let contention = coefficient("contention", rates.contention, rates.contention_low, rates.contention_high);
            let coherency = coefficient("coherency", rates.coherency, rates.coherency_low, rates.coherency_high);
            prose(&format!("rates, from up to {} requests in flight: {contention}, {coherency}", rates.most_in_flight));
        }
    }
}

/// Each run, predicted from the service times of the other runs.
fn left_out(found: &Fit) {
    if !found.left_out.is_empty() {
        out!("\nEach run, predicted from the service times of the other runs");
        let mut table = Table::new(["run", "mean ms", "predicted", "p95 ms", "predicted", "largest"]);
        for run in &found.left_out {
            let numbers = [run.mean_ms, run.predicted_mean_ms, run.p95_ms, run.predicted_p95_ms].map(number);
            let [mean, predicted, p95, predicted_p95] = numbers;
            let name = Path::new(&run.name)
                .file_name()
                .map_or_else(|| run.name.clone(), |name| name.to_string_lossy().into_owned());
            table.row([name, mean, predicted, p95, predicted_p95, format!("{:.1}", run.largest_difference)]);
        }
        out!(no newline: "{table}");
    }
}

fn saturation(found: &Fit) {
    out!("\nSaturation");
    for one in &found.saturation {
        let interval = match (one.low_per_s, one.high_per_s) {
            (Some(low), Some(high)) => format!("  (95 %: {} to {})", rate(low), rate(high)),
            _ => String::new(),
        };
        prose(&format!("{}: {}{interval}", one.method, rate(one.rate_per_s)));
    }
    match (&found.scalability, &found.no_scalability_reason) {
        (Some(law), _) => {
            let [alpha, low, high] = [law.alpha, law.alpha_low, law.alpha_high].map(number);
            let [beta, beta_low, beta_high] = [law.beta, law.beta_low, law.beta_high].map(number);
            let error = 100.0 * law.largest_left_out_error;
            prose(&format!(
                "Universal Scalability Law over {} runs: contention {alpha} ({low} to {high}), coherency {beta} ({beta_low} to \
                 {beta_high}); the rate of a run that is left out is predicted to within {error:.1} %",
                law.points.len()
            ));
        }
        (None, Some(why)) => prose(&format!("not fitted: {why}")),
        (None, None) => {}
    }
}

fn prose(text: &str) {
    for line in paragraph("", text) {
        out!("{line}");
    }
}
