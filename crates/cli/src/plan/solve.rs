//! `offered plan solve`: the analytic answer for [arrivals] x [server], where one exists.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_experiment::document::finite;
use offered_experiment::document::plan::{self, Bounds, Percentiles, Solution, Solutions, Station};
use offered_model::document::Schema;
use offered_plan::analytic::{Analysis, Known, System, answer};

use super::classes::{self, Class};
use super::emulate::read_workload;
use super::figures::{figure, percent, rate, time};
use super::load;
use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A workload with a [server], or with [[station]]s
    #[arg(required_unless_present = "class")]
    workload: Option<PathBuf>,
    /// Solve for the rate, session rate or think time that gives this load, instead of the workload's own
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_parser = load)]
    load: Vec<f64>,
    /// Instead of a workload: a class of users as NAME:USERS:THINK:DEMAND,DEMAND,... at single-server stations; repeat it
    #[arg(long, conflicts_with_all = ["workload", "load"])]
    class: Vec<Class>,
    /// The most population vectors the exact multi-class solution may take; beyond, it is Bard-Schweitzer and says so
    #[arg(long, default_value_t = 2_000_000, requires = "class")]
    budget: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let Some(path) = &args.workload else { return classes::run(&args.class, args.budget, args.json) };
    let workload = read_workload(path)?;
    let answers = if args.load.is_empty() {
        vec![answer(&workload, None)?]
    } else {
        args.load.iter().map(|load| answer(&workload, Some(*load))).collect::<Result<_, _>>()?
    };
    if args.json {
        let results = answers.iter().map(|answer| Solution::System(document(answer))).collect();
        json(&Solutions { schema: Schema::new(), results });
        return Ok(Exit::Done);
    }
    for answer in &answers {
        print(answer);
    }
    Ok(Exit::Done)
}

/// N, Z and the stay probability, as far as the system model has them.
pub(super) fn population(system: Option<System>) -> (Option<u64>, Option<f64>, Option<f64>) {
    match system {
        Some(System::Closed { users, think, .. }) => (Some(users), Some(think), None),
        Some(System::PartlyOpen { requests, think, .. }) => (None, Some(think), Some(1.0 - 1.0 / requests)),
        Some(System::Open { .. }) | None => (None, None, None),
    }
}

fn document(answer: &Analysis) -> plan::System {
    let (users, think_s, stay) = population(answer.system);
    let known = answer.known.as_ref();
    let number = |value: &dyn Fn(&Known) -> f64| known.map(value).and_then(finite);
    let stations = known.map(|known| known.stations.iter()).into_iter().flatten().map(|station| Station {
        name: station.name.clone(),
        residence_s: station.residence,
        in_system: station.in_system,
        utilisation: station.utilisation,
        throughput_per_s: station.throughput,
    });
    let percentiles =
        |known: &Known| known.percentiles.map(|p| Percentiles { p50: p.p50, p90: p.p90, p95: p.p95, p99: p.p99 });
    plan::System {
        model: answer.model.clone(),
        discipline: answer.discipline.clone(),
        load: answer.load,
        rate_per_s: answer.system.and_then(|s| s.offered_rate()).or(number(&|k| k.throughput)),
        think_s,
        users,
        stay,
        response_s: number(&|k| k.response),
        throughput_per_s: number(&|k| k.throughput),
        utilisation: number(&|k| k.utilisation),
        in_system: number(&|k| k.in_system),
        lost: known.and_then(|k| k.lost),
        percentiles_s: known.and_then(percentiles),
        stations: stations.collect(),
        bounds: answer.bounds.map(|bounds| Bounds {
            throughput_per_s: bounds.throughput,
            response_s: bounds.response,
            knee_users: bounds.knee,
        }),
        method: known.map(|k| k.method.to_string()),
        source: known.map(|k| k.source.to_string()),
        assumption: answer.assumption.clone(),
    }
}

fn print(answer: &Analysis) {
    let line = |name: &str, value: String| say!("  {name:<14}{value}");
    say!("{}  ({})", answer.model, answer.discipline);
    let (users, think, stay) = population(answer.system);
    if let Some(users) = users {
        line("users N", users.to_string());
    }
    if let Some(think) = think {
        line("think Z", time(think));
    }
    if let Some(stay) = stay {
        line("stay p", figure(stay));
    }
    if let Some(load) = answer.load {
        line("load", figure(load));
    }
    if let Some(offered) = answer.system.and_then(|s| s.offered_rate()) {
        line("arrivals", rate(offered));
    }
    if let Some(known) = &answer.known {
        line("throughput X", rate(known.throughput));
        line("response R", time(known.response));
        if let Some(p) = known.percentiles {
            line(
                "percentiles",
                format!("p50 {}  p90 {}  p95 {}  p99 {}", time(p.p50), time(p.p90), time(p.p95), time(p.p99)),
            );
        }
        line("in system Q", figure(known.in_system));
        line("utilisation U", figure(known.utilisation));
        if let Some(lost) = known.lost {
            line("turned away", percent(lost));
        }
    }
    if let Some(bounds) = answer.bounds {
        let knee = figure(bounds.knee);
        line("bounds", format!("X <= {}, R >= {}, knee N* = {knee}", rate(bounds.throughput), time(bounds.response)));
    }
    match &answer.known {
        Some(known) => {
            line("method", known.method.to_owned());
            line("source", known.source.to_owned());
            line("assumes", answer.assumption.clone());
            if !known.stations.is_empty() {
                let mut table = Table::new(["station", "residence", "Q", "U", "visits"]);
                for s in &known.stations {
                    let cells = [time(s.residence), figure(s.in_system), figure(s.utilisation), rate(s.throughput)];
                    let [residence, queue, busy, visits] = cells;
                    table.row([s.name.clone(), residence, queue, busy, visits]);
                }
                say!(no newline: "{table}");
            }
        }
        None => line("answer", answer.assumption.clone()),
    }
}
