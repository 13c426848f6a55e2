//! The real clock, and waiting on it: for an instant, for sockets, or for whichever comes first.
//!
//! The only room that reads time or sleeps; `clippy.toml` holds the walls. Load generator and reference server both launch by
//! it, so one measurement of its error speaks for both.

mod poller;
mod real;
mod sockets;
mod wall;

pub use poller::{Poller, Ready, Waker};
pub use real::{Clock, cpu_time, unix_now};
pub use sockets::allow_sockets;
pub use wall::{Kept, Wall, kept};
