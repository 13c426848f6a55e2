//! What to doubt in an answer, computed from the answer, each with its remedy.

use crate::simulation::{Simulated, Stop};

/// The warnings.
pub(crate) fn of(answer: &Simulated, stop: Stop) -> Vec<String> {
    let summary = &answer.summary;
    let mut doubts = Vec::new();
    let precision = summary.response.mean.relative();
    if !summary.little_holds {
        doubts.push(
            "Little's law does not hold: this is a bug of offered, please report it with the workload".to_owned(),
        );
    }
    if !summary.settled {
        doubts.push("the first half of the run still looks like a beginning; simulate longer".to_owned());
    }
    if summary.independent < 10.0 {
        doubts.push(format!(
            "neighbouring parts of the run are alike, all of it is worth {:.0} independent ones, so the intervals may be too narrow; simulate longer",
            summary.independent
        ));
    }
    let wanted = if let Stop::Precision(wanted) = stop { wanted } else { 0.1 };
    if precision > wanted {
        doubts.push(format!(
            "the mean response is known to {:.1} % only; simulate longer, or with --until-precision",
            100.0 * precision
        ));
    }
    // W/S has no mean where a request of any small size can find a queue: the mean of a sample is that of its luckiest job.
    let slowdown = summary.slowdown;
    if slowdown.mean.relative() > 0.1 && slowdown.max > 100.0 * slowdown.p99.value {
        doubts.push(format!(
            "the mean slowdown, {:.1}, is made by a few tiny requests that had to wait (the worst {:.0}); take its percentiles",
            slowdown.mean.value, slowdown.max
        ));
    }
    let (_, scv) = summary.work;
    if answer.scv > 0.0 && scv < 0.8 * answer.scv {
        doubts.push(format!(
            "the sizes drawn have C2 {scv:.3}, the law has {:.3}: its largest sizes have not come yet; simulate longer",
            answer.scv
        ));
    }
    let little = summary.response_by_little.value / summary.response.mean.value;
    if (little - 1.0).abs() > 0.05 {
        let ages = answer.ages.map_or(String::new(), |(oldest, mean)| {
            format!(
                " ({} jobs are unfinished, {mean:.3} s old on average, the oldest {oldest:.3} s)",
                summary.unfinished
            )
        });
        doubts.push(format!(
            "completed jobs took {:.4} s on average, but E[N]/X is {:.4} s: the discipline leaves some jobs unfinished{ages}; believe E[N]/X",
            summary.response.mean.value, summary.response_by_little.value
        ));
    }
    doubts
}
