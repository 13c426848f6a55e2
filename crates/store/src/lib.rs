//! Where events are kept: the run directory we write, and every file that [`read`] understands.
//!
//! A run directory holds `workload.toml` verbatim, `run.json` and `events/part-NNNN.parquet`. A part appears under its name
//! only when it is whole, at least every two seconds, so a killed run loses at most that and stays readable. Reading knows
//! one door, [`read`], whatever stands behind it: our directory, one of its parts, or another tool's result file.

mod door;
mod error;
mod foreign;
mod labels;
mod part;
mod recorder;
mod rundir;
mod table;

pub use door::{ReadOptions, Stamps, read, read_from};
pub use error::Error;
pub use foreign::Format;
pub use recorder::Recorder;
pub use rundir::Writer;
pub use table::{Cells, Column, write_table};
