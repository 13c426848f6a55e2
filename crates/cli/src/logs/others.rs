//! What the simpler system models would get wrong: the responses of all three, simulated at the log's load and C2.

use offered_logs::{Findings, Likeness, Model, Recommendation};
use offered_model::workload::{Closed, Draft, Server, Sessions};
use offered_model::{Law, Nanos, Policy, Rate, Schedule, Workload, Wrong};
use offered_simulate::{Stop, load::at_load, simulate};
use offered_stats::steady_state::Estimate;
use serde::Serialize;

/// Answered requests in each simulation.
const JOBS: u64 = 100_000;
/// And in each trial that looks for the closed system's think time.
const TRIAL: u64 = 20_000;
/// More users are not simulated: a closed system of so many behaves like an open one already.
const MOST_USERS: f64 = 1000.0;
/// Assumed of service times where the log does not tell: up to here the cut-offs of the paper's rule are 5 and 10.
const ASSUMED_SCV: f64 = 4.0;

/// The three system models side by side, and what was assumed.
#[derive(Debug, Serialize)]
pub(crate) struct Others {
    /// Of the one modelled server.
    load: f64,
    /// Law of the work of a request: the C2, and the mean that makes this load at the log's mean rate.
    service: String,
    /// Its C2.
    scv: f64,
    /// Whether the log told the C2; else it is assumed.
    scv_known: bool,
    /// Of the closed system.
    users: u64,
    models: Vec<Simulated>,
    /// Why a model is not among them.
    missing: Vec<String>,
}

/// One model's responses under the disciplines that were assumed, in seconds.
#[derive(Debug, Serialize)]
struct Simulated {
    model: Model,
    fcfs: Option<Response>,
    ps: Option<Response>,
}

/// A mean and a 95 % point, with the half-widths of their 95 % intervals.
#[derive(Debug, Serialize)]
struct Response {
    mean_s: f64,
    half_width_s: f64,
    p95_s: f64,
    /// Absent where so many answers do not tell.
    p95_half_width_s: Option<f64>,
    /// The mean over that of the partly-open model.
    ratio: f64,
    /// The 95 % point over that of the partly-open model.
    p95_ratio: f64,
}

/// Under which discipline the server is assumed to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Discipline {
    /// First come, first served
    Fcfs,
    /// All at once, each with an equal share (processor sharing)
    Ps,
}

impl Discipline {
    const ALL: [Self; 2] = [Self::Fcfs, Self::Ps];

    fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Ps => "ps",
        }
    }

    fn policy(self) -> Policy {
        match self {
            Self::Fcfs => Policy::Fcfs,
            Self::Ps => Policy::Ps(None),
        }
    }
}

impl Others {
    /// For what `found` says, at `load`, under `disciplines`.
    ///
    /// Arrivals are Poisson at the mean rate; lengths and think times are those of a fitted workload; the closed system has as
    /// many users as that rate keeps busy, and its mean think time is changed until the load is the same. Whatever the log
    /// says, it takes at most some fifty simulations of 20,000 answers for that, and one of 100,000 for each cell of the table.
    ///
    /// # Errors
    /// Why the site's own model cannot be simulated; that of another is kept in its place.
    pub(crate) fn of(found: &Findings, load: f64, disciplines: &[Discipline]) -> Result<Self, Wrong> {
        let think = found.think();
        let rate = found.session_starts.rate_per_s * found.requests_per_session.mean;
        let scv = found.scv.unwrap_or(ASSUMED_SCV);
        let service = law(load / rate, scv)?;
        let users = (rate * think.mean() + load).round().clamp(2.0, MOST_USERS);
        // `at_load` puts the rates in.
        let some = || Rate::from_per_sec(1.0).map(Schedule::poisson);
        let sessions = |model| {
            Ok::<_, Wrong>(match model {
                Model::Open => Sessions::Open(some()?),
                Model::PartlyOpen => {
                    Sessions::PartlyOpen { schedule: some()?, length: found.length()?, think: think.clone() }
                }
                Model::Closed => Sessions::Closed(Closed::new(users as u64, think.clone())?),
            })
        };
        let one = |model, discipline: Discipline| {
            let server = Some(Server::new(1, discipline.policy(), service.clone())?);
            let workload = Workload::new(Draft { server, ..Draft::new(sessions(model)?, Nanos::from_secs(3600)) })?;
            let workload = at_load(&workload, load, TRIAL)?;
            let response = simulate(&workload, Stop::Jobs(JOBS), &mut ())?.summary.response;
            Ok::<_, Wrong>((response.mean, response.p95.estimate()))
        };
        let own = disciplines
            .iter()
            .map(|discipline| Ok((*discipline, one(Model::PartlyOpen, *discipline)?)))
            .collect::<Result<Vec<_>, Wrong>>()?;
        let (mut models, mut missing) = (Vec::new(), Vec::new());
        for model in Model::ALL {
            let mut simulated = Simulated { model, fcfs: None, ps: None };
            for (discipline, own) in &own {
                let response = match model {
                    Model::PartlyOpen => Ok(*own),
                    _ => one(model, *discipline),
                };
                match response {
                    Ok(response) => *simulated.of(*discipline) = Some(Response::of(response, *own)),
                    Err(why) => missing.push(format!("{}, {}: {why}", model.name(), discipline.name())),
                }
            }
            models.push(simulated);
        }
        Ok(Self {
            load,
            service: service.to_string(),
            scv,
            scv_known: found.scv.is_some(),
            users: users as u64,
            models,
            missing,
        })
    }

    /// What follows from it for a site with so many requests per session.
    pub(crate) fn recommendation(&self, requests_per_session: f64) -> Recommendation {
        let likenesses: Vec<Likeness> = self.models.iter().flat_map(Simulated::likenesses).collect();
        Recommendation::by(requests_per_session, &likenesses)
    }
}

impl Simulated {
    fn of(&mut self, discipline: Discipline) -> &mut Option<Response> {
        match discipline {
            Discipline::Fcfs => &mut self.fcfs,
            Discipline::Ps => &mut self.ps,
        }
    }

    fn likenesses(&self) -> impl Iterator<Item = Likeness> {
        [&self.fcfs, &self.ps].into_iter().flatten().map(|response| Likeness {
            model: self.model,
            mean: (response.ratio, response.half_width_s * response.ratio / response.mean_s),
            p95: (
                response.p95_ratio,
                response.p95_half_width_s.map_or(f64::INFINITY, |half| half * response.p95_ratio / response.p95_s),
            ),
        })
    }
}

impl Response {
    fn of((mean, p95): (Estimate, Estimate), own: (Estimate, Estimate)) -> Self {
        Self {
            mean_s: mean.value,
            half_width_s: mean.half_width(),
            p95_s: p95.value,
            p95_half_width_s: Some(p95.half_width()).filter(|half| half.is_finite()),
            ratio: mean.value / own.0.value,
            p95_ratio: p95.value / own.1.value,
        }
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

impl std::fmt::Display for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "\nThe same site by the three models, simulated: one server at load {} (--load)", self.load)?;
        let known = if self.scv_known { "as above" } else { "assumed; log durations to know" };
        writeln!(f, "  service       {}; C2 {:.1}, {known}", self.service, self.scv)?;
        writeln!(f, "  closed        {} users, their think time adjusted to the same load", self.users)?;
        for missing in &self.missing {
            writeln!(f, "  not compared  {missing}")?;
        }
        let shown = |discipline: Discipline| {
            self.models.iter().any(|model| match discipline {
                Discipline::Fcfs => model.fcfs.is_some(),
                Discipline::Ps => model.ps.is_some(),
            })
        };
        for discipline in Discipline::ALL.into_iter().filter(|discipline| shown(*discipline)) {
            let heads = [discipline.name(), "mean response", "of partly-open", "95 % point", "of partly-open"];
            let mut table = crate::table::Table::new(heads);
            for model in &self.models {
                let response = match discipline {
                    Discipline::Fcfs => &model.fcfs,
                    Discipline::Ps => &model.ps,
                };
                let Some(response) = response else { continue };
                table.row([
                    model.model.name().to_owned(),
                    format!("{:.3} ± {:.3} s", response.mean_s, response.half_width_s),
                    format!("{:.2} x", response.ratio),
                    match response.p95_half_width_s {
                        Some(half) => format!("{:.3} ± {half:.3} s", response.p95_s),
                        None => format!("{:.3} s", response.p95_s),
                    },
                    format!("{:.2} x", response.p95_ratio),
                ]);
            }
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}
