//! One server, one load, three system models, each measured against its theory.

use std::io;
use std::sync::Arc;

use offered_model::workload::{Closed, Draft, Length, Opening, Server as Modelled, Sessions, Target, Url};
use offered_model::{Instant, Law, Nanos, Rate, Recording, Schedule, Seed, Share, Workload};
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::{load, partly_open};
use offered_run::Load;
use offered_serve::{Options, Server};
use offered_simulate::policy::{Make, Policy, Setting};
use offered_stats::steady_state::{Estimate, ratio};

use crate::document::demo::Model;
use crate::document::finite;
use crate::{Error, Made, Plan};

/// Mean service time of the server, seconds; exponential.
pub const SERVICE: f64 = 0.01;
/// Its load under every model.
pub const LOAD: f64 = 0.7;
/// Users of the closed model.
pub const USERS: u64 = 50;
/// Stay probability of the partly-open model.
const STAY: f64 = 0.8;
/// Mean think time of its sessions, seconds; exponential.
const THINK: f64 = 0.2;
/// What is left out at the beginning, until the server is as full as it stays.
pub const WARM_UP: Nanos = Nanos::from_secs(2);

/// One model.
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    sessions: Sessions,
    /// The mean response that theory predicts, milliseconds, and where from.
    theory_ms: f64,
    source: &'static str,
}

/// A model that was measured.
pub struct Measured {
    /// What was run.
    pub workload: Workload,
    /// The run.
    pub made: Made,
    /// It beside its theory.
    pub model: Model,
}

/// The three models at the same load, each with its theory.
///
/// # Errors
/// None that this server has; those of the formulas.
pub fn cases() -> Result<[Case; 3], Error> {
    let rate = load::open_rate(LOAD, 1, SERVICE)?;
    let service = Law::exponential(SERVICE)?;
    let closed = |think: f64| MachineRepair::new(1, SERVICE, USERS, think).map(|model| model.solve());
    let think = load::closed_think(LOAD, 1, SERVICE, USERS, |think| Ok(closed(think)?.throughput))?;
    let sessions = load::session_rate(LOAD, 1, SERVICE, STAY)?;
    // As people write them.
    let poisson = |per_sec: f64| Rate::from_per_sec((per_sec * 1e3).round() / 1e3).map(Schedule::poisson);
    let exponential = |mean: f64| Law::exponential((mean * 1e6).round() / 1e6);
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
            theory_ms: partly_open::Sessions::new(sessions, STAY)?.product_form(1, SERVICE)? * 1e3,
            source: "product form: that of the open system at the same load",
        },
    ])
}

impl Case {
    /// Runs it for the warm-up and so long after that, against a server of its own on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// The server cannot be started, or the run not be made.
    pub fn measure(self, length: Nanos, seed: Seed) -> Result<Measured, Error> {
        let Self { name, sessions, theory_ms, source } = self;
        let arrivals = sessions.to_string();
        let service = Law::exponential(SERVICE)?;
        let setting = Setting { servers: 1, class_means: vec![Nanos::from_secs_f64(SERVICE)], seed };
        let options = Options::new(Policy::Ps(None).boxed(&setting)?, service.clone(), seed);
        let server = Server::start(options)?;
        let url: Url = format!("{}/", server.address()).parse()?;
        let workload = Workload::new(Draft {
            seed,
            skip_first: WARM_UP,
            target: Some(Target::new(url)),
            server: Some(Modelled::new(1, Policy::Ps(None), service)?),
            ..Draft::new(sessions, WARM_UP + length)
        })?;
        let plan = Plan {
            text: &workload.to_string(),
            workload: &workload,
            share: Share::ALL,
            load: Load::Target,
            start_at: None,
            run_id: None,
            out: None,
            name: name.to_owned(),
            see_failures: false,
        };
        let made = plan.prepare(Arc::default())?.run(Vec::new())?.kept()?;
        server.stop()?;
        let mean = mean_response(&workload, &made.recording)?;
        let model = Model {
            model: name.to_owned(),
            arrivals,
            theory_ms,
            source: source.to_owned(),
            low_ms: finite(mean.low),
            high_ms: finite(mean.high),
            run: made.summary.clone(),
        };
        Ok(Measured { workload, made, model })
    }
}

/// The mean response in milliseconds with its 95 % interval, from ten batches of the time that is judged.
fn mean_response(workload: &Workload, recording: &Recording) -> io::Result<Estimate> {
    let from = Instant::ZERO + workload.skip_first();
    let span = from.until(workload.end());
    let mut batches = [(0.0, 0.0); 10];
    recording.events.each(|event| {
        if let Some(response) = event.response().filter(|_| event.intended >= from) {
            let batch = from.until(event.intended).0 * 10 / span.0;
            let (sum, count) = &mut batches[batch as usize];
            *sum += response.as_millis_f64();
            *count += 1.0;
        }
    })?;
    Ok(ratio(&batches))
}
