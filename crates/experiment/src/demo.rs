//! One server, one load, three system models: each is measured and compared with theory and with a simulation of the
//! same requests.

use std::sync::Arc;
use std::thread;

use offered_base::{Nanos, Rate, Seed, Share};
use offered_distributions::Distribution;
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::{load, partly_open};
use offered_run::Load;
use offered_schedule::{Closed, Length, Opening, Schedule, Sessions};
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, Policy, ServerConfig};
use offered_workload::Workload;

use crate::document::demo::Model;
use crate::{Error, FinishedRun, RunPlan, twin};

/// Mean service time of the server in seconds; exponential.
pub const SERVICE: f64 = 0.002;
/// Load of the server under every model.
pub const LOAD: f64 = 0.7;
/// Number of users of the closed model.
pub const USERS: u64 = 50;
/// Probability that a session of the partly-open model continues after a response.
const STAY: f64 = 0.8;
/// Mean think time of these sessions in seconds; exponential.
const THINK: f64 = 0.04;
/// Time at the start that is excluded from the statistics, until the server is in its steady state.
pub const WARM_UP: Nanos = Nanos::from_secs(2);

/// One system model with its prediction.
pub struct Case {
    /// `open`, `closed` or `partly-open`.
    pub name: &'static str,
    sessions: Sessions,
    /// Mean response time that theory predicts for a long run, in milliseconds.
    theory_ms: f64,
    /// The formula behind it.
    source: &'static str,
}

/// A system model that was measured.
pub struct Measured {
    /// The workload that was run.
    pub workload: Workload,
    /// The run.
    pub made: FinishedRun,
    /// The results of the run, of theory and of the simulation.
    pub model: Model,
}

/// The three system models at the same load, each with its prediction.
///
/// # Errors
/// The errors of the formulas, which do not occur for this server.
pub fn cases() -> Result<[Case; 3], Error> {
    let rate = load::open_rate(LOAD, 1, SERVICE)?;
    let service = Distribution::exponential(SERVICE)?;
    let closed = |think: f64| MachineRepair::new(1, SERVICE, USERS, think).map(|model| model.solve());
    let think = load::closed_think(LOAD, 1, SERVICE, USERS, |think| Ok(closed(think)?.throughput))?;
    let sessions = load::session_rate(LOAD, 1, SERVICE, STAY)?;
    // Rounded to what a person would write.
    let poisson = |per_sec: f64| Rate::from_per_sec((per_sec * 1e3).round() / 1e3).map(Schedule::poisson);
    let exponential = |mean: f64| Distribution::exponential((mean * 1e6).round() / 1e6);
    Ok([
        Case {
            name: "open",
            sessions: Sessions::Open(poisson(rate)?),
            theory_ms: Mg1::new(&service, rate)?.ps() * 1e3,
            source: "M/M/1 processor sharing, R = S / (1 - rho)",
        },
        Case {
            name: "closed",
            sessions: Sessions::Closed(Closed::new(USERS, exponential(think)?)?),
            theory_ms: closed(think)?.response * 1e3,
            source: "M/M/1/N/N (machine repair), exact",
        },
        Case {
            name: "partly-open",
            sessions: Sessions::PartlyOpen {
                schedule: poisson(sessions)?,
                length: Length::geometric(STAY)?,
                think: exponential(THINK)?,
                opening: Opening::Empty,
            },
            theory_ms: partly_open::SessionStream::new(sessions, STAY)?.product_form(1, SERVICE)? * 1e3,
            source: "product form: the same as the open system at this load",
        },
    ])
}

/// Runs all `cases` at the same time, for the warm-up and `length` after it, each against its own server on a free port of
/// 127.0.0.1.
///
/// # Errors
/// The first server that cannot be started, or the first run that fails.
pub fn measure(cases: [Case; 3], length: Nanos, seed: Seed) -> Result<Vec<Measured>, Error> {
    thread::scope(|scope| {
        let running = cases.map(|case| scope.spawn(move || case.measure(length, seed)));
        running.into_iter().map(|thread| thread.join().expect("a model of the demo does not panic")).collect()
    })
}

impl Case {
    fn measure(self, length: Nanos, seed: Seed) -> Result<Measured, Error> {
        let Self { name, sessions, theory_ms, source } = self;
        let arrivals = offered_workload::sessions_to_toml(&sessions);
        let service = Distribution::exponential(SERVICE)?;
        let setting = ServerConfig { servers: 1, class_means: vec![Nanos::from_secs_f64(SERVICE)], seed, rates: None };
        let server = Server::start(Options::new(Policy::Ps(None).boxed(&setting)?, service, seed))?;
        // Each request carries its service time, so that the simulation serves exactly the same work.
        let text = format!(
            "seed = {}\nduration = \"{}\"\nskip_first = \"{WARM_UP}\"\ngenerator.wait = \"sleep\"\n\
             target.url = \"{}\"\narrivals.{arrivals}\n\
             server = {{ discipline = \"ps\", service.exponential = \"{}ms\" }}\n\
             variables.work = {{ work = \"ms\" }}\n[[request]]\nname = \"{name}\"\nget = \"/?work_ms={{{{work}}}}\"\n",
            seed.0,
            WARM_UP + length,
            server.address(),
            SERVICE * 1e3,
        );
        let workload = Workload::parse(&text, "demo", &|path| Err(format!("{path}: the demo reads no files")))?;
        let plan = RunPlan {
            text: &text,
            workload: &workload,
            share: Share::ALL,
            load: Load::Target,
            start_at: None,
            run_id: None,
            directory: None,
            name: name.to_owned(),
            capture_failures: false,
        };
        let made = plan.prepare(Arc::default())?.run(Vec::new())?.require_complete()?;
        server.stop()?;
        let twin = twin::compare(&workload, Some(&made.record), &made.recording, &made.verdict.window)?;
        let total = twin.requests.last();
        let model = Model {
            model: name.to_owned(),
            arrivals,
            theory_ms,
            source: source.to_owned(),
            simulated_ms: total.map(|total| total.model_ms),
            ratio: total.and_then(|total| total.ratio),
            ratio_low: total.and_then(|total| total.ratio_low),
            ratio_high: total.and_then(|total| total.ratio_high),
            run: made.summary.clone(),
        };
        Ok(Measured { workload, made, model })
    }
}
