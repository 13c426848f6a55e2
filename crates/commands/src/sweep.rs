//! `offered sweep`: runs or simulates a workload at every point of a grid.

mod table;

use std::path::PathBuf;
use std::sync::Arc;

use offered_base::Share;
use offered_experiment::sweep::{MeasuredCell, Sweep, SweepOutcome, replace};
use offered_experiment::{SharedDirectory, VariedField};
use offered_workload::Objective;

use crate::csv;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::progress::Stderr;
use crate::run::share;
use crate::workload_file::WorkloadFlags;
use crate::{object_store, signals};

const AFTER: &str = "\
Fields: users, think (time), rate, session_length (mean number of requests),
discipline, scv (squared coefficient of variation of the service times), seed,
or any other by its path in the file (server.servers, request.0.weight). load is
the utilisation of the modelled server; it sets the rate or the users' think
time. Values: a list (25,50,100) or a range with a step (25..150:25).

A cell is one point of the grid. The order of the cells mixes low and high
values, so a drift of the server does not look like an effect of the load.
The same command continues a sweep that was killed; finished cells are kept.

Examples:
  Six numbers of users
    offered sweep w.toml --vary users=25..150:25 -o sweeps/1
  A grid of users and think times
    offered sweep w.toml --vary users=25,50 --vary think=5ms,50ms -o sweeps/2
  The largest number of users that meets an objective
    offered sweep w.toml --vary users=25..150:25 --slo 'p90 < 31ms' -o sweeps/3
  Simulated, under two disciplines
    offered sweep w.toml --vary discipline=fcfs,ps --simulate -o sweeps/4
  Open, at equal loads of the modelled server, under two disciplines
    offered sweep w.toml --vary load=0.5,0.7,0.9 --vary discipline=fcfs,ps \
      --simulate -o sweeps/7
  Each rate three times
    offered sweep w.toml --vary rate=50,100 --vary seed=1,2,3 -o sweeps/5
  Worker 2 of 8 runs every eighth cell
    offered sweep w.toml --vary users=25..500:25 --rendezvous /shared/6 \\
      --share 2/8

Exit codes: 0 done; 1 could not continue; 2 wrong input; 3 a cell is invalid.";

/// Run or simulate a workload at every point of a grid and plot the curves
#[derive(clap::Args)]
#[command(after_help = AFTER)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent")]
pub(crate) struct Args {
    /// Workload file
    workload: PathBuf,
    /// Field to vary and its values (repeatable: all combinations)
    #[arg(long, value_name = "FIELD=VALUES", required = true)]
    vary: Vec<VariedField>,
    /// Directory of the sweep: a run directory per grid point (cell), sweep.json, cells.csv, cells.parquet
    #[arg(short, long, value_name = "DIR", required_unless_present = "rendezvous")]
    output: Option<PathBuf>,
    /// Directory or bucket URL of the sweep; workers that share it divide the cells
    #[arg(long, value_name = "DIR|URL", conflicts_with = "output")]
    rendezvous: Option<PathBuf>,
    /// Run only slice K of N of the cells, for example 2/8
    #[arg(long, value_name = "K/N", requires = "rendezvous")]
    share: Option<Share>,
    /// Number of workers [default: from --share, or from the variables of Slurm or Open MPI]
    #[arg(long, value_name = "N", requires = "rendezvous", conflicts_with = "share", value_parser = clap::value_parser!(u64).range(1..))]
    workers: Option<u64>,
    /// Simulate the cells on the workload's [server] instead of running them
    #[arg(long)]
    simulate: bool,
    /// Find the largest value of the first field that meets this objective, for example 'p90 < 31ms'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Option<Objective>,
    /// Run the cells in a random order, which depends on the workload's seed
    #[arg(long)]
    shuffle: bool,
    #[command(flatten)]
    flags: WorkloadFlags,
    /// Print one JSON document (schema offered.sweep/1)
    #[arg(long)]
    json: bool,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (input, _) = args.flags.read(&args.workload, args.simulate)?;
    let share = share(args.share, args.workers, args.rendezvous.is_some())?;
    let Some(out) = args.output.as_deref().or(args.rendezvous.as_deref()) else {
        return Err(Failure::input("no directory for the sweep: add -o sweeps/1"));
    };
    let at = SharedDirectory::at(out, object_store::store_fails)?;
    let sweep = Sweep {
        input: &input,
        varied: &args.vary,
        at: &at,
        simulated: args.simulate,
        objective: args.slo.as_ref(),
        shuffled: args.shuffle,
        share,
    };
    let stop = Arc::default();
    if !args.simulate {
        signals::stop(&stop)?;
    } else if let Some(copy) = at.copy() {
        object_store::delete_on_signal(copy)?;
    }
    let swept = match sweep.run(&stop, &mut Stderr::new(args.quiet)) {
        Ok(SweepOutcome::Complete(swept)) => swept,
        Err(why) => {
            if why.leaves_recording() {
                at.keep();
            }
            return Err(why.into());
        }
        Ok(SweepOutcome::Incomplete { missing }) => {
            let (s, are) = if missing == 1 { ("", "is") } else { ("s", "are") };
            status!(
                "worker {share} has finished its cells; {missing} cell{s} of other workers {are} not finished; the same command prints the sweep \
                 when all are"
            );
            return Ok(Exit::Done);
        }
    };
    write(&at, &swept.cells)?;
    if args.json {
        json(&swept.document);
    } else {
        out!(no newline: "{}", table::page(&swept.cells, args.slo.as_ref(), &swept.limits));
        out!("\nrecorded in {}\ncells.csv in it has all figures, with their intervals", at.name());
    }
    Ok(if swept.is_valid() { Exit::Done } else { Exit::Invalid })
}

/// Writes cells.csv and cells.parquet, replacing earlier ones.
fn write(at: &SharedDirectory, cells: &[MeasuredCell]) -> Result<(), Failure> {
    let (columns, out) = (table::columns(cells), at.path());
    replace(&out.join("cells.csv"), |path| csv::write(path, &columns))?;
    replace(&out.join("cells.parquet"), |path| offered_store::write_table(path, &columns).map_err(Failure::stopped))?;
    Ok(["cells.csv", "cells.parquet"].iter().try_for_each(|name| at.publish(name))?)
}
