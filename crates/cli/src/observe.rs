//! `offered observe`: the counters of the machine that it runs on, into a file, while others make the load.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use offered_experiment::{Observing, Seen};
use offered_model::Nanos;
use offered_store::Observed;

use crate::exit::{Exit, Failure};
use crate::say::{say, tell};
use crate::signals;

/// Below, processor time is counted in ticks too coarse to tell anything.
const LEAST: Nanos = Nanos::from_millis(10);

const EXAMPLES: &str = "\
Examples:
  offered observe --out db.parquet                         this machine, until Ctrl-C
  offered observe --out db.parquet --listen 0.0.0.0:7799   and tell its clock to the run that asks
  offered observe --out web.parquet --cgroup /sys/fs/cgroup/system.slice/nginx.service
  offered observe --out db.parquet --pid 4242 --every 1s -d 10m
  offered report runs/1 --host db.parquet -o report.html   the run beside the server's side of it

Exit codes: 0 done, also where a signal ended it; 1 could not go on; 2 wrong input.";

/// Write down what a server's machine does during a run: processors, run queue, network, disks, pressure
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The new file (Parquet, a row for each number); it has this name when it is whole
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// From one sample to the next
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    every: Nanos,
    /// A process beside the machine, all its threads together; may be given again
    #[arg(long, value_name = "N")]
    pid: Vec<u32>,
    /// A control group (version 2) beside the machine, by its directory; may be given again
    #[arg(long, value_name = "DIR")]
    cgroup: Vec<PathBuf>,
    /// What a report calls this machine [default: its own name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Say here, by UDP, what the clock shows to the run that asks: a report then knows how far the two clocks are apart
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// End after so long [default: at Ctrl-C or SIGTERM]
    #[arg(short, long, value_name = "TIME")]
    duration: Option<Nanos>,
    /// Show nothing on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.every < LEAST {
        let every = args.every;
        return Err(Failure::input(format!(
            "--every {every}: the kernel counts in ticks of 10 ms; write {LEAST} or more"
        )));
    }
    if args.out.exists() {
        let out = args.out.display();
        return Err(Failure::input(format!(
            "{out} exists already; what was observed is never overwritten, choose another --out"
        )));
    }
    let observing = Observing {
        out: args.out.clone(),
        name: args.name.clone(),
        every: args.every,
        pids: args.pid.clone(),
        groups: args.cgroup.clone(),
        listen: args.listen,
        lasts: args.duration,
    };
    let stop = Arc::default();
    signals::stop(&stop)?;
    let about = observing.run(&stop, &mut |seen| {
        if !args.quiet {
            tell!("{}", news(args, &seen));
        }
    })?;
    say!("{}", told(args, &about));
    Ok(Exit::Done)
}

fn news(args: &Args, seen: &Seen<'_>) -> String {
    match seen {
        Seen::Begins { name, clock_at } => {
            let asked = clock_at.map_or_else(String::new, |at| format!("; its clock can be asked at {at}"));
            let end = if args.duration.is_some() { "" } else { "; Ctrl-C ends it" };
            format!("observing {name} every {} into {}{asked}{end}", args.every, args.out.display())
        }
        Seen::Gone(gone) => format!("note: {} is no more; the rest is observed further", gone.source),
    }
}

fn told(args: &Args, about: &Observed) -> String {
    let Observed { name, samples, missed, cpu_ns, every_ns, .. } = about;
    let each_us = *cpu_ns as f64 / 1e3 / *samples as f64;
    let percent = 100.0 * each_us * 1e3 / *every_ns as f64;
    let missed = if *missed > 0 { format!(", {missed} more missed: the machine was too busy") } else { String::new() };
    format!(
        "{}: {samples} samples of {name}{missed}; each cost {each_us:.0} us of processor time, {percent:.2} % of one processor",
        args.out.display()
    )
}
