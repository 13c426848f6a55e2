//! Simulates a workload and a modelled server on a virtual clock. The server's service distribution and scheduling
//! policy are known exactly.
//!
//! A [`Discipline`] is a server and its queue, as a value with a few methods. It never reads a clock, so the same value
//! serves in a simulation and behind a socket. [`drive`](drive::drive) connects it with the agenda of a workload, which
//! is the same agenda that the load generator follows.
//!
//! # Example
//! An M/M/1 queue at half load: `E[T] = E[S] / (1 - rho)` = 20 ms.
//! ```
//! use offered_workload::Workload;
//! use offered_simulate::{Stop, simulate};
//!
//! let text = r#"
//!     seed = 1
//!     duration = "1h"
//!     arrivals.open = { rate = "50/s" }
//!     server = { discipline = "fcfs", service = { exponential = "10ms" } }
//! "#;
//! let workload = Workload::parse(text, "workload.toml", &|path| Err(format!("{path}: no files here")))?;
//! let answer = simulate(&workload, Stop::Jobs(100_000), None)?;
//! let mean = answer.summary.response.mean;
//! assert!((mean.value - 0.020).abs() < 4.0 / 3.0 * mean.half_width() && mean.half_width() < 0.001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempts;
pub mod discipline;
pub mod drive;
mod error;
pub mod load;
mod modelled_server;
mod observers;
pub mod policy;
mod requirements;
mod result;
mod saturation;
mod simulation;
pub mod statistics;
mod stop;
mod warnings;

pub use attempts::AttemptFigures;
pub use discipline::{Discipline, Job};
pub use error::Error;
pub use modelled_server::ModelledServer;
pub use offered_events::note::SimulationWarning;
pub use policy::{BuildDiscipline, Policy, ServerConfig};
pub use requirements::{MeanInterval, interval_requirements};
pub use result::SimulationResult;
pub use simulation::{simulate, simulate_with};
pub use stop::Stop;
