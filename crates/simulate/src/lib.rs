//! A modelled server on a virtual clock: what a workload would do to a server whose service law and scheduling policy are
//! known exactly.
//!
//! A [`Discipline`] is a server and its queue, as a value with three methods; it never looks at a clock, so the same value
//! serves here and behind a socket. [`drive`](drive::drive) brings it together with the agenda of a workload, the same agenda
//! that the load generator follows.

pub mod discipline;
mod doubts;
pub mod drive;
pub mod load;
mod modelled;
pub mod policy;
mod simulation;
pub mod statistics;
pub mod swf;

pub use discipline::{Discipline, Job};
pub use modelled::Modelled;
pub use policy::{Make, Policy, Setting};
pub use simulation::{Answer, Stop, simulate};
