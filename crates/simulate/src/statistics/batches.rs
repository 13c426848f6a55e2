//! Batches: a run of unknown length cut into a bounded number of equal pieces.

use offered_model::{Instant, Nanos};

use super::tally::Tally;

/// Two kinds of figures that come together.
pub(super) type Pair<const BITS: u32 = 6> = [Tally<BITS>; 2];

/// Those of one class: there may be thousands, so their cells are coarse.
pub(super) type Class = Pair<4>;

fn merge<const BITS: u32>(mine: &mut Pair<BITS>, others: &Pair<BITS>) {
    mine.iter_mut().zip(others).for_each(|(mine, others)| mine.merge(others));
}

/// What has passed since the start: integrals over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    pub(super) at: Instant,
    /// Of the number in the system, in job nanoseconds.
    pub(super) present: u128,
    /// Of the number of busy servers, in server nanoseconds.
    pub(super) busy: u128,
}

impl Passed {
    /// Until `to` so many were present, at so many servers.
    #[inline]
    pub(super) fn stretch(&mut self, to: Instant, present: u64, servers: u64) {
        let time = u128::from(self.at.until(to).0);
        self.present += u128::from(present) * time;
        self.busy += u128::from(present.min(servers)) * time;
        self.at = to;
    }
}

/// What happened between two instants, from one completion to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub(super) length: Nanos,
    /// The integral over time of the number in the system, in job nanoseconds.
    pub(super) present: f64,
    /// The integral over time of the number of busy servers, in server nanoseconds.
    pub(super) busy: f64,
    /// Launches that found no room.
    pub(super) refused: u64,
    /// Work of the completed, and its squares: nanoseconds.
    pub(super) work: f64,
    pub(super) squares: f64,
    /// Response in nanoseconds and slowdown of all requests.
    pub(super) requests: Pair,
    /// The same of each class, where there are several.
    pub(super) classes: Vec<Class>,
    /// How long sessions lasted, and how long they waited for answers in all, in nanoseconds; where sessions end.
    pub(super) sessions: Option<Pair>,
}

impl Batch {
    /// Completions.
    pub(super) fn count(&self) -> u64 {
        self.requests[0].count
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.length += other.length;
        self.present += other.present;
        self.busy += other.busy;
        self.refused += other.refused;
        self.work += other.work;
        self.squares += other.squares;
        merge(&mut self.requests, &other.requests);
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, others)| merge(mine, others));
        self.sessions.iter_mut().zip(&other.sessions).for_each(|(mine, others)| merge(mine, others));
    }

    pub(super) fn mean_response(&self) -> f64 {
        self.requests[0].sum / self.count() as f64
    }

    /// It lasted from one moment to another.
    fn lasted(&mut self, from: Passed, to: Passed) {
        self.length = from.at.until(to.at);
        self.present = (to.present - from.present) as f64;
        self.busy = (to.busy - from.busy) as f64;
    }
}

/// Equal batches, as many as [`Batches::MAX`]; when there are more, neighbours become one, so memory does not grow.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    full: Vec<Batch>,
    pub(super) open: Batch,
    /// What had passed when the open batch began.
    begun: Passed,
    size: u64,
    empty: Batch,
}

impl Batches {
    const MAX: usize = 64;

    /// For this many classes, with or without sessions that end.
    pub(super) fn new(classes: usize, sessions: bool) -> Self {
        let classes = if classes > 1 { vec![Class::default(); classes] } else { Vec::new() };
        let empty = Batch { classes, sessions: sessions.then(Pair::default), ..Batch::default() };
        Self { full: Vec::new(), open: empty.clone(), begun: Passed::default(), size: 64, empty }
    }

    /// The open batch begins now.
    pub(super) fn begin(&mut self, now: Passed) {
        self.begun = now;
    }

    /// Closes the open batch when it is full.
    #[inline]
    pub(super) fn turn(&mut self, now: Passed) {
        if self.open.count() == self.size {
            self.close(now);
        }
    }

    fn close(&mut self, now: Passed) {
        self.open.lasted(self.begun, now);
        self.begun = now;
        self.full.push(std::mem::replace(&mut self.open, self.empty.clone()));
        if self.full.len() == Self::MAX {
            self.size *= 2;
            let mut all = std::mem::take(&mut self.full).into_iter();
            while let (Some(mut one), Some(next)) = (all.next(), all.next()) {
                one.merge(&next);
                self.full.push(one);
            }
        }
    }

    /// The batches that are full, in order.
    pub(super) fn full(&self) -> &[Batch] {
        &self.full
    }

    /// What happened since the last full one.
    pub(super) fn rest(&self, now: Passed) -> Batch {
        let mut rest = self.open.clone();
        rest.lasted(self.begun, now);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_model::{Law, Purpose, Seed};

    #[test]
    fn a_thousand_classes_fit_in_a_hundred_megabytes() {
        let classes = 1000;
        let mut batches = Batches::new(classes, false);
        let law = Law::exponential(1e7).unwrap();
        let mut stream = Seed(5).stream(Purpose::Size);
        for i in 0..3_000_000 {
            let (response, slowdown) = (law.sample(&mut stream), 1.0 + law.sample(&mut stream) / 1e6);
            let Batch { requests, classes: each, .. } = &mut batches.open;
            let [times, slowdowns] = &mut each[i % classes];
            times.add(response);
            slowdowns.add(slowdown);
            requests[0].add(response);
            batches.turn(Passed::default());
        }
        let kept = batches.full.iter().chain([&batches.open]);
        let bytes: usize = kept.flat_map(|batch| batch.classes.iter().flatten()).map(Tally::bytes).sum();
        assert!(batches.full.len() >= 32 && bytes < 100_000_000, "{bytes} bytes in {} batches", batches.full.len());
    }
}
