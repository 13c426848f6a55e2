//! Metrics of visits, of the steps of flows, and of the numbers that a workload declares as metrics.

use std::io;

use offered_base::Difference;
use offered_events::{Event, Outcome};
use offered_stats::steady_state::Estimate;
use offered_workload::threshold::{Metric, Quantity, Statistic};

use super::batched_times::{BatchedTimesBuilder, time_or_never};
use super::{FailureRate, Measurements};
use crate::metrics::{metric_values, millionths};
use crate::visits::{self, VisitRecord, VisitTracker};

impl Measurements<'_> {
    /// The number of the step with this name, `flow/step`; `None` if no step has it.
    pub(super) fn step_of(&self, name: &str) -> Option<usize> {
        self.flows?.step_names().iter().position(|step| step == name)
    }

    /// Whether the request is of the selected step, if one is.
    pub(super) fn is_of_step(&self, event: &Event) -> bool {
        let of = || self.flows?.step_number(event.visit?.place);
        self.step.is_none_or(|step| of() == Some(step))
    }

    /// The value of a metric of visits or groups. Its label, if it has one, selects a flow, group or scenario.
    pub(super) fn estimate_of_visits(&self, metric: &Metric) -> io::Result<Option<Estimate>> {
        if let Some(name) = self.unknown_label(metric) {
            let scenario = self.of_scenario(name)?;
            return scenario.map_or(Ok(None), |own| own.estimate(&Metric { label: None, ..metric.clone() }));
        }
        match metric.quantity {
            Quantity::Visit(statistic) | Quantity::Group(statistic) => {
                self.visit_times(metric, statistic, |visit| visit.response)
            }
            Quantity::VisitDuration(statistic) | Quantity::GroupDuration(statistic) => {
                self.visit_times(metric, statistic, |visit| visit.duration)
            }
            _ => {
                let mut succeeded = FailureRate::default();
                self.each_visit(metric, |part, visit| {
                    succeeded.add_if(part, visit.outcome, visit.outcome == Outcome::Ok);
                })?;
                Ok(succeeded.rate())
            }
        }
    }

    /// A statistic of the metric of this name.
    pub(super) fn estimate_of_metric(&self, name: Option<&str>, statistic: Statistic) -> io::Result<Option<Estimate>> {
        let mut values = BatchedTimesBuilder::default();
        self.recording.events.each_response(|event| {
            let label = self.recording.labels.get(usize::from(event.label));
            if let (Some(part), Some(label)) = (self.part(event.intended), label) {
                let all = metric_values(event, label, &self.metrics).filter(|(metric, _)| Some(*metric) == name);
                all.filter_map(|(_, value)| value)
                    .for_each(|value| values.add(part, Some(Difference(millionths(value)))));
            }
        })?;
        // Estimates convert nanoseconds to seconds.
        let number = |value: f64| 1e3 * value;
        Ok(values.sorted().estimate(statistic).map(|Estimate { value, low, high }| Estimate {
            value: number(value),
            low: number(low),
            high: number(high),
        }))
    }

    /// At most the value of a metric of times of visits with a punctual generator, which neither sends nor reads late.
    pub(crate) fn punctual_visits(&self, metric: &Metric, statistic: Statistic) -> io::Result<Option<Estimate>> {
        if self.unknown_label(metric).is_some() {
            return Ok(None);
        }
        let is_duration = matches!(metric.quantity, Quantity::VisitDuration(_) | Quantity::GroupDuration(_));
        self.visit_times(metric, statistic, |visit| {
            let time = if is_duration { visit.duration } else { visit.response };
            Difference((time.0 - 2 * visit.lateness.0.max(0)).max(0))
        })
    }

    /// The label of the metric; `None` if it is the name of a flow or a group.
    fn unknown_label<'m>(&self, metric: &'m Metric) -> Option<&'m str> {
        if metric.quantity.is_of_groups() {
            return metric.label.as_deref().filter(|name| self.groups.iter().all(|group| group.name != **name));
        }
        let is_flow =
            |name: &&str| self.flows.is_some_and(|flows| flows.flows().iter().any(|flow| flow.name == **name));
        metric.label.as_deref().filter(|name| !is_flow(name))
    }

    /// A statistic of a time of visits, in seconds; failed visits count as infinite.
    fn visit_times(
        &self,
        metric: &Metric,
        statistic: Statistic,
        time: impl Fn(&VisitRecord) -> Difference,
    ) -> io::Result<Option<Estimate>> {
        let mut times = BatchedTimesBuilder::default();
        let responses = self.each_visit(metric, |part, visit| {
            times.add(part, time_or_never(visit.outcome, Some(time(visit))));
        })?;
        let mut requirements = self.requirements.clone();
        if matches!(metric.quantity, Quantity::VisitDuration(_) | Quantity::GroupDuration(_)) {
            // Think times make a visit longer than any size.
            requirements.large_sizes = None;
        }
        Ok(times.sorted().with_requirements(requirements, responses).estimate(statistic))
    }

    /// Passes the visits of the flow of `metric`, or its group, or all, that begin in the analysed time to `see`, with the number of their part.
    /// Returns the number of successful requests of all visits in this time.
    fn each_visit(&self, metric: &Metric, mut see: impl FnMut(usize, &VisitRecord)) -> io::Result<u64> {
        let flow = |visit: &VisitRecord| Some(&self.flows?.flow_at(visit.place)?.name);
        let is_of_groups = metric.quantity.is_of_groups();
        let visit = |visit: &VisitRecord| {
            let name = if is_of_groups { visit.group.map(|group| &self.groups[group].name) } else { flow(visit) };
            let is_wanted =
                visit.group.is_some() == is_of_groups && (metric.label.is_none() || name == metric.label.as_ref());
            if let Some(part) = self.part(visit.begins).filter(|_| is_wanted) {
                see(part, visit);
            }
        };
        let groups = if is_of_groups { self.groups.to_vec() } else { Vec::new() };
        let tracker = VisitTracker::new(self.flows.cloned(), groups);
        let mut responses = 0;
        let request = |event: &Event| {
            responses += u64::from(event.outcome == Outcome::Ok && self.part(event.intended).is_some());
        };
        visits::each(self.recording, tracker, request, visit)?;
        Ok(responses)
    }
}
