//! Builds the modelled server of a workload.

use offered_base::{InvalidValue, Nanos, Seed};
use offered_schedule::Sessions;
use offered_schedule::arrivals::{Batch, Process};
use offered_stats::queue::{QueueCorrelation, ServiceOrder};
use offered_workload::Station as Specified;
use offered_workload::{Rates, Server, WhenFull, Workload};

use crate::Error;
use crate::discipline::{Network, Region, Regions, Station};
use crate::drive::ServiceDemands;
use crate::policy::{BuildDiscipline, DisciplineVisitor, Policy, ServerConfig};
use crate::saturation::ConstantJobs;
use crate::stop::Stop;

/// A checked modelled server: one station, or several that every request visits.
#[derive(Clone, Debug)]
pub struct ModelledServer {
    /// Policy of the first station.
    pub policy: Policy,
    config: ServerConfig,
    /// Total rates of a single server.
    rates: Rates,
    capacity: Option<u32>,
    /// Number of users of a closed system.
    users: Option<u64>,
    /// The stations of a network; empty for a single server.
    tour: Vec<(Policy, Specified)>,
    regions: Vec<Region>,
}

impl ModelledServer {
    /// The modelled server of `workload` with these demands of its requests.
    ///
    /// # Errors
    /// The workload has no `[server]`, or its discipline does not fit the workload.
    pub fn new(workload: &Workload, demands: &ServiceDemands) -> Result<Self, InvalidValue> {
        let (class_means, seed) = (demands.class_means(), workload.seed());
        let config = |server: &Server| config(server, class_means.clone(), seed);
        let users = match workload.sessions() {
            Sessions::Closed(closed) => Some(closed.users()),
            _ => None,
        };
        let modelled = if let Some(server) = workload.server() {
            Self {
                policy: server.discipline(),
                config: config(server),
                rates: server.total_rates(),
                capacity: server.capacity(),
                users,
                tour: Vec::new(),
                regions: Vec::new(),
            }
        } else {
            if workload.has_own_work() {
                return Err(InvalidValue::new(
                    "a [[station]] determines the service time of its visits; remove `service` from the requests (or the work from the trace)",
                ));
            }
            let tour: Vec<_> = workload.stations().iter().map(|s| (s.server().discipline(), s.clone())).collect();
            let regions = regions(workload);
            let is_whole = |region: &&Region| region.rejects && region.stations.len() == tour.len();
            let (policy, first) = tour.first().ok_or_else(|| {
                InvalidValue::new("the workload has no [server] to simulate; add for example `server = { discipline = \"ps\", service = { exponential = \"10ms\" } }`")
            })?;
            Self {
                policy: *policy,
                config: config(first.server()),
                rates: first.server().total_rates(),
                capacity: regions.iter().filter(is_whole).map(|region| region.capacity).min(),
                users,
                tour,
                regions,
            }
        };
        modelled.build(Check)?;
        Ok(modelled)
    }

    /// Maximum number of requests in the system; `None` means unlimited.
    pub fn capacity(&self) -> Option<u32> {
        self.capacity
    }

    /// Whether no request is rejected.
    pub fn admits_all(&self) -> bool {
        self.capacity.is_none() && !self.regions.iter().any(|region| region.rejects)
    }

    /// Whether requests are rejected that are inside the system already.
    pub(crate) fn rejects_inside(&self) -> bool {
        self.regions.iter().any(|region| region.rejects && region.stations.len() < self.tour.len())
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
            let discipline = policy.boxed(&config(server, class_means, self.config.seed))?;
            Ok(Station { discipline, service: server.service().clone(), visits: station.visits() })
        };
        let stations = self.tour.iter().map(station).collect::<Result<Vec<_>, InvalidValue>>()?;
        let regions = Regions::new(stations.len(), self.regions.clone());
        Ok(visitor.visit(Network::new(stations, regions, self.config.seed)?))
    }

    /// Service demand per request at the busiest station over its total rate, seconds; its inverse is the capacity. `None` when
    /// every request has its own server everywhere. Infinite if the rate falls towards zero with an unlimited number of
    /// requests.
    pub fn bottleneck(&self, demands: &ServiceDemands) -> Option<f64> {
        let most = [self.capacity.map(u64::from), self.users].into_iter().flatten().min();
        let one = (self.policy, demands.mean_at_capacity(), self.rates.lasting(most));
        let many = |(k, (policy, station)): (usize, &(Policy, Specified))| {
            let server = station.server();
            let around = self.regions.iter().filter(|region| region.stations.contains(&k));
            let most = around.map(|region| u64::from(region.capacity)).chain(most).min();
            (*policy, server.service().mean() * station.visits(), server.total_rates().lasting(most))
        };
        let stations: Vec<_> =
            if self.tour.is_empty() { vec![one] } else { self.tour.iter().enumerate().map(many).collect() };
        let busy = stations.into_iter().filter(|(policy, ..)| *policy != Policy::Infinite);
        busy.map(|(_, demand, rate)| demand / rate).reduce(f64::max)
    }

    /// Load per server that an open or partly-open workload offers to its busiest station; `None` for other workloads.
    pub(crate) fn offered_load(&self, workload: &Workload, demands: &ServiceDemands) -> Option<f64> {
        Some(workload.scheduled_rate()? * self.bottleneck(demands)?)
    }

    /// Why the queue of an open or partly-open workload grows without end in a simulation until `stop`; `None` if it does not.
    pub(crate) fn instability(
        &self,
        workload: &Workload,
        demands: &ServiceDemands,
        stop: Stop,
    ) -> Result<Option<Error>, InvalidValue> {
        if workload.time_limits().is_some() && stop == Stop::Duration {
            // Time limits end every request, whatever the queue.
            return Ok(None);
        }
        let Some(rate) = workload.scheduled_rate().filter(|_| self.admits_all()) else { return Ok(None) };
        if let Some(load) = self.offered_load(workload, demands).filter(|load| *load >= 1.0) {
            return Ok(Some(Error::unstable(load)));
        }
        for (region, specified) in self.regions.iter().zip(workload.regions()) {
            let visits = region.stations.iter().map(|station| self.tour[*station].1.visits()).sum();
            let Some(jobs) = ConstantJobs::new(region.capacity, visits) else { continue };
            let (throughput, certain) = self.alone(region).build(jobs)?;
            if rate >= certain {
                let offered_workload::Region { name, capacity, .. } = specified;
                return Ok(Some(Error::Saturated { region: name, capacity, throughput, rate }));
            }
        }
        Ok(None)
    }

    /// The correlation of responses at one station of speed 1 without priorities, where single requests or sessions arrive at a constant
    /// rate; `None` for any other system.
    pub(crate) fn queue_correlation(&self, workload: &Workload, demands: &ServiceDemands) -> Option<QueueCorrelation> {
        let is_plain = self.tour.is_empty() && self.config.rates.is_none();
        let order = match self.policy {
            Policy::Fcfs => ServiceOrder::Arrivals,
            Policy::Lcfs { .. } | Policy::Ps(None) => ServiceOrder::Other,
            Policy::Srpt | Policy::Size(_) | Policy::Fb => ServiceOrder::Sizes,
            _ => return None,
        };
        if !is_plain || !self.admits_all() || workload.time_limits().is_some() {
            return None;
        }
        // Half the variance of the arriving work, relative to that of a Poisson process of constant work.
        let (schedule, arrivals) = match workload.sessions() {
            Sessions::Open(schedule) => match schedule.process() {
                Process::Poisson => (schedule, 1.0),
                Process::Constant => (schedule, 0.0),
                Process::Renewal(gaps) => (schedule, gaps.scv()),
                Process::FixedCount | Process::Modulated(_) => return None,
            },
            // E[N^2] / E[N] of a geometric number of requests N per session.
            Sessions::PartlyOpen { schedule, length, .. } if *schedule.process() == Process::Poisson => {
                let stay = length.stay()?;
                (schedule, (1.0 + stay) / (1.0 - stay))
            }
            _ => return None,
        };
        let is_constant = schedule.rate().as_constant().is_some() && schedule.batch() == Batch::Single;
        let variability = is_constant.then(|| f64::midpoint(arrivals, demands.scv()))?;
        QueueCorrelation::new(self.offered_load(workload, demands)?, variability, order)
    }

    /// The stations of a region, with the regions inside it.
    fn alone(&self, outer: &Region) -> Self {
        let place = |station: &usize| outer.stations.iter().position(|own| own == station);
        let inside = |region: &Region| {
            let stations: Vec<usize> = region.stations.iter().filter_map(place).collect();
            let is_inside = region != outer && stations.len() == region.stations.len();
            is_inside.then(|| Region { stations, ..region.clone() })
        };
        let tour: Vec<_> = outer.stations.iter().map(|station| self.tour[*station].clone()).collect();
        Self { policy: tour[0].0, tour, regions: self.regions.iter().filter_map(inside).collect(), ..self.clone() }
    }

    /// The disciplines of the stations as workload files write them, without consecutive duplicates.
    pub(crate) fn disciplines_as_text(&self) -> String {
        let mut texts: Vec<String> = self.tour.iter().map(|(policy, _)| policy.to_string()).collect();
        texts.dedup();
        if texts.is_empty() { self.policy.to_string() } else { texts.join(", ") }
    }

    /// The service distributions as workload files write them, each after the name of its station in a network.
    pub(crate) fn distributions_as_text(&self, demands: &ServiceDemands) -> String {
        let of = |(_, station): &(Policy, Specified)| format!("{} {}", station.name(), station.server().service());
        let texts: Vec<String> = self.tour.iter().map(of).collect();
        if texts.is_empty() { demands.distributions_as_text() } else { texts.join(", ") }
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

    /// Mean number of services of a request that are longer than `size`, in seconds, at a server of speed 1.
    pub(crate) fn services_above(&self, demands: &ServiceDemands, size: f64) -> f64 {
        match self.tour.is_empty() {
            true => demands.tail(size),
            false => self.tour.iter().map(|(_, at)| at.visits() * at.server().service().tail(size)).sum(),
        }
    }

    /// Number of servers; `None` if the number of jobs does not determine the number of busy servers.
    pub fn counted_servers(&self) -> Option<u32> {
        let is_counted = self.tour.is_empty()
            && self.config.rates.is_none()
            && self.policy != Policy::Infinite
            && self.policy.engine().is_none();
        is_counted.then_some(self.config.servers)
    }
}

/// The regions of a network.
fn regions(workload: &Workload) -> Vec<Region> {
    let names: Vec<&str> = workload.stations().iter().map(Specified::name).collect();
    let index = |name: &String| names.iter().position(|known| known == name);
    let region = |region: offered_workload::Region| Region {
        stations: region.stations.iter().filter_map(index).collect(),
        capacity: region.capacity,
        rejects: region.when_full == WhenFull::Reject,
    };
    workload.regions().into_iter().map(region).collect()
}

/// The configuration of a server whose requests have these mean sizes by class.
fn config(server: &Server, class_means: Vec<Nanos>, seed: Seed) -> ServerConfig {
    let rates = server.rates().map(|_| server.total_rates());
    ServerConfig { servers: server.servers(), class_means, seed, rates }
}

/// Builds a discipline and drops it.
struct Check;

impl DisciplineVisitor for Check {
    type Output = ();
    fn visit<D: crate::Discipline + Send + 'static>(self, _: D) {}
}
