//! Ranks: the order of jobs in disciplines that serve by order.

use offered_base::{InvalidValue, Nanos, Seed, Stream};
use offered_distributions::Distribution;
use offered_schedule::heap::Heap;

use super::{Job, WaitingQueue};

/// The order of jobs: the smallest key is served first; of equal keys, the job that arrived first.
pub trait Rank {
    /// Key of a job on arrival.
    fn of(&mut self, job: &Job) -> u64;

    /// Key when `left` of its work remains; equal to `key` unless the discipline ranks by remaining work.
    #[inline]
    fn with_remaining(key: u64, left: Nanos) -> u64 {
        let _ = left;
        key
    }
}

/// A server's estimate of a job's size.
#[derive(Clone, Debug)]
pub enum SizeEstimate {
    /// The exact size.
    Exact,
    /// The mean size of the job's class; one entry per class.
    ClassMean(Vec<Nanos>),
    /// The size times lognormal noise of mean 1, sampled in the order of arrival.
    Noisy(Distribution, Box<Stream>),
}

impl SizeEstimate {
    /// The size times lognormal noise of mean 1 and squared coefficient of variation `scv`.
    ///
    /// # Errors
    /// `scv` is not above zero. Without noise use [`SizeEstimate::Exact`].
    pub fn noisy(scv: f64, seed: Seed) -> Result<Self, InvalidValue> {
        Ok(Self::Noisy(Distribution::lognormal(1.0, scv)?, Box::new(seed.stream(offered_base::Purpose::Size))))
    }

    /// Estimate for this job; 0 for a class without a mean.
    #[inline]
    pub(super) fn of(&mut self, job: &Job) -> Nanos {
        match self {
            Self::Exact => job.size,
            Self::ClassMean(means) => means.get(usize::from(job.class)).copied().unwrap_or_default(),
            Self::Noisy(noise, stream) => Nanos((job.size.0 as f64 * noise.sample(stream)) as u64),
        }
    }
}

/// A queue in the order of a rank.
#[derive(Clone, Debug)]
pub struct RankedQueue<R: Rank> {
    rank: R,
    waiting: Heap<Job>,
    arrivals: u64,
}

impl<R: Rank> RankedQueue<R> {
    pub(super) fn new(rank: R) -> Self {
        Self { rank, waiting: Heap::default(), arrivals: 0 }
    }
}

impl<R: Rank> WaitingQueue for RankedQueue<R> {
    #[inline]
    fn enqueue(&mut self, job: Job) {
        self.arrivals += 1;
        self.waiting.push(self.rank.of(&job), self.arrivals, job);
    }

    #[inline]
    fn dequeue(&mut self) -> Option<Job> {
        self.waiting.pop().map(|entry| entry.value)
    }
}
