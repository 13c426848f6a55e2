//! `offered plan table`: a closed system by number of users (Brady and Gunther, Tables 1a and 1b, Figures 1, 5 and 6).

use clap::{Args as Arguments, ValueEnum};
use offered_base::{Nanos, Rate};
use offered_plan::Station;
use offered_plan::document::table::{self, Network};
use offered_plan::document::{Curve, Point, Population, Populations};

use super::plot::Plot;
use super::{per_second, seconds, users};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;
use offered_report::format::{duration, number, percent};

#[derive(Arguments)]
pub(crate) struct Args {
    /// Service demands of the stations in series, for example 50ms,40ms,30ms
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true)]
    stations: Vec<Nanos>,
    /// Numbers of users, for example 10,50,100
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true, value_parser = users)]
    users: Vec<u64>,
    #[command(flatten)]
    given: Given,
    /// Solution method: exact mean value analysis, or the approximation of Bard and Schweitzer
    #[arg(long, value_enum, default_value_t = Method::Exact)]
    method: Method,
    /// Convergence criterion of the approximation: largest change of a queue length
    #[arg(long, allow_hyphen_values = true, default_value_t = 1e-3)]
    convergence: f64,
    /// Plot rate and response time against users, with their bounds
    #[arg(long)]
    curve: bool,
    /// Print one JSON document (schema offered.plan.table/1 or offered.plan.curve/1)
    #[arg(long)]
    json: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Arguments)]
#[group(required = true, multiple = false)]
struct Given {
    /// Think time Z of all rows (Table 1a of Brady and Gunther)
    #[arg(long, allow_hyphen_values = true)]
    think: Option<Nanos>,
    /// Number of users divided by think time, N/Z, of all rows (Table 1b of Brady and Gunther)
    #[arg(long, allow_hyphen_values = true)]
    ratio: Option<Rate>,
    /// Utilisation of the slowest station in all rows; determines Z
    #[arg(long, allow_hyphen_values = true, value_parser = super::load)]
    load: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    /// Mean value analysis
    Exact,
    /// Bard-Schweitzer
    Schweitzer,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let station = |(i, demand): (usize, &Nanos)| Station::queue(format!("station {}", i + 1), seconds(*demand));
    let network = Network {
        stations: args.stations.iter().enumerate().map(station).collect::<Result<_, _>>()?,
        given: args.given.constant(),
        method: match args.method {
            Method::Exact => table::Method::Exact,
            Method::Schweitzer => table::Method::Schweitzer { tolerance: args.convergence },
        },
    };
    if args.curve {
        let curve = network.curve(&args.users)?;
        match (args.json, args.csv) {
            (true, _) => json(&curve),
            (_, true) => csv_of_curve(&curve),
            _ => print_curve(&curve),
        }
        return Ok(Exit::Done);
    }
    let result = network.populations(&args.users)?;
    match (args.json, args.csv) {
        (true, _) => json(&result),
        (_, true) => csv(&result),
        _ => print(&result),
    }
    Ok(Exit::Done)
}

impl Given {
    fn constant(&self) -> table::Given {
        match self {
            Self { load: Some(load), .. } => table::Given::Load(*load),
            Self { ratio: Some(ratio), .. } => table::Given::Ratio(per_second(*ratio)),
            Self { think, .. } => table::Given::Think(think.map_or(0.0, seconds)),
        }
    }
}

fn print(result: &Populations) {
    let heads = ["users N", "think Z (s)", "N/Z (/s)", "rate (/s)", "Q", "Q/Z (/s)", "response", "RoRT"];
    let mut table = Table::new(heads);
    let two = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.2}"));
    for row in &result.rows {
        table.row([
            row.users.to_string(),
            number(row.think_s),
            two(row.ratio_per_s),
            two(Some(row.rate_per_s)),
            two(Some(row.concurrency)),
            two(row.q_over_z),
            duration(row.response_s),
            percent(row.rort),
        ]);
    }
    out!(no newline: "{table}");
    out!("solved by {}", result.method);
}

fn csv(result: &Populations) {
    out!("users,think_s,ratio_per_s,rate_per_s,concurrency,q_over_z,response_s,rort");
    let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for Population { users, think_s, ratio_per_s, rate_per_s, concurrency, q_over_z, response_s, rort } in &result.rows
    {
        let (ratio, waiting) = (number(*ratio_per_s), number(*q_over_z));
        out!("{users},{think_s},{ratio},{rate_per_s},{concurrency},{waiting},{response_s},{rort}");
    }
}

fn print_curve(curve: &Curve) {
    let most = curve.points.last().map_or(1.0, |point| point.users as f64);
    let picture = |title: &str, value: fn(&Point) -> f64, bound: fn(&Point) -> f64| {
        let highest = curve.points.iter().map(|point| value(point).max(bound(point))).fold(0.0, f64::max);
        let mut plot = Plot::new(most, highest);
        plot.mark('*', curve.points.iter().map(|point| (point.users as f64, value(point))));
        plot.mark('.', curve.points.iter().map(|point| (point.users as f64, bound(point))));
        plot.print(title);
    };
    let title = "rate (/s) against users: * solved, . bound min(N/(Z+D), 1/S_max)";
    picture(title, |point| point.rate_per_s, |point| point.rate_bound_per_s);
    let title = "response (s) against users: * solved, . bound max(D, N S_max - Z)";
    picture(title, |point| point.response_s, |point| point.response_bound_s);
    out!("solved by {}; knee at N* = {}", curve.method, number(curve.knee_users));
}

fn csv_of_curve(curve: &Curve) {
    out!("users,think_s,rate_per_s,rate_bound_per_s,response_s,response_bound_s,response_asymptote_s");
    for point in &curve.points {
        let Point {
            users,
            think_s,
            rate_per_s,
            rate_bound_per_s,
            response_s,
            response_bound_s,
            response_asymptote_s: asymptote,
        } = point;
        out!("{users},{think_s},{rate_per_s},{rate_bound_per_s},{response_s},{response_bound_s},{asymptote}");
    }
}
