//! Service demands by label, from a regression of the busy time of windows on the responses in them.
//!
//! # At a utilisation of at most 0.7
//! The processor time of a response is spread evenly over its service time. The busy processors of a window are then U0
//! plus, for each label, the number of its responses times its demand, all non-negative
//! ([`offered_stats::regression`]). Windows with more responses have smaller weights, because demands vary.
//!
//! # Above that
//! Responses wait, and it is unknown when in its service time a response used the processor. The number of responses of
//! a window then depends on their work, so it does not explain the busy time. If requests are served in the order of
//! their arrival, the shares of the labels among the responses of a window do not depend on the work: the processor
//! time per response of a window is the sum over labels of share times demand. The usage without load cannot be
//! separated from it. Two conditions are checked. First, all labels wait equally long, that is, their service times
//! minus their demands are equal. (If responses share a processor, small ones wait less.) Second, nearly all requests
//! completed, or different demands make the order of service certain; then unfinished requests have used no processor
//! time.
//!
//! The demand of a label is reported only if it has a tenth of the processor time and if there are enough windows. Source: Rolia and
//! Vetland 1995, Pacifici et al. 2008 (demands by regression). The limits are from our experiments with known demands.

use std::ops::Range;

use offered_stats::regression::{Contributions, MAX_CAUSES, non_negative_least_squares};
use serde::{Deserialize, Serialize};

use super::{Counter, CounterHistory, HostNote, ResponseCounts, utilisation_law};

/// At a higher utilisation it is unknown when in its service time a response used the processor.
const MAX_UTILISATION: f64 = 0.7;
/// The largest difference between the waiting times of labels at such a utilisation, as a share of the mean service time.
const MAX_WAIT_DIFFERENCE: f64 = 0.25;
/// The largest share of the requests that may be without a response if the demands of all labels are alike: within a factor of [`ALIKE`].
const MAX_UNFINISHED: f64 = 0.05;
const ALIKE: f64 = 2.0;
/// The fewest responses of a window, in the mean, for its shares of labels.
const MIN_RESPONSES: f64 = 20.0;
/// A label with a smaller share of the processor time has no estimate.
const MIN_SHARE: f64 = 0.1;
/// Minimum number of windows per unknown: the labels and the usage without load.
const WINDOWS_PER_UNKNOWN: usize = 10;

/// The service demands by label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demands {
    /// The source of the processor time.
    pub counter: Counter,
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
    /// The responses per second in the windows used.
    pub completed_rate_per_s: f64,
    /// The share of this label in the processor time of all labels, 0 to 1.
    pub share: f64,
    /// The processor time of a response; `None` if the share is below a tenth.
    pub demand_ms: Option<f64>,
    /// The lower end of the 95 % confidence interval of `demand_ms`, at least zero.
    pub demand_low_ms: Option<f64>,
    /// The upper end of the 95 % confidence interval of `demand_ms`.
    pub demand_high_ms: Option<f64>,
}

/// What the demands are computed from.
struct Input<'a> {
    history: &'a CounterHistory,
    responses: &'a ResponseCounts,
    judged: &'a Range<usize>,
    /// The labels with responses.
    labels: Vec<usize>,
    /// The processor time between two edges, in seconds.
    work: Box<dyn Fn(usize, usize) -> Option<f64> + 'a>,
}

/// The causes of the processor time of each window, the processor time, and the coefficients of a regression.
struct Fit {
    causes: Vec<Vec<f64>>,
    found: Contributions,
    /// Number of responses by label.
    counts: Vec<f64>,
    window_s: f64,
    /// The length of all windows.
    seconds: f64,
}

/// The demands from the windows `judged` of a machine with this number of processors, and a note on them. `limit_share` is the share of its
/// processor limit that the server used. `Err`: the reason why there are none, if it is worth a note.
pub(super) fn of(
    history: &CounterHistory,
    ticks_per_s: u64,
    responses: &ResponseCounts,
    judged: &Range<usize>,
    processors: u64,
    limit_share: f64,
) -> Result<(Demands, Option<HostNote>), Option<String>> {
    let (counter, work) = utilisation_law::work(history, ticks_per_s).ok_or(None)?;
    let labels: Vec<usize> =
        (0..responses.labels.len()).filter(|of| responses.served_by_label[*of].iter().sum::<f64>() > 0.0).collect();
    if labels.len() < 2 || judged.is_empty() {
        return Err(None);
    }
    if labels.len() >= MAX_CAUSES {
        return Err(Some(format!("{} labels are too many to be separated", labels.len())));
    }
    let busy = work(judged.start, judged.end).ok_or(None)? / history.seconds(judged.start, judged.end);
    let utilisation = match processors {
        0 if busy > 0.0 => return Err(Some("the number of processors is unknown".to_owned())),
        processors => limit_share.max(busy / processors.max(1) as f64),
    };
    let input = Input { history, responses, judged, labels, work };
    if utilisation <= MAX_UTILISATION {
        return Ok((demands(counter, &input, input.by_time_in_service()?), None));
    }
    if counter == Counter::Machine {
        let (percent, most) = (100.0 * utilisation, 100.0 * MAX_UTILISATION);
        return Err(Some(format!(
            "{percent:.0} % of the processors were busy; above {most:.0} % the processor time of the server alone is needed \
             (its control group or its processes)"
        )));
    }
    let demands = demands(counter, &input, input.by_shares_of_labels()?);
    Ok((demands, Some(HostNote::IdleUsageInDemands { utilisation })))
}

impl Input<'_> {
    /// Windows that are long enough, and their length in seconds; at least ten for each of the `unknowns`.
    fn windows(&self, unknowns: usize, fewest: usize) -> Result<(Vec<Range<usize>>, f64), Option<String>> {
        let Self { history, responses, judged, .. } = *self;
        let windows = utilisation_law::windows(history, responses.mean_service_s, judged, fewest);
        let length = windows.first().map_or(0.0, |all| history.seconds(all.start, all.end));
        let needed = WINDOWS_PER_UNKNOWN * unknowns;
        if windows.len() < needed {
            return Err(Some(format!("the analysed time has {} of {needed} windows of {length:.1} s", windows.len())));
        }
        Ok((windows, length))
    }

    /// The regression of processor time on the number of responses in service.
    fn by_time_in_service(&self) -> Result<Fit, Option<String>> {
        let Self { history, responses, labels, work, .. } = self;
        let (windows, window_s) = self.windows(labels.len() + 1, utilisation_law::MIN_WINDOWS)?;
        let rows = windows.iter().filter_map(|window| {
            let served =
                |of: &usize| responses.served_by_label[*of].get(window.clone()).map_or(0.0, |parts| parts.iter().sum());
            let causes = labels.iter().map(served).chain([history.seconds(window.start, window.end)]).collect();
            Some((causes, work(window.start, window.end)?))
        });
        let (causes, found): (Vec<Vec<f64>>, Vec<f64>) = rows.unzip();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let first =
            non_negative_least_squares(&causes, &found, &vec![1.0; found.len()]).ok_or_else(|| Some(collinear()))?;
        let demands = &first.per_unit[..labels.len()];
        let largest = demands.iter().fold(0.0, |most: f64, demand| most.max(*demand));
        // The variance of a window is that of its own responses.
        let weight = |causes: &Vec<f64>| {
            let of: f64 = causes.iter().zip(demands).map(|(cause, demand)| cause * demand * demand).sum();
            1.0 / of.max(0.01 * mean * largest).max(f64::MIN_POSITIVE)
        };
        let weights: Vec<f64> = causes.iter().map(weight).collect();
        let found = non_negative_least_squares(&causes, &found, &weights).ok_or_else(|| Some(collinear()))?;
        let counts = (0..labels.len()).map(|of| causes.iter().map(|causes| causes[of]).sum()).collect();
        let seconds = causes.iter().filter_map(|causes| causes.last()).sum();
        Ok(Fit { causes, found, counts, window_s, seconds })
    }

    /// The regression of processor time per response on the shares of the labels.
    fn by_shares_of_labels(&self) -> Result<Fit, Option<String>> {
        let Self { history, responses, judged, labels, work } = self;
        let sum = |counts: &[u64], window: &Range<usize>| counts[window.clone()].iter().sum::<u64>() as f64;
        let (windows, window_s) = self.windows(labels.len(), WINDOWS_PER_UNKNOWN * labels.len())?;
        let mean = sum(&responses.per_window, judged) / windows.len() as f64;
        if mean < MIN_RESPONSES {
            return Err(Some(format!(
                "a window of {window_s:.1} s has {mean:.0} responses, and {MIN_RESPONSES:.0} are needed"
            )));
        }
        let (mut causes, mut found, mut weights, mut seconds) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        let mut counts = vec![0.0; labels.len()];
        for window in &windows {
            let of_labels: Vec<f64> = labels.iter().map(|of| sum(&responses.completed_by_label[*of], window)).collect();
            let all: f64 = of_labels.iter().sum();
            let Some(used) = work(window.start, window.end).filter(|_| all > 0.0) else { continue };
            counts.iter_mut().zip(&of_labels).for_each(|(count, of_label)| *count += of_label);
            seconds += history.seconds(window.start, window.end);
            causes.push(of_labels.iter().map(|of_label| of_label / all).collect());
            found.push(used / all);
            weights.push(all);
        }
        let found = non_negative_least_squares(&causes, &found, &weights).ok_or_else(|| Some(collinear()))?;
        self.check_order_of_service(&found.per_unit)?;
        Ok(Fit { causes, found, counts, window_s, seconds })
    }

    /// Returns an error if, by these demands, the server does not (or may not) serve requests in the order of their
    /// arrival.
    fn check_order_of_service(&self, demands: &[f64]) -> Result<(), Option<String>> {
        let Self { responses, judged, labels, .. } = self;
        let sum = |counts: &[u64]| counts[(*judged).clone()].iter().sum::<u64>() as f64;
        let waits = labels.iter().zip(demands).map(|(label, demand)| {
            let service: f64 = responses.service_by_label[*label][(*judged).clone()].iter().sum();
            service / sum(&responses.completed_by_label[*label]) - demand
        });
        let ends = |(low, high): (f64, f64), wait: f64| (low.min(wait), high.max(wait));
        let (shortest, longest) = waits.fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        if longest - shortest > MAX_WAIT_DIFFERENCE * responses.mean_service_s {
            return Err(Some(format!(
                "some labels wait {:.1} ms and others {:.1} ms, so requests are not served in order of arrival, and the times when they use the processors are unknown",
                1e3 * shortest.max(0.0),
                1e3 * longest
            )));
        }
        let (sent, completed) = (sum(&responses.sent_per_window), sum(&responses.per_window));
        let (least, most) = demands.iter().copied().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        if sent - completed > MAX_UNFINISHED * sent && most < ALIKE * least {
            return Err(Some(format!(
                "of {sent:.0} requests {:.0} had no response in the analysed time (limit {:.0} %), and the processor time that they used is unknown",
                sent - completed,
                100.0 * MAX_UNFINISHED
            )));
        }
        Ok(())
    }
}

fn collinear() -> String {
    "the rates of the labels change together, so their demands cannot be separated".to_owned()
}

/// The demands by label of a regression.
fn demands(counter: Counter, input: &Input, fit: Fit) -> Demands {
    let Fit { causes, found, counts, window_s, seconds } = fit;
    let all: f64 = counts.iter().zip(&found.per_unit).map(|(count, demand)| count * demand).sum();
    let label = |(of, label): (usize, &usize)| {
        let (demand, interval) = (found.per_unit[of], found.intervals[of]);
        let share = if all > 0.0 { demand * counts[of] / all } else { 0.0 };
        let if_reported = |value: f64| (share >= MIN_SHARE).then(|| value.max(0.0) * 1e3);
        Demand {
            label: input.responses.labels[*label].clone(),
            completed_rate_per_s: counts[of] / seconds,
            share,
            demand_ms: if_reported(demand),
            demand_low_ms: if_reported(interval.low),
            demand_high_ms: if_reported(interval.high),
        }
    };
    let labels = input.labels.iter().enumerate().map(label).collect();
    Demands { counter, labels, windows: causes.len(), window_s }
}
