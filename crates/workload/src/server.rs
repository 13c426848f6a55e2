//! Models of servers for simulations: one server, or a network of stations.

use crate::Rates;
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

    /// The same server with load-dependent rates. They replace those of its servers, whose number then is that of the requests that the
    /// discipline serves at once.
    ///
    /// # Errors
    /// The discipline has no load-dependent rates, or no number of servers with them.
    pub fn with_rates(self, rates: Rates) -> Result<Self, InvalidValue> {
        let shares = matches!(self.discipline, Policy::Ps(_) | Policy::PsByClass(_));
        let wrong = match self.discipline {
            Policy::Infinite => "infinite serves every request at speed 1; write discipline = \"ps\" with these rates",
            Policy::Batch(_) => "do not go with engine, whose steps depend on the number of sequences",
            _ if self.cancel => "do not go with cancel; remove one",
            _ if shares && self.servers > 1 => {
                "are the total rate that all requests share under this discipline, so `servers` has no effect; remove it"
            }
            _ => return Ok(Self { rates: Some(rates), ..self }),
        };
        Err(InvalidValue::new(wrong))
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
        Self { servers: 1, discipline: Policy::Batch(engine), service, capacity: None, cancel: false, rates: None }
    }

    /// The distribution of service demands (the papers' S), in seconds; zero for an engine, where they follow from the tokens of a request.
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

    /// Total service rate by the number of requests present, in units of a server of speed 1. Under `ps:N` at most N of them count.
    pub fn total_rates(&self) -> Rates {
        let rates = self.rates.clone().unwrap_or_else(|| Rates::servers(self.servers));
        match self.discipline {
            Policy::Ps(Some(limit)) | Policy::PsByClass(limit) => rates.up_to(u64::from(limit)),
            _ => rates,
        }
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
