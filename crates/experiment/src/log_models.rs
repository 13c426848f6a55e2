//! What the simpler system models would get wrong: the responses of all three, simulated at the log's load and C2.

use offered_base::{Nanos, Rate, Wrong};
use offered_distributions::Law;
use offered_logs::document::{ModelComparison, ResponseEstimate, ModelResponses};
use offered_logs::{Findings, ResponseRatios, Recommendation};
use offered_schedule::{Closed, Opening, Sessions};
use offered_schedule::{Schedule, System};
use offered_simulate::{Stop, load::at_load, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::{Draft, Server};
use offered_workload::{Policy, Workload};

/// Answered requests in each simulation.
const JOBS: u64 = 100_000;
/// How well the load of the closed system is known, as a fraction of it.
const WITHIN: f64 = 0.01;
/// More users are not simulated: a closed system of so many behaves like an open one already.
const MOST_USERS: f64 = 1000.0;
/// Assumed of service times where the log does not tell: up to here the cut-offs of the paper's rule are 5 and 10.
const ASSUMED_SCV: f64 = 4.0;

offered_base::named! {
    /// Under which discipline the server is assumed to work.
    pub enum Discipline {
        /// First come, first served.
        Fcfs = "fcfs",
        /// All at once, each with an equal share (processor sharing).
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

    /// What was simulated under it.
    pub const fn of(self, simulated: &ModelResponses) -> Option<&ResponseEstimate> {
        match self {
            Self::Fcfs => simulated.fcfs.as_ref(),
            Self::Ps => simulated.ps.as_ref(),
        }
    }
}

/// For what `found` says, at `load`, under `disciplines`.
///
/// Arrivals are Poisson at the mean rate; lengths and think times are those of a fitted workload; the closed system has as
/// many users as that rate keeps busy, and its mean think time is changed until the load is the same. Whatever the log
/// says, it takes at most some fifty simulations of 20,000 answers for that, and one of 100,000 for each cell of the table.
///
/// # Errors
/// Why the site's own model cannot be simulated; that of another is kept in its place.
pub fn compare(found: &Findings, load: f64, disciplines: &[Discipline]) -> Result<ModelComparison, Wrong> {
    let think = found.think();
    let rate = found.figures.session_starts.rate_per_s * found.figures.requests_per_session.mean;
    let scv = found.figures.scv.unwrap_or(ASSUMED_SCV);
    let service = law(load / rate, scv)?;
    let users = (rate * think.mean_s() + load).round().clamp(2.0, MOST_USERS);
    // `at_load` puts the rates in.
    let some = || Rate::from_per_sec(1.0).map(Schedule::poisson);
    let sessions = |model| {
        Ok::<_, Wrong>(match model {
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
        let workload = at_load(&workload, load, WITHIN)?;
        let response = simulate(&workload, Stop::Jobs(JOBS), None)?.summary.response;
        Ok::<_, Wrong>((response.mean, response.p95.estimate()))
    };
    let own = disciplines
        .iter()
        .map(|discipline| Ok((*discipline, one(System::PartlyOpen, *discipline)?)))
        .collect::<Result<Vec<_>, Wrong>>()?;
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

/// What follows from it for a site with so many requests per session.
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

/// Mean and 95 % point beside those of the site's own model.
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

/// A law with this mean and C2.
fn law(mean: f64, scv: f64) -> Result<Law, Wrong> {
    match scv {
        1.0 => Law::exponential(mean),
        more if more > 1.0 => Law::hyperexponential(mean, scv),
        0.0 => Law::constant(mean),
        _ => Law::gamma(mean, scv),
    }
}
