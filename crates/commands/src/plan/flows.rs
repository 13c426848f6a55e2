//! `offered plan flows`: mean requests per session and request mix of a workload's flows.

use std::path::PathBuf;

use clap::Args as Arguments;
use offered_events::document::Schema;
use offered_plan::document::{FlowMix, FlowStep, RequestShare};
use offered_schedule::Flows;
use offered_schedule::Sessions;
use offered_workload::Workload;

use super::emulate::read_workload;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;
use offered_report::format::{duration, number, percent, rate};

#[derive(Arguments)]
pub(crate) struct Args {
    /// Workload file with [[flow]] tables
    workload: PathBuf,
    /// Print one JSON document (schema offered.plan.flows/1)
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let workload = read_workload(&args.workload)?;
    let flows = workload.flows().ok_or_else(|| {
        Failure::input(format!("{} has no [[flow]]; see the chapter on flows in the book", args.workload.display()))
    })?;
    if args.json {
        json(&document(&workload, flows));
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["flow", "step", "request", "per session", "share"]);
    for (step, visits) in flows.steps().iter().zip(flows.visits()) {
        table.row([
            flows.flows()[usize::from(step.flow)].name.clone(),
            step.name.clone(),
            workload.requests()[usize::from(step.request)].name().to_owned(),
            number(*visits),
            percent(visits / flows.mean()),
        ]);
    }
    out!("{table}");
    let mut table = Table::new(["request", "per session", "share"]);
    for (request, share) in workload.requests().iter().zip(workload.shares()) {
        table.row([request.name().to_owned(), number(share * flows.mean()), percent(share)]);
    }
    out!("{table}");
    out!("a session sends {} requests on average", number(flows.mean()));
    out!("and thinks {} on average after each response", duration(workload.mean_think().unwrap_or_default()));
    if let Some(request_rate) = workload.scheduled_rate() {
        out!("{} sessions, {} requests", rate(request_rate / flows.mean()), rate(request_rate));
    }
    if let Sessions::Closed(closed) = workload.sessions()
        && let Some(most) = closed.max_rate_per_s()
    {
        let by = if closed.pace().is_some() { "" } else { "N/Z = " };
        out!("{} users send at most {by}{}", closed.users(), rate(most));
    }
    Ok(Exit::Done)
}

fn document(workload: &Workload, flows: &Flows) -> FlowMix {
    let steps = flows.steps().iter().zip(flows.visits()).map(|(step, visits)| FlowStep {
        flow: flows.flows()[usize::from(step.flow)].name.clone(),
        step: step.name.clone(),
        request: workload.requests()[usize::from(step.request)].name().to_owned(),
        per_session: *visits,
        share: visits / flows.mean(),
    });
    let requests = workload.requests().iter().zip(workload.shares());
    FlowMix {
        schema: Schema::new(),
        steps: steps.collect(),
        requests: requests.map(|(request, share)| RequestShare { request: request.name().to_owned(), share }).collect(),
        requests_per_session: flows.mean(),
        think_s: workload.mean_think(),
        rate_per_s: workload.scheduled_rate(),
    }
}
