//! Stations of a network, and what a solver says about each.

use crate::Error;
use crate::error::{not_negative, positive, some};

/// One station of a network: how often a request visits it and how long each visit is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// What it is called in tables.
    pub name: String,
    /// Mean visits of one request.
    pub visits: f64,
    /// Mean service time of one visit, seconds.
    pub service: f64,
    /// How it serves.
    pub kind: Kind,
}

/// How a station serves those who are there together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// So many servers and one queue.
    Queue {
        /// m, at least 1.
        servers: u32,
    },
    /// Everybody at once, nobody waits.
    Delay,
}

impl Station {
    /// A single server visited once.
    ///
    /// # Errors
    /// A service time that is not above zero.
    pub fn queue(name: impl Into<String>, service: f64) -> Result<Self, Error> {
        Self::new(name, 1.0, service, Kind::Queue { servers: 1 })
    }

    /// With all its properties.
    ///
    /// # Errors
    /// Visits or service that are not above zero, or no servers.
    pub fn new(name: impl Into<String>, visits: f64, service: f64, kind: Kind) -> Result<Self, Error> {
        positive("visits to a station", visits)?;
        positive("a service time", service)?;
        if let Kind::Queue { servers } = kind {
            some("the number of servers", u64::from(servers))?;
        }
        Ok(Self { name: name.into(), visits, service, kind })
    }

    /// D = visits x S, seconds per request.
    pub fn demand(&self) -> f64 {
        self.visits * self.service
    }

    /// Number of servers; infinite for a delay.
    pub fn servers(&self) -> f64 {
        match self.kind {
            Kind::Queue { servers } => f64::from(servers),
            Kind::Delay => f64::INFINITY,
        }
    }

    /// Requests per second that it can finish: m / D, infinite for a delay.
    pub fn capacity(&self) -> f64 {
        self.servers() / self.demand()
    }
}

/// Checks what every closed solver needs.
pub(crate) fn closed_question(stations: &[Station], users: u64, think: f64) -> Result<(), Error> {
    if stations.is_empty() {
        return Err(Error::Empty { what: "stations" });
    }
    some("the number of users", users)?;
    not_negative("the think time", think)?;
    Ok(())
}

/// What a solver says about one station.
#[derive(Clone, Debug, PartialEq)]
pub struct AtStation {
    /// Its name.
    pub name: String,
    /// Time a request spends here in all its visits, seconds.
    pub residence: f64,
    /// Q, mean number here.
    pub in_system: f64,
    /// U, busy share of each server; the mean number here for a delay.
    pub utilisation: f64,
    /// Visits per second.
    pub throughput: f64,
}

/// What a solver says about a whole network.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// X, requests per second.
    pub throughput: f64,
    /// R, seconds.
    pub response: f64,
    /// Q, mean number at the stations.
    pub in_system: f64,
    /// Each station, in the order given.
    pub stations: Vec<AtStation>,
}

impl Solution {
    /// From the throughput and the residence time at each station.
    pub(crate) fn of(stations: &[Station], throughput: f64, residence: &[f64]) -> Self {
        let at = |(station, residence): (&Station, &f64)| AtStation {
            name: station.name.clone(),
            residence: *residence,
            in_system: throughput * residence,
            utilisation: match station.kind {
                Kind::Queue { servers } => throughput * station.demand() / f64::from(servers),
                Kind::Delay => throughput * station.demand(),
            },
            throughput: throughput * station.visits,
        };
        let response: f64 = residence.iter().sum();
        let stations = stations.iter().zip(residence).map(at).collect();
        Self { throughput, response, in_system: throughput * response, stations }
    }
}
