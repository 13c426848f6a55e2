//! Experiments: what the verbs *do*, beneath any command line.
//!
//! A [`RunPlan`] is prepared, run and judged; a [`sweep`] makes many of them at the points of a grid, [`capacity`] searches among them,
//! [`simulated`] answers without a run, [`theory`] says what was to be expected, and [`calibrate`] what this machine can do. On which
//! [`VerifyOptions`] anybody's recording is judged is said here too, once for all who ask. All is
//! typed in and typed out; nothing is printed, no flag is known here, and how far it is goes to an [`ProgressObserver`].
//!
//! ```
//! use std::sync::Arc;
//! use offered_experiment::{WorkloadSource, RunPlan};
//! use offered_base::Share;
//! use offered_distributions::Law;
//! use offered_run::Load;
//!
//! let text = "seed = 1\nduration = \"60s\"\narrivals.open.rate = \"100/s\"\n";
//! let input = WorkloadSource::new("inline".to_owned(), text.to_owned(), |_| Err("there is no such file".to_owned()));
//! let workload = input.parse(text)?;
//! let plan = RunPlan {
//!     text,
//!     workload: &workload,
//!     share: Share::ALL,
//!     load: Load::Mock(Law::exponential(0.02)?), // nothing is sent; `Load::Target` sends to `target.url`
//!     start_at: None,
//!     run_id: None,
//!     out: None,
//!     name: "the first".to_owned(),
//!     see_failures: false,
//! };
//! let made = plan.prepare(Arc::default())?.run(Vec::new())?;
//! assert!(made.summary.is_valid(), "{}", made.verdict.because);
//! # Ok::<(), offered_experiment::Error>(())
//! ```
//!
//! # Errors
//! One enum for the room, [`Error`]; [`Error::is_of_input`] tells a wrong question from a failure to answer it.

pub mod calibrate;
pub mod capacity;
mod collector;
pub mod demo;
pub mod document;
mod error;
mod field;
mod figures;
mod location;
pub mod log_models;
pub mod model_comparison;
pub mod parallel;
mod pilot;
pub mod prediction;
mod progress;
mod recorded_simulation;
mod redact;
mod resource_shortfall;
mod run;
mod run_watcher;
mod server_side;
mod session_trace;
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
pub use location::{CopyProgress, LocalRun, SharedDirectory, fetch_run, is_object_store_url, run_exists};
pub use pilot::{PilotRuns, SetLoad};
pub use progress::{Progress, ProgressObserver};
pub use recorded_simulation::simulate_into;
pub use redact::redact;
pub use resource_shortfall::ResourceShortfall;
pub use run::{FinishedRun, PendingUpload, PreparedRun, RunPlan};
pub use run_watcher::RunWatcher;
pub use session_trace::trace_sessions;
pub use summary::{Arrivals, Failure, Micros, Millis, Summary, failures};
pub use toolkit_export::ToolkitExport;
pub use vary::{Point, VariedField, point, points};
pub use verification::{ExpectedSource, RecordedRun, ThreadAnalysis, TwinComparison, VerifiedRun, VerifyOptions};
pub use workload_source::{BadLineHandler, FileReader, WorkloadSource, file_reader, read_workload_text};
