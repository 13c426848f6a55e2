//! FCFS: first come, first served.

use std::collections::VecDeque;

use super::{Job, OneByOne, Room};

/// First come, first served by one or more equal servers (M/G/m where arrivals are Poisson).
pub type Fcfs = OneByOne<VecDeque<Job>>;

impl Fcfs {
    /// With this many servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_room(servers, VecDeque::new())
    }
}

impl Room for VecDeque<Job> {
    #[inline]
    fn put(&mut self, job: Job) {
        self.push_back(job);
    }

    #[inline]
    fn take(&mut self) -> Option<Job> {
        self.pop_front()
    }
}
