//! `offered plan solve`: the analytic answer for [arrivals] x [server], where one exists.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_experiment::document::plan::{Solution, Solutions};
use offered_experiment::plan::solve::{document, population};
use offered_model::document::Schema;
use offered_plan::analytic::{Analysis, answer};

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
        if let Some(sdev) = known.sdev {
            line("sdev of R", time(sdev));
        }
        if let Some(p) = known.percentiles {
            line(
                "percentiles",
                format!("p50 {}  p90 {}  p95 {}  p99 {}", time(p.p50), time(p.p90), time(p.p95), time(p.p99)),
            );
        }
        line("in system Q", figure(known.in_system));
        line("utilisation U", figure(known.utilisation));
        if let Some(of) = known.launches {
            let [cov, lag, dispersion] = [of.cov, of.lag1, of.dispersion].map(figure);
            line(
                "launches",
                format!("CoV {cov} of gaps, {lag} correlation of neighbours, {dispersion} dispersion of counts"),
            );
        }
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
