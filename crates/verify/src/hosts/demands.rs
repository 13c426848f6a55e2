//! How much processor time an answer of each label takes: the busy time of windows, explained by how much of what was worked on in them.
//!
//! The work of an answer is spread evenly over its stay, from sending to answer: it is somewhere in there. Busy processors of a window are
//! then U0 and, for every label, so many of its answers times its demand; none is negative ([`offered_stats::regression`]). A window
//! weighs the less the more it answered, since demands vary.
//!
//! It is told only where it can be: where labels have a tenth of the work each, processors were busy for 0.7 at most (above that, work waits,
//! and where it was done in its stay is anybody's guess), and there are windows enough. Source: Rolia and Vetland 1995, Pacifici et al. 2008
//! (demands by regression); the limits are this project's own, from experiments with known demands.

use std::ops::Range;

use offered_stats::regression::{MOST_CAUSES, parts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answers, Course, law};

/// Above this utilisation nobody can say where in its stay an answer was worked on.
const BUSIEST: f64 = 0.7;
/// Of a label with less of the work nothing is told.
const LEAST: f64 = 0.1;
/// So many windows for each label and for what is used without load.
const WINDOWS: usize = 10;

/// How much processor time an answer of each label takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demands {
    /// What counted the work.
    pub counter: law::Counter,
    /// Every label that was answered.
    pub labels: Vec<Demand>,
    /// Windows that tell.
    pub windows: usize,
    /// How long each of them is.
    pub window_s: f64,
}

/// How much processor time an answer of a label takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demand {
    /// The label.
    pub label: String,
    /// Its answers per second, as far as they were worked on in the windows.
    pub answers_per_s: f64,
    /// Its part of the work of all labels.
    pub share: f64,
    /// Processor time of an answer; `None` where its part is below a tenth: too little to tell.
    pub work_ms: Option<f64>,
    /// The lower end of its 95 % interval, not below zero.
    pub work_low_ms: Option<f64>,
    /// The upper end.
    pub work_high_ms: Option<f64>,
}

/// The demands over the windows in `judged` of a machine with so many `processors`; why they cannot be had, where there is something to say.
pub(super) fn of(
    course: &Course,
    ticks_per_s: u64,
    answers: &Answers,
    judged: &Range<usize>,
    processors: u64,
) -> Result<Demands, Option<String>> {
    let (counter, work) = law::work(course, ticks_per_s).ok_or(None)?;
    let there: Vec<usize> =
        (0..answers.labels.len()).filter(|of| answers.worked[*of].iter().sum::<f64>() > 0.0).collect();
    if there.len() < 2 || judged.is_empty() {
        return Err(None);
    }
    if there.len() >= MOST_CAUSES {
        return Err(Some(format!("{} labels are too many to be told apart", there.len())));
    }
    let windows = law::windows(course, answers.stay_s, judged);
    let (needed, length) =
        (WINDOWS * (there.len() + 1), windows.first().map_or(0.0, |all| course.seconds(all.start, all.end)));
    if windows.len() < needed {
        return Err(Some(format!(
            "the time that was judged has {} of {needed} windows of {length:.1} s",
            windows.len()
        )));
    }
    let busy = work(judged.start, judged.end).ok_or(None)? / course.seconds(judged.start, judged.end);
    if busy > BUSIEST * processors as f64 {
        return Err(Some(match processors {
            0 => "how many processors it has is not known".to_owned(),
            all => format!(
                "{:.2} of its processors were busy; above {BUSIEST} work waits, and nobody can say when it was done",
                busy / all as f64
            ),
        }));
    }
    let rows: Vec<(Vec<f64>, f64)> = windows
        .iter()
        .filter_map(|window| {
            let worked = |of: &usize| answers.worked[*of].get(window.clone()).map_or(0.0, |parts| parts.iter().sum());
            let causes = there.iter().map(worked).chain([course.seconds(window.start, window.end)]).collect();
            Some((causes, work(window.start, window.end)?))
        })
        .collect();
    let (causes, found): (Vec<Vec<f64>>, Vec<f64>) = rows.into_iter().unzip();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let equal = vec![1.0; found.len()];
    let apart = || Some("labels rise and fall together, so their work cannot be told apart".to_owned());
    let first = parts(&causes, &found, &equal).ok_or_else(apart)?;
    // What a window varies by is what its own answers vary by.
    let weight = |causes: &Vec<f64>| {
        let of =
            causes.iter().zip(&first.parts).take(there.len()).map(|(cause, part)| cause * part * part).sum::<f64>();
        let all = first.parts.iter().take(there.len()).fold(0.0, |most: f64, part| most.max(*part));
        1.0 / of.max(0.01 * mean * all).max(f64::MIN_POSITIVE)
    };
    let found = parts(&causes, &found, &causes.iter().map(weight).collect::<Vec<_>>()).ok_or_else(apart)?;
    let sums: Vec<f64> = (0..there.len()).map(|of| causes.iter().map(|causes| causes[of]).sum::<f64>()).collect();
    let all: f64 = sums.iter().zip(&found.parts).map(|(sum, part)| sum * part).sum();
    let seconds: f64 = causes.iter().filter_map(|causes| causes.last()).sum();
    let label = |(of, label): (usize, &usize)| {
        let (part, interval) = (found.parts[of], found.intervals[of]);
        let share = if all > 0.0 { part * sums[of] / all } else { 0.0 };
        let told = |value: f64| (share >= LEAST).then(|| value.max(0.0) * 1e3);
        Demand {
            label: answers.labels[*label].clone(),
            answers_per_s: sums[of] / seconds,
            share,
            work_ms: told(part),
            work_low_ms: told(interval.low),
            work_high_ms: told(interval.high),
        }
    };
    let labels = there.iter().enumerate().map(label).collect();
    Ok(Demands { counter, labels, windows: causes.len(), window_s: length })
}
