//! What stands in the place of the real server where there is none: a modelled one, or a network of stations.

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
}

impl Server {
    /// So many servers that work by this discipline, with capacity for any number of requests.
    ///
    /// # Errors
    /// No servers.
    pub fn new(servers: u32, discipline: Policy, service: Distribution) -> Result<Self, InvalidValue> {
        match servers {
            0 => Err(InvalidValue::new("there must be at least 1 server")),
            _ => Ok(Self { servers, discipline, service, capacity: None }),
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

    /// The distribution of service demands (the papers' S), in seconds.
    pub fn service(&self) -> &Distribution {
        &self.service
    }

    /// Room for so many requests, those being served included; who finds it full is refused. `None`: for any number.
    pub fn capacity(&self) -> Option<u32> {
        self.capacity
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
    /// Its name, unlike the others'.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often a request comes by on average, above zero.
    pub fn visits(&self) -> f64 {
        self.visits
    }

    /// Who works there; the service distribution is that of one visit, and there is capacity for everybody.
    pub fn server(&self) -> &Server {
        &self.server
    }
}
