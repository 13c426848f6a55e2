//! The error of simpler system models for a site: response times of all three models, simulated at the load and scv of a log.

use offered_base::{InvalidValue, Nanos, Rate};
use offered_distributions::Distribution;
use offered_logs::document::{ModelComparison, ModelResponses, ResponseEstimate};
use offered_logs::{Findings, Recommendation, ResponseRatios};
use offered_schedule::{Closed, Opening, Sessions};
use offered_schedule::{Schedule, System};
use offered_simulate::{Stop, load::at_load, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::{Draft, Server};
use offered_workload::{Policy, Workload};

/// Completed requests of each simulation.
const JOBS: u64 = 100_000;
/// Relative tolerance of the load of the closed system.
const LOAD_TOLERANCE: f64 = 0.01;
/// Maximum number of simulated users: a larger closed system behaves like an open one.
const MAX_USERS: f64 = 1000.0;
/// The scv of service times that is assumed if the log does not have them: up to this value the cut-offs of the paper's rule are 5 and 10.
const ASSUMED_SCV: f64 = 4.0;

offered_base::named! {
    /// The assumed scheduling discipline of the server.
    pub enum Discipline {
        /// First come, first served.
        Fcfs = "fcfs",
        /// Processor sharing: all requests at once, each with an equal share.
        Ps = "ps",
    }
}

impl Discipline {
    const fn policy(self) -> Policy {
        match self {
            Self::Fcfs => Policy::Fcfs,
            Self::Ps => Policy::Ps(None),
        }
    }

    /// The result simulated with this discipline.
    pub const fn of(self, simulated: &ModelResponses) -> Option<&ResponseEstimate> {
        match self {
            Self::Fcfs => simulated.fcfs.as_ref(),
            Self::Ps => simulated.ps.as_ref(),
        }
    }
}

/// Compares the models for the site of `found`, at `load`, under `disciplines`.
///
/// Arrivals are Poisson at the mean rate; lengths and think times are those of a fitted workload. The closed system has the mean
/// number of users at that rate, and its mean think time is adjusted until the load is the same. For any log this takes at most
/// about fifty simulations of 20,000 responses, and one of 100,000 for each cell of the table.
///
/// # Errors
/// The site's own model cannot be simulated. Errors of the other models are part of the result.
pub fn compare(found: &Findings, load: f64, disciplines: &[Discipline]) -> Result<ModelComparison, InvalidValue> {
    let think = found.think();
    let rate = found.figures.session_starts.rate_per_s * found.figures.requests_per_session.mean;
    let scv = found.figures.scv.unwrap_or(ASSUMED_SCV);
    let service = distribution(load / rate, scv)?;
    let users = (rate * think.mean() + load).round().clamp(2.0, MAX_USERS);
    // `at_load` sets the rate.
    let some = || Rate::from_per_sec(1.0).map(Schedule::poisson);
    let sessions = |model| {
        Ok::<_, InvalidValue>(match model {
            System::Open => Sessions::Open(some()?),
            System::PartlyOpen => {
                let (length, think) = (found.length()?, think.clone());
                Sessions::PartlyOpen { schedule: some()?, length, think, opening: Opening::Empty }
            }
            System::Closed => Sessions::Closed(Closed::new(users as u64, think.clone())?),
        })
    };
    let one = |model, discipline: Discipline| {
        let server = Some(Server::new(1, discipline.policy(), service.clone())?);
        let workload = Workload::new(Draft { server, ..Draft::new(sessions(model)?, Nanos::from_secs(3600)) })?;
        let workload = at_load(&workload, load, LOAD_TOLERANCE)?;
        let summary = simulate(&workload, Stop::Jobs(JOBS), None)?.summary;
        if summary.jobs_needed.is_some() {
            return Err(InvalidValue::new(format!(
                "only {} requests completed, too few for an interval",
                summary.jobs
            )));
        }
        Ok((summary.response.mean, summary.response.p95.estimate()))
    };
    let own = disciplines
        .iter()
        .map(|discipline| Ok((*discipline, one(System::PartlyOpen, *discipline)?)))
        .collect::<Result<Vec<_>, InvalidValue>>()?;
    let (mut models, mut missing) = (Vec::new(), Vec::new());
    for model in System::ALL {
        let mut simulated = ModelResponses { model, fcfs: None, ps: None };
        for (discipline, own) in &own {
            let response = match model {
                System::PartlyOpen => Ok(*own),
                _ => one(model, *discipline),
            };
            match response {
                Ok(response) => *under(&mut simulated, *discipline) = Some(file_reader(response, *own)),
                Err(why) => missing.push(format!("{}, {}: {why}", model.name(), discipline.name())),
            }
        }
        models.push(simulated);
    }
    Ok(ModelComparison {
        load,
        service_distribution: service.to_string(),
        scv,
        scv_known: found.figures.scv.is_some(),
        users: users as u64,
        models,
        missing,
    })
}

/// The recommended model for a site with this mean number of requests per session.
pub fn recommendation(others: &ModelComparison, requests_per_session: f64) -> Recommendation {
    let likenesses: Vec<ResponseRatios> = others.models.iter().flat_map(likenesses).collect();
    Recommendation::by(requests_per_session, &likenesses)
}

fn under(simulated: &mut ModelResponses, discipline: Discipline) -> &mut Option<ResponseEstimate> {
    match discipline {
        Discipline::Fcfs => &mut simulated.fcfs,
        Discipline::Ps => &mut simulated.ps,
    }
}

fn likenesses(simulated: &ModelResponses) -> impl Iterator<Item = ResponseRatios> {
    [&simulated.fcfs, &simulated.ps].into_iter().flatten().map(|response| ResponseRatios {
        model: simulated.model,
        mean: (response.mean_ratio, response.mean_half_width_s * response.mean_ratio / response.mean_s),
        p95: (
            response.p95_ratio,
            response.p95_half_width_s.map_or(f64::INFINITY, |half| half * response.p95_ratio / response.p95_s),
        ),
    })
}

/// Mean and 95th percentile, relative to those of the site's own model.
fn file_reader((mean, p95): (Estimate, Estimate), own: (Estimate, Estimate)) -> ResponseEstimate {
    ResponseEstimate {
        mean_s: mean.value,
        mean_half_width_s: mean.half_width(),
        p95_s: p95.value,
        p95_half_width_s: Some(p95.half_width()).filter(|half| half.is_finite()),
        mean_ratio: mean.value / own.0.value,
        p95_ratio: p95.value / own.1.value,
    }
}

/// A distribution with this mean and scv.
fn distribution(mean: f64, scv: f64) -> Result<Distribution, InvalidValue> {
    match scv {
        1.0 => Distribution::exponential(mean),
        more if more > 1.0 => Distribution::hyperexponential(mean, scv),
        0.0 => Distribution::constant(mean),
        _ => Distribution::gamma(mean, scv),
    }
}
