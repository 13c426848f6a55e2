//! `offered plan`: the arithmetic of a load test before it is run. One file per question; the formulas live in the plan room.

mod classes;
mod compare;
mod emulate;
mod figures;
mod flows;
mod plot;
mod solve;
mod table;
mod web_users;

use clap::Subcommand;
use offered_model::{Nanos, Rate};

use crate::exit::{Exit, Failure};

#[derive(Subcommand)]
pub(crate) enum Question {
    /// Users and think time that make a closed tool launch like the open web (Principle A)
    Emulate(emulate::Args),
    /// What a closed system answers as its users grow, at one think time or at one N/Z
    Table(table::Args),
    /// How many people at their browsers a rate of requests stands for
    WebUsers(web_users::Args),
    /// The analytic answer for a workload's [arrivals] and [server], where one exists
    Solve(solve::Args),
    /// How often sessions that walk through a workload's flows ask for what
    Flows(flows::Args),
    /// Open, closed and partly-open systems side by side at equal load
    Compare(compare::Args),
}

pub(crate) fn run(question: Question) -> Result<Exit, Failure> {
    match question {
        Question::Emulate(args) => emulate::run(&args),
        Question::Table(args) => table::run(&args),
        Question::WebUsers(args) => web_users::run(&args),
        Question::Solve(args) => solve::run(&args),
        Question::Flows(args) => flows::run(&args),
        Question::Compare(args) => compare::run(&args),
    }
}

impl From<offered_plan::Error> for Failure {
    fn from(error: offered_plan::Error) -> Self {
        Self::input(error)
    }
}

/// In seconds, as the formulas want it.
fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

/// Per second, as the formulas want it.
fn per_second(rate: Rate) -> f64 {
    rate.per_sec()
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

/// A number of users, at least 1.
fn users(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("there must be at least 1 user".to_owned()),
        Ok(users) => Ok(users),
        Err(_) => Err(format!("`{text}` is not a number of users; write a whole number such as 200")),
    }
}
