//! What was meant: said on the command line, in a workload file, or by the run's own workload.

use std::path::{Path, PathBuf};

use offered_model::{Nanos, Rate, Seed, Workload};
use offered_store::{RunRecord, Until};
use offered_verify::{Ask, Meant};

use super::Window;
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
    meant: Option<Meant>,
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
    /// Whether it is said how much of the figures may be the generator's doing.
    pub(crate) fn tolerates(&self) -> bool {
        self.tolerance.is_some()
    }

    /// What is asked of the recording at these paths (several when they are merged), in this window.
    pub(crate) fn ask(&self, paths: &[PathBuf], window: &Window) -> Result<Ask, Failure> {
        let own = Own::of(paths)?;
        let given = match (&self.meant, &self.workload, &own) {
            (Some(meant), _, Some(own)) => {
                // A workload of which only the length is wanted may be one that no longer reads.
                let lasts = of_workload(&own.workload, own.fraction, window).ok().and_then(|ask| ask.lasts);
                Ask { meant: meant.clone(), lasts, ..Ask::default() }
            }
            (Some(meant), _, None) => Ask { meant: meant.clone(), ..Ask::default() },
            (None, Some(workload), _) => of_workload(workload, 1.0, window)?,
            (None, None, Some(own)) => of_workload(&own.workload, own.fraction, window)?,
            (None, None, None) => Ask::default(),
        };
        Ok(Ask {
            rate_per_s: self.rate.map(Rate::per_sec).or(given.rate_per_s),
            rate_over: given.rate_over.filter(|_| self.rate.is_none()),
            skip_first: window.skip_first.unwrap_or(given.skip_first),
            skip_last: window.skip_last.unwrap_or(given.skip_last),
            take: window.take,
            lasts: given.lasts.filter(|_| own.is_none_or(|own| own.until == Until::Duration)),
            pattern_tolerance: self.pattern_tolerance,
            effect_tolerance: self.tolerance.map_or(given.effect_tolerance, Percent::fraction),
            late_tolerance: self.late,
            insecure: given.insecure || paths.iter().any(|path| is_insecure(path)),
            seed: self.seed.map_or(given.seed, Seed),
            ..given
        })
    }
}

/// What runs of ours bring with them, when their workload is one and the same.
struct Own {
    workload: PathBuf,
    /// The part of it that they launched together.
    fraction: f64,
    /// What ended them.
    until: Until,
}

impl Own {
    /// Of the runs at these paths; a killed one has no record, and was the whole until its duration.
    fn of(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let workloads: Vec<PathBuf> = paths.iter().map(|path| path.join("workload.toml")).collect();
        let texts: Result<Vec<String>, _> = workloads.iter().map(std::fs::read_to_string).collect();
        let one = texts.is_ok_and(|texts| texts.windows(2).all(|pair| pair[0] == pair[1]));
        let Some(workload) = workloads.into_iter().next().filter(|_| one) else { return Ok(None) };
        let records: Vec<Option<RunRecord>> =
            paths.iter().map(|path| RunRecord::read(path).map_err(Failure::input)).collect::<Result<_, _>>()?;
        let part = |record: &Option<RunRecord>| record.as_ref().map_or(1.0, |record| record.share.fraction());
        let fraction = records.iter().map(part).sum::<f64>().min(1.0);
        let enough = records.iter().flatten().any(|record| record.until == Until::Answers);
        Ok(Some(Self { workload, fraction, until: if enough { Until::Answers } else { Until::Duration } }))
    }
}

/// Whether a run of ours took any certificate, whatever it is held to.
fn is_insecure(run: &Path) -> bool {
    let own = workload(&run.join("workload.toml"));
    own.is_ok_and(|own| own.target().is_some_and(|target| target.tls().insecure))
}

fn workload(path: &Path) -> Result<Workload, Failure> {
    let text = file::text(path)?;
    Workload::parse(&text, &path.display().to_string(), &file::beside(Some(path))).map_err(Failure::input)
}

/// What the workload meant, in its own window or in the one asked for: of a changing rate the mean depends on it.
fn of_workload(path: &Path, fraction: f64, window: &Window) -> Result<Ask, Failure> {
    let workload = workload(path)?;
    let skip_first = window.skip_first.unwrap_or(workload.skip_first());
    let skip_last = window.skip_last.unwrap_or(workload.skip_last());
    let taken = window.take.map_or(Nanos::ZERO, |take| workload.duration().saturating_sub(skip_first + take));
    Ok(Ask { skip_last, ..Ask::of_part(&workload, fraction, skip_first, skip_last.max(taken)) })
}

fn pattern_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (0.0..1.0).contains(&tolerance) && tolerance > 0.0 => Ok(tolerance),
        _ => Err("write a number between 0 and 1, for example 0.05".to_owned()),
    }
}
