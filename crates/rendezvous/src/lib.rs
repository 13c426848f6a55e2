//! The start of a run with several workers: a rendezvous in a shared directory or an object store.
//!
//! Every worker reports at the [`Rendezvous`] that it is ready. When all are ready, worker 1 writes the decision: the time on its clock at
//! which all workers start. A worker that cannot take part (another workload, missing workers, Ctrl-C) writes a cancellation with the reason
//! instead. A file is written at most once, so there is exactly one decision and no worker starts alone. Before the start, and again after
//! the end, the other workers query the clock of worker 1 by UDP. They start by that clock, with a known precision.
//! There is no server.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use offered_io::WallClock;
//! use offered_base::Nanos;
//! use offered_rendezvous::{Directory, JoinOptions, Worker, join};
//!
//! let directory = tempfile::tempdir()?;
//! let worker = |share: &str| Worker {
//!     share: share.parse().unwrap(),
//!     host: "here".to_owned(),
//!     version: "0.1.0".to_owned(),
//!     workload_hash: "0123456789abcdef".to_owned(),
//!     run_id: None,
//! };
//! let wall = WallClock::read();
//! let start = |share| {
//!     let stop = AtomicBool::new(false);
//!     let clock_address = Some("127.0.0.1:0".parse().unwrap());
//!     let options = JoinOptions { wait: Nanos::from_secs(20), stop: &stop, wall, clock_address };
//!     join(&Directory::new(directory.path()), &worker(share), &options, &mut |_| ())
//! };
//! let (other, one) = std::thread::scope(|scope| {
//!     let one = scope.spawn(|| start("1/2"));
//!     (start("2/2"), one.join().unwrap())
//! });
//! let (one, other) = (one?, other?);
//! let offset = other.offset.expect("a response");
//! assert_eq!(other.start.0, one.start.0.saturating_add_signed(offset.offset_ns));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! If no datagram comes back, clocks are assumed to be equal: each worker starts by its own clock. A worker that is restarted during the run
//! starts by its own clock too. Workers compare the text of the workload, not its data files. A directory is for one run.

mod clock_comparison;
mod datagram;
mod directory;
mod error;
mod join;
#[cfg(feature = "objects")]
pub mod objects;
mod rendezvous;
mod share;

pub use clock_comparison::{
    ClockClient, ClockRole, ClockServer, FINAL_COMPARISON_LIMIT, PublicClockServer, query_clock,
};
pub use directory::Directory;
pub use error::Error;
pub use join::{AgreedStart, JoinOptions, START_LEAD, Worker, join, rejoin_running, rejoin_waiting};
pub use rendezvous::Rendezvous;
pub use share::{Engine, ShareError, share_from_environment};
