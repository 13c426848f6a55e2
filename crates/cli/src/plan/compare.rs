//! `offered plan compare`: open against closed against partly-open at equal load (Schroeder et al. 2006, Figures 2 and 4).
//!
//! By formula where there is one; by simulation, with its interval and marked as such, where there is none.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_experiment::cores;
use offered_experiment::document::finite;
use offered_experiment::document::plan::{Compared, Comparison, Simulation};
use offered_model::arrivals::Schedule;
use offered_model::document::Schema;
use offered_model::workload::{Closed, Length, Sessions};
use offered_model::{Law, Rate, Workload};
use offered_plan::Error;
use offered_plan::analytic::{Analysis, answer};
use offered_simulate::{Doubt, Stop, load::at_load, simulate};

use super::emulate::read_workload;
use super::figures::time;
use super::solve::population;
use super::{load, users};
use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::simulate::jobs;
use crate::words;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A workload with a [server], or with [[station]]s; of its [arrivals] only the think time is taken
    workload: PathBuf,
    /// Loads to compare at
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.7,0.9", value_parser = load)]
    load: Vec<f64>,
    /// Closed systems of these numbers of users
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "10,50,100,1000", value_parser = users)]
    users: Vec<u64>,
    /// Partly-open systems with these stay probabilities
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.8,0.9")]
    stay: Vec<f64>,
    /// Where there is no formula, simulate so many answered requests
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = jobs)]
    jobs: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A row: a name, and the workload whose rate or think time is solved for.
struct Model {
    name: String,
    workload: Workload,
}

/// Open, then closed for every number of users, then partly-open for every stay probability, all with the workload's servers.
fn models(base: &Workload, args: &Args) -> Result<Vec<Model>, Failure> {
    let think = match base.sessions() {
        Sessions::Closed(closed) => closed.think().clone(),
        Sessions::PartlyOpen { think, .. } => think.clone(),
        Sessions::Open(_) | Sessions::Replay(_) => Law::constant(0.0)?,
    };
    // The think time of a closed system is solved for, so one of zero gives no form to keep.
    let form = if think.is_zero() { Law::exponential(1.0)? } else { think.clone() };
    // Every model asks the same mix, which of flows is what they come to.
    let base = if base.flows().is_some() { base.clone().with_weights(&base.shares())? } else { base.clone() };
    let model = |name: String, sessions| {
        let workload = base.clone().with_sessions(sessions)?;
        Ok::<_, Failure>(Model { name, workload })
    };
    let schedule = Schedule::poisson(Rate::from_per_sec(1.0)?);

    let mut models = vec![model("open".to_owned(), Sessions::Open(schedule.clone()))?];
    for users in &args.users {
        let closed = Closed::new(*users, form.clone())?;
        models.push(model(format!("closed N={users}"), Sessions::Closed(closed))?);
    }
    for stay in &args.stay {
        if !(0.0..1.0).contains(stay) {
            return Err(Failure::input(format!(
                "a stay probability is 0 or more and below 1, not {stay}; at 1 use closed"
            )));
        }
        let length = Length::geometric(*stay)?;
        let sessions = Sessions::PartlyOpen { schedule: schedule.clone(), length, think: think.clone() };
        models.push(model(format!("p={stay}"), sessions)?);
    }
    Ok(models)
}

/// One model at one load.
struct Cell<'a> {
    model: &'a Model,
    load: f64,
    found: Found,
}

enum Found {
    /// By formula.
    Known(Analysis),
    /// By simulation, since the first has no numbers.
    Simulated(Analysis, Box<offered_simulate::Simulated>),
    /// Not at all, because of this.
    Nothing(String),
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let base = read_workload(&args.workload)?;
    let models = models(&base, args)?;
    let asked: Vec<(&Model, f64)> =
        models.iter().flat_map(|model| args.load.iter().map(move |load| (model, *load))).collect();
    let cells = cores::map(&asked, cores::all(), |(model, load)| cell(model, *load, args.jobs));
    let cells = cells.into_iter().collect::<Result<Vec<Cell<'_>>, Failure>>()?;
    for cell in &cells {
        for warning in cell.warnings() {
            eprintln!("warning: {} at load {}: {}", cell.model.name, cell.load, words::of_simulation(warning));
        }
    }
    if args.json {
        json(&Comparison { schema: Schema::new(), rows: cells.iter().map(Cell::document).collect() });
        return Ok(Exit::Done);
    }
    print(&cells, args);
    Ok(Exit::Done)
}

/// # Errors
/// A load that no system can have, a workload without a server.
fn cell(model: &Model, load: f64, jobs: u64) -> Result<Cell<'_>, Failure> {
    let found = match answer(&model.workload, Some(load)) {
        Ok(answer) if answer.known.is_some() => Found::Known(answer),
        Ok(answer) => {
            match at_load(&model.workload, load, jobs).and_then(|at| simulate(&at, Stop::Jobs(jobs), &mut ())) {
                Ok(simulated) => Found::Simulated(answer, Box::new(simulated)),
                Err(why) => Found::Nothing(why.to_string()),
            }
        }
        Err(error @ Error::OutOfReach { .. }) => Found::Nothing(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    Ok(Cell { model, load, found })
}

/// One row for each model, one column for each load, and what the figures are.
fn print(cells: &[Cell<'_>], args: &Args) {
    let names = cells.iter().map(|cell| cell.model.name.len()).max().unwrap_or(0);
    let widest = cells.iter().map(|cell| cell.shown().chars().count()).max().unwrap_or(0).max(10) + 2;
    let heads: Vec<String> = args.load.iter().map(|load| format!("{:>widest$}", format!("load {load}"))).collect();
    say!("mean response\n{:names$}{}", "", heads.concat());
    for row in cells.chunks(args.load.len()) {
        let shown: Vec<String> = row.iter().map(|cell| format!("{:>widest$}", cell.shown())).collect();
        say!("{:names$}{}", row[0].model.name, shown.concat());
    }
    let think = cells.iter().find_map(|cell| match cell.model.workload.sessions() {
        Sessions::PartlyOpen { think, .. } => Some(format!("; partly-open: think time {}", time(think.mean()))),
        Sessions::Open(_) | Sessions::Replay(_) | Sessions::Closed(_) => None,
    });
    say!("\nclosed: think times are solved for{}", think.unwrap_or_default());
    if cells.iter().any(|cell| matches!(cell.found, Found::Simulated(..))) {
        let jobs = args.jobs;
        say!(
            "±: simulated, {jobs} requests each (--jobs), with half the width of the 95 % interval; all others are formulas"
        );
    }
    for cell in cells {
        if let Found::Nothing(why) = &cell.found {
            say!("-: {} at load {}: {why}", cell.model.name, cell.load);
        }
    }
}

impl Cell<'_> {
    fn warnings(&self) -> &[Doubt] {
        match &self.found {
            Found::Simulated(_, simulated) => &simulated.warnings,
            Found::Known(_) | Found::Nothing(_) => &[],
        }
    }

    fn shown(&self) -> String {
        match &self.found {
            Found::Known(answer) => answer.known.as_ref().map_or_else(String::new, |known| time(known.response)),
            Found::Simulated(_, simulated) => {
                let mean = simulated.summary.response.mean;
                format!("{} ±{:.1} %", time(mean.value), mean.relative() * 100.0)
            }
            Found::Nothing(_) => "-".to_owned(),
        }
    }

    fn document(&self) -> Compared {
        let Self { model, load, found } = self;
        let (users, stay) = match model.workload.sessions() {
            Sessions::Open(_) | Sessions::Replay(_) => (None, None),
            Sessions::Closed(closed) => (Some(closed.users()), None),
            Sessions::PartlyOpen { length, .. } => (None, Some(1.0 - 1.0 / length.mean())),
        };
        let nothing = Compared {
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
                let known = answer.known.as_ref();
                Compared {
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
                Compared {
                    think_s: simulated.think,
                    rate_per_s: Some(summary.throughput.value),
                    response_s: Some(response.value),
                    method: Some("simulation".to_owned()),
                    source: Some("offered simulate".to_owned()),
                    assumption: answer.assumption.clone(),
                    simulated: Some(Simulation {
                        response_low_s: finite(response.low),
                        response_high_s: finite(response.high),
                        load_reached: simulated.load_reached.value,
                        jobs: summary.jobs,
                        warnings: simulated.warnings.iter().map(Doubt::words).collect(),
                    }),
                    ..nothing
                }
            }
            Found::Nothing(why) => Compared { assumption: why.clone(), ..nothing },
        }
    }
}
