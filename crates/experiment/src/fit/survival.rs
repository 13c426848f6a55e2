//! The distribution of service times from requests that were sent with no other request in flight.
//!
//! Until the next request is sent, nothing slows such a request, under any discipline and on any number of servers. A
//! request that is still in flight when the next is sent is censored. The product-limit estimator takes both into
//! account (Kaplan and Meier 1958); the mean of the uncensored ones alone would be too short.

use super::observations::Observations;

/// Observed and censored times in ascending order, and the estimated distribution function.
#[derive(Clone, Debug)]
pub(super) struct Survival {
    /// (time in seconds, whether it is complete rather than censored).
    pub(super) times: Vec<(f64, bool)>,
    /// (time, P(S <= time)) after each complete time.
    pub(super) steps: Vec<(f64, f64)>,
}

impl Survival {
    /// Of the requests with this label that met no other.
    pub(super) fn of(label: u16, runs: &[&Observations]) -> Self {
        let unloaded = runs.iter().flat_map(|run| &run.requests).filter(|one| one.label == label && one.met == 0);
        let times =
            unloaded.map(|one| if one.time <= one.until_next { (one.time, true) } else { (one.until_next, false) });
        Self::new(times.filter(|(time, _)| *time > 0.0).collect())
    }

    pub(super) fn new(mut times: Vec<(f64, bool)>) -> Self {
        // Of equal times the complete ones come first.
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let (mut survives, mut steps) = (1.0, Vec::new());
        for (i, (time, complete)) in times.iter().enumerate() {
            if *complete {
                survives *= 1.0 - 1.0 / (times.len() - i) as f64;
                steps.push((*time, 1.0 - survives));
            }
        }
        Self { times, steps }
    }

    /// Number of complete times.
    pub(super) fn complete(&self) -> usize {
        self.steps.len()
    }

    /// Mean and standard deviation, up to the last complete time.
    pub(super) fn mean_and_sdev(&self) -> (f64, f64) {
        let total = self.steps.last().map_or(1.0, |last| last.1);
        let (mut before, mut first, mut second) = (0.0, 0.0, 0.0);
        for (time, below) in &self.steps {
            let share = (below - before) / total;
            first += share * time;
            second += share * time * time;
            before = *below;
        }
        (first, (second - first * first).max(0.0).sqrt())
    }

    /// The quantile `p`.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let place = self.steps.partition_point(|(_, below)| *below < p);
        self.steps.get(place).or(self.steps.last()).map_or(0.0, |step| step.0)
    }

    /// At most `most` times, evenly spaced in order, so that a likelihood is quick.
    pub(super) fn thinned(&self, most: usize) -> Vec<(f64, bool)> {
        let n = self.times.len();
        if n <= most {
            return self.times.clone();
        }
        // Complete and censored times are taken in turn, each evenly.
        let of = |complete: bool| -> Vec<(f64, bool)> {
            let all: Vec<(f64, bool)> = self.times.iter().copied().filter(|time| time.1 == complete).collect();
            let wanted = all.len() * most / n;
            (0..wanted).map(|i| all[(2 * i + 1) * all.len() / (2 * wanted)]).collect()
        };
        [of(true), of(false)].concat()
    }
}
