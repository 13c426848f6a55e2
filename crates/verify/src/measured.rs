//! Metrics of a run, with confidence intervals: for thresholds, and for curves through several runs.

mod visits;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use offered_base::{Difference, Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use offered_schedule::{Flows, Scenarios};
use offered_stats::groups::{Groups, SortedGroups};
use offered_stats::percentile::{self, BatchedValues, PercentileInterval, SortedBatches};
use offered_stats::steady_state::{Estimate, ratio};
use offered_stats::values::Sorted;
use offered_workload::threshold::{Metric, Quantity, Statistic};
use offered_workload::{Goodput, Group, failed_checks};

use crate::pages::{self, Object};
use crate::scenarios::MeasuredScenarios;
use crate::token_metrics;
use crate::verdict::{TimeStats, Verdict, Window};

/// Number of equal parts of the measured time, which are the batches of the confidence intervals.
const PARTS: usize = percentile::BATCHES;

/// The requests of one run that are scheduled in the measured time [`from`, `to`).
#[derive(Clone)]
pub struct Measurements<'a> {
    recording: &'a Recording,
    gaps: &'a [TimeStats],
    /// The names of the requests that load objects, as far as they are known.
    pages: Vec<String>,
    /// The names of the checks of requests, by the names of the requests.
    checks: HashMap<String, Vec<String>>,
    /// The names of the metrics of requests, each with the name of its request.
    metrics: Vec<(String, Vec<String>)>,
    /// The limits of a good request.
    goodput: Option<Goodput>,
    from: Instant,
    to: Instant,
    /// Whether the recording is only one worker's share of a run.
    is_share: bool,
    /// The scenarios of the run, as far as they are known.
    scenarios: Option<MeasuredScenarios<'a>>,
    /// The flows of the run, if it has any.
    flows: Option<&'a Arc<Flows>>,
    /// The groups of their steps.
    groups: &'a [Group],
    /// Only the requests of this step of the flows; `None`: all.
    step: Option<usize>,
}

impl<'a> Measurements<'a> {
    /// Creates measurements of a run of `offered`, from its table of gaps, the window of its verdict, and the measured
    /// time.
    pub fn new(recording: &'a Recording, gaps: &'a [TimeStats], judged: &Window, counted: Range<Instant>) -> Self {
        // If the number of requests was limited, or if the run was stopped, the measured time ended with the last
        // request.
        let judged = Some(judged).filter(|judged| judged.requests > 0);
        let judged = judged.map_or(Instant::MAX, |judged| Instant::from_secs_f64(judged.end_s));
        let stopped = recording.generator.as_ref().is_some_and(|evidence| evidence.stopped);
        let last = recording.events.extent().last_intended.filter(|_| stopped).map(|last| last + Nanos(1));
        let to = counted.end.min(judged).min(last.unwrap_or(Instant::MAX));
        let (from, to) = (counted.start, to.max(counted.start));
        Self {
            recording,
            gaps,
            pages: Vec::new(),
            checks: HashMap::new(),
            metrics: Vec::new(),
            goodput: None,
            from,
            to,
            is_share: false,
            scenarios: None,
            flows: None,
            groups: &[],
            step: None,
        }
    }

    /// Adds the flows and groups of the run, so that a metric may be that of a step, of the visits of a flow, or of a group.
    #[must_use]
    pub fn with_flows(self, flows: Option<&'a Arc<Flows>>, groups: &'a [Group]) -> Self {
        Self { flows, groups, ..self }
    }

    /// Declares that the requests with these names load objects, even if none was recorded.
    #[must_use]
    pub fn with_pages(self, pages: Vec<String>) -> Self {
        Self { pages, ..self }
    }

    /// Adds the scenarios of the run with the verdict on each, so that a metric may be that of a scenario.
    #[must_use]
    pub fn with_scenarios(self, scenarios: Option<&'a Scenarios>, verdicts: &'a [Verdict]) -> Self {
        let measured = |scenarios: &'a Scenarios| MeasuredScenarios {
            scenarios,
            verdicts,
            recordings: scenarios.all().iter().map(|_| OnceLock::new()).collect(),
        };
        Self { scenarios: scenarios.map(measured), ..self }
    }

    /// The same metric of the scenario with this name; `None` if there is none.
    fn of_scenario(&self, name: &str, metric: &Metric) -> io::Result<Option<Estimate>> {
        let Some(measured) = &self.scenarios else { return Ok(None) };
        let all = measured.scenarios.all();
        let Some(number) = all.iter().position(|scenario| scenario.name == name) else { return Ok(None) };
        let (scenario, recording) = (&all[number], measured.recording(self.recording, number)?);
        let gaps = measured.verdicts.get(number).map_or(&[][..], |verdict| &verdict.gaps);
        let from = self.from.earlier(scenario.start);
        let to = self.to.earlier(scenario.start).min(Instant::ZERO + scenario.duration).max(from);
        let own = Measurements { recording, gaps, from, to, scenarios: None, ..self.clone() };
        own.estimate(&Metric { label: None, ..metric.clone() })
    }

    /// Sets the names of the checks of requests, each with the name of its request.
    #[must_use]
    pub fn with_checks(self, checks: Vec<(String, Vec<String>)>) -> Self {
        Self { checks: checks.into_iter().collect(), ..self }
    }

    /// Sets the names of the metrics of requests, each with the name of its request.
    #[must_use]
    pub fn with_metrics(self, metrics: Vec<(String, Vec<String>)>) -> Self {
        Self { metrics, ..self }
    }

    /// Sets the limits of a good request.
    #[must_use]
    pub fn with_goodput(self, goodput: Option<Goodput>) -> Self {
        Self { goodput, ..self }
    }

    /// Declares that the recording is only one worker's share of a run: thresholds on rates and gaps need all workers.
    #[must_use]
    pub fn of_share(self, is_share: bool) -> Self {
        Self { is_share, ..self }
    }

    /// Whether the recording is only one worker's share of a run.
    pub(crate) fn is_share(&self) -> bool {
        self.is_share
    }

    /// The value of a metric with its 95 % confidence interval, in seconds, per second, or as a fraction; `None` if
    /// nothing was measured.
    ///
    /// Confidence intervals come from [`percentile::BATCHES`] parts of the time: of means by [`ratio`], of percentiles by
    /// [`percentile::interval`]. The interval is infinite if the values are too few for the percentile, if the metric is a
    /// maximum, or if it would include negative values although no value is negative. The interval of the CoV is that of the verdict.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn estimate(&self, metric: &Metric) -> io::Result<Option<Estimate>> {
        let is_of_visits = metric.quantity.is_of_visits() || metric.quantity.is_of_groups();
        let label = match &metric.label {
            None => None,
            Some(_) if is_of_visits || matches!(metric.quantity, Quantity::ChecksFailed | Quantity::Metric(_)) => None,
            Some(label) => match (self.recording.labels.iter().position(|name| name == label), self.step_of(label)) {
                (Some(label), _) => Some(label as u16),
                (None, Some(step)) => {
                    let of_step = Metric { label: None, ..metric.clone() };
                    return Measurements { step: Some(step), ..self.clone() }.estimate(&of_step);
                }
                (None, None) => return self.of_scenario(label, metric),
            },
        };
        Ok(match metric.quantity {
            Quantity::Metric(statistic) => self.estimate_of_metric(metric.label.as_deref(), statistic)?,
            _ if is_of_visits => self.estimate_of_visits(metric)?,
            Quantity::Response(statistic) => self.times_with_failures(Event::response, label)?.estimate(statistic),
            Quantity::ResponseOk(statistic) => self.successful_times(Event::response, label)?.estimate(statistic),
            Quantity::Service(statistic) => self.times_with_failures(Event::service, label)?.estimate(statistic),
            Quantity::ServiceOk(statistic) => self.successful_times(Event::service, label)?.estimate(statistic),
            Quantity::Lateness(statistic) => self.times(Event::lateness, label)?.estimate(statistic),
            Quantity::Page(statistic) => {
                let mut times = BatchedTimesBuilder::default();
                self.each_page(label, |part, page, objects| {
                    times.add(part, time_or_never(page.outcome, pages::response(page, objects)));
                })?;
                times.sorted().estimate(statistic)
            }
            Quantity::Objects(statistic) => {
                let mut times = BatchedTimesBuilder::default();
                self.each_page(label, |part, _, objects| {
                    for object in objects {
                        times.add(part, time_or_never(object.outcome, object.service));
                    }
                })?;
                times.sorted().estimate(statistic)
            }
            Quantity::ErrorsRate => {
                let mut failed = FailureRate::default();
                self.each(label, |event| {
                    if let Some(part) = self.part(event.intended) {
                        failed.add(part, event.outcome);
                    }
                })?;
                failed.rate()
            }
            Quantity::PageErrors => {
                let mut failed = FailureRate::default();
                self.each_page(label, |part, page, _| failed.add(part, page.outcome))?;
                failed.rate()
            }
            Quantity::ObjectsErrors => {
                let mut failed = FailureRate::default();
                self.each_page(label, |part, _, objects| {
                    for object in objects {
                        failed.add(part, object.outcome);
                    }
                })?;
                failed.rate()
            }
            Quantity::ChecksFailed => self.failed_checks(metric.label.as_deref())?,
            Quantity::ThroughputRate => {
                self.rate(label, |event| Some((event.done.filter(|_| event.outcome.is_response())?, 1.0)))?
            }
            Quantity::AttemptsPerRequest => self.attempts_per_request(label)?,
            Quantity::ArrivalsRate => self.gaps(metric).map(|gaps| without_interval(1e3 / gaps.mean_ms)),
            Quantity::ArrivalsCov => self
                .gaps(metric)
                .and_then(|gaps| Some(Estimate { value: gaps.cov, low: gaps.cov_low?, high: gaps.cov_high? })),
            quantity => self.estimate_of_tokens(quantity, label)?,
        })
    }

    /// The value of a metric of streamed responses.
    fn estimate_of_tokens(&self, quantity: Quantity, label: Option<u16>) -> io::Result<Option<Estimate>> {
        Ok(match quantity {
            Quantity::TokensRate => self.rate(label, |event| {
                let stream = event.stream.as_ref().filter(|_| event.outcome == Outcome::Ok)?;
                Some((event.done?, stream.tokens_out? as f64))
            })?,
            Quantity::GoodputRate => {
                let limits = self.goodput.unwrap_or_default();
                self.rate(label, |event| Some((event.done.filter(|_| token_metrics::is_good(event, limits))?, 1.0)))?
            }
            Quantity::GoodputShare => {
                let limits = self.goodput.unwrap_or_default();
                let mut good = FailureRate::default();
                self.each(label, |event| {
                    if let Some(part) = self.part(event.intended) {
                        let is_good = token_metrics::is_good(event, limits);
                        good.add_if(part, event.outcome, is_good);
                    }
                })?;
                good.rate()
            }
            Quantity::Ttft(statistic) => {
                self.times_with_failures(token_metrics::time_to_first_token, label)?.estimate(statistic)
            }
            Quantity::Tpot(statistic) => {
                self.times_with_failures(token_metrics::time_per_token, label)?.estimate(statistic)
            }
            Quantity::Gap(statistic) => {
                self.all_times(|event| token_metrics::gaps(event).collect(), label)?.estimate(statistic)
            }
            Quantity::Itl(statistic) => {
                self.all_times(|event| token_metrics::token_gaps(event).collect(), label)?.estimate(statistic)
            }
            // The others are not about streams.
            _ => None,
        })
    }

    /// The fraction of checks that failed, of the checks of this name or of all.
    fn failed_checks(&self, name: Option<&str>) -> io::Result<Option<Estimate>> {
        let mut failed = FailureRate::default();
        self.recording.events.each(|event| {
            let label = self.recording.labels.get(usize::from(event.label));
            let names = label.and_then(|label| self.checks.get(label)).filter(|_| event.object == 0);
            if let (Some(part), Some(names)) = (self.part(event.intended), names) {
                check_outcomes(event, names, name).for_each(|outcome| failed.add(part, outcome));
            }
        })?;
        Ok(failed.rate())
    }

    /// The statistic of the time that last bytes of responses waited to be read, in seconds, for the label of `metric`; `None` if it
    /// was not measured.
    pub(crate) fn reading_lateness(&self, metric: &Metric, statistic: Statistic) -> io::Result<Option<f64>> {
        let position = |label: &String| self.recording.labels.iter().position(|name| name == label);
        let label = metric.label.as_ref().and_then(position).map(|label| label as u16);
        let times = self.times(|event| event.done_lateness.map(Difference::from), label)?;
        Ok(times.estimate(statistic).map(|estimate| estimate.value))
    }

    /// Mean number of attempts of the requests that were sent.
    fn attempts_per_request(&self, label: Option<u16>) -> io::Result<Option<Estimate>> {
        let mut pairs = [(0.0, 0.0); PARTS];
        self.each(label, |event| {
            if let (Some(part), Some(_)) = (self.part(event.intended), event.sent) {
                pairs[part].0 += 1.0 + f64::from(event.retries);
                pairs[part].1 += 1.0;
            }
        })?;
        Ok(if_finite(ratio(&pairs)))
    }

    /// Passes every request of the label, or of all labels, to `see`.
    fn each(&self, label: Option<u16>, mut see: impl FnMut(&Event)) -> io::Result<()> {
        self.recording.events.each_response(|event| {
            if label.is_none_or(|label| event.label == label) && self.is_of_step(event) {
                see(event);
            }
        })
    }

    /// Passes every page in the measured time, of the label or of all labels, to `see`, with the number of its part and
    /// its objects.
    fn each_page(&self, label: Option<u16>, mut see: impl FnMut(usize, &Event, &[Object])) -> io::Result<()> {
        let labels = pages::labels(self.recording, &self.pages)?;
        pages::each(self.recording, &labels, |page, objects| {
            let wanted = label.is_none_or(|label| page.label == label) && self.is_of_step(page);
            if let Some(part) = self.part(page.intended).filter(|_| wanted) {
                see(part, page, objects);
            }
        })
    }

    /// Times of the requests in the measured time, by part; failed requests count as infinite.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn times_with_failures(
        &self,
        time: fn(&Event) -> Option<Difference>,
        label: Option<u16>,
    ) -> io::Result<BatchedTimes> {
        self.times(move |event| time_or_never(event.outcome, time(event)), label)
    }

    /// Times of the successful requests in the measured time, by part.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn successful_times(
        &self,
        time: fn(&Event) -> Option<Difference>,
        label: Option<u16>,
    ) -> io::Result<BatchedTimes> {
        self.times(move |event| time(event).filter(|_| event.outcome == Outcome::Ok), label)
    }

    /// The values of `time` for the requests in the measured time, by part.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn times(&self, time: impl Fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<BatchedTimes> {
        let mut times = BatchedTimesBuilder::default();
        self.each(label, |event| {
            if let Some(part) = self.part(event.intended) {
                times.add(part, time(event));
            }
        })?;
        Ok(times.sorted())
    }

    /// Several values of each successful request in the measured time, by part.
    fn all_times(&self, times: fn(&Event) -> Vec<Difference>, label: Option<u16>) -> io::Result<BatchedTimes> {
        let mut collected = BatchedTimesBuilder::default();
        self.each(label, |event| {
            if let Some(part) = self.part(event.intended).filter(|_| event.outcome == Outcome::Ok) {
                for time in times(event) {
                    collected.add(part, Some(time));
                }
            }
        })?;
        Ok(collected.sorted())
    }

    /// The sum of the counts per second of the measured time; `count` has the instant of each.
    fn rate(
        &self,
        label: Option<u16>,
        count: impl Fn(&Event) -> Option<(Instant, f64)>,
    ) -> io::Result<Option<Estimate>> {
        let mut pairs = [(0.0, self.from.until(self.to).as_secs_f64() / PARTS as f64); PARTS];
        self.each(label, |event| {
            if let Some((part, n)) = count(event).and_then(|(at, n)| Some((self.part(at)?, n))) {
                pairs[part].0 += n;
            }
        })?;
        Ok(if_finite(drop_uninformative_interval(ratio(&pairs))))
    }

    /// The number of the part that contains `at`; `None` outside of the measured time.
    fn part(&self, at: Instant) -> Option<usize> {
        let span = u128::from(self.from.until(self.to).0);
        (self.from..self.to).contains(&at).then(|| (u128::from(self.from.until(at).0) * PARTS as u128 / span) as usize)
    }

    /// The row of gaps of the label, or of all labels.
    fn gaps(&self, metric: &Metric) -> Option<&TimeStats> {
        let (total, labels) = self.gaps.split_last()?;
        match &metric.label {
            None => Some(total),
            Some(label) => labels.iter().find(|row| row.label == *label),
        }
    }
}

/// The outcomes of the checks of a response, of those of this name or of all; none without a response.
pub fn check_outcomes<'a>(
    event: &'a Event,
    names: &'a [String],
    name: Option<&'a str>,
) -> impl Iterator<Item = Outcome> + 'a {
    let failed: Vec<usize> = match event.outcome {
        Outcome::CheckFailed => failed_checks::indexes(&event.why(), names).collect(),
        _ => Vec::new(),
    };
    let checked = names.iter().enumerate().filter(|_| event.outcome.is_response());
    let checked = checked.filter(move |(_, check)| name.is_none_or(|name| name == *check));
    checked.map(move |(index, _)| if failed.contains(&index) { Outcome::CheckFailed } else { Outcome::Ok })
}

/// Stands for the infinite time of a failed request.
const NEVER: Difference = Difference(i64::MAX);

/// The time of a request with this outcome: `time` if it succeeded, [`NEVER`] if it failed.
fn time_or_never(outcome: Outcome, time: Option<Difference>) -> Option<Difference> {
    match outcome {
        Outcome::Ok => time,
        // A request that was cut off by the end of the run might have succeeded.
        Outcome::Cut => None,
        _ => Some(NEVER),
    }
}

/// Collects times by part.
struct BatchedTimesBuilder {
    finite: Groups<i64>,
    infinite: [u64; PARTS],
}

impl Default for BatchedTimesBuilder {
    fn default() -> Self {
        Self { finite: Groups::default(), infinite: [0; PARTS] }
    }
}

impl BatchedTimesBuilder {
    fn add(&mut self, part: usize, time: Option<Difference>) {
        match time {
            Some(NEVER) => self.infinite[part] += 1,
            Some(time) => self.finite.add(part, time.0),
            None => {}
        }
    }

    fn sorted(self) -> BatchedTimes {
        BatchedTimes { finite: self.finite.sorted(), infinite: self.infinite }
    }
}

/// The number of failed requests and of all requests, by part.
struct FailureRate([(f64, f64); PARTS]);

impl Default for FailureRate {
    fn default() -> Self {
        Self([(0.0, 0.0); PARTS])
    }
}

impl FailureRate {
    fn add(&mut self, part: usize, outcome: Outcome) {
        self.add_if(part, outcome, outcome != Outcome::Ok);
    }

    fn add_if(&mut self, part: usize, outcome: Outcome, counts: bool) {
        // A request that was cut off by the end of the run, or not processed, might have succeeded.
        if !matches!(outcome, Outcome::Cut | Outcome::Unprocessed) {
            self.0[part].0 += f64::from(u8::from(counts));
            self.0[part].1 += 1.0;
        }
    }

    fn rate(&self) -> Option<Estimate> {
        if_finite(ratio(&self.0))
    }
}

/// Times in nanoseconds, by part of the measured time. [`BatchedTimes::estimate`] pools the parts for the value and
/// compares them for the confidence interval.
#[derive(Clone, Debug)]
pub struct BatchedTimes {
    finite: SortedGroups<i64>,
    /// Number of failed requests, by part.
    infinite: [u64; PARTS],
}

impl BatchedTimes {
    /// Number of times, failed requests included.
    pub fn len(&self) -> u64 {
        self.finite().len() + self.infinite.iter().sum::<u64>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The times of the requests that did not fail, ascending.
    pub fn finite(&self) -> &Sorted<i64> {
        self.finite.all()
    }

    /// The statistic in seconds with its 95 % confidence interval; `None` without a single value.
    ///
    /// Failed requests count as infinite in percentiles. Mean and maximum are those of the other requests.
    pub fn estimate(&self, statistic: Statistic) -> Option<Estimate> {
        if self.is_empty() {
            return None;
        }
        let Some(largest) = self.finite().max() else { return Some(without_interval(f64::INFINITY)) };
        let parts = || (0..PARTS).map(|part| (self.finite.group(part), self.infinite[part]));
        Some(match statistic {
            Statistic::Mean => {
                let moments = |came: Option<&Sorted<i64>>| came.map(Sorted::moments).unwrap_or_default();
                let sums = parts().map(|(came, _)| moments(came)).map(|of| (of.sum as f64 / 1e9, of.n as f64));
                let mean = ratio(&sums.collect::<Vec<_>>());
                if self.finite().min().is_some_and(|least| least < 0) {
                    mean
                } else {
                    drop_uninformative_interval(mean)
                }
            }
            Statistic::Max => without_interval(largest as f64 / 1e9),
            Statistic::Percentile(percent) => match self.interval(percent) {
                (value, PercentileInterval::Known(low, high)) if high.is_finite() => {
                    Estimate { value: value / 1e9, low: low / 1e9, high: high / 1e9 }
                }
                (value, _) => without_interval(value / 1e9),
            },
        })
    }

    /// The approximate number of times from which a percentile has an interval; `None` if it has one, or without a single
    /// value.
    pub fn times_needed(&self, percent: f64) -> Option<u64> {
        match (!self.is_empty()).then(|| self.interval(percent))? {
            (_, PercentileInterval::NeedsLongerSample(times)) => Some((times * self.len() as f64).ceil() as u64),
            _ => None,
        }
    }

    /// A percentile and its interval in nanoseconds.
    fn interval(&self, percent: f64) -> (f64, PercentileInterval) {
        let (batched, p) = (SortedBatches { finite: &self.finite, infinite: &self.infinite }, percent / 100.0);
        (batched.quantile(p), percentile::interval(&batched, p))
    }
}

/// An estimate with an unknown (infinite) interval.
fn without_interval(value: f64) -> Estimate {
    Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY }
}

/// Replaces the interval of a metric without negative values by an infinite one if it includes negative values: the parts are then so
/// correlated that they count as hardly more than one.
fn drop_uninformative_interval(estimate: Estimate) -> Estimate {
    if estimate.low < 0.0 { without_interval(estimate.value) } else { estimate }
}

fn if_finite(estimate: Estimate) -> Option<Estimate> {
    estimate.value.is_finite().then_some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_below_zero_become_infinite() {
        let of = |low, high| drop_uninformative_interval(Estimate { value: 962.0, low, high });
        assert_eq!(of(950.0, 980.0).high, 980.0);
        // A measured throughput of 962.2/s had this interval.
        assert_eq!((of(-8658.0, 6824.0).value, of(-8658.0, 6824.0).half_width()), (962.0, f64::INFINITY));
    }

    #[test]
    fn the_mean_of_values_of_both_signs_has_an_interval() {
        let mean = |shift: i64| {
            let mut values = BatchedTimesBuilder::default();
            for i in 0..600 {
                values.add(i % PARTS, Some(Difference((i as i64 * 7919 % 600 - shift) * 1_000_000_000)));
            }
            values.sorted().estimate(Statistic::Mean).unwrap()
        };
        let around_zero = mean(300);
        assert!(around_zero.low < 0.0 && around_zero.high > 0.0 && around_zero.half_width() < 50.0, "{around_zero:?}");
        assert!(mean(0).low > 200.0, "{:?}", mean(0));
    }
}
