//! `offered capacity`: searches for the largest rate or number of users that meets an objective.

mod text;

use std::path::PathBuf;
use std::sync::Arc;

use offered_experiment::capacity::{Along, MIN_TRIALS, Search};
use offered_workload::Objective;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::progress::Stderr;
use crate::signals;
use crate::workload_file::WorkloadFlags;

const AFTER: &str = "\
Every trial is a run (or a simulation) of the workload with its own seed. The
search starts at the workload's rate or number of users. It doubles or halves
until one value meets the objective and another does not, and then bisects.
Each value takes three to ten runs, or three to 48 simulations, until the
confidence interval of each statistic is on one side of its limit. The result is
an interval: its low end met the objective, its high end did not.

Examples:
  offered capacity w.toml --vary rate --slo 'p99 < 250ms, errors < 0.1%'
  offered capacity w.toml --vary users --slo 'p90 < 31ms' --simulate
  offered capacity w.toml --vary rate=500 --slo 'p99 < 1s' --precision 2%

Exit codes: 0 done; 1 could not continue; 2 wrong input; 3 the generator limited
the result, not the server.";

/// Search for the largest rate or number of users that meets an objective
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file; also sets the duration and the warm-up of each trial
    workload: PathBuf,
    /// Field to maximise, such as rate or users, with an optional start value [default: the workload's value]
    #[arg(long, value_name = "FIELD[=START]")]
    vary: Along,
    /// Objective, for example 'p99 < 250ms, errors < 0.1%'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Objective,
    /// Simulate the trials on the workload's [server] instead of running them
    #[arg(long)]
    simulate: bool,
    /// Stop when the ends of the interval differ by at most this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = crate::simulate::percent)]
    precision: f64,
    /// Maximum number of trials [default: 100, or 1000 simulations]
    #[arg(long, value_name = "N", value_parser = at_least_one_value)]
    trials: Option<usize>,
    #[command(flatten)]
    flags: WorkloadFlags,
    /// Print one JSON document (schema offered.capacity/1)
    #[arg(long)]
    json: bool,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let (input, _) = args.flags.read(&args.workload, args.simulate)?;
    let search = Search {
        input: &input,
        along: &args.vary,
        objective: &args.slo,
        simulated: args.simulate,
        precision: args.precision,
        trials: args.trials.unwrap_or(if args.simulate { 1000 } else { 100 }),
    };
    let stop = Arc::default();
    if !args.simulate {
        signals::stop(&stop)?;
    }
    let result = search.run(&stop, &mut Stderr::new(args.quiet))?;
    if args.json {
        json(&result);
    } else {
        out!(no newline: "{}", text::Text { result: &result, objective: &args.slo });
    }
    Ok(if result.generator_limit.is_some() { Exit::Invalid } else { Exit::Done })
}

/// Parses a number of trials that is enough for at least one value.
fn at_least_one_value(text: &str) -> Result<usize, String> {
    let enough = text.parse().ok().filter(|trials| *trials >= MIN_TRIALS);
    enough.ok_or_else(|| format!("`{text}` trials are not enough; one value needs at least {MIN_TRIALS}"))
}
