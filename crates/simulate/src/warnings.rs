//! Derives warnings from a simulation result.

use offered_events::note::SimulationWarning;

use crate::requirements::MeanInterval;
use crate::result::SimulationResult;
use crate::stop::Stop;

/// All warnings that apply to this result; `little` is the ratio of the mean response by Little's law to that of completed jobs.
pub(crate) fn of(answer: &SimulationResult, stop: Stop, little: f64) -> Vec<SimulationWarning> {
    let summary = &answer.summary;
    let mut warnings = Vec::new();
    let precision = summary.response.mean.relative();
    if !summary.littles_law_holds {
        warnings.push(SimulationWarning::LittlesLaw);
    }
    match answer.mean_interval {
        MeanInterval::Exists => {}
        MeanInterval::NeedsJobs(needed) => {
            warnings.push(SimulationWarning::RareSizes { completed: summary.jobs, needed });
        }
        MeanInterval::NeedsLongerRun(needed) => {
            // Without any interval, the larger number.
            let needed = summary.jobs_needed.unwrap_or(needed);
            warnings.push(SimulationWarning::TooFewRequests { completed: summary.jobs, needed });
        }
        MeanInterval::None => warnings.push(SimulationWarning::NoMeanInterval),
        MeanInterval::InfiniteMean => warnings.push(SimulationWarning::InfiniteMean),
    }
    let exists = answer.mean_interval == MeanInterval::Exists;
    let longer_helps =
        exists || matches!(answer.mean_interval, MeanInterval::NeedsJobs(_) | MeanInterval::NeedsLongerRun(_));
    if longer_helps && !summary.warm_up_converged {
        warnings.push(SimulationWarning::WarmUpNotConverged);
    }
    let is_short = matches!(answer.mean_interval, MeanInterval::NeedsLongerRun(_));
    if let Some(needed) = summary.jobs_needed.filter(|_| !is_short) {
        warnings.push(SimulationWarning::TooFewRequests { completed: summary.jobs, needed });
    } else if exists && summary.effective_batches < 10.0 {
        warnings.push(SimulationWarning::CorrelatedBatches { effective_batches: summary.effective_batches });
    }
    let wanted = if let Stop::Precision(wanted) = stop { wanted } else { 0.1 };
    if exists && precision > wanted && summary.jobs_needed.is_none() {
        warnings.push(SimulationWarning::Imprecise { relative_half_width: precision });
    }
    // W/S has no mean where a request of any small size can find a queue; the sample mean is then dominated by its most
    // extreme job.
    let slowdown = summary.slowdown;
    if exists
        && summary.jobs_needed.is_none()
        && slowdown.mean.relative() > 0.1
        && slowdown.max > 100.0 * slowdown.p99.value
    {
        warnings.push(SimulationWarning::SlowdownOutliers { mean: slowdown.mean.value, max: slowdown.max });
    }
    let (_, scv) = summary.realised_work;
    if exists && answer.scv > 0.0 && scv < 0.8 * answer.scv {
        warnings.push(SimulationWarning::LargeSizesMissing { realised_scv: scv, distribution_scv: answer.scv });
    }
    if answer.mean_interval != MeanInterval::InfiniteMean && (little - 1.0).abs() > 0.05 {
        warnings.push(SimulationWarning::Unfinished {
            completed_s: summary.response.mean.value,
            littles_law_s: summary.littles_law_response.value,
            unfinished: answer.ages.map(|(oldest, mean)| (summary.unfinished, oldest, mean)),
        });
    }
    warnings
}
