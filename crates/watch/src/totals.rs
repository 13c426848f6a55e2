//! Totals: what only grows while a run goes on, as a metrics system wants it, which takes differences itself.

use offered_model::{Difference, Event, Outcome};
use offered_verify::Object;

/// So many requests have names of their own.
const NAMED: usize = 1000;
/// What the others are called.
const OTHERS: &str = "(others)";

/// The totals of a run, of which nothing is left out: neither `skip_first` nor `skip_last`.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// How many users a closed system has here.
    pub users: Option<u64>,
    /// What came of each request.
    pub requests: Vec<Total>,
    /// sent - intended of every launch.
    pub lateness: Cells,
}

/// What came of the launches of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    /// Its name.
    pub name: String,
    outcomes: [u64; Outcome::ALL.len()],
    objects: [u64; Outcome::ALL.len()],
    /// done - intended of good answers.
    pub response: Cells,
    /// done - sent of good answers.
    pub service: Cells,
}

impl Totals {
    /// Of requests with these names; at most a thousand of them are told apart.
    pub(crate) fn new(labels: &[String], users: Option<u64>) -> Self {
        let others = (labels.len() > NAMED).then(|| OTHERS.to_owned());
        let requests = labels.iter().take(NAMED).cloned().chain(others).map(Total::new).collect();
        Self { users, requests, lateness: Cells::new(&LATENESS) }
    }

    /// Takes a launch that is through, with the objects that it brought.
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

impl Total {
    fn new(name: String) -> Self {
        let none = [0; Outcome::ALL.len()];
        Self { name, outcomes: none, objects: none, response: Cells::new(&TIMES), service: Cells::new(&TIMES) }
    }

    /// How many launches ended so, of each end that there was.
    pub fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> {
        there_were(&self.outcomes)
    }

    /// How many objects did.
    pub fn objects(&self) -> impl Iterator<Item = (Outcome, u64)> {
        there_were(&self.objects)
    }
}

fn there_were(counts: &[u64; Outcome::ALL.len()]) -> impl Iterator<Item = (Outcome, u64)> {
    Outcome::ALL.into_iter().map(|outcome| (outcome, counts[outcome as usize])).filter(|(_, n)| *n > 0)
}

/// Upper bounds of times of answers, in seconds: three a decade.
static TIMES: [f64; 17] =
    [1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// And of lateness, which is to be far below them.
static LATENESS: [f64; 13] = [1e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 0.01, 0.1, 1.0, 10.0];

/// A histogram whose cells have fixed upper bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    bounds: &'static [f64],
    /// Of each cell, and of what is above the last bound.
    counts: Vec<u64>,
    /// In seconds; of what is below zero nothing.
    pub sum: f64,
}

impl Cells {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, time: Difference) {
        let seconds = time.positive().as_secs_f64();
        self.counts[self.bounds.partition_point(|bound| *bound < seconds)] += 1;
        self.sum += seconds;
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are no longer than each bound, in seconds.
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
    use offered_model::{Instant, Nanos};

    #[test]
    fn a_cell_holds_its_upper_bound_and_failures_have_no_time() {
        let labels: Vec<String> = (0..=NAMED).map(|i| format!("page {i}")).collect();
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
            (NAMED as u16, 1, Outcome::Ok),
        ] {
            totals.add(&event(label, ms, outcome), &[]);
        }
        let [first, .., others] = &totals.requests[..] else { panic!("two at least") };
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
    fn a_run_without_requests_has_no_totals_of_them() {
        let mut totals = Totals::new(&[], Some(3));
        totals.add(&Event::at(Instant::ZERO), &[]);
        assert!(totals.requests.is_empty() && totals.lateness.is_empty());
    }
}
