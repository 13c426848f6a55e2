//! `offered plan flows`: what sessions that walk through flows ask for on average.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_experiment::document::plan::{Mix, Share, Step};
use offered_model::document::Schema;
use offered_model::workload::Sessions;
use offered_model::{Flows, Workload};

use super::emulate::read_workload;
use super::figures::{figure, percent, rate, time};
use crate::exit::{Exit, Failure};
use crate::say::{json, say};
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
        json(&document(&workload, flows));
        return Ok(Exit::Done);
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
        && let Some(most) = closed.most_per_s()
    {
        let by = if closed.pace().is_some() { "" } else { "N/Z = " };
        say!("{} users launch at most {by}{}", closed.users(), rate(most));
    }
    Ok(Exit::Done)
}

fn document(workload: &Workload, flows: &Flows) -> Mix {
    let steps = flows.steps().iter().zip(flows.visits()).map(|(step, visits)| Step {
        flow: flows.flows()[usize::from(step.flow)].name.clone(),
        step: step.name.clone(),
        request: workload.requests()[usize::from(step.request)].name().to_owned(),
        per_session: *visits,
        share: visits / flows.mean(),
    });
    let requests = workload.requests().iter().zip(workload.shares());
    Mix {
        schema: Schema::new(),
        steps: steps.collect(),
        requests: requests.map(|(request, share)| Share { request: request.name().to_owned(), share }).collect(),
        requests_per_session: flows.mean(),
        think_s: workload.mean_think(),
        rate_per_s: workload.asked_rate(),
    }
}
