//! Experiments: what the verbs *do*, beneath any command line.
//!
//! A [`Plan`] is prepared, run and judged; a [`sweep`] makes many of them at the points of a grid, [`capacity`] searches among them,
//! [`simulated`] answers without a run, [`theory`] says what was to be expected, and [`calibrate`] what this machine can do. On which
//! [`Terms`] anybody's recording is judged is said here too, once for all who ask. All is
//! typed in and typed out; nothing is printed, no flag is known here, and how far it is goes to an [`Observer`].
//!
//! ```
//! use std::sync::Arc;
//! use offered_experiment::{Input, Plan};
//! use offered_model::{Law, Share};
//! use offered_run::Load;
//!
//! let text = "seed = 1\nduration = \"60s\"\narrivals.open.rate = \"100/s\"\n";
//! let input = Input::new("inline".to_owned(), text.to_owned(), |_| Err("there is no such file".to_owned()));
//! let workload = input.parse(text)?;
//! let plan = Plan {
//!     text,
//!     workload: &workload,
//!     share: Share::ALL,
//!     load: Load::Nobody(Law::exponential(0.02)?), // nothing is sent; `Load::Target` sends to `target.url`
//!     start_at: None,
//!     run_id: None,
//!     out: None,
//!     name: "the first".to_owned(),
//!     see_failures: false,
//! };
//! let made = plan.prepare(Arc::default())?.run(Vec::new())?;
//! assert!(made.summary.believable(), "{}", made.verdict.because);
//! # Ok::<(), offered_experiment::Error>(())
//! ```
//!
//! # Errors
//! One enum for the room, [`Error`]; [`Error::is_of_input`] tells a wrong question from a failure to answer it.

mod beyond;
pub mod calibrate;
pub mod capacity;
mod collect;
pub mod cores;
pub mod demo;
pub mod document;
mod error;
mod field;
mod figures;
mod hosts;
mod input;
mod judge;
mod kept;
pub mod kubernetes;
mod memory;
mod observe;
mod observing;
mod once;
mod pilot;
mod place;
pub mod plan;
mod record;
mod run;
mod scraping;
pub mod simulated;
pub mod site;
mod summary;
pub mod sweep;
pub mod theory;
mod toolkit;
pub mod twin;
mod vary;
mod watching;

pub use beyond::Beyond;
pub use collect::View;
pub use error::Error;
pub use field::{Field, Number, Unit};
pub use input::{Broken, Files, Input, beside, text};
pub use judge::{ByThreads, Intent, Judged, Own, Terms, WithTwin};
pub use observe::{News, Observer};
pub use observing::{Observing, Seen};
pub use once::once;
pub use pilot::{Pilots, SetLoad};
pub use place::{Copied, Here, MeetingPlace, fetch, is_in_store, is_taken};
pub use record::record;
pub use run::{Made, Plan, Ready, Sending, machine};
pub use summary::{Arrivals, Failure, Micros, Millis, Summary, failures};
pub use toolkit::Toolkit;
pub use vary::{Point, Vary, point, points};
pub use watching::Watching;
