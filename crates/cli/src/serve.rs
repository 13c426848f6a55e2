//! `offered serve`: the reference server, until Ctrl-C.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use offered_clock::Clock;
use offered_model::workload::Server as Modelled;
use offered_model::{Law, Nanos, Seed};
use offered_serve::{Address, Options, Server, Stopper, Summary};
use offered_simulate::{Make, Policy, Setting};
use signal_hook::iterator::Signals;

use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::{input, signals};

/// How long before a completion the server stops sleeping.
const SPIN: Nanos = Nanos::from_micros(100);

/// Serve HTTP in front of a server whose service law and discipline are known exactly, until Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file with a [server] table, instead of the four options below
    #[arg(conflicts_with_all = ["service", "discipline", "servers", "seed"])]
    workload: Option<PathBuf>,
    /// Law of the jobs' sizes, for example exponential:10ms, constant:2ms or hyperexponential:10ms,8 (mean, scv)
    #[arg(long, value_name = "LAW", default_value = "exponential:10ms")]
    service: Law,
    /// Who is served when: ps, fcfs, infinite (nobody waits), srpt, and all others of the workload file
    #[arg(long, value_name = "NAME", default_value = "ps")]
    discipline: Policy,
    /// Servers behind the one queue, each of speed 1
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    servers: u32,
    /// Where the sizes come from; job number n has always the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", help = LISTEN)]
    listen: Address,
    #[arg(long, value_name = "FILE", help = RECORD)]
    record: Option<PathBuf>,
    /// Wait for completions by sleeping only, by sleeping to 100 us before them and spinning the rest, or awake all the time
    /// (a whole core, for arrivals stamped without a wake-up's delay)
    #[arg(long, value_enum, default_value_t = Precision::Spin)]
    precision: Precision,
}

const LISTEN: &str = "Where to listen: 127.0.0.1:8080, 127.0.0.1:0 for a free port, [::1]:8080, unix:/tmp/offered.sock";

const RECORD: &str = "New CSV file with a row per request: arrival_ns,work_ns,due_ns,done_ns,path,received_ns";

const AFTER: &str = "\
Targets: / and any other path (a job), ?work_ms=12.5 (its size), /status/503, /bytes/N, /chunked/N, /nolength/N, \
/delay/50ms, /echo, /continue, /early, /garbage, /close, /reset, /stall";

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    Spin,
    Sleep,
    Awake,
}

/// Serves until a signal or a failure.
pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let (modelled, seed) = if let Some(path) = &args.workload {
        modelled(path)?
    } else {
        let Args { servers, discipline, service, seed, .. } = args;
        (Modelled::new(servers, discipline, service)?, Seed(seed))
    };
    let mean = Nanos::from_secs_f64(modelled.service().mean());
    let running = Server::start(Options {
        listen: args.listen,
        discipline: modelled.discipline().boxed(&Setting {
            servers: modelled.servers(),
            class_means: vec![mean],
            seed,
        })?,
        room: modelled.room(),
        service: modelled.service().clone(),
        seed,
        spin: match args.precision {
            Precision::Spin => SPIN,
            Precision::Sleep => Nanos::ZERO,
            Precision::Awake => Nanos::MAX,
        },
        clock: Clock::start(),
        record: args.record,
        keep_arrivals: false,
    })
    .map_err(Failure::stopped)?;
    // Whoever started the server waits for this line; a pipe must not hold it back.
    say!("listening on {}", running.address());
    std::io::stdout().flush().map_err(Failure::stopped)?;
    stop_on_signals(running.stopper())?;
    say!("{}", told(&running.wait().map_err(Failure::stopped)?));
    Ok(Exit::Done)
}

/// The modelled server of the workload file at `path`, and its seed.
fn modelled(path: &Path) -> Result<(Modelled, Seed), Failure> {
    let name = path.display();
    let input = input::read(path)?;
    let workload = input.parse(&input.text).map_err(Failure::input)?;
    let server = workload.server().ok_or_else(|| {
        Failure::input(format!("{name} has no [server] table; add one with servers, discipline and service"))
    })?;
    if workload.requests().iter().any(|request| request.service().is_some()) {
        return Err(Failure::input(format!(
            "{name} gives requests service laws of their own; serve has one law for all: take them out, or simulate the file"
        )));
    }
    Ok((server.clone(), workload.seed()))
}

/// Stops the server when what has arrived is answered.
fn stop_on_signals(stopper: Stopper) -> Result<(), Failure> {
    signals::stop(&Arc::default())?;
    let mut arriving = Signals::new(signals::stopping()).map_err(Failure::stopped)?;
    let stop = move || arriving.forever().for_each(|_| stopper.stop());
    std::thread::Builder::new().spawn(stop).map(drop).map_err(Failure::stopped)
}

fn told(summary: &Summary) -> String {
    let Summary { requests, jobs, answered, malformed, lateness_mean, lateness_max, .. } = summary;
    format!(
        "{requests} requests, {jobs} of them jobs, answered {:.1} us after they were due (mean), {:.1} us at worst; \
         {answered} answers; {malformed} connections with malformed requests",
        lateness_mean.as_micros_f64(),
        lateness_max.as_micros_f64()
    )
}
