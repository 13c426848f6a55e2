//! Open systems.

use offered_distributions::{Distribution, Shape};
use offered_schedule::arrivals::Batch;
use offered_workload::Server;
use offered_workload::policy::{Knowledge, Order, Policy};

use super::service::Service;
use super::{ClassMetrics, Finding, Pattern, SteadyState, is_blind, is_insensitive, load_dependent, most_busy};
use crate::error::{below_one, positive};
use crate::open::gim1::Gim1;
use crate::open::md1::Md1;
use crate::open::mg1::Mg1;
use crate::open::mmm::Mmm;
use crate::open::priority::{Class, Rank, responses};
use crate::open::size_based;
use crate::open::{batches, finite, response_tail};
use crate::transform::{Tail, percentiles};
use crate::{Error, Percentiles};

const KLEINROCK: &str = "Kleinrock 1975, Queueing Systems I";
/// The assumption of a thread pool.
const THREADS: &str = "Poisson arrivals, exponential service: min(requests, threads, servers) servers are busy, in whatever order requests get threads";
const PK: &str = "Pollaczek 1930, Khinchine 1932";

/// Solves arrivals in this pattern at `rate` requests per second.
pub(super) fn solve(rate: f64, pattern: &Pattern, server: &Server, service: &Service) -> Result<Finding, Error> {
    match pattern {
        _ if server.discipline() == Policy::Infinite => infinite(rate, pattern, service),
        _ if server.rates().is_some() => load_dependent::open(rate, pattern, server, service),
        Pattern::Poisson(Batch::Single | Batch::Fixed(1)) => poisson(rate, server, service),
        Pattern::Poisson(batch) => in_batches(rate, *batch, server, service),
        Pattern::Renewal(gaps) => renewal(rate, gaps, server, service),
    }
}

/// Whether the order of service ignores sizes, requests are not preempted, and the capacity is unlimited.
fn is_plain(server: &Server) -> bool {
    server.capacity().is_none() && matches!(server.discipline(), Policy::Fcfs | Policy::Lcfs { preemptive: false })
}

/// Every request has its own server, so the response time is the service time for any arrivals.
fn infinite(rate: f64, pattern: &Pattern, service: &Service) -> Result<Finding, Error> {
    let (mean, load) = (service.mean(), positive("the rate", rate)? * service.mean());
    let (model, method, source) = match pattern {
        Pattern::Poisson(Batch::Single | Batch::Fixed(1)) => ("M/G/infinity", "M/G/infinity", "Takacs 1962"),
        Pattern::Poisson(_) => ("M[X]/G/infinity", "Little's law", "Little 1961"),
        Pattern::Renewal(_) => ("GI/G/infinity", "Little's law", "Little 1961"),
    };
    let known = SteadyState {
        sdev: Some(libm::sqrt(service.work().variance())),
        percentiles: Some(service.percentiles()),
        ..SteadyState::at(mean, rate, load, method, source)
    };
    Ok(Finding::known(model, known, "every request has its own server, so none waits"))
}

/// A Poisson process of batches at one server. The rate counts requests.
fn in_batches(rate: f64, batch: Batch, server: &Server, service: &Service) -> Result<Finding, Error> {
    let load = positive("the rate", rate)? * service.mean() / f64::from(server.servers());
    // With a limited capacity there is a steady state at any load.
    if server.capacity().is_none() {
        below_one(load)?;
    }
    let law = if service.is_exponential() { "M" } else { "G" };
    let model = format!("M[X]/{law}/{}", server.servers());
    if !(is_plain(server) && server.servers() == 1) {
        let name = server.discipline();
        return Ok(Finding::none(
            model,
            format!("requests arrive in batches at {} server(s) under {name}", server.servers()),
        ));
    }
    let mean = batches::response(batch, service.work(), rate);
    if mean.is_infinite() {
        return Ok(without_mean(model, rate, load));
    }
    let transform = service.transform().filter(|_| server.discipline() == Policy::Fcfs);
    let known = transform
        .and_then(|transform| percentiles(mean, &[(1.0, &batches::tail(batch, &transform, service.mean(), rate))]));
    let known = SteadyState {
        percentiles: known,
        classes: classes(rate, service, |part| (mean - service.mean() + part.mean(), None)),
        ..SteadyState::at(mean, rate, load, "closed form", "Burke 1975; Takagi 1991, section 1.4")
    };
    Ok(Finding::known(model, known, "batches arrive as a Poisson process; the rate counts requests, one server"))
}

/// Independent gaps of any distribution.
fn renewal(rate: f64, gaps: &Distribution, server: &Server, service: &Service) -> Result<Finding, Error> {
    let (m, mean) = (server.servers(), service.mean());
    let load = positive("the rate", rate)? * mean / f64::from(m);
    let model = format!("GI/{}/{m}", if service.is_exponential() { "M" } else { "G" });
    if !is_plain(server) {
        return Ok(Finding::none(
            model,
            format!("{} with arrivals that are not a Poisson process", server.discipline()),
        ));
    }
    below_one(load)?;
    if m > 1 || !service.is_exponential() {
        return allen_cunneen(model, rate, gaps.scv(), server, service);
    }
    let queue = match Gim1::new(gaps, mean, rate) {
        Err(Error::Unsupported(why)) => return Ok(Finding::none(model, why)),
        queue => queue?,
    };
    let is_fcfs = server.discipline() == Policy::Fcfs;
    let known = SteadyState {
        percentiles: is_fcfs.then(|| queue.percentiles()),
        sdev: is_fcfs.then(|| queue.response()),
        ..SteadyState::at(
            queue.response(),
            rate,
            load,
            "root of the transform of the gaps",
            "Kleinrock 1975, section 6.4",
        )
    };
    Ok(Finding::known(
        model,
        known,
        format!("independent gaps with CoV {:.3}, exponential service, one server", libm::sqrt(gaps.scv())),
    ))
}

/// GI/G/m: the wait is that of M/M/m, multiplied by (Ca2 + Cs2) / 2.
fn allen_cunneen(
    model: String,
    rate: f64,
    gaps_scv: f64,
    server: &Server,
    service: &Service,
) -> Result<Finding, Error> {
    let (m, mean) = (server.servers(), service.mean());
    let service_scv = service.work().variance() / (mean * mean);
    let queue = Mmm::new(m, mean, rate)?;
    let response = mean + (queue.response() - mean) * f64::midpoint(gaps_scv, service_scv);
    if response.is_infinite() {
        return Ok(without_mean(model, rate, queue.load()));
    }
    let known = SteadyState {
        is_approximation: true,
        classes: classes(rate, service, |part| (response - mean + part.mean(), None)),
        ..SteadyState::at(response, rate, queue.load(), "Allen-Cunneen approximation", "Allen 1990, section 5.6")
    };
    // Measured against simulations of 1e7 requests; the table is in the book's page on plan.
    let error = if gaps_scv == 1.0 { "6 %" } else { "21 %" };
    Ok(Finding::known(
        model,
        known,
        format!(
            "an approximation from the CoV of gaps and service alone: up to {error} from simulations at loads 0.5 to 0.95; simulate \
             for the exact value"
        ),
    ))
}

/// Solves Poisson arrivals of single requests.
fn poisson(rate: f64, server: &Server, service: &Service) -> Result<Finding, Error> {
    positive("the rate", rate)?;
    let (m, mean) = (server.servers(), service.mean());
    let load = rate * mean / f64::from(m);
    if let Some(capacity) = server.capacity() {
        return limited(rate, u64::from(capacity), server, service);
    }
    below_one(load)?;
    let known = |response: f64, method, source| SteadyState::at(response, rate, load, method, source);
    let name = server.discipline().to_string().to_uppercase();
    match (server.discipline(), m) {
        (Policy::Fcfs | Policy::Lcfs { .. }, _) if service.is_exponential() => mmm(rate, load, server, service),
        (Policy::Ps(None), _) => processor_sharing(rate, load, m, service),
        (Policy::Ps(Some(threads)), _) if service.is_exponential() => {
            let queue = Mmm::new(most_busy(server), mean, rate)?;
            let known = known(queue.response(), "closed form (Erlang C)", KLEINROCK);
            Ok(Finding::known(format!("M/M/{m} with {threads} threads"), known, THREADS))
        }
        (Policy::Fcfs | Policy::Lcfs { preemptive: false }, 1) => mg1(rate, load, server, service),
        (Policy::Fcfs | Policy::Lcfs { preemptive: false }, _) => {
            allen_cunneen(format!("M/G/{m}"), rate, 1.0, server, service)
        }
        (Policy::Lcfs { preemptive: true }, 1) => {
            let known = known(
                mean / (1.0 - load),
                "closed form, insensitive to the service distribution",
                "Kleinrock 1976, section 4.5",
            );
            let inverted =
                |response, part: &Service| size_blind_percentiles(response, rate, server.discipline(), service, part);
            let known = SteadyState {
                sdev: Some(service.work().lcfs_preemptive_sdev(rate)),
                percentiles: inverted(known.response, service),
                classes: classes(rate, service, |part| {
                    let response = part.mean() / (1.0 - load);
                    (response, inverted(response, part))
                }),
                ..known
            };
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
    let inverted = || size_blind_percentiles(queue.response(), rate, server.discipline(), service, service);
    let (percentiles, sdev) = match server.discipline() {
        Policy::Fcfs => (Some(queue.percentiles()), Some(queue.sdev())),
        Policy::Lcfs { preemptive: true } if m == 1 => (inverted(), Some(service.work().lcfs_preemptive_sdev(rate))),
        Policy::Lcfs { preemptive: false } if m == 1 => (inverted(), Some(service.work().lcfs_sdev(rate))),
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
    let stretch = response / service.mean();
    let known = SteadyState {
        sdev,
        percentiles: if m == 1 {
            size_blind_percentiles(response, rate, Policy::Ps(None), service, service)
        } else {
            None
        },
        classes: classes(rate, service, |part| (part.mean() * stretch, None)),
        ..SteadyState::at(response, rate, load, method, source)
    };
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
    let inverted =
        |response, part: &Service| size_blind_percentiles(response, rate, server.discipline(), service, part);
    let percentiles = percentiles.or_else(|| inverted(response, service));
    let sdev = if is_fcfs { service.work().fcfs_sdev(rate) } else { service.work().lcfs_sdev(rate) };
    let classes = classes(rate, service, |part| {
        let response = response - service.mean() + part.mean();
        (response, inverted(response, part))
    });
    let known = SteadyState::at(response, rate, load, "Pollaczek-Khinchine formula", PK);
    let known = SteadyState { sdev: Some(sdev), percentiles, classes, ..known };
    Ok(Finding::known("M/G/1", known, "Poisson arrivals, one server, order of service independent of sizes"))
}

/// Metrics of each class under a discipline that ignores classes; `of` returns the mean and the percentiles of the
/// response of a class.
fn classes(rate: f64, service: &Service, of: impl Fn(&Service) -> (f64, Option<Percentiles>)) -> Vec<ClassMetrics> {
    let metrics = |(name, share, part): (&str, f64, Service)| {
        let (response, percentiles) = of(&part);
        ClassMetrics { name: name.to_owned(), rate: rate * share, response, percentiles }
    };
    service.parts().into_iter().map(metrics).collect()
}

/// Percentiles of the response of a `part` of the requests at one server with a discipline that ignores sizes; `None`
/// if they are not known.
fn size_blind_percentiles(
    response: f64,
    rate: f64,
    discipline: Policy,
    service: &Service,
    part: &Service,
) -> Option<Percentiles> {
    let mean = service.mean();
    if discipline == Policy::Ps(None) {
        return service
            .is_exponential()
            .then(|| response_tail::exponential_ps(mean, rate))
            .and_then(|tail| of(response, &tail));
    }
    if let (Policy::Fcfs, Some(Shape::Constant(size))) =
        (discipline, service.size_blind_distribution().as_ref().map(Distribution::shape))
    {
        let queue = Md1::new(*size, rate);
        return Some(Percentiles::of(response, |t| queue.tail(t)));
    }
    let (transform, own) = (service.transform()?, part.transform()?);
    let part = response_tail::Part { service: &own, tail: Box::new(|t| part.tail(t)) };
    let tail = match discipline {
        Policy::Fcfs => Some(response_tail::fcfs(&transform, part, mean, rate)),
        Policy::Lcfs { preemptive: false } => response_tail::lcfs(&transform, part, mean, rate),
        Policy::Lcfs { preemptive: true } => response_tail::lcfs_preemptive(&transform, &own, rate),
        _ => None,
    };
    tail.and_then(|tail| of(response, &tail))
}

fn of(response: f64, tail: &Tail) -> Option<Percentiles> {
    percentiles(response, &[(1.0, tail)])
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
    let busiest = most_busy(server);
    let loss = capacity == u64::from(m) && busiest == m;
    if is_insensitive(server) && !service.is_exponential() && !loss {
        return load_dependent::open(rate, &Pattern::Poisson(Batch::Single), server, service);
    }
    if !(service.is_exponential() && is_blind(server) || loss) {
        return Ok(Finding::none(
            format!("M/G/{m}/{capacity}"),
            "limited capacity with this service distribution and discipline",
        ));
    }
    let answer = finite::solve(busiest, capacity, service.mean(), rate)?;
    let percentiles = match server.discipline() {
        _ if loss => Some(service.percentiles()),
        Policy::Fcfs => Some(answer.percentiles),
        _ => None,
    };
    let known = SteadyState {
        rejected_share: Some(answer.rejected_share),
        percentiles,
        ..SteadyState::at(
            answer.response,
            answer.throughput,
            answer.utilisation * f64::from(busiest) / f64::from(m),
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
    let waits_for_long = matches!(policy, size_based::Policy::Sjf | size_based::Policy::Ljf | size_based::Policy::Pljf);
    if service.second_moment().is_infinite() && waits_for_long {
        return Ok(without_mean(format!("M/G/1 {name}"), rate, load));
    }
    let responses = size_based::responses(&service.classes, rate, policy)?;
    let response = service.classes.iter().zip(&responses).map(|((share, _), response)| share * response).sum();
    let metrics = |((name, share, _), response): ((&str, f64, Service), &f64)| ClassMetrics {
        name: name.to_owned(),
        rate: rate * share,
        response: *response,
        percentiles: None,
    };
    let known = SteadyState {
        classes: service.parts().into_iter().zip(&responses).map(metrics).collect(),
        ..SteadyState::at(response, rate, load, "numeric integration over sizes", source)
    };
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
    let classes = service.classes.iter().zip(&service.names);
    let mut named: Vec<(String, Class)> = classes
        .map(|((share, distribution), name)| {
            (name.clone(), Class { rate: rate * share, service: distribution.clone() })
        })
        .collect();
    match longest_first {
        Some(false) => named.sort_by(|a, b| a.1.service.mean().total_cmp(&b.1.service.mean())),
        Some(true) => named.sort_by(|a, b| b.1.service.mean().total_cmp(&a.1.service.mean())),
        None => {}
    }
    let (names, classes): (Vec<String>, Vec<Class>) = named.into_iter().unzip();
    let (rank, source) = match preemptive {
        false => (Rank::NonPreemptive, "Cobham 1954"),
        true => (Rank::Preemptive, "White and Christie 1958"),
    };
    let means = responses(&classes, rank)?;
    let response = classes.iter().zip(&means).map(|(class, mean)| class.rate / rate * mean).sum();
    let transforms = response_tail::ClassTransforms::new(&classes, rank);
    let tails: Option<Vec<Tail>> =
        transforms.as_ref().map(|transforms| (0..classes.len()).map(|i| transforms.response(i)).collect());
    let of_class = |i: usize| percentiles(means[i], &[(1.0, &tails.as_ref()?[i])]);
    let of_all = tails.as_ref().and_then(|tails| {
        let mixture: Vec<(f64, &Tail)> =
            classes.iter().zip(tails).map(|(class, tail)| (class.rate / rate, tail)).collect();
        percentiles(response, &mixture)
    });
    let metrics = names.into_iter().enumerate().map(|(i, name)| ClassMetrics {
        name,
        rate: classes[i].rate,
        response: means[i],
        percentiles: of_class(i),
    });
    let known = SteadyState {
        classes: metrics.collect(),
        percentiles: of_all,
        ..SteadyState::at(response, rate, load, "closed form; percentiles by inversion of the transforms", source)
    };
    Ok(Finding::known(
        format!("M/G/1 {name}"),
        known,
        "Poisson arrivals of every class, one server; interrupted requests resume where they stopped",
    ))
}
