//! The expected arrivals: from flags, from a workload file, or from the workload in the run directory.

use std::path::PathBuf;

use offered_base::{Nanos, Rate, Seed};
use offered_experiment::{ExpectedSource as Meant, VerifyOptions, WorkloadSource};
use offered_verify::ExpectedArrivals as Pattern;

use crate::failure::Failure;
use crate::input_file;
use crate::tolerance::Percent;

/// The expected arrivals and the tolerances.
#[derive(clap::Args)]
#[command(next_help_heading = "Expected arrivals")]
pub(crate) struct ExpectedFlags {
    /// Expected arrivals: poisson, poisson-fixed-count, constant, gamma:COV, closed:N:THINK,
    /// partly-open, other
    #[arg(long, value_name = "PATTERN")]
    expected: Option<Pattern>,
    /// Workload file that describes the expected arrivals [default: the run's, otherwise Poisson]
    #[arg(long, value_name = "FILE", conflicts_with = "expected")]
    workload: Option<PathBuf>,
    /// Target rate, for example 100/s
    #[arg(long)]
    rate: Option<Rate>,
    /// Maximum difference between measured and expected coefficient of variation (CoV) of the gaps
    #[arg(long, value_name = "NUMBER", default_value = "0.05", value_parser = pattern_tolerance)]
    pattern_tolerance: f64,
    /// Largest part of p50, p95 and p99 that may come from requests sent late [default: the run's, otherwise 5%]
    #[arg(long, value_name = "PERCENT")]
    tolerance: Option<Percent>,
    /// Maximum p99 of lateness (time sent minus scheduled time)
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    late_after: Nanos,
    /// Seed of the random part that is added to coarse timestamps [default: the workload's, otherwise 1]
    #[arg(long)]
    seed: Option<u64>,
}

impl ExpectedFlags {
    /// The terms of a verdict, without a time window.
    pub(crate) fn terms(&self) -> Result<VerifyOptions, Failure> {
        let workload = |path: &PathBuf| {
            let input = WorkloadSource::open(path, input_file::broken)?;
            Ok::<_, Failure>(Meant::Workload(input.parse(&input.text).map_err(Failure::input)?.into()))
        };
        let pattern = || Ok(self.expected.clone().map(Meant::Pattern));
        Ok(VerifyOptions {
            expected: self.workload.as_ref().map(workload).map_or_else(pattern, |workload| workload.map(Some))?,
            rate: self.rate,
            cov_tolerance: self.pattern_tolerance,
            generator_error_tolerance: self.tolerance.map(Percent::fraction),
            late_after: self.late_after,
            seed: self.seed.map(Seed),
            ..VerifyOptions::default()
        })
    }
}

fn pattern_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (0.0..1.0).contains(&tolerance) && tolerance > 0.0 => Ok(tolerance),
        _ => Err("write a number between 0 and 1, for example 0.05".to_owned()),
    }
}
