//! What a run came to, figure by figure: for thresholds, and with intervals for curves through several runs.

use std::io;
use std::ops::Range;

use offered_model::threshold::{Metric, Quantity, Statistic};
use offered_model::{Difference, Event, Instant, Nanos, Outcome, Recording};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::steady_state::{Estimate, from_batches, ratio};
use offered_stats::summary::quantile_at;
use offered_stats::values::Sorted;

use crate::verdict::{Times, Window};

/// The time that counts is cut into so many equal parts, taken as independent, for the intervals.
const PARTS: usize = 10;

/// The launches of one run that count: those meant for [`from`, `to`).
#[derive(Clone, Copy)]
pub struct Measured<'a> {
    recording: &'a Recording,
    launches: &'a [Times],
    from: Instant,
    to: Instant,
}

impl<'a> Measured<'a> {
    /// Of a run of ours, by the table of its launches and the window that its verdict has, in the time that counts.
    pub fn new(recording: &'a Recording, launches: &'a [Times], judged: &Window, counted: Range<Instant>) -> Self {
        // Where a count came first, or the run was stopped, the time that counts was over with the last launch.
        let judged = Some(judged).filter(|judged| judged.launches > 0);
        let judged = judged.map_or(Instant::MAX, |judged| Instant::from_secs_f64(judged.to_s));
        let stopped = recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = recording.events.extent().last_meant.filter(|_| stopped).map(|last| last + Nanos(1));
        let to = counted.end.min(judged).min(last.unwrap_or(Instant::MAX));
        Self { recording, launches, from: counted.start, to: to.max(counted.start) }
    }

    /// A figure with its 95 % interval, in seconds, per second, or as a fraction; `None` when nothing was there to measure.
    ///
    /// Intervals are by batch means: Student's t over [`PARTS`] parts of the time. Where a part holds too few values for the
    /// percentile asked for, or the figure is a maximum, the interval is infinite, and so it is where it would reach below
    /// zero though the figure cannot. Of the CoV it is the verdict's own.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn estimate(&self, metric: &Metric) -> io::Result<Option<Estimate>> {
        let label = match &metric.label {
            None => None,
            Some(label) => match self.recording.labels.iter().position(|name| name == label) {
                None => return Ok(None),
                Some(label) => Some(label as u16),
            },
        };
        Ok(match metric.quantity {
            Quantity::Response(statistic) => self.waits(Event::response, label)?.estimate(statistic),
            Quantity::ResponseOk(statistic) => self.good(Event::response, label)?.estimate(statistic),
            Quantity::Service(statistic) => self.waits(Event::service, label)?.estimate(statistic),
            Quantity::ServiceOk(statistic) => self.good(Event::service, label)?.estimate(statistic),
            Quantity::Lateness(statistic) => self.times(Event::lateness, label)?.estimate(statistic),
            Quantity::ErrorsRate => {
                let mut pairs = [(0.0, 0.0); PARTS];
                self.each(label, |event| {
                    // What was cut off by stopping the run, or not processed, might have gone well.
                    if matches!(event.outcome, Outcome::Cut | Outcome::Unprocessed) {
                        return;
                    }
                    if let Some(part) = self.part(event.intended) {
                        pairs[part].0 += f64::from(u8::from(event.outcome != Outcome::Ok));
                        pairs[part].1 += 1.0;
                    }
                })?;
                known(ratio(&pairs))
            }
            Quantity::ThroughputRate => {
                let mut pairs = [(0.0, self.from.until(self.to).as_secs_f64() / PARTS as f64); PARTS];
                self.each(label, |event| {
                    let answered = event.done.filter(|_| event.outcome.is_answer());
                    if let Some(part) = answered.and_then(|done| self.part(done)) {
                        pairs[part].0 += 1.0;
                    }
                })?;
                known(telling(ratio(&pairs)))
            }
            Quantity::ArrivalsRate => self.gaps(metric).map(|gaps| unsure(1e3 / gaps.mean_ms)),
            Quantity::ArrivalsCov => self
                .gaps(metric)
                .and_then(|gaps| Some(Estimate { value: gaps.cov, low: gaps.cov_low?, high: gaps.cov_high? })),
        })
    }

    /// Gives `see` every launch of the label, or of all.
    fn each(&self, label: Option<u16>, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.recording.events.each_answer(|event| {
            if label.is_none_or(|label| event.label == label) {
                see(event);
            }
        })
    }

    /// The times of the launches that count, part by part, in which one that failed never came back.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn waits(&self, time: fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<Parts> {
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
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn good(&self, time: fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<Parts> {
        self.times(move |event| time(event).filter(|_| event.outcome == Outcome::Ok), label)
    }

    /// What `time` says of the launches that count, part by part.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn times(&self, time: impl Fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<Parts> {
        let (mut came, mut never) = (Groups::default(), [0; PARTS]);
        self.each(label, |event| match (self.part(event.intended), time(event)) {
            (Some(part), Some(NEVER)) => never[part] += 1,
            (Some(part), Some(time)) => came.add(part, time.0),
            _ => {}
        })?;
        Ok(Parts { came: came.sorted(), never })
    }

    /// Which part of the time that counts `at` lies in.
    fn part(&self, at: Instant) -> Option<usize> {
        let span = u128::from(self.from.until(self.to).0);
        (self.from..self.to).contains(&at).then(|| (u128::from(self.from.until(at).0) * PARTS as u128 / span) as usize)
    }

    /// The row of gaps between launches, of the label or of all, as the verdict has it.
    fn gaps(&self, metric: &Metric) -> Option<&Times> {
        let (total, labels) = self.launches.split_last()?;
        match &metric.label {
            None => Some(total),
            Some(label) => labels.iter().find(|row| row.label == *label),
        }
    }
}

/// The time of what never came back.
const NEVER: Difference = Difference(i64::MAX);

/// Times in nanoseconds, in parts of a run: [`Parts::estimate`] pools them and asks each for the interval.
#[derive(Clone, Debug)]
pub struct Parts {
    came: SortedGroups<i64>,
    /// So many of each never came back.
    never: [u64; PARTS],
}

impl Parts {
    /// How many there are, those that never came back among them.
    pub fn len(&self) -> u64 {
        self.came().len() + self.never.iter().sum::<u64>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those that came back, ascending.
    pub fn came(&self) -> &Sorted<i64> {
        self.came.all()
    }

    /// The statistic in seconds with its 95 % interval; `None` without a single value.
    ///
    /// What never came back has its place among the percentiles, which are infinite from there on. Mean and maximum are of what
    /// came back.
    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        if self.is_empty() {
            return None;
        }
        let Some(largest) = self.came().max() else { return Some(unsure(f64::INFINITY)) };
        let parts = || (0..PARTS).map(|part| (self.came.of(part), self.never[part]));
        Some(match statistic {
            Statistic::Mean => {
                let moments = |came: Option<&Sorted<i64>>| came.map(Sorted::moments).unwrap_or_default();
                let sums = parts().map(|(came, _)| moments(came)).map(|of| (of.sum as f64 / 1e9, of.n as f64));
                telling(ratio(&sums.collect::<Vec<_>>()))
            }
            Statistic::Max => unsure(largest as f64 / 1e9),
            Statistic::Percentile(percent) => {
                let p = percent / 100.0;
                let value = quantile(Some(self.came()), self.never.iter().sum(), p)?;
                // Of fewer values the percentile is their extreme.
                let enough = |n: u64| n as f64 * p.min(1.0 - p) >= 1.0;
                if !parts().all(|(came, never)| enough(came.map_or(0, Sorted::len) + never)) {
                    return Some(unsure(value));
                }
                let each: Vec<f64> = parts().filter_map(|(came, never)| quantile(came, never, p)).collect();
                if each.iter().any(|value| value.is_infinite()) {
                    return Some(unsure(value));
                }
                telling(from_batches(value, &each))
            }
        })
    }
}

/// In seconds, of those that came back and so many that never did; infinite where it is one of these.
fn quantile(came: Option<&Sorted<i64>>, never: u64, p: f64) -> Option<f64> {
    let back = came.map_or(0, Sorted::len);
    let rank = (back + never > 0).then(|| quantile_at(back + never, p))?;
    Some(if rank < back { came?.at(rank)? as f64 / 1e9 } else { f64::INFINITY })
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
