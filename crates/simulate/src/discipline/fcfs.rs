//! FCFS: first come, first served.

use std::collections::VecDeque;

use super::{Job, NonPreemptive, WaitingQueue};

/// First come, first served by one or more equal servers (M/G/m with Poisson arrivals).
pub type Fcfs = NonPreemptive<VecDeque<Job>>;

impl Fcfs {
    /// A server with `servers` servers (at least one).
    pub fn new(servers: u32) -> Self {
        Self::with_queue(servers, VecDeque::new())
    }
}

impl WaitingQueue for VecDeque<Job> {
    #[inline]
    fn enqueue(&mut self, job: Job) {
        self.push_back(job);
    }

    #[inline]
    fn dequeue(&mut self) -> Option<Job> {
        self.pop_front()
    }

    fn remove(&mut self, id: u64) -> bool {
        // With equal timeouts the first ones give up first.
        self.iter().position(|job| job.id == id).and_then(|at| VecDeque::remove(self, at)).is_some()
    }
}
