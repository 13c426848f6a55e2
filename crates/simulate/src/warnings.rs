//! Derives warnings from a simulation result.

use offered_events::note::SimulationDoubt as Doubt;

use crate::simulation::{SimulationResult, Stop};

/// All warnings that apply to this result.
pub(crate) fn of(answer: &SimulationResult, stop: Stop) -> Vec<Doubt> {
    let summary = &answer.summary;
    let mut doubts = Vec::new();
    let precision = summary.response.mean.relative();
    if !summary.littles_law_holds {
        doubts.push(Doubt::NotLittle);
    }
    if !summary.warm_up_converged {
        doubts.push(Doubt::Unsettled);
    }
    if summary.effective_batches < 10.0 {
        doubts.push(Doubt::Alike { independent: summary.effective_batches });
    }
    let wanted = if let Stop::Precision(wanted) = stop { wanted } else { 0.1 };
    if precision > wanted {
        doubts.push(Doubt::Imprecise { relative: precision });
    }
    // W/S has no mean where a request of any small size can find a queue; the sample mean is then dominated by its most
    // extreme job.
    let slowdown = summary.slowdown;
    if slowdown.mean.relative() > 0.1 && slowdown.max > 100.0 * slowdown.p99.value {
        doubts.push(Doubt::FewMakeTheMean { mean: slowdown.mean.value, max: slowdown.max });
    }
    let (_, scv) = summary.realised_work;
    if answer.scv > 0.0 && scv < 0.8 * answer.scv {
        doubts.push(Doubt::SizesMissing { drawn: scv, of_law: answer.scv });
    }
    let little = summary.littles_law_response.value / summary.response.mean.value;
    if (little - 1.0).abs() > 0.05 {
        doubts.push(Doubt::Unfinished {
            completed_s: summary.response.mean.value,
            by_little_s: summary.littles_law_response.value,
            left: answer.ages.map(|(oldest, mean)| (summary.unfinished, oldest, mean)),
        });
    }
    doubts
}
