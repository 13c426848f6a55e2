//! `offered serve`: the reference server, until Ctrl-C.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use offered_model::workload::Server as Modelled;
use offered_model::{Law, Nanos, Seed};
use offered_serve::{Address, BitRate, Files, Options, Routes, Server, Stopper, Summary};
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
    /// Serve the files of this folder, over an uplink that the discipline schedules: a file's work is its time on it
    #[arg(long, value_name = "DIR", requires = "rate", conflicts_with = "service")]
    files: Option<PathBuf>,
    /// The uplink's rate, for example 10mbit, 500kbit or 1gbit
    #[arg(long, value_name = "RATE", requires = "files")]
    rate: Option<BitRate>,
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
/delay/50ms, /echo, /continue, /early, /garbage, /close, /reset, /stall

Of a workload whose requests have work of their own (service, or a catalogue), or are served by class, the paths are known.
With --files there are no other targets than files.

Examples:
  offered serve --service hyperexponential:10ms,8 --discipline fcfs
  offered serve workload.toml --record seen.csv
  offered serve --files www --rate 10mbit --discipline srpt     the shortest rest goes first, without root";

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    Spin,
    Sleep,
    Awake,
}

/// Serves until a signal or a failure.
pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let Served { modelled, seed, routes, mut class_means } = match &args.workload {
        Some(path) => served(path)?,
        None => Served {
            modelled: Modelled::new(args.servers, args.discipline, args.service)?,
            seed: Seed(args.seed),
            routes: Routes::default(),
            class_means: Vec::new(),
        },
    };
    // Jobs of which nothing is known are the last class.
    class_means.push(Nanos::from_secs_f64(modelled.service().mean()));
    let setting = Setting { servers: modelled.servers(), class_means, seed };
    let options = Options::new(modelled.discipline().boxed(&setting)?, modelled.service().clone(), seed);
    let running = Server::start(Options {
        listen: args.listen,
        room: modelled.room(),
        routes,
        files: match (&args.files, args.rate) {
            (Some(folder), Some(rate)) => {
                Some(Files::new(folder, rate).map_err(|why| Failure::input(why.to_string()))?)
            }
            _ => None,
        },
        spin: match args.precision {
            Precision::Spin => SPIN,
            Precision::Sleep => Nanos::ZERO,
            Precision::Awake => Nanos::MAX,
        },
        record: args.record,
        ..options
    })
    .map_err(Failure::stopped)?;
    // Whoever started the server waits for this line; a pipe must not hold it back.
    say!("listening on {}", running.address());
    std::io::stdout().flush().map_err(Failure::stopped)?;
    stop_on_signals(running.stopper())?;
    say!("{}", told(&running.wait().map_err(Failure::stopped)?));
    Ok(Exit::Done)
}

/// What is served.
struct Served {
    modelled: Modelled,
    seed: Seed,
    routes: Routes,
    /// The mean work of each request that is known by its path.
    class_means: Vec<Nanos>,
}

/// The modelled server of the workload file at `path`.
fn served(path: &Path) -> Result<Served, Failure> {
    let name = path.display();
    let input = input::read(path)?;
    let workload = input.parse(&input.text).map_err(Failure::input)?;
    let modelled = workload.server().cloned().ok_or_else(|| {
        Failure::input(format!("{name} has no [server] table; add one with servers, discipline and service"))
    })?;
    let of_own = workload.requests().iter().any(|request| request.service().is_some());
    let by_path = of_own || (modelled.discipline().by_class() && workload.requests().len() > 1);
    let routes = if by_path { Routes::new(&workload) } else { Ok(Routes::default()) };
    let works = workload.works();
    let means = (0..workload.requests().len() as u16).filter_map(|label| works.law(label).map(Law::mean));
    Ok(Served {
        modelled,
        seed: workload.seed(),
        routes: routes.map_err(|why| Failure::input(format!("{name}: {why}")))?,
        class_means: if by_path { means.map(Nanos::from_secs_f64).collect() } else { Vec::new() },
    })
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
