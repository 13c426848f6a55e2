//! The largest rate that a region of limited capacity completes.
//!
//! Requests always wait before a saturated region, so the region is a closed system. It contains as many jobs as its
//! capacity, and a job that completes is replaced at once. Its throughput is simulated, which holds for every
//! discipline and service distribution.

use offered_base::{Instant, Nanos};

use crate::discipline::{Discipline, Job, JobTokens};
use crate::policy::DisciplineVisitor;

/// Number of batches of equally many jobs, after a first one that is not counted.
const BATCHES: usize = 20;
/// Maximum number of jobs of a batch.
const MAX_BATCH: u64 = 5_000;
/// Minimum number of jobs of a batch. A region with more places than a batch has jobs is not simulated.
const MIN_BATCH: u64 = 100;
/// Maximum number of visits to stations in a batch.
const MAX_VISITS: f64 = 500_000.0;
/// Number of standard errors above the mean rate at which a rate saturates the region for certain.
const STANDARD_ERRORS: f64 = 4.0;

/// Jobs that are replaced at once when they complete.
pub(crate) struct ConstantJobs {
    /// The number of jobs.
    pub(crate) jobs: u64,
    /// Completions of a batch.
    batch: u64,
}

impl ConstantJobs {
    /// This number of jobs, each with this mean number of visits to stations; `None` if a simulation would take long.
    pub(crate) fn new(jobs: u32, visits: f64) -> Option<Self> {
        let jobs = u64::from(jobs);
        let batch = ((MAX_VISITS / visits) as u64).min(MAX_BATCH);
        (batch >= jobs.max(MIN_BATCH)).then_some(Self { jobs, batch })
    }
}

impl DisciplineVisitor for ConstantJobs {
    /// Completions per second, and a rate that is larger for certain.
    type Output = (f64, f64);

    fn visit<D: Discipline + Send + 'static>(self, mut discipline: D) -> Self::Output {
        let mut id = 0;
        let mut add = |discipline: &mut D, now: Instant| {
            let tokens = JobTokens::default();
            discipline.arrive(now, Job { id, class: 0, size: Nanos::ZERO, arrived: now, tokens });
            id += 1;
        };
        let (mut now, mut outside) = (Instant::ZERO, self.jobs);
        let mut ends = Vec::with_capacity(BATCHES + 1);
        let mut completed = 0;
        // Completions precede arrivals, even if a job takes no time.
        while ends.len() <= BATCHES {
            match discipline.next() {
                Some(next) if outside == 0 || next <= now => {
                    now = next;
                    if discipline.complete(now).is_some() {
                        outside += 1;
                        completed += 1;
                        if completed % self.batch == 0 {
                            ends.push(now.0 as f64 * 1e-9);
                        }
                    }
                }
                None if outside == 0 => break,
                _ => {
                    add(&mut discipline, now);
                    outside -= 1;
                }
            }
        }
        let times: Vec<f64> = ends.windows(2).take(BATCHES).map(|pair| pair[1] - pair[0]).collect();
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let rate = self.batch as f64 / mean;
        (rate, rate * (1.0 + STANDARD_ERRORS * (variance / n).sqrt() / mean))
    }
}

#[cfg(test)]
mod tests {
    use offered_workload::Workload;

    use crate::load::instability;
    use crate::{Error, Stop, simulate};

    fn workload(rate: &str, stations: [&str; 2], regions: &str) -> Workload {
        let station = |text: &str, name| format!("[[station]]\nname = \"{name}\"\n{text}\n");
        let stations = station(stations[0], "web") + &station(stations[1], "db");
        let text = format!("seed = 1\nduration = \"1m\"\narrivals.open.rate = \"{rate}/s\"\n{stations}{regions}");
        Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap()
    }

    fn pool(capacity: u32, when_full: &str) -> String {
        format!(
            "[[region]]\nname = \"pool\"\nstations = [\"web\", \"db\"]\ncapacity = {capacity}\nwhen_full = \"{when_full}\"\n"
        )
    }

    const EXPONENTIAL: [&str; 2] = ["service.exponential = \"10ms\""; 2];
    /// Many services of the first take less than half a nanosecond, so none.
    const INSTANT: [&str; 2] = ["service.exponential = \"1ns\"\nservers = 8", "service.constant = \"10ms\""];
    const CONSTANT: [&str; 2] = ["service.constant = \"10ms\""; 2];

    /// Two equal exponential stations with c jobs complete c / (c + 1) of the rate of one, two constant ones that of one from c = 2 on.
    #[test]
    fn a_region_that_saturates_before_its_stations_is_refused() {
        for (rate, stations, capacity, limit) in [
            ("60", EXPONENTIAL, 2, None),
            ("70", EXPONENTIAL, 2, Some(200.0 / 3.0)),
            ("85", EXPONENTIAL, 8, None),
            ("92", EXPONENTIAL, 8, Some(800.0 / 9.0)),
            ("49", CONSTANT, 1, None),
            ("51", CONSTANT, 1, Some(50.0)),
            ("99", CONSTANT, 2, None),
            ("95", INSTANT, 8, None),
        ] {
            let found = instability(&workload(rate, stations, &pool(capacity, "wait")), Stop::Duration).unwrap();
            match (&found, limit) {
                (None, None) => {}
                (Some(Error::Saturated { region, throughput, .. }), Some(limit)) => {
                    assert!(
                        region == "pool" && (throughput / limit - 1.0).abs() < 0.01,
                        "{rate}, {capacity}: {found:?}"
                    );
                }
                _ => panic!("{rate}, {capacity}: {found:?}"),
            }
        }
        let error = simulate(&workload("70", EXPONENTIAL, &pool(2, "wait")), Stop::Duration, None).unwrap_err();
        assert!(error.is_unmeasurable(), "{error}");
        assert!(error.to_string().starts_with("`pool` with a capacity of 2 completes at most 66."), "{error}");
        assert!(simulate(&workload("70", EXPONENTIAL, &pool(2, "reject")), Stop::Duration, None).is_ok());
    }

    #[test]
    fn an_inner_region_and_a_delay_limit_the_outer_one() {
        let delay = ["discipline = \"infinite\"\nservice.constant = \"100ms\"", CONSTANT[1]];
        // Ten connections for 110 ms each; twelve calls at once to the delay.
        assert_eq!(instability(&workload("80", delay, &pool(10, "wait")), Stop::Duration).unwrap(), None);
        assert!(instability(&workload("92", delay, &pool(10, "wait")), Stop::Duration).unwrap().is_some());
        let calls = format!(
            "{}[[region]]\nname = \"calls\"\nstations = [\"web\"]\ncapacity = 5\nwhen_full = \"wait\"\n",
            pool(10, "wait")
        );
        let found = instability(&workload("52", delay, &calls), Stop::Duration).unwrap();
        assert!(
            matches!(found, Some(Error::Saturated { throughput, .. }) if (throughput - 50.0).abs() < 0.1),
            "{found:?}"
        );
        // Too large to simulate, and large enough.
        assert_eq!(instability(&workload("80", delay, &pool(1_000_000, "wait")), Stop::Duration).unwrap(), None);
    }
}
