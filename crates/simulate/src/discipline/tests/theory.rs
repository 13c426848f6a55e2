//! Mean responses against numbers from SciPy (tests/oracle/queues.json, computed by queues.py).
//!
//! The seeds are fixed. Each mean must lie within three and a half standard errors, estimated from 64 batches, and the
//! standard error must be small, so that noise cannot hide a wrong formula or a wrong discipline.

use serde_json::Value;

use super::*;

const JOBS: u64 = 400_000;

struct Case {
    discipline: String,
    load: f64,
    servers: u32,
    exponential: bool,
    mean: f64,
}

fn oracle() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle/queues.json");
    let text = std::fs::read_to_string(path).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let case = |value: &Value| Case {
        discipline: value["discipline"].as_str().unwrap().to_owned(),
        load: value["load"].as_f64().unwrap(),
        servers: value["servers"].as_u64().unwrap() as u32,
        exponential: value["law"] == "exponential",
        mean: value["mean"].as_f64().unwrap(),
    };
    json["values"].as_array().unwrap().iter().map(case).collect()
}

/// Two exponential phases with E[S] = 1 ms: equal ones, or balanced with scv 8. The phase is the class.
fn phases(exponential: bool) -> (f64, [f64; 2]) {
    if exponential {
        return (0.5, [1e-3, 1e-3]);
    }
    let p = 0.5 * (1.0 + libm::sqrt(7.0 / 9.0));
    (p, [0.5e-3 / p, 0.5e-3 / (1.0 - p)])
}

fn jobs(case: &Case) -> Vec<Job> {
    let (p, means) = phases(case.exponential);
    let mut phase = Seed(7).stream(Purpose::Choice);
    let distribution = Distribution::exponential(1e-3).unwrap();
    let mut jobs = poisson(7, JOBS, case.load * f64::from(case.servers), &distribution);
    for job in &mut jobs {
        job.class = u16::from(phase.uniform() > p);
        job.size = Nanos((job.size.0 as f64 * means[usize::from(job.class)] * 1e3) as u64);
    }
    jobs
}

fn server(case: &Case) -> Box<dyn Discipline> {
    let m = case.servers;
    match case.discipline.as_str() {
        "fcfs" => Box::new(Fcfs::new(m)),
        "lcfs" => Box::new(Lcfs::new(m)),
        "ps" => Box::new(Ps::new(m)),
        "lcfs-preemptive" => Box::new(PreemptiveLcfs::new(m)),
        "srpt" => Box::new(Srpt::new(m)),
        "psjf" => Box::new(Psjf::new(m, SizeEstimate::Exact)),
        "sjf" => Box::new(Sjf::new(m, SizeEstimate::Exact)),
        "ljf" => Box::new(Ljf::new(m, SizeEstimate::Exact)),
        "pljf" => Box::new(Pljf::new(m, SizeEstimate::Exact)),
        "fb" => Box::new(Fb::default()),
        "priority" => Box::new(Priority::new(m)),
        "priority-preemptive" => Box::new(PreemptivePriority::new(m)),
        "peljf" => {
            // A nanosecond distinguishes phases of equal means.
            let [short, long] = phases(case.exponential).1.map(Nanos::from_secs_f64);
            Box::new(Pljf::new(m, SizeEstimate::ClassMean(vec![short, long + Nanos(1)])))
        }
        other => panic!("no discipline {other}"),
    }
}

/// Mean response in ms and its standard error from 64 batches of completions.
fn mean(done: &[(Instant, Job)]) -> (f64, f64) {
    let batches = done.chunks_exact(done.len() / 64).map(|batch| {
        batch.iter().map(|(at, job)| (*at - job.arrived).as_millis_f64()).sum::<f64>() / batch.len() as f64
    });
    let batches: Vec<f64> = batches.collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn means_agree_with_theory() {
    let mut checked = 0;
    // Load 0.9 would need very long runs; the studies cover it.
    for case in oracle().iter().filter(|case| case.load < 0.8 || case.servers > 2 && case.exponential) {
        let (mean, error) = mean(&run(&mut *server(case), &jobs(case)));
        let name = format!("{} load {} m {} exp {}", case.discipline, case.load, case.servers, case.exponential);
        assert!(error < 0.04 * case.mean, "{name}: mean {mean:.4}, error {error:.4}: too coarse to tell");
        assert!((mean - case.mean).abs() < 3.5 * error, "{name}: {mean:.4} +- {error:.4}, theory {:.4}", case.mean);
        checked += 1;
    }
    assert!(checked > 40, "only {checked} cases");
}
