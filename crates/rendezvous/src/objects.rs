//! Object stores (S3, Google Cloud Storage, Azure): a rendezvous for workers, and storage for their runs.
//!
//! A [`Bucket`] is a folder of an object store with blocking calls. It is a [`Rendezvous`](crate::Rendezvous), based on conditional puts. A
//! worker records into a directory of its own machine, and an [`Upload`] copies this directory into the store. The upload has its own thread
//! and retries, so neither requests nor the recorder wait for the network. [`push()`] uploads files that the store
//! lacks. Readers of a run read a [`LocalCopy`].
//!
//! ```no_run
//! use offered_rendezvous::objects::{Bucket, LocalCopy};
//! use offered_store::{ReadOptions, read};
//!
//! // AWS_ACCESS_KEY_ID, ... or the role of the machine
//! let bucket = Bucket::open("s3://bucket/run7", |reason| eprintln!("{reason}; trying again"))?;
//! assert!(bucket.put_if_absent("notes.txt", b"ours")?, "no other worker was first");
//! let on_start = &mut |path: &std::path::Path, objects, bytes| eprintln!("{objects} objects, {bytes} bytes to {}", path.display());
//! let copy = LocalCopy::fetch_all(bucket, on_start)?;
//! let recording = read(copy.path(), &ReadOptions::default())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//! Credentials are those that the crate `object_store` finds in the environment, or the role of the machine. It does not read profiles in
//! `~/.aws`. Stores that ignore `If-None-Match: *` are detected and refused.

mod bucket;
mod connector;
mod copy;
mod error;
mod push;
mod upload;

pub use bucket::Bucket;
pub use copy::LocalCopy;
pub use error::Error;
pub use push::{Pushed, push};
pub use upload::Upload;
