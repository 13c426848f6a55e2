//! The server's side of a run: the counters of a machine, of control groups and of processes, as the kernel keeps them.
//!
//! [`Counters`] opens the files once and reads them again for each sample; [`parse`] makes numbers of their text, and is pure. What
//! is read is raw: counters since the machine was booted, in the kernel's own units, which stand in the names. Rates are made by
//! who reads them (`offered-verify`), over any stretch of time, and a sample that was missed costs nothing but resolution.
//!
//! # Limitations
//! Linux only, and control groups of version 2; elsewhere [`Counters::open`] says so. In a container `/proc` tells of the whole machine.

mod counters;
mod exposition;
mod parse;
mod scraped;

pub use counters::{Counters, Error, Gone};
pub use scraped::{Chosen, Found, TICKS_PER_S, scraped};

/// Ticks in a second, which the kernel counts processor time in.
pub fn ticks_per_s() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// Given each number of a sample: what it was read of, what it is, and the number.
pub type Take<'a> = &'a mut dyn FnMut(&str, &str, f64);
