//! The utilisation law, U = X S: the service demand of a response, and the usage of a machine without load.

use std::ops::Range;

use offered_stats::linear_regression::linear_regression;
use serde::{Deserialize, Serialize};

use super::measures::BUSY;
use super::{CounterHistory, ResponseCounts};

/// The minimum length of a window, because of ticks.
const MIN_WINDOW_S: f64 = 1.0;
/// The length of a window in mean service times, because a response may be served in the window before the one in which it completes. Windows
/// are shorter if the analysed time would have fewer than [`MIN_WINDOWS`]: the responses of an overloaded server wait rather than being served.
const WINDOW_SERVICE_TIMES: f64 = 10.0;
/// Minimum number of windows for a regression.
pub(super) const MIN_WINDOWS: usize = 10;
/// A slope with a larger relative half-width of its confidence interval is not reported.
const MAX_RELATIVE_HALF_WIDTH: f64 = 0.5;

offered_base::named! {
    /// The source of processor time.
    pub enum Counter {
        /// Control groups of the server, in microseconds.
        Groups = "cgroup",
        /// Processes of the server, in ticks.
        Processes = "processes",
        /// The whole machine, in ticks, including all other processes.
        Machine = "/proc/stat",
    }
}

/// The service demand of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UtilisationLaw {
    /// The source of the processor time.
    pub counter: Counter,
    /// Responses per second in the analysed time, X.
    pub completed_rate_per_s: f64,
    /// The mean number of busy processors in the analysed time, U.
    pub busy_processors: f64,
    /// The processor time of a response if responses account for all of it, U / X.
    pub demand_ms: f64,
    /// The regression over windows, which separates the usage without load.
    pub regression: Option<DemandRegression>,
    /// The reason why there is no regression; `None` if there is one.
    pub no_regression_reason: Option<String>,
    /// The windows: responses per second, and busy processors.
    pub windows: Vec<[f64; 2]>,
    /// The length of each window.
    pub window_s: f64,
}

/// The regression of busy processors on responses per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DemandRegression {
    /// The slope: the processor time of a response, S.
    pub demand_ms: f64,
    /// The lower end of the 95 % confidence interval of `demand_ms`.
    pub demand_low_ms: f64,
    /// The upper end of the 95 % confidence interval of `demand_ms`.
    pub demand_high_ms: f64,
    /// The intercept: busy processors without load.
    pub idle_processors: f64,
    /// The lower end of the 95 % confidence interval of `idle_processors`.
    pub idle_low_processors: f64,
    /// The upper end of the 95 % confidence interval of `idle_processors`.
    pub idle_high_processors: f64,
    /// The correlation of responses per second and busy processors; `None` if one of them is constant.
    pub correlation: Option<f64>,
}

impl UtilisationLaw {
    /// A summary in sentences.
    pub fn text(&self) -> String {
        let Self { completed_rate_per_s, busy_processors, demand_ms, regression, no_regression_reason, .. } = self;
        let source = self.counter.name();
        let head = format!(
            "U = X S: {busy_processors:.3} busy processors at {completed_rate_per_s:.1} responses/s, {demand_ms:.3} ms of \
             processor time per response ({source})"
        );
        let tail = match (regression, no_regression_reason) {
            (Some(line), _) => format!(
                "; by regression over {} windows of {:.0} s: {:.3} ms ({:.3} to {:.3}), and {:.3} busy processors without load \
                 ({:.3} to {:.3})",
                self.windows.len(),
                self.window_s,
                line.demand_ms,
                line.demand_low_ms,
                line.demand_high_ms,
                line.idle_processors,
                line.idle_low_processors,
                line.idle_high_processors
            ),
            (None, Some(reason)) => format!("; the usage without load is unknown: {reason}"),
            (None, None) => String::new(),
        };
        head + &tail
    }
}

/// The utilisation law over the windows `judged`. `Err`: the reason why there is none, if it is worth a note.
pub(super) fn of(
    history: &CounterHistory,
    ticks_per_s: u64,
    responses: &ResponseCounts,
    judged: &Range<usize>,
) -> Result<UtilisationLaw, Option<String>> {
    let (counter, work) = work(history, ticks_per_s).ok_or(None)?;
    if judged.is_empty() {
        return Err(None);
    }
    let count =
        |windows: Range<usize>| responses.per_window.get(windows).map_or(0, |counts| counts.iter().sum::<u64>()) as f64;
    let all = count(judged.clone());
    let seconds = history.seconds(judged.start, judged.end);
    let used = work(judged.start, judged.end);
    let used = used.ok_or_else(|| Some("the machine was not observed to the end".to_owned()))?;
    if all == 0.0 {
        return Err(Some("no response completed in the analysed time".to_owned()));
    }
    let spans = windows(history, responses.mean_service_s, judged, MIN_WINDOWS);
    let window_s = spans.first().map_or(MIN_WINDOW_S, |span| history.seconds(span.start, span.end));
    let windows: Vec<[f64; 2]> = spans
        .into_iter()
        .filter_map(|span| {
            let length = history.seconds(span.start, span.end);
            Some([count(span.clone()) / length, work(span.start, span.end)? / length])
        })
        .collect();
    let (line, no_line) = match linear_regression(&windows) {
        _ if windows.len() < MIN_WINDOWS => {
            (None, Some(format!("the analysed time has {} of {MIN_WINDOWS} windows of {window_s:.1} s", windows.len())))
        }
        Some(found) if found.slope_interval.high - found.slope <= MAX_RELATIVE_HALF_WIDTH * found.slope => {
            (Some(found), None)
        }
        Some(found) => {
            let [low, high] = [found.slope_interval.low, found.slope_interval.high].map(|slope| slope * 1e3);
            (None, Some(format!("by regression a response takes {low:.3} to {high:.3} ms, which is too uncertain")))
        }
        None => (None, Some("the completed rate was the same in all windows".to_owned())),
    };
    let line = line.map(|found| DemandRegression {
        demand_ms: found.slope * 1e3,
        demand_low_ms: found.slope_interval.low * 1e3,
        demand_high_ms: found.slope_interval.high * 1e3,
        idle_processors: found.intercept,
        idle_low_processors: found.intercept_interval.low,
        idle_high_processors: found.intercept_interval.high,
        correlation: found.correlation,
    });
    Ok(UtilisationLaw {
        counter,
        completed_rate_per_s: all / seconds,
        busy_processors: used / seconds,
        demand_ms: used / all * 1e3,
        regression: line,
        no_regression_reason: no_line,
        windows,
        window_s,
    })
}

/// The windows `judged`, joined until they are long enough for this mean service time, in seconds, or until there are only `fewest`.
pub(super) fn windows(
    history: &CounterHistory,
    mean_service_s: f64,
    judged: &Range<usize>,
    fewest: usize,
) -> Vec<Range<usize>> {
    let width = history.seconds(judged.start, judged.start + 1);
    let shortest = (MIN_WINDOW_S / width).ceil().max(1.0) as usize;
    let wanted = (WINDOW_SERVICE_TIMES * mean_service_s / width).ceil() as usize;
    let joined = wanted.min(judged.len() / fewest).max(shortest);
    let starts = (judged.start..).step_by(joined).take_while(|start| start + joined <= judged.end);
    starts.map(|start| start..start + joined).collect()
}

/// The processor seconds between two edges, from the best source, and that source.
#[expect(clippy::type_complexity, reason = "a counter and its value")]
pub(super) fn work<'a>(
    history: &'a CounterHistory,
    ticks_per_s: u64,
) -> Option<(Counter, Box<dyn Fn(usize, usize) -> Option<f64> + 'a>)> {
    let named = |prefix: &str| -> Vec<String> {
        history.sources().filter(|source| source.starts_with(prefix)).map(str::to_owned).collect()
    };
    let tick = 1.0 / ticks_per_s.max(1) as f64;
    let all = |sources: Vec<String>, metrics: &'static [&'static str], unit: f64| {
        move |from: usize, to: usize| -> Option<f64> {
            let rises = sources.iter().map(|source| history.total_increase(source, metrics, from, to));
            Some(rises.sum::<Option<f64>>()? * unit)
        }
    };
    let (groups, processes) = (named("cgroup:"), named("pid:"));
    if !groups.is_empty() {
        return Some((Counter::Groups, Box::new(all(groups, &["cpu_us"], 1e-6))));
    }
    if !processes.is_empty() {
        return Some((Counter::Processes, Box::new(all(processes, &["user_ticks", "system_ticks"], tick))));
    }
    history.sources().any(|source| source == "cpu").then(|| {
        let machine: Box<dyn Fn(usize, usize) -> Option<f64>> = Box::new(all(vec!["cpu".to_owned()], &BUSY, tick));
        (Counter::Machine, machine)
    })
}
