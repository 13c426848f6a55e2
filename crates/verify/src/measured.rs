//! Metrics of a run, with confidence intervals: for thresholds, and for curves through several runs.

mod batched_times;
mod delays;
mod visits;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use offered_base::{Difference, Instant, Nanos};
use offered_events::{Event, Outcome, Recording};
use offered_schedule::{Flows, Scenarios};
use offered_stats::requirements::IntervalRequirements;
use offered_stats::steady_state::{Estimate, ratio};
use offered_workload::threshold::{Metric, Quantity};
use offered_workload::{Goodput, Group, failed_checks};

use crate::pages::{self, Object};
use crate::scenarios::MeasuredScenarios;
use crate::token_metrics;
use crate::verdict::{TimeStats, Verdict, Window};
use batched_times::{BatchedTimesBuilder, PARTS, drop_uninformative_interval, time_or_never, without_interval};

pub use batched_times::BatchedTimes;

/// The requests of one run that are scheduled in the analysed time [`from`, `to`).
#[derive(Clone)]
pub struct Measurements<'a> {
    recording: &'a Recording,
    gaps: &'a [TimeStats],
    /// The known names of requests that load objects.
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
    /// The known scenarios of the run.
    scenarios: Option<MeasuredScenarios<'a>>,
    /// The flows of the run, if it has any.
    flows: Option<&'a Arc<Flows>>,
    /// The groups of their steps.
    groups: &'a [Group],
    /// Only the requests of this step of the flows; `None`: all.
    step: Option<usize>,
    /// The numbers of responses that intervals need.
    requirements: IntervalRequirements,
}

/// What the label of a metric selects.
pub(crate) enum Selection<'a> {
    /// The requests with this label.
    Request(u16),
    /// All requests of these measurements: those of a step or of a scenario.
    All(Box<Measurements<'a>>),
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
            requirements: IntervalRequirements::default(),
        }
    }

    /// Sets the numbers of responses that the intervals of a simulated system need.
    #[must_use]
    pub fn with_requirements(self, requirements: IntervalRequirements) -> Self {
        Self { requirements, ..self }
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

    /// The measurements of the scenario with this name; `None` if there is none.
    fn of_scenario(&self, name: &str) -> io::Result<Option<Measurements<'_>>> {
        let Some(measured) = &self.scenarios else { return Ok(None) };
        let all = measured.scenarios.all();
        let Some(number) = all.iter().position(|scenario| scenario.name == name) else { return Ok(None) };
        let (scenario, recording) = (&all[number], measured.recording(self.recording, number)?);
        let gaps = measured.verdicts.get(number).map_or(&[][..], |verdict| &verdict.gaps);
        let from = self.from.earlier(scenario.start);
        let to = self.to.earlier(scenario.start).min(Instant::ZERO + scenario.duration).max(from);
        Ok(Some(Measurements { recording, gaps, from, to, scenarios: None, ..self.clone() }))
    }

    /// The requests of the request, step or scenario with this name; `None` if there is none.
    pub(crate) fn select(&self, name: &str) -> io::Result<Option<Selection<'_>>> {
        if let Some(label) = self.recording.labels.iter().position(|label| label == name) {
            return Ok(Some(Selection::Request(label as u16)));
        }
        let all = match self.step_of(name) {
            Some(step) => Some(Measurements { step: Some(step), ..self.clone() }),
            None => self.of_scenario(name)?,
        };
        Ok(all.map(|all| Selection::All(Box::new(all))))
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

    /// The value of `metric` with its 95 % confidence interval, in seconds, per second, or as a fraction; `None` if
    /// nothing was measured.
    ///
    /// Confidence intervals are computed from [`offered_stats::percentile::BATCHES`] parts of the time, those of means
    /// by [`ratio`], those of percentiles by [`offered_stats::percentile::interval`]. The interval is infinite if the
    /// values are too few for the percentile, if the metric is a maximum, or if it would include negative values
    /// although no value is negative. The interval of the CoV is that of the verdict.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn estimate(&self, metric: &Metric) -> io::Result<Option<Estimate>> {
        let is_of_visits = metric.quantity.is_of_visits() || metric.quantity.is_of_groups();
        let label = match &metric.label {
            None => None,
            Some(_) if is_of_visits || matches!(metric.quantity, Quantity::ChecksFailed | Quantity::Metric(_)) => None,
            Some(name) => match self.select(name)? {
                Some(Selection::Request(label)) => Some(label),
                Some(Selection::All(all)) => return all.estimate(&Metric { label: None, ..metric.clone() }),
                None => return Ok(None),
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

    /// The fraction of failed checks, among the checks with this name or all checks.
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
            if self.selects(event, label) {
                see(event);
            }
        })
    }

    /// Whether the request has the label, if one is given, and is of the selected step.
    fn selects(&self, event: &Event, label: Option<u16>) -> bool {
        label.is_none_or(|label| event.label == label) && self.is_of_step(event)
    }

    /// Passes every page in the analysed time, of the label or of all labels, to `see`, with the number of its part and
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

    /// Times of the requests in the analysed time, by part; failed requests count as infinite.
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

    /// Times of the successful requests in the analysed time, by part.
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

    /// The values of `time` for the requests in the analysed time, by part.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn times(&self, time: impl Fn(&Event) -> Option<Difference>, label: Option<u16>) -> io::Result<BatchedTimes> {
        let (mut times, mut all) = (BatchedTimesBuilder::default(), 0);
        self.recording.events.each_response(|event| {
            let Some(part) = self.part(event.intended) else { return };
            let time = time(event);
            // Requests of all names and steps wait in one queue.
            all += u64::from(time.is_some());
            if self.selects(event, label) {
                times.add(part, time);
            }
        })?;
        Ok(times.sorted().with_requirements(self.requirements.clone(), all))
    }

    /// Several values of each successful request in the analysed time, by part.
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

    /// The sum of the counts per second of the analysed time; `count` has the instant of each.
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

    /// The number of the part that contains `at`; `None` outside of the analysed time.
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

/// The outcomes of the checks of a response, of those with this name or of all; empty without a response.
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

fn if_finite(estimate: Estimate) -> Option<Estimate> {
    estimate.value.is_finite().then_some(estimate)
}
