//! Scheduling disciplines, one per file.
//!
//! The caller reports events to a discipline in time order, and the discipline returns when the next job completes if
//! no other job arrives. A discipline has no clock. A virtual clock jumps from event to event. A real clock is always a
//! little late, which is allowed: [`Discipline::complete`] accounts for the job at the instant it was due to complete,
//! so the next job starts when the server became free and not when the caller noticed.
//!
//! Two engines serve most policies. [`NonPreemptive`] completes every job that it started; only its queue differs
//! (FCFS, LCFS, or any order by a [`Rank`]). [`Preemptive`] always serves the jobs that rank first. The expected-size
//! policies of Schroeder, Wierman and Harchol-Balter (SEJF, LEJF, PESJF, PELJF) are SJF, LJF, PSJF and PLJF with
//! another [`SizeEstimate`]. The sharing policies (PS, FB, round robin) have their own engines.
//!
//! Speeds are relative to one server of speed 1. Work is the time that a job needs alone on such a server. All times in
//! the interface are whole nanoseconds. Ties are resolved in order of arrival.

mod batch;
mod fb;
mod fcfs;
mod infinite;
mod lcfs;
mod limited;
mod load_dependent;
mod longest;
mod network;
mod non_preemptive;
mod preemptive;
mod priority;
mod priority_ps;
mod ps;
mod ranked;
mod regions;
mod round_robin;
mod shortest;
mod srpt;

pub use batch::Batch;
pub use fb::Fb;
pub use fcfs::Fcfs;
pub use infinite::Infinite;
pub use lcfs::{Lcfs, PreemptiveLcfs};
pub use limited::{Limited, LimitedPriorityPs, LimitedPs};
pub use load_dependent::LoadDependent;
pub use longest::{Ljf, Longest, Pljf};
pub use network::{Network, Station};
pub use non_preemptive::{NonPreemptive, WaitingQueue};
pub use preemptive::Preemptive;
pub use priority::{ByClass, PreemptivePriority, Priority};
pub use priority_ps::PriorityPs;
pub use ps::Ps;
pub use ranked::{Rank, RankedQueue, SizeEstimate};
pub use regions::{Region, Regions};
pub use round_robin::RoundRobin;
pub use shortest::{Psjf, Shortest, Sjf};
pub use srpt::Srpt;

use offered_base::{Instant, Nanos};
use offered_events::{Event, Finish, TokenStream};
use offered_workload::engine::TokenCounts;

/// A request at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Identifier of the caller; a discipline only returns it.
    pub id: u64,
    /// Class of the request, for disciplines with priorities.
    pub class: u16,
    /// Service demand: the time that the job needs alone on a server of speed 1.
    pub size: Nanos,
    /// Arrival time.
    pub arrived: Instant,
    /// The tokens of the job, for an engine; otherwise none.
    pub tokens: JobTokens,
}

/// The tokens of a job, for an engine of language models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobTokens {
    /// The numbers of tokens.
    pub counts: TokenCounts,
    /// Prompt tokens that came from the cache; set by the server.
    pub cached: u32,
    /// Time from arrival to the first token of the response; set by the server.
    pub first_after: Nanos,
}

impl JobTokens {
    /// The tokens of the request of an event; the time to the first one counts from the scheduled time.
    pub(crate) fn of_event(event: &Event) -> Self {
        let Some(stream) = event.stream.as_deref() else { return Self::default() };
        let number = |tokens: Option<u64>| tokens.unwrap_or(0) as u32;
        Self {
            counts: TokenCounts { prompt: number(stream.tokens_in), repeated: 0, output: number(stream.tokens_out) },
            cached: number(stream.tokens_cached),
            first_after: stream.first_token.map_or(Nanos::ZERO, |first| event.intended.until(first)),
        }
    }

    /// The record of the response to a request that reached the server at `arrived` and was complete at `done`, with one token in a chunk;
    /// `None` for a job without tokens.
    pub fn stream(&self, arrived: Instant, done: Instant) -> Option<Box<TokenStream>> {
        let TokenCounts { prompt, output, .. } = self.counts;
        let first = Some(arrived + self.first_after);
        (output > 0).then(|| {
            Box::new(TokenStream {
                head: arrived + self.first_after,
                first_token: first,
                first_answer: first,
                last_token: Some(done),
                tokens_intended: Some(prompt.into()),
                tokens_in: Some(prompt.into()),
                tokens_cached: Some(self.cached.into()),
                tokens_out: Some(output.into()),
                tokens_first: Some(1),
                chunks: output.into(),
                finish: Some(Finish::Length),
                ..TokenStream::default()
            })
        })
    }
}

/// One or more servers and their queue.
///
/// Instants never decrease from call to call, and completions precede arrivals: before a job arrives at `now`, the
/// caller must call [`complete`](Self::complete)`(now)` until it returns `None`.
///
/// ```
/// use offered_base::{Instant, Nanos};
/// use offered_simulate::{Discipline, Job, discipline::Fcfs};
///
/// let mut server = Fcfs::new(1);
/// let job = |id, at| Job { id, class: 0, size: Nanos(10), arrived: Instant(at), tokens: Default::default() };
/// server.arrive(Instant(0), job(1, 0));
/// server.arrive(Instant(4), job(2, 4));
/// assert_eq!(server.next(), Some(Instant(10)));
/// // The caller is late, at 25: both jobs are done, the second since 20.
/// assert_eq!(server.complete(Instant(25)).unwrap().id, 1);
/// assert_eq!(server.next(), Some(Instant(20)));
/// assert_eq!(server.complete(Instant(25)).unwrap().id, 2);
/// assert_eq!(server.complete(Instant(25)), None);
/// ```
pub trait Discipline {
    /// Adds a job that arrives at `now`.
    fn arrive(&mut self, now: Instant, job: Job);

    /// Returns when to call [`complete`](Self::complete) next if no job arrives before; `None` when the system is
    /// empty.
    ///
    /// No job completes earlier. At this instant a job completes; or (in round robin and networks) only the turn or the
    /// station of a job changes, and `complete` returns `None`.
    fn next(&self) -> Option<Instant>;

    /// Removes and returns the first job that completes by `now`; `None` without such a job. It completed exactly at
    /// `now` if `now` equals [`next`](Self::next), and at an earlier instant if the caller is late.
    fn complete(&mut self, now: Instant) -> Option<Job>;

    /// Removes a waiting job whose client has disconnected. Returns false if the job is in service, or if this
    /// discipline cannot remove jobs.
    fn cancel(&mut self, id: u64) -> bool {
        let _ = id;
        false
    }

    /// Removes a job that was rejected at the instant of the last call of [`arrive`](Self::arrive) or [`complete`](Self::complete). The caller
    /// must call it after these until it returns `None`. Only a network with regions rejects jobs.
    fn rejected(&mut self) -> Option<Job> {
        None
    }

    /// Calls `report(id, remaining work)` for each job in service at `now`; a server that sends responses piece by
    /// piece needs it. A job that is not reported is waiting, and its remaining work is at most its last reported value.
    /// The caller must have removed all jobs that complete by `now`.
    fn remaining(&self, now: Instant, report: &mut dyn FnMut(u64, Nanos));

    /// Calls `report(id, tokens)` for each job in service that has more tokens of its response than at the last call. Only an engine makes tokens.
    fn tokens(&mut self, report: &mut dyn FnMut(u64, u32)) {
        let _ = report;
    }
}

/// Returns the earlier of two instants, where `None` means never.
fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
