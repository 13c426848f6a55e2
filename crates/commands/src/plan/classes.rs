//! `offered plan solve --class`: closed networks with several classes of users.

use std::str::FromStr;

use offered_base::Nanos;
use offered_events::document::Schema;
use offered_plan::Error;
use offered_plan::closed::multiclass::{self, Solution};
use offered_plan::document::{self, Solution as Solved, Solutions};

use super::{seconds, users};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out};
use crate::table::Table;
use offered_report::format::{duration, number, percent, rate};

/// A class of users, written as `browse:100:10s:50ms,40ms`.
#[derive(Clone, Debug)]
pub(super) struct Class(multiclass::Class);

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [name, population, think, demands] = parts[..] else {
            return Err(format!(
                "`{text}` is not a class; write NAME:USERS:THINK:DEMAND,DEMAND, for example browse:100:10s:50ms,40ms"
            ));
        };
        let time = |text: &str| text.parse::<Nanos>().map(seconds).map_err(|wrong| wrong.to_string());
        Ok(Self(multiclass::Class {
            name: name.to_owned(),
            users: users(population)?,
            think: time(think)?,
            demands: demands.split(',').map(time).collect::<Result<_, _>>()?,
        }))
    }
}

/// Solves exactly within the budget, else by Bard-Schweitzer. Its error is measured on the same mix with fewer users.
pub(super) fn run(classes: &[Class], servers: &[u32], budget: usize, as_json: bool) -> Result<Exit, Failure> {
    let classes: Vec<multiclass::Class> = classes.iter().map(|class| class.0.clone()).collect();
    let one_each = vec![1; classes[0].demands.len()];
    let servers = if servers.is_empty() { &one_each } else { servers };
    let (solution, method, assumption) = match multiclass::exact(&classes, servers, budget) {
        Ok(exact) => (exact, "exact mean value analysis", "product form".to_owned()),
        Err(Error::TooManyStates { .. }) => {
            let approximate = |classes: &[multiclass::Class]| multiclass::schweitzer(classes, servers, 1e-10);
            let fewer = scaled(&classes, budget / servers.iter().copied().max().unwrap_or(1) as usize);
            let error = largest_error(&approximate(&fewer)?, &multiclass::exact(&fewer, servers, budget)?);
            let sizes: Vec<String> = fewer.iter().map(|c| c.users.to_string()).collect();
            let assumption = format!(
                "approximate: the exact solution exceeds the budget of {budget} states; with {} users of the same classes the error of the response time is at most {}",
                sizes.join(" and "),
                percent(error)
            );
            (approximate(&classes)?, "Bard-Schweitzer approximation", assumption)
        }
        Err(other) => return Err(other.into()),
    };
    if as_json {
        let results = classes
            .iter()
            .enumerate()
            .map(|(c, class)| {
                let (x, r) = (solution.throughput[c], solution.response(c));
                Solved::Class(Box::new(document::ClassSolution {
                    model: "closed network, several classes".to_owned(),
                    class: class.name.clone(),
                    discipline: "network".to_owned(),
                    load: None,
                    rate_per_s: x,
                    think_s: class.think,
                    users: class.users,
                    response_s: r,
                    throughput_per_s: x,
                    utilisation: None,
                    in_system: x * r,
                    residences_s: solution.residence[c].clone(),
                    method: method.to_owned(),
                    source: "Reiser and Lavenberg 1980; Reiser 1981; Schweitzer 1979".to_owned(),
                    assumption: assumption.clone(),
                }))
            })
            .collect();
        json(&Solutions { schema: Schema::new(), results });
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["class", "users", "think", "rate", "response", "Q", "residence at each station"]);
    for (c, class) in classes.iter().enumerate() {
        let (x, r) = (solution.throughput[c], solution.response(c));
        let residences: Vec<String> = solution.residence[c].iter().map(|r| duration(*r)).collect();
        table.row([
            class.name.clone(),
            class.users.to_string(),
            duration(class.think),
            rate(x),
            duration(r),
            number(x * r),
            residences.join(", "),
        ]);
    }
    out!(no newline: "{table}");
    out!("{method}; {assumption}");
    Ok(Exit::Done)
}

/// The same mix of classes with the largest number of users that the budget allows, and with shorter think times, so
/// that the load is unchanged.
fn scaled(classes: &[multiclass::Class], budget: usize) -> Vec<multiclass::Class> {
    let shrunk = |share: f64| -> Vec<multiclass::Class> {
        let class = |c: &multiclass::Class| {
            let users = ((c.users as f64 * share) as u64).max(1);
            multiclass::Class { users, think: c.think * users as f64 / c.users as f64, ..c.clone() }
        };
        classes.iter().map(class).collect()
    };
    let mut share = 0.5;
    while shrunk(share).iter().map(|c| c.users as f64 + 1.0).product::<f64>() > budget as f64 && share > 1e-9 {
        share /= 2.0;
    }
    shrunk(share)
}

/// The largest relative error of the response times.
fn largest_error(approximate: &Solution, exact: &Solution) -> f64 {
    (0..exact.throughput.len()).map(|c| (approximate.response(c) / exact.response(c) - 1.0).abs()).fold(0.0, f64::max)
}
