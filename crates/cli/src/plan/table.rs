//! `offered plan table`: Brady and Gunther's Tables 1a and 1b, and their Figures 1, 5 and 6, for any stations.

use clap::{Args as Arguments, ValueEnum};
use offered_experiment::document::plan::{Curve, LoadLine, Point, Population, Populations};
use offered_model::document::Schema;
use offered_model::{Nanos, Rate};
use offered_plan::closed::{bounds, mva, schweitzer};
use offered_plan::{Solution, Station, littles, load};

use super::figures::{figure, percent, time};
use super::plot::Plot;
use super::{per_second, seconds, users};
use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// Service demands of the stations a request passes, e.g. 50ms,40ms,30ms
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true)]
    stations: Vec<Nanos>,
    /// Numbers of users
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true, value_parser = users)]
    users: Vec<u64>,
    #[command(flatten)]
    given: Given,
    /// How to solve it: exact, or the approximation behind the paper's table
    #[arg(long, value_enum, default_value_t = Method::Exact)]
    method: Method,
    /// Stop the approximation when no queue moves by so much
    #[arg(long, allow_hyphen_values = true, default_value_t = 1e-3)]
    tolerance: f64,
    /// Rate and response against users, with their bounds, instead of the table
    #[arg(long)]
    curve: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Arguments)]
#[group(required = true, multiple = false)]
struct Given {
    /// One think time Z for all rows (Table 1a)
    #[arg(long, allow_hyphen_values = true)]
    think: Option<Nanos>,
    /// One N/Z for all rows, so Z grows with N (Table 1b, Principle A)
    #[arg(long, allow_hyphen_values = true)]
    ratio: Option<Rate>,
    /// One load of the slowest station for all rows; Z is solved for
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

/// A closed network and how it is solved.
struct Model<'a> {
    stations: Vec<Station>,
    args: &'a Args,
}

/// One population with its answer.
struct Row {
    users: u64,
    think: f64,
    solution: Solution,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let station = |(i, demand): (usize, &Nanos)| Station::queue(format!("station {}", i + 1), seconds(*demand));
    let stations = args.stations.iter().enumerate().map(station).collect::<Result<_, _>>()?;
    let model = Model { stations, args };
    if args.curve {
        return model.curve();
    }
    let rows = args.users.iter().map(|users| model.row(*users)).collect::<Result<Vec<_>, _>>()?;
    if args.json {
        json(&Populations {
            schema: Schema::new(),
            method: model.method(),
            rows: rows.iter().map(Row::document).collect(),
        });
        return Ok(Exit::Done);
    }
    if args.csv {
        say!("users,think_s,ratio_per_s,rate_per_s,concurrency,q_over_z,response_s,rort");
        for row in &rows {
            let numbers: Vec<String> =
                row.numbers().iter().map(|x| x.map_or(String::new(), |x| x.to_string())).collect();
            say!("{}", numbers.join(","));
        }
        return Ok(Exit::Done);
    }
    let heads = ["users N", "think Z (s)", "N/Z (/s)", "rate (/s)", "Q", "Q/Z (/s)", "response", "RoRT"];
    let mut table = Table::new(heads);
    for row in &rows {
        let [users, think, ratio, rate, queue, waiting, response, rort] = row.numbers();
        let two = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.2}"));
        table.row([
            two(users).trim_end_matches(".00").to_owned(),
            figure(think.unwrap_or_default()),
            two(ratio),
            two(rate),
            two(queue),
            two(waiting),
            time(response.unwrap_or_default()),
            percent(rort.unwrap_or_default()),
        ]);
    }
    say!(no newline: "{table}");
    say!("solved by {}", model.method());
    Ok(Exit::Done)
}

impl Model<'_> {
    fn method(&self) -> String {
        match self.args.method {
            Method::Exact => "exact mean value analysis".to_owned(),
            Method::Schweitzer => format!("Bard-Schweitzer approximation, tolerance {}", self.args.tolerance),
        }
    }

    fn solve(&self, users: u64, think: f64) -> Result<Solution, offered_plan::Error> {
        match self.args.method {
            Method::Exact => mva::solve(&self.stations, users, think),
            Method::Schweitzer => schweitzer::solve(&self.stations, users, think, self.args.tolerance),
        }
    }

    fn think(&self, users: u64) -> Result<f64, offered_plan::Error> {
        let given = &self.args.given;
        if let Some(load) = given.load {
            let slowest = bounds::bounds(&self.stations, users, 0.0)?.bottleneck;
            let throughput = |think: f64| Ok(self.solve(users, think)?.throughput);
            return load::closed_think(load, 1, slowest, users, throughput);
        }
        Ok(given.think.map_or_else(|| given.ratio.map_or(0.0, |ratio| users as f64 / per_second(ratio)), seconds))
    }

    fn row(&self, users: u64) -> Result<Row, offered_plan::Error> {
        let think = self.think(users)?;
        Ok(Row { users, think, solution: self.solve(users, think)? })
    }

    /// Figures 5 and 6 (rate and response against N, with their bounds) and 1 (the load line of each population).
    fn curve(&self) -> Result<Exit, Failure> {
        const POINTS: u64 = 128;
        let most = *self.args.users.iter().max().expect("clap asked for at least one");
        let mut populations: Vec<u64> = (0..=POINTS).map(|i| (i * most / POINTS).max(1)).collect();
        populations.dedup();
        let mut points = vec![];
        for users in populations {
            let row = self.row(users)?;
            let bounds = bounds::bounds(&self.stations, users, row.think)?;
            points.push((row, bounds));
        }
        if self.args.json {
            let point = |(row, bounds): &(Row, bounds::Bounds)| Point {
                users: row.users,
                think_s: row.think,
                rate_per_s: row.solution.throughput,
                rate_bound_per_s: bounds.throughput,
                response_s: row.solution.response,
                response_bound_s: bounds.response,
                response_asymptote_s: row.users as f64 * bounds.bottleneck - row.think,
            };
            let lines = self.args.users.iter().map(|users| self.row(*users).map(|row| row.load_line()));
            json(&Curve {
                schema: Schema::new(),
                method: self.method(),
                bottleneck_s: points[0].1.bottleneck,
                knee_users: points[0].1.knee,
                points: points.iter().map(point).collect(),
                load_lines: lines.collect::<Result<_, _>>()?,
            });
            return Ok(Exit::Done);
        }
        if self.args.csv {
            say!("users,think_s,rate_per_s,rate_bound_per_s,response_s,response_bound_s,response_asymptote_s");
            for (Row { users, think, solution }, b) in &points {
                let asymptote = *users as f64 * b.bottleneck - think;
                say!(
                    "{users},{think},{},{},{},{},{asymptote}",
                    solution.throughput,
                    b.throughput,
                    solution.response,
                    b.response
                );
            }
            return Ok(Exit::Done);
        }
        let most = most as f64;
        let picture = |title: &str, value: &dyn Fn(&Row) -> f64, bound: &dyn Fn(&bounds::Bounds) -> f64| {
            let highest = points.iter().map(|(row, b)| value(row).max(bound(b))).fold(0.0, f64::max);
            let mut plot = Plot::new(most, highest);
            plot.mark('*', points.iter().map(|(row, _)| (row.users as f64, value(row))));
            plot.mark('.', points.iter().map(|(row, b)| (row.users as f64, bound(b))));
            plot.print(title);
        };
        picture("rate (/s) against users: * solved, . bound min(N/(Z+D), 1/S_max)", &|r| r.solution.throughput, &|b| {
            b.throughput
        });
        picture("response (s) against users: * solved, . bound max(D, N S_max - Z)", &|r| r.solution.response, &|b| {
            b.response
        });
        say!("solved by {}; knee at N* = {}", self.method(), figure(points[0].1.knee));
        Ok(Exit::Done)
    }
}

impl Row {
    /// N, Z, N/Z, lambda, Q, Q/Z, R, `RoRT`; what divides by a think time of zero is absent.
    fn numbers(&self) -> [Option<f64>; 8] {
        let Row { users, think, solution: Solution { throughput, response, in_system, .. } } = self;
        let over_think = |x: f64| Some(x / think).filter(|x| x.is_finite());
        [
            Some(*users as f64),
            Some(*think),
            over_think(*users as f64),
            Some(*throughput),
            Some(*in_system),
            over_think(*in_system),
            Some(*response),
            Some(littles::rort(*response, *think)),
        ]
    }

    fn document(&self) -> Population {
        let Solution { throughput, response, in_system, .. } = self.solution;
        let [_, _, ratio_per_s, _, _, q_over_z, ..] = self.numbers();
        Population {
            users: self.users,
            think_s: self.think,
            ratio_per_s,
            rate_per_s: throughput,
            concurrency: in_system,
            q_over_z,
            response_s: response,
            rort: littles::rort(response, self.think),
        }
    }

    /// The paper's Figure 1: lambda = N/Z - Q/Z falls from N/Z at an empty server to 0 with all N queued; the system settles
    /// where the server's own curve crosses it.
    fn load_line(&self) -> LoadLine {
        let Population { users, think_s, ratio_per_s, rate_per_s, concurrency, .. } = self.document();
        LoadLine {
            users,
            think_s,
            rate_at_no_queue_per_s: ratio_per_s,
            queue_at_no_rate: users,
            rate_per_s,
            concurrency,
        }
    }
}
