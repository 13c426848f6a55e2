//! Where the workers of one run meet: a folder that all of them reach.
//!
//! Every worker writes there that it is ready. Who first sees all of them writes the one decision: the instant at which everybody
//! begins. Who cannot go on (another workload, nobody came, Ctrl-C) writes the same file with the reason, and a file is made only once, so
//! that there is one decision and nobody begins alone. There is no server and no worker that is more than the others.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use offered_meet::{Folder, Worker, meet};
//! use offered_model::Nanos;
//!
//! let folder = tempfile::tempdir()?;
//! let worker = |share: &str| Worker {
//!     share: share.parse().unwrap(),
//!     host: "here".to_owned(),
//!     version: "0.1.0".to_owned(),
//!     workload: "the hash of its text".to_owned(),
//! };
//! let begin = |share| {
//!     let (wait, stop) = (Nanos::from_secs(20), AtomicBool::new(false));
//!     meet(&Folder::new(folder.path()), &worker(share), wait, &stop, &mut |_| ())
//! };
//! let (one, other) = std::thread::scope(|scope| {
//!     let one = scope.spawn(|| begin("1/2"));
//!     (begin("2/2"), one.join().unwrap())
//! });
//! assert_eq!(one?, other?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! Clocks are believed: everybody begins at the same instant of its own clock. What is compared is the workload's text, not the files
//! of data beside it. A folder is for one run.

mod engine;
mod error;
mod folder;
mod meeting;

pub use engine::{Engine, NoShare, share};
pub use error::Error;
pub use folder::Folder;
pub use meeting::{LEAD, Worker, begun, meet};
