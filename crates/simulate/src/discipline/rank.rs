//! Ranks: what puts jobs in order, for the disciplines that serve by order.

use offered_model::heap::Heap;
use offered_model::{Law, Nanos, Seed, Stream, Wrong};

use super::{Job, Room};

/// What puts jobs in order: the smallest key goes first, and of equal keys the job that came first.
pub trait Rank {
    /// The key of a job when it arrives.
    fn of(&mut self, job: &Job) -> u64;

    /// Its key when `left` of its work is still to be done; the same, but for disciplines that look at that.
    #[inline]
    fn with_left(key: u64, left: Nanos) -> u64 {
        let _ = left;
        key
    }
}

/// What a server believes a job's size to be.
#[derive(Clone, Debug)]
pub enum Estimate {
    /// The size itself.
    Exact,
    /// The mean of its class; one for every class.
    ClassMean(Vec<Nanos>),
    /// The size times noise: lognormal with mean 1, drawn in the order of arrival.
    Noisy(Law, Box<Stream>),
}

impl Estimate {
    /// The size times lognormal noise of mean 1 and this squared coefficient of variation.
    ///
    /// # Errors
    /// An scv that is not above zero; without noise it is [`Estimate::Exact`].
    pub fn noisy(scv: f64, seed: Seed) -> Result<Self, Wrong> {
        Ok(Self::Noisy(Law::lognormal(1.0, scv)?, Box::new(seed.stream(offered_model::Purpose::Size))))
    }

    /// Of this job; a class without a mean counts as 0.
    #[inline]
    pub(super) fn of(&mut self, job: &Job) -> Nanos {
        match self {
            Self::Exact => job.size,
            Self::ClassMean(means) => means.get(usize::from(job.class)).copied().unwrap_or_default(),
            Self::Noisy(noise, stream) => Nanos((job.size.0 as f64 * noise.sample(stream)) as u64),
        }
    }
}

/// A waiting room in the order of a rank.
#[derive(Clone, Debug)]
pub struct Ranked<R: Rank> {
    rank: R,
    waiting: Heap<Job>,
    came: u64,
}

impl<R: Rank> Ranked<R> {
    pub(super) fn new(rank: R) -> Self {
        Self { rank, waiting: Heap::default(), came: 0 }
    }
}

impl<R: Rank> Room for Ranked<R> {
    #[inline]
    fn put(&mut self, job: Job) {
        self.came += 1;
        self.waiting.push(self.rank.of(&job), self.came, job);
    }

    #[inline]
    fn take(&mut self) -> Option<Job> {
        self.waiting.pop().map(|entry| entry.what)
    }
}
