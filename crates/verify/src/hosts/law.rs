//! The utilisation law, U = X S: how much processor time an answer takes, and how much a machine uses without any.

use std::ops::Range;

use offered_stats::line::line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measures::BUSY;
use super::{Answers, Course};

/// A window of the law is so long at least, seconds, for the sake of ticks, and so many times a mean stay, for what is answered in one
/// window may have been worked on in the one before.
const LONG: f64 = 1.0;
const STAYS: f64 = 10.0;
/// Fewer windows tell no line.
const FEWEST: usize = 10;
/// A slope that is not known to this share of itself is none.
const KNOWN: f64 = 0.5;

offered_model::named! {
    /// What counted the work.
    pub enum Counter {
        /// Control groups: theirs alone, to the microsecond.
        Groups = "cgroup",
        /// Processes: theirs alone, in ticks.
        Processes = "processes",
        /// The whole machine, in ticks: whatever runs there.
        Machine = "/proc/stat",
    }
}

/// How much processor time an answer took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UtilisationLaw {
    /// What counted the work.
    pub counter: Counter,
    /// Answers per second in the time that was judged, X.
    pub answers_per_s: f64,
    /// Processors at work in that time, U.
    pub processors: f64,
    /// Processor time of an answer where all of it is put on the answers, U / X.
    pub work_ms: f64,
    /// The same by the line through windows, which leaves out what is used without load.
    pub line: Option<WorkLine>,
    /// Why there is no such line, where there is none.
    pub no_line: Option<String>,
    /// The windows: answers per second, and processors at work.
    pub windows: Vec<[f64; 2]>,
    /// How long each of them is.
    pub window_s: f64,
}

/// Processors at work against answers a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkLine {
    /// Its slope: processor time of an answer, S.
    pub work_ms: f64,
    /// The lower end of its 95 % interval.
    pub work_low_ms: f64,
    /// The upper end.
    pub work_high_ms: f64,
    /// Its height without load: processors at work on something else.
    pub idle_processors: f64,
    /// The lower end of its 95 % interval.
    pub idle_low: f64,
    /// The upper end.
    pub idle_high: f64,
    /// The correlation of the two.
    pub correlation: Option<f64>,
}

impl UtilisationLaw {
    /// In sentences.
    pub fn in_words(&self) -> String {
        let Self { counter, answers_per_s, processors, work_ms, line, no_line, .. } = self;
        let counted = counter.name();
        let head = format!(
            "U = X S: {processors:.3} processors at work for {answers_per_s:.1} answers/s, {work_ms:.3} ms of processor time each ({counted})"
        );
        let tail = match (line, no_line) {
            (Some(line), _) => format!(
                "; by the line through {} windows of {:.0} s, {:.3} ms ({:.3} to {:.3}), and {:.3} processors without load ({:.3} to {:.3})",
                self.windows.len(),
                self.window_s,
                line.work_ms,
                line.work_low_ms,
                line.work_high_ms,
                line.idle_processors,
                line.idle_low,
                line.idle_high
            ),
            (None, Some(why)) => format!("; what is used without load cannot be told apart: {why}"),
            (None, None) => String::new(),
        };
        head + &tail
    }
}

/// The law over the windows in `judged`; why it cannot be had, where there is something to say.
pub(super) fn of(
    course: &Course,
    ticks_per_s: u64,
    answers: &Answers,
    judged: &Range<usize>,
) -> Result<UtilisationLaw, Option<String>> {
    let (counter, work) = work(course, ticks_per_s).ok_or(None)?;
    if judged.is_empty() {
        return Err(None);
    }
    let count =
        |windows: Range<usize>| answers.per_window.get(windows).map_or(0, |counts| counts.iter().sum::<u64>()) as f64;
    let all = count(judged.clone());
    let seconds = course.seconds(judged.start, judged.end);
    let used = work(judged.start, judged.end);
    let used = used.ok_or_else(|| Some("what was observed did not last".to_owned()))?;
    if all == 0.0 {
        return Err(Some("none came in the time that was judged".to_owned()));
    }
    let spans = windows(course, answers.stay_s, judged);
    let window_s = spans.first().map_or(0.0, |span| course.seconds(span.start, span.end));
    let windows: Vec<[f64; 2]> = spans
        .into_iter()
        .filter_map(|span| {
            let length = course.seconds(span.start, span.end);
            Some([count(span.clone()) / length, work(span.start, span.end)? / length])
        })
        .collect();
    let (line, no_line) = match line(&windows) {
        _ if windows.len() < FEWEST => (
            None,
            Some(format!("the time that was judged has {} of {FEWEST} windows of {window_s:.1} s", windows.len())),
        ),
        Some(found) if found.slope_interval.high - found.slope <= KNOWN * found.slope => (Some(found), None),
        Some(found) => {
            let [low, high] = [found.slope_interval.low, found.slope_interval.high].map(|slope| slope * 1e3);
            (
                None,
                Some(format!(
                    "by the line through windows an answer takes {low:.3} to {high:.3} ms, which tells too little"
                )),
            )
        }
        None => (None, Some("the rate of answers did not change from window to window".to_owned())),
    };
    let line = line.map(|found| WorkLine {
        work_ms: found.slope * 1e3,
        work_low_ms: found.slope_interval.low * 1e3,
        work_high_ms: found.slope_interval.high * 1e3,
        idle_processors: found.intercept,
        idle_low: found.intercept_interval.low,
        idle_high: found.intercept_interval.high,
        correlation: found.correlation,
    });
    Ok(UtilisationLaw {
        counter,
        answers_per_s: all / seconds,
        processors: used / seconds,
        work_ms: used / all * 1e3,
        line,
        no_line,
        windows,
        window_s,
    })
}

/// The windows of `judged` put together until they are long enough for stays of mean `stay_s` seconds.
pub(super) fn windows(course: &Course, stay_s: f64, judged: &Range<usize>) -> Vec<Range<usize>> {
    let width = course.seconds(judged.start, judged.start + 1);
    let together = (LONG.max(STAYS * stay_s) / width).ceil().max(1.0) as usize;
    let starts = (judged.start..).step_by(together).take_while(|start| start + together <= judged.end);
    starts.map(|start| start..start + together).collect()
}

/// Processor seconds between two ends, by the counter that knows best, and which that is.
#[expect(clippy::type_complexity, reason = "a counter, and what it counted")]
pub(super) fn work<'a>(
    course: &'a Course,
    ticks_per_s: u64,
) -> Option<(Counter, Box<dyn Fn(usize, usize) -> Option<f64> + 'a>)> {
    let named = |prefix: &str| -> Vec<String> {
        course.sources().filter(|source| source.starts_with(prefix)).map(str::to_owned).collect()
    };
    let tick = 1.0 / ticks_per_s.max(1) as f64;
    let all = |sources: Vec<String>, metrics: &'static [&'static str], unit: f64| {
        move |from: usize, to: usize| -> Option<f64> {
            let rises = sources.iter().map(|source| course.rises(source, metrics, from, to));
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
    course.sources().any(|source| source == "cpu").then(|| {
        let machine: Box<dyn Fn(usize, usize) -> Option<f64>> = Box::new(all(vec!["cpu".to_owned()], &BUSY, tick));
        (Counter::Machine, machine)
    })
}
