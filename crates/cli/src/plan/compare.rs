//! `offered plan compare`: open against closed against partly-open at equal load (Schroeder et al. 2006, Figures 2 and 4).

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_model::law::Shape;
use offered_model::workload::Sessions;
use offered_plan::analytic::{Answer, Servers, System, solve_at_load};
use serde_json::{Value, json};

use super::emulate::read_workload;
use super::figures::time;
use super::solve::population;
use super::{print_json, users};
use crate::exit::{Exit, Failure};
use crate::say::say;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A workload with a [server], or with [[station]]s; of its [arrivals] only the think time is taken
    workload: PathBuf,
    /// Loads to compare at
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.7,0.9")]
    load: Vec<f64>,
    /// Closed systems of these numbers of users
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "10,50,100,1000", value_parser = users)]
    users: Vec<u64>,
    /// Partly-open systems with these stay probabilities
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', default_value = "0.5,0.8,0.9")]
    stay: Vec<f64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A column: a name, and the system model whose rate or think time is solved for.
struct Model {
    name: String,
    system: System,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let workload = read_workload(&args.workload)?;
    let servers = Servers::of(&workload)?;
    let think = match &workload.sessions {
        Sessions::Closed(closed) => Some(&closed.think),
        Sessions::PartlyOpen { think, .. } => Some(think),
        Sessions::Open(_) | Sessions::Replay(_) => None,
    };
    let exponential = think.is_none_or(|law| matches!(law.shape(), Shape::Exponential(_)));
    let think = think.map_or(0.0, offered_model::Law::mean);

    let mut models = vec![Model { name: "open".to_owned(), system: System::Open { rate: 1.0 } }];
    for users in &args.users {
        let system = System::Closed { users: *users, think: 1.0, exponential };
        models.push(Model { name: format!("closed N={users}"), system });
    }
    for stay in &args.stay {
        if !(0.0..1.0).contains(stay) {
            return Err(Failure::input(format!(
                "a stay probability is 0 or more and below 1, not {stay}; at 1 use closed"
            )));
        }
        let system = System::PartlyOpen { sessions: 1.0, requests: 1.0 / (1.0 - stay), geometric: true, think };
        models.push(Model { name: format!("p={stay}"), system });
    }
    // One row for each model, one column for each load.
    let mut cells: Vec<Vec<Cell>> = vec![];
    for model in &models {
        cells.push(args.load.iter().map(|load| cell(model, *load, &servers)).collect::<Result<_, _>>()?);
    }
    if args.json {
        let rows = models.iter().zip(&cells).flat_map(|(model, row)| row.iter().map(|cell| cell.document(model)));
        return Ok(print_json(&json!({"schema": "offered.plan.compare/1", "rows": rows.collect::<Vec<_>>()})));
    }
    let width = models.iter().map(|m| m.name.len()).max().unwrap_or(0);
    let heads: Vec<String> = args.load.iter().map(|load| format!("{:>14}", format!("load {load}"))).collect();
    say!("mean response\n{:width$}{}", "", heads.concat());
    for (model, row) in models.iter().zip(&cells) {
        let shown: Vec<String> = row.iter().map(|cell| format!("{:>14}", cell.shown())).collect();
        say!("{:width$}{}", model.name, shown.concat());
    }
    say!("\nclosed: think times are solved for; partly-open: think time {}", time(think));
    if cells.iter().flatten().any(|cell| cell.answer.as_ref().is_some_and(|answer| answer.known.is_none())) {
        say!("`simulate`: no closed form; --json gives the reason for each");
    }
    Ok(Exit::Done)
}

/// One model at one load.
struct Cell {
    load: f64,
    /// `None` where the users cannot reach the load.
    answer: Option<Answer>,
    unreachable: Option<String>,
}

fn cell(model: &Model, load: f64, servers: &Servers<'_>) -> Result<Cell, Failure> {
    match solve_at_load(model.system, load, servers) {
        Ok(answer) => Ok(Cell { load, answer: Some(answer), unreachable: None }),
        Err(error @ offered_plan::Error::OutOfReach { .. }) => {
            Ok(Cell { load, answer: None, unreachable: Some(error.to_string()) })
        }
        Err(error) => Err(error.into()),
    }
}

impl Cell {
    fn shown(&self) -> String {
        match &self.answer {
            None => "out of reach".to_owned(),
            Some(answer) => answer.known.as_ref().map_or("simulate".to_owned(), |known| time(known.response)),
        }
    }

    fn document(&self, model: &Model) -> Value {
        let answer = self.answer.as_ref();
        let known = answer.and_then(|a| a.known.as_ref());
        let (users, think, stay) = population(answer.map_or(Some(model.system), |a| a.system));
        json!({
            "load": self.load,
            "model": model.name,
            "users": users,
            "stay": stay,
            "think_s": known.and(think),
            "rate_per_s": known.map(|k| k.throughput),
            "response_s": known.map(|k| k.response),
            "method": known.map(|k| k.method),
            "source": known.map(|k| k.source),
            "assumption": self.unreachable.as_deref().or(answer.map(|a| a.assumption.as_str())),
        })
    }
}
