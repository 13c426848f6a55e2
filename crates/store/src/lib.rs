//! Run directories, Parquet files and the result files of other load testers: reading and writing.
//!
//! A run directory holds `workload.toml` verbatim, `run.json` and `events/part-NNNN.parquet`. A part gets its final name only when it is
//! complete, at least every two seconds. So a killed run loses at most two seconds of events and stays readable. [`read`] opens every
//! input: a run directory, one of its parts, or a result file of another tool.
//!
//! # Example
//! [`read`] takes a path and detects the format by content. This example reads a JMeter table from memory.
//! ```
//! use offered_base::Nanos;
//! use offered_store::{ReadOptions, read_from};
//!
//! let table = "\
//! timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,Latency
//! 1700000000000,40,home,200,OK,users 1-1,text,true,512,12
//! 1700000000250,60,home,503,Busy,users 1-2,text,false,64,9
//! ";
//! let recording = read_from("results.jtl", table.as_bytes(), &ReadOptions::default())?;
//! assert_eq!((recording.format.as_str(), recording.labels.as_slice()), ("jtl-csv", &["home".to_owned()][..]));
//! let requests = recording.events.to_vec()?;
//! let (first, second) = (&requests[0], &requests[1]);
//! assert_eq!(second.sent.unwrap() - first.sent.unwrap(), Nanos::from_millis(250).into());
//! assert_eq!((first.service(), second.status), (Some(Nanos::from_millis(40).into()), 503));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod complete_file;
mod error;
mod event_source;
pub mod export;
mod failures;
mod foreign;
mod labels;
mod open;
mod part;
mod record;
mod recorder;
mod rundir;
mod samples;
mod table;
mod write_loss;

pub use error::Error;
pub use event_source::Spool;
pub use failures::{read_failures, write_failure};
pub use foreign::{CSV_COLUMNS, InputFormat, ReadOptions, TimestampMeaning};
pub use open::{read, read_from};
pub use record::{EndCondition, Ignored, Machine, ObservedHost, RunKind, RunRecord};
pub use recorder::{Closing, Recorder, lower_thread_priority};
pub use rundir::archive::write_tar;
pub use rundir::follower::{RunFollower, WorkerState, WorkerStatus};
pub use rundir::heartbeat::{HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, Heartbeat};
pub use rundir::workers::{
    UnendedWorker, attempt_directories, is_worker_directory, recorded_shares, unended_workers, worker_directory,
};
pub use rundir::{Writer, files, read_events};
pub use samples::{Sample, SampleWriter, Samples, SamplesMetadata, ScrapeInfo};
pub use table::{Cells, Column, write_table};
pub use write_loss::WriteLoss;
