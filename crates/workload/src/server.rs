//! Models of servers for simulations: one server, or a network of stations.

use crate::engine::Engine;
use crate::policy::Policy;
use crate::{Rates, Workload};
use offered_base::InvalidValue;
use offered_distributions::Distribution;

/// The modelled server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub(super) servers: u32,
    pub(super) discipline: Policy,
    pub(super) service: Distribution,
    pub(super) capacity: Option<u32>,
    pub(super) cancel: bool,
    pub(super) rates: Option<Rates>,
}

impl Server {
    /// A model with this number of parallel servers, discipline and service time, and unlimited capacity.
    ///
    /// # Errors
    /// No servers.
    pub fn new(servers: u32, discipline: Policy, service: Distribution) -> Result<Self, InvalidValue> {
        match servers {
            0 => Err(InvalidValue::new("there must be at least 1 server")),
            _ => Ok(Self { servers, discipline, service, capacity: None, cancel: false, rates: None }),
        }
    }

    /// Sets load-dependent rates. They replace the speeds of its servers; the number of servers then
    /// becomes the number of requests that the discipline serves at once.
    ///
    /// # Errors
    /// The discipline cannot have load-dependent rates, or cannot have a number of servers with them.
    pub fn with_rates(self, rates: Rates) -> Result<Self, InvalidValue> {
        let shares = matches!(self.discipline, Policy::Ps(_) | Policy::PsByClass(_));
        let wrong = match self.discipline {
            Policy::Infinite => "infinite serves every request at speed 1; write discipline = \"ps\" with these rates",
            Policy::Batch(_) => "cannot be combined with engine: its steps depend on the number of sequences",
            _ if self.cancel => "cannot be combined with cancel; remove one",
            _ if shares && self.servers > 1 => {
                "are the total rate that all requests share under this discipline, so `servers` has no effect; remove it"
            }
            _ => return Ok(Self { rates: Some(rates), ..self }),
        };
        Err(InvalidValue::new(wrong))
    }

    /// The number of servers, m.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The scheduling policy.
    pub fn discipline(&self) -> Policy {
        self.discipline
    }

    /// A model of an engine for language models, with unlimited capacity. The tokens of a request determine its demand.
    pub fn of_engine(engine: Engine) -> Self {
        let service = Distribution::constant(0.0).expect("zero is a constant");
        Self { servers: 1, discipline: Policy::Batch(engine), service, capacity: None, cancel: false, rates: None }
    }

    /// The distribution of service demands (the papers' S), in seconds; zero for an engine, where the tokens of a
    /// request determine its demand.
    pub fn service(&self) -> &Distribution {
        &self.service
    }

    /// Maximum number of requests in the system, including those in service; further requests are refused. `None`: unlimited.
    pub fn capacity(&self) -> Option<u32> {
        self.capacity
    }

    /// Load-dependent rates; `None`: each server has speed 1.
    pub fn rates(&self) -> Option<&Rates> {
        self.rates.as_ref()
    }

    /// Total service rate by the number of requests present, in units of a server of speed 1. Under `ps:N` at most N requests count.
    pub fn total_rates(&self) -> Rates {
        let rates = self.rates.clone().unwrap_or_else(|| Rates::servers(self.servers));
        match self.discipline {
            Policy::Ps(Some(limit)) | Policy::PsByClass(limit) => rates.up_to(u64::from(limit)),
            _ => rates,
        }
    }

    /// Largest total service rate, in units of a server of speed 1; `None` if it grows without bound with the number of
    /// requests.
    pub fn largest_rate(&self) -> Option<f64> {
        let most = self.capacity.map_or(u64::MAX, u64::from);
        // The rate of a server for each request is the number of requests.
        Some(self.total_rates().lasting(Some(most))).filter(|rate| *rate < 1e18)
    }

    /// Whether a waiting request leaves the queue when its client gives up.
    pub fn cancel(&self) -> bool {
        self.cancel
    }
}

offered_base::named! {
    /// The behaviour of a request that finds a region full.
    pub enum WhenFull {
        /// The request is rejected.
        Reject = "reject",
        /// The request waits outside, first come, first served.
        Wait = "wait",
    }
}

/// A region of a modelled network with a limited capacity (finite capacity region): a `[[region]]`, or a `[[station]]` with a `capacity`.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The name, unique in regions and stations; for a station with a `capacity`, the name of the station.
    pub name: String,
    /// The names of its stations.
    pub stations: Vec<String>,
    /// Maximum number of requests at all its stations together, waiting and in service.
    pub capacity: u32,
    /// The behaviour of requests that arrive when the region is full.
    pub when_full: WhenFull,
}

impl Workload {
    /// The modelled server; `None` if there is none, or if a network replaces it.
    pub fn server(&self) -> Option<&Server> {
        self.0.server.as_ref()
    }

    /// The modelled network that replaces the server, with the mean number of visits to each station; otherwise empty.
    pub fn stations(&self) -> &[Station] {
        &self.0.stations
    }

    /// The regions of the network, and its stations with a capacity. Two regions are disjoint, or one contains the other.
    pub fn regions(&self) -> Vec<Region> {
        let own = |station: &Station| {
            let capacity = station.server.capacity?;
            let Station { name, when_full, .. } = station;
            Some(Region { name: name.clone(), stations: vec![name.clone()], capacity, when_full: *when_full })
        };
        self.0.regions.iter().cloned().chain(self.0.stations.iter().filter_map(own)).collect()
    }
}

/// One station of a modelled network: a `[[station]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    pub(super) name: String,
    pub(super) visits: f64,
    pub(super) server: Server,
    pub(super) when_full: WhenFull,
}

impl Station {
    /// The unique name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Mean number of visits of a request, above zero.
    pub fn visits(&self) -> f64 {
        self.visits
    }

    /// The server of the station; its service time is that of one visit.
    pub fn server(&self) -> &Server {
        &self.server
    }
}
