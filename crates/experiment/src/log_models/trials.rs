//! Response times of several systems: by formula, or in simulated trials with common seeds.

use offered_base::{InvalidValue, Seed};
use offered_plan::analytic::analyse;
use offered_simulate::{SimulationWarning, Stop, simulate};
use offered_stats::steady_state::{Estimate, from_trials, ratio_of_ratios};
use offered_workload::Workload;

use crate::parallel;

/// Responses of a trial.
pub(super) const JOBS: u64 = 100_000;
/// Number of trials of each system at first; it doubles until the ratios are precise.
const FIRST_TRIALS: usize = 8;
/// Maximum number of trials of each system.
const MAX_TRIALS: usize = 64;
/// Relative half-width of a ratio at which trials end.
const PRECISION: f64 = 0.03;

/// A figure of the response times.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    Mean = 0,
    P95 = 1,
}

impl Figure {
    const ALL: [Self; 2] = [Self::Mean, Self::P95];
}

/// The response times of a system.
pub(super) struct Responses {
    /// Mean and 95th percentile by formula.
    exact: [Option<f64>; 2],
    /// The simulated trials, in the order of their seeds.
    pub(super) trials: Vec<Trial>,
}

/// One simulation.
pub(super) struct Trial {
    /// Mean and 95th percentile.
    figures: [f64; 2],
    load: f64,
    warnings: Vec<SimulationWarning>,
}

/// The response times of `systems`, until the ratios to the first are precise.
pub(super) fn responses(systems: &[Workload]) -> Vec<Result<Responses, InvalidValue>> {
    let mut found: Vec<Result<Responses, InvalidValue>> =
        systems.iter().map(|system| Ok(Responses { exact: exact(system), trials: Vec::new() })).collect();
    let all_exact = found.iter().flatten().all(|one| one.exact.iter().all(Option::is_some));
    let (mut done, mut next) = (0, FIRST_TRIALS);
    while !all_exact && done < MAX_TRIALS && !is_precise(&found) {
        // Trials of one seed have the same requests as far as the models allow, so their noise partly cancels.
        let tasks: Vec<(usize, u64)> =
            (done..next).flat_map(|seed| (0..systems.len()).map(move |i| (i, 1 + seed as u64))).collect();
        let made = parallel::map(&tasks, parallel::processors(), |(i, seed)| trial(&systems[*i], *seed));
        for ((i, _), made) in tasks.iter().zip(made) {
            match (&mut found[*i], made) {
                (Ok(one), Ok(trial)) => one.trials.push(trial),
                (place @ Ok(_), Err(why)) => *place = Err(why),
                (Err(_), _) => {}
            }
        }
        if found[0].is_err() {
            break;
        }
        (done, next) = (next, 2 * next);
    }
    found
}

/// Mean and 95th percentile by formula; `None` if there is no formula.
fn exact(system: &Workload) -> [Option<f64>; 2] {
    let known = analyse(system, None).ok().and_then(|analysis| analysis.steady_state);
    [known.as_ref().map(|known| known.response), known.and_then(|known| Some(known.percentiles?.p95))]
}

fn trial(system: &Workload, seed: u64) -> Result<Trial, InvalidValue> {
    let result = simulate(&system.clone().with_seed(Seed(seed)), Stop::Jobs(JOBS), None)?;
    let (summary, warnings) = (result.summary, result.warnings);
    if summary.jobs_needed.is_some() {
        return Err(InvalidValue::new(format!("only {} requests completed, too few for an interval", summary.jobs)));
    }
    let figures = [summary.response.mean.value, summary.response.p95.value];
    Ok(Trial { figures, load: result.load_reached.value, warnings })
}

fn is_precise(found: &[Result<Responses, InvalidValue>]) -> bool {
    let Ok(own) = &found[0] else { return true };
    found.iter().flatten().all(|one| Figure::ALL.iter().all(|figure| one.ratio(own, *figure).relative() <= PRECISION))
}

/// A value without uncertainty.
const fn certain(value: f64) -> Estimate {
    Estimate { value, low: value, high: value }
}

impl Responses {
    /// Whether a formula gives this figure.
    pub(super) fn is_exact(&self, figure: Figure) -> bool {
        self.exact[figure as usize].is_some()
    }

    fn values(&self, figure: Figure) -> Vec<f64> {
        self.trials.iter().map(|trial| trial.figures[figure as usize]).collect()
    }

    /// The figure in seconds, with its 95 % interval.
    pub(super) fn estimate(&self, figure: Figure) -> Estimate {
        self.exact[figure as usize].map_or_else(|| from_trials(&self.values(figure)), certain)
    }

    /// The ratio to the same figure of `own`. Trials with equal seeds are paired.
    pub(super) fn ratio(&self, own: &Self, figure: Figure) -> Estimate {
        if std::ptr::eq(self, own) {
            return certain(1.0);
        }
        let place = figure as usize;
        match (self.exact[place], own.exact[place]) {
            (Some(this), Some(own)) => certain(this / own),
            (None, Some(own)) => {
                let Estimate { value, low, high } = self.estimate(figure);
                Estimate { value: value / own, low: low / own, high: high / own }
            }
            (Some(this), None) => {
                let Estimate { value, low, high } = own.estimate(figure);
                let high_ratio = if low > 0.0 { this / low } else { f64::INFINITY };
                Estimate { value: this / value, low: this / high, high: high_ratio }
            }
            (None, None) => {
                let pairs = |one: &Self| one.values(figure).into_iter().map(|x| (x, 1.0)).collect::<Vec<_>>();
                ratio_of_ratios(&pairs(self), &pairs(own))
            }
        }
    }

    /// The mean load of the trials; `None` without trials.
    pub(super) fn load(&self) -> Option<f64> {
        let n = self.trials.len();
        (n > 0).then(|| self.trials.iter().map(|trial| trial.load).sum::<f64>() / n as f64)
    }

    /// Warnings of at least half of the trials, and a warning if the ratios to `own` are not precise.
    pub(super) fn warnings(&self, own: &Self) -> impl Iterator<Item = String> {
        // The precision is judged over all trials, and slowdowns are not compared.
        let of_one = |warning: &&SimulationWarning| {
            use SimulationWarning as W;
            match warning {
                W::RareSizes { needed, .. } => *needed > JOBS * self.trials.len() as u64,
                W::Imprecise { .. } | W::CorrelatedBatches { .. } | W::TooFewRequests { .. } => false,
                W::SlowdownOutliers { .. } => false,
                _ => true,
            }
        };
        let all: Vec<&SimulationWarning> =
            self.trials.iter().flat_map(|trial| &trial.warnings).filter(of_one).collect();
        let alike =
            |a: &SimulationWarning, b: &SimulationWarning| std::mem::discriminant(a) == std::mem::discriminant(b);
        let mut frequent: Vec<String> = Vec::new();
        for (place, warning) in all.iter().enumerate() {
            let count = all.iter().filter(|other| alike(warning, other)).count();
            let is_first = !all[..place].iter().any(|other| alike(warning, other));
            if is_first && 2 * count >= self.trials.len() {
                frequent.push(warning.message());
            }
        }
        let widest = Figure::ALL.map(|figure| self.ratio(own, figure).relative()).into_iter().fold(0.0, f64::max);
        if widest > PRECISION {
            frequent.push(format!(
                "the ratio to partly-open is known only to {:.0} % after {} trials of {JOBS} responses",
                100.0 * widest,
                self.trials.len()
            ));
        }
        frequent.into_iter()
    }
}
