//! `offered calibrate`: how exact, and how fast, the generator is on this machine.

use offered_experiment::calibrate::{CONNECTIONS, measure};
use offered_model::Nanos;

use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  offered calibrate             about a minute, on the machine that will make the load, while nothing else runs on it
  offered calibrate --quick     a few seconds, for a first look
  offered calibrate --json

What it finds is kept in $XDG_STATE_HOME/offered/calibration.json (~/.local/state/offered without it), and `offered run` warns
when it is asked for more than half of the rate found.";

/// Measure how exact and how fast the generator is on this machine, and keep it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Half a second for each measurement instead of eight
    #[arg(long)]
    quick: bool,
    /// Print one JSON document (schema offered.calibrate/1) instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let found = measure(if args.quick { Nanos::from_millis(500) } else { Nanos::from_secs(8) })?;
    let path = found.keep()?;
    if args.json {
        json(&found);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["precision", "rate/s", "sent/s", "late p50 us", "p99 us", "max us", "CPU %"]);
    for row in &found.launches {
        table.row([
            row.precision.clone(),
            row.rate_per_s.to_string(),
            format!("{:.0}", row.sent_per_s),
            format!("{:.1}", row.lateness_p50_us),
            format!("{:.1}", row.lateness_p99_us),
            format!("{:.0}", row.lateness_max_us),
            format!("{:.0}", row.cpu * 100.0),
        ]);
    }
    say!("{table}");
    say!(
        "At full speed one thread makes {:.0} requests/s over {CONNECTIONS} connections, at {:.2} us of processor time each.",
        found.highest_rate_per_s,
        found.cpu_us_per_request
    );
    say!("Kept in {}; `offered run` warns when it is asked for more than half of that rate.", path.display());
    Ok(Exit::Done)
}
