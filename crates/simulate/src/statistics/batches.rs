//! Batches: a run of unknown length cut into a bounded number of equal pieces.

use offered_model::Nanos;

use super::tally::Tally;

/// What happened between two instants, from one completion to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// Completions.
    pub(super) count: u64,
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
    /// Response times in nanoseconds, response over size; of all, then of each class where there are several.
    pub(super) responses: Vec<Tally>,
    pub(super) slowdowns: Vec<Tally>,
}

impl Batch {
    pub(super) fn of_classes(classes: usize) -> Self {
        let tallies = || vec![Tally::default(); if classes > 1 { classes + 1 } else { 1 }];
        Self { responses: tallies(), slowdowns: tallies(), ..Self::default() }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.length += other.length;
        self.present += other.present;
        self.busy += other.busy;
        self.refused += other.refused;
        self.work += other.work;
        self.squares += other.squares;
        let tallies = self.responses.iter_mut().chain(&mut self.slowdowns);
        for (mine, others) in tallies.zip(other.responses.iter().chain(&other.slowdowns)) {
            mine.merge(others);
        }
    }

    pub(super) fn mean_response(&self) -> f64 {
        self.responses[0].sum / self.count as f64
    }
}

/// Equal batches, as many as [`Batches::MOST`]; when there are more, neighbours become one, so memory does not grow.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    full: Vec<Batch>,
    pub(super) open: Batch,
    size: u64,
    classes: usize,
}

impl Batches {
    const MOST: usize = 64;

    pub(super) fn new(classes: usize) -> Self {
        Self { full: Vec::new(), open: Batch::of_classes(classes), size: 64, classes }
    }

    /// Closes the open batch when it is full.
    #[inline]
    pub(super) fn turn(&mut self) {
        if self.open.count == self.size {
            self.close();
        }
    }

    fn close(&mut self) {
        let fresh = Batch::of_classes(self.classes);
        self.full.push(std::mem::replace(&mut self.open, fresh));
        if self.full.len() == Self::MOST {
            self.size *= 2;
            let pairs = self.full.chunks_exact(2).map(|pair| {
                let mut one = pair[0].clone();
                one.merge(&pair[1]);
                one
            });
            self.full = pairs.collect();
        }
    }

    /// The batches that are full, in order.
    pub(super) fn full(&self) -> &[Batch] {
        &self.full
    }
}
