//! Types that every crate uses: time, random streams, shares of a run, enums with names, and text that is safe to show.
//!
//! Everything here is pure: no clock, no I/O, no threads, no global randomness.

mod error;
mod log;
mod named;
mod number;
pub mod random;
mod share;
mod text;
pub mod time;

pub use error::{InvalidValue, nearest, sentence};
pub use number::{count, short, significant};
pub use random::{Purpose, Seed, Stream};
pub use share::Share;
pub use text::{is_unreadable, visible, visible_lines};
pub use time::{Difference, Instant, Nanos, Rate};
