//! What was meant: said on the command line, in a workload file, or by the run's own workload.

use std::path::PathBuf;

use offered_experiment::{Input, Intent as Meant, Terms};
use offered_model::{Nanos, Rate, Seed};
use offered_verify::Meant as Pattern;

use crate::exit::Failure;
use crate::file;
use crate::tolerance::Percent;

/// What the launches are held to.
#[derive(clap::Args)]
#[command(next_help_heading = "What was meant")]
pub(crate) struct Intent {
    /// poisson, poisson-fixed-count, constant, gamma:COV, closed:USERS:THINK, partly-open or other
    /// [default: the run's own workload, else poisson]
    #[arg(long, value_name = "PATTERN")]
    meant: Option<Pattern>,
    /// The workload that was meant, as a file
    #[arg(long, value_name = "FILE", conflicts_with = "meant")]
    workload: Option<PathBuf>,
    /// The rate that was asked for
    #[arg(long)]
    rate: Option<Rate>,
    /// How far a CoV may be from the one meant and still be as good as equal
    #[arg(long, value_name = "NUMBER", default_value = "0.05", value_parser = pattern_tolerance)]
    pattern_tolerance: f64,
    /// How much of p50, p95 and p99 may be the doing of a generator that launched otherwise than meant, where a file tells when
    /// launches were meant [default: the run's own, 5%]
    #[arg(long, value_name = "PERCENT")]
    tolerance: Option<Percent>,
    /// How late the latest hundredth of the launches may be
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    late: Nanos,
    /// From which the spreading of coarse stamps draws [default: 1, or the workload's]
    #[arg(long)]
    seed: Option<u64>,
}

impl Intent {
    /// The terms on which a recording is judged, in no window yet.
    pub(crate) fn terms(&self) -> Result<Terms, Failure> {
        let workload = |path: &PathBuf| {
            let input = Input::open(path, file::broken)?;
            Ok::<_, Failure>(Meant::Workload(input.parse(&input.text).map_err(Failure::input)?.into()))
        };
        let pattern = || Ok(self.meant.clone().map(Meant::Pattern));
        Ok(Terms {
            meant: self.workload.as_ref().map(workload).map_or_else(pattern, |workload| workload.map(Some))?,
            rate: self.rate,
            pattern_tolerance: self.pattern_tolerance,
            effect_tolerance: self.tolerance.map(Percent::fraction),
            late_tolerance: self.late,
            seed: self.seed.map(Seed),
            ..Terms::default()
        })
    }
}

fn pattern_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (0.0..1.0).contains(&tolerance) && tolerance > 0.0 => Ok(tolerance),
        _ => Err("write a number between 0 and 1, for example 0.05".to_owned()),
    }
}
