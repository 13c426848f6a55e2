//! Disciplines: who is served when, one file each.
//!
//! A discipline is told what happens in the order in which it happens, and answers when the next job is finished if nothing
//! else arrives. It holds no clock. The virtual clock jumps from instant to instant; a real clock is always a little late,
//! and that is allowed: [`Discipline::complete`] does its bookkeeping at the instant the job was finished on paper, so the
//! next job starts when the server became free and not when somebody looked.
//!
//! Two engines serve most policies. [`OneByOne`] finishes what it started, and only its waiting room differs: FCFS, LCFS and
//! whatever a [`Rank`] puts in order. [`Preemptive`] always serves the jobs that stand first by a rank. The expected-size
//! policies of Schroeder, Wierman and Harchol-Balter (SEJF, LEJF, PESJF, PELJF) are the exact ones with another
//! [`Estimate`]. Sharing (PS, FB, round robin) has engines of its own.
//!
//! Speeds are relative to one server of speed 1; work is the time a job needs alone on such a server. Everything outside is
//! in whole nanoseconds. Jobs that tie are taken in the order of their arrival.

mod fb;
mod fcfs;
mod infinite;
mod lcfs;
mod limited;
mod longest;
mod network;
mod one_by_one;
mod preemptive;
mod priority;
mod priority_ps;
mod ps;
mod rank;
mod round_robin;
mod shortest;
mod srpt;

pub use fb::Fb;
pub use fcfs::Fcfs;
pub use infinite::Infinite;
pub use lcfs::{Lcfs, PreemptiveLcfs};
pub use limited::{Limited, LimitedPriorityPs, LimitedPs};
pub use longest::{Ljf, Longest, Pljf};
pub use network::{Network, Station};
pub use one_by_one::{OneByOne, Room};
pub use preemptive::Preemptive;
pub use priority::{ByClass, PreemptivePriority, Priority};
pub use priority_ps::PriorityPs;
pub use ps::Ps;
pub use rank::{Estimate, Rank, Ranked};
pub use round_robin::RoundRobin;
pub use shortest::{Psjf, Shortest, Sjf};
pub use srpt::Srpt;

use offered_model::{Instant, Nanos};

/// A request as a server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Whose it is; a discipline only hands it back.
    pub id: u64,
    /// Its class, for the disciplines that prefer some classes to others.
    pub class: u16,
    /// Its work: the time it needs alone on a server of speed 1.
    pub size: Nanos,
    /// When it arrived.
    pub arrived: Instant,
}

/// A server (or several) and its queue.
///
/// Instants never decrease from call to call, and completions come before arrivals: whoever has a job arrive at `now` first
/// calls [`complete`](Self::complete)`(now)` until it answers `None`.
///
/// ```
/// use offered_model::{Instant, Nanos};
/// use offered_simulate::{Discipline, Job, discipline::Fcfs};
///
/// let mut server = Fcfs::new(1);
/// let job = |id, at| Job { id, class: 0, size: Nanos(10), arrived: Instant(at) };
/// server.arrive(Instant(0), job(1, 0));
/// server.arrive(Instant(4), job(2, 4));
/// assert_eq!(server.next(), Some(Instant(10)));
/// // Somebody looks late, at 25: both are done, the second since 20.
/// assert_eq!(server.complete(Instant(25)).unwrap().id, 1);
/// assert_eq!(server.next(), Some(Instant(20)));
/// assert_eq!(server.complete(Instant(25)).unwrap().id, 2);
/// assert_eq!(server.complete(Instant(25)), None);
/// ```
pub trait Discipline {
    /// A job arrives.
    fn arrive(&mut self, now: Instant, job: Job);

    /// When to call [`complete`](Self::complete) next if nothing else arrives; `None` when the system is empty.
    ///
    /// Nothing is finished before. A job is finished then, or (in disciplines that take turns, or send jobs from one station
    /// to the next) only the turn changes and `complete` answers `None`.
    fn next(&self) -> Option<Instant>;

    /// The first job that is finished by `now`, if one is. It was finished at `now` exactly when `now` was
    /// [`next`](Self::next), and at some instant between the two when the caller is late.
    fn complete(&mut self, now: Instant) -> Option<Job>;

    /// Tells of each job that is in service at `now` its id and the work that is left of it; for who sends an answer as far as it is
    /// made. Who is not told of waits, and has at most as much left as was told last. Whatever is done by `now` must have been
    /// taken out before.
    fn left(&self, now: Instant, tell: &mut dyn FnMut(u64, Nanos));
}

/// The sooner of two instants, where `None` is never.
fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
