//! What came of each request: how many went well, how many did not, and how long the good answers took.

use std::collections::BTreeMap;

use offered_model::Outcome;
use offered_stats::summary::quantile;

use crate::scope::Scope;
use crate::verdict::Request;

/// From this share of failed launches on they are told before anything else.
const WORTH_TELLING: f64 = 0.01;

impl Request {
    /// How many launches failed and how many there were, where that is at least one in a hundred.
    pub fn many_failed(&self) -> Option<(u64, u64)> {
        let many = self.failed > 0 && self.failed as f64 >= WORTH_TELLING * self.launches as f64;
        many.then_some((self.failed, self.launches))
    }
}

/// A row for each label that was meant to be launched, in the order of their names, then `Total`; and how many answers had each
/// HTTP status.
pub(crate) fn requests(scope: Scope) -> (Vec<Request>, BTreeMap<u16, u64>) {
    let labels = &scope.recording.labels;
    let mut rows: Vec<(u64, u64, Vec<i64>)> = vec![(0, 0, Vec::new()); labels.len() + 1];
    let mut statuses = BTreeMap::new();
    for event in scope.meant() {
        if event.status > 0 {
            *statuses.entry(event.status).or_default() += 1;
        }
        let row = &mut rows[usize::from(event.label).min(labels.len())];
        match event.outcome {
            Outcome::Ok => row.2.extend(event.response().map(|response| response.0)),
            Outcome::Cut => row.1 += 1,
            _ => row.0 += 1,
        }
    }
    let request = |name: &str, failed: u64, cut: u64, mut times: Vec<i64>| {
        times.sort_unstable();
        let at = |p: f64| (!times.is_empty()).then(|| quantile(&times, p) as f64 / 1e6);
        let ok = times.len() as u64;
        let max_ms = times.last().map(|max| *max as f64 / 1e6);
        let (p50_ms, p95_ms, p99_ms) = (at(0.5), at(0.95), at(0.99));
        Request { label: name.to_owned(), launches: ok + failed + cut, ok, failed, p50_ms, p95_ms, p99_ms, max_ms }
    };
    let total = rows.iter().fold((0, 0, Vec::new()), |(failed, cut, mut times), row| {
        times.extend_from_slice(&row.2);
        (failed + row.0, cut + row.1, times)
    });
    let mut all: Vec<Request> = labels
        .iter()
        .zip(rows)
        .map(|(name, (failed, cut, times))| request(name, failed, cut, times))
        .filter(|row| row.launches > 0)
        .collect();
    all.sort_by(|a, b| a.label.cmp(&b.label));
    all.push(request("Total", total.0, total.1, total.2));
    (all, statuses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use offered_model::{Event, Instant, Nanos, Recording};

    #[test]
    fn one_failure_in_a_hundred_is_worth_telling() {
        let of = |failed, launches| {
            let (ok, label) = (launches - failed, String::new());
            Request { label, launches, ok, failed, p50_ms: None, p95_ms: None, p99_ms: None, max_ms: None }
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
        let events = vec![
            event(0, Outcome::Ok, 200),
            event(1, Outcome::HttpError, 500),
            event(2, Outcome::Ok, 204),
            event(3, Outcome::Timeout, 0),
            event(4, Outcome::Cut, 0),
            Event { label: 1, ..Event::at(Instant::from_millis(4)) },
        ];
        let labels = vec!["view".into(), "buy".into(), "never".into()];
        let recording = Recording::of_run(events, labels);
        let (rows, statuses) = requests(Scope::of(&recording, &Ask::default()).unwrap());
        let counts: Vec<_> = rows.iter().map(|row| (row.label.as_str(), row.launches, row.ok, row.failed)).collect();
        assert_eq!(counts, [("buy", 3, 0, 3), ("view", 3, 2, 0), ("Total", 6, 2, 3)]);
        assert_eq!((rows[0].p50_ms, rows[1].max_ms), (None, Some(3.0)));
        assert_eq!(statuses, [(200, 1), (204, 1), (500, 1)].into());
    }
}
