//! Object stores: a place where workers meet, and where their run is kept and read.
//!
//! A [`Bucket`] is a folder of an object store behind a few calls that wait for their answer. Workers meet in it as in any other
//! [`offered_rendezvous::Place`], by puts that do not overwrite. What a worker launches it writes to a folder of its own machine, from
//! where an [`Upload`] brings it there: on a thread of its own, tried again as long as it takes, so that neither a launch nor the recorder ever
//! waits for the network. Who reads a run reads a [`struct@Copy`] of it on its own disk.
//!
//! ```no_run
//! use offered_rendezvous::objects::{Bucket, Copy};
//! use offered_store::{ReadOptions, read};
//!
//! let bucket = Bucket::open("s3://bucket/run7")?; // AWS_ACCESS_KEY_ID, ... or the role of the machine
//! assert!(bucket.put_new("notes.txt", b"ours")?, "nobody was first");
//! let copy = Copy::whole(bucket, &mut |folder, objects, bytes| eprintln!("{objects} objects, {bytes} bytes to {}", folder.display()))?;
//! let recording = read(copy.path(), &ReadOptions::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! Credentials are those that the crate `object_store` finds: in the environment, or the role of the machine. Profiles in
//! `~/.aws` are not read. A store that does not honour `If-None-Match: *` is found out and refused.

mod bucket;
mod copy;
mod error;
mod upload;

pub use bucket::Bucket;
pub use copy::Copy;
pub use error::Error;
pub use upload::Upload;
