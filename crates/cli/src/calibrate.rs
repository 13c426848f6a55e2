//! `offered calibrate`: how exact, and how fast, the generator is on this machine.

use std::path::PathBuf;

use offered_clock::unix_now;
use offered_model::workload::Sessions;
use offered_model::{Event, Law, Nanos, Outcome, Seed, Share, Workload};
use offered_run::{Done, Generator, Load};
use offered_serve::{Options, Server};
use offered_simulate::{Policy, Setting};
use offered_stats::Summary;
use offered_verify::Warning;
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  offered calibrate             about a minute, on the machine that will make the load, while nothing else runs on it
  offered calibrate --quick     a few seconds, for a first look
  offered calibrate --json

What it finds is kept in $XDG_STATE_HOME/offered/calibration.json (~/.local/state/offered without it), and `offered run` warns
when it is asked for more than half of the rate found.";

const SCHEMA: &str = "offered.calibrate/1";
/// Rates of the open runs, per second.
const RATES: [u64; 3] = [1000, 10_000, 50_000];
/// Connections of the run at full speed.
const CONNECTIONS: u64 = 64;

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

/// What was found, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Calibration {
    schema: String,
    version: String,
    /// When it was measured, since the Unix epoch.
    measured_unix_s: u64,
    /// The machine's name and its cores: of another machine nothing is believed.
    machine: String,
    cores: usize,
    /// Against a server in the same process.
    launches: Vec<Launches>,
    /// Answers per second to one thread with 64 connections and no think time.
    highest_rate_per_s: f64,
    /// Processor time of the launching thread per request then.
    cpu_us_per_request: f64,
}

/// How Poisson launches at one rate came.
#[derive(Debug, Serialize, Deserialize)]
struct Launches {
    precision: String,
    rate_per_s: u64,
    sent_per_s: f64,
    lateness_p50_us: f64,
    lateness_p99_us: f64,
    lateness_max_us: f64,
    /// Processor time of the launching thread, spinning included, as a share of one core.
    cpu: f64,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let path = path().ok_or_else(|| {
        Failure::stopped("neither XDG_STATE_HOME nor HOME is set; set one, so that the result can be kept")
    })?;
    let found = measure(if args.quick { Nanos::from_millis(500) } else { Nanos::from_secs(8) })?;
    let json = serde_json::to_string_pretty(&found).map_err(Failure::stopped)?;
    let kept = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, &json));
    kept.map_err(|why| Failure::stopped(format!("cannot write {}: {why}", path.display())))?;
    if args.json {
        say!("{json}");
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

/// The warning of a run that asks more of `threads` than half of what this machine was found to sustain; `None` too when it
/// was never calibrated.
pub(crate) fn too_much(workload: &Workload, share: Share, threads: u16) -> Option<Warning> {
    let asked = asked(workload)? * share.fraction();
    let text = std::fs::read_to_string(path()?).ok()?;
    // What another version wrote in another shape is no calibration.
    let found: Calibration = serde_json::from_str(&text).ok().filter(|found: &Calibration| found.schema == SCHEMA)?;
    if found.machine != machine() || found.cores != crate::cores::all() {
        return None;
    }
    let sustained = found.highest_rate_per_s * f64::from(threads);
    (asked > sustained / 2.0).then(|| Warning {
        doubt: format!(
            "{asked:.0} launches/s are asked of {threads} thread{}, more than half of the {sustained:.0}/s that `offered \
             calibrate` found possible here",
            if threads == 1 { "" } else { "s" }
        ),
        remedy: "look at the lateness before anything else; give it more threads (--threads) or machines (--share)".to_owned(),
    })
}

/// Launches per second meant; of a closed system those of users who only think. `None` where the server alone decides.
fn asked(workload: &Workload) -> Option<f64> {
    match workload.sessions() {
        Sessions::Closed(closed) if !closed.think().is_zero() => Some(closed.users() as f64 / closed.think().mean()),
        _ => workload.asked_rate(),
    }
}

fn path() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")))?;
    Some(state.join("offered").join("calibration.json"))
}

fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Measures everything, each for `long`.
fn measure(long: Nanos) -> Result<Calibration, Failure> {
    let mut launches = Vec::new();
    for precision in ["spin", "sleep"] {
        for rate in RATES {
            let (events, done) = against_ourselves(long, precision, &format!("open.rate = \"{rate}/s\""))?;
            launches.push(Launches::of(precision, rate, &events, &done, long));
        }
    }
    let (events, done) = against_ourselves(long, "sleep", &format!("closed.users = {CONNECTIONS}"))?;
    let answered = events.iter().filter(|event| event.outcome == Outcome::Ok).count() as f64;
    Ok(Calibration {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: unix_now().0 / 1_000_000_000,
        machine: machine(),
        cores: crate::cores::all(),
        launches,
        highest_rate_per_s: answered / long.as_secs_f64(),
        cpu_us_per_request: done.workers.iter().map(|worker| worker.cpu.as_micros_f64()).sum::<f64>() / answered,
    })
}

impl Launches {
    fn of(precision: &str, rate: u64, events: &[Event], done: &Done, long: Nanos) -> Self {
        let mut late: Vec<u64> = events.iter().filter_map(|event| Some(event.lateness()?.0)).collect();
        late.sort_unstable();
        let row = Summary::of_sorted(&late, 1e3);
        let figure = |figure: fn(&Summary) -> f64| row.as_ref().map_or(0.0, figure);
        let cpu: f64 = done.workers.iter().map(|worker| worker.cpu.as_secs_f64()).sum();
        let elapsed: f64 = done.workers.iter().map(|worker| worker.elapsed.as_secs_f64()).sum();
        Self {
            precision: precision.to_owned(),
            rate_per_s: rate,
            sent_per_s: late.len() as f64 / long.as_secs_f64(),
            lateness_p50_us: figure(|row| row.median),
            lateness_p99_us: figure(|row| row.p99),
            lateness_max_us: figure(|row| row.max),
            cpu: cpu / elapsed,
        }
    }
}

/// Runs `arrivals` from one thread against a server in this process that answers at once.
fn against_ourselves(long: Nanos, precision: &str, arrivals: &str) -> Result<(Vec<Event>, Done), Failure> {
    let (service, seed) = (Law::constant(0.0)?, Seed(1));
    let policy: Policy = "infinite".parse()?;
    let discipline = policy.boxed(&Setting { servers: 1, class_means: vec![Nanos::ZERO], seed })?;
    let server = Server::start(Options::new(discipline, service, seed)).map_err(Failure::stopped)?;
    let text = format!(
        "seed = 1\nduration = \"{long}\"\ntarget.url = \"{}/\"\ngenerator = {{ threads = 1, precision = \"{precision}\" }}\n\
         [arrivals]\n{arrivals}\n",
        server.address()
    );
    let workload = Workload::parse(&text, "calibration", &|_| Err(String::new())).map_err(Failure::stopped)?;
    let generator = Generator::new(workload, Share::ALL, Load::Target).map_err(Failure::stopped)?;
    let (done, mut sinks) = generator.run(None, Vec::<Event>::new, |_| ()).map_err(Failure::stopped)?;
    server.stop().map_err(Failure::stopped)?;
    Ok((sinks.swap_remove(0), done))
}
