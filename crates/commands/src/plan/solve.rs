//! `offered plan solve`: response time, throughput and utilisation of `[arrivals]` at `[server]`, by formula.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_events::document::Schema;
use offered_plan::Percentiles;
use offered_plan::analytic::{Analysis, ClassMetrics, analyse};
use offered_plan::document::solve::{document, population};
use offered_plan::document::{Solution, Solutions};

use super::classes::{self, Class};
use super::emulate::read_workload;
use super::load;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;
use offered_report::format::{duration, number, percent, rate};

#[derive(Arguments)]
pub(crate) struct Args {
    /// Workload file with a [server] or [[station]]s
    #[arg(required_unless_present = "class")]
    workload: Option<PathBuf>,
    /// Set the server utilisation by the rate or think time [default: the workload's]
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', value_parser = load)]
    load: Vec<f64>,
    /// Class of users, instead of a workload: NAME:USERS:THINK:DEMAND,... (repeatable)
    #[arg(long, conflicts_with_all = ["workload", "load"])]
    class: Vec<Class>,
    /// Number of servers of each station, in the order of the demands [default: 1]
    #[arg(long, requires = "class", conflicts_with = "workload", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    servers: Vec<u32>,
    /// Maximum number of states of the exact solution; above it, an approximation is used
    #[arg(long, default_value_t = 2_000_000, requires = "class", conflicts_with = "workload")]
    budget: usize,
    /// Print one JSON document (schema offered.plan.solve/1)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let Some(path) = &args.workload else { return classes::run(&args.class, &args.servers, args.budget, args.json) };
    let workload = read_workload(path)?;
    let analyses = if args.load.is_empty() {
        vec![analyse(&workload, None)?]
    } else {
        args.load.iter().map(|load| analyse(&workload, Some(*load))).collect::<Result<_, _>>()?
    };
    if args.json {
        let results = analyses.iter().map(|analysis| Solution::System(Box::new(document(analysis)))).collect();
        json(&Solutions { schema: Schema::new(), results });
        return Ok(Exit::Done);
    }
    for analysis in &analyses {
        print(analysis);
    }
    Ok(Exit::Done)
}

fn durations(p: Percentiles) -> [String; 4] {
    [p.p50, p.p90, p.p95, p.p99].map(duration)
}

/// One row per class, with percentiles if those of at least one class are known.
fn by_class(classes: &[ClassMetrics]) -> Table {
    let percentiles = if classes.iter().any(|class| class.percentiles.is_some()) { 4 } else { 0 };
    let head = ["class", "rate", "response", "p50", "p90", "p95", "p99"];
    let mut table = Table::with_columns(head.into_iter().take(3 + percentiles).map(str::to_owned).collect());
    for class in classes {
        let unknown = || ["-"; 4].map(str::to_owned);
        let known = class.percentiles.map_or_else(unknown, durations);
        let first = [class.name.clone(), rate(class.rate), duration(class.response)];
        table.row(first.into_iter().chain(known.into_iter().take(percentiles)).collect::<Vec<_>>());
    }
    table
}

fn print(analysis: &Analysis) {
    let line = |name: &str, value: String| out!("  {name:<14}{value}");
    out!("{}  ({})", analysis.model, analysis.discipline);
    let (users, think, stay) = population(analysis.system);
    if let Some(users) = users {
        line("users N", users.to_string());
    }
    if let Some(think) = think {
        line("think Z", duration(think));
    }
    if let Some(stay) = stay {
        line("stay p", number(stay));
    }
    if let Some(load) = analysis.load {
        line("load", number(load));
    }
    if let Some(offered) = analysis.system.and_then(|s| s.arrival_rate()) {
        line("arrivals", rate(offered));
    }
    if let Some(metrics) = &analysis.steady_state {
        line("throughput X", rate(metrics.throughput));
        line("response R", duration(metrics.response));
        if let Some(sdev) = metrics.sdev {
            line("sdev of R", duration(sdev));
        }
        if let Some(percentiles) = metrics.percentiles {
            let [p50, p90, p95, p99] = durations(percentiles);
            line("percentiles", format!("p50 {p50}  p90 {p90}  p95 {p95}  p99 {p99}"));
        }
        line("in system Q", number(metrics.in_system));
        line("utilisation U", number(metrics.utilisation));
        if let Some(of) = metrics.request_stream {
            let [cov, lag, dispersion] = [of.cov, of.lag1, of.dispersion].map(number);
            line("requests", format!("CoV {cov} of gaps, {lag} lag-1 correlation, {dispersion} dispersion of counts"));
        }
        if let Some(lost) = metrics.rejected_share {
            line("rejected", percent(lost));
        }
    }
    if let Some(bounds) = analysis.bounds {
        let knee = number(bounds.knee);
        line(
            "bounds",
            format!("X <= {}, R >= {}, knee N* = {knee}", rate(bounds.throughput), duration(bounds.response)),
        );
    }
    match &analysis.steady_state {
        Some(metrics) => {
            line("method", metrics.method.to_owned());
            line("source", metrics.source.to_owned());
            line("assumption", analysis.assumption.clone());
            if !metrics.classes.is_empty() {
                out!(no newline: "{}", by_class(&metrics.classes));
            }
            if !metrics.stations.is_empty() {
                let mut table = Table::new(["station", "residence", "Q", "U", "visits"]);
                for s in &metrics.stations {
                    let cells = [duration(s.residence), number(s.in_system), number(s.utilisation), rate(s.throughput)];
                    let [residence, queue, busy, visits] = cells;
                    table.row([s.name.clone(), residence, queue, busy, visits]);
                }
                out!(no newline: "{table}");
            }
        }
        None => line("result", analysis.assumption.clone()),
    }
}
