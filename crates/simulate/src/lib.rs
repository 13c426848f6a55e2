//! A modelled server on a virtual clock: what a workload would do to a server whose service law and scheduling policy are
//! known exactly.
//!
//! A [`Discipline`] is a server and its queue, as a value with three methods; it never looks at a clock, so the same value
//! serves here and behind a socket.

pub mod discipline;

pub use discipline::{Discipline, Job};
