//! `offered plan web-users`: number of web users of a request rate, N' = lambda (R + Z').

use std::path::{Path, PathBuf};

use clap::Args as Arguments;
use offered_base::{Nanos, Rate};
use offered_events::document::Schema;
use offered_plan::document::{WebUserCount, WebUsers};
use offered_plan::web_users::Traffic;
use offered_verify::Criteria;

use super::{per_second, seconds};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;
use offered_report::format::{duration, number};

#[derive(Arguments)]
pub(crate) struct Args {
    /// Run directory or result file with the rate and the response time
    #[arg(conflicts_with_all = ["rate", "response"])]
    run: Option<PathBuf>,
    /// Rate of requests, for example 159.16/s
    #[arg(long, allow_hyphen_values = true, required_unless_present = "run")]
    rate: Option<Rate>,
    /// Mean response time of a request, for example 253.38ms
    #[arg(long, allow_hyphen_values = true, required_unless_present = "run")]
    response: Option<Nanos>,
    /// Exclude this time after the first request
    #[arg(long, allow_hyphen_values = true, requires = "run", default_value = "0s")]
    skip_first: Nanos,
    /// Exclude this time before the last request
    #[arg(long, allow_hyphen_values = true, requires = "run", default_value = "0s")]
    skip_last: Nanos,
    /// Think times of web users between pages, for example 10s,30s
    #[arg(long, allow_hyphen_values = true, value_delimiter = ',', required = true)]
    think: Vec<Nanos>,
    /// Number of pages in a group of requests, see --objects
    #[arg(long, allow_hyphen_values = true, default_value_t = 1)]
    pages: u32,
    /// Number of requests that these --pages consist of
    #[arg(long, allow_hyphen_values = true, default_value_t = 1)]
    objects: u32,
    /// Print one JSON document (schema offered.plan.web-users/1)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let (rate, response) = match (&args.run, args.rate, args.response) {
        (Some(run), ..) => measured(run, args)?,
        (None, Some(rate), Some(response)) => (per_second(rate), seconds(response)),
        _ => return Err(Failure::input("rate and response time are missing; add a run, or --rate and --response")),
    };
    let traffic = Traffic::new(rate, response, args.pages, args.objects)?;
    let row = |think: &Nanos| Ok((seconds(*think), traffic.web_users(seconds(*think))?));
    let rows = args.think.iter().map(row).collect::<Result<Vec<_>, offered_plan::Error>>()?;
    if args.json {
        json(&WebUsers {
            schema: Schema::new(),
            rows: rows.iter().map(|(think, users)| WebUserCount { think_s: *think, web_users: *users }).collect(),
            pages_per_s: traffic.pages(),
            concurrency_pages: traffic.concurrency(),
        });
        return Ok(Exit::Done);
    }
    if args.run.is_some() {
        out!("{rate:.2} requests/s, mean response {}", duration(response));
    }
    out!("{:.4} pages/s, {:.2} pages in flight at the server", traffic.pages(), traffic.concurrency());
    let mut table = Table::new(["think Z' (s)", "web users N'"]);
    for (think, users) in rows {
        table.row([number(think), format!("{users:.2}")]);
    }
    out!(no newline: "{table}");
    Ok(Exit::Done)
}

/// Rate and mean response of a run, as `offered verify` measures them.
fn measured(run: &Path, args: &Args) -> Result<(f64, f64), Failure> {
    let recording = offered_store::read(run, &offered_store::ReadOptions::default()).map_err(Failure::input)?;
    let ask = Criteria { skip_first: args.skip_first, skip_last: args.skip_last, ..Criteria::default() };
    let queue = offered_verify::verify(&recording, &ask).map_err(Failure::stopped)?.queue;
    queue.rate_per_s.zip(queue.response_ms).map(|(rate, response)| (rate, response / 1e3)).ok_or_else(|| {
        Failure::input(format!(
            "{} has too few completed requests in the time window to measure rate and response time",
            run.display()
        ))
    })
}
