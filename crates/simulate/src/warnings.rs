//! Derives warnings from a simulation result.

use offered_events::note::SimulationWarning;

use crate::simulation::{SimulationResult, Stop};

/// All warnings that apply to this result.
pub(crate) fn of(answer: &SimulationResult, stop: Stop) -> Vec<SimulationWarning> {
    let summary = &answer.summary;
    let mut warnings = Vec::new();
    let precision = summary.response.mean.relative();
    if !summary.littles_law_holds {
        warnings.push(SimulationWarning::LittlesLaw);
    }
    if !summary.warm_up_converged {
        warnings.push(SimulationWarning::WarmUpNotConverged);
    }
    if let Some(needed) = summary.jobs_needed {
        warnings.push(SimulationWarning::TooFewRequests { completed: summary.jobs, needed });
    } else if summary.effective_batches < 10.0 {
        warnings.push(SimulationWarning::CorrelatedBatches { effective_batches: summary.effective_batches });
    }
    let wanted = if let Stop::Precision(wanted) = stop { wanted } else { 0.1 };
    if precision > wanted && summary.jobs_needed.is_none() {
        warnings.push(SimulationWarning::Imprecise { relative_half_width: precision });
    }
    // W/S has no mean where a request of any small size can find a queue; the sample mean is then dominated by its most
    // extreme job.
    let slowdown = summary.slowdown;
    if summary.jobs_needed.is_none() && slowdown.mean.relative() > 0.1 && slowdown.max > 100.0 * slowdown.p99.value {
        warnings.push(SimulationWarning::SlowdownOutliers { mean: slowdown.mean.value, max: slowdown.max });
    }
    let (_, scv) = summary.realised_work;
    if answer.scv > 0.0 && scv < 0.8 * answer.scv {
        warnings.push(SimulationWarning::LargeSizesMissing { realised_scv: scv, distribution_scv: answer.scv });
    }
    let little = summary.littles_law_response.value / summary.response.mean.value;
    if (little - 1.0).abs() > 0.05 {
        warnings.push(SimulationWarning::Unfinished {
            completed_s: summary.response.mean.value,
            littles_law_s: summary.littles_law_response.value,
            unfinished: answer.ages.map(|(oldest, mean)| (summary.unfinished, oldest, mean)),
        });
    }
    warnings
}
