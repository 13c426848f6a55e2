//! `offered sweep`: a workload at every point of a grid, and the curve through them.

mod table;

use std::path::PathBuf;
use std::sync::Arc;

use offered_experiment::sweep::{Made, Measured, Sweep, replace};
use offered_experiment::{MeetingPlace, Vary};
use offered_model::{Objective, Share};

use crate::csv;
use crate::exit::{Exit, Failure};
use crate::news::Stderr;
use crate::run::share;
use crate::say::{json, say, tell};
use crate::tolerance::Tolerance;
use crate::{input, signals, stored};

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
  offered sweep w.toml --vary users=25..500:25 --meet /shared/5 --share 2/8     every eighth cell
  offered sweep w.toml --vary users=25..500:25 --meet s3://bucket/5 --share 2/8     in a bucket

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
    #[arg(long, value_name = "DIR", required_unless_present = "meet")]
    out: Option<PathBuf>,
    /// The same directory, which other workers reach too, or a URL of an object store: each makes its share of the cells, and who is the
    /// last lays the curve
    #[arg(long, value_name = "PLACE", conflicts_with = "out")]
    meet: Option<PathBuf>,
    /// Make only the second of three equal parts of the cells (`2/3`), in the order in which they are visited
    #[arg(long, value_name = "K/N", requires = "meet")]
    share: Option<Share>,
    /// How many workers there are, where no --share is given and the engine that has numbered this one does not say
    #[arg(long, value_name = "N", requires = "meet", conflicts_with = "share", value_parser = clap::value_parser!(u64).range(1..))]
    workers: Option<u64>,
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
    let mut input = input::read_to_launch(&args.workload)?;
    args.tolerance.edit(&mut input.text)?;
    let share = share(args.share, args.workers, args.meet.is_some())?;
    let Some(out) = args.out.as_deref().or(args.meet.as_deref()) else {
        return Err(Failure::input("where shall the sweep be kept? Name its directory with --out"));
    };
    let at = MeetingPlace::at(out)?;
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
        stored::taken_away(copy)?;
    }
    let swept = match sweep.run(&stop, &mut Stderr { quiet: args.quiet }) {
        Ok(Made::Whole(swept)) => swept,
        Err(why) => {
            if why.leaves_something() {
                at.keep();
            }
            return Err(why.into());
        }
        Ok(Made::Part { missing }) => {
            let (s, are) = if missing == 1 { ("", "is") } else { ("s", "are") };
            tell!("the cells of worker {share} are there; {missing} cell{s} of others {are} not yet");
            return Ok(Exit::Done);
        }
    };
    write(&at, &swept.cells)?;
    if args.json {
        json(&swept.document);
    } else {
        say!(no newline: "{}", table::page(&swept.cells, args.slo.as_ref(), &swept.kept));
        say!("\nrecorded in {}", at.name());
    }
    Ok(if swept.believable() { Exit::Done } else { Exit::Doubtful })
}

/// The tidy tables, anew.
fn write(at: &MeetingPlace, cells: &[Measured]) -> Result<(), Failure> {
    let (columns, out) = (table::columns(cells), at.path());
    replace(&out.join("cells.csv"), |path| csv::write(path, &columns))?;
    replace(&out.join("cells.parquet"), |path| offered_store::write_table(path, &columns).map_err(Failure::stopped))?;
    Ok(["cells.csv", "cells.parquet"].iter().try_for_each(|name| at.bring(name))?)
}
