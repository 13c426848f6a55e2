//! Totals: cumulative counters and histograms for metrics systems, which compute differences themselves.

use offered_base::Difference;
use offered_events::{Event, Outcome};
use offered_verify::Object;

/// Maximum number of requests with statistics of their own.
const MAX_NAMED: usize = 1000;
/// The name of all other requests.
const OTHERS: &str = "(others)";

/// The totals of a whole run, including `skip_first` and `skip_last`.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Number of users of a closed system, of this share.
    pub users: Option<u64>,
    /// Results by request.
    pub requests: Vec<RequestTotals>,
    /// Lateness (sent - scheduled) of all requests.
    pub lateness: BucketHistogram,
}

/// Results of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestTotals {
    /// The name of the request.
    pub name: String,
    outcomes: [u64; Outcome::ALL.len()],
    objects: [u64; Outcome::ALL.len()],
    /// Response times (done - scheduled) of successful requests.
    pub response: BucketHistogram,
    /// Service times (done - sent) of successful requests.
    pub service: BucketHistogram,
}

impl Totals {
    /// Totals for requests with these names; after the first thousand they are counted together.
    pub(crate) fn new(labels: &[String], users: Option<u64>) -> Self {
        let others = (labels.len() > MAX_NAMED).then(|| OTHERS.to_owned());
        let requests = labels.iter().take(MAX_NAMED).cloned().chain(others).map(RequestTotals::new).collect();
        Self { users, requests, lateness: BucketHistogram::new(&LATENESS) }
    }

    /// Adds a request that has ended, with its page objects.
    pub(crate) fn add(&mut self, event: &Event, objects: &[Object]) {
        if let Some(late) = event.lateness() {
            self.lateness.add(late);
        }
        let last = self.requests.len().saturating_sub(1);
        let Some(total) = self.requests.get_mut(usize::from(event.label).min(last)) else { return };
        total.outcomes[event.outcome as usize] += 1;
        for object in objects {
            total.objects[object.outcome as usize] += 1;
        }
        if event.outcome == Outcome::Ok {
            event.response().into_iter().for_each(|response| total.response.add(response));
            event.service().into_iter().for_each(|service| total.service.add(service));
        }
    }
}

impl RequestTotals {
    fn new(name: String) -> Self {
        let none = [0; Outcome::ALL.len()];
        Self {
            name,
            outcomes: none,
            objects: none,
            response: BucketHistogram::new(&TIMES),
            service: BucketHistogram::new(&TIMES),
        }
    }

    /// Number of requests by outcome, without zeros.
    pub fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> {
        non_zero(&self.outcomes)
    }

    /// Number of page objects by outcome, without zeros.
    pub fn objects(&self) -> impl Iterator<Item = (Outcome, u64)> {
        non_zero(&self.objects)
    }
}

fn non_zero(counts: &[u64; Outcome::ALL.len()]) -> impl Iterator<Item = (Outcome, u64)> {
    Outcome::ALL.into_iter().map(|outcome| (outcome, counts[outcome as usize])).filter(|(_, n)| *n > 0)
}

/// Upper bounds of response and service time buckets, in seconds: three per decade.
static TIMES: [f64; 17] =
    [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Upper bounds of lateness buckets, in seconds. Lateness should be far smaller than response times.
static LATENESS: [f64; 13] = [1e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 0.01, 0.1, 1.0, 10.0];

/// A histogram with fixed upper bounds of buckets.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketHistogram {
    bounds: &'static [f64],
    /// One count per bucket, and one for values above the last bound.
    counts: Vec<u64>,
    /// The sum of all values in seconds; negative values count as zero.
    pub sum: f64,
}

impl BucketHistogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, time: Difference) {
        let seconds = time.positive().as_secs_f64();
        self.counts[self.bounds.partition_point(|bound| *bound < seconds)] += 1;
        self.sum += seconds;
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each bound in seconds, and the number of values up to it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        self.bounds.iter().zip(&self.counts).map(move |(bound, count)| {
            below += count;
            (*bound, below)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_base::{Instant, Nanos};

    #[test]
    fn a_bucket_includes_its_upper_bound_and_failures_have_no_time() {
        let labels: Vec<String> = (0..=MAX_NAMED).map(|i| format!("page {i}")).collect();
        let mut totals = Totals::new(&labels, None);
        let event = |label: u16, ms, outcome| {
            let at = Instant::from_millis(5);
            let (sent, done) = (Some(at + Nanos::from_micros(10)), Some(at + Nanos::from_millis(ms)));
            Event { label, sent, done, outcome, ..Event::at(at) }
        };
        for (label, ms, outcome) in [
            (0, 10, Outcome::Ok),
            (0, 11, Outcome::Ok),
            (0, 100_000, Outcome::Ok),
            (0, 1, Outcome::Timeout),
            (MAX_NAMED as u16, 1, Outcome::Ok),
        ] {
            totals.add(&event(label, ms, outcome), &[]);
        }
        let [first, .., others] = &totals.requests[..] else { panic!("at least two") };
        assert_eq!(
            (first.outcomes().collect::<Vec<_>>().len(), first.response.len(), others.response.len()),
            (2, 3, 1)
        );
        let cells: Vec<_> = first.response.cumulative().skip(5).take(3).collect();
        assert_eq!(cells, [(5e-3, 0), (0.01, 1), (0.025, 2)]);
        assert_eq!(first.response.cumulative().last(), Some((30.0, 2)));
        assert_eq!(totals.lateness.cumulative().nth(1), Some((1e-5, 5)));
        assert_eq!(others.name, OTHERS);
    }

    #[test]
    fn a_run_without_requests_has_empty_totals() {
        let mut totals = Totals::new(&[], Some(3));
        totals.add(&Event::at(Instant::ZERO), &[]);
        assert!(totals.requests.is_empty() && totals.lateness.is_empty());
    }
}
