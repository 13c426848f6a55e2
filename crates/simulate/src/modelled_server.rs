//! Builds the modelled server of a workload.

use offered_base::{InvalidValue, Nanos};
use offered_workload::Station as Specified;
use offered_workload::Workload;

use crate::discipline::{Network, Station};
use crate::drive::ServiceDemands;
use crate::policy::{BuildDiscipline, DisciplineVisitor, Policy, ServerConfig};

/// A checked modelled server: one station, or several that every request visits.
#[derive(Clone, Debug)]
pub struct ModelledServer {
    /// Policy of the first station.
    pub policy: Policy,
    config: ServerConfig,
    capacity: Option<u32>,
    /// The stations of a network; empty for a single server.
    tour: Vec<(Policy, Specified)>,
}

impl ModelledServer {
    /// The modelled server of `workload` with these demands of its requests.
    ///
    /// # Errors
    /// The workload has no `[server]`, or its discipline does not fit the workload.
    pub fn new(workload: &Workload, demands: &ServiceDemands) -> Result<Self, InvalidValue> {
        let config = |servers| ServerConfig { servers, class_means: demands.class_means(), seed: workload.seed() };
        let modelled = if let Some(server) = workload.server() {
            Self {
                policy: server.discipline(),
                config: config(server.servers()),
                capacity: server.capacity(),
                tour: Vec::new(),
            }
        } else {
            if workload.has_own_work() {
                return Err(InvalidValue::new(
                    "a [[station]] determines the service time of its visits; remove `service` from the requests (or the work from the trace)",
                ));
            }
            let tour: Vec<_> = workload.stations().iter().map(|s| (s.server().discipline(), s.clone())).collect();
            let (policy, first) = tour.first().ok_or_else(|| {
                InvalidValue::new("the workload has no [server] to simulate; add for example `server = { discipline = \"ps\", service = { exponential = \"10ms\" } }`")
            })?;
            Self { policy: *policy, config: config(first.server().servers()), capacity: None, tour }
        };
        modelled.build(Check)?;
        Ok(modelled)
    }

    /// Maximum number of requests in the system; `None` means unlimited.
    pub fn capacity(&self) -> Option<u32> {
        self.capacity
    }

    /// Builds the discipline, empty, and passes it to `visitor` with its concrete type.
    ///
    /// # Errors
    /// As [`BuildDiscipline::build`].
    pub fn build<U: DisciplineVisitor>(&self, visitor: U) -> Result<U::Output, InvalidValue> {
        if self.tour.is_empty() {
            return self.policy.build(&self.config, visitor);
        }
        let station = |(policy, station): &(Policy, Specified)| {
            // The station determines the service time, so all classes have equal sizes.
            let server = station.server();
            let mean = Nanos::from_secs_f64(server.service().mean());
            let class_means = vec![mean; self.config.class_means.len()];
            let config = ServerConfig { servers: server.servers(), class_means, seed: self.config.seed };
            let discipline = policy.boxed(&config)?;
            Ok(Station { discipline, service: server.service().clone(), visits: station.visits() })
        };
        let stations = self.tour.iter().map(station).collect::<Result<Vec<_>, InvalidValue>>()?;
        Ok(visitor.visit(Network::new(stations, self.config.seed)?))
    }

    /// Service demand per request and server at the busiest station, seconds; its inverse is the capacity. `None` when
    /// every request has its own server everywhere.
    pub fn bottleneck(&self, demands: &ServiceDemands) -> Option<f64> {
        let one = (self.policy, demands.mean_at_capacity(), 1.0, self.config.servers);
        let many = |(p, s): &(Policy, Specified)| (*p, s.server().service().mean(), s.visits(), s.server().servers());
        let stations: Vec<_> = if self.tour.is_empty() { vec![one] } else { self.tour.iter().map(many).collect() };
        let busy = stations.into_iter().filter(|(policy, ..)| *policy != Policy::Infinite);
        busy.map(|(_, mean, visits, servers)| mean * visits / f64::from(servers)).reduce(f64::max)
    }

    /// Policy, number of servers, and E\[S^2\] and E\[S^4\] of the service times at each station.
    pub(crate) fn second_and_fourth_moments(&self, demands: &ServiceDemands) -> Vec<(Policy, u32, [f64; 2])> {
        let many = |(policy, station): &(Policy, Specified)| {
            let service = station.server().service();
            (*policy, station.server().servers(), [service.second_moment(), service.fourth_moment()])
        };
        match self.tour.is_empty() {
            true => vec![(self.policy, self.config.servers, demands.second_and_fourth_moments())],
            false => self.tour.iter().map(many).collect(),
        }
    }

    /// Number of servers; `None` where the number of busy servers does not follow from the number of jobs.
    pub fn counted_servers(&self) -> Option<u32> {
        let is_counted = self.tour.is_empty() && self.policy != Policy::Infinite && self.policy.engine().is_none();
        is_counted.then_some(self.config.servers)
    }
}

/// Builds a discipline and drops it.
struct Check;

impl DisciplineVisitor for Check {
    type Output = ();
    fn visit<D: crate::Discipline + Send + 'static>(self, _: D) {}
}
