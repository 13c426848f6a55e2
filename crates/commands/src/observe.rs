//! `offered observe`: records the resource usage of this machine during a run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use offered_base::Nanos;
use offered_observe::{Recording, RecordingEvent};
use offered_store::SamplesMetadata;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{out, status};
use crate::signals;

/// Shortest sampling interval: the kernel counts CPU time in ticks of 10 ms.
const MIN_INTERVAL: Nanos = Nanos::from_millis(10);

const EXAMPLES: &str = "\
Examples:
  This machine, until Ctrl-C
    offered observe -o db.parquet
  The same, and answer clock queries of the run
    offered observe -o db.parquet --listen 0.0.0.0:7799
  One service, one process
    offered observe -o web.parquet \\
      --cgroup /sys/fs/cgroup/system.slice/db.service
    offered observe -o db.parquet --pid 4242 --interval 1s -d 10m
  Then show it in the report of the run
    offered report runs/1 --host db.parquet -o report.html

Exit codes: 0 done, also after Ctrl-C; 1 could not continue; 2 wrong input.";

/// Record a machine's CPU, run queue, network, disk and pressure during a run
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// New Parquet file with one row per value; it is created when the recording is complete
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Sampling interval
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    interval: Nanos,
    /// Also observe this process, as the sum of its threads (repeatable)
    #[arg(long, value_name = "N")]
    pid: Vec<u32>,
    /// Also observe this control group, by its cgroup v2 directory (repeatable)
    #[arg(long, value_name = "DIR")]
    cgroup: Vec<PathBuf>,
    /// Name of this machine in reports [default: host name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Answer clock queries on this UDP address, so that reports can align the clocks
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Observation time [default: until Ctrl-C or SIGTERM]
    #[arg(short, long, value_name = "TIME")]
    duration: Option<Nanos>,
    /// Show no progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.interval < MIN_INTERVAL {
        let interval = args.interval;
        return Err(Failure::input(format!(
            "--interval {interval}: too short: the kernel counts in ticks of 10 ms; use {MIN_INTERVAL} or more"
        )));
    }
    if args.output.exists() {
        let out = args.output.display();
        return Err(Failure::input(format!("{out} already exists and is not overwritten; choose another -o")));
    }
    let observing = Recording {
        path: args.output.clone(),
        name: args.name.clone(),
        interval: args.interval,
        pids: args.pid.clone(),
        groups: args.cgroup.clone(),
        listen: args.listen,
        duration: args.duration,
    };
    let stop = Arc::default();
    signals::stop(&stop)?;
    let about = observing.run(&stop, &mut |seen| {
        if !args.quiet {
            status!("{}", status_line(args, &seen));
        }
    })?;
    out!("{}", summary(args, &about));
    Ok(Exit::Done)
}

fn status_line(args: &Args, seen: &RecordingEvent<'_>) -> String {
    match seen {
        RecordingEvent::Started { name, clock_at } => {
            let queries = clock_at.map_or_else(String::new, |at| format!("; answering clock queries at {at}"));
            let end = if args.duration.is_some() { "" } else { "; stop with Ctrl-C" };
            format!("observing {name} every {} into {}{queries}{end}", args.interval, args.output.display())
        }
        RecordingEvent::SourceLost(gone) => {
            format!("note: {} no longer exists; the other sources are still observed", gone.source)
        }
    }
}

fn summary(args: &Args, about: &SamplesMetadata) -> String {
    let SamplesMetadata { name, samples, missed, cpu_ns, interval_ns, .. } = about;
    let each_us = *cpu_ns as f64 / 1e3 / *samples as f64;
    let percent = 100.0 * each_us * 1e3 / *interval_ns as f64;
    let missed =
        if *missed > 0 { format!(", {missed} missed because the machine was too busy") } else { String::new() };
    format!(
        "{}: {samples} samples of {name}{missed}; each took {each_us:.0} us of CPU time ({percent:.2} % of one CPU)",
        args.output.display()
    )
}
