//! `offered plan compare`: open against closed against partly-open at equal load (Schroeder et al. 2006, Figures 2 and 4).
//!
//! By formula where there is one; by simulation, with its interval and marked as such, where there is none.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_experiment::document::plan::Comparison;
use offered_experiment::plan::compare::{Cell, Found, cells, models};
use offered_model::document::Schema;
use offered_model::workload::Sessions;

use super::emulate::read_workload;
use super::figures::time;
use super::{load, users};
use crate::exit::{Exit, Failure};
use crate::say::{json, say, tell};
use crate::simulate::jobs;
use crate::words;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A workload with a [server], or with [[station]]s; of its [arrivals] only the think time is taken
    workload: PathBuf,
    /// Loads to compare at
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.7,0.9", value_parser = load)]
    load: Vec<f64>,
    /// Closed systems of these numbers of users
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "10,50,100,1000", value_parser = users)]
    users: Vec<u64>,
    /// Partly-open systems with these stay probabilities
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.8,0.9")]
    stay: Vec<f64>,
    /// Where there is no formula, simulate so many answered requests
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = jobs)]
    jobs: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let base = read_workload(&args.workload)?;
    let models = models(&base, &args.users, &args.stay)?;
    let cells = cells(&models, &args.load, args.jobs)?;
    for cell in &cells {
        for warning in cell.warnings() {
            tell!("warning: {} at load {}: {}", cell.model.name, cell.load, words::of_simulation(warning));
        }
    }
    if args.json {
        json(&Comparison { schema: Schema::new(), rows: cells.iter().map(Cell::document).collect() });
        return Ok(Exit::Done);
    }
    print(&cells, args);
    Ok(Exit::Done)
}

/// One row for each model, one column for each load, and what the figures are.
fn print(cells: &[Cell<'_>], args: &Args) {
    let names = cells.iter().map(|cell| cell.model.name.len()).max().unwrap_or(0);
    let widest = cells.iter().map(|cell| shown(cell).chars().count()).max().unwrap_or(0).max(10) + 2;
    let heads: Vec<String> = args.load.iter().map(|load| format!("{:>widest$}", format!("load {load}"))).collect();
    say!("mean response\n{:names$}{}", "", heads.concat());
    for row in cells.chunks(args.load.len()) {
        let shown: Vec<String> = row.iter().map(|cell| format!("{:>widest$}", shown(cell))).collect();
        say!("{:names$}{}", row[0].model.name, shown.concat());
    }
    let think = cells.iter().find_map(|cell| match cell.model.workload.sessions() {
        Sessions::PartlyOpen { think, .. } => Some(format!("; partly-open: think time {}", time(think.mean()))),
        Sessions::Open(_) | Sessions::Replay(_) | Sessions::Closed(_) => None,
    });
    say!("\nclosed: think times are solved for{}", think.unwrap_or_default());
    if cells.iter().any(|cell| matches!(cell.found, Found::Simulated(..))) {
        let jobs = args.jobs;
        say!(
            "±: simulated, {jobs} requests each (--jobs), with half the width of the 95 % interval; all others are formulas"
        );
    }
    for cell in cells {
        if let Found::Nothing(why) = &cell.found {
            say!("-: {} at load {}: {why}", cell.model.name, cell.load);
        }
    }
}

/// The figure of a cell.
fn shown(cell: &Cell<'_>) -> String {
    match &cell.found {
        Found::Known(answer) => answer.known.as_ref().map_or_else(String::new, |known| time(known.response)),
        Found::Simulated(_, simulated) => {
            let mean = simulated.summary.response.mean;
            format!("{} ±{:.1} %", time(mean.value), mean.relative() * 100.0)
        }
        Found::Nothing(_) => "-".to_owned(),
    }
}
