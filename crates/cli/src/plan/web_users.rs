//! `offered plan web-users`: N' = lambda (R + Z').

use clap::Args as Arguments;
use offered_model::{Nanos, Rate};
use offered_plan::web_users::Traffic;
use serde_json::json;

use super::figures::figure;
use super::{per_second, print_json, seconds};
use crate::exit::{Exit, Failure};
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// Requests per second, e.g. 159.16/s
    #[arg(long)]
    rate: Rate,
    /// Mean response time of a request, e.g. 253.38ms
    #[arg(long)]
    response: Nanos,
    /// Think times of people between pages
    #[arg(long, value_delimiter = ',', required = true)]
    think: Vec<Nanos>,
    /// So many pages ...
    #[arg(long, default_value_t = 1)]
    pages: u32,
    /// ... are made of so many requests
    #[arg(long, default_value_t = 1)]
    objects: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let traffic = Traffic::new(per_second(args.rate), seconds(args.response), args.pages, args.objects)?;
    let row = |think: &Nanos| Ok((seconds(*think), traffic.web_users(seconds(*think))?));
    let rows = args.think.iter().map(row).collect::<Result<Vec<_>, offered_plan::Error>>()?;
    if args.json {
        let rows: Vec<_> = rows.iter().map(|(think, users)| json!({"think_s": think, "web_users": users})).collect();
        return Ok(print_json(&json!({
            "schema": "offered.plan.web-users/1",
            "rows": rows,
            "pages_per_s": traffic.pages(),
            "concurrency_pages": traffic.concurrency(),
        })));
    }
    println!("{:.2} pages/s, {:.2} of them under way at the server", traffic.pages(), traffic.concurrency());
    let mut table = Table::new(["think Z' (s)", "web users N'"]);
    for (think, users) in rows {
        table.row([figure(think), format!("{users:.0}")]);
    }
    print!("{table}");
    Ok(Exit::Done)
}
