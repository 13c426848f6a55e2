//! What a run came to, figure by figure: for thresholds, and with intervals for curves through several runs.

use std::ops::Range;

use offered_model::threshold::{Metric, Quantity, Statistic};
use offered_model::{Difference, Event, Instant, Outcome, Recording};
use offered_stats::steady_state::{Estimate, from_batches, ratio};
use offered_stats::summary::quantile;

use crate::verdict::{Times, Verdict};

/// The time that counts is cut into so many equal parts, taken as independent, for the intervals.
const PARTS: usize = 10;

/// The launches of one run that count: those meant for [`from`, `to`).
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    recording: &'a Recording,
    verdict: &'a Verdict,
    from: Instant,
    to: Instant,
}

impl<'a> Measured<'a> {
    /// Of a run of ours and the verdict on it, in the time that counts.
    pub fn new(recording: &'a Recording, verdict: &'a Verdict, counted: Range<Instant>) -> Self {
        // Where a count came first, the time that counts was over with the last launch.
        let to = counted.end.min(Instant::from_secs_f64(verdict.window.to_s)).max(counted.start);
        Self { recording, verdict, from: counted.start, to }
    }

    /// A figure with its 95 % interval, in seconds, per second, or as a fraction; `None` when nothing was there to measure.
    ///
    /// Intervals are by batch means: Student's t over [`PARTS`] parts of the time. Where a part holds too few values for the
    /// percentile asked for, or the figure is a maximum, the interval is infinite, and so it is where it would reach below
    /// zero though the figure cannot. Of the CoV it is the verdict's own.
    pub fn estimate(&self, metric: &Metric) -> Option<Estimate> {
        let label = match &metric.label {
            None => None,
            Some(label) => Some(self.recording.labels.iter().position(|name| name == label)? as u16),
        };
        let of_label = |event: &&Event| label.is_none_or(|label| event.label == label);
        match metric.quantity {
            Quantity::Response(statistic) => self.waits(Event::response, label).estimate(statistic),
            Quantity::ResponseOk(statistic) => self.good(Event::response, label).estimate(statistic),
            Quantity::Service(statistic) => self.waits(Event::service, label).estimate(statistic),
            Quantity::ServiceOk(statistic) => self.good(Event::service, label).estimate(statistic),
            Quantity::Lateness(statistic) => self.times(Event::lateness, label).estimate(statistic),
            Quantity::ErrorsRate => {
                let mut pairs = [(0.0, 0.0); PARTS];
                // What was cut off by stopping the run, or not processed, might have gone well.
                let told = |event: &&Event| !matches!(event.outcome, Outcome::Cut | Outcome::Unprocessed);
                for event in self.recording.events.iter().filter(of_label).filter(told) {
                    if let Some(part) = self.part(event.intended) {
                        pairs[part].0 += f64::from(u8::from(event.outcome != Outcome::Ok));
                        pairs[part].1 += 1.0;
                    }
                }
                known(ratio(&pairs))
            }
            Quantity::ThroughputRate => {
                let mut pairs = [(0.0, self.from.until(self.to).as_secs_f64() / PARTS as f64); PARTS];
                let answered = |event: &&Event| event.outcome.is_answer();
                for event in self.recording.events.iter().filter(of_label).filter(answered) {
                    if let Some(part) = event.done.and_then(|done| self.part(done)) {
                        pairs[part].0 += 1.0;
                    }
                }
                known(telling(ratio(&pairs)))
            }
            Quantity::ArrivalsRate => {
                let rate = 1e3 / self.gaps(metric)?.mean_ms;
                Some(Estimate { value: rate, low: f64::NEG_INFINITY, high: f64::INFINITY })
            }
            Quantity::ArrivalsCov => {
                let gaps = self.gaps(metric)?;
                Some(Estimate { value: gaps.cov, low: gaps.cov_low?, high: gaps.cov_high? })
            }
        }
    }

    /// The times of the launches that count, part by part, in which one that failed never came back.
    pub fn waits(&self, time: fn(&Event) -> Option<Difference>, label: Option<u16>) -> Parts {
        self.times(
            move |event| match event.outcome {
                Outcome::Ok => time(event),
                // What was cut off by stopping the run might have come back.
                Outcome::Cut => None,
                _ => Some(NEVER),
            },
            label,
        )
    }

    /// The times of the good answers among them, part by part.
    pub fn good(&self, time: fn(&Event) -> Option<Difference>, label: Option<u16>) -> Parts {
        self.times(move |event| time(event).filter(|_| event.outcome == Outcome::Ok), label)
    }

    /// What `time` says of the launches that count, part by part.
    pub fn times(&self, time: impl Fn(&Event) -> Option<Difference>, label: Option<u16>) -> Parts {
        let mut parts = vec![Vec::new(); PARTS];
        for event in self.recording.events.iter().filter(|event| label.is_none_or(|label| event.label == label)) {
            if let (Some(part), Some(time)) = (self.part(event.intended), time(event)) {
                parts[part].push(time.0);
            }
        }
        Parts::new(parts)
    }

    /// Which part of the time that counts `at` lies in.
    fn part(&self, at: Instant) -> Option<usize> {
        let span = u128::from(self.from.until(self.to).0);
        (self.from..self.to).contains(&at).then(|| (u128::from(self.from.until(at).0) * PARTS as u128 / span) as usize)
    }

    /// The row of gaps between launches, of the label or of all, as the verdict has it.
    fn gaps(&self, metric: &Metric) -> Option<&Times> {
        let (total, labels) = self.verdict.launches.split_last()?;
        match &metric.label {
            None => Some(total),
            Some(label) => labels.iter().find(|row| row.label == *label),
        }
    }
}

/// The time of what never came back.
const NEVER: Difference = Difference(i64::MAX);

/// In seconds.
fn seconds(time: i64) -> f64 {
    if time == NEVER.0 { f64::INFINITY } else { time as f64 / 1e9 }
}

/// Times in nanoseconds, in parts of a run or trial by trial: [`Parts::estimate`] pools them and asks each for the interval.
#[derive(Clone, Debug)]
pub struct Parts {
    /// All of them, ascending; last those that never came back, as `i64::MAX`.
    pub all: Vec<i64>,
    /// Each part, ascending.
    each: Vec<Vec<i64>>,
}

impl Parts {
    /// Of these, in any order.
    pub fn new(mut each: Vec<Vec<i64>>) -> Self {
        for part in &mut each {
            part.sort_unstable();
        }
        let mut all = each.concat();
        all.sort_unstable();
        Self { all, each }
    }

    /// The statistic in seconds with its 95 % interval; `None` without a single value.
    ///
    /// What never came back has its place among the percentiles, which are infinite from there on. Mean and maximum are of what
    /// came back.
    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        self.all.last()?;
        let came = |part: &[i64]| part.partition_point(|time| *time < NEVER.0);
        let Some(largest) = came(&self.all).checked_sub(1).map(|last| self.all[last]) else {
            return Some(unsure(f64::INFINITY));
        };
        let sum = |part: &Vec<i64>| {
            let came = &part[..came(part)];
            (came.iter().map(|t| *t as f64 / 1e9).sum::<f64>(), came.len() as f64)
        };
        Some(match statistic {
            Statistic::Mean => telling(ratio(&self.each.iter().map(sum).collect::<Vec<_>>())),
            Statistic::Max => unsure(seconds(largest)),
            Statistic::Percentile(percent) => {
                let p = percent / 100.0;
                let value = seconds(quantile(&self.all, p));
                // Of fewer values the percentile is their extreme.
                let enough = |part: &Vec<i64>| part.len() as f64 * p.min(1.0 - p) >= 1.0;
                if !self.each.iter().all(enough) {
                    return Some(unsure(value));
                }
                let each: Vec<f64> = self.each.iter().map(|part| seconds(quantile(part, p))).collect();
                if each.iter().any(|value| value.is_infinite()) {
                    return Some(unsure(value));
                }
                telling(from_batches(value, &each))
            }
        })
    }
}

/// A number of which nobody knows how sure it is.
fn unsure(value: f64) -> Estimate {
    Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY }
}

/// A figure above zero whose interval reaches below it tells nothing: parts resembled each other so much that they count as
/// hardly more than one.
fn telling(estimate: Estimate) -> Estimate {
    if estimate.low < 0.0 { unsure(estimate.value) } else { estimate }
}

fn known(estimate: Estimate) -> Option<Estimate> {
    estimate.value.is_finite().then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_reaches_below_zero_is_none() {
        let of = |low, high| telling(Estimate { value: 962.0, low, high });
        assert_eq!(of(950.0, 980.0).high, 980.0);
        // A measured throughput of 962.2/s had this one.
        assert_eq!((of(-8658.0, 6824.0).value, of(-8658.0, 6824.0).half_width()), (962.0, f64::INFINITY));
    }
}
