//! Open systems.

use offered_workload::Server;
use offered_workload::policy::{Knowledge, Order, Policy};

use super::service::Service;
use super::{Finding, SteadyState};
use crate::Error;
use crate::error::{below_one, positive};
use crate::open::finite;
use crate::open::mg1::Mg1;
use crate::open::mmm::Mmm;
use crate::open::priority::{Class, Rank, mean};
use crate::open::size_based::{self, response};

const KLEINROCK: &str = "Kleinrock 1975, Queueing Systems I";
const PK: &str = "Pollaczek 1930, Khinchine 1932";

/// Solves Poisson arrivals at `rate` requests per second.
pub(super) fn solve(rate: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    positive("the rate", rate)?;
    let (m, mean) = (server.servers(), service.mean());
    let load = rate * mean / f64::from(m);
    if server.discipline() == Policy::Infinite {
        let own = libm::sqrt(service.work().variance());
        let known =
            SteadyState { sdev: Some(own), ..SteadyState::at(mean, rate, rate * mean, "M/G/infinity", "Takacs 1962") };
        return Ok(Finding::known("M/G/infinity", known, "every request has its own server, so none waits"));
    }
    if let Some(capacity) = server.capacity() {
        return limited(rate, u64::from(capacity), server, service);
    }
    below_one(load)?;
    let known = |response: f64, method, source| SteadyState::at(response, rate, load, method, source);
    let name = server.discipline().to_string().to_uppercase();
    match (server.discipline(), m) {
        (Policy::Fcfs | Policy::Lcfs { .. }, _) if service.is_exponential() => mmm(rate, load, server, service),
        (Policy::Ps(None), _) => processor_sharing(rate, load, m, service),
        (Policy::Fcfs | Policy::Lcfs { preemptive: false }, 1) => mg1(rate, load, server, service),
        (Policy::Lcfs { preemptive: true }, 1) => {
            let known = known(
                mean / (1.0 - load),
                "closed form, insensitive to the service distribution",
                "Kleinrock 1976, section 4.5",
            );
            let known = SteadyState { sdev: Some(service.work().lcfs_preemptive_sdev(rate)), ..known };
            Ok(Finding::known(
                "M/G/1 LCFS-PR",
                known,
                "Poisson arrivals; interrupted requests resume where they stopped",
            ))
        }
        (Policy::Srpt, 1) => by_size(rate, load, size_based::Policy::Srpt, "Schrage and Miller 1966", &name, service),
        (Policy::Fb, 1) => by_size(rate, load, size_based::Policy::Fb, "Kleinrock 1976, section 4.6", &name, service),
        (Policy::Size(Order { preemptive, longest, known: Knowledge::Exactly }), 1) => {
            let (policy, source) = match (preemptive, longest) {
                (true, false) => (size_based::Policy::Psjf, "Harchol-Balter 2013, chapter 32"),
                (false, false) => (size_based::Policy::Sjf, "Phipps 1956"),
                (false, true) => (size_based::Policy::Ljf, "Phipps 1956, order reversed"),
                (true, true) => (size_based::Policy::Pljf, "Harchol-Balter 2013, chapter 32, order reversed"),
            };
            by_size(rate, load, policy, source, &name, service)
        }
        (Policy::Priority { preemptive }, 1) => by_class(rate, load, preemptive, None, server, service),
        (Policy::Size(Order { preemptive, longest, known: Knowledge::ByClass }), 1) => {
            by_class(rate, load, preemptive, Some(longest), server, service)
        }
        _ => Ok(Finding::none(
            format!("M/G/{m} {name}"),
            format!("{name} on {m} server(s) with this service distribution"),
        )),
    }
}

/// M/M/m under FCFS or LCFS.
fn mmm(rate: f64, load: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let m = server.servers();
    let queue = Mmm::new(m, service.mean(), rate)?;
    let (percentiles, sdev) = match server.discipline() {
        Policy::Fcfs => (Some(queue.percentiles()), Some(queue.sdev())),
        Policy::Lcfs { preemptive: true } if m == 1 => (None, Some(service.work().lcfs_preemptive_sdev(rate))),
        Policy::Lcfs { preemptive: false } if m == 1 => (None, Some(service.work().lcfs_sdev(rate))),
        _ => (None, None),
    };
    let known = SteadyState::at(queue.response(), rate, load, "closed form (Erlang C)", KLEINROCK);
    let known = SteadyState { sdev, percentiles, ..known };
    Ok(Finding::known(format!("M/M/{m}"), known, format!("Poisson arrivals, exponential service, {m} server(s)")))
}

/// M/G/m under processor sharing.
fn processor_sharing(rate: f64, load: f64, m: u32, service: &Service) -> Result<Finding, Error> {
    let response = Mmm::new(m, service.mean(), rate)?.response();
    let (method, source) = ("closed form, insensitive to the service distribution", "Baskett et al. 1975 (BCMP)");
    let sdev = match service.size_blind_distribution() {
        Some(distribution) if m == 1 => Mg1::new(&distribution, rate)?.ps_sdev(),
        _ => None,
    };
    let known = SteadyState { sdev, ..SteadyState::at(response, rate, load, method, source) };
    Ok(Finding::known(
        format!("M/G/{m} PS"),
        known,
        format!(
            "Poisson arrivals; a request uses at most one of the {m} server(s); only the mean service time matters"
        ),
    ))
}

/// M/G/1 under FCFS or non-preemptive LCFS.
fn mg1(rate: f64, load: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let response = service.mean() + rate * service.second_moment() / (2.0 * (1.0 - load));
    if response.is_infinite() {
        return Ok(without_mean("M/G/1".to_owned(), rate, load));
    }
    let is_fcfs = server.discipline() == Policy::Fcfs;
    let percentiles = match service.size_blind_distribution() {
        Some(distribution) if is_fcfs => Mg1::new(&distribution, rate)?.fcfs_percentiles(),
        _ => None,
    };
    let sdev = if is_fcfs { service.work().fcfs_sdev(rate) } else { service.work().lcfs_sdev(rate) };
    let known = SteadyState::at(response, rate, load, "Pollaczek-Khinchine formula", PK);
    let known = SteadyState { sdev: Some(sdev), percentiles, ..known };
    Ok(Finding::known("M/G/1", known, "Poisson arrivals, one server, order of service independent of sizes"))
}

/// With an infinite second moment of the service, the mean wait is infinite under every policy that makes requests wait
/// behind long ones.
fn without_mean(model: String, rate: f64, load: f64) -> Finding {
    let known = SteadyState::at(f64::INFINITY, rate, load, "Pollaczek-Khinchine formula", PK);
    Finding::known(
        model,
        known,
        "the second moment of the service is infinite, so the mean response is infinite; both are finite with a bounded_pareto \
         distribution, and ps, srpt, psjf and fb do not need the second moment",
    )
}

fn limited(rate: f64, capacity: u64, server: &Server, service: &Service) -> Result<Finding, Error> {
    let m = server.servers();
    let loss = capacity == u64::from(m);
    let symmetric = matches!(server.discipline(), Policy::Fcfs | Policy::Lcfs { .. } | Policy::Ps(None));
    if !(service.is_exponential() && symmetric || loss) {
        return Ok(Finding::none(
            format!("M/G/{m}/{capacity}"),
            "limited capacity with this service distribution and discipline",
        ));
    }
    let answer = finite::solve(m, capacity, service.mean(), rate)?;
    let known = SteadyState {
        rejected_share: Some(answer.rejected_share),
        ..SteadyState::at(
            answer.response,
            answer.throughput,
            answer.utilisation,
            "birth-death chain",
            "Kleinrock 1975, section 3.6",
        )
    };
    let model = if loss { format!("M/G/{m}/{m}") } else { format!("M/M/{m}/{capacity}") };
    Ok(Finding::known(
        model,
        known,
        format!(
            "Poisson arrivals; an arrival that finds {capacity} requests in the system is rejected and not retried"
        ),
    ))
}

fn by_size(
    rate: f64,
    load: f64,
    policy: size_based::Policy,
    source: &'static str,
    name: &str,
    service: &Service,
) -> Result<Finding, Error> {
    let Some(distribution) = service.distribution() else {
        return Ok(Finding::none(format!("M/G/1 {name}"), "requests have different service distributions"));
    };
    let waits_for_long = matches!(policy, size_based::Policy::Sjf | size_based::Policy::Ljf | size_based::Policy::Pljf);
    if service.second_moment().is_infinite() && waits_for_long {
        return Ok(without_mean(format!("M/G/1 {name}"), rate, load));
    }
    let known =
        SteadyState::at(response(distribution, rate, policy)?, rate, load, "numeric integration over sizes", source);
    Ok(Finding::known(
        format!("M/G/1 {name}"),
        known,
        "Poisson arrivals, one server that knows sizes (ages, for FB) exactly",
    ))
}

/// Priority classes in the order of the workload, or sorted by mean size: `longest_first` is `None` for the first.
fn by_class(
    rate: f64,
    load: f64,
    preemptive: bool,
    longest_first: Option<bool>,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let name = server.discipline().to_string().to_uppercase();
    if service.classes.len() < 2 {
        return Err(Error::Unsupported(format!(
            "{} needs classes, and there is only one; write at least two [[request]] tables, each with its own `service`",
            server.discipline()
        )));
    }
    if service.second_moment().is_infinite() {
        return Ok(without_mean(format!("M/G/1 {name}"), rate, load));
    }
    let mut classes: Vec<Class> = service
        .classes
        .iter()
        .map(|(share, distribution)| Class { rate: rate * share, service: distribution.clone() })
        .collect();
    match longest_first {
        Some(false) => classes.sort_by(|a, b| a.service.mean().total_cmp(&b.service.mean())),
        Some(true) => classes.sort_by(|a, b| b.service.mean().total_cmp(&a.service.mean())),
        None => {}
    }
    let (rank, source) = match preemptive {
        false => (Rank::NonPreemptive, "Cobham 1954"),
        true => (Rank::Preemptive, "White and Christie 1958"),
    };
    let known = SteadyState::at(mean(&classes, rank)?, rate, load, "closed form, mean over the classes", source);
    Ok(Finding::known(
        format!("M/G/1 {name}"),
        known,
        "Poisson arrivals of every class, one server; interrupted requests resume where they stopped",
    ))
}
