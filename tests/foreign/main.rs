//! Other tools' result files through the whole program: what it prints of them, what it makes of real ones, and what real
//! tools write when they are really run.
//!
//! Loopback only, on free ports. What needs a tool or a file that is not there is skipped, and says so.

mod exported;
mod golden;
mod program;
mod shared;
mod tools;
