//! `offered serve`: the reference server, with known service times and discipline.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use offered_base::{Nanos, Seed};
use offered_distributions::Distribution;
use offered_serve::{Address, BitRate, Files, Options, Routes, Server, Stopper, Summary};
use offered_simulate::{BuildDiscipline, Policy, ServerConfig};
use offered_workload::Server as Modelled;
use offered_workload::engine::Engine;
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::trust::FilesFlag;
use crate::{signals, workload_file};

/// How long before a completion the server spins instead of sleeping.
const SPIN: Nanos = Nanos::from_micros(100);

/// Run a test server with known service times and scheduling discipline, until Ctrl-C
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// Workload file with a [server] table, instead of --service, --discipline, --engine, --servers and --seed
    #[arg(conflicts_with_all = ["service", "discipline", "engine", "servers", "seed"])]
    workload: Option<PathBuf>,
    /// Service time: exponential:10ms, constant:2ms, hyperexponential:10ms,8 (mean, squared CoV), ...
    #[arg(long, value_name = "DISTRIBUTION", default_value = "exponential:10ms")]
    service: Distribution,
    /// Scheduling discipline: ps (processor sharing), fcfs, ... (`offered simulate --help` explains them)
    #[arg(long, value_name = "NAME", default_value = "ps")]
    discipline: Policy,
    /// Simulate a language model server: time per step (STEP), per request in the batch (SEQ) and per prompt token
    /// (PROMPT), and batches of at most N requests
    #[arg(long, value_name = "STEP,SEQ,N,PROMPT", conflicts_with_all = ["service", "discipline", "servers", "files"])]
    engine: Option<Engine>,
    /// Number of servers behind the queue
    #[arg(long, value_name = "M", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    servers: u32,
    /// Seed of the service times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Serve files of this directory over a simulated uplink that the discipline schedules
    #[arg(long, value_name = "DIR", requires = "bandwidth", conflicts_with = "service")]
    files: Option<PathBuf>,
    /// Bandwidth of the uplink, for example 500kbit, 10mbit or 1gbit
    #[arg(long, value_name = "RATE", requires = "files")]
    bandwidth: Option<BitRate>,
    /// Address or Unix socket to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: Address,
    /// New CSV file, one row per request in ns: arrival, service time, planned and actual completion
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How threads wait: sleep, spin for the last 100 us, or stay awake (exact arrival times, but uses a whole core)
    #[arg(long, value_enum, default_value_t = WaitMode::Spin)]
    wait_mode: WaitMode,
    #[command(flatten)]
    allowed: FilesFlag,
}

const AFTER: &str = "\
Paths: any path takes a service time; ?work_ms=12.5 sets it. Special paths are
/status/503, /bytes/N, /chunked/N, /nolength/N, /delay/50ms, /echo, /continue,
/early, /garbage, /close, /reset and /stall. With --files, only the files exist.

With --engine: /v1/chat/completions, /v1/completions and /v1/models, as on
servers of language models; a word is a token. The server works in steps. A step
generates one token for each of at most N requests in the batch. It takes STEP +
SEQ per request in the batch + PROMPT per prompt token that is processed.

If the requests of the workload have their own service times (`service`, or a
catalogue), or the discipline serves by class, requests are identified by path.

--listen accepts 127.0.0.1:8080, 127.0.0.1:0 (a free port), [::1]:8080 and
unix:/tmp/offered.sock.

Examples:
  offered serve --service hyperexponential:10ms,8 --discipline fcfs
  offered serve workload.toml --record requests.csv
  offered serve --engine 8ms,100us,32,20us
  Files over a simulated uplink, shortest remaining transfer first
    offered serve --files www --bandwidth 10mbit --discipline srpt";

#[derive(Clone, Copy, ValueEnum)]
enum WaitMode {
    Spin,
    Sleep,
    Awake,
}

/// Serves until a signal or an error.
pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let Served { modelled, seed, routes, mut class_means } = match &args.workload {
        Some(path) => served(path, args.allowed)?,
        None => Served {
            modelled: match args.engine {
                Some(engine) => Modelled::of_engine(engine),
                None => Modelled::new(args.servers, args.discipline, args.service)?,
            },
            seed: Seed(args.seed),
            routes: args.engine.map_or_else(Routes::default, Routes::of_engine),
            class_means: Vec::new(),
        },
    };
    // Jobs of unknown paths form the last class.
    class_means.push(Nanos::from_secs_f64(modelled.service().mean()));
    let rates = modelled.rates().map(|_| modelled.total_rates());
    let setting = ServerConfig { servers: modelled.servers(), class_means, seed, rates };
    let options = Options::new(modelled.discipline().boxed(&setting)?, modelled.service().clone(), seed);
    let running = Server::start(Options {
        listen: args.listen,
        capacity: modelled.capacity(),
        routes,
        files: match (&args.files, args.bandwidth) {
            (Some(folder), Some(rate)) => {
                Some(Files::new(folder, rate).map_err(|error| Failure::input(error.to_string()))?)
            }
            _ => None,
        },
        spin: match args.wait_mode {
            WaitMode::Spin => SPIN,
            WaitMode::Sleep => Nanos::ZERO,
            WaitMode::Awake => Nanos::MAX,
        },
        record: args.record,
        ..options
    })
    .map_err(Failure::stopped)?;
    // Scripts wait for this line: flush it even into a pipe.
    out!("listening on {}", running.address());
    std::io::stdout().flush().map_err(Failure::stopped)?;
    stop_on_signals(running.stopper())?;
    out!("{}", text(&running.wait().map_err(Failure::stopped)?));
    Ok(Exit::Done)
}

/// The model that is served.
struct Served {
    modelled: Modelled,
    seed: Seed,
    routes: Routes,
    /// Mean work of each request that is known by its path.
    class_means: Vec<Nanos>,
}

/// The `[server]` of the workload file at `path`.
fn served(path: &Path, files: FilesFlag) -> Result<Served, Failure> {
    let name = path.display();
    let (_, workload) = workload_file::read_to_run(path, files, None)?;
    let modelled = workload.server().cloned().ok_or_else(|| {
        Failure::input(format!("{name} has no [server] table; add [server] with servers, discipline and service"))
    })?;
    let of_own = workload.requests().iter().any(|request| request.service().is_some());
    let by_path = of_own || (modelled.discipline().by_class() && workload.requests().len() > 1);
    let routes = match modelled.discipline().engine() {
        Some(engine) => Ok(Routes::of_engine(engine)),
        None if by_path => Routes::new(&workload),
        None => Ok(Routes::default()),
    };
    let works = workload.works();
    let means =
        (0..workload.requests().len() as u16).filter_map(|label| works.distribution(label).map(Distribution::mean));
    Ok(Served {
        modelled,
        seed: workload.seed(),
        routes: routes.map_err(|error| Failure::input(format!("{name}: {error}")))?,
        class_means: if by_path { means.map(Nanos::from_secs_f64).collect() } else { Vec::new() },
    })
}

/// Stops the server on a signal, after all requests in progress are completed.
fn stop_on_signals(stopper: Stopper) -> Result<(), Failure> {
    signals::stop(&Arc::default())?;
    let mut arriving = Signals::new(signals::stopping()).map_err(Failure::stopped)?;
    let stop = move || arriving.forever().for_each(|_| stopper.stop());
    std::thread::Builder::new().spawn(stop).map(drop).map_err(signals::no_thread)
}

fn text(summary: &Summary) -> String {
    let Summary { requests, jobs, completed, malformed, lateness_mean, lateness_max, .. } = summary;
    format!(
        "{requests} requests, {jobs} of them jobs, completed {:.1} us late on average, {:.1} us at most; \
         {completed} responses; {malformed} connections with malformed requests",
        lateness_mean.as_micros_f64(),
        lateness_max.as_micros_f64()
    )
}
