//! Calibration: how precise and how fast the generator is on this machine. The result is stored, and later runs warn if
//! their rate is too high for it.

use std::path::PathBuf;

use offered_base::{Nanos, Rate, Seed, Share};
use offered_distributions::Distribution;
use offered_events::document::{Document, Schema};
use offered_events::recording::CalibratedRate;
use offered_events::{Event, Outcome};
use offered_io::unix_now;
use offered_run::{Generator, Load, RunStats};
use offered_schedule::Schedule;
use offered_schedule::{Closed, Sessions};
use offered_serve::{Options, Server};
use offered_simulate::{BuildDiscipline, Policy, ServerConfig};
use offered_stats::Summary;
use offered_workload::Workload;
use offered_workload::{Draft, Target, WaitMode};
use serde::{Deserialize, Serialize};

use offered_observe::processors;

use crate::Error;

/// Target rates of the open runs, per second.
const RATES: [u64; 3] = [1000, 10_000, 50_000];
/// Number of connections of the run at full speed.
pub const CONNECTIONS: u64 = 64;

/// The measured precision and speed of the generator on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Name and version of this document.
    pub schema: Schema<Calibration>,
    /// Version of the program.
    pub version: String,
    /// Time of the measurement, since the Unix epoch.
    pub measured_unix_s: u64,
    /// Host name of the machine. The calibration is ignored on other machines.
    pub machine: String,
    /// Number of processors of the machine.
    pub processors: usize,
    /// Open runs against a server in the same process.
    pub open_runs: Vec<OpenRun>,
    /// Completed requests per second of one thread with 64 connections and no think time.
    pub max_rate_per_s: f64,
    /// Processor time of the sending thread per request, in that run.
    pub cpu_us_per_request: f64,
}

impl Document for Calibration {
    const SCHEMA: &'static str = "offered.calibrate/1";
}

/// An open run with Poisson arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenRun {
    /// How the thread waits: `spin` or `sleep`.
    pub wait_mode: String,
    /// Target rate.
    pub target_rate_per_s: u64,
    /// Rate of sent requests.
    pub sent_rate_per_s: f64,
    /// Median lateness.
    pub lateness_p50_us: f64,
    /// 99th percentile of the lateness.
    pub lateness_p99_us: f64,
    /// Maximum lateness.
    pub lateness_max_us: f64,
    /// Processor time of the sending thread, spinning included, as a share of one processor.
    pub cpu_share: f64,
}

impl Calibration {
    /// Stores the calibration for this user, and returns the path.
    ///
    /// # Errors
    /// There is no directory for the calibration, or the file cannot be written.
    pub fn store(&self) -> Result<PathBuf, Error> {
        let path = path().ok_or(Error::NoHome)?;
        let json = serde_json::to_string_pretty(self).expect("numbers and texts are JSON");
        let kept = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, &json));
        kept.map_err(Error::file("write", &path))?;
        Ok(path)
    }

    /// The stored calibration, if it is of this machine.
    pub(crate) fn stored() -> Option<Self> {
        let text = std::fs::read_to_string(path()?).ok()?;
        // A file in another form, of another version, is ignored.
        let found: Self = serde_json::from_str(&text).ok()?;
        (found.machine == machine() && found.processors == processors()).then_some(found)
    }
}

/// The target rate and the calibrated rate of this number of threads; `None` without a calibration, or if the rate depends on the server
/// alone.
pub(crate) fn compared(workload: &Workload, share: Share, threads: u16) -> Option<CalibratedRate> {
    let asked_per_s = asked(workload)? * share.fraction();
    Some(CalibratedRate {
        target_rate_per_s: asked_per_s,
        sustained_rate_per_s: Calibration::stored()?.max_rate_per_s * f64::from(threads),
    })
}

/// The target rate; for a closed system the rate at zero response time. `None` if the rate depends on the server alone.
fn asked(workload: &Workload) -> Option<f64> {
    match workload.sessions() {
        Sessions::Closed(closed) => closed.max_rate_per_s(),
        _ => workload.scheduled_rate(),
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

/// Runs all measurements, each for the duration `long`.
///
/// # Errors
/// The server or a thread cannot be started.
pub fn measure(long: Nanos) -> Result<Calibration, Error> {
    let mut open_runs = Vec::new();
    for (name, precision) in [("spin", WaitMode::Spin), ("sleep", WaitMode::Sleep)] {
        for rate in RATES {
            let open = Sessions::Open(Schedule::poisson(Rate::from_per_sec(rate as f64)?));
            let (events, done) = against_ourselves(long, precision, open)?;
            open_runs.push(OpenRun::new(name, rate, &events, &done, long));
        }
    }
    let busy = Sessions::Closed(Closed::new(CONNECTIONS, Distribution::constant(0.0)?)?);
    let (events, done) = against_ourselves(long, WaitMode::Sleep, busy)?;
    let answered = events.iter().filter(|event| event.outcome == Outcome::Ok).count() as f64;
    Ok(Calibration {
        schema: Schema::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        measured_unix_s: unix_now().0 / 1_000_000_000,
        machine: machine(),
        processors: processors(),
        open_runs,
        max_rate_per_s: answered / long.as_secs_f64(),
        cpu_us_per_request: done.threads.iter().map(|worker| worker.cpu.as_micros_f64()).sum::<f64>() / answered,
    })
}

impl OpenRun {
    fn new(precision: &str, rate: u64, events: &[Event], done: &RunStats, long: Nanos) -> Self {
        let mut late: Vec<i64> = events.iter().filter_map(|event| Some(event.lateness()?.0)).collect();
        late.sort_unstable();
        let row = Summary::of_sorted(&late, 1e3);
        let figure = |figure: fn(&Summary) -> f64| row.as_ref().map_or(0.0, figure);
        let cpu: f64 = done.threads.iter().map(|worker| worker.cpu.as_secs_f64()).sum();
        let elapsed: f64 = done.threads.iter().map(|worker| worker.elapsed.as_secs_f64()).sum();
        Self {
            wait_mode: precision.to_owned(),
            target_rate_per_s: rate,
            sent_rate_per_s: late.len() as f64 / long.as_secs_f64(),
            lateness_p50_us: figure(|row| row.median),
            lateness_p99_us: figure(|row| row.p99),
            lateness_max_us: figure(|row| row.max),
            cpu_share: cpu / elapsed,
        }
    }
}

/// Runs `sessions` with one thread against a server in this process that responds immediately.
fn against_ourselves(long: Nanos, precision: WaitMode, sessions: Sessions) -> Result<(Vec<Event>, RunStats), Error> {
    let (service, seed) = (Distribution::constant(0.0)?, Seed(1));
    let discipline =
        Policy::Infinite.boxed(&ServerConfig { servers: 1, class_means: vec![Nanos::ZERO], seed, rates: None })?;
    let server = Server::start(Options::new(discipline, service, seed))?;
    let workload = Workload::new(Draft {
        target: Some(Target::new(format!("{}/", server.address()).parse()?)),
        generator: offered_workload::Generator::default().with_threads(1)?.with_wait_mode(precision),
        ..Draft::new(sessions, long)
    })?;
    let generator = Generator::new(workload, Share::ALL, Load::Target)?;
    let (done, mut sinks) = generator.run(None, Vec::<Event>::new, |_| ())?;
    server.stop()?;
    Ok((sinks.swap_remove(0), done))
}
