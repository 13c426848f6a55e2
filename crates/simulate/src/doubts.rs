//! What to doubt in an answer, computed from the answer, each with its remedy.

use crate::simulation::{Simulated, Stop};

/// What to doubt in an answer, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Little's law does not hold within the run, which it must.
    NotLittle,
    /// The run has no part that is no beginning.
    Unsettled,
    /// Neighbouring parts are alike.
    Alike {
        /// So many independent parts the run is worth.
        independent: f64,
    },
    /// The mean response is not known well enough.
    Imprecise {
        /// The half-width of its interval, as a fraction of it.
        relative: f64,
    },
    /// A few requests make the mean slowdown.
    FewMakeTheMean {
        /// The mean slowdown.
        mean: f64,
        /// The largest.
        max: f64,
    },
    /// The largest sizes of the law were not drawn.
    SizesMissing {
        /// C2 of those drawn.
        drawn: f64,
        /// And of the law.
        of_law: f64,
    },
    /// The discipline leaves jobs unfinished, so that those that end tell too little.
    Unfinished {
        /// Mean response of completed jobs, seconds.
        completed_s: f64,
        /// E\[N\]/X, seconds.
        by_little_s: f64,
        /// How many are unfinished, how old the oldest is and they are on average, seconds.
        left: Option<(u64, f64, f64)>,
    },
}

impl Doubt {
    /// What is doubted, and what to do about it.
    pub fn words(&self) -> String {
        match self {
            Self::NotLittle => {
                "Little's law does not hold: this is a bug of offered, please report it with the workload".to_owned()
            }
            Self::Unsettled => "the first half of the run still looks like a beginning; simulate longer".to_owned(),
            Self::Alike { independent } => format!(
                "neighbouring parts of the run are alike, all of it is worth {independent:.0} independent ones, so the intervals may be too narrow; simulate longer"
            ),
            Self::Imprecise { relative } => format!(
                "the mean response is known to {:.1} % only; simulate longer, or until it is known well enough",
                100.0 * relative
            ),
            Self::FewMakeTheMean { mean, max } => format!(
                "the mean slowdown, {mean:.1}, is made by a few tiny requests that had to wait (the worst {max:.0}); take its percentiles"
            ),
            Self::SizesMissing { drawn, of_law } => format!(
                "the sizes drawn have C2 {drawn:.3}, the law has {of_law:.3}: its largest sizes have not come yet; simulate longer"
            ),
            Self::Unfinished { completed_s, by_little_s, left } => {
                let ages = left.map_or_else(String::new, |(jobs, oldest, mean)| {
                    format!(" ({jobs} jobs are unfinished, {mean:.3} s old on average, the oldest {oldest:.3} s)")
                });
                format!(
                    "completed jobs took {completed_s:.4} s on average, but E[N]/X is {by_little_s:.4} s: the discipline leaves some jobs unfinished{ages}; believe E[N]/X"
                )
            }
        }
    }
}

/// The doubts.
pub(crate) fn of(answer: &Simulated, stop: Stop) -> Vec<Doubt> {
    let summary = &answer.summary;
    let mut doubts = Vec::new();
    let precision = summary.response.mean.relative();
    if !summary.little_holds {
        doubts.push(Doubt::NotLittle);
    }
    if !summary.settled {
        doubts.push(Doubt::Unsettled);
    }
    if summary.independent < 10.0 {
        doubts.push(Doubt::Alike { independent: summary.independent });
    }
    let wanted = if let Stop::Precision(wanted) = stop { wanted } else { 0.1 };
    if precision > wanted {
        doubts.push(Doubt::Imprecise { relative: precision });
    }
    // W/S has no mean where a request of any small size can find a queue: the mean of a sample is that of its luckiest job.
    let slowdown = summary.slowdown;
    if slowdown.mean.relative() > 0.1 && slowdown.max > 100.0 * slowdown.p99.value {
        doubts.push(Doubt::FewMakeTheMean { mean: slowdown.mean.value, max: slowdown.max });
    }
    let (_, scv) = summary.work;
    if answer.scv > 0.0 && scv < 0.8 * answer.scv {
        doubts.push(Doubt::SizesMissing { drawn: scv, of_law: answer.scv });
    }
    let little = summary.response_by_little.value / summary.response.mean.value;
    if (little - 1.0).abs() > 0.05 {
        doubts.push(Doubt::Unfinished {
            completed_s: summary.response.mean.value,
            by_little_s: summary.response_by_little.value,
            left: answer.ages.map(|(oldest, mean)| (summary.unfinished, oldest, mean)),
        });
    }
    doubts
}
