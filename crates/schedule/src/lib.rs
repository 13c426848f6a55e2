//! Schedules: from a system model and a seed to scheduled requests.
//!
//! A system model ([`Sessions`]) is open, closed, partly open, or the replay of a trace. The [`Agenda`] turns it into
//! requests in order of time. Everything is a function of the model and the seed, so every division of a run into shares
//! schedules the same requests.

mod agenda;
pub mod arrivals;
mod closed;
mod count;
pub mod flow;
pub mod heap;
mod launch;
mod population;
pub mod replay;
mod sessions;
pub mod thinking;
pub mod trace;

pub use agenda::{After, Agenda};
pub use arrivals::Schedule;
pub use closed::{Closed, Pace, Start, Visitor};
pub use count::Count;
pub use flow::Flows;
pub use launch::{Launch, Visit};
pub use population::{MAX_USERS, Population, Stage};
pub use replay::Replay;
pub use sessions::{Length, MAX_SCENARIOS, Opening, Scenario, Scenarios, Sessions, System};
pub use trace::Trace;
