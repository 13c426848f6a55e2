//! Chooses the formula for a workload from its arrivals and its server, or reports that there is none ("simulate").
//!
//! Every result names its model and its source, and states its assumptions. Where there is neither a closed form nor a
//! chain to solve, [`Analysis::steady_state`] is `None` and the assumption gives the reason. Nothing is approximated
//! silently.

mod closed;
mod load_dependent;
mod network;
mod open;
mod partly_open;
mod region;
mod service;

use offered_base::Rate;
use offered_distributions::{Distribution, Shape};
use offered_schedule::arrivals::{Batch, Process, Schedule};
use offered_workload::{Policy, Server, WhenFull, Workload};

use crate::closed::RequestStream;
use crate::closed::bounds::{self, Bounds};
use crate::{Error, Percentiles, Solution, Station, StationKind, StationMetrics, load};
use service::Service;

/// The system model with its parameters. The think time is the only distribution in it; service times belong to the
/// server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum System {
    /// Arrivals that do not depend on the server.
    Open {
        /// Requests per second.
        rate: f64,
    },
    /// Sessions with Poisson arrivals.
    PartlyOpen {
        /// Sessions per second.
        sessions: f64,
        /// Mean number of requests per session.
        requests: f64,
        /// Whether session lengths are geometric.
        geometric: bool,
        /// Z, mean think time, seconds.
        think: f64,
        /// Whether think times are exponential.
        exponential: bool,
    },
    /// A fixed number of users.
    Closed {
        /// N, number of users.
        users: u64,
        /// Z, mean think time, seconds.
        think: f64,
        /// Whether think times are exponential.
        exponential: bool,
    },
}

/// The modelled server or network.
#[derive(Clone, Debug, PartialEq)]
enum Servers<'a> {
    /// One station, and the service time distributions of the requests.
    One(&'a Server, Service),
    /// A network and its regions.
    Network(&'a [offered_workload::Station], Vec<offered_workload::Region>),
}

/// Steady-state metrics, and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// R, mean response time of the admitted requests, seconds.
    pub response: f64,
    /// X, throughput, per second.
    pub throughput: f64,
    /// U, utilisation of each server; in a network, of the busiest queue.
    pub utilisation: f64,
    /// Q, mean number of requests in the system.
    pub in_system: f64,
    /// Standard deviation of R, seconds; `None` where no formula is known. Infinite where the third moment of the
    /// service is infinite.
    pub sdev: Option<f64>,
    /// Percentiles of R; `None` where no formula is known.
    pub percentiles: Option<Percentiles>,
    /// Regularity of the request stream of a closed system; `None` where no formula is known.
    pub request_stream: Option<RequestStream>,
    /// Share of arrivals rejected, 0 to 1; `None` where the capacity is unlimited.
    pub rejected_share: Option<f64>,
    /// Metrics of each station of a network; empty for a single station.
    pub stations: Vec<StationMetrics>,
    /// Metrics of each class of requests. Under priorities the most important class is first; otherwise the order is
    /// that of the workload. Empty if no formula gives the metrics of a class, and, without priorities, if all requests
    /// have the same service times.
    pub classes: Vec<ClassMetrics>,
    /// Whether the figures are an approximation.
    pub is_approximation: bool,
    /// Name of the method.
    pub method: &'static str,
    /// Publication of the method.
    pub source: &'static str,
}

/// Steady-state metrics of one class of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassMetrics {
    /// Name of the requests.
    pub name: String,
    /// Requests per second.
    pub rate: f64,
    /// R, mean response time, seconds.
    pub response: f64,
    /// Percentiles of R; `None` where they are not known.
    pub percentiles: Option<Percentiles>,
}

/// The result for one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Name of the model, such as `M/M/1`.
    pub model: String,
    /// Scheduling discipline; `network` for several stations.
    pub discipline: String,
    /// The system model; `None` where no formula covers the arrivals.
    pub system: Option<System>,
    /// rho: the offered load of the busiest station where arrivals do not depend on responses; its utilisation where
    /// they do.
    pub load: Option<f64>,
    /// Asymptotic bounds; `None` where the system is not closed.
    pub bounds: Option<Bounds>,
    /// The metrics; `None` where no formula is known.
    pub steady_state: Option<SteadyState>,
    /// The assumptions of the metrics, or the reason why there are none.
    pub assumption: String,
}

/// The largest number of busy servers. A pool of threads cannot keep more servers busy than it has threads.
fn most_busy(server: &Server) -> u32 {
    match server.discipline() {
        Policy::Ps(Some(threads)) | Policy::PsByClass(threads) => server.servers().min(threads),
        _ => server.servers(),
    }
}

/// Whether only the mean of the service time matters. This is true of symmetric disciplines (Kelly 1979); preemptive
/// LCFS with several servers is not one of them.
fn is_insensitive(server: &Server) -> bool {
    server.discipline() == Policy::Ps(None)
        || (server.discipline() == Policy::Lcfs { preemptive: true } && server.servers() == 1)
}

/// Whether the order of service depends neither on sizes nor on classes.
fn is_blind(server: &Server) -> bool {
    matches!(server.discipline(), Policy::Fcfs | Policy::Lcfs { .. } | Policy::Ps(_))
}

/// The name of a model with its metrics, or with the reason why there are none.
struct Finding {
    model: String,
    steady_state: Option<SteadyState>,
    assumption: String,
}

impl Finding {
    fn known(model: impl Into<String>, steady_state: SteadyState, assumption: impl Into<String>) -> Self {
        Self { model: model.into(), steady_state: Some(steady_state), assumption: assumption.into() }
    }

    fn none(model: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            steady_state: None,
            assumption: format!("no closed form: {}; simulate", reason.into()),
        }
    }
}

impl SteadyState {
    /// Metrics of one station; Q follows from the response by Little's law.
    fn at(response: f64, throughput: f64, load: f64, method: &'static str, source: &'static str) -> Self {
        Self {
            response,
            throughput,
            utilisation: load,
            in_system: throughput * response,
            sdev: None,
            percentiles: None,
            request_stream: None,
            rejected_share: None,
            stations: vec![],
            classes: vec![],
            is_approximation: false,
            method,
            source,
        }
    }

    /// Metrics of a network with at most `most` requests. Its utilisation is that of its busiest queue.
    fn network(
        network: &[Station],
        most: Option<u64>,
        solution: Solution,
        method: &'static str,
        source: &'static str,
    ) -> Self {
        let busiest = network.iter().map(|s| solution.throughput / s.capacity(most)).fold(0.0, f64::max);
        Self {
            in_system: solution.in_system,
            stations: solution.stations,
            ..Self::at(solution.response, solution.throughput, busiest, method, source)
        }
    }
}

impl System {
    /// The system model of a workload, or the reason why no formula covers it.
    fn of(workload: &Workload) -> Result<Self, &'static str> {
        let mean_think = workload.mean_think().unwrap_or(0.0);
        Ok(match workload.sessions() {
            offered_schedule::Sessions::Replay(_) => return Err("a trace has no closed form"),
            offered_schedule::Sessions::Scenarios(_) => return Err("several scenarios have no closed form"),
            offered_schedule::Sessions::Open(schedule) => Self::Open { rate: constant_rate(schedule)? },
            offered_schedule::Sessions::PartlyOpen { schedule, length, think, .. } => Self::PartlyOpen {
                sessions: match Pattern::of(schedule)? {
                    Pattern::Poisson(Batch::Single) => constant_rate(schedule)?,
                    _ => return Err("sessions do not arrive one by one as a Poisson process"),
                },
                requests: length.mean(),
                geometric: length.stay().is_some(),
                think: mean_think,
                exponential: matches!(think.shape(), Shape::Exponential(_)),
            },
            offered_schedule::Sessions::Closed(closed) if closed.pace().is_some() => {
                return Err("users start at a fixed pace");
            }
            offered_schedule::Sessions::Closed(closed) if closed.population().is_some() => {
                return Err("the number of users changes over time");
            }
            offered_schedule::Sessions::Closed(closed) => Self::Closed {
                users: closed.users(),
                think: mean_think,
                exponential: matches!(closed.think().shape(), Shape::Exponential(_))
                    && closed.flows().is_none_or(|flows| !flows.thinks()),
            },
        })
    }

    /// The same model with the rate, session rate or think time that produces `load` on `servers`.
    ///
    /// # Errors
    /// The load is outside (0, 1), the users cannot produce it, or there is no formula for the closed system.
    fn at_load(self, load: f64, pattern: &Pattern, servers: &Servers<'_>) -> Result<Self, Error> {
        let (m, service) = servers.slowest(self.users())?;
        Ok(match self {
            Self::Open { .. } => Self::Open { rate: load::open_rate(load, m, service)? },
            Self::PartlyOpen { requests, geometric, think, exponential, .. } => {
                let sessions = load::session_rate(load, m, service, 1.0 - 1.0 / requests)?;
                Self::PartlyOpen { sessions, requests, geometric, think, exponential }
            }
            Self::Closed { users, exponential, .. } => {
                let throughput = |think: f64| {
                    let answer = solve(Self::Closed { users, think, exponential }, pattern, servers)?;
                    answer.steady_state.map(|known| known.throughput).ok_or(Error::Unsupported(answer.assumption))
                };
                Self::Closed { users, think: load::closed_think(load, m, service, users, throughput)?, exponential }
            }
        })
    }

    /// Number of users; `None` where arrivals do not depend on responses.
    fn users(&self) -> Option<u64> {
        if let Self::Closed { users, .. } = self { Some(*users) } else { None }
    }

    /// Arrival rate in requests per second; `None` for a closed system, where it depends on the responses.
    pub fn arrival_rate(&self) -> Option<f64> {
        match self {
            Self::Open { rate } => Some(*rate),
            Self::PartlyOpen { sessions, requests, .. } => Some(sessions * requests),
            Self::Closed { .. } => None,
        }
    }
}

/// The pattern of the arrivals of an open system.
#[derive(Clone, Debug, PartialEq)]
enum Pattern {
    /// A Poisson process of batches.
    Poisson(Batch),
    /// Independent gaps with this distribution, scaled to the rate.
    Renewal(Distribution),
}

impl Pattern {
    /// The pattern, or the reason why no formula covers it.
    fn of(schedule: &Schedule) -> Result<Self, &'static str> {
        match (schedule.process(), schedule.batch()) {
            (Process::Poisson, batch) => Ok(Self::Poisson(batch)),
            (Process::Renewal(gaps), batch) if matches!(gaps.shape(), Shape::Exponential(_)) => {
                Ok(Self::Poisson(batch))
            }
            (Process::Renewal(gaps), Batch::Single) => Ok(Self::Renewal(gaps.clone())),
            (Process::Constant, Batch::Single) => {
                Ok(Self::Renewal(Distribution::constant(1.0).expect("one is a constant")))
            }
            (Process::Constant | Process::Renewal(_), _) => Err("requests arrive in batches"),
            (Process::FixedCount | Process::Modulated(_), _) => Err("the gaps between arrivals are not independent"),
        }
    }
}

/// The rate of the arrivals, per second, or the reason why no formula covers it.
fn constant_rate(schedule: &Schedule) -> Result<f64, &'static str> {
    schedule.rate().as_constant().map(Rate::per_sec).ok_or("the rate changes over time")
}

impl<'a> Servers<'a> {
    /// The modelled server or network of a workload.
    ///
    /// # Errors
    /// The workload has neither.
    fn of(workload: &'a Workload) -> Result<Self, Error> {
        match workload.server() {
            _ if !workload.stations().is_empty() => Ok(Self::Network(workload.stations(), workload.regions())),
            Some(server) if server.discipline().engine().is_some() => Err(Error::Unsupported(
                "no formula solves a batching engine; use `offered simulate`, which simulates it".into(),
            )),
            Some(server) => Ok(Self::One(server, Service::of(server, workload))),
            None => Err(Error::Unsupported(
                "the workload has no [server] to solve; add `server.service = { exponential = \"10ms\" }` or [[station]] tables"
                    .into(),
            )),
        }
    }

    /// Whether no request of a closed system is rejected.
    fn have_room_for(&self, users: u64) -> bool {
        match self {
            Self::One(server, _) => server.capacity().is_none_or(|capacity| u64::from(capacity) >= users),
            Self::Network(_, regions) => {
                !regions.iter().any(|region| region.when_full == WhenFull::Reject && u64::from(region.capacity) < users)
            }
        }
    }

    fn discipline(&self) -> String {
        match self {
            Self::One(server, _) => server.discipline().to_string(),
            Self::Network(..) => "network".to_owned(),
        }
    }

    /// The stations, reduced to the properties that determine their capacity.
    fn stations(&self) -> Result<Vec<Station>, Error> {
        let station = |name: &str, visits, mean, server: &Server| {
            let kind = match server.discipline() {
                Policy::Infinite => StationKind::Delay,
                _ if server.rates().is_some() => StationKind::LoadDependent(server.total_rates()),
                _ => StationKind::Queue { servers: server.servers() },
            };
            Station::new(name, visits, mean, kind)
        };
        match self {
            Self::One(server, service) => Ok(vec![station("server", 1.0, service.mean(), server)?]),
            Self::Network(nodes, _) => nodes
                .iter()
                .map(|node| station(node.name(), node.visits(), node.server().service().mean(), node.server()))
                .collect(),
        }
    }

    /// Number of servers and mean demand, in seconds, of the station that saturates first; a station with
    /// load-dependent rates counts as one server, with the mean demand divided by its rate at `users` users.
    fn slowest(&self, users: Option<u64>) -> Result<(u32, f64), Error> {
        let most = |name: &str| match self {
            Self::One(server, _) => server.capacity().map(u64::from).into_iter().chain(users).min(),
            Self::Network(_, regions) => {
                let around = regions.iter().filter(|region| region.stations.iter().any(|station| station == name));
                around.map(|region| u64::from(region.capacity)).chain(users).min()
            }
        };
        let queue = |s: &Station| match &s.kind {
            StationKind::Queue { servers } => Some((*servers, s.demand())),
            StationKind::LoadDependent(_) => Some((1, 1.0 / s.capacity(most(&s.name)))),
            StationKind::Delay => None,
        };
        let by_demand = |a: &(u32, f64), b: &(u32, f64)| (a.1 / f64::from(a.0)).total_cmp(&(b.1 / f64::from(b.0)));
        self.stations()?.iter().filter_map(queue).max_by(by_demand).ok_or_else(|| {
            Error::Unsupported(
                "every request has its own server, so no rate produces a load; give a rate or a think time".into(),
            )
        })
    }
}

/// Solves a workload at its rate or think time, or with `load` at the rate or think time that produces this load.
///
/// # Errors
/// Invalid parameters, an open load of 1 or more, a load that cannot be reached, or a workload without a modelled server.
pub fn analyse(workload: &Workload, load: Option<f64>) -> Result<Analysis, Error> {
    let servers = Servers::of(workload)?;
    let pattern = match workload.sessions() {
        offered_schedule::Sessions::Open(schedule) => Pattern::of(schedule),
        _ => Ok(Pattern::Poisson(Batch::Single)),
    };
    let (system, pattern) = match System::of(workload).and_then(|system| Ok((system, pattern?))) {
        Ok(found) => found,
        Err(reason) => {
            let Finding { model, steady_state, assumption } = Finding::none("general arrivals", reason);
            return Ok(Analysis {
                model,
                discipline: servers.discipline(),
                system: None,
                load: None,
                bounds: None,
                steady_state,
                assumption,
            });
        }
    };
    let mut answer = match load {
        Some(load) => solve_at_load(system, &pattern, load, &servers)?,
        None => solve(system, &pattern, &servers)?,
    };
    if let (Some(System::Closed { users, think, exponential }), Servers::One(server, service), Some(known)) =
        (answer.system, &servers, &mut answer.steady_state)
        && let Some((sdev, launches)) = closed::spread(users, think, exponential, server, service)
    {
        (known.sdev, known.request_stream) = (known.sdev.or(sdev), Some(launches));
    }
    Ok(answer)
}

/// Solves a system model at the rate, session rate or think time that produces `load` on the servers.
///
/// # Errors
/// As [`solve`]; also a load outside (0, 1), and a load that the users cannot produce. A missing formula is no error.
fn solve_at_load(system: System, pattern: &Pattern, load: f64, servers: &Servers<'_>) -> Result<Analysis, Error> {
    // Without a closed form there is no think time to solve for; the probe already gives the reason.
    if let System::Closed { users, exponential, .. } = system {
        let probe = solve(System::Closed { users, think: 1.0, exponential }, pattern, servers)?;
        if probe.steady_state.is_none() {
            return Ok(probe);
        }
    }
    solve(system.at_load(load, pattern, servers)?, pattern, servers)
}

/// Solves one system model with one server or network.
///
/// # Errors
/// Invalid parameters, or an open load of 1 or more.
fn solve(system: System, pattern: &Pattern, servers: &Servers<'_>) -> Result<Analysis, Error> {
    let Finding { model, steady_state, assumption } = match servers {
        Servers::Network(nodes, regions) => network::solve(system, pattern, nodes, regions)?,
        Servers::One(server, service) => match system {
            System::Open { rate } => open::solve(rate, pattern, server, service)?,
            System::Closed { users, think, exponential } => closed::solve(users, think, exponential, server, service)?,
            System::PartlyOpen { sessions, requests, geometric, think, exponential } => {
                let memoryless = geometric && (exponential || think == 0.0);
                partly_open::solve(sessions, requests, memoryless, think, server, service)?
            }
        },
    };
    let bounds = match system {
        System::Closed { users, think, .. } if servers.have_room_for(users) => {
            bounds::bounds(&servers.stations()?, users, think).ok()
        }
        System::Closed { .. } => None,
        System::Open { .. } | System::PartlyOpen { .. } => None,
    };
    let load = match system.arrival_rate() {
        Some(rate) => servers.slowest(None).ok().map(|(m, service)| rate * service / f64::from(m)),
        None => steady_state.as_ref().map(|steady_state| steady_state.utilisation),
    };
    Ok(Analysis {
        model,
        discipline: servers.discipline(),
        system: Some(system),
        load,
        bounds,
        steady_state,
        assumption,
    })
}
