//! Which formula answers a workload: \[arrivals\] x \[server\], or an honest "none: simulate".
//!
//! Every answer names its model, its source and what it assumes in words. Where no closed form (nor solved chain) exists,
//! [`Analysis::known`] is `None` and the assumption says why; nothing is approximated silently.

mod closed;
mod network;
mod open;
mod partly_open;
mod service;

use offered_model::arrivals::{Batch, Process, Schedule};
use offered_model::law::Shape;
use offered_model::workload::{self, Server, Workload};
use offered_model::{Policy, Rate};

use crate::closed::Launches;
use crate::closed::bounds::{self, Bounds};
use crate::{AtStation, Error, Kind, Percentiles, Solution, Station, load};
use service::Service;

/// The system model with its numbers; all laws but the think time's are the server's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum System {
    /// Poisson arrivals.
    Open {
        /// Requests per second.
        rate: f64,
    },
    /// Sessions that arrive as a Poisson process.
    PartlyOpen {
        /// Sessions per second.
        sessions: f64,
        /// Mean number of requests of a session.
        requests: f64,
        /// Whether lengths are geometric.
        geometric: bool,
        /// Z, seconds.
        think: f64,
        /// Whether think times are exponential.
        exponential: bool,
    },
    /// N users.
    Closed {
        /// N.
        users: u64,
        /// Z, seconds.
        think: f64,
        /// Whether think times are exponential.
        exponential: bool,
    },
}

/// What stands behind the arrivals.
#[derive(Clone, Debug, PartialEq)]
enum Servers<'a> {
    /// One station, and what requests bring to it.
    One(&'a Server, Service),
    /// A network.
    Network(&'a [workload::Station]),
}

/// The numbers of an answer, and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// R, seconds; of the requests let in.
    pub response: f64,
    /// X, per second.
    pub throughput: f64,
    /// U of each server; of the busiest queue in a network.
    pub utilisation: f64,
    /// Q.
    pub in_system: f64,
    /// Standard deviation of R where it is known, seconds; infinite where the third moment of the service is.
    pub sdev: Option<f64>,
    /// Percentiles of R where they are known.
    pub percentiles: Option<Percentiles>,
    /// How regular the launches of a closed system are, where that is known.
    pub launches: Option<Launches>,
    /// Share of arrivals turned away, where there is limited room.
    pub lost: Option<f64>,
    /// Each station of a network.
    pub stations: Vec<AtStation>,
    /// How it was solved.
    pub method: &'static str,
    /// By whom.
    pub source: &'static str,
}

/// The answer for one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Its name, such as `M/M/1`.
    pub model: String,
    /// The scheduling policy; `network` for several stations.
    pub discipline: String,
    /// What was asked; `None` where the arrivals themselves are beyond formulas.
    pub system: Option<System>,
    /// rho: the offered load of the busiest station where arrivals do not wait for answers, its utilisation where they do.
    pub load: Option<f64>,
    /// What no closed system can beat, where the system is closed.
    pub bounds: Option<Bounds>,
    /// The numbers, where a closed form exists.
    pub known: Option<Known>,
    /// What the numbers assume, or why there are none.
    pub assumption: String,
}

/// A model's name with its numbers, or with why there are none.
struct Finding {
    model: String,
    known: Option<Known>,
    assumption: String,
}

impl Finding {
    fn known(model: impl Into<String>, known: Known, assumption: impl Into<String>) -> Self {
        Self { model: model.into(), known: Some(known), assumption: assumption.into() }
    }

    fn none(model: impl Into<String>, why: impl Into<String>) -> Self {
        Self { model: model.into(), known: None, assumption: format!("no closed form: {}; simulate", why.into()) }
    }
}

impl Known {
    /// At one station of `servers` servers, by Little's law from the response.
    fn at(response: f64, throughput: f64, load: f64, method: &'static str, source: &'static str) -> Self {
        Self {
            response,
            throughput,
            utilisation: load,
            in_system: throughput * response,
            sdev: None,
            percentiles: None,
            launches: None,
            lost: None,
            stations: vec![],
            method,
            source,
        }
    }

    /// Of a network, whose utilisation is that of its busiest queue.
    fn network(network: &[Station], solution: Solution, method: &'static str, source: &'static str) -> Self {
        let busiest = network.iter().map(|s| solution.throughput / s.capacity()).fold(0.0, f64::max);
        Self {
            in_system: solution.in_system,
            stations: solution.stations,
            ..Self::at(solution.response, solution.throughput, busiest, method, source)
        }
    }
}

impl System {
    /// The system model of a workload, or why no formula here covers it.
    fn of(workload: &Workload) -> Result<Self, &'static str> {
        let mean_think = workload.mean_think().unwrap_or(0.0);
        Ok(match workload.sessions() {
            workload::Sessions::Replay(_) => return Err("a trace has no closed form"),
            workload::Sessions::Open(schedule) => Self::Open { rate: poisson_rate(schedule)? },
            workload::Sessions::PartlyOpen { schedule, length, think, .. } => Self::PartlyOpen {
                sessions: poisson_rate(schedule)?,
                requests: length.mean(),
                geometric: length.stay().is_some(),
                think: mean_think,
                exponential: matches!(think.shape(), Shape::Exponential(_)),
            },
            workload::Sessions::Closed(closed) if closed.pace().is_some() => return Err("users keep a pace"),
            workload::Sessions::Closed(closed) => Self::Closed {
                users: closed.users(),
                think: mean_think,
                exponential: matches!(closed.think().shape(), Shape::Exponential(_))
                    && closed.flows().is_none_or(|flows| !flows.thinks()),
            },
        })
    }

    /// The same model with the rate, session rate or think time that puts this load on `servers`.
    ///
    /// # Errors
    /// A load outside (0, 1), one that the users do not reach, or a closed system without a closed form.
    fn at_load(self, load: f64, servers: &Servers<'_>) -> Result<Self, Error> {
        let (m, service) = servers.slowest()?;
        Ok(match self {
            Self::Open { .. } => Self::Open { rate: load::open_rate(load, m, service)? },
            Self::PartlyOpen { requests, geometric, think, exponential, .. } => {
                let sessions = load::session_rate(load, m, service, 1.0 - 1.0 / requests)?;
                Self::PartlyOpen { sessions, requests, geometric, think, exponential }
            }
            Self::Closed { users, exponential, .. } => {
                let throughput = |think: f64| {
                    let answer = solve(Self::Closed { users, think, exponential }, servers)?;
                    answer.known.map(|known| known.throughput).ok_or(Error::Refused(answer.assumption))
                };
                Self::Closed { users, think: load::closed_think(load, m, service, users, throughput)?, exponential }
            }
        })
    }

    /// Requests per second that arrive, where the model says so itself.
    pub fn offered_rate(&self) -> Option<f64> {
        match self {
            Self::Open { rate } => Some(*rate),
            Self::PartlyOpen { sessions, requests, .. } => Some(sessions * requests),
            Self::Closed { .. } => None,
        }
    }
}

/// The rate of a Poisson process of single arrivals.
fn poisson_rate(schedule: &Schedule) -> Result<f64, &'static str> {
    let poisson = match schedule.process() {
        Process::Poisson => true,
        Process::Renewal(gaps) => matches!(gaps.shape(), Shape::Exponential(_)),
        _ => false,
    };
    if !poisson {
        return Err("arrivals are not a Poisson process");
    }
    if schedule.batch() != Batch::Single {
        return Err("requests arrive in batches");
    }
    schedule.rate().as_constant().map(Rate::per_sec).ok_or("the rate changes over time")
}

impl<'a> Servers<'a> {
    /// The modelled server or network of a workload.
    ///
    /// # Errors
    /// A workload without either.
    fn of(workload: &'a Workload) -> Result<Self, Error> {
        match workload.server() {
            _ if !workload.stations().is_empty() => Ok(Self::Network(workload.stations())),
            Some(server) => Ok(Self::One(server, Service::of(server, workload))),
            None => Err(Error::Refused(
                "the workload has no [server] to solve; add [server] service = { exponential = \"10ms\" }, or [[station]]s"
                    .into(),
            )),
        }
    }

    fn discipline(&self) -> String {
        match self {
            Self::One(server, _) => server.discipline().to_string(),
            Self::Network(_) => "network".to_owned(),
        }
    }

    /// As stations that only their capacity matters of.
    fn stations(&self) -> Result<Vec<Station>, Error> {
        let station = |name: &str, visits, mean, server: &Server| {
            let kind = match server.discipline() {
                Policy::Infinite => Kind::Delay,
                _ => Kind::Queue { servers: server.servers() },
            };
            Station::new(name, visits, mean, kind)
        };
        match self {
            Self::One(server, service) => Ok(vec![station("server", 1.0, service.mean(), server)?]),
            Self::Network(nodes) => nodes
                .iter()
                .map(|node| station(node.name(), node.visits(), node.server().service().mean(), node.server()))
                .collect(),
        }
    }

    /// Number of servers and mean demand of the station that saturates first.
    fn slowest(&self) -> Result<(u32, f64), Error> {
        let queue = |s: &Station| match s.kind {
            Kind::Queue { servers } => Some((servers, s.demand())),
            Kind::Delay => None,
        };
        let by_demand = |a: &(u32, f64), b: &(u32, f64)| (a.1 / f64::from(a.0)).total_cmp(&(b.1 / f64::from(b.0)));
        self.stations()?.iter().filter_map(queue).max_by(by_demand).ok_or_else(|| {
            Error::Refused(
                "there is a server for everybody, so no rate gives a load; give a rate or a think time".into(),
            )
        })
    }
}

/// Answers a workload, at its own rate or think time or at that of a given load.
///
/// # Errors
/// Wrong numbers, an open load of 1 or more, a load that cannot be reached, a workload without a modelled server.
pub fn answer(workload: &Workload, load: Option<f64>) -> Result<Analysis, Error> {
    let servers = Servers::of(workload)?;
    let system = match System::of(workload) {
        Ok(system) => system,
        Err(why) => {
            let Finding { model, known, assumption } = Finding::none("general arrivals", why);
            return Ok(Analysis {
                model,
                discipline: servers.discipline(),
                system: None,
                load: None,
                bounds: None,
                known,
                assumption,
            });
        }
    };
    let mut answer = match load {
        Some(load) => solve_at_load(system, load, &servers)?,
        None => solve(system, &servers)?,
    };
    if let (Some(System::Closed { users, think, exponential }), Servers::One(server, service), Some(known)) =
        (answer.system, &servers, &mut answer.known)
        && let Some((sdev, launches)) = closed::spread(users, think, exponential, server, service)
    {
        (known.sdev, known.launches) = (known.sdev.or(sdev), Some(launches));
    }
    Ok(answer)
}

/// Solves a system model at the rate, session rate or think time that puts this load on the servers.
///
/// # Errors
/// As [`solve`]; also a load outside (0, 1), and one that the users do not reach. Not where the only trouble is that there is no closed form.
fn solve_at_load(system: System, load: f64, servers: &Servers<'_>) -> Result<Analysis, Error> {
    // A closed system without a closed form has no think time to be solved for: its answer says so already.
    if let System::Closed { users, exponential, .. } = system {
        let probe = solve(System::Closed { users, think: 1.0, exponential }, servers)?;
        if probe.known.is_none() {
            return Ok(probe);
        }
    }
    solve(system.at_load(load, servers)?, servers)
}

/// Solves one system model in front of one server or network.
///
/// # Errors
/// Wrong numbers, or an open load of 1 or more.
fn solve(system: System, servers: &Servers<'_>) -> Result<Analysis, Error> {
    let Finding { model, known, assumption } = match servers {
        Servers::Network(nodes) => network::solve(system, nodes)?,
        Servers::One(server, service) => match system {
            System::Open { rate } => open::solve(rate, server, service)?,
            System::Closed { users, think, exponential } => closed::solve(users, think, exponential, server, service)?,
            System::PartlyOpen { sessions, requests, geometric, think, exponential } => {
                let memoryless = geometric && (exponential || think == 0.0);
                partly_open::solve(sessions, requests, memoryless, think, server, service)?
            }
        },
    };
    let bounds = match system {
        System::Closed { users, think, .. } => bounds::bounds(&servers.stations()?, users, think).ok(),
        System::Open { .. } | System::PartlyOpen { .. } => None,
    };
    let load = match system.offered_rate() {
        Some(rate) => servers.slowest().ok().map(|(m, service)| rate * service / f64::from(m)),
        None => known.as_ref().map(|known| known.utilisation),
    };
    Ok(Analysis { model, discipline: servers.discipline(), system: Some(system), load, bounds, known, assumption })
}
