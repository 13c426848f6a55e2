//! Tests of every discipline: properties on any trace, and means against queueing theory.

mod properties;
mod theory;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;

use super::*;

/// Every discipline with one server, by name. Sizes are known exactly; the quantum is 1 ms.
fn all() -> Vec<(&'static str, Box<dyn Discipline>)> {
    vec![
        ("fcfs", Box::new(Fcfs::new(1))),
        ("lcfs", Box::new(Lcfs::new(1))),
        ("lcfs-pr", Box::new(PreemptiveLcfs::new(1))),
        ("ps", Box::new(Ps::new(1))),
        ("ps:3", Box::new(LimitedPs::new(1, 3).unwrap())),
        ("srpt", Box::new(Srpt::new(1))),
        ("sjf", Box::new(Sjf::new(1, SizeEstimate::Exact))),
        ("psjf", Box::new(Psjf::new(1, SizeEstimate::Exact))),
        ("ljf", Box::new(Ljf::new(1, SizeEstimate::Exact))),
        ("pljf", Box::new(Pljf::new(1, SizeEstimate::Exact))),
        ("priority", Box::new(Priority::new(1))),
        ("priority-p", Box::new(PreemptivePriority::new(1))),
        ("priority-ps", Box::new(PriorityPs::new(1))),
        ("ps:2:priority", Box::new(LimitedPriorityPs::new(1, 2).unwrap())),
        ("fb", Box::new(Fb::default())),
        ("rr", Box::new(RoundRobin::new(1, Nanos::from_millis(1)).unwrap())),
    ]
}

/// Runs jobs in order of arrival. Returns each job with its completion time, in order of completion.
pub(super) fn run(server: &mut dyn Discipline, jobs: &[Job]) -> Vec<(Instant, Job)> {
    let mut done = Vec::new();
    for job in jobs {
        drain(server, job.arrived, &mut done);
        server.arrive(job.arrived, *job);
    }
    drain(server, Instant::MAX, &mut done);
    done
}

fn drain(server: &mut dyn Discipline, until: Instant, done: &mut Vec<(Instant, Job)>) {
    while let Some(at) = server.next().filter(|at| *at <= until) {
        done.extend(server.complete(at).map(|job| (at, job)));
    }
}

/// Jobs of a Poisson stream. The class is the phase of a hyperexponential distribution, else 0. Times are in units of
/// `unit`.
fn poisson(seed: u64, jobs: u64, load: f64, distribution: &Distribution) -> Vec<Job> {
    let mut gaps = Seed(seed).stream(Purpose::Arrivals);
    let mut sizes = Seed(seed).stream(Purpose::Size);
    let mut at = 0.0;
    let job = |id| {
        at += gaps.exponential() * distribution.mean() / load;
        let size = Nanos::from_secs_f64(distribution.sample(&mut sizes));
        Job { id, class: 0, size, arrived: Instant::from_secs_f64(at), tokens: JobTokens::default() }
    };
    (0..jobs).map(job).collect()
}
