//! Counts and response times per label.

use std::collections::BTreeMap;

use offered_events::{Event, Outcome};
use offered_stats::groups::Groups;
use offered_stats::values::Sorted;

use crate::verdict::RequestStats;

/// From this share of failed requests on, failures are reported first.
const NOTABLE_FAILURE_SHARE: f64 = 0.01;

impl RequestStats {
    /// Number of requests that were sent and failed.
    pub const fn failed_after_sending(&self) -> u64 {
        self.failed.saturating_sub(self.not_sent)
    }

    /// The number of requests that failed after they were sent, and the number of all requests; `None` if less than 1 %
    /// failed in this way.
    pub fn notable_failures(&self) -> Option<(u64, u64)> {
        let failed = self.failed_after_sending();
        let many = failed > 0 && failed as f64 >= NOTABLE_FAILURE_SHARE * self.requests as f64;
        many.then_some((failed, self.requests))
    }
}

/// The unsuccessful requests of one label, or of all.
#[derive(Clone, Copy, Default)]
struct FailureCounts {
    failed: u64,
    not_sent: u64,
    cut: u64,
}

impl FailureCounts {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => {}
            Outcome::Cut => self.cut += 1,
            _ => self.failed += 1,
        }
        self.not_sent += u64::from(outcome == Outcome::Unsent);
    }

    /// The row of the failed and the successful requests.
    fn request(self, name: &str, good: Option<&Sorted<i64>>) -> RequestStats {
        let ok = good.map_or(0, Sorted::len);
        let ms = |ns: i64| ns as f64 / 1e6;
        let at = |p: f64| good?.quantile(p).map(ms);
        RequestStats {
            label: name.to_owned(),
            requests: ok + self.failed + self.cut,
            ok,
            failed: self.failed,
            not_sent: self.not_sent,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: good.and_then(Sorted::max).map(ms),
        }
    }
}

/// Collects counts and response times per label.
#[derive(Default)]
pub(crate) struct RequestCounter {
    by_label: Vec<FailureCounts>,
    all: FailureCounts,
    successful: Groups<i64>,
    statuses: BTreeMap<u16, u64>,
}

impl RequestCounter {
    pub(crate) fn new(labels: usize) -> Self {
        Self { by_label: vec![FailureCounts::default(); labels], ..Self::default() }
    }

    /// Adds a scheduled request.
    pub(crate) fn add(&mut self, event: &Event) {
        if event.status > 0 {
            *self.statuses.entry(event.status).or_default() += 1;
        }
        self.add_to(usize::from(event.label), event);
    }

    /// Adds a scheduled request to the row of this number, instead of that of its label.
    pub(crate) fn add_to(&mut self, label: usize, event: &Event) {
        self.all.add(event.outcome);
        self.by_label.get_mut(label).into_iter().for_each(|ill| ill.add(event.outcome));
        if let Some(response) = event.response().filter(|_| event.outcome == Outcome::Ok) {
            self.successful.add(label, response.0);
        }
    }

    /// One row per number, without names.
    pub(crate) fn by_number(self) -> Vec<RequestStats> {
        let good = self.successful.sorted();
        self.by_label.into_iter().enumerate().map(|(number, ill)| ill.request("", good.group(number))).collect()
    }

    /// One row per label with scheduled requests, sorted by label, then `Total`; and the number of responses by HTTP
    /// status.
    pub(crate) fn finish(self, labels: &[String]) -> (Vec<RequestStats>, BTreeMap<u16, u64>) {
        let good = self.successful.sorted();
        let rows = labels.iter().zip(self.by_label).zip(0..);
        let rows = rows.map(|((name, ill), label)| ill.request(name, good.group(label)));
        let mut all: Vec<RequestStats> = rows.filter(|row| row.requests > 0).collect();
        all.sort_by(|a, b| a.label.cmp(&b.label));
        all.push(self.all.request("Total", Some(good.all())));
        (all, self.statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};

    #[test]
    fn failures_are_notable_from_one_percent() {
        let of = |failed, requests| {
            let (ok, label) = (requests - failed, String::new());
            RequestStats {
                label,
                requests,
                ok,
                failed: failed + 7,
                not_sent: 7,
                p50_ms: None,
                p95_ms: None,
                p99_ms: None,
                max_ms: None,
            }
            .notable_failures()
        };
        assert_eq!((of(0, 0), of(0, 50), of(9, 1000)), (None, None, None));
        assert_eq!((of(10, 1000), of(1, 1)), (Some((10, 1000)), Some((1, 1))));
    }

    #[test]
    fn each_request_counts_once_and_failures_have_no_time() {
        let event = |i: u64, outcome, status| {
            let at = Instant::from_millis(i);
            let (sent, done) = (Some(at), Some(at + Nanos::from_millis(i + 1)));
            Event { sent, done, outcome, status, label: (i % 2) as u16, ..Event::at(at) }
        };
        let events = [
            event(0, Outcome::Ok, 200),
            event(1, Outcome::HttpError, 500),
            event(2, Outcome::Ok, 204),
            event(3, Outcome::Timeout, 0),
            event(4, Outcome::Cut, 0),
            Event { label: 1, ..Event::at(Instant::from_millis(4)) },
        ];
        let labels = ["view", "buy", "never"].map(str::to_owned);
        let mut requests = RequestCounter::new(labels.len());
        for event in &events {
            requests.add(event);
        }
        let (rows, statuses) = requests.finish(&labels);
        let counts: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.requests, row.ok, row.failed)).collect();
        assert_eq!(counts, [("buy", 3, 0, 3), ("view", 3, 2, 0), ("Total", 6, 2, 3)]);
        let total = rows.last().unwrap();
        assert_eq!((total.not_sent, total.failed_after_sending()), (1, 2));
        assert_eq!((rows[0].p50_ms, rows[1].max_ms), (None, Some(3.0)));
        assert_eq!(statuses, [(200, 1), (204, 1), (500, 1)].into());
    }
}
