//! Open systems.

use offered_model::workload::Server;

use super::service::Service;
use super::{Finding, Known};
use crate::Error;
use crate::error::{below_one, positive};
use crate::open::finite;
use crate::open::mg1::Mg1;
use crate::open::mmm::Mmm;
use crate::open::priority::{Class, Rank, mean};
use crate::open::size_based::{Policy, response};

const KLEINROCK: &str = "Kleinrock 1975, Queueing Systems I";
const PK: &str = "Pollaczek 1930, Khinchine 1932";

/// Poisson arrivals at `rate` per second.
pub(super) fn solve(rate: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    positive("the rate", rate)?;
    let (m, mean) = (server.servers(), service.mean());
    let load = rate * mean / f64::from(m);
    if server.discipline() == "infinite" {
        let known = Known::at(mean, rate, rate * mean, "M/G/infinity", "Takacs 1962");
        return Ok(Finding::known("M/G/infinity", known, "a server for every request: nobody waits"));
    }
    if let Some(room) = server.room() {
        return limited(rate, u64::from(room), server, service);
    }
    below_one(load)?;
    let known = |response: f64, method, source| Known::at(response, rate, load, method, source);
    let name = server.discipline().to_uppercase();
    let poisson = "Poisson arrivals";
    match (server.discipline(), m) {
        ("fcfs" | "lcfs" | "lcfs-preemptive", _) if service.is_exponential() => {
            let queue = Mmm::new(m, mean, rate)?;
            let percentiles = (server.discipline() == "fcfs").then(|| queue.percentiles());
            let known = Known { percentiles, ..known(queue.response(), "closed form (Erlang C)", KLEINROCK) };
            Ok(Finding::known(format!("M/M/{m}"), known, format!("{poisson}, exponential service, {m} server(s)")))
        }
        ("ps", _) => {
            let response = Mmm::new(m, mean, rate)?.response();
            let known = known(response, "closed form, insensitive to the service law", "Baskett et al. 1975 (BCMP)");
            Ok(Finding::known(
                format!("M/G/{m} PS"),
                known,
                format!("{poisson}; a request uses at most one of the {m} server(s); only the mean service counts"),
            ))
        }
        ("fcfs" | "lcfs", 1) => {
            let response = mean + rate * service.second_moment() / (2.0 * (1.0 - load));
            if response.is_infinite() {
                return Ok(Finding::none(
                    "M/G/1",
                    "the service law has an infinite second moment, so the mean wait is infinite",
                ));
            }
            let percentiles = match service.law() {
                Some(law) if server.discipline() == "fcfs" => Mg1::new(law, rate)?.fcfs_percentiles(),
                _ => None,
            };
            let known = Known { percentiles, ..known(response, "Pollaczek-Khinchine formula", PK) };
            Ok(Finding::known("M/G/1", known, format!("{poisson}, one server, order of service blind to sizes")))
        }
        ("lcfs-preemptive", 1) => {
            let known = known(
                mean / (1.0 - load),
                "closed form, insensitive to the service law",
                "Kleinrock 1976, section 4.5",
            );
            Ok(Finding::known("M/G/1 LCFS-PR", known, format!("{poisson}; the interrupted resume where they were")))
        }
        ("srpt" | "psjf" | "sjf" | "ljf" | "pljf" | "fb", 1) => by_size(rate, load, server, service),
        ("priority" | "priority-preemptive" | "sejf" | "pesjf" | "lejf" | "peljf", 1) => {
            by_class(rate, load, server, service)
        }
        _ => Ok(Finding::none(format!("M/G/{m} {name}"), format!("{name} on {m} server(s) with this service law"))),
    }
}

fn limited(rate: f64, room: u64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let m = server.servers();
    let loss = room == u64::from(m);
    let symmetric = matches!(server.discipline(), "fcfs" | "lcfs" | "lcfs-preemptive" | "ps");
    if !(service.is_exponential() && symmetric || loss) {
        return Ok(Finding::none(format!("M/G/{m}/{room}"), "limited room with this service law and discipline"));
    }
    let answer = finite::solve(m, room, service.mean(), rate)?;
    let known = Known {
        lost: Some(answer.lost),
        ..Known::at(
            answer.response,
            answer.throughput,
            answer.utilisation,
            "birth-death chain",
            "Kleinrock 1975, section 3.6",
        )
    };
    let model = if loss { format!("M/G/{m}/{m}") } else { format!("M/M/{m}/{room}") };
    Ok(Finding::known(
        model,
        known,
        format!("Poisson arrivals; those who find {room} there are refused and do not come back"),
    ))
}

fn by_size(rate: f64, load: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let name = server.discipline().to_uppercase();
    let Some(law) = service.law() else {
        return Ok(Finding::none(format!("M/G/1 {name}"), "requests have service laws of their own"));
    };
    let (policy, source) = match server.discipline() {
        "srpt" => (Policy::Srpt, "Schrage and Miller 1966"),
        "psjf" => (Policy::Psjf, "Harchol-Balter 2013, chapter 32"),
        "sjf" => (Policy::Sjf, "Phipps 1956"),
        "ljf" => (Policy::Ljf, "Phipps 1956, order reversed"),
        "pljf" => (Policy::Pljf, "Harchol-Balter 2013, chapter 32, order reversed"),
        _ => (Policy::Fb, "Kleinrock 1976, section 4.6"),
    };
    let known = Known::at(response(law, rate, policy)?, rate, load, "numeric integration over sizes", source);
    Ok(Finding::known(
        format!("M/G/1 {name}"),
        known,
        "Poisson arrivals, one server that knows sizes (ages, for FB) exactly",
    ))
}

fn by_class(rate: f64, load: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let name = server.discipline().to_uppercase();
    if service.classes.len() < 2 {
        return Err(Error::Refused(format!(
            "{} goes by classes, and there is one; write at least two [[request]] tables, each with its service",
            server.discipline()
        )));
    }
    let mut classes: Vec<Class> =
        service.classes.iter().map(|(share, law)| Class { rate: rate * share, service: law.clone() }).collect();
    match server.discipline() {
        "sejf" | "pesjf" => classes.sort_by(|a, b| a.service.mean().total_cmp(&b.service.mean())),
        "lejf" | "peljf" => classes.sort_by(|a, b| b.service.mean().total_cmp(&a.service.mean())),
        _ => {}
    }
    let (rank, source) = match server.discipline() {
        "priority" | "sejf" | "lejf" => (Rank::NonPreemptive, "Cobham 1954"),
        _ => (Rank::Preemptive, "White and Christie 1958"),
    };
    let known = Known::at(mean(&classes, rank)?, rate, load, "closed form, mean over the classes", source);
    Ok(Finding::known(
        format!("M/G/1 {name}"),
        known,
        "Poisson arrivals of every class, one server; the interrupted resume",
    ))
}
