//! The server's side of a run: samples of a machine's kernel counters, and of numbers scraped from exporters and databases.
//!
//! * [`Recording`] samples this machine into a file (`offered observe`). [`Counters`] opens the files of the kernel once and reads them
//!   again for each sample; [`parse`] turns their text into numbers and is pure.
//! * [`Scraper`] requests numbers from exporters, nginx's `stub_status` and databases during a run. [`read_response`] turns a response into
//!   numbers and is pure.
//! * [`compare_clocks_before`] and [`compare_clocks_after`] compare the clocks of observed machines with this one.
//!
//! Samples hold raw values: counters since boot, in the units of the kernel, which are part of the metric names. `offered-verify` computes
//! rates, over any time span. A missed sample only lowers the resolution.
//!
//! # Limitations
//! Kernel counters need Linux, and control groups need version 2; elsewhere [`Counters::open`] returns an error. In a container `/proc`
//! describes the whole machine.

mod clocks;
mod counters;
mod error;
mod exposition;
mod machine;
mod memory;
mod parse;
mod record;
mod response;
mod scrape;

pub use clocks::{compare_clocks_after, compare_clocks_before};
pub use counters::{Counters, LostSource};
pub use error::Error;
pub use machine::{processors, this_machine, ticks_per_s};
pub use memory::available_memory;
pub use record::{Recording, RecordingEvent};
pub use response::{ScrapeResult, SeriesFilter, TICKS_PER_S, read_response};
pub use scrape::Scraper;

/// Receives the values of a sample: the source (`cpu`, `disk:sda`, `{path="/"}`), the metric name, and the value.
pub type SampleVisitor<'a> = &'a mut dyn FnMut(&str, &str, f64);
