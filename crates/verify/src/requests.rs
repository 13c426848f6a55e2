//! What came of each request: how many went well, how many did not, and how long the good answers took.

use std::collections::BTreeMap;

use offered_model::{Event, Outcome};
use offered_stats::groups::Groups;
use offered_stats::values::Sorted;

use crate::verdict::RequestStats;

/// From this share of failed launches on they are told before anything else.
const WORTH_TELLING: f64 = 0.01;

impl RequestStats {
    /// How many launches failed and how many there were, where that is at least one in a hundred.
    pub fn many_failed(&self) -> Option<(u64, u64)> {
        let many = self.failed > 0 && self.failed as f64 >= WORTH_TELLING * self.requests as f64;
        many.then_some((self.failed, self.requests))
    }
}

/// What did not go well of the launches of a label, or of all.
#[derive(Clone, Copy, Default)]
struct Ill {
    failed: u64,
    cut: u64,
}

impl Ill {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => {}
            Outcome::Cut => self.cut += 1,
            _ => self.failed += 1,
        }
    }

    /// The row of these and of the good.
    fn request(self, name: &str, good: Option<&Sorted<i64>>) -> RequestStats {
        let ok = good.map_or(0, Sorted::len);
        let ms = |ns: i64| ns as f64 / 1e6;
        let at = |p: f64| good?.quantile(p).map(ms);
        RequestStats {
            label: name.to_owned(),
            requests: ok + self.failed + self.cut,
            ok,
            failed: self.failed,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: good.and_then(Sorted::max).map(ms),
        }
    }
}

/// What came of each request, in the making.
#[derive(Default)]
pub(crate) struct Requests {
    each: Vec<Ill>,
    all: Ill,
    good: Groups<i64>,
    statuses: BTreeMap<u16, u64>,
}

impl Requests {
    pub(crate) fn new(labels: usize) -> Self {
        Self { each: vec![Ill::default(); labels], ..Self::default() }
    }

    /// Takes something that was meant to be launched.
    pub(crate) fn add(&mut self, event: &Event) {
        if event.status > 0 {
            *self.statuses.entry(event.status).or_default() += 1;
        }
        let label = usize::from(event.label);
        self.all.add(event.outcome);
        self.each.get_mut(label).into_iter().for_each(|ill| ill.add(event.outcome));
        if let Some(response) = event.response().filter(|_| event.outcome == Outcome::Ok) {
            self.good.add(label, response.0);
        }
    }

    /// A row for each label that was meant to be launched, in the order of their names, then `Total`; and how many answers had
    /// each HTTP status.
    pub(crate) fn finish(self, labels: &[String]) -> (Vec<RequestStats>, BTreeMap<u16, u64>) {
        let good = self.good.sorted();
        let rows = labels.iter().zip(self.each).zip(0..);
        let rows = rows.map(|((name, ill), label)| ill.request(name, good.of(label)));
        let mut all: Vec<RequestStats> = rows.filter(|row| row.requests > 0).collect();
        all.sort_by(|a, b| a.label.cmp(&b.label));
        all.push(self.all.request("Total", Some(good.all())));
        (all, self.statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Instant, Nanos};

    #[test]
    fn one_failure_in_a_hundred_is_worth_telling() {
        let of = |failed, launches| {
            let (ok, label) = (launches - failed, String::new());
            RequestStats { label, requests: launches, ok, failed, p50_ms: None, p95_ms: None, p99_ms: None, max_ms: None }
                .many_failed()
        };
        assert_eq!((of(0, 0), of(0, 50), of(9, 1000)), (None, None, None));
        assert_eq!((of(10, 1000), of(1, 1)), (Some((10, 1000)), Some((1, 1))));
    }

    #[test]
    fn each_launch_is_counted_once_and_failures_have_no_time() {
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
        let mut requests = Requests::new(labels.len());
        for event in &events {
            requests.add(event);
        }
        let (rows, statuses) = requests.finish(&labels);
        let counts: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.requests, row.ok, row.failed)).collect();
        assert_eq!(counts, [("buy", 3, 0, 3), ("view", 3, 2, 0), ("Total", 6, 2, 3)]);
        assert_eq!((rows[0].p50_ms, rows[1].max_ms), (None, Some(3.0)));
        assert_eq!(statuses, [(200, 1), (204, 1), (500, 1)].into());
    }
}
