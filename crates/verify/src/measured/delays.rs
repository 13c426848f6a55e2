//! Figures without the delays of the generator, which show whether these delays can change the result of a threshold.

use std::io;

use offered_base::Difference;
use offered_workload::threshold::{Metric, Statistic};

use super::{BatchedTimes, Measurements, Selection};
use crate::token_metrics;

impl Measurements<'_> {
    /// The statistic of the time that last bytes of responses waited to be read, in seconds, for the label of `metric`; `None` if it
    /// was not measured.
    pub(crate) fn reading_lateness(&self, metric: &Metric, statistic: Statistic) -> io::Result<Option<f64>> {
        self.value(metric, statistic, |own, label| own.times(|event| event.done_lateness.map(Difference::from), label))
    }

    /// The statistic of the time to first token with a punctual generator, in seconds; failed requests count as infinite. `None` if nothing was
    /// measured.
    pub(crate) fn punctual_ttft(&self, metric: &Metric, statistic: Statistic) -> io::Result<Option<f64>> {
        self.value(metric, statistic, |own, label| {
            own.times_with_failures(token_metrics::punctual_time_to_first_token, label)
        })
    }

    /// The statistic of the `times` of the requests that the label of `metric` selects.
    fn value(
        &self,
        metric: &Metric,
        statistic: Statistic,
        times: impl Fn(&Measurements<'_>, Option<u16>) -> io::Result<BatchedTimes>,
    ) -> io::Result<Option<f64>> {
        let times = match &metric.label {
            None => times(self, None)?,
            Some(name) => match self.select(name)? {
                Some(Selection::Request(label)) => times(self, Some(label))?,
                Some(Selection::All(all)) => times(&all, None)?,
                None => return Ok(None),
            },
        };
        Ok(times.estimate(statistic).map(|estimate| estimate.value))
    }
}
