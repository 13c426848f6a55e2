//! Where the workers of one run meet: a folder that all of them reach, or any other [`Place`] where what is written is written once.
//!
//! Every worker writes there that it is ready. Worker 1, once it sees all of them, writes the one decision: what its clock shows when everybody
//! begins. Who cannot go on (another workload, nobody came, Ctrl-C) writes the same file with the reason, and a file is made only once, so
//! that there is one decision and nobody begins alone. Before the start, and again after the end, the others ask worker 1 by datagrams what its
//! clock shows: they begin by it, and know how well. There is no server.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use offered_clock::Wall;
//! use offered_rendezvous::{Folder, Terms, Worker, meet};
//! use offered_model::Nanos;
//!
//! let folder = tempfile::tempdir()?;
//! let worker = |share: &str| Worker {
//!     share: share.parse().unwrap(),
//!     host: "here".to_owned(),
//!     version: "0.1.0".to_owned(),
//!     workload: "the hash of its text".to_owned(),
//!     run: None,
//! };
//! let wall = Wall::read();
//! let begin = |share| {
//!     let stop = AtomicBool::new(false);
//!     let tell_at = Some("127.0.0.1:0".parse().unwrap());
//!     let terms = Terms { wait: Nanos::from_secs(20), stop: &stop, wall, tell_at };
//!     meet(&Folder::new(folder.path()), &worker(share), &terms, &mut |_| ())
//! };
//! let (other, one) = std::thread::scope(|scope| {
//!     let one = scope.spawn(|| begin("1/2"));
//!     (begin("2/2"), one.join().unwrap())
//! });
//! let (one, other) = (one?, other?);
//! let offset = other.before.expect("an answer");
//! assert_eq!(other.begin.0, one.begin.0.saturating_add_signed(offset.ahead_ns));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! Where no datagram comes back clocks are believed: everybody begins at the same instant of its own clock. Who is started again during the
//! run begins by its own. What is compared is the workload's text, not the files of data beside it. A folder is for one run.

mod clock_comparison;
mod datagram;
mod share;
mod error;
mod directory;
mod join;
#[cfg(feature = "objects")]
pub mod objects;
mod rendezvous;

pub use clock_comparison::{Answerer, Asker, Clocks, STAY, Teller, ask};
pub use share::{Engine, NoShare, share};
pub use error::Error;
pub use directory::Folder;
pub use join::{LEAD, Met, Terms, Worker, begun, begun_again, meet};
pub use rendezvous::Place;
