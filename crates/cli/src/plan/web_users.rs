//! `offered plan web-users`: N' = lambda (R + Z').

use std::path::{Path, PathBuf};

use clap::Args as Arguments;
use offered_experiment::document::plan::{People, WebUsers};
use offered_model::document::Schema;
use offered_model::{Nanos, Rate};
use offered_plan::web_users::Traffic;
use offered_verify::Ask;

use super::figures::{figure, time};
use super::{per_second, seconds};
use crate::exit::{Exit, Failure};
use crate::say::{json, say};
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A run directory or result file to take the rate and the response from
    #[arg(conflicts_with_all = ["rate", "response"])]
    run: Option<PathBuf>,
    /// Requests per second, e.g. 159.16/s
    #[arg(long, allow_hyphen_values = true, required_unless_present = "run")]
    rate: Option<Rate>,
    /// Mean response time of a request, e.g. 253.38ms
    #[arg(long, allow_hyphen_values = true, required_unless_present = "run")]
    response: Option<Nanos>,
    /// Leave out so much of the run after its first launch
    #[arg(long, allow_hyphen_values = true, requires = "run", default_value = "0s")]
    skip_first: Nanos,
    /// Leave out so much of the run before its last launch
    #[arg(long, allow_hyphen_values = true, requires = "run", default_value = "0s")]
    skip_last: Nanos,
    /// Think times of people between pages
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true)]
    think: Vec<Nanos>,
    /// So many pages ...
    #[arg(long, allow_hyphen_values = true, default_value_t = 1)]
    pages: u32,
    /// ... are made of so many requests
    #[arg(long, allow_hyphen_values = true, default_value_t = 1)]
    objects: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let (rate, response) = match (&args.run, args.rate, args.response) {
        (Some(run), ..) => measured(run, args)?,
        (None, Some(rate), Some(response)) => (per_second(rate), seconds(response)),
        _ => return Err(Failure::input("give a run, or --rate and --response")),
    };
    let traffic = Traffic::new(rate, response, args.pages, args.objects)?;
    let row = |think: &Nanos| Ok((seconds(*think), traffic.web_users(seconds(*think))?));
    let rows = args.think.iter().map(row).collect::<Result<Vec<_>, offered_plan::Error>>()?;
    if args.json {
        json(&WebUsers {
            schema: Schema::new(),
            rows: rows.iter().map(|(think, users)| People { think_s: *think, web_users: *users }).collect(),
            pages_per_s: traffic.pages(),
            concurrency_pages: traffic.concurrency(),
        });
        return Ok(Exit::Done);
    }
    if args.run.is_some() {
        say!("{rate:.2} requests/s, mean response {}", time(response));
    }
    say!("{:.4} pages/s, {:.2} of them under way at the server", traffic.pages(), traffic.concurrency());
    let mut table = Table::new(["think Z' (s)", "web users N'"]);
    for (think, users) in rows {
        table.row([figure(think), format!("{users:.2}")]);
    }
    say!(no newline: "{table}");
    Ok(Exit::Done)
}

/// Rate and mean response of a run, as `offered verify` measures them.
fn measured(run: &Path, args: &Args) -> Result<(f64, f64), Failure> {
    let recording = offered_store::read(run, &offered_store::ReadOptions::default()).map_err(Failure::input)?;
    let ask = Ask { skip_first: args.skip_first, skip_last: args.skip_last, ..Ask::default() };
    let queue = offered_verify::verify(&recording, &ask).map_err(Failure::stopped)?.queue;
    queue.rate_per_s.zip(queue.response_ms).map(|(rate, response)| (rate, response / 1e3)).ok_or_else(|| {
        Failure::input(format!(
            "{} has too few answered launches in the window to measure a rate and a response",
            run.display()
        ))
    })
}
