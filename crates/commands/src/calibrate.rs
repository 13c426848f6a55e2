//! `offered calibrate`: measures the precision and the maximum rate of the generator on this machine.

use offered_base::Nanos;
use offered_experiment::calibrate::{CONNECTIONS, measure};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  offered calibrate             about a minute, on the idle load machine
  offered calibrate --quick     a few seconds, less precise

The result is saved in $XDG_STATE_HOME/offered/calibration.json (default
~/.local/state/offered). `offered run` warns if its rate is above half of the measured one.";

/// Measure the generator's precision and maximum rate on this machine and save them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Measure each row of the result table for 0.5 s instead of 8 s
    #[arg(long)]
    quick: bool,
    /// Print one JSON document (schema offered.calibrate/1)
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let found = measure(if args.quick { Nanos::from_millis(500) } else { Nanos::from_secs(8) })?;
    let path = found.store()?;
    if args.json {
        json(&found);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["wait mode", "target/s", "sent/s", "lateness p50 us", "p99 us", "max us", "CPU %"]);
    for row in &found.open_runs {
        table.row([
            row.wait_mode.clone(),
            row.target_rate_per_s.to_string(),
            format!("{:.0}", row.sent_rate_per_s),
            format!("{:.1}", row.lateness_p50_us),
            format!("{:.1}", row.lateness_p99_us),
            format!("{:.0}", row.lateness_max_us),
            format!("{:.0}", row.cpu_share * 100.0),
        ]);
    }
    out!("{table}");
    out!(
        "At full speed one thread sends {:.0} requests/s over {CONNECTIONS} connections; a request takes {:.2} us of CPU time.",
        found.max_rate_per_s,
        found.cpu_us_per_request
    );
    out!("Saved in {}; `offered run` warns if its rate is above half of this one.", path.display());
    Ok(Exit::Done)
}
