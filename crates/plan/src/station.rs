//! Stations of a network, and the results of a solver for each.

use offered_workload::Rates;

use crate::Error;
use crate::error::{not_negative, positive, some};

/// One station of a network: the visits of a request and the service time of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Name of the station in tables.
    pub name: String,
    /// Mean visits of one request.
    pub visits: f64,
    /// Mean service time of one visit, seconds.
    pub service: f64,
    /// Number of servers, or a delay.
    pub kind: StationKind,
}

/// How a station serves the requests that are present.
#[derive(Clone, Debug, PartialEq)]
pub enum StationKind {
    /// `servers` servers with one queue.
    Queue {
        /// m, number of servers; at least 1.
        servers: u32,
    },
    /// A total rate that depends on the number of requests present.
    LoadDependent(Rates),
    /// Every request is served at once; none waits.
    Delay,
}

impl Station {
    /// A single server that each request visits once.
    ///
    /// # Errors
    /// The service time is not above zero.
    pub fn queue(name: impl Into<String>, service: f64) -> Result<Self, Error> {
        Self::new(name, 1.0, service, StationKind::Queue { servers: 1 })
    }

    /// A station with all its properties.
    ///
    /// # Errors
    /// The visits or the service time are not above zero, or there are no servers.
    pub fn new(name: impl Into<String>, visits: f64, service: f64, kind: StationKind) -> Result<Self, Error> {
        positive("visits to a station", visits)?;
        positive("a service time", service)?;
        if let StationKind::Queue { servers } = kind {
            some("the number of servers", u64::from(servers))?;
        }
        Ok(Self { name: name.into(), visits, service, kind })
    }

    /// D = visits x S, seconds per request.
    pub fn demand(&self) -> f64 {
        self.visits * self.service
    }

    /// The total rate that the station sustains with at most `most` requests (`None`: unlimited), in units of a server
    /// of speed 1.
    pub fn lasting_rate(&self, most: Option<u64>) -> f64 {
        match &self.kind {
            StationKind::Queue { servers } => f64::from(*servers),
            StationKind::LoadDependent(rates) => rates.lasting(most),
            StationKind::Delay => f64::INFINITY,
        }
    }

    /// Maximum throughput in requests per second with at most `most` requests in the network; infinite for a delay.
    pub fn capacity(&self, most: Option<u64>) -> f64 {
        self.lasting_rate(most) / self.demand()
    }
}

/// Checks the arguments that every closed solver needs.
pub(crate) fn check_closed(stations: &[Station], users: u64, think: f64) -> Result<(), Error> {
    if stations.is_empty() {
        return Err(Error::Empty { what: "stations" });
    }
    some("the number of users", users)?;
    not_negative("the think time", think)?;
    Ok(())
}

/// Steady-state metrics of one station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationMetrics {
    /// Name of the station.
    pub name: String,
    /// Time a request spends here in all its visits, seconds.
    pub residence: f64,
    /// Q, mean number of requests at the station.
    pub in_system: f64,
    /// U, utilisation of each server: with load-dependent rates the throughput over the largest one; for a delay, the mean number of
    /// requests.
    pub utilisation: f64,
    /// Visits per second.
    pub throughput: f64,
}

/// Steady-state metrics of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// X, requests per second.
    pub throughput: f64,
    /// R, mean response time over all stations, seconds.
    pub response: f64,
    /// Q, mean number of requests at all stations.
    pub in_system: f64,
    /// Metrics of each station, in the order given.
    pub stations: Vec<StationMetrics>,
}

impl Solution {
    /// Computes all metrics from the throughput and the residence time at each station. `most` is the number of users; `None` in an open
    /// network.
    pub(crate) fn of(stations: &[Station], throughput: f64, residence: &[f64], most: Option<u64>) -> Self {
        let at = |(station, residence): (&Station, &f64)| StationMetrics {
            name: station.name.clone(),
            residence: *residence,
            in_system: throughput * residence,
            utilisation: match station.kind {
                StationKind::Delay => throughput * station.demand(),
                _ => throughput * station.demand() / station.lasting_rate(most),
            },
            throughput: throughput * station.visits,
        };
        let response: f64 = residence.iter().sum();
        let stations = stations.iter().zip(residence).map(at).collect();
        Self { throughput, response, in_system: throughput * response, stations }
    }
}
