//! Metrics: numbers in responses, such as a number of rows.

use offered_events::Event;
use offered_stats::groups::Groups;
use offered_stats::values::Sorted;
use serde::{Deserialize, Serialize};

/// Statistics of a metric, in its own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricStats {
    /// The name of the metric.
    pub metric: String,
    /// Number of responses that have the metric.
    pub n: u64,
    /// Number of evaluated responses without this metric.
    pub missing: u64,
    /// The mean value; `None` without a value.
    pub mean: Option<f64>,
    /// The minimum value.
    pub min: Option<f64>,
    /// The median value.
    pub p50: Option<f64>,
    /// The 90th percentile of the values.
    pub p90: Option<f64>,
    /// The 95th percentile of the values.
    pub p95: Option<f64>,
    /// The 99th percentile of the values.
    pub p99: Option<f64>,
    /// The maximum value.
    pub max: Option<f64>,
}

/// Numbers are counted in millionths.
const SCALE: f64 = 1e6;

/// A number in millionths; beyond ± 9.2e12 it is limited to that. `i64::MAX` stands for the infinite time of a failed request, so no number has it.
pub(crate) fn millionths(value: f64) -> i64 {
    ((value * SCALE).round() as i64).min(i64::MAX - 1)
}

/// The values of the metrics of the response to a request, by name; `names` has the names for each request.
pub fn metric_values<'a>(
    event: &'a Event,
    request: &str,
    names: &'a [(String, Vec<String>)],
) -> impl Iterator<Item = (&'a str, Option<f64>)> {
    let names = names.iter().find(|(name, _)| name == request).map_or(&[][..], |(_, metrics)| &metrics[..]);
    let values = event.metrics.as_deref().unwrap_or_default();
    names.iter().map(String::as_str).zip(values.iter().map(|value| value.get()))
}

/// Collects the metrics of requests.
#[derive(Default)]
pub(crate) struct MetricCounter<'a> {
    /// The names of the metrics of requests, each with the name of its request.
    names: &'a [(String, Vec<String>)],
    /// The names of the metrics, in the order of the workload.
    all: Vec<&'a str>,
    values: Groups<i64>,
    /// Number of responses that lack each metric.
    missing: Vec<u64>,
}

impl<'a> MetricCounter<'a> {
    /// For the metrics with these names, each with the name of its request.
    pub(crate) fn new(names: &'a [(String, Vec<String>)]) -> Self {
        let mut all: Vec<&str> = Vec::new();
        for name in names.iter().flat_map(|(_, metrics)| metrics) {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        Self { names, missing: vec![0; all.len()], all, values: Groups::default() }
    }

    /// Adds a scheduled request; `labels` are the names of all requests.
    #[inline]
    pub(crate) fn add(&mut self, event: &Event, labels: &[String]) {
        if event.metrics.is_none() {
            return;
        }
        let Some(label) = labels.get(usize::from(event.label)) else { return };
        for (name, value) in metric_values(event, label, self.names) {
            let number = self.all.iter().position(|other| *other == name).unwrap_or_default();
            match value {
                Some(value) => self.values.add(number, millionths(value)),
                None => self.missing[number] += 1,
            }
        }
    }

    /// A row per metric, in the order of the workload.
    pub(crate) fn finish(self) -> Vec<MetricStats> {
        let values = self.values.sorted();
        let row = |(number, (name, missing)): (usize, (&&str, u64))| {
            let values = values.group(number).filter(|values| !values.is_empty());
            let summary = values.and_then(|values| values.summary(SCALE));
            let at = |p: f64| Some(values?.quantile(p)? as f64 / SCALE);
            MetricStats {
                metric: (*name).to_owned(),
                n: values.map_or(0, Sorted::len),
                missing,
                mean: summary.map(|summary| summary.mean),
                min: summary.map(|summary| summary.min),
                p50: at(0.5),
                p90: at(0.9),
                p95: at(0.95),
                p99: at(0.99),
                max: summary.map(|summary| summary.max),
            }
        };
        self.all.iter().zip(self.missing).enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::Instant;
    use offered_events::{MetricValue, Outcome, Recording};

    #[test]
    fn a_large_number_is_not_a_failed_request() {
        assert_eq!((millionths(1e13), millionths(-1e13)), (i64::MAX - 1, i64::MIN));
        assert_eq!(millionths(-0.25), -250_000);
    }

    #[test]
    fn metrics_have_statistics_by_name_and_thresholds() {
        let workload = offered_workload::Workload::parse(
            "duration = \"10s\"\ntarget.url = \"http://h/\"\narrivals.open.rate = \"1/s\"\n\
             request = [{ name = \"list\", get = \"/a\", metric = [{ name = \"rows\", json = \"$.count\" }, { name = \"age\", header = \"Age\" }] },\n\
             { name = \"find\", get = \"/b\", metric = { name = \"rows\", json = \"$.n\" } }]\n",
            "test",
            &|_| Err(String::new()),
        )
        .unwrap();
        assert_eq!(
            offered_workload::Workload::parse(&workload.to_string(), "test", &|_| Err(String::new())).unwrap(),
            workload
        );
        let event = |i: u64, label, values: &[Option<f64>]| Event {
            label,
            sent: Some(Instant::from_millis(i)),
            done: Some(Instant::from_millis(i + 1)),
            outcome: Outcome::Ok,
            metrics: Some(values.iter().map(|value| MetricValue::new(*value)).collect()),
            ..Event::at(Instant::from_millis(i))
        };
        let events = vec![
            event(0, 0, &[Some(1.0), Some(-0.5)]),
            event(1, 0, &[Some(2.0), None]),
            event(2, 1, &[Some(30.0)]),
            Event::at(Instant::from_millis(3)),
            event(20_000, 1, &[Some(1e6)]),
        ];
        let recording = Recording::of_run(events, workload.labels());
        let verdict = crate::verify(&recording, &crate::Criteria::from_workload(&workload, 1.0)).unwrap();
        let rows: Vec<_> =
            verdict.metrics.iter().map(|row| (row.metric.as_str(), row.n, row.missing, row.mean, row.max)).collect();
        assert_eq!(rows, [("rows", 3, 0, Some(11.0), Some(30.0)), ("age", 1, 1, Some(-0.5), Some(-0.5))]);
        let measured = crate::Measurements::new(&recording, &verdict.gaps, &verdict.window, workload.counted())
            .with_metrics(workload.metrics());
        let value = |metric: &str| measured.estimate(&metric.parse().unwrap()).unwrap().map(|estimate| estimate.value);
        let mean = value("metric.mean{rows}").unwrap();
        assert!((mean - 11.0).abs() < 1e-9 && value("metric.p50{rows}") == Some(2.0), "{mean}");
        assert_eq!((value("metric.max{age}"), value("metric.max{other}")), (Some(-0.5), None));
    }
}
