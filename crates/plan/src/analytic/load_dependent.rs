//! One station with load-dependent rates, or with a maximum number of requests.

use offered_schedule::arrivals::Batch;
use offered_workload::Server;

use super::service::Service;
use super::{ClassMetrics, Finding, Pattern, SteadyState, is_blind, is_insensitive, most_busy};
use crate::Error;
use crate::closed::load_dependent as closed;
use crate::open::load_dependent::{LoadDependent, solve};

/// The number of requests is a birth-death chain.
enum Chain {
    /// With exponential service.
    Exponential,
    /// Any service distribution with the same mean gives the same metrics.
    Insensitive,
}

/// Whether the number of requests at `server` is a birth-death chain.
fn chain(server: &Server, service: &Service) -> Option<Chain> {
    // Every admitted request is served at once.
    let is_loss = server.rates().is_none() && server.capacity().is_some_and(|capacity| capacity <= most_busy(server));
    if is_insensitive(server) || is_loss {
        return Some(Chain::Insensitive);
    }
    (is_blind(server) && service.is_exponential()).then_some(Chain::Exponential)
}

impl Chain {
    fn assumption(&self, before: &str) -> String {
        match self {
            Self::Exponential => format!("{before}, exponential service"),
            Self::Insensitive => format!("{before}; only the mean service time matters"),
        }
    }

    fn source(&self) -> &'static str {
        match self {
            Self::Exponential => "Jackson 1963; Gordon and Newell 1967",
            Self::Insensitive => "Cohen 1979; Kelly 1979",
        }
    }

    fn letter(&self, service: &Service) -> &'static str {
        if matches!(self, Self::Exponential) || service.is_exponential() { "M" } else { "G" }
    }
}

/// The name of a server in Kendall's notation, without its first letters.
fn ending(server: &Server) -> String {
    let name = server.discipline().to_string().to_uppercase();
    let rates = if server.rates().is_some() { ", load-dependent" } else { "" };
    let capacity = server.capacity().map_or_else(String::new, |capacity| format!("/{capacity}"));
    format!("{}{capacity} {name}{rates}", server.servers())
}

/// Poisson arrivals of single requests.
pub(super) fn open(rate: f64, pattern: &Pattern, server: &Server, service: &Service) -> Result<Finding, Error> {
    if !matches!(pattern, Pattern::Poisson(Batch::Single | Batch::Fixed(1))) {
        return Ok(Finding::none(
            "GI/G/1",
            "load-dependent rates with arrivals that are not a Poisson process of single requests",
        ));
    }
    let Some(chain) = chain(server, service) else { return Ok(none(format!("M/G/{}", ending(server)), server)) };
    let capacity = server.capacity().map(u64::from);
    let found = solve(&server.total_rates(), capacity, service.mean(), rate)?;
    let mut before = "Poisson arrivals".to_owned();
    if let Some(capacity) = capacity {
        before += &format!("; an arrival that finds {capacity} requests in the system is rejected and not retried");
    }
    let known = SteadyState {
        rejected_share: capacity.map(|_| found.rejected_share),
        ..known(&found, capacity, server, service, &chain)
    };
    let name = format!("M/{}/{}", chain.letter(service), ending(server));
    Ok(Finding::known(name, known, chain.assumption(&before)))
}

/// Sessions with Poisson arrivals, `rate` requests per second.
pub(super) fn partly_open(rate: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let name = format!("partly-open M/G/{}", ending(server));
    let Some(chain) = chain(server, service) else { return Ok(none(name, server)) };
    // A station of a network with product form has the same number of requests as with Poisson arrivals.
    let found = solve(&server.total_rates(), None, service.mean(), rate)?;
    let before = "Poisson sessions; the think time and the distribution of session lengths do not matter";
    Ok(Finding::known(name, known(&found, None, server, service, &chain), chain.assumption(before)))
}

/// N users with mean think time `think`, seconds.
pub(super) fn closed(
    users: u64,
    think: f64,
    exponential_think: bool,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let capacity = server.capacity().map(u64::from).filter(|capacity| *capacity < users);
    let name = format!("closed M/G/{}, {users} users", ending(server));
    let Some(chain) = chain(server, service) else { return Ok(none(name, server)) };
    if capacity.is_some() && !exponential_think {
        return Ok(Finding::none(name, "where requests are rejected the think time must be exponential, but is not"));
    }
    let found = closed::solve(&server.total_rates(), capacity, service.mean(), users, think)?;
    let before = capacity.map_or_else(
        || "any think times with this mean".to_owned(),
        |capacity| {
            format!("exponential think times; the user of a request that finds {capacity} requests thinks again")
        },
    );
    let known = SteadyState {
        rejected_share: capacity.map(|_| found.rejected_share),
        ..known(&found, Some(capacity.unwrap_or(users)), server, service, &chain)
    };
    Ok(Finding::known(name, known, chain.assumption(&before)))
}

fn none(model: String, server: &Server) -> Finding {
    let what = if server.rates().is_some() { "load-dependent rates" } else { "limited capacity" };
    Finding::none(model, format!("{what} with this service distribution under {}", server.discipline()))
}

/// The metrics of a station with at most `most` requests.
fn known(found: &LoadDependent, most: Option<u64>, server: &Server, service: &Service, chain: &Chain) -> SteadyState {
    let load = found.throughput * service.mean() / server.total_rates().lasting(most);
    // Where requests have classes, the chain is insensitive, and the mean response of a class is proportional to its service time.
    let stretch = found.response / service.mean();
    let classes = service.parts().into_iter().map(|(name, share, part)| ClassMetrics {
        name: name.to_owned(),
        rate: found.throughput * share,
        response: part.mean() * stretch,
        percentiles: None,
    });
    SteadyState {
        in_system: found.in_system,
        classes: classes.collect(),
        ..SteadyState::at(found.response, found.throughput, load, "birth-death chain", chain.source())
    }
}
