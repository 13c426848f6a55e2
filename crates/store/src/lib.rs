//! Where events are kept: the run directory we write, and every file that [`read`] understands.
//!
//! A run directory holds `workload.toml` verbatim, `run.json` and `events/part-NNNN.parquet`. A part appears under its name
//! only when it is whole, at least every two seconds, so a killed run loses at most that and stays readable. Reading knows
//! one door, [`read`], whatever stands behind it: our directory, one of its parts, or another tool's result file.
//!
//! # Example
//! A table of JMeter's, known by its content; a path is read by [`read`].
//! ```
//! use offered_model::Nanos;
//! use offered_store::{ReadOptions, read_from};
//!
//! let table = "\
//! timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,Latency
//! 1700000000000,40,home,200,OK,users 1-1,text,true,512,12
//! 1700000000250,60,home,503,Busy,users 1-2,text,false,64,9
//! ";
//! let recording = read_from("results.jtl", table.as_bytes(), &ReadOptions::default())?;
//! assert_eq!((recording.format.as_str(), recording.labels.as_slice()), ("jtl-csv", &["home".to_owned()][..]));
//! let launches = recording.events.to_vec()?;
//! let (first, second) = (&launches[0], &launches[1]);
//! assert_eq!(second.sent.unwrap() - first.sent.unwrap(), Nanos::from_millis(250).into());
//! assert_eq!((first.service(), second.status), (Some(Nanos::from_millis(40).into()), 503));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod door;
mod error;
pub mod export;
mod failures;
mod foreign;
mod labels;
mod part;
mod record;
mod recorder;
mod rundir;
mod samples;
mod table;
mod tape;
mod unkept;

pub use door::{ReadOptions, Stamps, read, read_from};
pub use error::Error;
pub use failures::{keep_failure, read_failures};
pub use foreign::{CSV_COLUMNS, Format};
pub use record::{AskedHost, Machine, MadeBy, RunRecord, Unread, Until};
pub use recorder::{Recorder, give_way};
pub use rundir::alive::{Alive, BEAT, SILENT};
pub use rundir::following::{Followed, Following, Standing};
pub use rundir::packed::pack;
pub use rundir::workers::{attempts, is_worker, worker};
pub use rundir::{Writer, files, read_events};
pub use samples::{Observed, Sample, SampleWriter, Samples, Scraped};
pub use table::{Cells, Column, write_table};
pub use tape::Spool;
pub use unkept::Unkept;
