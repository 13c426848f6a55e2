//! `offered capacity`: up to which rate, or how many users, an objective is kept.

mod page;

use std::path::PathBuf;
use std::sync::Arc;

use offered_experiment::capacity::{Along, Search, TRIALS};
use offered_model::Objective;

use crate::exit::{Exit, Failure};
use crate::news::Stderr;
use crate::say::{json, say};
use crate::tolerance::Tolerance;
use crate::{input, signals};

const AFTER: &str = "\
Every trial is a run (or a simulation) of the workload with a seed of its own. From the workload's own rate or number of users the search
doubles or halves until the objective is kept at one value and broken at another, then goes on between them. At each value
three to ten trials are made, until the 95 % interval of every figure lies on one side of its bound. What is printed is an
interval: at its low end the objective was seen to be kept, at its high end to be broken.

Examples:
  offered capacity w.toml --vary rate --slo 'p99 < 250ms, errors < 0.1%'
  offered capacity w.toml --vary users --slo 'p90 < 31ms' --simulate
  offered capacity w.toml --vary rate=500 --slo 'p99 < 1s' --precision 2% --trials 100

Exit codes: 0 done; 1 could not go on; 2 wrong input; 3 the generator, not the server, was the limit.";

/// Search for the largest rate or number of users that keeps an objective
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file; its duration and warm-up are those of one trial
    workload: PathBuf,
    /// The field to search along, and where to begin [default: the workload's own value]
    #[arg(long, value_name = "FIELD[=START]")]
    vary: Along,
    /// What must be kept, for example 'p99 < 250ms, errors < 0.1%'
    #[arg(long, value_name = "OBJECTIVE")]
    slo: Objective,
    /// Simulate on the workload's [server] instead of running
    #[arg(long)]
    simulate: bool,
    /// Go on until neither end can be moved by more than this
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = crate::simulate::percent)]
    precision: f64,
    /// At most so many trials in all, which bounds the time
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one_value)]
    trials: usize,
    #[command(flatten)]
    tolerance: Tolerance,
    /// Print one JSON document (schema offered.capacity/1) instead of the table
    #[arg(long)]
    json: bool,
    /// Show nothing on stderr while the search goes on
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut input = input::read_to_launch(&args.workload)?;
    args.tolerance.edit(&mut input.text)?;
    let search = Search {
        input: &input,
        along: &args.vary,
        objective: &args.slo,
        simulated: args.simulate,
        precision: args.precision,
        trials: args.trials,
    };
    let stop = Arc::default();
    if !args.simulate {
        signals::stop(&stop)?;
    }
    let answer = search.run(&stop, &mut Stderr { quiet: args.quiet })?;
    if args.json {
        json(&answer);
    } else {
        say!(no newline: "{}", page::Page { answer: &answer, objective: &args.slo });
    }
    Ok(if answer.generator_limit.is_some() { Exit::Doubtful } else { Exit::Done })
}

/// A number of trials with which one value at least can be judged.
fn at_least_one_value(text: &str) -> Result<usize, String> {
    let enough = text.parse().ok().filter(|trials| *trials >= TRIALS.0);
    enough.ok_or_else(|| format!("`{text}` is no number of trials; it takes {} to judge one value", TRIALS.0))
}
