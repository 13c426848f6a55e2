//! `offered plan compare`: open against closed against partly-open at equal load (Schroeder et al. 2006, Figures 2 and 4).
//!
//! By formula where one exists, else by simulation, which is marked and has an interval.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_events::document::Schema;
use offered_experiment::model_comparison::{Cell, Found, cells, models};
use offered_plan::document::Comparison;
use offered_schedule::Sessions;

use super::emulate::read_workload;
use super::{load, prose, users};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages;
use crate::output::{json, out, status};
use crate::simulate::jobs;
use crate::table::Table;
use offered_report::format::duration;

#[derive(Arguments)]
pub(crate) struct Args {
    /// Workload file with a [server] or [[station]]s; only its think time is used
    workload: PathBuf,
    /// Server utilisations to compare at
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.7,0.9", value_parser = load)]
    load: Vec<f64>,
    /// Numbers of users of the closed systems
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "10,50,100,1000", value_parser = users)]
    users: Vec<u64>,
    /// Probabilities that a session of the partly-open systems sends another request
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.8,0.9")]
    stay: Vec<f64>,
    /// Number of completed requests to simulate where there is no formula
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = jobs)]
    jobs: u64,
    /// Print one JSON document (schema offered.plan.compare/1)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let base = read_workload(&args.workload)?;
    let models = models(&base, &args.users, &args.stay)?;
    let cells = cells(&models, &args.load, args.jobs)?;
    for cell in &cells {
        for warning in cell.warnings() {
            status!("warning: {} at load {}: {}", cell.model.name, cell.load, messages::simulation_warning(warning));
        }
    }
    if args.json {
        json(&Comparison { schema: Schema::new(), rows: cells.iter().map(Cell::document).collect() });
        return Ok(Exit::Done);
    }
    print(&cells, args);
    Ok(Exit::Done)
}

/// Prints one row per model and one column per load.
fn print(cells: &[Cell<'_>], args: &Args) {
    let heads = args.load.iter().map(|load| format!("load {load}"));
    let mut table = Table::with_columns(std::iter::once(String::new()).chain(heads).collect()).with_whole_names();
    for row in cells.chunks(args.load.len()) {
        let responses = row.iter().map(shown);
        table.row(std::iter::once(row[0].model.name.clone()).chain(responses).collect::<Vec<_>>());
    }
    out!("mean response");
    out!(no newline: "{table}");
    let think = cells.iter().find_map(|cell| match cell.model.workload.sessions() {
        Sessions::PartlyOpen { think, .. } => Some(format!("; partly-open: think time {}", duration(think.mean()))),
        Sessions::Open(_) | Sessions::Replay(_) | Sessions::Closed(_) | Sessions::Scenarios(_) => None,
    });
    out!("\nclosed: think times are chosen to reach the load{}", think.unwrap_or_default());
    if cells.iter().any(|cell| matches!(cell.found, Found::Simulated(..))) {
        let jobs = args.jobs;
        prose(&format!(
            "values with ± are simulated ({jobs} requests, see --jobs; ± is half the width of the 95 % interval), others are from formulas"
        ));
    }
    for cell in cells {
        if let Found::Nothing(why) = &cell.found {
            prose(&format!("-: {} at load {}: {why}", cell.model.name, cell.load));
        }
    }
}

/// The text of a cell.
fn shown(cell: &Cell<'_>) -> String {
    match &cell.found {
        Found::Known(answer) => answer.steady_state.as_ref().map_or_else(String::new, |known| duration(known.response)),
        Found::Simulated(_, simulated) => {
            let mean = simulated.summary.response.mean;
            match mean.relative() {
                half if half.is_finite() => format!("{} ±{:.1} %", duration(mean.value), half * 100.0),
                _ => duration(mean.value),
            }
        }
        Found::Nothing(_) => "-".to_owned(),
    }
}
