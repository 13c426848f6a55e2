//! What a run came to, figure by figure: for thresholds, and with intervals for curves through several runs.

use std::io;
use std::ops::Range;

use offered_model::threshold::{Metric, Quantity, Statistic};
use offered_model::{Difference, Event, Instant, Nanos, Outcome, Recording};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::steady_state::{Estimate, from_batches, ratio};
use offered_stats::summary::quantile_at;
use offered_stats::values::Sorted;

use crate::pages::{self, Object};
use crate::verdict::{TimeStats, Window};

/// The time that counts is cut into so many equal parts, taken as independent, for the intervals.
const PARTS: usize = 10;

/// The launches of one run that count: those meant for [`from`, `to`).
#[derive(Clone)]
pub struct Measured<'a> {
    recording: &'a Recording,
    launches: &'a [TimeStats],
    /// The requests that bring objects, by name, as far as they are known.
    pages: Vec<String>,
    from: Instant,
    to: Instant,
}

impl<'a> Measured<'a> {
    /// Of a run of ours, by the table of its launches and the window that its verdict has, in the time that counts.
    pub fn new(recording: &'a Recording, launches: &'a [TimeStats], judged: &Window, counted: Range<Instant>) -> Self {
        // Where a count came first, or the run was stopped, the time that counts was over with the last launch.
        let judged = Some(judged).filter(|judged| judged.requests > 0);
        let judged = judged.map_or(Instant::MAX, |judged| Instant::from_secs_f64(judged.end_s));
        let stopped = recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = recording.events.extent().last_meant.filter(|_| stopped).map(|last| last + Nanos(1));
        let to = counted.end.min(judged).min(last.unwrap_or(Instant::MAX));
        Self { recording, launches, pages: Vec::new(), from: counted.start, to: to.max(counted.start) }
    }

    /// The same where the requests of these names bring objects, though none may have come.
    #[must_use]
    pub fn with_pages(self, pages: Vec<String>) -> Self {
        Self { pages, ..self }
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
            Quantity::Page(statistic) => {
                let mut times = Spans::default();
                self.each_page(label, |part, page, objects| {
                    times.add(part, waited(page.outcome, pages::response(page, objects)));
                })?;
                times.sorted().estimate(statistic)
            }
            Quantity::Objects(statistic) => {
                let mut times = Spans::default();
                self.each_page(label, |part, _, objects| {
                    for object in objects {
                        times.add(part, waited(object.outcome, object.service));
                    }
                })?;
                times.sorted().estimate(statistic)
            }
            Quantity::ErrorsRate => {
                let mut failed = Failed::default();
                self.each(label, |event| {
                    if let Some(part) = self.part(event.intended) {
                        failed.add(part, event.outcome);
                    }
                })?;
                failed.rate()
            }
            Quantity::PageErrors => {
                let mut failed = Failed::default();
                self.each_page(label, |part, page, _| failed.add(part, page.outcome))?;
                failed.rate()
            }
            Quantity::ObjectsErrors => {
                let mut failed = Failed::default();
                self.each_page(label, |part, _, objects| {
                    for object in objects {
                        failed.add(part, object.outcome);
                    }
                })?;
                failed.rate()
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

    /// Gives `see` every page that counts, of the label or of all, with the part that it lies in and its objects.
    fn each_page(&self, label: Option<u16>, mut see: impl FnMut(usize, &Event, &[Object])) -> io::Result<()> {
        let labels = pages::labels(self.recording, &self.pages)?;
        pages::each(self.recording, &labels, |page, objects| {
            let wanted = label.is_none_or(|label| page.label == label);
            if let Some(part) = self.part(page.intended).filter(|_| wanted) {
                see(part, page, objects);
            }
        })
    }

    /// The times of the launches that count, part by part, in which one that failed never came back.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn waits(&self, time: fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<Parts> {
        self.times(move |event| waited(event.outcome, time(event)), label)
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
        let mut times = Spans::default();
        self.each(label, |event| {
            if let Some(part) = self.part(event.intended) {
                times.add(part, time(event));
            }
        })?;
        Ok(times.sorted())
    }

    /// Which part of the time that counts `at` lies in.
    fn part(&self, at: Instant) -> Option<usize> {
        let span = u128::from(self.from.until(self.to).0);
        (self.from..self.to).contains(&at).then(|| (u128::from(self.from.until(at).0) * PARTS as u128 / span) as usize)
    }

    /// The row of gaps between launches, of the label or of all, as the verdict has it.
    fn gaps(&self, metric: &Metric) -> Option<&TimeStats> {
        let (total, labels) = self.launches.split_last()?;
        match &metric.label {
            None => Some(total),
            Some(label) => labels.iter().find(|row| row.label == *label),
        }
    }
}

/// The time of what never came back.
const NEVER: Difference = Difference(i64::MAX);

/// How long what ended so was waited for, where `time` is when it was there.
fn waited(outcome: Outcome, time: Option<Difference>) -> Option<Difference> {
    match outcome {
        Outcome::Ok => time,
        // What was cut off by stopping the run might have come back.
        Outcome::Cut => None,
        _ => Some(NEVER),
    }
}

/// Times on their way into [`Parts`].
#[derive(Default)]
struct Spans {
    came: Groups<i64>,
    never: [u64; PARTS],
}

impl Spans {
    fn add(&mut self, part: usize, time: Option<Difference>) {
        match time {
            Some(NEVER) => self.never[part] += 1,
            Some(time) => self.came.add(part, time.0),
            None => {}
        }
    }

    fn sorted(self) -> Parts {
        Parts { came: self.came.sorted(), never: self.never }
    }
}

/// How many failed, and how many there were, part by part.
#[derive(Default)]
struct Failed([(f64, f64); PARTS]);

impl Failed {
    fn add(&mut self, part: usize, outcome: Outcome) {
        // What was cut off by stopping the run, or not processed, might have gone well.
        if !matches!(outcome, Outcome::Cut | Outcome::Unprocessed) {
            self.0[part].0 += f64::from(u8::from(outcome != Outcome::Ok));
            self.0[part].1 += 1.0;
        }
    }

    fn rate(&self) -> Option<Estimate> {
        known(ratio(&self.0))
    }
}

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
