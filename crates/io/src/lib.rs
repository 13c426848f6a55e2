//! Time, waiting for sockets, and the decoder of chunked bodies, for the load generator and the reference server.
//!
//! This is the only crate that reads clocks or sleeps, which `clippy.toml` enforces. Load generator and reference server
//! wait with the same code, so one measurement of its error holds for both.

pub mod chunked;
mod clock;
mod connect_time;
mod file_limit;
mod monotonic;
mod poller;
mod priority;
mod regular_file;
mod resource_error;
mod timestamps;
mod wall_clock;

pub use clock::{Clock, thread_cpu_time};
pub use connect_time::connect_time;
pub use file_limit::raise_file_limit;
pub use poller::{Poller, Ready, Waker};
pub use priority::{GrantedPriority, Priorities, PriorityClass, RaisedPriority, Scheduling, SchedulingPolicy};
pub use regular_file::{open_regular, read_regular, read_regular_text};
pub use resource_error::resource_error;
pub use timestamps::{ReceiveTimestamps, TimestampsEnabled};
pub use wall_clock::{KernelClockStatus, WallClock, kernel_clock_status, unix_now};
