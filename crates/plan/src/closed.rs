//! Closed systems: N users who think, ask, wait for the answer, and think again.

pub mod bounds;
mod launches;
pub mod machine_repair;
pub mod multiclass;
pub mod mva;
pub mod phases;
pub mod priority;
pub mod schweitzer;

pub use launches::Launches;
