//! How often the intervals of `offered compare` contain the truth, and how often its gate is wrong.
//!
//! Two M/M/1 queues with FCFS are compared in simulated rounds, with other seeds for each comparison and each side, so that nothing cancels.
//! Response times are exponential with rate mu - lambda, so the true change of the mean and of all percentiles is known. Takes minutes:
//!
//! ```text
//! cargo run --release -p offered-experiment --example compare_coverage [COMPARISONS]
//! ```

use std::sync::Arc;

use offered_base::Nanos;
use offered_experiment::WorkloadSource;
use offered_experiment::compare::{Comparison, Side};
use offered_experiment::document::compare::Document;
use offered_verify::CheckResult;
use offered_workload::threshold::Statistic;

/// Arrival rate, per second, and service rate of A.
const RATE: f64 = 60.0;
const A: f64 = 100.0;

fn main() {
    let comparisons = std::env::args().nth(1).map_or(200, |n| n.parse().expect("a number of comparisons"));
    println!("metric  change %  limit  contains  known  wrong  passed  failed  pairs");
    for (metric, change, limit) in [
        (Statistic::Mean, 0.0, None),
        (Statistic::Percentile(95.0), 0.0, None),
        (Statistic::Percentile(95.0), 0.05, None),
        (Statistic::Percentile(95.0), 0.25, None),
        (Statistic::Percentile(99.0), 0.05, None),
        (Statistic::Percentile(95.0), 0.0, Some(0.05)),
        (Statistic::Percentile(95.0), 0.05, Some(0.05)),
        (Statistic::Percentile(95.0), 0.25, Some(0.05)),
    ] {
        let made: Vec<Document> = (1..=comparisons).map(|number| compare(number, metric, change, limit)).collect();
        let count = |of: &dyn Fn(&Document) -> bool| made.iter().filter(|one| of(one)).count();
        let interval = |one: &Document| {
            let row = one.responses.iter().find(|row| row.statistic == one.statistic).expect("a row");
            (row.low_percent.unwrap_or(f64::NEG_INFINITY), row.high_percent.unwrap_or(f64::INFINITY))
        };
        let truth = 100.0 * change;
        let contains = count(&|one| interval(one).0 <= truth && truth <= interval(one).1);
        let known = count(&|one| interval(one).0 > 0.0 || interval(one).1 < 0.0);
        let wrong = count(&|one| interval(one).0 > truth.max(0.0) || interval(one).1 < truth.min(0.0));
        let [passed, failed] =
            [CheckResult::Passed, CheckResult::Failed].map(|result| count(&|one| one.result == Some(result)));
        let pairs = made.iter().map(|one| one.rounds).sum::<u64>() as f64 / made.len() as f64;
        let limit = limit.map_or("-".to_owned(), |limit: f64| format!("{:.0} %", 100.0 * limit));
        println!(
            "{:>6}  {truth:>8.0}  {limit:>5}  {contains:>8}  {known:>5}  {wrong:>5}  {passed:>6}  {failed:>6}  {pairs:>5.1}",
            metric.to_string()
        );
    }
}

/// A comparison with the defaults, whose response times change by this factor.
fn compare(number: u64, metric: Statistic, change: f64, limit: Option<f64>) -> Document {
    let source = |seed: u64, service_rate: f64| {
        let text = format!(
            "seed = {seed}\nduration = \"1m\"\narrivals.open.rate = \"{RATE}/s\"\nserver = {{ discipline = \"fcfs\", service = {{ exponential = \"{}ms\" }} }}\n",
            1e3 / service_rate
        );
        WorkloadSource::new(format!("seed {seed}"), text, |_| Err("there is no such file".to_owned()))
    };
    let slower = RATE + (A - RATE) / (1.0 + change);
    let (a, b) = (source(number * 10_000, A), source(number * 10_000 + 5_000, slower));
    let sides = [&a, &b].map(|source| Side { name: source.name.clone(), source, target: None });
    let comparison = Comparison {
        sides: sides.into(),
        baseline: None,
        simulated: true,
        round: Nanos::from_secs(20),
        settle: Nanos::from_secs(1),
        max_pairs: 20,
        statistic: metric,
        no_worse_than: limit,
        precision: 0.02,
        directory: None,
    };
    comparison.run(&Arc::default(), &mut ()).expect("a comparison")
}
