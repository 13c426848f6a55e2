//! The operations behind the commands: runs, sweeps, capacity searches, simulations, predictions, verification and calibration.
//!
//! A [`RunPlan`] is prepared, executed and verified. A [`sweep`] executes many plans at the points of a grid, and a [`capacity`] search
//! tries values until it finds the limit. [`simulation`] needs no server, [`prediction`] gives the expected result, and
//! [`calibrate`] measures the maximum rate of this machine. [`VerifyOptions`] verifies recordings, of this program or
//! of others.
//!
//! Input and output are types. This crate prints nothing and knows no command line flags; progress goes to a
//! [`ProgressObserver`].
//!
//! ```
//! use std::sync::Arc;
//! use offered_base::Share;
//! use offered_distributions::Distribution;
//! use offered_experiment::{RunPlan, WorkloadSource};
//! use offered_run::Load;
//!
//! let text = "seed = 1\nduration = \"60s\"\narrivals.open.rate = \"100/s\"\n";
//! let source = WorkloadSource::new("inline".to_owned(), text.to_owned(), |_| Err("there is no such file".to_owned()));
//! let workload = source.parse(text)?;
//! let plan = RunPlan {
//!     text,
//!     workload: &workload,
//!     share: Share::ALL,
//!     load: Load::Mock(Distribution::exponential(0.02)?), // nothing is sent; `Load::Target` sends to `target.url`
//!     start_at: None,
//!     run_id: None,
//!     directory: None,
//!     name: "the first".to_owned(),
//!     capture_failures: false,
//! };
//! let run = plan.prepare(Arc::default())?.run(Vec::new())?;
//! assert!(run.summary.is_valid(), "{}", run.verdict.reason);
//! # Ok::<(), offered_experiment::Error>(())
//! ```
//!
//! # Errors
//! All operations return [`Error`]. [`Error::is_of_input`] distinguishes wrong input from later failures.

pub mod calibrate;
pub mod capacity;
mod collector;
pub mod compare;
pub mod demo;
pub mod document;
mod error;
mod field;
mod figures;
pub mod fit;
#[cfg(test)]
mod formula_tests;
mod incomplete;
mod location;
pub mod log_models;
pub mod model_comparison;
pub mod parallel;
mod pilot;
pub mod prediction;
mod progress;
mod recorded_run;
mod recorded_simulation;
mod redact;
mod resource_shortfall;
mod run;
mod run_result;
mod run_watcher;
mod server_side;
mod session_trace;
mod side_files;
pub mod simulation;
mod summary;
pub mod sweep;
mod toolkit_export;
pub mod twin;
mod vary;
mod verification;
mod workload_source;

pub use collector::LiveView;
pub use error::Error;
pub use field::{Field, Number, Unit};
pub use location::{
    CopyProgress, LocalRun, OnFailure, PushResult, SharedDirectory, fetch_run, is_object_store_url, push_run,
    run_exists,
};
pub use pilot::{PilotRuns, SetLoad};
pub use progress::{Progress, ProgressObserver};
pub use recorded_run::RecordedRun;
pub use recorded_simulation::simulate_into;
pub use redact::redact;
pub use resource_shortfall::ResourceShortfall;
pub use run::{FinishedRun, PendingDisk, PendingUpload, PreparedRun, RunPlan};
pub use run_result::RunResult;
pub use run_watcher::RunWatcher;
pub use session_trace::trace_sessions;
pub use summary::{Arrivals, Failure, Micros, Millis, Summary, failures};
pub use toolkit_export::ToolkitExport;
pub use vary::{Point, VariedField, point, points};
pub use verification::{ExpectedSource, ThreadAnalysis, TwinComparison, VerifiedRun, VerifyOptions};
pub use workload_source::{BadLineHandler, FileReader, LocalAccess, WorkloadSource, file_reader, read_workload_text};
