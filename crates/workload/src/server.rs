//! Models of servers for simulations: one server, or a network of stations.

use crate::engine::Engine;
use crate::policy::Policy;
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
}

impl Server {
    /// A model with this number of parallel servers, discipline and service time, and unlimited capacity.
    ///
    /// # Errors
    /// No servers.
    pub fn new(servers: u32, discipline: Policy, service: Distribution) -> Result<Self, InvalidValue> {
        match servers {
            0 => Err(InvalidValue::new("there must be at least 1 server")),
            _ => Ok(Self { servers, discipline, service, capacity: None, cancel: false }),
        }
    }

    /// m.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The scheduling policy.
    pub fn discipline(&self) -> Policy {
        self.discipline
    }

    /// A model of an engine for language models, with unlimited capacity. The demands of requests follow from their tokens.
    pub fn of_engine(engine: Engine) -> Self {
        let service = Distribution::constant(0.0).expect("zero is a constant");
        Self { servers: 1, discipline: Policy::Batch(engine), service, capacity: None, cancel: false }
    }

    /// The distribution of service demands (the papers' S), in seconds; zero for an engine, where they follow from the tokens of a request.
    pub fn service(&self) -> &Distribution {
        &self.service
    }

    /// Maximum number of requests in the system, including those in service; further requests are refused. `None`: unlimited.
    pub fn capacity(&self) -> Option<u32> {
        self.capacity
    }

    /// Whether a waiting request leaves the queue when its client gives up.
    pub fn cancel(&self) -> bool {
        self.cancel
    }
}

/// One station of a modelled network: a `[[station]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    pub(super) name: String,
    pub(super) visits: f64,
    pub(super) server: Server,
}

impl Station {
    /// The name, unique among the stations.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Mean number of visits of a request, above zero.
    pub fn visits(&self) -> f64 {
        self.visits
    }

    /// The server of the station; its service time is that of one visit, and its capacity is unlimited.
    pub fn server(&self) -> &Server {
        &self.server
    }
}
