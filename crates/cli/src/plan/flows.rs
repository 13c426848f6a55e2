//! `offered plan flows`: what sessions that walk through flows ask for on average.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_model::workload::Sessions;
use offered_model::{Flows, Workload};
use serde_json::json;

use super::emulate::read_workload;
use super::figures::{figure, percent, rate, time};
use super::print_json;
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::table::Table;

#[derive(Arguments)]
pub(crate) struct Args {
    /// A workload with [[flow]] tables
    workload: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let workload = read_workload(&args.workload)?;
    let flows = workload.flows().ok_or_else(|| {
        Failure::input(format!(
            "{} has no [[flow]]; the book's page on flows shows how to write one",
            args.workload.display()
        ))
    })?;
    if args.json {
        return Ok(print_json(&document(&workload, flows)));
    }
    let mut table = Table::new(["flow", "step", "request", "per session", "of all"]);
    for (step, visits) in flows.steps().iter().zip(flows.visits()) {
        table.row([
            flows.flows()[usize::from(step.flow)].name.clone(),
            step.name.clone(),
            workload.requests()[usize::from(step.request)].name().to_owned(),
            figure(*visits),
            percent(visits / flows.mean()),
        ]);
    }
    say!("{table}");
    let mut table = Table::new(["request", "per session", "of all"]);
    for (request, share) in workload.requests().iter().zip(workload.shares()) {
        table.row([request.name().to_owned(), figure(share * flows.mean()), percent(share)]);
    }
    say!("{table}");
    say!("a session makes {} requests on average", figure(flows.mean()));
    say!("and thinks {} on average after each", time(workload.mean_think().unwrap_or_default()));
    if let Some(asked) = workload.asked_rate() {
        say!("{} sessions arrive, so requests are launched {}", rate(asked / flows.mean()), rate(asked));
    }
    if let Sessions::Closed(closed) = workload.sessions()
        && closed.mean_think() > 0.0
    {
        let most = closed.users() as f64 / closed.mean_think();
        say!("{} users launch at most N/Z = {}", closed.users(), rate(most));
    }
    Ok(Exit::Done)
}

fn document(workload: &Workload, flows: &Flows) -> serde_json::Value {
    let steps = flows.steps().iter().zip(flows.visits()).map(|(step, visits)| {
        json!({
            "flow": flows.flows()[usize::from(step.flow)].name,
            "step": step.name,
            "request": workload.requests()[usize::from(step.request)].name(),
            "per_session": visits,
            "share": visits / flows.mean(),
        })
    });
    let requests = workload.requests().iter().zip(workload.shares());
    let requests = requests.map(|(request, share)| json!({"request": request.name(), "share": share}));
    json!({
        "schema": "offered.plan.flows/1",
        "steps": steps.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
        "requests_per_session": flows.mean(),
        "think_s": workload.mean_think(),
        "rate_per_s": workload.asked_rate(),
    })
}
