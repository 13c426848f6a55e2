//! `offered plan`: calculations before a load test. One module per subcommand; the formulas are in `offered-plan`.

mod classes;
mod compare;
mod emulate;
mod flows;
mod plot;
mod solve;
mod table;
mod web_users;

use clap::Subcommand;
use offered_base::{Nanos, Rate};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;
use crate::table::paragraph;

#[derive(Subcommand)]
pub(crate) enum PlanCommand {
    /// Users and think time with which a closed-model tool generates traffic like that of the web
    Emulate(emulate::Args),
    /// Rate and response time of a closed system by number of users
    Table(table::Args),
    /// Number of web users that a request rate corresponds to
    WebUsers(web_users::Args),
    /// Expected response times of a workload's [arrivals] and [server], by formula
    Solve(solve::Args),
    /// Requests per session and request mix of a workload's flows
    Flows(flows::Args),
    /// Mean response times of open, closed and partly-open systems at equal utilisation
    Compare(compare::Args),
}

pub(crate) fn run(command: PlanCommand) -> Result<Exit, Failure> {
    match command {
        PlanCommand::Emulate(args) => emulate::run(&args),
        PlanCommand::Table(args) => table::run(&args),
        PlanCommand::WebUsers(args) => web_users::run(&args),
        PlanCommand::Solve(args) => solve::run(&args),
        PlanCommand::Flows(args) => flows::run(&args),
        PlanCommand::Compare(args) => compare::run(&args),
    }
}

impl From<offered_plan::Error> for Failure {
    fn from(error: offered_plan::Error) -> Self {
        Self::input(error)
    }
}

/// The time in seconds.
fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

/// The rate per second.
fn per_second(rate: Rate) -> f64 {
    rate.per_sec()
}

/// Prints a paragraph.
fn prose(text: &str) {
    for line in paragraph("", text) {
        out!("{line}");
    }
}

/// A share written `3%` or `0.03`.
fn share(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    text.strip_suffix('%')
        .map_or_else(|| number(text), |percent| number(percent).map(|p| p / 100.0))
        .ok_or_else(|| format!("`{text}` is not a share; write for example 3% or 0.03"))
}

/// A load, strictly between 0 and 1.
fn load(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(load) if load > 0.0 && load < 1.0 => Ok(load),
        _ => Err(format!("`{text}` is not a load; write a number above 0 and below 1, for example 0.9")),
    }
}

/// Maximum number of users of a closed system whose exact solution takes about a second: it has a step and a stored result for each.
const MAX_USERS: u64 = 10_000_000;

/// A number of users, at least 1.
fn users(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("there must be at least 1 user".to_owned()),
        Ok(users) if users > MAX_USERS => Err(format!("{users} users are too many; write a number up to {MAX_USERS}")),
        Ok(users) => Ok(users),
        Err(_) => Err(format!("`{text}` is not a number of users; write a whole number such as 200")),
    }
}
