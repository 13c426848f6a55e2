//! Open, closed and partly-open systems at equal load (Schroeder et al. 2006, Figures 2 and 4): by formula, or by simulation where there is
//! no formula.

use offered_base::{InvalidValue, Rate};
use offered_distributions::Distribution;
use offered_plan::Error as Formula;
use offered_plan::analytic::{Analysis, analyse};
use offered_schedule::arrivals::Schedule;
use offered_schedule::{Closed, Length, Opening, Sessions};
use offered_simulate::load::{DEFAULT_TOLERANCE, at_load};
use offered_simulate::{SimulationResult, SimulationWarning, Stop, simulate};
use offered_workload::Workload;

use crate::{Error, parallel};
use offered_plan::document::solve::population;
use offered_plan::document::{ComparisonRow, Simulation, finite};

/// A system model with an unknown rate or think time.
pub struct Model {
    /// `open`, `closed N=100`, `p=0.8`.
    pub name: String,
    /// The workload, before its rate or think time is set.
    pub workload: Workload,
}

/// The open model, a closed model for every number of users, and a partly-open model for every stay probability, all with the servers of
/// `base`.
///
/// # Errors
/// A number of users or a stay probability is out of range.
pub fn models(base: &Workload, users: &[u64], stays: &[f64]) -> Result<Vec<Model>, Error> {
    let think = match base.sessions() {
        Sessions::Closed(closed) => closed.think().clone(),
        Sessions::PartlyOpen { think, .. } => think.clone(),
        Sessions::Open(_) | Sessions::Replay(_) | Sessions::Scenarios(_) => Distribution::constant(0.0)?,
    };
    // The mean think time of a closed system is solved for; a think time of zero has no distribution to scale.
    let form = if think.is_zero() { Distribution::exponential(1.0)? } else { think.clone() };
    // Every model has the same request mix; flows are replaced by their shares.
    let base = if base.flows().is_some() { base.clone().with_weights(&base.shares())? } else { base.clone() };
    let model = |name: String, sessions| {
        let workload = base.clone().with_sessions(sessions)?;
        Ok::<_, Error>(Model { name, workload })
    };
    let schedule = Schedule::poisson(Rate::from_per_sec(1.0)?);

    let mut models = vec![model("open".to_owned(), Sessions::Open(schedule.clone()))?];
    for users in users {
        let closed = Closed::new(*users, form.clone())?;
        models.push(model(format!("closed N={users}"), Sessions::Closed(closed))?);
    }
    for stay in stays {
        if !(0.0..1.0).contains(stay) {
            let why = format!("a stay probability is 0 or more and below 1, not {stay}; at 1 use closed");
            return Err(InvalidValue::new(why).into());
        }
        let length = Length::geometric(*stay)?;
        let sessions =
            Sessions::PartlyOpen { schedule: schedule.clone(), length, think: think.clone(), opening: Opening::Empty };
        models.push(model(format!("p={stay}"), sessions)?);
    }
    Ok(models)
}

/// One model at one load.
pub struct Cell<'a> {
    /// The model.
    pub model: &'a Model,
    /// The load.
    pub load: f64,
    /// The result.
    pub found: Found,
}

/// A result.
pub enum Found {
    /// The result of a formula.
    Known(Analysis),
    /// The result of a simulation, because no formula gives numbers.
    Simulated(Analysis, Box<SimulationResult>),
    /// No result; the reason.
    Nothing(String),
}

/// Solves every model at every load, on all processors. Without a formula it simulates `jobs` requests.
///
/// # Errors
/// A load is out of range, or the workload has no server.
pub fn cells<'a>(models: &'a [Model], loads: &[f64], jobs: u64) -> Result<Vec<Cell<'a>>, Error> {
    let asked: Vec<(&Model, f64)> =
        models.iter().flat_map(|model| loads.iter().map(move |load| (model, *load))).collect();
    let cells = parallel::map(&asked, offered_observe::processors(), |(model, load)| cell(model, *load, jobs));
    cells.into_iter().collect()
}

fn cell(model: &Model, load: f64, jobs: u64) -> Result<Cell<'_>, Error> {
    let found = match analyse(&model.workload, Some(load)) {
        Ok(answer) if answer.steady_state.as_ref().is_some_and(|known| !known.is_approximation) => Found::Known(answer),
        Ok(answer) => match at_load(&model.workload, load, DEFAULT_TOLERANCE, &mut |_| ())
            .and_then(|at| simulate(&at, Stop::Jobs(jobs), None))
        {
            Ok(simulated) => Found::Simulated(answer, Box::new(simulated)),
            Err(why) => Found::Nothing(why.to_string()),
        },
        Err(error @ Formula::LoadUnreachable { .. }) => Found::Nothing(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    Ok(Cell { model, load, found })
}

impl Cell<'_> {
    /// Warnings of the simulation.
    pub fn warnings(&self) -> &[SimulationWarning] {
        match &self.found {
            Found::Simulated(_, simulated) => &simulated.warnings,
            Found::Known(_) | Found::Nothing(_) => &[],
        }
    }

    /// The row of the document.
    pub fn document(&self) -> ComparisonRow {
        let Self { model, load, found } = self;
        let (users, stay) = match model.workload.sessions() {
            Sessions::Open(_) | Sessions::Replay(_) | Sessions::Scenarios(_) => (None, None),
            Sessions::Closed(closed) => (Some(closed.users()), None),
            Sessions::PartlyOpen { length, .. } => (None, Some(1.0 - 1.0 / length.mean())),
        };
        let nothing = ComparisonRow {
            model: model.name.clone(),
            load: *load,
            users,
            stay,
            think_s: None,
            rate_per_s: None,
            response_s: None,
            method: None,
            source: None,
            assumption: String::new(),
            simulated: None,
        };
        match found {
            Found::Known(answer) => {
                let known = answer.steady_state.as_ref();
                ComparisonRow {
                    think_s: population(answer.system).1,
                    rate_per_s: known.map(|known| known.throughput),
                    response_s: known.and_then(|known| finite(known.response)),
                    method: known.map(|known| known.method.to_string()),
                    source: known.map(|known| known.source.to_string()),
                    assumption: answer.assumption.clone(),
                    ..nothing
                }
            }
            Found::Simulated(answer, simulated) => {
                let summary = &simulated.summary;
                let response = summary.response.mean;
                ComparisonRow {
                    think_s: simulated.think,
                    rate_per_s: Some(summary.throughput.value),
                    response_s: finite(response.value),
                    method: Some("simulation".to_owned()),
                    source: Some("offered simulate".to_owned()),
                    assumption: answer.assumption.clone(),
                    simulated: Some(Simulation {
                        response_low_s: finite(response.low),
                        response_high_s: finite(response.high),
                        load_reached: simulated.load_reached.value,
                        jobs: summary.jobs,
                        warnings: simulated.warnings.iter().map(SimulationWarning::message).collect(),
                    }),
                    ..nothing
                }
            }
            Found::Nothing(why) => ComparisonRow { assumption: why.clone(), ..nothing },
        }
    }
}
