//! Threshold sensitivity: whether the generator error can change the result of a threshold.
//!
//! A range is computed that contains the value which a generator without delays would have measured. Lateness is known
//! for each request: without it, a response time is a service time, and a service time contains at most the same
//! lateness again, from the thread that reads the response, or the measured reading lateness if that is longer.
//! Bunching is known as a proportion ([`GeneratorError`]). If `more` and `less` are the largest increase and decrease
//! of bunching, a response time is between (service - lateness) / (1 + more) and response / (1 - less).
//!
//! A threshold passes if both ends of the range pass, and fails if both fail. Otherwise it is not checked, because the
//! generator, and not the system, may determine the result.

use std::io;

use offered_events::Recording;
use offered_workload::Threshold;
use offered_workload::threshold::{Metric, Quantity};

use crate::criteria::{Criteria, ScenarioCriteria};
use crate::generator_error::GeneratorError;
use crate::measured::Measurements;
use crate::thresholds::needs_all_workers;
use crate::verdict::{TimeStats, Window};

/// The number of thresholds by their sensitivity to the generator error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThresholdSensitivity {
    /// Thresholds with the same result at both ends of the range.
    pub(crate) unaffected: usize,
    /// Thresholds with different results at the two ends.
    pub(crate) affected: usize,
    /// Thresholds for which nothing was measured.
    pub(crate) unmeasured: usize,
}

impl ThresholdSensitivity {
    /// Examines the thresholds of a run of `offered` whose generator error exceeds its tolerance. For other recordings
    /// all counts are zero.
    pub(crate) fn of(
        recording: &Recording,
        criteria: &Criteria,
        launches: &[TimeStats],
        judged: &Window,
        error: Option<&GeneratorError>,
    ) -> io::Result<Self> {
        let error = error.filter(|error| error.exceeds_tolerance());
        let (Some(error), Some(counted), mut of) = (error, criteria.measured_interval(), Self::default()) else {
            return Ok(Self::default());
        };
        let measurements = Measurements::new(recording, launches, judged, counted).with_pages(criteria.pages.clone());
        let scenarios = criteria.scenarios.as_ref().and_then(ScenarioCriteria::scenarios);
        let measurements =
            measurements.with_scenarios(scenarios, &[]).with_flows(criteria.flows.as_ref(), &criteria.groups);
        let measurements = measurements.with_metrics(criteria.metrics.clone());
        let measurements = measurements.with_checks(criteria.checks.clone()).with_goodput(criteria.goodput);
        let is_checked = |threshold: &&Threshold| !criteria.is_share || !needs_all_workers(threshold);
        for threshold in criteria.thresholds.iter().filter(is_checked) {
            match possible_range(threshold, &measurements, error)? {
                None => of.unmeasured += 1,
                Some(range) if is_affected(threshold, range) => of.affected += 1,
                Some(_) => of.unaffected += 1,
            }
        }
        Ok(of)
    }

    /// Whether there are thresholds and none can change.
    pub(crate) const fn all_unaffected(&self) -> bool {
        self.unaffected > 0 && self.affected == 0 && self.unmeasured == 0
    }
}

/// The possible range of the value, if the generator error can change the result of the threshold; otherwise `None`.
pub(crate) fn affected_range(
    threshold: &Threshold,
    measurements: &Measurements,
    error: &GeneratorError,
) -> io::Result<Option<[f64; 2]>> {
    if !error.exceeds_tolerance() {
        return Ok(None);
    }
    Ok(possible_range(threshold, measurements, error)?.filter(|range| is_affected(threshold, *range)))
}

fn is_affected(threshold: &Threshold, [low, high]: [f64; 2]) -> bool {
    threshold.bound.holds(low) != threshold.bound.holds(high)
}

/// The range in which the value lies without generator error; `None` if nothing was measured.
fn possible_range(
    threshold: &Threshold,
    measurements: &Measurements,
    error: &GeneratorError,
) -> io::Result<Option<[f64; 2]>> {
    let [less, more] = error.bunching_range();
    let (fewer, bunched) = (less > error.tolerance, more > error.tolerance);
    let of = |quantity| {
        let metric = Metric { quantity, ..threshold.metric.clone() };
        Ok::<_, io::Error>(measurements.estimate(&metric)?.map(|estimate| estimate.value))
    };
    // A thread that sends late also reads late, by more than was measured where reads were not timestamped. Without a successful response, one might have come in no time.
    let unread = |service, statistic| {
        let [service, late] = [of(service)?, of(Quantity::Lateness(statistic))?];
        let read_late = measurements.reading_lateness(&threshold.metric, statistic)?;
        let late = late.unwrap_or(0.0).max(read_late.unwrap_or(0.0));
        Ok::<_, io::Error>((service.unwrap_or(0.0) - late.max(0.0)).max(0.0))
    };
    let Some(value) = of(threshold.metric.quantity)? else { return Ok(None) };
    let lower = match threshold.metric.quantity {
        // A request that failed in a bunch might have succeeded without it.
        Quantity::Response(statistic) | Quantity::Service(statistic) if bunched => {
            unread(Quantity::ServiceOk(statistic), statistic)?
        }
        Quantity::Response(statistic) | Quantity::Service(statistic) => {
            unread(Quantity::Service(statistic), statistic)?
        }
        Quantity::ResponseOk(statistic) | Quantity::ServiceOk(statistic) => {
            unread(Quantity::ServiceOk(statistic), statistic)?
        }
        // The time for objects is waiting time only; that of a page can contain the lateness twice.
        Quantity::Page(statistic) | Quantity::Objects(statistic) => {
            let late = of(Quantity::Lateness(statistic))?.unwrap_or(0.0).max(0.0);
            let twice = if matches!(threshold.metric.quantity, Quantity::Page(_)) { 2.0 } else { 1.0 };
            let failed = bunched && value.is_infinite();
            if failed { 0.0 } else { (value - twice * late).max(0.0) }
        }
        Quantity::Visit(statistic)
        | Quantity::VisitDuration(statistic)
        | Quantity::Group(statistic)
        | Quantity::GroupDuration(statistic) => {
            let punctual = measurements.punctual_visits(&threshold.metric, statistic)?;
            let failed = bunched && value.is_infinite();
            punctual.filter(|_| !failed).map_or(0.0, |estimate| estimate.value)
        }
        // The first token waits for the request to be written, and it can have arrived before a late read.
        Quantity::Ttft(statistic) if !(bunched && value.is_infinite()) => {
            let late = of(Quantity::Lateness(statistic))?.unwrap_or(0.0).max(0.0);
            let punctual = measurements.punctual_ttft(&threshold.metric, statistic)?;
            punctual.unwrap_or(value - late).max(0.0)
        }
        Quantity::Ttft(_) | Quantity::Tpot(_) | Quantity::Gap(_) | Quantity::Itl(_) => {
            if bunched && value.is_infinite() { 0.0 } else { value }
        }
        Quantity::GoodputShare | Quantity::VisitsSuccess | Quantity::GroupsSuccess => {
            return Ok(Some([if fewer { 0.0 } else { value }, if bunched { 1.0 } else { value }]));
        }
        // Stronger bunching might have made any of the requests fail.
        Quantity::ErrorsRate | Quantity::PageErrors | Quantity::ObjectsErrors | Quantity::ChecksFailed => {
            return Ok(Some([if bunched { 0.0 } else { value }, if fewer { 1.0 } else { value }]));
        }
        // The load is as specified; otherwise the run fails for other reasons than lateness.
        Quantity::Lateness(_)
        | Quantity::Metric(_)
        | Quantity::ThroughputRate
        | Quantity::TokensRate
        | Quantity::GoodputRate
        | Quantity::AttemptsPerRequest
        | Quantity::ArrivalsRate
        | Quantity::ArrivalsCov => return Ok(Some([value; 2])),
    };
    Ok(Some([lower.min(value) / (1.0 + more), lower.max(value) / (1.0 - less)]))
}
