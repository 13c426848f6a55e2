//! `offered sweep`: a workload at every point of a grid, and the curve through them.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offered_experiment::sweep::{Measured, Sweep};
use offered_experiment::{Error, Vary};
use offered_model::Objective;

use crate::csv;
use crate::exit::{Exit, Failure};
use crate::news::Stderr;
use crate::say::{json, say};
use crate::tolerance::Tolerance;
use crate::{input, signals};

const AFTER: &str = "\
Fields: users, think, rate, session_length, discipline, scv, seed, or any other by its path in the file (server.servers,
request.0.weight). Values: a list (25,50,100) or a range with its step (25..150:25).

Cells are visited with a stride of about 0.618 of their number, so that low and high values alternate and whatever changes
with time does not look like an effect of load; --shuffle takes a random order instead. A sweep that was killed goes on
with the same command: finished cells are kept.

Examples:
  offered sweep w.toml --vary users=25,50,75,100,150 --vary think=5ms,25ms,50ms --out sweeps/1
  offered sweep w.toml --vary users=25..150:25 --slo 'p90 < 31ms' --out sweeps/2
  offered sweep w.toml --vary rate=10..90:10 --vary discipline=fcfs,ps --simulate --out sweeps/3
  offered sweep w.toml --vary rate=50,100 --vary seed=1,2,3 --out sweeps/4      each three times

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 done, but a cell must not be believed.";

/// Run (or simulate) a workload at every point of a grid, and lay the curve through them
#[derive(clap::Args)]
#[command(after_help = AFTER)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Workload file
    workload: PathBuf,
    /// A field and its values; several multiply
    #[arg(long, value_name = "FIELD=VALUES", required = true)]
    vary: Vec<Vary>,
    /// Directory of the sweep: a run directory per cell, sweep.json, cells.csv, cells.parquet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Simulate every cell on the workload's [server] instead of running it
    #[arg(long)]
    simulate: bool,
    /// Say up to which value of the first field this is kept, for example 'p90 < 31ms, errors < 0.1%'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Option<Objective>,
    /// Visit the cells in a random order, drawn from the workload's seed
    #[arg(long)]
    shuffle: bool,
    #[command(flatten)]
    tolerance: Tolerance,
    /// Print one JSON document (schema offered.sweep/1) instead of the table
    #[arg(long)]
    json: bool,
    /// Show nothing on stderr while the sweep goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut input = input::read(&args.workload)?;
    args.tolerance.edit(&mut input.text)?;
    let sweep = Sweep {
        input: &input,
        varied: &args.vary,
        out: &args.out,
        simulated: args.simulate,
        objective: args.slo.as_ref(),
        shuffled: args.shuffle,
    };
    let stop = Arc::default();
    if !args.simulate {
        signals::stop(&stop)?;
    }
    let swept = sweep.run(&stop, &mut Stderr { quiet: args.quiet })?;
    write(&args.out, &swept.cells)?;
    if args.json {
        json(&swept.document);
    } else {
        say!(no newline: "{}", table::page(&swept.cells, args.slo.as_ref(), &swept.kept));
        say!("\nrecorded in {}", args.out.display());
    }
    Ok(if swept.believable() { Exit::Done } else { Exit::Doubtful })
}

/// The tidy tables, anew.
fn write(out: &Path, cells: &[Measured]) -> Result<(), Failure> {
    let place = |name: &str| -> Result<PathBuf, Failure> {
        let path = out.join(name);
        if path.exists() {
            let cannot = |source| Error::File { action: "replace", path: path.clone(), source };
            fs::remove_file(&path).map_err(cannot)?;
        }
        Ok(path)
    };
    let columns = table::columns(cells);
    csv::write(&place("cells.csv")?, &columns)?;
    offered_store::write_table(&place("cells.parquet")?, &columns).map_err(Failure::stopped)
}
