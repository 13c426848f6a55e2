//! How exact, and how fast, the generator is on this machine; kept for later runs to be warned by.

use std::path::PathBuf;

use offered_base::{Nanos, Rate, Seed, Share};
use offered_distributions::Distribution;
use offered_events::document::{Document, Schema};
use offered_events::recording::Calibrated;
use offered_events::{Event, Outcome};
use offered_io::unix_now;
use offered_run::{Generator, Load, RunStats};
use offered_schedule::Schedule;
use offered_schedule::{Closed, Sessions};
use offered_serve::{Options, Server};
use offered_simulate::{BuildDiscipline, Policy, ServerConfig};
use offered_stats::Summary;
use offered_workload::Workload;
use offered_workload::{Draft, Precision, Target};
use serde::{Deserialize, Serialize};

use offered_observe::processors;

use crate::Error;

/// Rates of the open runs, per second.
const RATES: [u64; 3] = [1000, 10_000, 50_000];
/// Connections of the run at full speed.
pub const CONNECTIONS: u64 = 64;

/// How exact, and how fast, the generator was found to be on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// What this document is.
    pub schema: Schema<Calibration>,
    /// Of the program that measured.
    pub version: String,
    /// When it was measured, since the Unix epoch.
    pub measured_unix_s: u64,
    /// The machine's name: of another machine nothing is believed.
    pub machine: String,
    /// And its cores.
    pub cores: usize,
    /// Against a server in the same process.
    pub launches: Vec<Launches>,
    /// Answers per second to one thread with 64 connections and no think time.
    pub highest_rate_per_s: f64,
    /// Processor time of the launching thread per request then.
    pub cpu_us_per_request: f64,
}

impl Document for Calibration {
    const SCHEMA: &'static str = "offered.calibrate/1";
}

/// How Poisson launches at one rate came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launches {
    /// How the thread waited: `spin` or `sleep`.
    pub precision: String,
    /// The rate asked for.
    pub rate_per_s: u64,
    /// The rate sent.
    pub sent_per_s: f64,
    /// The median of sent - intended.
    pub lateness_p50_us: f64,
    /// The 99 % point.
    pub lateness_p99_us: f64,
    /// The largest.
    pub lateness_max_us: f64,
    /// Processor time of the launching thread, spinning included, as a share of one core.
    pub cpu: f64,
}

impl Calibration {
    /// Keeps it for this user; where.
    ///
    /// # Errors
    /// There is no place to keep it, or it cannot be written.
    pub fn keep(&self) -> Result<PathBuf, Error> {
        let path = path().ok_or(Error::NoHome)?;
        let json = serde_json::to_string_pretty(self).expect("numbers and texts are JSON");
        let kept = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, &json));
        kept.map_err(Error::file("write", &path))?;
        Ok(path)
    }

    /// The one kept, if it is of this machine.
    pub(crate) fn kept() -> Option<Self> {
        let text = std::fs::read_to_string(path()?).ok()?;
        // What another version wrote in another shape is no calibration.
        let found: Self = serde_json::from_str(&text).ok()?;
        (found.machine == machine() && found.cores == processors()).then_some(found)
    }
}

/// What is asked of `threads`, and what this machine was found to sustain with as many; `None` when it was never calibrated, or
/// the server alone decides.
pub(crate) fn compared(workload: &Workload, share: Share, threads: u16) -> Option<Calibrated> {
    let asked_per_s = asked(workload)? * share.fraction();
    Some(Calibrated { asked_per_s, sustained_per_s: Calibration::kept()?.highest_rate_per_s * f64::from(threads) })
}

/// Launches per second meant; of a closed system those of users who only think. `None` where the server alone decides.
fn asked(workload: &Workload) -> Option<f64> {
    match workload.sessions() {
        Sessions::Closed(closed) => closed.most_per_s(),
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
///
/// # Errors
/// The system has no room for a server or a launching thread.
pub fn measure(long: Nanos) -> Result<Calibration, Error> {
    let mut launches = Vec::new();
    for (name, precision) in [("spin", Precision::Spin), ("sleep", Precision::Sleep)] {
        for rate in RATES {
            let open = Sessions::Open(Schedule::poisson(Rate::from_per_sec(rate as f64)?));
            let (events, done) = against_ourselves(long, precision, open)?;
            launches.push(Launches::of(name, rate, &events, &done, long));
        }
    }
    let busy = Sessions::Closed(Closed::new(CONNECTIONS, Distribution::constant(0.0)?)?);
    let (events, done) = against_ourselves(long, Precision::Sleep, busy)?;
    let answered = events.iter().filter(|event| event.outcome == Outcome::Ok).count() as f64;
    Ok(Calibration {
        schema: Schema::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: unix_now().0 / 1_000_000_000,
        machine: machine(),
        cores: processors(),
        launches,
        highest_rate_per_s: answered / long.as_secs_f64(),
        cpu_us_per_request: done.threads.iter().map(|worker| worker.cpu.as_micros_f64()).sum::<f64>() / answered,
    })
}

impl Launches {
    fn of(precision: &str, rate: u64, events: &[Event], done: &RunStats, long: Nanos) -> Self {
        let mut late: Vec<i64> = events.iter().filter_map(|event| Some(event.lateness()?.0)).collect();
        late.sort_unstable();
        let row = Summary::of_sorted(&late, 1e3);
        let figure = |figure: fn(&Summary) -> f64| row.as_ref().map_or(0.0, figure);
        let cpu: f64 = done.threads.iter().map(|worker| worker.cpu.as_secs_f64()).sum();
        let elapsed: f64 = done.threads.iter().map(|worker| worker.elapsed.as_secs_f64()).sum();
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

/// Runs `sessions` from one thread against a server in this process that answers at once.
fn against_ourselves(long: Nanos, precision: Precision, sessions: Sessions) -> Result<(Vec<Event>, RunStats), Error> {
    let (service, seed) = (Distribution::constant(0.0)?, Seed(1));
    let discipline = Policy::Infinite.boxed(&ServerConfig { servers: 1, class_means: vec![Nanos::ZERO], seed })?;
    let server = Server::start(Options::new(discipline, service, seed))?;
    let workload = Workload::new(Draft {
        target: Some(Target::new(format!("{}/", server.address()).parse()?)),
        generator: offered_workload::Generator::default().with_threads(1)?.with_precision(precision),
        ..Draft::new(sessions, long)
    })?;
    let generator = Generator::new(workload, Share::ALL, Load::Target)?;
    let (done, mut sinks) = generator.run(None, Vec::<Event>::new, |_| ())?;
    server.stop()?;
    Ok((sinks.swap_remove(0), done))
}
