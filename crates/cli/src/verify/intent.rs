//! What was meant: said on the command line, in a workload file, or by the run's own workload.

use std::path::{Path, PathBuf};

use offered_model::{Nanos, Rate, Seed, Share, Workload};
use offered_verify::{Ask, Meant};

use super::Window;
use crate::exit::Failure;
use crate::file;

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
    #[arg(long, default_value = "0.05", value_parser = tolerance)]
    tolerance: f64,
    /// How late the latest hundredth of the launches may be
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    late: Nanos,
    /// From which the spreading of coarse stamps draws [default: 1, or the workload's]
    #[arg(long)]
    seed: Option<u64>,
}

impl Intent {
    /// What is asked of the recording at these paths (several when they are merged), in this window.
    pub(crate) fn ask(&self, paths: &[PathBuf], window: &Window) -> Result<Ask, Failure> {
        let given = match (&self.meant, &self.workload, own(paths)) {
            (Some(meant), ..) => Ask { meant: meant.clone(), ..Ask::default() },
            (None, Some(workload), _) => of_workload(workload, 1.0, window)?,
            (None, None, Some((workload, fraction))) => of_workload(&workload, fraction, window)?,
            (None, None, None) => Ask::default(),
        };
        Ok(Ask {
            rate_per_s: self.rate.map(Rate::per_sec).or(given.rate_per_s),
            rate_over: given.rate_over.filter(|_| self.rate.is_none()),
            skip_first: window.skip_first.unwrap_or(given.skip_first),
            skip_last: window.skip_last.unwrap_or(given.skip_last),
            take: window.take,
            tolerance: self.tolerance,
            late_tolerance: self.late,
            insecure: given.insecure || paths.iter().any(|path| is_insecure(path)),
            seed: self.seed.map_or(given.seed, Seed),
            ..given
        })
    }
}

/// The workload that runs of ours bring with them, when it is one and the same, and which fraction of it they launched.
fn own(paths: &[PathBuf]) -> Option<(PathBuf, f64)> {
    let workloads: Vec<PathBuf> = paths.iter().map(|path| path.join("workload.toml")).collect();
    let texts: Vec<String> = workloads.iter().map(std::fs::read_to_string).collect::<Result<_, _>>().ok()?;
    let same = texts.windows(2).all(|pair| pair[0] == pair[1]);
    let fraction: f64 = workloads.iter().map(|workload| fraction(workload)).sum();
    same.then(|| workloads.into_iter().next()).flatten().map(|workload| (workload, fraction.min(1.0)))
}

/// Whether a run of ours took any certificate, whatever it is held to.
fn is_insecure(run: &Path) -> bool {
    let text = std::fs::read_to_string(run.join("workload.toml")).unwrap_or_default();
    let workload = text.parse::<toml_edit::DocumentMut>().unwrap_or_default();
    let flag = workload.get("target").and_then(|target| target.get("tls")?.get("insecure")?.as_bool());
    flag.unwrap_or(false)
}

/// What the workload meant, in its own window or in the one asked for: of a changing rate the mean depends on it.
fn of_workload(path: &Path, fraction: f64, window: &Window) -> Result<Ask, Failure> {
    let text = file::text(path)?;
    let workload = Workload::parse(&text, &path.display().to_string(), &file::beside(Some(path)));
    let workload = workload.map_err(Failure::input)?;
    let skip_first = window.skip_first.unwrap_or(workload.skip_first());
    let skip_last = window.skip_last.unwrap_or(workload.skip_last());
    let taken = window.take.map_or(Nanos::ZERO, |take| workload.duration().since(skip_first + take));
    Ok(Ask { skip_last, ..Ask::of_part(&workload, fraction, skip_first, skip_last.max(taken)) })
}

/// Which fraction of its workload a run launched: `run.json` beside it says so; a killed run has none, and was the whole.
fn fraction(workload: &Path) -> f64 {
    let text = std::fs::read_to_string(workload.with_file_name("run.json")).unwrap_or_default();
    let run: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let share = run["share"].as_str().and_then(|share| share.parse::<Share>().ok());
    share.map_or(1.0, Share::fraction)
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(tolerance) if (0.0..1.0).contains(&tolerance) && tolerance > 0.0 => Ok(tolerance),
        _ => Err("write a number between 0 and 1, for example 0.05".to_owned()),
    }
}
