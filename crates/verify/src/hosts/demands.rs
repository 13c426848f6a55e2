//! Service demands by label: the busy time of windows, explained by the responses in service in them.
//!
//! The processor time of a response is spread evenly over its service time. The busy processors of a window are then U0
//! plus, for each label, the number of its responses times its demand, all non-negative
//! ([`offered_stats::regression`]). Windows with more responses have smaller weights, because demands vary.
//!
//! The demand of a label is reported only if it can be determined: the label has a tenth of the processor time,
//! utilisation is at most 0.7 (above that, responses wait, and the time of their service is unknown), and there are
//! enough windows. Source: Rolia and Vetland 1995, Pacifici et al. 2008 (demands by regression). The limits are from
//! our experiments with known demands.

use std::ops::Range;

use offered_stats::regression::{MAX_CAUSES, non_negative_least_squares};
use serde::{Deserialize, Serialize};

use super::{CounterHistory, ResponseCounts, utilisation_law};

/// At a higher utilisation it is unknown when in its service time a response used the processor.
const MAX_UTILISATION: f64 = 0.7;
/// A label with a smaller share of the processor time has no estimate.
const MIN_SHARE: f64 = 0.1;
/// Minimum number of windows per unknown: the labels and the usage without load.
const WINDOWS_PER_UNKNOWN: usize = 10;

/// The service demands by label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demands {
    /// The source of the processor time.
    pub counter: utilisation_law::Counter,
    /// One entry per label with responses.
    pub labels: Vec<Demand>,
    /// Number of windows used.
    pub windows: usize,
    /// The length of each window.
    pub window_s: f64,
}

/// The service demand of a label: processor time per response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demand {
    /// The label.
    pub label: String,
    /// Its responses per second in the windows used.
    pub completed_rate_per_s: f64,
    /// Its share of the processor time of all labels.
    pub share: f64,
    /// The processor time of a response; `None` if the share is below a tenth.
    pub demand_ms: Option<f64>,
    /// The lower end of its 95 % confidence interval, at least zero.
    pub demand_low_ms: Option<f64>,
    /// The upper end.
    pub demand_high_ms: Option<f64>,
}

/// The demands from the windows `judged` of a machine with this number of processors. `Err`: the reason why there are
/// none, if it is worth a note.
pub(super) fn of(
    history: &CounterHistory,
    ticks_per_s: u64,
    responses: &ResponseCounts,
    judged: &Range<usize>,
    processors: u64,
) -> Result<Demands, Option<String>> {
    let (counter, work) = utilisation_law::work(history, ticks_per_s).ok_or(None)?;
    let with_responses: Vec<usize> =
        (0..responses.labels.len()).filter(|of| responses.served_by_label[*of].iter().sum::<f64>() > 0.0).collect();
    if with_responses.len() < 2 || judged.is_empty() {
        return Err(None);
    }
    if with_responses.len() >= MAX_CAUSES {
        return Err(Some(format!("{} labels are too many to be separated", with_responses.len())));
    }
    let windows = utilisation_law::windows(history, responses.mean_service_s, judged);
    let (needed, length) = (
        WINDOWS_PER_UNKNOWN * (with_responses.len() + 1),
        windows.first().map_or(0.0, |all| history.seconds(all.start, all.end)),
    );
    if windows.len() < needed {
        return Err(Some(format!("the judged time has {} of {needed} windows of {length:.1} s", windows.len())));
    }
    let busy = work(judged.start, judged.end).ok_or(None)? / history.seconds(judged.start, judged.end);
    if busy > MAX_UTILISATION * processors as f64 {
        return Err(Some(match processors {
            0 => "the number of processors is unknown".to_owned(),
            all => format!(
                "{:.0} % of the processors were busy; above {:.0} % responses wait, and the time of their service is unknown",
                100.0 * busy / all as f64,
                100.0 * MAX_UTILISATION
            ),
        }));
    }
    let rows: Vec<(Vec<f64>, f64)> = windows
        .iter()
        .filter_map(|window| {
            let served =
                |of: &usize| responses.served_by_label[*of].get(window.clone()).map_or(0.0, |parts| parts.iter().sum());
            let causes = with_responses.iter().map(served).chain([history.seconds(window.start, window.end)]).collect();
            Some((causes, work(window.start, window.end)?))
        })
        .collect();
    let (causes, found): (Vec<Vec<f64>>, Vec<f64>) = rows.into_iter().unzip();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    let equal = vec![1.0; found.len()];
    let collinear = || Some("the rates of the labels change together, so their demands cannot be separated".to_owned());
    let first = non_negative_least_squares(&causes, &found, &equal).ok_or_else(collinear)?;
    // The variance of a window is that of its own responses.
    let weight = |causes: &Vec<f64>| {
        let of = causes
            .iter()
            .zip(&first.per_unit)
            .take(with_responses.len())
            .map(|(cause, part)| cause * part * part)
            .sum::<f64>();
        let all = first.per_unit.iter().take(with_responses.len()).fold(0.0, |most: f64, part| most.max(*part));
        1.0 / of.max(0.01 * mean * all).max(f64::MIN_POSITIVE)
    };
    let found = non_negative_least_squares(&causes, &found, &causes.iter().map(weight).collect::<Vec<_>>())
        .ok_or_else(collinear)?;
    let sums: Vec<f64> =
        (0..with_responses.len()).map(|of| causes.iter().map(|causes| causes[of]).sum::<f64>()).collect();
    let all: f64 = sums.iter().zip(&found.per_unit).map(|(sum, part)| sum * part).sum();
    let seconds: f64 = causes.iter().filter_map(|causes| causes.last()).sum();
    let label = |(of, label): (usize, &usize)| {
        let (part, interval) = (found.per_unit[of], found.intervals[of]);
        let share = if all > 0.0 { part * sums[of] / all } else { 0.0 };
        let if_reported = |value: f64| (share >= MIN_SHARE).then(|| value.max(0.0) * 1e3);
        Demand {
            label: responses.labels[*label].clone(),
            completed_rate_per_s: sums[of] / seconds,
            share,
            demand_ms: if_reported(part),
            demand_low_ms: if_reported(interval.low),
            demand_high_ms: if_reported(interval.high),
        }
    };
    let labels = with_responses.iter().enumerate().map(label).collect();
    Ok(Demands { counter, labels, windows: causes.len(), window_s: length })
}
